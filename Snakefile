"""fovnet from volumes to a report: a table of contents.

    snakemake --cores 2 --configfile configs/demo.yaml          everything, on a simulated collection
    snakemake --cores 2 --configfile configs/demo.yaml -n       what would be done
    snakemake --list --configfile configs/demo.yaml             the acts, and what each does
"""

include: "workflow/rules/common.smk"


rule all:
    """The report and everything it needs: Snakemake removes the outputs of a failed job, and notices only the absence of what is named here."""
    default_target: True
    input:
        [f"{RESULTS}/slices/{name}" for name in ("pixels.npy", "slices.npz", "volumes.json", "manifest.tsv")],
        f"{RESULTS}/search/trials.tsv",
        [f"{RESULTS}/ensemble/{name}" for name in ("ensemble.json", "weighing.json", "novelty.npz", "decision.json")],
        [f"{RESULTS}/{name}" for name in ("probabilities.npz", "decisions/spans.tsv", "evaluation/evaluation.json")],
        [f"{RESULTS}/{name}" for name in ("report.html", "report.json", "model-card.md")],


include: "workflow/rules/prepare.smk"
include: "workflow/rules/calibrate.smk"
include: "workflow/rules/learn.smk"
include: "workflow/rules/slots.smk" if SETTINGS.search.jobs else "workflow/rules/search.smk"
include: "workflow/rules/ensemble.smk"
include: "workflow/rules/decide.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/adapt.smk"


onsuccess:
    if Path(RESULTS, "report.html").exists():           # else a part of the run was asked for
        print(f"""
report          {RESULTS}/report.html
tables          {RESULTS}/evaluation/rates.tsv  {RESULTS}/evaluation/volumes.tsv  {RESULTS}/decisions/spans.tsv
ensemble        {RESULTS}/ensemble   ({predicting(Path(RESULTS, "ensemble"))})
""")
