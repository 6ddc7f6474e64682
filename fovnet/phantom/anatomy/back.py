"""The back behind the spine: erector spinae beside long spinous processes, quadratus lumborum, the alae
of the sacrum.

From the middle of a lumbar body to the surface of the muscle behind it are 7 to 9 cm: half the
body's depth, the canal of 17 mm and the spinous process (Panjabi et al. (1992), Spine 17:299, for
their sizes).  The outline of a plain trunk leaves 6 cm.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fovnet.phantom.anatomy.layers import (
    Layer,
    LoftRow,
    Paints,
    factor_of_children,
    factor_of_women,
    on_both_sides,
    paint,
    paint_bone,
    paint_detail,
    paint_fat_and_skin,
)
from fovnet.phantom.anatomy.trunk import (
    PELVIS_MARROW,
    TRUNK_OUTLINE,
    Vertebra,
    flatten_on_table,
    spine_y,
    vertebrae,
)
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Solid, Union, tube
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

SHORTEST_PROCESS_MM = 12.0  # a shorter spinous process is left out

ERECTOR_SPINAE_BULGE_MM = (
    (975.0, 0.0),
    (1030.0, 12.0),
    (1075.0, 18.0),
    (1120.0, 18.0),
    (1170.0, 15.0),
    (1220.0, 13.0),
    (1280.0, 10.0),
    (1340.0, 5.0),
    (1390.0, 0.0),
)
"""(height, mm) by which erector spinae extends behind the plain trunk in a person of average
muscle."""


def erector_spinae_bulge_mm(person: Person, z: float) -> float:
    """How far this person's erector spinae extends behind the plain trunk at a height of the
    written anatomy, mm."""
    heights, usual_bulges_mm = zip(*ERECTOR_SPINAE_BULGE_MM, strict=True)
    bulge_factor = (
        person.generator(Stream.ERECTOR_SPINAE).uniform(0.85, 1.35)
        * person.muscle_factor
        * person.build.back_factor
    )
    bulge_factor *= factor_of_children(person, 0.6)
    return bulge_factor * float(np.interp(z, heights, usual_bulges_mm))


def paint_back(person: Person) -> Paints:
    """Erector spinae with the skin and fat over it, the fat lateral to it, spinous processes, alae
    and joints of the sacrum."""
    # one solid for both sides, which fat covers: it fills the groove between muscle and flank
    both_muscles = _erector_spinae_solid(person, 0.0, 104.0 + 0.5 * person.fat_mm)
    _, _, back_fat_factor = person.figure.trunk_factors(1120.0)
    fat = both_muscles.shrink(-0.9 * person.fat_mm * back_fat_factor)
    yield from paint_fat_and_skin(fat, 0.0, partial(flatten_on_table, person))
    yield from _paint_flank_fat_and_sacroiliac_joint(person)
    sacrum = Ellipsoid((0.0, -62.0, 966.0), (50.0, 44.0, 47.0))
    # its marrow is as fatty as that of the iliac wings
    yield paint_detail(sacrum, PELVIS_MARROW, replaced_tissues="red marrow")
    yield from _paint_erector_spinae(person)
    for vertebra in vertebrae():
        if vertebra.kind != "cervical":
            yield from _paint_spinous_process(person, vertebra)


@on_both_sides
def _paint_flank_fat_and_sacroiliac_joint(person: Person) -> Paints:
    """On the right: the fat lateral to erector spinae and in front of the iliac crest, and the
    sacroiliac joint."""
    yield paint(flank_fat_ellipsoid(person), "fat", Layer.MUSCLE, replaced_tissues="muscle")
    yield from _paint_sacroiliac_joint(person)
    yield paint(_crest_fat_solid(person), "fat", Layer.MUSCLE, replaced_tissues="muscle")


@on_both_sides
def _paint_erector_spinae(person: Person) -> Paints:
    """The right erector spinae, flattened by the table."""
    round_muscle = _erector_spinae_solid(person, 38.0, 42.0)
    skin_and_fat_mm = 5.0 + 0.3 * person.fat_mm  # between the muscle and the table
    flat_muscle = flatten_on_table(person, round_muscle, skin_and_fat_mm)
    yield paint(flat_muscle, "muscle", Layer.MUSCLE)


def _plain_back_mm(z: float) -> float:
    """How far the muscle of a plain man reaches behind the middle of the trunk at a height, mm."""
    heights = [row.z for row in TRUNK_OUTLINE]
    backs_mm = [row.back_mm for row in TRUNK_OUTLINE]
    return float(np.interp(z, heights, backs_mm))


def _erector_spinae_solid(person: Person, waist_x: float, waist_half_width_mm: float) -> Loft:
    """A solid as deep as erector spinae, with that middle and half width at the waist; both are
    smaller above and below."""
    middle_y = -70.0
    muscularity = 1 + 0.35 * (person.muscle_factor - 1)
    rows = []
    for z, _ in ERECTOR_SPINAE_BULGE_MM:
        waist_share = float(np.interp(z, (975, 1075, 1200, 1390), (0.5, 1.0, 1.0, 0.7)))
        muscle_back_mm = _plain_back_mm(z) * muscularity + erector_spinae_bulge_mm(person, z)
        row = LoftRow(
            z,
            centre_x=waist_share * waist_x,
            centre_y=middle_y,
            half_width_mm=waist_share * waist_half_width_mm,
            front_mm=12.0,
            back_mm=muscle_back_mm + middle_y,
        )
        rows.append(row)
    return Loft(tuple(rows), squareness=0.2)


def flank_fat_ellipsoid(person: Person) -> Ellipsoid:
    """The fat behind the right flank and lateral to erector spinae, between ribs and iliac crest;
    the flat muscles run inwards in front of it."""
    half_depth_mm = 32.0 + 0.25 * min(person.fat_mm, 30.0)
    return Ellipsoid((122.0, -96.0, 1112.0), (56.0, half_depth_mm, 66.0), (0.0, 0.0, 36.0))


def _crest_fat_solid(person: Person) -> Ellipsoid:
    """The fat in front of the right anterior iliac crest, which is palpable: the flank ends and the
    gluteal muscles begin there."""
    half_depth_mm = person.generator(Stream.ILIAC_CREST_FAT).uniform(13, 25) + 0.3 * min(
        person.fat_mm, 40.0
    )
    width_factor = factor_of_women(person, 1.03)
    return Ellipsoid(
        (150.0 * width_factor, 58.0, 1022.0), (half_depth_mm, 46.0, 34.0), (0.0, 0.0, -32.0)
    )


def _paint_sacroiliac_joint(person: Person) -> Paints:
    """On the right: the ala of the sacrum, the sacroiliac joint, and the ilium behind it up to the
    posterior superior iliac spine."""
    width_factor = factor_of_women(person, 1.06)
    ala = Ellipsoid(
        (45.0 * width_factor, -58.0, 992.0),
        (29.0 * width_factor, 17.0, 34.0),
        (-42.0, 0.0, 0.0),
        squareness=0.2,
    )
    ilium_points = (
        (76 * width_factor, -44, 1012),
        (66 * width_factor, -74, 1004),
        (52 * width_factor, -96, 988),
    )
    replaced_tissues = ("muscle", "fat", "intermuscular fat", PELVIS_MARROW, "cortical bone")
    yield paint(ala.shrink(-2.0), "cartilage", Layer.BONE, replaced_tissues=replaced_tissues)
    yield from paint_bone(
        tube(ilium_points, [8.0, 9.0, 7.5], step_mm=20), cortex_mm=1.8, marrow=PELVIS_MARROW
    )
    yield from paint_bone(ala, cortex_mm=1.2, marrow=PELVIS_MARROW)


def _paint_spinous_process(person: Person, vertebra: Vertebra) -> Paints:
    """The spinous process of a vertebra: a lumbar one is a plate 2 cm high from the lamina to near
    the skin, a thoracic one a slanting rod."""
    z = vertebra.z
    lamina_y = spine_y(z) - vertebra.half_depth_mm - 16.0
    tip_y = -_plain_back_mm(z) - 0.7 * erector_spinae_bulge_mm(person, z) + 3.0
    half_length_mm = (lamina_y - tip_y) / 2
    half_height_mm = 6.5
    drop_mm = 14.0
    lean_deg = 25.0
    if vertebra.kind == "lumbar":
        half_height_mm = 10.0
        drop_mm = 5.0
        lean_deg = 0.0
    if half_length_mm < SHORTEST_PROCESS_MM / 2:
        return
    process = Ellipsoid(
        (0.0, (lamina_y + tip_y) / 2, z - drop_mm),
        (4.0, half_length_mm, half_height_mm),
        (lean_deg, 0.0, 0.0),
        squareness=0.4,
    )
    yield from paint_bone(process, cortex_mm=1.2)


def paint_quadratus_lumborum(person: Person) -> Paints:
    """The right quadratus lumborum from the iliac crest to the last rib, a sheet 4 to 5 cm wide and
    1 to 2 cm thick; the flank that meets it."""
    half_thickness_mm = 7.5 * person.muscle_factor * person.build.back_factor
    written_rows = (  # z, x, half width, share of the thickness
        (1040.0, 68.0, 22.0, 0.8),
        (1075.0, 66.0, 25.0, 1.0),
        (1115.0, 60.0, 22.0, 1.0),
        (1150.0, 53.0, 18.0, 0.9),
        (1180.0, 46.0, 14.0, 0.6),
    )
    rows = []
    for z, x, half_width_mm, thickness_share in written_rows:
        front_mm = thickness_share * half_thickness_mm
        rows.append(LoftRow(z, x, -59.0, half_width_mm, front_mm, front_mm + 2.0))
    muscle = Loft(tuple(rows), squareness=0.4)
    flank_fat = flank_fat_ellipsoid(person)
    yield paint(
        flank_fat.shrink(-13.0) - flank_fat,
        "muscle",
        Layer.CAVITY,
        replaced_tissues="visceral fat",
    )
    yield paint(flank_fat, "fat", Layer.CAVITY, replaced_tissues="visceral fat")
    yield paint(muscle.shrink(-1.6), "visceral fat", Layer.CAVITY, replaced_tissues="muscle")
    yield paint(muscle, "muscle", Layer.CAVITY)


PSOAS_OUTLINE = (
    (880.0, 104.0, 90.0, 8.0, 8.0),
    (925.0, 90.0, 114.0, 14.0, 14.0),
    (970.0, 74.0, 92.0, 16.0, 16.0),
    (1005.0, 61.0, 50.0, 18.0, 18.0),
    (1034.0, 50.0, 20.0, 19.0, 20.0),
    (1067.0, 42.0, 6.0, 18.0, 23.0),
    (1100.0, 37.0, 0.0, 15.0, 22.0),
    (1133.0, 32.0, -4.0, 11.0, 18.0),
    (1166.0, 28.0, -6.0, 7.0, 12.0),
    (1180.0, 27.0, -6.0, 4.0, 6.0),
)
"""The right psoas: z, x, distance in front of the middle of the vertebral body, half width, half
depth."""


def psoas_solid(person: Person) -> Solid:
    """The right psoas from the first lumbar body to the groin: a thin wedge beside L1, an oval
    touching the bodies down to L4, in front of them below.

    At L3 to L4 it is 10 to 17 cm² in men and a third less in women.  Source: Marras et al. (2001),
    Clin Biomech 16:38.
    """
    sex_factor = 0.9 if person.is_female else 1.05
    random_factor = float(np.exp(person.generator(Stream.PSOAS).normal(0, 0.08)))
    size_factor = person.muscle_factor * person.build.loin_factor * sex_factor * random_factor
    rows = []
    for z, x, ahead_of_spine_mm, written_half_width_mm, written_half_depth_mm in PSOAS_OUTLINE:
        if z > 1020:  # beside the vertebral bodies a larger muscle extends outwards, not into them
            x += (size_factor - 1) * written_half_width_mm
        half_width_mm = size_factor * written_half_width_mm
        half_depth_mm = size_factor * written_half_depth_mm
        middle_y = spine_y(z) + ahead_of_spine_mm
        rows.append(LoftRow(z, x, middle_y, half_width_mm, half_depth_mm, half_depth_mm))
    # pieces of two rows have small bounding boxes, which are painted faster
    pieces = [
        Loft(tuple(rows[first_row : first_row + 3]), squareness=0.1)
        for first_row in range(0, len(rows) - 1, 2)
    ]
    return Union(tuple(pieces))
