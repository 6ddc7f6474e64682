"""Accuracy of an ensemble on the same volumes in other light: darker towards one side, with less contrast, with more.

Coils and protocols change the brightness of a tissue from scanner to scanner and from place to place, but not its position.  Each volume
of a split is changed as a whole, and its grey levels are then windowed as those of a volume are (`fovnet.volume.intensity`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.fitting import refuse_unfit
from fovnet.errors import CollectionError
from fovnet.regions import DEFAULT, Vocabulary
from fovnet.volume.intensity import lattice, window

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.volume.pack import Pack

Pixels = NDArray[np.uint8]
Relit = Callable[[NDArray[np.float32], np.random.Generator], NDArray[np.float32]]
COLUMNS = ("model", "light", "volumes", "slices", "accuracy", "low", "high", "change", "change_low", "change_high")
FALL = 2.0              # logarithm of what half a slice's side takes away: from e^-4 at one side, 2 %, to all of it at the other
WHITE = 255.0


class Accuracy(Protocol):
    """An accuracy with its interval."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def denominator(self) -> int: ...


class Score(Protocol):
    """The accuracy of probabilities (s, k), given truth (s, k), and subject and weight (s,) of each slice."""

    def __call__(
        self, probabilities: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
        *, counts: NDArray[np.float64],
    ) -> Accuracy: ...


class Change(Protocol):
    """The increase of an accuracy from the first probabilities to the second, and the two ends of its interval."""

    def __call__(
        self, before: NDArray[Any], after: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str],
        vocabulary: Vocabulary = DEFAULT, *, counts: NDArray[np.float64],
    ) -> tuple[float, float, float]: ...


def darker_to_one_side(grey: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """Slices (s, h, w) times exp(FALL · u), u from -1 to 1 along a direction drawn in the plane: a coil that lies on one side."""
    angle = rng.uniform(0, 2 * np.pi)
    down, across = (((np.arange(size) + 0.5) / size * 2 - 1) for size in grey.shape[1:])
    along = np.cos(angle) * across + np.sin(angle) * down[:, None]
    return np.asarray(grey * np.exp(FALL * along).astype(np.float32))


def to_the_power(gamma: float) -> Relit:
    """The change that raises grey levels in [0, 1] to the power `gamma`."""
    return lambda grey, rng: grey ** np.float32(gamma)


LIGHTS: dict[str, Relit] = {
    "as they are": to_the_power(1.0), "darker to one side": darker_to_one_side, "less contrast": to_the_power(0.6),
    "more contrast": to_the_power(1.6),
}


def in_light(pixels: Pixels, change: Relit, rng: np.random.Generator) -> Pixels:
    """The slices (s, h, w) of a volume, changed together and windowed again; black stays black.

    Unchanged slices ("as they are") are windowed again too, as slices have another window than the volume they were cut from.
    """
    changed = change(pixels.astype(np.float32) / np.float32(WHITE), rng)
    white = window(changed)[1] if np.ptp(lattice(changed)) else WHITE
    return np.asarray(np.clip(np.rint(changed * np.float32(WHITE / white)), 0, WHITE).astype(np.uint8))


def in_lights(
    models: dict[str, Ensemble], pack: Pack, split: str, score: Score, change: Change, *, most: int, seed: int,
    progress: Callable[[int, int], Any] | None = None,
) -> Iterator[dict[str, Any]]:
    """One row of COLUMNS per model and light: balanced accuracy of the slices before any decision, volumes counting alike, and its change
    from the slices as they are, both with intervals over subjects.

    most  slices of each volume that are scored, evenly spaced; its sections show all of it.    seed  draws the sides
    Ends that cannot be estimated, of a single subject or of a change that is the same in all, are None.  Raises CollectionError
    "bench-unlabelled" where the split has no labelled volume, and ModelError "weights-other-classes" or "slices-differ" where a model
    has other regions, or its slices are cut otherwise.
    """
    for name, ensemble in models.items():
        refuse_unfit(name, ensemble, pack)
    labelled = [index for index, record in enumerate(pack.records) if record.split == split and record.labelled and record.slices]
    if not labelled:
        raise CollectionError("bench-unlabelled", f"{pack.folder}: no labelled volume in the {split} split. Give slices with labels, or "
                                                  "--split train, validation or test.")
    scored = {index: np.unique(np.linspace(0, pack.records[index].slices - 1, most).round().astype(np.int64)) for index in labelled}
    subject_ids = [pack.records[index].subject for index in labelled for _ in scored[index]]
    counts = np.concatenate([np.full(len(rows), 1.0 / len(rows)) for rows in scored.values()])
    truth = np.concatenate([pack.truth[pack.records[index].first_row + rows] for index, rows in scored.items()])
    turns, done = len(models) * len(LIGHTS) * len(labelled), 0
    for name, ensemble in models.items():
        before = None
        for light, how in LIGHTS.items():
            parts = []
            for index, rows in scored.items():
                parts.append(_probabilities(ensemble, pack, index, rows, how, np.random.default_rng((seed, index))))
                done += 1
                if progress:
                    progress(done, turns)
            after = np.concatenate(parts)
            before = after if before is None else before
            vocabulary = ensemble.vocabulary
            accuracy = score(after, truth, subject_ids, vocabulary, counts=counts)
            changed = (None,) * 3 if before is after else change(before, after, truth, subject_ids, vocabulary, counts=counts)
            figures = (accuracy.value, accuracy.low, accuracy.high, *changed)
            known = [None if one is None or math.isnan(one) else one for one in figures]
            yield dict(zip(COLUMNS, (name, light, len(labelled), len(truth), *known), strict=True))


def _probabilities(
    ensemble: Ensemble, pack: Pack, index: int, rows: NDArray[np.int64], how: Relit, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Probabilities (m, k) of some slices (m,) of a volume in the light `how`."""
    stack = pack.stack(index)
    stack = replace(stack, pixels=in_light(stack.pixels, how, rng))
    return ensemble.judge.raw(ensemble.outputs(stack.pixels, rows=rows, placing=stack.placing))
