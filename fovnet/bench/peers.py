"""Searchers of other libraries as contestants, with each library's own defaults.

    d  axes        places  (M, d)  a row as one number an axis: its place on [0, 1], or the number of its level where it is a category

Of these libraries only scikit-learn is a dependency of fovnet; each is imported when its contestant is run.  Ordinals are given to them as
numbers between 0 and 1, categories as choices.  A training without a finite loss is reported as the library's kind of failure, or not
reported where it has none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fovnet.bench.replay import Replay, Searcher, replay_asking
from fovnet.bench.tables import Table
from fovnet.errors import SearchError
from fovnet.maths.threads import one_thread
from fovnet.search.space import Space, places_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Peer:
    """A contestant: its distribution on PyPI, the modules it needs, its own first, and its constructor.

    make(space, seed, initial) gives the searcher; `initial` is used only where the library has no such number of its own
    """

    distribution: str
    modules: tuple[str, ...]
    make: Callable[[Space, int, int], Searcher]

    @property
    def version(self) -> str:
        """The installed version of the library, "5.0.0"; empty where it is not installed."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""


def refuse_absent(*names: str) -> None:
    """Nothing, if the libraries of all these contestants are installed.  Raises SearchError "peer-missing" naming all that are not."""
    lacking = {name: absent for name in names if (absent := _absent(PEERS[name]))}
    if lacking:
        libraries = list(dict.fromkeys(library for absent in lacking.values() for library in absent))
        raise SearchError(
            "peer-missing",
            f"--method {', '.join(lacking)}: needs {' and '.join(libraries)}, not installed here; "
            f"try `python -m pip install {' '.join(libraries)}`, or leave {'it' if len(lacking) == 1 else 'these'} out.",
        )


def _absent(peer: Peer) -> list[str]:
    """The distributions that a contestant needs and that are not installed."""
    return [peer.distribution if module == peer.modules[0] else module for module in peer.modules if find_spec(module) is None]


def replay_peer(table: Table, name: str, *, first_row: int, seed: int, draws: int, initial: int) -> Replay:
    """The run of a contestant, with one thread for linear algebra.  Raises SearchError where its library is not installed."""
    refuse_absent(name)
    with one_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")                      # of experimental features and fits that stopped early: their defaults
        return replay_asking(table, PEERS[name].make(table.space, seed, initial), first_row=first_row, seed=seed, draws=draws)


class Optuna:
    """A sampler of Optuna as a Searcher: its own trial is marked failed, and the row that was trained is added to the study."""

    def __init__(self, space: Space, sampler: str, seed: int) -> None:
        self.optuna = import_module("optuna")
        self.optuna.logging.set_verbosity(self.optuna.logging.WARNING)
        self.study = self.optuna.create_study(sampler=getattr(self.optuna.samplers, sampler)(seed=seed))
        distributions = self.optuna.distributions
        self.axes = {
            axis.name: distributions.FloatDistribution(0.0, 1.0) if axis.kind == "ordinal"
            else distributions.CategoricalDistribution(range(len(axis.levels)))
            for axis in space.axes
        }
        self.places = places_of(space)

    def ask(self, free: Mask) -> Floats:
        trial = self.study.ask(self.axes)
        self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
        return np.array([trial.params[name] for name in self.axes], dtype=np.float64)

    def tell(self, row: int, loss: float) -> None:
        known = np.isfinite(loss)
        state = self.optuna.trial.TrialState.COMPLETE if known else self.optuna.trial.TrialState.FAIL
        kinds = self.optuna.distributions.FloatDistribution
        params = {
            name: float(place) if isinstance(kind, kinds) else int(place)
            for (name, kind), place in zip(self.axes.items(), self.places[row], strict=True)
        }
        made = self.optuna.trial.create_trial(state=state, value=loss if known else None, params=params, distributions=self.axes)
        self.study.add_trial(made)


