"""A search slot by slot, an act each, as a cluster does; the trials are those of
`fovnet.acts.search`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fovnet.acts.run import Run
from fovnet.acts.search import conclude_search
from fovnet.net.cost.layered import layered_costs_of
from fovnet.net.jobs.trials import remove_recorded_checkpoints, train_slot
from fovnet.search.jobs import steps
from fovnet.search.search import AnySearch
from fovnet.search.trial import Proposal, Trial


def begin_search(run: Run) -> tuple[AnySearch, Path]:
    """The search, all that is decided before its first slot, and its journal, which is begun.
    Raises as `SearchPlan.make_search` and `fovnet.search.jobs.steps.begin`."""
    plan = run.plan
    journal = run.jobs_journal
    search = plan.make_search()
    steps.begin(search, journal, plan.fingerprint, partial(plan.labelled_slices.write, journal))
    return search, journal


def propose_slot(run: Run, slot: int) -> Proposal | str:
    """What a slot trains, from the slots that it must have seen; or the sentence with which the
    search ends before it."""
    stop_below_regret = run.settings.search.stop_below_regret
    return steps.propose(run.jobs_journal, slot, stop_below_regret, layered_costs_of)


def train_slot_of_run(run: Run, slot: int) -> Trial:
    """The trial of what was proposed for a slot, recorded even if the training fails.  Raises
    SearchError "journal-of-other-slices"."""
    run.refuse_without_device()
    plan = run.plan
    journal = run.jobs_journal
    plan.refuse_other_slices(journal)
    plan.labelled_slices.write(journal)  # their places in the pack may have changed
    return train_slot(plan.training_job(journal), journal, slot)


def gather_trials(run: Run) -> list[Trial]:
    """The trials of a search whose slots are all finished, recorded for the acts after it.

    Raises SearchError "journal-of-other-slices", and as `fovnet.search.jobs.steps.gather` and
    `conclude_search`.
    """
    journal = run.jobs_journal
    run.plan.refuse_other_slices(journal)
    trials = steps.gather(journal, run.settings.search.trials)
    remove_recorded_checkpoints(journal)
    conclude_search(run, journal, trials)
    return trials
