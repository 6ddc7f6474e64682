"""Head and neck: scalp, skull, brain with folded cortex, eyes, airways and sinuses, jaw, tongue,
larynx, glands."""

from __future__ import annotations

import numpy as np

from fovnet.phantom.anatomy import brain_parts, face
from fovnet.phantom.anatomy.brain import (
    Hemispheres,
    Vault,
    draw_brain_traits,
    draw_skull_base,
    paint_brain,
)
from fovnet.phantom.anatomy.layers import (
    Layer,
    LoftRow,
    Paints,
    on_both_sides,
    paint,
    paint_all,
    paint_bone,
    paint_detail,
    paint_details,
    paint_fat_plane,
    paint_skin_fat_muscle,
)
from fovnet.phantom.anatomy.trunk import spine_y
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Loft, Point, tube
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

FACE_OUTLINE = (
    (1516.0, 24.0, 84.0, -46.0),
    (1524.0, 36.0, 90.0, -20.0),
    (1538.0, 50.0, 93.0, 10.0),
    (1560.0, 59.0, 94.0, 40.0),
    (1585.0, 66.0, 95.0, 74.0),
    (1612.0, 71.0, 96.0, 92.0),
    (1640.0, 75.0, 93.0, 101.0),
    (1668.0, 77.0, 95.0, 105.0),
    (1692.0, 76.0, 92.0, 102.0),
    (1712.0, 70.0, 82.0, 93.0),
    (1728.0, 59.0, 66.0, 78.0),
    (1740.0, 44.0, 47.0, 58.0),
    (1746.5, 27.0, 28.0, 38.0),
    (1750.0, 12.0, 12.0, 18.0),
)
"""Surface of face and scalp: z, half width, and how far it reaches in front of and behind y = 0."""

CHIN_OUTLINE = (
    (1498.0, 9.0, 48.0, -36.0),
    (1506.0, 22.0, 64.0, -30.0),
    (1514.0, 30.0, 79.0, -30.0),
    (1524.0, 38.0, 89.5, -20.0),
)
"""The first rows of a face that slopes from the throat to the chin; they replace the first two of
FACE_OUTLINE, which end in a step."""

VAULT_HALF_AXES_MM = (71.0, 92.0, 78.0)  # of the outside of the skull
VERTEX_MM = 1750.0
FORAMEN_MAGNUM_MM = 1594.0
"""The inner surface of the occipital bone about the foramen magnum, where the cerebellum begins."""
NECK_MUSCLES = (
    ((26.0, -36.0), (28.0, 4.0), 22.0),  # trapezius
    ((28.0, -27.5), (17.0, 6.0), 26.0),  # splenius capitis
    ((11.5, -31.0), (10.0, 7.5), 10.0),  # semispinalis capitis
    ((13.0, -19.0), (9.5, 6.0), 30.0),  # semispinalis cervicis and multifidus
    ((28.0, -17.0), (10.0, 6.5), 24.0),  # longissimus
    ((42.0, -13.0), (9.5, 13.0), 16.0),  # levator scapulae
    ((32.0, 4.0), (11.0, 11.0), 30.0),  # middle and posterior scalenes
    ((20.0, 14.0), (7.0, 7.0), 0.0),  # anterior scalene
    ((8.0, 16.5), (8.5, 4.2), 8.0),  # longus colli
    ((11.0, 60.0), (12.0, 3.6), -12.0),  # infrahyoid muscles
)
"""Muscles of the right side at mid-neck: x and y from the middle of the vertebrae, half width and
half depth, mm, and rotation, degrees."""


def paint_head(person: Person, with_small_parts: bool = False) -> Paints:
    """Head and neck; with `with_small_parts` the brain has its parts of 1 to 10 mm, and face and
    nape their muscles."""
    yield from _paint_scalp_and_face(with_small_parts)
    yield from _paint_skull_and_brain(person, with_small_parts)
    yield from _paint_orbit()
    yield from _paint_airways(person)
    yield from _paint_mouth(with_small_parts)
    yield from _paint_neck(person)
    if with_small_parts:
        yield from face.paint_nape(person)
        yield from face.paint_face_muscles(person)
        yield from face.paint_conchae_and_ethmoid_cells()


