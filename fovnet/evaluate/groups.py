"""Measures of a group of volumes: all of them, those answered with confidence, or a subgroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.borders import AGREEMENT_MM, ROUNDING_MM, Border
from fovnet.evaluate.calibration import STAGES as CALIBRATION_STAGES
from fovnet.evaluate.calibration import expected_calibration_error
from fovnet.evaluate.cases import STAGES, Case
from fovnet.evaluate.measures import FEWEST_SUBJECTS, Measure, Resampling, values_by_case
from fovnet.evaluate.risk import rank_volumes
from fovnet.evaluate.slices import balanced_accuracy
from fovnet.evaluate.statements import statement_measures
from fovnet.evaluate.tallies import Tally, column_of
from fovnet.regions import Vocabulary

ALL_BORDERS = "regions"
ENDS = "ends"
"""Borders taken together: those between two regions, and those between a region and none."""


@dataclass(frozen=True)
class Group:
    """A set of volumes and its measures.

    attribute, value  what they share ("collection", "real"); both empty for all volumes
    volumes           those with slices; refused ones stand apart
    too_few           fewer subjects than FEWEST_SUBJECTS
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
        for measure in self.measures:
            if (measure.name, measure.stage, measure.region) == (name, stage, region):
                return measure
        return None


def whole_group(
    name: str,
    tallies: Sequence[Tally],
    refused: int,
    vocabulary: Vocabulary,
    *,
    repeats: int,
    seed: int,
) -> Group:
    """Every measure over these volumes."""
    draws = Resampling([tally.case.subject_id for tally in tallies], repeats=repeats, seed=seed)
    measures = [
        *_slice_measures(tallies, draws),
        *_class_measures(tallies, draws, vocabulary),
        *_roc_measures(tallies, draws, vocabulary),
        *_volume_measures(tallies, draws),
        *_presence_measures(tallies, draws, vocabulary),
        *statement_measures([tally.statements for tally in tallies], draws, vocabulary),
        *_border_measures(tallies, draws, vocabulary),
        *_calibration_measures(tallies, draws, vocabulary),
        *_risk_measures(tallies, draws),
    ]
    return _group(name, "", "", tallies, refused, measures)


def subgroup(
    attribute: str, value: str, tallies: Sequence[Tally], refused: int, *, repeats: int, seed: int
) -> Group:
    """The leading measures over the volumes that share a value: slice errors, region sets, borders
    between regions."""
    measures: list[Measure] = []
    if tallies:
        draws = Resampling([tally.case.subject_id for tally in tallies], repeats=repeats, seed=seed)
        borders = [(index, border) for index, border in _borders(tallies) if not border.is_end]
        measures = [*_slice_measures(tallies, draws), *_volume_measures(tallies, draws)]
        measures += _borders_together(ALL_BORDERS, borders, draws)
    return _group(f"{attribute}={value}", attribute, value, tallies, refused, measures)


def handling(cases: Sequence[Case], *, repeats: int, seed: int) -> list[Measure]:
    """Shares of volumes refused (of all), and abstained from as a whole (of those not refused)."""
    draws = Resampling([case.subject_id for case in cases], repeats=repeats, seed=seed)
    refused = np.array([case.status == "refused" for case in cases])
    withheld = np.array([not case.is_answered for case in cases]) & ~refused
    return [
        draws.rate("refused", refused, np.ones(len(cases))),
        draws.rate("abstained", withheld, ~refused),
    ]


def _group(
    name: str,
    attribute: str,
    value: str,
    tallies: Sequence[Tally],
    refused: int,
    measures: Sequence[Measure],
) -> Group:
    subjects = len({tally.case.subject_id for tally in tallies})
    return Group(
        name=name,
        attribute=attribute,
        value=value,
        subjects=subjects,
        volumes=len(tallies),
        slices=sum(tally.slices for tally in tallies),
        refused=refused,
        too_few=subjects < FEWEST_SUBJECTS,
        measures=tuple(measures),
    )


