"""The ensemble: members made of the best trials, which score the validation and test slices once."""

from __future__ import annotations

from dataclasses import dataclass

from fovnet.acts.run import Bar, Run, silent
from fovnet.net.jobs.run import finished_search
from fovnet.net.jobs.training_data import row_frequencies
from fovnet.net.training.warm_start import warm_start_blend, warm_start_ensemble


@dataclass(frozen=True)
class Assembled:
    """How many members there are, of how many wanted; of how many trials so many went to the end and beat
    guessing (its loss); how the members are weighted; how many slices they scored."""

    members: int
    wanted: int
    trials: int
    better: int
    guess: float
    weights: str
    slices: int


def assembled(run: Run, progress: Bar = silent) -> Assembled:
    """The ensemble of a run, new in its folder."""
    from fovnet.decision.assembly import assemble, choose, guessing_loss
    from fovnet.decision.ensemble import load
    from fovnet.decision.rule import Rule
    from fovnet.decision.scores import (
        score,
        train_orientation,
        weigh_members,
        with_turned_and_brightened,
    )
    from fovnet.evaluate.guards import training_marks
    from fovnet.machine.allocation import keep_freed_memory
    from fovnet.records import write_npz

    keep_freed_memory()
    settings, results, pack, options = run.settings, run.results, run.pack, run.settings.ensemble
    journal, trials = finished_search(results)
    often = row_frequencies(settings, pack)
    guess = guessing_loss(
        pack.truth[pack.rows("train")], pack.truth[pack.rows("validation")], often
    )
    members = choose(trials, options.members, guess, journal / "networks", options.alone)
    _, begun = warm_start_ensemble(settings) or (None, None)
    # if this is killed half-way, no probabilities of other members remain
    results.probabilities.unlink(missing_ok=True)
    assemble(
        results.ensemble,
        members,
        run.vocabulary,
        settings.prepare.slicing,
        settings=options.model_dump(),
        seed=settings.seed,
        subjects=training_marks(pack, begun, settings.seed),
        precision=options.precision,
        origin=begun,
        blend=warm_start_blend(settings, members),
        inputs=pack.inputs,
        journal=journal.name,
    )
    with progress("scoring") as advance:
        loaded = load(results.ensemble, settings.training.device, rule=Rule())
        model, scored = score(loaded, pack, seed=settings.seed, progress=advance)
    scored, found = weigh_members(
        results.ensemble,
        model,
        scored,
        pack,
        options.weights,
        settings=options.model_dump(),
        seed=settings.seed,
    )
    with progress("turned over, brightened") as advance:
        scored = with_turned_and_brightened(model, scored, pack, advance)
    with progress("orientation") as advance:
        train_orientation(results.ensemble, pack, seed=settings.seed, progress=advance)
    write_npz(results.probabilities, **scored.arrays())
    ended = [one for one in trials if one.outcome.status == "completed" and one.score is not None]
    better = sum(one.score < guess for one in ended if one.score is not None)
    return Assembled(
        len(members), options.members, len(trials), better, guess, found.way, len(scored.rows)
    )
