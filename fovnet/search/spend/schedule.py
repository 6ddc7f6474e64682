"""Rungs and brackets: the epochs at which trainings are compared, in whole numbers, or the predicted
minutes.

    R  epochs of a full training
    η  eta
    K  the last rung
    s  rungs that a bracket climbs

Source: Li et al., *Hyperband* (2018), arXiv:1603.06560, algorithm 1, its floating logarithm
replaced by a count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from fovnet.choices import SpendKind
from fovnet.errors import SearchError
from fovnet.search.trial import Proposal


@dataclass(frozen=True)
class Schedule:
    """How a search spends epochs; with "full" every training has R epochs, and the other numbers
    mean nothing.

    kind      name of the Spend
    epochs    R
    eta       of how many trainings on a rung one goes on
    least     epochs of the first rung, at least
    reuse     of "hyperband": a bracket may take up what a closed one stopped, which a finite space
              would lose
    restarts  each rung is a training from the first epoch on, as a rate schedule that depends on
              the number of epochs demands
    minutes   predicted, after which a training ends if it has not had R epochs by then; the rungs are
              at 1/η, 1/η², ... of them.  None: only epochs count
    Raises SearchError "search-schedule" for eta below 2, or least below 1 or above R.
    """

    kind: SpendKind = "full"
    epochs: int = 1
    eta: int = 3
    least: int = 1
    reuse: bool = True
    restarts: bool = False
    minutes: float | None = None

    def __post_init__(self) -> None:
        if self.eta < 2:
            raise SearchError(
                "search-schedule",
                f"eta {self.eta}: give 2 or more; one of eta trainings continues.",
            )
        if not 1 <= self.least <= self.epochs:
            raise SearchError(
                "search-schedule",
                f"least_epochs {self.least}: give 1 to {self.epochs}, the epochs of a full training.",
            )

    @cached_property
    def rungs(self) -> tuple[int, ...]:
        """Epochs r_0 < ... < r_K = R: R / η^(K-k), rounded half up, with the greatest K for which
        least · η^K ≤ R."""
        last_rung = 0
        while self.least * self.eta ** (last_rung + 1) <= self.epochs:
            last_rung += 1
        divisors = [self.eta ** (last_rung - rung) for rung in range(last_rung + 1)]
        return tuple((2 * self.epochs + divisor) // (2 * divisor) for divisor in divisors)

    def epochs_at(self, rung: int, full_seconds: float) -> int:
        """The epochs at a rung of a training whose R epochs are predicted to take `full_seconds`.

        With `minutes` as many as fit into the rung's, but at least one more than at the rung below,
        and few enough to leave one for each rung above: a training that goes on always goes on.
        """
        if self.minutes is None:
            return self.rungs[rung]
        affordable_epochs = round(60.0 * self.minutes_at(rung) / full_seconds * self.epochs)
        most_epochs = self.epochs - (self.last_rung - rung)
        return min(most_epochs, max(rung + 1, affordable_epochs))

    def minutes_at(self, rung: int) -> float:
        """The predicted minutes of a rung, of a schedule that has them."""
        assert self.minutes is not None
        return float(self.minutes / self.eta ** (self.last_rung - rung))

    @property
    def last_rung(self) -> int:
        """K, the number of the last rung."""
        return len(self.rungs) - 1

    def climbed_rungs(self, bracket: int) -> int:
        """s: the rungs that a bracket climbs; K for the first, then one less each, and again K
        after 0."""
        return self.last_rung - bracket % (self.last_rung + 1)

    def starting_count(self, bracket: int) -> int:
        """n_0 = ⌈(K+1) · η^s / (s+1)⌉, how many configurations a bracket begins."""
        s = self.climbed_rungs(bracket)
        scaled_count: int = (self.last_rung + 1) * self.eta**s
        return -(-scaled_count // (s + 1))

    def newest_possible_bracket(self, proposals: Sequence[Proposal]) -> int:
        """The newest bracket that the slot after these may be in: hyperband passes over K at most,
        asha has one, asha-or-full two."""
        if self.kind == "asha-or-full":
            return 1
        if self.kind != "hyperband":
            return 0
        newest_bracket = max((proposal.bracket for proposal in proposals), default=-1)
        return newest_bracket + self.last_rung + 1

    def full_trainings_of(self, proposals: Iterable[Proposal]) -> int:
        """How many full trainings have the epochs that these proposals spend, rounded down; of
        "full", their number."""
        return self.epochs_of(proposals) // self.epochs

    def is_within_budget(self, proposals: Iterable[Proposal], trials: int) -> bool:
        """Whether a search for the epochs of so many full trainings has a slot after these: of
        "full", fewer than `trials`."""
        return self.epochs_of(proposals) < trials * self.epochs

    def epochs_of(self, proposals: Iterable[Proposal]) -> int:
        """The epochs that these proposals spend."""
        return sum(own_epochs(proposal, self.epochs) for proposal in proposals)

    @property
    def facts(self) -> dict[str, Any]:
        """The schedule as JSON; empty for "full", and without `minutes` if there are none, as in
        journals of before."""
        if self.kind == "full":
            return {}
        facts = asdict(self)
        if self.minutes is None:
            del facts["minutes"]
        return {"schedule": facts}


FULL = Schedule()


def own_epochs(proposal: Proposal, full_epochs: int) -> int:
    """The epochs that a proposal spends itself, those of the training it goes on with not counted;
    `full_epochs` are those of a full training."""
    if proposal.epochs is None:
        return full_epochs - proposal.begun_epochs
    return proposal.epochs - proposal.begun_epochs
