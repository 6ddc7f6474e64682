"""Answers of an ensemble to volumes that it should not name: no body, a body with its slices shuffled, upside down, half of it too dark to
see, or in noise as bright as the body; and to bodies in order.

The simulated people have another seed than any collection, so that no network was trained on them.  Their fields of view hold several
regions, because a single region upside down is still that region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.decision.ensemble import Ensemble
from fovnet.phantom.acquisition.families import choose_families
from fovnet.phantom.acquisition.protocols import SITES, plan
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.collection import acquire
from fovnet.phantom.oddities import ODDITIES, oddity
from fovnet.phantom.person.traits import sample_person
from fovnet.volume.intensity import window
from fovnet.volume.slices import SliceStack, cut
from fovnet.volume.volume import Volume

BODY, SHUFFLED, REVERSED, HALF_DARK = "a body", "its slices shuffled", "upside down", "lower half 20 times darker"
NOISY_AIR = "in air of bright noise"
COLUMNS = ("kind", "number", "slices", "status", "regions", "confidence", "novelty", "agreement", "disorder", "doubts")
DARKER = 20
AIR = 0.07         # of the window: what is darker is noise in a map of the body
STRANGERS = 1_000_003       # seed of people whom no collection holds; collections have small ones


@dataclass(frozen=True)
class ControlAnswer:
    """The answer to one volume."""

    kind: str
    number: int
    slices: int
    status: str
    regions: str
    confidence: float
    novelty: float | None
    agreement: float
    disorder: float
    doubts: str

    @property
    def is_named(self) -> bool:
        """Whether it is answered with a region and status "ok"."""
        return self.status == "ok" and bool(self.regions)


def answers_to_controls(
    ensemble: Ensemble, each: int, seed: int, progress: Callable[[int, int], Any] | None = None
) -> Iterator[ControlAnswer]:
    """The answers to `each` volumes of every kind; the same seed gives the same volumes."""
    spacing = float(ensemble.prepare["target_spacing_mm"])
    for number in range(each):
        for at, kind in enumerate(ODDITIES):
            stack = cut(oddity(kind, np.random.default_rng([seed, at, number])), target_spacing_mm=spacing)
            yield _answer(ensemble, kind, number, stack)
        volume = stranger(seed, number)
        body = cut(volume, target_spacing_mm=spacing)
        order = np.random.default_rng([seed, 99, number]).permutation(len(body.pixels))
        kinds = {BODY: body.pixels, SHUFFLED: body.pixels[order], REVERSED: body.pixels[::-1], HALF_DARK: _half_dark(body.pixels)}
        for kind, pixels in kinds.items():
            yield _answer(ensemble, kind, number, replace(body, pixels=pixels))
        noisy = in_noise(volume, np.random.default_rng([seed, 98, number]))
        yield _answer(ensemble, NOISY_AIR, number, cut(noisy, target_spacing_mm=spacing))
        if progress:
            progress(number + 1, each)


def tally(rows: list[ControlAnswer]) -> list[tuple[str, int, int, int, int]]:
    """One row per kind: volumes, named with confidence, uncertain, none with confidence."""
    kinds = list(dict.fromkeys(row.kind for row in rows))
    counted = []
    for kind in kinds:
        mine = [row for row in rows if row.kind == kind]
        named, unsure = sum(row.is_named for row in mine), sum(row.status == "uncertain" for row in mine)
        counted.append((kind, len(mine), named, unsure, len(mine) - named - unsure))
    return counted


def in_noise(volume: Volume, rng: np.random.Generator) -> Volume:
    """The volume as a map computed without a mask: where there is no signal, noise, uniform over the window."""
    black, white = window(volume.voxels)
    air = ndimage.uniform_filter(volume.voxels, 3) < black + AIR * (white - black)
    noise = rng.uniform(black, white, volume.voxels.shape).astype(np.float32)
    return replace(volume, voxels=np.where(air, noise, volume.voxels))


def stranger(seed: int, number: int) -> Volume:
    """One volume of a simulated person of no collection."""
    rng = np.random.default_rng([STRANGERS + seed, number, 1])
    person, site = sample_person((STRANGERS + seed, number)), SITES[int(rng.integers(len(SITES)))]
    (family,) = choose_families(1, rng)
    volume, _ = acquire(person, plan(person, landmarks(person), family, site, rng), rng)
    return volume


def _half_dark(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Slices (s, side, side), the lower half of them DARKER times darker: stations put together without matching their brightness."""
    half = len(pixels) // 2
    return np.concatenate([np.rint(pixels[:half] / DARKER).astype(np.uint8), pixels[half:]])


def _answer(ensemble: Ensemble, kind: str, number: int, stack: SliceStack) -> ControlAnswer:
    given = ensemble.judge.answer(kind, "", ensemble.outputs_on(stack), stack)
    decision, signs = given.decision, given.signs
    assert decision is not None and signs is not None                # only a refused volume has none
    return ControlAnswer(
        kind, number, len(stack.pixels), given.status, " ".join(dict.fromkeys(span.region for span in decision.spans)), decision.sure,
        signs.novelty, signs.agreement, signs.disorder, " ".join(dict.fromkeys(doubt.code for doubt in given.doubts)),
    )
