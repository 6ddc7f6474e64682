"""A search over a tree: rows by the order of beginning, one journal whatever the timing, the jobs, the kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, lists, one_of, sampled_from

from fovnet.bench.conditional import FUNCTIONS, StrideCosts, plain_loss
from fovnet.choices import SpendKind
from fovnet.errors import SearchError
from fovnet.search.jobs import steps
from fovnet.search.jobs.proposals import read_proposal, slots_awaited
from fovnet.search.journal import read_search, replay
from fovnet.search.methods import METHODS
from fovnet.search.run import run_search
from fovnet.search.search import propose_slot
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.tree.costs import Columns, EqualCosts, Fault, Priced, columns_of
from fovnet.search.tree.start import tree_with_start
from fovnet.search.tree.tree import Tree, written_form
from fovnet.search.tree_search import TreeSearch
from fovnet.search.trial import Outcome, Proposal, Trial

FUNCTION = FUNCTIONS["function"]
TREE_METHODS = [name for name, method in METHODS.items() if method.tree_look]
LOOKS = [name for name in TREE_METHODS if METHODS[name].spend == "full"]
USUAL = ("random", "gp-ei", "mads", "tpe")
"""For laws that need many slots."""
SMALL: dict[str, Any] = {
    "parts": {"repeat": {"low": 0, "high": 2}, "each": {"size": {"whole": {"low": 1, "high": 2}}}},
    "way": {"choose": {"left": {"step": [1, 2]}, "right": {}}},
}
SMALL_COUNT = (1 + 2 + 4) * (2 + 1)
FAILURES = ("out_of_memory", "diverged", "timeout", "error")
OUTCOMES = one_of(
    sampled_from(FAILURES).map(Outcome),
    sampled_from([0.3, 1.0, 2.5, 1e30]).map(lambda score: Outcome("completed", score=score)),
)


class LayerSeconds(StrideCosts):
    """A second, and two for each layer: trainings that overtake one another."""

    def __call__(self, columns: Columns, /) -> Priced:
        return super().__call__(columns)._replace(seconds=1.0 + 2.0 * columns["layers"])


def layer_seconds_of(facts: Any) -> LayerSeconds:
    if facts != LayerSeconds().facts:
        raise ValueError("other costs")
    return LayerSeconds()


def search_of(method: str = "random", workers: int = 1, schedule: Schedule = FULL) -> TreeSearch:
    return TreeSearch(FUNCTION.tree, method, 3, workers, 4, LayerSeconds(), schedule=schedule)


def small_search(method: str, workers: int = 1, schedule: Schedule = FULL) -> TreeSearch:
    return TreeSearch(Tree.of(SMALL), method, 1, workers, 4, EqualCosts(), schedule=schedule)


def outcome(proposal: Proposal) -> Outcome:
    """A loss of the configuration, the training's seed and its epochs; one in seven slots fails."""
    if proposal.slot % 7 == 5:
        return Outcome(FAILURES[proposal.slot % 4])
    noise = np.random.default_rng(proposal.seed).normal(0.0, 0.01)
    loss = plain_loss(proposal.configuration) + noise + 1.0 / (proposal.epochs or 9)
    return Outcome("completed", (loss,), (loss,), float(loss))


def train(proposal: Proposal) -> Future[Outcome]:
    future: Future[Outcome] = Future()
    future.set_result(outcome(proposal))
    return future


def path(search: TreeSearch, outcome_of: Callable[[Proposal], Outcome], slots: int) -> list[Trial]:
    """The trials of a search whose trainings take no time; fewer if the space is exhausted."""
    trials: dict[int, Trial] = {}
    for slot in range(slots):
        try:
            proposal = propose_slot(search, [trial.proposal for trial in trials.values()], trials)
        except SearchError as error:
            assert error.code == "space-exhausted"
            break
        trials[slot] = Trial(proposal, outcome_of(proposal))
    return list(trials.values())


def facts_on_disk(folder: Path) -> dict[str, Any]:
    return {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("slot-*.json"))}


@pytest.mark.parametrize("method", LOOKS)
@given(
    outcomes=lists(OUTCOMES, min_size=10, max_size=10),
    workers=integers(1, 4),
    seed=integers(0, 99),
)
@settings(max_examples=2)
def test_no_point_comes_twice_and_rows_count_those_begun(
    method: str, outcomes: list[Outcome], workers: int, seed: int
) -> None:
    search = replace(search_of(method, workers), seed=seed)
    proposals = [
        trial.proposal for trial in path(search, lambda proposal: outcomes[proposal.slot], 10)
    ]
    texts = [written_form(proposal.configuration) for proposal in proposals]
    assert len(set(texts)) == 10
    assert [proposal.row for proposal in proposals] == list(range(10))
    assert all(
        fault is None
        for fault in StrideCosts()(columns_of([p.configuration for p in proposals])).faults
    )
    assert proposals[0].configuration == FUNCTION.tree.configuration(FUNCTION.tree.start_point)


