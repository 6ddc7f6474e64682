"""The input and output of a search method for one slot; the row depends on this input alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.choices import (
    Candidates,
    Choose,
    Fidelity,
    Hyperparameters,
    Kernel,
    NeighbourLevels,
    PollCategories,
    PollOrder,
    RankingAcquisition,
    RankingLoss,
    RankingWeight,
    Targets,
)
from fovnet.search.prior import Prior
from fovnet.search.space import Level, Space
from fovnet.search.trial import Forecast, Trial, configuration_is_to_blame, latest

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Modelling:
    """How a method models the scores (grid, random and tpe do not); the defaults are recommended.

    targets          values modelled: "half-ranked" keeps distances in the better half only,
                     "ranked" none, "raw" all
    kernel           covariance function, which sets the assumed smoothness of the loss
    hyperparameters  "map": maximum a posteriori; "sampled": averaged over a few draws from their
                     posterior
    per_second       divide the expected improvement by the predicted seconds of the training;
                     "gp-ei" only
    choose           "best": the row of greatest expected improvement; "drawn": one drawn in
                     proportion to it; "gp-ei" only
    fidelity         of trainings that are compared before their last epoch, the model sees the
                     "latest" score of a row only, or all, with their rung as an "axis" more
    """

    targets: Targets = "half-ranked"
    kernel: Kernel = "matern52"
    hyperparameters: Hyperparameters = "map"
    per_second: bool = False
    choose: Choose = "best"
    fidelity: Fidelity = "latest"

    @property
    def facts(self) -> dict[str, Any]:
        """The modelling as JSON; without the last two where they have their defaults, as in
        journals of before."""
        later = {"choose": "best", "fidelity": "latest"}
        return {name: value for name, value in asdict(self).items() if later.get(name) != value}


RECOMMENDED = Modelling()


class Neighbour(NamedTuple):
    """Which neighbours a row has along an axis: all other levels, the next one in a cycle, or one
    up and one down; in these the axes of `reset` get the given levels."""

    axis: str
    to: NeighbourLevels = "all"
    reset: tuple[tuple[str, Level], ...] = ()


@dataclass(frozen=True)
class Polling:
    """How "mads" and "a-mads" poll; the defaults are recommended.

    order        of a poll: by "shepard"'s mean of the ranks known near a point, or "none"
    speculative  after a success, try as far again in its direction
    extended     share of the best rows, one category away, around which a poll is extended; 0: none
    neighbours   exceptions from all levels of every category
    every        of how many slots one is a global search, "a-mads" only
    categories   of that search "free", or "fixed" to those of the best row
    target_step  by which it moves its target, as a share of the distance from the lowest score to
                 the median
    """

    order: PollOrder = "shepard"
    speculative: bool = True
    extended: float = 0.25
    neighbours: tuple[Neighbour, ...] = ()
    every: int = 2
    categories: PollCategories = "free"
    target_step: float = 0.1

    @property
    def facts(self) -> dict[str, Any]:
        """The polling as JSON."""
        return {
            **asdict(self),
            "neighbours": [[rule.axis, rule.to, dict(rule.reset)] for rule in self.neighbours],
        }

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Polling:
        """The polling from its JSON form."""
        rules = tuple(
            Neighbour(axis, to, tuple(reset.items())) for axis, to, reset in facts["neighbours"]
        )
        return cls(**{**facts, "neighbours": rules})


POLLING = Polling()


@dataclass(frozen=True)
class Ranking:
    """How "ranking" learns the order of the scores, and what it does with it; the defaults are
    recommended.

    loss         "list": of the whole order; "pair": of its pairs; "net": of two softmax
                 distributions; "point": of levels
    weight       of the places in the loss "list": "log" 1/ln(place + 1), "inverse", "linear", or
                 "one" for all alike
    members      networks, each from a start of its own;     hidden  widths of their hidden layers
    epochs       of each fit;     rate, rate_end  at which it begins and ends
    acquisition  of a row's places in the members' rankings: the expected improvement of their
                 logarithms ("log-ei"), that of a member drawn ("thompson"), or their mean
                 ("mean-rank"); None: the last with a prior, else the first
    range        k: scores s are kept within ±k by k·tanh(s/100); None: they are not
    guard        against a prior that misleads
    """

    loss: RankingLoss = "list"
    weight: RankingWeight = "log"
    members: int = 10
    hidden: tuple[int, ...] = (32, 32)
    epochs: int = 300
    rate: float = 0.02
    rate_end: float = 0.0005
    acquisition: RankingAcquisition | None = None
    range: float | None = None
    guard: bool = True

    @property
    def facts(self) -> dict[str, Any]:
        """The ranking as JSON."""
        return {**asdict(self), "hidden": list(self.hidden)}

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> Ranking:
        """The ranking from its JSON form."""
        return cls(**{**facts, "hidden": tuple(facts["hidden"])})


RANKING = Ranking()


@dataclass(frozen=True, eq=False)
class View:
    """The search as slot `slot` sees it.

    trials    those finished in virtual time, by slot
    pending   rows still running for the first time
    free      (M,) bool, rows that may be proposed: feasible and never proposed before, or stopped
              early and to be taken up again; at least one
    continued number of earlier slots that continue another, and so begin no row
    rungs     the epochs at which trainings are compared before their end, which is the last; empty:
              they are not
    initial   number of rows, the first included, spread over the space before a model is used
    seed      of the whole search
    predicted_seconds  (M,), of each row's training;      memory  (M,), estimated bytes it needs, None if
        unknown
    candidates  of "tpe": the values drawn along each axis, or "all" free rows;     polling  of "mads" and
        "a-mads"
    ranking   of "ranking";     prior  what earlier searches taught, of "ranking" and "gp-rgpe"
    """

    space: Space
    trials: tuple[Trial, ...]
    pending: tuple[int, ...]
    free: NDArray[np.bool_]
    slot: int
    seed: int
    initial: int
    predicted_seconds: Floats
    memory: Floats | None = None
    modelling: Modelling = RECOMMENDED
    candidates: Candidates = 24
    continued: int = 0
    rungs: tuple[int, ...] = ()
    polling: Polling = POLLING
    ranking: Ranking = RANKING
    prior: Prior | None = None

    @property
    def begun(self) -> int:
        """The number of rows begun before."""
        return self.slot - self.continued

    @cached_property
    def seen(self) -> tuple[Trial, ...]:
        """The latest trial of each row, in the order in which the rows were begun."""
        return tuple(latest(self.trials))

    @property
    def rng(self) -> np.random.Generator:
        """A new generator, seeded for this slot; the same numbers at each call, and those from
        which `ranking` draws the starts of its members."""
        return np.random.default_rng([self.seed, self.slot])

    @property
    def scored(self) -> tuple[NDArray[np.int64], Floats]:
        """Rows and scores, (n,) each, of the trials that have one."""
        trials = [trial for trial in self.seen if trial.score is not None]
        return _rows_of_trials(trials), np.array(
            [trial.score for trial in trials], dtype=np.float64
        )

    @property
    def losses(self) -> tuple[NDArray[np.int64], Floats]:
        """Rows and scores, (n,) each, of all trials but those that the machine ended; a failure's
        is infinite."""
        counted = [trial for trial in self.seen if trial.outcome.status != "error"]
        scores = [np.inf if trial.score is None else trial.score for trial in counted]
        return _rows_of_trials(counted), np.array(scores, dtype=np.float64)

    @property
    def observations(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """Rows, rungs and scores, (N,) each, of all slots with a score, also of those that a later
        one continues."""
        trials = [trial for trial in self.trials if trial.score is not None]
        rungs = np.array([trial.proposal.rung for trial in trials], dtype=np.int64)
        return (
            _rows_of_trials(trials),
            rungs,
            np.array([trial.score for trial in trials], dtype=np.float64),
        )

    @property
    def fitted(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Rows (n,) of the trials that are informative about memory, and whether they fitted; empty
        without memory estimates."""
        if self.memory is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool)
        informative_trials = [trial for trial in self.seen if trial.outcome.status != "error"]
        did_fit = [trial.outcome.status != "out_of_memory" for trial in informative_trials]
        return _rows_of_trials(informative_trials), np.array(did_fit, dtype=bool)

    @property
    def failed(self) -> NDArray[np.int64]:
        """Rows that failed because of their configuration, except out of memory if there are memory
        estimates."""
        return _rows_of_trials(filter(self._is_failure, self.seen))

    @property
    def outcomes(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Rows (n,) of the trials that have a score or are in `failed`, by slot, and whether they
        have one."""
        informative_trials = [
            trial for trial in self.seen if trial.score is not None or self._is_failure(trial)
        ]
        return _rows_of_trials(informative_trials), np.array(
            [trial.score is not None for trial in informative_trials], dtype=bool
        )

    def _is_failure(self, trial: Trial) -> bool:
        is_explained_by_memory = self.memory is not None and trial.outcome.status == "out_of_memory"
        return configuration_is_to_blame(trial.outcome.status) and not is_explained_by_memory


def _rows_of_trials(trials: Iterable[Trial]) -> NDArray[np.int64]:
    return np.array([trial.proposal.row for trial in trials], dtype=np.int64)


class Choice(NamedTuple):
    """A free row, the forecast of the method's model, None if no model was used, and the step of a
    method that has several."""

    row: int
    forecast: Forecast | None = None
    step: str = ""


Look = Callable[[View], Choice]
"""Where a search method looks: the next row to try.  A pure function: the same view gives the same
choice, also in a replay."""
