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
from collections.abc import Callable, Iterator, Mapping, Sequence
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

from fovnet.bench.hyperopt_tpe import HyperoptTpe
from fovnet.bench.nomad import replay_nomad
from fovnet.bench.replay import ReplayedSearch, replay_asking, replay_thawing
from fovnet.bench.tables import RecordedTable
from fovnet.errors import SearchError
from fovnet.machine.threads import one_thread
from fovnet.search.space import Space, row_places

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]
FEWEST_ROWS_TO_MODEL = 2
LEAST_DEVIATION = 1e-12  # of a prediction, which is divided by it
CANDIDATES_AT_ONCE = 1024  # rows whose acquisition BoTorch computes together, to bound its memory


@dataclass(frozen=True)
class PeerLibrary:
    """A contestant.

    distribution   its name on PyPI
    modules        that it needs, its own first
    make_searcher  make_searcher(space, seed, initial) gives the Searcher, which uses `initial` only
                   where the library has no such number of its own; of THAWING_PEERS
                   make_searcher(space, seed, R) gives the Thawing for full trainings of R epochs;
                   None: it owns its loop
    """

    distribution: str
    modules: tuple[str, ...]
    make_searcher: Callable[[Space, int, int], Any] | None

    @property
    def version(self) -> str:
        """The installed version of the library, "5.0.0"; empty where it is not installed."""
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return ""

    @property
    def missing(self) -> list[str]:
        """The distributions that it needs and that are not installed; those of all modules but its
        own are called as the module."""
        distribution_by_module = {self.modules[0]: self.distribution}
        return [
            distribution_by_module.get(module, module)
            for module in self.modules
            if find_spec(module) is None
        ]


def refuse_absent(*contestants: str) -> None:
    """Raise SearchError "peer-missing", naming all libraries of these contestants that are not
    installed."""
    refuse_missing(
        "--method", {contestant: PEERS[contestant].missing for contestant in contestants}
    )


def refuse_missing(option: str, missing_by_name: Mapping[str, Sequence[str]]) -> None:
    """Raise SearchError "peer-missing" if a name that was given to an option lacks distributions."""
    lacking_names = [name for name, missing in missing_by_name.items() if missing]
    if lacking_names:
        libraries = list(
            dict.fromkeys(library for name in lacking_names for library in missing_by_name[name])
        )
        raise SearchError(
            "peer-missing",
            f"{option} {', '.join(lacking_names)}: needs {' and '.join(libraries)}, not installed here; "
            f"try `python -m pip install {' '.join(libraries)}`, or leave {pronoun_for(lacking_names)} out.",
        )


def pronoun_for(names: Sequence[str]) -> str:
    """ "it" for one name, "these" for several."""
    if len(names) == 1:
        return "it"
    return "these"


def is_installed(contestant: str) -> bool:
    """Whether all that a contestant needs is installed."""
    return not PEERS[contestant].missing


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
    make_searcher = PEERS[contestant].make_searcher
    if make_searcher is None:
        return replay_nomad(table, first_row=first_row, seed=seed, cap=cap)
    with one_thread(), warnings.catch_warnings():
        # of experimental features and fits that stopped early: their defaults
        warnings.simplefilter("ignore")
        if contestant in THAWING_PEERS:
            thawing = make_searcher(table.space, seed, table.full_epochs)
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


