"""From the networks' outputs on a volume's slices to its answer, for the workflow and for prediction alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.decision import novelty, weighing
from fovnet.decision.answer import Answer, answer
from fovnet.decision.dark_slices import Hidden, hidden_region
from fovnet.decision.doubting import Signs, disorder, interleaved
from fovnet.decision.margins import decided_between, empty, lit
from fovnet.decision.novelty import Familiar
from fovnet.decision.orientation import Bearing, Orientation
from fovnet.decision.phantoms import resembles_phantom
from fovnet.decision.rule import Rule
from fovnet.decision.spans import Decision, decide, outer_edges
from fovnet.machine.threads import one_thread
from fovnet.maths.agreement import agreement
from fovnet.regions import Vocabulary
from fovnet.volume.planes import extents_mm
from fovnet.volume.slices import SliceStack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MemberOutputs:
    """The members' outputs on slices: probabilities (p, s, k), and novelty distances (s,), None if the ensemble has no reference.

    turned      (p, s, k) probabilities of the slices from head to feet, as those of the volume turned over; None if not needed
    brightened  (p, s, k) those of dark slices that seem to show nothing, brightened; NaN for the other slices; None if there are none
    """

    members: NDArray[np.float32]
    distances: Floats | None = None
    turned: NDArray[np.float32] | None = None
    brightened: NDArray[np.float32] | None = None

    def of(self, rows: NDArray[np.int64] | slice) -> MemberOutputs:
        """The outputs on some of the slices, without `turned` and `brightened`."""
        return MemberOutputs(self.members[:, rows], None if self.distances is None else self.distances[rows])


@dataclass(frozen=True)
class Judge:
    """Everything that an answer depends on besides the volume."""

    vocabulary: Vocabulary
    rule: Rule
    familiar: Familiar | None = None
    orientation: Orientation | None = None

    def raw(self, outputs: MemberOutputs) -> Floats:
        """Class probabilities (s, k): the members' weighted mean."""
        return self._mean(outputs.members)

    def _mean(self, members: NDArray[np.float32]) -> Floats:
        return weighing.mean(members, self.rule.member_weights(len(members)))

    def decision(
        self, outputs: MemberOutputs, z_mm: Floats, edges_mm: Floats | None = None, dark: NDArray[np.bool_] | None = None
    ) -> Decision:
        """The decision on a volume with cuts at the heights z_mm (s,); `edges_mm` as in `spans.decide`.

        dark  (s,) which cuts show nothing but air: those at either end are left out of the decision, and labelled none
        """
        raw, turned = self.raw(outputs), None if outputs.turned is None else self._mean(outputs.turned)
        between = outer_edges(z_mm, edges_mm)

        def of(rows: slice) -> Decision:
            over = None if turned is None else turned[len(turned) - rows.stop : len(turned) - rows.start]
            return decide(raw[rows], z_mm[rows], self.vocabulary, self.rule, over, between[rows.start : rows.stop + 1])

        return decided_between(slice(0, len(raw)) if dark is None else lit(dark), len(raw), of)

    def hidden(self, outputs: MemberOutputs, decision: Decision, z_mm: Floats, edges_mm: Floats | None = None) -> Hidden | None:
        """What slices that are decided to be none show when brightened; None if nothing, or if they were not looked at again."""
        if outputs.brightened is None:
            return None
        shown = self._mean(outputs.brightened)
        return hidden_region(decision.decided[:, -1], shown, outer_edges(z_mm, edges_mm), self.vocabulary.classes)

    def signs(
        self, outputs: MemberOutputs, pixels: NDArray[np.uint8], bearing: Bearing | None = None, extent_mm: float | None = None,
        hidden: Hidden | None = None, noisy_air: bool = False, in_template: bool = False,
    ) -> Signs:
        """The signs of a volume of slices (s, side, side); the others as in `Signs`."""
        each = agreement(outputs.members, self.rule.member_weights(len(outputs.members)))
        seen = Signs(float(each.mean()), disorder(pixels), slice_agreement=each, bearing=bearing,
                     passes=interleaved(pixels[lit(empty(pixels))]), extent_mm=extent_mm, hidden=hidden, noisy_air=noisy_air,
                     in_template=in_template)
        if self.familiar is None or outputs.distances is None:
            return seen
        raw = self.raw(outputs)
        unusual = self.familiar.unusual(outputs.distances, raw)
        return replace(seen, novelty=novelty.of_volume(unusual, raw), slice_unusual=unusual)

    def bearing(self, stack: SliceStack) -> Bearing | None:
        """The body's orientation in a volume; None if the ensemble has no orientation network, or the volume is too small to show it."""
        return None if self.orientation is None else self.orientation.bearing(stack)

    @one_thread()
    def answer(self, volume_id: str, path: str, outputs: MemberOutputs, stack: SliceStack, notes: Sequence[str] = ()) -> Answer:
        """The answer on a volume."""
        decision = self.decision(outputs, stack.z_mm, stack.edges_mm, empty(stack.pixels))
        signs = self.signs(outputs, stack.pixels, self.bearing(stack) if decision.spans else None, max(extents_mm(stack)),
                           self.hidden(outputs, decision, stack.z_mm, stack.edges_mm), stack.noise_blackened, stack.in_template)
        signs = replace(signs, own_slices=stack.counted_slices, phantom=bool(decision.spans) and resembles_phantom(stack.pixels))
        return answer(volume_id, path, decision, signs, self.rule, self.vocabulary, notes)
