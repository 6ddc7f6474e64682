"""Brain structures of 1 to 10 mm: midbrain and cisterns, deep nuclei, septum, chiasm, choroid
plexus, arteries and sinuses.

Sizes in mm after Haines (2012), *Neuroanatomy: An Atlas*, and Rhoton (2002), Neurosurgery 51 (4
suppl): the midbrain is about 34 wide with its peduncles, the basilar and middle cerebral arteries 3
to 4 in diameter, the superior sagittal sinus 6 to 10.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from fovnet.phantom.anatomy.brain import (
    CEREBELLAR_LOBES,
    CSF,
    Folia,
    Speckled,
    Vault,
    draw_brain_traits,
)
from fovnet.phantom.anatomy.layers import Paints, on_both_sides, paint_detail, paint_details
from fovnet.phantom.geometry.solids import Ellipsoid, Point, tube
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person

BRAIN_TISSUES = ("grey matter", "white matter")
REPLACED_BY_VESSELS = (*BRAIN_TISSUES, CSF, "cortical bone", "red marrow")

Points = tuple[Point, ...]

ARTERIES: tuple[tuple[Points, tuple[float, ...]], ...] = (
    # internal carotid, with its siphon
    (
        ((13, -2, 1618), (14, 10, 1623), (12, 18, 1629), (10, 10, 1635), (13, 8, 1645)),
        (2.4, 2.4, 2.3, 2.1, 1.9),
    ),
    # middle cerebral
    (
        (
            (13, 8, 1645),
            (23, 13, 1648),
            (34, 9, 1650),
            (40, 1, 1657),
            (38, -10, 1664),
            (42, -24, 1672),
        ),
        (1.6, 1.5, 1.4, 1.1, 0.9, 0.8),
    ),
    # anterior cerebral
    (
        (
            (13, 8, 1645),
            (5, 17, 1649),
            (1.6, 26, 1655),
            (1.4, 38, 1670),
            (1.2, 33, 1688),
            (1, 8, 1697),
        ),
        (1.3, 1.2, 1.1, 1.1, 0.9, 0.8),
    ),
    # posterior cerebral
    (
        ((1, 2, 1637), (9, -4, 1641), (18, -18, 1646), (15, -36, 1652), (9, -58, 1654)),
        (1.3, 1.3, 1.1, 1.0, 0.8),
    ),
    # posterior communicating
    (((13, 8, 1645), (12, -2, 1641), (9, -4, 1641)), (0.8, 0.8, 0.8)),
    # vertebral
    (((9, -12, 1592), (5, -6, 1602), (0.5, -2, 1611)), (1.7, 1.6, 1.5)),
)
"""Arteries of the right side: points and radii, mm, from the skull base on."""

BASILAR: tuple[Points, tuple[float, ...]] = (
    ((0, -2, 1611), (1.5, 1, 1624), (1, 2, 1637)),
    (1.9, 1.8, 1.6),
)
"""The basilar artery, the only one in the midline: points and radii, mm."""


def paint_brain_parts(person: Person, inner_skull: Vault) -> Paints:
    """The structures of 1 to 10 mm, in the order in which they are painted over a plain brain;
    `inner_skull` is the inside of the skull."""
    brain_traits = draw_brain_traits(person)
    yield from _paint_septum_and_third_ventricle(brain_traits.ventricle_size)
    yield from _paint_structures_under_callosum(brain_traits.ventricle_size)
    yield from _paint_cerebellum(brain_traits.folia_phase_mm)
    yield from _paint_brainstem()
    yield from _paint_cisterns(person)
    yield from _paint_choroid_plexus(brain_traits.ventricle_size)
    yield from _paint_arteries(person)
    yield from _paint_sinuses(inner_skull)


def _paint_septum_and_third_ventricle(ventricle_size: float) -> Paints:
    """Deep nuclei, frontal horns beside a septum pellucidum of 2 mm, a slit-like third ventricle."""
    yield from _paint_deep_nuclei(ventricle_size)
    septum_pellucidum = Ellipsoid((0.0, 6.0, 1680.0), (0.9, 26.0, 12.0))
    third_ventricle = Ellipsoid((0.0, -8.0, 1662.0), (0.6 + 1.2 * ventricle_size, 14.0, 12.0))
    yield paint_detail(septum_pellucidum, "white matter", replaced_tissues=("grey matter", CSF))
    yield paint_detail(third_ventricle, CSF, replaced_tissues=BRAIN_TISSUES)


@on_both_sides
def _paint_deep_nuclei(ventricle_size: float) -> Paints:
    """The deep nuclei of the right side, and the frontal horn beside the septum pellucidum."""
    for centre, half_axes, turn_deg, cell_share, replaced_tissues in (
        ((10.0, -17.0, 1671.0), (9.0, 15.0, 9.5), 22.0, 0.8, BRAIN_TISSUES),  # thalamus
        ((27.0, 4.0, 1668.0), (6.0, 17.5, 13.0), 14.0, 1.0, BRAIN_TISSUES),  # putamen
        # head of the caudate nucleus
        ((14.0, 19.0, 1673.0), (5.5, 10.0, 11.0), -8.0, 1.0, BRAIN_TISSUES),
        ((20.0, 2.0, 1642.0), (8.0, 8.5, 8.0), 0.0, 1.0, BRAIN_TISSUES[1:]),  # amygdala
        # hypothalamus, nucleus accumbens
        ((8.0, 8.0, 1656.0), (8.0, 8.0, 5.0), 0.0, 0.9, BRAIN_TISSUES[1:]),
    ):
        nucleus = Ellipsoid(centre, half_axes, (0.0, 0.0, turn_deg))
        yield paint_detail(
            Speckled(nucleus, point_share=cell_share),
            "grey matter",
            replaced_tissues=replaced_tissues,
        )
    horn_axes = (2.2 + 1.1 * ventricle_size, 23.0, 3.0 + 2.2 * ventricle_size)
    frontal_horn = Ellipsoid((5.0 + ventricle_size, 8.0, 1681.0), horn_axes, (-12.0, 0.0, 0.0))
    yield paint_detail(frontal_horn, CSF, replaced_tissues=BRAIN_TISSUES)


def _paint_structures_under_callosum(ventricle_size: float) -> Paints:
    """Below the corpus callosum, between the hemispheres: bodies of the ventricles up to a septum
    pellucidum of 2 mm, fornix, CSF behind the thalami.

    Without them this is a single island of white matter.
    """
    yield from _paint_ventricle_body(ventricle_size)
    septum_pellucidum = Ellipsoid((0.0, 4.0, 1681.0), (0.9, 26.0, 8.0))
    yield paint_detail(septum_pellucidum, "white matter", replaced_tissues=CSF)
    cistern_behind_thalami = Ellipsoid((0.0, -39.0, 1664.0), (7.0, 5.0, 9.0), (-20.0, 0.0, 0.0))
    # below the genu of the corpus callosum
    subcallosal_area = Ellipsoid((0.0, 20.0, 1661.0), (6.0, 9.0, 7.0))
    interthalamic_adhesion = Ellipsoid((0.0, -15.0, 1669.0), (3.0, 9.0, 7.5))
    yield paint_detail(cistern_behind_thalami, CSF, replaced_tissues=BRAIN_TISSUES)
    yield from paint_details(
        (subcallosal_area, interthalamic_adhesion), "grey matter", replaced_tissues="white matter"
    )
    yield from _paint_half_fornix()


@on_both_sides
def _paint_ventricle_body(ventricle_size: float) -> Paints:
    """The body of the right lateral ventricle."""
    middle_z = 1680.5 - 0.5 * ventricle_size + 1.0
    half_height_mm = 3.2 + 0.9 * ventricle_size
    body_of_ventricle = Ellipsoid(
        (4.2 + ventricle_size, -7.0, middle_z),
        (3.6 + ventricle_size, 25.0, half_height_mm),
        (8.0, 0.0, 0.0),
    )
    yield paint_detail(body_of_ventricle, CSF, replaced_tissues=BRAIN_TISSUES)


@on_both_sides
def _paint_half_fornix() -> Paints:
    """The right half of the fornix, from behind the thalamus to its column."""
    points = ((14, -38, 1676), (3, -26, 1682), (1.5, -8, 1678), (1.5, 6, 1672), (2, 9, 1660))
    fornix = tube(points, [1.4, 1.8, 1.8, 1.7, 1.3], step_mm=8)
    yield paint_detail(fornix, "white matter", replaced_tissues=CSF)


def _paint_cerebellum(folia_phase_mm: float) -> Paints:
    """The cerebellum: folia with a cortex of 1.1 mm, so that it looks nearly uniform, the part beside
    the pons, the tonsils behind the medulla, and a mixed core."""
    yield paint_detail(
        Folia(CEREBELLAR_LOBES, 1.1, folia_phase_mm), "white matter", replaced_tissues="grey matter"
    )
    yield from _paint_cerebellum_beside_pons()
    core = Speckled(Ellipsoid((21.0, -44.0, 1618.0), (13.0, 17.0, 9.0)), point_share=0.4)
    yield from paint_details((core, core.mirror()), "grey matter", replaced_tissues="white matter")


@on_both_sides
def _paint_cerebellum_beside_pons() -> Paints:
    """The part of the right cerebellar hemisphere beside the pons, and its tonsil."""
    part_beside_pons = Ellipsoid((27.0, -31.0, 1619.0), (15.0, 9.0, 10.0), (0.0, 0.0, 30.0))
    tonsil = Ellipsoid((7.5, -39.0, 1604.0), (7.5, 11.0, 9.5))
    yield paint_detail(
        part_beside_pons, "grey matter", replaced_tissues=(CSF, "white matter", "cortical bone")
    )
    yield paint_detail(
        Speckled(part_beside_pons.shrink(2.0), point_share=0.5),
        "white matter",
        replaced_tissues="grey matter",
    )
    yield paint_detail(Speckled(tonsil, point_share=1.0), "grey matter", replaced_tissues=CSF)
    yield paint_detail(
        Speckled(tonsil.shrink(2.0), point_share=0.5),
        "white matter",
        replaced_tissues="grey matter",
    )


def _paint_brainstem() -> Paints:
    """A midbrain 34 mm wide with the cerebral peduncles in front of it, in a sheath of CSF that
    separates it from the temporal lobes."""
    midbrain = Ellipsoid((0.0, -21.0, 1646.0), (16.0, 12.0, 11.0))
    csf_sheath = Ellipsoid((0.0, -22.0, 1645.0), (20.5, 17.0, 12.5))
    interpeduncular_cistern = Ellipsoid((0.0, -7.5, 1642.0), (4.0, 6.0, 8.0))
    yield paint_detail(csf_sheath, CSF, replaced_tissues=BRAIN_TISSUES)
    yield paint_detail(midbrain, "white matter")
    yield paint_detail(interpeduncular_cistern, CSF, replaced_tissues=BRAIN_TISSUES)
    yield from _paint_cerebral_peduncle()
    # Nuclei and crossing fibres: where white matter is bright, the brainstem is darker than that
    # above it.
    pons = Ellipsoid((0, -13, 1627), (15.0, 11.0, 12.0))
    medulla_oblongata = Ellipsoid((0, -21, 1604), (7.0, 7.0, 14.0))
    midbrain_core = Ellipsoid((0, -22, 1646), (14.0, 11.0, 9.0))
    speckled_areas = (
        Speckled(ellipsoid, point_share=0.35)
        for ellipsoid in (pons, medulla_oblongata, midbrain_core)
    )
    yield from paint_details(speckled_areas, "grey matter", replaced_tissues="white matter")
    aqueduct = Ellipsoid((0.0, -28.0, 1646.0), (1.1, 1.3, 13.0))
    yield paint_detail(aqueduct, CSF, replaced_tissues=BRAIN_TISSUES)


@on_both_sides
def _paint_cerebral_peduncle() -> Paints:
    """The right cerebral peduncle with the substantia nigra."""
    peduncle = tube([(9, -13, 1640), (12, -11, 1652), (17, -9, 1664)], [6.0, 6.0, 5.0])
    substantia_nigra = Ellipsoid((8.0, -16.0, 1646.0), (6.0, 1.6, 5.0), (0.0, 0.0, 35.0))
    yield paint_detail(peduncle, "white matter", replaced_tissues=CSF)
    yield paint_detail(substantia_nigra, "grey matter", replaced_tissues="white matter")


def _paint_cisterns(person: Person) -> Paints:
    """The suprasellar cistern (a star) with the optic chiasm, the stems of the lateral fissures, and
    the quadrigeminal cistern behind the midbrain with the pineal gland."""
    width_factor = person.generator(Stream.CISTERNS).uniform(0.75, 1.2) * (
        1 + 0.004 * max(person.age - 25, 0)
    )
    suprasellar_middle = Ellipsoid((0.0, 5.0, 1644.0), (11.0 * width_factor, 9.0, 8.0))
    suprasellar_front = tube(
        [(0, 10, 1645), (0, 26, 1646)], [4.0 * width_factor, 1.2 * width_factor]
    )
    quadrigeminal_cistern = Ellipsoid(
        (0.0, -38.0, 1652.0), (12.0 * width_factor, 5.0 * width_factor, 7.0)
    )
    cisterns = (suprasellar_middle, suprasellar_front, quadrigeminal_cistern)
    yield from paint_details(cisterns, CSF, replaced_tissues=(*BRAIN_TISSUES, "cortical bone"))
    yield from _paint_lateral_fissure_stem(width_factor)
    pineal_gland = Ellipsoid((0.0, -36.0, 1656.0), (3.0, 4.0, 2.6))
    yield paint_detail(pineal_gland, "gland", replaced_tissues=CSF)


@on_both_sides
def _paint_lateral_fissure_stem(width_factor: float) -> Paints:
    """The stem of the right lateral fissure, and the right optic nerve and tract."""
    stem_points = [(9, 9, 1647), (20, 15, 1649), (30, 13, 1651), (38, 8, 1654)]
    yield paint_detail(
        tube(stem_points, [4.0 * width_factor, 2.6 * width_factor, 2.0, 1.6]),
        CSF,
        replaced_tissues=BRAIN_TISSUES,
    )
    optic_pathway = tube(
        [(15, 34, 1640), (9, 20, 1642), (1, 7, 1645), (9, -2, 1648), (16, -10, 1652)], 1.9
    )
    yield paint_detail(optic_pathway, "white matter", replaced_tissues=(CSF, "cortical bone"))


@on_both_sides
def _paint_choroid_plexus(ventricle_size: float) -> Paints:
    """The right choroid plexus, which takes up contrast agent, in the trigone and along the floor of
    the body of the lateral ventricle."""
    plexus_points = [
        (5, -4, 1677),
        (12, -22, 1682),
        (20, -36, 1677),
        (23, -42, 1671),
        (27, -34, 1656),
    ]
    size_root = ventricle_size**0.5
    plexus_radii = [0.9, 1.3, 2.4 * size_root, 2.6 * size_root, 1.2]
    yield paint_detail(tube(plexus_points, plexus_radii), "mucosa", replaced_tissues=CSF)


def _paint_arteries(person: Person) -> Paints:
    """The arterial circle (of Willis) with its supply and branches; they are displaced by some
    millimetres between people."""
    rng = person.generator(Stream.BRAIN_ARTERIES)
    calibre_factor = rng.uniform(0.85, 1.25)
    both_sides = product(ARTERIES, (1, -1))
    for (written_points, artery_radii), side in ((BASILAR, 1), *both_sides):
        artery_points = np.array(written_points, dtype=float) * (side, 1, 1)
        artery_points[1:-1] += rng.normal(0, 1.2, artery_points[1:-1].shape)
        artery = tube(artery_points, calibre_factor * np.asarray(artery_radii), step_mm=6)
        yield paint_detail(artery, "arterial blood", replaced_tissues=REPLACED_BY_VESSELS)


def _paint_sinuses(inner_skull: Vault) -> Paints:
    """Venous sinuses along the inside of the skull: superior sagittal, transverse and sigmoid on
    both sides, and the straight sinus."""
    angles_rad = np.deg2rad(np.arange(35, 196, 10))  # from the front over the top
    targets_mm = [(0.0, -5 + 80 * np.cos(angle), 1666 + 70 * np.sin(angle)) for angle in angles_rad]
    sagittal_points = [_point_on_vault(inner_skull, target_mm, 1.0) for target_mm in targets_mm]
    confluence = sagittal_points[-1]
    yield paint_detail(
        tube(sagittal_points, np.linspace(1.6, 4.2, len(sagittal_points))),
        "venous blood",
        replaced_tissues=REPLACED_BY_VESSELS,
    )
    yield from _paint_transverse_sinus(inner_skull, confluence)
    straight_sinus = tube(
        [(0, -30, 1671), (0, -43, 1666), (0, -50, 1661), confluence], [1.2, 1.8, 2.2, 2.8]
    )
    yield paint_detail(straight_sinus, "venous blood", replaced_tissues=REPLACED_BY_VESSELS)


@on_both_sides
def _paint_transverse_sinus(inner_skull: Vault, confluence: Point) -> Paints:
    """The right transverse and sigmoid sinus, from the confluence of the sinuses."""
    vault_points = [
        _point_on_vault(inner_skull, target_mm, 1.5)
        for target_mm in ((28, -80, 1642), (50, -55, 1640), (58, -36, 1636))
    ]
    sinus = tube(
        [confluence, *vault_points, (48, -30, 1618), (34, -22, 1602)],
        [3.5, 3.6, 3.6, 3.8, 3.8, 3.8],
    )
    yield paint_detail(
        sinus, "venous blood", replaced_tissues=(CSF, "cortical bone", "mixed marrow")
    )


def _point_on_vault(inner_skull: Vault, target_mm: Point, within_mm: float) -> Point:
    """The point `within_mm` inside the inner surface of the skull, on the ray from its middle to a
    target, mm."""
    ray = np.asarray(target_mm) - inner_skull.centre
    # the level is not exactly quadratic: a few steps bring the point onto the surface
    for _ in range(4):
        x, y, z = (np.array([value], dtype=np.float32) for value in ray + inner_skull.centre)
        ray /= np.sqrt(float(inner_skull.level(x, y, z)[0]))
    return tuple((inner_skull.centre + ray * (1 - within_mm / np.linalg.norm(ray))).tolist())
