"""Stacks along the heart's own axes, as in cardiac examinations and their archives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.phantom.acquisition.protocols import Plan, grid_about
from fovnet.phantom.acquisition.regrid import BY_AXIS, canonical, regridded
from fovnet.phantom.anatomy.heart import long_axis, toward_the_right
from fovnet.phantom.finish.headers import TRUE_HEADERS
from fovnet.phantom.person.traits import Person
from fovnet.phantom.scanner.sequence import Sequence

SHORT_AXIS = "heart, short axis"
LONG_AXIS = "heart, long axis"
HEART_SEQUENCES: tuple[tuple[Sequence, float], ...] = (
    (Sequence("cine, balanced", "balanced cine", 3.2, 1.6, flip_deg=45, fat="cancelling"), 0.7),
    (
        Sequence("cine, spoiled", "inflow", 15, 1.5, flip_deg=18),
        0.1,
    ),  # blood 1, fat 0.57, muscle 0.2
    (
        Sequence("late enhancement", "inversion gradient echo", 700, 2.0, ti=240, contrast=True),
        0.08,
    ),
)
"""Sequences for stacks along the heart's own axes, and shares; the rest keep theirs.  Free contrasts leave
three in four unchanged."""


def short_axis(acquired: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """A short-axis stack, from about the apex to the base or beyond.

    A left ventricle is about 9 cm long: 8 to 14 slices of 6 to 10 mm cover it, or nearly all of it.
    """
    apex, base = long_axis(person)
    through = _planned((base - apex) / np.linalg.norm(base - apex), rng)
    thick = rng.uniform(6.0, 10.0)
    slices = int(np.clip(round(rng.uniform(70, 125) / thick), 8, 14))
    middle = (apex + base) / 2 + through * rng.uniform(-5, 15)
    return _own_axes(acquired, SHORT_AXIS, middle, through, (thick, slices), rng)


def along_the_axis(acquired: Plan, person: Person, rng: np.random.Generator) -> Plan:
    """A few slices along the heart's long axis: four-chamber views, or two-chamber views of the left side."""
    apex, base = long_axis(person)
    along, right = (base - apex) / np.linalg.norm(base - apex), toward_the_right(person)
    up = np.cross(right, along)
    through = _planned(up / np.linalg.norm(up) if rng.random() < 0.6 else right, rng)
    middle = apex + (base - apex) * rng.uniform(0.6, 1.1)
    return _own_axes(
        acquired, LONG_AXIS, middle, through, (rng.uniform(5.0, 8.0), int(rng.integers(3, 9))), rng
    )


def _own_axes(
    acquired: Plan,
    name: str,
    middle: NDArray[np.float64],
    through: NDArray[np.float64],
    cuts: tuple[float, int],
    rng: np.random.Generator,
) -> Plan:
    """A stack of `cuts` (mm, slices) about `middle`, its images with the head on top, apart from an in-plane
    rotation.

    The scanner keeps a double-oblique image as near to upright as it can; one in four is rotated further,
    along the septum.
    """
    up = np.array([0.0, 0.0, 1.0]) - through * through[2]
    if np.linalg.norm(up) < 0.5:  # nearly axial: anterior on top
        up = np.array([0.0, 1.0, 0.0]) - through * through[1]
    up /= np.linalg.norm(up)
    turn = np.deg2rad(rng.normal(0, 12) if rng.random() < 0.75 else rng.uniform(-60, 60))
    up = up * np.cos(turn) + np.cross(through, up) * np.sin(turn)
    wide, (thick, slices) = _heart_field_mm(rng), cuts
    fine = max(wide / 256, rng.uniform(1.2, 2.0))
    tall = wide * (rng.uniform(0.75, 1.0) if wide > 170 else 1.0)
    axes = np.column_stack([np.cross(up, through) * fine, up * fine, through * thick])
    # large fields move to the chest
    inwards = -middle * (1.0, 1.0, 0.0) * rng.uniform(0.0, 0.8) * np.clip((wide - 170) / 200, 0, 1)
    centre = middle + inwards - through * (inwards @ through) + rng.normal(0, 6, 3)
    stack = grid_about(centre, axes, (round(wide / fine), round(tall / fine), slices))
    return replace(
        regridded(acquired, canonical(stack)),
        family=replace(acquired.family, name=name),
        plane=BY_AXIS[np.abs(through).argmax()],
        sequence=_heart_sequence(acquired.sequence, rng),
        tilted=True,
        truthful=rng.random() < TRUE_HEADERS,
    )


def _planned(direction: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    """The direction as planned by eye: about 6° off, of unit length."""
    beside = direction + rng.normal(0, 0.07, 3)
    return beside / np.linalg.norm(beside)


def _heart_field_mm(rng: np.random.Generator) -> float:
    """Field of view of a heart image: cropped to the left ventricle, zoomed, or the whole chest as
    scanned."""
    return rng.uniform(*((100, 170), (170, 260), (260, 400))[rng.choice(3, p=[0.45, 0.25, 0.3])])


def _heart_sequence(other: Sequence, rng: np.random.Generator) -> Sequence:
    """One of HEART_SEQUENCES with TR and TI varied by 15 %, or the other."""
    dice = rng.random()
    for sequence, share in HEART_SEQUENCES:
        dice -= share
        if dice < 0:
            return replace(
                sequence,
                tr=sequence.tr * rng.uniform(0.85, 1.15),
                ti=sequence.ti * rng.uniform(0.85, 1.15),
            )
    return other
