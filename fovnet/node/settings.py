"""What a node is told on the command line, and the limits of its door."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ssl import SSLContext

from fovnet.node.outbox import Pauses
from fovnet.node.peers import Caller, ReportPeer


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
