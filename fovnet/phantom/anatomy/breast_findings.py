"""Breast findings: irregular masses with spicules, cysts, segmental enhancement, marker clips.

Source of their appearance: Morris et al. (2013), *ACR BI-RADS Magnetic Resonance Imaging*:
irregular or lobed masses with spiculated margins, focal or segmental non-mass enhancement.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.gland import Wave, draw_waves, wave_value
from fovnet.phantom.anatomy.layers import Paints, paint_detail, paint_details
from fovnet.phantom.geometry.lobed import draw_lobed
from fovnet.phantom.geometry.solids import Bools, Ellipsoid, Filling, Floats, Point, tube
from fovnet.phantom.person.breast_shapes import BreastShape, breast_shape
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

HANGING_SHARES = {"mass": 0.5, "cysts": 0.2, "segment": 0.15, "clip": 0.15}
LYING_SHARES = {"mass": 0.08, "cysts": 0.1, "segment": 0.02, "clip": 0.03}
"""Shares of women with individually shaped breasts who have a finding, by its name, prone and
supine: most who lie prone in a breast coil have an indication."""

EARLIEST_YEARS = 25.0  # the age from which on breasts have findings

BREAST_TISSUES = ("fat", "gland")


@dataclass(frozen=True)
class EnhancingSegment(Filling):
    """Clumps in one segment of a breast, which widens from the nipple to the chest.

    region          the breast
    direction_rad   of the segment round the axis of the breast
    half_angle_rad  half the segment's angular width
    waves           clumps are where their sum is above the threshold
    wave_threshold  the higher, the fewer clumps
    """

    region: BreastShape
    direction_rad: float
    half_angle_rad: float
    waves: tuple[Wave, ...]
    wave_threshold: float

    @property
    def box(self) -> NDArray[np.float64]:
        low_corner, high_corner = self.region.box
        return np.array([(low_corner[0], self.region.base[1] + 10.0, low_corner[2]), high_corner])

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points of the clumps in the segment."""
        width_share, length_share, height_share = self.region.to_shares(x, y, z)
        wave_sum = sum(wave_value(x, y, z, wave) for wave in self.waves)
        angle_off_direction = np.angle(
            np.exp(1j * (np.arctan2(height_share, width_share) - self.direction_rad))
        ).astype(np.float32)
        is_in_segment = (
            (np.abs(angle_off_direction) < self.half_angle_rad)
            & (self.region.level(width_share, length_share, height_share) < 0.7)
            & (length_share > 0.15)
        )
        return np.asarray((wave_sum > self.wave_threshold) & is_in_segment)


def paint_breast_findings(person: Person) -> Paints:
    """The findings of a woman with individually shaped breasts, each in one breast; none before
    EARLIEST_YEARS."""
    rng = person.generator(Stream.BREAST_FINDINGS)
    if person.age < EARLIEST_YEARS:
        return
    painter_by_name = {
        "mass": _paint_masses,
        "cysts": _paint_cysts,
        "segment": _paint_enhancing_segment,
        "clip": _paint_clips,
    }
    share_by_name = HANGING_SHARES if person.is_prone else LYING_SHARES
    for finding_name, finding_share in share_by_name.items():
        breast = breast_shape(person, int(rng.choice([-1, 1])))
        has_finding = rng.random() < finding_share
        finding_rng = np.random.default_rng(rng.integers(2**31))
        if has_finding:
            yield from painter_by_name[finding_name](breast, finding_rng)


def _draw_point(breast: BreastShape, margin_mm: float, rng: np.random.Generator) -> Point:
    """A point of the breast (3,) mm, at least `margin_mm` from its skin if there is room."""
    length_share = rng.uniform(0.15, 0.8)
    radius_share = breast.radius_share(length_share)
    drawn_shares = []
    for half_axis_mm, plate_share in zip(breast.half_size_mm, breast.plate_shares, strict=True):
        room_mm = max(half_axis_mm * min(radius_share, plate_share) - margin_mm, 0.0)
        drawn_shares.append(rng.uniform(-0.75, 0.75) * room_mm / half_axis_mm)
    width_share, height_share = drawn_shares
    return breast.point_at_shares(length_share, width_share, height_share)


