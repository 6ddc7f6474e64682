"""How often an ensemble notices that a volume's axes are not what its header calls them, and how often it thinks so wrongly.

Volumes of a labelled split lie as their headers say, but those whose headers say nothing, which are left out, as are those too thin to tell
anything.  Each is looked at as it is, and turned twice, by a turn drawn from those that run from head to feet, and by one from those
whose slices run along another axis.  It is their pictures that are turned, and not their files, which would be cut anew; and what the
networks say, whom a volume that shows nothing is not doubted for, is not asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.fitting import refuse_unfit
from fovnet.bench.shares import Share, Tally
from fovnet.decision.orientation import bearing_of
from fovnet.errors import CollectionError, ModelError
from fovnet.maths.gradients import moved
from fovnet.maths.turns import ALONG, MOVES, SOURCES, TURNS
from fovnet.volume.outlines import SHAPE, outlines
from fovnet.volume.planes import lies_as_told, pictures

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.regions import Vocabulary
    from fovnet.volume.pack import Pack

COLUMNS = ("shows", "axes", "count", "of", "share", "low", "high")
AS_TOLD, OVER, ASIDE = "as told", "head to feet", "along another axis"
ALL = "all"


@dataclass(frozen=True)
class Noticed:
    """Of volumes that show a region, or of all, lying as they do or turned, how many were thought to lie otherwise than told."""

    shows: str
    axes: str
    share: Share

    @property
    def row(self) -> dict[str, Any]:
        """In COLUMNS."""
        return {"shows": self.shows, "axes": self.axes, **{name: value for name, value in self.share.row.items() if name != "what"}}


def turned(seen: NDArray[np.float32], turn: int) -> NDArray[np.float32]:
    """The outlines (3, places, ...) that a volume of these outlines would have if its body were turned so; `turn` is a row of TURNS."""
    sources = [SOURCES[view] for view in TURNS[turn]]
    return np.stack([moved(seen[plane], MOVES[move]) for plane, move in sources])


def noticed(
    ensemble: Ensemble, pack: Pack, split: str, *, seed: int, progress: Callable[[int, int], Any] | None = None
) -> list[Noticed]:
    """A count a region and way of lying, of all volumes first; `seed` draws the turns.  A volume of two regions counts with both.

    Raises ModelError "orientation-missing" where the ensemble cannot tell which way a body lies, or has no bar for it,
    "weights-other-classes" or "slices-differ" where it knows other regions or slices, and CollectionError "bench-unlabelled" where the
    split has no volume to ask about.
    """
    if ensemble.orientation is None or not ensemble.rule.least_upright:
        raise ModelError("orientation-missing", "the ensemble cannot tell which way a body lies: it was made of too few volumes that show "
                                                "it, or by an earlier fovnet; name another with --model")
    refuse_unfit("the ensemble", ensemble, pack)
    rng, tallies = np.random.default_rng(seed), dict[str, Tally]()
    ways = {AS_TOLD: np.flatnonzero(ALONG == 0)[:1], OVER: np.flatnonzero(ALONG == 1), ASIDE: np.flatnonzero(ALONG > 1)}
    volumes = list(_asked(pack, split))
    for done, index in enumerate(volumes, start=1):
        shown = pictures(pack.stack(index))
        seen = outlines(shown.reshape(-1, *shown.shape[2:])).reshape(*shown.shape[:2], *SHAPE)
        for axes, turns in ways.items():
            laid = turned(seen, int(rng.choice(turns))).reshape(1, *shown.shape[:2], -1)
            upright = bearing_of(ensemble.orientation.of_outlines(laid)[0]).upright
            noticed = upright < ensemble.rule.least_upright
            for group in (ALL, *_regions(pack, index, ensemble.vocabulary)):
                tallies.setdefault(group, Tally()).add(axes, pack.records[index].subject, noticed)
        if progress:
            progress(done, len(volumes))
    if not tallies:
        raise CollectionError("bench-unlabelled", f"{pack.folder}: no labelled volume in the {split} split shows which way it lies. Give "
                                                  "slices with labels, or --split train, validation or test.")
    return [
        Noticed(group, axes, tallies[group].share(axes))
        for group in (ALL, *ensemble.vocabulary.classes[:-1]) if group in tallies for axes in ways
    ]


def _asked(pack: Pack, split: str) -> Iterator[int]:
    """Labelled volumes of a split that show a region, are thick enough, and whose headers tell their axes."""
    for index, record in enumerate(pack.records):
        if record.split == split and record.status == "ok" and record.labelled:
            stack, truth = pack.stack(index), pack.truth[record.first_row : record.first_row + record.slices]
            if truth[:, :-1].any() and lies_as_told(stack):
                yield index


def _regions(pack: Pack, index: int, vocabulary: Vocabulary) -> list[str]:
    record = pack.records[index]
    there = np.flatnonzero(pack.truth[record.first_row : record.first_row + record.slices, :-1].any(axis=0))
    return [vocabulary.classes[at] for at in there.tolist()]
