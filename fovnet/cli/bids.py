"""`fovnet bids`: a data set of BIDS, answered by the command line of a BIDS App."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from fovnet.cli.options import (
    Device,
    FacesOrAsBefore,
    ModelFolder,
    PathArgument,
    Readers,
    folder_to_fill,
    model_folder,
)
from fovnet.cli.predicting import predict, write_tables
from fovnet.cli.screen import err, out
from fovnet.decision.answers_table import TableRows
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import ModelFolder as ModelNetworks
from fovnet.errors import ConfigError, VolumeError
from fovnet.evaluate.answers import read_answer_facts
from fovnet.report.exports.answers import REQUIRED_KEYS, read_answers
from fovnet.report.exports.bids import write_bids
from fovnet.words import first_few, several

verbs = typer.Typer()
ANSWERS_FOLDER = Path("sourcedata", "fovnet")  # below sourcedata BIDS gives no rules
BIDS_HELP = (
    "The derivative is that of `fovnet export bids`: a JSON per volume. Tables and pages of each "
    "participant, as `fovnet predict` writes them, are in its sourcedata/fovnet.\n\n"
    "Participants may be answered by several processes at once; `group` then writes answers.tsv and "
    "spans.tsv over all of them. Killed, the same command goes on."
)
"""What the help of `bids` ends with."""


class Level(StrEnum):
    """What is answered."""

    participant = "participant"
    group = "group"


@verbs.command(epilog=BIDS_HELP)
def bids(
    bids_folder: Annotated[Path, PathArgument(metavar="BIDS_DIR", help="The data set.")],
    out_folder: Annotated[Path, PathArgument(metavar="OUTPUT_DIR", callback=folder_to_fill)],
    level: Annotated[Level, typer.Argument(help="Answer participants, or tabulate the answers.")],
    further_labels: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    labels: Annotated[
        list[str] | None,
        typer.Option("--participant-label", "--participant_label", help="As 01 02; without, all."),
    ] = None,
    model: ModelFolder = None,
    device: Device = "auto",
    faces: FacesOrAsBefore = None,
    workers: Readers = 1,
) -> None:
    """Answer a BIDS data set as a BIDS App: a derivative with the regions that each volume shows."""
    if further_labels and not labels:
        raise ConfigError("bids-argument", f"{further_labels[0]}: give it by --participant-label")
    told_labels = [*(labels or ()), *(further_labels or ())]
    if level is Level.group:
        _tabulate_answers(out_folder, told_labels, model_folder(model))
        return
    vocabulary = ModelNetworks(model_folder(model)).vocabulary
    answers = []
    are_all_read = True
    for name in _find_participants(bids_folder, told_labels):
        folder = out_folder / ANSWERS_FOLDER / name
        try:
            predict([bids_folder / name], folder, model, device, faces=faces, workers=workers)
        except typer.Exit:  # some were refused: a row of the tables, and a sidecar
            are_all_read = False
        except VolumeError as fault:  # a participant without images stops no other
            err.print(fault.sentence)
            are_all_read = False
            continue
        answers += read_answers(folder, vocabulary)
    paths = write_bids(answers, vocabulary, out_folder)
    out.print(f"{several(len(paths) - 1, 'sidecar')}: {out_folder}")
    if not are_all_read:
        raise typer.Exit(3)


def _tabulate_answers(out_folder: Path, labels: Sequence[str], networks_folder: Path) -> None:
    """Writes answers.tsv and spans.tsv over the participants that were answered."""
    folder = out_folder / ANSWERS_FOLDER
    names = _find_participants(folder, labels)
    rows = [
        TableRows.from_facts(facts)
        for name in names
        for facts in read_answer_facts(folder / name, REQUIRED_KEYS)
    ]
    write_tables(folder, rows, load_ensemble(networks_folder, "cpu"), (), (), pages=False)
    out.print(f"{several(len(rows), 'volume')} of {several(len(names), 'participant')}: {folder}")


def _find_participants(folder: Path, labels: Sequence[str]) -> list[str]:
    """The participants of a folder by these labels, all without; each as sub-LABEL.

    Raises ConfigError "bids-participant" for one that is not there, or where there is none.
    """
    present_names = sorted(path.name for path in folder.glob("sub-*") if path.is_dir())
    names = [f"sub-{label.removeprefix('sub-')}" for label in labels] or present_names
    missing_names = [name for name in names if name not in present_names]
    if missing_names or not names:
        raise ConfigError(
            "bids-participant",
            f"{folder}: has no {first_few(missing_names or ['sub-*'])}; give a data set, and labels of "
            f"participants in it, such as {first_few(present_names) or 'sub-01'}",
        )
    return names
