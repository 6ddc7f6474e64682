"""From the networks' outputs on a volume's slices to its answer, for the workflow and for prediction
alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision import member_weights as weighing
from fovnet.decision.answer import Answer, answer
from fovnet.decision.chain.margins import air_slices, decide_between_margins, lit_rows
from fovnet.decision.chain.spans import Decision, decide, outer_edges
from fovnet.decision.checks.check import DecidedVolume
from fovnet.decision.doubts import measure_signs
from fovnet.decision.novelty import NoveltyReference
from fovnet.decision.orientation import Orientation
from fovnet.decision.rule import Rule
from fovnet.machine.threads import one_thread
from fovnet.regions import Vocabulary
from fovnet.volume.slices.stack import SliceStack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MemberOutputs:
    """The members' outputs on slices: probabilities (p, s, k), and novelty distances (s,), None if the
    ensemble has no reference.

    turned      (p, s, k) probabilities of the slices from head to feet, as those of the volume turned over;
                None if not needed
    brightened  (p, s, k) those of dark slices that seem to show nothing, brightened; NaN for the other
                slices; None if there are none
    """

    members: NDArray[np.float32]
    distances: Floats | None = None
    turned: NDArray[np.float32] | None = None
    brightened: NDArray[np.float32] | None = None

    def of(self, rows: NDArray[np.int64] | slice) -> MemberOutputs:
        """The outputs on some of the slices, without `turned` and `brightened`."""
        return MemberOutputs(
            self.members[:, rows], None if self.distances is None else self.distances[rows]
        )


@dataclass(frozen=True)
class Judge:
    """Everything that an answer depends on besides the volume."""

    vocabulary: Vocabulary
    rule: Rule
    novelty: NoveltyReference | None = None
    orientation: Orientation | None = None

    def raw(self, outputs: MemberOutputs) -> Floats:
        """Class probabilities (s, k): the members' weighted mean."""
        return self._mean(outputs.members)

    def _mean(self, members: NDArray[np.float32]) -> Floats:
        return weighing.weighted_mean(members, self.rule.member_weights(len(members)))

    def decision(
        self,
        outputs: MemberOutputs,
        z_mm: Floats,
        edges_mm: Floats | None = None,
        dark: NDArray[np.bool_] | None = None,
    ) -> Decision:
        """The decision on a volume with cuts at the heights z_mm (s,); `edges_mm` as in `spans.decide`.

        dark  (s,) which cuts show nothing but air: those at either end are left out of the decision, and
              labelled none
        """
        raw, turned = (
            self.raw(outputs),
            None if outputs.turned is None else self._mean(outputs.turned),
        )
        between = outer_edges(z_mm, edges_mm)

        def of(rows: slice) -> Decision:
            over = (
                None
                if turned is None
                else turned[len(turned) - rows.stop : len(turned) - rows.start]
            )
            return decide(
                raw[rows],
                z_mm[rows],
                self.vocabulary,
                self.rule,
                over,
                between[rows.start : rows.stop + 1],
            )

        return decide_between_margins(
            slice(0, len(raw)) if dark is None else lit_rows(dark), len(raw), of
        )

    def known(self, outputs: MemberOutputs, stack: SliceStack, decision: Decision) -> DecidedVolume:
        """What its checks may measure on a decided volume."""
        weights, raw = self.rule.member_weights(len(outputs.members)), self.raw(outputs)
        unusual = None
        if self.novelty is not None and outputs.distances is not None:
            unusual = self.novelty.unusual(outputs.distances, raw)
        return DecidedVolume(
            stack,
            decision,
            self.vocabulary.classes,
            outputs.members,
            weights,
            raw,
            unusual,
            None if outputs.brightened is None else self._mean(outputs.brightened),
            self.orientation,
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
        decision = self.decision(outputs, stack.z_mm, stack.edges_mm, air_slices(stack.pixels))
        signs = measure_signs(self.known(outputs, stack, decision))
        return answer(volume_id, path, decision, signs, self.rule, self.vocabulary, notes)
