"""Associations with a peer that is called."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from socket import IPPROTO_TCP, TCP_NODELAY, socket
from typing import Any

from pynetdicom import AE, evt
from pynetdicom.association import Association
from pynetdicom.dimse import DIMSEServiceProvider

from fovnet.node.peers import ReportPeer


class CallerMessages(DIMSEServiceProvider):
    """The messages of an association that we asked for, each for who waits for it.

    pynetdicom 3.0.4 has a thread that serves what a peer asks, and pauses it while an answer is awaited;
    on a busy machine it goes on now and then, takes the answer, and drops it: of a C-FIND a match is then
    missing, without a word.  Commitments, which a peer may send to us, do not go
    this way.
    """

    def get_msg(self, block: bool = False) -> Any:
        """(presentation context, message) for who waits; (None, None) for that thread, which does not."""
        if not block:
            return None, None
        return super().get_msg(block)


def calling_entity(own_title: str, timeout_s: float) -> AE:
    """An application that waits so long for each answer; without contexts."""
    application_entity = AE(own_title)
    application_entity.acse_timeout = timeout_s
    application_entity.dimse_timeout = timeout_s
    application_entity.network_timeout = timeout_s
    application_entity.connection_timeout = timeout_s
    return application_entity


def call(
    application_entity: AE,
    peer: ReportPeer,
    tls_context: ssl.SSLContext | None,
    connections: list[socket],
    handlers: Sequence[Any] = (),
    negotiation: Sequence[Any] = (),
) -> Association:
    """An association with a peer, or what has become of it.

    tls_context  to speak TLS; None to speak plainly
    connections  the connection under it is added where the peer let us connect.  The caller closes
                 it: pynetdicom 3.0.4 leaves a socket open whose `shutdown` raises, as where the peer
                 has gone
    negotiation  further items of the request, as roles
    """
    tls_args = None
    if tls_context:
        tls_args = (tls_context, peer.host)

    def prepare_connection(event: evt.Event) -> None:
        event.assoc.dimse = CallerMessages(event.assoc)
        association_socket: Any = event.assoc.dul.socket
        # a question is several small packets, each acknowledged after 40 ms (Nagle's algorithm)
        association_socket.socket.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        connections.append(association_socket.socket)

    return application_entity.associate(
        peer.host,
        peer.port,
        ae_title=peer.title,
        tls_args=tls_args,
        evt_handlers=[*handlers, (evt.EVT_CONN_OPEN, prepare_connection)],
        ext_neg=list(negotiation),
    )
