"""The decision rule: temperature, smoothing and thresholds, chosen on the validation split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.acts.run import Run

if TYPE_CHECKING:
    from fovnet.decision.rule import Rule


@dataclass(frozen=True)
class Tuned:
    """The rule, how its bar of confidence was chosen, and those of statements on regions; its slice error on
    the validation split, and its file."""

    rule: Rule
    abstention: Mapping[str, Any]
    statements: Mapping[str, Any]
    slice_error: float
    path: Path


def tuned(run: Run) -> Tuned:
    """The rule of a run's ensemble, written beside it.  Raises ModelError as `Run.refuse_other_ensemble`."""
    from fovnet.decision.fitting.thresholds import settle
    from fovnet.decision.fitting.tuning import TuningVolumes, tune, usual_heights
    from fovnet.decision.folder import ModelFolder, save_rule, seal
    from fovnet.decision.scored_slices import examples, heights_and_truth, shown_volumes
    from fovnet.evaluate.guards import training_marks

    results, pack, options, vocabulary = (
        run.results,
        run.pack,
        run.settings.decision,
        run.vocabulary,
    )
    scored = run.scored
    run.refuse_other_ensemble()
    volumes = examples(pack, scored, "validation")
    rule, candidates = tune(
        volumes,
        vocabulary,
        sigmas_mm=options.sigma_mm,
        thresholds=options.side_threshold,
        heights=usual_heights(heights_and_truth(pack, "train"), vocabulary)
        if options.heights != "never"
        else (),
        widths=options.height_widths,
        method=options.method,
        heights_for="presence" if options.heights == "presence" else "all",
    )
    rule = replace(rule, weights=scored.weights, min_extent_mm=options.min_extent_mm)
    judge, abstention, by_region = settle(
        ModelFolder(results.ensemble).judge(rule, vocabulary),
        shown_volumes(pack, scored, "validation"),
        stated_error=options.stated_error,
        at_risk=options.at_risk,
        seed=run.settings.seed,
        statement_error=options.statement_error,
    )
    facts = {
        "candidates": candidates,
        "abstention": abstention,
        "statements": by_region,
        "subjects": training_marks(pack),
    }
    path = save_rule(
        results.ensemble, judge.rule, facts, settings=options.model_dump(), seed=run.settings.seed
    )
    seal(results.ensemble)
    wrong = TuningVolumes(volumes, vocabulary).slice_error(judge.rule)
    return Tuned(judge.rule, abstention, by_region, wrong, path)
