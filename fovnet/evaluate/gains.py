"""What networks gained or lost by being adapted: the same volumes answered before and after.

    c  volumes    k  classes

Every measure is a ratio of counts, with the paired interval of its difference over subjects (`paired.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.comparison import verdict
from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.paired import Difference, rate_difference
from fovnet.evaluate.statements import RATES
from fovnet.evaluate.tallies import Tally
from fovnet.regions import Vocabulary

Counts = NDArray[np.float64]
Count = Callable[[Tally], tuple[float, float]]
COLUMNS = (
    "on",
    "measure",
    "region",
    "kind",
    "before",
    "after",
    "of_before",
    "of_after",
    "difference",
    "low",
    "high",
    "subjects",
)
HEADLINES = (
    "slices_wrong",
    "statements_decided",
    "statements_wrong",
    "surely_found",
    "exactly_right_regions",
)
"""The measures that are told first, of all regions and all kinds of pictures together."""


@dataclass(frozen=True)
class Gain:
    """A measure before and after, of all regions or one, of all volumes or those of one kind.

    of_before, of_after  the denominators: slices, statements, regions shown or volumes
    """

    measure: str
    region: str
    kind: str
    of_before: int
    of_after: int
    difference: Difference


def gains(
    before: Sequence[Tally],
    after: Sequence[Tally],
    vocabulary: Vocabulary,
    *,
    seed: int,
    kinds: Sequence[str] | None = None,
    repeats: int = 1000,
) -> list[Gain]:
    """Each measure of volumes answered before and `after`, in the same order: in all, by region, and slices
    also by kind of picture where `kinds` (c,) says of each what it is."""
    draws = Resampling([one.case.subject_id for one in before], repeats=repeats, seed=seed)
    found: list[Gain] = []
    for measure, region, count in _measures(vocabulary):
        ours, theirs = (
            np.array([count(one) for one in side], dtype=np.float64) for side in (before, after)
        )
        found += _gain(measure, region, "", ours, theirs, draws)
        if measure == SLICES and not region and kinds is not None:
            for kind in sorted(set(kinds)):
                of = np.array([one == kind for one in kinds])[:, None]
                found += _gain(measure, region, kind, ours * of, theirs * of, draws)
    return found


def certainty(gains_on: Mapping[str, Sequence[Gain]]) -> str:
    """ "no gain is certain; a certain loss: statements decided -4.5 points (-10.2 to -1.4; your subjects)".

    Of HEADLINES those whose interval leaves out 0, by the name of the volumes that they are of.
    """
    changes: dict[str, list[str]] = {"first": [], "second": []}
    for volumes, measured in gains_on.items():
        for gain in measured:
            change, better = gain.difference, verdict(gain.difference)
            if gain.measure in HEADLINES and not gain.region and not gain.kind and better:
                interval = f"{100 * (change.low or 0.0):+.1f} to {100 * (change.high or 0.0):+.1f}"
                points = f"{gain.measure.replace('_', ' ')} {100 * change.difference:+.1f} points"
                changes[better].append(f"{points} ({interval}; {volumes})")
    return f"{_certain('gain', 'gains', changes['second'])}; {_certain('loss', 'losses', changes['first'])}"


def _certain(noun: str, nouns: str, changes: Sequence[str]) -> str:
    if not changes:
        return f"no {noun} is certain"
    return (
        f"{f'a certain {noun}' if len(changes) == 1 else f'certain {nouns}'}: {', '.join(changes)}"
    )


SLICES = "slices_wrong"


def _measures(vocabulary: Vocabulary) -> Iterator[tuple[str, str, Count]]:
    """Name, region or "", and the function that counts them in a volume."""
    yield SLICES, "", lambda one: (one.wrong, one.slices)
    for column, region in enumerate(vocabulary.classes):
        yield SLICES, region, partial(_missed, column=column)
    yield "exactly_right_regions", "", lambda one: (one.exact, 1)
    for name, parts in RATES.items():
        yield name, "", partial(_said, parts=parts, columns=slice(None))
        for column, region in enumerate(vocabulary.classes[:-1]):
            yield name, region, partial(_said, parts=parts, columns=slice(column, column + 1))


def _missed(one: Tally, column: int) -> tuple[float, float]:
    """Of the slices that show a class, those that are wrong, and all."""
    row = one.matrices[-1][column]
    return float(row.sum() - row[column]), float(row.sum())


def _said(one: Tally, parts: tuple[str, str], columns: slice) -> tuple[float, float]:
    """Of the statements on these regions, a part and the whole that RATES names; none where nothing is said
    region by region."""
    if one.said is None:
        return 0.0, 0.0
    part, whole = (float(getattr(one.said, name)[columns].sum()) for name in parts)
    return part, whole


def _gain(
    measure: str, region: str, kind: str, ours: Counts, theirs: Counts, draws: Resampling
) -> Iterator[Gain]:
    """The gain; nothing where either side has nothing to count."""
    first, second = int(ours[:, 1].sum()), int(theirs[:, 1].sum())
    if first and second:
        change = rate_difference(measure, "decided", ours, theirs, draws)
        yield Gain(measure, region, kind, first, second, change)


def rows_of(on: str, found: Sequence[Gain]) -> list[dict[str, object]]:
    """Rows with COLUMNS; `on` says which volumes they are of."""
    return [
        {
            "on": on,
            "measure": one.measure,
            "region": one.region,
            "kind": one.kind,
            "before": one.difference.first,
            "after": one.difference.second,
            "of_before": one.of_before,
            "of_after": one.of_after,
            "difference": one.difference.difference,
            "low": one.difference.low,
            "high": one.difference.high,
            "subjects": one.difference.subjects,
        }
        for one in found
    ]
