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
    read_sources = [read_journal(journal, axes, name) for name, journal in journals]
    for source, left_out_count in read_sources:
        if left_out_count:
            log(
                f"{source.name}: {several(left_out_count, 'configuration')} left out, not in this space"
            )
        reason = why_unusable(source)
        if reason:
            log(f"{source.name}: passed over; {reason}")
    with progress("learning") as advance:
        return learn([source for source, _ in read_sources], axes, lessons, seed, advance)
