"""The probability that a configuration trains.  Failures get no invented score, and configurations
near a failure are not excluded.

    m  rows queried            n  trials that trained or failed

Running out of memory is modelled by a limit, learned on the memory estimate of each row.  Other
failures due to the configuration (divergence, timeout) are modelled by a Gaussian process over the
space.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fovnet.maths import gp
from fovnet.maths.kernels import KERNELS
from fovnet.maths.threshold import chance_to_fit
from fovnet.search.look.hyperparameters import fit_hyperparameters
from fovnet.search.look.view import View

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CAUTION = 4.0
"""Weight of the log probability to fit into memory, added to the log acquisition value.  With 1, a
search that gains from size stays beyond the limit: `edge.py --scenario memory` then counts 5.6
trainings out of memory instead of 3.1 (means of 40 seeds), though in 30 trials instead of 35."""
WARINESS = 2.0
"""Weight of the log probability not to fail otherwise.  With 1, a corner where all rows diverge is
still proposed after twenty divergences: `edge.py --scenario rates-and-kills` then counts 6.2 of
them instead of 4.8, in 35 trials instead of 33."""
SURE_TO_FIT = 0.8
"""Least probability to fit into memory of the first rows, which are spread over the space without a
model of the scores."""
LAPSE_RATE = 0.02
"""Share of outcomes assumed independent of the row: without it, a few divergences exclude all rows
near them for good."""
ROWS_PER_CHUNK = 1024
"""Rows evaluated at once; the best one is mostly in the first chunk."""


@dataclass(frozen=True, eq=False)
class Chances:
    """The probabilities to train, estimated from the view's outcomes; 1 for every row if there are
    no failures."""

    view: View

    def log_chance(self, rows: Integers) -> Floats:
        """Log probability (m,) that each row trains."""
        return self._log_chance_to_fit[rows] + self._log_chance_to_train(rows)

    def best(
        self, rows: Integers, log_promise: Floats, exact: Callable[[Integers], Floats] | None = None
    ) -> Integers:
        """The rows of greatest log promise (m,) + CAUTION · log P(fits) + WARINESS · log P(does not
        fail otherwise); all, if several tie.

        log_promise  (m,) log acquisition value of `rows`, or an upper bound of it where `exact`
                     gives the value of some rows.  The last
        term is at most 0, so rows are evaluated in descending order of the other two, until no
        further row can exceed the best.
        """
        promise = log_promise + CAUTION * self._log_chance_to_fit[rows]
        if exact is None and not len(self.view.failed):
            return np.asarray(rows[promise == promise.max()])
        descending_order = np.argsort(-promise, kind="stable")
        evaluated_rows = []
        evaluated_values = []
        highest_value = -np.inf
        for chunk_start in range(0, len(descending_order), ROWS_PER_CHUNK):
            chunk = descending_order[chunk_start : chunk_start + ROWS_PER_CHUNK]
            if promise[chunk[0]] < highest_value:
                break
            chunk_promise = (
                promise[chunk]
                if exact is None
                else exact(rows[chunk]) + CAUTION * self._log_chance_to_fit[rows[chunk]]
            )
            evaluated_values.append(
                chunk_promise + WARINESS * self._log_chance_to_train(rows[chunk])
            )
            evaluated_rows.append(rows[chunk])
            highest_value = max(highest_value, float(evaluated_values[-1].max()))
        return np.sort(
            np.concatenate(evaluated_rows)[np.concatenate(evaluated_values) == highest_value]
        )

    def fitting(self, rows: Integers) -> Integers:
        """The `rows` with a probability to fit of at least SURE_TO_FIT, or, if there are none, the
        most probable."""
        log_fits = self._log_chance_to_fit[rows]
        return np.asarray(rows[log_fits >= min(np.log(SURE_TO_FIT), float(log_fits.max()))])

    def likely(self, rows: Integers) -> Integers:
        """The `rows` with a probability to train of at least 0.5, or, if there are none, the most
        probable."""
        chance = self.log_chance(rows)
        is_likely = chance >= np.log(0.5)
        return np.asarray(rows[is_likely if is_likely.any() else chance == chance.max()])

    @cached_property
    def _log_chance_to_fit(self) -> Floats:
        """(M,) log probability to fit into memory."""
        informative_rows, did_fit = self.view.fitted
        if self.view.memory is None or did_fit.all():
            return np.zeros(len(self.view.space))
        log_memory = np.log(self.view.memory)
        return np.log(chance_to_fit(log_memory, log_memory[informative_rows], did_fit))

    def _log_chance_to_train(self, rows: Integers) -> Floats:
        """Log probability (m,) that a configuration trains, from those that did (+1) and those that
        failed (-1).

        A Gaussian process on these labels, with prior mean +1: untried configurations are assumed
        to train. Its lengthscales are fitted to the labels, so that an axis without influence on
        failures drops out. Source: Rasmussen & Williams (2006), section 6.5 (least-squares
        classification through a cumulative Gaussian); the product with expected improvement:
        Gelbart et al., *Bayesian optimization with unknown constraints* (2014), eq. 5.
        """
        tried_rows, did_train = self.view.outcomes  # by slot: new ones are appended at the end
        if did_train.all():
            return np.zeros(len(rows))
        labels_below_one = np.where(did_train, 0.0, -2.0)
        space = self.view.space
        kernel = self.view.modelling.kernel
        theta = fit_hyperparameters(space, tried_rows, labels_below_one, None, kernel)
        mean, variance = gp.posterior(
            space.unit_cube[rows],
            space.unit_cube[tried_rows],
            labels_below_one,
            theta,
            space.scales,
            KERNELS[kernel],
        )
        chance_to_train = ndtr((1.0 + mean) / np.sqrt(variance + np.exp(theta[-1])))
        return np.asarray(np.log((1.0 - LAPSE_RATE) * chance_to_train + 0.5 * LAPSE_RATE))
