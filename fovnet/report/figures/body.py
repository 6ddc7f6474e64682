"""A volume as all its pictures show it: what is drawn, at which heights, how large, and in which
lanes.

    s  slices, feet to head        k  classes

The pictures differ in how they are written: `body_figure` as matplotlib draws, `body_drawing` as
numbers for SVG, `thumbnail` as pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.cases import StoredSpan
from fovnet.regions import Vocabulary

END_TOLERANCE_MM = 0.5
"""A span's edge within this distance of the end of a picture equals that end up to rounding."""
LEAST_TOLD_STRETCH = 1.05
"""A view stretched by less is called true to scale."""
LONE_SLICE_MM = 5.0
"""Height at which a single slice is drawn, whose spacing is not known."""


@dataclass(frozen=True, eq=False)
class Body:
    """A volume to draw, with its answer.

    pixels            (s, h, w) uint8, feet to head, the patient's right on the left
    z_mm              (s,) heights of the slices, ascending
    side_mm           width and depth of a slice
    smoothed          (s, k) calibrated, smoothed probabilities
    spans             predicted regions with their ends in mm; in the place of one that is divided
                      its parts
    vocabulary        that of the networks, of which the k classes are the wholes
    shares_by_region  (s, n) of the n parts of each region that is divided, 0 outside its span
    """

    pixels: NDArray[np.uint8]
    z_mm: NDArray[np.float64]
    side_mm: float
    smoothed: NDArray[np.float64]
    spans: Sequence[StoredSpan]
    vocabulary: Vocabulary
    shares_by_region: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @cached_property
    def _half_step_mm(self) -> float:
        if len(self.z_mm) < 2:
            return LONE_SLICE_MM / 2
        return float(np.median(np.diff(self.z_mm))) / 2

    @cached_property
    def low_mm(self) -> float:
        """Lower end of the picture: of the first slice or of a span, which may reach further, as
        the first slice may stand for several."""
        first_mm = float(self.z_mm[0]) - self._half_step_mm
        return min([first_mm, *(span.from_mm for span in self.spans)])

    @cached_property
    def high_mm(self) -> float:
        """Upper end of the picture: of the last slice or of a span, which may reach further."""
        last_mm = float(self.z_mm[-1]) + self._half_step_mm
        return max([last_mm, *(span.to_mm for span in self.spans)])

    @property
    def height_mm(self) -> float:
        """Height of the picture."""
        return self.high_mm - self.low_mm

    @property
    def span_ends_mm(self) -> list[float]:
        """Heights of the spans' ends, ascending, without those at the ends of the picture."""
        end_heights_mm = {end_mm for span in self.spans for end_mm in (span.from_mm, span.to_mm)}
        return sorted(
            end_mm
            for end_mm in end_heights_mm
            if self.low_mm + END_TOLERANCE_MM < end_mm < self.high_mm - END_TOLERANCE_MM
        )

    @cached_property
    def curve_by_name(self) -> dict[str, NDArray[np.float64]]:
        """The probability (s,) of each class to draw.  Those of parts follow their region's, in whose
        place they are drawn where it is divided: the others are nan there, and they elsewhere."""
        curves = {}
        for name, probability in zip(self.vocabulary.whole.classes, self.smoothed.T, strict=True):
            curves[name] = probability
            if name in self.shares_by_region:
                shares = self.shares_by_region[name]
                is_divided = np.asarray(shares.any(axis=1))
                curves[name] = np.where(_is_inside(is_divided), np.nan, probability)
                for part, share in zip(self.vocabulary.parts[name], shares.T, strict=True):
                    curves[part] = np.where(is_divided, probability * share, np.nan)
        return curves

    def panel_size(self, limits: PanelLimits) -> PanelSize:
        """The size of a view that is true to scale, unless the volume is too flat or too narrow."""
        units_per_mm = min(limits.tallest / self.height_mm, limits.widest / self.side_mm)
        true_height = self.height_mm * units_per_mm
        height = max(true_height, limits.shortest)
        width = max(self.side_mm * units_per_mm, limits.narrowest)
        return PanelSize(width, height, height / true_height)


def _is_inside(is_divided: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(s,) whether a slice and both its neighbours are divided; beyond the ends all are, so that a
    curve reaches to the first divided slice beside it."""
    padded = np.pad(is_divided, 1, constant_values=True)
    return np.asarray(padded[:-2] & padded[1:-1] & padded[2:])


class PanelLimits(NamedTuple):
    """Limits of a view, in units of its picture.

    tallest, widest  maximum height and width
    shortest         minimum height, at which curves beside it are legible
    narrowest        minimum width
    """

    tallest: float
    widest: float
    shortest: float
    narrowest: float


class PanelSize(NamedTuple):
    """A view in units of its picture; `stretch`: how many times feet to head is stretched, 1 true
    to scale."""

    width: float
    height: float
    stretch: float


class Lanes(NamedTuple):
    """Where spans lie side by side: the lane of each span, counted from the left, and the number of
    lanes."""

    lane_by_span: list[int]
    lane_count: int


def lanes_of(spans: Sequence[StoredSpan], vocabulary: Vocabulary) -> Lanes:
    """The lanes of spans: the chain in one, each side region such as spine in its own beside it."""
    present_regions = {span.region for span in spans}
    lane_names = [name for name in vocabulary.side_regions if name in present_regions]
    if not lane_names or len(present_regions) > len(lane_names):
        lane_names = ["chain", *lane_names]
    lane_by_name = {name: lane for lane, name in enumerate(lane_names)}
    return Lanes([lane_by_name.get(span.region, 0) for span in spans], len(lane_names))
