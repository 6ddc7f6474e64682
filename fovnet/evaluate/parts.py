"""The parts of regions, compared with the labels: what is said of each (of the legs: foot, lower leg,
knee, thigh), and the borders between them.

They are counted as regions are (`statements.py`, `borders.py`).  Where a slice is labelled with the
whole region alone, or with a side region alone, its parts are not told: borders next to it are not
judged, and statements only on parts that other slices show.  In a region that is not surely shown no
border is decided: those labelled are missed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.fitting.objective import has_side_region_alone
from fovnet.decision.fitting.statement_bars import RegionLabels, region_labels
from fovnet.decision.statements import NO, UNSURE, YES
from fovnet.evaluate.border_measures import measure_borders
from fovnet.evaluate.borders import AGREEMENT_MM, Border, borders_between
from fovnet.evaluate.cases import Case, PartAnswers, StoredSpan
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.statements import StatementTally, compare_with_labels, statement_measures
from fovnet.regions import Vocabulary

Bools = NDArray[np.bool_]
PART_BORDERS = "parts"
"""The borders between parts, taken together."""
NEAR_MM = (AGREEMENT_MM, 15.0)
"""Distances within which shares of borders are given."""


@dataclass(frozen=True)
class PartVolume:
    """The parts of one volume's regions.

    truth                those labelled
    unknown              those of which the labels do not tell
    shows, unsure, no    those with the answer yes, unsure and no
    wrong_yes, wrong_no  those with yes, or no, against the labels
    """

    volume_id: str
    truth: tuple[str, ...]
    unknown: tuple[str, ...]
    shows: tuple[str, ...]
    unsure: tuple[str, ...]
    no: tuple[str, ...]
    wrong_yes: tuple[str, ...]
    wrong_no: tuple[str, ...]


@dataclass(frozen=True)
class PartEvaluation:
    """The measures of the parts of regions, and the rows behind them.

    parts_by_region  as answered, both feet to head: "legs": ("foot", "lower leg", "knee", "thigh")
    measures         of statements those of regions (`statements_decided`, `yes_wrong`, `no_wrong`,
                     `surely_found`, ...), with the region "" in all, else the part; of borders those
                     of regions and `border_within_15_mm`, with the region "parts" for all, else a
                     kind ("knee|thigh").  The denominator of `border_signed_median_mm` counts those
                     both labelled and decided
    borders          of all volumes, without the ends of regions
    volumes          by volume_id, without refused ones
    """

    parts_by_region: Mapping[str, tuple[str, ...]]
    measures: tuple[Measure, ...]
    borders: tuple[Border, ...]
    volumes: tuple[PartVolume, ...]

    @property
    def part_names(self) -> tuple[str, ...]:
        """All parts, feet to head."""
        return tuple(part for parts in self.parts_by_region.values() for part in parts)

    @property
    def border_kinds(self) -> tuple[str, ...]:
        """The borders between parts that are neighbours, feet to head: "knee|thigh"."""
        return tuple(
            f"{below}|{above}"
            for parts in self.parts_by_region.values()
            for below, above in pairwise(parts)
        )

    def find(self, name: str, region: str = "") -> Measure | None:
        """The measure of this name and part or border; None where there is none."""
        for measure in self.measures:
            if (measure.name, measure.region) == (name, region):
                return measure
        return None


@dataclass(frozen=True)
class PartLabels:
    """The labels of a region's n parts in one volume.

    parts  as a chain
    truth  (s, n + 2): each part, "not told", and none
    """

    parts: Vocabulary
    truth: Bools

    @classmethod
    def of(cls, case: Case, vocabulary: Vocabulary, region: str) -> PartLabels:
        """Those of a case, whose `part_truth` has the columns of `vocabulary.part_columns`."""
        columns = [vocabulary.part_names.index(part) for part in vocabulary.parts[region]]
        is_part = np.asarray(case.part_truth)[:, columns]
        is_untold = (is_part.sum(axis=1) > 1) | has_side_region_alone(
            case.truth, len(vocabulary.whole.chain)
        )
        told_parts = is_part & ~is_untold[:, None]
        is_none = ~(told_parts.any(axis=1) | is_untold)
        return cls(
            vocabulary.part_vocabulary(region), np.column_stack([told_parts, is_untold, is_none])
        )

    def find_shown(self, case: Case) -> RegionLabels:
        """Whether each part is shown, (n,), and whether the labels tell."""
        labels = region_labels(
            self.truth, np.asarray(case.edges_mm), len(self.parts.chain), case.min_extent_mm
        )
        return RegionLabels(labels.is_shown[:-1], labels.is_known[:-1])

    def find_borders(self, case: Case, answers: PartAnswers) -> list[Border]:
        """Those between the parts, labelled and decided; not the ends of the region."""
        borders = borders_between(
            case.volume_id,
            self.truth,
            self._labels_of_spans(answers.spans, case.z_mm),
            np.asarray(case.edges_mm),
            self.parts,
            answers.borders,
        )
        return [border for border in borders if not border.is_end]

    def _labels_of_spans(self, spans: Sequence[StoredSpan], z_mm: NDArray[np.float64]) -> Bools:
        """The decided labels, in the columns of `truth`."""
        labels = np.zeros_like(self.truth)
        for span in spans:
            if span.region in self.parts.chain:
                is_within = (span.from_mm <= z_mm) & (z_mm <= span.to_mm)
                labels[is_within, self.parts.chain.index(span.region)] = True
        labels[:, -1] = ~labels.any(axis=1)
        return labels


@dataclass(frozen=True)
class PartTally:
    """The counts of one volume: of the statements on its q parts, and the borders between them."""

    statements: StatementTally
    borders: Sequence[Border]
    row: PartVolume


def evaluate_parts(
    cases: Sequence[Case], vocabulary: Vocabulary, resampling: Resampling
) -> PartEvaluation | None:
    """The parts of the regions of these volumes (c,), none of them refused; None where a volume was
    not answered on parts, or no label names one."""
    parts_by_region = {
        region: parts
        for region, parts in vocabulary.parts.items()
        if all(_states_parts(case, parts) for case in cases)
    }
    if not parts_by_region:
        return None
    tallies = [_count_parts(case, vocabulary, list(parts_by_region)) for case in cases]
    if not any(tally.row.truth for tally in tallies):
        return None
    evaluation = PartEvaluation(
        parts_by_region=parts_by_region,
        measures=(),
        borders=tuple(border for tally in tallies for border in tally.borders),
        volumes=tuple(tally.row for tally in tallies),
    )
    measures = statement_measures(
        [tally.statements for tally in tallies], resampling, evaluation.part_names
    )
    for kind in (PART_BORDERS, *evaluation.border_kinds):
        borders_of_kind = [
            (volume_index, border)
            for volume_index, tally in enumerate(tallies)
            for border in tally.borders
            if kind in (PART_BORDERS, border.kind)
        ]
        measures += measure_borders(kind, borders_of_kind, resampling, NEAR_MM)
    return replace(evaluation, measures=tuple(measures))


def _states_parts(case: Case, parts: Sequence[str]) -> bool:
    """Whether a volume was answered on these parts, and its labels may tell of them."""
    if case.part_answers is None or case.part_truth is None or case.edges_mm is None:
        return False
    return {statement.region for statement in case.part_answers.statements}.issuperset(parts)


def _count_parts(case: Case, vocabulary: Vocabulary, regions: Sequence[str]) -> PartTally:
    """The counts of a volume that was answered on the parts of these regions."""
    answers = case.part_answers or PartAnswers((), (), ())
    labels_by_region = {region: PartLabels.of(case, vocabulary, region) for region in regions}
    shown_by_region = [labels.find_shown(case) for labels in labels_by_region.values()]
    part_names = [part for region in regions for part in vocabulary.parts[region]]
    statement_by_part = {statement.region: statement for statement in answers.statements}
    statements = compare_with_labels(
        [statement_by_part[part] for part in part_names],
        RegionLabels(*(np.concatenate(columns) for columns in zip(*shown_by_region, strict=True))),
    )
    return PartTally(
        statements,
        [
            border
            for labels in labels_by_region.values()
            for border in labels.find_borders(case, answers)
        ],
        PartVolume(
            volume_id=case.volume_id,
            truth=_select_names(part_names, statements.is_shown),
            unknown=_select_names(part_names, ~statements.is_known),
            shows=_parts_answered(answers, YES),
            unsure=_parts_answered(answers, UNSURE),
            no=_parts_answered(answers, NO),
            wrong_yes=_select_names(part_names, statements.wrong_yes),
            wrong_no=_select_names(part_names, statements.wrong_no),
        ),
    )


def _select_names(names: Sequence[str], is_selected: Bools) -> tuple[str, ...]:
    return tuple(name for name, selected in zip(names, is_selected, strict=True) if selected)


def _parts_answered(answers: PartAnswers, answer: str) -> tuple[str, ...]:
    return tuple(statement.region for statement in answers.statements if statement.answer == answer)
