"""
Act 1: prepare.
    NEEDS  the collections of the configuration (volumes.tsv, regions.tsv), or nothing: the phantom makes its own
    GIVES  {RESULTS}/slices/    pixels.npy, slices.npz, volumes.json, manifest.tsv (with the subject-wise split)
"""


from fovnet.commands import simulated_vocabulary
from fovnet.volume.collection.changed import stamp_collections

OWN_TABLES = [place if place.is_file() else place / "volumes.tsv" for place in map(Path, SETTINGS.collections.values())]


def collection_tables(_):
    """The tables of all collections, the user's own and the simulated one: a change repeats the job.  A collection is a folder or a
    table in it."""
    own = [str(path) for table in OWN_TABLES for path in (table, table.parent / "regions.tsv")]
    simulated = [f"{RESULTS}/phantom/volumes.tsv"] if SETTINGS.phantom.subjects else []
    return [table for table in own if Path(table).exists()] + simulated


rule phantom:
    """Simulate a collection of MRI volumes of whole bodies and parts of them."""
    output:
        volumes=f"{RESULTS}/phantom/volumes.tsv",
        regions=f"{RESULTS}/phantom/regions.tsv",
    params:
        settings=fingerprint_of("phantom", "seed"),
        seed=SETTINGS.seed,
        folder=f"{RESULTS}/phantom",
        subjects=SETTINGS.phantom.subjects,
        volumes=SETTINGS.phantom.volumes_per_subject,
        without=[word for name in SETTINGS.phantom.without for word in ("--without", name)],
        vocabulary=simulated_vocabulary(SETTINGS),
    log: f"{LOGS}/phantom.txt"
    threads: workflow.cores
    message: "Simulating {params.subjects} subjects with {params.volumes} volumes each"
    shell:
        "fovnet phantom {params.folder:q} --subjects {params.subjects} --volumes {params.volumes}"
        " --seed {params.seed} {params.without:q} {params.vocabulary:q} --workers {threads} 2> >(tee {log:q} >&2)"


rule slice:
    """Cut every volume into axial slices; split the subjects.  Status 3 means that some were refused and the rest was done."""
    input:
        tables=collection_tables,
        key=[path for path in [f"{RESULTS}/identifiers.key"] if Path(path).exists()],       # a new key changes the hashes of the ids
    output:
        pixels=f"{RESULTS}/slices/pixels.npy",
        slices=f"{RESULTS}/slices/slices.npz",
        volumes=f"{RESULTS}/slices/volumes.json",
        manifest=f"{RESULTS}/slices/manifest.tsv",
    params:
        settings=fingerprint_of("prepare", "collections", "regions", "identifiers", "seed"),
        volumes=lambda _: stamp_collections(OWN_TABLES),     # changed volumes are sliced again, the others come from the cache
        file=SETTINGS_FILE,
    log: f"{LOGS}/slice.txt"
    threads: workflow.cores
    message: "Cutting the volumes of {input.tables} into slices"
    shell: "fovnet slice --config {params.file:q} --workers {threads} 2> >(tee {log:q} >&2) || test $? = 3"
