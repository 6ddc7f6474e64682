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

from fovnet.evaluate.comparison import find_better_run
from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.paired import Difference, rate_difference
from fovnet.evaluate.statements import COUNTED_BY_RATE
from fovnet.evaluate.tallies import Tally
from fovnet.regions import Vocabulary

Counts = NDArray[np.float64]
Count = Callable[[Tally], tuple[float, float]]
GAIN_COLUMNS = (
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


def measure_gains(
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
    resampling = Resampling(
        [tally.case.subject_id for tally in tallies], repeats=repeats, seed=seed
    )
    gains: list[Gain] = []
    for measure, region, count_of_tally in _counted_measures(vocabulary):
        counts_before = np.array([count_of_tally(tally) for tally in tallies], dtype=np.float64)
        counts_after = np.array(
            [count_of_tally(tally) for tally in tallies_after], dtype=np.float64
        )
        gains += _gain_if_counted(measure, region, "", counts_before, counts_after, resampling)
        if measure == SLICES_WRONG and not region and kinds is not None:
            for kind in sorted(set(kinds)):
                is_of_kind = np.array([volume_kind == kind for volume_kind in kinds])[:, None]
                gains += _gain_if_counted(
                    measure,
                    region,
                    kind,
                    counts_before * is_of_kind,
                    counts_after * is_of_kind,
                    resampling,
                )
    return gains


def certain_changes_in_words(gains_on: Mapping[str, Sequence[Gain]]) -> str:
    """ "no gain is certain; a certain loss: statements decided -4.5 points (-10.2 to -1.4; your
    subjects)".

    Of HEADLINES those whose interval leaves out 0, by the name of the volumes that they are of.
    """
    changes_by_better_run: dict[str, list[str]] = {"first": [], "second": []}
    for volumes_in_words, gains in gains_on.items():
        for gain in gains:
            difference = gain.difference
            better_run = find_better_run(difference)
            if gain.measure in HEADLINES and not gain.region and not gain.kind and better_run:
                interval_in_words = (
                    f"{100 * (difference.low or 0.0):+.1f} to {100 * (difference.high or 0.0):+.1f}"
                )
                points_in_words = (
                    f"{gain.measure.replace('_', ' ')} {100 * difference.difference:+.1f} points"
                )
                changes_by_better_run[better_run].append(
                    f"{points_in_words} ({interval_in_words}; {volumes_in_words})"
                )
    gains_in_words = _changes_in_words("gain", "gains", changes_by_better_run["second"])
    losses_in_words = _changes_in_words("loss", "losses", changes_by_better_run["first"])
    return f"{gains_in_words}; {losses_in_words}"


def _changes_in_words(singular: str, plural: str, changes: Sequence[str]) -> str:
    if not changes:
        return f"no {singular} is certain"
    subject = f"a certain {singular}" if len(changes) == 1 else f"certain {plural}"
    return f"{subject}: {', '.join(changes)}"


SLICES_WRONG = "slices_wrong"


def _counted_measures(vocabulary: Vocabulary) -> Iterator[tuple[str, str, Count]]:
    """Name, region or "", and the function that counts them in a volume."""
    yield SLICES_WRONG, "", lambda tally: (tally.wrong_count, tally.slice_count)
    for class_index, region in enumerate(vocabulary.classes):
        yield SLICES_WRONG, region, partial(_count_missed, class_index=class_index)
    yield "exactly_right_regions", "", lambda tally: (tally.is_set_exact, 1)
    for rate_name, numerator_and_denominator in COUNTED_BY_RATE.items():
        yield (
            rate_name,
            "",
            partial(
                _count_statements,
                attribute_names=numerator_and_denominator,
                region_slice=slice(None),
            ),
        )
        for class_index, region in enumerate(vocabulary.classes[:-1]):
            yield (
                rate_name,
                region,
                partial(
                    _count_statements,
                    attribute_names=numerator_and_denominator,
                    region_slice=slice(class_index, class_index + 1),
                ),
            )


def _count_missed(tally: Tally, class_index: int) -> tuple[float, float]:
    """Of the slices that show a class, those that are wrong, and all."""
    slices_by_prediction = tally.confusions[-1][class_index]
    return float(slices_by_prediction.sum() - slices_by_prediction[class_index]), float(
        slices_by_prediction.sum()
    )


def _count_statements(
    tally: Tally, attribute_names: tuple[str, str], region_slice: slice
) -> tuple[float, float]:
    """Of the statements on these regions, a part and the whole that COUNTED_BY_RATE names; none
    where nothing is said region by region."""
    if tally.statements is None:
        return 0.0, 0.0
    numerator, denominator = (
        float(getattr(tally.statements, attribute_name)[region_slice].sum())
        for attribute_name in attribute_names
    )
    return numerator, denominator


def _gain_if_counted(
    measure: str,
    region: str,
    kind: str,
    counts_before: Counts,
    counts_after: Counts,
    resampling: Resampling,
) -> Iterator[Gain]:
    """The gain; nothing where either side has nothing to count."""
    total_before = int(counts_before[:, 1].sum())
    total_after = int(counts_after[:, 1].sum())
    if total_before and total_after:
        difference = rate_difference(measure, "decided", counts_before, counts_after, resampling)
        yield Gain(measure, region, kind, total_before, total_after, difference)


def gain_rows(on: str, gains_on: Sequence[Gain]) -> list[dict[str, object]]:
    """Rows with GAIN_COLUMNS; `on` says which volumes they are of."""
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
