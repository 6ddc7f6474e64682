"""Decisions on the volumes of a sliced collection, from ensemble probabilities computed once for
all of them, in the arrays of `probabilities.npz`.

    rows        (m,) rows of the pack
    raw         (m, k) ensemble probabilities of those rows, uncalibrated
    members     (p, m, k) each member's probabilities
    distances   (m,) from the novelty reference
    parts       (p, m, q) each member's probabilities of the parts of regions
    weights     (p,) of the members in raw
    turned      (p, m, k) each member's for the row in its volume turned over
    brightened  (p, m, k) each member's for the row brightened

`turned` exists if the members' inputs depend on the volume; it is NaN where it is not needed, in
volumes of one region.  `brightened` exists if any volume has dark slices that seem to show nothing,
and is NaN for all other slices.  280 bytes per slice with ten members in float32, as much again for
each of these two: 28 to 84 MB for 100,000 slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import AnsweredVolume, make_refusal
from fovnet.decision.fitting.objective import TuningExample
from fovnet.decision.fitting.thresholds import LabelledVolume
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.member_weights import mean_by_weights
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.unforeseen import internal
from fovnet.volume.collection.pack import Pack

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble

SCORED_SPLITS = ("validation", "test")
"""Splits whose slices the members score."""


class ScoredOfVolumes(Protocol):
    """What has the members' outputs on volumes of a pack."""

    def outputs_of_volume(self, pack: Pack, index: int) -> MemberOutputs:
        """The outputs on one volume."""


