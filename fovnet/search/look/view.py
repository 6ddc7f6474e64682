"""The input and output of a search method for one slot; the row depends on this input alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.choices import (
    BoundWidth,
    Candidates,
    Choose,
    Fidelity,
    Hyperparameters,
    Kernel,
    Models,
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
from fovnet.search.trial import Forecast, Trial, is_configuration_to_blame, latest_trials

Floats = NDArray[np.float64]

DEFAULT_WIDTH = 2.0
DEFAULTS_ADDED_LATER = {
    "choose": "best",
    "fidelity": "latest",
    "target": None,
    "width": DEFAULT_WIDTH,
}
"""Settings of `Modelling` that journals of before do not have."""


@dataclass(frozen=True)
class Modelling:
    """How a method models the scores (grid, random and tpe do not); the defaults are recommended.

    targets          values modelled: "half-ranked" keeps distances in the better half only,
                     "half-limited" in the worse half too, up to a limit, "ranked" none, "raw" all
    kernel           covariance function, which sets the assumed smoothness of the loss
    hyperparameters  "map": maximum a posteriori; "sampled": averaged over a few draws from their
                     posterior
    per_second       divide the expected improvement by the predicted seconds of the training;
                     "gp-ei" only
    choose           "best": the row of greatest expected improvement; "drawn": one drawn in
                     proportion to it; "gp-ei" only
    fidelity         of trainings that are compared before their last epoch, the model sees the
                     "latest" score of a row only, or all, with their rung as an "axis" more
    target           score that "gp-pi", also in "gp-esp", asks to reach, until one does; None: any
                     improvement
    width            standard deviations from the mean to the bound of "gp-lcb", also in "gp-esp";
                     or "schedule": as many as make it hold everywhere, rising with the trials
    models           "alternating": "gp-ei" chooses every second row by a bolder model, for which
                     "half-ranked" targets are "half-limited", lengthscales are longer and a failure
                     is the worst score (`look.improvement`); "single": never; other methods have
                     one model
    """

    targets: Targets = "half-ranked"
    kernel: Kernel = "matern52"
    hyperparameters: Hyperparameters = "map"
    per_second: bool = False
    choose: Choose = "best"
    fidelity: Fidelity = "latest"
    target: float | None = None
    width: BoundWidth = DEFAULT_WIDTH
    models: Models = "alternating"

    @property
    def facts(self) -> dict[str, Any]:
        """The modelling as JSON, without `models`; without the four before where they have their
        defaults, as in journals of before."""
        facts = asdict(self)
        del facts["models"]
        for name, default in DEFAULTS_ADDED_LATER.items():
            if facts[name] == default:
                del facts[name]
        return facts


RECOMMENDED = Modelling()


class Neighbour(NamedTuple):
    """Which neighbours a row has along an axis: all other levels, the next one in a cycle, or one
    up and one down; in these the axes of `reset` get the given levels."""

    axis: str
    to: NeighbourLevels = "all"
    reset: tuple[tuple[str, Level], ...] = ()


@dataclass(frozen=True)
class Polling:
    """How "mads" and "a-mads" poll, and how "a-mads" and "a-dogs" search globally; the defaults are
    recommended.  Its fields are settings.

    order        of a poll: by "shepard"'s mean of the ranks known near a point, on a tree by the cubic
                 interpolant of the scores; or "none"
    speculative  after a success, try as far again in its direction
    extended     share of the best rows, one category away, around which a poll is extended; 0: none;
                 on a tree structures take turns instead
    neighbours   exceptions from all levels of every category
    every        of how many slots one is a global search, "a-mads" only
    categories   of that search "free", "fixed" to those of the best row, or with "reals" all axes
                 fixed but those with a level that is no whole number
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
    recommended.  Its fields are settings.

    loss         "list": of the whole order; "pair": of its pairs; "net": of two softmax
                 distributions; "point": of levels
    weight       of the places in the loss "list": "log" 1/ln(place + 1), "inverse", "linear", or
                 "one" for all alike
    members      networks, each from a start of its own
    hidden       widths of their hidden layers
    epochs       of each fit
    rate, rate_end  learning rate at which a fit begins and ends
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


DEFAULT_CANDIDATES: Final = 24
"""Values that "tpe" draws along each axis, unless the settings say otherwise."""


class RowLosses(NamedTuple):
    """Rows and their losses, (n,) each."""

    rows: NDArray[np.int64]
    losses: Floats


class RowOutcomes(NamedTuple):
    """Rows (n,), and whether what was asked of each succeeded (n,)."""

    rows: NDArray[np.int64]
    has_succeeded: NDArray[np.bool_]


class RungLosses(NamedTuple):
    """Rows, rungs and losses, (N,) each, of trainings that may have ended on any rung."""

    rows: NDArray[np.int64]
    rungs: NDArray[np.int64]
    losses: Floats


