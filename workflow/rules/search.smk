"""
Act 2: search.
    NEEDS  {RESULTS}/slices/; {RESULTS}/calibration.json where search.speed is "measure"; {RESULTS}/prior.safetensors where
           search.learn_from names searches, or search.prior
    GIVES  {RESULTS}/search/    search.json, one slot-*.json a trial, networks/, trials.tsv when all are done
"""


rule search:
    """Train one network after another where the search expects most; a killed job resumes from its own journal."""
    input:
        pixels=f"{RESULTS}/slices/pixels.npy",
        slices=f"{RESULTS}/slices/slices.npz",
        volumes=f"{RESULTS}/slices/volumes.json",
        calibration=CALIBRATION,
        begun=WARM_START,
        prior=PRIOR,
    output: f"{RESULTS}/search/trials.tsv"
    params:
        settings=fingerprint_of("search", "training", "seed"),
        file=SETTINGS_FILE,
        method=SETTINGS.search.method,
        trials=SETTINGS.search.trials,
        workers=SETTINGS.search.workers,
    log: f"{LOGS}/search.txt"
    threads: SETTINGS.search.workers
    resources: gpu=GPUS
    message: "Searching with {params.method}: {params.trials} trials, {params.workers} at a time"
    shell: "fovnet search --config {params.file:q} 2> >(tee {log:q} >&2)"
