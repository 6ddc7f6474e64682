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
    ModelFolder,
    PathArgument,
    Regions,
    Workers,
    file_out,
    model_folder,
    table_of,
)
from fovnet.cli.screen import err, out, progress_bar
from fovnet.config.regions import vocabulary
from fovnet.decision.bundle import write_bundle
from fovnet.decision.networks import write_graph_part
from fovnet.decision.shipped import PEOPLE_MEGABYTES, export_run
from fovnet.errors import ConfigError, FovnetError
from fovnet.late import import_late
from fovnet.regions import Vocabulary
from fovnet.report.exports.answers import StoredAnswer, read_answers
from fovnet.report.exports.bids import write_bids
from fovnet.report.exports.copies import refuse_beside_sources, write_copies
from fovnet.report.exports.headers import VERDICTS, compare_headers, write_headers
from fovnet.report.exports.structured import write_report
from fovnet.results import Results
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.acts import adapt
else:  # torch
    adapt = import_late("fovnet.acts.adapt")

verbs = typer.Typer()
export = typer.Typer(
    no_args_is_help=True,
    help="Export the answers of `predict` (DICOM SR, BIDS, relabelled copies, a table of headers) or the "
    "networks.",
)
verbs.add_typer(export, name="export")

EXPECTED_REASON_BY_CODE = {
    "export-no-images": "not from DICOM",
    "export-refused": "refused by predict",
    "export-unsure": "without a sure answer",
    "export-none": "showing none of the regions",
}
"""Reasons that are frequent in an archive: only counted, because a sentence for each would hide the
others."""

IN_WORDS_BY_VERDICT = {"part": "some in common"}
"""Verdicts of the table of headers whose name there says too little beside a count."""


@export.command("sr")
def export_sr(
    answers: Answers,
    folder: Annotated[Path, FolderOut("--out", help="Output folder: one DICOM file per volume.")],
    regions: Regions = "default",
) -> None:
    """DICOM Comprehensive 3D SR (TID 1500): one measurement group per span, in the source's study, referring
    to its images; of parts of a region (a knee) where these are sure of its whole span.

    Each group has the region's SNOMED CT code, the heights of both ends and the
    probability. For answers by region: a region answered yes has a group with heights; an unsure region that
    may be shown has one without, with Certainty of Finding "Possible"; a region answered no has none. The
    series description tells what is not sure: (partly), (uncertain), (extents unsure). Reports name the
    patient, as their sources do; what is not valid in a source's header is left out, and named.
    """
    export_reports(answers, folder, vocabulary(regions).whole)


def export_reports(answers: Path, folder: Path, region_vocabulary: Vocabulary) -> None:
    """Writes the reports of `fovnet export sr`, of answers in a vocabulary."""
    refuse_beside_sources(answers, folder)
    _export_answers(answers, "SR", write_report, folder, region_vocabulary)


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
    names together leave Body Part Examined empty, and each has an item in Anatomic Region Sequence. Parts of a
    region (KNEE, NECK) are named where they are sure of its whole span. Copies have new UIDs and keep the
    original attributes.
    """
    refuse_beside_sources(answers, folder)
    _export_answers(answers, "copies", write_copies, folder, vocabulary(regions).whole)


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
    _refuse_in_answers(answers, folder)
    region_vocabulary = vocabulary(regions).whole
    stored_answers = read_answers(answers, region_vocabulary)
    paths = write_bids(stored_answers, region_vocabulary, folder)
    sidecars_in_words = several(len(paths) - 1, "sidecar")
    refused_count = sum(answer.status == "refused" for answer in stored_answers)
    if refused_count:
        sidecars_in_words += f", {refused_count} of refused volumes"
    out.print(f"{sidecars_in_words}: {folder}")


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
    regions that crosses). Where answers are on parts of regions, a last column level tells
    whether parts were compared: KNEE disagrees with a thigh.

    A header is called wrong only if a sure answer contradicts it; where the answer is unsure, the header is
    taken to be right.
    """
    region_vocabulary = vocabulary(regions).whole
    stored_answers = read_answers(answers, region_vocabulary)
    comparisons = compare_headers(stored_answers, region_vocabulary)
    count_by_verdict = Counter(comparison.verdict for comparison in comparisons)
    count_by_verdict["refused"] = sum(answer.status == "refused" for answer in stored_answers)
    count_by_verdict["not from DICOM"] = (
        len(stored_answers) - len(comparisons) - count_by_verdict["refused"]
    )
    missing_sources = [comparison.why_gone for comparison in comparisons if comparison.why_gone]
    if missing_sources:
        err.print(missing_sources[0])
    verdicts_in_words = ", ".join(
        f"{count_by_verdict[verdict]} {IN_WORDS_BY_VERDICT.get(verdict, verdict)}"
        for verdict in (*VERDICTS, "refused", "not from DICOM")
        if count_by_verdict[verdict]
    )
    out.print(f"{verdicts_in_words}: {write_headers(comparisons, table, region_vocabulary)}")
    if missing_sources:
        raise typer.Exit(3)


