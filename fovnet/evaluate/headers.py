"""Header (Body Part Examined), truth and prediction of each volume: which of header and prediction is right
where they differ.

The column `body_part_examined` of volumes.tsv is read through the vocabulary's synonyms. A volume whose
header is not understood counts only towards `header_understood`. "Exact" is the same set of regions as the
truth; "beside" shares no region with it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.tallies import Tally
from fovnet.regions import Vocabulary
from fovnet.volume.collection.body_part import regions_named

COLUMN = "body_part_examined"


@dataclass(frozen=True)
class HeaderRow:
    """How many `volumes` have the header `text`, meaning the regions `header`, and show the regions `truth`,
    where those `predicted` were answered."""

    text: str
    header: tuple[str, ...]
    truth: tuple[str, ...]
    predicted: tuple[str, ...]
    volumes: int


def header_rows(tallies: Sequence[Tally], vocabulary: Vocabulary) -> tuple[HeaderRow, ...]:
    """Every combination of header, true and predicted regions that occurs, most frequent first."""
    counted = Counter(
        (
            text,
            header,
            _names(one.true_regions, vocabulary),
            _names(one.predicted_regions, vocabulary),
        )
        for one, text, header in _read(tallies, vocabulary)
    )
    return tuple(
        HeaderRow(*key, volumes)
        for key, volumes in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0]))
    )


def header_measures(
    tallies: Sequence[Tally], vocabulary: Vocabulary, draws: Resampling
) -> list[Measure]:
    """Rates of header and prediction over the same volumes; empty if no volume has the column."""
    if not any(one.case.attributes.get(COLUMN, "").strip() for one in tallies):
        return []
    headers = {one.case.volume_id: set(regions) for one, _, regions in _read(tallies, vocabulary)}
    flags = np.array(
        [_flags(one, headers.get(one.case.volume_id), vocabulary) for one in tallies],
        dtype=np.int64,
    )
    read, exact, beside, predicted_exact, differ, predicted_right, header_right = flags.T
    return [
        draws.rate("header_understood", read, np.ones_like(read)),
        draws.rate("header_exact", exact, read),
        draws.rate("header_beside", beside, read),
        draws.rate("predicted_exact_where_header", predicted_exact, read, stage="decided"),
        draws.rate("header_and_prediction_differ", differ, read, stage="decided"),
        draws.rate("predicted_exact_where_they_differ", predicted_right, differ, stage="decided"),
        draws.rate("header_exact_where_they_differ", header_right, differ, stage="decided"),
    ]


def _flags(one: Tally, header: set[str] | None, vocabulary: Vocabulary) -> tuple[bool, ...]:
    """Header understood, exact, beside; prediction exact; the two differ; of those, prediction exact, header
    exact."""
    if header is None:
        return (False,) * 7
    truth, predicted = (
        set(_names(each, vocabulary)) for each in (one.true_regions, one.predicted_regions)
    )
    differ = header != predicted
    beside = not header & truth and header != truth
    return (
        True,
        header == truth,
        beside,
        predicted == truth,
        differ,
        differ and predicted == truth,
        differ and header == truth,
    )


def _read(
    tallies: Sequence[Tally], vocabulary: Vocabulary
) -> list[tuple[Tally, str, tuple[str, ...]]]:
    """The volumes whose header is understood: the tally, the text, the regions meant."""
    texts = [(one, one.case.attributes.get(COLUMN, "").strip()) for one in tallies]
    return [
        (one, text, header)
        for one, text in texts
        if (header := regions_named(text, vocabulary)) is not None
    ]


def _names(present: NDArray[np.bool_], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Names of the regions and side regions present (k - 1,)."""
    return tuple(np.array(vocabulary.classes[:-1])[present].tolist())
