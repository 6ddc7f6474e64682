"""The prior from earlier searches, made before the search of a run begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.acts.run import Bar, Run, silent
from fovnet.net.jobs.search_plan import search_space
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.search.learn.training import Lessons
    from fovnet.search.prior import Prior


def learned(
    run: Run,
    journals: Sequence[tuple[str, Path]],
    lessons: Lessons,
    seed: int,
    progress: Bar = silent,
    log: Callable[[str], None] = lambda line: None,
) -> Prior:
    """The prior learned from journals, each with its name, for the space of a run; `log` gets a sentence on
    what is left out.  Raises SearchError as `read_journal` and `learn`."""
    from fovnet.search.learn.earlier_searches import read_journal
    from fovnet.search.learn.training import learn, unusable

    axes = search_space(run.settings).axes
    read = [read_journal(journal, axes, name) for name, journal in journals]
    for one in read:
        if one.left_out:
            log(
                f"{one.source.name}: {several(one.left_out, 'configuration')} left out, not in this space"
            )
        if why := unusable(one.source):
            log(f"{one.source.name}: passed over; {why}")
    with progress("learning") as advance:
        return learn([one.source for one in read], axes, lessons, seed, advance)
