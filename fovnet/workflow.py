"""What the Snakefile needs of a configuration: the settings each rule depends on, optional input
files, and changes Snakemake misses; and how its rules call fovnet."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from fovnet.config.models import Settings
from fovnet.config.regions import vocabulary
from fovnet.errors import ConfigError
from fovnet.records import digest
from fovnet.regions import simulated_chain
from fovnet.results import SHIPPED_NETWORKS, Results


def sections(settings: Settings) -> dict[str, Any]:
    """What a rule may depend on, by name: the sections of the settings with defaults filled in, and
    the vocabulary.

    A regions file counts by its content, since its name stays the same when that changes; colours
    are in the vocabulary only, so that a new colour does not repeat slicing.  People who are
    labelled with parts of regions depend on which these are.  Raises ConfigError as
    `fovnet.config.regions.vocabulary`.
    """
    configured_vocabulary = vocabulary(settings.regions)
    vocabulary_regions = configured_vocabulary.regions
    sections = {
        **settings.model_dump(mode="json"),
        "vocabulary": [asdict(region) for region in vocabulary_regions],
    }
    if configured_vocabulary.parts:
        sections["phantom"]["chain"] = simulated_chain(configured_vocabulary)
    if settings.regions != "default":
        sections["regions"] = [
            (region.name, region.rung, sorted(region.words)) for region in vocabulary_regions
        ]
    return sections


def shell_prefix() -> str:
    """What precedes the shell command of every rule: Snakemake's own `set`, which a prefix
    replaces, and `fovnet` as a function that calls the interpreter that runs the workflow.

    `.venv/bin/snakemake` thus runs without the environment activated, and no rule runs another
    fovnet that is earlier in PATH.  Not of the commands themselves, which Snakemake compares with
    those of earlier runs.  -P keeps modules in the working folder from being imported.  Braces are
    doubled for `shell.prefix`.
    """
    interpreter = shlex.quote(sys.executable).replace("{", "{{").replace("}", "}}")
    return f'set -euo pipefail; fovnet() {{{{ {interpreter} -P -m fovnet "$@"; }}}}; '


def fingerprint(sections: Mapping[str, Any], *names: str) -> str:
    """A hash of the sections of these names, independent of the order of the keys in the file.

    A rule has one for all that its verb uses: Snakemake (9.27) compares the values of `params` as a
    set, in which seed 1 becoming 8 is no change where 1 is also a number of volumes and 8 one of
    subjects.
    """
    return digest({name: sections[name] for name in names})


def gpus(settings: Settings) -> int:
    """GPUs that a training requests of a cluster; 0 on the CPU, as a cluster without GPUs refuses a
    request."""
    return int(settings.training.device != "cpu")


def calibration_files(settings: Settings) -> list[str]:
    """The calibration that gives the cost model its speeds; empty if the configuration gives them
    as numbers."""
    if settings.search.speed != "measure":
        return []
    return [f"{settings.results}/calibration.json"]


def jobs_journal(settings: Settings) -> Path:
    """The journal of a search whose slots are separate jobs."""
    return Results(Path(settings.results)).jobs_folder(digest(settings.settings_of_trials))


def warm_start_files(settings: Settings) -> list[str]:
    """The ensemble whose networks are trained further, if it exists; the verbs report a missing
    one."""
    if settings.training.begin is None:
        return []
    folder = settings.training.begin
    if folder == "shipped":
        folder = str(SHIPPED_NETWORKS)
    path = f"{folder}/ensemble.json"
    if not Path(path).exists():
        return []
    return [path]


def prior_files(settings: Settings) -> list[str]:
    """The file of what earlier searches taught, named or to be learned; empty without one.  Raises
    ConfigError "prior-missing" for a named one that is not there."""
    prior = settings.search.prior
    if not prior:
        if not settings.search.learn_from:
            return []
        return [str(Results(Path(settings.results)).prior)]
    if not Path(prior).exists():
        raise ConfigError(
            "prior-missing",
            f"search.prior: {prior} does not exist; `fovnet search learn JOURNAL... --config "
            f"CONFIG --out {prior}` makes it, or leave out search.prior.",
        )
    return [prior]


def lesson_files(settings: Settings) -> list[str]:
    """For each search to learn from, the file that identifies it.  Raises ConfigError
    "learn-sources" where there is none."""
    identifying_files = []
    for learned_folder in settings.search.learn_from:
        journal_file = Path(learned_folder, "search.json")
        results_file = Results(Path(learned_folder)).search / "current.json"
        if journal_file.exists():
            identifying_files.append(str(journal_file))
        elif results_file.exists():
            identifying_files.append(str(results_file))
        else:
            raise ConfigError(
                "learn-sources",
                f"search.learn_from: {learned_folder} has neither search.json nor search/current.json; "
                "give a journal, or a results folder whose search is done",
            )
    return identifying_files


def sentence_on_changes(settings_file: Path, settings: Settings, *, recorded: bool) -> str | None:
    """The sentence that stops a run whose settings differ from those that
    `fovnet.config.files.write_settings` left in a file, if Snakemake would not notice; None if it
    would, nothing has changed, or no readable settings were left.

    Snakemake compares its records by file name: it notices nothing if the files have another name
    now, or if it has no record (not `recorded`).
    """
    try:
        earlier_settings = yaml.safe_load(settings_file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    if (
        not isinstance(earlier_settings, dict)
        or "results" not in earlier_settings
        or (recorded and earlier_settings["results"] == settings.results)
    ):
        return None
    changed_keys = [
        setting
        for setting, setting_value in settings.model_dump(mode="json").items()
        if setting != "results" and earlier_settings.get(setting, setting_value) != setting_value
    ]
    if not changed_keys:
        return None
    return (
        f"{settings.results}: was made elsewhere or under another name, so Snakemake would not "
        f"notice that these settings have changed: {', '.join(changed_keys)}. Run it where it was "
        f"made, or remove {settings_file} and say where to begin: --forcerun slice, search, "
        "ensemble, tune, evaluate or report."
    )
