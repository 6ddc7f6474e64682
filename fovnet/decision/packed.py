"""Deciding on the volumes of a sliced collection, from ensemble probabilities computed once for all of them.

    rows  (m,) rows of the pack        raw  (m, k) ensemble probabilities of those rows, uncalibrated
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import Answer, answer
from fovnet.decision.spans import Rule, decide
from fovnet.decision.tuning import Example
from fovnet.errors import ModelError
from fovnet.regions import Vocabulary
from fovnet.volume.pack import Pack
from fovnet.volume.slices import SliceStack


@dataclass(frozen=True)
class Scored:
    """The probabilities of some rows of a pack."""

    rows: NDArray[np.int64]
    raw: NDArray[np.float64]

    def of(self, pack: Pack, index: int) -> NDArray[np.float64]:
        """The probabilities (s, k) of one volume.  Raises ModelError where not all its slices were scored."""
        record = pack.records[index]
        wanted = np.arange(record.first_row, record.first_row + record.slices)
        places = np.searchsorted(self.rows, wanted)
        if len(wanted) and (places[-1] >= len(self.rows) or not np.array_equal(self.rows[places], wanted)):
            raise ModelError(
                "probabilities-stale", f"{record.volume_id}: its slices are not among the scored ones; run `fovnet ensemble` again"
            )
        return self.raw[places]


def examples(pack: Pack, scored: Scored, split: str) -> list[Example]:
    """The labelled volumes of a split, as tuning wants them."""
    return [
        Example(scored.of(pack, index), pack.stack(index).z_mm, _truth(pack, index))
        for index in _readable(pack, split)
    ]


def shown(pack: Pack, split: str) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Heights (s,) in mm and truth (s, k) of the labelled volumes of a split, scored or not."""
    return [
        (pack.stack(index).z_mm, _truth(pack, index))
        for index in _readable(pack, split)
    ]


def decisions(
    pack: Pack, scored: Scored, split: str, vocabulary: Vocabulary, rule: Rule
) -> Iterator[tuple[Answer, SliceStack, NDArray[np.float64]]]:
    """Answer, slices and probabilities of every volume of a split."""
    for index in _readable(pack, split):
        record, stack, raw = pack.records[index], pack.stack(index), scored.of(pack, index)
        yield answer(record.volume_id, record.path, decide(raw, stack.z_mm, vocabulary, rule), rule, stack.notes), stack, raw


def _readable(pack: Pack, split: str) -> list[int]:
    """Which volumes of a split were not refused."""
    return [index for index, record in enumerate(pack.records) if record.split == split and record.status == "ok"]


def _truth(pack: Pack, index: int) -> NDArray[np.bool_]:
    record = pack.records[index]
    return pack.truth[record.first_row : record.first_row + record.slices]
