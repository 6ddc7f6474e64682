"""What a search learned from earlier ones, whether that was right, and where it was not
followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fovnet.records import json_key
from fovnet.search.look.guard import GuardVerdict, judge_prior, mean_prior_places
from fovnet.search.look.ranking import GUARDED_STEP
from fovnet.search.search import AnySearch, Search, make_view
from fovnet.search.space import Level
from fovnet.search.trial import Trial, latest_trials

SHOWN_CONFIGURATIONS = 5
"""Configurations shown of those that the prior puts first."""


@dataclass(frozen=True)
class RankedConfiguration:
    """A configuration that the prior puts at this place of all, and its score, None if it has
    none."""

    place: int
    configuration: dict[str, Level]
    score: float | None


@dataclass(frozen=True)
class SlotVerdict:
    """What was known of the prior before a slot.

    prior_wrong_pairs, process_wrong_pairs  pairs of scores, of pair_count, that the prior and the
                   Gaussian process put in the wrong order
    process_chose  whether the process chose the row, because the prior was worse
    """

    slot: int
    prior_wrong_pairs: float = field(metadata=json_key("prior"))
    process_wrong_pairs: float = field(metadata=json_key("process"))
    pair_count: int = field(metadata=json_key("pairs"))
    process_chose: bool = field(metadata=json_key("guarded"))


@dataclass(frozen=True)
class PriorReview:
    """What the prior of a search said, and whether it was right.

    sources        (name, number of rows with a loss) of each earlier search
    first_configurations  that the prior puts first of all that fit
    place_of_best  where it puts the best row found, from 1, None before the first score
    feasible_count number of configurations that fit
    kendall_tau    of its order with that of the scores found; None of fewer than two different ones
    verdicts       of the guard before each slot that had seen enough
    is_guarded     whether a Gaussian process may choose in its place
    """

    sources: tuple[tuple[str, int], ...]
    first_configurations: tuple[RankedConfiguration, ...] = field(metadata=json_key("first"))
    place_of_best: int | None
    feasible_count: int = field(metadata=json_key("of"))
    kendall_tau: float | None = field(metadata=json_key("tau"))
    verdicts: tuple[SlotVerdict, ...]
    is_guarded: bool = field(metadata=json_key("guard"))


def review_prior(search: AnySearch, trials: Sequence[Trial]) -> PriorReview | None:
    """What the search was taught, from its finished trials; None where it asks no prior's
    networks."""
    if not isinstance(search, Search) or search.prior is None or search.method != "ranking":
        return None
    place_by_row = mean_prior_places(search.prior, search.space.unit_cube)
    feasible_rows = np.flatnonzero(search.feasible)
    rows_by_place = feasible_rows[np.argsort(place_by_row[feasible_rows], kind="stable")]
    score_by_row = {
        trial.proposal.row: trial.score
        for trial in latest_trials(trials)
        if trial.score is not None
    }
    first_configurations = [
        RankedConfiguration(place_index + 1, search.space.configuration(row), score_by_row.get(row))
        for place_index, row in enumerate(rows_by_place[:SHOWN_CONFIGURATIONS].tolist())
    ]
    place_of_best = None
    if score_by_row:
        best_row = min(score_by_row, key=lambda row: score_by_row[row])
        place_of_best = int(np.flatnonzero(rows_by_place == best_row)[0]) + 1
    return PriorReview(
        sources=tuple((source.name, source.scored_count) for source in search.prior.sources),
        first_configurations=tuple(first_configurations),
        place_of_best=place_of_best,
        feasible_count=len(rows_by_place),
        kendall_tau=_kendall_tau(place_by_row, score_by_row),
        verdicts=tuple(_verdicts(search, trials)),
        is_guarded=search.ranking.guard,
    )


def _kendall_tau(
    place_by_row: NDArray[np.float64], score_by_row: Mapping[int, float]
) -> float | None:
    """Kendall's τ, to four digits, of the places (M,) of the rows with a score and their scores;
    None if it is not defined, as of fewer than two different scores."""
    from scipy.stats import kendalltau

    if len(set(score_by_row.values())) < 2:
        return None
    tau = kendalltau(place_by_row[list(score_by_row)], list(score_by_row.values())).statistic
    if np.isnan(tau):
        return None
    return float(f"{tau:.4g}")


def _verdicts(search: Search, trials: Sequence[Trial]) -> list[SlotVerdict]:
    """The guard's counts before each finished slot that had seen enough and chose a row."""
    trial_by_slot = {trial.proposal.slot: trial for trial in trials}
    verdicts = []
    for trial in trials:
        if trial.proposal.continued_slot is not None:
            continue
        seen_trials = tuple(
            trial_by_slot[slot] for slot in trial.proposal.seen_slots if slot in trial_by_slot
        )
        guard_verdict = _judge_before(search, seen_trials, trial.proposal.slot)
        if guard_verdict is not None:
            verdicts.append(
                SlotVerdict(
                    trial.proposal.slot,
                    guard_verdict.prior_wrong_pairs,
                    guard_verdict.process_wrong_pairs,
                    guard_verdict.pair_count,
                    process_chose=trial.proposal.step == GUARDED_STEP,
                )
            )
    return verdicts


def _judge_before(search: Search, seen_trials: tuple[Trial, ...], slot: int) -> GuardVerdict | None:
    """The guard's verdict before a slot that had seen these trials; None where it has none."""
    if search.prior is None:
        return None
    view = make_view(search, seen_trials, slot=slot, is_free=search.feasible)
    return judge_prior(search.prior, view)
