"""Earlier searches, as sources of a prior: the configurations that their journals hold and a space
knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fovnet.records import digest
from fovnet.search.journal import read_header
from fovnet.search.prior import EarlierSearch
from fovnet.search.slot_files import read_trials
from fovnet.search.space import Axis
from fovnet.search.trial import latest_trials


class ReadSource(NamedTuple):
    """A source, and `left_out_count` of its scored rows, which the space does not have."""

    source: EarlierSearch
    left_out_count: int


def read_journal(folder: Path, axes: Sequence[Axis], name: str = "") -> ReadSource:
    """The latest score of every configuration of a journal; failures have none.  The name is else
    the folder's.

    Raises SearchError as `read_header` and `read_trials`.
    """
    read_header(folder)
    scored_configurations = [
        (trial.proposal.configuration, trial.score)
        for trial in latest_trials(read_trials(folder))
        if trial.score is not None
    ]
    return make_source(name or str(folder), axes, scored_configurations)


def make_source(
    name: str,
    axes: Sequence[Axis],
    scored_configurations: Iterable[tuple[Mapping[str, Any], float]],
) -> ReadSource:
    """The source of configurations with finite losses, those of unknown axes or levels left out."""
    levels_by_axis = {axis.name: axis.levels for axis in axes}
    scored_count = 0
    losses_with_levels = []
    for configuration, loss in scored_configurations:
        scored_count += 1
        if configuration.keys() == levels_by_axis.keys() and all(
            configuration[name] in levels for name, levels in levels_by_axis.items()
        ):
            level_indices = [
                levels.index(configuration[name]) for name, levels in levels_by_axis.items()
            ]
            losses_with_levels.append((loss, level_indices))
    losses_with_levels.sort()
    row_count = len(losses_with_levels)
    levels_of_rows = np.array(
        [level_indices for _, level_indices in losses_with_levels], dtype=np.int64
    ).reshape(row_count, len(axes))
    losses = np.array([loss for loss, _ in losses_with_levels], dtype=np.float64)
    source = EarlierSearch(
        name, digest([levels_of_rows, losses]), row_count, levels_of_rows, losses
    )
    return ReadSource(source, scored_count - row_count)
