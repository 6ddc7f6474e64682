"""Breasts of a kind hold what was drawn for them: volume, gland, muscle behind, what is found in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fovnet.phantom.anatomy import breast_findings, gland
from fovnet.phantom.anatomy.body import label_volume
from fovnet.phantom.anatomy.pectoral import draw_pectoral_front
from fovnet.phantom.anatomy.trunk import muscular_trunk
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.geometry.solids import Floats
from fovnet.phantom.person.breast_shapes import (
    LEAST_ML,
    MOST_ML,
    NO_PLATE,
    BreastShape,
    breast_shape,
    draw_bust,
    draw_volume_ml,
    has_shaped_breasts,
)
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import label_of

PEOPLE = [sample_person((8, number)) for number in range(1, 121)]
WOMEN = [replace(person, is_prone=True) for person in PEOPLE if has_shaped_breasts(person)]
MM = 2.5


def lattice(whole: BreastShape) -> tuple[Floats, Floats, Floats]:
    """Points MM apart about a breast, in the written anatomy."""
    low, high = whole.box
    x, y, z = np.meshgrid(
        *(np.arange(a - 6, b + 6, MM, dtype=np.float32) for a, b in zip(low, high, strict=True)),
        indexing="ij",
    )
    return x, y, z


def test_three_women_of_four_have_breasts_of_a_kind_and_nobody_else() -> None:
    women = [person for person in PEOPLE if person.is_female]
    assert 0.62 < np.mean([person.has_own_breasts for person in women]) < 0.88
    assert not any(person.has_own_breasts for person in PEOPLE if not person.is_female)
    assert not any(
        has_shaped_breasts(replace(woman, missing_parts=frozenset(["natural breasts"])))
        for woman in women
    )
    assert not has_shaped_breasts(replace(WOMEN[0], age=9.0))
    plain = sample_person(WOMEN[0].seed, frozenset(["kinds of breasts"]))
    assert replace(plain, has_own_breasts=True) == sample_person(WOMEN[0].seed)


@pytest.mark.parametrize("prone", [True, False])
def test_a_breast_holds_the_millilitres_that_were_drawn(prone: bool) -> None:
    volumes = [draw_volume_ml(woman, side) for woman in WOMEN for side in (1, -1)]
    assert (
        min(volumes) < 150
        and max(volumes) > 1000
        and all(LEAST_ML <= ml <= MOST_ML for ml in volumes)
    )
    for woman in WOMEN[:8]:
        whole = breast_shape(replace(woman, is_prone=prone), -1)
        x, y, z = lattice(whole)
        held_ml = (whole.contains(x, y, z) & (y >= whole.base[1])).sum() * MM**3 / 1000
        assert held_ml == pytest.approx(draw_volume_ml(woman, -1), rel=0.15)


def test_left_and_right_follow_one_law() -> None:
    """Half of the right breasts are the larger ones; nipples point outwards on both sides as often, and as
    far."""
    more = np.array(
        [np.log(draw_volume_ml(woman, 1) / draw_volume_ml(woman, -1)) for woman in WOMEN]
    )
    assert abs(more.mean()) < 3 * more.std() / np.sqrt(len(more)) and more.std() > 0.05
    out = np.array(
        [[side * breast_shape(woman, side).lean_mm[0] for side in (1, -1)] for woman in WOMEN]
    )
    assert abs(out[:, 0] - out[:, 1]).max() < 0.5 * np.abs(out).max()
    assert all(side * breast_shape(woman, side).base[0] > 60 for woman in WOMEN for side in (1, -1))


def test_hanging_breasts_are_of_all_shapes_and_some_are_pressed_flat() -> None:
    domes = [breast_shape(woman, 1) for woman in WOMEN]
    slender = np.array([dome.length_mm / dome.half_size_mm[0] for dome in domes])
    assert slender.min() < 0.7 and slender.max() > 1.6
    dome = next(dome for dome in domes if dome.plate_shares[0] < NO_PLATE)
    x, y, z = lattice(dome)
    inside = dome.contains(x, y, z)
    for share in (0.45, 0.6, 0.75):
        at = int((share * dome.length_mm + dome.base[1] - y[0, 0, 0]) / MM)
        wide = inside[:, at].sum(axis=0).max() * MM
        assert (
            wide == pytest.approx(2 * dome.plate_shares[0] * dome.half_size_mm[0], abs=2 * MM)
            or dome.squared_radii[int(share * 256)] < dome.plate_shares[0] ** 2
        )


def test_gland_fills_the_share_that_was_drawn_and_is_no_dust() -> None:
    """Of the six neighbours of a voxel of gland, 2.5 mm away, six in seven are gland too where there is a
    third of it or more."""
    for woman in WOMEN[:8]:
        chest = draw_pectoral_front(woman, muscular_trunk(woman))
        made, both = gland.draw_gland(woman, 1, chest), draw_bust(woman)
        x, y, z = lattice(made.region)
        breast = (
            made.region.contains(x, y, z)
            & (y > chest.front_mm(x, z))
            & (y >= made.region.base[1] - 25)
        )
        filled = made.contains(x, y, z) & breast
        assert filled.sum() / breast.sum() == pytest.approx(both.gland_share, abs=0.03)
        beside = [
            np.roll(filled, step, axis)[filled].mean() for axis in range(3) for step in (1, -1)
        ]
        assert np.mean(beside) > (0.85 if both.gland_share > 0.33 else 0.6)


def test_gland_keeps_from_the_muscle_and_the_skin_unless_it_is_nearly_all_there_is() -> None:
    for woman in [woman for woman in WOMEN if 0.1 < draw_bust(woman).gland_share < 0.4][:6]:
        chest = draw_pectoral_front(woman, muscular_trunk(woman))
        made = gland.draw_gland(woman, -1, chest)
        x, y, z = lattice(made.region)
        filled = made.contains(x, y, z)
        ahead = (y - chest.front_mm(x, z))[filled]
        assert np.mean(ahead < 0.3 * made.fat_behind_mm) < 0.06
        out = np.sqrt(made.region.level(*made.region.to_shares(x, y, z)))
        assert np.mean(out[filled] > 0.95) < 0.05


def test_pectoral_muscles_are_5_to_20_mm_thick_and_thinner_below_and_towards_the_middle() -> None:
    x, z = np.meshgrid(
        np.arange(40, 125, 5, dtype=np.float32), np.arange(1285, 1385, 5, dtype=np.float32)
    )
    thick = np.array(
        [
            9.0 + draw_pectoral_front(woman, muscular_trunk(woman)).addition_mm(x, z)
            for woman in WOMEN
        ]
    )
    assert thick.min() >= 5.0 and thick.max() <= 20.0 and thick.std(axis=0).mean() > 1.5
    mean = thick.mean(axis=0)
    assert mean[-5:, -5:].mean() > mean[:5, :5].mean() + 2


def test_findings_are_in_fat_and_gland_and_come_in_most_who_are_asked_to_lie_prone() -> None:
    women = [replace(woman, age=50.0) for woman in WOMEN]
    hanging, lying = (
        [list(breast_findings.paint_breast_findings(replace(w, is_prone=prone))) for w in women]
        for prone in (True, False)
    )
    assert sum(map(bool, hanging)) > 0.5 * len(women) > 1.5 * sum(map(bool, lying))
    soft = {label_of(name) for name in ("fat", "gland", "tumour")}
    assert all(set(paint.paintable_labels) <= soft for paints in hanging for paint in paints)
    assert not list(breast_findings.paint_breast_findings(replace(WOMEN[0], age=20.0)))


def grid_about(woman: Person) -> Grid:
    affine = np.diag([4.0, 4.0, 4.0, 1.0])
    affine[:3, 3] = -200, -40, woman.morph.height_mm(1250.0)
    return Grid((100, 85, 40), affine)


def test_what_is_drawn_with_the_breasts_leaves_everything_within_the_chest_as_it_was() -> None:
    woman = WOMEN[0]
    grid = grid_about(woman)
    own, plain = (
        label_volume(replace(woman, has_own_breasts=own), grid, frozenset(["lesions"])).labels
        for own in (True, False)
    )
    changed = np.argwhere(own != plain) @ grid.vox_to_ras[:3, :3].T + grid.vox_to_ras[:3, 3]
    deep = np.isin(
        plain,
        [
            label_of(name)
            for name in (
                "lung",
                "liver",
                "myocardium",
                "arterial blood",
                "red marrow",
                "cortical bone",
            )
        ],
    )
    assert np.array_equal(own[deep], plain[deep]) and changed[:, 1].min() > -30
