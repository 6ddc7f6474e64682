"""What the decisions of a run were made from: they stand on disk beside an ensemble and a rule that may be others by now."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.decision.answer import TABLE
from fovnet.decision.ensemble import FACTS, RULE
from fovnet.errors import ModelError
from fovnet.records import read_json, write_json

if TYPE_CHECKING:
    from fovnet.results import Results

MADE_FROM = ".made-from"            # hidden and without .json: no volume is called so


def decided_from(results: Results) -> dict[str, str]:
    """The SHA-256 of what a run's volumes are decided by, by file: probabilities, ensemble, rule."""
    return results.checksums(results.probabilities, results.ensemble / FACTS, results.ensemble / RULE)


def begin_decisions(results: Results) -> None:
    """Takes away the table and the stamp of decisions before: those of a run that is killed half-way are no whole."""
    (results.decisions / TABLE).unlink(missing_ok=True)
    if results.decisions.is_dir() and any(results.decisions.glob("*.json")):
        write_json(results.decisions / MADE_FROM, {"made_from": None})


def conclude_decisions(results: Results, volume_ids: Collection[str], *, settings: object, seed: int) -> Path:
    """The stamp of decisions on these volumes, written when all of them are; answers on others, of an earlier split, are removed.

    Raises OSError where what they were decided by is gone.
    """
    for path in results.decisions.glob("*.json"):
        if path.stem not in volume_ids:
            path.unlink()
    return write_json(results.decisions / MADE_FROM, {"made_from": decided_from(results)}, settings=settings, seed=seed)


def refuse_other_decisions(results: Results) -> None:
    """Nothing, where the decisions were made from what lies there now; or by a fovnet that did not record from what.

    Raises ModelError ("decisions-of-others") where one of these is another: figures would stand beside settings that did not make them;
    and ("decisions-unfinished") where a run that decided was cut short.
    """
    try:
        made_from = read_json(results.decisions / MADE_FROM)["made_from"]
    except (OSError, ValueError, KeyError):
        return
    if made_from is None:
        raise ModelError("decisions-unfinished", f"{results.decisions}: deciding was stopped half-way; decide again: fovnet decide")
    now = decided_from(results)
    other = [name for name in now if made_from.get(name) != now[name]]
    if other:
        raise ModelError("decisions-of-others", f"{results.decisions}: were made from another {' and another '.join(other)} than lies in "
                                                f"{results.folder}; decide again: fovnet decide")