def _slice_measures(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    slices = column_of(tallies, "slices")
    right = column_of(tallies, "right")
    with_false_label = column_of(tallies, "with_false_label")
    return [
        *(
            draws.rate("slice_error", slices - right[:, column], slices, stage=stage)
            for column, stage in enumerate(STAGES)
        ),
        draws.rate("slice_error_any_label", with_false_label, slices, stage="decided"),
        *_not_dark(tallies, draws),
    ]


def _not_dark(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    """The slice error without all-dark slices, empty where no volume has them marked: the label of
    a black margin cannot be seen in it."""
    if all(tally.case.empty is None for tally in tallies):
        return []
    slices, wrong = column_of(tallies, "lit_slices").T
    return [draws.rate("slice_error_not_dark", wrong, slices, stage="decided")]


def _class_measures(
    tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    measures: list[Measure] = []
    negatives = column_of(tallies, "negatives")
    for column, stage in enumerate(STAGES):
        matrices = column_of(tallies, "matrices")[:, column]  # (c, k, k)
        hits = np.einsum("ckk->ck", matrices)
        true = matrices.sum(axis=2)
        predicted = matrices.sum(axis=1)
        shares = {
            "sensitivity": (hits, true),
            "specificity": (negatives - (predicted - hits), negatives),
            "ppv": (hits, predicted),
            "f1": (2 * hits, true + predicted),
        }
        for name, counts in shares.items():
            measures += draws.rates(name, *counts, stage=stage, regions=vocabulary.classes)
        total = int(matrices.sum())
        measures.append(
            draws.statistic("balanced_accuracy", matrices, balanced_accuracy, total, stage=stage)
        )
    return measures


def _roc_measures(
    tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """Area under the ROC curve of each class against all slices that do not show it; of
    probabilities, which the decision does not give.

    A slice of two classes is a positive of both, and a negative of neither.
    """
    cases = np.repeat(np.arange(len(tallies)), [tally.slices for tally in tallies])
    truth = np.concatenate([tally.case.truth for tally in tallies])
    measures = []
    for stage in ("raw", "smoothed"):
        scores = np.concatenate([getattr(tally.case, stage) for tally in tallies])
        for column, region in enumerate(vocabulary.classes):
            area = draws.roc_area(
                "auroc", scores[:, column], truth[:, column], cases, stage=stage, region=region
            )
            measures.append(area)
    return measures


def _volume_measures(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    ones = np.ones(len(tallies))
    far_slices = column_of(tallies, "far_slices")
    right, true, predicted = column_of(tallies, "spans").T
    counts = {
        "exact_set": (column_of(tallies, "exact"), ones),
        "span_f1": (2 * right, true + predicted),
        "far_confusion_volumes": (far_slices > 0, ones),
        "far_confusion_slices": (far_slices, column_of(tallies, "slices")),
    }
    return [draws.rate(name, *parts, stage="decided") for name, parts in counts.items()]


def _presence_measures(
    tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    true = column_of(tallies, "true_regions").astype(np.int64)
    predicted = column_of(tallies, "predicted_regions").astype(np.int64)
    f1_by_region = draws.rates(
        "presence_f1",
        2 * true * predicted,
        true + predicted,
        stage="decided",
        regions=vocabulary.classes[:-1],
    )
    counts = np.stack([true * predicted, true, predicted], axis=1)  # (c, 3, k - 1)
    weighted_f1 = draws.statistic(
        "presence_f1_weighted", counts, _mean_f1, len(tallies), stage="decided"
    )
    return [*f1_by_region, weighted_f1]


def _mean_f1(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 (...,) averaged over regions with their true volumes as weights, from totals (..., 3, k -
    1) of hits, true, predicted."""
    hits, true, predicted = np.moveaxis(totals, -2, 0)
    f1 = np.divide(
        2 * hits, true + predicted, out=np.zeros_like(hits), where=(true + predicted) > 0
    )
    support = true.sum(axis=-1)
    mean = np.full_like(support, np.nan)
    np.divide((f1 * true).sum(axis=-1), support, out=mean, where=support > 0)
    return np.asarray(mean)


def _borders(tallies: Sequence[Tally]) -> list[tuple[int, Border]]:
    """The borders of all volumes, each with the number of its own."""
    return [(index, border) for index, tally in enumerate(tallies) for border in tally.borders]


def _border_measures(
    tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    numbered_borders = _borders(tallies)
    kinds = [f"{below}|{above}" for below, above in pairwise(vocabulary.chain)]
    # of regions that are no neighbours
    kinds += sorted(
        {border.kind for _, border in numbered_borders if not border.is_end} - set(kinds)
    )
    by_name: dict[str, list[tuple[int, Border]]] = {
        name: [] for name in (ALL_BORDERS, *kinds, ENDS)
    }
    for index, border in numbered_borders:
        names = (ENDS,) if border.is_end else (ALL_BORDERS, border.kind)
        for name in names:
            by_name[name].append((index, border))
    return [
        measure
        for name, borders in by_name.items()
        for measure in _borders_together(name, borders, draws)
    ]


def _borders_together(
    name: str, borders: Sequence[tuple[int, Border]], draws: Resampling
) -> list[Measure]:
    """Errors in mm of the borders found; shares of the true ones found within 10 mm and missed, and
    of the predicted ones invented."""
    cases = len(draws.of_case)
    true, missed, within_10_mm, predicted, invented = np.zeros((5, cases), dtype=np.int64)
    for index, border in borders:
        error = border.error_mm
        true[index] += border.true_mm is not None
        predicted[index] += border.predicted_mm is not None
        missed[index] += border.predicted_mm is None
        invented[index] += border.true_mm is None
        within_10_mm[index] += error is not None and abs(error) <= AGREEMENT_MM + ROUNDING_MM
    errors, case_of = values_by_case([(index, border.error_mm) for index, border in borders])
    absolute = np.abs(errors)
    sums = np.bincount(case_of, absolute, minlength=cases)
    numbers = np.bincount(case_of, minlength=cases)
    decided: dict[str, Any] = {"stage": "decided", "region": name}
    return [
        draws.quantile("border_signed_median_mm", errors, case_of, 0.5, region=name),
        draws.quantile("border_abs_median_mm", absolute, case_of, 0.5, region=name),
        draws.mean("border_abs_mean_mm", sums, numbers, **decided),
        draws.quantile("border_abs_p95_mm", absolute, case_of, 0.95, region=name),
        draws.rate("border_within_10_mm", within_10_mm, true, **decided),
        draws.rate("border_missed", missed, true, **decided),
        draws.rate("border_invented", invented, predicted, **decided),
        *_interval_measures(name, borders, draws),
    ]


def _interval_measures(
    name: str, borders: Sequence[tuple[int, Border]], draws: Resampling
) -> list[Measure]:
    """How often the 90 % intervals of the borders found hold the true height, and their median
    width; empty without intervals."""
    held_borders, borders_with_interval = np.zeros((2, len(draws.of_case)), dtype=np.int64)
    widths = []
    for index, border in borders:
        if (
            border.is_in_interval is not None
            and border.low_mm is not None
            and border.high_mm is not None
        ):
            held_borders[index] += border.is_in_interval
            borders_with_interval[index] += 1
            widths.append((index, border.high_mm - border.low_mm))
    if not widths:
        return []
    return [
        draws.rate(
            "border_interval_holds",
            held_borders,
            borders_with_interval,
            stage="decided",
            region=name,
        ),
        draws.quantile("border_interval_median_mm", *values_by_case(widths), 0.5, region=name),
    ]


def _calibration_measures(
    tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """Expected calibration error, Brier score and negative log-likelihood of each stage that every
    volume has; mean confidence by class predicted; calibration of region sets."""
    slices = column_of(tallies, "slices")
    measures: list[Measure] = []
    for stage in CALIBRATION_STAGES:
        if all(stage in tally.bins for tally in tallies):
            for suffix, kind in (("", "bins"), ("_one_class", "plain_bins")):
                bins = np.stack([getattr(tally, kind)[stage] for tally in tallies])  # (c, b, 3)
                error = draws.statistic(
                    f"expected_calibration_error{suffix}",
                    bins,
                    expected_calibration_error,
                    int(bins[..., 0].sum()),
                    stage=stage,
                )
                measures.append(error)
        if all(stage in tally.brier for tally in tallies):
            brier = np.array([tally.brier[stage] for tally in tallies])
            log_loss = np.array([tally.log_loss[stage] for tally in tallies])
            measures.append(draws.mean("brier", brier, slices, stage=stage, most=2.0))
            measures.append(draws.mean("log_loss_nats", log_loss, slices, stage=stage))
    return (
        measures + _confidence_measures(tallies, draws, vocabulary) + _set_measures(tallies, draws)
    )


def _confidence_measures(
    tallies: Sequence[Tally], draws: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """Mean confidence of the slices predicted as each class, to be compared with the class's
    positive predictive value."""
    confidence_sums = column_of(tallies, "confidence_sums")
    predicted = column_of(tallies, "matrices")[:, -1].sum(axis=1)
    return [
        draws.mean(
            "stated_confidence",
            confidence_sums[:, column],
            predicted[:, column],
            stage="decided",
            region=name,
            most=1.0,
        )
        for column, name in enumerate(vocabulary.classes)
    ]


def _set_measures(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    """Mean probability stated of the predicted set of regions, and its Brier score; empty if a
    volume states none."""
    probabilities = [tally.case.set_probability for tally in tallies]
    if None in probabilities:
        return []
    probability = np.array(probabilities, dtype=np.float64)
    squares = (probability - column_of(tallies, "exact")) ** 2
    ones = np.ones(len(tallies))
    return [
        draws.mean("set_probability", probability, ones, stage="decided", most=1.0),
        draws.mean("set_brier", squares, ones, stage="decided", most=1.0),
    ]


def _risk_measures(tallies: Sequence[Tally], draws: Resampling) -> list[Measure]:
    """Area under the risk-coverage curves: share of wrong slices, and of volumes with a wrong set,
    among the surest volumes."""
    confidence = column_of(tallies, "confidence")
    slices = rank_volumes(confidence, column_of(tallies, "wrong"), column_of(tallies, "slices"))
    sets = rank_volumes(confidence, ~column_of(tallies, "exact"), np.ones(len(tallies)))
    return [
        draws.share_by_weights("risk_coverage_slices", slices.area),
        draws.share_by_weights("risk_coverage_sets", sets.area),
    ]
