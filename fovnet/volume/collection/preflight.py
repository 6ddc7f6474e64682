"""Checks of the tables of labelled collections, before any volume is read, for faults that would
stop or spoil a run hours later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise, product
from pathlib import Path
from typing import NamedTuple

from fovnet.regions import NINE, NONE, Vocabulary
from fovnet.volume.collection.split import SPLIT_FRACTIONS, SPLITS, split_subjects
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import Collection
from fovnet.volume.dicom.address import split_address
from fovnet.words import is_or_are, near_spelling, several

MAX_UNNOTED_GAP_MM = 20.0
"""Rows in millimetres may end at the middle of a slice: only a distance above this between two of
them is a gap."""


def find_unlabelled_regions(
    collections: Mapping[str, Collection], vocabulary: Vocabulary
) -> list[str]:
    """The regions that no volume is labelled with, not as parts of a whole either.  That is allowed:
    they are never learned, and predicted only between two others
    (`lies_between_labelled_regions`)."""
    labelled_names = set(count_labelled_volumes(collections))
    return [
        region
        for region, labels in zip(vocabulary.classes, vocabulary.labels_by_class, strict=True)
        if region != NONE and labelled_names.isdisjoint(labels)
    ]


def count_labelled_volumes(collections: Mapping[str, Collection]) -> Counter[str]:
    """How many volumes have a row of each name."""
    return Counter(
        name
        for table in collections.values()
        for rows in table.region_rows_by_volume.values()
        for name in {row.region for row in rows}
    )


def notes_on_labels_of_wholes(
    collections: Mapping[str, Collection], vocabulary: Vocabulary, *, beside_simulated: bool
) -> list[str]:
    """A sentence on each region that labels name although the vocabulary has its parts.

    beside_simulated  whether a run also has simulated people, who are labelled with all parts
    """
    volumes_by_name = count_labelled_volumes(collections)
    sentences = []
    for whole, parts in vocabulary.parts.items():
        if not volumes_by_name[whole]:
            continue
        sentence = (
            f"{several(volumes_by_name[whole], 'volume')} labelled with {whole}: this teaches nothing "
            f"of its parts"
        )
        unlabelled_parts = [part for part in parts if not volumes_by_name[part]]
        if unlabelled_parts and not beside_simulated:
            sentence += (
                f"; no volume is labelled with {', '.join(unlabelled_parts)}: never learned apart"
            )
        sentences.append(sentence)
    return sentences


def lies_between_labelled_regions(
    collections: Mapping[str, Collection], vocabulary: Vocabulary, name: str
) -> bool:
    """Whether a region of the chain lies between two labelled ones, perhaps of different volumes: a
    prediction of both includes it."""
    unlabelled = find_unlabelled_regions(collections, vocabulary)
    labelled_rungs = [
        rung for rung, region in enumerate(vocabulary.chain) if region not in unlabelled
    ]
    return (
        name in vocabulary.chain
        and bool(labelled_rungs)
        and labelled_rungs[0] < vocabulary.chain.index(name) < labelled_rungs[-1]
    )


def find_skipped_regions(
    collections: Mapping[str, Collection], vocabulary: Vocabulary
) -> list[str]:
    """The `find_unlabelled_regions` regions that some volume's labels skip: since the chain has no gaps,
    they are predicted although never learned."""
    unlabelled = find_unlabelled_regions(collections, vocabulary)
    rungs_by_name = vocabulary.rungs_by_label
    skipped_names = set[str]()
    for table in collections.values():
        for label_rows in table.region_rows_by_volume.values():
            rungs = sorted(
                {rung for row in label_rows for rung in rungs_by_name.get(row.region, ())}
            )
            skipped_names |= {
                vocabulary.chain[rung]
                for below, above in pairwise(rungs)
                for rung in range(below + 1, above)
            }
    return [region_name for region_name in unlabelled if region_name in skipped_names]


def notes_on_skipped_regions(
    collections: Mapping[str, Collection], vocabulary: Vocabulary
) -> list[str]:
    """A sentence on the regions that lie between others and are never learned, if there are any, or
    if every row is `none`; else empty."""
    has_rows = any(table.region_rows_by_volume for table in collections.values())
    if (
        has_rows
        and len(find_unlabelled_regions(collections, vocabulary)) == len(vocabulary.classes) - 1
    ):
        return [f"every row of the labels says {NONE}: there is no region to learn; label some"]
    skipped_names = find_skipped_regions(collections, vocabulary)
    if not skipped_names:
        return []
    return [
        f"no volume is labelled with {', '.join(skipped_names)}, which is between regions that one "
        "volume shows: it is never learned, but still predicted wherever these touch; label "
        "it, or set `regions` to a file without it"
    ]


def notes_on_unlearned_regions(
    collections: Mapping[str, Collection],
    vocabulary: Vocabulary,
    *,
    seed: int,
    fractions: Sequence[float] = SPLIT_FRACTIONS,
) -> list[str]:
    """For each split a sentence on the regions that are labelled, but in none of its subjects: not
    learned, tuned for, or evaluated."""
    counts_by_region: dict[str, Counter[str]] = {
        region: Counter() for region in vocabulary.label_names if region != NONE
    }
    for collection, table in collections.items():
        split_by_subject = _predict_splits(table, collection, seed, fractions)
        subject_by_volume = {row.volume_id: row.subject_id for row in table.volume_rows}
        for volume_id, label_rows in table.region_rows_by_volume.items():
            split = split_by_subject[subject_by_volume[volume_id]]
            labelled_names = {row.region for row in label_rows}
            labelled_names |= {
                whole
                for whole, parts in vocabulary.parts.items()
                if not labelled_names.isdisjoint(parts)
            }
            for region in labelled_names & counts_by_region.keys():
                counts_by_region[region][split] += 1
    consequences = {
        "train": "never learned",
        "validation": "nothing is tuned for them",
        "test": "not evaluated",
    }
    sentences = []
    for split, consequence in consequences.items():
        unlearned_regions = [
            region
            for region, split_counts in counts_by_region.items()
            if split_counts and not split_counts[split]
        ]
        if unlearned_regions:
            region_list = ", ".join(unlearned_regions)
            sentences.append(f"no {split} subject is labelled with {region_list}: {consequence}")
    return sentences


class LabelGap(NamedTuple):
    """Slices or millimetres, from first to last, between two regions of a volume's labels."""

    volume_id: str
    region_below: str
    region_above: str
    range_start: float
    range_end: float