def _paint_scalp_and_face(with_small_parts: bool) -> Paints:
    """Skin, fat and muscle of the head, the nose and the sides of the face; with
    `with_small_parts` the throat slopes to the chin, and the nose has its parts."""
    outline: tuple[tuple[float, ...], ...] = FACE_OUTLINE
    if with_small_parts:
        outline = (*CHIN_OUTLINE, *FACE_OUTLINE[2:])
    rows = []
    for z, half_width_mm, front_mm, back_mm in outline:
        middle_y = (front_mm - back_mm) / 2
        half_depth_mm = front_mm - middle_y
        rows.append(LoftRow(z, 0.0, middle_y, half_width_mm, half_depth_mm, half_depth_mm))
    skin = Loft(tuple(rows), squareness=0.22)
    yield from paint_skin_fat_muscle(skin, fat_depth_mm=2.0, muscle_depth_mm=5.5)
    if with_small_parts:
        yield from face.paint_nose()
    else:
        nose = tube([(0, 88, 1646), (0, 108, 1616), (0, 98, 1598)], [8, 12, 11])
        yield paint(nose, "skin", Layer.SKIN)
        yield paint(nose.shrink(2.0), "cartilage", Layer.FAT)
    yield from _paint_side_of_face()


@on_both_sides
def _paint_side_of_face() -> Paints:
    """The right ear, buccal fat pad, masseter, parotid gland, fat planes between the muscles of
    mastication, and temporalis."""
    ear = Ellipsoid((82.0, -10.0, 1634.0), (5.0, 15.0, 27.0), (0.0, 0.0, -24.0))
    buccal_fat_pad = Ellipsoid((50.0, 60.0, 1588.0), (14.0, 16.0, 20.0))
    masseter = Ellipsoid((56.0, 26.0, 1578.0), (8.0, 18.0, 32.0))
    parotid_gland = Ellipsoid((59.0, -2.0, 1578.0), (10.0, 17.0, 24.0))
    plane_sizes = (  # middle and half axes
        ((21, 22, 1578), (3.5, 13, 24)),
        ((41, 36, 1582), (5, 14, 20)),
        ((38, 10, 1574), (2.5, 20, 26)),
    )
    temporalis = Ellipsoid((69.0, 18.0, 1645.0), (4.5, 26.0, 28.0))
    yield paint(ear, "skin", Layer.SKIN)
    yield paint(ear.shrink(1.8), "cartilage", Layer.FAT)
    yield paint(buccal_fat_pad, "fat", Layer.SEAM, replaced_tissues="muscle")
    yield paint(masseter, "muscle", Layer.SEAM)
    yield paint(parotid_gland, "gland", Layer.SEAM, replaced_tissues="muscle")
    fat_planes = (
        Ellipsoid(centre, semi_axes, (0.0, 0.0, 16.0)) for centre, semi_axes in plane_sizes
    )
    yield from paint_all(fat_planes, "fat", Layer.SEAM, replaced_tissues="muscle")
    yield paint(temporalis, "muscle", Layer.SEAM)


def _paint_skull_and_brain(person: Person, with_small_parts: bool) -> Paints:
    """The skull, a vault of two tables with diploe between them and a base of dense bone, and the
    brain in it."""
    thickness_mm = person.generator(Stream.SKULL_THICKNESS).uniform(4.6, 7.2)
    vault = Vault(VAULT_HALF_AXES_MM)
    inner_skull = vault.shrink(thickness_mm)
    diploe_marrow = "red marrow" if person.age < 25 else "mixed marrow"
    half_width_mm, half_length_mm, half_height_mm = VAULT_HALF_AXES_MM
    # there is hardly any diploe at the temples
    inner_table = Vault(
        (
            half_width_mm - thickness_mm / 2 - 0.6,
            half_length_mm - thickness_mm + 1.6,
            half_height_mm - thickness_mm + 1.6,
        )
    )
    yield from paint_bone(vault, cortex_mm=1.6, marrow=diploe_marrow)
    yield paint(inner_table, "cortical bone", Layer.MARROW)
    yield from _paint_skull_base()
    if with_small_parts:
        brain_surface = Hemispheres(
            inner_skull.shrink(draw_brain_traits(person).csf_over_gyri_mm),
            skull_base=draw_skull_base(person),
        )
        yield from face.paint_below_middle_cranial_fossa(person, brain_surface)
    yield from paint_brain(person, inner_skull, with_small_parts)
    if with_small_parts:
        yield from brain_parts.paint_brain_parts(person, inner_skull)


def _paint_skull_base() -> Paints:
    """The base of the skull in front of the foramen magnum, the clivus, and the temporal bones."""
    base = Ellipsoid((0.0, 34.0, 1608.0), (36.0, 46.0, 11.0), (14.0, 0.0, 0.0))
    front_of_base = HalfSpace((0.0, -1.0, 0.0), 12.0)
    clivus = Ellipsoid((0.0, 2.0, 1605.0), (11.0, 20.0, 17.0), (30.0, 0.0, 0.0))
    yield paint(base & front_of_base, "cortical bone", Layer.MARROW)
    yield paint(base.shrink(3.0) & front_of_base, "red marrow", Layer.MARROW)
    yield paint_detail(clivus, "red marrow")
    yield from _paint_temporal_bone()


