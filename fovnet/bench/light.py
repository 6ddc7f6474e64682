"""What an ensemble makes of the same volumes in other light: darker towards one side, of less contrast, of more.

Coils and protocols change how bright a tissue is from scanner to scanner and from place to place; where it lies they do not.  Each
volume of a split is changed as a whole, and its grey levels are then windowed as those of a volume are (`fovnet.volume.intensity`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.fitting import refuse_unfit
from fovnet.bench.simulator import Change, Score
from fovnet.errors import CollectionError
from fovnet.volume.intensity import lattice, window

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.volume.pack import Pack

Pixels = NDArray[np.uint8]
Relit = Callable[[NDArray[np.float32], np.random.Generator], NDArray[np.float32]]
COLUMNS = ("model", "light", "volumes", "slices", "accuracy", "low", "high", "change", "change_low", "change_high")
FALL = 2.0              # logarithm of what half a slice's side takes away: from e^-4 at one side, 2 %, to all of it at the other
WHITE = 255.0


def darker_to_one_side(grey: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Slices (s, h, w) times exp(FALL · u), u from -1 to 1 along a direction drawn in the plane: a coil that lies on one side."""
    angle = rng.uniform(0, 2 * np.pi)
    down, across = (((np.arange(size) + 0.5) / size * 2 - 1) for size in grey.shape[1:])
    along = np.cos(angle) * across + np.sin(angle) * down[:, None]
    return np.asarray(grey * np.exp(FALL * along).astype(np.float32))


def to_the_power(gamma: float) -> Relit:
    """What raises grey levels, 1 being white, to a power."""
    return lambda grey, rng: grey ** np.float32(gamma)


LIGHTS: dict[str, Relit] = {
    "as they are": to_the_power(1.0), "darker to one side": darker_to_one_side, "less contrast": to_the_power(0.6),
    "more contrast": to_the_power(1.6),
}


def in_light(pixels: Pixels, change: Relit, rng: np.random.Generator) -> Pixels:
    """The slices (s, h, w) of a volume, changed together and windowed anew; black stays black.

    Windowed anew are those that are left as they are too: slices alone are windowed otherwise than their volume was.
    """
    changed = change(pixels.astype(np.float32) / np.float32(WHITE), rng)
    white = window(changed)[1] if np.ptp(lattice(changed)) else WHITE
    return np.asarray(np.clip(np.rint(changed * np.float32(WHITE / white)), 0, WHITE).astype(np.uint8))


def in_lights(
    models: dict[str, Ensemble], pack: Pack, split: str, score: Score, change: Change, *, most: int, seed: int,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """A row in COLUMNS a model and light: balanced accuracy of the networks' slices, before any decision, volumes counting alike, and by
    how much it changed from the slices as they are, both with intervals over subjects.

    most  slices of each volume that are asked about, evenly spread; its sections show all of it.    seed  draws the sides
    Ends that cannot be told, of a single subject or of a change that is the same in all, are None.  Raises CollectionError
    "bench-unlabelled" where the split has no labelled volume, and ModelError "weights-other-classes" or "slices-differ" where a model
    knows other regions, or its slices are cut otherwise.
    """
    for name, ensemble in models.items():
        refuse_unfit(name, ensemble, pack)
    labelled = [index for index, record in enumerate(pack.records) if record.split == split and record.labelled and record.slices]
    if not labelled:
        raise CollectionError("bench-unlabelled", f"{pack.folder}: no labelled volume in the {split} split. Give slices with labels, or "
                                                  "--split train, validation or test.")
    asked = {index: np.unique(np.linspace(0, pack.records[index].slices - 1, most).round().astype(np.int64)) for index in labelled}
    owners = [pack.records[index].subject for index in labelled for _ in asked[index]]
    counts = np.concatenate([np.full(len(rows), 1.0 / len(rows)) for rows in asked.values()])
    truth = np.concatenate([pack.truth[pack.records[index].first_row + rows] for index, rows in asked.items()])
    turns, done = len(models) * len(LIGHTS) * len(labelled), 0
    for name, ensemble in models.items():
        before = None
        for light, how in LIGHTS.items():
            said = []
            for index, rows in asked.items():
                said.append(_said(ensemble, pack, index, rows, how, np.random.default_rng((seed, index))))
                done += 1
                if progress:
                    progress(done, turns)
            together = np.concatenate(said)
            before = together if before is None else before
            words = ensemble.vocabulary
            seen = score(together, truth, owners, words, counts=counts)
            changed = (None,) * 3 if before is together else change(before, together, truth, owners, words, counts=counts)
            told = (seen.value, seen.low, seen.high, *changed)
            known = [None if one is None or math.isnan(one) else one for one in told]
            yield dict(zip(COLUMNS, (name, light, len(labelled), len(truth), *known), strict=True))


def _said(
    ensemble: Ensemble, pack: Pack, index: int, rows: NDArray[np.int64], how: Relit, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Probabilities (m, k) of some slices (m,) of a volume in that light."""
    stack = pack.stack(index)
    stack = replace(stack, pixels=in_light(stack.pixels, how, rng))
    return ensemble.judge.raw(ensemble.outputs(stack.pixels, rows=rows, placing=stack.placing))
