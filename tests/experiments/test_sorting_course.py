"""Why long training under range control unlearns an order: what the likeliest scores are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fovnet.maths.ranking_losses import list_mle
from fovnet.records import read_tsv
from sorting import RANGES, Study
from sorting_course import app, course, likeliest_scores
from tests.typed_words import output_of


def loss_of(scores):
    size = len(scores)
    return list_mle(scores[None], np.ones(size), np.arange(size))[0][0] / size


def test_of_two_and_three_numbers_the_likeliest_scores_tie_none():
    assert likeliest_scores(2).scores == pytest.approx([2.0, -2.0])
    optimum = likeliest_scores(3)
    assert (optimum.tied_first, optimum.tied_last) == (1, 1)


def test_of_thirty_the_first_and_the_last_are_tied_and_no_other_scores_are_likelier():
    optimum = likeliest_scores(30)
    assert optimum.tied_first > 3
    assert optimum.tied_last > 3
    assert loss_of(np.linspace(2.0, -2.0, 30)) > optimum.loss
    rng = np.random.default_rng(0)
    for _ in range(200):
        others = np.clip(optimum.scores + rng.normal(0.0, 0.1, 30), -2.0, 2.0)
        assert loss_of(others) > optimum.loss


def test_the_loss_falls_while_the_order_is_lost():
    study = Study(30, 500, RANGES[0], 0.003, 0.003, batch=4)
    by_epoch = {line["epoch"]: line for line in course(study)}
    assert by_epoch[500]["loss"] < by_epoch[100]["loss"]
    assert by_epoch[500]["share"] < by_epoch[100]["share"]
    free = {line["epoch"]: line for line in course(replace(study, within=None))}
    assert free[500]["share"] == 1.0


def test_the_command_writes_the_course_of_three_trainings(tmp_path: Path):
    words = ("--size", 4, "--epochs", 20, "--batch", 2, "--out", tmp_path / "course.tsv")
    assert "the order of 4 is likeliest" in output_of(app, *words)
    rows = read_tsv(tmp_path / "course.tsv")
    assert [row["epoch"] for row in rows] == 3 * ["0", "20"]
