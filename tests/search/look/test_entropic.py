"""What the entropy searches promise: the row that tells most, of all that may be tried, by the formulas as
they are written."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import entr, log_ndtr

from fovnet.maths import gp
from fovnet.maths.kernels import KERNELS
from fovnet.search.look.entropic import (
    DRAWN_MINIMA,
    choose_by_entropy_portfolio,
    choose_by_entropy_search,
    choose_by_max_value_entropy,
)
from fovnet.search.look.feasibility import CAUTION, WARINESS, Chances
from fovnet.search.look.gaussian import believe
from fovnet.search.look.view import Modelling, View
from fovnet.search.methods import METHODS
from fovnet.search.space import Space
from fovnet.search.trial import Outcome
from tests.search.look.test_gaussian import SPACE, bowl, trials_at


def view_of(space, rows, outcome_of, **changes):
    trials, free = trials_at(space, rows, outcome_of), np.ones(len(space), dtype=bool)
    free[[*rows, *changes.get("pending_rows", ())]] = False
    rest = {
        "pending_rows": (),
        "is_free": free,
        "slot": len(rows),
        "seed": 3,
        "initial_count": 1,
        "predicted_seconds": np.ones(len(space)),
    }
    return View(space, trials, **{**rest, **changes})


def textbook(view):
    """(M,) log information on the value of the lowest row: quartiles by bisection, minima by the Gumbel law,
    one mean over all of them."""
    belief, rng = believe(view), np.random.default_rng([view.seed, view.slot, 7])
    may = np.flatnonzero(
        view.is_free | np.isin(np.arange(len(view.space)), [*view.pending_rows, *belief.known_rows])
    )
    total = np.zeros(len(view.space))
    for mean, variance in zip(belief.mean, belief.variance, strict=True):
        m, s = mean[may], np.sqrt(np.maximum(variance[may], 1e-18))
        quartiles = []
        for share in (0.25, 0.5, 0.75):
            low, high = (m - 6 * s).min(), (m + 6 * s).min()
            for _ in range(60):
                middle = 0.5 * (low + high)
                low, high = (
                    (middle, high)
                    if 1 - np.exp(log_ndtr((m - middle) / s).sum()) < share
                    else (low, middle)
                )
            quartiles.append(middle)
        b = (quartiles[2] - quartiles[0]) / (np.log(-np.log(0.25)) - np.log(-np.log(0.75)))
        a = -quartiles[1] + b * np.log(np.log(2.0))
        y = np.minimum(
            -(a - b * np.log(-np.log(rng.random(DRAWN_MINIMA)))),
            mean[belief.known_rows].min() - 1e-6,
        )
        gamma = (mean - y[:, None]) / np.sqrt(np.maximum(variance, 1e-18))
        ratio = np.exp(-0.5 * gamma**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(gamma))
        total += (0.5 * gamma * ratio - log_ndtr(gamma)).mean(axis=0)
    # far rows tell so little that the plain formula gives 0
    with np.errstate(divide="ignore"):
        return np.log(total / len(belief.mean))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "how", [Modelling(), Modelling(hyperparameters="sampled"), Modelling(targets="raw")], ids=str
)
def test_gp_mes_takes_the_most_informative_of_all_free_rows(seed, how):
    """Against the formulas as written, with failures, running rows, and a limit of memory."""
    loss, rng = bowl(SPACE), np.random.default_rng(seed)
    memory = np.exp(rng.normal(20.0, 1.0, len(SPACE)))

    def outcome(row):
        if memory[row] > np.quantile(memory, 0.8):
            return Outcome("out_of_memory")
        return (
            Outcome("diverged") if row % 5 == seed else Outcome("completed", score=float(loss[row]))
        )

    rows = rng.permutation(len(SPACE))[:28].tolist()
    view = view_of(
        SPACE,
        rows[:25],
        outcome,
        pending_rows=tuple(rows[25:]),
        modelling=how,
        memory=memory if seed % 2 else None,
    )
    free, chances = np.flatnonzero(view.is_free), Chances(view)
    both = chances.log_chance(free)
    fits = chances._log_chance_to_fit[free]
    total = textbook(view)[free] + CAUTION * fits + WARINESS * (both - fits)
    choice = choose_by_max_value_entropy(view)
    assert total[free == choice.row][0] == pytest.approx(total.max(), abs=1e-7)
    assert choice == choose_by_max_value_entropy(view) and choice.forecast is not None


def test_of_thousands_of_rows_too_the_most_informative_is_found():
    """7,200 rows: more than are evaluated at once, so that most are passed over by their bound alone."""
    space = Space.of({"a": range(60), "b": range(40), "c": ["x", "y", "z"]})
    loss, rows = bowl(space), np.random.default_rng(0).permutation(7200)[:30].tolist()
    view = view_of(space, rows, lambda row: Outcome("completed", score=float(loss[row])))
    value = textbook(view)
    assert value[choose_by_max_value_entropy(view).row] == pytest.approx(
        value[view.is_free].max(), abs=1e-3
    )


def joint(view):
    """Mean (M,) and covariance (M, M) of the posterior, from the textbook, and the noise; running rows as
    observed at their means."""
    belief = believe(view)
    process, at = belief.processes[0], [*belief.known_rows, *view.pending_rows]
    K = (
        process.signal_variance
        * KERNELS["matern52"](gp.squared_gaps(process.scaled_cube).sum(axis=0))[0]
    )
    solved = np.linalg.solve(K[np.ix_(at, at)] + process.noise * np.eye(len(at)), K[at])
    return belief.mean[0], K - K[:, at] @ solved, process.noise


def told_by(view, rows, draws=10_000):
    """{row: information on which row is the lowest}: a draw's places before and after each of 25 values, for
    all rows that may be it."""
    mean, covariance, noise = joint(view)
    may = np.flatnonzero(
        view.is_free
        | np.isin(np.arange(len(view.space)), [*view.pending_rows, *view.scored_losses[0]])
    )
    rng = np.random.default_rng(99)
    F = rng.multivariate_normal(mean, covariance, draws, method="eigh")
    z = np.linspace(-4.2, 4.2, 25)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()

    def doubt(G):
        shares = np.bincount(G[:, may].argmin(axis=1), minlength=len(may)) / draws
        return entr(shares).sum()

    told = {}
    for row in rows:
        v = covariance[row, row] + noise
        off = mean[row] - F[:, row] - np.sqrt(noise) * rng.standard_normal(draws)
        told[row] = doubt(F) - weight @ [
            doubt(F + np.outer(off + np.sqrt(v) * at, covariance[:, row] / v)) for at in z
        ]
    return told


TINY = Space.of({"a": range(6), "b": range(4)})


def tiny_view(seed, **changes):
    loss = np.sin(3 * TINY.unit_cube[:, 0]) + TINY.unit_cube[:, 1]
    rows = np.random.default_rng(seed).permutation(24)[:9].tolist()
    return view_of(
        TINY,
        rows[:7],
        lambda row: Outcome("completed", score=float(loss[row])),
        pending_rows=tuple(rows[7:]),
        **changes,
    )


@pytest.mark.parametrize("seed", range(4))
def test_gp_es_takes_the_row_that_tells_most_about_which_is_the_lowest(seed):
    view = tiny_view(seed)
    told = told_by(view, np.flatnonzero(view.is_free).tolist())
    choice = choose_by_entropy_search(view)
    assert told[choice.row] > max(told.values()) - 0.03 and choice == choose_by_entropy_search(view)
    # or any row would do
    assert max(told.values()) - np.median(list(told.values())) > 0.06


@pytest.mark.parametrize("seed", range(4))
def test_gp_esp_takes_of_the_choices_of_the_others_the_one_that_tells_most(seed):
    view = tiny_view(seed)
    single_view = replace(view, modelling=replace(view.modelling, models="single"))
    rows = {
        METHODS[name].look(single_view).row
        for name in ("gp-ei", "gp-pi", "gp-lcb", "gp-ts", "gp-mes")
    }
    told, choice = told_by(view, rows), choose_by_entropy_portfolio(view)
    assert choice.row in rows and told[choice.row] > max(told.values()) - 0.03


@pytest.mark.parametrize("method", [choose_by_entropy_search, choose_by_entropy_portfolio])
def test_a_row_that_would_hardly_train_is_left_alone_however_much_it_would_tell(method):
    """The loss falls towards rows that diverge."""
    space = Space.of({"a": range(30), "b": range(8)})
    rows = np.random.default_rng(1).permutation(240)[:40].tolist()
    view = view_of(
        space,
        rows,
        lambda row: (
            Outcome("diverged") if row // 8 > 20 else Outcome("completed", score=-float(row // 8))
        ),
    )
    assert Chances(view).log_chance(np.array([method(view).row]))[0] > np.log(0.5)


@pytest.mark.parametrize(
    "method", [choose_by_max_value_entropy, choose_by_entropy_search, choose_by_entropy_portfolio]
)
def test_more_scored_rows_than_contenders_leave_the_last_free_ones_to_choose_from(method):
    space = Space.of({"a": range(16), "b": range(16)})
    rows = np.random.default_rng(1).permutation(256)[:253].tolist()
    view = view_of(
        space, rows, lambda row: Outcome("completed", score=-float(row % 16) - (row in rows[:3]))
    )
    assert view.is_free[method(view).row]
