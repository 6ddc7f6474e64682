"""What an answer takes from a volume's pixels, besides what the networks say of its slices: measured
when it is first asked for, or recorded where pixels are no longer there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.margins import find_air, find_signal_rows
from fovnet.decision.checks.out_of_order import count_passes, measure_disorder
from fovnet.decision.checks.phantom import resembles_phantom
from fovnet.decision.orientation import Bearing, Orientation
from fovnet.volume.slices.planes import measure_extents_mm
from fovnet.volume.slices.stack import SliceStack


@dataclass(frozen=True)
class MeasuredPicture:
    """The picture of a volume whose pixels are there; `orientation` is the network for the body's
    orientation, None if the ensemble has none.  Its values are those of `checks.check.Picture`."""

    stack: SliceStack
    orientation: Orientation | None

    @cached_property
    def is_air(self) -> NDArray[np.bool_]:
        return find_air(self.stack.pixels)

    @cached_property
    def disorder(self) -> float:
        return measure_disorder(self.stack.pixels)

    @cached_property
    def pass_count(self) -> int:
        return count_passes(self.stack.pixels[find_signal_rows(self.is_air)])

    @cached_property
    def resembles_phantom(self) -> bool:
        return resembles_phantom(self.stack.pixels)

    @cached_property
    def extent_mm(self) -> float:
        return max(measure_extents_mm(self.stack))

    @cached_property
    def bearing(self) -> Bearing | None:
        if self.orientation is None:
            return None
        return self.orientation.judge_bearing(self.stack)


@dataclass(frozen=True)
class RecordedPicture:
    """The picture of a volume whose pixels are not there, as it was measured on them."""

    is_air: NDArray[np.bool_]
    disorder: float
    pass_count: int
    resembles_phantom: bool
    extent_mm: float
    bearing: Bearing | None
