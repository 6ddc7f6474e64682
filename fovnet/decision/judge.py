"""From the networks' outputs on a volume's slices to its answer, for the workflow and for
prediction alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import Answer, make_answer
from fovnet.decision.chain.margins import decide_between_margins, find_signal_rows
from fovnet.decision.chain.spans import Decision, decide_volume, slice_edges
from fovnet.decision.checks.check import DecidedVolume, Picture
from fovnet.decision.division import VolumeShares, divide_regions
from fovnet.decision.doubts import measure_signs
from fovnet.decision.member_weights import mean_by_weights
from fovnet.decision.novelty import NoveltyReference
from fovnet.decision.orientation import Orientation
from fovnet.decision.picture import MeasuredPicture
from fovnet.decision.rule import Rule
from fovnet.machine.threads import one_thread
from fovnet.regions import Vocabulary
from fovnet.volume.slices.stack import SliceStack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MemberOutputs:
    """The members' outputs on slices: probabilities (p, s, k), and novelty distances (s,), None if
    the ensemble has no reference.

    turned_probabilities      (p, s, k) probabilities of the slices from head to feet, as those of
                              the volume turned over; None if not needed
    brightened_probabilities  (p, s, k) those of dark slices that seem to show nothing, brightened;
                              NaN for the other slices; None if there are none
    picture                   what was measured on the pixels before; None: measured when wanted
    part_probabilities        (p, s, q) of the parts of regions; None where regions have none
    """

    member_probabilities: NDArray[np.float32]
    novelty_distances: Floats | None = None
    turned_probabilities: NDArray[np.float32] | None = None
    brightened_probabilities: NDArray[np.float32] | None = None
    picture: Picture | None = None
    part_probabilities: NDArray[np.float32] | None = None

    @classmethod
    def of_classes(
        cls,
        class_probabilities: NDArray[np.float32],
        vocabulary: Vocabulary,
        novelty_distances: Floats | None = None,
    ) -> MemberOutputs:
        """From the probabilities (p, s, k) of the classes of a network vocabulary: each region has the
        sum of its parts."""
        if not vocabulary.parts:
            return cls(class_probabilities, novelty_distances)
        return cls(
            np.add.reduceat(class_probabilities, vocabulary.whole_starts, axis=2),
            novelty_distances,
            part_probabilities=class_probabilities[:, :, list(vocabulary.part_columns)],
        )

    def of_rows(self, rows: NDArray[np.int64] | slice) -> MemberOutputs:
        """The outputs on some of the slices, without those turned over and brightened."""
        distances = None if self.novelty_distances is None else self.novelty_distances[rows]
        parts = None if self.part_probabilities is None else self.part_probabilities[:, rows]
        return MemberOutputs(
            self.member_probabilities[:, rows], distances, part_probabilities=parts
        )


@dataclass(frozen=True)
class Judge:
    """Everything that an answer depends on besides the volume.

    network_vocabulary  the classes of the networks, where these are parts of regions
    part_rules          by region, for its parts; empty: nothing is said of parts
    """

    vocabulary: Vocabulary
    rule: Rule
    novelty: NoveltyReference | None = None
    orientation: Orientation | None = None
    network_vocabulary: Vocabulary | None = None
    part_rules: Mapping[str, Rule] = field(default_factory=dict)

    def mean_probabilities(self, outputs: MemberOutputs) -> Floats:
        """(s, k) of the classes: the members' weighted mean."""
        return self._mean_by_weights(outputs.member_probabilities)

    def _mean_by_weights(self, members: NDArray[np.float32]) -> Floats:
        """(s, k) the mean of the members' probabilities (p, s, k) by the rule's weights."""
        return mean_by_weights(members, self.rule.member_weights(len(members)))

    def names_several_regions(self, outputs: MemberOutputs) -> bool:
        """Whether slices are most probably of different regions of the chain: only then can a volume
        be upside down."""
        predicted_classes = np.unique(self.mean_probabilities(outputs).argmax(axis=1))
        return bool((predicted_classes < len(self.vocabulary.chain)).sum() > 1)

    def seems_empty(self, outputs: MemberOutputs, is_air: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(s,) the slices that show nothing: air, or most probably none of the regions."""
        predicted_class = self.mean_probabilities(outputs).argmax(axis=1)
        return np.asarray((predicted_class == len(self.vocabulary.classes) - 1) | is_air)

    def picture_of(self, outputs: MemberOutputs, stack: SliceStack) -> Picture:
        """What is measured on the pixels of a volume."""
        return outputs.picture or MeasuredPicture(stack, self.orientation)

    def decide(
        self,
        outputs: MemberOutputs,
        z_mm: Floats,
        edges_mm: Floats | None = None,
        is_air: NDArray[np.bool_] | None = None,
    ) -> Decision:
        """The decision on a volume with cuts at the heights z_mm (s,); `edges_mm` (s + 1,)
        are where the slices begin and end, half-way between the cuts if None.

        is_air  (s,) which cuts show nothing but air: those at either end are left out of the
                decision, and labelled none
        """
        probabilities = self.mean_probabilities(outputs)
        turned_probabilities = None
        if outputs.turned_probabilities is not None:
            turned_probabilities = self._mean_by_weights(outputs.turned_probabilities)
        volume_edges_mm = slice_edges(z_mm, edges_mm)
        slice_count = len(probabilities)

        def decide_rows(rows: slice) -> Decision:
            """The decision on the cuts of these rows alone."""
            turned_rows = None
            if turned_probabilities is not None:
                turned_rows = turned_probabilities[
                    slice_count - rows.stop : slice_count - rows.start
                ]
            return decide_volume(
                probabilities[rows],
                z_mm[rows],
                self.vocabulary,
                self.rule,
                turned_rows,
                volume_edges_mm[rows.start : rows.stop + 1],
            )

        signal_rows = slice(0, slice_count)
        if is_air is not None:
            signal_rows = find_signal_rows(is_air)
        return decide_between_margins(signal_rows, slice_count, decide_rows)

    def make_decided_volume(
        self, outputs: MemberOutputs, stack: SliceStack, decision: Decision
    ) -> DecidedVolume:
        """The decided volume, as its checks may measure it."""
        probabilities = self.mean_probabilities(outputs)
        p_values = None
        if self.novelty is not None and outputs.novelty_distances is not None:
            p_values = self.novelty.compute_p_values(outputs.novelty_distances, probabilities)
        brightened_probabilities = None
        if outputs.brightened_probabilities is not None:
            brightened_probabilities = self._mean_by_weights(outputs.brightened_probabilities)
        return DecidedVolume(
            stack=stack,
            decision=decision,
            classes=self.vocabulary.classes,
            member_probabilities=outputs.member_probabilities,
            member_weights=self.rule.member_weights(len(outputs.member_probabilities)),
            probabilities=probabilities,
            p_values=p_values,
            brightened_probabilities=brightened_probabilities,
            picture=self.picture_of(outputs, stack),
        )

    @one_thread()
    def answer(
        self,
        volume_id: str,
        path: str,
        outputs: MemberOutputs,
        stack: SliceStack,
        notes: Sequence[str] = (),
    ) -> Answer:
        """The answer on a volume."""
        picture = self.picture_of(outputs, stack)
        outputs = replace(outputs, picture=picture)
        decision = self.decide(outputs, stack.z_mm, stack.edges_mm, picture.is_air)
        signs = measure_signs(self.make_decided_volume(outputs, stack, decision))
        answer = make_answer(volume_id, path, decision, signs, self.rule, self.vocabulary, notes)
        shares = self.part_shares(outputs, stack)
        if shares is None:
            return answer
        divisions = divide_regions(decision, answer.statements, shares, self.part_rules)
        return replace(answer, divisions=divisions)

    def part_shares(self, outputs: MemberOutputs, stack: SliceStack) -> VolumeShares | None:
        """What the networks say of the parts of regions; None where regions have none."""
        if outputs.part_probabilities is None or self.network_vocabulary is None:
            return None
        return VolumeShares(
            self.network_vocabulary,
            self._mean_by_weights(outputs.part_probabilities),
            stack.z_mm,
            slice_edges(stack.z_mm, stack.edges_mm),
        )
