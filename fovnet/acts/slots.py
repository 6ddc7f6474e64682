"""A search slot by slot, an act each, as a cluster does; the trials are those of `fovnet.acts.search`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.acts.run import Run
from fovnet.acts.search import conclude

if TYPE_CHECKING:
    from fovnet.search.search import Search
    from fovnet.search.trial import Proposal, Trial


def begun(run: Run) -> tuple[Search, Path]:
    """The search, all that is decided before its first slot, and its journal, which is begun.  Raises as
    `SearchPlan.search` and `fovnet.search.jobs.begin`."""
    from fovnet.search.jobs.steps import begin

    plan, journal = run.plan, run.jobs_journal
    search = plan.search()
    begin(search, journal, plan.fingerprint, partial(plan.data.write, journal))
    return search, journal


def proposed(run: Run, slot: int) -> Proposal | str:
    """What a slot trains, from the slots that it must have seen; or the sentence with which the search ends
    before it."""
    from fovnet.search.jobs.steps import propose

    journal = run.jobs_journal
    return propose(journal, slot, run.settings.search.stop_below_regret)


def trained(run: Run, slot: int) -> Trial:
    """The trial of what was proposed for a slot, recorded even if the training fails.  Raises SearchError
    "journal-of-other-slices"."""
    from fovnet.net.jobs.trials import train_slot

    run.refuse_without_device()
    plan, journal = run.plan, run.jobs_journal
    plan.refuse_other_slices(journal)
    plan.data.write(journal)  # their places in the pack may have changed
    return train_slot(plan.job(journal), journal, slot)


def gathered(run: Run) -> list[Trial]:
    """The trials of a search whose slots are all finished, recorded for the acts after it.

    Raises SearchError "journal-of-other-slices", and as `fovnet.search.jobs.gather` and `conclude`.
    """
    from fovnet.net.jobs.trials import forget_recorded
    from fovnet.search.jobs.steps import gather

    journal = run.jobs_journal
    run.plan.refuse_other_slices(journal)
    trials = gather(journal, run.settings.search.trials)
    forget_recorded(journal)
    conclude(run, journal, trials)
    return trials
