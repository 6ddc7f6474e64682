"""What networks gained or lost by being adapted: the same volumes answered before and after.

    c  volumes    k  classes

Every measure is a ratio of counts, with the paired interval of its difference over subjects
(`paired.py`).
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
    tallies: Sequence[Tally],
    tallies_after: Sequence[Tally],
    vocabulary: Vocabulary,
    *,
    seed: int,
    kinds: Sequence[str] | None = None,
    repeats: int = 1000,
) -> list[Gain]:
    """Each measure of volumes answered before and `tallies_after`, in the same order: in all, by
    region, and slices also by kind of picture where `kinds` (c,) says of each what it is."""
    draws = Resampling([tally.case.subject_id for tally in tallies], repeats=repeats, seed=seed)
    changes: list[Gain] = []
    for measure, region, count in _measures(vocabulary):
        counts = np.array([count(tally) for tally in tallies], dtype=np.float64)
        counts_after = np.array([count(tally) for tally in tallies_after], dtype=np.float64)
        changes += _gain(measure, region, "", counts, counts_after, draws)
        if measure == SLICES and not region and kinds is not None:
            for kind in sorted(set(kinds)):
                is_of_kind = np.array([volume_kind == kind for volume_kind in kinds])[:, None]
                changes += _gain(
                    measure, region, kind, counts * is_of_kind, counts_after * is_of_kind, draws
                )
    return changes


def certainty(gains_on: Mapping[str, Sequence[Gain]]) -> str:
    """ "no gain is certain; a certain loss: statements decided -4.5 points (-10.2 to -1.4; your
    subjects)".

    Of HEADLINES those whose interval leaves out 0, by the name of the volumes that they are of.
    """
    changes: dict[str, list[str]] = {"first": [], "second": []}
    for volumes, measured in gains_on.items():
        for gain in measured:
            change = gain.difference
            better = verdict(change)
            if gain.measure in HEADLINES and not gain.region and not gain.kind and better:
                interval = f"{100 * (change.low or 0.0):+.1f} to {100 * (change.high or 0.0):+.1f}"
                points = f"{gain.measure.replace('_', ' ')} {100 * change.difference:+.1f} points"
                changes[better].append(f"{points} ({interval}; {volumes})")
    gains_in_words = _changes_in_words("gain", "gains", changes["second"])
    losses_in_words = _changes_in_words("loss", "losses", changes["first"])
    return f"{gains_in_words}; {losses_in_words}"


def _changes_in_words(noun: str, nouns: str, changes: Sequence[str]) -> str:
    if not changes:
        return f"no {noun} is certain"
    subject = f"a certain {noun}" if len(changes) == 1 else f"certain {nouns}"
    return f"{subject}: {', '.join(changes)}"


SLICES = "slices_wrong"


def _measures(vocabulary: Vocabulary) -> Iterator[tuple[str, str, Count]]:
    """Name, region or "", and the function that counts them in a volume."""
    yield SLICES, "", lambda tally: (tally.wrong, tally.slices)
    for column, region in enumerate(vocabulary.classes):
        yield SLICES, region, partial(_count_missed, column=column)
    yield "exactly_right_regions", "", lambda tally: (tally.exact, 1)
    for name, parts in RATES.items():
        yield name, "", partial(_count_statements, parts=parts, columns=slice(None))
        for column, region in enumerate(vocabulary.classes[:-1]):
            yield (
                name,
                region,
                partial(_count_statements, parts=parts, columns=slice(column, column + 1)),
            )


def _count_missed(tally: Tally, column: int) -> tuple[float, float]:
    """Of the slices that show a class, those that are wrong, and all."""
    row = tally.matrices[-1][column]
    return float(row.sum() - row[column]), float(row.sum())


def _count_statements(tally: Tally, parts: tuple[str, str], columns: slice) -> tuple[float, float]:
    """Of the statements on these regions, a part and the whole that RATES names; none where nothing
    is said region by region."""
    if tally.statements is None:
        return 0.0, 0.0
    numerator, denominator = (
        float(getattr(tally.statements, name)[columns].sum()) for name in parts
    )
    return numerator, denominator


def _gain(
    measure: str,
    region: str,
    kind: str,
    counts: Counts,
    counts_after: Counts,
    draws: Resampling,
) -> Iterator[Gain]:
    """The gain; nothing where either side has nothing to count."""
    total = int(counts[:, 1].sum())
    total_after = int(counts_after[:, 1].sum())
    if total and total_after:
        change = rate_difference(measure, "decided", counts, counts_after, draws)
        yield Gain(measure, region, kind, total, total_after, change)


def rows_of(on: str, gains_on: Sequence[Gain]) -> list[dict[str, object]]:
    """Rows with COLUMNS; `on` says which volumes they are of."""
    return [
        {
            "on": on,
            "measure": gain.measure,
            "region": gain.region,
            "kind": gain.kind,
            "before": gain.difference.first,
            "after": gain.difference.second,
            "of_before": gain.of_before,
            "of_after": gain.of_after,
            "difference": gain.difference.difference,
            "low": gain.difference.low,
            "high": gain.difference.high,
            "subjects": gain.difference.subjects,
        }
        for gain in gains_on
    ]