def place_values(space: Space, places: Floats) -> list[float]:
    """The places (d,) of a row as a list: those on [0, 1] as floats, and the numbers of levels as
    integers."""
    type_by_kind = {"ordinal": float, "categorical": int}
    return [type_by_kind[axis.kind](place) for axis, place in zip(space.axes, places, strict=True)]


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
        self.distribution_by_axis = {}
        for axis in space.axes:
            distribution = distributions.FloatDistribution(0.0, 1.0)
            if axis.kind == "categorical":
                distribution = distributions.CategoricalDistribution(range(len(axis.levels)))
            self.distribution_by_axis[axis.name] = distribution
        self.space = space
        self.place_by_row = row_places(space)

    def ask(self, is_free: Mask) -> Floats:
        trial = self.study.ask(self.distribution_by_axis)
        self.study.tell(trial, state=self.states.FAIL)
        return self.point(trial)

    def tell(self, row: int, loss: float) -> None:
        state = self.states.FAIL
        value = None
        if np.isfinite(loss):
            state = self.states.COMPLETE
            value = loss
        trial = self.optuna.trial.create_trial(
            state=state,
            value=value,
            params=self.params(row),
            distributions=self.distribution_by_axis,
        )
        self.study.add_trial(trial)

    def point(self, trial: Any) -> Floats:
        """Where a trial is, (d,)."""
        values = [trial.params[name] for name in self.distribution_by_axis]
        return np.array(values, dtype=np.float64)

    def params(self, row: int) -> dict[str, float]:
        """{axis: value} of a row, as Optuna has them."""
        values = place_values(self.space, self.place_by_row[row])
        return dict(zip(self.distribution_by_axis, values, strict=True))


class PrunedOptuna:
    """A sampler and a pruner of Optuna as a Thawing: every epoch is reported to its own trial,
    whose values become those of the row that was trained.  What it has pruned it never goes on
    with."""

    def __init__(
        self, space: Space, sampler: str, seed: int, epochs: int, pruner: str, **settings: int
    ) -> None:
        self.searcher = Optuna(space, sampler, seed, pruner, **settings)
        self.states = self.searcher.states
        self.trial: Any = None  # the trial that is being trained, and its row
        self.row = -1
        self.full_epochs = epochs

    def ask(self, epochs_by_row: Integers) -> tuple[Floats, int]:
        if self.trial is not None:
            next_epoch = int(epochs_by_row[self.row]) + 1
            return np.asarray(self.searcher.place_by_row[self.row]), next_epoch
        self.trial = self.searcher.study.ask(self.searcher.distribution_by_axis)
        return self.searcher.point(self.trial), 1

    def tell(self, row: int, epochs: int, score: float) -> None:
        if epochs == 1:
            self._move_to(row)
        if not np.isfinite(score):
            self._close(self.states.FAIL)
            return
        self.trial.report(score, epochs)
        if epochs == self.full_epochs:
            self._close(self.states.COMPLETE, score)
        elif self.trial.should_prune():
            self._close(self.states.PRUNED)

    def _move_to(self, row: int) -> None:
        """Makes the values of the trial those of the row that was trained in its place."""
        self.row = row
        for name, value in self.searcher.params(row).items():
            distribution = self.searcher.distribution_by_axis[name]
            self.trial.storage.set_trial_param(
                self.trial._trial_id, name, distribution.to_internal_repr(value), distribution
            )

    def _close(self, state: Any, value: float | None = None) -> None:
        """Ends the trial."""
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
        self.is_category = np.array([axis.kind == "categorical" for axis in space.axes])
        self.level_counts = np.array([len(axis.levels) for axis in space.axes])
        self.place_by_row = row_places(space)
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

    def ask(self, epochs_by_row: Integers) -> tuple[Floats, int]:
        self.job = self.dehb.ask()
        vector = self.job["config"]
        level_numbers = np.floor(np.minimum(vector * self.level_counts, self.level_counts - 1))
        point = np.where(self.is_category, level_numbers, vector)
        return point, max(1, int(self.job["fidelity"] + 0.5))

    def tell(self, row: int, epochs: int, score: float) -> None:
        places = self.place_by_row[row]
        middles_of_categories = (places + 0.5) / self.level_counts
        self.job["config"] = np.where(self.is_category, middles_of_categories, places)
        self.dehb.tell(self.job, {"fitness": self._fitness(score), "cost": float(epochs)})

    def _fitness(self, score: float) -> float:
        """The score; for a failure infinity, or the largest number where its rung has no other."""
        if np.isfinite(score):
            return score
        is_rung_begun = np.isfinite(self.dehb.de[self.job["fidelity"]].fitness).any()
        if is_rung_begun:
            return np.inf
        return float(np.finfo(np.float64).max)


