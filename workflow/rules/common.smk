"""
Shared by all acts: the settings and their hashes for rules, the folders of results and logs, and the lock on the results.
"""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

import fovnet.config.files      # by its full name: Snakemake defines `parse` and `config` here
from fovnet.commands import predicting
from fovnet.config.models import Settings
from fovnet.errors import ConfigError
from fovnet.results import Results
from fovnet.workflow import (
    calibration_files, fingerprint, gpus, lesson_files, prior_files, sections, sentence_on_changes, shell_prefix, warm_start_files,
)

shell.prefix(shell_prefix())
sys.setrecursionlimit(20000)    # Snakemake traverses the graph recursively; long chains of jobs exceed Python's 1,000

try:
    GIVEN = ", ".join(map(str, workflow.overwrite_configfiles)) or "--config"
    SETTINGS = fovnet.config.files.parse_merged(Settings, config, workflow.overwrite_configfiles, workflow.config_settings.config)
    fovnet.config.files.refuse_file(SETTINGS, GIVEN)
    SECTIONS, PRIOR, LESSONS = sections(SETTINGS), prior_files(SETTINGS), lesson_files(SETTINGS)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

RESULTS = SETTINGS.results
LOGS = f"{RESULTS}/logs"
SETTINGS_FILE = Path(RESULTS, "config.yaml")    # read by the jobs; a dry run does not write it, as another run may be in progress
GPUS, CALIBRATION, WARM_START = gpus(SETTINGS), calibration_files(SETTINGS), warm_start_files(SETTINGS)
HELD = []           # the lock on the results; Snakemake locks only its working folder, and two runs may have different ones


def fingerprint_of(*names):
    """A hash of the sections of the settings that a rule depends on."""
    return fingerprint(SECTIONS, *names)


if workflow.is_main_process and Path(RESULTS, "slices", "pixels.npy").exists():
    if changed := sentence_on_changes(SETTINGS_FILE, SETTINGS, recorded=any(Path(".snakemake/metadata").glob("*"))):
        raise WorkflowError(changed)


onstart:
    HELD.append(Results(Path(RESULTS)).take_lock())
    fovnet.config.files.write_settings(SETTINGS_FILE, SETTINGS)
