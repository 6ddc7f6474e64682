"""Hearts, breasts and the lesser pelvis are built as such organs are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.anatomy import heart, thorax, vessel_trees
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.anatomy.breast import GlandStrands, breast_dome
from fovnet.phantom.geometry.breast_solid import FLARED_SHARE, BreastSolid
from fovnet.phantom.geometry.raster import Grid, cut_into_pieces, rasterise
from fovnet.phantom.geometry.solids import Solid, Tube
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

PEOPLE = tuple(
    sample_person((5, number), frozenset(["varied bodies", "deformation"]))
    for number in range(1, 9)
)


def test_strands_of_a_breast_may_be_finer_and_frayed_and_fill_as_much_of_it() -> None:
    """Twice as fine: along lines they begin half again to three times as often; what they fill changes by
    less than a tenth."""
    dome = BreastSolid((80.0, 90.0, 1300.0), (50.0, 60.0), 100.0, (5.0, -20.0), 1.0, 1.0)
    box = (np.arange(45.0, 115, 0.4), np.arange(100.0, 170, 2), np.arange(1270.0, 1330, 2))
    x, y, z = (axis.astype(np.float32) for axis in np.meshgrid(*box, indexing="ij"))

    def filled_and_begun(fine: float, ragged: float) -> tuple[float, float]:
        inside = GlandStrands(dome, 0.15, 0.0, (0.3, 1.1, 2.0), fine, ragged).contains(x, y, z)
        return float(inside.mean()), float((inside[1:] & ~inside[:-1]).mean())

    plain, begun = filled_and_begun(1.0, 0.0)
    for ragged in (0.0, 0.5, 1.0):
        filled, more = filled_and_begun(2.0, ragged)
        assert 0.9 < filled / plain < 1.1
        assert 1.5 < more / begun < 3.0


def test_breasts_hang_when_prone_and_are_of_many_sizes() -> None:
    women = [
        replace(
            sample_person((7, number), frozenset(["varied bodies", "kinds of breasts"])),
            sex="female",
        )
        for number in range(40)
    ]
    lying, hanging = (
        np.array([breast_dome(replace(w, is_prone=prone), 1).length_mm for w in women])
        for prone in (False, True)
    )
    assert np.all(hanging > 1.4 * lying) and hanging.min() < 85 and hanging.max() > 120


def test_hanging_breasts_are_5_to_18_cm_long_and_some_are_squeezed_flat_and_some_have_a_broad_foot() -> (
    None
):
    people = [
        sample_person((7, number), frozenset(["varied bodies", "kinds of breasts"]))
        for number in range(60)
    ]
    women = [replace(person, sex="female", is_prone=True) for person in people]
    domes = [breast_dome(woman, 1) for woman in women]
    flat = [dome.half_size_mm[0] / dome.half_size_mm[1] < 0.75 for dome in domes]
    assert all(50 < dome.length_mm < 180 for dome in domes) and 8 < sum(flat) < 45
    # broad ones, half moons in axial cuts
    assert sum(dome.half_size_mm[0] > max(55, 0.85 * dome.length_mm) for dome in domes) > 8
    points = np.random.default_rng(0).uniform(-90, 90, (4000, 2)).astype(np.float32).T
    for dome in (
        next(d for d in domes if d.base_flare > 0.3),
        next(d for d in domes if d.base_flare < -0.15),
    ):
        at = [np.float32(dome.base[1] + share * dome.length_mm) for share in (0.0, FLARED_SHARE)]
        foot, column = (
            dome.contains(
                points[0] + dome.base[0], np.full(4000, y), points[1] + dome.base[2]
            ).sum()
            for y in at
        )
        assert foot > 1.15 * column if dome.base_flare > 0 else foot < 1.1 * column


@pytest.mark.parametrize("person", PEOPLE[:3])
def test_across_its_axis_the_left_ventricle_is_blood_in_a_ring_of_muscle(person: Person) -> None:
    """Kawel-Boehm et al. (2020), J Cardiovasc Magn Reson 22:87: walls of 5 to 12 mm, thicker when squeezed;
    cavities of 35 to 60 mm."""
    left = heart.draw_heart_shape(person).left_ventricle
    axes = np.eye(4)
    axes[:3, :3] = left.axes[:, [1, 2, 0]]
    axes[:3, 3] = np.asarray(left.centre) - 50 * (axes[:3, 0] + axes[:3, 1])
    labels = rasterise(
        cut_into_pieces([*thorax.paint_mediastinum(person), *heart.paint_heart_details(person)]),
        Grid((101, 101, 1), axes),
    )[..., 0]
    outwards = labels[50::-1, 50]  # between the papillary muscles to the free wall
    cavity = int(np.argmax(outwards == label_of("myocardium")))
    wall = np.count_nonzero(outwards == label_of("myocardium"))
    assert labels[50, 50] == label_of("arterial blood") and 9 <= cavity <= 36 and 4 <= wall <= 22
    # the right ventricle beside it
    assert np.count_nonzero(labels[70:, 40:61] == label_of("venous blood")) > 60


def test_ventricles_are_as_heavy_and_hold_as_much_as_in_people_well_and_ill() -> None:
    """Kawel-Boehm et al. (2020), J Cardiovasc Magn Reson 22:87: men's left ventricles weigh 121 ± 20 g and
    hold 160 ± 29 mL when full, right ones 169 ± 35 mL; squeezed ones hold a third of it, dilated and thick
    ones weigh up to three times as much.
    """
    affine = np.diag([3.0, 3.0, 3.0, 1.0])
    affine[:3, 3] = -140, -80, 1215
    x, y, z = Grid((80, 70, 60), affine).coordinates()
    sizes = []
    for person in (
        sample_person((9, number), frozenset(["varied bodies"])) for number in range(60)
    ):
        of = heart.draw_heart_shape(person)
        solids = (
            heart.bullet_solid(of.left_ventricle, of.left_ventricle),
            heart.bullet_solid(of.left_cavity, of.left_ventricle, 1.0),
            heart.right_cavity_solid(of),
        )
        outer, cavity, right = (solid.contains(x, y, z) for solid in solids)
        sizes.append(
            [np.count_nonzero(part) * 0.027 for part in (outer & ~cavity, cavity, right & ~outer)]
        )
    muscle, left, right = np.array(sizes).T
    assert (
        90 < np.median(muscle * 1.05) < 170
        and (muscle * 1.05).min() > 50
        and (muscle * 1.05).max() < 420
    )
    assert 80 < np.median(left) < 180 and left.min() > 12 and left.max() < 380
    assert 100 < np.median(right) < 230 and right.min() > 50 and right.max() < 420


def test_a_left_ventricle_is_widest_in_its_basal_third_and_open_at_its_valves() -> None:
    of = heart.draw_heart_shape(PEOPLE[0])
    muscle, cavity = (
        heart.bullet_solid(of.left_ventricle, of.left_ventricle),
        heart.bullet_solid(of.left_cavity, of.left_ventricle, 1.0),
    )
    wide = np.linspace(-2, 2, 401)

    def half_mm(solid: Solid, share: float) -> float:
        points = np.asarray(of.left_ventricle.centre) + np.array(
            [
                of.left_ventricle.axes
                @ (np.asarray(of.left_ventricle.half_axes_mm) * (share, 0, up))
                for up in wide
            ]
        )
        x, y, z = points.T.astype(np.float32)
        return float(
            np.count_nonzero(solid.contains(x, y, z)) * 0.005 * of.left_ventricle.half_axes_mm[2]
        )

    tip, middle, basal, base, beyond = (
        half_mm(muscle, share) for share in (-0.95, -0.3, 0.3, 0.75, 0.85)
    )
    assert tip < 0.5 * basal and middle < basal and base > 0.85 * basal and beyond == 0
    assert half_mm(cavity, 0.805) > 0  # no muscle closes it


def test_the_vessels_of_a_lung_fork_by_murrays_law_and_reach_all_of_it() -> None:
    """A mother's radius cubed is the sum of her daughters' (Murray (1926), Proc Natl Acad Sci 12:207)."""
    rng = np.random.default_rng(1)
    ends = rng.uniform(-50, 50, (64, 3))
    stems = vessel_trees.branch_vessels(np.array([-60.0, 0, 0]), ends, 1.0, rng)
    assert (
        len(stems) == 127 and isinstance(stems[0], Tube) and stems[0].radii[0] == pytest.approx(4.0)
    )
    tips = np.array([stem.points[-1] for stem in stems if isinstance(stem, Tube)])
    assert all(np.linalg.norm(tips - end, axis=1).min() < 1e-6 for end in ends)


@pytest.mark.parametrize("person", PEOPLE[:2])
def test_ribs_stand_in_the_wall_of_the_chest_and_no_lung_lies_about_them(person: Person) -> None:
    z = landmarks(person).liver_dome + 40
    affine = np.diag([1.5, 1.5, 1.5, 1.0])
    affine[:3, 3] = -200, -140, z
    labels = label_volume(person, Grid((266, 187, 1), affine)).labels[..., 0]
    bony = np.isin(labels, [label_of("cortical bone"), label_of("red marrow")])
    lung = labels == label_of("lung")
    behind = [
        column
        for column in range(266)
        if 50 < abs(column * 1.5 - 200) < 130 and bony[column, :90].any() and lung[column].any()
    ]
    # coming from the back, lung before rib
    outside = [column for column in behind if lung[column].argmax() < bony[column].argmax()]
    assert len(behind) > 15 and len(outside) < 0.15 * len(behind)


def test_the_floor_of_the_pelvis_is_a_thin_muscle_between_two_kinds_of_fat() -> None:
    person = next(p for p in PEOPLE if not p.is_female)
    z = person.morph.height_mm(880.0)
    axes = np.eye(4)
    axes[:3, 3] = (-50.0, person.morph.trunk_factors[1] * -20.0, z)
    row = label_volume(person, Grid((101, 1, 1), axes)).labels[:, 0, 0]
    muscle = row[10:90] == label_of("muscle")
    assert 2 <= np.count_nonzero(muscle[:33]) <= 14 and label_of("fat") in row
