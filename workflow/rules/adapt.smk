"""
Beside the acts: adapt.
    NEEDS  {RESULTS}/slices/ of five labelled subjects or more and of simulated people, the networks of `training.begin`
    GIVES  {RESULTS}/adapted.json, {RESULTS}/gains.tsv, {RESULTS}/ensemble/
"""


rule adapt:
    """Networks fitted to few labelled volumes, cross-validated; ask for it by name, as it takes the place of search to decide."""
    input:
        volumes=f"{RESULTS}/slices/volumes.json",
        begun=WARM_START,
    output: f"{RESULTS}/adapted.json"
    params:
        settings=fingerprint_of("seed", "training", "ensemble", "prepare", "decision", "evaluate", "vocabulary"),
        file=SETTINGS_FILE,
    threads: workflow.cores
    log: f"{LOGS}/adapt.txt"
    message: "Adapting networks to the labelled volumes"
    shell: "fovnet adapt --config {params.file:q} --workers {threads} 2> >(tee {log:q} >&2)"
