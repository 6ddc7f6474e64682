"""Learning which way a body lies: from bodies of blocks that differ from front to back and from feet to
head."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

import fovnet.net.training.orientation as learning
from fovnet.decision.orientation import Orientation, bearing_of
from fovnet.maths.turns import RUN_OF_TURN, RUNS, TURNS, VIEWS
from fovnet.net.training.orientation import learn_orientation, turn_scores
from fovnet.volume.slices.planes import make_pictures
from fovnet.volume.slices.stack import cut_slices
from fovnet.volume.volume import Volume


def body(seed: int) -> np.ndarray:
    """(60, 60, 60) right, front, up: a trunk, narrower above, with a spine behind and a nose before its head;
    sizes differ."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.uniform(14, 18), rng.uniform(10, 13), rng.integers(-2, 3)
    x, y, z = np.meshgrid(*[np.arange(60) - 29.5] * 3, indexing="ij")
    wide = np.where(z < 8, 1.0, 0.5)
    voxels = 300.0 * ((x / (a * wide)) ** 2 + (y / (b * wide)) ** 2 < 1) * (np.abs(z) < 26)
    voxels += 700.0 * (np.hypot(x, y + b - 4) < 3) * (z < 8) * (np.abs(z) < 26)
    voxels[(np.abs(x) < 3) & (np.abs(y - 9) < 3) & (np.abs(z - 16 - c) < 3)] = 900
    return voxels.astype(np.float32)


def shown(voxels: np.ndarray) -> np.ndarray:
    """The pictures of a grid that claims to lie as a body does."""
    return make_pictures(
        cut_slices(Volume(voxels, np.diag([4.0, 4.0, 4.0, 1.0]), "body"), target_spacing_mm=4.0)
    )


@pytest.fixture(scope="module")
def known() -> Iterator[tuple[np.ndarray, Orientation]]:
    """Pictures of sixty bodies, and what was learned from them."""
    bodies = np.stack([shown(body(seed)) for seed in range(60)])
    tensors = learn_orientation(bodies, seed=1)
    count = len(tensors) // 2
    yield (
        bodies,
        Orientation(
            tuple(
                (tensors[f"layer{at}.weight"].numpy(), tensors[f"layer{at}.bias"].numpy())
                for at in range(count)
            )
        ),
    )


@pytest.mark.parametrize(
    ("turned", "runs"),
    [
        (lambda v: v, "feet to head"),
        (lambda v: v[::-1], "feet to head"),  # left and right look alike
        (lambda v: v[:, :, ::-1], "head to feet"),
        # the third axis is the second, which grows to the front
        (lambda v: v.transpose(0, 2, 1), "back to front"),
        (lambda v: v.transpose(0, 2, 1)[:, :, ::-1], "front to back"),
        (lambda v: v.transpose(1, 2, 0), "side to side"),
    ],
)
def test_bodies_not_learned_from_are_found_to_lie_as_they_do(
    turned, runs, known: tuple[np.ndarray, Orientation]
) -> None:
    bearings = [
        bearing_of(known[1].judge_turns(shown(np.ascontiguousarray(turned(body(seed))))[None])[0])
        for seed in (101, 102, 103)
    ]
    assert [one.direction for one in bearings] == [runs] * 3
    assert all((one.upright_probability > 0.5) == (runs == "feet to head") for one in bearings)


def test_the_arrays_answer_as_the_network_that_was_trained(
    known: tuple[np.ndarray, Orientation],
) -> None:
    """Against torch: layers, rectified in between, places averaged, views summed."""
    bodies, orientation = known
    seen = torch.from_numpy(learning.compute_outlines(bodies[:4].reshape(-1, 128, 128))).reshape(
        4, 3, 3, -1
    )
    for at, (weight, bias) in enumerate(orientation.layers):
        seen = torch.nn.functional.linear(seen, torch.from_numpy(weight), torch.from_numpy(bias))
        seen = seen if at == len(orientation.layers) - 1 else seen.relu()
    expected = turn_scores(seen.mean(dim=2)).log_softmax(dim=1)
    np.testing.assert_allclose(orientation.judge_turns(bodies[:4]), expected.numpy(), atol=1e-4)


def test_what_is_the_same_from_all_sides_lies_either_way(
    known: tuple[np.ndarray, Orientation],
) -> None:
    """Every plane of a ball shows one picture, so that all turns that ask the same views of it are equal;
    none is sure."""
    x, y, z = np.meshgrid(*[np.arange(60) - 29.5] * 3, indexing="ij")
    ball = shown((500.0 * (x**2 + y**2 + z**2 < 400)).astype(np.float32))
    turns = known[1].judge_turns(ball[None])[0]
    assert np.exp(turns).sum() == pytest.approx(1)
    assert np.exp(turns).max() < 0.9


def test_the_same_seed_gives_the_same_bits_whatever_the_threads_and_another_others(
    known: tuple[np.ndarray, Orientation],
) -> None:
    few, threads = known[0][:3], torch.get_num_threads()
    state = torch.random.get_rng_state()
    try:
        torch.set_num_threads(2)
        first = learn_orientation(few, seed=4)
        torch.set_num_threads(1)
        again, other = learn_orientation(few, seed=4), learn_orientation(few, seed=5)
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["layer0.weight"], other["layer0.weight"])
    assert torch.equal(torch.random.get_rng_state(), state)  # nobody else's draws have moved


def test_progress_ends_with_the_last_step() -> None:
    calls: list[tuple[int, int]] = []
    learn_orientation(
        np.stack([shown(body(1))] * 40), seed=1, progress=lambda done, of: calls.append((done, of))
    )
    assert calls[-1] == (112, 112) and calls[0] == (100, 112)  # 360 · 40 / 128


@pytest.mark.parametrize("turn", range(0, 24, 5))
def test_a_turn_is_scored_by_the_views_it_shows(turn: int) -> None:
    scores = torch.randn(2, 3, len(VIEWS), generator=torch.Generator().manual_seed(turn))
    expected = sum(scores[:, plane, TURNS[turn, plane]] for plane in range(3))
    torch.testing.assert_close(turn_scores(scores)[:, turn], expected)


def test_a_bearing_adds_up_the_turns_that_run_the_same_way() -> None:
    p = np.full(24, 1e-9)
    p[np.flatnonzero(RUN_OF_TURN == 0)] = 0.2, 0.1, 0.05, 0.05
    p[np.flatnonzero(RUN_OF_TURN == 3)] = 0.3, 0.1, 0.1, 0.1
    bearing = bearing_of(np.log(p))
    assert bearing.upright_probability == pytest.approx(0.4, abs=1e-6)
    assert bearing.direction == RUNS[3]