@pytest.mark.parametrize("method", USUAL)
@pytest.mark.parametrize("kind", ["full", "asha", "hyperband", "asha-or-full"])
def test_a_small_tree_is_searched_to_its_last_point_and_then_exhausted(
    method: str, kind: SpendKind
) -> None:
    schedule = FULL if kind == "full" else Schedule(kind, 9)
    search = small_search(method, 2, schedule)
    trials = path(search, lambda proposal: Outcome("completed", score=float(proposal.row % 5)), 400)
    texts = {written_form(trial.proposal.configuration) for trial in trials}
    assert search.tree.point_count == SMALL_COUNT
    assert len(texts) == SMALL_COUNT and len(trials) < 400
    ended = [trial for trial in trials if trial.proposal.epochs in (None, 9)]
    # one may be running when the other worker is done
    assert len(ended) >= SMALL_COUNT - 1


@pytest.mark.parametrize(
    ("method", "kind", "trials"),
    [*((method, "full", 10) for method in USUAL), ("gp-ei", "asha", 5), ("mads", "hyperband", 5)],
)
def test_every_slot_is_replayed_from_its_journal_alone(
    tmp_path: Path, method: str, kind: SpendKind, trials: int
) -> None:
    schedule = FULL if kind == "full" else Schedule(kind, 9)
    search = search_of(method, 3, schedule)
    run_trials = run_search(search, trials=trials, folder=tmp_path, submit=train)
    assert not (tmp_path / "search.npz").exists()
    read_again = read_search(tmp_path, layer_seconds_of)
    assert read_again.identity == search.identity
    for trial in run_trials:
        slot = trial.proposal.slot
        assert replay(tmp_path, slot, layer_seconds_of) == trial.proposal
    # a slot still running is worked out as well
    last = run_trials[-1].proposal
    (tmp_path / f"slot-{last.slot:04d}.json").unlink()
    assert replay(tmp_path, last.slot, layer_seconds_of) == last


@pytest.mark.parametrize(("method", "kind"), [("gp-ei", "asha"), ("mads", "hyperband")])
def test_what_goes_on_has_the_point_of_the_slot_that_it_continues(
    method: str, kind: SpendKind
) -> None:
    trials = path(search_of(method, 3, Schedule(kind, 9)), outcome, 30)
    proposals = [trial.proposal for trial in trials]
    continued = [one for one in proposals if one.continued_slot is not None]
    assert continued
    for proposal in continued:
        before = proposals[proposal.continued_slot or 0]
        assert (proposal.row, proposal.seed) == (before.row, before.seed)
        assert written_form(proposal.configuration) == written_form(before.configuration)
        assert proposal.begun_epochs == before.epochs and proposal.rung > before.rung
    begun = [proposal for proposal in proposals if proposal.continued_slot is None]
    assert [proposal.row for proposal in begun] == list(range(len(begun)))


@pytest.mark.parametrize("method", USUAL)
def test_the_path_does_not_depend_on_timing(tmp_path: Path, method: str) -> None:
    delays = np.random.default_rng(4)

    def train_slowly(proposal: Proposal, delay: float) -> Outcome:
        time.sleep(delay)
        return outcome(proposal)

    run_search(search_of(method, 4), trials=14, folder=tmp_path / "calm", submit=train)
    with ThreadPoolExecutor(8) as pool:
        run_search(
            search_of(method, 4),
            trials=14,
            folder=tmp_path / "shuffled",
            submit=lambda proposal: pool.submit(
                train_slowly, proposal, float(delays.uniform(0, 0.02))
            ),
        )
    assert facts_on_disk(tmp_path / "calm") == facts_on_disk(tmp_path / "shuffled")


def test_slots_as_jobs_are_the_search_in_one_process(tmp_path: Path) -> None:
    search = search_of("random", 3)
    whole = run_search(search, trials=12, folder=tmp_path / "whole", submit=train)
    jobs = tmp_path / "jobs"
    steps.begin(search, jobs, "slices")
    finished: set[int] = set()
    for slot in range(12):
        for awaited in slots_awaited(jobs, slot):
            if awaited not in finished:
                steps.finish(jobs, awaited, train, layer_seconds_of)
                finished.add(awaited)
        steps.propose(jobs, slot, costs_of=layer_seconds_of)
    for slot in set(range(12)) - finished:
        steps.finish(jobs, slot, train, layer_seconds_of)
    assert steps.gather(jobs, 12) == whole
    # begun again by the same settings it keeps them
    steps.begin(search, jobs, "slices")
    assert read_proposal(jobs, 11) == whole[11].proposal


ALONE = """
import sys, time
sys.path.insert(0, {here!r})
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
import {module} as tests
from fovnet.search.run import run_search
def train(proposal):
    time.sleep(0.05)
    return tests.outcome(proposal)
with ThreadPoolExecutor(2) as pool:
    run_search(tests.search_of({method!r}, 2), trials=14, folder=Path({journal!r}),
               submit=lambda proposal: pool.submit(train, proposal))
"""


