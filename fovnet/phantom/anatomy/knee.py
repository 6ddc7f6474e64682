"""Inner structure of the knee: what a field of view of 15 cm shows beside bones and muscle.

Around the joint there is hardly any muscle: tendons and thin bellies lie in fat.  In mm of the
right leg as written, the joint at z = 474.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from fovnet.phantom.anatomy.layers import (
    NERVE,
    Layer,
    Paints,
    growth_plate_tissue,
    paint,
    paint_all,
    paint_bone,
    paint_detail,
    paint_details,
    place_paints,
    place_solid,
    shift_sideways,
)
from fovnet.phantom.anatomy.limbs import leg_ellipsoid, leg_tube
from fovnet.phantom.geometry.bundles import Outline
from fovnet.phantom.geometry.solids import HalfSpace, Loft, Point
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

KNEE_BELLIES: tuple[tuple[tuple[Point, ...], tuple[float, ...]], ...] = (
    # vastus medialis, the lowest belly of the thigh
    (((66, 30, 610), (62, 20, 555), (66, 24, 520)), (23, 18, 7)),
    # vastus lateralis
    (((134, 22, 610), (132, 16, 565), (124, 24, 538)), (22, 14, 5)),
    # semimembranosus
    (((80, -34, 610), (73, -37, 530), (68, -32, 476)), (22, 19, 9)),
    # biceps femoris
    (((124, -36, 610), (131, -33, 530), (133, -28, 468)), (20, 16, 7)),
    # sartorius
    (((54, -8, 610), (52, -20, 520), (60, -12, 440)), (9, 7, 4)),
    # gastrocnemius, medial head
    (((78, -34, 526), (75, -46, 488), (73, -44, 440), (73, -42, 405)), (9, 16, 22, 25)),
    # gastrocnemius, lateral head
    (((119, -34, 520), (121, -44, 484), (121, -42, 440), (120, -42, 405)), (8, 14, 20, 23)),
    # popliteus
    (((112, -32, 464), (90, -34, 440), (84, -26, 410)), (6, 11, 13)),
    # tibialis anterior
    (((122, 10, 450), (124, 14, 420), (122, 14, 400)), (5, 12, 16)),
)
"""Muscle bellies around the right knee: points and radii, mm."""

KNEE_TENDONS_AND_NERVES: tuple[tuple[tuple[Point, ...], float, str], ...] = (
    # semitendinosus
    (((75, -46, 610), (72, -44, 520), (64, -24, 455), (76, 12, 425)), 3.0, "tendon"),
    # gracilis
    (((64, -30, 560), (58, -32, 500), (60, -8, 440)), 2.2, "tendon"),
    # medial (tibial) collateral ligament
    (((55.5, -4, 507), (56.5, -4, 480), (60, -2, 440)), 2.0, "tendon"),
    # lateral (fibular) collateral ligament
    (((141, -8, 500), (140, -16, 474), (133, -23, 446)), 2.2, "tendon"),
    # iliotibial tract
    (((140, 6, 540), (141, 8, 490), (126, 22, 452)), 2.0, "tendon"),
    # medial patellar retinaculum
    (((76, 40, 512), (60, 20, 506), (55, 0, 504)), 1.4, "tendon"),
    # lateral patellar retinaculum
    (((120, 40, 512), (136, 20, 506), (141, 0, 504)), 1.4, "tendon"),
    # tibial nerve
    (((106, -44, 600), (101, -46, 520), (98, -44, 470), (98, -34, 430)), 3.2, NERVE),
    # common fibular nerve
    (((118, -42, 560), (134, -36, 490), (141, -26, 440)), 2.2, NERVE),
    # great saphenous vein
    (((48, -26, 600), (46, -32, 510), (48, -30, 420)), 2.4, "venous blood"),
)
"""Tendons, ligaments and nerves at the right knee and the vein under its skin: points and radius,
mm, and tissue."""

TIBIA_OUTLINE = (
    (398.0, 96.0, 7.0, 18.0, 19.0, 19.0, 17.0),
    (420.0, 97.0, 2.0, 27.0, 27.0, 28.0, 19.0),
    (432.0, 98.0, -2.0, 33.0, 33.0, 33.0, 21.0),
    (446.0, 98.0, -6.0, 37.0, 37.0, 32.0, 24.0),
    (458.0, 98.0, -8.0, 39.0, 39.0, 28.0, 28.0),
    (469.0, 98.0, -8.0, 38.5, 38.5, 26.0, 28.0),
)
"""The upper end of the right tibia: z, middle x and y, reach laterally, medially, to the front (the
tuberosity at z = 435) and to the back."""

FEMUR_OUTLINE = (
    (494.0, 98.0, -6.0, 37.0, 22.0, 19.0),
    (505.0, 98.0, -5.0, 40.5, 26.0, 24.0),
    (516.0, 98.0, -4.0, 40.5, 27.0, 25.0),
    (530.0, 98.0, -3.0, 37.0, 24.0, 22.0),
    (546.0, 98.5, -2.0, 30.0, 21.0, 20.0),
    (564.0, 99.5, -1.0, 23.0, 18.0, 18.0),
    (590.0, 102.0, 1.0, 17.5, 16.0, 16.0),
)
"""The metaphysis of the right femur above both condyles, which protrude only behind it: z, middle x
and y, half width, reach to the front and to the back.

