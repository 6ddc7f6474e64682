"""Measures of a group of volumes: all of them, those answered with confidence, or a subgroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.borders import AGREEMENT_MM, ROUNDING_MM, Border
from fovnet.evaluate.calibration import STAGES as CALIBRATION_STAGES
from fovnet.evaluate.calibration import expected_calibration_error
from fovnet.evaluate.cases import STAGES, Case
from fovnet.evaluate.measures import FEWEST_SUBJECTS, Measure, Resampling
from fovnet.evaluate.risk import ranked
from fovnet.evaluate.slices import balanced_accuracy
from fovnet.evaluate.statements import statement_measures
from fovnet.evaluate.tallies import Tally
from fovnet.regions import Vocabulary

ALL_BORDERS, ENDS = "regions", "ends"
"""Borders taken together: those between two regions, and those between a region and none."""


@dataclass(frozen=True)
class Group:
    """A set of volumes and its measures.

    attribute, value  what they share ("collection", "real"); both empty for all volumes;  too_few  fewer than
        FEWEST_SUBJECTS
    volumes counts those with slices; refused ones stand apart.
    """

    name: str
    attribute: str
    value: str
    subjects: int
    volumes: int
    slices: int
    refused: int
    too_few: bool
    measures: tuple[Measure, ...]

    def find(self, name: str, stage: str = "", region: str = "") -> Measure | None:
        """The measure of this name, stage and region; None when this group was not given it."""
        wanted = (name, stage, region)
        return next((one for one in self.measures if (one.name, one.stage, one.region) == wanted), None)


def whole_group(
    name: str, tallies: Sequence[Tally], refused: int, vocabulary: Vocabulary, *, repeats: int, seed: int
) -> Group:
    """Every measure over these volumes."""
    draws = Resampling([one.case.subject_id for one in tallies], repeats=repeats, seed=seed)
    measures = [
        *_slice_measures(tallies, draws),
        *_class_measures(tallies, draws, vocabulary),
        *_roc_measures(tallies, draws, vocabulary),
        *_volume_measures(tallies, draws),
        *_presence_measures(tallies, draws, vocabulary),
        *statement_measures([one.said for one in tallies], draws, vocabulary),
        *_border_measures(tallies, draws, vocabulary),
        *_calibration_measures(tallies, draws, vocabulary),
        *_risk_measures(tallies, draws),
    ]
    return _group(name, "", "", tallies, refused, measures)


def subgroup(
    attribute: str, value: str, tallies: Sequence[Tally], refused: int, *, repeats: int, seed: int
) -> Group:
    """The leading measures over the volumes that share a value: slice errors, region sets, borders between
    regions."""
    measures: list[Measure] = []
    if tallies:
        draws = Resampling([one.case.subject_id for one in tallies], repeats=repeats, seed=seed)
        borders = [
            (index, border)
            for index, one in enumerate(tallies)
            for border in one.borders
            if not border.is_end
        ]
        measures = [*_slice_measures(tallies, draws), *_volume_measures(tallies, draws)]
        measures += _borders_together(ALL_BORDERS, borders, draws)
    return _group(f"{attribute}={value}", attribute, value, tallies, refused, measures)


def handling(cases: Sequence[Case], *, repeats: int, seed: int) -> list[Measure]:
    """Shares of volumes refused (of all), and abstained from as a whole (of those not refused)."""
    draws = Resampling([case.subject_id for case in cases], repeats=repeats, seed=seed)
    refused = np.array([[case.status == "refused"] for case in cases], dtype=np.int64)
    withheld = np.array([[case.status != "refused" and not case.is_answered] for case in cases], np.int64)
    return [
        *draws.rates("refused", refused, np.ones_like(refused)),
        *draws.rates("abstained", withheld, 1 - refused),
    ]


def _group(
    name: str, attribute: str, value: str, tallies: Sequence[Tally], refused: int, measures: Sequence[Measure]
) -> Group:
    subjects = len({one.case.subject_id for one in tallies})
    slices = sum(one.slices for one in tallies)
    few = subjects < FEWEST_SUBJECTS
    return Group(name, attribute, value, subjects, len(tallies), slices, refused, few, tuple(measures))


def _slice_measures(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    slices = np.array([[one.slices] for one in tallies])
    right = np.stack([one.right for one in tallies])
    measures = [
        measure
        for column, stage in enumerate(STAGES)
        for measure in draws.rates("slice_error", slices - right[:, [column]], slices, stage=stage)
    ]
    untrue = np.array([[one.untrue] for one in tallies], dtype=np.int64)
    return (
        measures
        + draws.rates("slice_error_any_label", untrue, slices, stage="decided")
        + _not_dark(tallies, draws)
    )


def _not_dark(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    """The slice error without all-dark slices, empty where no volume has them marked: the label of a black
    margin cannot be seen in it."""
    if all(one.case.empty is None for one in tallies):
        return []
    lit, wrong = np.array([one.lit for one in tallies]).T[..., None]
    return draws.rates("slice_error_not_dark", wrong, lit, stage="decided")


def _class_measures(tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary) -> list[Measure]:
    measures: list[Measure] = []
    negatives = np.stack([one.negatives for one in tallies])
    for column, stage in enumerate(STAGES):
        matrices = np.stack([one.matrices[column] for one in tallies])           # (c, k, k)
        hits, true, predicted = np.einsum("ckk->ck", matrices), matrices.sum(axis=2), matrices.sum(axis=1)
        measures += draws.rates("sensitivity", hits, true, stage=stage, regions=vocabulary.classes)
        measures += draws.rates(
            "specificity", negatives - (predicted - hits), negatives, stage=stage, regions=vocabulary.classes
        )
        measures += draws.rates("ppv", hits, predicted, stage=stage, regions=vocabulary.classes)
        measures += draws.rates("f1", 2 * hits, true + predicted, stage=stage, regions=vocabulary.classes)
        measures.append(
            draws.statistic(
                "balanced_accuracy", matrices, balanced_accuracy, int(matrices.sum()), stage=stage
            )
        )
    return measures


def _roc_measures(tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary) -> list[Measure]:
    """Area under the ROC curve of each class against all slices that do not show it; of probabilities, which
    the decision does not give.

    A slice of two classes is a positive of both, and a negative of neither.
    """
    cases = np.repeat(np.arange(len(tallies)), [one.slices for one in tallies])
    truth = np.concatenate([one.case.truth for one in tallies])
    return [
        draws.roc_area("auroc", scores[:, column], truth[:, column], cases, stage=stage, region=region)
        for stage in ("raw", "smoothed")
        for scores in [np.concatenate([getattr(one.case, stage) for one in tallies])]
        for column, region in enumerate(vocabulary.classes)
    ]


def _volume_measures(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    one_each = np.ones((len(tallies), 1), dtype=np.int64)
    exact = np.array([[one.exact] for one in tallies], dtype=np.int64)
    far = np.array([[one.far > 0] for one in tallies], dtype=np.int64)
    far_slices = np.array([[one.far] for one in tallies])
    slices = np.array([[one.slices] for one in tallies])
    right, true, predicted = np.array([one.spans for one in tallies]).T[..., None]
    return [
        *draws.rates("exact_set", exact, one_each, stage="decided"),
        *draws.rates("span_f1", 2 * right, true + predicted, stage="decided"),
        *draws.rates("far_confusion_volumes", far, one_each, stage="decided"),
        *draws.rates("far_confusion_slices", far_slices, slices, stage="decided"),
    ]


def _presence_measures(tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary) -> list[Measure]:
    true = np.stack([one.true_regions for one in tallies]).astype(np.int64)
    predicted = np.stack([one.predicted_regions for one in tallies]).astype(np.int64)
    names = vocabulary.classes[:-1]
    each = draws.rates("presence_f1", 2 * true * predicted, true + predicted, stage="decided", regions=names)
    stacked = np.stack([true * predicted, true, predicted], axis=1)              # (c, 3, k - 1)
    return [
        *each,
        draws.statistic("presence_f1_weighted", stacked, _weighted_f1, len(tallies), stage="decided"),
    ]


def _weighted_f1(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 (...,) averaged over regions with their true volumes as weights, from totals (..., 3, k - 1) of
    both, true, predicted."""
    both, true, predicted = totals[..., 0, :], totals[..., 1, :], totals[..., 2, :]
    each = np.divide(2 * both, true + predicted, out=np.zeros_like(both), where=(true + predicted) > 0)
    support = true.sum(axis=-1)
    return np.asarray(
        np.divide((each * true).sum(axis=-1), support, out=np.full_like(support, np.nan), where=support > 0)
    )


