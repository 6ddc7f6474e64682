"""Checks of the tables of labelled collections, before any volume is read, for faults that would stop or
spoil a run hours later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from fovnet.regions import NONE, Vocabulary
from fovnet.volume.collection.split import FRACTIONS, SPLITS, split_subjects
from fovnet.volume.collection.tables import Collection, VolumeRow
from fovnet.volume.dicom.address import split_address

THICKEST_MM = 20.0
"""Rows in millimetres may end at the middle of a slice: only a distance above this between two of them is a
gap."""


def unlabelled(collections: Mapping[str, Collection], vocabulary: Vocabulary) -> list[str]:
    """The regions that no volume is labelled with.  That is allowed: they are never learned, and predicted
    only between two others (`is_inner`)."""
    known = {
        row.region
        for table in collections.values()
        for rows in table.regions.values()
        for row in rows
    }
    return [region for region in vocabulary.classes[:-1] if region not in known]


def is_inner(collections: Mapping[str, Collection], vocabulary: Vocabulary, name: str) -> bool:
    """Whether a region of the chain lies between two labelled ones, perhaps of different volumes: a
    prediction of both includes it."""
    away = unlabelled(collections, vocabulary)
    known = [rung for rung, region in enumerate(vocabulary.chain) if region not in away]
    return (
        name in vocabulary.chain
        and bool(known)
        and known[0] < vocabulary.chain.index(name) < known[-1]
    )


def between(collections: Mapping[str, Collection], vocabulary: Vocabulary) -> list[str]:
    """The `unlabelled` regions that some volume's labels skip: since the chain has no gaps, they are
    predicted although never learned."""
    missing = unlabelled(collections, vocabulary)
    rung_of = {name: rung for rung, name in enumerate(vocabulary.chain)}
    skipped = set[str]()
    for table in collections.values():
        for rows in table.regions.values():
            rungs = sorted({rung_of[row.region] for row in rows if row.region in rung_of})
            skipped |= {
                vocabulary.chain[rung]
                for low, high in pairwise(rungs)
                for rung in range(low + 1, high)
            }
    return [name for name in missing if name in skipped]


def between_labelled(collections: Mapping[str, Collection], vocabulary: Vocabulary) -> list[str]:
    """A sentence on the regions `between` others, if there are any, or if every row is `none`; else empty."""
    names, rows = (
        between(collections, vocabulary),
        any(table.regions for table in collections.values()),
    )
    if rows and len(unlabelled(collections, vocabulary)) == len(vocabulary.classes) - 1:
        return [f"every row of the labels says {NONE}: there is no region to learn; label some"]
    return (
        [
            f"no volume is labelled with {', '.join(names)}, which is between regions that one volume "
            "shows: it is never learned, but still predicted wherever these touch; label it, or set "
            "`regions` to a file without it"
        ]
        if names
        else []
    )


def unlearned(
    collections: Mapping[str, Collection],
    vocabulary: Vocabulary,
    *,
    seed: int,
    fractions: Sequence[float] = FRACTIONS,
) -> list[str]:
    """For each split a sentence on the regions that are labelled, but in none of its subjects: not learned,
    tuned for, or evaluated."""
    seen: dict[str, Counter[str]] = {region: Counter() for region in vocabulary.classes[:-1]}
    for name, table in collections.items():
        places = _places(table, name, seed, fractions)
        owners = {row.volume_id: row.subject_id for row in table.volumes}
        for volume_id, rows in table.regions.items():
            for region in {row.region for row in rows} & seen.keys():
                seen[region][places[owners[volume_id]]] += 1
    consequence = {
        "train": "never learned",
        "validation": "nothing is tuned for them",
        "test": "not evaluated",
    }
    return [
        f"no {split} subject is labelled with {', '.join(names)}: {why}"
        for split, why in consequence.items()
        if (names := [region for region, counts in seen.items() if counts and not counts[split]])
    ]


def gaps(
    collections: Mapping[str, Collection], vocabulary: Vocabulary
) -> list[tuple[str, str, str, float, float]]:
    """(volume_id, region below, region above, from, to) of every gap between two regions of the chain: it
    counts as none, which no decision can give there.  In slices, or in millimetres, then only gaps above
    THICKEST_MM."""
    found = []
    for table in collections.values():
        for volume_id, rows in table.regions.items():
            ordered = sorted(
                (row for row in rows if row.region in (*vocabulary.chain, NONE)),
                key=lambda row: row.first,
            )
            for below, above in pairwise(ordered):
                step, most = (0, THICKEST_MM) if above.in_mm else (1, 0)
                first, last = below.last + step, above.first - step
                if NONE not in (below.region, above.region) and last - first + step > most:
                    found.append((volume_id, below.region, above.region, first, last))
    return found


def missing_files(collections: Mapping[str, Collection]) -> list[str]:
    """A sentence for each collection with missing files; none is opened, so volumes may still be refused when
    they are read."""
    return [
        f"collection {name}: {len(paths):,} of its files {'is' if len(paths) == 1 else 'are'} missing, the "
        f"first {paths[0]}; add them, or remove their lines from {table.path}"
        for name, table in collections.items()
        if (paths := [row.path for row in table.volumes if is_missing(row)])
    ]


def is_missing(row: VolumeRow) -> bool:
    """Whether the file or folder of a volume does not exist."""
    return not split_address(row.path)[0].exists()


def people(
    collections: Mapping[str, Collection], *, seed: int, fractions: Sequence[float] = FRACTIONS
) -> Counter[str]:
    """How many labelled subjects each split will have; there may be fewer, as volumes may be refused when
    they are read."""
    return Counter(
        split
        for name, table in collections.items()
        for split in _places(table, name, seed, fractions).values()
    )


def _places(
    table: Collection, name: str, seed: int, fractions: Sequence[float]
) -> Mapping[str, str]:
    """The split of every labelled subject, as `slice_collections` will draw it if no volume is refused."""
    labelled = [row for row in table.volumes if table.regions.get(row.volume_id)]
    given = {row.subject_id: row.split for row in table.volumes if row.split}
    return split_subjects([row.subject_id for row in labelled], name, seed, given, fractions)


def empty_splits(
    collections: Mapping[str, Collection], *, seed: int, fractions: Sequence[float] = FRACTIONS
) -> list[str]:
    """A sentence on the splits without subjects, if there are any; volumes that are refused when they are
    read may empty another.

    A run without test subjects is trained, but not evaluated.
    """
    places = people(collections, seed=seed, fractions=fractions)
    empty = [split for split in SPLITS if not places[split]]
    counted = ", ".join(f"{places[split]} {split}" for split in SPLITS)
    return (
        [
            f"no labelled subject for {' and '.join(empty)}: the {places.total()} there are give {counted}; "
            "label volumes of more people, change prepare.split, or fill a column split in volumes.tsv"
        ]
        if empty
        else []
    )