class Hyperopt:
    """hyperopt's tree of Parzen estimators; every trained row is inserted as a finished trial."""

    def __init__(self, space: Space, seed: int) -> None:
        hp = import_module("hyperopt").hp
        self.space = space
        self.place_by_row = row_places(space)
        self.labels = [f"axis-{number}" for number in range(len(space.axes))]
        prior_by_label = {}
        for label, axis in zip(self.labels, space.axes, strict=True):
            if axis.kind == "ordinal":
                prior_by_label[label] = hp.uniform(label, 0.0, 1.0)
            else:
                prior_by_label[label] = hp.choice(label, list(range(len(axis.levels))))
        self.tpe = HyperoptTpe(prior_by_label, self.labels, seed)

    def ask(self, is_free: Mask) -> Floats:
        values_by_label = self.tpe.suggest()
        return np.array([values_by_label[label][0] for label in self.labels], dtype=np.float64)

    def tell(self, row: int, loss: float) -> None:
        values = place_values(self.space, self.place_by_row[row])
        values_by_label = {label: [value] for label, value in zip(self.labels, values, strict=True)}
        self.tpe.insert(values_by_label, loss)


class Surrogate:
    """Another library's Gaussian process and expected improvement, maximised over the free rows
    after `initial` random rows.

    acquisition  acquisition(X, y, x): given rows X (n, D) with losses y (n,), values (m,) of the
                 rows x (m, D); higher is better
    """

    def __init__(
        self,
        space: Space,
        seed: int,
        initial: int,
        acquisition: Callable[[Floats, Floats, Floats], Floats],
    ) -> None:
        self.cube = space.unit_cube
        self.place_by_row = row_places(space)
        self.rng = np.random.default_rng(seed)
        self.initial = initial
        self.acquisition = acquisition
        self.training_count = 0
        self.rows: list[int] = []
        self.losses: list[float] = []

    def ask(self, is_free: Mask) -> Floats:
        free_rows = np.flatnonzero(is_free)
        if self.training_count < self.initial or len(self.rows) < FEWEST_ROWS_TO_MODEL:
            return np.asarray(self.place_by_row[self.rng.choice(free_rows)])
        acquisition_values = self.acquisition(
            self.cube[self.rows], np.array(self.losses), self.cube[free_rows]
        )
        best_row = free_rows[int(np.argmax(acquisition_values))]
        return np.asarray(self.place_by_row[best_row])

    def tell(self, row: int, loss: float) -> None:
        self.training_count += 1
        if np.isfinite(loss):
            self.rows.append(row)
            self.losses.append(loss)


def scikit_learn_improvement(X: Floats, y: Floats, x: Floats) -> Floats:
    """Expected improvement (m,) of rows x (m, D) under scikit-learn's process of rows X (n, D) with
    losses y (n,): Matérn 5/2, a lengthscale a column, a scale and a noise."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    kernel = ConstantKernel() * Matern(np.ones(X.shape[1]), nu=2.5) + WhiteKernel()
    process = GaussianProcessRegressor(kernel, normalize_y=True, random_state=0).fit(X, y)
    mean, deviation = process.predict(x, return_std=True)
    deviation = np.maximum(deviation, LEAST_DEVIATION)
    z = (y.min() - mean) / deviation
    return np.asarray(deviation * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi)))


def botorch_improvement(X: Floats, y: Floats, x: Floats) -> Floats:
    """Log expected improvement (m,) of rows x (m, D) under BoTorch's process of rows X (n, D) with
    losses y (n,), fitted as its SingleTaskGP fits itself."""
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
            candidate_parts = torch.split(torch.tensor(x), CANDIDATES_AT_ONCE)
            return np.concatenate(
                [log_improvement(candidates[:, None]).numpy() for candidates in candidate_parts]
            )


THAWING_PEERS: Mapping[str, PeerLibrary] = {
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
"""Peers that train by the epoch and resume trainings (freeze-thaw); all others train fully."""
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
    **THAWING_PEERS,
}
"""Contestants by the names that `fovnet bench search --method` knows them by."""
