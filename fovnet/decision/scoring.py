"""What the members of a new ensemble make of the slices nobody trained on, and what follows: what is familiar, and how much say each has.

It takes some 280 bytes a slice (`packed`), which all that tunes, decides and evaluates reads; no network is asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.decision import novelty
from fovnet.decision.ensemble import Ensemble, save_weighing
from fovnet.decision.packed import SCORED, Scored
from fovnet.decision.spans import Rule
from fovnet.decision.weighing import Weighing, mean, weigh
from fovnet.volume.pack import Pack

Told = Callable[[int, int], Any]


def score(model: Ensemble, pack: Pack, *, seed: int, progress: Told | None = None) -> tuple[Ensemble, Scored]:
    """The ensemble, knowing what of the training split is familiar, and what its members see in the slices of the splits in SCORED."""
    train, rows = pack.rows("train"), np.sort(np.concatenate([pack.rows(split) for split in SCORED]))
    learned = model.learn(pack.pixels, train, pack.truth[train], seed=seed, placing=pack.placing)
    return learned, Scored(rows, learned.look(pack.pixels, progress, rows, pack.placing))


def weighed(folder: Path, model: Ensemble, scored: Scored, pack: Pack, way: str, *, settings: Any, seed: int) -> tuple[Scored, Weighing]:
    """The same with the members' weights, by a way of `weighing` on the validation split; `weighing.json` and `novelty.npz` in `folder`."""
    look, truth, people = scored.split(pack, "validation")
    found = weigh(look.members, truth, people, way)
    save_weighing(folder, found, settings=settings, seed=seed)
    if model.familiar is not None and look.distances is not None:
        novelty.save(folder, novelty.calibrated(model.familiar, look.distances, mean(look.members, found.weights)))
    return replace(scored, weights=tuple(found.weights.tolist())), found


def turned_over(model: Ensemble, scored: Scored, pack: Pack, progress: Told) -> Scored:
    """The same, with what the weighed members see in the volumes turned over, where that is asked."""
    return scored.turned_over(pack, replace(model, rule=Rule(weights=scored.weights)), progress)
