"""The networks found, in one process; slot by slot, `fovnet slot` does the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.acts.run import Bar, Run, silent
from fovnet.errors import ConfigError, SearchError
from fovnet.records import digest, write_json, write_tsv

if TYPE_CHECKING:
    from fovnet.search.trial import Trial


def searched(run: Run, progress: Bar = silent) -> list[Trial]:
    """The trials of the search of a run, new or continued from its journal, recorded as the finished one.

    Raises ConfigError "search-jobs" where each slot is to be a job, and SearchError "search-without-score".
    """
    from fovnet.net.jobs.trials import search_networks

    settings = run.settings
    if settings.search.jobs:
        jobs = f"{run.config}: search.jobs: true, so that each slot is a job"
        raise ConfigError(
            "search-jobs",
            f"{jobs}; run the `snakemake` command, or set search.jobs: false to start a new search with its "
            "own journal",
        )
    run.refuse_without_device()
    plan = run.plan
    journal = run.results.journal(plan.fingerprint)
    search = plan.search()
    # their places in the pack, on which the journal's name does not depend
    plan.data.write(journal)
    with progress("searching") as advance:
        trials = search_networks(
            search,
            plan.job(journal),
            journal,
            trials=settings.search.trials,
            stop_below_regret=settings.search.stop_below_regret,
            progress=advance,
        )
    conclude(run, journal, trials)
    return trials


def conclude(run: Run, journal: Path, trials: list[Trial]) -> None:
    """Records a finished search for the acts after it, and writes trials.tsv.  Raises SearchError
    "search-without-score"."""
    from fovnet.search.trial import latest

    settings, results = run.settings, run.results
    facts = {
        "journal": journal.name,
        "trials": len(trials),
        "training_sha256": digest(settings.training.model_dump(mode="json")),
    }
    write_json(
        results.search / "current.json",
        facts,
        settings=settings.search.model_dump(),
        seed=settings.seed,
    )
    write_trials(results.trials, trials)
    if all(trial.score is None for trial in latest(trials)):
        why = trials[0].outcome.message or trials[0].outcome.status
        raise SearchError(
            "search-without-score",
            f"{results.trials}: none of {len(trials)} trials ended with a score; the first: {why}",
        )


def write_trials(path: Path, trials: list[Trial]) -> Path:
    """The path, a table of one row per slot."""
    rows = [_row(trial) for trial in trials]
    return write_tsv(path, list(rows[0]), rows)


def _row(trial: Trial) -> dict[str, Any]:
    """A row of trials.tsv: the axes of the configuration as columns; under a schedule also the slot it
    continues, its bracket and its rung."""
    made, outcome = trial.proposal, trial.outcome
    places = {
        "continues": "" if made.continues is None else made.continues,
        "bracket": made.bracket,
        "rung": made.rung,
    }
    return {
        "slot": made.slot,
        "status": outcome.status,
        "score": "" if trial.score is None else f"{trial.score:.4f}",
        **made.configuration,
        **({} if made.epochs is None else places),
        "epochs": len(outcome.validation_loss),
        "seconds": outcome.seconds,
        "predicted_seconds": made.predicted_seconds,
        "device": outcome.device,
        "message": outcome.message,
    }
