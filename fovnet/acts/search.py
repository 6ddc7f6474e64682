"""The networks found, in one process; slot by slot, `fovnet slot` does the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fovnet.acts.run import ProgressBar, Run, silent_progress
from fovnet.acts.search_space import search_tree
from fovnet.errors import ConfigError, SearchError
from fovnet.net.jobs.trials import search_networks
from fovnet.records import digest, write_json, write_tsv
from fovnet.search.trial import Trial, latest_trials


def run_search(run: Run, progress: ProgressBar = silent_progress) -> list[Trial]:
    """The trials of the search of a run, new or continued from its journal, recorded as the
    finished one.

    Raises ConfigError "search-jobs" where each slot is to be a job, and SearchError
    "search-without-score".
    """
    settings = run.settings
    if settings.search.jobs:
        raise ConfigError(
            "search-jobs",
            f"{run.config}: search.jobs: true, so that each slot is a job; run the `snakemake` "
            "command, or set search.jobs: false to start a new search with its own journal",
        )
    run.refuse_without_device()
    plan = run.plan
    journal = run.results.journal_folder(plan.fingerprint)
    search = plan.make_search()
    # their places in the pack, on which the journal's name does not depend
    plan.labelled_slices.write(journal)
    with progress("searching") as advance:
        trials = search_networks(
            search,
            plan.training_job(journal),
            journal,
            trials=settings.search.trials,
            stop_below_regret=settings.search.stop_below_regret,
            progress=advance,
        )
    conclude_search(run, journal, trials)
    return trials


def conclude_search(run: Run, journal: Path, trials: list[Trial]) -> None:
    """Records a finished search for the acts after it, and writes trials.tsv.  Raises SearchError
    "search-without-score"."""
    settings = run.settings
    results = run.results
    search_facts = {
        "journal": journal.name,
        "trials": len(trials),
        "training_sha256": digest(settings.training.model_dump(mode="json")),
    }
    write_json(
        results.search / "current.json",
        search_facts,
        settings=settings.search.model_dump(),
        seed=settings.seed,
    )
    write_trials(results.trials, trials, _keys_of_tree(run))
    if all(trial.score is None for trial in latest_trials(trials)):
        first_outcome = trials[0].outcome
        raise SearchError(
            "search-without-score",
            f"{results.trials}: none of {len(trials)} trials ended with a score; the first: "
            f"{first_outcome.message or first_outcome.status}",
        )


def _keys_of_tree(run: Run) -> Sequence[str]:
    """The variables of the space in their order; none of a finite space, whose trials have all."""
    if not run.settings.search.has_tree:
        return ()
    return search_tree(run.settings).keys


def write_trials(path: Path, trials: list[Trial], keys: Sequence[str] = ()) -> Path:
    """The path, a table of one row per slot.

    keys  of a tree's variables, in order: one that no trial has is left out, and what a trial has not
          is blank
    """
    seen_keys = {key for trial in trials for key in trial.proposal.configuration}
    blank_levels = {key: "" for key in keys if key in seen_keys}
    trial_rows = [_trial_row(trial, blank_levels) for trial in trials]
    return write_tsv(path, list(trial_rows[0]), trial_rows)


def _trial_row(trial: Trial, blank_levels: Mapping[str, str]) -> dict[str, Any]:
    """A row of trials.tsv: the axes of the configuration as columns; under a schedule also the slot
    it continues, its bracket and its rung."""
    proposal = trial.proposal
    outcome = trial.outcome
    score_text = ""
    if trial.score is not None:
        score_text = f"{trial.score:.4f}"
    levels: Mapping[str, Any] = proposal.configuration
    if blank_levels:  # with all digits: three decimals of a rate are none
        levels = {key: str(level) for key, level in levels.items()}
    schedule_columns: dict[str, Any] = {}
    if proposal.epochs is not None:
        schedule_columns = {
            "continues": proposal.continued_slot,
            "bracket": proposal.bracket,
            "rung": proposal.rung,
        }
    return {
        "slot": proposal.slot,
        "status": outcome.status,
        "score": score_text,
        **blank_levels,
        **levels,
        **schedule_columns,
        "epochs": len(outcome.validation_loss),
        "seconds": outcome.seconds,
        "predicted_seconds": proposal.predicted_seconds,
        "device": outcome.device,
        "message": outcome.message,
    }
