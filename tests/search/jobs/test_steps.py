"""Slots as jobs of their own: done in any order that their inputs allow, the trials of the search in one
process."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fovnet.choices import SpendKind
from fovnet.errors import SearchError
from fovnet.search.explain.explanation import explain
from fovnet.search.jobs.proposals import (
    is_within_budget,
    read_proposal,
    read_proposals,
    read_request,
    slots_awaited,
)
from fovnet.search.jobs.steps import begin, finish, gather, is_on_record, propose
from fovnet.search.journal import lock_journal, read_search, replay
from fovnet.search.look.view import Modelling
from fovnet.search.run import run_search
from fovnet.search.search import Search
from fovnet.search.space import Space
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.trial import Outcome, Proposal, Trial

SPACE = Space.of(
    {"depth": range(5), "width": range(6), "kind": ["a", "b", "c"], "flag": [False, True]}
)
# durations span a hundredfold
SECONDS = np.random.default_rng(1).lognormal(0.0, 1.5, len(SPACE))


def searched(
    method: str = "random", workers: int = 4, fit: int = len(SPACE), schedule: Schedule = FULL
) -> Search:
    """A search over the toy space, of which the first `fit` rows fit."""
    return Search(
        SPACE, method, 3, workers, 40, 4, SECONDS, np.arange(len(SPACE)) < fit, schedule=schedule
    )


def train(proposal: Proposal) -> Future[Outcome]:
    """A loss that depends on the configuration and the training's seed alone; the deepest and widest
    diverge."""
    depth, width = int(proposal.configuration["depth"]), int(proposal.configuration["width"])
    loss = float(
        (depth - 2) ** 2
        + 0.3 * (width - 4) ** 2
        + np.random.default_rng(proposal.seed).normal(0.0, 0.01)
    )
    future: Future[Outcome] = Future()
    future.set_result(
        Outcome("diverged", (2.0, float("nan")))
        if depth + width >= 8
        else Outcome("completed", (loss,), (loss,), loss)
    )
    return future


def run_as_jobs(
    folder: Path,
    search: Search,
    trials: int,
    order: np.random.Generator,
    source: str = "slices",
    stop: float | None = None,
) -> list[Trial]:
    """The trials, each act called as soon as its inputs exist, one of all that could be called drawn by
    `order`."""
    begin(search, folder, source)
    proposed, finished, ended = 0, set[int](), False
    while not ended or len(finished) < proposed:
        ready = [("train", slot) for slot in range(proposed) if slot not in finished]
        if not ended and set(slots_awaited(folder, proposed)) <= finished:
            ready.append(("propose", proposed))
        act, slot = ready[order.integers(len(ready))]
        if act == "train":
            finish(folder, slot, train)
            finished.add(slot)
        else:
            propose(folder, slot, stop)
            ends = isinstance(read_proposal(folder, slot), str)
            proposed += not ends
            made = read_proposals(folder, proposed)
            ended = ends or not is_within_budget(folder, made, trials)
    return gather(folder, trials)


@pytest.mark.parametrize(
    ("method", "trials", "workers"), [("random", 60, 4), ("random", 20, 1), ("gp-ei", 14, 3)]
)
def test_slots_as_jobs_in_any_order_are_the_search_in_one_process(
    tmp_path: Path, method: str, trials: int, workers: int
) -> None:
    search = searched(method, workers)
    whole = run_search(search, trials=trials, folder=tmp_path / "whole", submit=train)
    for order in range(2):
        jobs = run_as_jobs(tmp_path / str(order), search, trials, np.random.default_rng(order))
        # nan, where a training diverged, equals nothing but its name
        assert repr(jobs) == repr(whole)
    assert [replay(tmp_path / "0", slot) for slot in (0, trials - 1)] == [
        whole[0].proposal,
        whole[-1].proposal,
    ]
    with pytest.raises(SearchError, match=f"slot 999 was asked for; there are 0 to {trials - 1}"):
        replay(tmp_path / "0", 999)


@pytest.mark.parametrize(
    ("kind", "method"), [("hyperband", "random"), ("asha", "random"), ("asha", "gp-ei")]
)
def test_under_a_schedule_too_jobs_in_any_order_are_the_search_in_one_process(
    tmp_path: Path, kind: SpendKind, method: str
) -> None:
    """And more trials asked for later go on from there."""
    search = searched(method, 3, schedule=Schedule(kind, 9, 3))
    whole = run_search(search, trials=6, folder=tmp_path / "whole", submit=train)
    assert any(trial.proposal.continued_slot is not None for trial in whole)
    for order in range(2):
        jobs = run_as_jobs(tmp_path / str(order), search, 6, np.random.default_rng(order))
        assert repr(jobs) == repr(whole)
    assert [replay(tmp_path / "0", slot) for slot in range(len(whole))] == [
        trial.proposal for trial in whole
    ]
    # its proposals have the epochs of so many
    assert read_request(tmp_path / "1", len(whole)).trials == 6
    more = run_as_jobs(tmp_path / "1", search, 8, np.random.default_rng(0))
    assert repr(more) == repr(run_search(search, trials=8, folder=tmp_path / "whole", submit=train))
    longer = replace(search, predicted_seconds=search.predicted_seconds * 1.01)
    with pytest.raises(SearchError, match="journal-of-another-search"):
        begin(longer, tmp_path / "1", "slices")
    (tmp_path / "1" / "search.json").unlink()
    with pytest.raises(SearchError, match="journal-of-another-search"):
        begin(longer, tmp_path / "1", "slices")


@pytest.mark.parametrize("kind", ["hyperband", "asha"])
def test_under_a_schedule_too_a_space_used_up_ends_it_with_a_sentence(
    tmp_path: Path, kind: SpendKind
) -> None:
    search = searched(workers=1, fit=7, schedule=Schedule(kind, 9, 3))
    trials = run_as_jobs(tmp_path / "jobs", search, 99, np.random.default_rng(0))
    assert repr(trials) == repr(
        run_search(search, trials=99, folder=tmp_path / "whole", submit=train)
    )
    assert {trial.proposal.row for trial in trials} == set(range(7))
    last = json.loads((tmp_path / "jobs" / f"proposal-{len(trials):04d}.json").read_text())
    assert f"ends after {len(trials)} trials: every feasible" in last["ends"]


def test_a_space_used_up_ends_it_with_a_sentence(tmp_path: Path) -> None:
    trials = run_as_jobs(tmp_path, searched(fit=7), 20, np.random.default_rng(0))
    assert sorted(trial.proposal.row for trial in trials) == list(range(7))
    assert json.loads((tmp_path / "proposal-0007.json").read_text())["ends"].startswith(
        "The search ends after 7 trials: every feasible"
    )
    assert read_request(tmp_path, 7).ends_after == 7
    assert "start" in json.loads((tmp_path / "search.json").read_text())["notes"][0]
    for act in (lambda: propose(tmp_path, 8), lambda: finish(tmp_path, 7, train)):
        with pytest.raises(SearchError) as refused:
            act()
        assert refused.value.code == "search-ended"


def test_it_ends_where_the_search_in_one_process_ends_when_little_is_left_to_gain(
    tmp_path: Path,
) -> None:
    search = searched("gp-ei", workers=2)
    whole = run_search(search, trials=30, folder=tmp_path / "whole", submit=train)
    regrets = [trial.proposal.expected_regret for trial in whole]
    bound = float(np.median([regret for regret in regrets if regret is not None]))
    stopped = run_search(
        search, trials=30, folder=tmp_path / "stopped", submit=train, stop_below_regret=bound
    )
    jobs = run_as_jobs(tmp_path / "jobs", search, 30, np.random.default_rng(0), stop=bound)
    assert 4 < len(stopped) < 30 and repr(jobs) == repr(stopped)
    assert (
        "expected to be gained"
        in json.loads((tmp_path / "jobs" / f"proposal-{len(stopped):04d}.json").read_text())["ends"]
    )
    noted = read_request(tmp_path / "jobs", len(jobs))
    assert (
        noted.trials == noted.ends_after == len(stopped)
        and f"ends after {len(stopped)} trials" in noted.notes[-1]
    )
    assert explain(
        read_search(tmp_path / "jobs"), jobs, requested_trials=noted.trials, notes=noted.notes
    ).finished_count == len(stopped)


def test_begun_anew_for_the_same_slices_it_keeps_its_trials_and_for_others_none(
    tmp_path: Path,
) -> None:
    """The header's bytes are the same, too, so that a workflow has no reason to repeat a slot."""
    search = searched()
    before = run_as_jobs(tmp_path, search, 6, np.random.default_rng(0))
    header = (tmp_path / "search.json").read_bytes()
    (tmp_path / "slot-0009.json").write_text("left by nobody")
    begin(search, tmp_path, "slices")
    assert repr(gather(tmp_path, 6)) == repr(before)
    assert (tmp_path / "search.json").read_bytes() == header
    # more validation slices
    longer = replace(search, predicted_seconds=search.predicted_seconds * 1.01)
    with pytest.raises(SearchError, match="journal-of-another-search"):
        begin(longer, tmp_path, "slices")
    (tmp_path / "search.json").unlink()  # as Snakemake does before a job that writes it
    with pytest.raises(SearchError, match="journal-of-another-search"):
        begin(longer, tmp_path, "slices")
    begin(search, tmp_path, "slices")
    assert repr(gather(tmp_path, 6)) == repr(before)
    begin(longer, tmp_path, "slices cut otherwise")
    assert np.array_equal(read_search(tmp_path).predicted_seconds, longer.predicted_seconds)
    assert not list(tmp_path.glob("slot-*")) and not list(tmp_path.glob("proposal-*"))


