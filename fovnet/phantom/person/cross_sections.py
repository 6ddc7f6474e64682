"""The shape of a trunk's cross-section at each height: wide or narrow, flat or deep, a lens or a
box.

In supine people the waist may be as flat and wide as the hips, or round above flat hips; organs at
the same height are deformed with the outline.  Without this, waists are rounder than hips in
everybody, and networks learn that, among other things: a lean body of another maker's segmentation
was called pelvis for 65 mm above the iliac crest, and for less once its belly was made round.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from fovnet.phantom.geometry.solids import Floats

LEVELS_MM = (830.0, 900.0, 985.0, 1060.0, 1130.0, 1220.0, 1330.0)
"""Heights of the written anatomy: ischium, hips, upper sacrum, iliac crest, waist, lower ribs; all
are as written at the first and last."""

BACK_MM = -95.0  # y that stays fixed, so that the contact with the table stays flat
FLANK_MM = 150.0  # distance from the midline at which a lens reaches 0.7 of its full effect
MIDDLE_SHARE = 0.35  # share of a lens's reduction of the flanks that is added in the middle
STEP_MM = 5.0


@dataclass(frozen=True)
class CrossSections:
    """Factors and depths at LEVELS_MM, all neutral in a plain person.

    width_factors  of the trunk, 1 as written
    depth_factors  of the trunk, 1 as written
    lens_depths    how much shallower the flanks are than the middle: 0.3 by a fifth, below 0 deeper,
                   as in a box
    """

    width_factors: tuple[float, ...]
    depth_factors: tuple[float, ...]
    lens_depths: tuple[float, ...]

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        """(4, n) heights every 5 mm, and interpolated width factors, depth factors and lens depths;
        the last columns are neutral."""
        z = np.arange(LEVELS_MM[0], LEVELS_MM[-1] + 3 * STEP_MM, STEP_MM)
        interpolator = PchipInterpolator(
            LEVELS_MM, np.stack([self.width_factors, self.depth_factors, self.lens_depths], axis=1)
        )
        return np.stack([z, *interpolator(np.minimum(z, LEVELS_MM[-1])).T])

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """x and y (mm) of the written anatomy at heights z of it, for points of this person;
        float32, broadcastable."""
        heights, *factor_rows = self._table
        width_factor, depth_at_middle, lens = (
            np.interp(z, heights, factor_row).astype(np.float32) for factor_row in factor_rows
        )
        x = x / width_factor
        squared_flank_ratio = np.square(x / np.float32(FLANK_MM))
        # 0 in the middle, 0.7 at the flank, towards 1 beyond it
        lens_share = squared_flank_ratio / np.sqrt(1 + np.square(squared_flank_ratio))
        depth_factor = depth_at_middle * (1 + lens * (np.float32(MIDDLE_SHARE) - lens_share))
        return x, np.float32(BACK_MM) + (y - np.float32(BACK_MM)) / depth_factor

    @property
    def largest_factors(self) -> tuple[float, float]:
        """The largest width factor and depth factor, at any height, without the lens."""
        return max(self.width_factors), max(self.depth_factors)

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) of this person around boxes (n, 2, 3) of the anatomy, lowest and highest
        corner of each in mm."""
        smallest_factors, largest_factors = self._factor_limits(boxes)
        fixed_point = np.array([0.0, BACK_MM])
        from_fixed = boxes[:, :, :2] - fixed_point
        # (limits, n, corners, 2): each corner by the smallest and by the largest factors
        scaled_corners = fixed_point + np.stack(
            [from_fixed * smallest_factors[:, None], from_fixed * largest_factors[:, None]]
        )
        person_boxes = boxes.copy()
        person_boxes[:, 0, :2] = scaled_corners.min(axis=(0, 2))
        person_boxes[:, 1, :2] = scaled_corners.max(axis=(0, 2))
        return person_boxes

    def _factor_limits(
        self, boxes: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The smallest and the largest factors (n, 2) of width and depth at the heights of boxes
        (n, 2, 3)."""
        heights, width_factors, depth_factors, lens_depths = self._table
        depth_limits = np.stack(
            [
                depth_factors * (1 + lens_depths * MIDDLE_SHARE),
                depth_factors * (1 + lens_depths * (MIDDLE_SHARE - 1)),
            ]
        )
        least_factors = np.stack([width_factors, depth_limits.min(axis=0)])
        most_factors = np.stack([width_factors, depth_limits.max(axis=0)])
        last_index = len(heights) - 1
        first_row = np.clip(np.searchsorted(heights, boxes[:, 0, 2]) - 1, 0, last_index - 1)
        end_row = np.clip(np.searchsorted(heights, boxes[:, 1, 2]) + 1, first_row + 1, last_index)
        # reduceat reduces from one index to the next, so every second result is a box's
        row_bounds = np.stack([first_row, end_row], axis=1).ravel()
        smallest_factors = np.minimum.reduceat(least_factors, row_bounds, axis=1)[:, ::2]
        largest_factors = np.maximum.reduceat(most_factors, row_bounds, axis=1)[:, ::2]
        return smallest_factors.T, largest_factors.T


VARIED_SHARE = 0.85
"""Share of supine people whose cross-sections vary with height."""

LEVEL_CORRELATION = 0.5  # correlation of neighbouring levels
LOG_FLATNESS = (0.08, 0.20, -0.36, 0.52)
LOG_SIZE = (0.0, 0.04, -0.09, 0.09)
LENS_DISTRIBUTION = (0.08, 0.18, -0.3, 0.5)
"""Mean, standard deviation, minimum and maximum of the logarithm of width by depth, of that of the
size, and of the lens.

A written waist with its fat and belly is about 1.35 times as wide as deep; that of a lean body in a
published segmentation 1.9 times, and 1.6 times with 25 mm of fat around it.  The spreads are chosen
to include both, not measured on people.
"""


def draw_cross_sections(rng: np.random.Generator) -> CrossSections | None:
    """Cross-sections of a supine person, width by depth 0.7 to 1.7 times as written, or None for
    one person in seven."""
    if rng.random() > VARIED_SHARE:
        return None
    log_flatness, log_size, lens_values = (
        np.clip(mean + sd * _draw_correlated_levels(rng), least_value, most_value)
        for mean, sd, least_value, most_value in (LOG_FLATNESS, LOG_SIZE, LENS_DISTRIBUTION)
    )
    width_factors = np.exp(log_size + log_flatness / 2)
    depth_factors = np.exp(log_size - log_flatness / 2)
    return CrossSections(
        (1.0, *width_factors.tolist(), 1.0),
        (1.0, *depth_factors.tolist(), 1.0),
        (0.0, *lens_values.tolist(), 0.0),
    )


def _draw_correlated_levels(rng: np.random.Generator) -> NDArray[np.float64]:
    """Standard normal numbers for the levels between the first and the last, neighbours with
    correlation LEVEL_CORRELATION."""
    level_values = rng.normal(size=len(LEVELS_MM) - 2)
    for level_index in range(1, len(level_values)):
        level_values[level_index] = (
            LEVEL_CORRELATION * level_values[level_index - 1]
            + np.sqrt(1 - LEVEL_CORRELATION**2) * level_values[level_index]
        )
    return level_values
