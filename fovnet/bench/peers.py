"""Searchers of other libraries as contestants, with each library's own defaults.

    d       axes
    places  (M, d)  a row as one number per axis: its place on [0, 1], or the number of its level
            where it is a category

Of these libraries only scikit-learn is a dependency of fovnet; each is imported when its contestant
is run.  Ordinals are given to them as numbers between 0 and 1, categories as choices.  A training
without a finite loss is reported as the library's kind of failure, or not reported where it has
none.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from fovnet.bench.nomad import replay_nomad
from fovnet.bench.replay import ReplayedSearch, replay_asking, replay_thawing
from fovnet.bench.tables import RecordedTable
from fovnet.errors import SearchError
from fovnet.machine.threads import one_thread
from fovnet.search.space import Space, places_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class PeerLibrary:
    """A contestant.

    distribution  its name on PyPI
    modules       that it needs, its own first
    make          make(space, seed, initial) gives the Searcher, which uses `initial` only where the
                  library has no such number of its own; of THAWING make(space, seed, R) gives the
                  Thawing for full trainings of R epochs; None: it owns its loop
    """

    distribution: str
    modules: tuple[str, ...]
    make: Callable[[Space, int, int], Any] | None

    @property
    def version(self) -> str:
        """The installed version of the library, "5.0.0"; empty where it is not installed."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""


def refuse_absent(*contestants: str) -> None:
    """Raise SearchError "peer-missing", naming all libraries of these contestants that are not
    installed."""
    lacking_names = [contestant for contestant in contestants if not is_installed(contestant)]
    if lacking_names:
        libraries = list(
            dict.fromkeys(
                library
                for contestant in lacking_names
                for library in _missing_distributions(PEERS[contestant])
            )
        )
        pronoun_of_methods = "it" if len(lacking_names) == 1 else "these"
        raise SearchError(
            "peer-missing",
            f"--method {', '.join(lacking_names)}: needs {' and '.join(libraries)}, not installed here; "
            f"try `python -m pip install {' '.join(libraries)}`, or leave {pronoun_of_methods} out.",
        )


def is_installed(contestant: str) -> bool:
    """Whether all that a contestant needs is installed."""
    return not _missing_distributions(PEERS[contestant])


def _missing_distributions(peer: PeerLibrary) -> list[str]:
    """The distributions that a contestant needs and that are not installed."""
    return [
        peer.distribution if module == peer.modules[0] else module
        for module in peer.modules
        if find_spec(module) is None
    ]


def replay_peer(
    table: RecordedTable,
    contestant: str,
    *,
    first_row: int,
    seed: int,
    cap: int,
    initial: int,
) -> ReplayedSearch:
    """The run of a contestant, with one thread for linear algebra.  Raises SearchError where its
    library is not installed."""
    refuse_absent(contestant)
    make_searcher = PEERS[contestant].make
    if make_searcher is None:
        return replay_nomad(table, first_row=first_row, seed=seed, cap=cap)
    with one_thread(), warnings.catch_warnings():
        # of experimental features and fits that stopped early: their defaults
        warnings.simplefilter("ignore")
        if contestant in THAWING:
            thawing = make_searcher(table.space, seed, table.epochs)
            return replay_thawing(table, thawing, first_row=first_row, seed=seed, cap=cap)
        searcher = make_searcher(table.space, seed, initial)
        return replay_asking(table, searcher, first_row=first_row, seed=seed, cap=cap)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """torch computes with one thread while the block runs."""
    import torch

    threads_before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)


def place_values(space: Space, row_places: Floats) -> list[float]:
    """The places of a row, those on [0, 1] as floats, and the numbers of levels as integers."""
    return [
        float(value) if axis.kind == "ordinal" else int(value)
        for axis, value in zip(space.axes, row_places, strict=True)
    ]


