"""A search under way: whatever the timing, the kills and the failures, the same trials."""

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from fovnet.errors import SearchError
from fovnet.search.jobs.proposals import read_request
from fovnet.search.journal import own_journal, replay
from fovnet.search.methods import METHODS
from fovnet.search.run import run_search
from fovnet.search.search import ENOUGH_SCORES, Search
from fovnet.search.slot_files import read_trials
from fovnet.search.space import Space
from fovnet.search.spend.schedule import Schedule
from fovnet.search.trial import Outcome, latest_trials, trial_to_facts

SPACE = Space.of(
    {"depth": range(5), "width": range(6), "kind": ["a", "b", "c"], "flag": [False, True]}
)
# durations span a hundredfold
SECONDS = np.random.default_rng(1).lognormal(0.0, 1.5, len(SPACE))
START = {"depth": 2, "width": 2, "kind": "a", "flag": False}


def toy(proposal):
    """A loss that depends on the configuration and the training's seed alone; the deepest and widest
    diverge."""
    at = proposal.configuration
    if at["depth"] + at["width"] >= 8:
        return Outcome("diverged", training_loss=(2.0, float("inf"), float("nan")))
    noise = np.random.default_rng(proposal.seed).normal(0.0, 0.01)
    loss = (
        0.1 * (at["depth"] - 2.3) ** 2
        + 0.05 * (at["width"] - 4) ** 2
        + 0.2 * (at["kind"] == "b")
        + noise
    )
    return Outcome("completed", (loss,), (loss,), float(loss), seconds=time.perf_counter())


def at_once(proposal):
    future = Future()
    future.set_result(toy(proposal))
    return future


def search(journal, submit=at_once, **changes):
    running = {
        name: changes.pop(name) for name in ("stop_below_regret", "progress") if name in changes
    }
    trials, start = changes.pop("trials", 18), SPACE.row_of(changes.pop("start", START))
    plan = {
        "method": "gp-ei",
        "seed": 3,
        "workers": 2,
        "initial": 4,
        "predicted_seconds": SECONDS,
        "feasible": np.ones(len(SPACE), dtype=bool),
    }
    return run_search(
        Search(SPACE, start=start, **{**plan, **changes}),
        trials=trials,
        folder=journal,
        submit=submit,
        **running,
    )


def lasting(folder):
    """The slot files of a journal without what differs from day to day."""
    slots = {path.name: json.loads(path.read_text()) for path in sorted(folder.glob("slot-*.json"))}
    for facts in slots.values():
        for fleeting in ("seconds", "peak_memory_bytes", "device"):
            del facts["outcome"][fleeting]
    return slots


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_path_does_not_depend_on_timing(tmp_path, method, workers):
    """Trainings that end in a shuffled order leave the journal of trainings that end at once."""
    delays, most, running = np.random.default_rng(workers), [0], [0]
    lock = threading.Lock()

    def train(proposal, delay):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(delay)
        with lock:
            running[0] -= 1
        return toy(proposal)

    search(tmp_path / "calm", method=method, workers=workers)
    with ThreadPoolExecutor(8) as pool:
        submit = lambda proposal: pool.submit(train, proposal, delays.uniform(0.0, 0.02))  # noqa: E731
        search(tmp_path / "shuffled", submit, method=method, workers=workers)
    assert lasting(tmp_path / "calm") == lasting(tmp_path / "shuffled")
    assert most[0] <= workers


@pytest.mark.parametrize("method", METHODS)
def test_every_recorded_slot_can_be_replayed_from_the_journal_alone(tmp_path, method):
    trials = search(tmp_path, method=method, workers=3, trials=10)
    assert [replay(tmp_path, slot) for slot in range(10)] == [trial.proposal for trial in trials]
    # a slot still in the air is worked out as well
    (tmp_path / "slot-0008.json").unlink()
    assert replay(tmp_path, 8) == trials[8].proposal
    if 8 in trials[9].proposal.pending_slots:
        assert replay(tmp_path, 9) == trials[9].proposal


