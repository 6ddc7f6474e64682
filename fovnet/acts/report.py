"""The report: one self-contained page, and the same content for programs beside it."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

from fovnet._version import __version__
from fovnet.acts.finished_search import read_finished_search
from fovnet.acts.run import Run
from fovnet.acts.search_explanation import explain_search
from fovnet.decision.folder import FACTS_FILE_NAME, RULE_FILE_NAME, ModelFolder
from fovnet.evaluate.ablation import current_ablation
from fovnet.evaluate.finished_run import collections_of, evaluate_results, manifest_of
from fovnet.evaluate.readers import read_agreement
from fovnet.records import digest
from fovnet.report.content.page import gather_page
from fovnet.report.content.reference import slice_counts
from fovnet.report.content.run_record import RunRecord, abstention_in, by_region_in, members_in
from fovnet.report.pages.facts import write_facts
from fovnet.report.pages.pour import write_report

LIBRARIES_IN_REPORT = ("torch", "monai", "numpy", "scipy", "scikit-learn", "nibabel", "snakemake")
"""Libraries whose versions the report gives."""


def report_run(run: Run) -> Path:
    """The page of a run, with report.json, its tables and the model card beside it.

    Raises as `Run.refuse_other_rule`, `Run.refuse_other_search` and
    `finished_run.evaluate_results`.
    """
    settings = run.settings
    pack = run.pack
    run.refuse_other_rule()
    run.refuse_other_search()
    evaluation, cases = evaluate_results(settings, run.results, pack)
    page_content = gather_page(evaluation, cases, _gather_records(run))
    page_file = write_report(run.results.report, page_content)
    write_facts(
        page_file,
        page_content,
        evaluation,
        settings=settings.model_dump(mode="json"),
        seed=settings.seed,
    )
    return page_file


def _gather_records(run: Run) -> RunRecord:
    """The records of the page besides the evaluation."""
    results = run.results
    folder_by_collection = collections_of(run.settings, results)
    journal, trials = read_finished_search(results)
    model = ModelFolder(results.ensemble)
    member_facts = model.facts["members"]
    mixing_weights = model.rule.member_weights(len(member_facts), results.ensemble / RULE_FILE_NAME)
    agreement_by_collection = {
        collection_name: read_agreement(folder)
        for collection_name, folder in folder_by_collection.items()
    }
    _, explanation = explain_search(journal, trials)
    return RunRecord(
        settings=run.settings,
        manifest=manifest_of(run.pack),
        trials=trials,
        members=members_in(model.facts, mixing_weights.tolist()),
        rule=model.rule,
        part_rules=model.part_rules,
        versions=_software_versions(),
        hashes=_hash_by_source(run),
        labels=slice_counts(run.pack),
        explanation=explanation,
        abstention=abstention_in(model.tuning),
        by_region=by_region_in(model.tuning),
        by_part=by_region_in(model.tuning, "parts"),
        ablation=current_ablation(results),
        readers={
            collection_name: agreement
            for collection_name, agreement in agreement_by_collection.items()
            if agreement
        },
    )


def _software_versions() -> dict[str, str]:
    """The versions of fovnet, Python, the system and LIBRARIES_IN_REPORT, by name."""
    return {
        "fovnet": __version__,
        "Python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        **{name: version(name) for name in LIBRARIES_IN_REPORT},
    }


def _hash_by_source(run: Run) -> dict[str, str]:
    """SHA-256 of the settings, and of the files that the report is made from."""
    results = run.results
    source_files = (
        results.slices / "volumes.json",
        results.ensemble / FACTS_FILE_NAME,
        results.ensemble / RULE_FILE_NAME,
        results.probabilities,
    )
    return {
        "settings, as canonical JSON": digest(run.settings.model_dump(mode="json")),
        **results.checksums(*(path for path in source_files if path.exists())),
    }