class Hyperopt:
    """hyperopt's tree of Parzen estimators; every trained row is inserted as a finished trial."""

    def __init__(self, space: Space, seed: int) -> None:
        self.hyperopt, self.tpe = import_module("hyperopt"), import_module("hyperopt.tpe")
        hp = self.hyperopt.hp
        self.places, self.rng = places_of(space), np.random.default_rng(seed)
        self.ordinal = [axis.kind == "ordinal" for axis in space.axes]
        labels = [f"axis-{number}" for number in range(len(space.axes))]
        self.domain = self.hyperopt.Domain(None, {
            label: hp.uniform(label, 0.0, 1.0) if axis.kind == "ordinal" else hp.choice(label, list(range(len(axis.levels))))
            for label, axis in zip(labels, space.axes, strict=True)
        }, pass_expr_memo_ctrl=False)
        self.labels, self.trials = labels, self.hyperopt.Trials()

    def ask(self, free: Mask) -> Floats:
        seed = int(self.rng.integers(2**31 - 1))
        proposed = self.tpe.suggest(self.trials.new_trial_ids(1), self.domain, self.trials, seed)[0]["misc"]["vals"]
        return np.array([proposed[label][0] for label in self.labels], dtype=np.float64)

    def tell(self, row: int, loss: float) -> None:
        number = self.trials.new_trial_ids(1)[0]
        values = [float(place) if ordinal else int(place) for place, ordinal in zip(self.places[row], self.ordinal, strict=True)]
        vals, idxs = {label: [value] for label, value in zip(self.labels, values, strict=True)}, {label: [number] for label in self.labels}
        misc = {"tid": number, "cmd": self.domain.cmd, "workdir": None, "idxs": idxs, "vals": vals}
        result = {"status": "ok", "loss": loss} if np.isfinite(loss) else {"status": "fail"}
        trial = self.trials.new_trial_docs([number], [None], [result], [misc])[0]
        trial["state"] = self.hyperopt.JOB_STATE_DONE
        self.trials.insert_trial_docs([trial])
        self.trials.refresh()


class Surrogate:
    """Another library's Gaussian process and expected improvement, maximised over the free rows after `initial` random rows.

    improvement(X (n, D), y (n,), x (m, D)) gives the acquisition (m,), higher is better
    """

    def __init__(self, space: Space, seed: int, initial: int, improvement: Callable[[Floats, Floats, Floats], Floats]) -> None:
        self.cube, self.places = space.unit_cube, places_of(space)
        self.rng, self.initial, self.improvement = np.random.default_rng(seed), initial, improvement
        self.trained, self.rows, self.losses = 0, list[int](), list[float]()

    def ask(self, free: Mask) -> Floats:
        rows = np.flatnonzero(free)
        if self.trained < self.initial or len(self.rows) < 2:
            return np.asarray(self.places[self.rng.choice(rows)])
        value = self.improvement(self.cube[self.rows], np.array(self.losses), self.cube[rows])
        return np.asarray(self.places[rows[int(np.argmax(value))]])

    def tell(self, row: int, loss: float) -> None:
        self.trained += 1
        if np.isfinite(loss):
            self.rows.append(row)
            self.losses.append(loss)


def scikit_learn_improvement(X: Floats, y: Floats, x: Floats) -> Floats:
    """Expected improvement (m,) under scikit-learn's process: Matérn 5/2, a lengthscale a column, a scale and a noise."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel()
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    mean, deviation = process.predict(x, return_std=True)
    deviation = np.maximum(deviation, 1e-12)
    z = (y.min() - mean) / deviation
    return np.asarray(deviation * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)))


def botorch_improvement(X: Floats, y: Floats, x: Floats) -> Floats:
    """Log expected improvement (m,) under BoTorch's process, fitted as its SingleTaskGP fits itself."""
    torch: Any = import_module("torch")
    models, fit, analytic = import_module("botorch.models"), import_module("botorch.fit"), import_module("botorch.acquisition.analytic")
    likelihoods = import_module("gpytorch.mlls")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng():
            torch.manual_seed(len(y))                                             # a fit that fails is tried again from a random start
            model = models.SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None])
            fit.fit_gpytorch_mll(likelihoods.ExactMarginalLogLikelihood(model.likelihood, model))
            expected = analytic.LogExpectedImprovement(model, best_f=float(y.min()), maximize=False)
            with torch.no_grad():
                return np.concatenate([expected(part[:, None]).numpy() for part in torch.tensor(x).split(1024)])
    finally:
        torch.set_num_threads(threads)


PEERS: Mapping[str, Peer] = {
    "scikit-learn-gp": Peer("scikit-learn", ("sklearn",), lambda space, seed, n: Surrogate(space, seed, n, scikit_learn_improvement)),
    "optuna-tpe":      Peer("optuna", ("optuna",), lambda space, seed, _: Optuna(space, "TPESampler", seed)),
    "optuna-gp":       Peer("optuna", ("optuna", "torch"), lambda space, seed, _: Optuna(space, "GPSampler", seed)),
    "hyperopt-tpe":    Peer("hyperopt", ("hyperopt",), lambda space, seed, _: Hyperopt(space, seed)),
    "botorch-logei":   Peer("botorch", ("botorch", "torch"), lambda space, seed, n: Surrogate(space, seed, n, botorch_improvement)),
}
"""Contestants by the names that `fovnet bench search --method` knows them by."""