def test_more_trials_of_a_journal_from_before_models_alternated_are_those_of_its_single_model(
    tmp_path: Path,
) -> None:
    """Snakemake deletes search.json before the job that writes it: the trials say whose they are."""
    now = searched("gp-ei", 3)
    before = replace(now, modelling=Modelling(models="single"))
    run_as_jobs(tmp_path, before, 8, np.random.default_rng(0))
    header = (tmp_path / "search.json").read_bytes()
    (tmp_path / "search.json").unlink()
    longer = run_as_jobs(tmp_path, now, 14, np.random.default_rng(1))
    assert (tmp_path / "search.json").read_bytes() == header
    whole = run_search(before, trials=14, folder=tmp_path / "whole", submit=train)
    assert repr(longer) == repr(whole)


def test_what_lies_beside_a_journal_is_written_by_whoever_may_begin_it(tmp_path: Path) -> None:
    """The rows that trainings learn from: one refused must not leave its own for a training that goes on."""
    rows = tmp_path / "rows.npz"
    begin(searched(), tmp_path, "slices", lambda: rows.write_text("these"))
    with lock_journal(tmp_path), pytest.raises(SearchError, match="journal-owned"):
        begin(searched(), tmp_path, "slices cut otherwise", lambda: rows.write_text("those"))
    longer = replace(searched(), predicted_seconds=SECONDS * 2)
    with pytest.raises(SearchError, match="journal-of-another-search"):
        begin(longer, tmp_path, "slices", lambda: rows.write_text("those"))
    assert rows.read_text() == "these"


