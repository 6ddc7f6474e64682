"""Measures of a group of volumes: all of them, those answered with confidence, or a subgroup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.border_measures import measure_borders
from fovnet.evaluate.borders import Border
from fovnet.evaluate.calibration import STAGES as CALIBRATION_STAGES
from fovnet.evaluate.calibration import expected_calibration_error
from fovnet.evaluate.cases import STAGES, Case
from fovnet.evaluate.measures import FEWEST_SUBJECTS, Measure, Resampling
from fovnet.evaluate.shares import share_or_nan
from fovnet.evaluate.slices import balanced_accuracy
from fovnet.evaluate.statements import statement_measures
from fovnet.evaluate.tallies import Tally, rank_by_sets, rank_by_slices, stack_counts
from fovnet.regions import Vocabulary

REGION_BORDERS = "regions"
BODY_ENDS = "ends"
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


def make_whole_group(
    name: str,
    tallies: Sequence[Tally],
    refused_count: int,
    vocabulary: Vocabulary,
    *,
    repeats: int,
    seed: int,
) -> Group:
    """Every measure over these volumes."""
    resampling = Resampling(
        [tally.case.subject_id for tally in tallies], repeats=repeats, seed=seed
    )
    measures = [
        *_slice_measures(tallies, resampling),
        *_class_measures(tallies, resampling, vocabulary),
        *_roc_measures(tallies, resampling, vocabulary),
        *_volume_measures(tallies, resampling),
        *_presence_measures(tallies, resampling, vocabulary),
        *statement_measures(
            [tally.statements for tally in tallies], resampling, vocabulary.classes[:-1]
        ),
        *_border_measures(tallies, resampling, vocabulary),
        *_calibration_measures(tallies, resampling, vocabulary),
        *_risk_measures(tallies, resampling),
    ]
    return _group_of_tallies(name, "", "", tallies, refused_count, measures)


def make_subgroup(
    attribute: str, value: str, tallies: Sequence[Tally], refused: int, *, repeats: int, seed: int
) -> Group:
    """The leading measures over the volumes that share a value: slice errors, region sets, borders
    between regions."""
    measures: list[Measure] = []
    if tallies:
        resampling = Resampling(
            [tally.case.subject_id for tally in tallies], repeats=repeats, seed=seed
        )
        region_borders = [
            (volume_index, border)
            for volume_index, border in _borders_with_volume_index(tallies)
            if not border.is_end
        ]
        measures = [*_slice_measures(tallies, resampling), *_volume_measures(tallies, resampling)]
        measures += measure_borders(REGION_BORDERS, region_borders, resampling)
    return _group_of_tallies(f"{attribute}={value}", attribute, value, tallies, refused, measures)


def handling_measures(cases: Sequence[Case], *, repeats: int, seed: int) -> list[Measure]:
    """Shares of volumes refused (of all), and abstained from as a whole (of those not refused)."""
    resampling = Resampling([case.subject_id for case in cases], repeats=repeats, seed=seed)
    is_refused = np.array([case.status == "refused" for case in cases])
    is_withheld = np.array([not case.is_answered for case in cases]) & ~is_refused
    return [
        resampling.measure_rate("refused", is_refused, np.ones(len(cases))),
        resampling.measure_rate("abstained", is_withheld, ~is_refused),
    ]


def _group_of_tallies(
    name: str,
    attribute: str,
    value: str,
    tallies: Sequence[Tally],
    refused_count: int,
    measures: Sequence[Measure],
) -> Group:
    """The group of these volumes, with the measures already computed."""
    subject_count = len({tally.case.subject_id for tally in tallies})
    return Group(
        name=name,
        attribute=attribute,
        value=value,
        subjects=subject_count,
        volumes=len(tallies),
        slices=sum(tally.slice_count for tally in tallies),
        refused=refused_count,
        too_few=subject_count < FEWEST_SUBJECTS,
        measures=tuple(measures),
    )


def _slice_measures(tallies: Sequence[Tally], resampling: Resampling) -> list[Measure]:
    """The slice error of every stage, that which counts any false label, and that without dark
    slices."""
    slice_count = stack_counts(tallies, "slice_count")
    right_by_stage = stack_counts(tallies, "right_counts")
    false_label_count = stack_counts(tallies, "false_label_count")
    return [
        *(
            resampling.measure_rate(
                "slice_error",
                slice_count - right_by_stage[:, stage_index],
                slice_count,
                stage=stage,
            )
            for stage_index, stage in enumerate(STAGES)
        ),
        resampling.measure_rate(
            "slice_error_any_label", false_label_count, slice_count, stage="decided"
        ),
        *_error_without_dark_slices(tallies, resampling),
    ]


def _error_without_dark_slices(tallies: Sequence[Tally], resampling: Resampling) -> list[Measure]:
    """The slice error without all-dark slices, empty where no volume has them marked: the label of
    a black margin cannot be seen in it."""
    if all(tally.case.is_dark is None for tally in tallies):
        return []
    return [
        resampling.measure_rate(
            "slice_error_not_dark",
            stack_counts(tallies, "wrong_lit_slice_count"),
            stack_counts(tallies, "lit_slice_count"),
            stage="decided",
        )
    ]


def _class_measures(
    tallies: Sequence[Tally], resampling: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """Sensitivity, specificity, positive predictive value and F1 of each class, and the balanced
    accuracy, for every stage."""
    measures: list[Measure] = []
    negative_counts = stack_counts(tallies, "negative_counts")
    for stage_index, stage in enumerate(STAGES):
        confusions = stack_counts(tallies, "confusions")[:, stage_index]  # (c, k, k)
        hit_counts = np.einsum("ckk->ck", confusions)
        true_counts = confusions.sum(axis=2)
        predicted_counts = confusions.sum(axis=1)
        counts_by_measure = {
            "sensitivity": (hit_counts, true_counts),
            "specificity": (negative_counts - (predicted_counts - hit_counts), negative_counts),
            "ppv": (hit_counts, predicted_counts),
            "f1": (2 * hit_counts, true_counts + predicted_counts),
        }
        for measure_name, numerators_and_denominators in counts_by_measure.items():
            measures += resampling.measure_rates(
                measure_name, *numerators_and_denominators, stage=stage, regions=vocabulary.classes
            )
        slice_count = int(confusions.sum())
        measures.append(
            resampling.measure_statistic(
                "balanced_accuracy", confusions, balanced_accuracy, slice_count, stage=stage
            )
        )
    return measures


def _roc_measures(
    tallies: Sequence[Tally], resampling: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """Area under the ROC curve of each class against all slices that do not show it; of
    probabilities, which the decision does not give.

    A slice of two classes is a positive of both, and a negative of neither.
    """
    volume_index_by_slice = np.repeat(
        np.arange(len(tallies)), [tally.slice_count for tally in tallies]
    )
    truth = np.concatenate([tally.case.truth for tally in tallies])
    measures = []
    for stage in ("raw", "smoothed"):
        probabilities = np.concatenate(
            [getattr(tally.case, f"{stage}_probabilities") for tally in tallies]
        )
        for class_index, region in enumerate(vocabulary.classes):
            area_measure = resampling.measure_roc_area(
                "auroc",
                probabilities[:, class_index],
                truth[:, class_index],
                volume_index_by_slice,
                stage=stage,
                region=region,
            )
            measures.append(area_measure)
    return measures


def _volume_measures(tallies: Sequence[Tally], resampling: Resampling) -> list[Measure]:
    """Shares of exact sets and of far confusions, and the F1 of spans."""
    one_by_volume = np.ones(len(tallies))
    far_slices = stack_counts(tallies, "far_slice_count")
    right_spans, true_spans, predicted_spans = stack_counts(tallies, "spans").T
    counts_by_measure = {
        "exact_set": (stack_counts(tallies, "is_set_exact"), one_by_volume),
        "span_f1": (2 * right_spans, true_spans + predicted_spans),
        "far_confusion_volumes": (far_slices > 0, one_by_volume),
        "far_confusion_slices": (far_slices, stack_counts(tallies, "slice_count")),
    }
    return [
        resampling.measure_rate(measure_name, *numerators_and_denominators, stage="decided")
        for measure_name, numerators_and_denominators in counts_by_measure.items()
    ]


def _presence_measures(
    tallies: Sequence[Tally], resampling: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """The F1 of each region being found in a volume at all, and their mean weighted by true
    volumes."""
    is_true = stack_counts(tallies, "true_regions").astype(np.int64)
    is_predicted = stack_counts(tallies, "predicted_regions").astype(np.int64)
    f1_by_region = resampling.measure_rates(
        "presence_f1",
        2 * is_true * is_predicted,
        is_true + is_predicted,
        stage="decided",
        regions=vocabulary.classes[:-1],
    )
    # (c, 3, k - 1)
    counts_for_f1 = np.stack([is_true * is_predicted, is_true, is_predicted], axis=1)
    weighted_f1 = resampling.measure_statistic(
        "presence_f1_weighted", counts_for_f1, _weighted_mean_f1, len(tallies), stage="decided"
    )
    return [*f1_by_region, weighted_f1]


def _weighted_mean_f1(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """F1 (...,) averaged over regions with their true volumes as weights, from totals (..., 3, k -
    1) of hits, true, predicted."""
    hit_counts, true_counts, predicted_counts = np.moveaxis(totals, -2, 0)
    f1_by_region = np.divide(
        2 * hit_counts,
        true_counts + predicted_counts,
        out=np.zeros_like(hit_counts),
        where=(true_counts + predicted_counts) > 0,
    )
    true_volumes = true_counts.sum(axis=-1)
    return share_or_nan((f1_by_region * true_counts).sum(axis=-1), true_volumes)


def _borders_with_volume_index(tallies: Sequence[Tally]) -> list[tuple[int, Border]]:
    """The borders of all volumes, each with the number of its own."""
    return [
        (volume_index, border)
        for volume_index, tally in enumerate(tallies)
        for border in tally.borders
    ]


def _border_measures(
    tallies: Sequence[Tally], resampling: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """The measures of the borders between regions together, of each kind of border, and of the
    ends."""
    numbered_borders = _borders_with_volume_index(tallies)
    border_kinds = [f"{below}|{above}" for below, above in pairwise(vocabulary.chain)]
    # of regions that are no neighbours
    border_kinds += sorted(
        {border.kind for _, border in numbered_borders if not border.is_end} - set(border_kinds)
    )
    borders_by_name: dict[str, list[tuple[int, Border]]] = {
        kind_or_group: [] for kind_or_group in (REGION_BORDERS, *border_kinds, BODY_ENDS)
    }
    for volume_index, border in numbered_borders:
        kinds_of_border = (BODY_ENDS,) if border.is_end else (REGION_BORDERS, border.kind)
        for kind_or_group in kinds_of_border:
            borders_by_name[kind_or_group].append((volume_index, border))
    return [
        measure
        for kind_or_group, named_borders in borders_by_name.items()
        for measure in measure_borders(kind_or_group, named_borders, resampling)
    ]


def _calibration_measures(
    tallies: Sequence[Tally], resampling: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """Expected calibration error, Brier score and negative log-likelihood of each stage that every
    volume has; mean confidence by class predicted; calibration of region sets."""
    slice_count = stack_counts(tallies, "slice_count")
    measures: list[Measure] = []
    for stage in CALIBRATION_STAGES:
        if all(stage in tally.bins for tally in tallies):
            for name_suffix, bins_attribute in (("", "bins"), ("_one_class", "one_class_bins")):
                bins_by_volume = np.stack(
                    [getattr(tally, bins_attribute)[stage] for tally in tallies]
                )  # (c, b, 3)
                error_measure = resampling.measure_statistic(
                    f"expected_calibration_error{name_suffix}",
                    bins_by_volume,
                    expected_calibration_error,
                    int(bins_by_volume[..., 0].sum()),
                    stage=stage,
                )
                measures.append(error_measure)
        if all(stage in tally.brier for tally in tallies):
            brier_totals = np.array([tally.brier[stage] for tally in tallies])
            log_loss_totals = np.array([tally.log_loss[stage] for tally in tallies])
            measures.append(
                resampling.measure_mean("brier", brier_totals, slice_count, stage=stage, most=2.0)
            )
            measures.append(
                resampling.measure_mean("log_loss_nats", log_loss_totals, slice_count, stage=stage)
            )
    return (
        measures
        + _confidence_measures(tallies, resampling, vocabulary)
        + _set_measures(tallies, resampling)
    )


def _confidence_measures(
    tallies: Sequence[Tally], resampling: Resampling, vocabulary: Vocabulary
) -> list[Measure]:
    """Mean confidence of the slices predicted as each class, to be compared with the class's
    positive predictive value."""
    confidence_sums = stack_counts(tallies, "confidence_sums")
    predicted_counts = stack_counts(tallies, "confusions")[:, -1].sum(axis=1)
    return [
        resampling.measure_mean(
            "stated_confidence",
            confidence_sums[:, class_index],
            predicted_counts[:, class_index],
            stage="decided",
            region=class_name,
            most=1.0,
        )
        for class_index, class_name in enumerate(vocabulary.classes)
    ]


def _set_measures(tallies: Sequence[Tally], resampling: Resampling) -> list[Measure]:
    """Mean probability stated of the predicted set of regions, and its Brier score; empty if a
    volume states none."""
    stated_probabilities = [tally.case.set_probability for tally in tallies]
    if None in stated_probabilities:
        return []
    set_probability = np.array(stated_probabilities, dtype=np.float64)
    squared_errors = (set_probability - stack_counts(tallies, "is_set_exact")) ** 2
    one_by_volume = np.ones(len(tallies))
    return [
        resampling.measure_mean(
            "set_probability", set_probability, one_by_volume, stage="decided", most=1.0
        ),
        resampling.measure_mean(
            "set_brier", squared_errors, one_by_volume, stage="decided", most=1.0
        ),
    ]


def _risk_measures(tallies: Sequence[Tally], resampling: Resampling) -> list[Measure]:
    """Area under the risk-coverage curves: share of wrong slices, and of volumes with a wrong set,
    among the surest volumes."""
    return [
        resampling.measure_share("risk_coverage_slices", rank_by_slices(tallies).area),
        resampling.measure_share("risk_coverage_sets", rank_by_sets(tallies).area),
    ]
