"""What a supervisor such as systemd is told of a service: one datagram to the socket that it names (sd_notify(3))."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

WATCHDOG_SHARE = 0.5  # of the time without a sign of life after which the service is ended


def tell_supervisor(state: str) -> None:
    """Tells the supervisor of a state, as in "READY=1"; nothing where there is none, or it has gone."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address.startswith("@"):  # a name in Linux's abstract namespace
        address = f"\0{address[1:]}"
    if not address:
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify_socket:
        notify_socket.sendto(state.encode(), address)


def watchdog_pause_s() -> float | None:
    """Seconds between signs of life (WATCHDOG=1); None where the supervisor expects none of this process."""
    watchdog_us = os.environ.get("WATCHDOG_USEC", "")
    process_id = os.environ.get("WATCHDOG_PID", str(os.getpid()))
    if not watchdog_us.isdecimal() or process_id != str(os.getpid()):
        return None
    return WATCHDOG_SHARE * int(watchdog_us) / 1e6
