"""Header (Body Part Examined), truth and prediction of each volume: which of header and prediction
is right where they differ.

The column `body_part_examined` of volumes.tsv is read through the vocabulary's synonyms. A volume
whose header is not understood counts only towards `header_understood`. "Exact" is the same set of
regions as the truth; "beside" shares no region with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.tallies import Tally
from fovnet.regions import Vocabulary
from fovnet.volume.collection.body_part import regions_named

COLUMN = "body_part_examined"


@dataclass(frozen=True)
class HeaderRow:
    """How many `volumes` have the header `text`, meaning the regions `header`, and show the regions
    `truth`, where those `predicted` were answered."""

    text: str
    header: tuple[str, ...]
    truth: tuple[str, ...]
    predicted: tuple[str, ...]
    volumes: int


def header_rows(tallies: Sequence[Tally], vocabulary: Vocabulary) -> tuple[HeaderRow, ...]:
    """Every combination of header, true and predicted regions that occurs, most frequent first."""
    volumes_by_combination = Counter(
        (
            header.text,
            header.regions,
            _names(header.tally.true_regions, vocabulary),
            _names(header.tally.predicted_regions, vocabulary),
        )
        for header in _read_headers(tallies, vocabulary)
    )
    ordered = sorted(volumes_by_combination.items(), key=lambda item: (-item[1], item[0]))
    return tuple(HeaderRow(*combination, volumes) for combination, volumes in ordered)


def header_measures(
    tallies: Sequence[Tally], vocabulary: Vocabulary, draws: Resampling
) -> list[Measure]:
    """Rates of header and prediction over the same volumes; empty if no volume has the column."""
    if not any(tally.case.attributes.get(COLUMN, "").strip() for tally in tallies):
        return []
    headers = {
        header.tally.case.volume_id: set(header.regions)
        for header in _read_headers(tallies, vocabulary)
    }
    flags = np.array(
        [_flags(tally, headers.get(tally.case.volume_id), vocabulary) for tally in tallies],
        dtype=np.int64,
    )
    read, exact, disjoint, predicted_exact, differ, predicted_right, header_right = flags.T
    return [
        draws.rate("header_understood", read, np.ones_like(read)),
        draws.rate("header_exact", exact, read),
        draws.rate("header_beside", disjoint, read),
        draws.rate("predicted_exact_where_header", predicted_exact, read, stage="decided"),
        draws.rate("header_and_prediction_differ", differ, read, stage="decided"),
        draws.rate("predicted_exact_where_they_differ", predicted_right, differ, stage="decided"),
        draws.rate("header_exact_where_they_differ", header_right, differ, stage="decided"),
    ]


def _flags(tally: Tally, header: set[str] | None, vocabulary: Vocabulary) -> tuple[bool, ...]:
    """Header understood, exact, beside; prediction exact; the two differ; of those, prediction
    exact, header exact."""
    if header is None:
        return (False,) * 7
    truth = set(_names(tally.true_regions, vocabulary))
    predicted = set(_names(tally.predicted_regions, vocabulary))
    differ = header != predicted
    is_disjoint = not header & truth and header != truth
    return (
        True,
        header == truth,
        is_disjoint,
        predicted == truth,
        differ,
        differ and predicted == truth,
        differ and header == truth,
    )


class _Header(NamedTuple):
    """A volume whose header is understood: its text, and the regions meant."""

    tally: Tally
    text: str
    regions: tuple[str, ...]


def _read_headers(tallies: Sequence[Tally], vocabulary: Vocabulary) -> list[_Header]:
    headers = []
    for tally in tallies:
        text = tally.case.attributes.get(COLUMN, "").strip()
        regions = regions_named(text, vocabulary)
        if regions is not None:
            headers.append(_Header(tally, text, regions))
    return headers


def _names(present: NDArray[np.bool_], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Names of the regions and side regions present (k - 1,)."""
    return tuple(np.array(vocabulary.classes[:-1])[present].tolist())
