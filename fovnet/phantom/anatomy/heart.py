"""Inner structure of the heart: papillary muscles, trabeculae, valves, outflow, coronary vessels in
their fat, pericardium."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.anatomy.layers import (
    Layer,
    Paints,
    paint,
    paint_all,
    paint_detail,
    paint_details,
)
from fovnet.phantom.anatomy.thorax import (
    heart_chamber,
    plain_left_ventricle,
    plain_right_cavity,
)
from fovnet.phantom.geometry.solids import Ellipsoid, HalfSpace, Point, Solid, tube
from fovnet.phantom.geometry.tissue_structure import Sheets
from fovnet.phantom.person.streams import Stream
from fovnet.phantom.person.traits import Person


def paint_heart_details(person: Person) -> Paints:
    """The structures in and on the ventricles and atria of this person, painted over a plain
    heart."""
    heart = draw_heart_shape(person)
    for paint_part in (
        _paint_epicardial_fat,
        _paint_right_ventricle,
        _paint_left_ventricle,
        _paint_atria,
    ):
        yield from paint_part(person, heart)
    yield from _paint_coronaries(person, heart.left_ventricle)


def left_ventricle_axis_mm(person: Person) -> NDArray[np.float64]:
    """(2, 3) mm of the person: the apex of the left ventricle, and the middle of its base."""
    ventricle = draw_heart_shape(person).left_ventricle
    apex = _point_in_ventricle(ventricle, -1.0, 0.0, 0.0)
    base = _point_in_ventricle(ventricle, 0.85, 0.0, 0.0)
    return _place_in_person(person, np.array([apex, base]))


def direction_to_right_ventricle(person: Person) -> NDArray[np.float64]:
    """(3,) unit vector, in the person: from the left ventricle to the right one, perpendicular to
    the left one's long axis."""
    ventricle = draw_heart_shape(person).left_ventricle
    # in shares of the ventricle's half axes: apex, base, middle, a point towards the right ventricle
    point_shares = ((-1.0, 0.0, 0.0), (0.85, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
    written_points = np.array([_point_in_ventricle(ventricle, *shares) for shares in point_shares])
    apex, base, middle, right_point = _place_in_person(person, written_points)
    axis_direction = (base - apex) / np.linalg.norm(base - apex)
    direction = (right_point - middle) - axis_direction * ((right_point - middle) @ axis_direction)
    return np.asarray(direction / np.linalg.norm(direction))


def _place_in_person(person: Person, written_points: NDArray[np.float64]) -> NDArray[np.float64]:
    """The points (n, 3) mm of the person that correspond to points (n, 3) of the written anatomy,
    by fixed-point iteration."""
    points = written_points.copy()
    for _ in range(12):  # bends are gentle: each step leaves less than half of the error
        x, y, z = (points[:, axis].astype(np.float32) for axis in range(3))
        points += written_points - np.stack(person.morph.to_anatomy(x, y, z), axis=1)
    return points


def _point_in_ventricle(
    ventricle: Ellipsoid, base_share: float, right_share: float, up_share: float
) -> Point:
    """The point (3,) mm at shares of the ventricle's half axes from its middle: towards its base,
    towards the right ventricle, and up."""
    axis_shares = (base_share, right_share, up_share)
    offset_mm = ventricle.axes @ (np.asarray(ventricle.half_axes_mm) * axis_shares)
    return tuple((ventricle.centre + offset_mm).tolist())


def _point_about_axis(
    ventricle: Ellipsoid, base_share: float, angle_rad: float, radius_share: float
) -> Point:
    """The point (3,) mm at a share of the way to the ventricle's base, and at a share of its radius
    in a direction round its long axis; the angle counts from the right ventricle."""
    right_share = radius_share * float(np.cos(angle_rad))
    up_share = radius_share * float(np.sin(angle_rad))
    return _point_in_ventricle(ventricle, base_share, right_share, up_share)


@dataclass(frozen=True)
class HeartShape:
    """The shape of a person's ventricles.

    left_ventricle      the left ventricle with its wall
    left_cavity         the space in it
    right_width_factor  width of the right ventricle relative to the usual one
    """

    left_ventricle: Ellipsoid
    left_cavity: Ellipsoid
    right_width_factor: float

    @property
    def size_factor(self) -> float:
        """The size of the heart relative to the written one."""
        return self.left_ventricle.half_axes_mm[1] / USUAL_HALF_AXES_MM[1]


BASE_SHARE = 0.8
"""Basal end of the left ventricle, in shares of its semi-axis from its middle: at the valves, where
it is still nearly at its widest."""


def bullet_solid(ellipsoid: Ellipsoid, left_ventricle: Ellipsoid, beyond_mm: float = 0.0) -> Solid:
    """An ellipsoid in or around the left ventricle turned into a bullet: elongated towards the base,
    and cut off `beyond_mm` beyond the basal end of the left ventricle.

    A ventricle is widest in its basal third; if it narrowed there, it would be surrounded by fat
    and atria where it really touches the lung.
    """
    half_length_mm, half_width_mm, half_height_mm = ellipsoid.half_axes_mm
    long_ellipsoid = replace(
        ellipsoid,
        centre=_point_in_ventricle(ellipsoid, 0.22, 0.0, 0.0),
        half_axes_mm=(1.22 * half_length_mm, half_width_mm, half_height_mm),
    )
    base_direction = left_ventricle.axes[:, 0]
    end_mm = (
        float(base_direction @ np.asarray(left_ventricle.centre))
        + BASE_SHARE * left_ventricle.half_axes_mm[0]
        + beyond_mm
    )
    return long_ellipsoid & HalfSpace(tuple(base_direction.tolist()), end_mm)


USUAL_HALF_AXES_MM = (45.0, 32.0, 33.0)  # of `thorax.plain_left_ventricle`, mm


class HeartKind(NamedTuple):
    """A kind of heart.

    share           of people who have it
    size_range      least and largest size of the left ventricle, 1 on average
    wall_range_mm   least and largest thickness of its wall
    """

    share: float
    size_range: tuple[float, float]
    wall_range_mm: tuple[float, float]


HEART_KINDS = {
    "usual": HeartKind(0.58, (0.92, 1.06), (5.5, 9.5)),
    "contracted": HeartKind(0.2, (0.88, 1.0), (10.0, 15.0)),
    "dilated": HeartKind(0.1, (1.06, 1.22), (5.0, 8.0)),
    "hypertrophic": HeartKind(0.07, (0.98, 1.1), (12.0, 18.0)),
    "thick septum": HeartKind(0.05, (0.96, 1.06), (10.0, 15.0)),
}


def draw_heart_shape(person: Person) -> HeartShape:
    """The ventricles of this person: the same at every call.

    Three hearts in five are usual, the others dilated, hypertrophic, with a thick septum, or
    contracted.

    Source of walls (5 to 12 mm in diastole) and cavities (41 to 62 mm): Kawel-Boehm et al. (2020),
    J Cardiovasc Magn Reson 22:87; dilated and hypertrophic hearts beyond them: Elliott et al.
    (2008), Eur Heart J 29:270 (walls from 15 mm).
    """
    rng = person.generator(Stream.HEART_SHAPE)
    plain_ventricle = plain_left_ventricle(person)
    kind_name = rng.choice(list(HEART_KINDS), p=[kind.share for kind in HEART_KINDS.values()])
    kind = HEART_KINDS[kind_name]
    size_factor = rng.uniform(*kind.size_range)
    half_axes_mm = plain_ventricle.half_axes_mm * (size_factor * rng.uniform(0.96, 1.04, 3))
    # more horizontal above a large belly
    mean_turn_deg = (0, 0, 0.25 * (person.fat_mm - 14))
    roll_deg, rise_deg, swing_deg = rng.normal(0, 1, 3) * (7, 5, 5) + mean_turn_deg
    added_turn_deg = (roll_deg, rise_deg, -np.clip(swing_deg, -12, 12))
    left_ventricle = replace(
        plain_ventricle,
        half_axes_mm=tuple(half_axes_mm),
        turn_deg=tuple(np.add(plain_ventricle.turn_deg, added_turn_deg).tolist()),
    )
    wall_mm = rng.uniform(*kind.wall_range_mm)
    added_septum_share = 0.3 if kind_name == "thick septum" else rng.uniform(-0.1, 0.2)
    shift_share = added_septum_share * wall_mm / half_axes_mm[1]  # away from the septum
    cavity_centre = _point_in_ventricle(left_ventricle, 0.0, -shift_share, 0.0)
    left_cavity = replace(left_ventricle, centre=cavity_centre).shrink(wall_mm)
    return HeartShape(left_ventricle, left_cavity, right_width_factor=rng.uniform(0.85, 1.25))


def _paint_left_ventricle(person: Person, heart: HeartShape) -> Paints:
    """The left ventricle: its wall, two papillary muscles of several heads, the trabeculae of the
    inner wall, and the mitral valve."""
    rng = person.generator(Stream.LEFT_VENTRICLE)
    left_ventricle = heart.left_ventricle
    cavity = heart.left_cavity
    yield paint(bullet_solid(left_ventricle, left_ventricle), "myocardium", Layer.VESSEL)
    yield paint(bullet_solid(cavity, left_ventricle, 1.0), "arterial blood", Layer.VESSEL)
    half_length_mm, half_width_mm, half_height_mm = left_ventricle.half_axes_mm
    base_space = Ellipsoid(
        _point_in_ventricle(left_ventricle, 0.85, 0.0, 0.0),
        (14.0, 0.55 * half_width_mm, 0.55 * half_height_mm),
        left_ventricle.turn_deg,
    )
    yield paint(base_space, "arterial blood", Layer.VESSEL)
    smooth_end_mm = 0.6 * half_length_mm  # the inner wall is smooth in its basal third
    trabecular_shell = bullet_solid(cavity, left_ventricle, -smooth_end_mm) - bullet_solid(
        cavity.shrink(4.0), left_ventricle, -smooth_end_mm
    )
    ridge_phases = (rng.uniform(0, 6), rng.uniform(0, 6), 1.0)
    trabecular_ridges = Sheets(
        trabecular_shell, wavelengths_mm=(26.0, 11.0, 11.0), level_width=0.35, phases=ridge_phases
    )
    yield paint_detail(trabecular_ridges, "myocardium", replaced_tissues="arterial blood")
    yield from _paint_trabeculae(cavity, person.generator(Stream.LEFT_VENTRICLE_TRABECULAE))
    for angle_deg in (125.0, 235.0):  # degrees from the septum: both are on the free wall
        yield from _paint_papillary_muscle(cavity, np.deg2rad(angle_deg + rng.normal(0, 9)), rng)
    valve_centre = _point_in_ventricle(left_ventricle, 0.72, 0.0, 0.0)
    valve_disc = Ellipsoid(valve_centre, (1.2, 15.0, 15.0), left_ventricle.turn_deg)
    valve_opening = Ellipsoid(valve_centre, (6.0, 5.0, 10.0))
    yield paint_detail(valve_disc - valve_opening, "tendon", replaced_tissues="arterial blood")


def _paint_trabeculae(cavity: Ellipsoid, rng: np.random.Generator) -> Paints:
    """Trabeculae carneae: 6 to 13 ridges 3 to 5 mm wide along the wall from near the apex, most of
    them to the middle of the cavity."""
    ridge_count = rng.integers(6, 14)
    for _ in range(ridge_count):
        angle_rad = rng.uniform(0, 2 * np.pi)
        top_share = rng.uniform(-0.2, 0.5)
        ridge_points = []
        for base_share in np.linspace(-0.85, top_share, 4):
            angle_rad += rng.normal(0, 0.08)
            wall_share = 0.93 * float(np.sqrt(1 - base_share**2))
            ridge_points.append(_point_about_axis(cavity, base_share, angle_rad, wall_share))
        radius_mm = rng.uniform(1.5, 2.5)
        ridge = tube(ridge_points, [radius_mm, radius_mm, radius_mm, 0.6 * radius_mm])
        yield paint_detail(ridge, "myocardium", replaced_tissues="arterial blood")


def _paint_papillary_muscle(
    cavity: Ellipsoid, muscle_angle_rad: float, rng: np.random.Generator
) -> Paints:
    """A papillary muscle at that angle from the septum: one to three heads side by side, from near
    the apex to the middle of the cavity."""
    head_count = rng.integers(1, 4)
    for _ in range(head_count):
        angle_rad = muscle_angle_rad + rng.normal(0, 0.17)
        tip_radius_share = rng.uniform(0.58, 0.76)
        root = _point_about_axis(cavity, -0.65, angle_rad, 0.72)
        tip = _point_about_axis(cavity, rng.uniform(0.1, 0.4), angle_rad, tip_radius_share)
        muscle_head = tube([root, tip], [rng.uniform(3.5, 5.5), rng.uniform(2.0, 3.5)])
        yield paint_detail(muscle_head, "myocardium", replaced_tissues="arterial blood")


def right_cavity_solid(heart: HeartShape, beyond_mm: float = 0.0) -> Solid:
    """The cavity of the right ventricle, wrapped around the left one: flat at the diaphragm and the
    sternum, wide at the base, thin at the apex.

    `beyond_mm` moves its surface outwards.  The left ventricle is painted over it later.
    """
    left_ventricle = heart.left_ventricle
    size_factor = heart.size_factor
    semi_axes = tuple(
        size_factor * semi_axis_mm + beyond_mm
        for semi_axis_mm in (46.0, 36.0 * heart.right_width_factor, 41.0)
    )
    cavity: Solid = Ellipsoid(
        _point_in_ventricle(left_ventricle, 0.14, 0.9, -0.18),
        semi_axes,
        left_ventricle.turn_deg,
        squareness=0.1,
    )
    # planes in the ventricle's axes: their normals, and distances from its middle
    diaphragm_plane = ((0.0, 0.2, -0.98), 32.0)
    sternum_plane = ((-0.36, 0.84, 0.4), 48.0 * heart.right_width_factor**0.7)
    for plane_normal, distance_mm in (diaphragm_plane, sternum_plane):
        unit_normal = np.asarray(plane_normal) / np.linalg.norm(plane_normal)
        turned_normal = left_ventricle.axes @ unit_normal
        offset_mm = (
            float(turned_normal @ np.asarray(left_ventricle.centre))
            + size_factor * distance_mm
            + beyond_mm
        )
        cavity = cavity & HalfSpace(tuple(turned_normal.tolist()), offset_mm)
    return cavity


def _paint_right_ventricle(person: Person, heart: HeartShape) -> Paints:
    """The right ventricle with a thin wall under fat, coarse trabeculae, the moderator band, and
    the outflow tract to the pulmonary trunk."""
    plain_cavity = plain_right_cavity(person)
    cavity = right_cavity_solid(heart)
    plain_remainder = plain_cavity.shrink(-3.5) - cavity
    replaced_tissues = ("myocardium", "visceral fat", "lung", "liver")
    yield paint(
        plain_remainder,
        "visceral fat",
        Layer.VESSEL,
        replaced_tissues=("venous blood", "myocardium"),
    )
    yield paint(right_cavity_solid(heart, 2.5), "myocardium", Layer.CONTENT)
    yield paint(cavity, "venous blood", Layer.VESSEL, replaced_tissues=replaced_tissues)
    ridge_phases = (*person.generator(Stream.RIGHT_VENTRICLE_RIDGES).uniform(0, 6, 2).tolist(), 0.5)
    trabecular_shell = cavity - right_cavity_solid(heart, -7.0)
    trabecular_ridges = Sheets(
        trabecular_shell, wavelengths_mm=(27.0, 15.0, 18.0), level_width=0.24, phases=ridge_phases
    )
    moderator_band = tube(
        [
            _point_in_ventricle(heart.left_ventricle, -0.4, 0.95, -0.2),
            _point_in_ventricle(heart.left_ventricle, -0.25, 1.5, -0.35),
        ],
        2.5,
    )
    yield from paint_details(
        (trabecular_ridges, moderator_band), "myocardium", replaced_tissues="venous blood"
    )
    yield from _paint_right_trabeculae(person, heart, cavity)
    outflow_points = [
        _point_in_ventricle(heart.left_ventricle, 0.3, 1.0, 0.5),
        (-20.0, 44.0, 1326.0),
        (-17.0, 34.0, 1340.0),
    ]
    outflow_tract = tube(outflow_points, [16.0, 15.0, 13.0], step_mm=12)
    yield paint(outflow_tract.shrink(-2.5), "myocardium", Layer.CONTENT)
    yield paint(outflow_tract, "venous blood", Layer.VESSEL)


def _paint_right_trabeculae(person: Person, heart: HeartShape, cavity: Solid) -> Paints:
    """4 to 9 coarse bundles 3 to 7 mm thick from the septum or the floor of the right ventricle to
    its free wall, most near the apex.

    One of them represents the anterior papillary muscle of the tricuspid valve.
    """
    rng = person.generator(Stream.RIGHT_VENTRICLE_TRABECULAE)
    bundle_count = rng.integers(4, 10)
    for _ in range(bundle_count):
        base_share = rng.uniform(-0.65, 0.2)
        up_share = rng.uniform(-0.9, 0.4)
        end_base_share = base_share + rng.normal(0.25, 0.2)
        end_right_share = rng.uniform(1.3, 2.0)
        end_up_share = up_share + rng.normal(0, 0.4)
        start = _point_in_ventricle(heart.left_ventricle, base_share, 0.95, up_share)
        end = _point_in_ventricle(
            heart.left_ventricle, end_base_share, end_right_share, end_up_share
        )
        bundle = tube([start, end], [rng.uniform(1.5, 3.5), rng.uniform(1.5, 2.5)])
        yield paint_detail(bundle & cavity, "myocardium", replaced_tissues="venous blood")


def _paint_epicardial_fat(person: Person, heart: HeartShape) -> Paints:
    """The diaphragm below the heart at any depth of breath, fat at the apex, the epicardial fat, and
    the pericardium around it.

    All fat is thicker in obese and old people: 1 to 7 mm on the right ventricle, on the left one 0
    to 5 mm.
    """
    usual_fat = 0.25 + 0.03 * person.fat_mm + 0.006 * (person.age - 40)
    fat_factor = float(np.clip(usual_fat, 0.1, 1.6)) * person.generator(
        Stream.EPICARDIAL_FAT
    ).uniform(0.7, 1.2)
    right_fat_mm = (1.5 + 3.0 * fat_factor) * person.generator(Stream.RIGHT_HEART_FAT).uniform(
        0.35, 1.1
    )
    left_ventricle = heart.left_ventricle
    size_factor = heart.size_factor
    diaphragm_axes = tuple(size_factor * semi_axis_mm for semi_axis_mm in (60.0, 52.0, 34.0))
    fat_axes = tuple(
        size_factor * semi_axis_mm
        for semi_axis_mm in (28.0 + 10.0 * fat_factor, 22.0 + 12.0 * fat_factor, 32.0)
    )
    diaphragm = Ellipsoid(
        _point_in_ventricle(left_ventricle, -0.05, 0.6, -1.5),
        diaphragm_axes,
        left_ventricle.turn_deg,
    )
    apical_fat = Ellipsoid(
        _point_in_ventricle(left_ventricle, -0.55, 1.1, -0.3), fat_axes, left_ventricle.turn_deg
    )
    yield paint(diaphragm, "muscle", Layer.CAVITY, replaced_tissues="lung")
    yield paint(apical_fat, "visceral fat", Layer.CAVITY, replaced_tissues=("lung", "muscle"))
    replaced_tissues = ("lung", "muscle", "liver", "visceral fat", "tendon")
    left_with_fat = _draw_left_ventricle_with_fat(person, left_ventricle, 3.0 * fat_factor)
    # the pericardium is what is left of a solid 1.2 mm larger, painted first
    for tissue, added_mm in (("tendon", 1.2), ("visceral fat", 0.0)):
        left_solid = bullet_solid(
            left_with_fat.shrink(-added_mm), left_ventricle, beyond_mm=4.0 + added_mm
        )
        right_solid = right_cavity_solid(heart, beyond_mm=2.5 + right_fat_mm + added_mm)
        yield from paint_all(
            (left_solid, right_solid), tissue, Layer.ORGAN, replaced_tissues=replaced_tissues
        )


def _draw_left_ventricle_with_fat(
    person: Person, left_ventricle: Ellipsoid, fat_mm: float
) -> Ellipsoid:
    """The left ventricle enlarged by its epicardial fat: `fat_mm` at its grooves, mostly less on the
    free wall, which touches the lung.

    On the free wall of four hearts in five it is 0 to a third of that (Rabkin (2007), Obes Rev
    8:253: fat lies in the grooves, on the free wall of the right ventricle, and over all of the
    heart only in large amounts).
    """
    rng = person.generator(Stream.LEFT_VENTRICLE_FAT)
    free_wall_range = (0.33, 1.0)
    if rng.random() < 0.8:
        free_wall_range = (0.0, 0.33)
    free_wall_mm = 0.5 + fat_mm * rng.uniform(*free_wall_range)
    half_length_mm, half_width_mm, half_height_mm = left_ventricle.half_axes_mm
    septal_shift_mm = (fat_mm + 0.5 - free_wall_mm) / 2
    septal_shift_share = septal_shift_mm / half_width_mm
    return replace(
        left_ventricle,
        centre=_point_in_ventricle(left_ventricle, 0.0, septal_shift_share, 0.0),
        half_axes_mm=(
            half_length_mm + free_wall_mm,
            half_width_mm + free_wall_mm + septal_shift_mm,
            half_height_mm + (fat_mm + free_wall_mm) / 2,
        ),
    )


def _paint_atria(person: Person, heart: HeartShape) -> Paints:
    """The left auricle, four pulmonary veins, and the aortic root between the atria."""
    left_auricle = heart_chamber(person, (-14, -8, 28), (13, 18, 12), is_turned=False)
    yield paint(left_auricle.shrink(-2.0), "myocardium", Layer.CONTENT)
    yield paint(left_auricle - heart.left_ventricle, "arterial blood", Layer.VESSEL)
    left_atrium = heart_chamber(person, (22, -28, 12), (32, 20, 26), is_turned=False)
    atrium_x, atrium_y, atrium_z = left_atrium.centre
    for side in (1, -1):
        for offset_z in (10.0, -10.0):
            vein_points = [
                (atrium_x + 22.0 * side, atrium_y - 6, atrium_z + offset_z),
                (atrium_x + 48.0 * side, atrium_y - 22, atrium_z + 1.6 * offset_z),
            ]
            pulmonary_vein = tube(vein_points, [7.0, 5.0])
            yield paint(pulmonary_vein, "arterial blood", Layer.VESSEL)
    aortic_valve = heart_chamber(person, (18, 2, 11), (1, 1, 1)).centre
    aortic_root = tube([aortic_valve, (-4, 8, 1325), (6, 20, 1362)], [14.0, 16.0, 15.0], step_mm=12)
    yield paint(aortic_root.shrink(-1.8), "myocardium", Layer.VESSEL)
    yield paint(aortic_root, "arterial blood", Layer.VESSEL)


def _paint_coronaries(person: Person, left_ventricle: Ellipsoid) -> Paints:
    """The grooves between the chambers, filled with fat in which the coronary vessels run: two
    between the ventricles, and a ring between ventricles and atria."""
    fat_mm = 1.5 + 0.10 * person.fat_mm + 0.04 * max(person.age - 30, 0)
    for up_share, right_share in ((0.85, 0.55), (-0.85, 0.5)):  # above and below
        groove_points = [
            _point_in_ventricle(left_ventricle, base_share, right_share, up_share)
            for base_share in (0.7, 0.2, -0.4)
        ]
        groove_fat = tube(groove_points, [fat_mm + 2.5, fat_mm + 1.5, fat_mm])
        yield paint(groove_fat, "visceral fat", Layer.VESSEL, replaced_tissues="myocardium")
        coronary_artery = tube(groove_points, [2.0, 1.7, 1.2])
        yield paint_detail(coronary_artery, "arterial blood")
    ring_points = [
        _point_about_axis(left_ventricle, 0.78, angle_rad, 1.05)
        for angle_rad in np.linspace(0, 2 * np.pi, 13)
    ]
    ring_fat = tube(ring_points, fat_mm + 1.0)
    coronary_sinus = tube(ring_points, 1.8)
    yield paint(ring_fat, "visceral fat", Layer.VESSEL, replaced_tissues="myocardium")
    yield paint_detail(coronary_sinus, "venous blood", replaced_tissues="visceral fat")