class Optuna:
    """A sampler of Optuna as a Searcher: its own trial is marked failed, and the row that was
    trained is added to the study."""

    def __init__(
        self, space: Space, sampler: str, seed: int, pruner: str = "NopPruner", **settings: int
    ) -> None:
        self.optuna = import_module("optuna")
        self.optuna.logging.set_verbosity(self.optuna.logging.WARNING)
        self.study = self.optuna.create_study(
            # HyperbandPruner draws brackets by the name; without it, one by chance
            study_name=f"race-{seed}",
            sampler=getattr(self.optuna.samplers, sampler)(seed=seed),
            pruner=getattr(self.optuna.pruners, pruner)(**settings),
        )
        distributions = self.optuna.distributions
        self.states = self.optuna.trial.TrialState
        self.axes = {}
        for axis in space.axes:
            if axis.kind == "ordinal":
                self.axes[axis.name] = distributions.FloatDistribution(0.0, 1.0)
            else:
                level_numbers = range(len(axis.levels))
                self.axes[axis.name] = distributions.CategoricalDistribution(level_numbers)
        self.space = space
        self.places = places_of(space)

    def ask(self, free: Mask) -> Floats:
        trial = self.study.ask(self.axes)
        self.study.tell(trial, state=self.states.FAIL)
        return self.point(trial)

    def tell(self, row: int, loss: float) -> None:
        is_scored = bool(np.isfinite(loss))
        trial = self.optuna.trial.create_trial(
            state=self.states.COMPLETE if is_scored else self.states.FAIL,
            value=loss if is_scored else None,
            params=self.params(row),
            distributions=self.axes,
        )
        self.study.add_trial(trial)

    def point(self, trial: Any) -> Floats:
        """Where a trial is, (d,)."""
        return np.array([trial.params[name] for name in self.axes], dtype=np.float64)

    def params(self, row: int) -> dict[str, float]:
        """A row as Optuna's values."""
        return dict(zip(self.axes, place_values(self.space, self.places[row]), strict=True))


class PrunedOptuna:
    """A sampler and a pruner of Optuna as a Thawing: every epoch is reported to its own trial,
    whose values become those of the row that was trained.  What it has pruned it never goes on
    with."""

    def __init__(
        self, space: Space, sampler: str, seed: int, epochs: int, pruner: str, **settings: int
    ) -> None:
        self.searcher = Optuna(space, sampler, seed, pruner, **settings)
        self.states = self.searcher.states
        self.trial: Any = None
        self.epochs = epochs
        self.row = -1

    def ask(self, epochs: Integers) -> tuple[Floats, int]:
        if self.trial is not None:
            return np.asarray(self.searcher.places[self.row]), int(epochs[self.row]) + 1
        self.trial = self.searcher.study.ask(self.searcher.axes)
        return self.searcher.point(self.trial), 1

    def tell(self, row: int, epochs: int, score: float) -> None:
        if epochs == 1:
            self._move_to(row)
        if not np.isfinite(score):
            self._close(self.states.FAIL)
            return
        self.trial.report(score, epochs)
        if epochs == self.epochs:
            self._close(self.states.COMPLETE, score)
        elif self.trial.should_prune():
            self._close(self.states.PRUNED)

    def _move_to(self, row: int) -> None:
        self.row = row
        for name, value in self.searcher.params(row).items():
            distribution = self.searcher.axes[name]
            self.trial.storage.set_trial_param(
                self.trial._trial_id, name, distribution.to_internal_repr(value), distribution
            )

    def _close(self, state: Any, value: float | None = None) -> None:
        self.searcher.study.tell(self.trial, value, state=state)
        self.trial = None


