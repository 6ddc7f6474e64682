"""`fovnet node`: answers to series that arrive over DICOM, and reports that go back."""

from __future__ import annotations

import signal
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from fovnet.cli.options import (
    ENGINE_HELP,
    INCLUDE_HELP,
    FolderOut,
    ModelFolder,
    PathOption,
    device_and_engine_as_options,
    kinds_included,
    model_folder,
)
from fovnet.cli.screen import err
from fovnet.decision.ensemble import load_ensemble
from fovnet.errors import ConfigError
from fovnet.machine.allocation import keep_freed_memory
from fovnet.node.answering import Answering
from fovnet.node.outbox import Pauses
from fovnet.node.peers import all_callers, caller_of, peer_of, title_of
from fovnet.node.places import Places, lock_places
from fovnet.node.settings import DoorLimits, NodeSettings
from fovnet.node.tls import client_context, server_context

verbs = typer.Typer()
BYTES_PER_GIB = 2**30
SECONDS_PER_HOUR = 3600

DURABILITY_HELP = (
    "Stopped by Ctrl-C, SIGTERM or SIGKILL, the same command goes on where it was: an instance that was "
    "acknowledged is kept, and no series is answered twice. Instances that come after the answer are "
    "answered with the earlier ones, as a new version.\n\n"
    "Pixels and delivered reports stay for --keep hours; answers, which name no patient, stay. The folder "
    "is readable by its user alone. fovnet/node/README.md has the way of the data, and the page's figures."
)
"""What the help of `node` ends with."""

Folder = Annotated[Path, FolderOut("--out", help="Where all is kept: the queue, answers, reports.")]
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
Certificate = Annotated[
    Path | None, PathOption(help="Certificate (PEM): the node speaks TLS alone.")
]
Key = Annotated[Path | None, PathOption(help="Its key, where the certificate's file has none.")]
Authorities = Annotated[
    Path | None,
    PathOption(help="Authorities (PEM) that must have signed the callers' certificates."),
]
TlsToPeer = Annotated[
    bool, typer.Option("--to-tls", help="Speak TLS with --to, too; needs --tls-cert.")
]
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Include = Annotated[str, typer.Option(help=INCLUDE_HELP)]
Engine = Annotated[str, typer.Option(help=ENGINE_HELP)]


@verbs.command(epilog=DURABILITY_HELP)
def node(
    out_folder: Folder,
    aet: Title = "FOVNET",
    port: Port = 11112,
    bind: Address = "",
    to: Peer = "",
    callers: Callers = None,
    rest: Rest = 30,
    longest: LongestRest = 900,
    keep: KeepHours = 24,
    give_up: GiveUpHours = 168,
    reserve: ReserveGib = 2,
    largest: LargestGib = 1,
    associations: Associations = 16,
    idle: IdleSeconds = 60,
    page: PagePort = 11180,
    tls_cert: Certificate = None,
    tls_key: Key = None,
    tls_ca: Authorities = None,
    to_tls: TlsToPeer = False,
    model: ModelFolder = None,
    device: Device = "auto",
    include: Include = "",
    engine: Engine = "auto",
) -> None:
    """A DICOM node: MR series that arrive by C-STORE are answered as `predict` does, and the structured
    reports are sent on."""
    _refuse_without_pynetdicom()
    peer = None
    tls_to_peer = None
    if to:
        peer = peer_of(to)
    if to_tls:
        _refuse_tls_to_nobody(to)
        tls_to_peer = client_context(tls_cert, tls_key, tls_ca)
    page_port = None
    if page >= 0:
        page_port = page
    settings = NodeSettings(
        title_of(aet),
        port,
        all_callers([caller_of(caller) for caller in callers or ()], peer),
        peer,
        host=bind,
        page_port=page_port,
        rest_s=rest,
        longest_s=longest,
        keep_h=keep,
        limits=_door_limits(largest, reserve, associations, idle),
        tls_in=server_context(tls_cert, tls_key, tls_ca),
        tls_out=tls_to_peer,
        pauses=Pauses(give_up_s=SECONDS_PER_HOUR * give_up),
    )
    keep_freed_memory()
    with lock_places(out_folder) as places:
        with device_and_engine_as_options():
            networks = load_ensemble(model_folder(model), device, engine=engine)
        answering = Answering(places, networks, tuple(kinds_included(include)))
        _run_until_signal(places, answering, settings)


def _door_limits(
    largest_gib: float, reserve_gib: float, associations: int, idle_s: float
) -> DoorLimits:
    """The limits of the door, from the options of the command line."""
    return DoorLimits(
        instance_bytes=round(largest_gib * BYTES_PER_GIB),
        associations=associations,
        idle_s=idle_s,
        reserve_bytes=round(reserve_gib * BYTES_PER_GIB),
    )


def _refuse_tls_to_nobody(to: str) -> None:
    """Raises ConfigError "node-tls" for --to-tls without --to.  A node in plain text may send to an
    archive that speaks TLS."""
    if not to:
        raise ConfigError("node-tls", "--to-tls without --to; give --to, too")


def _refuse_without_pynetdicom() -> None:
    """Raises ConfigError "node-library" unless the library is installed, which is an extra."""
    if find_spec("pynetdicom") is None:
        raise ConfigError(
            "node-library",
            "pynetdicom, which speaks DICOM, is not installed; pip install 'fovnet[node]' gets it",
        )


def _run_until_signal(places: Places, answering: Answering, settings: NodeSettings) -> None:
    """Runs a node until SIGTERM or Ctrl-C."""
    from fovnet.node.node import Node  # imports pynetdicom, which is an extra

    dicom_node = Node(places, answering, settings, _log)
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: dicom_node.stopped.set())
    dicom_node.run()


def _log(line: str) -> None:
    err.print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {line}")