@export.command("bundle")
def export_bundle(
    folder: Annotated[Path, FolderOut("--out", help="The bundle's folder.")],
    model: ModelFolder = None,
) -> None:
    """A MONAI Bundle of an ensemble: metadata, configuration for inference, weights as safetensors.

    MONAI's bundle commands need `pip install fire` too.
    """
    out.print(f"MONAI Bundle: {write_bundle(model_folder(model), folder)}")


@export.command("graph")
def export_graph(
    model: Annotated[
        Path, PathArgument(help="A model folder, such as the folder `ensemble` of a run.")
    ],
) -> None:
    """Write the networks' graph into an older model folder: it is then loaded in a fraction of a second,
    without torch.

    New ensembles have it. The answers are the same.
    """
    out.print(f"graph of the networks: {write_graph_part(model)}")


@export.command("people")
def export_people(
    simulated: Annotated[
        Path, PathArgument(help="Simulated people: a folder that `fovnet phantom` wrote.")
    ],
    out_folder: Annotated[
        Path, FolderOut("--out", help="Folder for slices and outputs, used again after a kill.")
    ],
    model: ModelFolder = None,
    megabytes: Annotated[float, typer.Option(min=0.1, help="Size of the file.")] = PEOPLE_MEGABYTES,
    seed: Annotated[int, typer.Option(min=0, help="Of who is learned from.")] = 1,
    workers: Workers = 2,
) -> None:
    """Write `people.npz` into a model folder: what `fovnet adapt` needs of simulated people, as many as the
    megabytes hold, so that it simulates nobody.

    It holds what the networks' last layers are given for every slice, with labels, and no pixels; it belongs
    to these networks alone.
    """
    path, people = adapt.write_people_of_model(
        simulated,
        out_folder,
        model_folder(model),
        megabytes=megabytes,
        seed=seed,
        workers=workers,
        progress=progress_bar,
    )
    people_in_words = several(
        len({record.subject for record in people.records}), "person", "people"
    )
    volumes_in_words = several(len(people.records), "volume")
    out.print(
        f"{volumes_in_words} of {people_in_words}, {path.stat().st_size / 1e6:.2f} MB: {path}"
    )


@export.command("shipped")
def export_shipped(
    results: Annotated[Path, PathArgument(help="The results folder of a finished run.")],
    folder: Annotated[
        Path, FolderOut("--out", help="The folder to fill: fovnet/decision/shipped in a clone.")
    ],
) -> None:
    """The ensemble that comes with the package, from a finished run: at most 15 MB, with its card and
    checksums, without names of people."""
    shipment = export_run(Results(results), folder)
    out.print(
        f"{shipment.member_count} members, {shipment.byte_count / 1e6:.2f} MB: {shipment.folder}"
    )


def _export_answers(
    answers: Path,
    export_name: str,
    write_export: Callable[[StoredAnswer, Vocabulary, Path, Callable[[str], None]], Any],
    folder: Path,
    region_vocabulary: Vocabulary,
) -> None:
    """Exports every answer; for those that cannot be exported, expected reasons are counted, others
    printed, and the status is 3.  What was left out of those that can be is told once, with the
    number of volumes."""
    _refuse_in_answers(answers, folder)
    count_by_reason = Counter[str]()
    count_by_note = Counter[str]()
    stored_answers = read_answers(answers, region_vocabulary)
    for answer in stored_answers:
        try:
            write_export(
                answer, region_vocabulary, folder, lambda note: count_by_note.update([note])
            )
        except FovnetError as fault:
            count_by_reason[EXPECTED_REASON_BY_CODE.get(fault.code, "named above")] += 1
            if fault.code not in EXPECTED_REASON_BY_CODE:
                err.print(f"no {export_name}: {fault.sentence} [{fault.code}]")
    for note, count in count_by_note.most_common():
        err.print(f"{several(count, 'volume')} {note}")
    export_count = len(stored_answers) - count_by_reason.total()
    result_in_words = "nothing written"
    if export_count:
        result_in_words = str(folder)
    if count_by_reason:
        reasons_in_words = ", ".join(
            f"{count} {reason}" for reason, count in count_by_reason.most_common()
        )
        result_in_words += f" ({reasons_in_words})"
    out.print(f"{export_count} of {several(len(stored_answers), 'volume')}: {result_in_words}")
    if count_by_reason:
        raise typer.Exit(3)


def _refuse_in_answers(answers: Path, folder: Path) -> None:
    """Raises ConfigError "export-in-answers" if both folders are the same: exports there would be
    read as answers."""
    if answers.resolve() == folder.resolve():
        raise ConfigError(
            "export-in-answers", f"--out {folder}: is the folder of answers; give another folder"
        )
