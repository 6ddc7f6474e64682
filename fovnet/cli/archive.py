"""`fovnet archive`: an archive asked what it holds, and its series answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fovnet.archive.faults import ArchiveError
from fovnet.archive.opening import (
    Address,
    DoorAddress,
    host_of,
    open_archive,
    open_fetch,
    open_reporting,
)
from fovnet.archive.plan import PLAN_NAME, Plan, read_plan
from fovnet.archive.query import Query, modality_of, read_uids, span_of
from fovnet.archive.queue import RETRY_PAUSES_S
from fovnet.archive.reporting import Reporting
from fovnet.archive.run import IMAGES_FOLDER, AnswerSettings, ArchiveRun
from fovnet.archive.timing import Throttle, hours_of
from fovnet.archive.worklist import WORKLIST_NAME, Totals
from fovnet.cli.options import (
    LOG_FORMAT,
    Device,
    Engine,
    FacesOrAsBefore,
    FolderOut,
    Include,
    LogFormat,
    ModelFolder,
    Pages,
    PathArgument,
    PathOption,
    Pictures,
    ShowIds,
    device_and_engine_as_options,
    folder_out,
    kinds_included,
    model_folder,
    table_of,
)
from fovnet.cli.predicting import conclude, decide_faces, show_failures, write_tables
from fovnet.cli.screen import err, out, progress_bar, write_json_line
from fovnet.decision.ensemble import load_ensemble
from fovnet.late import import_late
from fovnet.machine.allocation import keep_freed_memory
from fovnet.node.peers import caller_of
from fovnet.own_files import is_our_json
from fovnet.report.pages import answers_folder
from fovnet.watch.audit import Audit
from fovnet.watch.log import write_nothing
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.archive import metrics
else:  # prometheus_client, of an extra
    metrics = import_late("fovnet.archive.metrics")

verbs = typer.Typer()
archive = typer.Typer(
    no_args_is_help=True,
    help="Ask an archive (DICOMweb, or the DICOM network) what it holds, and answer its series.",
)
verbs.add_typer(archive, name="archive")

SECONDS_PER_SERIES = 1.2
"""Of `predict` on one core of a server of 2024, with pictures and pages: 23 s for 20 simulated
volumes."""
SECONDS_PER_HOUR = 3600
BYTES_PER_GB = 1e9

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
    Path | None,
    PathOption(
        "--ca",
        "--tls-ca",
        help="Authorities (PEM) to trust instead of the system's; with --tls-cert, who sends to --move "
        "must have a certificate of theirs.",
    ),
]
Title = Annotated[str, typer.Option(help="Our AE title, for AE@HOST:PORT.")]
Tls = Annotated[bool, typer.Option("--tls", help="Speak TLS with AE@HOST:PORT.")]
TlsCertificate = Annotated[
    Path | None,
    PathOption(
        "--tls-cert", help="Our certificate (PEM): the port of --move then speaks TLS alone."
    ),
]
TlsKey = Annotated[Path | None, PathOption("--tls-key", help="Its key (PEM), without a password.")]


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
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
) -> None:
    """List the series of an archive without fetching an image: worklist.tsv, what its headers claim, what
    is left out and why, and estimates of bytes and hours."""
    query = Query(span_of(dates), modality_of(modality), description, read_uids(uids))
    address = Address(place, netrc, token_file, ca, aet, tls, tls_cert, tls_key)
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


RUN_HELP = (
    "Answers, tables and pages are those of `fovnet predict` on the series' files. Images are removed when "
    "they are answered; at most --keep-gb of them lie on the disk.\n\n"
    "A series that does not come is asked for again after 5 s, 30 s, 2 and 10 minutes, while others go on, "
    "then told in found.tsv. Killed, the same command goes on."
)
"""What the help of `archive run` ends with."""
PlanArgument = Annotated[
    Path, PathArgument(metavar="PLAN", help="The folder that `fovnet archive plan --out` filled.")
]
AnswersFolder = Annotated[Path, FolderOut("--out", help="Output folder, as of `fovnet predict`.")]
KeepGb = Annotated[
    float,
    typer.Option(min=0.001, help="GB of images on the disk, at most; a larger series comes alone."),
]
Jobs = Annotated[int, typer.Option(min=1, help="Series fetched at a time.")]
PaceOption = Annotated[
    float, typer.Option(min=0, help="Images a second, at most; 0: as they come.")
]
PagePort = Annotated[
    int,
    typer.Option(
        min=-1,
        max=65535,
        help="Port of the page, /metrics and /health on 127.0.0.1; 0: any free one, -1: none.",
    ),
]
LogFormatOption = Annotated[LogFormat, LOG_FORMAT]
AuditFile = Annotated[
    Path | None,
    PathOption(
        help="A table that a row is added to for each series: when, where, how many images."
    ),
]
Between = Annotated[
    str, typer.Option(help="Hours of the day in which series are asked for: 22:00-06:00.")
]
MovePort = Annotated[
    int | None,
    typer.Option(
        "--move",
        min=0,
        max=65535,
        help="Fetch by C-MOVE to this port, which ARCHIVE must know as that of --aet; without, by C-GET.",
        show_default=False,
    ),
]
Senders = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        help="AE@NETWORK that may send with --move where it is not ARCHIVE itself, as of `node`.",
        show_default=False,
    ),
]
ReportPlace = Annotated[
    str,
    typer.Option(
        "--report-to",
        metavar="PLACE",
        help="Store a structured report of each answer there: https://... (STOW-RS) or AE@HOST:PORT (C-STORE).",
    ),
]


@archive.command("run", epilog=RUN_HELP)
def run(
    plan_folder: PlanArgument,
    out_folder: AnswersFolder,
    keep_gb: KeepGb = 10,
    jobs: Jobs = 2,
    pace: PaceOption = 0,
    between: Between = "",
    netrc: Netrc = None,
    token_file: TokenFile = None,
    ca: Authorities = None,
    aet: Title = "FOVNET",
    tls: Tls = False,
    tls_cert: TlsCertificate = None,
    tls_key: TlsKey = None,
    move: MovePort = None,
    senders: Senders = None,
    report_to: ReportPlace = "",
    model: ModelFolder = None,
    device: Device = "auto",
    pictures: Pictures = True,
    pages: Pages = True,
    faces: FacesOrAsBefore = None,
    include: Include = "",
    show_ids: ShowIds = False,
    engine: Engine = "auto",
    page: PagePort = -1,
    log_format: LogFormatOption = LogFormat.text,
    audit: AuditFile = None,
) -> None:
    """Answer the series of a plan, fetched from the archive by WADO-RS, C-GET or C-MOVE; one that does not come never
    stops the rest, and a killed run resumes with the same command."""
    place, rows = read_plan(plan_folder)
    address = Address(place, netrc, token_file, ca, aet, tls, tls_cert, tls_key)
    report_address = replace(address, place=report_to)
    if move is not None:
        door = DoorAddress(out_folder / IMAGES_FOLDER, move, tuple(map(caller_of, senders or ())))
        address = replace(address, door=door)
    keep_freed_memory()
    with (
        open_fetch(address, Throttle(pace, hours_of(between))) as fetch,
        answers_folder.claim_folder(out_folder) as refuse_gone,
        _reporting(report_address, out_folder, host_of(place)) as reporting,
    ):
        with device_and_engine_as_options():
            networks = load_ensemble(model_folder(model), device, engine=engine)
        settings = AnswerSettings(
            tuple(kinds_included(include)),
            show_ids,
            pictures,
            pages,
            decide_faces(out_folder, (), faces),
            reports=reporting is not None,
        )
        with _progress_or_lines(log_format) as advance:
            archive_run = ArchiveRun(out_folder, rows, networks, settings, advance, reporting)
            _keep_records(archive_run, address, log_format, audit)
            with _watched(archive_run, page), _telling_unsent(reporting):
                archive_run.run(fetch, keep_gb * BYTES_PER_GB, jobs, RETRY_PAUSES_S)
        refuse_gone()
        _conclude_run(archive_run, out_folder)


def _keep_records(
    archive_run: ArchiveRun, address: Address, log_format: LogFormat, audit_path: Path | None
) -> None:
    """Makes a run write its log as JSON and a table of what comes in, each where it is asked for."""
    if log_format is LogFormat.json:
        archive_run.log = write_json_line
    if audit_path is not None:
        archive_run.audit = partial(_write_audit, Audit(audit_path), address)


def _reporting(
    address: Address, folder: Path, own_host: str
) -> AbstractContextManager[Reporting | None]:
    """The reports to an address, None without one."""
    if not address.place:
        return nullcontext()
    return open_reporting(address, folder, own_host)


def _conclude_reports(reporting: Reporting | None) -> bool:
    """Sends the reports that are left, and prints what they come to; whether all are stored."""
    if reporting is None:
        return True
    trouble = reporting.finish()
    out.print(f"{several(reporting.stored_count, 'report')} stored by {reporting.name}")
    for code, count in reporting.unreported_codes.items():
        out.print(f"of {several(count, 'answer')} no report can be made [{code}]")
    if trouble:
        err.print(f"{_unsent_in_words(reporting)}: {trouble}")
    return not trouble


@contextmanager
def _telling_unsent(reporting: Reporting | None) -> Iterator[None]:
    """Prints how many reports wait where the archive of the series ends the block."""
    try:
        yield
    except ArchiveError:
        if reporting is not None and reporting.unsent_count:
            err.print(_unsent_in_words(reporting))
        raise


def _unsent_in_words(reporting: Reporting) -> str:
    unsent = several(reporting.unsent_count, "report")
    return f"{unsent} not stored, which the same command sends"


@contextmanager
def _progress_or_lines(log_format: LogFormat) -> Iterator[Callable[[int, int], None]]:
    """What is told (done, all) of a run: a bar, or nothing where its log is JSON."""
    if log_format is LogFormat.json:
        yield lambda done, total: None
        return
    with progress_bar("answering", "series") as advance:
        yield advance


def _write_audit(audit: Audit, address: Address, outcome: str, image_count: int) -> None:
    """A row of a series that was asked for."""
    service = "C-GET"
    if address.door is not None:
        service = "C-MOVE"
    if address.is_web:
        service = "WADO-RS"
    audit.write(address.place, {(service, outcome): image_count})
    if audit.trouble:
        err.print(audit.trouble)


@contextmanager
def _watched(archive_run: ArchiveRun, port: int) -> Iterator[None]:
    """Serves the page and the metrics of a run on a port while the block runs; -1: none.

    Raises ConfigError "node-port" if it is taken.
    """
    if port < 0:
        yield
        return
    with metrics.serve_metrics(archive_run, port) as address:
        archive_run.log("started", f"page: {address}", address=address)
        if archive_run.log is write_nothing:
            err.print(f"page: {address}")
        yield


def _conclude_run(archive_run: ArchiveRun, out_folder: Path) -> None:
    """Writes the tables and the index, and prints what a run comes to; status 3 where not all series
    were read, or not all reports stored."""
    settings = archive_run.settings
    are_reports_stored = _conclude_reports(archive_run.reporting)
    found_rows = archive_run.found_rows
    answers_folder.write_found(out_folder, found_rows, show_ids=settings.show_ids)
    rows_of_volumes = archive_run.table_rows()
    has_answers_by_region = write_tables(
        out_folder,
        rows_of_volumes,
        archive_run.networks,
        found_rows,
        settings.included_kinds,
        settings.pages,
    )
    span_rows = [row for rows in rows_of_volumes for row in rows.spans]
    refused_count, unread_count = show_failures(span_rows, found_rows)
    verdicts_in_words = ", ".join(
        f"{count:,} {verdict}" for verdict, count in archive_run.count_verdicts().items()
    )
    out.print(f"Body Part Examined, compared with the answers: {verdicts_in_words or 'none'}")
    out.print(
        f"{several(archive_run.answered_count, 'series', 'series')} answered, "
        f"{archive_run.fetched_bytes / BYTES_PER_GB:.3g} GB fetched by this run"
    )
    conclude(
        out_folder,
        len(rows_of_volumes),
        refused_count,
        unread_count,
        has_answers_by_region,
        settings.pages,
    )
    if not are_reports_stored:
        raise typer.Exit(3)
