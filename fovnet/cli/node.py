"""`fovnet node`: answers to series that arrive over DICOM, and reports that go back."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fovnet.cli.options import (
    ENGINE_HELP,
    INCLUDE_HELP,
    LOG_FORMAT,
    FolderOut,
    LogFormat,
    ModelFolder,
    PathOption,
    device_and_engine_as_options,
    kinds_included,
    model_folder,
)
from fovnet.cli.screen import out as screen
from fovnet.cli.screen import write_json_line, write_text_line
from fovnet.config.files import parse_as
from fovnet.config.node import NodeOptions
from fovnet.config.reading import read_yaml
from fovnet.decision.answers_table import ANSWERS_TABLE_NAME
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import ModelFolder as Networks
from fovnet.errors import ConfigError
from fovnet.late import import_late
from fovnet.machine.allocation import keep_freed_memory
from fovnet.node.answering import Answering
from fovnet.node.places import Places, lock_places
from fovnet.node.settings import NodeSettings, settings_of
from fovnet.node.table import read_counted_answers
from fovnet.records import why_unwritable
from fovnet.watch.drift import accept as freeze_shares
from fovnet.watch.log import Log
from fovnet.watch.tally import Tally
from fovnet.words import join_names, several

if TYPE_CHECKING:
    from fovnet.node import conformance
    from fovnet.node import node as running_node
else:  # pynetdicom and prometheus_client, of an extra
    conformance = import_late("fovnet.node.conformance")
    running_node = import_late("fovnet.node.node")

verbs = typer.Typer()
DEFAULTS = NodeOptions(out=Path())
LIBRARIES = ("pynetdicom", "prometheus_client")
NETWORK_OPTIONS = {"model", "device", "include", "engine"}

DURABILITY_HELP = (
    "Stopped by Ctrl-C, SIGTERM or SIGKILL, the same command goes on where it was: an instance that was "
    "acknowledged is kept, and no series is answered twice. Instances that come after the answer are "
    "answered with the earlier ones, as a new version.\n\n"
    "Pixels and delivered reports stay for --keep hours; answers, which name no patient, stay. The folder "
    "is readable by its user alone. fovnet/node/README.md has the way of the data, and the page's figures."
)
"""What the help of `node` ends with."""
EXAMPLE_IN_WORDS = "configs/node.yaml of the repository is an example to start from"


def _take_settings_of_file(context: typer.Context, path: Path | None) -> Path | None:
    """Makes the settings of a file the defaults of the other options.  Raises ConfigError as
    `read_yaml` and `parse_as`."""
    if path is not None:
        options = parse_as(NodeOptions, read_yaml(path, EXAMPLE_IN_WORDS), str(path))
        default_by_name = options.model_dump(mode="json", exclude_none=True)
        context.default_map = {**default_by_name, "include": ",".join(options.include)}
    return path


Folder = Annotated[
    Path | None, FolderOut("--out", help="Where all is kept: the queue, answers, reports; needed.")
]
Config = Annotated[
    Path | None,
    PathOption(
        "--config",
        callback=_take_settings_of_file,
        is_eager=True,
        help="A YAML file with all settings, such as configs/node.yaml; what is given beside it wins.",
    ),
]
Conformance = Annotated[
    bool,
    typer.Option(
        "--conformance",
        help="Print the DICOM conformance statement of a node with these settings, and stop.",
    ),
]
Title = Annotated[str, typer.Option(help="The AE title of this node.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Where it listens; 0: any free port.")]
Address = Annotated[
    str, typer.Option(help="The address it listens on; without, all of this machine.")
]
Peer = Annotated[
    str, typer.Option(help="AE@HOST:PORT that reports are sent to; without, kept for --give-up.")
]
Callers = Annotated[
    list[str] | None,
    typer.Option(
        "--from",
        help="AE@NETWORK that may call, '*' for any title: SCANNER@10.1.2.3, '*@10.1.0.0/16'; may be "
        "repeated. Without, this machine alone. --to may always call.",
        show_default=False,
    ),
]
Rest = Annotated[
    float, typer.Option(min=0.1, help="Seconds without an instance until a series is whole.")
]
LongestRest = Annotated[
    float, typer.Option(min=1, help="Seconds after which it is answered anyway.")
]
KeepHours = Annotated[float, typer.Option(min=0, help="Hours that pixels stay after the answer.")]
GiveUpHours = Annotated[
    float,
    typer.Option(min=0.01, help="Hours after which a report that was not delivered is removed."),
]
ReserveGib = Annotated[
    float,
    typer.Option(min=0, help="GiB of the disk left free; below, instances are refused (A700)."),
]
LargestGib = Annotated[float, typer.Option(min=0.001, help="GiB of one instance, at most.")]
Associations = Annotated[int, typer.Option(min=1, help="Associations at once.")]
IdleSeconds = Annotated[float, typer.Option(min=1, help="Seconds that a caller may be silent.")]
PagePort = Annotated[
    int,
    typer.Option(
        min=-1, max=65535, help="Port of the page on 127.0.0.1; 0: any free one, -1: none."
    ),
]
Faces = Annotated[
    bool,
    typer.Option(
        "--faces/--no-faces",
        help="--no-faces covers slices that may show a head in the page's thumbnails, and deletes uncovered ones.",
    ),
]
LogFormatOption = Annotated[LogFormat, LOG_FORMAT]
ShowIds = Annotated[
    bool,
    typer.Option(
        "--show-ids/--no-show-ids",
        help="Name UIDs of study and series in a log as JSON, in place of hashes.",
    ),
]
Certificate = Annotated[
    Path | None, PathOption(help="Certificate (PEM): the node speaks TLS alone.")
]
Key = Annotated[Path | None, PathOption(help="Its key, where the certificate's file has none.")]
Authorities = Annotated[
    Path | None,
    PathOption(help="Authorities (PEM) that must have signed the callers' certificates."),
]
TlsToPeer = Annotated[bool, typer.Option("--to-tls/--no-to-tls", help="Speak TLS with --to, too.")]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Include = Annotated[str, typer.Option(help=INCLUDE_HELP)]
Engine = Annotated[str, typer.Option(help=ENGINE_HELP)]

Accept = Annotated[
    bool,
    typer.Option(
        "--accept",
        help="Accept the answers on the last 500 series in --out, which later ones are compared with; and end.",
    ),
]


@verbs.command(epilog=DURABILITY_HELP)
def node(
    context: typer.Context,
    out: Folder = None,
    config: Config = None,
    conformance: Conformance = False,
    aet: Title = DEFAULTS.aet,
    port: Port = DEFAULTS.port,
    bind: Address = DEFAULTS.bind,
    to: Peer = DEFAULTS.to,
    callers: Callers = None,
    rest: Rest = DEFAULTS.rest,
    longest: LongestRest = DEFAULTS.longest,
    keep: KeepHours = DEFAULTS.keep,
    give_up: GiveUpHours = DEFAULTS.give_up,
    reserve: ReserveGib = DEFAULTS.reserve,
    largest: LargestGib = DEFAULTS.largest,
    associations: Associations = DEFAULTS.associations,
    idle: IdleSeconds = DEFAULTS.idle,
    page: PagePort = DEFAULTS.page,
    faces: Faces = DEFAULTS.faces,
    log_format: LogFormatOption = LogFormat.text,
    show_ids: ShowIds = DEFAULTS.show_ids,
    tls_cert: Certificate = DEFAULTS.tls_cert,
    tls_key: Key = DEFAULTS.tls_key,
    tls_ca: Authorities = DEFAULTS.tls_ca,
    to_tls: TlsToPeer = DEFAULTS.to_tls,
    model: ModelFolder = None,
    device: Device = DEFAULTS.device,
    include: Include = "",
    engine: Engine = DEFAULTS.engine,
    accept: Accept = False,
) -> None:
    """A DICOM node: MR series that arrive by C-STORE are answered as `predict` does, and the structured
    reports are sent on."""
    if accept:
        _accept_answers(_folder_given(out))
        return
    _refuse_without_libraries()
    options = _options_of(context.params)
    settings = settings_of(options)
    if conformance:
        _print_conformance(options, settings)
        return
    keep_freed_memory()
    with lock_places(_folder_given(out)) as places:
        with device_and_engine_as_options():
            networks = load_ensemble(model_folder(model), device, engine=engine)
        answering = Answering(places, networks, tuple(kinds_included(include)), faces)
        _run_until_signal(places, answering, settings, _log_of(options, places))


def _options_of(parameters: Mapping[str, Any]) -> NodeOptions:
    """The options of the command, by their names, but for those of the networks."""
    given = {
        name: parameters[name]
        for name in NodeOptions.model_fields.keys() - NETWORK_OPTIONS - {"out", "callers"}
    }
    return NodeOptions(
        out=parameters["out"] or Path(), **given, **{"from": parameters["callers"] or []}
    )


def _folder_given(out: Path | None) -> Path:
    """The folder of --out, which --conformance alone does without.  Raises ConfigError "node-out"."""
    if out is None:
        raise ConfigError(
            "node-out", "--out is missing; give the folder where all is kept, as in --out node"
        )
    return out


def _accept_answers(out: Path) -> None:
    """Freezes the shares of the newest answers, also of a node that is at work."""
    tally = Tally()
    tally.add(read_counted_answers(out / ANSWERS_TABLE_NAME))
    shares = freeze_shares(out, tally.recent())
    shares_in_words = ", ".join(
        f"{kind} {100 * shares.share(kind):.0f} %" for kind in shares.count_by_kind
    )
    screen.print(f"accepted, of {several(shares.volume_count, 'volume')}: {shares_in_words}")


def check_node(config: Path, options: NodeOptions) -> None:
    """Prints what a node with these options would do.  Raises ConfigError as `settings_of`, and
    "out-unwritable"; ModelError for a folder without networks."""
    try:
        settings = settings_of(options)
    except ConfigError as fault:
        raise ConfigError(fault.code, f"{config}: {fault.sentence}") from fault
    if reason := why_unwritable(options.out, folder=True):
        raise ConfigError(
            "out-unwritable",
            f"{config}: out: {options.out}: {reason}; name a folder that can be written",
        )
    Networks(model_folder(options.model)).refuse_missing()
    callers_in_words = "this machine alone"
    if options.callers:
        callers_in_words = ", ".join(options.callers)
    peer_in_words = "reports are sent to nobody"
    if settings.peer is not None:
        peer_in_words = f"reports are sent to {options.to}"
    screen.print(
        f"{config}: valid.  {settings.title} listens on port {settings.port}; callers: {callers_in_words}; "
        f"{peer_in_words}; all is kept in {options.out}"
    )


def _refuse_without_libraries() -> None:
    """Raises ConfigError "node-library" unless the libraries are installed, which are an extra."""
    missing_libraries = [name for name in LIBRARIES if find_spec(name) is None]
    if missing_libraries:
        raise ConfigError(
            "node-library",
            f"{join_names(missing_libraries, 'and')}: not installed, and needed to speak DICOM and to be "
            "watched; pip install 'fovnet[node]' gets all",
        )


def _print_conformance(options: NodeOptions, settings: NodeSettings) -> None:
    typer.echo(conformance.conformance_statement(options, settings), nl=False)


def _run_until_signal(
    places: Places, answering: Answering, settings: NodeSettings, log: Log
) -> None:
    """Runs a node until SIGTERM or Ctrl-C."""
    dicom_node = running_node.Node(places, answering, settings, log)
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: dicom_node.stopped.set())
    dicom_node.run()


def _log_of(options: NodeOptions, places: Places) -> Log:
    """The log of a node on stderr, in words or as JSON."""

    def write_identified(event: str, sentence: str, **facts: object) -> None:
        if "series" in facts:
            facts |= places.identify(str(facts["series"]), show_ids=options.show_ids)
        write_json_line(event, sentence, **facts)

    if options.log_format == "json":
        return write_identified
    return write_text_line
