"""`fovnet export`: the answers of `predict`, and the ensemble, in formats of other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fovnet.cli.options import (
    Answers,
    FolderOut,
    Given,
    ModelFolder,
    Regions,
    file_out,
    model_folder,
    table_of,
)
from fovnet.cli.screen import err, out
from fovnet.errors import ConfigError, FovnetError
from fovnet.results import Results
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.regions import Vocabulary
    from fovnet.report.exports.answers import StoredAnswer

export = typer.Typer(
    no_args_is_help=True,
    help="Export the answers of `predict` (DICOM SR, BIDS, relabelled copies, a table of headers) or the "
    "networks.",
)

EXPECTED = {
    "export-no-images": "not from DICOM",
    "export-refused": "refused by predict",
    "export-unsure": "without a sure answer",
    "export-none": "showing none of the regions",
}
"""Reasons that are frequent in an archive: only counted, because a sentence for each would hide the
others."""


@export.command("sr")
def export_sr(
    answers: Answers,
    folder: Annotated[Path, FolderOut("--out", help="Output folder: one DICOM file per volume.")],
    regions: Regions = "default",
) -> None:
    """DICOM Comprehensive 3D SR (TID 1500): one measurement group per span, in the source's study, referring
    to its images.

    Each group has the region's SNOMED CT code, the heights of both ends and the
    probability. For answers by region: a region answered yes has a group with heights; an unsure region that
    may be shown has one without, with Certainty of Finding "Possible"; a region answered no has none. The
    series description tells what is not sure: (partly), (uncertain), (extents unsure). Reports name the
    patient, as their sources do; what is not valid in a source's header is left out, and named.
    """
    from fovnet.report.exports.copies import refuse_beside_sources
    from fovnet.report.exports.structured import write_report

    refuse_beside_sources(answers, folder)
    _exported(
        answers,
        "SR",
        lambda answer, words, tell: write_report(answer, words, folder, tell),
        folder,
        regions,
    )


@export.command("copies")
def export_copies(
    answers: Answers,
    folder: Annotated[
        Path, FolderOut("--out", help="Output folder: one folder of DICOM files per volume.")
    ],
    regions: Regions = "default",
) -> None:
    """Copies of the DICOM sources with Body Part Examined and Anatomic Region as predicted; the sources are
    not changed. Copies name the patient.

    Only volumes with status ok, with every region decided, are copied; their answers may still be wrong. If
    the term depends on heights (a spine beside what it crosses), these must be sure too. Regions that no term
    names together leave Body Part Examined empty, and each has an item in Anatomic Region Sequence. Copies
    have new UIDs and keep the original attributes.
    """
    from fovnet.report.exports.copies import refuse_beside_sources, write_copies

    refuse_beside_sources(answers, folder)
    _exported(
        answers,
        "copies",
        lambda answer, words, tell: write_copies(answer, words, folder, tell),
        folder,
        regions,
    )


@export.command("bids")
def export_bids(
    answers: Answers,
    folder: Annotated[Path, FolderOut("--out", help="The derivative's folder.")],
    regions: Regions = "default",
) -> None:
    """A BIDS derivative: one JSON per volume with the spans and the answer on each region, and BodyPart if
    the status is ok.

    A volume without a BIDS name becomes a subject of its own. Refused volumes are written too; the exit
    status is still 0.
    """
    from fovnet.config.regions import vocabulary
    from fovnet.report.exports.answers import read_answers
    from fovnet.report.exports.bids import write_bids

    _refuse_in_answers(answers, folder)
    words = vocabulary(regions)
    stored = read_answers(answers, words)
    written = write_bids(stored, words, folder)
    refused = sum(one.status == "refused" for one in stored)
    out.print(
        f"{several(len(written) - 1, 'sidecar')}{f', {refused} of refused volumes' if refused else ''}: "
        f"{folder}"
    )


@export.command("headers")
def export_headers(
    answers: Answers,
    table: Annotated[
        Path, file_out(table_of("fovnet.report.exports.headers"), "The table to write.")
    ],
    regions: Regions = "default",
) -> None:
    """Body Part Examined of every DICOM volume beside what the pixels show, disagreements first; status 3 if
    sources are missing.

    Columns: header (Body Part Examined), meant (the regions it names),
    predicted (those of the spans, a guess where unsure), verdict; and, for answers by region, shows and
    unsure. Verdicts: disagree (no region in common, and every word understood);
    shows none; part (some in common); header names no
    region (a shoulder); header not understood; header empty; no answer (every region
    that the header names is unsure, or it names none and none is surely shown;
    without answers by region, the volume is uncertain); source gone or changed;
    agree (a header that names the spine alone agrees with a spine, whatever
    regions that crosses).

    A header is called wrong only if a sure answer contradicts it; where the answer is unsure, the header is
    taken to be right.
    """
    from fovnet.config.regions import vocabulary
    from fovnet.report.exports.answers import read_answers
    from fovnet.report.exports.headers import VERDICTS, compare, write_headers

    words = vocabulary(regions)
    stored = read_answers(answers, words)
    compared = compare(stored, words)
    counts = Counter(one.verdict for one in compared)
    counts["refused"] = sum(one.status == "refused" for one in stored)
    counts["not from DICOM"] = len(stored) - len(compared) - counts["refused"]
    gone = [one.gone for one in compared if one.gone]
    if gone:
        err.print(gone[0])
    verdicts = ", ".join(
        f"{counts[verdict]} {verdict}" for verdict in (*VERDICTS, "refused", "not from DICOM")
    )
    out.print(f"{verdicts}: {write_headers(compared, table, words)}")
    if gone:
        raise typer.Exit(3)


@export.command("bundle")
def export_bundle(
    folder: Annotated[Path, FolderOut("--out", help="The bundle's folder.")],
    model: ModelFolder = None,
) -> None:
    """A MONAI Bundle of an ensemble: metadata, configuration for inference, weights as safetensors.

    MONAI's bundle commands need `pip install fire` too.
    """
    from fovnet.decision.bundle import write_bundle

    out.print(f"MONAI Bundle: {write_bundle(model_folder(model), folder)}")


@export.command("shipped")
def export_shipped(
    results: Annotated[Path, Given(help="The results folder of a finished run.")],
    folder: Annotated[
        Path, FolderOut("--out", help="The folder to fill: fovnet/decision/shipped in a clone.")
    ],
) -> None:
    """The ensemble that comes with the package, from a finished run: at most 15 MB, with its card and
    checksums, without names of people."""
    from fovnet.decision.shipped import ship

    made = ship(Results(results), folder)
    out.print(f"{made.members} members, {made.bytes / 1e6:.2f} MB: {made.folder}")


def _exported(
    answers: Path,
    what: str,
    write: Callable[[StoredAnswer, Vocabulary, Callable[[str], None]], Any],
    folder: Path,
    regions: str,
) -> None:
    """Exports every answer; for those that cannot be exported, EXPECTED reasons are counted, others printed,
    and the status is 3.  What was left out of those that can be is told once, with the number of volumes."""
    from fovnet.config.regions import vocabulary
    from fovnet.report.exports.answers import read_answers

    _refuse_in_answers(answers, folder)
    words = vocabulary(regions)
    left = Counter[str]()
    notes = Counter[str]()
    stored = read_answers(answers, words)
    for one in stored:
        try:
            write(one, words, lambda note: notes.update([note]))
        except FovnetError as fault:
            left[EXPECTED.get(fault.code, "named above")] += 1
            if fault.code not in EXPECTED:
                err.print(f"no {what}: {fault.sentence} [{fault.code}]")
    for note, count in notes.most_common():
        err.print(f"{several(count, 'volume')} {note}")
    written = len(stored) - left.total()
    reasons = ", ".join(f"{count} {reason}" for reason, count in left.most_common())
    where = f"{folder if written else 'nothing written'}{reasons and f' ({reasons})'}"
    out.print(f"{written} of {several(len(stored), 'volume')}: {where}")
    if left:
        raise typer.Exit(3)


def _refuse_in_answers(answers: Path, folder: Path) -> None:
    """Raises ConfigError "export-in-answers" if both folders are the same: exports there would be read as
    answers."""
    if answers.resolve() == folder.resolve():
        raise ConfigError(
            "export-in-answers", f"--out {folder}: is the folder of answers; give another folder"
        )
