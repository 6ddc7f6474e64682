"""
Act 5: evaluate.
    NEEDS  {RESULTS}/decisions/, {RESULTS}/slices/
    GIVES  {RESULTS}/evaluation/    evaluation.json, rates.tsv, volumes.tsv, borders.tsv (parts.tsv where regions have parts); ablation.json and ablation.tsv unless report.ablation is false
"""


rule evaluate:
    """Compare the decisions on the test split with the truth; intervals by resampling subjects."""
    input: f"{RESULTS}/decisions/spans.tsv"
    output: f"{RESULTS}/evaluation/evaluation.json"
    params:
        settings=fingerprint_of("evaluate", "decision", "vocabulary", "seed"),
        file=SETTINGS_FILE,
        bootstrap=SETTINGS.evaluate.bootstrap,
    log: f"{LOGS}/evaluate.txt"
    message: "Evaluating on the test split, {params.bootstrap} resamples of its subjects"
    shell: "fovnet evaluate --config {params.file:q} 2> >(tee {log:q} >&2)"


rule ablate:
    """Measure what each step contributes, from the raw probabilities to the ensemble."""
    input:
        spans=f"{RESULTS}/decisions/spans.tsv",
        probabilities=f"{RESULTS}/probabilities.npz",
        trials=f"{RESULTS}/search/trials.tsv",
    output: f"{RESULTS}/evaluation/ablation.json"
    params:
        settings=fingerprint_of("evaluate", "decision", "training", "search", "vocabulary", "seed"),
        file=SETTINGS_FILE,
    log: f"{LOGS}/ablate.txt"
    threads: workflow.cores
    message: "Taking the decision, the ensemble and the network apart, step by step"
    shell: "fovnet ablate --config {params.file:q} 2> >(tee {log:q} >&2)"
