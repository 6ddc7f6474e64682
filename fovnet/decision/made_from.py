"""Record of what a run's decisions were made from: the ensemble and the rule on disk may have been
replaced since."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.decision import answers_table
from fovnet.decision.answer import SPANS_TABLE_NAME
from fovnet.decision.folder import FACTS_FILE_NAME, RULE_FILE_NAME
from fovnet.errors import ModelError
from fovnet.records import clear_unfinished, read_json, write_json

if TYPE_CHECKING:
    from fovnet.results import Results

STAMP_FILE_NAME = ".made-from"  # hidden and without .json: no volume's file has this name


def decision_inputs(results: Results) -> dict[str, str]:
    """The SHA-256 of the files that a run's decisions are made from: probabilities, ensemble,
    rule."""
    return results.checksums(
        results.probabilities, results.ensemble / FACTS_FILE_NAME, results.ensemble / RULE_FILE_NAME
    )


def begin_decisions(results: Results) -> None:
    """Remove the table of earlier decisions, and mark them as unfinished: a run may be killed
    half-way, the first one too."""
    clear_unfinished(results.decisions)
    for name in (SPANS_TABLE_NAME, answers_table.ANSWERS_TABLE_NAME):
        (results.decisions / name).unlink(missing_ok=True)
    write_json(results.decisions / STAMP_FILE_NAME, {"made_from": None})


def conclude_decisions(
    results: Results, volume_ids: Collection[str], *, settings: object, seed: int
) -> Path:
    """The stamp of decisions on these volumes, to be written once all are; answers on others, of an
    earlier split, are removed.

    Raises OSError if a file that they were made from is gone.
    """
    for path in results.decisions.glob("*.json"):
        if path.stem not in volume_ids:
            path.unlink()
    return write_json(
        results.decisions / STAMP_FILE_NAME,
        {"made_from": decision_inputs(results)},
        settings=settings,
        seed=seed,
    )


def refuse_other_decisions(results: Results) -> None:
    """Raise unless the decisions were made from the files as they are now, or by a fovnet that did
    not record it.

    Raises ModelError ("decisions-of-others") if one of these files has changed, as figures would be
    shown with settings that did not make them, and ("decisions-unfinished") if deciding was
    interrupted.
    """
    try:
        made_from = read_json(results.decisions / STAMP_FILE_NAME)["made_from"]
    except (OSError, ValueError, KeyError):
        return
    if made_from is None:
        raise ModelError(
            "decisions-unfinished",
            f"{results.decisions}: deciding was interrupted; decide again: fovnet decide",
        )
    checksum_by_input = decision_inputs(results)
    changed_inputs = [
        input_name
        for input_name in checksum_by_input
        if made_from.get(input_name) != checksum_by_input[input_name]
    ]
    if changed_inputs:
        raise ModelError(
            "decisions-of-others",
            f"{results.decisions}: were made from another {' and another '.join(changed_inputs)} "
            f"than lies in {results.folder}; decide again: fovnet decide",
        )
