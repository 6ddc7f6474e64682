"""
Prediction, shard by shard (workflow/predict.smk).
    NEEDS  the volumes under `paths`
    GIVES  {ANSWERS}/    a JSON, a picture and a page a volume; spans.tsv, answers.tsv, index.html; shards/

Which shards there are is known only once the archive is listed, so the survey is a checkpoint.  It is made in every run, to see what
came, changed or went; the lists of shards in which nothing did keep their bytes and their times, and Snakemake repeats none of those.
"""

import time

from fovnet._version import __version__

DRAWN = [f"--{'' if getattr(SETTINGS, name) else 'no-'}{name}" for name in ("pictures", "pages", "faces")]
INCLUDED = "--include=" + ",".join(SETTINGS.include)        # one word: Snakemake quotes an empty one as nothing
WHOLE = [INCLUDED, f"--{'' if SETTINGS.show_ids else 'no-'}show-ids", "--model", SETTINGS.model, *DRAWN]


wildcard_constraints:
    shard=r"\d\d\d\d+"


def rows_of_all_shards(_):
    """The rows of every shard that the survey listed, and what was found beside the volumes."""
    from fovnet.volume.sources.shards import read_survey        # here, as it costs every job of a cluster 0.4 s

    checkpoints.survey.get()
    found = [f"{ANSWERS}/found.json"] if Path(ANSWERS, "found.json").exists() else []
    return [f"{SHARDS}/rows-{number:04d}.jsonl" for number in read_survey(Path(ANSWERS)).shard_numbers] + found


checkpoint survey:
    """List the volumes of the archive, and cut the list into shards of about equal work."""
    output: f"{SHARDS}/survey.json"
    params:
        paths=SETTINGS.paths,
        answers=ANSWERS,
        volumes=SETTINGS.volumes_per_shard,
        options=WHOLE,
        asked=time.time(),          # another in every run
    log: f"{LOGS}/survey.txt"
    message: "Listing the volumes under {params.paths}"
    shell:
        "fovnet shard survey {params.paths:q} --out {params.answers:q} --volumes {params.volumes}"
        " {params.options:q} 2> >(tee {log:q} >&2)"


rule answer:
    """Answer one shard; killed, it goes on from the volumes that have an answer.  Status 3 means that some were refused and the rest was
    done."""
    input: f"{SHARDS}/shard-{{shard}}.jsonl"
    output: f"{SHARDS}/rows-{{shard}}.jsonl"
    params:
        answers=ANSWERS,
        model=SETTINGS.model,
        drawn=DRAWN,
        fovnet=__version__,
        computed=["--device", SETTINGS.device, "--engine", SETTINGS.engine],
    log: f"{LOGS}/shard-{{shard}}.txt"
    threads: SETTINGS.workers
    retries: 2      # for jobs that die with their node; what they had answered is kept
    resources: gpu=int(SETTINGS.device == "cuda")
    message: "Answering shard {wildcards.shard}"
    shell:
        "fovnet shard answer {params.answers:q} --shard {wildcards.shard} --model {params.model:q} {params.drawn} {params.computed}"
        " --workers {threads} 2> >(tee {log:q} >&2) || test $? = 3"


rule merge:
    """Write the tables and the index over all shards.  Status 3 means that some were refused and the rest was done."""
    input: rows_of_all_shards
    output: [f"{ANSWERS}/{name}" for name in TABLES]
    params:
        answers=ANSWERS,
        model=SETTINGS.model,
        pages=DRAWN[1],
    log: f"{LOGS}/merge.txt"
    message: "Merging the answers in {params.answers}"
    shell: "fovnet shard merge {params.answers:q} --model {params.model:q} {params.pages} 2> >(tee {log:q} >&2) || test $? = 3"
