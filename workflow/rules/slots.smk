"""
Act 2, for clusters (search.jobs: true): the search of search.smk with one job per slot.
    NEEDS  {RESULTS}/slices/; {RESULTS}/calibration.json where search.speed is "measure"
    GIVES  {RESULTS}/search/jobs-*/    search.json, one proposal-*.json and slot-*.json a trial, networks/;    {RESULTS}/search/trials.tsv

Which slots a proposal depends on, and how many slots there are, is known only from the proposals before it, so every proposal is a
checkpoint.
"""

from snakemake.exceptions import IncompleteCheckpointException

from fovnet.search.jobs.proposals import is_within_budget, read_proposal, slots_awaited
from fovnet.workflow import jobs_journal

JOURNAL = jobs_journal(SETTINGS)


localrules: propose, gather


def what_it_waits_for(wildcards):
    """The previous proposal, and the slots that, by the virtual clock, must have finished since then."""
    slot = int(wildcards.slot)
    if slot == 0:
        return []
    before = checkpoints.propose.get(slot=f"{slot - 1:04d}").output[0]
    return [before, *(f"{JOURNAL}/slot-{seen:04d}.json" for seen in slots_awaited(JOURNAL, slot))]


def slots_so_far(_):
    """The slots of all proposals made and, until the search ends, the next proposal; evaluated again after every proposal."""
    checkpoints.begin.get()
    slots, proposals = [], []
    while is_within_budget(JOURNAL, proposals, SETTINGS.search.trials):
        slot = len(slots)
        try:
            checkpoints.propose.get(slot=f"{slot:04d}")
        except IncompleteCheckpointException as coming:
            return [*slots, coming.targetfile]      # if raised, it would prevent slots from being trained in parallel
        decided = read_proposal(JOURNAL, slot)
        if isinstance(decided, str):                # the search ends before this slot
            break
        slots.append(f"{JOURNAL}/slot-{slot:04d}.json")
        proposals.append(decided)
    return slots


checkpoint begin:
    """Make all decisions before the first slot.

    Repeated where more trials are asked for, or the slices were cut anew.  Where it then decides the same, no slot is repeated: this is
    why it is a checkpoint, and why nothing depends on its larger files, whose content Snakemake would not compare.
    """
    input:
        pixels=f"{RESULTS}/slices/pixels.npy",
        slices=f"{RESULTS}/slices/slices.npz",
        volumes=f"{RESULTS}/slices/volumes.json",
        calibration=CALIBRATION,
        begun=WARM_START,
        prior=PRIOR,
    output:
        facts=f"{JOURNAL}/search.json",
        arrays=f"{JOURNAL}/search.npz",
        rows=f"{JOURNAL}/rows.npz",
    params:
        settings=fingerprint_of("search", "training", "seed"),
        file=SETTINGS_FILE,
        trials=SETTINGS.search.trials,
    log: f"{LOGS}/slots/begin.txt"
    message: "Beginning a search of {params.trials} trials"
    shell: "fovnet slot begin --config {params.file:q} 2> >(tee {log:q} >&2)"


checkpoint propose:
    """Decide what a slot trains, from the slots that it must have seen."""
    input:
        facts=f"{JOURNAL}/search.json",
        seen=what_it_waits_for,
    output: f"{JOURNAL}/proposal-{{slot}}.json"
    params:
        stop=SETTINGS.search.stop_below_regret,
        file=SETTINGS_FILE,
    log: f"{LOGS}/slots/propose-{{slot}}.txt"
    message: "Proposing slot {wildcards.slot}"
    wildcard_constraints: slot=r"\d\d\d\d+"
    shell: "fovnet slot propose --config {params.file:q} --slot {wildcards.slot} 2> >(tee {log:q} >&2)"


rule train:
    """Train what a slot proposes; a training that fails because of its configuration is a finished slot."""
    input: f"{JOURNAL}/proposal-{{slot}}.json"
    output: f"{JOURNAL}/slot-{{slot}}.json"
    params:
        file=SETTINGS_FILE,
    log: f"{LOGS}/slots/train-{{slot}}.txt"
    threads: 1
    retries: 2      # for jobs that die without an outcome, perhaps with their node; a slot with an outcome is never repeated
    resources: gpu=GPUS
    message: "Training slot {wildcards.slot}"
    wildcard_constraints: slot=r"\d\d\d\d+"
    shell: "fovnet slot train --config {params.file:q} --slot {wildcards.slot} 2> >(tee {log:q} >&2)"


rule gather:
    """Gather the trials, once no slot is left to be proposed or trained."""
    input: slots_so_far
    output: f"{RESULTS}/search/trials.tsv"
    params:
        settings=fingerprint_of("search", "training", "seed"),
        file=SETTINGS_FILE,
    log: f"{LOGS}/search.txt"
    message: "Gathering the trials of the search"
    shell: "fovnet slot gather --config {params.file:q} 2> >(tee {log:q} >&2)"
