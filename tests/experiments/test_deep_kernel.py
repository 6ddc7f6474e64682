"""fsbo: its Gaussian process against scikit-learn's on the same features, and what other tasks teach."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

import deep_kernel
from deep_kernel import (
    JITTERS,
    deep_improvement,
    draw_parameters,
    goodness,
    learn_kernel,
    negative_log_likelihood,
    posterior,
)
from fovnet.search.learn.training import Lessons, learn
from tests.search.test_prior import CENTRES, SOURCES, SPACE, loss_of

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(2)
X, Y, AT = RNG.random((12, 3)), RNG.random(12), RNG.random((7, 3))
PARTS = [*draw_parameters(3, RNG)[:-1], torch.tensor(np.log([0.7, 1.3, 0.05]))]


def process() -> tuple[GaussianProcessRegressor, np.ndarray, np.ndarray]:
    """scikit-learn's process, and the features of X and of AT by numpy."""
    made = []
    for x in (X, AT):
        for i in range(0, 8, 2):
            x = x @ PARTS[i].numpy() + PARTS[i + 1].numpy()
            x = np.maximum(x, 0) if i < 6 else x
        made.append(x)
    kernel = ConstantKernel(1.3) * Matern(0.7, nu=2.5)
    return GaussianProcessRegressor(kernel, alpha=0.05 + JITTERS[0], optimizer=None).fit(
        made[0], Y
    ), *made


def test_its_posterior_is_that_of_a_process_on_the_features() -> None:
    other, _, features = process()
    mean, deviation = other.predict(features, return_std=True)
    mine = posterior(PARTS, (X, Y), AT)
    assert mine[0] == pytest.approx(mean, abs=1e-5) and mine[1] == pytest.approx(
        deviation**2, abs=1e-5
    )


def test_its_likelihood_is_that_of_the_normal_distribution() -> None:
    other, features, _ = process()
    K = other.kernel_(features) + (0.05 + JITTERS[0]) * np.eye(12)
    wanted = -multivariate_normal(np.zeros(12), K).logpdf(Y) - 6.0 * np.log(2 * np.pi)
    mine = negative_log_likelihood(PARTS, torch.tensor(X), torch.tensor(Y))
    assert 12 * float(mine) == pytest.approx(wanted, abs=1e-4)


def test_points_that_are_alike_need_more_jitter_and_only_what_is_no_number_is_refused() -> None:
    alike = [*PARTS[:-1], torch.tensor([5.0, 0.0, -50.0])]
    assert np.isfinite(posterior(alike, (np.tile(X[:1], (12, 1)), Y), AT)[0]).all()
    with pytest.raises(np.linalg.LinAlgError, match="12 rows"):
        posterior(PARTS, (X * np.nan, Y), AT)


def test_goodness_knows_no_scale_and_equal_losses_are_no_better_than_another() -> None:
    losses = loss_of(CENTRES[0])
    good = goodness(losses)
    assert (good.min(), good.max(), int(good.argmax())) == (0.0, 1.0, int(losses.argmin()))
    assert goodness(4096.0 * losses - 64.0) == pytest.approx(good, abs=1e-9)
    assert goodness(np.ones(3)).tolist() == [0.0, 0.0, 0.0]


def test_what_is_learned_from_other_tasks_orders_a_new_one_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ten rows of it known: the correlation with the goodness of all, after one step and after 200."""
    losses, rows = (
        loss_of(CENTRES[4], 9),
        np.random.default_rng(1).choice(len(SPACE), 10, replace=False),
    )
    correlations = []
    for seed, steps in enumerate((1, 200)):
        monkeypatch.setattr(deep_kernel, "STEPS", steps)
        prior = learn(SOURCES, SPACE.axes, Lessons(steps=1), seed, checked=False)
        measured = SPACE.unit_cube[rows], goodness(losses[rows])
        mean, _ = posterior(learn_kernel(prior), measured, SPACE.unit_cube)
        correlations.append(np.corrcoef(mean, goodness(losses))[0, 1])
    assert correlations[1] > max(0.7, correlations[0])
    promise = deep_improvement(prior)(SPACE.unit_cube[rows], losses[rows], SPACE.unit_cube)
    assert np.isfinite(promise).all() and losses[promise.argmax()] < np.quantile(losses, 0.2)
