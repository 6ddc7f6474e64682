"""The shape of one person: the mapping from their millimetres to the written anatomy's, and back.

Heights are stretched piecewise, widths scaled, the head turned, and everything is bent by a sum of
smooth waves. The bend moves points within a horizontal plane only, so a landmark stays exactly at
its height.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator
from scipy.ndimage import maximum_filter1d, minimum_filter1d

from fovnet.phantom.geometry.solids import Floats
from fovnet.phantom.person.cross_sections import CrossSections
from fovnet.phantom.person.swelling import Swelling

ANCHORS_MM = (-300.0, 0.0, 80.0, 480.0, 830.0, 1060.0, 1270.0, 1455.0, 1520.0, 1750.0, 2300.0)
"""Heights in the written anatomy between which a person is stretched: below the soles, soles,
ankle, knee, ischium, iliac crest, liver dome, lung apex, chin, vertex, beyond raised hands."""

RISE_MM = (1470.0, 1540.0)  # along the neck the trunk's widths and direction change to the head's
NECK_Y_MM = -20.0  # the head turns about the dens
LATTICE_MM = (
    7.0  # knot spacing of the bend on a grid: interpolation errors of the bend below 0.5 mm
)
LEVEL_MM = 20.0
LEVELS_MM = np.arange(
    -40.0, 2081.0, LEVEL_MM
)  # heights at which the extent of the bend is tabulated
LIFT_MM = (60.0, 450.0, 505.0, 880.0)
"""Heights in the written anatomy between which a bent leg rises from the heel, turns at the knee
and goes down to the hip."""
RAISED_BETWEEN_MM = (440.0, 480.0, 830.0, 932.0, 1060.0, 1100.0)
"""Heights in the written anatomy that stay when the ischium, the third, is raised: shin, knee; hip,
crest, loin."""
BETWEEN_MM = 1.5  # by which the bend may be larger between the tabulated points


@dataclass(frozen=True)
class Morph:
    """The mapping from the person's millimetres to the written anatomy's, and back.

    heights_mm  (11,) the person's heights of ANCHORS_MM            trunk, head   (2,) widths relative to the
        anatomy, x and y
    yaw_deg     rotation of the head to the left                    waves  (n, 8) amplitudes x, y; wave
        numbers, phases x, y, z
    lift_mm     how far bent knees are in front of straight ones, in mm of the written anatomy
    swelling    a mass that displaces the tissue around it, if any
    across      shape of the trunk's cross-sections by height, if not as written
    ischium_mm  how much higher the lower end of the ischium is, in mm of the written anatomy, with all around
        it: thighs are longer, and the pelvis below the hips is shorter
    """

    heights_mm: tuple[float, ...]
    trunk: tuple[float, float]
    head: tuple[float, float]
    yaw_deg: float
    waves: tuple[tuple[float, ...], ...]
    lift_mm: float = 0.0
    swelling: Swelling | None = None
    across: CrossSections | None = None
    ischium_mm: float = 0.0

    @property
    def trunk_at_most(self) -> tuple[float, float]:
        """(2,) the largest widths of the trunk relative to the anatomy, x and y."""
        wide, deep = (1.0, 1.0) if self.across is None else self.across.most
        return self.trunk[0] * wide, self.trunk[1] * deep

    @cached_property
    def _down(self) -> PchipInterpolator:
        return PchipInterpolator(self.heights_mm, ANCHORS_MM)

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        """(2, n) heights of the person every 0.25 mm, and of the anatomy."""
        z = np.arange(self.heights_mm[0], self.heights_mm[-1], 0.25)
        return np.stack([z, self._with_raised_ischium(self._down(z))])

    def _with_raised_ischium(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Written heights of those with the ischium raised by `ischium_mm`."""
        if not self.ischium_mm:
            return z
        shin, knee, ischium, hip, crest, loin = RAISED_BETWEEN_MM
        raised = (shin, knee, ischium + self.ischium_mm, hip, crest, loin)
        between = PchipInterpolator(raised, RAISED_BETWEEN_MM)(np.clip(z, shin, loin))
        return np.where((z > shin) & (z < loin), between, z)

    def height_mm(self, anatomy_z_mm: float) -> float:
        """The person's height for a height in the written anatomy."""
        return float(np.interp(anatomy_z_mm, self._table[1], self._table[0]))

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """Points (mm) of the written anatomy that are at x, y, z (mm) of this person; float32,
        broadcastable."""
        up = np.interp(z, *self._table).astype(np.float32)
        rise = _rise(up)
        wide, deep = (
            np.float32(low) + rise * np.float32(high - low)
            for low, high in zip(self.trunk, self.head, strict=True)
        )
        x = x / wide
        y = y / deep
        if self.across is not None:
            x, y = self.across.to_anatomy(x, y, up)
        shift_x, shift_y = self._shift_on_lattice(x, y, up)
        if self.lift_mm:
            shift_y = shift_y - self.lifted_mm(up)
        x = np.asarray(x + shift_x)
        y = np.asarray(y + shift_y)
        return (x, y, up) if self.swelling is None else (*self.swelling.to_anatomy(x, y, up), up)

    def lifted_mm(self, anatomy_z_mm: ArrayLike) -> Floats:
        """How far bent legs are moved to the front at heights of the written anatomy, in mm of it:
        a shear, so that heights do not change.

        A knee bent by 30° is 110 mm in front of the line from hip to heel; thigh and shin are then
        4 % longer than after a rotation.
        """
        heel, below, above, hip = LIFT_MM
        up = np.asarray(anatomy_z_mm, dtype=np.float32)
        shin = (up - heel) / (below - heel)
        thigh = (hip - up) / (hip - above)
        share = np.clip(np.minimum(shin, thigh), 0, 1)
        return np.asarray(np.float32(self.lift_mm) * share)

    def ahead_mm(self, low_mm: float, high_mm: float) -> tuple[float, float]:
        """The least and the largest forward shift of bent legs between two heights of the person,
        in mm of the anatomy."""
        lifted = self.lifted_mm(np.interp(np.linspace(low_mm, high_mm, 33), *self._table))
        return float(lifted.min()), float(lifted.max())

    def _shift(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Displacement of points along x and y by the turn of the head and the bend."""
        shift_x, shift_y = self._bend(x, y, z)
        rise = _rise(z)
        if self.yaw_deg and float(rise.max()) > 0:
            turn = np.deg2rad(self.yaw_deg).astype(np.float32) * rise
            less = np.cos(turn) - 1
            sin = np.sin(turn)
            behind = y - NECK_Y_MM
            shift_x = shift_x + less * x + sin * behind
            shift_y = shift_y + less * behind - sin * x
        return shift_x, shift_y

    def _shift_on_lattice(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """The shift of points on a grid, linear between knots LATTICE_MM apart; for fewer than a
        thousand points, computed at each.

        Ten waves over three million oblique points would take a second; the knots are a hundredth
        of them.
        """
        shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
        if len(shape) != 3 or np.prod(shape) < 1000:
            return self._shift(x, y, z)
        knots = [_knots(size, step) for size, step in zip(shape, _steps_mm(x, y, z), strict=True)]
        at_knots = (
            values[np.ix_(*(k if n > 1 else [0] for k, n in zip(knots, values.shape, strict=True)))]
            for values in (x, y, z)
        )
        shift_x, shift_y = self._shift(*at_knots)
        return _between_knots(shift_x, knots, shape), _between_knots(shift_y, knots, shape)

    @cached_property
    def _reach(self) -> NDArray[np.float64]:
        """(2, 2, levels + 1) least and largest bend in mm along x and y, at or next to each level
        of LEVELS_MM; last, at any of them."""
        x = np.arange(-420.0, 421.0, 20.0)
        y = np.arange(-300.0, 421.0, 20.0)
        grid = np.ix_(x.astype(np.float32), y.astype(np.float32), LEVELS_MM.astype(np.float32))
        shape = (len(x), len(y), len(LEVELS_MM))
        ends = []
        for bend in self._bend(*grid):
            levels = np.broadcast_to(bend, shape)
            # three levels: the one below, itself, the one above
            least = minimum_filter1d(levels.min(axis=(0, 1)), 3, mode="wrap") - BETWEEN_MM
            most = maximum_filter1d(levels.max(axis=(0, 1)), 3, mode="wrap") + BETWEEN_MM
            ends.append([np.append(least, least.min()), np.append(most, most.max())])
        return np.array(ends)

    def _bend(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Displacements in mm along x and y, a sum of standing waves.

        The sines are computed before the axes are combined: on a grid along the body that is a
        hundredth of the work.
        """
        bend_x = np.float32(0)
        bend_y = np.float32(0)
        for in_x, in_y, kx, ky, kz, px, py, pz in self.waves:
            across = np.sin(np.float32(kx) * x + np.float32(px)) * np.sin(
                np.float32(kz) * z + np.float32(pz)
            )
            deep = np.sin(np.float32(ky) * y + np.float32(py))
            wave = across * deep
            bend_x = bend_x + np.float32(in_x) * wave
            bend_y = bend_y + np.float32(in_y) * wave
        return np.asarray(bend_x), np.asarray(bend_y)

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) of this person around boxes (n, 2, 3) of the anatomy."""
        if self.swelling is not None:
            boxes = self.swelling.enclose(boxes)
        low = boxes[:, 0].copy()
        high = boxes[:, 1].copy()
        farthest = np.abs(boxes[:, :, :2].clip(-600, 600)).max(axis=(1, 2)) + abs(NECK_Y_MM)
        # a turned head: as far as the yaw can reach in any direction
        yaw_reach = np.where(high[:, 2] > RISE_MM[0], abs(np.deg2rad(self.yaw_deg)) * farthest, 0.0)
        level = np.rint((boxes[:, :, 2].mean(axis=1) - LEVELS_MM[0]) / LEVEL_MM)
        level = level.clip(0, len(LEVELS_MM) - 1).astype(int)
        # a tall box: the largest bend at any height
        level = np.where(high[:, 2] - low[:, 2] > LEVEL_MM, -1, level)
        ends_mm = self.lifted_mm(boxes[:, :, 2])
        knee = (low[:, 2] < LIFT_MM[2]) & (high[:, 2] > LIFT_MM[1])
        ahead = np.where(knee, self.lift_mm, ends_mm.max(axis=1))
        for axis, (least, most) in enumerate(self._reach):
            low_end = low[:, axis] - yaw_reach - most[level]
            high_end = high[:, axis] + yaw_reach - least[level]
            if axis == 1:
                low_end = low_end + ends_mm.min(axis=1)
                high_end = high_end + ahead
            low[:, axis], high[:, axis] = low_end, high_end
        if self.across is not None:
            low, high = self.across.enclose(np.stack([low, high], axis=1)).transpose(1, 0, 2)
        for axis in (0, 1):
            factors = (self.trunk[axis], self.head[axis])
            ends = np.stack([end[:, axis] * factor for end in (low, high) for factor in factors])
            low[:, axis], high[:, axis] = ends.min(axis=0), ends.max(axis=0)
        low[:, 2] = np.interp(low[:, 2], self._table[1], self._table[0]) - 0.5
        high[:, 2] = np.interp(high[:, 2], self._table[1], self._table[0]) + 0.5
        return np.stack([low, high], axis=1)


def _rise(z: Floats) -> Floats:
    """0 in the trunk, 1 in the head, smooth between the two ends of RISE_MM."""
    rise = np.clip((z - RISE_MM[0]) / (RISE_MM[1] - RISE_MM[0]), 0, 1).astype(np.float32)
    return np.asarray(rise * rise * (3 - 2 * rise))


def _steps_mm(x: Floats, y: Floats, z: Floats) -> list[float]:
    """(3,) mm between neighbouring points of a grid along each of its axes."""
    steps = []
    for axis in range(3):
        differences = [
            np.diff(values.take([0, 1], axis), axis=axis).ravel()[0]
            if values.shape[axis] > 1
            else 0.0
            for values in (x, y, z)
        ]
        steps.append(float(np.linalg.norm(differences)))
    return steps


def _knots(size: int, step_mm: float) -> NDArray[np.intp]:
    """Indices along an axis, about LATTICE_MM apart, the first and the last among them."""
    step = max(1, int(LATTICE_MM / max(step_mm, 1e-3)))
    return np.append(np.arange(0, size - 1, step), size - 1)


def _between_knots(values: Floats, knots: list[NDArray[np.intp]], shape: tuple[int, ...]) -> Floats:
    """Values (a, b, c) at the knots of three axes, linearly interpolated to every index of `shape`."""
    i, j, k = (
        # (size, knots)
        np.stack(
            [np.interp(np.arange(size), axis_knots, row) for row in np.eye(len(axis_knots))], axis=1
        ).astype(np.float32)
        for size, axis_knots in zip(shape, knots, strict=True)
    )
    at_knots = np.broadcast_to(values, (i.shape[1], j.shape[1], k.shape[1])).astype(np.float32)
    along_i = (i @ at_knots.reshape(i.shape[1], -1)).reshape(len(i), j.shape[1], k.shape[1])
    return (j @ along_i) @ k.T  # contiguous, which speeds up all painting on the grid
