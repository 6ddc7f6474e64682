"""Small animals and a human hand, of the tissues of the simulated body.

Rodents of 6 to 26 cm from nose to rump, rabbits of 30 to 45, lying along z, nose upwards, belly in
front.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from fovnet.phantom.bodiless.thing import Point, log_uniform
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.geometry.solids import Ellipsoid, Loft, Solid, Tube, tube
from fovnet.phantom.scanner.tissues import label_of

ANIMAL_ORGANS: tuple[tuple[str, Point, Point], ...] = (
    # tissue, centre and half axes as shares of the length from nose to rump
    ("lung", (0.05, 0.01, 0.12), (0.05, 0.07, 0.09)),
    ("lung", (-0.05, 0.01, 0.12), (0.05, 0.07, 0.09)),
    ("myocardium", (-0.01, 0.05, 0.10), (0.04, 0.04, 0.05)),
    ("arterial blood", (-0.01, 0.05, 0.10), (0.02, 0.02, 0.03)),
    ("liver", (0.02, 0.03, 0.00), (0.10, 0.08, 0.05)),
    ("stomach content", (-0.06, 0.03, -0.05), (0.05, 0.05, 0.04)),
    ("kidney cortex", (0.06, -0.04, -0.09), (0.03, 0.03, 0.05)),
    ("kidney cortex", (-0.06, -0.04, -0.12), (0.03, 0.03, 0.05)),
    ("spleen", (-0.09, 0.00, -0.08), (0.012, 0.03, 0.05)),
    ("urine", (0.0, 0.06, -0.30), (0.03, 0.03, 0.03)),
)

ANIMAL_CROSS_SECTIONS = (
    # height, half width and half depth as shares of the length from nose to rump
    (-0.48, 0.02, 0.03),
    (-0.42, 0.09, 0.10),
    (-0.25, 0.14, 0.13),
    (-0.08, 0.14, 0.12),
    (0.08, 0.11, 0.11),
    (0.22, 0.08, 0.09),
    (0.32, 0.085, 0.08),
    (0.42, 0.06, 0.055),
    (0.50, 0.02, 0.02),
)

FINGER_PLACES = ((33.0, 70.0), (12.0, 80.0), (-9.0, 74.0), (-29.0, 58.0), (46.0, 62.0))
"""Distance from the middle of the palm and length of each, mm; last the thumb."""


def paint_rodent(rng: np.random.Generator) -> Iterator[Paint]:
    """A mouse, a rat or a guinea pig, its legs to the sides, with a tail or none."""
    return _paint_animal(log_uniform(60, 260, rng), 1.0, rng)


def paint_rabbit(rng: np.random.Generator) -> Iterator[Paint]:
    """A rabbit: large, with long ears and strong hind legs."""
    length_mm = rng.uniform(300, 450)
    for side in (1.0, -1.0):
        ear_line = [
            (side * 0.03, -0.03, 0.46),
            (side * 0.06, -0.08, 0.56),
            (side * 0.07, -0.13, 0.68),
        ]
        yield from _paint_flesh(_tube(length_mm, ear_line, [0.02, 0.025, 0.012]), 1.0)
    yield from _paint_animal(length_mm, 0.2, rng)


def _paint_animal(length_mm: float, tail_share: float, rng: np.random.Generator) -> Iterator[Paint]:
    """An animal of that length, with a tail of that share of it."""
    stoutness = rng.uniform(0.8, 1.25)
    fat_mm = length_mm * rng.uniform(0.003, 0.02)
    width_mm = length_mm * stoutness
    trunk = Loft(
        tuple(
            (
                z * length_mm,
                0.0,
                0.0,
                half_width * width_mm,
                half_depth * width_mm,
                half_depth * width_mm,
            )
            for z, half_width, half_depth in ANIMAL_CROSS_SECTIONS
        )
    )
    yield from _paint_limbs(length_mm, tail_share, rng)
    yield from _paint_flesh(trunk, fat_mm)
    body_cavity = trunk.shrink(0.025 * length_mm)
    belly = _ellipsoid(length_mm, (0.0, 0.01, -0.18), (0.11, 0.1, 0.2))
    yield _paint_tissue(belly & body_cavity, "visceral fat")
    for tissue, centre, half_axes in ANIMAL_ORGANS:
        centre_mm = np.array(centre) * length_mm * stoutness + rng.normal(0, 0.006 * length_mm, 3)
        half_axes_mm = np.array(half_axes) * length_mm * rng.uniform(0.8, 1.15, 3)
        organ = _ellipsoid(1.0, centre_mm, half_axes_mm)
        yield _paint_tissue(organ & body_cavity, tissue)
    for _ in range(rng.integers(8, 22)):
        loop_centre = rng.uniform((-0.08, -0.01, -0.32), (0.08, 0.08, -0.10))
        bowel_loop = _ellipsoid(length_mm, loop_centre, (0.025, 0.02, 0.02))
        loop_tissue = str(rng.choice(["bowel wall", "bowel fluid", "stool"]))
        yield _paint_tissue(bowel_loop & body_cavity, loop_tissue)
    brain = _ellipsoid(length_mm, (0.0, -0.02, 0.34), (0.05, 0.038, 0.065))
    yield _paint_tissue(brain.shrink(-0.008 * length_mm), "cortical bone")
    yield _paint_tissue(brain, "grey matter")
    spine_line = [(0.0, -0.065, z) for z in (-0.42, -0.2, 0.0, 0.2, 0.29)]
    yield _paint_tissue(_tube(length_mm, spine_line, 0.018), "red marrow")
    yield _paint_tissue(_tube(length_mm, spine_line, 0.006), "spinal cord")


def _paint_limbs(length_mm: float, tail_share: float, rng: np.random.Generator) -> Iterator[Paint]:
    """Four legs with a bone in each, and the tail, for an animal of that length, of which the tail
    is a share; 0: it has none."""
    for side in (1.0, -1.0):
        # shares of the length: height of the hip, thickness, and from the hip to the foot
        for hip_z, thickness, foot_drop in ((-0.34, 0.045, -0.12), (0.14, 0.03, 0.1)):
            hip = (side * 0.07, 0.0, hip_z)
            knee_x = side * rng.uniform(0.13, 0.2)
            knee = (knee_x, rng.uniform(-0.05, 0.1), hip_z + 0.4 * foot_drop)
            foot_x = side * rng.uniform(0.14, 0.26)
            foot = (foot_x, rng.uniform(0.02, 0.16), hip_z + foot_drop)
            limb_line = [hip, knee, foot]
            radii = np.array([1.3, 1.0, 0.4]) * thickness
            yield from _paint_flesh(_tube(length_mm, limb_line, radii), 0.004 * length_mm)
            yield _paint_tissue(_tube(length_mm, limb_line, 0.2 * thickness), "cortical bone")
    if tail_share:
        tail_bend = rng.uniform(-0.2, 0.2)
        tail_line = [
            (0, -0.04, -0.46),
            (tail_bend, -0.04, -0.46 - 0.5 * tail_share),
            (0, 0, -0.46 - tail_share),
        ]
        tail = _tube(length_mm, tail_line, [0.02, 0.014, 0.006])
        yield from _paint_flesh(tail, 0.002 * length_mm)


def paint_hand(rng: np.random.Generator) -> Iterator[Paint]:
    """A hand with its wrist: five fingers spread or closed, straight or bent, in any rotation."""
    finger_spread = rng.uniform(0, 1)
    bend_deg = rng.uniform(0, 35)
    scale = rng.uniform(0.8, 1.15)
    forearm = _tube(scale, [(0, 0, -40), (0, 0, -90), (0, 0, -150)], [26, 27, 31])
    wrist = _ellipsoid(scale, (0, 0, -95), (31, 20, 75), 0.3)
    yield from _paint_flesh(forearm & wrist, 2.0)
    yield from _paint_flesh(_ellipsoid(scale, (0, 0, 0), (42, 14, 50), 0.5), 2.0)
    for x in (11.0, -11.0):
        forearm_line = [(x, 0, -150), (x, 0, -90), (1.2 * x, 0, -62)]
        yield from _paint_bone(_tube(scale, forearm_line, [6, 6, 9]))
    for carpal_index in range(8):
        row_index, place_in_row = divmod(carpal_index, 4)
        carpal_centre = ((place_in_row - 1.5) * 12.0, 0, -52 + 11 * row_index)
        yield from _paint_bone(_ellipsoid(scale, carpal_centre, (6, 6, 6)))
    for finger_index, (base_x, finger_mm) in enumerate(FINGER_PLACES):
        is_thumb = finger_index == len(FINGER_PLACES) - 1
        bend_radians = float(np.deg2rad(bend_deg) * rng.uniform(0.6, 1.4))
        yield from _paint_finger(base_x, finger_mm, is_thumb, finger_spread, bend_radians, scale)


def _paint_finger(
    base_x: float,
    finger_mm: float,
    is_thumb: bool,
    spread: float,
    bend_radians: float,
    scale: float,
) -> Iterator[Paint]:
    """A finger `base_x` mm beside the middle of the palm, with its metacarpal and three phalanges,
    each bent forwards by `bend_radians` against the one before; `spread` 0 is closed, 1 spread, and
    all lengths are multiplied by `scale`."""
    lean_angle = np.deg2rad(0.5 * spread * base_x)
    knuckle = np.array([base_x, 0.0, 44.0])
    if is_thumb:
        lean_angle = np.deg2rad(50.0)
        knuckle = np.array([0.6 * base_x, 0.0, -25.0])
    bend_angle = 0.0
    joints = [knuckle]
    for length_share in (0.45, 0.32, 0.23):
        direction = np.array(
            [
                np.sin(lean_angle) * np.cos(bend_angle),
                np.sin(bend_angle),
                np.cos(lean_angle) * np.cos(bend_angle),
            ]
        )
        joints.append(joints[-1] + length_share * finger_mm * direction)
        bend_angle += bend_radians
    joint_line = np.array(joints) * scale
    yield from _paint_flesh(tube(joint_line, np.array([11.0, 10.0, 9.0, 7.0]) * scale), 1.6)
    for start_joint, end_joint in pairwise(joint_line):
        joint_gap = 0.12 * (end_joint - start_joint)
        yield from _paint_bone(tube([start_joint + joint_gap, end_joint - joint_gap], 4.6 * scale))
    palm_end = np.array([0.35 * base_x, 0.0, -38.0]) * scale
    yield from _paint_bone(tube([palm_end, joint_line[0]], 4.6 * scale))


def _ellipsoid(
    scale: float, centre: ArrayLike, half_axes: ArrayLike, squareness: float = 0.0
) -> Ellipsoid:
    """An ellipsoid whose centre (3,) and half axes (3,) are multiplied by `scale`."""
    x, y, z = (np.asarray(centre) * scale).tolist()
    half_x, half_y, half_z = (np.asarray(half_axes) * scale).tolist()
    return Ellipsoid((x, y, z), (half_x, half_y, half_z), squareness=squareness)


def _tube(scale: float, points: ArrayLike, radii: ArrayLike) -> Tube:
    """A tube whose points (n, 3) and radii, (n,) or one, are multiplied by `scale`."""
    return tube(np.multiply(points, scale), np.multiply(radii, scale))


def _paint_flesh(solid: Solid, fat_mm: float) -> list[Paint]:
    """Muscle under fat and skin."""
    skin_mm = max(0.8, 0.3 * fat_mm)
    return [
        _paint_tissue(solid.shrink(-fat_mm - skin_mm), "skin"),
        _paint_tissue(solid.shrink(-fat_mm), "fat"),
        _paint_tissue(solid, "muscle"),
    ]


def _paint_bone(solid: Solid) -> list[Paint]:
    """Cortex about fatty marrow."""
    return [
        _paint_tissue(solid, "cortical bone", 8),
        _paint_tissue(solid.shrink(1.3), "yellow marrow", 9),
    ]


def _paint_tissue(solid: Solid, tissue: str, layer: int = 0) -> Paint:
    """The solid filled with a tissue of the simulated body, in that layer."""
    return Paint(solid, label_of(tissue), layer)
