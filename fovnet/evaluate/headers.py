"""What the header says (Body Part Examined), what is true, and what was said: who is right where they differ?

The column `body_part_examined` of volumes.tsv is read through the vocabulary's synonyms. A volume whose header says nothing that is
understood takes part in the count of those alone. "Exact" is the very set of regions; "beside" names no region that the volume shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fovnet.evaluate.measures import Measure, Resampling
from fovnet.evaluate.tallies import Tally
from fovnet.regions import Vocabulary
from fovnet.volume.body_part import regions_told

COLUMN = "body_part_examined"


@dataclass(frozen=True)
class HeaderRow:
    """So many volumes whose header says `text`, meaning `header`, that show `truth` and were said to show `said`."""

    text: str
    header: tuple[str, ...]
    truth: tuple[str, ...]
    said: tuple[str, ...]
    volumes: int


def header_rows(tallies: Sequence[Tally], vocabulary: Vocabulary) -> tuple[HeaderRow, ...]:
    """Header against truth against answer, most frequent first."""
    counted = Counter(
        (text, told, _names(one, vocabulary, "has"), _names(one, vocabulary, "says")) for one, text, told in _read(tallies, vocabulary)
    )
    return tuple(HeaderRow(*key, volumes) for key, volumes in sorted(counted.items(), key=lambda entry: (-entry[1], entry[0])))


def header_measures(tallies: Sequence[Tally], vocabulary: Vocabulary, draws: Resampling) -> list[Measure]:
    """Rates of header and answer over the same volumes; nothing where no volume has the column."""
    if not any(one.case.attributes.get(COLUMN, "").strip() for one in tallies):
        return []
    told = {one.case.volume_id: set(regions) for one, _, regions in _read(tallies, vocabulary)}
    flags = np.array([_flags(one, told.get(one.case.volume_id), vocabulary) for one in tallies], dtype=np.int64)
    read, exact, beside, said_exact, differ, said_right, header_right = flags.T[..., None]
    ones = np.ones_like(read)
    return [
        *draws.rates("header_understood", read, ones),
        *draws.rates("header_exact", exact, read),
        *draws.rates("header_beside", beside, read),
        *draws.rates("said_exact_where_header", said_exact, read, stage="decided"),
        *draws.rates("header_and_said_differ", differ, read, stage="decided"),
        *draws.rates("said_exact_where_they_differ", said_right, differ, stage="decided"),
        *draws.rates("header_exact_where_they_differ", header_right, differ, stage="decided"),
    ]


def _flags(one: Tally, header: set[str] | None, vocabulary: Vocabulary) -> tuple[bool, ...]:
    """Understood, header exact, header beside, said exact, header and said differ; and of the last: said exact, header exact."""
    if header is None:
        return (False,) * 7
    truth, said = set(_names(one, vocabulary, "has")), set(_names(one, vocabulary, "says"))
    differ = header != said
    beside = not header & truth and header != truth
    return True, header == truth, beside, said == truth, differ, differ and said == truth, differ and header == truth


def _read(tallies: Sequence[Tally], vocabulary: Vocabulary) -> list[tuple[Tally, str, tuple[str, ...]]]:
    """The volumes whose header is understood: the tally, the text, the regions meant."""
    texts = [(one, one.case.attributes.get(COLUMN, "").strip()) for one in tallies]
    return [(one, text, told) for one, text in texts if (told := regions_told(text, vocabulary)) is not None]


def _names(one: Tally, vocabulary: Vocabulary, which: str) -> tuple[str, ...]:
    return tuple(np.array(vocabulary.classes[:-1])[getattr(one, which)].tolist())
