"""`fovnet check`: whether a configuration is valid, and what its collections lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fovnet.acts.pricing import count_fitting, price_tree
from fovnet.acts.search_prior import read_search_prior
from fovnet.acts.search_space import search_space, search_tree, start_configuration
from fovnet.acts.settings import read_settings, refuse_unwritable_results
from fovnet.acts.warm_start import warm_start_ensemble
from fovnet.cli.options import ConfigFile
from fovnet.cli.screen import err, out
from fovnet.config import regions as configured_regions
from fovnet.config.files import parse_as
from fovnet.config.models import Settings
from fovnet.config.node import NodeOptions
from fovnet.config.reading import read_yaml
from fovnet.decision.confidence_bar import fewest_subjects
from fovnet.errors import ConfigError
from fovnet.late import import_late
from fovnet.regions import DEFAULT, NONE, Vocabulary, simulated_chain
from fovnet.volume.collection.preflight import (
    count_labelled_borders,
    count_people,
    find_gaps,
    find_parts_named,
    find_skipped_regions,
    find_unlabelled_borders,
    find_unlabelled_regions,
    lies_between_labelled_regions,
    notes_on_empty_splits,
    notes_on_labels_of_wholes,
    notes_on_missing_files,
    notes_on_skipped_regions,
    notes_on_unlearned_regions,
    suggest_nearest_name,
)
from fovnet.volume.collection.split import compute_split_sizes
from fovnet.volume.collection.tables import Collection, read_collection, refuse_shared_names
from fovnet.words import is_or_are, join_names, several
from fovnet.workflow import lesson_files, prior_files

if TYPE_CHECKING:
    from fovnet.cli import node as node_verbs
else:  # pydicom and scipy, which no run's check needs
    node_verbs = import_late("fovnet.cli.node")

verbs = typer.Typer()


@verbs.command()
def check(config: ConfigFile) -> None:
    """Check a configuration: whether it is valid, what it will do, and what its collections lack; status 3 if
    they lack something."""
    content = read_yaml(config)
    if len(content.keys() & set(NodeOptions.key_names())) > len(
        content.keys() & set(Settings.key_names())
    ):
        node_verbs.check_node(config, parse_as(NodeOptions, content, str(config)))
        return
    settings = read_settings(config)
    refuse_unwritable_results(settings, config)
    vocabulary = configured_regions.vocabulary(settings.regions)
    space_in_words = _tree_in_words(settings) or _space_in_words(settings)
    prior_sentence = _prior_in_words(settings)
    folder_by_collection = {name: Path(folder) for name, folder in settings.collections.items()}
    collection_by_name: dict[str, Collection] = {}
    fault_sentences: list[str] = []
    for name, folder in folder_by_collection.items():
        collection = _collection_if_written(config, name, folder, vocabulary)
        if collection is None:
            fault_sentences.append(
                f"collection {name}: {folder / 'volumes.tsv'} does not exist yet"
            )
        else:
            collection_by_name[name] = collection
    refuse_shared_names(collection_by_name)
    fault_sentences += _collection_faults(settings, collection_by_name, vocabulary)
    fault_sentences += _simulation_faults(settings, vocabulary)
    validity = "valid"
    if fault_sentences:
        validity = "valid, but see below"
    out.print(
        f"{config}: {validity}.  {space_in_words}; classes "
        f"{', '.join(vocabulary.classes)}; results in {settings.results}"
    )
    if warm_start := warm_start_ensemble(settings):
        out.print(_warm_start_in_words(settings, *warm_start))
    if prior_sentence:
        out.print(prior_sentence)
    for name, collection in collection_by_name.items():
        out.print(f"collection {name}: {_collection_counts_in_words(collection)}")
        if borders_sentence := _borders_in_words(collection, vocabulary):
            out.print(f"collection {name}: {borders_sentence}")
    if settings.phantom.subjects:
        out.print(_simulation_in_words(settings, beside_collections=bool(folder_by_collection)))
    for sentence in _sentences_on_label_gaps(settings, collection_by_name, vocabulary):
        out.print(sentence)
    _show_too_few_subjects(settings, collection_by_name)
    for sentence in fault_sentences:
        err.print(sentence)
    if fault_sentences:
        raise typer.Exit(3)


def _space_in_words(settings: Settings) -> str:
    """How many configurations a finite space has, how many of them fit, and where the search starts.
    Raises as `search_space` and `count_fitting`."""
    space = search_space(settings)
    start_row = space.row_of(start_configuration(settings))
    fitting_count = count_fitting(settings)
    limits_in_words = f"{fitting_count:,} within the limits"
    if fitting_count <= settings.search.trials:
        limits_in_words += ", all of which will be tried"
    return f"{len(space):,} configurations, {limits_in_words}, starting at row {start_row:,}"


def _tree_in_words(settings: Settings) -> str:
    """How many variables a tree has, and its start; empty of a finite space.  Raises SearchError as
    `search_tree`."""
    if not settings.search.has_tree:
        return ""
    tree = search_tree(settings)
    start = tree.configuration(tree.start_point)
    prices = price_tree(settings)
    verdict = "fits"
    if prices.start_fault is not None:
        verdict = f"does not fit ({prices.start_fault.sentence})"
    return (
        f"{tree.size_in_words}; start: {len(start)} active, {prices.start_cost.weight_count:,.0f} weights, "
        f"{verdict}; {prices.fitting_share:.2f} of {prices.sample_count:,} draws fit"
    )


def _collection_faults(
    settings: Settings, collections: Mapping[str, Collection], vocabulary: Vocabulary
) -> list[str]:
    """A sentence for each thing that the collections lack: files, people in a split, labels."""
    fault_sentences = notes_on_missing_files(collections)
    # simulated subjects fill every split, with labels of every region
    if collections and not settings.phantom.subjects:
        fault_sentences += notes_on_empty_splits(
            collections, seed=settings.seed, fractions=settings.prepare.split
        )
        fault_sentences += notes_on_skipped_regions(collections, vocabulary)
    return fault_sentences


def _simulation_faults(settings: Settings, vocabulary: Vocabulary) -> list[str]:
    """A sentence for each thing that the simulated people lack, if there are any: a split, a name
    for their labels."""
    simulated_count = settings.phantom.subjects
    if not simulated_count:
        return []
    fault_sentences = []
    if 0 in compute_split_sizes(simulated_count, fractions=settings.prepare.split):
        fault_sentences.append(
            f"phantom.subjects: {simulated_count} leave a split empty; give at least 8"
        )
    simulated_regions = (*simulated_chain(vocabulary), *DEFAULT.side_regions)
    if missing_regions := [
        region for region in simulated_regions if region not in vocabulary.classes
    ]:
        fault_sentences.append(
            f"phantom.subjects: simulated people are labelled {', '.join(missing_regions)} too, which "
            f"{settings.regions} does not have; subjects: 0 leaves them out"
        )
    return fault_sentences


def _sentences_on_label_gaps(
    settings: Settings, collections: Mapping[str, Collection], vocabulary: Vocabulary
) -> Iterator[str]:
    """A sentence on each gap in the labels: regions without any, or none in a split, and missing
    rows between two regions, perhaps typing errors."""
    # simulated subjects fill every split, with labels of every region
    if collections and not settings.phantom.subjects:
        inner_regions: list[str] = []
        outer_regions: list[str] = []
        for region in find_unlabelled_regions(collections, vocabulary):
            if region in find_skipped_regions(collections, vocabulary):
                continue
            if lies_between_labelled_regions(collections, vocabulary, region):
                inner_regions.append(region)
            else:
                outer_regions.append(region)
        if outer_regions:
            yield (
                f"no volume is labelled with {', '.join(outer_regions)}: it is never learned and never predicted"
            )
        if inner_regions:
            yield (
                f"no volume is labelled with {', '.join(inner_regions)}: it is never learned, but still predicted, "
                "for about one slice, in a volume that shows the regions below and above it"
            )
        yield from notes_on_unlearned_regions(
            collections, vocabulary, seed=settings.seed, fractions=settings.prepare.split
        )
    yield from notes_on_labels_of_wholes(
        collections, vocabulary, beside_simulated=bool(settings.phantom.subjects)
    )
    if label_gaps := find_gaps(collections, vocabulary):
        volume_id, below, above, first, last = label_gaps[0]
        yield (
            f"{several(len(label_gaps), 'stretch', 'stretches')} without a row between two regions, the first "
            f"{first:g} to {last:g} in {volume_id}, between {below} and {above}: these count as none, which "
            "is never decided between regions; is a row missing?"
        )


def _show_too_few_subjects(settings: Settings, collections: Mapping[str, Collection]) -> None:
    """Prints a warning if the validation split has too few subjects to guarantee the stated error
    at all."""
    fractions = settings.prepare.split
    stated_error = settings.decision.stated_error
    subject_count = count_people(collections, seed=settings.seed, fractions=fractions)["validation"]
    if settings.phantom.subjects:
        subject_count += compute_split_sizes(settings.phantom.subjects, fractions=fractions)[1]
    needed_count = fewest_subjects(stated_error, settings.decision.at_risk)
    if 0 < subject_count < needed_count:
        out.print(
            f"{several(subject_count, 'validation subject')}: too few to promise that at most "
            f"{100 * stated_error:.3g} % of the slices are wrong in sure answers ({needed_count} are needed); "
            "the bar will only keep the error on these subjects within that"
        )


def _warm_start_in_words(
    settings: Settings, folder: Path, ensemble_facts: Mapping[str, Any]
) -> str:
    """A sentence on the ensemble whose networks are trained further, with both slice spacings if
    they differ."""
    trained_mm = ensemble_facts["prepare"]["target_spacing_mm"]
    configured_mm = settings.prepare.target_spacing_mm
    sentence = f"{len(ensemble_facts['members'])} networks of {folder} are trained further"
    if trained_mm == configured_mm:
        return sentence
    return (
        f"{sentence}; they know slices {trained_mm:g} mm apart, here {configured_mm:g} mm: "
        f"prepare.target_spacing_mm: {trained_mm:g} matches their training"
    )


def _prior_in_words(settings: Settings) -> str:
    """A sentence on the earlier searches that this one begins with; empty without.  Raises
    ConfigError as `prior_files` and `lesson_files`, SearchError as `read_prior`."""
    source_files = prior_files(settings)
    files_to_learn_from = lesson_files(settings)
    trained_prior = None
    if source_files and Path(source_files[0]).exists():
        trained_prior = read_search_prior(settings, search_space(settings))
    if trained_prior is not None:
        sources_in_words = ", ".join(
            f"{source.name} ({several(source.scored_count, 'configuration')})"
            for source in trained_prior.sources
        )
        return f"the search begins with a prior from earlier searches, {source_files[0]}: {sources_in_words}"
    if files_to_learn_from:
        searches_in_words = ", ".join(settings.search.learn_from)
        return f"search.learn_from: `fovnet search learn` will learn from {searches_in_words}"
    return ""


def _collection_if_written(
    config: Path, name: str, folder: Path, vocabulary: Vocabulary
) -> Collection | None:
    """A collection's tables; None if there are none yet.  Raises CollectionError with every fault
    in them, ConfigError for a folder that does not exist."""
    if not folder.exists():
        remedy = suggest_nearest_name(folder, folder=True)
        remedy = remedy or f"name the folder of your collection in {config}"
        raise ConfigError(
            "collection-missing",
            f"{config}: collections.{name}: {folder}: no such folder; {remedy}",
        )
    if folder.is_dir() and not (folder / "volumes.tsv").exists():
        return None
    return read_collection(folder, vocabulary)


def _simulation_in_words(settings: Settings, *, beside_collections: bool) -> str:
    """How many subjects a run simulates; beside collections also that it trains on both, and the
    setting that prevents this."""
    subjects_in_words = several(settings.phantom.subjects, "simulated subject")
    sentence = f"phantom: {subjects_in_words}, {settings.phantom.volumes_per_subject} volumes each"
    if not beside_collections:
        return sentence
    return f"{sentence}, which are trained on together with the collections; phantom.subjects: 0 leaves them out"


def _borders_in_words(collection: Collection, vocabulary: Vocabulary) -> str:
    """Which borders the labels of a collection show, where the vocabulary has parts of a region, or
    the table names some; "" otherwise."""
    parts_by_whole = find_parts_named(collection)
    if not parts_by_whole and not vocabulary.parts:
        return ""
    volumes_by_border = count_labelled_borders(collection, vocabulary)
    borders_in_words = [
        f"{below} | {above} in {several(volume_count, 'volume')}"
        for (below, above), volume_count in volumes_by_border.items()
    ]
    sentences = [f"borders labelled: {', '.join(borders_in_words) or NONE}"]
    unlabelled_borders = find_unlabelled_borders(volumes_by_border, vocabulary)
    if unlabelled_borders and vocabulary.parts:
        sentences.append(f"not labelled: {', '.join(map(' | '.join, unlabelled_borders))}")
    sentences += [
        f"{join_names(parts)} {is_or_are(len(parts))} read as {whole}, which `regions: nine` tells apart"
        for whole, parts in parts_by_whole.items()
    ]
    return "; ".join(sentences)


def _collection_counts_in_words(collection: Collection) -> str:
    """ "12 volumes of 4 subjects, 10 labelled" of a collection."""
    subject_ids = {row.subject_id for row in collection.volume_rows}
    return (
        f"{several(len(collection.volume_rows), 'volume')} of {several(len(subject_ids), 'subject')}, "
        f"{len(collection.region_rows_by_volume):,} labelled"
    )
