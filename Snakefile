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
from fovnet.results import SHIPPED_NETWORKS, Results

sys.setrecursionlimit(20000)    # Snakemake walks the graph recursively; long chains of jobs exceed Python's 1,000

try:
    GIVEN = ", ".join(map(str, workflow.overwrite_configfiles)) or "--config"
    SETTINGS = fovnet.config.parse(config, GIVEN)
    fovnet.config.refuse_file(SETTINGS, GIVEN)
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


GPUS = 0 if SETTINGS.training.device == "cpu" else 1      # what a training asks a cluster for; one without any refuses to be asked

CALIBRATION = [f"{RESULTS}/calibration.json"] if SETTINGS.search.speed == "measure" else []    # what prices the networks, else numbers

BEGUN = SHIPPED_NETWORKS if SETTINGS.training.begin == "shipped" else SETTINGS.training.begin          # whose networks trainings begin with
BEGUN = [path for path in [f"{BEGUN}/ensemble.json"] if Path(path).exists()]

SETTINGS_FILE = Path(RESULTS, "config.yaml")    # what the jobs read; not written by a dry run, beside which another run may be under way


HELD = []           # the lock on the results; Snakemake's own is on the folder it is started in, of which there may be two


if workflow.is_main_process and Path(RESULTS, "slices", "pixels.npy").exists():
    recorded = any(Path(".snakemake/metadata").glob("*"))
    if others := fovnet.config.changed_since(SETTINGS_FILE, SETTINGS, known=recorded):
        raise WorkflowError(f"{RESULTS}: was made elsewhere or by another name, so that Snakemake would not notice that these settings are "
                            f"others now: {', '.join(others)}. Run it where it was made, or remove {SETTINGS_FILE} and say where to begin: "
                            "--forcerun slice, search, ensemble, tune, evaluate or report.")


onstart:
    HELD.append(Results(Path(RESULTS)).held())
    fovnet.config.write_settings(SETTINGS_FILE, SETTINGS)


rule all:
    """The report, and all that it rests on: of a job that failed Snakemake removes what it was to make, and misses nothing but what is
    named here."""
    default_target: True
    input:
        [f"{RESULTS}/slices/{name}" for name in ("pixels.npy", "slices.npz", "volumes.json", "manifest.tsv")],
        f"{RESULTS}/search/trials.tsv",
        [f"{RESULTS}/ensemble/{name}" for name in ("ensemble.json", "weighing.json", "novelty.npz", "decision.json")],
        [f"{RESULTS}/{name}" for name in ("probabilities.npz", "decisions/spans.tsv", "evaluation/evaluation.json")],
        [f"{RESULTS}/{name}" for name in ("report.html", "report.json", "model-card.md")],


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