@dataclass(frozen=True, eq=False)
class View:
    """The search as slot `slot` sees it.

    trials           those finished in virtual time, by slot
    pending_rows     rows still running for the first time
    is_free          (M,) bool, rows that may be proposed: feasible and never proposed before, or
                     stopped early and to be taken up again; at least one
    seed             of the whole search
    initial_count    number of rows, the first included, spread over the space before a model is used
    predicted_seconds  (M,), of each row's training
    memory           (M,), estimated bytes that each row needs, None if unknown
    candidates       of "tpe": the values drawn along each axis, or "all" free rows
    continued_count  number of earlier slots that continue another, and so begin no row
    rung_epochs      the epochs at which trainings are compared before their end, which is the last;
                     empty: they are not
    polling          of "mads", "a-mads" and "a-dogs"
    ranking          of "ranking"
    prior            what earlier searches taught, of "ranking" and "gp-rgpe"
    """

    space: Space
    trials: tuple[Trial, ...]
    pending_rows: tuple[int, ...]
    is_free: NDArray[np.bool_]
    slot: int
    seed: int
    initial_count: int
    predicted_seconds: Floats
    memory: Floats | None = None
    modelling: Modelling = RECOMMENDED
    candidates: Candidates = DEFAULT_CANDIDATES
    continued_count: int = 0
    rung_epochs: tuple[int, ...] = ()
    polling: Polling = POLLING
    ranking: Ranking = RANKING
    prior: Prior | None = None

    @property
    def begun_count(self) -> int:
        """The number of rows begun before."""
        return self.slot - self.continued_count

    @cached_property
    def latest_trials(self) -> tuple[Trial, ...]:
        """The latest trial of each row, in the order in which the rows were begun."""
        return tuple(latest_trials(self.trials))

    @property
    def rng(self) -> np.random.Generator:
        """A new generator, seeded for this slot; the same numbers at each call, and those from
        which `ranking` draws the starts of its members."""
        return np.random.default_rng([self.seed, self.slot])

    @property
    def scored_losses(self) -> RowLosses:
        """Rows and scores of the latest trials that have a score."""
        trials = [trial for trial in self.latest_trials if trial.score is not None]
        scores = np.array([trial.score for trial in trials], dtype=np.float64)
        return RowLosses(_rows_of_trials(trials), scores)

    @property
    def all_losses(self) -> RowLosses:
        """Rows and scores of all latest trials but those that the machine ended; a failure's is
        infinite."""
        return losses_of_trials(self.latest_trials)

    @property
    def rung_observations(self) -> RungLosses:
        """Rows, rungs and scores of all slots with a score, also of those that a later one
        continues."""
        trials = [trial for trial in self.trials if trial.score is not None]
        return RungLosses(
            _rows_of_trials(trials),
            np.array([trial.proposal.rung for trial in trials], dtype=np.int64),
            np.array([trial.score for trial in trials], dtype=np.float64),
        )

    @property
    def memory_outcomes(self) -> RowOutcomes:
        """Rows of the trials that are informative about memory, and whether they fitted; empty
        without memory estimates."""
        if self.memory is None:
            return RowOutcomes(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=bool))
        trials = [trial for trial in self.latest_trials if trial.outcome.status != "error"]
        did_fit = [trial.outcome.status != "out_of_memory" for trial in trials]
        return RowOutcomes(_rows_of_trials(trials), np.array(did_fit, dtype=bool))

    @property
    def failed_rows(self) -> NDArray[np.int64]:
        """Rows that failed because of their configuration, except out of memory if there are memory
        estimates."""
        return _rows_of_trials(filter(self.is_failure, self.latest_trials))

    @property
    def training_outcomes(self) -> RowOutcomes:
        """Rows of the trials that have a score or are in `failed_rows`, by slot, and whether they
        have one."""
        trials = [
            trial
            for trial in self.latest_trials
            if trial.score is not None or self.is_failure(trial)
        ]
        did_train = [trial.score is not None for trial in trials]
        return RowOutcomes(_rows_of_trials(trials), np.array(did_train, dtype=bool))

    def is_failure(self, trial: Trial) -> bool:
        """Whether a trial failed because of its configuration, and not for a lack of memory that
        the memory estimates are to explain."""
        is_explained_by_memory = self.memory is not None and trial.outcome.status == "out_of_memory"
        return is_configuration_to_blame(trial.outcome.status) and not is_explained_by_memory


def losses_of_trials(latest: Iterable[Trial]) -> RowLosses:
    """Rows and scores of the latest trials but those that the machine ended; a failure's is
    infinite."""
    trials = [trial for trial in latest if trial.outcome.status != "error"]
    scores = np.array([trial.score for trial in trials], dtype=np.float64)  # None becomes NaN
    return RowLosses(_rows_of_trials(trials), np.where(np.isnan(scores), np.inf, scores))


def _rows_of_trials(trials: Iterable[Trial]) -> NDArray[np.int64]:
    return np.array([trial.proposal.row for trial in trials], dtype=np.int64)


def round_to_six_digits(value: float) -> float:
    """The value rounded to six significant digits, readable and independent of rounding errors."""
    return float(f"{value:.6g}")


class Choice(NamedTuple):
    """What a Look chooses.

    row       a free row
    forecast  of the method's model, None if no model was used
    step      of a method that has several steps, the one that chose the row
    """

    row: int
    forecast: Forecast | None = None
    step: str = ""


Look = Callable[[View], Choice]
"""Where a search method looks: the next row to try.  A pure function: the same view gives the same
choice, also in a replay."""
