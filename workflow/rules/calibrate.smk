"""
Before the search, where search.speed is "measure": the device.
    NEEDS  nothing but the device
    GIVES  {RESULTS}/calibration.json    what it computes, moves and launches in a second, fitted to a few networks trained for a moment
"""


rule calibrate:
    """Measure the device for the predictions of the search; a calibration that is there is kept, whatever asks for it."""
    output: update(f"{RESULTS}/calibration.json")      # update: Snakemake would remove it before the job
    params:
        file=SETTINGS_FILE,
    log: f"{LOGS}/calibrate.txt"
    threads: 1
    resources: gpu=GPUS
    message: "Measuring the device with a few networks, for about a minute"
    shell: "fovnet calibrate --config {params.file:q} 2> >(tee {log:q} >&2)"
