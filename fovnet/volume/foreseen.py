"""What a run on labelled collections would stumble over hours later, told from their tables before any volume is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fovnet.regions import Vocabulary
from fovnet.volume.collection import Collection
from fovnet.volume.dicom_address import split_address
from fovnet.volume.split import FRACTIONS, SPLITS, split_subjects


def unlabelled(collections: Mapping[str, Collection], vocabulary: Vocabulary) -> list[str]:
    """The regions that no volume is labelled with.  A collection need not have them all: they are then never learned, nor named."""
    known = {row.region for table in collections.values() for rows in table.regions.values() for row in rows}
    return [region for region in vocabulary.classes[:-1] if region not in known]


def missing_files(collections: Mapping[str, Collection]) -> list[str]:
    """A sentence for each collection of which files are not there; none is opened, and volumes may still be refused once they are read."""
    missing = {
        name: [row.path for row in table.volumes if not split_address(row.path)[0].exists()] for name, table in collections.items()
    }
    return [
        f"collection {name}: {len(paths):,} of its files {'is' if len(paths) == 1 else 'are'} not there, the first {paths[0]}; put them "
        f"there, or take their lines out of {collections[name].path}"
        for name, paths in missing.items() if paths
    ]  # fmt: skip


def people(collections: Mapping[str, Collection], *, seed: int, fractions: Sequence[float] = FRACTIONS) -> Counter[str]:
    """How many subjects with labels each split will have; volumes that are refused once they are read may leave fewer."""
    places: Counter[str] = Counter()
    for name, table in collections.items():
        labelled = [row for row in table.volumes if table.regions.get(row.volume_id)]
        given = {row.subject_id: row.split for row in table.volumes if row.split}
        places.update(split_subjects([row.subject_id for row in labelled], name, seed, given, fractions).values())
    return places


def empty_splits(collections: Mapping[str, Collection], *, seed: int, fractions: Sequence[float] = FRACTIONS) -> list[str]:
    """A sentence on the splits that nobody would be in, if there are any; volumes that are refused once they are read may empty another.

    A run without test subjects trains all the same, and is then not evaluated.
    """
    places = people(collections, seed=seed, fractions=fractions)
    empty = [split for split in SPLITS if not places[split]]
    counted = ", ".join(f"{places[split]} {split}" for split in SPLITS)
    return [
        f"no labelled subject for {' and '.join(empty)}: the {places.total()} there are make {counted}; label volumes of more people, "
        "change prepare.split, or fill a column split in volumes.tsv"
    ] if empty else []  # fmt: skip
