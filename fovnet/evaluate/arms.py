"""The arms of an ablation: ways to mix networks and ways to decode a volume's probabilities, each
one row of a table.

    p  networks    m  scored slices    s  slices of one volume    k  classes

All arms leave out two parts of the decision in use.  One is the probabilities of the volume turned
over, from networks that see heights: they are known for the ensemble alone, and change doubts, and
labels only where a region beside a spine has a low probability (2 of 300 such volumes).  The other
is black margins (`fovnet.decision.chain.margins`), whose slices an answer labels none: here they
keep the networks' classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import label_shares
from fovnet.decision.chain.spans import decide_volume
from fovnet.decision.member_weights import WEIGHTS_BY_WAY, mean_by_weights
from fovnet.decision.rule import Rule
from fovnet.maths.smoothing import smooth_along_body, temper
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]
Labels = NDArray[np.bool_]
LEAST_LABEL_PROBABILITY = 0.7  # of a class, below which `decode_by_threshold` says none


@dataclass(frozen=True)
class Networks:
    """Probabilities of all scored slices, by network.

    ensemble_probabilities  (m, k) the mean that the ensemble is used with
    member_probabilities    (p, m, k) each member's, the best first
    scores                  (p,) their validation losses
    start_probabilities     (m, k) of the hand-set starting network, None where it was not trained
                            to the end
    is_validation           (m,) which of the slices are of the validation split, for mixes that are
                            fitted there
    truth                   (m, k) bool
    subject_index           (m,)
    """

    ensemble_probabilities: Floats
    member_probabilities: NDArray[np.float32]
    scores: Floats
    start_probabilities: Floats | None
    is_validation: Labels
    truth: Labels
    subject_index: NDArray[np.int64]


Mix = Callable[[Networks], Floats | None]
Decoding = Callable[[Floats, Floats, Floats, Vocabulary, Rule], Labels]


@dataclass(frozen=True)
class Arm:
    """One way to decide: which networks are mixed, and how their probabilities are decoded."""

    name: str
    description: str
    mix_networks: Mix
    decode: Decoding


def decode_raw(
    probabilities: Floats, z_mm: Floats, edges_mm: Floats, vocabulary: Vocabulary, rule: Rule
) -> Labels:
    """The most probable class of each slice by itself."""
    return _most_probable(probabilities)


def decode_smoothed(
    probabilities: Floats, z_mm: Floats, edges_mm: Floats, vocabulary: Vocabulary, rule: Rule
) -> Labels:
    """The most probable class after calibration and smoothing along the body."""
    return _most_probable(_smoothed_probabilities(probabilities, z_mm, rule))


def decode_by_threshold(
    probabilities: Floats, z_mm: Floats, edges_mm: Floats, vocabulary: Vocabulary, rule: Rule
) -> Labels:
    """Smoothed, and none where no class reaches 0.7: the simplest way to abstain."""
    smoothed_probabilities = _smoothed_probabilities(probabilities, z_mm, rule)
    labels = _most_probable(smoothed_probabilities)
    class_count = len(vocabulary.classes)
    labels[smoothed_probabilities.max(axis=1) < LEAST_LABEL_PROBABILITY] = (
        np.arange(class_count) == class_count - 1
    )
    return labels


def decode_exactly(
    probabilities: Floats,
    z_mm: Floats,
    edges_mm: Floats,
    vocabulary: Vocabulary,
    rule: Rule,
    **changes: Any,
) -> Labels:
    """The decision as it is used, or with some fields of the rule changed."""
    return decide_volume(
        probabilities, z_mm, vocabulary, replace(rule, **changes), edges_mm=edges_mm
    ).decided_labels


def decode_without_none(
    probabilities: Floats, z_mm: Floats, edges_mm: Floats, vocabulary: Vocabulary, rule: Rule
) -> Labels:
    """The exact decoder without the class none, whose probability is shared among the regions in
    proportion to theirs."""
    region_probabilities = probabilities.copy()
    region_probabilities[:, -1] = 0.0
    region_sums = region_probabilities.sum(axis=1, keepdims=True)
    even_shares = np.full_like(region_probabilities, 1 / (probabilities.shape[1] - 1))
    shares = np.divide(region_probabilities, region_sums, out=even_shares, where=region_sums > 0)
    shares[:, -1] = 0.0
    return decode_exactly(shares, z_mm, edges_mm, vocabulary, rule)


decode_without_heights = partial(decode_exactly, heights=())
"""The decision without the usual heights of the regions."""
decode_at_intersections = partial(decode_without_heights, method="intersections")
"""The thesis's decision: borders only where two adjacent curves cross, without heights."""
mix_as_shipped = attrgetter("ensemble_probabilities")
"""The ensemble as it is used."""
take_starting_network = attrgetter("start_probabilities")
"""The hand-set starting configuration, as trained by the search."""


