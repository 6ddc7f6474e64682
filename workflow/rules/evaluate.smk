"""
Act 5: evaluate.
    NEEDS  {RESULTS}/decisions/, {RESULTS}/slices/
    GIVES  {RESULTS}/evaluation/    evaluation.json, rates.tsv, volumes.tsv
"""


rule evaluate:
    """Compare what was said of the test split with what is true; intervals by resampling subjects."""
    input: f"{RESULTS}/decisions/spans.tsv"
    output: f"{RESULTS}/evaluation/evaluation.json"
    params:
        settings=settings_of("evaluate"),
        file=SETTINGS_FILE,
        bootstrap=SETTINGS.evaluate.bootstrap,
    log: f"{LOGS}/evaluate.txt"
    message: "Evaluating on the test split, {params.bootstrap} resamples of its subjects"
    shell: "fovnet evaluate --config {params.file:q} 2> >(tee {log:q} >&2)"
