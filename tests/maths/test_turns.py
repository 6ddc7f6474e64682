"""The turns of a body, against a body that is turned: an array whose axes are moved by numpy."""

from itertools import permutations, product

import numpy as np
import pytest

from fovnet.maths.turns import (
    MOVES,
    PLANES,
    RUN_OF_TURN,
    RUNS,
    SOURCES,
    TURNS,
    VIEWS,
    move_view,
    views_of_planes,
    without_sides,
)

SIZE = 5


def picture(body, plane):
    """The sum over a plane's normal of a body (x, y, z), rows and columns as PLANES has them."""
    (rows, down), (columns, right) = PLANES[plane]
    normal = 3 - rows - columns
    flat = body.sum(axis=normal)
    flat = flat if rows < columns else flat.T
    return flat[:: int(np.sign(down)), :: int(np.sign(right))]


def moved(shown, move):
    """A picture laid otherwise."""
    transposed, rows, columns = move
    shown = shown.T if transposed else shown
    return shown[:: -1 if rows else 1, :: -1 if columns else 1]


@pytest.fixture(scope="module")
def body():
    """One whose left is the mirror of its right, and that has no other symmetry."""
    half = np.random.default_rng(3).random((SIZE, SIZE, SIZE))
    return half + half[::-1]


@pytest.mark.parametrize("axes", list(permutations(range(3))))
@pytest.mark.parametrize("signs", list(product((1, -1), repeat=3)))
def test_every_plane_of_a_turned_body_shows_the_listed_view(body, axes, signs):
    turned = body.transpose(axes)[:: signs[0], :: signs[1], :: signs[2]]
    for plane, view in enumerate(views_of_planes(tuple(zip(axes, signs, strict=True)))):
        source, move = SOURCES[view]
        np.testing.assert_allclose(
            picture(turned, plane), moved(picture(body, source), MOVES[move]), rtol=1e-12
        )


def test_of_48_ways_24_look_different_and_of_the_pictures_16():
    ways = {
        views_of_planes(tuple(zip(axes, signs, strict=True)))
        for axes in permutations(range(3))
        for signs in product((1, -1), repeat=3)
    }
    assert ways == {tuple(turn) for turn in TURNS.tolist()}
    assert TURNS.shape == (24, 3)
    assert set(TURNS.ravel().tolist()) == set(range(len(VIEWS)))
    assert len(VIEWS) == 16


def test_the_first_turn_is_none():
    assert tuple(VIEWS[view] for view in TURNS[0]) == PLANES
    assert RUNS[RUN_OF_TURN[0]] == "feet to head"


@pytest.mark.parametrize(
    ("turn", "runs"),
    [
        (((0, 1), (1, -1), (2, -1)), "head to feet"),
        (((0, 1), (2, -1), (1, 1)), "front to back"),
        (((0, -1), (2, 1), (1, -1)), "back to front"),
        (((1, 1), (2, 1), (0, -1)), "side to side"),
    ],
)
def test_what_the_slices_of_a_turned_grid_run_along(turn, runs):
    at = TURNS.tolist().index(list(views_of_planes(turn)))
    assert RUNS[RUN_OF_TURN[at]] == runs


def test_as_many_turns_run_up_as_down_and_to_the_side_as_both():
    assert np.bincount(RUN_OF_TURN).tolist() == [4, 4, 4, 4, 8]


def test_moves_are_the_eight_ways_to_lay_a_picture():
    view = ((2, -1), (1, 1))
    assert len({move_view(view, move) for move in MOVES}) == 8
    assert without_sides(((0, -1), (2, 1))) == ((0, 1), (2, 1))
