"""Face and throat: muscles of mastication, cheek, lips and mouth in fat, tongue, nose, conchae, and
the skull base below the brain.

The plain face is one muscle under a layer of fat.  Masseters are 9 to 10 mm thick at rest, 13 to 15
when the teeth are clenched: Kiliaridis & Kälebo (1991), J Dent Res 70:1262.  Positions and the
other sizes are estimated by eye.
"""

from __future__ import annotations

from fovnet.phantom.anatomy.brain import Hemispheres, Speckled
from fovnet.phantom.anatomy.layers import (
    Layer,
    Paints,
    on_both_sides,
    paint,
    paint_all,
    paint_detail,
    paint_details,
    paint_limb,
)
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, tube
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

FACIAL_FAT = "intermuscular fat"
"""The tissue of the fat between the muscles of the face."""

FACE_MUSCLES = (
    ((54.0, 26.0, 1572.0), (6.0, 20.0, 33.0), (0.0, 4.0, -10.0)),  # masseter
    # temporalis, towards the mandible
    ((49.0, 34.0, 1606.0), (6.0, 15.0, 24.0), (0.0, 0.0, -10.0)),
    ((36.0, 20.0, 1570.0), (8.5, 17.0, 29.0), (0.0, 16.0, 10.0)),  # medial pterygoid
    ((32.0, 28.0, 1601.0), (16.0, 14.0, 10.0), (0.0, 0.0, -30.0)),  # lateral pterygoid
    ((40.0, 58.0, 1570.0), (4.5, 24.0, 21.0), (0.0, 0.0, 22.0)),  # buccinator
    # levator labii superioris, zygomaticus
    ((36.0, 80.0, 1588.0), (13.0, 4.0, 22.0), (0.0, 0.0, -30.0)),
    ((19.0, 20.0, 1585.0), (7.0, 11.0, 15.0), (0.0, 0.0, 0.0)),  # tensor and levator veli palatini
    ((42.0, -2.0, 1530.0), (6.5, 20.0, 72.0), (20.0, 13.0, 0.0)),  # sternocleidomastoid
    ((9.0, 56.0, 1531.0), (5.5, 24.0, 4.0), (8.0, 0.0, 0.0)),  # digastric, anterior belly
    ((9.0, -9.0, 1560.0), (8.0, 4.5, 44.0), (0.0, 0.0, 0.0)),  # longus colli and longus capitis
)
"""Centre and half axes, mm, and rotations, degrees, of muscles of the right side."""

MIDLINE_MUSCLES = (
    Ellipsoid((0.0, 87.0, 1566.0), (30.0, 7.0, 18.0)),  # orbicularis oris
    Ellipsoid((0.0, 48.0, 1540.0), (33.0, 36.0, 5.0)),  # mylohyoid
    Ellipsoid((0.0, 54.0, 1545.0), (11.0, 29.0, 7.0)),  # genioglossus and geniohyoid
)
"""Muscles in the midline."""

TONGUE = Ellipsoid((0.0, 44.0, 1556.0), (24.0, 34.0, 21.0), (14.0, 0.0, 0.0))


def paint_face_muscles(person: Person) -> Paints:
    """Muscles of face and throat in fat; thicker in muscular people."""
    fat_space = Ellipsoid((0.0, 46.0, 1570.0), (60.0, 44.0, 40.0), squareness=0.2)
    yield paint(fat_space, FACIAL_FAT, Layer.SEAM, replaced_tissues="muscle")
    yield from _paint_lateral_face_muscles(muscularity=1 + 0.5 * (person.muscle_factor - 1))
    pharyngeal_constrictors = tube(
        [(0, 14, 1592), (0, 9, 1565), (0, 10, 1535), (0, 16, 1515)], [15.0, 13.5, 14.0, 12.0]
    )
    yield from paint_all(
        (*MIDLINE_MUSCLES, pharyngeal_constrictors),
        "muscle",
        Layer.SEAM,
        replaced_tissues=FACIAL_FAT,
    )
    fat_between_fibres = Speckled(TONGUE, point_share=0.22)
    yield paint(fat_between_fibres, FACIAL_FAT, Layer.CONTENT, replaced_tissues="muscle")


@on_both_sides
def _paint_lateral_face_muscles(muscularity: float) -> Paints:
    """The muscles of the right side of the face, `muscularity` times as thick as written."""
    bellies = (
        Ellipsoid(
            centre, (half_width * muscularity, half_depth * muscularity, half_height), turn_deg
        )
        for centre, (half_width, half_depth, half_height), turn_deg in FACE_MUSCLES
    )
    digastric_posterior_belly = tube(
        [(50, -14, 1602), (40, 8, 1562), (26, 24, 1530)], [5.5, 5.0, 4.0]
    )
    yield from paint_all(
        (*bellies, digastric_posterior_belly), "muscle", Layer.SEAM, replaced_tissues=FACIAL_FAT
    )


def paint_nose() -> Paints:
    """The nose with bridge, tip, alae and nostrils, and the lips."""
    bridge = tube([(0, 88, 1646), (0, 95, 1632), (0, 109, 1606)], [6.0, 6.5, 7.5])
    columella = tube([(0, 109, 1604), (0, 96, 1598)], [6.5, 8.0])
    ala = tube([(3, 107, 1605), (11, 95, 1600)], [6.0, 6.5])
    nostril = tube([(6, 100, 1597), (6, 88, 1606)], [2.6, 4.0])
    nose_parts = (bridge, columella, ala, ala.mirror())
    yield from paint_all(nose_parts, "skin", Layer.SKIN)
    yield from paint_all((part.shrink(2.0) for part in nose_parts), "cartilage", Layer.FAT)
    yield from paint_details((nostril, nostril.mirror()), "gas")
    lips = [Ellipsoid((0.0, 90.5, z), (25.0, 5.5, 6.0)) for z in (1558.0, 1570.0)]
    yield from paint_all(lips, "skin", Layer.SKIN)
    yield from paint_all((lip.shrink(1.8) for lip in lips), "muscle", Layer.SEAM)


