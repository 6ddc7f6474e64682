"""Inner structure of the spine: nucleus and annulus of every disc, nerve roots in their fat,
ligaments, and the muscles of the back."""

from __future__ import annotations

from functools import partial

import numpy as np

from fovnet.phantom.anatomy import trunk
from fovnet.phantom.anatomy.back import erector_spinae_bulge_mm
from fovnet.phantom.anatomy.layers import (
    NERVE,
    Layer,
    Paints,
    on_both_sides,
    paint,
    paint_detail,
    paint_fat_plane,
)
from fovnet.phantom.anatomy.trunk import (
    Vertebra,
    spinal_canal_depth_mm,
    spinal_canal_y,
    spine_lean_deg,
    spine_y,
)
from fovnet.phantom.geometry.solids import Ellipsoid, tube
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person


def paint_spine_details(person: Person) -> Paints:
    """The inner structure of the spine, painted over vertebrae, canal and cord: discs, nerve roots,
    joints and ligaments, and the muscles of the back."""
    rng = person.generator(Stream.SPINE)
    for vertebra in trunk.vertebrae():
        yield from _paint_disc_structure(person, rng, vertebra)
        yield from _paint_vertebral_level(vertebra)
    yield from _paint_dural_sac_content(rng)
    yield from _paint_back_muscles(person)


def _paint_disc_structure(person: Person, rng: np.random.Generator, vertebra: Vertebra) -> Paints:
    """The disc below a vertebra: a bright nucleus pulposus in a dark annulus fibrosus; degenerated
    in one of three at age fifty: dark, beside fatty marrow, half of these bulging backwards."""
    _, vertebra_z, step_mm, half_width_mm, half_depth_mm = vertebra
    z = vertebra_z - step_mm / 2  # of the disc
    y = spine_y(z)
    tilted_ellipsoid = partial(Ellipsoid, turn_deg=(-spine_lean_deg(z), 0.0, 0.0))
    is_degenerated = rng.random() < 0.008 * (person.age - 8)
    disc = tilted_ellipsoid(
        (0.0, y, z),
        (half_width_mm + 0.8, half_depth_mm + 0.8, 0.13 * step_mm + 0.6),
        squareness=0.8,
    )
    nucleus = tilted_ellipsoid(
        (0.0, y - 0.12 * half_depth_mm, z),
        (0.62 * half_width_mm, 0.55 * half_depth_mm, 0.11 * step_mm),
        squareness=0.5,
    )
    annulus_tissue = "tendon" if rng.random() < 0.5 else "cartilage"
    nucleus_tissue = "disc" if is_degenerated else "disc nucleus"
    yield paint(disc - nucleus, annulus_tissue, Layer.MARROW, replaced_tissues="disc")
    yield paint_detail(nucleus, nucleus_tissue, replaced_tissues="disc")
    if not is_degenerated:
        return
    if rng.random() < 0.5:
        bulge_centre = (rng.normal(0, 4), y - half_depth_mm - 1.0, z)
        bulge_axes = (0.5 * half_width_mm, rng.uniform(2, 5), 0.15 * step_mm)
        bulge = Ellipsoid(bulge_centre, bulge_axes)
        yield paint_detail(bulge, "disc", replaced_tissues=("fat", "cerebrospinal fluid", "muscle"))
    for offset_z in (0.27 * step_mm, -0.27 * step_mm):  # in the bodies above and below
        fatty_marrow = tilted_ellipsoid(
            (0.0, y, z + offset_z), (0.8 * half_width_mm, 0.8 * half_depth_mm, 0.13 * step_mm)
        )
        yield paint_detail(fatty_marrow, "yellow marrow", replaced_tissues="red marrow")


def _paint_vertebral_level(vertebra: Vertebra) -> Paints:
    """At one vertebra: the basivertebral vein, the intervertebral foramina below it, and below the
    neck epidural fat and the fat between spinous processes."""
    _, z, step_mm, _, half_depth_mm = vertebra
    y = spine_y(z)
    basivertebral_vein = tube(
        [(0, y - half_depth_mm, z), (0, y - 0.3 * half_depth_mm, z)], [1.8, 0.8]
    )
    yield paint_detail(basivertebral_vein, "venous blood", replaced_tissues="red marrow")
    yield from _paint_intervertebral_foramen(vertebra)
    if z < 1455:
        canal_depth_mm = spinal_canal_depth_mm(z)
        joint_z = z - 0.42 * step_mm
        epidural_fat = Ellipsoid(
            (0.0, y - canal_depth_mm - 10.0, joint_z), (5.0, 3.5, 0.25 * step_mm)
        )
        yield paint_detail(
            epidural_fat, "fat", replaced_tissues=("muscle", "cortical bone", "tendon")
        )
        interspinous_space = Ellipsoid(
            (0.0, y - canal_depth_mm - 26.0, joint_z), (2.2, 12.0, 0.2 * step_mm)
        )
        yield paint_fat_plane(interspinous_space)