def _border_measures(tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary) -> list[Measure]:
    found = [(index, border) for index, one in enumerate(tallies) for border in one.borders]
    kinds = [f"{below}|{above}" for below, above in pairwise(vocabulary.chain)]
    # of regions that are no neighbours
    kinds += sorted({border.kind for _, border in found if not border.is_end} - set(kinds))
    by_name: dict[str, list[tuple[int, Border]]] = {name: [] for name in (ALL_BORDERS, *kinds, ENDS)}
    for index, border in found:
        if border.is_end:
            by_name[ENDS].append((index, border))
        else:
            by_name[ALL_BORDERS].append((index, border))
            by_name[border.kind].append((index, border))
    return [
        measure for name, borders in by_name.items() for measure in _borders_together(name, borders, draws)
    ]


def _borders_together(name: str, borders: Sequence[tuple[int, Border]], draws: Resampling) -> list[Measure]:
    """Errors in mm of the borders found; shares of the true ones found within 10 mm and missed, and of the
    predicted ones invented."""
    cases = len(draws.of_case)
    true, missed, near, predicted, invented = (np.zeros((cases, 1), dtype=np.int64) for _ in range(5))
    for index, border in borders:
        error = border.error_mm
        true[index] += border.true_mm is not None
        predicted[index] += border.predicted_mm is not None
        missed[index] += border.predicted_mm is None
        invented[index] += border.true_mm is None
        near[index] += error is not None and abs(error) <= AGREEMENT_MM + ROUNDING_MM
    found = [(index, border.error_mm) for index, border in borders if border.error_mm is not None]
    errors = np.array([error for _, error in found], dtype=np.float64)
    case_of = np.array([index for index, _ in found], dtype=np.int64)
    return [
        draws.quantile("border_signed_median_mm", errors, case_of, 0.5, region=name),
        draws.quantile("border_abs_median_mm", np.abs(errors), case_of, 0.5, region=name),
        draws.mean(
            "border_abs_mean_mm", *_by_case(np.abs(errors), case_of, cases), stage="decided", region=name
        ),
        draws.quantile("border_abs_p95_mm", np.abs(errors), case_of, 0.95, region=name),
        *draws.rates("border_within_10_mm", near, true, stage="decided", regions=(name,)),
        *draws.rates("border_missed", missed, true, stage="decided", regions=(name,)),
        *draws.rates("border_invented", invented, predicted, stage="decided", regions=(name,)),
        *_interval_measures(name, borders, draws),
    ]


