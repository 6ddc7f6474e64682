"""The evaluation: every measure of a set of labelled volumes, and the rows behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.statements import UNSURE, YES
from fovnet.evaluate.borders import Border
from fovnet.evaluate.calibration import STAGES as CALIBRATION_STAGES
from fovnet.evaluate.cases import STAGES, Case, ListedVolume, check_cases, check_splits
from fovnet.evaluate.groups import Group, handling, subgroup, whole_group
from fovnet.evaluate.headers import HeaderRow, header_measures, header_rows
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.risk import rank_volumes
from fovnet.evaluate.statements import statement_curve
from fovnet.evaluate.subgroups import COLLECTION as COLLECTION
from fovnet.evaluate.subgroups import subgroups_of
from fovnet.evaluate.tallies import Tally, column_of, tally
from fovnet.records import digest
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EvaluatedVolume:
    """One volume: its true regions, the predicted ones, and its wrong slices before and after the
    decision.

    wrong_raw      wrong slices before the decision
    far            slices whose predicted chain region is no neighbour of the true one
    spans          numbers of right, true and predicted ones
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
    spans: tuple[int, int, int] = (0, 0, 0)
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

    everything   all volumes that were not refused, the doubted ones with the answer they would have
                 given
    answered     those without a doubt about the whole volume; None when there are none
    handling     shares of volumes refused and abstained from
    confusions   (k, k) counts by stage, rows true, columns predicted
    reliability  (b, 3) bin totals (slices, summed confidence, right) by stage of calibration, as
                 far as every volume has it
    risk         the risk-coverage curve
    doubts       by code, most frequent first
    headers      header, truth and prediction compared, and `header_rates`; both empty without the
                 column body_part_examined
    answered_risk
                 slice error of the volumes answered, mean over subjects; None where there are none
    stated_error the bound that the rule states for it; None where none is stated
    statement_curve, statement_bins  of statements on regions: risk and coverage by probability, and
                 (b, 3) reliability totals; empty and None unless every volume was answered region
                 by region
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

    @property
    def promise_met(self) -> bool | None:
        """Whether `stated_error` is not below the interval of `answered_risk`, or below its value
        without an interval; None where either is None."""
        risk = self.answered_risk
        if self.stated_error is None or not risk or risk.value is None:
            return None
        lower_bound = risk.value if risk.low is None else risk.low
        return lower_bound <= self.stated_error

    @property
    def groups(self) -> tuple[Group, ...]:
        """Every group, the leading ones first."""
        leading = [self.everything]
        if self.answered:
            leading.append(self.answered)
        return (*leading, *self.subgroups)


def evaluate(
    cases: Sequence[Case],
    vocabulary: Vocabulary,
    *,
    bootstrap: int = 1000,
    seed: int,
    manifest: Sequence[ListedVolume] = (),
    stated_error: float | None = None,
) -> Evaluation:
    """Every measure of the labelled volumes of one split, with 95 % intervals over subjects.

    stated_error  largest slice error of answered volumes that the rule was tuned for, compared with
                  the one measured
    manifest  the volumes of all splits, to be checked for subjects in two of them
    Raises CollectionError where a subject is in two splits, there is nothing to evaluate, arrays do
    not match a volume's slices, or the truth is inconsistent. The order of the cases does not
    matter.
    """
    check_splits(manifest)
    check_cases(cases, vocabulary)
    ordered = sorted(cases, key=lambda case: case.volume_id)
    tallies = [tally(case, vocabulary) for case in ordered if len(case.z_mm)]
    answered = [volume for volume in tallies if volume.case.is_answered]
    refused = sum(case.status == "refused" for case in ordered)
    tally_by_id = {volume.case.volume_id: volume for volume in tallies}
    draw = {"repeats": bootstrap, "seed": seed}
    draws = Resampling([volume.case.subject_id for volume in tallies], **draw)
    stages = [
        stage for stage in CALIBRATION_STAGES if all(stage in volume.bins for volume in tallies)
    ]
    return Evaluation(
        vocabulary=vocabulary,
        bootstrap=bootstrap,
        seed=seed,
        everything=whole_group("all", tallies, refused, vocabulary, **draw),
        answered=whole_group("answered", answered, 0, vocabulary, **draw) if answered else None,
        subgroups=tuple(_subgroups(ordered, tallies, **draw)),
        handling=tuple(handling(ordered, **draw)),
        confusions=dict(zip(STAGES, column_of(tallies, "matrices").sum(axis=0), strict=True)),
        reliability={
            stage: np.sum([volume.bins[stage] for volume in tallies], axis=0) for stage in stages
        },
        borders=tuple(border for volume in tallies for border in volume.borders),
        volumes=tuple(
            _volume_row(case, tally_by_id.get(case.volume_id), vocabulary) for case in ordered
        ),
        risk=_risk_curve(tallies),
        doubts=_doubt_rows(tallies),
        headers=header_rows(tallies, vocabulary),
        header_rates=tuple(header_measures(tallies, vocabulary, draws)),
        answered_risk=_risk_of_answered(answered, **draw),
        stated_error=stated_error,
        statement_curve=statement_curve([volume.statements for volume in tallies]),
        statement_bins=_statement_bins(tallies),
    )


