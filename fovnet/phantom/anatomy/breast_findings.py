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
from fovnet.phantom.person.traits import Person

HANGING_SHARES = {"mass": 0.5, "cysts": 0.2, "segment": 0.15, "clip": 0.15}
LYING_SHARES = {"mass": 0.08, "cysts": 0.1, "segment": 0.02, "clip": 0.03}
"""Shares of women with breasts `of_a_kind` who have it: most who lie prone in a breast coil have an
indication."""

BREAST_TISSUES = ("fat", "gland")


@dataclass(frozen=True)
class EnhancingSegment(Filling):
    """Clumps in one segment of a breast, which widens from the nipple to the chest.

    direction   round the axis, rad
    half_angle  half its angular width, rad
    waves       their sum above `threshold` makes the clumps
    threshold   the higher, the fewer clumps
    """

    region: BreastShape
    direction: float
    half_angle: float
    waves: tuple[Wave, ...]
    threshold: float

    @property
    def box(self) -> NDArray[np.float64]:
        low_corner, high_corner = self.region.box
        return np.array([(low_corner[0], self.region.base[1] + 10.0, low_corner[2]), high_corner])

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points of the clumps in the segment."""
        u, t, w = self.region.to_shares(x, y, z)
        wave_sum = sum(wave_value(x, y, z, wave) for wave in self.waves)
        angle_off_direction = np.angle(np.exp(1j * (np.arctan2(w, u) - self.direction))).astype(
            np.float32
        )
        is_in_segment = (
            (np.abs(angle_off_direction) < self.half_angle)
            & (self.region.level(u, t, w) < 0.7)
            & (t > 0.15)
        )
        return np.asarray((wave_sum > self.threshold) & is_in_segment)


def paint_breast_findings(person: Person) -> Paints:
    """The findings of a woman with breasts `of_a_kind`, each in one breast; none before 25
    years."""
    rng = person.generator(7340)
    if person.age < 25:
        return
    paint_by_name = {
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
            yield from paint_by_name[finding_name](breast, finding_rng)


def _draw_point(breast: BreastShape, margin_mm: float, rng: np.random.Generator) -> Point:
    """A point of the breast at least that far from its skin, if there is room."""
    length_share = rng.uniform(0.15, 0.8)
    width_share, height_share = (
        rng.uniform(-0.75, 0.75)
        * max(half_axis * min(breast.radius_share(length_share), plate_share) - margin_mm, 0.0)
        / half_axis
        for half_axis, plate_share in zip(breast.half_size_mm, breast.plate_shares, strict=True)
    )
    return breast.point_at_shares(length_share, width_share, height_share)


def _paint_masses(breast: BreastShape, rng: np.random.Generator) -> Paints:
    """One mass of 1 to 6 cm, at times necrotic, seldom with one or two smaller ones beside it; up
    to fourteen spicules each."""
    half_width_mm, half_height_mm = (
        first_size_mm * min(1.0, plate_share)
        for first_size_mm, plate_share in zip(breast.half_size_mm, breast.plate_shares, strict=True)
    )
    largest_mm = 0.9 * min(half_width_mm, half_height_mm, breast.length_mm / 2)
    first_size_mm = min(float(np.exp(rng.uniform(np.log(5.0), np.log(30.0)))), largest_mm)
    for mass_index in range(1 + rng.choice(3, p=[0.7, 0.2, 0.1])):
        size_mm = first_size_mm if mass_index == 0 else first_size_mm * rng.uniform(0.25, 0.6)
        middle_mm = _draw_point(breast, 0.6 * size_mm, rng)
        semi_axes = tuple((size_mm * np.exp(rng.normal(0, 0.2, 3))).tolist())
        ellipsoid = Ellipsoid(middle_mm, semi_axes, tuple(rng.uniform(-40, 40, 3).tolist()))
        yield paint_detail(draw_lobed(ellipsoid, rng), "tumour", replaced_tissues=BREAST_TISSUES)
        for spicule_vector in rng.normal(0, 1, (rng.integers(0, 15), 3)):
            spicule_direction = spicule_vector / np.linalg.norm(spicule_vector)
            end_point = middle_mm + size_mm * rng.uniform(1.3, 2.4) * spicule_direction
            bend_point = (
                middle_mm + 0.9 * size_mm * spicule_direction + rng.normal(0, 0.15 * size_mm, 3)
            )
            spicule = tube(
                [middle_mm, bend_point, end_point], [0.2 * size_mm + 1.0, 0.1 * size_mm + 0.8, 0.6]
            )
            yield paint_detail(spicule, "tumour", replaced_tissues=BREAST_TISSUES)
        if size_mm > 9 and rng.random() < 0.3:
            necrosis = draw_lobed(ellipsoid.shrink(0.35 * size_mm), rng)
            yield paint_detail(necrosis, "fluid of a lesion", replaced_tissues="tumour")


def _paint_cysts(breast: BreastShape, rng: np.random.Generator) -> Paints:
    """One to eight round cysts of 4 to 30 mm."""
    for _ in range(rng.integers(1, 9)):
        radius_mm = float(np.exp(rng.uniform(np.log(2.0), np.log(15.0))))
        semi_axes = tuple((radius_mm * np.exp(rng.normal(0, 0.1, 3))).tolist())
        yield paint_detail(
            Ellipsoid(_draw_point(breast, radius_mm, rng), semi_axes),
            "fluid of a lesion",
            replaced_tissues=BREAST_TISSUES,
        )


def _paint_enhancing_segment(breast: BreastShape, rng: np.random.Generator) -> Paints:
    """Enhancing clumps of 5 to 15 mm in a segment."""
    direction, half_angle, clump_mm, threshold = rng.uniform(
        (0.0, 0.25, 5.0, -0.3), (6.3, 0.9, 15.0, 1.8)
    ).tolist()
    clumps = EnhancingSegment(
        breast, direction, half_angle, draw_waves(rng, 7, 2 * clump_mm), threshold
    )
    yield paint_detail(clumps, "tumour", replaced_tissues=BREAST_TISSUES)


def _paint_clips(breast: BreastShape, rng: np.random.Generator) -> Paints:
    """One or two clips, with signal voids of 5 to 12 mm."""
    radii_mm = rng.uniform(2.5, 6.0, rng.integers(1, 3)).tolist()
    balls = (
        Ellipsoid(_draw_point(breast, 5.0, rng), (radius_mm, radius_mm, radius_mm))
        for radius_mm in radii_mm
    )
    yield from paint_details(balls, "metal", replaced_tissues=(*BREAST_TISSUES, "tumour"))