The condyles are 8 cm wide together, as the epicondyles are.  Source: Terzidis et al. (2012), Anat
Res Int 2012:679658.
"""


def paint_knees(person: Person) -> Paints:
    """Both knees: fat with muscle bellies and tendons, trochlea and notch of the femur, patella,
    menisci, cruciate ligaments, joint fluid."""
    for side in (1, -1):
        yield from _paint_knee_soft_tissue(person, side)
        yield from place_paints(_paint_femur_end(person), side)
        yield from _paint_tibia_end(person, side)
        yield from place_paints(_paint_signs_of_age(person, side), side)
        for paint_part in (_paint_menisci, _paint_cruciate_ligaments, _paint_extensor_apparatus):
            yield from place_paints(paint_part(person), side)


def _paint_tibia_end(person: Person, side: int) -> Paints:
    """The upper end of the tibia of one side (1 right, -1 left)."""
    # lateral and medial reaches are nearly the same: those of the left are not exchanged
    rows = tuple(
        (z, side * x, *reaches_mm) for z, x, *reaches_mm in _place_leg_rows(person, TIBIA_OUTLINE)
    )
    yield from paint_bone(Outline(rows), cortex_mm=1.5, marrow="yellow marrow")


def _paint_knee_soft_tissue(person: Person, side: int) -> Paints:
    """Fat instead of muscle around the knee of one side (1 right, -1 left), then the bellies and
    tendons that cross it; from 8 cm above it muscles touch one another again."""
    muscularity = 1 + 0.8 * (person.muscle_factor - 1)
    below_thigh = HalfSpace((0.0, 0.0, 1.0), 560.0)
    right_fat_sleeve = leg_ellipsoid(person, (98, 0, 482), (62, 66, 76))
    fat_sleeve = place_solid(right_fat_sleeve, side)
    rng = person.generator(Stream.KNEE_SOFT_TISSUE)
    muscle_tissues = ("muscle", "intermuscular fat")
    soft_tissues = (*muscle_tissues, "fat")
    yield paint(fat_sleeve, "fat", Layer.SEAM, replaced_tissues=muscle_tissues)
    for points, radii_mm in KNEE_BELLIES:
        thick_radii_mm = [radius_mm * muscularity for radius_mm in radii_mm]
        belly = place_solid(leg_tube(person, points, thick_radii_mm), side)
        fat_crescent = shift_sideways(belly, 1.5, rng) & below_thigh
        yield paint(fat_crescent, "intermuscular fat", Layer.SEAM, replaced_tissues=soft_tissues)
        yield paint(belly & below_thigh, "muscle", Layer.SEAM, replaced_tissues=soft_tissues)
    tendons_and_nerves = (
        paint(leg_tube(person, points, radius_mm), tissue, Layer.VESSEL)
        for points, radius_mm, tissue in KNEE_TENDONS_AND_NERVES
    )
    yield from place_paints(tendons_and_nerves, side)


def _place_leg_rows(
    person: Person, table: tuple[tuple[float, ...], ...]
) -> tuple[tuple[float, ...], ...]:
    """Rows (z, x, y, reaches) of cross-sections, mm, moved laterally as the person's right leg is."""
    return tuple((z, x + person.leg_offset_mm(z), y, *reaches_mm) for z, x, y, *reaches_mm in table)


