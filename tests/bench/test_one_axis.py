"""The pictures of processes and of a search on one axis show what the searches compute."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern
from typer.testing import CliRunner

from fovnet.bench.one_axis import (
    AXIS,
    NOISE_VARIANCE,
    OBSERVED_POINTS,
    condition_process,
    draw_prior_functions,
    evaluate_loss,
    measure_acquisitions,
    search_axis,
)
from fovnet.cli import app
from fovnet.errors import ConfigError

SCIKIT_LEARN_KERNELS = {"matern52": Matern(0.15, nu=2.5), "squared-exponential": RBF(0.15)}


@pytest.mark.parametrize("kernel_name", SCIKIT_LEARN_KERNELS)
def test_a_posterior_is_that_of_scikit_learn(kernel_name: str) -> None:
    process = condition_process(OBSERVED_POINTS, kernel_name, 0.15)
    oracle = GaussianProcessRegressor(
        SCIKIT_LEARN_KERNELS[kernel_name], alpha=NOISE_VARIANCE, optimizer=None
    )
    oracle.fit(process.observed_points[:, None], process.observed_values)
    mean, deviation = oracle.predict(AXIS[:, None], return_std=True)
    np.testing.assert_allclose(process.mean, mean, atol=1e-6)
    np.testing.assert_allclose(process.deviation, deviation, atol=1e-5)


def test_functions_drawn_have_the_mean_and_the_deviation_of_their_process() -> None:
    """Of 2,000: within five standard errors everywhere, before and after observing."""
    for points in ((), OBSERVED_POINTS):
        process = condition_process(points, "matern52", 0.15, 2000, seed=3)
        error = (process.drawn_functions.mean(axis=0) - process.mean) / (process.deviation + 1e-2)
        assert np.abs(error).max() < 5 / np.sqrt(2000)
        drawn_deviation = process.drawn_functions.std(axis=0)
        np.testing.assert_allclose(drawn_deviation, process.deviation, rtol=0.12, atol=0.01)


def test_a_longer_lengthscale_gives_functions_that_change_less() -> None:
    changes = [
        np.abs(np.diff(draw_prior_functions("matern52", scale, 50, 0), axis=1)).mean()
        for scale in (0.05, 0.15, 0.5)
    ]
    assert changes == sorted(changes, reverse=True)


def test_three_measures_on_one_posterior_by_their_formulas() -> None:
    process = condition_process(OBSERVED_POINTS, "matern52", 0.15)
    acquisitions = measure_acquisitions(process)
    best = process.observed_values.min()
    z = (best - process.mean) / process.deviation
    gain = (best - process.mean) * norm.cdf(z) + process.deviation * norm.pdf(z)
    np.testing.assert_allclose(acquisitions.expected_improvement, gain, atol=1e-9)
    probability = norm.cdf((best - 0.01 - process.mean) / process.deviation)
    np.testing.assert_allclose(acquisitions.improvement_probability, probability, atol=1e-9)
    np.testing.assert_allclose(acquisitions.lower_bound, process.mean - 2 * process.deviation)
    assert len(set(acquisitions.chosen_points)) == 3, "the picture shows three choices"


def test_each_step_proposes_the_greatest_expected_improvement_and_the_minimum_is_reached() -> None:
    steps = search_axis(4, seed=1)
    for earlier, later in pairwise(steps):
        assert later.process.observed_points[-1] == earlier.proposed_point
    for step in steps:
        is_free = ~np.isin(AXIS, step.process.observed_points)
        best_point = AXIS[np.where(is_free, step.expected_improvement, -1.0).argmax()]
        assert step.proposed_point == best_point
    lowest_loss = evaluate_loss(AXIS).min()
    assert min(steps[-1].process.observed_values) < lowest_loss + 0.01


def test_the_verb_writes_five_pictures_and_never_over_another_file(tmp_path) -> None:
    arguments = ["bench", "figures", "--out", str(tmp_path), "--steps", "1"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "prior.svg",
        "lengthscales.svg",
        "posterior.svg",
        "acquisitions.svg",
        "search.svg",
    }
    first_text = (tmp_path / "search.svg").read_text()
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (tmp_path / "search.svg").read_text() == first_text
    (tmp_path / "prior.svg").write_text("<svg/>")
    refusal = CliRunner().invoke(app, arguments).exception
    assert isinstance(refusal, ConfigError) and refusal.code == "out-foreign"
    assert (tmp_path / "prior.svg").read_text() == "<svg/>"
