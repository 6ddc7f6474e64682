"""The evaluation: every measure of a set of labelled volumes, and the rows behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.statements import UNSURE, YES
from fovnet.evaluate.borders import Border
from fovnet.evaluate.calibration import STAGES as CALIBRATION_STAGES
from fovnet.evaluate.cases import (
    STAGES,
    Case,
    ListedVolume,
    refuse_shared_subjects,
    refuse_unfit_cases,
)
from fovnet.evaluate.groups import Group, handling_measures, make_subgroup, make_whole_group
from fovnet.evaluate.headers import HeaderRow, header_measures, header_rows
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.overlaps import NO_SPANS, SpanCounts
from fovnet.evaluate.parts import PartEvaluation, evaluate_parts
from fovnet.evaluate.statements import statement_curve
from fovnet.evaluate.subgroups import COLLECTION as COLLECTION
from fovnet.evaluate.subgroups import find_groupings
from fovnet.evaluate.tallies import (
    Tally,
    count_case,
    rank_by_sets,
    rank_by_slices,
    stack_counts,
)
from fovnet.records import digest
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EvaluatedVolume:
    """One volume: its true regions, the predicted ones, and its wrong slices before and after the
    decision.

    wrong_raw      wrong slices before the decision
    far            slices whose predicted chain region is no neighbour of the true one
    doubts         codes
    truth_sha256   of heights and labels, by which a comparison checks that two evaluations had the
                   same truth
    extents        "sure" if there is no doubt about the volume, else "unsure"; "" if it was refused
    shows, unsure  the regions with the answer yes, and those with unsure
    """

    volume_id: str
    subject_id: str
    collection: str
    status: str
    truth: tuple[str, ...] = ()
    predicted: tuple[str, ...] = ()
    right: bool = False
    slices: int = 0
    wrong_raw: int = 0
    wrong: int = 0
    far: int = 0
    confidence: float | None = None
    message: str = ""
    spans: SpanCounts = NO_SPANS
    set_probability: float | None = None
    doubts: tuple[str, ...] = ()
    truth_sha256: str = ""
    extents: str = ""
    shows: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()

    @property
    def is_answered(self) -> bool:
        """Whether there is no doubt about the volume as a whole, as `Case.is_answered`; False when
        refused."""
        return self.extents == "sure"

    @property
    def slice_error(self) -> float | None:
        """Share of wrong slices after the decision; None when refused."""
        return self.wrong / self.slices if self.slices else None


@dataclass(frozen=True)
class DoubtRow:
    """How many `volumes` were answered with this doubt; `wrong` have a wrong set of regions,
    `wrong_slices` of `slices` a wrong class."""

    code: str
    volumes: int
    wrong: int
    slices: int
    wrong_slices: int


@dataclass(frozen=True)
class RiskCurve:
    """The risk-coverage curve: confidence, coverage, slice error and share of wrong sets at each
    threshold, from the highest down."""

    confidence: Floats
    coverage: Floats
    slice_error: Floats
    wrong_sets: Floats


@dataclass(frozen=True)
class Evaluation:
    """All measures of one set of labelled volumes.

    everything     all volumes that were not refused, the doubted ones with the answer they would
                   have given
    answered       those without a doubt about the whole volume; None when there are none
    handling       shares of volumes refused and abstained from
    confusions     (k, k) counts by stage, rows true, columns predicted
    reliability    (b, 3) bin totals (slices, summed confidence, right) by stage of calibration, as
                   far as every volume has it
    risk           the risk-coverage curve
    doubts         by code, most frequent first
    headers        header, truth and prediction compared, and `header_rates`; both empty without the
                   column body_part_examined
    answered_risk  slice error of the volumes answered, mean over subjects; None where there are
                   none
    stated_error   the bound that the rule states for it; None where none is stated
    statement_curve, statement_bins
                                of statements on regions: risk and coverage by probability, and (b,
                                3) reliability totals; empty and None unless every volume was
                                answered region by region
    parts          of the regions; None where nothing was said of parts, or the labels name none
    """

    vocabulary: Vocabulary
    bootstrap: int
    seed: int
    everything: Group
    answered: Group | None
    subgroups: tuple[Group, ...]
    handling: tuple[Measure, ...]
    confusions: Mapping[str, NDArray[np.int64]]
    reliability: Mapping[str, Floats]
    borders: tuple[Border, ...]
    volumes: tuple[EvaluatedVolume, ...]
    risk: RiskCurve
    doubts: tuple[DoubtRow, ...]
    headers: tuple[HeaderRow, ...]
    header_rates: tuple[Measure, ...]
    answered_risk: Measure | None = None
    stated_error: float | None = None
    statement_curve: Sequence[Mapping[str, float]] = ()
    statement_bins: Floats | None = None
    parts: PartEvaluation | None = None

    @property
    def promise_met(self) -> bool | None:
        """Whether `stated_error` is not below the interval of `answered_risk`, or below its value
        without an interval; None where either is None."""
        measured_risk = self.answered_risk
        if self.stated_error is None or not measured_risk or measured_risk.value is None:
            return None
        lower_bound = measured_risk.value if measured_risk.low is None else measured_risk.low
        return lower_bound <= self.stated_error

    @property
    def groups(self) -> tuple[Group, ...]:
        """Every group, the leading ones first."""
        leading_groups = [self.everything]
        if self.answered:
            leading_groups.append(self.answered)
        return (*leading_groups, *self.subgroups)


def evaluate(
    cases: Sequence[Case],
    vocabulary: Vocabulary,
    *,
    bootstrap: int = 1000,
    seed: int,
    manifest: Sequence[ListedVolume] = (),
    stated_error: float | None = None,
    network_vocabulary: Vocabulary | None = None,
) -> Evaluation:
    """Every measure of the labelled volumes of one split, with 95 % intervals over subjects.

    manifest      the volumes of all splits, to be checked for subjects in two of them
    stated_error  largest slice error of answered volumes that the rule was tuned for, compared with
                  the one measured
    Raises CollectionError where a subject is in two splits, there is nothing to evaluate, arrays do
    not match a volume's slices, or the truth is inconsistent. The order of the cases does not
    matter.
    """
    refuse_shared_subjects(manifest)
    refuse_unfit_cases(cases, vocabulary)
    sorted_cases = sorted(cases, key=lambda case: case.volume_id)
    tallies = [count_case(case, vocabulary) for case in sorted_cases if len(case.z_mm)]
    answered_tallies = [tally for tally in tallies if tally.case.is_answered]
    refused_count = sum(case.status == "refused" for case in sorted_cases)
    tally_by_id = {tally.case.volume_id: tally for tally in tallies}
    resampling_options = {"repeats": bootstrap, "seed": seed}
    resampling = Resampling([tally.case.subject_id for tally in tallies], **resampling_options)
    complete_stages = [
        stage for stage in CALIBRATION_STAGES if all(stage in tally.bins for tally in tallies)
    ]
    answered_group = None
    if answered_tallies:
        answered_group = make_whole_group(
            "answered", answered_tallies, 0, vocabulary, **resampling_options
        )
    return Evaluation(
        vocabulary=vocabulary,
        bootstrap=bootstrap,
        seed=seed,
        everything=make_whole_group(
            "all", tallies, refused_count, vocabulary, **resampling_options
        ),
        answered=answered_group,
        subgroups=tuple(_make_subgroups(sorted_cases, tallies, **resampling_options)),
        handling=tuple(handling_measures(sorted_cases, **resampling_options)),
        confusions=dict(zip(STAGES, stack_counts(tallies, "confusions").sum(axis=0), strict=True)),
        reliability={
            stage: np.sum([tally.bins[stage] for tally in tallies], axis=0)
            for stage in complete_stages
        },
        borders=tuple(border for tally in tallies for border in tally.borders),
        volumes=tuple(
            _row_of_volume(case, tally_by_id.get(case.volume_id), vocabulary)
            for case in sorted_cases
        ),
        risk=_risk_curve(tallies),
        doubts=_doubt_rows(tallies),
        headers=header_rows(tallies, vocabulary),
        header_rates=tuple(header_measures(tallies, vocabulary, resampling)),
        answered_risk=_subject_mean_risk(answered_tallies, **resampling_options),
        stated_error=stated_error,
        statement_curve=statement_curve([tally.statements for tally in tallies]),
        statement_bins=_statement_bins(tallies),
        parts=evaluate_parts(
            [tally.case for tally in tallies], network_vocabulary or vocabulary, resampling
        ),
    )


def _statement_bins(tallies: Sequence[Tally]) -> Floats | None:
    """(b, 3) reliability totals of all statements; None unless every volume was answered region by
    region."""
    bins_by_volume = [tally.statements.bins for tally in tallies if tally.statements is not None]
    if not bins_by_volume or len(bins_by_volume) != len(tallies):
        return None
    return np.asarray(np.sum(bins_by_volume, axis=0))


def _subject_mean_risk(
    answered_tallies: Sequence[Tally], *, repeats: int, seed: int
) -> Measure | None:
    """Mean over subjects of the mean slice error of a subject's answered volumes, the risk that
    `fovnet.decision.confidence_bar` bounds; subjects count alike, however many or long their
    volumes."""
    slice_errors_by_subject: dict[str, list[float]] = {}
    for tally in answered_tallies:
        slice_error = tally.wrong_count / len(tally.case.z_mm)
        slice_errors_by_subject.setdefault(tally.case.subject_id, []).append(slice_error)
    if not slice_errors_by_subject:
        return None
    subject_ids = sorted(slice_errors_by_subject)
    mean_error_by_subject = np.array(
        [np.mean(slice_errors_by_subject[subject_id]) for subject_id in subject_ids]
    )
    resampling = Resampling(subject_ids, repeats=repeats, seed=seed)
    return resampling.measure_mean(
        "answered_risk", mean_error_by_subject, np.ones(len(subject_ids)), stage="decided", most=1.0
    )


def _make_subgroups(
    cases: Sequence[Case], tallies: Sequence[Tally], *, repeats: int, seed: int
) -> list[Group]:
    """A group for every value that divides the volumes; a volume without the attribute is left
    out."""
    groups = []
    for attribute, value_by_volume_id in find_groupings(cases):
        for value in dict.fromkeys(value_by_volume_id.values()):
            tallies_of_value = [
                tally for tally in tallies if value_by_volume_id.get(tally.case.volume_id) == value
            ]
            statuses_of_value = [
                case.status for case in cases if value_by_volume_id.get(case.volume_id) == value
            ]
            refused_count = statuses_of_value.count("refused")
            groups.append(
                make_subgroup(
                    attribute, value, tallies_of_value, refused_count, repeats=repeats, seed=seed
                )
            )
    return groups


def _risk_curve(tallies: Sequence[Tally]) -> RiskCurve:
    """Slice error and share of wrong sets among the volumes answered, at each confidence."""
    _, _, wrong_sets = rank_by_sets(tallies).curve()
    return RiskCurve(*rank_by_slices(tallies).curve(), wrong_sets)


def _doubt_rows(tallies: Sequence[Tally]) -> tuple[DoubtRow, ...]:
    """A row for each code of doubt, that of most volumes first."""
    tallies_by_code: dict[str, list[Tally]] = {}
    for tally in tallies:
        for code in dict.fromkeys(tally.case.doubt_codes):
            tallies_by_code.setdefault(code, []).append(tally)
    doubt_rows = [
        DoubtRow(
            code=code,
            volumes=len(doubted_tallies),
            wrong=sum(not tally.is_set_exact for tally in doubted_tallies),
            slices=sum(tally.slice_count for tally in doubted_tallies),
            wrong_slices=sum(tally.wrong_count for tally in doubted_tallies),
        )
        for code, doubted_tallies in tallies_by_code.items()
    ]
    return tuple(sorted(doubt_rows, key=lambda row: (-row.volumes, row.code)))


def _row_of_volume(case: Case, tally: Tally | None, vocabulary: Vocabulary) -> EvaluatedVolume:
    """The row of a volume from its counts, which a refused one does not have."""
    row_without_counts = EvaluatedVolume(
        case.volume_id,
        case.subject_id,
        case.collection,
        case.status,
        message=case.message,
        set_probability=case.set_probability,
        doubts=case.doubt_codes,
        shows=_regions_answered(case, YES),
        unsure=_regions_answered(case, UNSURE),
    )
    if tally is None:
        return row_without_counts
    region_names = np.array(vocabulary.classes[:-1])
    is_predicted = case.decided_labels[:, :-1].any(axis=0)
    return replace(
        row_without_counts,
        truth=tuple(region_names[tally.true_regions].tolist()),
        predicted=tuple(region_names[is_predicted].tolist()),
        right=tally.is_set_exact,
        slices=tally.slice_count,
        wrong_raw=tally.wrong_raw_count,
        wrong=tally.wrong_count,
        far=tally.far_slice_count,
        confidence=tally.confidence,
        spans=tally.spans,
        truth_sha256=digest([np.round(case.z_mm, 3), case.truth]),
        extents="sure" if case.is_answered else "unsure",
    )


def _regions_answered(case: Case, answer: str) -> tuple[str, ...]:
    return tuple(statement.region for statement in case.statements if statement.answer == answer)