def test_more_trials_may_be_asked_for_later_and_fewer_are_a_beginning(tmp_path):
    search(tmp_path / "once", trials=18)
    search(tmp_path / "twice", trials=7)
    search(tmp_path / "twice", trials=18)
    assert lasting(tmp_path / "once") == lasting(tmp_path / "twice")
    assert [trial.proposal.slot for trial in search(tmp_path / "once", trials=5)] == [0, 1, 2, 3, 4]
    assert json.loads((tmp_path / "once" / "search.json").read_text())["trials"] == 18


def test_a_finished_search_is_read_and_not_trained_again(tmp_path):
    before = search(tmp_path)
    again = search(tmp_path, submit=None)
    assert [trial_to_facts(trial) for trial in again] == [trial_to_facts(trial) for trial in before]


OTHER = [
    {"seed": 4},
    {"workers": 3},
    {"method": "random"},
    {"initial": 6},
    {"start": {**START, "depth": 1}},
    {"predicted_seconds": 2 * SECONDS},
    {"feasible": np.arange(len(SPACE)) > 0},
]


@pytest.mark.parametrize("change", OTHER, ids=lambda change: next(iter(change)))
def test_the_journal_of_another_search_is_refused_and_the_difference_named(tmp_path, change):
    search(tmp_path, trials=3)
    with pytest.raises(SearchError, match=next(iter(change))) as refused:
        search(tmp_path, trials=3, **change)
    assert refused.value.code == "journal-of-another-search"


def test_a_second_owner_is_noticed(tmp_path):
    every = np.ones(len(SPACE), dtype=bool)
    other = Search(SPACE, "gp-ei", 3, 2, SPACE.row_of(START), 4, SECONDS, every)
    with own_journal(tmp_path, other), pytest.raises(SearchError, match="journal-owned"):
        search(tmp_path)
    assert len(search(tmp_path, trials=2)) == 2  # free again


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b'{"proposal": {',
        b"[]",
        b'{"proposal": {}}',
        b"\xff\xfe",
        b'{"proposal": 3}',
        b'{"proposal": null}',
    ],
)
def test_a_damaged_slot_is_put_aside_and_done_again(tmp_path, damage):
    search(tmp_path)
    whole = lasting(tmp_path)
    (tmp_path / "slot-0005.json").write_bytes(damage)
    with pytest.raises(SearchError, match="slot-damaged"):
        read_trials(tmp_path)
    search(tmp_path)
    assert lasting(tmp_path) == whole
    assert (tmp_path / "slot-0005.json.damaged").read_bytes() == damage


@pytest.mark.parametrize(
    "change",
    [{"seen": []}, {"pending": [1, 2]}, {"seed": 1}, {"row": 0}, {"row": 999}, {"slot": 4}],
)
def test_a_slot_that_contradicts_the_clock_is_refused(tmp_path, change):
    search(tmp_path)
    path = tmp_path / "slot-0005.json"
    facts = json.loads(path.read_text())
    facts["proposal"] |= change
    path.write_text(json.dumps(facts))
    with pytest.raises(SearchError, match="slot-contradiction"):
        search(tmp_path)


@pytest.mark.parametrize(
    "fault", [ConnectionError("the node is gone"), Outcome("error", message="the node is gone")]
)
def test_a_machine_failure_is_tried_again_twice_and_leaves_its_traces(tmp_path, fault):
    """Slot 2 succeeds at its third attempt; slot 6 never does, and its error is on record."""
    attempts = []

    def submit(proposal):
        attempts.append(proposal.slot)
        fails = proposal.slot == 6 or (proposal.slot == 2 and attempts.count(2) <= 2)
        if not fails:
            return at_once(proposal)
        future = Future()
        future.set_exception(fault) if isinstance(fault, Exception) else future.set_result(fault)
        return future

    trials = search(tmp_path, submit, trials=9)
    assert (attempts.count(2), attempts.count(6), attempts.count(7)) == (3, 3, 1)
    assert trials[2].outcome.status == "completed" and len(trials[2].retries) == 2
    assert trials[6].outcome.status == "error" and "the node is gone" in trials[6].outcome.message
    assert [trial_to_facts(trial) for trial in read_trials(tmp_path)] == [
        trial_to_facts(trial) for trial in trials
    ]
    undisturbed = search(tmp_path / "undisturbed", trials=6)
    assert [trial.proposal for trial in trials[:6]] == [trial.proposal for trial in undisturbed]


