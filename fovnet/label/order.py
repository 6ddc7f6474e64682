"""Which volume is asked for next: those first from which networks would learn most.

    v  volumes

What a volume teaches is guessed from how unsure its statements are, how far the networks disagree, and how
unlike it is what they know.  It counts less with every volume of the same person, the same kind of picture,
and the same regions that comes before it, so that the queue is spread over them from the beginning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np

from fovnet.label.starts import Item

KIND = ("site", "manufacturer", "sequence", "plane")
AGAIN = {"subject": 0.25, "kind": 0.7, "regions": 0.85}
"""What a volume still counts after one with the same.  A second volume of one person tells little that is
new; a site, sequence and plane, or a set of regions, is worth several."""
MOST_NOVEL = 3.0  # -log10 of the share of known slices that are as unusual; 1 in 1000 at most


def teaching(items: Sequence[Item], seed: int, done: Collection[int] = ()) -> list[int]:
    """Indices of the volumes (v,), the most instructive first; `done` ones are already known, and count as
    coming before."""
    worth = np.array([worth_of(one) for one in items])
    keys = [_keys(one) for one in items]
    seen: Counter[tuple[str, str]] = Counter(key for index in done for key in keys[index])
    members: dict[tuple[str, str], list[int]] = {}
    for index, own in enumerate(keys):
        for key in own:
            members.setdefault(key, []).append(index)
    for key, count in seen.items():
        worth[members[key]] *= AGAIN[key[0]] ** count
    worth[list(done)] = -1.0
    chosen = []
    for _ in range(len(items) - len(done)):
        best = int(worth.argmax())
        chosen.append(best)
        worth[best] = -1.0
        for key in keys[best]:
            others = np.asarray(members[key])
            worth[others] *= np.where(worth[others] > 0, AGAIN[key[0]], 1.0)
    return chosen + sorted(done)


def unsure(items: Sequence[Item], seed: int, done: Collection[int] = ()) -> list[int]:
    """The most instructive first, whatever is alike."""
    return sorted(range(len(items)), key=lambda index: -worth_of(items[index]))


def listed(items: Sequence[Item], seed: int, done: Collection[int] = ()) -> list[int]:
    """As the tables list them."""
    return [*range(len(items))]


def random(items: Sequence[Item], seed: int, done: Collection[int] = ()) -> list[int]:
    """By chance: the error on the first volumes then holds for all."""
    return [int(index) for index in np.random.default_rng(seed).permutation(len(items))]


ORDERS: dict[str, Callable[[Sequence[Item], int, Collection[int]], list[int]]] = {
    "teaching": teaching,
    "unsure": unsure,
    "listed": listed,
    "random": random,
}


def worth_of(one: Item) -> float:
    """What a volume teaches, above 0: the entropy of its statements in bits, in the mean over regions, how
    far the networks disagree, and how unusual it is, each from 0 to 1.

    A volume without a prediction counts as one of which all is unsure.
    """
    said = one.predicted
    if said is None or not said.probabilities:
        return 1.0
    doubt = sum(map(_bits, said.probabilities)) / len(said.probabilities)
    apart = 0.0 if said.agreement is None else 1.0 - said.agreement
    rare = (
        0.0
        if said.novelty is None
        else min(-math.log10(max(said.novelty, 1e-9)), MOST_NOVEL) / MOST_NOVEL
    )
    return 0.01 + doubt + apart + rare / 2


def _keys(one: Item) -> list[tuple[str, str]]:
    """The groups a volume belongs to."""
    kind = "|".join(one.row.attributes.get(name, "") for name in KIND)
    regions = "|".join(extent.region for extent in one.predicted.extents) if one.predicted else ""
    return [("subject", one.row.subject_id), ("kind", kind), ("regions", regions)]


def _bits(chance: float) -> float:
    inside = min(max(chance, 1e-9), 1 - 1e-9)
    return -inside * math.log2(inside) - (1 - inside) * math.log2(1 - inside)
