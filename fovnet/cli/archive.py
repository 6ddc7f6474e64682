"""`fovnet archive`: an archive asked what it holds, by DICOMweb or the DICOM network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fovnet.archive.opening import Address, open_archive
from fovnet.archive.plan import PLAN_NAME, Plan
from fovnet.archive.query import Query, modality_of, read_uids, span_of
from fovnet.archive.worklist import WORKLIST_NAME, Totals
from fovnet.cli.options import (
    Include,
    PathOption,
    folder_out,
    kinds_included,
    table_of,
)
from fovnet.cli.screen import err, out, progress_bar
from fovnet.own_files import is_our_json
from fovnet.words import several

verbs = typer.Typer()
archive = typer.Typer(
    no_args_is_help=True, help="Ask an archive (DICOMweb, or the DICOM network) what it holds."
)
verbs.add_typer(archive, name="archive")

SECONDS_PER_SERIES = 1.2
"""Of `predict` on one core of a server of 2024, with pictures and pages: 23 s for 20 simulated
volumes."""
SECONDS_PER_HOUR = 3600

PLAN_HELP = (
    "ARCHIVE is the root of a DICOMweb service, as in https://pacs.example/dicom-web, or AE@HOST:PORT.\n\n"
    "Name and password, or a token, are read from --netrc, --token-file, or the environment: "
    "FOVNET_ARCHIVE_USER and FOVNET_ARCHIVE_PASSWORD, or FOVNET_ARCHIVE_TOKEN.\n\n"
    "Killed, the same command goes on. fovnet/archive/README.md tells what archives do, and the columns."
)
"""What the help of `archive plan` ends with."""

Place = Annotated[
    str, typer.Argument(metavar="ARCHIVE", help="Where it is: https://... or AE@HOST:PORT.")
]
PlanFolder = Annotated[
    Path,
    folder_out(
        {WORKLIST_NAME: table_of("fovnet.archive.worklist"), PLAN_NAME: is_our_json},
        "Where worklist.tsv is written, a row a series.",
    ),
]
Dates = Annotated[
    str,
    typer.Option(help="Days of the studies: 20260131 or 20260101-20260131; without, all."),
]
Modality = Annotated[str, typer.Option(help="Of a series that a study must have.")]
Description = Annotated[
    str, typer.Option(help="Of the study, with * and ?, in any case: '*thorax*'.")
]
Uids = Annotated[
    Path | None,
    PathOption(
        help="A file with a line a study: its UID, and after a blank that of a series, where one is meant."
    ),
]
Netrc = Annotated[Path | None, PathOption(help="A netrc file with name and password.")]
TokenFile = Annotated[
    Path | None, PathOption(help="A file with a bearer token; read for each request.")
]
Authorities = Annotated[
    Path | None, PathOption("--ca", help="Authorities (PEM) to trust instead of the system's.")
]
Title = Annotated[str, typer.Option(help="Our AE title, for AE@HOST:PORT.")]
Tls = Annotated[bool, typer.Option("--tls", help="Speak TLS with AE@HOST:PORT.")]


@archive.command("plan", epilog=PLAN_HELP)
def plan(
    place: Place,
    out_folder: PlanFolder,
    dates: Dates = "",
    modality: Modality = "MR",
    description: Description = "",
    uids: Uids = None,
    include: Include = "",
    netrc: Netrc = None,
    token_file: TokenFile = None,
    ca: Authorities = None,
    aet: Title = "FOVNET",
    tls: Tls = False,
) -> None:
    """List the series of an archive without fetching an image: worklist.tsv, what its headers claim, what
    is left out and why, and estimates of bytes and hours."""
    query = Query(span_of(dates), modality_of(modality), description, read_uids(uids))
    address = Address(place, netrc, token_file, ca, aet, tls)
    included_kinds = kinds_included(include)
    with (
        open_archive(address) as opened_archive,
        progress_bar("asking for series", "studies") as advance,
    ):
        archive_plan = Plan(opened_archive, query, out_folder, included_kinds, progress=advance)
        _, totals = archive_plan.make(place)
    for doubt in archive_plan.doubts:
        err.print(doubt)
    _conclude_plan(out_folder, totals)


def _conclude_plan(out_folder: Path, totals: Totals) -> None:
    """Prints what a plan comes to; status 3 where a part of the archive could not be listed."""
    if totals.left_out:
        kinds_in_words = ", ".join(f"{count:,} {kind}" for kind, count in totals.left_out.items())
        out.print(f"left out: {kinds_in_words}")
    hours = totals.series * SECONDS_PER_SERIES / SECONDS_PER_HOUR
    out.print(
        f"{several(totals.series, 'series', 'series')} of {several(totals.images, 'image')}, about "
        f"{totals.bytes / 1e9:.3g} GB to fetch and {hours:.2g} h of one core to answer: "
        f"{out_folder / WORKLIST_NAME}"
    )
    if any(kind.startswith("archive-") for kind in totals.left_out):
        raise typer.Exit(3)
