"""Which volume is asked for next: those first from which networks would learn most.

    v  volumes

What a volume teaches is guessed from how unsure its statements are, how far the networks disagree,
and how unlike it is what they know.  It counts less with every volume of the same person, the same
kind of picture, and the same regions that comes before it, so that the queue is spread over them
from the beginning.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import numpy as np

from fovnet.label.starts import LabelItem

KIND_ATTRIBUTES = ("site", "manufacturer", "sequence", "plane")
REPEAT_FACTORS = {"subject": 0.25, "kind": 0.7, "regions": 0.85}
"""What a volume still counts after one with the same.  A second volume of one person tells little
that is new; a site, sequence and plane, or a set of regions, is worth several."""
MOST_RARITY_DIGITS = 3.0
"""Of -log10 of the share of known slices that are as unusual: 1 in 1000 at most."""


class AlikeGroup(NamedTuple):
    """Volumes of the same subject, kind of picture or regions, as of REPEAT_FACTORS."""

    kind: str
    value: str


def order_by_teaching(
    items: Sequence[LabelItem], seed: int, done_indices: Collection[int] = ()
) -> list[int]:
    """Indices of the volumes (v,), the most instructive first; those done are already known, and
    count as coming before."""
    teaching_values = np.array([teaching_value(item) for item in items])
    groups_by_item_index = [_groups_counted_as_alike(item) for item in items]
    done_count_by_group: Counter[AlikeGroup] = Counter(
        group for index in done_indices for group in groups_by_item_index[index]
    )
    item_indices_by_group: dict[AlikeGroup, list[int]] = {}
    for index, groups_of_item in enumerate(groups_by_item_index):
        for group in groups_of_item:
            item_indices_by_group.setdefault(group, []).append(index)
    for group, done_count in done_count_by_group.items():
        teaching_values[item_indices_by_group[group]] *= REPEAT_FACTORS[group.kind] ** done_count
    teaching_values[list(done_indices)] = -1.0
    queue = []
    for _ in range(len(items) - len(done_indices)):
        best_index = int(teaching_values.argmax())
        queue.append(best_index)
        teaching_values[best_index] = -1.0
        for group in groups_by_item_index[best_index]:
            members_of_same_group = np.asarray(item_indices_by_group[group])
            teaching_values[members_of_same_group] *= np.where(
                teaching_values[members_of_same_group] > 0, REPEAT_FACTORS[group.kind], 1.0
            )
    return queue + sorted(done_indices)


def order_by_doubt(
    items: Sequence[LabelItem], seed: int, done_indices: Collection[int] = ()
) -> list[int]:
    """The most instructive first, whatever is alike."""
    return sorted(range(len(items)), key=lambda index: -teaching_value(items[index]))


def order_as_listed(
    items: Sequence[LabelItem], seed: int, done_indices: Collection[int] = ()
) -> list[int]:
    """As the tables list them."""
    return [*range(len(items))]


def order_randomly(
    items: Sequence[LabelItem], seed: int, done_indices: Collection[int] = ()
) -> list[int]:
    """By chance: the error on the first volumes then holds for all."""
    return [int(index) for index in np.random.default_rng(seed).permutation(len(items))]


ORDER_BY_NAME: dict[str, Callable[[Sequence[LabelItem], int, Collection[int]], list[int]]] = {
    "teaching": order_by_teaching,
    "unsure": order_by_doubt,
    "listed": order_as_listed,
    "random": order_randomly,
}


def teaching_value(item: LabelItem) -> float:
    """What a volume teaches, above 0: the entropy of its statements in bits, in the mean over
    regions, how far the networks disagree, and how unusual it is, each from 0 to 1.

    A volume without a prediction counts as one of which all is unsure.
    """
    prediction = item.prediction
    if prediction is None or not prediction.probabilities:
        return 1.0
    mean_entropy_bits = sum(map(_entropy_bits, prediction.probabilities)) / len(
        prediction.probabilities
    )
    disagreement = 0.0
    if prediction.agreement is not None:
        disagreement = 1.0 - prediction.agreement
    rarity = 0.0
    if prediction.novelty is not None:
        rarity = (
            min(-math.log10(max(prediction.novelty, 1e-9)), MOST_RARITY_DIGITS) / MOST_RARITY_DIGITS
        )
    return 0.01 + mean_entropy_bits + disagreement + rarity / 2


def _groups_counted_as_alike(item: LabelItem) -> list[AlikeGroup]:
    """The three groups that a volume belongs to: by its subject, its kind of picture, its predicted
    regions."""
    kind_of_picture = "|".join(item.row.attributes.get(name, "") for name in KIND_ATTRIBUTES)
    predicted_regions = ""
    if item.prediction:
        predicted_regions = "|".join(extent.region for extent in item.prediction.extents)
    return [
        AlikeGroup("subject", item.row.subject_id),
        AlikeGroup("kind", kind_of_picture),
        AlikeGroup("regions", predicted_regions),
    ]


def _entropy_bits(stated_probability: float) -> float:
    probability = min(max(stated_probability, 1e-9), 1 - 1e-9)
    return -probability * math.log2(probability) - (1 - probability) * math.log2(1 - probability)
