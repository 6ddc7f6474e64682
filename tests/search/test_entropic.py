"""What the entropy searches promise: the row that tells most, of all that may be tried, by the formulas as they are written."""

import numpy as np
import pytest
from scipy.special import log_ndtr

from fovnet.search.entropic import MINIMA, max_value_entropy
from fovnet.search.failing import CAUTION, WARINESS, Chances
from fovnet.search.gaussian import believe
from fovnet.search.space import Space
from fovnet.search.trial import Outcome
from fovnet.search.view import Modelling, View
from tests.search.test_gaussian import SPACE, bowl, trials_at


def view_of(space, rows, outcome_of, **changes):
    trials, free = trials_at(space, rows, outcome_of), np.ones(len(space), dtype=bool)
    free[[*rows, *changes.get("pending", ())]] = False
    rest = {"pending": (), "free": free, "slot": len(rows), "seed": 3, "initial": 1, "predicted_seconds": np.ones(len(space))}
    return View(space, trials, **{**rest, **changes})


def textbook(view):
    """(M,) log information on the value of the lowest row: quartiles by bisection, minima by the Gumbel law, one mean over all of them."""
    belief, rng = believe(view), np.random.default_rng([view.seed, view.slot, 7])
    may = np.flatnonzero(view.free | np.isin(np.arange(len(view.space)), [*view.pending, *belief.known]))
    total = np.zeros(len(view.space))
    for mean, variance in zip(belief.mean, belief.variance, strict=True):
        m, s = mean[may], np.sqrt(np.maximum(variance[may], 1e-18))
        quartiles = []
        for share in (0.25, 0.5, 0.75):
            low, high = (m - 6 * s).min(), (m + 6 * s).min()
            for _ in range(60):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if 1 - np.exp(log_ndtr((m - middle) / s).sum()) < share else (low, middle)
            quartiles.append(middle)
        b = (quartiles[2] - quartiles[0]) / (np.log(-np.log(0.25)) - np.log(-np.log(0.75)))
        a = -quartiles[1] + b * np.log(np.log(2.0))
        y = np.minimum(-(a - b * np.log(-np.log(rng.random(MINIMA)))), mean[belief.known].min() - 1e-6)
        gamma = (mean - y[:, None]) / np.sqrt(np.maximum(variance, 1e-18))
        ratio = np.exp(-0.5 * gamma**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(gamma))
        total += (0.5 * gamma * ratio - log_ndtr(gamma)).mean(axis=0)
    with np.errstate(divide="ignore"):                                   # far rows tell so little that the plain formula gives 0
        return np.log(total / len(belief.mean))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("how", [Modelling(), Modelling(hyperparameters="sampled"), Modelling(targets="raw")], ids=str)
def test_gp_mes_takes_the_most_informative_of_all_free_rows(seed, how):
    """Against the formulas as written, with failures, running rows, and a limit of memory."""
    loss, rng = bowl(SPACE), np.random.default_rng(seed)
    memory = np.exp(rng.normal(20.0, 1.0, len(SPACE)))

    def outcome(row):
        if memory[row] > np.quantile(memory, 0.8):
            return Outcome("out_of_memory")
        return Outcome("diverged") if row % 5 == seed else Outcome("completed", score=float(loss[row]))

    rows = rng.permutation(len(SPACE))[:28].tolist()
    view = view_of(SPACE, rows[:25], outcome, pending=tuple(rows[25:]), modelling=how, memory=memory if seed % 2 else None)
    free, chances = np.flatnonzero(view.free), Chances(view)
    both = chances.log_chance(free)
    fits = chances._log_fits[free]
    total = textbook(view)[free] + CAUTION * fits + WARINESS * (both - fits)
    choice = max_value_entropy(view)
    assert total[free == choice.row][0] == pytest.approx(total.max(), abs=1e-7)
    assert choice == max_value_entropy(view) and choice.forecast is not None


def test_of_thousands_of_rows_too_the_most_informative_is_found():
    """7,200 rows: more than are evaluated at once, so that most are passed over by their bound alone."""
    space = Space.of({"a": range(60), "b": range(40), "c": ["x", "y", "z"]})
    loss, rows = bowl(space), np.random.default_rng(0).permutation(7200)[:30].tolist()
    view = view_of(space, rows, lambda row: Outcome("completed", score=float(loss[row])))
    value = textbook(view)
    assert value[max_value_entropy(view).row] == pytest.approx(value[view.free].max(), abs=1e-3)
