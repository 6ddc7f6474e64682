"""Bottles of water, as scanned for quality assurance, are no part of a body; bodies are no bottles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers, sampled_from

from fovnet.decision.checks.phantom import resembles_phantom, roundness
from fovnet.decision.judge import Judge, MemberOutputs
from fovnet.decision.rule import Rule
from fovnet.phantom.collection import simulate_collection
from fovnet.phantom.oddities import BOTTLES, INSERT, make_oddity
from fovnet.records import read_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.slices.stack import SliceStack, cut_slices, slice_volume
from fovnet.volume.volume import Volume

SIDE = 64
PLACES = np.stack(np.meshgrid(*[np.linspace(-1, 1, SIDE)] * 3, indexing="ij"))


def bottle(
    shape: str,
    size: tuple[float, float],
    rim: float,
    tilt: tuple[float, float],
    noise: float,
    seed: int,
) -> SliceStack:
    """Water in a field of view of 2 × 2 × 2: half axes `size` across and along, `rim` times brighter at the
    rim than in the middle, brighter towards one side by `tilt`; Rician noise."""
    x, y, z = PLACES
    across, along = size
    radius = {
        "upright cylinder": np.where(np.abs(z) < along, np.hypot(x, y) / across, 2.0),
        "lying cylinder": np.where(np.abs(x) < along, np.hypot(y, z) / across, 2.0),
        "sphere": np.sqrt(x**2 + y**2 + z**2) / across,
        "flattened sphere": np.sqrt(x**2 + (y / 0.8) ** 2 + z**2) / across,
        "box": np.maximum(np.maximum(np.abs(x), np.abs(y)) / across, np.abs(z) / along),
    }[shape]
    water = (
        (radius < 1)
        * (1 + (rim - 1) * np.minimum(radius, 1) ** 2)
        * (1 + tilt[0] * x)
        * (1 + tilt[1] * y)
    )
    rng = np.random.default_rng(seed)
    voxels = np.hypot(
        1000 * water + rng.normal(0, noise, water.shape), rng.normal(0, noise, water.shape)
    ).astype(np.float32)
    return cut_slices(Volume(voxels, np.diag([4.0, 4.0, 4.0, 1.0]), shape))


@settings(max_examples=25)
@given(
    sampled_from(["upright cylinder", "lying cylinder", "sphere", "flattened sphere", "box"]),
    floats(0.35, 0.85),
    floats(0.4, 0.9),
    floats(0.8, 2.2),
    floats(-0.3, 0.3),
    floats(-0.3, 0.3),
    floats(2.0, 50.0),
    integers(0, 99),
)
def test_water_is_a_phantom_whatever_its_vessel_its_shading_and_its_noise(
    shape, across, along, rim, left, front, noise, seed
):
    assert resembles_phantom(bottle(shape, (across, along), rim, (left, front), noise, seed).pixels)


@pytest.mark.parametrize("kind", [*BOTTLES, INSERT])
@pytest.mark.parametrize("number", range(5))
def test_bottles_as_a_scanner_shows_them_are_phantoms(kind, number):
    assert resembles_phantom(
        cut_slices(make_oddity(kind, np.random.default_rng([3, number]))).pixels
    )


@pytest.mark.slow
def test_simulated_people_are_none(tmp_path):
    table = simulate_collection(tmp_path, subjects=3, volumes_per_subject=2, seed=4)
    people = [row for row in read_tsv(table) if row["field_of_view"] != "no body"]
    assert len(people) == 4 and not any(
        resembles_phantom(slice_volume(tmp_path / row["path"]).pixels) for row in people
    )


def test_a_phantom_named_as_a_region_is_doubted_and_one_named_none_is_not():
    stack = bottle("upright cylinder", (0.6, 0.9), 1.8, (0.1, 0.0), 10.0, 1)
    judge = Judge(DEFAULT, Rule(sigma_mm=4.5))
    for region, doubted in (("legs", True), ("none", False)):
        members = np.full((2, len(stack.pixels), len(DEFAULT.classes)), 0.002, dtype=np.float32)
        members[:, :, DEFAULT.classes.index(region)] = 0.988
        given = judge.answer("bottle", "", MemberOutputs(members), stack)
        assert ("phantom" in given.code_text.split()) == doubted
        assert given.status == ("uncertain" if doubted else "ok")


def test_nothing_but_air_is_no_phantom():
    assert not resembles_phantom(np.zeros((9, 128, 128), dtype=np.uint8))


def test_what_goes_on_beyond_the_picture_is_none():
    """A tight box around muscle is as smooth as water."""
    pixels = bottle("upright cylinder", (0.6, 0.9), 1.2, (0.0, 0.0), 20.0, 2).pixels
    assert resembles_phantom(pixels) and not resembles_phantom(np.roll(pixels, 40, axis=1))


def test_a_disc_is_round_and_a_square_is_not():
    i, j = np.ogrid[:128, :128]
    assert roundness((i - 60) ** 2 + (j - 70) ** 2 < 40**2) > 0.99
    assert roundness((np.abs(i - 60) < 30) & (np.abs(j - 70) < 30)) == pytest.approx(0.83, abs=0.02)
