"""What a search learned from earlier ones, whether that was right, and where it was not
followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from fovnet.search.look.guard import GuardVerdict, judge, raw_places
from fovnet.search.look.ranking import GUARDED_STEP
from fovnet.search.look.view import View
from fovnet.search.search import Search
from fovnet.search.space import Level
from fovnet.search.trial import Trial, latest

SHOWN_CONFIGURATIONS = 5
"""Configurations shown of those that the prior puts first."""


@dataclass(frozen=True)
class Belief:
    """A configuration that the prior puts at this place of all, and its score, None if it has
    none."""

    place: int
    configuration: dict[str, Level]
    score: float | None


@dataclass(frozen=True)
class Verdict:
    """What was known of the prior before a slot: pairs that it, and the Gaussian process, put in
    the wrong order; and whether the process chose the row for that reason."""

    slot: int
    prior: float
    process: float
    pairs: int
    guarded: bool


@dataclass(frozen=True)
class Taught:
    """The prior of a search.

    sources   names, and numbers of rows with a loss
    first     what it puts first of all that fit;  place_of_best  where, of so many, it puts the best row
        found
    tau       Kendall's of its order with that of the scores found; None of fewer than two different
              ones
    guard     whether a Gaussian process may choose in its place
    """

    sources: tuple[tuple[str, int], ...]
    first: tuple[Belief, ...]
    place_of_best: int | None
    of: int
    tau: float | None
    verdicts: tuple[Verdict, ...]
    guard: bool


def taught(search: Search, trials: Sequence[Trial]) -> Taught | None:
    """What the search was taught, from its finished trials; None where it asks no prior's
    networks."""
    if search.prior is None or search.method != "ranking":
        return None
    prior_places = raw_places(search.prior, search.space.unit_cube)
    feasible_rows = np.flatnonzero(search.feasible)
    rows_by_place = feasible_rows[np.argsort(prior_places[feasible_rows], kind="stable")]
    score_by_row = {
        trial.proposal.row: trial.score for trial in latest(trials) if trial.score is not None
    }
    beliefs = [
        Belief(place_index + 1, search.space.configuration(row), score_by_row.get(row))
        for place_index, row in enumerate(rows_by_place[:SHOWN_CONFIGURATIONS].tolist())
    ]
    best_row = min(score_by_row, key=lambda row: score_by_row[row], default=None)
    tau = np.nan
    if len(set(score_by_row.values())) > 1:
        tau = kendalltau(prior_places[list(score_by_row)], list(score_by_row.values())).statistic
    return Taught(
        sources=tuple((source.name, source.scored) for source in search.prior.sources),
        first=tuple(beliefs),
        place_of_best=None
        if best_row is None
        else int(np.flatnonzero(rows_by_place == best_row)[0]) + 1,
        of=len(rows_by_place),
        tau=None if np.isnan(tau) else float(f"{tau:.4g}"),
        verdicts=tuple(_verdicts(search, trials)),
        guard=search.ranking.guard,
    )


def _verdicts(search: Search, trials: Sequence[Trial]) -> list[Verdict]:
    """The guard's counts before each finished slot that had seen enough and chose a row."""
    trial_by_slot = {trial.proposal.slot: trial for trial in trials}
    verdicts = []
    for trial in trials:
        if trial.proposal.continues is not None:
            continue
        seen_trials = tuple(
            trial_by_slot[slot] for slot in trial.proposal.seen if slot in trial_by_slot
        )
        guard_verdict = _judge_before(search, seen_trials, trial.proposal.slot)
        if guard_verdict:
            guarded = trial.proposal.step == GUARDED_STEP
            verdicts.append(
                Verdict(
                    trial.proposal.slot,
                    guard_verdict.prior,
                    guard_verdict.process,
                    guard_verdict.pairs,
                    guarded,
                )
            )
    return verdicts


def _judge_before(search: Search, seen_trials: tuple[Trial, ...], slot: int) -> GuardVerdict | None:
    """The guard's verdict before a slot that had seen these trials; None where it has none."""
    view = View(
        search.space,
        trials=seen_trials,
        pending=(),
        free=search.feasible,
        slot=slot,
        seed=search.seed,
        initial=search.first_slots,
        predicted_seconds=search.predicted_seconds,
        modelling=search.modelling,
    )
    return judge(search.prior, view) if search.prior else None
