"""Connections of callers: sockets that bound what is read from them, and say why they ended."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress
from typing import Any

# first bytes: DICOM PS3.8, table 9-11; RFC 8446, 5.1
REQUEST_PDU = 0x01
TLS_RECORD = 0x16
QUICK_ACK = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
"""Acknowledges what was read at once, and must be asked for after each reading.  Senders with
Nagle's algorithm, as DCMTK's by default, hold the rest of a message back until the beginning is
acknowledged, which else takes 40 ms: 300 images of 8 KiB took storescu 3.6.7 20.6 s, and so 5.4
s."""


class AllowanceExceeded(OSError):
    """A caller sent more bytes than were allowed."""


class BoundedSocket(socket.socket):
    """A socket from which at most `allowed_bytes` more are read.

    first_byte  what the caller began with; -1 before
    fault       the error that ended its reading
    """

    allowed_bytes: int = 0
    first_byte: int = -1
    fault: OSError | None = None

    def recv(self, count: int, flags: int = 0) -> bytes:
        """Up to `count` bytes.  Raises AllowanceExceeded beyond the allowance; the library then closes the
        connection."""
        try:
            received = super().recv(count, flags)
            if QUICK_ACK is not None:
                self.setsockopt(socket.IPPROTO_TCP, QUICK_ACK, 1)
            self.allowed_bytes -= len(received)
            if self.allowed_bytes < 0:
                raise AllowanceExceeded
        except OSError as fault:
            self.fault = fault
            raise
        if self.first_byte < 0 and received:
            self.first_byte = received[0]
        return received

    def shutdown(self, how: int) -> None:
        """Ends the connection.  pynetdicom leaves a socket open whose `shutdown` raises, as it does
        where the caller has gone."""
        with suppress(OSError):
            super().shutdown(how)


class EncryptedSocket(BoundedSocket, ssl.SSLSocket):  # type: ignore[misc]  # buflen, not count
    """The same over TLS."""


def connection_of(
    accepted: socket.socket, tls: ssl.SSLContext | None, timeout_s: float
) -> BoundedSocket:
    """The connection of an accepted socket, which it takes over.

    Its TLS is negotiated at the first reading, by the thread that reads, so that a silent caller
    keeps nobody waiting.
    """
    connection: Any = BoundedSocket(fileno=accepted.detach())
    # an answer is one small packet, and waits for nothing (Nagle's algorithm)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.settimeout(timeout_s)
    if tls is not None:
        tls.sslsocket_class = EncryptedSocket
        connection = tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
    bounded_connection: BoundedSocket = connection
    return bounded_connection


def reason_of_end(connection: BoundedSocket, largest_bytes: int) -> tuple[str, str]:
    """(name of the figure of `Figures` that counts it, reason in words) of a connection that was not
    closed in order; ("", "") where it was, or the caller went away.

    largest_bytes  of one instance, as the limit that may have been exceeded
    """
    fault = connection.fault
    if isinstance(fault, AllowanceExceeded):
        limit_in_words = f"{largest_bytes / 2**30:g} GiB"
        return (
            "too_large",
            f"sent more than {limit_in_words} in one instance (--largest); the connection was closed",
        )
    if isinstance(fault, ssl.SSLError):
        tls_reason = (fault.reason or "no reason given").lower().replace("_", " ")
        return "tls_failed", f"failed to agree on TLS ({tls_reason})"
    if connection.first_byte == TLS_RECORD and not isinstance(connection, EncryptedSocket):
        return "not_dicom", "speaks TLS, and this node does not; --tls-cert lets it"
    if connection.first_byte not in (-1, REQUEST_PDU):
        return "not_dicom", "does not speak DICOM"
    return "", ""