class Dehb:
    """DEHB, a differential evolution in the brackets of Hyperband, as a Thawing: a category is a
    part of [0, 1]; a vector becomes that of the row that was trained.

    DEHB takes a loss without bound for a vector that nobody has trained.  Where a rung has no
    other, it ends with an IndexError (0.1.2) as it promotes the best; so the first failure of a
    rung has the largest number for its loss, the last of all that have one.
    """

    def __init__(self, space: Space, seed: int, epochs: int) -> None:
        self.categories = np.array(
            [len(axis.levels) if axis.kind == "categorical" else 0 for axis in space.axes]
        )
        self.places = places_of(space)
        with TemporaryDirectory() as folder:  # for a log that nobody reads
            self.dehb = import_module("dehb").DEHB(
                f=None,
                dimensions=len(space.axes),
                min_fidelity=1,
                max_fidelity=epochs,
                n_workers=1,
                seed=seed,
                save_freq=None,
                output_path=folder,
            )

    def ask(self, epochs: Integers) -> tuple[Floats, int]:
        self.job = self.dehb.ask()
        vector = self.job["config"]
        level_counts = self.categories
        point = np.where(
            level_counts > 0, np.minimum(vector * level_counts, level_counts - 1) // 1, vector
        )
        return point, max(1, int(self.job["fidelity"] + 0.5))

    def tell(self, row: int, epochs: int, score: float) -> None:
        level_counts = self.categories
        middle_of_category = (self.places[row] + 0.5) / np.maximum(level_counts, 1)
        self.job["config"] = np.where(level_counts > 0, middle_of_category, self.places[row])
        self.dehb.tell(self.job, {"fitness": self._fitness(score), "cost": float(epochs)})

    def _fitness(self, score: float) -> float:
        if np.isfinite(score):
            return score
        is_rung_begun = np.isfinite(self.dehb.de[self.job["fidelity"]].fitness).any()
        return np.inf if is_rung_begun else np.finfo(np.float64).max


class Hyperopt:
    """hyperopt's tree of Parzen estimators; every trained row is inserted as a finished trial."""

    def __init__(self, space: Space, seed: int) -> None:
        self.hyperopt = import_module("hyperopt")
        self.tpe = import_module("hyperopt.tpe")
        self.space = space
        self.places = places_of(space)
        self.rng = np.random.default_rng(seed)
        self.labels = [f"axis-{number}" for number in range(len(space.axes))]
        hyperopt_space = self.hyperopt.hp
        prior_by_label = {}
        for label, axis in zip(self.labels, space.axes, strict=True):
            if axis.kind == "ordinal":
                prior_by_label[label] = hyperopt_space.uniform(label, 0.0, 1.0)
            else:
                prior_by_label[label] = hyperopt_space.choice(label, list(range(len(axis.levels))))
        self.domain = self.hyperopt.Domain(None, prior_by_label, pass_expr_memo_ctrl=False)
        self.trials = self.hyperopt.Trials()

    def ask(self, free: Mask) -> Floats:
        seed = int(self.rng.integers(2**31 - 1))
        (trial,) = self.tpe.suggest(self.trials.new_trial_ids(1), self.domain, self.trials, seed)
        return np.array(
            [trial["misc"]["vals"][label][0] for label in self.labels], dtype=np.float64
        )

    def tell(self, row: int, loss: float) -> None:
        trial_id = self.trials.new_trial_ids(1)[0]
        labelled_values = zip(self.labels, place_values(self.space, self.places[row]), strict=True)
        trial_facts = {
            "tid": trial_id,
            "cmd": self.domain.cmd,
            "workdir": None,
            "idxs": {label: [trial_id] for label in self.labels},
            "vals": {label: [value] for label, value in labelled_values},
        }
        result = {"status": "ok", "loss": loss} if np.isfinite(loss) else {"status": "fail"}
        trial = self.trials.new_trial_docs([trial_id], [None], [result], [trial_facts])[0]
        trial["state"] = self.hyperopt.JOB_STATE_DONE
        self.trials.insert_trial_docs([trial])
        self.trials.refresh()


