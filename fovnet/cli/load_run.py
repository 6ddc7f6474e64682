"""What verbs load first: the settings of a configuration, and the volumes of a split with their probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.acts.opening import opened
from fovnet.errors import ConfigError

if TYPE_CHECKING:
    from fovnet.bench.flip_and_shuffle import LabelledVolume
    from fovnet.config import Settings
    from fovnet.decision.rule import Rule
    from fovnet.regions import Vocabulary


def settings_of(config: Path) -> Settings:
    """The settings of a YAML file.  Raises ConfigError as `opened`."""
    return opened(config).settings


def scored_split(config: Path, split: str) -> tuple[list[LabelledVolume], Vocabulary, Rule]:
    """The labelled volumes of a split with the ensemble's probabilities, the vocabulary, and the decision rule; volumes can be
    scored again (`rerun`) if the networks' probabilities of a slice depend on its volume.

    Raises ConfigError "split-not-scored".
    """
    from fovnet.bench.flip_and_shuffle import LabelledVolume, rerun_of
    from fovnet.decision.ensemble import load
    from fovnet.decision.packed import SCORED, examples, stacks, subjects_of

    if split not in SCORED:
        known = " and the ".join(SCORED)
        raise ConfigError("split-not-scored", f"--split {split}: the ensemble scores the {known} split alone; name one of these")
    run = opened(config)
    pack, ensemble = run.pack, load(run.results.ensemble, run.settings.training.device)
    parts = zip(examples(pack, run.scored, split), stacks(pack, split), subjects_of(pack, split), strict=True)
    volumes = [
        LabelledVolume(one.probabilities, one.z_mm, one.truth, stack.pixels, rerun_of(ensemble, stack), subject)
        for one, stack, subject in parts
    ]
    return volumes, run.vocabulary, ensemble.rule