def test_where_locks_are_unknown_a_search_goes_on_all_the_same(tmp_path, monkeypatch):
    """Lustre mounted without them, or NFS without its daemon: nobody is kept out, and nobody stopped."""

    def unknown(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    expected = lasting(tmp_path / "known") if search(tmp_path / "known") else None
    monkeypatch.setattr(fcntl, "flock", unknown)
    search(tmp_path / "unknown")
    assert lasting(tmp_path / "unknown") == expected


def test_what_landed_beside_a_full_disk_is_written_down(tmp_path):
    """Four workers end at once, one of them for want of room: whichever is looked at first."""

    def submit(proposal):
        future = Future()
        future.set_exception(
            SearchError("disk-full", "no room")
        ) if proposal.slot == 1 else future.set_result(toy(proposal))
        return future

    for number in range(8):
        with pytest.raises(SearchError, match="disk-full"):
            search(tmp_path / str(number), submit, workers=4)
        done = {path.name for path in (tmp_path / str(number)).glob("slot-*.json")}
        assert {
            "slot-0000.json",
            "slot-0002.json",
            "slot-0003.json",
        } <= done and "slot-0001.json" not in done


def test_what_no_training_can_help_ends_the_run_and_leaves_the_slot_as_if_it_had_not_begun(
    tmp_path,
):
    """A full disk: blaming the trials would record errors for all that are left, and a record is final."""
    attempts = []

    def submit(proposal):
        attempts.append(proposal.slot)
        if proposal.slot != 5:
            return at_once(proposal)
        future = Future()
        future.set_exception(SearchError("disk-full", "no room"))
        return future

    with pytest.raises(SearchError, match="disk-full"):
        search(tmp_path, submit)
    assert attempts.count(5) == 1 and not (tmp_path / "slot-0005.json").exists()
    before = {path: path.read_bytes() for path in tmp_path.glob("slot-*.json")}
    search(tmp_path)
    search(tmp_path / "undisturbed")
    assert {path: path.read_bytes() for path in before} == before
    assert lasting(tmp_path) == lasting(tmp_path / "undisturbed")


@pytest.mark.parametrize("damage", [b"", b"PK no archive"])
def test_a_journal_without_its_arrays_is_refused_by_name(tmp_path, damage):
    search(tmp_path, trials=3)
    (tmp_path / "search.npz").write_bytes(damage)
    with pytest.raises(SearchError, match="journal-header"):
        replay(tmp_path, 1)
    with pytest.raises(SearchError, match="journal-header"):
        replay(tmp_path / "nowhere", 1)


def test_a_slot_that_waits_for_an_unfinished_one_says_so(tmp_path):
    search(tmp_path, workers=1, trials=4)
    (tmp_path / "slot-0002.json").unlink()
    with pytest.raises(SearchError, match="slot-unfinished"):
        replay(tmp_path, 3)


def test_a_space_used_up_ends_the_search_with_a_sentence(tmp_path):
    feasible = np.zeros(len(SPACE), dtype=bool)
    feasible[:7] = True
    trials = search(tmp_path, feasible=feasible)
    notes = json.loads((tmp_path / "search.json").read_text())["notes"]
    assert sorted(trial.proposal.row for trial in trials) == list(range(7))
    assert (
        "is not feasible; the search starts at the nearest" in notes[0]
        and "ends after 7" in notes[1]
    )
    assert json.loads((tmp_path / "search.json").read_text())["ends_after"] == 7


def test_progress_counts_every_slot_once(tmp_path):
    calls = []
    search(tmp_path, trials=6, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(done, 6) for done in range(7)]


ALONE = """
import sys, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
sys.path.insert(0, {here!r})
from {module} import search, toy
with ThreadPoolExecutor(2) as pool:
    search(Path({journal!r}), lambda proposal: pool.submit(lambda: (time.sleep(0.06), toy(proposal))[1]))
"""


@pytest.mark.parametrize("slots_before_the_kill", [1, 7])
def test_killed_at_any_moment_and_started_again_it_ends_with_the_same_trials(
    tmp_path, slots_before_the_kill
):
    """A real SIGKILL of a real process, in the midst of two trainings; then again a little later; then left
    in peace."""
    search(tmp_path / "undisturbed")
    journal, here = tmp_path / "killed", Path(__file__)
    code = ALONE.format(here=str(here.parent), module=here.stem, journal=str(journal))
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(here.parents[2]), os.environ.get("PYTHONPATH", "")]),
    }
    for slots in (slots_before_the_kill, slots_before_the_kill + 3):
        process = subprocess.Popen([sys.executable, "-c", code], env=environment)
        while len(list(journal.glob("slot-*.json"))) < slots:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert len(list(journal.glob("slot-*.json"))) < 18
    search(journal)
    assert lasting(journal) == lasting(tmp_path / "undisturbed")
    assert not list(journal.glob("*.damaged"))


