"""
Act 6: report.
    NEEDS  everything before
    GIVES  {RESULTS}/report.html      one file, no network
           {RESULTS}/report.json      the same for programs; report-tables/ its tables as TSV
           {RESULTS}/model-card.md    the model card
"""


rule report:
    """One page with the answer first, then the evidence, then the method."""
    input:
        evaluation=f"{RESULTS}/evaluation/evaluation.json",
        trials=f"{RESULTS}/search/trials.tsv",
        ablation=[f"{RESULTS}/evaluation/ablation.json"] if SETTINGS.report.ablation else [],
    output:
        page=f"{RESULTS}/report.html",
        facts=f"{RESULTS}/report.json",
        card=f"{RESULTS}/model-card.md",
    params:
        settings=fingerprint_of(*SECTIONS),
        file=SETTINGS_FILE,
    log: f"{LOGS}/report.txt"
    message: "Writing the report"
    shell: "fovnet report --config {params.file:q} 2> >(tee {log:q} >&2)"
