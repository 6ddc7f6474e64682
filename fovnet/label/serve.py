"""The page, served at an address of this machine until it is stopped."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fovnet.errors import ConfigError
from fovnet.machine.ports import refusal_of_port

if TYPE_CHECKING:
    from fovnet.label.desk import Desk

HERE = "127.0.0.1"


def refuse_without_packages() -> None:
    """Raise ConfigError "label-packages" unless Starlette and uvicorn are installed."""
    lacking = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if lacking:
        raise ConfigError(
            "label-packages",
            f"fovnet label: {' and '.join(lacking)} not installed; pip install 'fovnet[label]' (in a clone "
            "'.[label]')",
        )


def opened(port: int) -> socket.socket:
    """A port of this machine alone, 0 for any that is free; nobody is listened to yet.

    Raises ConfigError "label-port" if it is taken, or needs a privilege.
    """
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((HERE, port))
    except OSError as fault:
        place.close()
        raise ConfigError("label-port", refusal_of_port(fault, port)) from fault
    return place


def serve(desk: Desk, place: socket.socket, *, announce: Callable[[str], None]) -> None:
    """Answers the page of a desk until Ctrl-C, at an opened port, which is closed then.

    announce  called with the address, which holds a key that nobody else can guess
    """
    import uvicorn

    from fovnet.label.app import made
    from fovnet.label.guard import Guard

    key = secrets.token_urlsafe(24)
    with place:
        place.listen()  # so that the address can be opened as soon as it is known
        port = place.getsockname()[1]
        guarded = Guard(made(desk), port=port, key=key)
        announce(f"http://{HERE}:{port}/?key={key}")
        quiet: dict[str, Any] = {
            "log_level": "critical",
            "access_log": False,
            "server_header": False,
        }
        uvicorn.Server(uvicorn.Config(guarded, lifespan="off", **quiet)).run(sockets=[place])