def test_a_search_ends_where_little_is_left_to_gain_and_says_so(tmp_path):
    """The first forecast below the bound is where it ends; without the bound the same journal goes on."""
    whole = search(tmp_path / "whole", workers=1, trials=40)
    regrets = {
        trial.proposal.slot: trial.proposal.expected_regret
        for trial in whole
        if trial.proposal.expected_regret is not None
    }
    bound = sorted(regrets.values())[len(regrets) // 3]
    # one worker sees all that came before
    scores = np.cumsum([trial.score is not None for trial in whole])
    first = next(
        slot
        for slot, regret in regrets.items()
        if regret < bound and scores[slot - 1] >= ENOUGH_SCORES * len(SPACE.axes)
    )
    stopped = search(tmp_path / "stopped", workers=1, trials=40, stop_below_regret=bound)
    assert len(stopped) == first
    header = json.loads((tmp_path / "stopped" / "search.json").read_text())
    assert header["ends_after"] == first and any(
        f"ends after {first} trials" in note for note in header["notes"]
    )
    assert len(search(tmp_path / "stopped", workers=1, trials=40)) == 40
    assert lasting(tmp_path / "stopped") == lasting(tmp_path / "whole")
    # what is recorded is kept
    assert len(search(tmp_path / "whole", workers=1, trials=40, stop_below_regret=bound)) == first


def test_scores_that_are_alike_by_chance_end_no_search(tmp_path):
    """Networks that learn nothing lie at the loss of guessing, a ten thousandth apart; the good ones have
    other learning rates.

    Of eight such searches two ended after their third trial, before a model needed four scores an axis.
    """
    space = Space.of({"rate": range(-7, 0), "blocks": range(1, 6), "filters": range(2, 9)})

    def guessing(proposal):
        rate, blocks, filters = proposal.configuration.values()
        noise = np.random.default_rng(proposal.row).normal(0, 1e-4)
        loss = float(
            (np.log(7) if rate <= -3 else 0.3 + 0.1 * abs(blocks - 3) + 0.05 * abs(filters - 6))
            + noise
        )
        done = Future()
        done.set_result(Outcome("completed", (loss,), (loss,), loss))
        return done

    for seed in range(8):
        whole = Search(
            space,
            "gp-ei",
            seed,
            1,
            space.row_of({"rate": -3, "blocks": 5, "filters": 6}),
            None,
            np.ones(len(space)),
            np.ones(len(space), dtype=bool),
        )
        trials = run_search(
            whole, trials=20, folder=tmp_path / str(seed), submit=guessing, stop_below_regret=0.01
        )
        assert len(trials) >= 12 and min(trial.score for trial in trials) < 1.0


def test_the_number_asked_for_last_is_recorded(tmp_path):
    """The header keeps the most that ever was, too."""
    search(tmp_path, workers=1, trials=12)
    search(tmp_path, workers=1, trials=5)
    header = json.loads((tmp_path / "search.json").read_text())
    assert (header["trials"], header["asked"]) == (12, 5) and read_request(tmp_path, 12).trials == 5


def test_the_regret_that_is_left_is_seldom_less_than_what_was_gained(tmp_path):
    """In how many of the slots of eight searches the later gain exceeded the expected regret: it is an upper
    bound on average."""
    gaps = []
    for seed in range(8):
        trials = search(tmp_path / str(seed), workers=1, trials=30, seed=seed)
        scores = [np.inf if trial.score is None else trial.score for trial in trials]
        for trial in trials:
            regret = trial.proposal.expected_regret
            if regret is not None:
                slot = trial.proposal.slot
                gaps.append(regret - max(0.0, min(scores[:slot]) - min(scores[slot:])))
    assert np.mean(gaps) > 0.0


SCHEDULES = [
    Schedule("hyperband", 9, 3),
    Schedule("hyperband", 9, 3, reuse=False),
    Schedule("asha", 9, 3),
    Schedule("asha", 9, 2, restarts=True),
    Schedule("asha-or-full", 9, 3),
]
every_schedule = pytest.mark.parametrize(
    "schedule",
    SCHEDULES,
    ids=["hyperband", "hyperband-without-reuse", "asha", "asha-restarts", "asha-or-full"],
)


@every_schedule
@pytest.mark.parametrize("method", ["random", "gp-ei"])
def test_the_path_of_a_schedule_does_not_depend_on_timing_nor_on_a_crash(
    tmp_path, schedule, method
):
    """Two threads that end as they like; and a run whose submission breaks at each of three slots."""
    plan = {"method": method, "workers": 3, "trials": 6, "schedule": schedule}
    calm, crashes = search(tmp_path / "calm", **plan), [2, 7, 13]

    def breaking(proposal):
        if proposal.slot in crashes:
            crashes.remove(proposal.slot)
            raise KeyboardInterrupt
        return at_once(proposal)

    with ThreadPoolExecutor(3) as pool:
        delays = np.random.default_rng(0)
        submit = lambda proposal: pool.submit(  # noqa: E731
            lambda at, wait: (time.sleep(wait), toy(at))[1],
            proposal,
            delays.uniform(0.0, 0.01),
        )
        search(tmp_path / "shuffled", submit, **plan)
    while crashes:
        with pytest.raises(KeyboardInterrupt):
            search(tmp_path / "crashed", breaking, **plan)
    search(tmp_path / "crashed", **plan)
    assert any(trial.proposal.continued_slot is not None for trial in calm)
    assert (
        lasting(tmp_path / "calm")
        == lasting(tmp_path / "shuffled")
        == lasting(tmp_path / "crashed")
    )
    assert [replay(tmp_path / "crashed", slot) for slot in range(len(calm))] == [
        trial.proposal for trial in calm
    ]


@every_schedule
def test_a_schedules_budget_may_be_raised_and_is_one_of_epochs(tmp_path, schedule):
    shares = []
    plan = {"schedule": schedule, "method": "random"}
    search(
        tmp_path / "once",
        **plan,
        trials=12,
        progress=lambda done, total: shares.append((done, total)),
    )
    search(tmp_path / "twice", **plan, trials=5)
    fewer = len(lasting(tmp_path / "twice"))
    again = []
    submit = lambda proposal: again.append(proposal.slot) or at_once(proposal)  # noqa: E731
    search(tmp_path / "twice", submit, **plan, trials=12)
    assert lasting(tmp_path / "once") == lasting(tmp_path / "twice")
    assert again == list(range(fewer, len(lasting(tmp_path / "once"))))
    assert shares[0] == (0, 12) and shares[-1] == (12, 12) and shares == sorted(shares)


def test_a_journal_of_before_schedules_goes_on_and_is_refused_to_one(tmp_path):
    """Without the fields that came with them: no slot is trained again, and no byte of one changes."""
    search(tmp_path / "once", trials=12)
    search(tmp_path / "old", trials=6)
    before = {path.name: path.read_bytes() for path in (tmp_path / "old").glob("slot-*.json")}
    facts = json.loads(before["slot-0003.json"])
    assert not {"epochs", "continues", "begun", "bracket", "rung"} & set(facts["proposal"])
    assert "epoch_seconds" not in facts["outcome"]
    header = json.loads((tmp_path / "old" / "search.json").read_text())
    assert not {"schedule", "candidates"} & set(header) and not {"choose", "fidelity"} & set(
        header["modelling"]
    )
    with pytest.raises(SearchError, match="schedule = None"):
        search(tmp_path / "old", trials=12, schedule=SCHEDULES[0])
    search(tmp_path / "old", trials=12)
    assert {name: (tmp_path / "old" / name).read_bytes() for name in before} == before
    assert lasting(tmp_path / "old") == lasting(tmp_path / "once")
    search(tmp_path / "scheduled", trials=2, schedule=SCHEDULES[2])
    with pytest.raises(SearchError, match=r"schedule = \{"):
        search(tmp_path / "scheduled", trials=2)


@pytest.mark.parametrize(
    "change",
    [
        {"epochs": 4},
        {"epochs": None},
        {"begun": 0},
        {"begun": 2},
        {"rung": 0},
        {"rung": 3},
        {"rung": -1},
        {"continues": None},
        {"continues": 1},
        {"continues": 999},
        {"continues": -1},
        {"seed": 1},
        {"bracket": -1},
        {"continues": 999, "seen": [999]},
        {"predicted_seconds": 1.0},
    ],
    ids=str,
)
def test_a_continuation_that_contradicts_the_search_is_refused(tmp_path, change):
    trials = search(tmp_path, method="random", schedule=SCHEDULES[2], trials=6)
    slot = next(
        trial.proposal for trial in trials if trial.proposal.continued_slot is not None
    ).slot
    path = tmp_path / f"slot-{slot:04d}.json"
    facts = json.loads(path.read_text())
    facts["proposal"] |= change
    path.write_text(json.dumps(facts))
    with pytest.raises(SearchError, match="slot-contradiction"):
        search(tmp_path, method="random", schedule=SCHEDULES[2], trials=6)


def test_a_schedule_that_uses_the_space_up_says_so_and_ends_there_again(tmp_path):
    feasible = np.arange(len(SPACE)) < 7
    plan = {
        "feasible": feasible,
        "schedule": SCHEDULES[2],
        "method": "random",
        "workers": 1,
        "trials": 99,
    }
    trials = search(tmp_path, **plan)
    header = json.loads((tmp_path / "search.json").read_text())
    assert {trial.proposal.row for trial in trials} == set(range(7))
    assert (
        header["ends_after"] == len(trials)
        and f"ends after {len(trials)} slots" in header["notes"][-1]
    )
    assert [trial.proposal for trial in search(tmp_path, None, **plan)] == [
        trial.proposal for trial in trials
    ]


@pytest.mark.parametrize("schedule", SCHEDULES[1:3], ids=lambda one: one.kind)
def test_what_the_machine_interrupts_on_a_higher_rung_leaves_the_row_its_earlier_score(
    tmp_path, schedule
):
    """Tried three times, recorded as an error, never continued; the models still see what was reached
    before."""

    def submit(proposal):
        future = Future()
        future.set_exception(ConnectionError("the node is gone"))
        return future if proposal.continued_slot is not None else at_once(proposal)

    trials = search(tmp_path, submit, schedule=schedule, method="random", trials=6)
    gone = [trial for trial in trials if trial.outcome.status == "error"]
    assert gone and all(
        len(trial.retries) == 2 and trial.proposal.continued_slot is not None for trial in gone
    )
    standing = {trial.proposal.row: trial.proposal.slot for trial in latest_trials(trials)}
    assert [standing[trial.proposal.row] for trial in gone] == [
        trial.proposal.continued_slot for trial in gone
    ]
    assert not {trial.proposal.slot for trial in gone} & {
        trial.proposal.continued_slot for trial in trials
    }
