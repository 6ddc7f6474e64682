"""What is learned from slices that are labelled with a region and not with which of its parts.

    n  slices    k  classes of the networks    z  scores    p  their softmax    q  p before learning

A slice labelled `legs` says that the sum P = Σ p_j over the parts j of the legs is one: its loss is
-log P, whose gradient in z_j is p_j - p_j / P.  That is the gradient p_j - t_j of a cross-entropy
with the label divided among the parts as they share it, t_j = p_j / P.  With the shares before,
t_j = q_j / Q, the cross-entropy differs from -log P by a divergence:

    -Σ t_j log p_j = -log P + KL(t || p / P) + constant

Both have the same gradient at q, and beyond it the sum learns while the shares are held (this is
the step of Dempster, Laird & Rubin (1977), *Maximum likelihood from incomplete data via the EM
algorithm*).  Held on these slices, not on others, as a layer has fewer numbers than it has slices
to agree with: on drawn features the shares of the legs moved by 0.04 in the mean.  So the parts of
a region of which no slice names any change in step, all by the same weights: p_j / P depends on
differences of their scores, which then stay as they were for every slice there is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import label_shares
from fovnet.regions import Vocabulary

LEAST_PROBABILITY = 1e-12
"""Added to every probability, so that parts which are all but impossible have shares."""


def divide_labels(
    truth: NDArray[np.bool_], probabilities_before: NDArray[np.float64], vocabulary: Vocabulary
) -> NDArray[np.float64]:
    """Targets (n, k), rows of sum one: each region shown has the same share, divided among its parts
    where all of them are, of which none is named, as before.

    truth                 (n, k)
    probabilities_before  (n, k)
    """
    starts = vocabulary.whole_starts
    part_counts = np.diff([*starts, len(vocabulary.classes)])
    region_shares = label_shares(np.logical_or.reduceat(truth, starts, axis=1))
    shares = truth * (probabilities_before + LEAST_PROBABILITY)
    sums = np.add.reduceat(shares, starts, axis=1)
    shares /= np.repeat(np.where(sums > 0, sums, 1.0), part_counts, axis=1)
    return np.asarray(shares * np.repeat(region_shares, part_counts, axis=1))


def find_group_starts(truth: NDArray[np.bool_], vocabulary: Vocabulary) -> list[int]:
    """The first class of each group of classes that are to change in step, ascending: the parts of a
    region of which no row of truth (n, k) names any; each other class by itself."""
    starts = vocabulary.whole_starts
    part_counts = np.diff([*starts, len(vocabulary.classes)])
    shown_counts = np.add.reduceat(truth.astype(np.int64), starts, axis=1)
    names_some_parts = (shown_counts > 0) & (shown_counts < part_counts)
    group_starts: list[int] = []
    for region_index, start in enumerate(starts):
        group_starts.append(start)
        if names_some_parts[:, region_index].any():
            group_starts += range(start + 1, start + int(part_counts[region_index]))
    return group_starts
