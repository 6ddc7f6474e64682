"""The iliac wings: thin blades, S-shaped in every axial slice, with iliacus inside and the gluteal
muscles outside.

Lengths in mm of the written anatomy.  Sizes: Standring (ed., 2016), Gray's Anatomy, 41st ed.: the
crests are 28 cm apart, the anterior spines 24, the posterior ones 9; seen from above the crest is
an S, convex outwards in front and inwards behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

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
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person


class WingRow(NamedTuple):
    """An iliac wing at one height, mm of the written anatomy: its posterior and its anterior end, its
    thickness, and how far it is bent outwards."""

    z: float
    posterior_x: float
    posterior_y: float
    anterior_x: float
    anterior_y: float
    thickness_mm: float
    bow_mm: float


@dataclass(frozen=True)
class IliacBlade(Stack):
    """An upright plate, S-shaped in every axial slice from a posterior to an anterior end, bent
    outwards in front by its bow.

    table               rows as `WingRow`, z ascending, x of the right side
    side                1 on the right, -1 on the left
    outward_mm          offset perpendicular to the plate, negative inwards
    added_thickness_mm  added to the thickness
    end_shares          where along the plate it begins and ends, 0 behind to 1 in front
    """

    side: int
    outward_mm: float = 0.0
    added_thickness_mm: float = 0.0
    end_shares: tuple[float, float] = (0.0, 1.0)
    is_costly = True

    def parts(self) -> Iterator[Solid]:
        """Pieces two rows high: flared shapes then have small boxes."""
        for first_row in range(0, len(self.table) - 1, 2):
            yield replace(self, table=self.table[first_row : first_row + 3])

    @property
    def box(self) -> NDArray[np.float64]:
        """(2, 3) corners in mm that enclose the plate with its bend and offset."""
        posterior_x, posterior_y, anterior_x, anterior_y, thickness_mm, bow_mm = (
            self.profile.T.astype(float)
        )
        margin_mm = (
            abs(self.outward_mm)
            + float(np.abs(bow_mm).max() + thickness_mm.max())
            + max(self.added_thickness_mm, 0.0)
        )
        x_mm = self.side * np.stack([posterior_x, anterior_x])
        y_mm = np.stack([posterior_y, anterior_y])
        low_corner = x_mm.min() - margin_mm, y_mm.min() - margin_mm, self.table[0][0]
        return np.array(
            [low_corner, (x_mm.max() + margin_mm, y_mm.max() + margin_mm, self.table[-1][0])]
        )

    def contains(self, x: Floats, y: Floats, z: Floats) -> Bools:
        """True (the broadcast shape of x, y, z) at points of the bent plate between its ends."""
        posterior_x, posterior_y, anterior_x, anterior_y, thickness_mm, bow_mm = self.columns_at(z)
        length_mm = np.hypot(anterior_x - posterior_x, anterior_y - posterior_y)
        direction_x = (anterior_x - posterior_x) / length_mm
        direction_y = (anterior_y - posterior_y) / length_mm
        offset_x = np.float32(self.side) * x - posterior_x
        offset_y = y - posterior_y
        length_share = (offset_x * direction_x + offset_y * direction_y) / length_mm
        # 0 at both ends, 1 half way
        middle_nearness = np.clip(4 * length_share * (1 - length_share), 0, 1)
        from_plate_mm = (
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
        first_share, last_share = self.end_shares
        is_inside = (
            (np.abs(from_plate_mm - np.float32(self.outward_mm)) <= half_thickness_mm)
            & (length_share >= first_share)
            & (length_share <= last_share)
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


WING_OUTLINE = tuple(
    WingRow(*row)
    for row in (
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
)
"""The right iliac wing of a man."""

STRETCH_Z_RANGE = (988.0, 1060.0)
"""Heights between which a wing is longer or shorter where a crest is higher or lower."""


def draw_wing_table(person: Person) -> tuple[WingRow, ...]:
    """The right iliac wing of this person: wider in women; flare, bend and thickness vary."""
    rng = person.generator(Stream.ILIAC_WINGS)
    width_factor = factor_of_women(person, 1.05)
    flare_at_top_mm = rng.uniform(-6, 6)
    bow_factor = rng.uniform(0.3, 1.5)
    thickness_factor = rng.uniform(0.8, 1.2)
    rows = []
    for written_row in WING_OUTLINE:
        flare_mm = flare_at_top_mm * (written_row.z - 938.0) / 122.0
        raised_share = float(np.interp(written_row.z, STRETCH_Z_RANGE, (0.0, 1.0)))
        row = WingRow(
            z=written_row.z + person.borders.iliac_crest_rise_mm * raised_share,
            posterior_x=(written_row.posterior_x + flare_mm) * width_factor,
            posterior_y=written_row.posterior_y,
            anterior_x=(written_row.anterior_x + flare_mm) * width_factor,
            anterior_y=written_row.anterior_y,
            thickness_mm=written_row.thickness_mm * thickness_factor,
            bow_mm=written_row.bow_mm * bow_factor,
        )
        rows.append(row)
    return tuple(rows)


def paint_iliac_wing(person: Person, muscular_trunk: Solid, marrow: str) -> Paints:
    """The right iliac wing; iliacus on its inner face, gluteus medius and minimus on the outer, and
    outside them fat, within `muscular_trunk`.

    At the crest 5 mm of muscle cover the wing, 4 cm lower 3 cm; iliacus is 1 to 2 cm thick below
    and begins 1 cm below the crest.
    """
    wing_rows = draw_wing_table(person)
    written_heights = [row.z for row in WING_OUTLINE]
    fat_plane_mm = 0.8 + 0.05 * person.fat_mm
    muscularity = person.muscle_factor * person.build.hip_factor

    def parallel_blade(
        outward_mm: float,
        low_z: float,
        high_z: float,
        thickness_mm: float,
        end_shares: tuple[float, float],
    ) -> IliacBlade:
        """The part of the wing between two written heights, offset and of another thickness."""
        rows = [
            row._replace(thickness_mm=thickness_mm)
            for row, z in zip(wing_rows, written_heights, strict=True)
            if low_z <= z <= high_z
        ]
        return IliacBlade(tuple(rows), 1, outward_mm, end_shares=end_shares)

    usual_iliacus_mm = np.interp(written_heights, (938, 1000, 1048, 1060), (17.0, 14.0, 6.0, 0.5))
    iliacus_mm = 2 * muscularity * usual_iliacus_mm
    iliacus_rows = [
        row._replace(thickness_mm=thickness_mm)
        for row, thickness_mm in zip(wing_rows, iliacus_mm.tolist(), strict=True)
    ]
    iliacus = IliacBlade(tuple(iliacus_rows), 1, outward_mm=-4.0, end_shares=(0.18, 1.0))
    yield paint(iliacus, "muscle", Layer.CAVITY)
    for outward_mm, low_z in ((13.0 * muscularity, 938.0), (29.0 * muscularity, 972.0)):
        fat_plane = parallel_blade(outward_mm, low_z, 1034.0, 2.2 * fat_plane_mm, (0.1, 0.95))
        yield paint_fat_plane(fat_plane)
    fat_mm = 10.0 + 0.5 * min(person.fat_mm, 40.0)
    crest_fat = parallel_blade(12.0 + fat_mm / 2, 1034.0, 1060.0, fat_mm, (0.08, 0.9))
    yield paint(crest_fat & muscular_trunk, "fat", Layer.MUSCLE, replaced_tissues="muscle")
    yield from paint_bone(IliacBlade(wing_rows, 1), cortex_mm=1.2, marrow=marrow)