def test_killed_and_started_again_it_ends_with_the_same_trials(tmp_path: Path) -> None:
    """A real SIGKILL; the process also has another hash seed and four threads."""
    method = "gp-ei"
    run_search(search_of(method, 2), trials=14, folder=tmp_path / "undisturbed", submit=train)
    journal = tmp_path / "killed"
    code = ALONE.format(
        here=str(Path(__file__).parent),
        module=Path(__file__).stem,
        journal=str(journal),
        method=method,
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "4"}
    environment["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]
    )
    process = subprocess.Popen([sys.executable, "-c", code], env=environment)
    while len(list(journal.glob("slot-*.json"))) < 4:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert len(list(journal.glob("slot-*.json"))) < 14
    run_search(search_of(method, 2), trials=14, folder=journal, submit=train)
    assert facts_on_disk(journal) == facts_on_disk(tmp_path / "undisturbed")


def test_journals_of_another_tree_start_or_version_of_the_costs_are_refused(
    tmp_path: Path,
) -> None:
    search = search_of()
    run_search(search, trials=3, folder=tmp_path, submit=train)
    other_starts = FUNCTION.tree.starts.copy()
    other_starts[-1] = 0.02
    other_tree = replace(FUNCTION.tree, starts=other_starts)
    with pytest.raises(
        SearchError, match=r"over another tree \(search.space\), or has other start values"
    ):
        run_search(replace(search, tree=other_tree), trials=3, folder=tmp_path, submit=train)
    with pytest.raises(SearchError, match=r"began with other costs .*give another folder"):
        run_search(replace(search, costs=EqualCosts()), trials=3, folder=tmp_path, submit=train)
    header = json.loads((tmp_path / "search.json").read_text())
    header["costs"]["version"] = 2
    (tmp_path / "search.json").write_text(json.dumps(header))
    with pytest.raises(SearchError, match="began with other costs"):
        run_search(search, trials=3, folder=tmp_path, submit=train)
    with pytest.raises(SearchError, match="journal-header"):
        read_search(tmp_path, layer_seconds_of)
    with pytest.raises(SearchError, match=r"family conditional, version 2; .*journal-costs"):
        read_search(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"row": 7},
        {"configuration": {"layers": 0}},
        {"configuration": {"layers": 1.0}},
        {"configuration": {"layers.1.s": 9}},
        {"configuration": {"u": 0.123456}},
        {"predicted_seconds": 2.0},
    ],
)
def test_a_slot_that_this_search_cannot_have_is_refused(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    """Another row; the point of the slot before; numbers that are not written canonically."""
    run_search(search_of(), trials=4, folder=tmp_path, submit=train)
    slot = tmp_path / "slot-0002.json"
    facts = json.loads(slot.read_text())
    if "configuration" in change:
        facts["proposal"]["configuration"] |= change["configuration"]
    else:
        facts["proposal"] |= change
    slot.write_text(json.dumps(facts))
    with pytest.raises(SearchError, match=r"slot-0002.json: not the trial that this search has"):
        run_search(search_of(), trials=4, folder=tmp_path, submit=train)


def test_a_damaged_slot_is_put_aside_and_done_again(tmp_path: Path) -> None:
    run_search(search_of(), trials=4, folder=tmp_path, submit=train)
    before = facts_on_disk(tmp_path)
    slot = tmp_path / "slot-0002.json"
    slot.write_text(slot.read_text()[:200])
    run_search(search_of(), trials=4, folder=tmp_path, submit=train)
    assert facts_on_disk(tmp_path) == before
    assert slot.with_suffix(".json.damaged").exists()


class FewWeights(EqualCosts):
    """Layers together may have a size of at most `most`."""

    most = 3

    def __call__(self, columns: Columns, /) -> Priced:
        sizes = np.nansum([columns[key] for key in columns if key.endswith("size")], axis=0)
        faults = [
            Fault(f"weights {size:g}, at most {self.most}", "weights") if size > self.most else None
            for size in np.broadcast_to(sizes, len(columns["parts"]))
        ]
        return super().__call__(columns)._replace(faults=faults)


class NoWeights(FewWeights):
    most = -1


def test_a_start_that_does_not_fit_gives_its_place_to_the_first_draw_that_does() -> None:
    tree = tree_with_start(SMALL, {"parts": [2, 2]})
    search = TreeSearch(tree, "random", 1, 1, None, FewWeights())
    assert search.start_note is not None
    assert search.start_note.startswith("The start does not fit (weights 4, at most 3)")
    assert str(dict(search.first_pick().configuration)) in search.start_note
    with pytest.raises(SearchError) as caught:
        TreeSearch(tree, "random", 1, 1, None, NoWeights())
    assert (caught.value.code, caught.value.sentence) == (
        "no-feasible-row",
        "none of 4,200 drawn fits, 4,200 for weights; raise a limit, or give search.space smaller "
        "networks.",
    )


@pytest.mark.parametrize("method", ["grid", "gp-mes", "gp-es", "gp-esp", "ranking", "gp-rgpe"])
def test_a_method_that_needs_all_rows_takes_no_tree(method: str) -> None:
    with pytest.raises(SearchError, match=rf"search.method: {method} takes no tree; choose one of"):
        search_of(method)
