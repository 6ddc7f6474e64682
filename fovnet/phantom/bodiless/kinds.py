"""The kinds of things, by name: those that collections hold for training, and those held out, on which alone
it is tested whether a thing of a kind never seen is told from a body."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from fovnet.phantom.bodiless import animals, fruit, quality, vessels
from fovnet.phantom.bodiless.thing import Thing

Make = Callable[[np.random.Generator], Thing]

TRAINING: Mapping[str, Make] = {
    "cylinder": vessels.cylinder, "ball": vessels.ball, "canister": vessels.canister,
    "oval vessel": vessels.oval_vessel, "bottle": vessels.bottle, "bottles": vessels.bottles,
    "loading ring": vessels.loading_ring, "layered phantom": quality.layered, "vials": quality.vials,
    "inserts": quality.inserts, "lattice": quality.lattice, "citrus": fruit.citrus, "melon": fruit.melon,
    "rodent": animals.rodent, "hand": animals.hand,
}
HELD_OUT: Mapping[str, Make] = {
    "prism": vessels.prism, "beaker": vessels.beaker, "nested vessels": vessels.nested,
    "balls in a ball": quality.balls, "straws": quality.straws, "stairs": quality.stairs,
    "apple": fruit.apple, "pineapple": fruit.pineapple, "rabbit": animals.rabbit,
}
COMMON = ("cylinder", "ball", "bottles", "layered phantom", "cylinder", "bottles")
"""Drawn in addition to one each of TRAINING: what stands in a scanner most often, and resembles limbs."""


def draw_kind(rng: np.random.Generator) -> str:
    """One of TRAINING."""
    return str(rng.choice([*TRAINING, *COMMON]))
