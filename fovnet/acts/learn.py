"""The prior from earlier searches, made before the search of a run begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fovnet.acts.run import ProgressBar, Run, silent_progress
from fovnet.acts.search_space import search_space
from fovnet.search.learn.earlier_searches import read_journal
from fovnet.search.learn.training import Lessons, learn, why_unusable
from fovnet.search.prior import Prior
from fovnet.words import several


def learn_prior(
    run: Run,
    journals: Sequence[tuple[str, Path]],
    lessons: Lessons,
    seed: int,
    progress: ProgressBar = silent_progress,
    log: Callable[[str], None] = lambda line: None,
) -> Prior:
    """The prior learned from journals, each with its name, for the space of a run; `log` gets a
    sentence on what is left out.  Raises SearchError as `read_journal` and `learn`."""
    axes = search_space(run.settings).axes
    earlier_searches = [
        read_journal(journal, axes, search_name) for search_name, journal in journals
    ]
    for search in earlier_searches:
        search_name = search.source.name
        if search.left_out_count:
            log(
                f"{search_name}: {several(search.left_out_count, 'configuration')} left out, not in this space"
            )
        if reason := why_unusable(search.source):
            log(f"{search_name}: passed over; {reason}")
    with progress("learning") as advance:
        return learn([search.source for search in earlier_searches], axes, lessons, seed, advance)