def find_gaps(collections: Mapping[str, Collection], vocabulary: Vocabulary) -> list[LabelGap]:
    """Every gap between two regions of the chain: it counts as none, which no decision can give
    there.  In slices, or in millimetres, then only gaps above MAX_UNNOTED_GAP_MM."""
    gaps = []
    for table in collections.values():
        for label_rows in table.region_rows_by_volume.values():
            rows_in_order = [
                row
                for row in label_rows
                if row.region == NONE or row.region in vocabulary.rungs_by_label
            ]
            for lower_row, upper_row in _neighbours_of_rows(rows_in_order):
                if NONE in (lower_row.region, upper_row.region):
                    continue
                gap = _gap_between(lower_row, upper_row)
                if gap is not None:
                    gaps.append(gap)
    return gaps


def _neighbours_of_rows(rows: Sequence[RegionRow]) -> Iterator[tuple[RegionRow, RegionRow]]:
    """Each row but the lowest after the row that reaches highest of those that begin below it: a part
    may lie within its whole."""
    sorted_rows = sorted(rows, key=lambda row: row.range_start)
    highest_row = next(iter(sorted_rows), None)
    for row in sorted_rows[1:]:
        assert highest_row is not None
        yield highest_row, row
        if row.range_end >= highest_row.range_end:
            highest_row = row


def _gap_between(lower_row: RegionRow, upper_row: RegionRow) -> LabelGap | None:
    """The gap between two labels of a volume; None if there is none, or of millimetres one of up to
    MAX_UNNOTED_GAP_MM."""
    if upper_row.in_mm:
        first_between = lower_row.range_end
        last_between = upper_row.range_start
        is_gap = last_between - first_between > MAX_UNNOTED_GAP_MM
    else:
        first_between = lower_row.range_end + 1
        last_between = upper_row.range_start - 1
        is_gap = last_between >= first_between
    if not is_gap:
        return None
    return LabelGap(
        lower_row.volume_id, lower_row.region, upper_row.region, first_between, last_between
    )


def count_labelled_borders(
    collection: Collection, vocabulary: Vocabulary
) -> dict[tuple[str, str], int]:
    """In how many volumes each border, (region below, region above), is labelled: both regions are,
    without a gap between them.  A part that the table names counts as itself."""
    volumes_by_border: Counter[tuple[str, str]] = Counter()
    for label_rows in collection.region_rows_by_volume.values():
        chain_rows = [row for row in label_rows if row.region in vocabulary.rungs_by_label]
        volumes_by_border.update(
            {
                (lower_row.part or lower_row.region, upper_row.part or upper_row.region)
                for lower_row, upper_row in _neighbours_of_rows(chain_rows)
                if _gap_between(lower_row, upper_row) is None
            }
        )
    chains = (vocabulary.chain, vocabulary.whole.chain, NINE.chain)
    borders = dict.fromkeys(border for chain in chains for border in pairwise(chain))
    return {border: volumes_by_border[border] for border in borders if border in volumes_by_border}


