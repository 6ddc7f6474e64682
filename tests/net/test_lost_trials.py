"""Forty trials, some of them ill-fated: every one has a true record, none is lost, and the others never
notice."""

from __future__ import annotations

import json
import os
import resource
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fovnet.errors import SearchError
from fovnet.net.jobs.trials import search_networks
from fovnet.net.jobs.workers import TrainingJob, TrainingPool
from fovnet.net.paths import weights_path_of
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.stopping import Ends
from fovnet.search.run import run_search
from fovnet.search.search import Search
from fovnet.search.space import Axis, Space
from fovnet.search.spend.envelope import Envelope
from fovnet.search.trial import Outcome, Proposal, Trial

pytestmark = pytest.mark.slow

GIB = 1 << 30
MEMORY = 24 * GIB
"""Of addresses: a process that has imported torch has taken some already, and the network that is too large
wants 64 GiB more."""

AXES = (
    Axis("blocks", (4, 5, 1, 9)),
    Axis("convolutions", (1,)),
    Axis("log2_filters", (0, 1, 2, 3, 10)),
    Axis("kernel", (3, 5)),
    Axis("separable", (False,)),
    Axis("log10_learning_rate", (-2, -1, 38)),
    Axis("log2_batch", (2, 3)),
    Axis("head", ("gap", "fc")),
)
SOUND = [
    [b, 0, f, k, 0, rate, a, 0]
    for b in (0, 1)
    for f in range(4)
    for k in (0, 1)
    for rate in (0, 1)
    for a in (0, 1)
][:37]
TOO_LARGE, EXPLODES, NO_PIXEL_LEFT = (
    [2, 0, 4, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 0, 2, 0, 0],
    [3, 0, 0, 0, 0, 0, 0, 0],
)
SPACE = Space(AXES, np.array([*SOUND, TOO_LARGE, EXPLODES, NO_PIXEL_LEFT]))
ILL_FATED = {37: "out_of_memory", 38: "diverged", 39: "error"}


@pytest.fixture(scope="module")
def slices(
    tmp_path_factory: pytest.TempPathFactory, files: Callable[..., tuple[Path, Path]]
) -> Path:
    return files(tmp_path_factory.mktemp("slices"), 16, 8)[0].parent


