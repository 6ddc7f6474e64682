"""The chapter on the reference standard: what the answers were compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.evaluate.measures import Measure
from fovnet.evaluate.readers import BORDER_DISTANCE, BORDER_NEAR, BORDER_OF_ONE_READER, Agreements
from fovnet.regions import LANDMARKS, Vocabulary
from fovnet.report.content.cells import MeasuredText, ReportTable, Row
from fovnet.report.content.flow import TITLE_BY_SPLIT
from fovnet.report.content.wording import measure_text, unitless_text, whole_number_text
from fovnet.volume.collection.pack import Pack
from fovnet.words import join_names

NOT_READ_TWICE: Mapping[str, Agreements] = MappingProxyType({})
"""The agreements of readers where no collection was read twice."""
NOT_DIVIDED: Mapping[str, Sequence[str]] = MappingProxyType({})
"""The parts of regions where nothing is said of parts."""


@dataclass(frozen=True)
class ReferenceChapter:
    """How labels are defined, the landmark at each border, the labelled slices of each class and
    split, and how far readers agree where a collection was read twice."""

    paragraphs: tuple[str, ...]
    landmarks: ReportTable
    labelled_slices: ReportTable
    readers: ReportTable


def reference_of(
    vocabulary: Vocabulary,
    slice_counts_by_split: Mapping[str, tuple[int, ...]],
    agreements_by_collection: Mapping[str, Agreements] = NOT_READ_TWICE,
    parts_by_region: Mapping[str, Sequence[str]] = NOT_DIVIDED,
) -> ReferenceChapter:
    """The chapter on the reference standard.

    slice_counts_by_split     as `slice_counts` gives them
    agreements_by_collection  how far readers agree, of collections that were read twice
    parts_by_region           of the regions of whose parts something is said
    """
    reading_sentences = map(_two_readings_sentence, agreements_by_collection)
    return ReferenceChapter(
        paragraphs=(
            *reference_paragraphs(vocabulary),
            *_parts_paragraphs(parts_by_region),
            *reading_sentences,
        ),
        landmarks=landmarks_table(vocabulary, parts_by_region),
        labelled_slices=labels_table(slice_counts_by_split, vocabulary),
        readers=readers_table(agreements_by_collection),
    )


def slice_counts(pack: Pack) -> dict[str, tuple[int, ...]]:
    """Numbers of slices of each class, in the order of the pack's classes, by split; a slice of two
    classes counts for both."""
    return {
        split: tuple(np.asarray(pack.truth[pack.rows_in_split(split)]).sum(axis=0).tolist())
        for split in TITLE_BY_SPLIT
    }


def landmarks_table(
    vocabulary: Vocabulary, parts_by_region: Mapping[str, Sequence[str]] = NOT_DIVIDED
) -> ReportTable:
    """The landmark at each border, last those between the parts of regions; borders of a user's own
    vocabulary, whose landmarks are not known, have no row."""
    rows = [
        (f"{lower_region} | {upper_region}", LANDMARKS[lower_region, upper_region])
        for names in (vocabulary.chain, *parts_by_region.values())
        for lower_region, upper_region in pairwise(names)
        if (lower_region, upper_region) in LANDMARKS
    ]
    return ReportTable(("border", "lies at"), rows, name="convention")


def labels_table(
    slice_counts_by_split: Mapping[str, tuple[int, ...]], vocabulary: Vocabulary
) -> ReportTable:
    """Labelled slices of each class by split, from their numbers in the order of the classes; a
    dash for a split without numbers."""
    if not slice_counts_by_split:
        return ReportTable((), (), name="labels")
    no_counts = (None,) * len(vocabulary.classes)
    counts_of_splits = [slice_counts_by_split.get(split, no_counts) for split in TITLE_BY_SPLIT]
    rows = [
        (class_name, *map(whole_number_text, class_counts))
        for class_name, *class_counts in zip(vocabulary.classes, *counts_of_splits, strict=True)
    ]
    return ReportTable(
        ("class", *TITLE_BY_SPLIT.values()),
        rows,
        list(map(vocabulary.colour, vocabulary.classes)),
        name="labels",
    )


def readers_table(agreements_by_collection: Mapping[str, Agreements]) -> ReportTable:
    """Of each pair of readers of each collection how far they agree: in all, on each region, and on
    each border, ends of what is shown included; without columns if there are none."""
    rows: list[Row] = [
        (
            f"{collection}, {first_reader} and {second_reader}: {region or 'all'}",
            *_agreement_cells(measures, region),
        )
        for collection, measures_by_readers in agreements_by_collection.items()
        for (first_reader, second_reader), measures in measures_by_readers.items()
        for region in dict.fromkeys(measure.region for measure in measures)
    ]
    if not rows:
        return ReportTable((), (), name="readers")
    border_titles = (f"borders within {AGREEMENT_MM:.0f} mm", "drawn by one alone", "apart, median")
    return ReportTable(("readers", "slices alike", "kappa", *border_titles), rows, name="readers")


def _agreement_cells(measures: Sequence[Measure], region: str) -> tuple[MeasuredText, ...]:
    """Slices alike, kappa, and what is measured of borders, for one region; "" for all regions."""
    measure_by_name = {measure.name: measure for measure in measures if measure.region == region}
    return (
        measure_text(measure_by_name.get("slices_alike")),
        unitless_text(measure_by_name.get("kappa"), 2),
        *(
            measure_text(measure_by_name.get(measure_name))
            for measure_name in (BORDER_NEAR, BORDER_OF_ONE_READER, BORDER_DISTANCE)
        ),
    )


def _two_readings_sentence(collection: str) -> str:
    """That a collection was read by more than one reader, and what became of differences."""
    return (
        f"Of collection {collection} a part was read by more than one reader, each by itself; "
        "where they differed by more than that, a third reading settled it, or the volume has no "
        "label."
    )


def _parts_paragraphs(parts_by_region: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Which regions are divided into which parts; none where nothing is said of parts."""
    if not parts_by_region:
        return ()
    divisions = join_names(
        f"{region} into {join_names(parts)}" for region, parts in parts_by_region.items()
    )
    return (
        f"A region that is surely shown is divided: {divisions}. What is said of regions is as if it "
        "were not.",
    )


def reference_paragraphs(vocabulary: Vocabulary) -> tuple[str, ...]:
    """How the labels are defined, and what is not known about them."""
    landmarks_sentence = "This vocabulary is custom; its landmarks are not recorded here."
    if landmarks_table(vocabulary).rows:
        landmarks_sentence = (
            "The lines between regions are drawn at bony or air-filled landmarks, which every MR "
            "contrast shows; if organs overlap them, the landmark decides."
        )
    return (
        "The reference is the table regions.tsv of each collection: from which slice to which a "
        "volume shows a region. A slice outside every row shows none. A volume may show a side "
        "region, such as spine, beside the regions that it crosses.",
        landmarks_sentence,
        f"People who draw the same line differ by about {AGREEMENT_MM:.0f} mm: a border within "
        "that distance counts as agreement.",
        "Who labelled each collection, with which tool, how often, and with what agreement among "
        "readers is not recorded in these files; labels of a simulated collection are computed "
        "from the simulated anatomy and have no reader.",
    )