@on_both_sides
def _paint_temporal_bone() -> Paints:
    """The right mastoid process with its cells, the petrous part of the temporal bone, and the
    greater wing of the sphenoid."""
    mastoid_process = Ellipsoid((56.0, -22.0, 1606.0), (15.0, 22.0, 22.0))
    petrous_part = tube([(54, -18, 1616), (18, 4, 1618)], [12.0, 8.0])
    sphenoid_wing = Ellipsoid((38.0, 48.0, 1630.0), (15.0, 3.5, 17.0), (0.0, 0.0, -24.0))
    yield paint(mastoid_process, "cortical bone", Layer.MARROW)
    yield paint_detail(mastoid_process.shrink(6.0), "gas")
    yield paint(petrous_part, "cortical bone", Layer.MARROW)
    yield paint(sphenoid_wing, "red marrow", Layer.MARROW, replaced_tissues="cortical bone")


@on_both_sides
def _paint_orbit() -> Paints:
    """The right orbit with its fat, the eye and its lens, four rectus muscles and the optic nerve."""
    orbit = tube([(33, 74, 1637), (28, 58, 1637), (17, 40, 1637)], [18.5, 16.0, 5.0])
    eyeball = Ellipsoid((32.0, 74.0, 1637.0), (12.3, 12.3, 12.3))
    lens = Ellipsoid((32.0, 83.0, 1637.0), (4.5, 2.4, 4.5))
    optic_nerve = tube([(31, 66, 1637), (19, 42, 1637)], 2.4)
    replaced_tissues = ("muscle", "cortical bone", "red marrow", "mixed marrow")
    yield paint(orbit.shrink(-2.0), "cortical bone", Layer.BONE, replaced_tissues="muscle")
    yield paint_detail(orbit, "fat", replaced_tissues=replaced_tissues)
    for offset_x, offset_z in ((9, 0), (-9, 0), (0, 9), (0, -9)):
        rectus_muscle = tube([(32 + offset_x, 74, 1637 + offset_z), (22, 46, 1637)], [1.8, 2.0])
        yield paint_detail(rectus_muscle, "muscle")
    yield paint_detail(optic_nerve, "white matter")
    yield paint_detail(eyeball.shrink(-1.2), "muscle")
    yield paint_detail(eyeball, "vitreous")
    yield paint_detail(lens, "cartilage")


def _paint_airways(person: Person) -> Paints:
    """Nasal cavity with conchae and septum, paranasal sinuses of differing size, pharynx."""
    rng = person.generator(Stream.NASAL_CAVITY)
    nasal_cavity = Ellipsoid((0.0, 60.0, 1612.0), (16.0, 36.0, 21.0))
    nasal_septum = Ellipsoid((0.0, 60.0, 1612.0), (1.6, 36.0, 21.0))
    yield paint_detail(nasal_cavity.shrink(-2.5), "mucosa")
    yield paint_detail(nasal_cavity, "gas")
    yield paint_detail(nasal_septum, "cartilage")
    for side in (1, -1):
        conchae = (
            Ellipsoid((side * 9.0, 56.0, 1612.0 + offset_z), (4.6, 24.0, 4.4))
            for offset_z in (-10, 3)
        )
        yield from paint_details(conchae, "mucosa")
        maxillary_sinus = Ellipsoid(
            (side * 31.0, 62.0, 1604.0), (13 * rng.uniform(0.8, 1.1), 15.0, 16.0)
        )
        frontal_axes = (9 * rng.uniform(0.5, 1.3), 5.0, 11 * rng.uniform(0.5, 1.2))
        frontal_sinus = Ellipsoid((side * 12.0, 82.0, 1666.0), frontal_axes)
        yield paint_detail(maxillary_sinus.shrink(-2.2), "cortical bone")
        yield paint_detail(maxillary_sinus.shrink(-0.8), "mucosa")
        yield from paint_details((maxillary_sinus, frontal_sinus), "gas")
    sphenoid_sinus = Ellipsoid((0.0, 24.0, 1620.0), (13.0, 11.0, 8.0))
    yield paint_detail(sphenoid_sinus.shrink(-1.8), "cortical bone")
    yield paint_detail(sphenoid_sinus, "gas")
    pharynx = tube(
        [(0, 26, 1606), (0, 14, 1590), (0, 9, 1565), (0, 10, 1535), (0, 16, 1515), (0, 22, 1500)],
        [9.0, 9.0, 6.5, 8.0, 6.5, 7.5],
    )
    yield paint_detail(pharynx.shrink(-3.0), "mucosa")
    yield paint_detail(pharynx, "gas")


