"""Prediction of an archive on one machine or a cluster: a table of contents.

    snakemake --snakefile workflow/predict.smk --configfile predict.yaml --cores 2          `configs/predict.yaml` has every setting

The tables and the index are those of one `fovnet predict`, byte for byte.
"""

from pathlib import Path

from snakemake.exceptions import WorkflowError

import fovnet.config.files      # by its full name: Snakemake defines `parse` and `config` here
from fovnet.config.prediction import Prediction
from fovnet.errors import ConfigError
from fovnet.workflow import shell_prefix

shell.prefix(shell_prefix())

try:
    GIVEN = ", ".join(map(str, workflow.overwrite_configfiles)) or "--config"
    SETTINGS = fovnet.config.files.parse_merged(Prediction, config, workflow.overwrite_configfiles, workflow.config_settings.config)
except ConfigError as error:
    raise WorkflowError(str(error)) from None
if SETTINGS.model != "shipped" and not Path(SETTINGS.model).is_dir():       # else every shard is tried thrice in vain
    raise WorkflowError(f"{GIVEN}: model: {SETTINGS.model}: no such folder; give the folder `ensemble` of a run, or shipped")

ANSWERS = SETTINGS.answers
TABLES = ["spans.tsv", *["index.html"] * SETTINGS.pages]        # answers.tsv beside them, if the networks answer region by region
SHARDS, LOGS = f"{ANSWERS}/shards", f"{ANSWERS}/shards/logs"


rule all:
    """The tables over the whole archive."""
    default_target: True
    input: [f"{ANSWERS}/{name}" for name in TABLES]


include: "rules/shards.smk"


onsuccess:
    if Path(ANSWERS, "spans.tsv").exists():             # else a part of the run was asked for
        print(f"\ntables  {ANSWERS}/answers.tsv  {ANSWERS}/spans.tsv" + f"\nindex   {ANSWERS}/index.html" * SETTINGS.pages)
