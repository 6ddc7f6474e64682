"""Trainings that go on in a later slot: the bits of one that was never interrupted, and no file kept for
nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from fovnet.net.family.weights import load_tensors
from fovnet.net.jobs.trials import search_networks
from fovnet.net.jobs.workers import TrainingJob, train_proposal
from fovnet.net.paths import checkpoint_path_of, weights_path_of
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.stopping import Ends, Plateau
from fovnet.search.search import Search
from fovnet.search.space import Axis, Space
from fovnet.search.spend.schedule import Schedule
from fovnet.search.trial import Proposal, Trial, latest_trials

AXES = (
    Axis("blocks", (4, 5)),
    Axis("convolutions", (1,)),
    Axis("log2_filters", (0, 1, 2)),
    Axis("kernel", (3,)),
    Axis("separable", (False, True)),
    Axis("log10_learning_rate", (-3, -2, -1)),
    Axis("log2_batch", (2, 3)),
)
SPACE = Space(AXES)


@pytest.fixture(scope="module")
def job(
    tmp_path_factory: pytest.TempPathFactory, files: Callable[..., tuple[Path, Path]]
) -> TrainingJob:
    folder = tmp_path_factory.mktemp("slices")
    recipe = Recipe(9, 16, Ranges(10, 0.05, 0.05, 0.1, 0.02))
    return TrainingJob(*files(folder, 16, 8), folder / "networks", "gap", "cpu", recipe)


def rung(slot: int, epochs: int, continues: int | None, begun: int) -> Proposal:
    row = SPACE.row_of(
        {
            "blocks": 4,
            "convolutions": 1,
            "log2_filters": 2,
            "kernel": 3,
            "separable": False,
            "log10_learning_rate": -1,
            "log2_batch": 2,
        }
    )
    return Proposal(
        slot, row, SPACE.configuration(row), 11, (), (), 1.0, None, epochs, continues, begun
    )


def nothing(weights: Path) -> None:
    """Everything is as the earlier slot left it."""


def lost_checkpoint(weights: Path) -> None:
    checkpoint_path_of(weights).unlink()


def damaged_checkpoint(weights: Path) -> None:
    checkpoint_path_of(weights).write_bytes(checkpoint_path_of(weights).read_bytes()[:-9])


@pytest.mark.parametrize(
    "ends", [Ends(), Ends(plateau=Plateau(1, 0.5, 9))], ids=["plain", "plateau"]
)
@pytest.mark.parametrize("befalls", [nothing, lost_checkpoint, damaged_checkpoint, Path.unlink])
def test_what_goes_on_in_a_later_slot_has_the_bits_of_one_training(
    job: TrainingJob, tmp_path: Path, befalls: Callable[[Path], None], ends: Ends
) -> None:
    """Three slots of 1, 3 and 6 epochs against one of 6: curves and weights equal, whatever befell the files
    between."""
    here = replace(
        job, networks_folder=tmp_path / "networks", recipe=replace(job.recipe, ends=ends)
    )
    alone = replace(
        job, networks_folder=tmp_path / "alone", recipe=replace(job.recipe, ends=ends, epochs=6)
    )
    whole = train_proposal(alone, rung(0, 6, None, 0))
    train_proposal(here, rung(0, 1, None, 0))
    train_proposal(here, rung(4, 3, 0, 1))
    befalls(weights_path_of(here.networks_folder, 4))
    last = train_proposal(here, rung(9, 6, 4, 3))
    assert (last.training_loss, last.validation_loss, last.score) == (
        whole.training_loss,
        whole.validation_loss,
        whole.score,
    )
    mine, its = (
        load_tensors(weights_path_of(folder, slot))[0]
        for folder, slot in ((here.networks_folder, 9), (alone.networks_folder, 0))
    )
    assert all(torch.equal(mine[name], its[name]) for name in its)
    assert len(last.epoch_seconds) == 6 and last.seconds == sum(last.epoch_seconds[3:])


def test_a_later_slot_leaves_the_files_of_the_earlier_one_as_they_are(
    job: TrainingJob, tmp_path: Path
) -> None:
    here = replace(job, networks_folder=tmp_path / "networks")
    train_proposal(here, rung(0, 1, None, 0))
    first = [
        path(weights_path_of(here.networks_folder, 0)).read_bytes()
        for path in (Path, checkpoint_path_of)
    ]
    train_proposal(here, rung(1, 3, 0, 1))
    assert [
        path(weights_path_of(here.networks_folder, 0)).read_bytes()
        for path in (Path, checkpoint_path_of)
    ] == first


def searched(job: TrainingJob, journal: Path, spend: str, workers: int = 1) -> list[Trial]:
    seconds = 1.0 + np.arange(len(SPACE)) % 3
    schedule = Schedule(spend, 9)  # type: ignore[arg-type]
    plan = Search(
        SPACE,
        "random",
        7,
        workers,
        0,
        4,
        seconds,
        np.ones(len(SPACE), dtype=bool),
        schedule=schedule,
    )
    return search_networks(
        plan, replace(job, networks_folder=journal / "networks"), journal, trials=3
    )


@pytest.mark.slow
@pytest.mark.parametrize("spend", ["asha", "hyperband"])
def test_a_search_keeps_one_network_for_each_training_and_no_checkpoint_at_its_end(
    job: TrainingJob, tmp_path: Path, spend: str
) -> None:
    trials = searched(job, tmp_path, spend)
    by_slot = {trial.proposal.slot: trial for trial in trials}
    continued = [trial for trial in trials if trial.proposal.continued_slot is not None]
    assert continued and any(trial.proposal.epochs == 9 for trial in trials)
    for trial in continued:
        before = by_slot[trial.proposal.continued_slot]
        assert (
            trial.outcome.validation_loss[: before.proposal.epochs]
            == before.outcome.validation_loss
        )
        assert trial.proposal.begun_epochs == before.proposal.epochs and trial.score <= before.score
    kept = {path.name for path in (tmp_path / "networks").iterdir()}
    assert kept == {
        weights_path_of(tmp_path, trial.proposal.slot).name for trial in latest_trials(trials)
    }
