"""Deciding on the volumes of a sliced collection, from ensemble probabilities computed once for all of them.

    rows     (m,) rows of the pack                     raw        (m, k) ensemble probabilities of those rows, uncalibrated
    members  (p, m, k) each member's probabilities     distances  (m,) from what is familiar to the networks
    weights  (p,) of the members in raw                turned     (p, m, k) each member's for the row in its volume turned over

`turned` is there where the members are shown more than slices, and NaN where it is not needed: in volumes of one region.  280 bytes a
slice and ten members in float32, twice that with `turned`: 28 or 56 MB for 100,000 slices.  Files of earlier versions have rows and raw
alone, and are read as an ensemble of one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import Answer
from fovnet.decision.judging import Judge, MemberOutputs
from fovnet.decision.objective import Example
from fovnet.decision.orientation import Orientation
from fovnet.decision.rule import Rule
from fovnet.decision.settling import Shown
from fovnet.decision.weighing import mean
from fovnet.errors import ModelError
from fovnet.volume.pack import Pack
from fovnet.volume.planes import extents_mm, tells_axes
from fovnet.volume.slices import SliceStack

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble

SCORED = ("validation", "test")
"""Splits whose slices the members score."""


@dataclass(frozen=True)
class Scored:
    """What the members see in some rows of a pack, rows ascending, and their weights; empty weights: all the same.

    turned  (p, m, k) as the module's head has it, in the order of `rows`; None where nothing is seen but slices
    """

    rows: NDArray[np.int64]
    outputs: MemberOutputs
    weights: tuple[float, ...] = ()
    turned: NDArray[np.float32] | None = None

    @classmethod
    def read(cls, arrays: Mapping[str, NDArray[Any]]) -> Scored:
        """From the arrays of probabilities.npz."""
        members = arrays["members"] if "members" in arrays else arrays["raw"][None]
        weights = tuple(map(float, arrays.get("weights", ())))
        return cls(arrays["rows"], MemberOutputs(members, arrays.get("distances")), weights, arrays.get("turned"))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays of probabilities.npz."""
        weights = Rule(weights=self.weights).say(len(self.outputs.members))
        known: dict[str, NDArray[Any]] = {"rows": self.rows, "members": self.outputs.members, "weights": weights}
        known["raw"] = mean(self.outputs.members, weights)
        optional = {"distances": self.outputs.distances, "turned": self.turned}
        return known | {name: values for name, values in optional.items() if values is not None}

    def of(self, pack: Pack, index: int) -> MemberOutputs:
        """What they see in one volume.  Raises ModelError where not all its slices were scored."""
        places = self._places(pack, index)
        turned = None if self.turned is None else self.turned[:, places[::-1]]
        outputs = self.outputs.of(places)
        return outputs if turned is None or np.isnan(turned).any() else replace(outputs, turned=turned)

    def turned_over(self, pack: Pack, model: Ensemble, progress: Callable[[int, int], Any]) -> Scored:
        """The same, with the outputs of the ensemble's members on its volumes turned over, where needed; the model has the same weights."""
        indices = [index for split in SCORED for index in _readable(pack, split)]
        turned = np.full_like(self.outputs.members, np.nan)
        for done, index in enumerate(indices, start=1):
            outputs = model.turned_over(self.of(pack, index), pack.stack(index))
            if outputs.turned is not None:
                turned[:, self._places(pack, index)[::-1]] = outputs.turned
            progress(done, len(indices))
        return replace(self, turned=turned)

    def _places(self, pack: Pack, index: int) -> NDArray[np.int64]:
        """Where among `rows` the slices of a volume are."""
        record = pack.records[index]
        wanted = np.arange(record.first_row, record.first_row + record.slices)
        places = np.searchsorted(self.rows, wanted)
        if len(wanted) and (places[-1] >= len(self.rows) or not np.array_equal(self.rows[places], wanted)):
            raise ModelError(
                "probabilities-stale", f"{record.volume_id}: its slices are not among the scored ones; run `fovnet ensemble` again"
            )
        return places

    def split(self, pack: Pack, split: str) -> tuple[MemberOutputs, NDArray[np.bool_], NDArray[np.int64]]:
        """Of the rows of a split: what the members see, what is true (m, k), and the number of each one's subject (m,)."""
        wanted = np.flatnonzero(np.isin(self.rows, pack.rows(split)))
        people = np.unique([record.subject for record in pack.records], return_inverse=True)[1]
        rows = self.rows[wanted]
        return self.outputs.of(wanted), pack.truth[rows], people[pack.volume[rows]]


def examples(pack: Pack, scored: Scored, split: str) -> list[Example]:
    """The labelled volumes of a split, as tuning wants them."""
    return [_example(pack, scored, index) for index in _readable(pack, split)]


def _example(pack: Pack, scored: Scored, index: int) -> Example:
    outputs, weights = scored.of(pack, index), Rule(weights=scored.weights).say(len(scored.outputs.members))
    turned = None if outputs.turned is None else mean(outputs.turned, weights)
    stack = pack.stack(index)
    return Example(mean(outputs.members, weights), stack.z_mm, _truth(pack, index), turned, stack.edges_mm)


def subjects_of(pack: Pack, split: str) -> list[str]:
    """Whose each of these volumes is."""
    return [pack.records[index].subject for index in _readable(pack, split)]


def shown_volumes(pack: Pack, scored: Scored, split: str, orientation: Orientation | None = None) -> list[Shown]:
    """The labelled volumes of a split, as settling wants them; which way each lies by `orientation`, where there is one."""
    return [
        Shown(
            pack.records[index].subject, scored.of(pack, index), stack.pixels, stack.z_mm, _truth(pack, index), stack.edges_mm,
            None if orientation is None else orientation.bearing(stack), tells_axes(stack), max(extents_mm(stack)),
        )
        for index in _readable(pack, split)
        for stack in [pack.stack(index)]
    ]


def stacks(pack: Pack, split: str) -> list[SliceStack]:
    """The slices of the labelled volumes of a split."""
    return [pack.stack(index) for index in _readable(pack, split)]


def shown(pack: Pack, split: str) -> list[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
    """Heights (s,) in mm and truth (s, k) of the labelled volumes of a split, scored or not."""
    return [
        (pack.stack(index).z_mm, _truth(pack, index))
        for index in _readable(pack, split)
    ]


def decisions(
    pack: Pack, scored: Scored, split: str, judge: Judge
) -> Iterator[tuple[Answer, SliceStack, NDArray[np.float64]]]:
    """Answer, slices and probabilities of every volume of a split."""
    for index in _readable(pack, split):
        record, stack, outputs = pack.records[index], pack.stack(index), scored.of(pack, index)
        yield judge.answer(record.volume_id, record.path, outputs, stack, stack.notes), stack, judge.raw(outputs)


def _readable(pack: Pack, split: str) -> list[int]:
    """Which volumes of a split were not refused."""
    return [index for index, record in enumerate(pack.records) if record.split == split and record.status == "ok"]


def _truth(pack: Pack, index: int) -> NDArray[np.bool_]:
    record = pack.records[index]
    return pack.truth[record.first_row : record.first_row + record.slices]
