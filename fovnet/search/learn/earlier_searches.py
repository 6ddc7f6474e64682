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
    scored_configurations = [
        (trial.proposal.configuration, trial.score)
        for trial in latest(read_trials(folder))
        if trial.score is not None
    ]
    return source_of(name or str(folder), axes, scored_configurations)


def source_of(
    name: str,
    axes: Sequence[Axis],
    scored_configurations: Iterable[tuple[Mapping[str, Any], float]],
) -> ReadSource:
    """The source of configurations with finite losses, those of unknown axes or levels left out."""
    level_index_by_axis = {
        axis.name: {level: level_index for level_index, level in enumerate(axis.levels)}
        for axis in axes
    }
    scored_pairs = list(scored_configurations)
    sorted_losses_with_levels = sorted(
        (
            loss,
            [
                level_index_by_axis[axis_name][configuration[axis_name]]
                for axis_name in level_index_by_axis
            ],
        )
        for configuration, loss in scored_pairs
        if configuration.keys() == level_index_by_axis.keys()
        and all(
            configuration[axis_name] in level_index_by_axis[axis_name]
            for axis_name in level_index_by_axis
        )
    )
    levels = np.array(
        [level_indices for _, level_indices in sorted_losses_with_levels], dtype=np.int64
    ).reshape(-1, len(axes))
    losses = np.array([loss for loss, _ in sorted_losses_with_levels], dtype=np.float64)
    source = EarlierSearch(
        name, digest([levels, losses]), len(sorted_losses_with_levels), levels, losses
    )
    return ReadSource(source, len(scored_pairs) - len(sorted_losses_with_levels))