@on_both_sides
def _paint_intervertebral_foramen(vertebra: Vertebra) -> Paints:
    """The right intervertebral foramen below a vertebra: fat, the nerve root, the facet joint of a
    lumbar vertebra, and the right ligamentum flavum."""
    kind, z, step_mm, half_width_mm, half_depth_mm = vertebra
    y = spine_y(z)
    canal_depth_mm = spinal_canal_depth_mm(z)
    joint_z = z - 0.42 * step_mm
    replaced_tissues = ("muscle", "intermuscular fat", "cortical bone", "red marrow")
    foramen = Ellipsoid(
        (0.8 * half_width_mm + 4.0, y - half_depth_mm - 2.0, joint_z),
        (6.0, 4.5, 0.2 * step_mm + 2.0),
    )
    yield paint_detail(foramen, "fat", replaced_tissues=replaced_tissues)
    root_points = [
        (5, y - canal_depth_mm, z - 0.2 * step_mm),
        (0.8 * half_width_mm + 4, y - half_depth_mm - 2, joint_z),
        (half_width_mm + 20, y - half_depth_mm + 4, joint_z - 14),
    ]
    nerve_root = tube(root_points, [1.2, 2.4, 2.0])
    yield paint_detail(nerve_root, NERVE, replaced_tissues=("fat", "muscle", "intermuscular fat"))
    if kind == "lumbar":
        facet_joint = Ellipsoid(
            (17.0, y - half_depth_mm - 17.0, joint_z), (1.4, 7.0, 8.0), (0.0, 0.0, -35.0)
        )
        yield paint_detail(facet_joint, "cartilage", replaced_tissues=replaced_tissues)
    ligamentum_flavum = tube(
        [(7.5, y - canal_depth_mm - 5, joint_z), (1.5, y - canal_depth_mm - 11, joint_z)], 2.0
    )
    yield paint_detail(
        ligamentum_flavum,
        "tendon",
        replaced_tissues=("muscle", "fat", "cortical bone", "red marrow"),
    )


def _paint_dural_sac_content(rng: np.random.Generator) -> Paints:
    """Eleven separate roots of the cauda equina in the back of the dural sac, and the grey matter of
    the spinal cord."""
    heights = np.arange(985.0, 1160.0, 15.0)
    half_widths_mm = np.interp(heights, [985, 1060, 1150], [2.0, 5.5, 4.0])
    for lateral_share, depth_share in rng.uniform(-1, 1, (11, 2)):
        offset_y = -2.5 + 2.5 * depth_share
        root_points = [
            (lateral_share * half_width_mm, spinal_canal_y(z) + offset_y, z)
            for z, half_width_mm in zip(heights, half_widths_mm, strict=True)
        ]
        yield paint_detail(tube(root_points, 0.8), NERVE, replaced_tissues="cerebrospinal fluid")
    yield from _paint_cord_grey_matter()


@on_both_sides
def _paint_cord_grey_matter() -> Paints:
    """The grey matter of the right half of the spinal cord."""
    column_points = [(1.6, spinal_canal_y(z), z) for z in np.arange(1580.0, 1175.0, -20.0)]
    yield paint_detail(tube(column_points, 1.1), "grey matter", replaced_tissues="spinal cord")


@on_both_sides
def _paint_back_muscles(person: Person) -> Paints:
    """Three columns of muscle on the right of the spinous processes, each in a sleeve of fat that is
    thicker in old and obese people."""
    sleeve_mm = 0.8 + 8 * person.marbled_share
    muscle_tissues = ("muscle", "intermuscular fat")
    # mm beside and behind the spine's middle, heights, and radii there
    for column_x, behind_mm, heights, radii_mm in (
        # multifidus
        (13.0, 36.0, (985, 1060, 1150, 1250, 1400, 1500), (13, 14, 11, 8, 7, 8)),
        # longissimus
        (33.0, 42.0, (1000, 1060, 1150, 1250, 1400, 1480), (14, 19, 18, 14, 10, 9)),
        # iliocostalis
        (58.0, 38.0, (1050, 1080, 1150, 1250, 1330, 1400), (6, 14, 15, 10, 8, 5)),
    ):
        points = []
        muscle_radii = []
        for z, radius_mm in zip(heights, radii_mm, strict=True):
            bulge_mm = erector_spinae_bulge_mm(person, z)
            x = column_x if z < 1300 else 0.8 * column_x
            depth_mm = behind_mm if z > 1020 else behind_mm + 6
            points.append((x, spine_y(z) - depth_mm - 0.5 * bulge_mm, z))
            muscle_radii.append(radius_mm * person.muscle_factor + 0.35 * bulge_mm)
        muscle = tube(points, muscle_radii, step_mm=30)
        fat_sleeve = muscle.shrink(-sleeve_mm)
        yield paint(fat_sleeve, "intermuscular fat", Layer.SEAM, replaced_tissues=muscle_tissues)
        yield paint(muscle, "muscle", Layer.SEAM, replaced_tissues=muscle_tissues)
