"""
Act 4: decide.
    NEEDS  {RESULTS}/probabilities.npz, {RESULTS}/ensemble/ensemble.json, {RESULTS}/slices/
    GIVES  {RESULTS}/ensemble/decision.json;    {RESULTS}/decisions/    spans.tsv and one JSON per volume, of the test split
"""


rule tune:
    """Choose temperature, smoothing and thresholds on the validation split."""
    input:
        facts=f"{RESULTS}/ensemble/ensemble.json",
        probabilities=f"{RESULTS}/probabilities.npz",
    output: f"{RESULTS}/ensemble/decision.json"
    params:
        settings=fingerprint_of("decision", "vocabulary", "seed"),
        file=SETTINGS_FILE,
    log: f"{LOGS}/tune.txt"
    message: "Tuning the decision on the validation split"
    shell: "fovnet tune --config {params.file:q} 2> >(tee {log:q} >&2)"


rule decide:
    """From the test split's slice probabilities to spans.  Status 3 means that some were refused and the rest was done."""
    input:
        rule=f"{RESULTS}/ensemble/decision.json",
        probabilities=f"{RESULTS}/probabilities.npz",
    output: f"{RESULTS}/decisions/spans.tsv"
    params:
        settings=fingerprint_of("decision", "vocabulary", "seed"),
        file=SETTINGS_FILE,
    log: f"{LOGS}/decide.txt"
    message: "Deciding on the volumes of the test split"
    shell: "fovnet decide --config {params.file:q} 2> >(tee {log:q} >&2) || test $? = 3"