def job(slices: Path, journal: Path, **changes: object) -> TrainingJob:
    recipe = Recipe(2, 16, Ranges(10, 0.05, 0.05, 0.1, 0.02))
    own = {name: changes.pop(name) for name in [*changes] if hasattr(recipe, name)}
    recipe = replace(recipe, **own)  # type: ignore[arg-type]
    plain = TrainingJob(
        slices / "pixels.npy", slices / "rows.npz", journal / "networks", "gap", "cpu", recipe
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def search(workers: int = 1, method: str = "random", rows: int = len(SPACE)) -> Search:
    seconds = 1.0 + np.arange(len(SPACE)) % 3
    return Search(SPACE, method, 7, workers, 0, 4, seconds, np.arange(len(SPACE)) < rows)


def children(pool: TrainingPool) -> Iterator[int]:
    """The process numbers of a pool's workers, as far as they have begun to live."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rsplit(")", 1)[1].split()[1])
            if parent == os.getpid() and b"spawn_main" in path.with_name("cmdline").read_bytes():
                yield int(path.parent.name)
        except (OSError, IndexError):
            continue


def lasting(trials: list[Trial]) -> dict[int, tuple[object, ...]]:
    """Row to everything of a trial but the seconds."""
    return {
        trial.proposal.row: (
            trial.proposal,
            trial.outcome.status,
            trial.outcome.training_loss,
            trial.outcome.validation_loss,
        )
        for trial in trials
    }


def workers_of(pool: TrainingPool) -> list[int]:
    """Those of a pool that has been given something to do, each with no more than MEMORY of addresses from
    now on."""
    while not (workers := list(children(pool))):
        pass
    for worker in workers:
        resource.prlimit(worker, resource.RLIMIT_AS, (MEMORY, MEMORY))
    return workers


def until_the_disk_is_full(job_: TrainingJob, journal: Path) -> None:
    """Forty trials of which the worker of slot 12 is killed, and from slot 25 on no worker may write more
    than 1000 bytes."""
    killed, limited = [], set()
    with TrainingPool(job_, 1) as pool:

        def submit(proposal: Proposal) -> Future[Outcome]:
            future, workers = pool.submit(proposal), workers_of(pool)
            if proposal.slot == 25:
                for worker in workers:
                    resource.prlimit(worker, resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
                    limited.add(worker)
            if proposal.slot == 12 and not killed:
                killed.append(workers[0])
                os.kill(workers[0], signal.SIGKILL)
            return future

        with pytest.raises(SearchError, match="no space left on the disk") as stopped:
            run_search(search(), trials=40, folder=journal, submit=submit)
    assert stopped.value.code == "disk-full" and limited and killed


def with_room_again(job_: TrainingJob, journal: Path) -> list[Trial]:
    """The same command, once more."""
    with TrainingPool(job_, 1) as pool:

        def submit(proposal: Proposal) -> Future[Outcome]:
            future = pool.submit(proposal)
            workers_of(pool)
            return future

        return run_search(search(), trials=40, folder=journal, submit=submit)


def test_forty_trials_with_planted_faults(slices: Path, tmp_path: Path) -> None:
    """Less memory for every worker; a rate that explodes; a layer that fails; a worker killed; then a disk
    that is full, and room again."""
    journal = tmp_path / "faulty"
    job_ = job(slices, journal)
    until_the_disk_is_full(job_, journal)
    recorded = sorted(journal.glob("slot-*.json"))
    assert len(recorded) == 25
    before = {path: path.read_bytes() for path in recorded}
    assert not list(job_.networks_folder.glob(".*.part"))

    trials = with_room_again(job_, journal)
    assert {path: path.read_bytes() for path in recorded} == before
    assert len(list(journal.glob("slot-*.json"))) == len(trials) == 40

    status = {trial.proposal.row: trial.outcome.status for trial in trials}
    assert {row: status[row] for row in ILL_FATED} == ILL_FATED
    assert all(status[row] == "completed" for row in range(37))
    by_row = {trial.proposal.row: trial for trial in trials}
    assert (
        "Traceback" in (journal / "logs" / f"slot-{by_row[39].proposal.slot:04d}.txt").read_text()
    )
    assert "traceback in logs/slot-" in by_row[39].outcome.message and len(by_row[39].retries) == 2
    retries = [trial.retries for trial in trials if trial.retries and trial.proposal.row != 39]
    # unseen if it was killed before it had told its process number
    assert retries in (
        [("the worker process died by signal 9, perhaps for memory",)],
        [("the worker process died unseen",)],
    )
    for path in journal.glob("slot-*.json"):
        json.loads(path.read_text())

    # a third of the trainings where nothing ever fails
    sound = replace(job_, networks_folder=tmp_path / "alone" / "networks")
    with TrainingPool(sound, 1) as pool:
        for row in range(0, 37, 3):
            alone, trial = pool.submit(by_row[row].proposal).result(), by_row[row]
            assert (alone.training_loss, alone.validation_loss) == (
                trial.outcome.training_loss,
                trial.outcome.validation_loss,
            )
            slot = trial.proposal.slot
            assert (
                weights_path_of(sound.networks_folder, slot).read_bytes()
                == weights_path_of(job_.networks_folder, slot).read_bytes()
            )


def test_one_or_three_workers_make_the_same_records(slices: Path, tmp_path: Path) -> None:
    """Random search does not look at results: with three workers every slot has seen others, and trains the
    same network."""
    made = {}
    for workers in (1, 3):
        journal = tmp_path / str(workers)
        trials = search_networks(search(workers, rows=37), job(slices, journal), journal, trials=6)
        made[workers] = (
            [replace(trial.proposal, seen_slots=(), pending_slots=()) for trial in trials],
            [replace(trial.outcome, seconds=0.0) for trial in trials],
        )
        assert not list(journal.glob("networks/*.checkpoint"))
    assert made[1] == made[3]
    for slot in range(6):
        assert (
            weights_path_of(tmp_path / "1/networks", slot).read_bytes()
            == weights_path_of(tmp_path / "3/networks", slot).read_bytes()
        )


def test_what_is_pruned_follows_from_what_the_slot_had_seen(slices: Path, tmp_path: Path) -> None:
    """The best trial seen is the envelope: two runs prune the same trials, and none that was as good."""
    plan = search(2, rows=37)
    envelope = Envelope((1,), 0.0)
    first, second = (
        search_networks(
            plan,
            job(slices, tmp_path / name, envelope=envelope, ends=Ends()),
            tmp_path / name,
            trials=8,
        )
        for name in "ab"
    )
    assert lasting(first) == lasting(second)
    assert {trial.outcome.status for trial in first} == {"completed", "pruned"}
    by_slot = {trial.proposal.slot: trial for trial in first}
    for trial in first:
        bound = envelope.highest_losses([by_slot[slot] for slot in trial.proposal.seen_slots]).get(
            1, np.inf
        )
        assert (trial.outcome.status == "pruned") == (trial.outcome.validation_loss[0] > bound)
        assert trial.score == min(trial.outcome.validation_loss)
