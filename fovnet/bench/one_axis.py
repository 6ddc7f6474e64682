"""Gaussian processes and a search on a single axis: the numbers behind the pictures that explain
them, from the code that searches.

    m  points of the axis, evenly spaced from 0 to 1
    n  observed points
    c  functions drawn

The function searched is made up to look as a validation loss does along the logarithm of a rate: a
bowl with ripples, 0.5 + 2.2 (x - 0.68)² + 0.12 sin(14x + 1), lowest at 0.709 with 0.382, and a second
minimum, of 0.694, at 0.343.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.acquisition import (
    log_expected_improvement,
    log_probability_of_improvement,
    lower_confidence_bound,
)
from fovnet.maths.gp import factorise, posterior
from fovnet.maths.kernels import KERNELS
from fovnet.search.look.gaussian import (
    LEAST_IMPROVEMENT,
    believe,
    log_improvement,
    moments_of_belief,
)
from fovnet.search.look.view import Modelling
from fovnet.search.search import Search, make_view, propose_slot
from fovnet.search.space import Space
from fovnet.search.trial import Outcome, Proposal, Trial

Floats = NDArray[np.float64]

POINT_COUNT = 201
AXIS = np.linspace(0.0, 1.0, POINT_COUNT)
"""(m,) the points."""
DRAW_NOISE_VARIANCE = 1e-8
"""Of drawn functions: without any the covariance of 201 near points has no factor."""
NOISE_VARIANCE = 1e-4
"""Of observations, one part in ten thousand of the signal's."""
OBSERVED_POINTS = (0.08, 0.35, 0.6, 0.92)
SECONDS_OF_POINT = 1.0
FIRST_SLOTS = 3
"""Of a search: spread over the axis before there is a model."""


class Process(NamedTuple):
    """What a Gaussian process says of a function, (m,) each: its mean and standard deviation, and
    functions drawn from it (c, m); the points observed (n,) and their values."""

    observed_points: Floats
    observed_values: Floats
    mean: Floats
    deviation: Floats
    drawn_functions: Floats


class Acquisitions(NamedTuple):
    """What is gained from each point, (m,) each, and the point that each measure chooses: expected
    improvement, probability of improvement, and the confidence bound, two deviations below the
    mean, the lower the better."""

    expected_improvement: Floats
    improvement_probability: Floats
    lower_bound: Floats
    chosen_points: tuple[float, float, float]


class SearchStep(NamedTuple):
    """A slot of a search, as it is seen just before: what the process says (scores), the expected
    improvement (m,) in units of the score, and the point that the search proposes."""

    process: Process
    expected_improvement: Floats
    proposed_point: float


def evaluate_loss(points: Floats) -> Floats:
    """The function searched, of the shape of the points."""
    return np.asarray(0.5 + 2.2 * (points - 0.68) ** 2 + 0.12 * np.sin(14.0 * points + 1.0))


def draw_prior_functions(
    kernel_name: str, lengthscale: float, function_count: int, seed: int
) -> Floats:
    """Functions (c, m) drawn from a process of unit variance before anything is observed; the same
    seed gives the same normal draws for every kernel and lengthscale."""
    theta = _theta(lengthscale, DRAW_NOISE_VARIANCE)
    factor = factorise(AXIS[:, None], theta, kernel=KERNELS[kernel_name])
    normal_draws = np.random.default_rng([seed, 1]).standard_normal((function_count, POINT_COUNT))
    return np.asarray(normal_draws @ factor.T)


def condition_process(
    points: Sequence[float],
    kernel_name: str,
    lengthscale: float,
    function_count: int = 0,
    seed: int = 0,
) -> Process:
    """A process of unit variance that has observed the standardised function at these points (n,).

    Functions are drawn as priors that are corrected by what is observed.  Source: Wilson et al.,
    *Efficiently sampling functions from Gaussian process posteriors* (2020), eq. 13.
    """
    kernel = KERNELS[kernel_name]
    theta = _theta(lengthscale, NOISE_VARIANCE)
    observed_indices = np.array([np.abs(AXIS - point).argmin() for point in points], dtype=np.int64)
    X = AXIS[observed_indices, None]
    x = AXIS[:, None]
    values = standardised_function()[observed_indices]
    drawn_functions = draw_prior_functions(kernel_name, lengthscale, function_count, seed)
    if not len(points):
        return Process(
            observed_points=X[:, 0],
            observed_values=values,
            mean=np.zeros(POINT_COUNT),
            deviation=np.ones(POINT_COUNT),
            drawn_functions=drawn_functions,
        )
    mean, variance = posterior(x, X, values, theta, kernel=kernel)
    noise_draws = np.random.default_rng([seed, 2]).standard_normal((function_count, len(points)))
    corrected_functions = drawn_functions.copy()
    for function, noise in zip(corrected_functions, noise_draws, strict=True):
        residuals = values - function[observed_indices] - np.sqrt(NOISE_VARIANCE) * noise
        correction, _ = posterior(x, X, residuals, theta, kernel=kernel)
        function += correction
    return Process(
        observed_points=X[:, 0],
        observed_values=values,
        mean=mean,
        deviation=np.sqrt(variance),
        drawn_functions=corrected_functions,
    )


