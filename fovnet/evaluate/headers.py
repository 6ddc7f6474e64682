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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.tallies import Tally
from fovnet.regions import Vocabulary
from fovnet.volume.collection.body_part import find_regions_of_text

BODY_PART_COLUMN = "body_part_examined"


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
            _region_names(header.tally.true_regions, vocabulary),
            _region_names(header.tally.predicted_regions, vocabulary),
        )
        for header in _read_headers(tallies, vocabulary)
    )
    most_frequent_first = sorted(
        volumes_by_combination.items(), key=lambda item: (-item[1], item[0])
    )
    return tuple(
        HeaderRow(*combination, volume_count) for combination, volume_count in most_frequent_first
    )


def header_measures(
    tallies: Sequence[Tally], vocabulary: Vocabulary, resampling: Resampling
) -> list[Measure]:
    """Rates of header and prediction over the same volumes; empty if no volume has the column."""
    if not any(tally.case.attributes.get(BODY_PART_COLUMN, "").strip() for tally in tallies):
        return []
    header_regions_by_volume_id = {
        header.tally.case.volume_id: set(header.regions)
        for header in _read_headers(tallies, vocabulary)
    }
    flags_by_volume = np.array(
        [
            _judge_header(tally, header_regions_by_volume_id.get(tally.case.volume_id), vocabulary)
            for tally in tallies
        ],
        dtype=np.int64,
    )
    flags = _HeaderFlags(*flags_by_volume.T)
    is_understood = flags.is_understood
    counts_by_rate = {
        "header_understood": (is_understood, np.ones_like(is_understood), ""),
        "header_exact": (flags.is_exact, is_understood, ""),
        "header_beside": (flags.is_disjoint, is_understood, ""),
        "predicted_exact_where_header": (flags.is_prediction_exact, is_understood, "decided"),
        "header_and_prediction_differ": (flags.do_differ, is_understood, "decided"),
        "predicted_exact_where_they_differ": (
            flags.is_only_prediction_right,
            flags.do_differ,
            "decided",
        ),
        "header_exact_where_they_differ": (flags.is_only_header_right, flags.do_differ, "decided"),
    }
    return [
        resampling.measure_rate(rate_name, numerators, denominators, stage=stage)
        for rate_name, (numerators, denominators, stage) in counts_by_rate.items()
    ]


class _HeaderFlags(NamedTuple):
    """Of one volume, or (c,) of all: whether its header is understood, is exact, and names no true
    region; whether the prediction is exact; whether the two differ, and one alone is then right."""

    is_understood: Any = False
    is_exact: Any = False
    is_disjoint: Any = False
    is_prediction_exact: Any = False
    do_differ: Any = False
    is_only_prediction_right: Any = False
    is_only_header_right: Any = False


def _judge_header(
    tally: Tally, header_regions: set[str] | None, vocabulary: Vocabulary
) -> _HeaderFlags:
    """The flags of a volume by the regions that its header means; None: it is not understood."""
    if header_regions is None:
        return _HeaderFlags()
    true_regions = set(_region_names(tally.true_regions, vocabulary))
    predicted_regions = set(_region_names(tally.predicted_regions, vocabulary))
    do_differ = header_regions != predicted_regions
    return _HeaderFlags(
        is_understood=True,
        is_exact=header_regions == true_regions,
        is_disjoint=not header_regions & true_regions and header_regions != true_regions,
        is_prediction_exact=predicted_regions == true_regions,
        do_differ=do_differ,
        is_only_prediction_right=do_differ and predicted_regions == true_regions,
        is_only_header_right=do_differ and header_regions == true_regions,
    )


class _Header(NamedTuple):
    """A volume whose header is understood: its text, and the regions meant."""

    tally: Tally
    text: str
    regions: tuple[str, ...]


def _read_headers(tallies: Sequence[Tally], vocabulary: Vocabulary) -> list[_Header]:
    """The headers that are understood, of the volumes that have one."""
    headers = []
    for tally in tallies:
        header_text = tally.case.attributes.get(BODY_PART_COLUMN, "").strip()
        header_regions = find_regions_of_text(header_text, vocabulary)
        if header_regions is not None:
            headers.append(_Header(tally, header_text, header_regions))
    return headers


def _region_names(present: NDArray[np.bool_], vocabulary: Vocabulary) -> tuple[str, ...]:
    """Names of the regions and side regions present (k - 1,)."""
    return tuple(np.array(vocabulary.classes[:-1])[present].tolist())
