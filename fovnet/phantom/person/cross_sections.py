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
EVEN = 0.35  # share of a lens's reduction of the flanks that is added in the middle
STEP_MM = 5.0


@dataclass(frozen=True)
class CrossSections:
    """Factors at LEVELS_MM, all neutral in a plain person.

    wide, deep  width and depth of the trunk, 1 as written
    lens        how much shallower the flanks are than the middle: 0.3 by a fifth, below 0 deeper, as in a box
    """

    wide: tuple[float, ...]
    deep: tuple[float, ...]
    lens: tuple[float, ...]

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        """(4, n) heights every 5 mm, and interpolated wide, deep and lens; the last rows are
        neutral."""
        z = np.arange(LEVELS_MM[0], LEVELS_MM[-1] + 3 * STEP_MM, STEP_MM)
        smooth = PchipInterpolator(LEVELS_MM, np.stack([self.wide, self.deep, self.lens], axis=1))
        return np.stack([z, *smooth(np.minimum(z, LEVELS_MM[-1])).T])

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """x and y (mm) of the written anatomy at heights z of it, for points of this person;
        float32, broadcastable."""
        heights, *factors = self._table
        wide, deep, lens = (np.interp(z, heights, factor).astype(np.float32) for factor in factors)
        x = x / wide
        aside = np.square(x / np.float32(FLANK_MM))
        # 0 in the middle, 0.7 at the flank, towards 1 beyond it
        share = aside / np.sqrt(1 + np.square(aside))
        depth = deep * (1 + lens * (np.float32(EVEN) - share))
        return x, np.float32(BACK_MM) + (y - np.float32(BACK_MM)) / depth

    @property
    def most(self) -> tuple[float, float]:
        """The largest of wide and of deep, at any height, without the lens."""
        return max(self.wide), max(self.deep)

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) of this person around boxes (n, 2, 3) of the anatomy."""
        heights, wide, deep, lens = self._table
        depths = np.stack([deep * (1 + lens * EVEN), deep * (1 + lens * (EVEN - 1))])
        least = np.stack([wide, depths.min(axis=0)])
        most = np.stack([wide, depths.max(axis=0)])
        # Over the rows around each box: reduceat reduces from one index to the next, so every second result
        # is a box's.
        first = np.clip(np.searchsorted(heights, boxes[:, 0, 2]) - 1, 0, len(heights) - 2)
        last = np.clip(np.searchsorted(heights, boxes[:, 1, 2]) + 1, first + 1, len(heights) - 1)
        rows = np.stack([first, last], axis=1).ravel()
        smallest = np.minimum.reduceat(least, rows, axis=1)
        largest = np.maximum.reduceat(most, rows, axis=1)
        factors = np.stack([smallest[:, ::2], largest[:, ::2]])
        fixed = np.array([0.0, BACK_MM])
        # (n, least or most, low or high, 2)
        ends = fixed + (boxes[:, None, :, :2] - fixed) * factors.transpose(2, 0, 1)[:, :, None]
        bent = boxes.copy()
        bent[:, 0, :2], bent[:, 1, :2] = ends.min(axis=(1, 2)), ends.max(axis=(1, 2))
        return bent


SHARE = 0.85
"""Share of supine people whose cross-sections vary with height."""

ALIKE = 0.5  # correlation of neighbouring levels
FLATTER = (0.08, 0.20, -0.36, 0.52)
LARGER = (0.0, 0.04, -0.09, 0.09)
LENS = (0.08, 0.18, -0.3, 0.5)
"""Mean, standard deviation, minimum and maximum of the logarithm of width by depth, of that of the
size, and of the lens.

A written waist with its fat and belly is about 1.35 times as wide as deep; that of a lean body in a
published segmentation 1.9 times, and 1.6 times with 25 mm of fat around it.  The spreads are chosen
to include both, not measured on people.
"""


def draw_cross_sections(rng: np.random.Generator) -> CrossSections | None:
    """Cross-sections of a supine person, width by depth 0.7 to 1.7 times as written, or None for
    one person in seven."""
    if rng.random() > SHARE:
        return None
    flatter, larger, lens = (
        np.clip(mean + spread * _along(rng), least, most)
        for mean, spread, least, most in (FLATTER, LARGER, LENS)
    )
    wide = np.exp(larger + flatter / 2)
    deep = np.exp(larger - flatter / 2)
    return CrossSections(
        (1.0, *wide.tolist(), 1.0), (1.0, *deep.tolist(), 1.0), (0.0, *lens.tolist(), 0.0)
    )


def _along(rng: np.random.Generator) -> NDArray[np.float64]:
    """Standard normal numbers for the levels between the first and the last, neighbours with
    correlation ALIKE."""
    numbers = rng.normal(size=len(LEVELS_MM) - 2)
    for level in range(1, len(numbers)):
        numbers[level] = ALIKE * numbers[level - 1] + np.sqrt(1 - ALIKE**2) * numbers[level]
    return numbers
