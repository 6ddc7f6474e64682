"""What a search learned from earlier ones, whether that was right, and where it was not followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import kendalltau

from fovnet.search.look.guard import Judged, judged, raw_places
from fovnet.search.look.ranking import GUARDED
from fovnet.search.look.view import View
from fovnet.search.search import Search
from fovnet.search.space import Level
from fovnet.search.trial import Trial, latest

FIRST = 5
"""Configurations shown of those that the prior puts first."""


@dataclass(frozen=True)
class Belief:
    """A configuration that the prior puts at this place of all, and its score, None if it has none."""

    place: int
    configuration: dict[str, Level]
    score: float | None


@dataclass(frozen=True)
class Verdict:
    """What was known of the prior before a slot: pairs that it, and the Gaussian process, put in the wrong
    order; and whether the process chose the row for that reason."""

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
    tau       Kendall's of its order with that of the scores found; None of fewer than two different ones
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
    """What the search was taught, from its finished trials; None where it asks no prior's networks."""
    if search.prior is None or search.method != "ranking":
        return None
    places, fit = raw_places(search.prior, search.space.unit_cube), np.flatnonzero(search.feasible)
    order = fit[np.argsort(places[fit], kind="stable")]
    scores = {one.proposal.row: one.score for one in latest(trials) if one.score is not None}
    beliefs = [
        Belief(i + 1, search.space.configuration(row), scores.get(row))
        for i, row in enumerate(order[:FIRST].tolist())
    ]
    best = min(scores, key=lambda row: scores[row], default=None)
    tau = (
        kendalltau(places[list(scores)], list(scores.values())).statistic
        if len(set(scores.values())) > 1
        else np.nan
    )
    return Taught(
        tuple((one.name, one.scored) for one in search.prior.sources),
        tuple(beliefs),
        None if best is None else int(np.flatnonzero(order == best)[0]) + 1,
        len(order),
        None if np.isnan(tau) else float(f"{tau:.4g}"),
        tuple(_verdicts(search, trials)),
        search.ranking.guard,
    )


def _verdicts(search: Search, trials: Sequence[Trial]) -> list[Verdict]:
    """The guard's counts before each finished slot that had seen enough and chose a row."""
    of_slot, found = {one.proposal.slot: one for one in trials}, []
    for trial in (one for one in trials if one.proposal.continues is None):
        seen = tuple(of_slot[slot] for slot in trial.proposal.seen if slot in of_slot)
        verdict = _judged(search, seen, trial.proposal.slot)
        if verdict:
            guarded = trial.proposal.step == GUARDED
            found.append(
                Verdict(trial.proposal.slot, verdict.prior, verdict.process, verdict.pairs, guarded)
            )
    return found


def _judged(search: Search, seen: tuple[Trial, ...], slot: int) -> Judged | None:
    view = View(
        search.space,
        seen,
        (),
        search.feasible,
        slot,
        search.seed,
        search.first_slots,
        search.predicted_seconds,
        modelling=search.modelling,
    )
    return judged(search.prior, view) if search.prior else None
