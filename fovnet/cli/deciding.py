"""The ensemble, its decision rule, and its decisions on the test split."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from fovnet.cli.load_run import refuse_other_ensemble, refuse_other_rule, scored_of, settings_of
from fovnet.cli.options import ConfigFile
from fovnet.cli.screen import err, out, progress_bar
from fovnet.net.run import finished_search, open_run, run_vocabulary
from fovnet.net.training_job import row_frequencies
from fovnet.net.warm_start import warm_start_blend, warm_start_ensemble
from fovnet.words import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fovnet.search.trial import Trial

verbs = typer.Typer()


@verbs.command()
def ensemble(config: ConfigFile) -> None:
    """Make members of the best trials, and let them score the validation and test slices once.

    The network that checks in which direction slices run needs 50 volumes of
    the training split and 99 of the validation split; else there is no check.
    """
    from fovnet.decision.ensemble import assemble, choose, guessing_loss, load
    from fovnet.decision.rule import Rule
    from fovnet.decision.scoring import oriented, score, weighed, with_turned_and_brightened
    from fovnet.evaluate.guards import learned_from
    from fovnet.machine.allocation import keep_freed_memory
    from fovnet.records import write_npz

    keep_freed_memory()
    settings = settings_of(config)
    results, pack = open_run(settings)
    journal, trials = finished_search(results)
    often = row_frequencies(settings, pack)
    guess = guessing_loss(pack.truth[pack.rows("train")], pack.truth[pack.rows("validation")], often)
    options = settings.ensemble
    members = choose(trials, options.members, guess, journal / "networks", options.alone)
    _, begun = warm_start_ensemble(settings) or (None, None)
    results.probabilities.unlink(missing_ok=True)           # if this is killed half-way, no probabilities of other members remain
    assemble(
        results.ensemble, members, run_vocabulary(settings), settings.prepare.slicing, settings=options.model_dump(),
        seed=settings.seed, subjects=learned_from(pack, begun, settings.seed), precision=options.precision, begun=begun,
        mixed=warm_start_blend(settings, members), inputs=pack.inputs, journal=journal.name,
    )
    with progress_bar("scoring") as advance:
        loaded = load(results.ensemble, settings.training.device, rule=Rule())
        model, scored = score(loaded, pack, seed=settings.seed, progress=advance)
    scored, found = weighed(
        results.ensemble, model, scored, pack, options.weights, settings=options.model_dump(), seed=settings.seed
    )
    with progress_bar("turned over, brightened") as advance:
        scored = with_turned_and_brightened(model, scored, pack, advance)
    with progress_bar("orientation") as advance:
        oriented(results.ensemble, pack, seed=settings.seed, progress=advance)
    write_npz(results.probabilities, **scored.arrays())
    summary = f"{_counted(len(members), options.members, trials, guess)}, weights {found.way}, {len(scored.rows):,} slices scored"
    out.print(f"{summary}: {results.ensemble}")


def _counted(members: int, wanted: int, trials: Sequence[Trial], guess: float) -> str:
    """The number of members and, if it is smaller than requested, the reason."""
    if members == wanted:
        return several(members, "member")
    better = sum(trial.outcome.status == "completed" and trial.score is not None and trial.score < guess for trial in trials)
    why = f"{better} of {len(trials)} trials went to the end and beat guessing (loss {guess:.2f})"
    return f"{several(members, 'member')} of {wanted} wanted, for {why}"


@verbs.command()
def tune(config: ConfigFile) -> None:
    """Choose temperature, smoothing and thresholds of the decision on the validation split, and when to abstain."""
    from dataclasses import replace

    from fovnet.decision import novelty, orientation
    from fovnet.decision.ensemble import save_rule, seal
    from fovnet.decision.judging import Judge
    from fovnet.decision.packed import examples, shown, shown_volumes
    from fovnet.decision.settling import settle
    from fovnet.decision.tuning import slice_error, usual_heights
    from fovnet.decision.tuning import tune as tuned
    from fovnet.evaluate.guards import learned_from

    settings = settings_of(config)
    results, pack = open_run(settings)
    options, scored = settings.decision, scored_of(results)
    refuse_other_ensemble(config, results, settings)
    volumes = examples(pack, scored, "validation")
    rule, candidates = tuned(
        volumes, run_vocabulary(settings), sigmas_mm=options.sigma_mm, thresholds=options.protocol_threshold,
        heights=usual_heights(shown(pack, "train"), run_vocabulary(settings)) if options.heights != "never" else (),
        widths=options.height_widths, method=options.method, heights_for="presence" if options.heights == "presence" else "all",
    )
    judge, abstention = settle(
        Judge(run_vocabulary(settings), replace(rule, weights=scored.weights), novelty.load(results.ensemble)),
        shown_volumes(pack, scored, "validation", orientation.load(results.ensemble)),
        stated_error=options.stated_error, at_risk=options.at_risk, seed=settings.seed,
    )
    facts = {"candidates": candidates, "abstention": abstention, "subjects": learned_from(pack)}
    path = save_rule(results.ensemble, judge.rule, facts, settings=options.model_dump(), seed=settings.seed)
    seal(results.ensemble)
    error = slice_error(volumes, run_vocabulary(settings), judge.rule)
    chosen = f"smoothing {rule.sigma_mm:g} mm, temperature {rule.temperature:.2f}, {'with' if rule.heights else 'without'} usual heights"
    wrong = f"at most {100 * options.stated_error:.3g}% of their slices wrong on average over people"
    summary = f"answers from confidence {judge.rule.min_confidence:.2f} on, {wrong}"
    seen = f"{abstention['subjects']} validation subjects"
    held = f"shown by {seen}" if abstention["promised"] else f"{seen} were too few, or erred too much, to promise it for others"
    out.print(f"{summary}: {held}")
    out.print(f"{chosen}; {error:.1%} slice error on the validation split: {path}")


@verbs.command()
def decide(config: ConfigFile) -> None:
    """Decide on the volumes of the test split: spans.tsv and a JSON a volume."""
    from fovnet.decision import novelty, orientation
    from fovnet.decision.answer import COLUMNS, TABLE, facts, table_rows
    from fovnet.decision.decided import begin_decisions, conclude_decisions
    from fovnet.decision.ensemble import read_rule
    from fovnet.decision.judging import Judge
    from fovnet.decision.packed import decisions
    from fovnet.records import write_json, write_tsv

    settings = settings_of(config)
    results, pack = open_run(settings)
    refuse_other_rule(config, results, settings)
    rows = []
    known = novelty.load(results.ensemble), orientation.load(results.ensemble)
    judge = Judge(run_vocabulary(settings), read_rule(results.ensemble), *known)
    begin_decisions(results)
    for given, stack, raw in decisions(pack, scored_of(results), "test", judge):
        rows += table_rows(given, stack)
        write_json(
            results.decisions / f"{given.volume_id}.json", facts(given, stack, raw, run_vocabulary(settings)),
            settings=settings.decision.model_dump(), seed=settings.seed,
        )
    table, decided = write_tsv(results.decisions / TABLE, COLUMNS, rows), {row["volume_id"] for row in rows}
    conclude_decisions(results, decided, settings=settings.decision.model_dump(), seed=settings.seed)
    refused = [row for row in rows if row["status"] == "refused"]
    for row in refused:
        err.print(f"refused {row['volume_id']}: {row['message']} [{row['code']}]")
    out.print(f"{several(len(decided) - len(refused), 'volume')} decided: {table}")
    if refused:
        raise typer.Exit(3)
