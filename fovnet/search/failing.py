"""How likely a configuration is to train at all; nothing is made up for the score of a failure, and nothing beside it is forbidden.

    m  rows asked about            n  trials that trained or failed

Running out of memory is explained by the estimate of the memory, one number a row: a limit that is learned.  Whatever else fails
because of its configuration (it diverged, it ran out of time) is left to a Gaussian process over the space.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fovnet.maths import gp
from fovnet.maths.kernels import KERNELS
from fovnet.maths.threshold import chance_to_fit
from fovnet.search.fitting import fitted
from fovnet.search.view import View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CAUTION = 4.0
"""How many times the log chance to fit counts beside a promise.  With once, a search that gains from size walks along the limit on the
wrong side: `fovnet bench edge --scenario memory` then counts 5.6 trainings out of memory instead of 3.1 (means of 40 seeds), though in
30 draws instead of 35."""
WARINESS = 2.0
"""How many times the log chance not to fail otherwise counts.  With once, the promise of a corner where all diverge outlives twenty
divergences: `fovnet bench edge --scenario rates-and-kills` then counts 6.2 of them instead of 4.8, in 35 draws instead of 33."""
SURE_TO_FIT = 0.8
"""Rows that are to be spread over the space before a model is asked are at least so likely to fit."""
LAPSE = 0.02
"""One outcome in fifty is no matter of the place: without it, a few divergences make all rows beside them impossible for good."""
CHUNK = 1024
"""Rows that are asked about at once; the best one is mostly among the first so many."""


@dataclass(frozen=True, eq=False)
class Chances:
    """The chances to train, estimated from the view's outcomes; 1 for every row without failures."""

    view: View

    def log_chance(self, rows: Integers) -> Floats:
        """Log probability (m,) that each row trains."""
        return self._log_fits[rows] + self._log_trains(rows)

    def best(self, rows: Integers, log_promise: Floats) -> Integers:
        """Of `rows`, those of greatest log promise (m,) + CAUTION · log chance to fit + WARINESS · log chance not to fail otherwise.

        All of them where several are equal.

        A chance only lowers a promise: so the rows are taken from the most promising down, until no other can win.
        """
        promise = log_promise + CAUTION * self._log_fits[rows]
        if not len(self.view.failed):
            return np.asarray(rows[promise == promise.max()])
        order = np.argsort(-promise, kind="stable")
        found, values = [], []
        highest = -np.inf
        for first in range(0, len(order), CHUNK):
            part = order[first : first + CHUNK]
            if promise[part[0]] < highest:
                break
            values.append(promise[part] + WARINESS * self._log_trains(rows[part]))
            found.append(rows[part])
            highest = max(highest, float(values[-1].max()))
        return np.sort(np.concatenate(found)[np.concatenate(values) == highest])

    def fitting(self, rows: Integers) -> Integers:
        """Those of `rows` that are SURE_TO_FIT, or, where none is, the likeliest."""
        log_fits = self._log_fits[rows]
        return np.asarray(rows[log_fits >= min(np.log(SURE_TO_FIT), float(log_fits.max()))])

    def likely(self, rows: Integers) -> Integers:
        """Those of `rows` that are more likely to train than not, or, where none is, the likeliest."""
        chance = self.log_chance(rows)
        good = chance >= np.log(0.5)
        return np.asarray(rows[good if good.any() else chance == chance.max()])

    @cached_property
    def _log_fits(self) -> Floats:
        """(M,) log chance to have enough memory."""
        rows, fits = self.view.fitted
        if self.view.memory is None or fits.all():
            return np.zeros(len(self.view.space))
        estimate = np.log(self.view.memory)
        return np.log(chance_to_fit(estimate, estimate[rows], fits))

    def _log_trains(self, rows: Integers) -> Floats:
        """Log probability (m,) that a configuration trains, from those that did (+1) and those that failed (-1).

        A Gaussian process on these labels, with prior mean +1: untried configurations are assumed to train.  Its lengthscales are fitted
        to the labels, so that an axis without influence on failures drops out.
        Source: Rasmussen & Williams (2006), section 6.5 (least-squares classification through a cumulative Gaussian); the product
        with expected improvement: Gelbart et al., *Bayesian optimization with unknown constraints* (2014), eq. 5.
        """
        tried, trained = self.view.outcomes        # by slot: what the hyper-parameters are fitted to only grows at its end
        if trained.all():
            return np.zeros(len(rows))
        below_one = np.where(trained, 0.0, -2.0)
        space, kernel = self.view.space, self.view.modelling.kernel
        theta = fitted(space, tried, below_one, None, kernel)
        mean, variance = gp.posterior(
            space.unit_cube[rows], space.unit_cube[tried], below_one, theta, space.scales, KERNELS[kernel]
        )
        chance = ndtr((1.0 + mean) / np.sqrt(variance + np.exp(theta[-1])))
        return np.asarray(np.log((1.0 - LAPSE) * chance + 0.5 * LAPSE))