def _statement_bins(tallies: Sequence[Tally]) -> Floats | None:
    bins = [volume.statements.bins for volume in tallies if volume.statements is not None]
    return np.sum(bins, axis=0) if bins and len(bins) == len(tallies) else None


def _risk_of_answered(answered: Sequence[Tally], *, repeats: int, seed: int) -> Measure | None:
    """Mean over subjects of the mean slice error of a subject's answered volumes, the risk that
    `fovnet.decision.confidence_bar` bounds; subjects count alike, however many or long their
    volumes."""
    errors: dict[str, list[float]] = {}
    for volume in answered:
        slice_error = volume.wrong / len(volume.case.z_mm)
        errors.setdefault(volume.case.subject_id, []).append(slice_error)
    if not errors:
        return None
    people = sorted(errors)
    means = np.array([np.mean(errors[person]) for person in people])
    draws = Resampling(people, repeats=repeats, seed=seed)
    return draws.mean("answered_risk", means, np.ones(len(people)), stage="decided", most=1.0)


def _subgroups(
    cases: Sequence[Case], tallies: Sequence[Tally], *, repeats: int, seed: int
) -> list[Group]:
    """A group for every value that divides the volumes; a volume without the attribute is left
    out."""
    groups = []
    for name, value_of in subgroups_of(cases):
        for value in dict.fromkeys(value_of.values()):
            members = [volume for volume in tallies if value_of.get(volume.case.volume_id) == value]
            statuses = [case.status for case in cases if value_of.get(case.volume_id) == value]
            refused = statuses.count("refused")
            groups.append(subgroup(name, value, members, refused, repeats=repeats, seed=seed))
    return groups


def _risk_curve(tallies: Sequence[Tally]) -> RiskCurve:
    confidence = column_of(tallies, "confidence")
    slices = rank_volumes(confidence, column_of(tallies, "wrong"), column_of(tallies, "slices"))
    sets = rank_volumes(confidence, ~column_of(tallies, "exact"), np.ones(len(tallies)))
    _, _, wrong_sets = sets.curve()
    return RiskCurve(*slices.curve(), wrong_sets)


def _doubt_rows(tallies: Sequence[Tally]) -> tuple[DoubtRow, ...]:
    by_code: dict[str, list[Tally]] = {}
    for volume in tallies:
        for code in dict.fromkeys(volume.case.doubts):
            by_code.setdefault(code, []).append(volume)
    rows = [
        DoubtRow(
            code=code,
            volumes=len(volumes),
            wrong=sum(not volume.exact for volume in volumes),
            slices=sum(volume.slices for volume in volumes),
            wrong_slices=sum(volume.wrong for volume in volumes),
        )
        for code, volumes in by_code.items()
    ]
    return tuple(sorted(rows, key=lambda row: (-row.volumes, row.code)))


def _volume_row(case: Case, tally: Tally | None, vocabulary: Vocabulary) -> EvaluatedVolume:
    """The row of a volume from its counts, which a refused one does not have."""
    row = EvaluatedVolume(
        case.volume_id,
        case.subject_id,
        case.collection,
        case.status,
        message=case.message,
        set_probability=case.set_probability,
        doubts=case.doubts,
        shows=_regions_answered(case, YES),
        unsure=_regions_answered(case, UNSURE),
    )
    if tally is None:
        return row
    names = np.array(vocabulary.classes[:-1])
    predicted = case.decided[:, :-1].any(axis=0)
    return replace(
        row,
        truth=tuple(names[tally.true_regions].tolist()),
        predicted=tuple(names[predicted].tolist()),
        right=tally.exact,
        slices=tally.slices,
        wrong_raw=tally.slices - int(tally.right[0]),
        wrong=tally.wrong,
        far=tally.far_slices,
        confidence=tally.confidence,
        spans=tally.spans,
        truth_sha256=digest([np.round(case.z_mm, 3), case.truth]),
        extents="sure" if case.is_answered else "unsure",
    )


def _regions_answered(case: Case, answer: str) -> tuple[str, ...]:
    return tuple(statement.region for statement in case.statements if statement.answer == answer)
