"""What the Snakefile needs of a configuration: what each rule depends on, the files that some need, and what Snakemake would not notice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from fovnet.config import Settings, vocabulary
from fovnet.records import digest
from fovnet.results import SHIPPED_NETWORKS


def sections(settings: Settings) -> dict[str, Any]:
    """What a rule may depend on, by name: the sections of the settings, defaults filled in, and the vocabulary.

    A file of regions counts by its content, for its name stays where that changes; a colour alone cuts no slices again, and is in the
    vocabulary only.  Raises ConfigError as `fovnet.config.vocabulary`.
    """
    regions = vocabulary(settings.regions).regions
    whole = {**settings.model_dump(mode="json"), "vocabulary": [asdict(region) for region in regions]}
    if settings.regions != "default":
        whole["regions"] = [(region.name, region.rung, sorted(region.words)) for region in regions]
    return whole


def fingerprint(sections: Mapping[str, Any], *names: str) -> str:
    """A hash of the sections of these names, independent of the order of the keys in the file."""
    return digest({name: sections[name] for name in names})


def gpus(settings: Settings) -> int:
    """GPUs that a training requests of a cluster; 0 on the CPU, for a cluster without any refuses a request."""
    return 0 if settings.training.device == "cpu" else 1


def calibration_files(settings: Settings) -> list[str]:
    """What prices the networks; none where numbers do."""
    return [f"{settings.results}/calibration.json"] if settings.search.speed == "measure" else []


def warm_start_files(settings: Settings) -> list[str]:
    """The ensemble whose networks trainings begin with, where there is one; a missing one is reported by the verbs."""
    folder = SHIPPED_NETWORKS if settings.training.begin == "shipped" else settings.training.begin
    return [path for path in [f"{folder}/ensemble.json"] if Path(path).exists()]


def unnoticed_changes(settings_file: Path, settings: Settings, *, recorded: bool) -> str | None:
    """The sentence that stops a run whose settings are others than `fovnet.config.write_settings` left in a file, where Snakemake would not
    notice; None where it would, nothing has changed, or nothing that can be read was left.

    Snakemake compares what it has recorded by the names of files: nothing is noticed where they have another name now, or where it has no
    record (not `recorded`).
    """
    try:
        made = yaml.safe_load(settings_file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    if not isinstance(made, dict) or "results" not in made or (recorded and made["results"] == settings.results):
        return None
    others = [key for key, value in settings.model_dump(mode="json").items() if key != "results" and made.get(key, value) != value]
    return None if not others else (
        f"{settings.results}: was made elsewhere or by another name, so that Snakemake would not notice that these settings are "
        f"others now: {', '.join(others)}. Run it where it was made, or remove {settings_file} and say where to begin: "
        "--forcerun slice, search, ensemble, tune, evaluate or report."
    )
