"""The explanation of a search, from its journal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fovnet.net.cost.layered import layered_costs_of
from fovnet.search.explain.explanation import Explanation, explain
from fovnet.search.jobs.proposals import read_request
from fovnet.search.journal import read_search
from fovnet.search.search import AnySearch
from fovnet.search.slot_files import read_trials
from fovnet.search.trial import Trial


def explain_search(
    journal: Path, trials: Sequence[Trial] | None = None
) -> tuple[AnySearch, Explanation]:
    """The search in a journal, and its explanation from all its trials, or from `trials`, then
    taken as all that were requested unless the search ended early."""
    search = read_search(journal, layered_costs_of)
    finished_trials = read_trials(journal) if trials is None else trials
    request = read_request(journal, len(finished_trials))
    if trials is not None and request.ends_after is None:
        trial_count = search.schedule.full_trainings_of(trial.proposal for trial in finished_trials)
    else:
        trial_count = request.trials
    return search, explain(
        search,
        finished_trials,
        requested_trials=trial_count,
        ends_after=request.ends_after,
        notes=request.notes,
    )
