"""The one way from the networks' outputs on a volume's slices to its answer: the workflow and prediction both go through here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.decision import novelty, weighing
from fovnet.decision.answer import Answer, answer
from fovnet.decision.doubting import Signs, disorder, interleaved
from fovnet.decision.margins import decided_between, empty, lit
from fovnet.decision.novelty import Familiar
from fovnet.decision.orientation import Bearing, Orientation
from fovnet.decision.rule import Rule
from fovnet.decision.spans import Decision, decide, outer_edges
from fovnet.maths.agreement import agreement
from fovnet.regions import Vocabulary
from fovnet.volume.planes import extents_mm
from fovnet.volume.slices import SliceStack

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MemberOutputs:
    """What the members see in slices: probabilities (p, s, k), and distances (s,) from what is familiar; None where that is not known.

    turned  (p, s, k) what they see in them from head to feet, as the slices of a volume turned over; None where that is the same
    """

    members: NDArray[np.float32]
    distances: Floats | None = None
    turned: NDArray[np.float32] | None = None

    def of(self, rows: NDArray[np.int64] | slice) -> MemberOutputs:
        """What they see in some of the slices, not turned over."""
        return MemberOutputs(self.members[:, rows], None if self.distances is None else self.distances[rows])


@dataclass(frozen=True)
class Judge:
    """Everything a verdict depends on beside the volume."""

    vocabulary: Vocabulary
    rule: Rule
    familiar: Familiar | None = None
    orientation: Orientation | None = None

    def raw(self, outputs: MemberOutputs) -> Floats:
        """Class probabilities (s, k): the members' weighted mean."""
        return self._mean(outputs.members)

    def _mean(self, members: NDArray[np.float32]) -> Floats:
        return weighing.mean(members, self.rule.say(len(members)))

    def decision(
        self, outputs: MemberOutputs, z_mm: Floats, edges_mm: Floats | None = None, dark: NDArray[np.bool_] | None = None
    ) -> Decision:
        """What is decided on a volume with cuts at these heights (s,); `edges_mm` as `spans.decide` has it.

        dark  (s,) which cuts show nothing but air: those at the ends are left out of what is decided, and show none
        """
        raw, turned = self.raw(outputs), None if outputs.turned is None else self._mean(outputs.turned)
        between = outer_edges(z_mm, edges_mm)

        def of(rows: slice) -> Decision:
            over = None if turned is None else turned[len(turned) - rows.stop : len(turned) - rows.start]
            return decide(raw[rows], z_mm[rows], self.vocabulary, self.rule, over, between[rows.start : rows.stop + 1])

        return decided_between(slice(0, len(raw)) if dark is None else lit(dark), len(raw), of)

    def signs(
        self, outputs: MemberOutputs, pixels: NDArray[np.uint8], bearing: Bearing | None = None, extent_mm: float | None = None
    ) -> Signs:
        """What else was measured on a volume of slices (s, side, side); `bearing` and `extent_mm` as `Signs` has them."""
        each = agreement(outputs.members, self.rule.say(len(outputs.members)))
        seen = Signs(float(each.mean()), disorder(pixels), slice_agreement=each, bearing=bearing,
                     passes=interleaved(pixels[lit(empty(pixels))]), extent_mm=extent_mm)
        if self.familiar is None or outputs.distances is None:
            return seen
        raw = self.raw(outputs)
        unusual = self.familiar.unusual(outputs.distances, raw)
        return replace(seen, novelty=novelty.of_volume(unusual, raw), slice_unusual=unusual)

    def bearing(self, stack: SliceStack) -> Bearing | None:
        """Which way the body lies in a volume; None where that is not known, or its pictures are too small to show it."""
        return None if self.orientation is None else self.orientation.bearing(stack)

    def answer(self, volume_id: str, path: str, outputs: MemberOutputs, stack: SliceStack, notes: Sequence[str] = ()) -> Answer:
        """The answer on a volume."""
        decision = self.decision(outputs, stack.z_mm, stack.edges_mm, empty(stack.pixels))
        signs = self.signs(outputs, stack.pixels, self.bearing(stack) if decision.spans else None, max(extents_mm(stack)))
        return answer(volume_id, path, decision, signs, self.rule, self.vocabulary, notes)
