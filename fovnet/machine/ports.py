"""Why a port cannot be listened at, and what to try."""

from __future__ import annotations

import errno

FREE_PORTS = 1024
LAST_PORT = 65535  # of a usual system


def refusal_of_port(fault: OSError, port: int) -> str:
    """What is said where a port cannot be opened."""
    return f"port {port}: cannot listen there ({fault.strerror}); {advice_on(fault, port)}"


def advice_on(fault: OSError, port: int) -> str:
    """What to try where a port cannot be opened."""
    if fault.errno in (errno.EACCES, errno.EPERM):
        return f"ports below {FREE_PORTS} need a privilege; give a higher one, as 11112"
    if fault.errno == errno.EADDRINUSE:
        return "give a free one"
    if 0 <= port <= LAST_PORT:
        return "--bind wants an address of this machine; without it, it listens on all"
    return f"give one of 0 to {LAST_PORT}"