def take_best_member(networks: Networks) -> Floats:
    """The member with the lowest validation loss."""
    return np.asarray(
        networks.member_probabilities[int(np.argmin(networks.scores))], dtype=np.float64
    )


def mix_equally(networks: Networks) -> Floats:
    """All members with equal weights."""
    return np.asarray(networks.member_probabilities.mean(axis=0, dtype=np.float64))


def _mean_weighted(networks: Networks, way: str) -> Floats:
    """Members weighted by a way of WEIGHTS_BY_WAY."""
    is_validation = networks.is_validation
    member_weights = WEIGHTS_BY_WAY[way](
        networks.member_probabilities[:, is_validation],
        label_shares(networks.truth[is_validation]),
        networks.subject_index[is_validation],
    )
    return mean_by_weights(networks.member_probabilities, member_weights)


mix_by_loss = partial(_mean_weighted, way="by-loss")
"""Members weighted by validation loss, lower losses more."""
mix_greedily = partial(_mean_weighted, way="greedy")
"""Members weighted by greedy forward selection."""


LADDERS: Mapping[str, Sequence[Arm]] = {
    "decision": (
        Arm("raw", "most probable class of each slice", mix_as_shipped, decode_raw),
        Arm(
            "smoothed", "the same after calibration and smoothing", mix_as_shipped, decode_smoothed
        ),
        Arm(
            "threshold 0.7",
            "smoothed, and none where no class reaches 0.7",
            mix_as_shipped,
            decode_by_threshold,
        ),
        Arm(
            "intersections",
            "the thesis's decoding: borders where two smoothed curves cross",
            mix_as_shipped,
            decode_at_intersections,
        ),
        Arm("exact", "exact decoding without none", mix_as_shipped, decode_without_none),
        Arm(
            "exact + none, no heights",
            "exact decoding with none, without usual heights",
            mix_as_shipped,
            decode_without_heights,
        ),
        Arm("exact + none", "the decision as it is used", mix_as_shipped, decode_exactly),
    ),
    "ensemble": (
        Arm("best member", "lowest validation loss", take_best_member, decode_exactly),
        Arm("mean of members", "equal weights", mix_equally, decode_exactly),
        Arm("weighted", "weights by validation loss", mix_by_loss, decode_exactly),
        Arm(
            "greedy",
            "picked one after another on the validation split",
            mix_greedily,
            decode_exactly,
        ),
    ),
    "network": (
        Arm("starting network", "set by hand", take_starting_network, decode_exactly),
        Arm("best found", "lowest validation loss of the search", take_best_member, decode_exactly),
        Arm("ensemble", "as it is used", mix_as_shipped, decode_exactly),
    ),
}
"""Ladders of arms, each compared with the one before it."""


def _smoothed_probabilities(probabilities: Floats, z_mm: Floats, rule: Rule) -> Floats:
    return smooth_along_body(temper(probabilities, rule.temperature), z_mm, rule.sigma_mm)


def _most_probable(probabilities: Floats) -> Labels:
    return np.asarray(np.arange(probabilities.shape[1]) == probabilities.argmax(axis=1)[:, None])