def test_the_record_of_an_earlier_proposal_is_not_the_slots(tmp_path: Path) -> None:
    """Its checkpoint would be removed, as that of a training that is over."""
    for seed in (3, 4):
        run_as_jobs(
            tmp_path / str(seed), replace(searched(), seed=seed), 4, np.random.default_rng(0)
        )
    (tmp_path / "3" / "slot-0001.json").write_bytes(
        (tmp_path / "4" / "slot-0001.json").read_bytes()
    )
    (tmp_path / "3" / "slot-0002.json").write_text("half a reco")
    assert [is_on_record(tmp_path / "3", slot) for slot in range(5)] == [
        True,
        False,
        False,
        True,
        False,
    ]
    run_search(searched(), trials=2, folder=tmp_path / "whole", submit=train)
    assert [is_on_record(tmp_path / "whole", slot) for slot in range(3)] == [True, True, False]


def test_what_is_missing_or_belongs_elsewhere_is_refused_by_name(tmp_path: Path) -> None:
    def code(act: Callable[..., object], *arguments: object) -> str:
        with pytest.raises(SearchError) as refused:
            act(*arguments)
        return refused.value.code

    assert code(propose, tmp_path, 0) == "journal-header"
    run_as_jobs(tmp_path, searched(workers=1), 4, np.random.default_rng(0))
    assert code(propose, tmp_path, 5) == "proposal-missing"
    assert code(finish, tmp_path, 5, train) == "proposal-missing"
    third = json.loads((tmp_path / "proposal-0002.json").read_text())
    (tmp_path / "proposal-0002.json").write_text(json.dumps({**third, "source": "others"}))
    assert code(propose, tmp_path, 3) == "proposal-of-another-search"
    (tmp_path / "proposal-0002.json").write_text(
        json.dumps({**third, "proposal": {**third["proposal"], "seed": 1}})
    )
    assert code(propose, tmp_path, 3) == "slot-contradiction"
    finish(tmp_path, 2, train)  # the trial of another proposal is trained anew
    assert gather(tmp_path, 3)[2].proposal.seed == 1
    (tmp_path / "slot-0001.json").write_text("{")
    assert code(propose, tmp_path, 3) == "slot-damaged"
    (tmp_path / "slot-0001.json").unlink()
    assert code(gather, tmp_path, 4) == "slot-unfinished"
    run_search(searched(), trials=2, folder=tmp_path / "whole", submit=train)
    assert code(propose, tmp_path / "whole", 2) == "journal-header"