def _paint_femur_end(person: Person) -> Paints:
    """The lower end of the right femur: its metaphysis, the trochlea with its groove and cartilage,
    the intercondylar fossa, growth plates; and the marrow of both shafts at the knee."""
    ellipsoid = partial(leg_ellipsoid, person)
    metaphysis = Loft(_place_leg_rows(person, FEMUR_OUTLINE), squareness=0.35)
    yield from paint_bone(metaphysis, cortex_mm=1.5, marrow="yellow marrow")
    cartilage_mm = 2.6 - max(0.0, 0.03 * (person.age - 50))  # some is lost with age
    # the lateral lip of the groove is the higher one
    for offset_x, front_y in ((-17, 20.0), (17, 24.0)):
        trochlear_lip = ellipsoid((98 + offset_x, front_y - 18, 512), (18, 17, 18))
        yield paint(trochlear_lip.shrink(-max(cartilage_mm, 0.6)), "cartilage", Layer.BONE)
        yield from paint_bone(trochlear_lip, cortex_mm=1.3, marrow="yellow marrow")
    femoral_shaft = leg_tube(person, ((103, 1, 590), (99, -3, 530)), (11.0, 27.0))
    tibial_shaft = leg_tube(person, ((98, -4, 436), (95.5, 7, 395)), (29.0, 15.0))
    yield from paint_all(
        (femoral_shaft, tibial_shaft),
        "yellow marrow",
        Layer.MARROW,
        replaced_tissues="cortical bone",
    )
    fossa = ellipsoid((98, -32, 490), (9.5, 26, 17), (-14, 0, 0))
    fossa_wall = fossa.shrink(-1.4)
    bone_tissues = ("cortical bone", "yellow marrow", "cartilage")
    yield paint(fossa_wall, "cortical bone", Layer.MARROW, replaced_tissues="yellow marrow")
    yield paint_detail(fossa, "fat", replaced_tissues=bone_tissues)
    # growth plate or its scar: a thin dark line across the marrow
    for z, half_depth_mm in ((533.0, 24.0), (437.0, 22.0)):
        upper_ellipsoid = ellipsoid((98, -4, z), (32.0, half_depth_mm, 5.0))
        lower_ellipsoid = ellipsoid((98, -4, z - 1.6), (32.0, half_depth_mm, 5.0))
        growth_plate = upper_ellipsoid - lower_ellipsoid
        yield paint_detail(
            growth_plate, growth_plate_tissue(person), replaced_tissues="yellow marrow"
        )


OSTEOPHYTE_POINTS = (
    (59, -8, 466),
    (137, -8, 466),
    (57, -6, 489),
    (139, -6, 489),
    (98, 23, 466),
    (98, 42, 533),
    (98, 40, 492),
)
"""Where osteophytes grow at the joint margins of the right knee, mm."""


def _paint_signs_of_age(person: Person, side: int) -> Paints:
    """Red marrow above the right knee, osteophytes at its joint margins, marrow oedema under
    damaged cartilage; how much of them is drawn for the side that is given.

    Red marrow stays in the femur's metaphysis until 25, and in patches in many adults, women
    mostly; osteophytes grow to a few mm from 45 on. Source: Vogler & Murphy (1988), Radiology
    168:679; Altman & Gold (2007), Osteoarthritis Cartilage 15:A1.
    """
    ellipsoid = partial(leg_ellipsoid, person)
    rng = person.side_generator(Stream.LEFT_KNEE_AGE, side)
    marrow_dice, damage = rng.random(2).tolist()
    patch_phases = tuple(rng.uniform(0, 2 * np.pi, 3).tolist())
    oedema_mm = rng.uniform(4, 13)
    usual_share = 1.3 - 0.03 * person.age
    if person.is_female:
        usual_share += 0.25
    red_marrow_share = float(np.clip(usual_share, 0.0, 0.9))
    if marrow_dice < red_marrow_share:
        metaphysis = ellipsoid((102, 2, 585), (40, 36, 55))
        patches = Sheets(
            metaphysis,
            wavelengths_mm=(34.0, 31.0, 43.0),
            level_width=0.3 + 0.4 * red_marrow_share,
            phases=patch_phases,
        )
        yield paint_detail(patches, "mixed marrow", replaced_tissues="yellow marrow")
    osteophyte_mm = float(np.clip(0.13 * (person.age - 45) * damage, 0.0, 5.0))
    if osteophyte_mm > 1.0:
        half_axes = (2 + osteophyte_mm, 2 + 1.5 * osteophyte_mm, 1.5 + 0.6 * osteophyte_mm)
        for point in OSTEOPHYTE_POINTS:
            yield from paint_bone(
                ellipsoid(point, half_axes), cortex_mm=0.9, marrow="yellow marrow"
            )
    if damage > 0.88:
        # the phases decide the place, too: medial or lateral, tibia or femur
        oedema_x = 76.0 if patch_phases[0] > 2 else 121.0
        oedema_z = 462.0 if patch_phases[1] > 3 else 490.0
        half_axes = (oedema_mm, 1.3 * oedema_mm, 0.8 * oedema_mm)
        oedema = ellipsoid((oedema_x, -8.0, oedema_z), half_axes)
        yield paint_detail(oedema, "tumour", replaced_tissues="yellow marrow")


