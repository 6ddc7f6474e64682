"""How well the decision detects volumes of a labelled split that are turned head to feet or shuffled; and how often air is named a region.

Networks whose input is one slice give it the same probabilities wherever it stands; those that see its neighbours, or sections of the
volume, are run again.  Slices of a volume turned over on disk may also be mirrored, which `fovnet bench oddities` tests by cutting such
volumes again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.shares import Share, Tally
from fovnet.decision.checks import out_of_order, too_few_slices
from fovnet.decision.doubts import Signs, doubts
from fovnet.decision.rule import Rule
from fovnet.decision.spans import decide
from fovnet.regions import Vocabulary

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.volume.slices import SliceStack

Floats = NDArray[np.float64]
EVEN = 0.5
SHARES = ("possibly flipped, upright", "possibly flipped, turned, two regions or more",
          "confidently answered, shuffled, two regions or more", "slices of none given a region, p > 0.5")


@dataclass(frozen=True)
class LabelledVolume:
    """One volume: the ensemble's probabilities (s, k), heights (s,) in mm, truth (s, k), and its slices (s, side, side) if known.

    subject  its subject; without a name, the volume counts as a subject of its own
    rerun    gives the probabilities (m, k) of some of its slices (m,) as a volume at other heights (m,) in mm; None where the
             probabilities of a slice do not depend on the others
    """

    probabilities: Floats
    z_mm: Floats
    truth: NDArray[np.bool_]
    pixels: NDArray[np.uint8] | None = None
    rerun: Callable[[NDArray[np.int64], Floats], Floats] | None = None
    subject: str = ""

    def probabilities_at(self, slices: NDArray[np.int64], z_mm: Floats) -> Floats:
        """Probabilities (m, k) of some of its slices (m,), in this order, at these heights (m,) in mm."""
        return self.probabilities[slices] if self.rerun is None else self.rerun(slices, z_mm)


def rerun_of(ensemble: Ensemble, stack: SliceStack) -> Callable[[NDArray[np.int64], Floats], Floats] | None:
    """`LabelledVolume.rerun` of a volume; None where the networks see slices one by one."""
    if not ensemble.sees_the_volume:
        return None

    def rerun(slices: NDArray[np.int64], z_mm: Floats) -> Floats:
        placing = replace(stack, pixels=stack.pixels[slices], z_mm=z_mm).placing
        return ensemble.probabilities(stack.pixels[slices], placing=placing)

    return rerun


def flipped_and_shuffled(
    volumes: Sequence[LabelledVolume], vocabulary: Vocabulary, rule: Rule, *, seed: int, progress: Callable[[int, int], Any] | None = None
) -> list[Share]:
    """SHARES over the volumes; `seed` draws the orders of shuffled slices."""
    n, rng = len(vocabulary.chain), np.random.default_rng(seed)
    tally = Tally()
    for number, one in enumerate(volumes, start=1):
        count = partial(tally.add, subject=one.subject or f"volume {number}")
        several, from_above = one.truth[:, :n].any(axis=0).sum() >= 2, -one.z_mm[::-1]
        over = one.probabilities_at(np.arange(len(one.z_mm))[::-1], from_above) if several else None
        upright = decide(one.probabilities, one.z_mm, vocabulary, rule, over if one.rerun else None)
        count(SHARES[0], so=upright.flipped)
        nothing = one.truth[:, -1]
        named = upright.decided[:, :-1].any(axis=1) & (upright.confidence > EVEN) & nothing
        count(SHARES[3], so=named.sum(), of=nothing.sum())
        if over is not None:
            turned = decide(over, from_above, vocabulary, rule, one.probabilities if one.rerun else None)
            count(SHARES[1], so=turned.flipped)
            count(SHARES[2], so=_answered(one, rng.permutation(len(one.z_mm)), vocabulary, rule))
        if progress:
            progress(number, len(volumes))
    return [tally.share(name) for name in SHARES]


def _answered(one: LabelledVolume, order: NDArray[np.int64], vocabulary: Vocabulary, rule: Rule) -> bool:
    """Whether the volume with its slices in this order is given regions without a doubt."""
    decision = decide(one.probabilities_at(order, one.z_mm), one.z_mm, vocabulary, rule)
    untidy = 0.0 if one.pixels is None else out_of_order.disorder(one.pixels[order])
    signs = Signs({
        too_few_slices.CHECK.code: too_few_slices.Slab(len(order), decision.observations),
        out_of_order.CHECK.code: out_of_order.Order(untidy),
    })
    return bool(decision.spans) and not doubts(decision, signs, rule)
