"""The decision rule: temperature, smoothing and thresholds, chosen on the validation split."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fovnet.acts.run import Run
from fovnet.decision.fitting.part_rules import PartFit, fit_part_rules
from fovnet.decision.fitting.thresholds import fit_thresholds
from fovnet.decision.fitting.tuning import TuningVolumes, fit_heights, fit_rule
from fovnet.decision.folder import ModelFolder, save_rule, seal
from fovnet.decision.judge import Judge
from fovnet.decision.rule import Rule
from fovnet.decision.scored_slices import (
    heights_and_part_truth,
    heights_and_truth,
    labelled_volumes,
    tuning_examples,
)
from fovnet.evaluate.guards import training_marks


@dataclass(frozen=True)
class Tuning:
    """The rule, how its bar of confidence was chosen, and those of statements on regions and on their
    parts (without bars where nothing is said of parts); its slice error on the validation split, and
    its file."""

    rule: Rule
    abstention: Mapping[str, Any]
    statements: Mapping[str, Any]
    part_statements: Mapping[str, Any]
    slice_error: float
    path: Path


def tune_rule(run: Run) -> Tuning:
    """The rule of a run's ensemble, written beside it.  Raises ModelError as
    `Run.refuse_other_ensemble`."""
    results = run.results
    pack = run.pack
    decision_settings = run.settings.decision
    vocabulary = run.vocabulary
    scored_slices = run.scored_slices
    run.refuse_other_ensemble()
    validation_examples = tuning_examples(pack, scored_slices, "validation")
    use_heights = decision_settings.heights != "never"
    rule, candidates = fit_rule(
        validation_examples,
        vocabulary,
        sigmas_mm=decision_settings.sigma_mm,
        thresholds=decision_settings.side_threshold,
        heights=fit_heights(heights_and_truth(pack, "train"), vocabulary) if use_heights else (),
        widths=decision_settings.height_widths,
        method=decision_settings.method,
        heights_for="presence" if decision_settings.heights == "presence" else "all",
    )
    rule = replace(
        rule, weights=scored_slices.weights, min_extent_mm=decision_settings.min_extent_mm
    )
    judge, abstention, statements = fit_thresholds(
        ModelFolder(results.ensemble).judge(rule, vocabulary),
        labelled_volumes(pack, scored_slices, "validation"),
        stated_error=decision_settings.stated_error,
        at_risk=decision_settings.at_risk,
        seed=run.settings.seed,
        statement_error=decision_settings.statement_error,
    )
    tuning_facts: dict[str, Any] = {
        "candidates": candidates,
        "abstention": abstention,
        "statements": statements,
        "subjects": training_marks(pack),
    }
    if run.network_vocabulary.parts:
        part_fit = _fit_part_rules(run, judge)
        tuning_facts["parts"] = part_fit.facts
        tuning_facts["part_rules"] = {
            region: asdict(part_rule) for region, part_rule in part_fit.rule_by_region.items()
        }
    rule_file = save_rule(
        results.ensemble,
        judge.rule,
        tuning_facts,
        settings=decision_settings.model_dump(),
        seed=run.settings.seed,
    )
    seal(results.ensemble)
    slice_error = TuningVolumes(validation_examples, vocabulary).slice_error(judge.rule)
    part_statements = tuning_facts.get("parts", {})
    return Tuning(judge.rule, abstention, statements, part_statements, slice_error, rule_file)


def _fit_part_rules(run: Run, judge: Judge) -> PartFit:
    """The rules for the parts of regions, on the validation split."""
    decision_settings = run.settings.decision
    return fit_part_rules(
        replace(judge, part_rules={}),
        labelled_volumes(run.pack, run.scored_slices, "validation"),
        heights_and_part_truth(run.pack, "train"),
        sigmas_mm=decision_settings.sigma_mm,
        widths=decision_settings.height_widths,
        statement_error=decision_settings.statement_error,
        at_risk=decision_settings.at_risk,
        seed=run.settings.seed,
    )
