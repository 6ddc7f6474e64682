"""gp-ei over trainings that somebody else recorded."""

import numpy as np

from fovnet.records import read_npz
from fovnet.search.search import Search, propose_slot
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Outcome, Trial


def recorded(path):
    """The space of a table of trainings, and their losses (M,)."""
    table, kinds = read_npz(path), {"ord": "ordinal", "cat": "categorical"}
    levels = [np.unique(column, return_inverse=True) for column in table["X"].T]
    columns = zip(table["names"], levels, table["kinds"], strict=True)
    axes = tuple(
        Axis(str(name), tuple(values.tolist()), kinds[str(kind)])
        for name, (values, _), kind in columns
    )
    return Space(axes, np.column_stack([codes for _, codes in levels])), table["y"]


def draws_to_the_best_percent(space, loss, seed, cap=150):
    """Trials until one is among the best 1 % of the table; every run starts from a row of chance."""
    start = int(np.random.default_rng(seed).integers(len(space)))
    search = Search(
        space, "gp-ei", seed, 1, start, 5, np.ones(len(space)), np.ones(len(space), dtype=bool)
    )
    good, trials = np.sort(loss)[int(np.ceil(0.01 * len(loss))) - 1], {}
    for slot in range(cap):
        proposal = propose_slot(search, [trial.proposal for trial in trials.values()], trials)
        trials[slot] = Trial(proposal, Outcome("completed", score=float(loss[proposal.row])))
        if trials[slot].score <= good:
            return slot + 1
    return cap


def test_the_best_percent_of_recorded_networks_is_found_in_a_third_of_the_draws_of_chance(shared):
    """Chance needs 76 draws on average for the same (500 runs)."""
    space, loss = recorded(shared / "bench" / "mlp-phoneme-600.npz")
    assert np.mean([draws_to_the_best_percent(space, loss, seed) for seed in range(6)]) < 76 / 3