def _by_case(
    values: NDArray[np.float64], case_of: NDArray[np.int64], cases: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Sum and number (c,) of the values (v,) of each case, from the case that each value is of (v,)."""
    return np.asarray(np.bincount(case_of, values, minlength=cases), dtype=np.float64), np.bincount(
        case_of, minlength=cases
    )


def _interval_measures(name: str, borders: Sequence[tuple[int, Border]], draws: Resampling) -> list[Measure]:
    """How often the 90 % intervals of the borders found hold the true height, and their median width; empty
    without intervals."""
    held, wanted = (np.zeros((len(draws.of_case), 1), dtype=np.int64) for _ in range(2))
    widths = []
    for index, border in borders:
        if border.held is not None and border.low_mm is not None and border.high_mm is not None:
            held[index] += border.held
            wanted[index] += 1
            widths.append((index, border.high_mm - border.low_mm))
    if not widths:
        return []
    case_of, wide = (
        np.array([index for index, _ in widths], dtype=np.int64),
        np.array([width for _, width in widths]),
    )
    return [
        *draws.rates("border_interval_holds", held, wanted, stage="decided", regions=(name,)),
        draws.quantile("border_interval_median_mm", wide, case_of, 0.5, region=name),
    ]


def _calibration_measures(
    tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """Expected calibration error, Brier score and negative log-likelihood of each stage that every volume
    has; mean confidence by class predicted; calibration of region sets."""
    slices = np.array([one.slices for one in tallies])
    total, measures = int(slices.sum()), []
    for stage in CALIBRATION_STAGES:
        if all(stage in one.bins for one in tallies):
            bins = np.stack([one.bins[stage] for one in tallies])                    # (c, b, 3)
            measures.append(
                draws.statistic(
                    "expected_calibration_error", bins, expected_calibration_error, total, stage=stage
                )
            )
            plain = np.stack([one.plain_bins[stage] for one in tallies])
            name, count = "expected_calibration_error_one_class", int(plain[..., 0].sum())
            measures.append(draws.statistic(name, plain, expected_calibration_error, count, stage=stage))
        if all(stage in one.brier for one in tallies):
            measures.append(
                draws.mean(
                    "brier", np.array([one.brier[stage] for one in tallies]), slices, stage=stage, most=2.0
                )
            )
            measures.append(
                draws.mean(
                    "log_loss_nats", np.array([one.log_loss[stage] for one in tallies]), slices, stage=stage
                )
            )
    return measures + _stated_measures(tallies, draws, vocabulary) + _set_measures(tallies, draws)


def _stated_measures(tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary) -> list[Measure]:
    """Mean confidence of the slices predicted as each class, to be compared with the class's positive
    predictive value."""
    stated, predicted = (
        np.stack(arrays)
        for arrays in zip(*((one.stated, one.matrices[-1].sum(axis=0)) for one in tallies), strict=True)
    )
    return [
        draws.mean(
            "stated_confidence", stated[:, column], predicted[:, column], stage="decided", region=name,
            most=1.0,
        )
        for column, name in enumerate(vocabulary.classes)
    ]


def _set_measures(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    """Mean probability stated of the predicted set of regions, and its Brier score; empty if a volume states
    none."""
    probabilities = [one.case.set_probability for one in tallies]
    if any(each is None for each in probabilities):
        return []
    stated = np.array([each or 0.0 for each in probabilities])
    exact, one_each = np.array([one.exact for one in tallies], dtype=np.float64), np.ones(len(tallies))
    return [
        draws.mean("set_probability", stated, one_each, stage="decided", most=1.0),
        draws.mean("set_brier", (stated - exact) ** 2, one_each, stage="decided", most=1.0),
    ]


def _risk_measures(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    """Area under the risk-coverage curves: share of wrong slices, and of volumes with a wrong set, among the
    surest volumes."""
    sure = np.array([one.confidence for one in tallies])
    wrong, slices = np.array([one.wrong for one in tallies]), np.array([one.slices for one in tallies])
    inexact = np.array([not one.exact for one in tallies])
    return [
        draws.weighted(
            "risk_coverage_slices", ranked(sure, wrong, slices).area, len(tallies), stage="decided"
        ),
        draws.weighted(
            "risk_coverage_sets", ranked(sure, inexact, np.ones(len(tallies))).area, len(tallies),
            stage="decided",
        ),
    ]
