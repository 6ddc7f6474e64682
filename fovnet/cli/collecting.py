"""`fovnet collect`: the tables of a collection, from a folder tree of volumes as published."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fovnet.cli.options import FolderOut, Include, PathArgument, PathOption, kinds_included
from fovnet.cli.screen import MANY_HEADERS, out, progress_of_many
from fovnet.errors import CollectionError
from fovnet.records import why_no_folder
from fovnet.volume.adapters.bids import gather_bids
from fovnet.volume.adapters.chaos import gather_chaos
from fovnet.volume.adapters.dicom import gather_dicom
from fovnet.volume.adapters.gathering import Gathering, write_tables
from fovnet.volume.adapters.ixi import gather_ixi
from fovnet.volume.adapters.masked import gather_masked
from fovnet.volume.adapters.spider import gather_spider
from fovnet.volume.adapters.totalsegmentator import gather_totalsegmentator
from fovnet.words import several

verbs = typer.Typer()
collect = typer.Typer(
    no_args_is_help=True,
    help=(
        "Write the tables of a collection from a data set as published.\n\n"
        "Status 3 if a volume, table or sidecar could not be read; aside.tsv names each."
    ),
)
verbs.add_typer(collect, name="collect")


def _require_folder(tree: Path) -> Path:
    """`tree`.  Raises CollectionError "collect-missing" if it is not a folder."""
    if reason := why_no_folder(tree):
        raise CollectionError(
            "collect-missing", f"{tree}: {reason}; give the top folder of the tree"
        )
    return tree


Tree = Annotated[Path, PathArgument(callback=_require_folder, help="The top folder of the tree.")]
Tables = Annotated[
    Path,
    FolderOut(
        "--out", help="Where volumes.tsv, aside.tsv and, with labels, regions.tsv are written."
    ),
]
Replace = Annotated[bool, typer.Option("--replace", help="Overwrite existing tables.")]


@collect.command("bids")
def collect_bids(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """The anatomical MR images of a BIDS data set (sub-01/anat/sub-01_T1w.nii.gz, ...), with facts from their
    sidecars; unlabelled."""
    _write_collection(gather_bids(tree), tree, out_folder, replace)


@collect.command("dicom")
def collect_dicom(
    tree: Tree,
    out_folder: Tables,
    include: Include = "",
    replace: Replace = False,
) -> None:
    """Every MR series of a DICOM tree, with its scanner and plane; unlabelled, subjects as hashes."""
    with progress_of_many("reading DICOM headers", MANY_HEADERS) as advance:
        gathered = gather_dicom(tree, kinds_included(include), advance)
    _write_collection(gathered, tree, out_folder, replace)


@collect.command("organs")
def collect_organs(
    tree: Tree,
    out_folder: Tables,
    labels: Annotated[
        Path | None, PathOption(help="The meaning of numbered labels: a table of number and name.")
    ] = None,
    replace: Replace = False,
) -> None:
    """Volumes with organ masks beside them (segmentations/<organ>.nii.gz): regions follow from the organs.

    One folder per case, with one image and its masks: segmentations/ with one file per organ under
    TotalSegmentator's names, or numbered masks in segmentations.nii.gz with --labels. An organ cut off by the
    edge of the volume gives no limit; if masks leave a slice undecided, the volume gets no rows.
    """
    _write_collection(gather_masked(tree, labels), tree, out_folder, replace)


@collect.command("totalsegmentator")
def collect_totalsegmentator(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """The TotalSegmentator MRI data set as published (s0001/mri.nii.gz with s0001/segmentations, ...),
    labelled by its organs."""
    _write_collection(gather_totalsegmentator(tree), tree, out_folder, replace)


@collect.command("spider")
def collect_spider(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """SPIDER as published: lumbar spines (images/1_t1.mha, ..., overview.csv)."""
    _write_collection(gather_spider(tree), tree, out_folder, replace)


@collect.command("chaos")
def collect_chaos(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """CHAOS as published: the MR series (Train_Sets/MR/1/T1DUAL/DICOM_anon/InPhase, ...); unlabelled."""
    _write_collection(gather_chaos(tree), tree, out_folder, replace)


@collect.command("ixi")
def collect_ixi(tree: Tree, out_folder: Tables, replace: Replace = False) -> None:
    """IXI as published: heads (IXI002-Guys-0828-T1.nii.gz, ...)."""
    _write_collection(gather_ixi(tree), tree, out_folder, replace)


def _write_collection(gathered: Gathering, tree: Path, folder: Path, replace: bool) -> None:
    """Writes the tables and prints a summary of them; status 3 if anything was set aside as
    broken."""
    volumes_table = write_tables(folder, gathered, tree, replace=replace)
    volumes_in_words = several(len(gathered.volume_rows), "volume")
    subjects_in_words = several(len({row.subject_id for row in gathered.volume_rows}), "subject")
    labelled_count = len({row.volume_id for row in gathered.region_rows})
    set_aside = (
        f"{len(gathered.aside_rows)} set aside or not labelled, {gathered.broken_count} of them broken: "
        f"{folder / 'aside.tsv'}"
    )
    out.print(
        f"{volumes_in_words} of {subjects_in_words}, {labelled_count} labelled: {volumes_table}; {set_aside}"
    )
    for note in gathered.note_rows:
        out.print(f"note: {note.path}: {note.reason}")
    if gathered.broken_count:
        raise typer.Exit(3)
