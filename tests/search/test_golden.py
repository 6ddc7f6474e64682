"""The journals of searches that train every configuration to its end, as before there were schedules.

The digest is of all facts of the trials but the forecasts, whose last digits differ between machines, and of
the search's identity: where it changes, finished searches of users would be refused or repeated.
"""

import hashlib
import json
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest

from fovnet.errors import SearchError
from fovnet.records import digest, read_json, read_npz
from fovnet.search.look.view import RECOMMENDED, Modelling
from fovnet.search.methods import METHODS
from fovnet.search.run import run_search
from fovnet.search.search import Search, propose_slot
from fovnet.search.space import Space
from fovnet.search.spend.schedule import Schedule
from fovnet.search.trial import Outcome, Trial, trial_from_facts, trial_to_facts

SPACE = Space.of({"a": range(4), "b": range(3), "c": ["x", "y", "z"]})
RECORDED = {
    "grid": (
        "abebd28aa31d2191",
        [0, 9, 7, 30, 29, 24, 14, 1, 8, 31, 20, 25, 12, 10],
    ),
    "random": (
        "8f418e7520f28b21",
        [0, 35, 29, 11, 1, 2, 16, 20, 6, 15, 4, 19, 14, 33],
    ),
    "gp-ei": (
        "fb16e61b0b97217e",
        [0, 27, 23, 12, 6, 13, 4, 21, 14, 10, 16, 9, 15, 18],
    ),
    "gp-pi": (
        "ca9cdd869c3f0a72",
        [0, 27, 23, 12, 6, 13, 4, 3, 14, 18, 24, 21, 11, 16],
    ),
    "gp-lcb": (
        "ce39d19463023c41",
        [0, 27, 23, 12, 15, 4, 21, 5, 3, 14, 10, 13, 11, 8],
    ),
    "gp-ts": (
        "a34a0d16d3b97e12",
        [0, 27, 23, 12, 6, 1, 19, 18, 21, 13, 22, 5, 4, 14],
    ),
    "tpe": (
        "8bdf7de808c18938",
        [
            0,
            35,
            29,
            11,
            13,
            22,
            4,
            16,
            25,
            12,
            7,
            21,
            10,
            1,
            3,
            31,
            17,
            9,
            18,
            15,
            30,
            6,
            24,
            14,
            5,
            2,
        ],
    ),
    "gp-mes": (
        "0f6f08714420ee57",
        [0, 27, 23, 12, 6, 13, 4, 5, 18, 10, 14, 11, 15, 21],
    ),
    "gp-es": (
        "2252a6537b500d52",
        [0, 27, 23, 12, 6, 5, 4, 3, 1, 9, 13, 14, 10, 15],
    ),
    "gp-esp": (
        "b4ff0488fd367cee",
        [0, 27, 23, 12, 6, 13, 4, 5, 18, 10, 14, 16, 11, 15],
    ),
}
"""The digest and the rows of a search with each method."""


def outcome(proposal):
    if proposal.row % 7 == 3:
        return Outcome("diverged", (2.0, float("nan")), (2.0, float("inf")))
    if proposal.row % 11 == 5:
        return Outcome("out_of_memory", message="no room")
    loss = round(1.0 + ((SPACE.unit_cube[proposal.row] - 0.4) ** 2).sum(), 6)
    return Outcome("completed", (2.0, loss), (2.0, float(loss)), float(loss), 3.5)


def defined(method):
    """The definition of a search of three workers, as before models could alternate."""
    modelling = Modelling(models="single")
    seconds = np.random.default_rng(0).uniform(1, 9, len(SPACE)).round(3)
    every, memory = np.ones(len(SPACE), dtype=bool), np.linspace(1e9, 4e9, len(SPACE))
    return Search(SPACE, method, 3, 3, 0, 4, seconds, every, modelling, memory=memory)


def searched(method):
    """The definition of a search, and its trials."""
    search, trials = defined(method), {}
    for slot in range(len(RECORDED[method][1])):
        proposal = propose_slot(search, [trial.proposal for trial in trials.values()], trials)
        trials[slot] = Trial(proposal, outcome(proposal))
    return search, list(trials.values())


