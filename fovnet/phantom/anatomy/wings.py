"""The iliac wings: thin blades, S-shaped in every axial slice, with iliacus inside and the gluteal
muscles outside.

Lengths in mm of the written anatomy.  Sizes: Standring (ed., 2016), Gray's Anatomy, 41st ed.: the
crests are 28 cm apart, the anterior spines 24, the posterior ones 9; seen from above the crest is
an S, convex outwards in front and inwards behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import (
    Layer,
    Paints,
    factor_of_women,
    paint,
    paint_bone,
    paint_fat_plane,
)
from fovnet.phantom.geometry.solids import Bools, Floats, Solid, Stack
from fovnet.phantom.person.traits import Person


@dataclass(frozen=True)
class IliacBlade(Stack):
    """An upright plate, S-shaped in every axial slice from a posterior to an anterior end, bent
    outwards in front by `bow`.

    table               rows (z, posterior x and y, anterior x and y, thickness, bow), mm, z
                        ascending, x of the right side
    side                1 on the right, -1 on the left
    out_mm              offset perpendicular to the plate, negative inwards
    added_thickness_mm  added to the thickness
    ends                where along the plate it begins and ends, 0 behind to 1 in front
    """

    side: int
    out_mm: float = 0.0
    added_thickness_mm: float = 0.0
    ends: tuple[float, float] = (0.0, 1.0)
    is_costly = True

    def parts(self) -> Iterator[Solid]:
        """Pieces two rows high: flared shapes then have small boxes."""
        for first_row in range(0, len(self.table) - 1, 2):
            yield replace(self, table=self.table[first_row : first_row + 3])

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose the plate with its bend and offset."""
        profile_rows = self.profile.astype(float)
        margin_mm = (
            abs(self.out_mm)
            + float(np.abs(profile_rows[:, 5]).max() + profile_rows[:, 4].max())
            + max(self.added_thickness_mm, 0.0)
        )
        x_mm = self.side * profile_rows[:, (0, 2)]
        y_mm = profile_rows[:, (1, 3)]
        low_corner = x_mm.min() - margin_mm, y_mm.min() - margin_mm, self.table[0][0]
        return np.array(
            [low_corner, (x_mm.max() + margin_mm, y_mm.max() + margin_mm, self.table[-1][0])]
        )

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points of the bent plate between its ends."""
        hind_x, hind_y, front_x, front_y, thickness_mm, bow_mm = self.columns_at(z)
        length_mm = np.hypot(front_x - hind_x, front_y - hind_y)
        direction_x = (front_x - hind_x) / length_mm
        direction_y = (front_y - hind_y) / length_mm
        offset_x = np.float32(self.side) * x - hind_x
        offset_y = y - hind_y
        length_share = (offset_x * direction_x + offset_y * direction_y) / length_mm
        # 0 at both ends, 1 half way
        middle_nearness = np.clip(4 * length_share * (1 - length_share), 0, 1)
        plate_distance = (
            offset_x * direction_y
            - offset_y * direction_x
            - bow_mm * middle_nearness * (np.float32(3.2) * length_share - np.float32(0.6))
        )
        end_rounding = np.clip(3 * middle_nearness, 0, 1)
        half_thickness_mm = (
            (
                thickness_mm * (1 - np.float32(0.35) * middle_nearness)
                + np.float32(self.added_thickness_mm)
            )
            * end_rounding
            / 2
        )
        first_end, last_end = self.ends
        is_inside = (
            (np.abs(plate_distance - np.float32(self.out_mm)) <= half_thickness_mm)
            & (length_share >= first_end)
            & (length_share <= last_end)
        )
        return is_inside & self.is_between_ends(z)

    def mirror(self) -> IliacBlade:
        return replace(self, side=-self.side)

    def shrink(self, mm: float) -> IliacBlade:
        """The plate thinner by twice `mm`, and shorter by `mm` above and below."""
        bottom_row, *middle_rows, top_row = self.table
        shrunk_rows = (
            (bottom_row[0] + mm, *bottom_row[1:]),
            *middle_rows,
            (top_row[0] - mm, *top_row[1:]),
        )
        return replace(self, table=shrunk_rows, added_thickness_mm=self.added_thickness_mm - 2 * mm)


WING_OUTLINE = (
    # z, hind x, y, front x, y, thickness, bow
    (938.0, 76.0, -34.0, 104.0, 36.0, 24.0, 3.0),
    (955.0, 72.0, -48.0, 112.0, 46.0, 18.0, 4.0),
    (972.0, 66.0, -72.0, 120.0, 55.0, 14.0, 5.0),
    (988.0, 56.0, -90.0, 125.0, 60.0, 12.5, 6.0),
    (1002.0, 52.0, -96.0, 128.0, 60.0, 12.0, 7.0),
    (1018.0, 60.0, -94.0, 131.0, 52.0, 12.0, 8.0),
    (1034.0, 80.0, -82.0, 134.0, 38.0, 12.5, 8.0),
    (1048.0, 99.0, -64.0, 133.0, 20.0, 14.0, 6.0),
    (1060.0, 114.0, -40.0, 129.0, -6.0, 14.0, 2.0),
)
STRETCH_LOW_MM = 988.0
STRETCH_TOP_MM = 1060.0
"""Heights between which a blade is longer or shorter where a crest is higher or lower."""


def draw_wing_table(person: Person) -> tuple[tuple[float, ...], ...]:
    """The rows of this person's blades: wider in women; flare, bend and thickness vary."""
    rng = person.generator(920)
    width_factor = factor_of_women(person, 1.05)
    flare_at_top_mm = rng.uniform(-6, 6)
    bend_factor = rng.uniform(0.3, 1.5)
    thickness_factor = rng.uniform(0.8, 1.2)
    wing_rows = []
    for z, hind_x, hind_y, front_x, front_y, thickness_mm, bow_mm in WING_OUTLINE:
        flare_mm = flare_at_top_mm * (z - 938.0) / 122.0
        raise_mm = person.borders.iliac_crest_rise_mm * float(
            np.interp(z, (STRETCH_LOW_MM, STRETCH_TOP_MM), (0.0, 1.0))
        )
        wing_rows.append(
            (
                z + raise_mm,
                (hind_x + flare_mm) * width_factor,
                hind_y,
                (front_x + flare_mm) * width_factor,
                front_y,
                thickness_mm * thickness_factor,
                bow_mm * bend_factor,
            )
        )
    return tuple(wing_rows)


