"""The evaluation: every measure of a set of labelled volumes, and the rows behind it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.borders import Border
from fovnet.evaluate.cases import Case, check_cases, check_splits
from fovnet.evaluate.groups import Group, handling, subgroup, whole_group
from fovnet.evaluate.measures import Measure
from fovnet.evaluate.slices import STAGES
from fovnet.evaluate.tallies import Tally, tally
from fovnet.regions import Vocabulary

COLLECTION = "collection"
MOST_VALUES = 20
"""An attribute with more values than this names single volumes (an age, a series number) and makes no subgroups."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class VolumeRow:
    """One volume: what it shows, what was said, how many slices were wrong before and after the decision."""

    volume_id: str
    subject_id: str
    collection: str
    status: str
    truth: tuple[str, ...]
    said: tuple[str, ...]
    right: bool
    slices: int
    wrong_raw: int
    wrong: int
    far: int
    confidence: float | None
    message: str

    @property
    def slice_error(self) -> float | None:
        """Share of wrong slices after the decision; None when refused."""
        return self.wrong / self.slices if self.slices else None


@dataclass(frozen=True)
class Evaluation:
    """What was measured.

    everything   all volumes that were not refused, the uncertain ones with the answer they would have given
    answered     those answered with confidence; None when there are none
    handling     shares of volumes refused and abstained from
    confusions   (k, k) counts by stage, rows true, columns said
    reliability  (b, 3) bin totals (slices, summed confidence, right) of the "smoothed" and the "decided" answer
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
    volumes: tuple[VolumeRow, ...]

    @property
    def groups(self) -> tuple[Group, ...]:
        """Every group, the leading ones first."""
        return (self.everything, *([self.answered] if self.answered else []), *self.subgroups)


def evaluate(
    cases: Sequence[Case],
    vocabulary: Vocabulary,
    *,
    bootstrap: int = 1000,
    seed: int,
    manifest: Sequence[Mapping[str, Any]] = (),
) -> Evaluation:
    """Every measure of the labelled volumes of one split, with 95 % intervals over subjects.

    With a `manifest` (rows of subject_id and split), a subject in two splits stops the evaluation. Raises CollectionError when
    there is nothing to evaluate, when arrays do not match a volume's slices, or when truth contradicts itself. The same cases in
    another order give the same numbers.
    """
    check_splits(manifest)
    check_cases(cases, vocabulary)
    ordered = sorted(cases, key=lambda case: case.volume_id)
    tallies = [tally(case, vocabulary) for case in ordered if len(case.z_mm)]
    answered = [one for one in tallies if one.case.status == "ok"]
    refused = sum(case.status == "refused" for case in ordered)
    draw = {"repeats": bootstrap, "seed": seed}
    curves = ("smoothed", "decided")
    return Evaluation(
        vocabulary=vocabulary,
        bootstrap=bootstrap,
        seed=seed,
        everything=whole_group("all", tallies, refused, vocabulary, **draw),
        answered=whole_group("answered", answered, 0, vocabulary, **draw) if answered else None,
        subgroups=tuple(_subgroups(ordered, tallies, **draw)),
        handling=tuple(handling(ordered, **draw)),
        confusions={stage: np.sum([one.matrices[index] for one in tallies], axis=0) for index, stage in enumerate(STAGES)},
        reliability={stage: np.sum([one.bins[index] for one in tallies], axis=0) for index, stage in enumerate(curves)},
        borders=tuple(border for one in tallies for border in one.borders),
        volumes=_volume_rows(ordered, tallies, vocabulary),
    )


def _subgroups(cases: Sequence[Case], tallies: Sequence[Tally], *, repeats: int, seed: int) -> list[Group]:
    """By collection always, then by every attribute with two to twenty values; a volume without the attribute is left out."""
    columns = {COLLECTION: {case.volume_id: case.collection for case in cases}}
    for name in sorted({name for case in cases for name in case.attributes} - {COLLECTION}):
        columns[name] = {case.volume_id: value for case in cases if (value := case.attributes.get(name, "").strip())}
    groups = []
    for name, value_of in columns.items():
        values = sorted(set(value_of.values()))
        if name != COLLECTION and not 2 <= len(values) <= MOST_VALUES:
            continue
        for value in values:
            members = [one for one in tallies if value_of.get(one.case.volume_id) == value]
            refused = sum(case.status == "refused" for case in cases if value_of.get(case.volume_id) == value)
            groups.append(subgroup(name, value, members, refused, repeats=repeats, seed=seed))
    return groups


def _volume_rows(cases: Sequence[Case], tallies: Sequence[Tally], vocabulary: Vocabulary) -> tuple[VolumeRow, ...]:
    counted = {one.case.volume_id: one for one in tallies}
    names = np.array(vocabulary.classes[:-1])
    rows = []
    for case in cases:
        one = counted.get(case.volume_id)
        rows.append(
            VolumeRow(
                volume_id=case.volume_id,
                subject_id=case.subject_id,
                collection=case.collection,
                status=case.status,
                truth=tuple(names[one.has].tolist()) if one else (),
                said=tuple(names[one.says].tolist()) if one else (),
                right=bool(one and one.exact),
                slices=one.slices if one else 0,
                wrong_raw=one.slices - int(one.right[0]) if one else 0,
                wrong=one.slices - int(one.right[-1]) if one else 0,
                far=one.far if one else 0,
                confidence=one.confidence if one else None,
                message=case.message,
            )
        )
    return tuple(rows)
