"""The settings of a run, checked as far as its configuration file alone can tell."""

from __future__ import annotations

from pathlib import Path

from fovnet.config.files import load_settings, refuse_file
from fovnet.config.models import Settings
from fovnet.errors import ConfigError
from fovnet.phantom.features import parse_features_left_out
from fovnet.records import why_unwritable


def read_settings(config: Path) -> Settings:
    """The settings of a configuration file.

    Raises ConfigError for invalid settings, including unknown features of the simulator, and
    "results-file" if the results folder, or one above it, is a file.
    """
    settings = load_settings(config)
    parse_features_left_out(settings.phantom.without, f"{config}: phantom.without")
    refuse_file(settings, str(config))
    return settings


def refuse_unwritable_results(settings: Settings, config: Path) -> None:
    """Raise ConfigError "results-unwritable" if nothing can be written to the results folder of a
    configuration file."""
    if reason := why_unwritable(Path(settings.results), folder=True):
        raise ConfigError(
            "results-unwritable",
            f"{config}: results: {settings.results}: {reason}; name a folder that can be written",
        )
