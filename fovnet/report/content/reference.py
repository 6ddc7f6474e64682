"""The chapter on the reference standard: what the answers were compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fovnet.evaluate.borders import AGREEMENT_MM
from fovnet.regions import LANDMARKS, Vocabulary
from fovnet.report.content.cells import Table
from fovnet.report.content.flow import SPLITS
from fovnet.volume.collection.pack import Pack


@dataclass(frozen=True)
class Reference:
    """How labels are defined, the landmark at each border, the labelled slices of each class and split."""

    paragraphs: tuple[str, ...]
    landmarks: Table
    labelled_slices: Table


def reference_of(vocabulary: Vocabulary, labels: Mapping[str, tuple[int, ...]]) -> Reference:
    """The chapter; `labels` as `labelled_slices` gives them."""
    return Reference(
        paragraphs=reference_words(vocabulary),
        landmarks=landmarks_table(vocabulary),
        labelled_slices=labels_table(labels, vocabulary),
    )


def labelled_slices(pack: Pack) -> dict[str, tuple[int, ...]]:
    """Numbers of slices of each class, in the order of the pack's classes, by split; a slice of two classes
    counts for both."""
    return {split: tuple(np.asarray(pack.truth[pack.rows(split)]).sum(axis=0).tolist()) for split in SPLITS}


def landmarks_table(vocabulary: Vocabulary) -> Table:
    """The landmark at each border; borders of a user's own vocabulary, whose landmarks are not known, have no
    row."""
    rows = [
        (f"{low} | {high}", LANDMARKS[low, high])
        for low, high in pairwise(vocabulary.chain)
        if (low, high) in LANDMARKS
    ]
    return Table(("border", "lies at"), tuple(rows), name="convention")


def labels_table(slices: Mapping[str, tuple[int, ...]], vocabulary: Vocabulary) -> Table:
    """Labelled slices of each class by split."""
    if not slices:
        return Table((), (), name="labels")
    rows = tuple(
        (name, *(f"{slices[split][column]:,}" if split in slices else "–" for split in SPLITS))
        for column, name in enumerate(vocabulary.classes)
    )
    return Table(
        ("class", *SPLITS.values()), rows, tuple(vocabulary.colour(name) for name in vocabulary.classes),
        name="labels",
    )


def reference_words(vocabulary: Vocabulary) -> tuple[str, ...]:
    """How the labels are defined, and what is not known about them."""
    known = bool(landmarks_table(vocabulary).rows)
    return (
        "The reference is the table regions.tsv of each collection: from which slice to which a volume shows "
        "a region. A slice outside every row shows none. A volume may show a side region, such as spine, "
        "beside the regions that it crosses.",
        "The lines between regions are drawn at bony or air-filled landmarks, which every MR contrast shows; "
        "if organs overlap them, the landmark decides."
        if known
        else "This vocabulary is custom; its landmarks are not recorded here.",
        f"People who draw the same line differ by about {AGREEMENT_MM:.0f} mm: a border within that "
        "distance counts as agreement.",
        "Who labelled each collection, with which tool, how often, and with what agreement among readers is "
        "not recorded in these files; labels of a simulated collection are computed from the simulated "
        "anatomy and have no reader.",
    )
