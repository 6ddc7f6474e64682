"""The search on an autoencoder: what it is shown, how it is measured, and that it can be repeated and
continued."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

from another_model import (
    EPOCHS,
    SPACE,
    STARTS,
    Task,
    app,
    outcome_of,
    run_task,
)
from autoencoder import train_autoencoder
from fovnet.errors import FovnetError
from fovnet.records import read_tsv
from fovnet.search.slot_files import read_trials
from fovnet.search.trial import Proposal
from interrupted_pictures import count_verdicts, f1_of, load_pictures
from picture_baselines import BASELINES, best_detector
from tests.typed_words import output_of


def test_the_space_is_that_of_the_example_and_a_quarter_of_the_pictures_lack_three_rows() -> None:
    assert len(SPACE) == 352_800
    training, choosing, test = load_pictures()
    assert [len(part.pixels) for part in (training, choosing, test)] == [898, 449, 450]
    assert not training.is_interrupted.any()
    for part in (choosing, test):
        assert 0.2 < part.is_interrupted.mean() < 0.3
        blank = (part.pixels.reshape(-1, 8, 8) == 0).all(axis=2)
        runs = (blank[:, :-2] & blank[:, 1:-1] & blank[:, 2:]).any(axis=1)
        assert runs[part.is_interrupted].all() and not runs[~part.is_interrupted].any()


def test_f1_is_that_of_scikit_learn_and_nothing_told_rightly_is_none() -> None:
    rng = np.random.default_rng(0)
    interrupted, told = rng.random(400) < 0.25, rng.random(400) < 0.4
    complete, other, mean = f1_of(count_verdicts(interrupted, told).sum(axis=0))
    assert complete == pytest.approx(f1_score(~interrupted, ~told)) and other == pytest.approx(
        f1_score(interrupted, told)
    )
    assert mean == pytest.approx(f1_score(interrupted, told, average="macro"))
    assert f1_of(count_verdicts(np.array([True]), np.array([False])).sum(axis=0)).tolist() == [
        0.0,
        0.0,
        0.0,
    ]


def proposal(**changes: object) -> Proposal:
    configuration = {**STARTS["good"], **changes}
    return Proposal(0, SPACE.row_of(configuration), configuration, 7, (), (), 1.0)


def test_a_training_lowers_its_loss_and_repeats_itself() -> None:
    outcome, again = outcome_of(proposal(optimiser="adam")), outcome_of(proposal(optimiser="adam"))
    assert outcome.training_loss == again.training_loss and outcome.score == again.score is not None
    assert (
        len(outcome.training_loss) == EPOCHS
        and outcome.training_loss[-1] < 0.8 * outcome.training_loss[0]
    )


def test_a_training_without_a_finite_loss_has_diverged() -> None:
    huge = np.full((64, 8), 1e20)
    _, losses = train_autoencoder(huge, {**STARTS["good"], "rate": 0.1}, epochs=4, seed=0)
    assert not math.isfinite(losses[-1]) and len(losses) < 4
    outcome = outcome_of(proposal(rate=0.1))
    assert outcome.status in ("completed", "diverged") and (outcome.score is None) == (
        outcome.status == "diverged"
    )


def test_a_search_goes_on_from_its_journal_to_what_it_would_have_come_to(tmp_path: Path) -> None:
    task = Task(tmp_path / "whole", "a-mads", "bad", 1, 6)
    whole = run_task(task)
    for slot in (3, 5):
        (tmp_path / "whole" / f"slot-{slot:04d}.json").unlink()
    again = run_task(task)
    assert again == whole and whole.score <= whole.first
    assert whole.low <= whole.mean <= whole.high and whole.mean == pytest.approx(
        (whole.complete + whole.interrupted) / 2
    )
    trials = read_trials(tmp_path / "whole")
    assert (
        len(trials) == 6
        and trials[4].proposal.step == "search"
        and trials[5].proposal.step.startswith("poll")
    )


def test_the_command_has_a_line_for_each_search_and_refuses_what_it_does_not_know(
    tmp_path: Path,
) -> None:
    output = output_of(
        app,
        "--out",
        tmp_path,
        "--method",
        "random",
        "--method",
        "mads",
        "--thesis",
        "--trials",
        "2",
        "--seeds",
        "1",
    )
    assert "of the test pictures are interrupted" in output
    rows = read_tsv(tmp_path / "another-model.tsv")
    assert [(row["method"], row["seed"], row["trials"]) for row in rows] == [
        ("random", "0", "2"),
        ("mads", "0", "2"),
    ]
    assert (tmp_path / "mads-good-thesis-0" / "search.json").exists()
    with pytest.raises(FovnetError, match="bench-start"):
        output_of(app, "--out", tmp_path, "--start", "worse")
    with pytest.raises(FovnetError, match="bench-method"):
        output_of(app, "--out", tmp_path, "--method", "madds")


@pytest.mark.parametrize("name", BASELINES)
def test_a_baseline_calls_interrupted_what_lies_beyond_its_threshold(name: str) -> None:
    """Of the training pictures, all complete, the share above it is what the quantile leaves."""
    detector = best_detector(name, 0, (0.5, 0.9), epochs=2)
    training, _, _ = load_pictures()
    alarm_share = (detector.errors(training.pixels) > detector.threshold).mean()
    quantile = float(detector.configuration.rpartition("=")[2])
    assert alarm_share == pytest.approx(1 - quantile, abs=0.01)
    again = best_detector(name, 0, (0.5, 0.9), epochs=2)
    assert (again.score, again.configuration) == (detector.score, detector.configuration)
