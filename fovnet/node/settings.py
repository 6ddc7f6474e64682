"""What a node is told, and the limits of its door."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ssl import SSLContext

from fovnet.config.node import NodeOptions
from fovnet.errors import ConfigError
from fovnet.node.outbox import Pauses
from fovnet.node.peers import Caller, ReportPeer, all_callers, caller_of, peer_of, title_of
from fovnet.node.tls import client_context, server_context

BYTES_PER_GIB = 2**30
SECONDS_PER_HOUR = 3600


@dataclass(frozen=True)
class DoorLimits:
    """What is taken at most.

    instance_bytes  of one instance, whose connection is closed beyond
    associations    at once
    idle_s          seconds that a caller may be silent
    reserve_bytes   left free on the disk
    request_s       seconds until a connection asks for an association
    """

    instance_bytes: int = 2**30
    associations: int = 16
    idle_s: float = 60.0
    reserve_bytes: int = 2**30
    request_s: float = 10.0


@dataclass(frozen=True)
class NodeSettings:
    """What a node is told.

    title, host, port   of itself; port 0 takes any
    page_port           of its local page; None for none
    peer                whom reports go to; None: nobody, until they are given up
    callers             who may call
    rest_s, longest_s   as `Inbox`
    keep_h              hours that pixels and delivered reports stay after the answer
    tls_in, tls_out     of connections from callers, and to the peer; None for plain ones
    pauses, clock       between attempts at delivery, and what they are measured by, in seconds
    """

    title: str
    port: int
    callers: tuple[Caller, ...]
    peer: ReportPeer | None = None
    host: str = ""
    page_port: int | None = None
    rest_s: float = 30.0
    longest_s: float = 900.0
    keep_h: float = 24.0
    limits: DoorLimits = field(default_factory=DoorLimits)
    tls_in: SSLContext | None = None
    tls_out: SSLContext | None = None
    pauses: Pauses = field(default_factory=Pauses)
    clock: Callable[[], float] = time.monotonic


def settings_of(options: NodeOptions) -> NodeSettings:
    """The settings of a node that is told these options.

    Raises ConfigError "node-tls" for --to-tls without --to, or as `peer_of`, `caller_of`, `title_of`,
    `server_context` and `client_context`.
    """
    peer = None
    if options.to:
        peer = peer_of(options.to)
    tls_to_peer = None
    if options.to_tls:
        # a node in plain text may send to an archive that speaks TLS
        if peer is None:
            raise ConfigError("node-tls", "--to-tls without --to; give --to, too")
        tls_to_peer = client_context(options.tls_cert, options.tls_key, options.tls_ca)
    page_port = None
    if options.page >= 0:
        page_port = options.page
    return NodeSettings(
        title_of(options.aet),
        options.port,
        all_callers([caller_of(caller) for caller in options.callers], peer),
        peer,
        host=options.bind,
        page_port=page_port,
        rest_s=options.rest,
        longest_s=options.longest,
        keep_h=options.keep,
        limits=_door_limits(options),
        tls_in=server_context(options.tls_cert, options.tls_key, options.tls_ca),
        tls_out=tls_to_peer,
        pauses=Pauses(give_up_s=SECONDS_PER_HOUR * options.give_up),
    )


def _door_limits(options: NodeOptions) -> DoorLimits:
    """The limits of the door, of which options give some in GiB."""
    return DoorLimits(
        instance_bytes=round(options.largest * BYTES_PER_GIB),
        associations=options.associations,
        idle_s=options.idle,
        reserve_bytes=round(options.reserve * BYTES_PER_GIB),
    )
