"""The orientations in which a body may lie in a volume with wrong axis labels, and what the three
planes then show.

    axis    0 across the body, 1 from front to back, 2 from feet to head
    plane   0 axial, 1 sagittal, 2 coronal
    view    what a picture shows: (axis, sign) along its rows, and along its columns
    turn    an orientation
    move    (transposed, rows reversed, columns reversed), in this order: one of the eight
            symmetries of a picture

A grid's axes may be a body's in 3! orders and 2³ directions.  Left and right look alike, so that 24
of 48 orientations are distinguishable, and 16 of 24 views.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

Axis = tuple[int, int]
View = tuple[Axis, Axis]
Move = tuple[int, int, int]

ACROSS = 0
PLANES: tuple[View, ...] = (((1, 1), (0, 1)), ((2, -1), (1, 1)), ((2, -1), (0, 1)))
"""The view of each plane with correct axis labels: the front, or the head, on top."""

MOVES: tuple[Move, ...] = tuple(
    (transposed, rows, columns) for transposed, rows, columns in product((0, 1), repeat=3)
)

RUNS = ("feet to head", "head to feet", "front to back", "back to front", "side to side")
"""Directions of the body in which the third axis of a grid may run."""

RUN_BY_AXIS: Mapping[Axis, str] = {
    (2, 1): "feet to head",
    (2, -1): "head to feet",
    (1, 1): "front to back",
    (1, -1): "back to front",
}
"""The direction of each axis of the body but that across it."""


def without_sides(view: View) -> View:
    """The view with left to right and right to left taken as one."""
    rows, columns = ((axis, 1 if axis == ACROSS else sign) for axis, sign in view)
    return rows, columns


VIEWS: tuple[View, ...] = tuple(
    dict.fromkeys(
        without_sides(((rows, a), (columns, b)))
        for rows, columns in permutations(range(3), 2)
        for a, b in product((1, -1), repeat=2)
    )
)
"""The 16 distinguishable views."""


def move_view(view: View, move: Move) -> View:
    """The view of a picture after a move."""
    transposed, *reversals = move
    axes = view[::-1] if transposed else view
    row_axis, column_axis = (
        (axis, -sign if is_reversed else sign)
        for (axis, sign), is_reversed in zip(axes, reversals, strict=True)
    )
    return row_axis, column_axis


def views_of_planes(turn: tuple[Axis, ...]) -> tuple[int, ...]:
    """The view, as an index in VIEWS, of each plane of a grid whose three axes run along these of
    the body."""

    def body_axis_of(axis: Axis) -> Axis:
        body_axis, sign = turn[axis[0]]
        return body_axis, sign * axis[1]

    return tuple(
        VIEWS.index(without_sides((body_axis_of(row_axis), body_axis_of(column_axis))))
        for row_axis, column_axis in PLANES
    )


def _direction_of_third_axis(turn: tuple[Axis, ...]) -> int:
    """The direction of the third axis, as an index in RUNS."""
    _, _, third_axis = turn
    return RUNS.index(RUN_BY_AXIS.get(third_axis, "side to side"))


_ALL_TURNS = [
    tuple(zip(axes, signs, strict=True))
    for axes in permutations(range(3))
    for signs in product((1, -1), repeat=3)
]
# of orientations that look alike, the first
_DIRECTION_BY_VIEWS = {
    views_of_planes(turn): _direction_of_third_axis(turn) for turn in reversed(_ALL_TURNS)
}

TURNS: NDArray[np.int64] = np.array(list(reversed(_DIRECTION_BY_VIEWS)))
"""(24, 3) the view of each plane, for every distinguishable turn; the first is the identity."""

RUN_OF_TURN: NDArray[np.int64] = np.array(list(reversed(_DIRECTION_BY_VIEWS.values())))
"""(24,) the direction of the third axis, as an index in RUNS."""

SOURCES: tuple[tuple[int, int], ...] = tuple(
    next(
        (plane, move_index)
        for plane, plane_view in enumerate(PLANES)
        for move_index, move in enumerate(MOVES)
        if without_sides(move_view(plane_view, move)) == view
    )
    for view in VIEWS
)
"""For each view, the plane of the body that shows it and the move, as an index in MOVES, that
brings the plane's picture to it."""
