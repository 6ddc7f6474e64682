"""`fovnet bids`: a data set of BIDS, answered by the command line of a BIDS App."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

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
from fovnet.decision.answer import SPANS_TABLE_NAME
from fovnet.decision.answers_table import TableRows
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import ModelFolder as ModelNetworks
from fovnet.errors import ConfigError, VolumeError
from fovnet.evaluate.answers import read_answer_facts
from fovnet.records import why_no_folder
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
PARTICIPANT_OPTIONS = "--participant-label", "--participant_label"
SESSION_OPTIONS = "--session-label", "--session_label"


class Level(StrEnum):
    """What is answered."""

    participant = "participant"
    group = "group"


class BidsApp(TyperCommand):
    """A command of which an option takes several labels, as BIDS Apps have them."""

    def parse_args(self, context: Any, words: list[str]) -> list[str]:
        """As any command's, of words in which each label has its option."""
        return super().parse_args(context, list(_with_option_by_label(words)))


def _with_option_by_label(words: Sequence[str]) -> Iterator[str]:
    """Words in which the option stands before each of its labels.  Ahead of the level an option
    takes one label, as folders may follow."""
    option = ""
    previous_word = ""
    is_behind_level = False
    for word in words:
        is_behind_level = is_behind_level or word in list(Level)
        if word.startswith("-"):
            option = ""
            if is_behind_level and word in (*PARTICIPANT_OPTIONS, *SESSION_OPTIONS):
                option = word
        elif option and previous_word != option:
            yield option
        yield word
        previous_word = word


@verbs.command(cls=BidsApp, epilog=BIDS_HELP)
def bids(
    bids_folder: Annotated[Path, PathArgument(metavar="BIDS_DIR", help="The data set.")],
    out_folder: Annotated[Path, PathArgument(metavar="OUTPUT_DIR", callback=folder_to_fill)],
    level: Annotated[Level, typer.Argument(help="Answer participants, or tabulate the answers.")],
    labels: Annotated[
        list[str] | None, typer.Option(*PARTICIPANT_OPTIONS, help="As 01 02; without, all.")
    ] = None,
    session_labels: Annotated[
        list[str] | None, typer.Option(*SESSION_OPTIONS, help="As pre post; without, all.")
    ] = None,
    model: ModelFolder = None,
    device: Device = "auto",
    faces: FacesOrAsBefore = None,
    workers: Readers = 1,
) -> None:
    """Answer a BIDS data set as a BIDS App: a derivative with the regions that each volume shows."""
    if level is Level.group:
        _tabulate_answers(out_folder, labels or (), session_labels or (), model_folder(model))
        return
    vocabulary = ModelNetworks(model_folder(model)).vocabulary
    answers = []
    are_all_read = True
    for name in _find_parts(bids_folder, labels or (), session_labels or ()):
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


def _tabulate_answers(
    out_folder: Path, labels: Sequence[str], session_labels: Sequence[str], networks_folder: Path
) -> None:
    """Writes answers.tsv and spans.tsv over the participants that were answered, whole or by
    session; a volume of both is a row once."""
    folder = out_folder / ANSWERS_FOLDER
    names = _find_parts(folder, labels, session_labels)
    facts_by_path = {
        facts["path"]: facts
        for name in names
        for part_folder in _answered_folders(folder / name)
        for facts in read_answer_facts(part_folder, REQUIRED_KEYS)
    }
    rows = list(map(TableRows.from_facts, facts_by_path.values()))
    write_tables(folder, rows, load_ensemble(networks_folder, "cpu"), (), (), pages=False)
    participants = several(len({name.partition("/")[0] for name in names}), "participant")
    out.print(f"{several(len(rows), 'volume')} of {participants}: {folder}")


def _answered_folders(folder: Path) -> list[Path]:
    """The folders of answers of a participant, or of a session."""
    session_folders = sorted(path for path in folder.glob("ses-*") if path.is_dir())
    if session_folders and not (folder / SPANS_TABLE_NAME).exists():
        return session_folders
    return [folder, *session_folders]


def _find_parts(folder: Path, labels: Sequence[str], session_labels: Sequence[str]) -> list[str]:
    """The participants of a folder by these labels, all without, each as sub-LABEL; with labels of
    sessions those of them, as sub-LABEL/ses-LABEL.

    Raises ConfigError "bids-missing" where there is no such folder, "bids-participant" for one that
    is not there, or where there is none, "bids-session" where none of them has such a session.
    """
    if reason := why_no_folder(folder):
        raise ConfigError(
            "bids-missing",
            f"{folder}: {reason}; give a data set, and answer participants before the group",
        )
    present_names = sorted(path.name for path in folder.glob("sub-*") if path.is_dir())
    names = [f"sub-{label.removeprefix('sub-')}" for label in labels] or present_names
    missing_names = [name for name in names if name not in present_names]
    if missing_names or not names:
        raise ConfigError(
            "bids-participant",
            f"{folder}: has no {first_few(missing_names or ['sub-*'])}; give a data set, and labels of "
            f"participants in it, such as {first_few(present_names) or 'sub-01'}",
        )
    if not session_labels:
        return names
    session_names = [f"ses-{label.removeprefix('ses-')}" for label in session_labels]
    parts = [f"{name}/{session_name}" for name in names for session_name in session_names]
    present_parts = [part for part in parts if (folder / part).is_dir()]
    if not present_parts:
        raise ConfigError(
            "bids-session",
            f"{folder}: no {first_few(parts)}; give labels of sessions that participants have",
        )
    return present_parts
