"""How far the readers of a labelling agree: agreement.tsv, in figures, and differences.tsv, volume by volume.

Compared are independent readings (`readings.independent`): those begun from nothing, and that of the readers
who saw the prediction, which counts as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from fovnet.errors import CollectionError
from fovnet.evaluate.measures import Measure
from fovnet.evaluate.readers import ReadingPair, agreement, write_agreement
from fovnet.label.law import Grid, shown
from fovnet.label.log import NAME, Log
from fovnet.label.readings import DONE, Book, State, differences, independent, settled
from fovnet.records import write_tsv
from fovnet.regions import Vocabulary
from fovnet.volume.collection.table_rows import VolumeRow
from fovnet.volume.collection.tables import read_collection

COLUMNS = ("volume_id", "first", "second", "what", "settled")


@dataclass(frozen=True)
class Compared:
    """Two or more readers: the measures of each pair, the volumes read by both, and on which they differ."""

    measures: Mapping[tuple[str, str], Sequence[Measure]]
    volumes: Mapping[tuple[str, str], int]
    differing: Sequence[Mapping[str, str]]


def compared(out: Path, vocabulary: Vocabulary) -> Compared:
    """The agreement of the readers of a labelling; writes agreement.tsv and differences.tsv.

    Raises CollectionError "label-none" if there is no log of one, "label-one-reader" if no volume was read
    twice.
    """
    if not (out / NAME).exists():
        raise CollectionError(
            "label-none", f"{out}: no {NAME}; give the folder that `fovnet label --out` wrote"
        )
    book, collection = _book(out, vocabulary), read_collection(out, vocabulary)
    pairs: dict[tuple[str, str], list[ReadingPair]] = {}
    differing = []
    for row in collection.volumes:
        pages = book.pages(row.volume_id)
        readings = sorted(independent(pages.finished()).items())
        for (first, one), (second, other) in combinations(readings, 2):
            found = pairs.setdefault((first, second), [])
            if pages.grid and one.mark == other.mark == DONE:
                found.append(_pair(row, one, other, pages.grid, vocabulary))
            if what := differences(one, other, pages.grid):
                differing.append(
                    {
                        "volume_id": row.volume_id,
                        "first": first,
                        "second": second,
                        "what": "; ".join(what),
                        "settled": "yes" if settled(pages) else "no",
                    }
                )
    if not pairs:
        raise CollectionError(
            "label-one-reader",
            f"{out}: no volume was read twice; let a second reader read some: `fovnet label ... --reader "
            "NAME --blind`",
        )
    measures = {names: agreement(found, vocabulary) for names, found in pairs.items()}
    write_agreement(out, measures)
    write_tsv(out / "differences.tsv", COLUMNS, differing)
    return Compared(measures, {names: len(found) for names, found in pairs.items()}, differing)


def _book(out: Path, vocabulary: Vocabulary) -> Book:
    """What the log of a labelling holds."""
    book = Book(vocabulary)
    with closing(Log(out / NAME, [*vocabulary.classes])) as log, log.held():
        book.follow(log.news())
    return book


def _pair(
    row: VolumeRow, one: State, other: State, grid: Grid, vocabulary: Vocabulary
) -> ReadingPair:
    first, second = (shown(state.extents, grid.slices, vocabulary) for state in (one, other))
    edges = grid.bottom_mm + grid.step_mm * np.arange(grid.slices + 1, dtype=np.float64)
    return ReadingPair(row.volume_id, row.subject_id, first, second, edges)