def paint_nape(person: Person) -> Paints:
    """The scalene muscles beside the vertebral column, and the nape, up to 24 mm behind a slender
    one, with its fat and skin."""
    scalene = Ellipsoid((27.0, -14.0, 1506.0), (16.0, 14.0, 58.0))
    yield from paint_all(
        (scalene, scalene.mirror()), "muscle", Layer.SEAM, replaced_tissues=FACIAL_FAT
    )
    yield from _paint_half_nape_bulge(person)


@on_both_sides
def _paint_half_nape_bulge(person: Person) -> Paints:
    """The right half of the bulge of a strong nape; nothing in a slender one."""
    bulge_mm = person.generator(Stream.NAPE).uniform(-10, 24) * person.muscle_factor
    fat_mm = 2.5 + 0.3 * person.fat_mm
    if bulge_mm <= 0:
        return
    bulge = Ellipsoid(
        (13.0, -46.0, 1488.0), (39.0 + 0.3 * bulge_mm, 19.0 + bulge_mm, 74.0), (4.0, 0.0, -5.0)
    )
    yield from paint_limb(bulge, fat_mm)
    yield paint(bulge.shrink(7.0), FACIAL_FAT, Layer.SEAM, replaced_tissues="muscle")
    yield paint(bulge.shrink(8.5), "muscle", Layer.SEAM, replaced_tissues=FACIAL_FAT)


@on_both_sides
def paint_conchae_and_ethmoid_cells() -> Paints:
    """The three right nasal conchae, with air passages of a few mm between them, and the right
    ethmoid cells, between the orbits."""
    for centre, semi_axes, roll_deg in (
        ((9.0, 58.0, 1599.0), (4.8, 26.0, 7.5), 20.0),  # inferior
        ((8.0, 54.0, 1614.0), (4.0, 22.0, 6.5), 16.0),  # middle
        ((6.5, 46.0, 1625.0), (2.8, 14.0, 4.5), 12.0),  # superior
    ):
        concha = Ellipsoid(centre, semi_axes, (0.0, roll_deg, 0.0))
        yield paint_detail(concha, "mucosa", replaced_tissues="gas")
    for y in (34.0, 45.0, 56.0, 66.0):
        ethmoid_cell = Ellipsoid((8.5, y, 1634.0), (5.0, 4.8, 8.0))
        replaced_tissues = ("cortical bone", "red marrow", "muscle", "gas")
        yield paint_detail(ethmoid_cell.shrink(-1.3), "mucosa", replaced_tissues=replaced_tissues)
        yield paint_detail(ethmoid_cell, "gas", replaced_tissues="mucosa")


@on_both_sides
def paint_below_middle_cranial_fossa(person: Person, hull: Hemispheres) -> Paints:
    """On the right: marrow, muscle and fat below the floor of the middle cranial fossa and behind
    the orbit, 4 mm of bone under the brain; `hull` is the surface of the brain.

    In the temporal bone the otic capsule is dark, and in some people most of the pyramid.
    """
    brain_and_bone = hull.shrink(-5.0)
    fat_factor, marrow_factor = (
        person.generator(Stream.BELOW_MIDDLE_CRANIAL_FOSSA)
        .uniform((0.4, 0.55), (1.0, 1.0))
        .tolist()
    )
    petrous_pyramid = Ellipsoid(
        (32.0, 2.0, 1609.0),
        (28.0 * marrow_factor, 25.0 * marrow_factor, 15.0 * marrow_factor),
        (0.0, 0.0, 25.0),
    )
    yield paint(
        petrous_pyramid - brain_and_bone,
        "mixed marrow",
        Layer.MARROW,
        replaced_tissues="cortical bone",
    )
    otic_capsule = Ellipsoid((40.0, -8.0, 1613.0), (9.0, 8.0, 8.0))
    yield paint(otic_capsule, "cortical bone", Layer.MARROW)
    infratemporal_fossa = Ellipsoid((38.0, 36.0, 1612.0), (24.0, 40.0, 30.0)) & HalfSpace(
        (0.0, -1.0, 0.0), -2.0
    )
    yield paint(
        infratemporal_fossa - brain_and_bone,
        "muscle",
        Layer.MARROW,
        replaced_tissues=("cortical bone", "mixed marrow", "red marrow"),
    )
    pterygopalatine_fossa = Ellipsoid(
        (24.0, 38.0, 1618.0),
        (7.0 * fat_factor, 12.0 * fat_factor, 21.0 * fat_factor),
        (0.0, 14.0, 0.0),
    )
    yield paint(
        pterygopalatine_fossa - brain_and_bone,
        "fat",
        Layer.MARROW,
        replaced_tissues=("cortical bone", "muscle"),
    )
    orbital_apex = Ellipsoid((21.0, 40.0, 1634.0), (9.0, 16.0, 9.0), (0.0, 0.0, -24.0))
    yield paint(
        orbital_apex - brain_and_bone,
        "mixed marrow",
        Layer.MARROW,
        replaced_tissues=("cortical bone", "muscle"),
    )
