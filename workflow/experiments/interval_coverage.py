"""The coverage of 95 % intervals where the slices of one body are correlated.

Studies with known true values are simulated: each body has its own error rates (beta distributed
about the true mean, with a stated intra-body correlation), its own offset at the borders and on the
scores, one to three volumes, and a random number of slices. For every study the intervals that the
evaluation uses are computed, simpler alternatives, and the one that takes all slices as
independent.

    n  bodies    k  classes, 3: one that every body shows, two that some do not
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from fovnet.cli import main
from fovnet.cli.options import file_out, table_of
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.maths.intervals import (
    bca_interval,
    cluster_weights,
    difference_interval,
    percentile_interval,
    quantile_difference_interval,
    ratio_interval,
    resampled_quantile,
    studentised_interval,
    t_interval,
    tail_interval,
    widened_level,
    wilson_interval,
)
from fovnet.maths.ranking import count_pairs
from fovnet.records import write_tsv

Floats = NDArray[np.float64]
Ends = tuple[float, float]

ERROR_RATES = (0.05, 0.10, 0.20)
"""True error rates of the three classes."""
SHARES_SHOWING = (1.0, 0.6, 0.5)
"""Share of bodies that show each class."""
REPEATED_SHARE = 0.5
ADDED_SHARE = 0.02
"""Share of the first run's wrong slices that the second gets wrong too, and of the first run's
right ones that it gets wrong."""
DIFFERING_SHARE = 0.1
"""Share of the bodies in which two equally good runs differ, in either direction with equal
probability."""
BORDER_OFFSET_MM = 6.0
BORDER_JITTER_MM = 6.0
"""Standard deviations of a border's error: of the body's own offset, and from volume to volume."""
SCORE_DISTANCE = 2.0
SCORE_OFFSET = 0.7
SCORE_JITTER = 1.0
"""Scores: how far positives lie above negatives, and the standard deviations between and within
bodies."""

SLICE_ERROR = "slice error"
SENSITIVITY = "sensitivity of a class half the bodies show"
BALANCED_ACCURACY = "balanced accuracy"
DIFFERENCE = "difference of two runs"
FEW_DIFFERENCE = "difference of two runs, few bodies differ"
MEDIAN_BORDER = "median border error, mm"
BORDER_TAIL = "95th percentile of the border error, mm"
AREA = "area under the curve"

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Study:
    """One simulated study.

    slices, wrong    (n, k) by body and class
    wrong_in_second  (n, k) of a second run on the same slices, `moved` of which it decides otherwise
    border_mm        (v,) errors, and `body_of_border` the body of each
    score            (s,) and `positive`, `body_of_score` likewise
    few_differences  (n,) -1, 0 or 1, the difference of two equally good runs in each body
    """

    slices: NDArray[np.int64]
    wrong: NDArray[np.int64]
    wrong_in_second: NDArray[np.int64]
    moved: NDArray[np.int64]
    border_mm: Floats
    body_of_border: NDArray[np.int64]
    score: Floats
    positive: NDArray[np.bool_]
    body_of_score: NDArray[np.int64]
    few_differences: NDArray[np.int64]


@dataclass(frozen=True)
class Coverage:
    """The number `held` of `studies` in which the interval of `method` holds the true `value`, its
    share, and the share's 95 % interval.

    used       whether the evaluation uses this method
    width      median width of the intervals
    undefined  studies without an interval, counted as not held: the 95th percentile often has none
               for fewer than 50 bodies
    """

    statistic: str
    subjects: int
    correlation: float
    method: str
    used: bool
    value: float
    studies: int
    held: int
    share: float
    low: float
    high: float
    width: float | None
    undefined: int


COLUMNS = tuple(field.name for field in fields(Coverage))


def simulate_study(rng: np.random.Generator, subjects: int, correlation: float) -> Study:
    """A study of so many bodies, whose error rates have this intra-body correlation."""
    volumes = rng.integers(1, 4, subjects)
    is_shown = rng.random((subjects, len(SHARES_SHOWING))) < SHARES_SHOWING
    slices = rng.integers(8, 25, (subjects, len(SHARES_SHOWING))) * volumes[:, None] * is_shown
    inverse = 1 / correlation - 1
    rates = np.stack(
        [rng.beta(mean * inverse, (1 - mean) * inverse, subjects) for mean in ERROR_RATES], axis=1
    )
    wrong = rng.binomial(slices, rates)
    still_wrong = rng.binomial(wrong, REPEATED_SHARE)
    newly_wrong = rng.binomial(slices - wrong, ADDED_SHARE)
    body_of_border = np.repeat(np.arange(subjects), volumes * 2)
    border_mm = rng.normal(0, BORDER_OFFSET_MM, subjects)[body_of_border] + rng.normal(
        0, BORDER_JITTER_MM, len(body_of_border)
    )
    body_of_score = np.repeat(np.arange(subjects), volumes * 12)
    positive = rng.random(len(body_of_score)) < 0.3
    score = (
        SCORE_DISTANCE * positive
        + rng.normal(0, SCORE_OFFSET, subjects)[body_of_score]
        + rng.normal(0, SCORE_JITTER, len(body_of_score))
    )
    few_differences = np.where(
        rng.random(subjects) < DIFFERING_SHARE, rng.choice([-1, 1], subjects), 0
    )
    return Study(
        slices,
        wrong,
        still_wrong + newly_wrong,
        wrong - still_wrong + newly_wrong,
        border_mm,
        body_of_border,
        score,
        positive,
        body_of_score,
        few_differences,
    )


def true_values() -> dict[str, float]:
    """The true value of every statistic, its limit for large studies."""
    share = np.array(SHARES_SHOWING) / sum(SHARES_SHOWING)
    error = float(share @ np.array(ERROR_RATES))
    return {
        SLICE_ERROR: error,
        SENSITIVITY: 1 - ERROR_RATES[-1],
        BALANCED_ACCURACY: 1 - float(np.mean(ERROR_RATES)),
        DIFFERENCE: error * (REPEATED_SHARE - 1) + (1 - error) * ADDED_SHARE,
        FEW_DIFFERENCE: 0.0,
        MEDIAN_BORDER: float(np.hypot(BORDER_OFFSET_MM, BORDER_JITTER_MM) * ndtri(0.75)),
        BORDER_TAIL: float(np.hypot(BORDER_OFFSET_MM, BORDER_JITTER_MM) * ndtri(0.975)),
        AREA: float(ndtr(SCORE_DISTANCE / np.sqrt(2 * (SCORE_OFFSET**2 + SCORE_JITTER**2)))),
    }


def intervals_of(study: Study, weights: Floats) -> dict[str, dict[str, Ends]]:
    """The intervals of one study by statistic and method, the method that the evaluation uses
    first."""
    slices = study.slices
    wrong = study.wrong
    all_slices = slices.sum(axis=1)
    all_wrong = wrong.sum(axis=1)
    change = study.wrong_in_second.sum(axis=1) - all_wrong
    last_right = (slices - wrong)[:, -1]
    one_each = np.ones(len(slices), dtype=np.int64)
    return {
        SLICE_ERROR: _of_ratio(all_wrong, all_slices, weights),
        SENSITIVITY: _of_ratio(last_right, slices[:, -1], weights),
        BALANCED_ACCURACY: _of_balance(np.stack([slices, wrong], axis=1), weights),
        DIFFERENCE: _of_difference(change, study.moved.sum(axis=1), all_slices, weights),
        FEW_DIFFERENCE: _of_difference(
            study.few_differences, np.abs(study.few_differences), one_each, weights
        ),
        **_of_borders(study, weights),
        AREA: _of_area(study, weights),
    }


def _of_balance(sums: NDArray[np.int64], weights: Floats) -> dict[str, Ends]:
    """Intervals of the balanced accuracy from sums (n, 2, k) of slices and wrong ones."""

    def resample(counts: Floats) -> Floats:
        return _balanced_accuracy(np.einsum("bn,njk->bjk", counts, sums))

    return {
        "bootstrap-t": studentised_interval(sums, _balanced_accuracy, weights),
        "BCa": bca_interval(resample, weights),
        "percentile": _percentile(resample(weights)),
    }


def _of_borders(study: Study, weights: Floats) -> dict[str, dict[str, Ends]]:
    """Intervals of the median and of the 95th percentile of the distances of borders."""
    distance = np.abs(study.border_mm)
    level = widened_level(len(study.slices))

    def quantile(counts: Floats, share: float) -> Floats:
        return resampled_quantile(distance, counts[:, study.body_of_border], share)

    medians = quantile(weights, 0.5)
    return {
        MEDIAN_BORDER: {
            "widened percentile": _percentile(medians, level),
            "percentile": _percentile(medians),
            "BCa": bca_interval(lambda counts: quantile(counts, 0.5), weights),
        },
        BORDER_TAIL: {
            "order statistics": tail_interval(distance, study.body_of_border, 0.95),
            "widened percentile": _percentile(quantile(weights, 0.95), level),
        },
    }


def _of_area(study: Study, weights: Floats) -> dict[str, Ends]:
    """Intervals of the area under the curve of the scores."""
    pairs = count_pairs(study.score, study.positive, study.body_of_score, len(study.slices))
    return {
        "bootstrap-t": _pair(t_interval(pairs.area_and_error, weights)),
        "BCa": bca_interval(pairs.area, weights),
        "percentile": _percentile(pairs.area(weights)),
    }


def coverage(
    subjects: Sequence[int],
    *,
    studies: int,
    correlation: float,
    repeats: int,
    seed: int,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[Coverage]:
    """The coverage of each interval for each number of bodies; the same seed gives the same
    studies."""
    for size_number, count in enumerate(subjects):
        ends: dict[tuple[str, str], list[Ends]] = {}
        for number in range(studies):
            study = simulate_study(np.random.default_rng([seed, count, number]), count, correlation)
            for statistic, by_method in intervals_of(
                study, cluster_weights(count, repeats, seed + number)
            ).items():
                for method, pair in by_method.items():
                    ends.setdefault((statistic, method), []).append(pair)
            if progress:
                progress(size_number * studies + number + 1, len(subjects) * studies)
        done_statistics: set[str] = set()
        for (statistic, method), pairs in ends.items():
            is_used = statistic not in done_statistics  # the first method of each
            yield _coverage(statistic, count, correlation, method, is_used, np.array(pairs))
            done_statistics.add(statistic)


def _coverage(
    statistic: str, subjects: int, correlation: float, method: str, used: bool, ends: Floats
) -> Coverage:
    value = true_values()[statistic]
    holding_count = int(((ends[:, 0] <= value) & (value <= ends[:, 1])).sum())
    low, high = wilson_interval(holding_count, len(ends))
    defined = np.isfinite(ends).all(axis=1)
    width = None
    if defined.any():
        width = float(np.median((ends[:, 1] - ends[:, 0])[defined]))
    undefined = int((~defined).sum())
    return Coverage(
        statistic,
        subjects,
        correlation,
        method,
        used,
        value,
        len(ends),
        holding_count,
        holding_count / len(ends),
        low,
        high,
        width,
        undefined,
    )


def _of_ratio(
    parts: NDArray[np.int64], wholes: NDArray[np.int64], weights: Floats
) -> dict[str, Ends]:
    return {
        "bootstrap-t": _pair(ratio_interval(parts[:, None], wholes[:, None], weights)),
        **_plain(parts, wholes, weights),
        "every slice a body": wilson_interval(int(parts.sum()), int(wholes.sum())),
    }


def _of_difference(
    change: NDArray[np.int64], moved: NDArray[np.int64], wholes: NDArray[np.int64], weights: Floats
) -> dict[str, Ends]:
    """Intervals of a difference of two runs, from the slices of each body (n,) that are wrong more
    often (`change`), decided otherwise (`moved`, which may cancel in `change`), and in all
    (`wholes`).

    Where the runs differ in no body every interval is (0, 0).
    """
    if not change.any():
        names = (
            "wider of both",
            "widened percentile",
            "bootstrap-t",
            "BCa",
            "percentile",
            "every slice a body",
        )
        return dict.fromkeys(names, (0.0, 0.0))
    change_and_whole = np.stack([change, wholes], axis=1)
    return {
        "wider of both": difference_interval(
            change_and_whole, lambda sums: sums[:, 0] / np.maximum(sums[:, 1], 1e-12), weights
        ),
        "widened percentile": quantile_difference_interval(
            (weights @ change) / (weights @ wholes), len(change)
        ),
        "bootstrap-t": _pair(
            ratio_interval(change[:, None], wholes[:, None], weights, share=False)
        ),
        **_plain(change, wholes, weights),
        "every slice a body": _independent_difference(
            int(change.sum()), int(moved.sum()), int(wholes.sum())
        ),
    }


def _plain(parts: NDArray[np.int64], wholes: NDArray[np.int64], weights: Floats) -> dict[str, Ends]:
    def ratio(counts: Floats) -> Floats:
        return np.asarray((counts @ parts) / np.maximum(counts @ wholes, 1e-12))

    return {"BCa": bca_interval(ratio, weights), "percentile": _percentile(ratio(weights))}


def _independent_difference(change: int, moved: int, total: int) -> Ends:
    """The interval of a difference of two runs on `total` slices taken as independent, `moved` of
    which differ by one."""
    mean = change / total
    half = float(ndtri(0.975)) * float(np.sqrt((moved / total - mean**2) / total))
    return float(mean - half), float(mean + half)


def _balanced_accuracy(sums: Floats) -> Floats:
    """Mean sensitivity (B,) from sums (B, 2, k) of slices and wrong ones, over the classes that
    have slices."""
    has = sums[:, 0] > 0
    return np.asarray(
        1
        - (sums[:, 1] / np.maximum(sums[:, 0], 1e-12)).sum(axis=1) / np.maximum(has.sum(axis=1), 1)
    )


def _percentile(values: Floats, level: float = 0.95) -> Ends:
    return _pair(percentile_interval(values[:, None], level))


def _pair(ends: tuple[Floats, Floats]) -> Ends:
    return float(ends[0][0]), float(ends[1][0])


@app.command()
def cover(
    out_file: Annotated[
        Path,
        file_out(
            table_of(__name__), "A TSV file: how often each kind of interval contained the truth."
        ),
    ],
    subjects: Annotated[
        list[int] | None,
        typer.Option("--subjects", min=5, help="Bodies in a study; may be repeated."),
    ] = None,
    studies: Annotated[int, typer.Option(min=20, help="Simulated studies of each size.")] = 1000,
    correlation: Annotated[
        float,
        typer.Option(min=0.01, max=0.9, help="Correlation of two slices of one body being wrong."),
    ] = 0.2,
    bootstrap: Annotated[int, typer.Option(min=100)] = 1000,
    seed: Annotated[int, typer.Option(min=0)] = 1,
) -> None:
    """Simulate studies with a known truth: how often do 95 % intervals contain it when slices of
    one body are correlated?"""
    with progress_bar("simulating") as advance:
        rows = list(
            coverage(
                subjects or [20, 30, 50, 100],
                studies=studies,
                correlation=correlation,
                repeats=bootstrap,
                seed=seed,
                progress=advance,
            )
        )
    table = empty_table(
        f"share of {studies} studies whose 95 % interval contains the truth; * as used in the "
        "evaluation",
        *("statistic", "bodies", "interval", "held", "", "median width"),
    )
    for row in rows:
        method_text = row.method
        if row.used:
            method_text += " *"
        width_text = "–"
        if row.width is not None:
            width_text = f"{row.width:.3g}"
        table.add_row(
            row.statistic,
            str(row.subjects),
            method_text,
            f"{row.share:.1%}",
            f"({row.low:.1%} to {row.high:.1%})",
            width_text,
        )
    show_table(table)
    out.print(f"{write_tsv(out_file, COLUMNS, [asdict(row) for row in rows])}")


if __name__ == "__main__":
    main(app)
