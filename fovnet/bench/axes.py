"""How often an ensemble detects that a volume's axes are not those of its header, and how often it reports so wrongly.

The volumes of a labelled split are taken to lie as their headers state; those whose headers state no orientation and those too thin to
show one are left out.  Each is tested as it is and turned twice: by a turn drawn from those that reverse the feet-head axis, and by one
from those whose slices run along another axis.  The outlines are turned, not the file, which would have to be cut again.
The region probabilities are not used, although in use a volume that shows no region raises no doubt about its axes.
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
from fovnet.volume.planes import pictures, shows_stated_axes

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.regions import Vocabulary
    from fovnet.volume.pack import Pack

COLUMNS = ("shows", "axes", "count", "of", "share", "low", "high")
AS_STATED, OVER, ASIDE = "as stated", "head to feet", "along another axis"
ALL = "all"


@dataclass(frozen=True)
class Noticed:
    """The share of volumes found to lie otherwise than stated, of those that show a region, or of all, as they are or turned (`axes`)."""

    shows: str
    axes: str
    share: Share

    @property
    def row(self) -> dict[str, Any]:
        """The values of COLUMNS."""
        return {"shows": self.shows, "axes": self.axes, **{name: value for name, value in self.share.row.items() if name != "what"}}


def turned(seen: NDArray[np.float32], turn: int) -> NDArray[np.float32]:
    """The outlines (3, places, ...) of a volume after its body is turned; `turn` is a row of TURNS."""
    sources = [SOURCES[view] for view in TURNS[turn]]
    return np.stack([moved(seen[plane], MOVES[move]) for plane, move in sources])


def noticed(
    ensemble: Ensemble, pack: Pack, split: str, *, seed: int, progress: Callable[[int, int], Any] | None = None
) -> list[Noticed]:
    """One share per region and orientation, all volumes first; `seed` draws the turns.  A volume of two regions counts with both.

    Raises ModelError "orientation-missing" where the ensemble has no network of orientation, or no threshold for it,
    "weights-other-classes" or "slices-differ" where it has other regions or slices, and CollectionError "bench-unlabelled" where the
    split has no volume to test.
    """
    if ensemble.orientation is None or not ensemble.rule.least_upright:
        raise ModelError("orientation-missing", "the ensemble cannot predict which way a body lies: it was made of too few volumes that "
                                                "show it, or by an earlier fovnet; name another with --model")
    refuse_unfit("the ensemble", ensemble, pack)
    rng, tallies = np.random.default_rng(seed), dict[str, Tally]()
    ways = {AS_STATED: np.flatnonzero(ALONG == 0)[:1], OVER: np.flatnonzero(ALONG == 1), ASIDE: np.flatnonzero(ALONG > 1)}
    volumes = list(_tested(pack, split))
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


def _tested(pack: Pack, split: str) -> Iterator[int]:
    """Numbers of the labelled volumes of a split that show a region, are thick enough, and whose headers state their axes."""
    for index, record in enumerate(pack.records):
        if record.split == split and record.status == "ok" and record.labelled:
            stack, truth = pack.stack(index), pack.truth[record.first_row : record.first_row + record.slices]
            if truth[:, :-1].any() and shows_stated_axes(stack):
                yield index


def _regions(pack: Pack, index: int, vocabulary: Vocabulary) -> list[str]:
    record = pack.records[index]
    there = np.flatnonzero(pack.truth[record.first_row : record.first_row + record.slices, :-1].any(axis=0))
    return [vocabulary.classes[at] for at in there.tolist()]