class Surrogate:
    """Another library's Gaussian process and expected improvement, maximised over the free rows
    after `initial` random rows.

    improvement  given X (n, D), y (n,) and x (m, D), the acquisition (m,); higher is better
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        initial: int,
        improvement: Callable[[Floats, Floats, Floats], Floats],
    ) -> None:
        self.cube = space.unit_cube
        self.places = places_of(space)
        self.rng = np.random.default_rng(seed)
        self.initial = initial
        self.improvement = improvement
        self.trainings = 0
        self.rows: list[int] = []
        self.losses: list[float] = []

    def ask(self, free: Mask) -> Floats:
        free_rows = np.flatnonzero(free)
        if self.trainings < self.initial or len(self.rows) < 2:
            return np.asarray(self.places[self.rng.choice(free_rows)])
        acquisitions = self.improvement(
            self.cube[self.rows], np.array(self.losses), self.cube[free_rows]
        )
        return np.asarray(self.places[free_rows[int(np.argmax(acquisitions))]])

    def tell(self, row: int, loss: float) -> None:
        self.trainings += 1
        if np.isfinite(loss):
            self.rows.append(row)
            self.losses.append(loss)


def scikit_learn_improvement(X: Floats, y: Floats, x: Floats) -> Floats:
    """Expected improvement (m,) under scikit-learn's process: Matérn 5/2, a lengthscale a column, a
    scale and a noise."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel()
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    mean, deviation = process.predict(x, return_std=True)
    deviation = np.maximum(deviation, 1e-12)
    z = (y.min() - mean) / deviation
    return np.asarray(deviation * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)))


def botorch_improvement(X: Floats, y: Floats, x: Floats) -> Floats:
    """Log expected improvement (m,) under BoTorch's process, fitted as its SingleTaskGP fits
    itself."""
    import torch

    models = import_module("botorch.models")
    fit = import_module("botorch.fit")
    analytic = import_module("botorch.acquisition.analytic")
    likelihoods = import_module("gpytorch.mlls")
    with one_torch_thread(), torch.random.fork_rng():
        # a fit that fails is tried again from a random start
        torch.manual_seed(len(y))
        model = models.SingleTaskGP(torch.tensor(X), torch.tensor(y)[:, None])
        fit.fit_gpytorch_mll(likelihoods.ExactMarginalLogLikelihood(model.likelihood, model))
        log_improvement = analytic.LogExpectedImprovement(
            model, best_f=float(y.min()), maximize=False
        )
        with torch.no_grad():
            candidate_parts = torch.split(torch.tensor(x), 1024)
            return np.concatenate(
                [log_improvement(candidates[:, None]).numpy() for candidates in candidate_parts]
            )


THAWING: Mapping[str, PeerLibrary] = {
    "optuna-tpe+hyperband": PeerLibrary(
        "optuna",
        ("optuna",),
        lambda space, seed, epochs: PrunedOptuna(
            space, "TPESampler", seed, epochs, "HyperbandPruner", max_resource=epochs
        ),
    ),
    "optuna-tpe+halving": PeerLibrary(
        "optuna",
        ("optuna",),
        lambda space, seed, epochs: PrunedOptuna(
            space, "TPESampler", seed, epochs, "SuccessiveHalvingPruner"
        ),
    ),
    "dehb": PeerLibrary("dehb", ("dehb",), Dehb),
}
"""Contestants that spend by the epoch."""

PEERS: Mapping[str, PeerLibrary] = {
    "scikit-learn-gp": PeerLibrary(
        "scikit-learn",
        ("sklearn",),
        lambda space, seed, n: Surrogate(space, seed, n, scikit_learn_improvement),
    ),
    "optuna-tpe": PeerLibrary(
        "optuna", ("optuna",), lambda space, seed, _: Optuna(space, "TPESampler", seed)
    ),
    "optuna-gp": PeerLibrary(
        "optuna", ("optuna", "torch"), lambda space, seed, _: Optuna(space, "GPSampler", seed)
    ),
    "hyperopt-tpe": PeerLibrary(
        "hyperopt", ("hyperopt",), lambda space, seed, _: Hyperopt(space, seed)
    ),
    "botorch-logei": PeerLibrary(
        "botorch",
        ("botorch", "torch"),
        lambda space, seed, n: Surrogate(space, seed, n, botorch_improvement),
    ),
    "nomad": PeerLibrary("PyNomadBBO", ("PyNomad",), None),
    **THAWING,
}
"""Contestants by the names that `fovnet bench search --method` knows them by."""
