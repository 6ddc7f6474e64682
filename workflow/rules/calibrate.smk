"""
Before the search, if search.speed is "measure": calibrate the device.
    NEEDS  nothing but the device
    GIVES  {RESULTS}/calibration.json    rates of arithmetic, memory transfer and launches, fitted to short trainings of a few networks
"""


rule calibrate:
    """Measure the device for the predictions of the search; an existing calibration is kept."""
    output: update(f"{RESULTS}/calibration.json")      # update: without it, Snakemake removes the file before the job
    params:
        file=SETTINGS_FILE,
    log: f"{LOGS}/calibrate.txt"
    threads: 1
    resources: gpu=GPUS
    message: "Measuring the device with a few networks, for about a minute"
    shell: "fovnet calibrate --config {params.file:q} 2> >(tee {log:q} >&2)"
