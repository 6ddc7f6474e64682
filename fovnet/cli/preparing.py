"""Simulation of collections, and slicing of volumes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fovnet.acts.opening import open_run
from fovnet.acts.prepare import cut_slices
from fovnet.cli.options import (
    WITHOUT_HELP,
    ConfigFile,
    PathOption,
    Workers,
    folder_to_fill,
    path_of_word,
)
from fovnet.cli.screen import err, out, progress_bar
from fovnet.config import regions as configured_regions
from fovnet.errors import ConfigError
from fovnet.phantom.collection import count_unlisted, simulate_collection
from fovnet.phantom.features import parse_features_left_out
from fovnet.phantom.own_labels import count_volumes_of, read_labels, simulate_labels
from fovnet.records import read_tsv
from fovnet.regions import DEFAULT, simulated_chain
from fovnet.volume.collection.table_rows import find_region_of_table, is_valid_file_name
from fovnet.words import several

verbs = typer.Typer()
DEFAULT_SUBJECTS = 8
DEFAULT_VOLUMES_PER_SUBJECT = 3
DEFAULT_VOLUMES_OF_LABELS = 20
People = Annotated[int | None, typer.Option(min=1, help="Else 8.")]
VolumesOfEach = Annotated[
    int | None, typer.Option(min=1, help="Volumes of each subject; default: 3.")
]
Without = Annotated[list[str] | None, typer.Option("--without", help=WITHOUT_HELP)]
Segmentation = Annotated[
    Path | None,
    PathOption("--from", help="Simulate scans of your own segmentation instead: a label volume."),
]
TissueTable = Annotated[
    Path | None, PathOption(help="Its labels: a TSV of label, tissue (or pd, t1_ms, t2_ms).")
]
RegionTable = Annotated[
    Path | None, PathOption(help="Its regions: a TSV of region, from_mm, to_mm (or slices).")
]
VolumesOfLabels = Annotated[
    int | None, typer.Option(min=1, help="Number of volumes to simulate from it; default: 20.")
]
CollectionFolder = Annotated[
    Path,
    typer.Argument(
        callback=folder_to_fill,
        parser=path_of_word,
        metavar="FOLDER",
        help="Where volumes.tsv, regions.tsv and volumes/ are written.",
    ),
]
Scanner = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Image everybody on one scanner, drawn by this seed: three sequences with contrasts, a coil and "
        "noise of its own, such as an archive of one site has.",
    ),
]
VocabularyName = Annotated[
    str,
    typer.Option(
        help="Label the parts of regions that it has: default (none), nine, or a YAML file, as "
        "`regions` of a configuration."
    ),
]
SubjectId = Annotated[
    str,
    typer.Option(
        help="The subject_id of its person; default: the file name. Other subjects in the "
        "folder are kept."
    ),
]


@verbs.command()
def phantom(
    folder: CollectionFolder,
    subjects: People = None,
    volumes: VolumesOfEach = None,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    workers: Workers = 1,
    without: Without = None,
    labels: Segmentation = None,
    tissues: TissueTable = None,
    regions: RegionTable = None,
    count: VolumesOfLabels = None,
    scanner: Scanner = None,
    vocabulary: VocabularyName = "default",
    subject: SubjectId = "",
) -> None:
    """Simulate a labelled collection of MRI volumes of whole bodies and body parts, or of your own
    segmentation.

    The table of --tissues has one row per label, with columns label and tissue
    (such as 0 air, 1 muscle, 5 liver), or label, pd, t1_ms and t2_ms; that of
    --regions has columns region, from_mm and to_mm. Each segmentation is one subject: for several, run the
    command once for each, with the same folder.
    """
    parse_features_left_out(without or (), "--without")
    if labels is not None:
        is_of_people = subjects or volumes or workers > 1 or scanner is not None
        if is_of_people or vocabulary != "default":
            raise ConfigError(
                "phantom-from",
                f"--from {labels}: is one subject, scanned in one process; set the number of volumes with "
                "--count, and leave out --subjects, --volumes, --workers, --scanner and --vocabulary",
            )
        _simulate_labels(
            folder,
            labels,
            tissues,
            regions,
            subject,
            count=count or DEFAULT_VOLUMES_OF_LABELS,
            seed=seed,
            without=without or [],
        )
        return
    _refuse_options_of_labels(tissues, regions, subject, count)
    _simulate_people(
        folder,
        subjects or DEFAULT_SUBJECTS,
        volumes or DEFAULT_VOLUMES_PER_SUBJECT,
        seed=seed,
        workers=workers,
        without=without or [],
        scanner=scanner,
        chain=simulated_chain(configured_regions.vocabulary(vocabulary)),
    )


def _refuse_options_of_labels(
    tissues: Path | None, regions: Path | None, subject: str, count: int | None
) -> None:
    """Raises ConfigError "phantom-from" for an option of a segmentation, where none is given."""
    stray_options: list[object] = [path for path in (tissues, regions) if path is not None]
    if subject:
        stray_options.append(f"--subject {subject}")
    if count:
        stray_options.append(f"--count {count}")
    if stray_options:
        raise ConfigError(
            "phantom-from",
            f"{stray_options[0]}: describes a segmentation, but none is given; name it with --from, or leave out "
            f"{stray_options[0]}",
        )


def _simulate_people(
    folder: Path,
    subjects: int,
    volumes_per_subject: int,
    *,
    seed: int,
    workers: int,
    without: list[str],
    scanner: int | None,
    chain: tuple[str, ...],
) -> None:
    """Makes the collection in `folder` of simulated people alone: `without` these features, labelled
    with the regions of this chain, from one scanner or (None) from many."""
    with progress_bar("simulating") as advance:
        volumes_table = simulate_collection(
            folder,
            subjects=subjects,
            volumes_per_subject=volumes_per_subject,
            seed=seed,
            workers=workers,
            without=without,
            scanner=scanner,
            chain=chain,
            progress=advance,
        )
    unlisted_count = count_unlisted(volumes_table)
    if unlisted_count:
        err.print(
            f"{folder}: {several(unlisted_count, 'volume')} of an earlier simulation, no longer in the "
            "tables, remain in its folder volumes"
        )
    volumes_in_words = several(subjects * volumes_per_subject, "volume")
    out.print(f"{volumes_in_words} of {several(subjects, 'subject')}: {volumes_table}")


def _simulate_labels(
    folder: Path,
    labels: Path,
    tissues: Path | None,
    regions: Path | None,
    subject: str,
    *,
    count: int,
    seed: int,
    without: list[str],
) -> None:
    """Adds simulated scans of one segmentation to the collection in `folder`, replacing those of
    the same subject."""
    if subject and not is_valid_file_name(subject):
        raise ConfigError(
            "phantom-subject",
            f"--subject {subject!r}: becomes part of file names; give a name without slashes that does not "
            "begin with a dot",
        )
    if not labels.exists():
        raise ConfigError("phantom-labels", f"--from {labels}: no such file; give a label volume")
    if tissues is None:
        raise ConfigError(
            "phantom-tissues",
            f"--from {labels}: also give --tissues, a TSV of the tissue of each label (label, tissue)",
        )
    with progress_bar("simulating") as advance:
        segmentation = read_labels(labels, tissues, regions, subject)
        replaced_count = count_volumes_of(folder, segmentation.subject)
        volumes_table = simulate_labels(
            segmentation, folder, count=count, seed=seed, without=without, progress=advance
        )
    volumes_in_words = f"{several(count, 'volume')} of {labels}"
    if replaced_count:
        volumes_in_words += (
            f", in the place of {replaced_count} that {segmentation.subject} had "
            "(--subject: another name)"
        )
    subject_count = len({row["subject_id"] for row in read_tsv(volumes_table)})
    out.print(f"{volumes_in_words}: {volumes_table}, which has {several(subject_count, 'subject')}")
    region_names = {region for region, _, _ in segmentation.region_spans}
    foreign_regions = sorted(
        name for name in region_names if find_region_of_table(name, DEFAULT) is None
    )
    if foreign_regions:
        out.print(
            f"{', '.join(foreign_regions)}: not among fovnet's own regions ({', '.join(DEFAULT.classes)}); set "
            "`regions:` in the configuration to a file that has them"
        )


@verbs.command("slice")
def slice_(
    config: ConfigFile,
    workers: Workers = 1,
    prune_cache: Annotated[
        bool,
        typer.Option("--prune-cache", help="Remove cached slices that none of these volumes uses."),
    ] = False,
) -> None:
    """Cut all volumes of the configured collections into slices, and split the subjects."""
    run = open_run(config)
    pack = cut_slices(
        run, workers=workers, prune_cache=prune_cache, progress=progress_bar, log=err.print
    )
    refused_records = [record for record in pack.records if record.status == "refused"]
    for record in refused_records:
        reason = record.message.removeprefix(f"{record.volume_id}: ")
        err.print(f"refused {record.volume_id}: {reason} [{record.code}]")
    slices_in_words = several(len(pack.pixels), "slice")
    volumes_in_words = several(len(pack.records) - len(refused_records), "volume")
    out.print(
        f"{slices_in_words} of {volumes_in_words}, {len(refused_records)} refused: {run.results.slices}"
    )
    if refused_records:
        raise typer.Exit(3)
