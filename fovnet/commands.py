"""Commands as they are typed into a shell, quoted, so that they can be copied out of a message."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.config.regions import vocabulary
from fovnet.results import Results

if TYPE_CHECKING:
    from fovnet.config.models import Settings


def with_config(verb: str, config: Path) -> str:
    """ "fovnet slice --config mine.yaml" for the verb "slice"."""
    return shlex.join(["fovnet", *verb.split(), "--config", str(config)])


def predicting(ensemble: Path) -> str:
    """ "fovnet predict FILES --model results/ensemble --out answers" for an ensemble."""
    return shlex.join(["fovnet", "predict", "FILES", "--model", str(ensemble), "--out", "answers"])


def simulated_vocabulary(settings: Settings) -> list[str]:
    """The option of `fovnet phantom` that labels people with the parts of regions that the
    vocabulary of a configuration has; [] without any."""
    if not vocabulary(settings.regions).parts:
        return []
    return ["--vocabulary", settings.regions]


def simulating(settings: Settings) -> str:
    """The `fovnet phantom` command that simulates the people of a configuration."""
    phantom = settings.phantom
    command_words = ["fovnet", "phantom", str(Results(Path(settings.results)).phantom)]
    command_words += ["--subjects", str(phantom.subjects)]
    command_words += ["--volumes", str(phantom.volumes_per_subject)]
    command_words += ["--seed", str(settings.seed)]
    for feature in phantom.without:
        command_words += ["--without", feature]
    command_words += simulated_vocabulary(settings)
    return shlex.join(command_words)