def _paint_menisci(person: Person) -> Paints:
    """The menisci of the right knee, dark C-shaped wedges on cartilage between condyles and
    plateau, and the intercondylar eminence."""
    ellipsoid = partial(leg_ellipsoid, person)
    for middle_x, half_width_mm, half_depth_mm, inward_sign in (
        (75.0, 18.5, 24.0, 1.0),  # medial
        (121.0, 18.0, 20.0, -1.0),  # lateral
    ):
        disc = ellipsoid((middle_x, -8, 473.5), (half_width_mm, half_depth_mm, 3.6), squareness=0.9)
        lower_hollow = ellipsoid(
            (middle_x + 3 * inward_sign, -8, 475), (half_width_mm - 8, half_depth_mm - 9, 6.0)
        )
        upper_hollow = ellipsoid((middle_x, -8, 479), (half_width_mm - 1, half_depth_mm - 1, 7.0))
        # the C opens towards the middle of the knee
        opening = ellipsoid((middle_x + 22 * inward_sign, -8, 474), (14, 7, 8))
        meniscus = disc - (lower_hollow | upper_hollow) - opening
        cartilage = ellipsoid((middle_x, -7, 473.0), (19.5, 26, 4.2), squareness=0.5)
        yield paint(cartilage, "cartilage", Layer.BONE)
        yield paint_detail(
            meniscus, "tendon", replaced_tissues=("cartilage", "fat", "tendon", "muscle")
        )
    intercondylar_eminence = ellipsoid((98, -8, 471), (7, 9, 7))
    yield from paint_bone(intercondylar_eminence, cortex_mm=1.2, marrow="yellow marrow")


def _paint_cruciate_ligaments(person: Person) -> Paints:
    """The anterior and the posterior cruciate ligament of the right knee."""
    anterior_ligament = leg_tube(person, ((107, -26, 497), (101, -8, 480), (96, 8, 470)), 3.6)
    posterior_ligament = leg_tube(person, ((91, -6, 494), (95, -22, 482), (98, -35, 466)), 4.6)
    return paint_details((anterior_ligament, posterior_ligament), "tendon")


def _paint_extensor_apparatus(person: Person) -> Paints:
    """Of the right knee: patella with its cartilage, the tendons above and below it, the
    infrapatellar fat pad (of Hoffa), joint fluid."""
    ellipsoid = partial(leg_ellipsoid, person)
    fluid_mm = person.generator(Stream.KNEE_FLUID).uniform(0.4, 1.6) + 0.02 * max(
        person.age - 50, 0
    )
    upper_pouch = ellipsoid((98, 32, 548), (22, 1.2 * fluid_mm + 0.8, 24))
    lower_pouch = ellipsoid((98, 26, 512), (26, 1.2 + fluid_mm, 16))
    infrapatellar_fat_pad = ellipsoid((98, 30, 478), (25, 15, 20))
    patellar_cartilage = ellipsoid((98, 37, 512), (21, 9.5, 18))
    patella = ellipsoid((98, 42, 512), (22, 10, 21), squareness=0.25)
    patellar_ligament = ellipsoid((98, 44.5, 470), (14, 3.2, 32), (8, 0, 0))
    quadriceps_tendon = ellipsoid((98, 42, 560), (19, 4.0, 36), (-4, 0, 0))
    condylar_recesses = (ellipsoid((x, 6, 502), (1.0 + 0.9 * fluid_mm, 16, 14)) for x in (62, 134))
    joint_space = ellipsoid((98, -8, 475.2), (36, 24, 0.3 + 0.15 * fluid_mm))
    yield paint(infrapatellar_fat_pad, "fat", Layer.SEAM)
    yield paint(upper_pouch | lower_pouch, "joint fluid", Layer.CONTENT)
    yield paint(patellar_cartilage, "cartilage", Layer.BONE)
    yield from paint_bone(patella, cortex_mm=1.6, marrow="yellow marrow")
    yield paint(patellar_ligament, "tendon", Layer.BONE)
    yield paint(quadriceps_tendon, "tendon", Layer.BONE)
    yield from paint_all(condylar_recesses, "joint fluid", Layer.CONTENT)
    yield paint_detail(joint_space, "joint fluid", replaced_tissues="cartilage")