def standardised_function() -> Floats:
    """The function searched (m,), of mean zero and unit variance along the axis."""
    values = evaluate_loss(AXIS)
    return np.asarray((values - values.mean()) / values.std())


def measure_acquisitions(process: Process) -> Acquisitions:
    """The three measures on one posterior, the first two for an improvement on the lowest observed
    value, the second by as much as `gp-pi` asks for."""
    best = float(process.observed_values.min())
    variance = process.deviation**2
    improvement = np.exp(log_expected_improvement(process.mean, variance, best))
    probability = np.exp(
        log_probability_of_improvement(process.mean, variance, best - LEAST_IMPROVEMENT)
    )
    bound = -lower_confidence_bound(process.mean, variance)
    chosen_points = (
        float(AXIS[improvement.argmax()]),
        float(AXIS[probability.argmax()]),
        float(AXIS[bound.argmin()]),
    )
    return Acquisitions(
        expected_improvement=improvement,
        improvement_probability=probability,
        lower_bound=bound,
        chosen_points=chosen_points,
    )


def search_axis(step_count: int, seed: int) -> list[SearchStep]:
    """The first steps of a search of the function that have a model, slot by slot; the first three
    slots, which spread, are its observations at the first step."""
    search = Search(
        Space.of({"x": AXIS.tolist()}),
        "gp-ei",
        seed,
        workers=1,
        start=0,
        initial=FIRST_SLOTS,
        predicted_seconds=np.full(POINT_COUNT, SECONDS_OF_POINT),
        feasible=np.ones(POINT_COUNT, dtype=bool),
        modelling=Modelling(targets="raw", models="single"),
    )
    proposals: list[Proposal] = []
    trial_by_slot: dict[int, Trial] = {}
    steps = []
    for slot in range(FIRST_SLOTS + step_count):
        proposal = propose_slot(search, proposals, trial_by_slot)
        if slot >= FIRST_SLOTS:
            steps.append(_see_step(search, [*trial_by_slot.values()], proposal.row))
        proposals.append(proposal)
        trial_by_slot[slot] = _train_point(proposal)
    return steps


def _see_step(search: Search, trials: Sequence[Trial], proposed_row: int) -> SearchStep:
    """What the search knows after these trials, in units of the score."""
    is_free = np.ones(POINT_COUNT, dtype=bool)
    rows = np.array([trial.proposal.row for trial in trials])
    is_free[rows] = False
    view = make_view(search, trials, slot=len(trials), is_free=is_free)
    belief = believe(view)
    mean, variance = moments_of_belief(belief)
    scores = evaluate_loss(AXIS[rows])
    unit = belief.target.unit or 1.0
    process = Process(
        observed_points=AXIS[rows],
        observed_values=scores,
        mean=scores.mean() + unit * mean,
        deviation=unit * np.sqrt(variance),
        drawn_functions=np.empty((0, POINT_COUNT)),
    )
    improvement = unit * np.exp(log_improvement(view, belief, np.arange(POINT_COUNT)))
    return SearchStep(process, improvement, float(AXIS[proposed_row]))


def _train_point(proposal: Proposal) -> Trial:
    """The trial of a point, whose score is the function's value."""
    score = float(evaluate_loss(AXIS[proposal.row]))
    return Trial(proposal, Outcome("completed", score=score, seconds=SECONDS_OF_POINT))


def _theta(lengthscale: float, noise_variance: float) -> Floats:
    """Hyper-parameters (3,) of a process of unit variance on one axis."""
    return np.log([lengthscale, 1.0, noise_variance])
