"""The settings of a run, checked as far as its configuration file alone can tell."""

from __future__ import annotations

from pathlib import Path

from fovnet.config.files import load_settings, refuse_file
from fovnet.config.models import Settings
from fovnet.phantom.features import parse_features_left_out


def read_settings(config: Path) -> Settings:
    """The settings of a configuration file.

    Raises ConfigError for invalid settings, including unknown features of the simulator, and
    "results-file" if the results folder, or one above it, is a file.
    """
    settings = load_settings(config)
    parse_features_left_out(settings.phantom.without)
    refuse_file(settings, str(config))
    return settings
