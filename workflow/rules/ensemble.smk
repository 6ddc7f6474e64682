"""
Act 3: ensemble.
    NEEDS  {RESULTS}/search/trials.tsv and the networks beside it; {RESULTS}/slices/
    GIVES  {RESULTS}/ensemble/    ensemble.json, member-*.safetensors, weighing.json, novelty.npz, and with many volumes
                                  orientation.safetensors;    {RESULTS}/probabilities.npz
"""


rule ensemble:
    """The best trials' networks become members; their predictions on the validation and test slices are computed once."""
    input:
        trials=f"{RESULTS}/search/trials.tsv",
        pixels=f"{RESULTS}/slices/pixels.npy",
        begun=WARM_START,
    output:
        facts=f"{RESULTS}/ensemble/ensemble.json",
        weighing=f"{RESULTS}/ensemble/weighing.json",
        novelty=f"{RESULTS}/ensemble/novelty.npz",
        probabilities=f"{RESULTS}/probabilities.npz",
    params:
        settings=fingerprint_of("ensemble", "training", "prepare", "vocabulary", "seed"),
        file=SETTINGS_FILE,
        members=SETTINGS.ensemble.members,
    log: f"{LOGS}/ensemble.txt"
    threads: workflow.cores
    message: "Taking the {params.members} best networks as members"
    shell: "fovnet ensemble --config {params.file:q} 2> >(tee {log:q} >&2)"
