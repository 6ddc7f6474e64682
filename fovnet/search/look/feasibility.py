"""The probability that a configuration trains.  Failures get no invented score here (one of gp-ei's
two models gives them the worst: `look.improvement`), and configurations near a failure are not
excluded.

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
from fovnet.search.look.view import View, round_to_six_digits

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

CAUTION = 4.0
"""Weight of the log probability to fit into memory, added to the log acquisition value.  With 1, a
search that gains from size stays beyond the limit: `edge.py --scenario memory` then counts 5.6
trainings out of memory instead of 3.1 (means of 40 seeds), though in 30 trials instead of 35."""
WARINESS = 2.0
"""Weight of the log probability not to fail otherwise.  With 1, a corner where all rows diverge is
still proposed after twenty divergences: `edge.py --scenario rates-and-kills` then counts 6.2 of
them instead of 4.8, in 35 trials instead of 33 (with a single model)."""
SURE_TO_FIT = 0.8
"""Least probability to fit into memory of the first rows, which are spread over the space without a
model of the scores."""
LIKELY_TO_TRAIN = 0.5
"""Least probability to train of the rows that methods without a trade-off choose from."""
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
        return self._log_chance_to_fit[rows] + self._log_chance_not_to_fail(rows)

    def chance_of_row(self, row: int) -> float:
        """Probability that a row trains, to six digits."""
        return round_to_six_digits(float(np.exp(self.log_chance(np.array([row]))[0])))

    def best_rows(
        self,
        rows: Integers,
        log_promise: Floats,
        exact_log_promise: Callable[[Integers], Floats] | None = None,
    ) -> Integers:
        """Of `rows` (m,), those of greatest log promise + CAUTION · log P(fits) + WARINESS · log
        P(does not fail otherwise); all, if several tie.

        log_promise        (m,) log acquisition value of `rows`, or an upper bound of it
        exact_log_promise  gives the value of some rows, where `log_promise` is a bound
        The last term is at most 0, so rows are evaluated in descending order of the other two,
        until no further row can exceed the best.
        """
        bounds = log_promise + CAUTION * self._log_chance_to_fit[rows]
        if exact_log_promise is None and not len(self.view.failed_rows):
            return np.asarray(rows[bounds == bounds.max()])
        descending_order = np.argsort(-bounds, kind="stable")
        evaluated_rows: list[Integers] = []
        evaluated_values: list[Floats] = []
        highest_value = -np.inf
        for chunk_start in range(0, len(descending_order), ROWS_PER_CHUNK):
            chunk = descending_order[chunk_start : chunk_start + ROWS_PER_CHUNK]
            if bounds[chunk[0]] < highest_value:
                break
            chunk_rows = rows[chunk]
            values = bounds[chunk]
            if exact_log_promise is not None:
                log_chance_to_fit = self._log_chance_to_fit[chunk_rows]
                values = exact_log_promise(chunk_rows) + CAUTION * log_chance_to_fit
            values = values + WARINESS * self._log_chance_not_to_fail(chunk_rows)
            evaluated_rows.append(chunk_rows)
            evaluated_values.append(values)
            highest_value = max(highest_value, float(values.max()))
        is_best = np.concatenate(evaluated_values) == highest_value
        return np.sort(np.concatenate(evaluated_rows)[is_best])

    def are_sure_to_fit(self, rows: Integers) -> NDArray[np.bool_]:
        """(m,) whether each of `rows` has a probability to fit of at least SURE_TO_FIT."""
        return np.asarray(self._log_chance_to_fit[rows] >= np.log(SURE_TO_FIT))

    def rows_likely_to_fit(self, rows: Integers) -> Integers:
        """The `rows` with a probability to fit of at least SURE_TO_FIT, or, if there are none, the
        most probable."""
        return _likely_rows(rows, self._log_chance_to_fit[rows], SURE_TO_FIT)

    def rows_likely_to_train(self, rows: Integers) -> Integers:
        """The `rows` with a probability to train of at least LIKELY_TO_TRAIN, or, if there are
        none, the most probable."""
        return _likely_rows(rows, self.log_chance(rows), LIKELY_TO_TRAIN)

    @cached_property
    def _log_chance_to_fit(self) -> Floats:
        """(M,) log probability to fit into memory."""
        informative_rows, did_fit = self.view.memory_outcomes
        if self.view.memory is None or did_fit.all():
            return np.zeros(len(self.view.space))
        log_memory = np.log(self.view.memory)
        return np.log(chance_to_fit(log_memory, log_memory[informative_rows], did_fit))

    def _log_chance_not_to_fail(self, rows: Integers) -> Floats:
        """Log probability (m,) that these rows do not fail otherwise than for memory, from those
        that trained (+1) and those that failed so (-1).

        A Gaussian process on these labels, with prior mean +1: untried configurations are assumed
        to train. Its lengthscales are fitted to the labels, so that an axis without influence on
        failures drops out. Source: Rasmussen & Williams (2006), section 6.5 (least-squares
        classification through a cumulative Gaussian); the product with expected improvement:
        Gelbart et al., *Bayesian optimization with unknown constraints* (2014), eq. 5.
        """
        # by slot: new ones are appended at the end
        tried_rows, did_train = self.view.training_outcomes
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
        chance_not_to_fail = ndtr((1.0 + mean) / np.sqrt(variance + np.exp(theta[-1])))
        return np.asarray(np.log((1.0 - LAPSE_RATE) * chance_not_to_fail + 0.5 * LAPSE_RATE))


def _likely_rows(rows: Integers, log_chance: Floats, least_chance: float) -> Integers:
    """The rows (m,) whose log chance (m,) is that of `least_chance` or more, or else the greatest."""
    least_log_chance = min(np.log(least_chance), float(log_chance.max()))
    return np.asarray(rows[log_chance >= least_log_chance])
