"""The report of a run, from its results folder."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet._version import __version__
from fovnet.evaluate import finished_run
from fovnet.net.run import explain_search, finished_search, run_vocabulary

if TYPE_CHECKING:
    from fovnet.config import Settings
    from fovnet.results import Results
    from fovnet.search.trial import Trial
    from fovnet.volume.pack import Pack


def write(settings: Settings, results: Results, pack: Pack) -> None:
    """Writes the report page, its JSON and its tables, from the results folder."""
    from importlib.metadata import version as installed

    from fovnet.decision.ensemble import RULE, facts_of, read_rule
    from fovnet.evaluate.ablation import current_ablation
    from fovnet.records import digest
    from fovnet.report.content.gather import gather
    from fovnet.report.content.reference import labelled_slices
    from fovnet.report.content.run_record import Pictured, RunRecord
    from fovnet.report.content.wording import usual_heights
    from fovnet.report.pages.facts import write_facts
    from fovnet.report.pages.pour import write_report

    evaluation, cases = finished_run.evaluation_of(settings, results, pack)
    manifest, (journal, trials) = finished_run.manifest_of(pack), finished_search(results)
    _, explanation = explain_search(journal, trials)
    rule, options, members = read_rule(results.ensemble), settings.report, facts_of(results.ensemble)["members"]
    mixing_weights = rule.member_weights(len(members), results.ensemble / RULE)
    made = (results.slices / "volumes.json", results.ensemble / "ensemble.json", results.ensemble / "decision.json", results.probabilities)
    record = RunRecord(
        manifest=manifest,
        trials=_trainings(trials),
        members=[{**member, "mixing_weight": float(weight)} for member, weight in zip(members, mixing_weights, strict=True)],
        decision={**vars(rule), "heights": usual_heights(rule.heights, run_vocabulary(settings).chain)},
        configuration=settings.model_dump(mode="json"),
        seed=settings.seed,
        versions={
            "fovnet": __version__, "Python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}",
            **{name: installed(name) for name in ("torch", "monai", "numpy", "scipy", "scikit-learn", "nibabel", "snakemake")},
        },
        hashes={
            "settings, as canonical JSON": digest(settings.model_dump(mode="json")),
            **results.checksums(*(path for path in made if path.exists())),
        },
        labels=labelled_slices(pack),
        explanation=explanation,
        abstention=_facts_in(results.ensemble / "decision.json").get("abstention") or {},
        ablation=current_ablation(results) or {},
    )
    page = gather(evaluation, cases, record, options.title, Pictured(options.volumes_shown, options.gallery, options.faces))
    write_report(results.report, page)
    write_facts(results.report, page, evaluation, settings=settings.model_dump(mode="json"), seed=settings.seed)


def _facts_in(path: Path) -> dict[str, Any]:
    """The facts of a JSON file; {} if there is no such file."""
    from fovnet.records import read_json

    return read_json(path) if path.exists() else {}


def _trainings(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """The facts of every training: the last of its slots, with the seconds and the peak memory of all."""
    from fovnet.search.trial import latest

    return [
        _training_facts(last, [trial for trial in trials if trial.proposal.row == last.proposal.row]) for last in latest(trials)
    ]


def _training_facts(trial: Trial, slots: Sequence[Trial]) -> dict[str, Any]:
    peaks = [one.outcome.peak_memory_bytes for one in slots if one.outcome.peak_memory_bytes is not None]
    return {
        "start": slots[0].proposal.slot == 0,
        "slot": trial.proposal.slot, "configuration": dict(trial.proposal.configuration), "status": trial.outcome.status,
        "score": trial.score, "seconds": sum(one.outcome.seconds for one in slots),
        "predicted_seconds": sum(one.proposal.predicted_seconds for one in slots),
        "epochs": len(trial.outcome.validation_loss),
        "peak_memory_bytes": max(peaks, default=None), "message": trial.outcome.message, "device": trial.outcome.device,
    }
