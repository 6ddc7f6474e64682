"""Fields of view fitted to the body, and sizes that tell nothing of the organ."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest

from fovnet.phantom.body import landmarks
from fovnet.phantom.families import FAMILIES, SMALL, Family
from fovnet.phantom.fields import AIR_MM, LATTICE_MM, SIZES_MM, fitted, outline_mm
from fovnet.phantom.person import Person, sample_person
from fovnet.phantom.protocols import SITES, Plan, plan
from fovnet.phantom.regrid import slice_axis

KNOWN = {family.name: family for family in (*FAMILIES, *SMALL)}


@pytest.fixture(scope="module")
def person() -> Person:
    return sample_person((3, 2), frozenset({"deformation"}))


def planned(person: Person, family: Family, number: int = 1) -> Plan:
    return plan(person, landmarks(person), family, SITES[0], np.random.default_rng(number))


def sides_mm(acquired: Plan) -> np.ndarray:
    """Sides of the pictures, without the extent across the slices."""
    sides = np.linalg.norm(acquired.grid.vox_to_ras[:3, :3], axis=0) * acquired.grid.shape
    return np.delete(sides, slice_axis(acquired))


def test_sizes_of_freed_fields_tell_nothing_of_the_organ(person: Person) -> None:
    """Hearts and prostates have the same distribution, uniform in the logarithm; about one in three is freed."""
    sizes = {}
    for name in ("heart, close", "prostate, close"):
        before = planned(person, KNOWN[name])
        after = [fitted(before, person, np.random.default_rng([5, number])) for number in range(400)]
        freed = [one for one in after if one is not before]
        assert 100 < len(freed) < 170 and all(one.grid.shape == before.grid.shape for one in freed)
        sizes[name] = np.log([sides_mm(one).max() for one in freed])
        low, high = np.log(SIZES_MM)
        assert kstest(sizes[name], "uniform", (low, high - low)).pvalue > 1e-3
    assert ks_2samp(*sizes.values()).pvalue > 1e-3


def test_the_middle_of_the_organ_stays_in_the_picture(person: Person) -> None:
    before = planned(person, KNOWN["heart, close"])
    middle = before.grid.vox_to_ras @ [*((np.asarray(before.grid.shape) - 1) / 2), 1.0]
    for number in range(60):
        grid = fitted(before, person, np.random.default_rng([6, number])).grid
        place = np.linalg.solve(grid.vox_to_ras, middle)[:3]
        assert np.all(place > 0) and np.all(place < np.asarray(grid.shape) - 1)


def test_fields_across_the_trunk_end_about_the_skin(person: Person) -> None:
    """From back to front, within 2 cm of it or up to 14 cm beyond; the slices stay where they are."""
    before = planned(person, KNOWN["abdomen"])
    outline = outline_mm(person, before.grid)
    assert outline is not None and 250 < np.ptp(outline[0]) < 700 and 120 < np.ptp(outline[1]) < 450
    changed = 0
    for number in range(24):
        after = fitted(before, person, np.random.default_rng([7, number])).grid
        if after is before.grid:
            continue
        changed += 1
        ends = (after.vox_to_ras @ np.array([[0, -0.5, 0, 1], [0, after.shape[1] - 0.5, 0, 1]]).T)[1]
        beyond = np.array([outline[1][0] - ends[0], ends[1] - outline[1][1]])
        assert np.all(beyond > -20 - LATTICE_MM) and np.all(beyond < AIR_MM + LATTICE_MM)
        assert after.shape[2] == before.grid.shape[2]
    assert 6 <= changed <= 18


@pytest.mark.parametrize("name", ["spine, lumbar", "breast, one"])
def test_cut_outs_of_the_spine_and_breasts_in_their_coil_stay_as_they_are(person: Person, name: str) -> None:
    before = planned(person, KNOWN[name])
    assert all(fitted(before, person, np.random.default_rng([8, number])) is before for number in range(12))
