"""The kinds of things, by name: those that collections hold for training, and those held out, on
which alone it is tested whether a thing of a kind never seen is told from a body."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np

from fovnet.phantom.bodiless import animals, fruit, quality, vessels
from fovnet.phantom.bodiless.fillings import draw_fruit_tissues, draw_vessel_tissues
from fovnet.phantom.bodiless.thing import Thing
from fovnet.phantom.geometry.raster import Paint
from fovnet.phantom.scanner.tissues import TISSUES, Tissue

MakeThing = Callable[[np.random.Generator], Thing]
DrawPaints = Callable[[np.random.Generator], Iterable[Paint]]
DrawTissues = Callable[[np.random.Generator], tuple[Tissue, ...]]


def _make_thing(
    draw_parts: DrawPaints, draw_tissues: DrawTissues, rng: np.random.Generator
) -> Thing:
    """A thing, its shape drawn before what it is filled with."""
    return Thing(tuple(draw_parts(rng)), draw_tissues(rng))


def _things_filled_by(
    draw_tissues: DrawTissues, parts_by_kind: Mapping[str, DrawPaints]
) -> dict[str, MakeThing]:
    """For each kind the function that makes a thing of it, with tissues from `draw_tissues`."""
    return {
        kind: partial(_make_thing, draw_parts, draw_tissues)
        for kind, draw_parts in parts_by_kind.items()
    }


def _body_tissues(rng: np.random.Generator) -> tuple[Tissue, ...]:
    """The tissues of the simulated body, as a `DrawTissues` that draws nothing."""
    return TISSUES


TRAINING: Mapping[str, MakeThing] = {
    **_things_filled_by(
        draw_vessel_tissues,
        {
            "cylinder": vessels.paint_cylinder,
            "ball": vessels.paint_ball,
            "canister": vessels.paint_canister,
            "oval vessel": vessels.paint_oval_vessel,
            "bottle": vessels.paint_bottle,
            "bottles": vessels.paint_bottles,
            "loading ring": vessels.paint_loading_ring,
            "layered phantom": quality.paint_slab_phantom,
            "vials": quality.paint_vials,
            "inserts": quality.paint_inserts,
            "lattice": quality.paint_lattice,
        },
    ),
    **_things_filled_by(
        draw_fruit_tissues, {"citrus": fruit.paint_citrus, "melon": fruit.paint_melon}
    ),
    **_things_filled_by(
        _body_tissues, {"rodent": animals.paint_rodent, "hand": animals.paint_hand}
    ),
}
HELD_OUT: Mapping[str, MakeThing] = {
    **_things_filled_by(
        draw_vessel_tissues,
        {
            "prism": vessels.paint_prism,
            "beaker": vessels.paint_beaker,
            "nested vessels": vessels.paint_nested_vessels,
            "balls in a ball": quality.paint_balls,
            "straws": quality.paint_straws,
            "stairs": quality.paint_stairs,
        },
    ),
    **_things_filled_by(
        draw_fruit_tissues, {"apple": fruit.paint_apple, "pineapple": fruit.paint_pineapple}
    ),
    **_things_filled_by(_body_tissues, {"rabbit": animals.paint_rabbit}),
}
COMMON_KINDS = ("cylinder", "ball", "bottles", "layered phantom", "cylinder", "bottles")
"""Drawn in addition to one each of TRAINING: what stands in a scanner most often, and resembles
limbs."""


def draw_kind(rng: np.random.Generator) -> str:
    """One of TRAINING."""
    return str(rng.choice([*TRAINING, *COMMON_KINDS]))