def test_a_machine_failure_is_tried_again_twice_and_a_finished_slot_never(tmp_path: Path) -> None:
    attempts: list[int] = []

    def submit(proposal: Proposal) -> Future[Outcome]:
        attempts.append(proposal.slot)
        future: Future[Outcome] = Future()
        future.set_exception(ConnectionError("the node is gone"))
        return train(proposal) if attempts.count(0) == 3 else future

    begin(searched(), tmp_path, "slices")
    propose(tmp_path, 0)
    propose(tmp_path, 1)
    assert finish(tmp_path, 0, submit).retries == ("ConnectionError: the node is gone",) * 2
    assert finish(tmp_path, 0, submit).outcome.status == "completed"
    assert attempts == [0, 0, 0]
    attempts.clear()
    assert finish(tmp_path, 1, submit).outcome.status == "error"
    assert attempts == [1, 1, 1]


def test_two_trainings_of_one_slot_are_one_and_nobody_begins_anew_meanwhile(tmp_path: Path) -> None:
    """What a killed workflow leaves running, and its successor starts again."""
    begin(searched(), tmp_path, "slices")
    propose(tmp_path, 0)
    under_way, let_go, calls = threading.Event(), threading.Event(), []

    def submit(proposal: Proposal) -> Future[Outcome]:
        calls.append(proposal.slot)
        under_way.set()
        assert let_go.wait(900)
        return train(proposal)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(finish, tmp_path, 0, submit) for _ in range(2)]
        assert under_way.wait(900)
        with pytest.raises(SearchError, match="journal-owned"):
            begin(searched(), tmp_path, "slices cut otherwise")
        let_go.set()
    assert both[0].result() == both[1].result()
    assert calls == [0]