def find_unlabelled_borders(
    labelled_borders: Container[tuple[str, str]], vocabulary: Vocabulary
) -> list[tuple[str, str]]:
    """The borders of the chain, feet to head, that are not labelled, nor as those of wholes."""
    return [
        (below, above)
        for (below, *wholes_below), (above, *wholes_above) in pairwise(
            vocabulary.labels_by_class[: len(vocabulary.chain)]
        )
        if not any(
            border in labelled_borders
            for border in product((below, *wholes_below), (above, *wholes_above))
        )
    ]


def find_parts_named(collection: Collection) -> dict[str, list[str]]:
    """The parts, feet to head, that a table names of each region whose parts the vocabulary has not."""
    parts_by_whole: dict[str, set[str]] = {}
    for label_rows in collection.region_rows_by_volume.values():
        for row in label_rows:
            if row.part:
                parts_by_whole.setdefault(row.region, set()).add(row.part)
    return {whole: sorted(parts, key=NINE.chain.index) for whole, parts in parts_by_whole.items()}


def notes_on_missing_files(collections: Mapping[str, Collection]) -> list[str]:
    """A sentence for each collection with missing files; none is opened, so volumes may still be
    refused when they are read."""
    sentences = []
    for collection, table in collections.items():
        missing_paths = [row.path for row in table.volume_rows if is_file_missing(row)]
        if missing_paths:
            verb = is_or_are(len(missing_paths))
            sentences.append(
                f"collection {collection}: {len(missing_paths):,} of its files {verb} missing, the first "
                f"{missing_paths[0]}; add them, or remove their lines from {table.table_path}"
            )
    return sentences


def suggest_nearest_name(path: Path, *, folder: bool = False) -> str:
    """ "did you mean 'data/mine'?" for a missing path whose parent folder contains a similar name
    (with `folder`, that of a folder); else empty."""
    try:
        sibling_names = sorted(
            entry.name for entry in path.parent.iterdir() if not folder or entry.is_dir()
        )
    except OSError:
        return ""
    spelling = near_spelling(path.name, sibling_names)
    if not spelling:
        return ""
    return f"did you mean '{path.with_name(spelling)}'?"


def is_file_missing(row: VolumeRow) -> bool:
    """Whether the file or folder of a volume does not exist."""
    return not split_address(row.path)[0].exists()


def count_people(
    collections: Mapping[str, Collection],
    *,
    seed: int,
    fractions: Sequence[float] = SPLIT_FRACTIONS,
) -> Counter[str]:
    """How many labelled subjects each split will have; there may be fewer, as volumes may be
    refused when they are read."""
    return Counter(
        split
        for collection, table in collections.items()
        for split in _predict_splits(table, collection, seed, fractions).values()
    )


def _predict_splits(
    table: Collection, collection: str, seed: int, fractions: Sequence[float]
) -> Mapping[str, str]:
    """The split of every labelled subject, as `slice_collections` will draw it if no volume is
    refused."""
    labelled_rows = [
        row for row in table.volume_rows if table.region_rows_by_volume.get(row.volume_id)
    ]
    fixed_splits = {row.subject_id: row.split for row in table.volume_rows if row.split}
    subjects = [row.subject_id for row in labelled_rows]
    return split_subjects(subjects, collection, seed, fixed_splits, fractions)


def notes_on_empty_splits(
    collections: Mapping[str, Collection],
    *,
    seed: int,
    fractions: Sequence[float] = SPLIT_FRACTIONS,
) -> list[str]:
    """A sentence on the splits without subjects, if there are any; volumes that are refused when
    they are read may empty another.

    A run without test subjects is trained, but not evaluated.
    """
    people_by_split = count_people(collections, seed=seed, fractions=fractions)
    empty_splits = [split for split in SPLITS if not people_by_split[split]]
    if not empty_splits:
        return []
    counts_phrase = ", ".join(f"{people_by_split[split]} {split}" for split in SPLITS)
    return [
        f"no labelled subject for {' and '.join(empty_splits)}: the {people_by_split.total()} "
        f"there are give {counts_phrase}; label volumes of more people, change prepare.split, or fill a "
        "column split in volumes.tsv"
    ]
