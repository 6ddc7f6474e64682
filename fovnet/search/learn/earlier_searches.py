"""Earlier searches, as sources of a prior: the configurations that their journals hold and a space
knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fovnet.records import digest
from fovnet.search.journal import read_header, read_trials
from fovnet.search.prior import EarlierSearch
from fovnet.search.space import Axis
from fovnet.search.trial import latest


class ReadSource(NamedTuple):
    """A source, and the number of its scored rows that the space does not have."""

    source: EarlierSearch
    left_out: int


def read_journal(folder: Path, axes: Sequence[Axis], name: str = "") -> ReadSource:
    """The latest score of every configuration of a journal; failures have none.  The name is else
    the folder's.

    Raises SearchError as `read_header` and `read_trials`.
    """
    read_header(folder)
    scored = [
        (trial.proposal.configuration, trial.score)
        for trial in latest(read_trials(folder))
        if trial.score is not None
    ]
    return source_of(name or str(folder), axes, scored)


def source_of(
    name: str, axes: Sequence[Axis], scored: Iterable[tuple[Mapping[str, Any], float]]
) -> ReadSource:
    """The source of configurations with finite losses, those of unknown axes or levels left out."""
    numbers = {axis.name: {level: i for i, level in enumerate(axis.levels)} for axis in axes}
    scored_pairs = list(scored)
    sorted_rows = sorted(
        (loss, [numbers[name][configuration[name]] for name in numbers])
        for configuration, loss in scored_pairs
        if configuration.keys() == numbers.keys()
        and all(configuration[name] in numbers[name] for name in numbers)
    )
    levels = np.array([row for _, row in sorted_rows], dtype=np.int64).reshape(-1, len(axes))
    losses = np.array([loss for loss, _ in sorted_rows], dtype=np.float64)
    source = EarlierSearch(name, digest([levels, losses]), len(sorted_rows), levels, losses)
    return ReadSource(source, len(scored_pairs) - len(sorted_rows))
