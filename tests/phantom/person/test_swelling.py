"""Masses that push flesh aside: nothing folds over, areas are kept, heights stay, and what is painted is as
large as was drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.phantom.acquisition.field_kinds import LEG_MASS_FIELD, ScanRequest, draw_small_field
from fovnet.phantom.anatomy.body import label_volume, landmarks
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.person.swelling import CORE_SHARE, REACH_RADII, SWELLING_SHARE, Swelling
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.tissues import TISSUES

PUSH = Swelling((90.0, -10.0, 700.0), 50.0, 90.0)
NAMES = [tissue.name for tissue in TISSUES]


def along(direction: float, z: float) -> tuple[np.ndarray, np.ndarray]:
    """Distances from the axis, and what they were in the anatomy, along a ray at that height."""
    r = np.linspace(0.01, 260, 2000)
    x, y = PUSH.middle_mm[0] + r * np.cos(direction), PUSH.middle_mm[1] + r * np.sin(direction)
    back = PUSH.to_anatomy(x, y, np.full_like(r, z))
    return r, np.hypot(back[0] - PUSH.middle_mm[0], back[1] - PUSH.middle_mm[1])


@pytest.mark.parametrize("z", [612.0, 650.0, 700.0, 789.9])
def test_nothing_folds_over_and_far_away_nothing_moves(z: float) -> None:
    r, before = along(1.0, z)
    assert np.all(np.diff(before) > 0) and np.all(before <= r + 1e-3)
    far = r > REACH_RADII * PUSH.radius_at_height_mm(np.array(z))
    np.testing.assert_allclose(before[far], r[far], atol=1e-2)


def test_the_mass_is_stretched_from_its_core_and_flesh_beside_it_keeps_its_area() -> None:
    """Just outside of R the taper is 1 to a hundredth: a ring of r dr was one of ρ dρ."""
    r, before = along(2.0, PUSH.middle_mm[2])
    inside = r < PUSH.radius_mm
    np.testing.assert_allclose(before[inside], CORE_SHARE * r[inside], rtol=1e-3, atol=1e-3)
    ring = (r > PUSH.radius_mm) & (r < PUSH.radius_mm + 2)
    areas = np.diff(before[ring] ** 2) / np.diff(r[ring] ** 2)
    assert abs(areas.mean() - 1) < 0.15
    np.testing.assert_allclose(
        before[ring][0] ** 2, r[ring][0] ** 2 - (1 - CORE_SHARE**2) * PUSH.radius_mm**2, rtol=0.05
    )


def test_above_and_below_all_stays_to_the_bit() -> None:
    x, y, z = (
        np.array(values, dtype=np.float32) for values in ([80, 95], [-10, 4], [609.9, 790.1])
    )
    assert PUSH.to_anatomy(x, y, z)[0] is x and PUSH.to_anatomy(x, y, z)[1] is y


@given(st.tuples(*[st.floats(-1, 1)] * 6), st.tuples(*[st.floats(0, 1)] * 3))
def test_what_lies_in_a_box_of_the_anatomy_lies_in_the_swollen_one(
    corners: tuple[float, ...], share: tuple[float, ...]
) -> None:
    near = np.array(PUSH.middle_mm) + np.array([200, 200, 120]) * np.reshape(corners, (2, 3))
    box = np.stack([near.min(axis=0), near.max(axis=0)])
    (low, high), wide = PUSH.enclose(box[None])[0], np.array([400.0, 400.0, 0.0])
    x, y, z = (
        np.random.default_rng(int(1e6 * share[0])).uniform(box[0] - wide, box[1] + wide, (500, 3)).T
    )
    ax, ay = PUSH.to_anatomy(x, y, z)
    held = (ax >= box[0, 0]) & (ax <= box[1, 0]) & (ay >= box[0, 1]) & (ay <= box[1, 1])
    assert np.all(
        (x >= low[0] - 0.01) & (x <= high[0] + 0.01) & (y >= low[1] - 0.01) & (y <= high[1] + 0.01)
        | ~held
    )


@pytest.fixture(scope="module")
def somebody() -> Person:
    """A plain person with such a mass."""
    plain = frozenset({"deformation", "varied bodies", "lesions"})
    return next(
        person
        for person in (sample_person((4, number), plain) for number in range(99))
        if person.morph.swelling
    )


def test_the_mass_is_as_wide_as_drawn_and_the_leg_is_wider_for_it(somebody: Person) -> None:
    found = somebody.morph.swelling
    assert found is not None
    whole = replace(somebody, morph=replace(somebody.morph, swelling=None))
    affine = np.diag([2.0, 2.0, 2.0, 1.0])
    affine[:3, 3] = -280, -240, somebody.morph.height_mm(found.middle_mm[2])
    with_it, without = (
        label_volume(one, Grid((280, 240, 1), affine)).labels for one in (somebody, whole)
    )
    mass = [NAMES.index(name) for name in ("tumour", "watery tumour", "fluid of a lesion")]
    across, deep = somebody.morph.trunk_factors
    assert np.isin(with_it, mass).sum() * 4 == pytest.approx(
        np.pi * found.radius_mm**2 * across * deep, rel=0.5
    )
    assert (with_it > 0).sum() > (without > 0).sum()
    assert landmarks(somebody) == landmarks(whole)


def test_one_of_six_has_one_and_is_scanned_for_it() -> None:
    """SWELLING_SHARE of 600 people, give or take four standard deviations; half of their small fields of view are
    about it."""
    people = [sample_person((8, number)) for number in range(600)]
    having = [person for person in people if person.morph.swelling]
    assert abs(len(having) - 600 * SWELLING_SHARE) < 4 * np.sqrt(
        600 * SWELLING_SHARE * (1 - SWELLING_SHARE)
    )
    rng = np.random.default_rng(2)
    names = [
        draw_small_field(ScanRequest(person, landmarks(person), 1, frozenset()), rng).name
        for person in having[:40]
        for _ in range(3)
    ]
    assert 35 <= names.count(LEG_MASS_FIELD) <= 90
    assert not any(
        sample_person((8, number), frozenset({"masses in legs"})).morph.swelling
        for number in range(60)
    )