@dataclass(frozen=True)
class ScoredSlices:
    """The members' outputs on some rows of a pack, rows ascending, and their weights; empty: equal
    weights.

    outputs                     of the members on these rows, (p, m, k) and (m,)
    turned_probabilities, brightened_probabilities
                                (p, m, k) of each member, for the rows in their volumes turned over,
                                and brightened; NaN where not needed, None if needed nowhere
    """

    rows: NDArray[np.int64]
    outputs: MemberOutputs
    weights: tuple[float, ...] = ()
    turned_probabilities: NDArray[np.float32] | None = None
    brightened_probabilities: NDArray[np.float32] | None = None

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ScoredSlices:
        """From the arrays of probabilities.npz."""
        return cls(
            rows=arrays["rows"],
            outputs=MemberOutputs(
                arrays["members"],
                arrays.get("distances"),
                part_probabilities=arrays.get("parts"),
            ),
            weights=tuple(map(float, arrays["weights"])),
            turned_probabilities=arrays.get("turned"),
            brightened_probabilities=arrays.get("brightened"),
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of probabilities.npz."""
        weights = Rule(weights=self.weights).member_weights(len(self.outputs.member_probabilities))
        arrays: dict[str, NDArray[Any] | None] = {
            "rows": self.rows,
            "members": self.outputs.member_probabilities,
            "weights": weights,
            "raw": mean_by_weights(self.outputs.member_probabilities, weights),
            "distances": self.outputs.novelty_distances,
            "parts": self.outputs.part_probabilities,
            "turned": self.turned_probabilities,
            "brightened": self.brightened_probabilities,
        }
        return {name: array for name, array in arrays.items() if array is not None}

    def outputs_of_volume(self, pack: Pack, index: int) -> MemberOutputs:
        """The outputs on one volume.  Raises ModelError ("probabilities-stale") if not all its
        slices were scored."""
        volume_positions = self._positions_of_volume(pack, index)
        outputs = self.outputs.of_rows(volume_positions)
        if self.turned_probabilities is not None:
            turned_members = self.turned_probabilities[:, volume_positions[::-1]]
            is_scored = not np.isnan(turned_members).any()
            if is_scored:
                outputs = replace(outputs, turned_probabilities=turned_members)
        if self.brightened_probabilities is not None:
            brightened_members = self.brightened_probabilities[:, volume_positions]
            is_any_scored = not np.isnan(brightened_members).all()
            if is_any_scored:
                outputs = replace(outputs, brightened_probabilities=brightened_members)
        return outputs

    def with_turned_and_brightened(
        self, pack: Pack, ensemble: Ensemble, progress: Callable[[int, int], Any]
    ) -> ScoredSlices:
        """The same, with the members' outputs on the volumes turned over and on dark slices
        brightened, where needed; `ensemble` must have the same weights."""
        volume_indices = [
            volume_index
            for split in SCORED_SPLITS
            for volume_index in readable_volumes(pack, split)
        ]
        turned_members = np.full_like(self.outputs.member_probabilities, np.nan)
        brightened_members = np.full_like(self.outputs.member_probabilities, np.nan)
        for done_count, volume_index in enumerate(volume_indices, start=1):
            stack = pack.stack_of_volume(volume_index)
            volume_positions = self._positions_of_volume(pack, volume_index)
            outputs = ensemble.add_turned_outputs(self.outputs_of_volume(pack, volume_index), stack)
            outputs = ensemble.add_brightened_outputs(outputs, stack)
            if outputs.turned_probabilities is not None:
                turned_members[:, volume_positions[::-1]] = outputs.turned_probabilities
            if outputs.brightened_probabilities is not None:
                brightened_members[:, volume_positions] = outputs.brightened_probabilities
            progress(done_count, len(volume_indices))
        return replace(
            self,
            turned_probabilities=turned_members if ensemble.sees_the_volume else None,
            brightened_probabilities=None
            if np.isnan(brightened_members).all()
            else brightened_members,
        )

    def _positions_of_volume(self, pack: Pack, index: int) -> NDArray[np.int64]:
        """Positions in `rows` of the slices of a volume."""
        record = pack.records[index]
        volume_rows = np.arange(record.first_row, record.first_row + record.slice_count)
        row_positions = np.searchsorted(self.rows, volume_rows)
        are_scored = not len(volume_rows) or (
            row_positions[-1] < len(self.rows)
            and np.array_equal(self.rows[row_positions], volume_rows)
        )
        if not are_scored:
            raise ModelError(
                "probabilities-stale",
                f"{record.volume_id}: its slices have no scores; run `fovnet ensemble` again",
            )
        return row_positions

    def outputs_of_split(
        self, pack: Pack, split: str
    ) -> tuple[MemberOutputs, NDArray[np.bool_], NDArray[np.int64]]:
        """For the rows of a split: the members' outputs, the truth (m, k), and each row's subject
        as a number (m,)."""
        split_positions = np.flatnonzero(np.isin(self.rows, pack.rows_in_split(split)))
        subject_of_volume = np.unique(
            [record.subject for record in pack.records], return_inverse=True
        )[1]
        rows = self.rows[split_positions]
        return (
            self.outputs.of_rows(split_positions),
            pack.truth[rows],
            subject_of_volume[pack.volume_of_slice[rows]],
        )


def tuning_examples(pack: Pack, scored: ScoredSlices, split: str) -> list[TuningExample]:
    """The labelled volumes of a split, for tuning."""
    return [_tuning_example(pack, scored, index) for index in readable_volumes(pack, split)]


def _tuning_example(pack: Pack, scored: ScoredSlices, volume_index: int) -> TuningExample:
    """The labelled volume of an index, with the weighted mean of its members' outputs, for
    tuning."""
    outputs = scored.outputs_of_volume(pack, volume_index)
    member_weights = Rule(weights=scored.weights).member_weights(len(outputs.member_probabilities))
    turned_probabilities = None
    if outputs.turned_probabilities is not None:
        turned_probabilities = mean_by_weights(outputs.turned_probabilities, member_weights)
    stack = pack.stack_of_volume(volume_index)
    return TuningExample(
        mean_by_weights(outputs.member_probabilities, member_weights),
        stack.z_mm,
        true_labels_of_volume(pack, volume_index),
        turned_probabilities,
        stack.edges_mm,
    )


def labelled_volumes(pack: Pack, scored: ScoredOfVolumes, split: str) -> list[LabelledVolume]:
    """The labelled volumes of a split, for `fit_thresholds`."""
    return [
        LabelledVolume(
            pack.records[volume_index].subject,
            scored.outputs_of_volume(pack, volume_index),
            pack.stack_of_volume(volume_index),
            true_labels_of_volume(pack, volume_index),
            true_parts_of_volume(pack, volume_index),
        )
        for volume_index in readable_volumes(pack, split)
    ]


def heights_and_truth(
    pack: Pack, split: str
) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Heights (s,) in mm and truth (s, k) of the labelled volumes of a split, scored or not."""
    return [
        (pack.stack_of_volume(index).z_mm, true_labels_of_volume(pack, index))
        for index in readable_volumes(pack, split)
    ]


def heights_and_part_truth(
    pack: Pack, split: str
) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """The same with the truth of the parts of regions (s, q); empty where regions have none."""
    return [
        (pack.stack_of_volume(index).z_mm, part_truth)
        for index in readable_volumes(pack, split)
        if (part_truth := true_parts_of_volume(pack, index)) is not None
    ]


def answer_split(
    pack: Pack, scored: ScoredOfVolumes, split: str, judge: Judge
) -> Iterator[AnsweredVolume]:
    """Answer, slices and probabilities of every volume of a split; a refusal alone for one that
    raises what nobody foresaw."""
    for volume_index in readable_volumes(pack, split):
        record = pack.records[volume_index]
        stack = pack.stack_of_volume(volume_index)
        outputs = scored.outputs_of_volume(pack, volume_index)
        try:
            answer = judge.answer(record.volume_id, record.path, outputs, stack, stack.notes)
            answered_volume = AnsweredVolume(answer, stack, judge.mean_probabilities(outputs))
        except Exception as fault:
            error = internal(record.path, fault)
            answered_volume = AnsweredVolume(make_refusal(record.volume_id, record.path, error))
        yield answered_volume


def readable_volumes(pack: Pack, split: str) -> list[int]:
    """Indices of the volumes of a split that were not refused."""
    return [
        volume_index
        for volume_index, record in enumerate(pack.records)
        if record.split == split and record.status == "ok"
    ]


def true_labels_of_volume(pack: Pack, index: int) -> NDArray[np.bool_]:
    """(s, k) the labels of the slices of a volume."""
    record = pack.records[index]
    return pack.truth[record.first_row : record.first_row + record.slice_count]


def true_parts_of_volume(pack: Pack, index: int) -> NDArray[np.bool_] | None:
    """(s, q) the parts of regions in the slices of a volume; None where regions have none."""
    if pack.part_truth is None:
        return None
    record = pack.records[index]
    return pack.part_truth[record.first_row : record.first_row + record.slice_count]
