"""Worker processes: a trial's outcome does not depend on who trained it, and a dead worker harms nobody
else."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fovnet.errors import SearchError
from fovnet.net.jobs.workers import TrainingJob, TrainingPool, file_stamp, train_proposal
from fovnet.net.paths import weights_path_of
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training.loss_curves import read_loss_curves
from fovnet.search.trial import Proposal

CONFIGURATION = {
    "blocks": 4,
    "convolutions": 1,
    "log2_filters": 2,
    "kernel": 3,
    "separable": False,
    "log10_learning_rate": -2,
    "log2_batch": 3,
}


@pytest.fixture(scope="module")
def job(
    tmp_path_factory: pytest.TempPathFactory, files: Callable[..., tuple[Path, Path]]
) -> TrainingJob:
    folder = tmp_path_factory.mktemp("trials")
    recipe = Recipe(2, 32, Ranges(10, 0.05, 0.05, 0.1, 0.02))
    return TrainingJob(*files(folder, 32, 16), folder / "networks", "gap", "cpu", recipe)


def of_epochs(job: TrainingJob, epochs: int, **changes: Any) -> TrainingJob:
    return replace(job, recipe=replace(job.recipe, epochs=epochs), **changes)


def proposal(slot: int, **changes: int) -> Proposal:
    return Proposal(
        slot,
        slot,
        {**CONFIGURATION, **changes},
        seed=100 + slot,
        seen_slots=(),
        pending_slots=(),
        predicted_seconds=1.0,
    )


@pytest.fixture(scope="module")
def pool(job: TrainingJob) -> Iterator[TrainingPool]:
    with TrainingPool(job, workers=1) as pool:
        yield pool


@pytest.mark.slow
def test_a_worker_gives_the_losses_and_bits_of_a_training_at_home(
    job: TrainingJob, pool: TrainingPool
) -> None:
    away = pool.submit(proposal(0)).result()
    bits = weights_path_of(job.networks_folder, 0).read_bytes()
    import torch

    torch.set_num_threads(1)
    home = train_proposal(replace(job, networks_folder=job.networks_folder / "home"), proposal(0))
    assert away.status == home.status == "completed"
    assert (away.training_loss, away.validation_loss, away.score) == (
        home.training_loss,
        home.validation_loss,
        home.score,
    )
    assert weights_path_of(job.networks_folder / "home", 0).read_bytes() == bits


def test_a_share_of_a_learning_rate_is_a_smaller_one(job: TrainingJob, tmp_path: Path) -> None:
    """A tenth of 10^-2 is 10^-3."""
    share = train_proposal(
        replace(job, rate_factor=0.1, networks_folder=tmp_path / "share"),
        proposal(5, log10_learning_rate=-2),
    )
    whole, other = (
        train_proposal(
            replace(job, networks_folder=tmp_path / str(rate)),
            proposal(5, log10_learning_rate=rate),
        )
        for rate in (-3, -2)
    )
    assert share.validation_loss == pytest.approx(whole.validation_loss, rel=1e-4)
    assert share.validation_loss != pytest.approx(other.validation_loss, rel=1e-4)


def test_files_that_were_written_anew_are_read_anew(
    job: TrainingJob, tmp_path: Path, draw: Callable[..., tuple[np.ndarray, np.ndarray]]
) -> None:
    """In one process, as a notebook trains: what lay at that path before is not what is learned from."""
    where = {"pixels_path": tmp_path / "pixels.npy", "rows_path": tmp_path / "rows.npz"}
    outcomes = []
    for seed in (2, 3):
        pixels, targets = draw(48, seed)
        for path, save in (
            (where["pixels_path"], partial(np.save, arr=pixels)),
            (
                where["rows_path"],
                partial(
                    np.savez, targets=targets, train=np.arange(32), validation=np.arange(32, 48)
                ),
            ),
        ):
            save(tmp_path / f"new{path.suffix}")
            (tmp_path / f"new{path.suffix}").replace(path)
        outcomes.append(
            train_proposal(replace(job, networks_folder=tmp_path / f"{seed}", **where), proposal(6))
        )
    fresh = train_proposal(
        replace(
            job,
            networks_folder=tmp_path / "fresh",
            pixels_path=shutil.copy(where["pixels_path"], tmp_path / "again.npy"),
            rows_path=where["rows_path"],
        ),
        proposal(6),
    )
    assert outcomes[1].training_loss == fresh.training_loss != outcomes[0].training_loss


def test_slices_cut_anew_while_a_search_runs_end_it(job: TrainingJob, tmp_path: Path) -> None:
    """Its later trials would stand in the journal of the old slices, trained on others."""
    pixels = Path(shutil.copy(job.pixels_path, tmp_path / "pixels.npy"))
    begun = replace(
        job,
        pixels_path=pixels,
        networks_folder=tmp_path / "networks",
        pixels_stamp=file_stamp(pixels),
    )
    assert train_proposal(begun, proposal(8)).status == "completed"
    shutil.copy(job.pixels_path, tmp_path / "new.npy")
    (tmp_path / "new.npy").replace(pixels)
    with pytest.raises(SearchError, match="written again while the search ran") as refused:
        train_proposal(begun, proposal(9))
    assert refused.value.code == "slices-replaced"


@pytest.mark.slow
def test_a_search_that_is_stopped_waits_for_no_training(job: TrainingJob, tmp_path: Path) -> None:
    """Nobody would write down what it comes to; what it has come to is in its checkpoint."""
    epochs, weights = 2_000, tmp_path / "networks"
    with (
        pytest.raises(KeyboardInterrupt),
        TrainingPool(of_epochs(job, epochs, networks_folder=weights), workers=1) as stopped,
    ):
        stopped.submit(proposal(3))
        while not read_loss_curves(weights_path_of(weights, 3))[1]:
            time.sleep(0.05)
        raise KeyboardInterrupt
    assert 0 < len(read_loss_curves(weights_path_of(weights, 3))[1]) < epochs


def test_a_checkpoint_of_other_slices_is_not_gone_on_with(job: TrainingJob, tmp_path: Path) -> None:
    """What `fovnet train` leaves when it is killed; the slices are then cut anew, and it is called again."""
    keep, first = (
        replace(job, networks_folder=tmp_path / "kept", data_hash="these"),
        of_epochs(job, 3, networks_folder=tmp_path / "fresh"),
    )
    begun, expected = train_proposal(keep, proposal(7)), train_proposal(first, proposal(7))
    on = train_proposal(of_epochs(keep, 3), proposal(7))
    assert (
        on.training_loss == expected.training_loss and on.training_loss[:2] == begun.training_loss
    )
    epochs: list[int] = []
    train_proposal(
        of_epochs(keep, 3, data_hash="those"),
        proposal(7),
        report_epoch=lambda progress, wanted: epochs.append(len(progress.training_losses)),
    )
    assert epochs == [1, 2, 3], "all epochs were trained again"


@pytest.mark.slow
def test_a_killed_worker_is_an_error_of_the_machine_and_the_next_trial_is_unharmed(
    pool: TrainingPool, job: TrainingJob
) -> None:
    endless, before = of_epochs(job, 10_000), children()
    with TrainingPool(endless, workers=1) as doomed:
        future = doomed.submit(proposal(1))
        worker = newborn(before)
        while not read_loss_curves(weights_path_of(job.networks_folder, 1))[1]:
            time.sleep(0.05)
        os.kill(worker, signal.SIGKILL)
        outcome = future.result(timeout=900)
    assert outcome.status == "error" and "died by signal 9" in outcome.message
    # of the epochs that it had
    assert outcome.validation_loss and outcome.score == min(outcome.validation_loss)
    assert pool.submit(proposal(2)).result(timeout=900).status == "completed"


@pytest.mark.slow
def test_a_worker_killed_while_it_is_idle_costs_one_attempt_and_no_more(job: TrainingJob) -> None:
    before = children()
    with TrainingPool(job, workers=1) as pool:
        assert pool.submit(proposal(5)).result(timeout=900).status == "completed"
        worker = newborn(before)
        os.kill(worker, signal.SIGKILL)
        ends = [pool.submit(proposal(slot)).result(timeout=900).status for slot in (6, 6)]
    assert ends in (["error", "completed"], ["completed", "completed"])


@pytest.mark.slow
def test_an_exception_in_a_training_is_an_error_with_a_sentence_and_its_traceback_in_a_file(
    pool: TrainingPool, job: TrainingJob
) -> None:
    """b 9 pools 128 pixels away to nothing."""
    outcome = pool.submit(proposal(3, blocks=9)).result(timeout=900)
    assert (
        outcome.status == "error"
        and "size" in outcome.message
        and outcome.message.endswith("(traceback in logs/slot-0003.txt)")
    )
    assert "max_pool2d" in (job.networks_folder.parent / "logs" / "slot-0003.txt").read_text()
    assert pool.submit(proposal(4)).result(timeout=900).status == "completed"


def children() -> set[int]:
    """The process numbers of this process's workers."""
    mine = os.getpid()
    return {
        int(path.name)
        for path in Path("/proc").iterdir()
        if path.name.isdigit()
        and _parent(path) == mine
        and b"spawn_main" in (path / "cmdline").read_bytes()
    }


def newborn(before: set[int]) -> int:
    """The worker that was not there before, as soon as it is."""
    for _ in range(9000):
        if new := children() - before:
            return new.pop()
        time.sleep(0.1)
    raise AssertionError("no worker process appeared")


def _parent(path: Path) -> int:
    try:
        return int((path / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return -1