def paint_iliac_wing(person: Person, muscular_trunk: Solid, marrow: str) -> Paints:
    """The right blade; iliacus on its inner face, the two smaller gluteal muscles on the outer, and
    outside them fat, within `muscular_trunk`.

    At the crest 5 mm of muscle cover the blade, 4 cm lower 3 cm; iliacus is 1 to 2 cm thick below
    and begins 1 cm below the crest.
    """
    wing_table = draw_wing_table(person)
    written_heights = [row[0] for row in WING_OUTLINE]
    fat_plane_mm = 0.8 + 0.05 * person.fat_mm
    brawn = person.muscle_factor * person.build.hip_factor

    def parallel_blade(
        out_mm: float, low_z: float, high_z: float, thickness_mm: float, ends: tuple[float, float]
    ) -> IliacBlade:
        """The part of the blade between two written heights, offset and of another thickness."""
        parallel_rows = [
            row for row, z in zip(wing_table, written_heights, strict=True) if low_z <= z <= high_z
        ]
        return IliacBlade(
            tuple((*row[:5], thickness_mm, row[6]) for row in parallel_rows), 1, out_mm, 0.0, ends
        )

    iliacus_mm = (
        2 * brawn * np.interp(written_heights, (938, 1000, 1048, 1060), (17.0, 14.0, 6.0, 0.5))
    )
    iliacus_table = tuple(
        (*row[:5], muscle_mm, row[6])
        for row, muscle_mm in zip(wing_table, iliacus_mm.tolist(), strict=True)
    )
    yield paint(IliacBlade(iliacus_table, 1, -4.0, 0.0, (0.18, 1.0)), "muscle", Layer.CAVITY)
    for out_mm, low_z in ((13.0 * brawn, 938.0), (29.0 * brawn, 972.0)):
        yield paint_fat_plane(
            parallel_blade(out_mm, low_z, 1034.0, 2.2 * fat_plane_mm, (0.1, 0.95))
        )
    fat_mm = 10.0 + 0.5 * min(person.fat_mm, 40.0)
    crest_fat = parallel_blade(12.0 + fat_mm / 2, 1034.0, 1060.0, fat_mm, (0.08, 0.9))
    yield paint(crest_fat & muscular_trunk, "fat", Layer.MUSCLE, replaced_tissues="muscle")
    yield from paint_bone(IliacBlade(wing_table, 1), 1.2, marrow)
