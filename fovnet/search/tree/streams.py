"""The random numbers of a search over a tree: a stream of its own for each purpose."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np

Purpose = Literal["random", "stand-in", "pool", "climb", "poll", "prior"]
"""Draws of a slot; the start's stand-in; the pool of a slot, and its climbs; an order of a poll; draws
of the prior that do not fit."""


def generator(seed: int, purpose: Purpose, *numbers: int) -> np.random.Generator:
    """A new generator for a purpose, and a slot or what else its numbers name.

    A spawn key tells [slot] from [slot, 0], which as a seed are one stream.
    """
    spawn_key = (get_args(Purpose).index(purpose), *numbers)
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=spawn_key))
