"""The evaluation of a run, from its results folder."""

from __future__ import annotations

from pathlib import Path

from fovnet.config.models import Settings
from fovnet.config.regions import vocabulary
from fovnet.decision.folder import FACTS_FILE_NAME, RULE_FILE_NAME, ModelFolder
from fovnet.decision.made_from import refuse_other_decisions
from fovnet.errors import ConfigError
from fovnet.evaluate.cases import Case, ListedVolume
from fovnet.evaluate.evaluation import Evaluation, evaluate
from fovnet.evaluate.guards import refuse_changed_labels, refuse_learned_subjects
from fovnet.evaluate.reading import attributes_of, read_cases
from fovnet.results import Results
from fovnet.volume.collection.identity import KEY_FILE_NAME, read_identifiers
from fovnet.volume.collection.pack import Pack


def evaluate_results(
    settings: Settings, results: Results, pack: Pack
) -> tuple[Evaluation, list[Case]]:
    """The evaluation of the test split, and its cases.

    Raises where the split holds subjects used in training or tuning, labels have changed, decisions
    are by another ensemble or rule, or subjects are named otherwise than when the slices were cut.
    """
    _refuse_other_names(settings, results, pack)
    model = ModelFolder(results.ensemble)
    cases = read_cases(pack, results.decisions, model.rule.temperature)
    facts_by_file = {
        str(model.path / FACTS_FILE_NAME): model.facts,
        str(model.path / RULE_FILE_NAME): model.tuning,
    }
    refuse_learned_subjects(cases, facts_by_file)
    refuse_other_decisions(results)
    network_vocabulary = vocabulary(settings.regions)
    refuse_changed_labels(pack, collections_of(settings, results), network_vocabulary)
    evaluation = evaluate(
        cases,
        network_vocabulary.whole,
        bootstrap=settings.evaluate.bootstrap,
        seed=settings.seed,
        manifest=manifest_of(pack),
        stated_error=settings.decision.stated_error,
        network_vocabulary=network_vocabulary,
    )
    return evaluation, cases


def _refuse_other_names(settings: Settings, results: Results, pack: Pack) -> None:
    """Raise unless KEY_FILE_NAME and `identifiers` give the volumes the names that they have in the
    pack: a report must not show names that its user believes replaced.  Raises ConfigError
    "identifiers-changed"."""
    identifiers = read_identifiers(settings.identifiers, results.folder)
    if any(
        record.shown_id and record.shown_id != identifiers.written_id(record.volume_id)
        for record in pack.records
    ):
        raise ConfigError(
            "identifiers-changed",
            f"{results.slices}: its volumes have other names than {KEY_FILE_NAME} and "
            "`identifiers` give now; run the run's command again (snakemake), which renames them "
            "and trains nothing",
        )


def collections_of(settings: Settings, results: Results) -> dict[str, Path]:
    """The folders of all collections, the simulated one included."""
    folder_by_collection = {name: Path(folder) for name, folder in settings.collections.items()}
    if settings.phantom.subjects:
        folder_by_collection["phantom"] = results.phantom
    return folder_by_collection


def manifest_of(pack: Pack) -> list[ListedVolume]:
    """Every volume of the collections, with its attributes as in subgroups."""
    return [
        ListedVolume(
            volume_id=record.name_in_reports,
            subject_id=record.subject,
            collection=record.collection,
            split=record.split,
            is_labelled=record.is_labelled,
            status=record.status,
            slices=record.slice_count,
            code=record.code,
            message=record.message_in_reports,
            attributes=attributes_of(record),
            is_hashed=record.name_in_reports != record.volume_id,
        )
        for record in pack.records
    ]