@pytest.mark.parametrize("method", RECORDED)
def test_a_search_without_a_schedule_writes_the_journal_that_it_always_did(method):
    search, trials = searched(method)
    digest, rows = RECORDED[method]
    assert [trial.proposal.row for trial in trials] == rows
    facts = [trial_to_facts(trial) for trial in trials]
    assert repr([trial_from_facts(one) for one in facts]) == repr(
        trials
    )  # nan equals nothing but its name
    for one in facts:
        one["proposal"].pop("forecast")
    text = json.dumps([facts, search.identity], sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


JOURNALS = {
    "grid": "231a9c9afdcc538b",
    "random": "216d0f19a56c605c",
    "gp-ei": "8e672a43035487e3",
    "gp-pi": "fea7aab9ad0a42a4",
    "gp-lcb": "7dcd5a0b35dac579",
    "gp-ts": "540a19b91d117ee8",
    "tpe": "6451dc6b903d3b46",
    "gp-mes": "fd8f9c93e4d3ba5b",
    "gp-es": "5b01f965bbb4141e",
    "gp-esp": "84e9a16c7a959444",
    "hyperband": "87beed5872057ca4",
    "gp-hyperband": "0c61f2154d4a0549",
    "mads": "c9f11f22aeef6787",
    "a-mads": "5851282cbb3e6f76",
    "a-dogs": "1a8fd1ba3d0ce30c",
    "ranking": "7d8e99c5f8619ae1",
    "ensemble-ei": "bc534a990e7192d0",
    "gp-rgpe": "9f16e4b645220ddb",
}
"""The digest of the files of a journal, by method."""


def train(proposal):
    future = Future()
    future.set_result(outcome(proposal))
    return future


def facts_on_disk(folder):
    """What the files of a journal hold: without forecasts, and without the version that wrote them."""
    facts = {path.name: read_json(path) for path in sorted(folder.glob("*.json"))}
    for name, file_facts in facts.items():
        del file_facts["fovnet"]["version"]
        if name != "search.json":
            del file_facts["proposal"]["forecast"]
    arrays = read_npz(folder / "search.npz")
    return facts | {name: digest(array) for name, array in sorted(arrays.items())}


@pytest.mark.parametrize("method", METHODS)
def test_the_files_of_a_journal_are_those_that_its_search_always_wrote(tmp_path, method):
    search = defined(method)
    spend = METHODS[method].spend
    if spend != "full":
        search = replace(search, schedule=Schedule(spend, 9))
    run_search(search, trials=14, folder=tmp_path, submit=train)
    assert digest(facts_on_disk(tmp_path))[:16] == JOURNALS[method]


@pytest.mark.parametrize("method", METHODS)
def test_a_journal_of_before_goes_on_as_it_always_did(tmp_path, method):
    """Asked for again with today's models, gp-ei continues it with the single one that it had."""
    before = defined(method)
    if METHODS[method].spend != "full":
        before = replace(before, schedule=Schedule(METHODS[method].spend, 9))
    now = replace(before, modelling=RECOMMENDED)
    run_search(before, trials=5, folder=tmp_path, submit=train)
    run_search(now, trials=14, folder=tmp_path, submit=train)
    assert digest(facts_on_disk(tmp_path))[:16] == JOURNALS[method]


def test_gp_ei_with_alternating_models_writes_another_journal_that_says_so(tmp_path):
    """A version that knows one model reads `modelling` field by field, and refuses one more."""
    now = replace(defined("gp-ei"), modelling=RECOMMENDED)
    trials = run_search(now, trials=14, folder=tmp_path, submit=train)
    rows = [0, 27, 23, 12, 6, 13, 4, 19, 14, 21, 16, 22, 15, 24]
    assert [trial.proposal.row for trial in trials] == rows
    assert read_json(tmp_path / "search.json")["modelling"]["models"] == "alternating"
    with pytest.raises(SearchError, match="modelling"):
        run_search(defined("gp-ei"), trials=5, folder=tmp_path, submit=train)
