"""
Before act 2, where search.learn_from names earlier searches: what they teach this one.
    NEEDS  their journals, or results folders
    GIVES  {RESULTS}/prior.safetensors
"""


rule learn:
    """Train small networks on the orders of losses that earlier searches found."""
    input: LESSONS
    output: f"{RESULTS}/prior.safetensors"
    params:
        settings=fingerprint_of("search", "training"),
        file=SETTINGS_FILE,
    log: f"{LOGS}/learn.txt"
    message: "Learning from {input}"
    shell: "fovnet search learn --config {params.file:q} 2> >(tee {log:q} >&2)"
