"""fovnet from volumes to a report: a table of contents.

    snakemake --cores 2 --configfile configs/demo.yaml          everything, on a simulated collection
    snakemake --cores 2 --configfile configs/demo.yaml -n       what would be done
    snakemake --list --configfile configs/demo.yaml             the acts, and what each does
"""

import sys
from dataclasses import asdict
from pathlib import Path

from snakemake.exceptions import WorkflowError

import fovnet.config        # by its full name: `parse` and `config` are Snakemake's own words here
from fovnet.errors import ConfigError
from fovnet.records import digest
from fovnet.results import Results

sys.setrecursionlimit(20000)    # Snakemake walks the graph recursively; long chains of jobs exceed Python's 1,000

try:
    SETTINGS = fovnet.config.parse(config, ", ".join(map(str, workflow.overwrite_configfiles)) or "--config")
    REGIONS = fovnet.config.vocabulary(SETTINGS.regions).regions
except ConfigError as error:
    raise WorkflowError(str(error)) from None

RESULTS = SETTINGS.results
LOGS = f"{RESULTS}/logs"
WHOLE = {**SETTINGS.model_dump(mode="json"), "vocabulary": [asdict(region) for region in REGIONS]}
if SETTINGS.regions != "default":       # the file's name stays where its content changes; a colour alone cuts no slices again
    WHOLE["regions"] = [(region.name, region.rung, sorted(region.words)) for region in REGIONS]


def settings_of(*sections):
    """What a rule depends on: a hash of its own sections, defaults filled in, whatever the order of the keys in the file."""
    return digest({section: WHOLE[section] for section in sections})


CALIBRATION = [f"{RESULTS}/calibration.json"] if SETTINGS.search.speed == "measure" else []    # what prices the networks, else numbers

BEGUN = [path for path in [f"{SETTINGS.training.begin}/ensemble.json"] if Path(path).exists()]    # whose networks trainings begin with

SETTINGS_FILE = Path(RESULTS, "config.yaml")    # what the jobs read; not written by a dry run, beside which another run may be under way


onstart:
    fovnet.config.write_settings(SETTINGS_FILE, SETTINGS)


rule all:
    """The report, and the tables behind it."""
    default_target: True
    input:
        report=f"{RESULTS}/report.html",
        spans=f"{RESULTS}/decisions/spans.tsv",


include: "workflow/rules/prepare.smk"
include: "workflow/rules/calibrate.smk"
include: "workflow/rules/slots.smk" if SETTINGS.search.jobs else "workflow/rules/search.smk"
include: "workflow/rules/ensemble.smk"
include: "workflow/rules/decide.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/report.smk"


onsuccess:
    if Path(RESULTS, "report.html").exists():           # else a part of the run was asked for
        print(f"""
report          {RESULTS}/report.html
tables          {RESULTS}/evaluation/rates.tsv  {RESULTS}/evaluation/volumes.tsv  {RESULTS}/decisions/spans.tsv
ensemble        {RESULTS}/ensemble   (fovnet predict FILES --model {RESULTS}/ensemble --out answers)
""")
