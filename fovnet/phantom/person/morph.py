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
LATTICE_MM = 7.0
"""Knot spacing of the bend on a grid: interpolation errors of the bend below 0.5 mm."""
LEVEL_MM = 20.0
LEVELS_MM = np.arange(-40.0, 2081.0, LEVEL_MM)
"""Heights at which the extent of the bend is tabulated."""
LIFT_MM = (60.0, 450.0, 505.0, 880.0)
"""Heights in the written anatomy between which a bent leg rises from the heel, turns at the knee
and goes down to the hip."""
RAISED_BETWEEN_MM = (440.0, 480.0, 830.0, 932.0, 1060.0, 1100.0)
"""Heights in the written anatomy that stay when the ischium, the third, is raised: shin, knee; hip,
crest, loin."""
BEND_MARGIN_MM = 1.5  # by which the bend may be larger between the tabulated points


@dataclass(frozen=True)
class Morph:
    """The mapping from the person's millimetres to the written anatomy's, and back.

    anchor_heights_mm  (11,) the person's heights of ANCHORS_MM
    trunk_factors      (2,) widths of the trunk relative to the anatomy, x and y
    head_factors       (2,) widths of the head, the same
    yaw_deg            rotation of the head to the left
    waves              (n, 8) amplitudes x, y; wave numbers, phases x, y, z
    knee_lift_mm       how far bent knees are in front of straight ones, in mm of the written anatomy
    swelling           a mass that displaces the tissue around it, if any
    cross_sections     shape of the trunk's cross-sections by height, if not as written
    ischium_rise_mm    how much higher the lower end of the ischium is, in mm of the written anatomy,
                       with all around it: thighs are longer, and the pelvis below the hips is shorter
    """

    anchor_heights_mm: tuple[float, ...]
    trunk_factors: tuple[float, float]
    head_factors: tuple[float, float]
    yaw_deg: float
    waves: tuple[tuple[float, ...], ...]
    knee_lift_mm: float = 0.0
    swelling: Swelling | None = None
    cross_sections: CrossSections | None = None
    ischium_rise_mm: float = 0.0

    @property
    def largest_trunk_factors(self) -> tuple[float, float]:
        """(2,) the largest widths of the trunk at any height relative to the anatomy, x and y."""
        width_factor, depth_factor = self.trunk_factors
        if self.cross_sections is None:
            return width_factor, depth_factor
        largest_width, largest_depth = self.cross_sections.largest_factors
        return width_factor * largest_width, depth_factor * largest_depth

    @cached_property
    def _anatomy_by_height(self) -> PchipInterpolator:
        return PchipInterpolator(self.anchor_heights_mm, ANCHORS_MM)

    @cached_property
    def _height_table(self) -> NDArray[np.float64]:
        """(2, n) heights of the person every 0.25 mm, and of the anatomy."""
        z = np.arange(self.anchor_heights_mm[0], self.anchor_heights_mm[-1], 0.25)
        return np.stack([z, self._with_raised_ischium(self._anatomy_by_height(z))])

    def _with_raised_ischium(self, z: NDArray[np.float64]) -> NDArray[np.float64]:
        """Written heights of those with the ischium raised by `ischium_rise_mm`."""
        if not self.ischium_rise_mm:
            return z
        shin_z, knee_z, ischium_z, hip_z, crest_z, loin_z = RAISED_BETWEEN_MM
        raised_heights = (shin_z, knee_z, ischium_z + self.ischium_rise_mm, hip_z, crest_z, loin_z)
        lowered_z = PchipInterpolator(raised_heights, RAISED_BETWEEN_MM)(np.clip(z, shin_z, loin_z))
        return np.where((z > shin_z) & (z < loin_z), lowered_z, z)

    def height_mm(self, anatomy_z_mm: float) -> float:
        """The person's height for a height in the written anatomy."""
        return float(np.interp(anatomy_z_mm, self._height_table[1], self._height_table[0]))

    def to_anatomy(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats, Floats]:
        """x, y and z (mm) in the written anatomy of points x, y, z (mm) of this person; float32,
        broadcastable."""
        anatomy_z = np.interp(z, *self._height_table).astype(np.float32)
        head_share = _head_share(anatomy_z)
        width_factor, depth_factor = (
            np.float32(trunk_factor) + head_share * np.float32(head_factor - trunk_factor)
            for trunk_factor, head_factor in zip(self.trunk_factors, self.head_factors, strict=True)
        )
        x = x / width_factor
        y = y / depth_factor
        if self.cross_sections is not None:
            x, y = self.cross_sections.to_anatomy(x, y, anatomy_z)
        shift_x, shift_y = self._shift_on_lattice_mm(x, y, anatomy_z)
        if self.knee_lift_mm:
            shift_y = shift_y - self.forward_lift_mm(anatomy_z)
        x = np.asarray(x + shift_x)
        y = np.asarray(y + shift_y)
        if self.swelling is not None:
            x, y = self.swelling.to_anatomy(x, y, anatomy_z)
        return x, y, anatomy_z

    def forward_lift_mm(self, anatomy_z_mm: ArrayLike) -> Floats:
        """How far bent legs are moved to the front at heights of the written anatomy, in mm of it:
        a shear, so that heights do not change.

        A knee bent by 30° is 110 mm in front of the line from hip to heel; thigh and shin are then
        4 % longer than after a rotation.
        """
        heel_z, below_knee_z, above_knee_z, hip_z = LIFT_MM
        anatomy_z = np.asarray(anatomy_z_mm, dtype=np.float32)
        shin_share = (anatomy_z - heel_z) / (below_knee_z - heel_z)
        thigh_share = (hip_z - anatomy_z) / (hip_z - above_knee_z)
        lift_share = np.clip(np.minimum(shin_share, thigh_share), 0, 1)
        return np.asarray(np.float32(self.knee_lift_mm) * lift_share)

    def forward_lift_range_mm(self, low_mm: float, high_mm: float) -> tuple[float, float]:
        """The least and the largest forward shift of bent legs between two heights of the person,
        in mm of the anatomy."""
        lifts_mm = self.forward_lift_mm(
            np.interp(np.linspace(low_mm, high_mm, 33), *self._height_table)
        )
        return float(lifts_mm.min()), float(lifts_mm.max())

    def _shift_mm(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Displacement of points along x and y by the turn of the head and the bend."""
        shift_x, shift_y = self._bend_mm(x, y, z)
        head_share = _head_share(z)
        if self.yaw_deg and float(head_share.max()) > 0:
            turn_angle = np.deg2rad(self.yaw_deg).astype(np.float32) * head_share
            cos_minus_one = np.cos(turn_angle) - 1
            sin_turn = np.sin(turn_angle)
            neck_distance = y - NECK_Y_MM
            shift_x = shift_x + cos_minus_one * x + sin_turn * neck_distance
            shift_y = shift_y + cos_minus_one * neck_distance - sin_turn * x
        return shift_x, shift_y

    def _shift_on_lattice_mm(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """The shift along x and y of points on a grid, linear between knots LATTICE_MM apart; for fewer
        than a thousand points, computed at each.

        Ten waves over three million oblique points would take a second; the knots are a hundredth
        of them.
        """
        shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
        if len(shape) != 3 or np.prod(shape) < 1000:
            return self._shift_mm(x, y, z)
        knots_by_axis = [
            _knot_indices(size, step_mm)
            for size, step_mm in zip(shape, _steps_mm(x, y, z), strict=True)
        ]
        knot_shift_x, knot_shift_y = self._shift_mm(
            *(_at_knots(coordinates, knots_by_axis) for coordinates in (x, y, z))
        )
        return (
            _interpolate_between_knots(knot_shift_x, knots_by_axis, shape),
            _interpolate_between_knots(knot_shift_y, knots_by_axis, shape),
        )

    @cached_property
    def _bend_limits(self) -> NDArray[np.float64]:
        """(2, 2, levels + 1) least and largest bend in mm along x and y, at or next to each level
        of LEVELS_MM; last, at any of them."""
        grid_x = np.arange(-420.0, 421.0, 20.0)
        grid_y = np.arange(-300.0, 421.0, 20.0)
        grid_points = np.ix_(
            grid_x.astype(np.float32), grid_y.astype(np.float32), LEVELS_MM.astype(np.float32)
        )
        grid_shape = (len(grid_x), len(grid_y), len(LEVELS_MM))
        axis_limits = []
        for bend_mm in self._bend_mm(*grid_points):
            bend_at_levels = np.broadcast_to(bend_mm, grid_shape)
            least_at_levels = bend_at_levels.min(axis=(0, 1))
            most_at_levels = bend_at_levels.max(axis=(0, 1))
            # three levels: the one below, itself, the one above
            least_bend = minimum_filter1d(least_at_levels, 3, mode="wrap") - BEND_MARGIN_MM
            most_bend = maximum_filter1d(most_at_levels, 3, mode="wrap") + BEND_MARGIN_MM
            axis_limits.append(
                [np.append(least_bend, least_bend.min()), np.append(most_bend, most_bend.max())]
            )
        return np.array(axis_limits)

    def _bend_mm(self, x: Floats, y: Floats, z: Floats) -> tuple[Floats, Floats]:
        """Displacements in mm along x and along y, a sum of standing waves.

        The sines are computed before the axes are combined: on a grid along the body that is a
        hundredth of the work.
        """
        bend_x = np.float32(0)
        bend_y = np.float32(0)
        for bend_wave in self.waves:
            amplitude_x, amplitude_y, *wave_values = (np.float32(value) for value in bend_wave)
            number_x, number_y, number_z, phase_x, phase_y, phase_z = wave_values
            wave_xz = np.sin(number_x * x + phase_x) * np.sin(number_z * z + phase_z)
            wave_y = np.sin(number_y * y + phase_y)
            wave = wave_xz * wave_y
            bend_x = bend_x + amplitude_x * wave
            bend_y = bend_y + amplitude_y * wave
        return np.asarray(bend_x), np.asarray(bend_y)

    def enclose(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Boxes (n, 2, 3) of this person around boxes (n, 2, 3) of the anatomy, lowest and highest
        corner of each in mm."""
        if self.swelling is not None:
            boxes = self.swelling.enclose(boxes)
        boxes = self._enclose_bend(boxes)
        if self.cross_sections is not None:
            boxes = self.cross_sections.enclose(boxes)
        person_boxes = boxes.copy()
        for axis in (0, 1):
            factors = (self.trunk_factors[axis], self.head_factors[axis])
            ends = np.stack([boxes[:, :, axis] * factor for factor in factors])
            person_boxes[:, 0, axis] = ends.min(axis=(0, 2))
            person_boxes[:, 1, axis] = ends.max(axis=(0, 2))
        person_heights, anatomy_heights = self._height_table
        person_boxes[:, 0, 2] = np.interp(boxes[:, 0, 2], anatomy_heights, person_heights) - 0.5
        person_boxes[:, 1, 2] = np.interp(boxes[:, 1, 2], anatomy_heights, person_heights) + 0.5
        return person_boxes

    def _enclose_bend(self, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
        """The boxes (n, 2, 3) enlarged by what the turn of the head, the bend and bent knees move."""
        low_z = boxes[:, 0, 2]
        high_z = boxes[:, 1, 2]
        farthest_mm = np.abs(boxes[:, :, :2].clip(-600, 600)).max(axis=(1, 2)) + abs(NECK_Y_MM)
        # a turned head: as far as the yaw can reach in any direction
        yaw_mm = abs(np.deg2rad(self.yaw_deg)) * farthest_mm
        yaw_reach = np.where(high_z > RISE_MM[0], yaw_mm, 0.0)
        level_index = np.rint((boxes[:, :, 2].mean(axis=1) - LEVELS_MM[0]) / LEVEL_MM)
        level_index = level_index.clip(0, len(LEVELS_MM) - 1).astype(int)
        # a tall box: the largest bend at any height
        level_index = np.where(high_z - low_z > LEVEL_MM, -1, level_index)
        bent_boxes = boxes.copy()
        for axis, (least_bend, most_bend) in enumerate(self._bend_limits):
            bent_boxes[:, 0, axis] = boxes[:, 0, axis] - yaw_reach - most_bend[level_index]
            bent_boxes[:, 1, axis] = boxes[:, 1, axis] + yaw_reach - least_bend[level_index]
        end_lifts_mm = self.forward_lift_mm(boxes[:, :, 2])
        has_knee = (low_z < LIFT_MM[2]) & (high_z > LIFT_MM[1])
        most_lift_mm = np.where(has_knee, self.knee_lift_mm, end_lifts_mm.max(axis=1))
        bent_boxes[:, 0, 1] += end_lifts_mm.min(axis=1)
        bent_boxes[:, 1, 1] += most_lift_mm
        return bent_boxes


def _head_share(z: Floats) -> Floats:
    """0 in the trunk, 1 in the head, smooth between the two ends of RISE_MM."""
    share = np.clip((z - RISE_MM[0]) / (RISE_MM[1] - RISE_MM[0]), 0, 1).astype(np.float32)
    return np.asarray(share * share * (3 - 2 * share))


def _steps_mm(x: Floats, y: Floats, z: Floats) -> list[float]:
    """(3,) mm between neighbouring points of a grid along each of its axes; x, y, z may have size 1
    along axes they do not depend on."""
    steps_mm = []
    for axis in range(3):
        differences = [0.0, 0.0, 0.0]
        for coordinate_index, coordinates in enumerate((x, y, z)):
            if coordinates.shape[axis] > 1:
                first_two = coordinates.take([0, 1], axis)
                differences[coordinate_index] = np.diff(first_two, axis=axis).ravel()[0]
        steps_mm.append(float(np.linalg.norm(differences)))
    return steps_mm


def _knot_indices(size: int, step_mm: float) -> NDArray[np.intp]:
    """Indices of an axis of `size` points `step_mm` apart: about every LATTICE_MM, the first and the
    last among them."""
    knot_step = max(1, int(LATTICE_MM / max(step_mm, 1e-3)))
    return np.append(np.arange(0, size - 1, knot_step), size - 1)


def _at_knots(coordinates: Floats, knots_by_axis: list[NDArray[np.intp]]) -> Floats:
    """The coordinates of a grid at its knots; axes of size 1 stay."""
    kept_indices = [[0], [0], [0]]
    for axis, knots in enumerate(knots_by_axis):
        if coordinates.shape[axis] > 1:
            kept_indices[axis] = knots.tolist()
    return coordinates[np.ix_(*kept_indices)]


def _interpolate_between_knots(
    knot_shifts: Floats, knots_by_axis: list[NDArray[np.intp]], shape: tuple[int, ...]
) -> Floats:
    """Values (a, b, c) at the knots of three axes, linearly interpolated to every index of `shape`."""
    weights_i, weights_j, weights_k = (
        _interpolation_weights(size, knots)
        for size, knots in zip(shape, knots_by_axis, strict=True)
    )
    knot_counts = (weights_i.shape[1], weights_j.shape[1], weights_k.shape[1])
    knot_lattice = np.broadcast_to(knot_shifts, knot_counts).astype(np.float32)
    along_i = weights_i @ knot_lattice.reshape(knot_counts[0], -1)
    along_i = along_i.reshape(len(weights_i), *knot_counts[1:])
    # contiguous, which speeds up all painting on the grid
    return (weights_j @ along_i) @ weights_k.T


def _interpolation_weights(size: int, knots: NDArray[np.intp]) -> NDArray[np.float32]:
    """(size, knots) weight of each knot at each index of an axis."""
    indices = np.arange(size)
    weights = [np.interp(indices, knots, unit_row) for unit_row in np.eye(len(knots))]
    return np.stack(weights, axis=1).astype(np.float32)
