"""
What all acts share: the settings and what rules depend on of them, where results and logs lie, and the lock on the results.
"""

import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

import fovnet.config        # by its full name: `parse` and `config` are Snakemake's own words here
from fovnet.errors import ConfigError
from fovnet.results import Results
from fovnet.workflow import calibration_files, fingerprint, gpus, sections, unnoticed_changes, warm_start_files

sys.setrecursionlimit(20000)    # Snakemake walks the graph recursively; long chains of jobs exceed Python's 1,000

try:
    GIVEN = ", ".join(map(str, workflow.overwrite_configfiles)) or "--config"
    SETTINGS = fovnet.config.parse(config, GIVEN)
    fovnet.config.refuse_file(SETTINGS, GIVEN)
    SECTIONS = sections(SETTINGS)
except ConfigError as error:
    raise WorkflowError(str(error)) from None

RESULTS = SETTINGS.results
LOGS = f"{RESULTS}/logs"
SETTINGS_FILE = Path(RESULTS, "config.yaml")    # what the jobs read; not written by a dry run, beside which another run may be under way
GPUS, CALIBRATION, WARM_START = gpus(SETTINGS), calibration_files(SETTINGS), warm_start_files(SETTINGS)
HELD = []           # the lock on the results; Snakemake's own is on the folder it is started in, of which there may be two


def fingerprint_of(*names):
    """What a rule depends on: a hash of its own sections of the settings."""
    return fingerprint(SECTIONS, *names)


if workflow.is_main_process and Path(RESULTS, "slices", "pixels.npy").exists():
    if told := unnoticed_changes(SETTINGS_FILE, SETTINGS, recorded=any(Path(".snakemake/metadata").glob("*"))):
        raise WorkflowError(told)


onstart:
    HELD.append(Results(Path(RESULTS)).held())
    fovnet.config.write_settings(SETTINGS_FILE, SETTINGS)
