"""Looking anywhere: by chance, or spread evenly before a model has anything to go by."""

from __future__ import annotations

import numpy as np

from fovnet.search.space import Space
from fovnet.search.view import Choice, View


def uniform(view: View) -> Choice:
    """A free row, each as likely as any other."""
    return Choice(int(view.rng.choice(np.flatnonzero(view.free))))


def few(space: Space) -> int:
    """How many spread rows a model needs to begin with: three, or one for each level of the largest category.

    A category that was never seen is as far from all others as any; the model predicts nothing for it.
    """
    return max([3, *(len(axis.levels) for axis in space.axes if axis.kind == "categorical")])


def spread(view: View) -> Choice:
    """The free row nearest to the slot's point of a scrambled Sobol sequence, which the search's seed fixes.

    Unlike chance it leaves no level of an axis untried for long; unlike a maximin design it does not begin in the corners,
    where the largest networks with the largest steps live.  Source: Owen, *Scrambling Sobol' and Niederreiter-Xing points* (1998).
    """
    from scipy.stats import qmc  # 30 MB, for the first few slots alone

    axes = view.space.axes
    sequence = qmc.Sobol(len(axes), scramble=True, seed=np.random.default_rng(view.seed))
    sequence.fast_forward(view.slot)
    point = sequence.random(1)[0]
    levels = np.array([int(share * len(axis.levels)) for share, axis in zip(point, axes, strict=True)])
    return Choice(view.space.nearest(levels, view.free))
