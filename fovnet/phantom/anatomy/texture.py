"""Inner structure of tissues: muscle with septa and streaks of fat, fat with fasciae and vessels, a
breast with strands of gland.

All of it is painted last and only on the voxels of one tissue, so that it follows the shape of that
tissue.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy import breast, thorax
from fovnet.phantom.anatomy.layers import Paints, paint_detail, paint_details
from fovnet.phantom.anatomy.trunk import muscular_trunk, spine_y
from fovnet.phantom.geometry.solids import Ellipsoid, Point, mirror_point
from fovnet.phantom.geometry.tissue_structure import Box, Sheets, Shells, Walls
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

MuscleCentres = tuple[tuple[int, int], ...]
"""x and y of the middles of muscles of the right side, mm from the middle of the body."""

# fmt: off
NECK_MUSCLES: MuscleCentres = (
    (44, 12), (28, 26), (40, -18), (12, -44), (28, -42),
    (16, -60), (40, -48), (54, -34), (12, 6), (26, 4),
)
CHEST_MUSCLES: MuscleCentres = (
    (100, 60), (50, 84), (120, 10), (140, -30), (120, -60),
    (80, -84), (40, -90), (90, -55), (60, -70), (150, 20),
)
BUTTOCK_MUSCLES: MuscleCentres = (
    (78, -96), (112, -40), (112, -8), (118, 26), (96, 56),
    (64, 62), (62, -70), (126, 44), (40, 40), (92, -66),
)
# fmt: on
"""The septa lie half way between these middles."""

THINNEST_STREAKS = 0.025
"""Thinner streaks of fat are invisible at the same cost."""


def paint_tissue_structure(person: Person, with_small_parts: bool = False) -> Paints:
    """The inner structure of this person's muscle, fat and breasts; with `with_small_parts`
    shoulders have their own muscles instead of septa."""
    rng = person.generator(Stream.TISSUE_TEXTURE)
    yield from _paint_muscle_septa(person, rng, with_small_parts)
    yield from _paint_fat_streaks(person, rng)
    yield from _paint_fasciae_and_folds(person, rng)
    yield from thorax.paint_pectoral_fat_plane(person)
    yield from _paint_abdominal_wall(person)
    if person.is_female:
        yield from breast.paint_breast_structure(person, rng)


def _paint_muscle_septa(person: Person, rng: np.random.Generator, with_small_parts: bool) -> Paints:
    """Septa of fat between the muscles of buttocks, chest and neck, at positions that vary between
    people; with `with_small_parts` not up to the shoulder."""
    thickness_mm = 0.5 + 3.5 * person.marbled_share + 0.015 * person.fat_mm
    chest_top_z = 1330.0 if with_small_parts else 1430.0
    for side in (1, -1):
        for middles, low_z, high_z, thickness_share, variation_mm in (
            (BUTTOCK_MUSCLES, 852.0, 1030.0, 1.0, 4.0),
            (CHEST_MUSCLES, 1180.0, chest_top_z, 0.8, 4.0),
            (NECK_MUSCLES, 1432.0, 1532.0, 0.8, 2.5),
        ):
            muscle_lines = []
            for middle_xy in middles:
                line_ends = rng.normal(0, variation_mm, (2, 2)) + middle_xy
                (low_x, low_y), (high_x, high_y) = line_ends.tolist()
                muscle_lines.append(
                    (
                        mirror_point((low_x, low_y, low_z), side),
                        mirror_point((high_x, high_y, high_z), side),
                    )
                )
            septa = Walls(tuple(muscle_lines), thickness_mm=thickness_share * thickness_mm)
            yield paint_detail(septa, "intermuscular fat", replaced_tissues="muscle")


def _paint_abdominal_wall(person: Person) -> Paints:
    """Fat between the three flat muscles of the abdominal wall, and the tendinous lines on both sides
    of each rectus abdominis.

    The external oblique is 6 to 8 mm thick, the internal 8 to 10, the transverse 3 to 5.  Source:
    Rankin, Stokes & Newham (2006), Muscle Nerve 34:320, table 2.
    """
    trunk_muscle = muscular_trunk(person)
    thickness_mm = 0.6 + 3.0 * person.marbled_share + 0.02 * person.fat_mm
    muscularity = person.muscle_factor * person.build.wall_factor
    for low_x, high_x in ((-260.0, -62.0), (62.0, 260.0)):
        flank_box = Box((low_x, -62.0, 1020.0), (high_x, 200.0, 1185.0))
        fat_planes = Shells(
            flank_box, trunk_muscle, (7.0 * muscularity, 15.0 * muscularity), thickness_mm
        )
        yield paint_detail(fat_planes, "intermuscular fat", replaced_tissues="muscle")
    front_y = 100.0 + person.belly_mm
    tendon_lines = tuple(
        ((x, front_y, 960.0), (x, front_y, 1230.0)) for x in (-92.0, -30.0, 30.0, 92.0)
    )
    tendons = Walls(tendon_lines, thickness_mm=2.5 + thickness_mm)
    yield paint_detail(tendons, "tendon", replaced_tissues="muscle")


def _paint_fat_streaks(person: Person, rng: np.random.Generator) -> Paints:
    """Streaks of fat along the muscles: few in young and lean people, up to a third of the muscle in
    the old; more in back and buttocks."""
    whole_body = Box((-420.0, -300.0, 60.0), (420.0, 300.0, 1600.0))
    back_box = Box((-90.0, -150.0, 850.0), (90.0, -45.0, 1300.0))
    # wavelengths of the streaks along x, y and z, mm; their thickness relative to the marbling
    for box, wavelengths_mm, thickness_factor in (
        (whole_body, (31.0, 27.0, 130.0), 0.5),
        (back_box, (17.0, 15.0, 80.0), 1.1),
    ):
        streaks = Sheets(
            box,
            wavelengths_mm=wavelengths_mm,
            level_width=thickness_factor * person.marbled_share,
            phases=_draw_phases(rng),
        )
        if streaks.level_width > THINNEST_STREAKS:
            yield paint_detail(streaks, "intermuscular fat", replaced_tissues="muscle")


def _paint_fasciae_and_folds(person: Person, rng: np.random.Generator) -> Paints:
    """Fasciae under the skin and in the fat of the back, and folds of peritoneum between the organs."""
    outer_box = Box((-420.0, -320.0, 60.0), (420.0, 320.0, 1500.0))
    inner_box = Box((-190.0, -120.0, 850.0), (190.0, 220.0, 1260.0))
    fasciae = Sheets(
        outer_box, wavelengths_mm=(38.0, 38.0, 52.0), level_width=0.03, phases=_draw_phases(rng)
    )
    peritoneal_folds = Sheets(
        inner_box, wavelengths_mm=(27.0, 25.0, 31.0), level_width=0.08, phases=_draw_phases(rng)
    )
    yield paint_detail(fasciae, "tendon", replaced_tissues="fat")
    yield paint_detail(peritoneal_folds, "bowel wall", replaced_tissues="visceral fat")
    # between the two layers of fat on the back
    back_fasciae = (
        Ellipsoid((0.0, spine_y(z) - 64.0 - 0.5 * person.fat_mm, z), (80.0, 0.8, 12.0))
        for z in np.arange(1010.0, 1150.0, 24.0).tolist()
    )
    yield from paint_details(back_fasciae, "tendon", replaced_tissues="fat")


def _draw_phases(rng: np.random.Generator) -> Point:
    """Random phases (3,), radians."""
    return tuple(rng.uniform(0, 2 * np.pi, 3).tolist())
