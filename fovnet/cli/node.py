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
    GivenBy,
    ModelFolder,
    kinds_included,
    model_folder,
)
from fovnet.cli.screen import err
from fovnet.errors import ConfigError

verbs = typer.Typer()

KEPT = (
    "Stopped by Ctrl-C, SIGTERM or SIGKILL, the same command goes on where it was: an instance that was "
    "acknowledged is kept, and no series is answered twice. Instances that come after the answer are "
    "answered with the earlier ones, as a new version.\n\n"
    "Pixels and delivered reports stay for --keep hours; answers, which name no patient, stay. The folder "
    "is readable by its user alone. fovnet/node/README.md has the way of the data, and the page's figures."
)
"""What the help of `node` ends with."""


@verbs.command(epilog=KEPT)
def node(
    out_folder: Annotated[
        Path, FolderOut("--out", help="Where all is kept: the queue, answers, reports.")
    ],
    aet: Annotated[str, typer.Option(help="The AE title of this node.")] = "FOVNET",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where it listens; 0: any free port.")
    ] = 11112,
    bind: Annotated[
        str, typer.Option(help="The address it listens on; without, all of this machine.")
    ] = "",
    to: Annotated[
        str,
        typer.Option(help="AE@HOST:PORT that reports are sent to; without, kept for --give-up."),
    ] = "",
    callers: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            help="AE@NETWORK that may call, '*' for any title: SCANNER@10.1.2.3, '*@10.1.0.0/16'; may be "
            "repeated. Without, this machine alone. --to may always call.",
            show_default=False,
        ),
    ] = None,
    rest: Annotated[
        float, typer.Option(min=0.1, help="Seconds without an instance until a series is whole.")
    ] = 30,
    longest: Annotated[
        float, typer.Option(min=1, help="Seconds after which it is answered anyway.")
    ] = 900,
    keep: Annotated[
        float, typer.Option(min=0, help="Hours that pixels stay after the answer.")
    ] = 24,
    give_up: Annotated[
        float,
        typer.Option(
            min=0.01, help="Hours after which a report that was not delivered is removed."
        ),
    ] = 168,
    reserve: Annotated[
        float,
        typer.Option(min=0, help="GiB of the disk left free; below, instances are refused (A700)."),
    ] = 2,
    largest: Annotated[float, typer.Option(min=0.001, help="GiB of one instance, at most.")] = 1,
    associations: Annotated[int, typer.Option(min=1, help="Associations at once.")] = 16,
    idle: Annotated[float, typer.Option(min=1, help="Seconds that a caller may be silent.")] = 60,
    page: Annotated[
        int, typer.Option(help="Port of the page on 127.0.0.1; 0: any free one, -1: none.")
    ] = 11180,
    tls_cert: Annotated[
        Path | None, GivenBy(help="Certificate (PEM): the node speaks TLS alone.")
    ] = None,
    tls_key: Annotated[
        Path | None, GivenBy(help="Its key, where the certificate's file has none.")
    ] = None,
    tls_ca: Annotated[
        Path | None,
        GivenBy(help="Authorities (PEM) that must have signed the callers' certificates."),
    ] = None,
    to_tls: Annotated[bool, typer.Option("--to-tls", help="Speak TLS with --to, too.")] = False,
    model: ModelFolder = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    include: Annotated[str, typer.Option(help=INCLUDE_HELP)] = "",
    engine: Annotated[str, typer.Option(help=ENGINE_HELP)] = "auto",
) -> None:
    """A DICOM node: MR series that arrive by C-STORE are answered as `predict` does, and the structured
    reports are sent on."""
    if find_spec("pynetdicom") is None:
        raise ConfigError(
            "node-library",
            "pynetdicom, which speaks DICOM, is not installed; pip install 'fovnet[node]' gets it",
        )
    from fovnet.decision.ensemble import load
    from fovnet.machine.allocation import keep_freed_memory
    from fovnet.node.answering import Answering
    from fovnet.node.door import Limits
    from fovnet.node.node import Node, Settings
    from fovnet.node.outbox import Pauses
    from fovnet.node.peers import allowed, caller_of, peer_of, title_of
    from fovnet.node.places import held
    from fovnet.node.tls import calling, listening

    peer = peer_of(to) if to else None
    settings = Settings(
        title_of(aet),
        port,
        allowed([caller_of(one) for one in callers or ()], peer),
        peer,
        bind,
        None if page < 0 else page,
        rest,
        longest,
        keep,
        Limits(round(largest * 2**30), associations, idle, round(reserve * 2**30)),
        listening(tls_cert, tls_key, tls_ca),
        calling(tls_cert, tls_key, tls_ca) if to_tls else None,
        Pauses(give_up_s=3600 * give_up),
    )
    keep_freed_memory()
    with held(out_folder) as places:
        networks = load(model_folder(model), device, engine=engine)
        at_work = Node(
            places, Answering(places, networks, tuple(kinds_included(include))), settings, _say
        )
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: at_work.stopped.set())
        at_work.run()


def _say(line: str) -> None:
    err.print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {line}")