def _paint_mouth(with_small_parts: bool) -> Paints:
    """Mandible, both rows of teeth, hard palate, tongue, the fat of the floor of the mouth and the
    submandibular glands."""
    right_points: list[Point] = [
        (48, 4, 1596),
        (48, 14, 1560),
        (44, 38, 1543),
        (30, 70, 1536),
        (14, 84, 1533),
        (0, 87, 1533),
    ]
    if with_small_parts:  # a chin under 8 mm of flesh
        right_points = [(x, y - 0.12 * max(y - 25, 0), z) for x, y, z in right_points]
    mandible_points = right_points + [(-x, y, z) for x, y, z in right_points[-2::-1]]
    mandible = tube(mandible_points, [5, 7, 8, 8, 8.5, 9, 8.5, 8, 8, 7, 5])
    yield from paint_bone(mandible, cortex_mm=2.4)
    for z in (1551, 1563):
        teeth_points = [
            (38 * np.sin(angle_rad), 44 + 40 * np.cos(angle_rad), z)
            for angle_rad in np.linspace(-1.5, 1.5, 11)
        ]
        yield paint(tube(teeth_points, 4.2), "cortical bone", Layer.MARROW)
    hard_palate = Ellipsoid((0.0, 54.0, 1583.0), (30.0, 34.0, 5.0))
    yield from paint_bone(hard_palate, cortex_mm=1.6)
    yield paint(face.TONGUE.shrink(-1.5), "mucosa", Layer.CAVITY)
    yield paint(face.TONGUE, "muscle", Layer.ORGAN)
    sublingual_fat = Ellipsoid((0.0, 40.0, 1536.0), (13.0, 26.0, 7.0))
    yield paint(sublingual_fat, "fat", Layer.ORGAN)
    submandibular_glands = (Ellipsoid((x, 30.0, 1532.0), (9.0, 16.0, 11.0)) for x in (32.0, -32.0))
    yield from paint_all(submandibular_glands, "gland", Layer.ORGAN)


def _paint_neck_muscles(person: Person) -> Paints:
    """The muscles around the cervical spine, from trapezius inwards, with fat between them; they lean
    as the spine does."""
    rng = person.generator(Stream.NECK_MUSCLES)
    muscularity = 1 + 0.7 * (person.muscle_factor - 1)
    lean_deg = float(np.degrees(np.arctan2(spine_y(1480.0) - spine_y(1560.0), 80.0)))
    fat_space = Ellipsoid((0.0, -20.0, 1502.0), (60.0, 58.0, 66.0), squareness=0.2)
    yield paint_fat_plane(fat_space)
    for side in (1, -1):
        for (x, y), (half_width, half_depth), turn_deg in NECK_MUSCLES:
            shift_x, shift_y = rng.normal(0.0, 0.8, 2).tolist()
            centre = (side * (x + shift_x), spine_y(1510.0) + y + shift_y, 1508.0)
            varied_turn_deg = turn_deg + rng.normal(0.0, 4.0)
            belly = Ellipsoid(
                centre,
                (half_width * muscularity, half_depth * muscularity, 90.0),
                (lean_deg, 0.0, side * varied_turn_deg),
            )
            yield paint(belly, "muscle", Layer.SEAM, replaced_tissues="intermuscular fat")


def _paint_neck(person: Person) -> Paints:
    """Neck muscles with fat between them, larynx, thyroid gland, and the atlas with the dens of the
    axis."""
    yield from _paint_neck_muscles(person)
    yield from _paint_lateral_neck()
    larynx = Ellipsoid((0.0, 24.0, 1507.0), (18.0, 19.0, 22.0))
    space_in_larynx = Ellipsoid((0.0, 20.0, 1507.0), (14.0, 15.0, 26.0))
    dens = Ellipsoid((0.0, -18.0, 1584.0), (5.5, 5.5, 14.0))
    yield paint(larynx - space_in_larynx, "cartilage", Layer.CONTENT)
    yield from paint_bone(dens, cortex_mm=1.2)


@on_both_sides
def _paint_lateral_neck() -> Paints:
    """The right sternocleidomastoid, lobe of the thyroid gland and half of the atlas."""
    muscle_tissues = ("muscle", "intermuscular fat")
    sternocleidomastoid = tube(
        [(54, -24, 1600), (46, -2, 1540), (32, 26, 1480), (16, 36, 1440)], [8, 10, 9, 6], step_mm=25
    )
    yield paint(
        sternocleidomastoid.shrink(-2.0),
        "intermuscular fat",
        Layer.SEAM,
        replaced_tissues=muscle_tissues,
    )
    yield paint(sternocleidomastoid, "muscle", Layer.SEAM, replaced_tissues=muscle_tissues)
    thyroid_lobe = Ellipsoid((17.0, 22.0, 1478.0), (9.0, 10.0, 24.0))
    half_atlas = tube([(8, -8, 1590), (30, -26, 1590), (14, -46, 1588)], 6.0)
    yield paint(thyroid_lobe, "gland", Layer.CONTENT)
    yield from paint_bone(half_atlas, cortex_mm=1.4)