def _paint_masses(breast: BreastShape, rng: np.random.Generator) -> Paints:
    """One mass of 1 to 6 cm, at times necrotic, seldom with one or two smaller ones beside it; up
    to fourteen spicules each."""
    half_width_mm, half_height_mm = (
        half_axis_mm * min(1.0, plate_share)
        for half_axis_mm, plate_share in zip(breast.half_size_mm, breast.plate_shares, strict=True)
    )
    largest_mm = 0.9 * min(half_width_mm, half_height_mm, breast.length_mm / 2)
    drawn_radius_mm = float(np.exp(rng.uniform(np.log(5.0), np.log(30.0))))
    first_radius_mm = min(drawn_radius_mm, largest_mm)
    mass_count = 1 + rng.choice(3, p=[0.7, 0.2, 0.1])
    for mass_index in range(mass_count):
        radius_mm = first_radius_mm
        if mass_index > 0:
            radius_mm = first_radius_mm * rng.uniform(0.25, 0.6)
        middle_mm = _draw_point(breast, 0.6 * radius_mm, rng)
        semi_axes = tuple((radius_mm * np.exp(rng.normal(0, 0.2, 3))).tolist())
        turn_deg = tuple(rng.uniform(-40, 40, 3).tolist())
        ellipsoid = Ellipsoid(middle_mm, semi_axes, turn_deg)
        mass = draw_lobed(ellipsoid, rng)
        yield paint_detail(mass, "tumour", replaced_tissues=BREAST_TISSUES)
        yield from _paint_spicules(middle_mm, radius_mm, rng)
        if radius_mm > 9 and rng.random() < 0.3:
            necrosis = draw_lobed(ellipsoid.shrink(0.35 * radius_mm), rng)
            yield paint_detail(necrosis, "fluid of a lesion", replaced_tissues="tumour")


def _paint_spicules(middle_mm: Point, radius_mm: float, rng: np.random.Generator) -> Paints:
    """Up to fourteen bent spicules in random directions from the middle of a mass of that radius."""
    spicule_count = rng.integers(0, 15)
    for spicule_vector in rng.normal(0, 1, (spicule_count, 3)):
        direction = spicule_vector / np.linalg.norm(spicule_vector)
        end_point = middle_mm + radius_mm * rng.uniform(1.3, 2.4) * direction
        bend_point = middle_mm + 0.9 * radius_mm * direction + rng.normal(0, 0.15 * radius_mm, 3)
        spicule = tube(
            [middle_mm, bend_point, end_point], [0.2 * radius_mm + 1.0, 0.1 * radius_mm + 0.8, 0.6]
        )
        yield paint_detail(spicule, "tumour", replaced_tissues=BREAST_TISSUES)


def _paint_cysts(breast: BreastShape, rng: np.random.Generator) -> Paints:
    """One to eight round cysts of 4 to 30 mm."""
    cyst_count = rng.integers(1, 9)
    for _ in range(cyst_count):
        radius_mm = float(np.exp(rng.uniform(np.log(2.0), np.log(15.0))))
        semi_axes = tuple((radius_mm * np.exp(rng.normal(0, 0.1, 3))).tolist())
        cyst = Ellipsoid(_draw_point(breast, radius_mm, rng), semi_axes)
        yield paint_detail(cyst, "fluid of a lesion", replaced_tissues=BREAST_TISSUES)


def _paint_enhancing_segment(breast: BreastShape, rng: np.random.Generator) -> Paints:
    """Enhancing clumps of 5 to 15 mm in a segment."""
    direction_rad, half_angle_rad, clump_mm, wave_threshold = rng.uniform(
        (0.0, 0.25, 5.0, -0.3), (6.3, 0.9, 15.0, 1.8)
    ).tolist()
    waves = draw_waves(rng, count=7, wavelength_mm=2 * clump_mm)
    clumps = EnhancingSegment(breast, direction_rad, half_angle_rad, waves, wave_threshold)
    yield paint_detail(clumps, "tumour", replaced_tissues=BREAST_TISSUES)


def _paint_clips(breast: BreastShape, rng: np.random.Generator) -> Paints:
    """One or two clips, with signal voids of 5 to 12 mm."""
    clip_count = rng.integers(1, 3)
    radii_mm = rng.uniform(2.5, 6.0, clip_count).tolist()
    signal_voids = (
        Ellipsoid(_draw_point(breast, 5.0, rng), (radius_mm, radius_mm, radius_mm))
        for radius_mm in radii_mm
    )
    yield from paint_details(signal_voids, "metal", replaced_tissues=(*BREAST_TISSUES, "tumour"))
