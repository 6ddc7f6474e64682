"""The ensemble: members made of the best trials, which score the validation and test slices
once."""

from __future__ import annotations

from dataclasses import dataclass

from fovnet.acts.finished_search import read_finished_search
from fovnet.acts.run import ProgressBar, Run, silent_progress
from fovnet.acts.warm_start import blend_of_members, warm_start_ensemble
from fovnet.decision.assembly import choose_members, guessing_loss, write_ensemble
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.member_weights import Weighing
from fovnet.decision.rule import Rule
from fovnet.decision.scored_slices import ScoredSlices
from fovnet.decision.scores import (
    score_slices,
    score_turned_and_brightened,
    train_orientation,
    weigh_members,
)
from fovnet.evaluate.guards import training_marks
from fovnet.machine.allocation import keep_freed_memory
from fovnet.net.jobs.training_data import frequencies_of_training_rows
from fovnet.records import write_npz


@dataclass(frozen=True)
class Assembly:
    """What the assembly of an ensemble came to.

    member_count            members of the ensemble
    requested_member_count  as configured
    trial_count             trials of the search
    better_trial_count      trials that went to the end and beat guessing
    guessing_loss           the validation loss of guessing, in nats
    weighting               how the members are weighted
    scored_slice_count      slices that the members scored
    """

    member_count: int
    requested_member_count: int
    trial_count: int
    better_trial_count: int
    guessing_loss: float
    weighting: str
    scored_slice_count: int


def assemble_ensemble(run: Run, progress: ProgressBar = silent_progress) -> Assembly:
    """Make the ensemble of a run of the best trials, new in its folder, and let it score the
    validation and test slices."""
    keep_freed_memory()
    settings = run.settings
    results = run.results
    pack = run.training_pack
    ensemble_settings = settings.ensemble
    journal, trials = read_finished_search(results)
    loss_of_guessing = guessing_loss(
        pack.truth[pack.rows_in_split("train")],
        pack.truth[pack.rows_in_split("validation")],
        frequencies_of_training_rows(pack, settings.training.sampling),
    )
    chosen_members = choose_members(
        trials,
        ensemble_settings.members,
        loss_of_guessing,
        journal / "networks",
        ensemble_settings.alone,
    )
    _, warm_start_facts = warm_start_ensemble(settings) or (None, None)
    # if this is killed half-way, no probabilities of other members remain
    results.probabilities.unlink(missing_ok=True)
    write_ensemble(
        results.ensemble,
        chosen_members,
        run.network_vocabulary,
        settings.prepare.slicing,
        settings=ensemble_settings.model_dump(),
        seed=settings.seed,
        subjects=training_marks(pack, warm_start_facts, settings.seed),
        precision=ensemble_settings.precision,
        origin=warm_start_facts,
        blend=blend_of_members(settings, chosen_members),
        inputs=pack.network_inputs,
        journal=journal.name,
    )
    scored, weighing = _score_slices(run, progress)
    completed_scores = [trial.score for trial in trials if trial.outcome.status == "completed"]
    return Assembly(
        member_count=len(chosen_members),
        requested_member_count=ensemble_settings.members,
        trial_count=len(trials),
        better_trial_count=sum(
            score < loss_of_guessing for score in completed_scores if score is not None
        ),
        guessing_loss=loss_of_guessing,
        weighting=weighing.way_name,
        scored_slice_count=len(scored.rows),
    )


def _score_slices(run: Run, progress: ProgressBar) -> tuple[ScoredSlices, Weighing]:
    """What the members of the new ensemble say of the validation and test slices, also written to
    the results folder, and how the members are weighted."""
    settings = run.settings
    results = run.results
    pack = run.pack
    ensemble_settings = settings.ensemble
    with progress("scoring") as advance:
        ensemble = load_ensemble(results.ensemble, settings.training.device, rule=Rule())
        model, scored = score_slices(ensemble, pack, seed=settings.seed, progress=advance)
    scored, weighing = weigh_members(
        results.ensemble,
        model,
        scored,
        pack,
        ensemble_settings.weights,
        settings=ensemble_settings.model_dump(),
        seed=settings.seed,
    )
    with progress("turned over, brightened") as advance:
        scored = score_turned_and_brightened(model, scored, pack, advance)
    with progress("orientation") as advance:
        train_orientation(results.ensemble, pack, seed=settings.seed, progress=advance)
    write_npz(results.probabilities, **scored.to_arrays())
    return scored, weighing
