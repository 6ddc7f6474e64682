"""The ensemble that a configuration's trainings begin with (`training.begin`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fovnet.config.models import Settings
from fovnet.errors import ConfigError
from fovnet.net.training.warm_start import (
    SHIPPED,
    Beginning,
    beginnings_of_ensemble,
    nearest_beginning,
    read_ensemble_facts,
    refuse_other_inputs,
)
from fovnet.results import SHIPPED_NETWORKS, Results


def warm_start_ensemble(settings: Settings) -> tuple[Path, dict[str, Any]] | None:
    """The folder of the ensemble whose networks trainings begin with, and its facts; None if
    weights are drawn.

    Raises ModelError as `read_ensemble_facts`, and ConfigError "begin-in-results" if it is the
    ensemble that this configuration makes.
    """
    configured_begin = settings.training.begin
    if configured_begin is None:
        return None
    ensemble_folder = SHIPPED_NETWORKS if configured_begin == SHIPPED else Path(configured_begin)
    if ensemble_folder.resolve() == Results(Path(settings.results)).ensemble.resolve():
        raise ConfigError(
            "begin-in-results",
            f"training.begin: {configured_begin}: is the ensemble that this run would replace; set another "
            "`results`",
        )
    return ensemble_folder, read_ensemble_facts(ensemble_folder)


def warm_start_networks(settings: Settings) -> tuple[Beginning, ...]:
    """The networks that trainings begin with, the best first; empty if weights are drawn.

    Raises as `warm_start_ensemble`, and ModelError as `refuse_other_inputs`.
    """
    ensemble = warm_start_ensemble(settings)
    networks: tuple[Beginning, ...] = ()
    if ensemble is not None:
        networks = beginnings_of_ensemble(*ensemble)
    refuse_other_inputs(networks, settings.training.inputs, settings.training.head)
    return networks


def blend_of_members(
    settings: Settings, members: Sequence[Mapping[str, Any]]
) -> tuple[float, dict[int, Path]] | None:
    """The weight of the trained networks in an ensemble's members, and by slot the weights file
    that each was trained from.

    members  facts of each: slot and configuration
    None if members are not blended.  Raises as `warm_start_networks` and `nearest_beginning`.
    """
    if settings.ensemble.blend == 1:
        return None
    networks = warm_start_networks(settings)
    return settings.ensemble.blend, {
        member["slot"]: nearest_beginning(networks, member["configuration"]).weights
        for member in members
    }
