"""The trials in a search's journal, a file for each slot."""

from __future__ import annotations

from pathlib import Path

from fovnet.errors import SearchError
from fovnet.records import read_json
from fovnet.results import JOBS_PREFIX
from fovnet.search.trial import Trial, trial_from_facts


def slot_path(folder: Path, slot: int) -> Path:
    """The file of a slot; four digits, more where needed."""
    return folder / f"slot-{slot:04d}.json"


def slot_of_file(path: Path) -> int:
    """The slot that a file is of, by its name: slot-0007.json, proposal-0007.json and the like."""
    return int(path.stem.split("-")[1])


def repeat_instruction(slot_file: Path) -> str:
    """The instruction to have a slot trained again, to the same bytes; it depends on whether the
    search runs as jobs."""
    if slot_file.parent.name.startswith(JOBS_PREFIX):
        command = "the same `snakemake` command trains"
    else:
        command = "`fovnet search` trains"
    trials_table = slot_file.parent.parent / "trials.tsv"
    return f"remove {slot_file} and {trials_table}, and {command} that slot again"


def read_slot(path: Path) -> Trial:
    """The trial in a slot file.  Raises FileNotFoundError, or ValueError, KeyError, TypeError if it
    is unreadable."""
    return trial_from_facts(read_json(path))


def read_trials(folder: Path) -> list[Trial]:
    """The finished trials of a journal, by slot, without changing it.  Raises SearchError for an
    unreadable one."""
    trials = []
    for path in folder.glob("slot-*.json"):
        try:
            trials.append(read_slot(path))
        except (ValueError, KeyError, TypeError) as fault:
            raise SearchError(
                "slot-damaged", f"{path}: unreadable ({fault}): {repeat_instruction(path)}."
            ) from fault
    return sorted(trials, key=lambda trial: trial.proposal.slot)
