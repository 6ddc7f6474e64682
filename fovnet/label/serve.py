"""The page, served at an address of this machine until it is stopped."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from fovnet.errors import ConfigError
from fovnet.label.app import build_app
from fovnet.label.guard import Guard
from fovnet.machine.ports import refusal_of_port

if TYPE_CHECKING:
    from fovnet.label.desk import Desk

LOCAL_ADDRESS = "127.0.0.1"


def refuse_without_packages() -> None:
    """Raise ConfigError "label-packages" unless Starlette and uvicorn are installed."""
    missing_packages = [name for name in ("starlette", "uvicorn") if find_spec(name) is None]
    if missing_packages:
        raise ConfigError(
            "label-packages",
            f"fovnet label: {' and '.join(missing_packages)} not installed; pip install "
            "'fovnet[label]' (in a clone '.[label]')",
        )


def open_port(port: int) -> socket.socket:
    """A port of this machine alone, 0 for any that is free; nobody is listened to yet.

    Raises ConfigError "label-port" if it is taken, or needs a privilege.
    """
    port_socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    port_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        port_socket.bind((LOCAL_ADDRESS, port))
    except OSError as fault:
        port_socket.close()
        raise ConfigError("label-port", refusal_of_port(fault, port)) from fault
    return port_socket


def serve(desk: Desk, port_socket: socket.socket, *, announce: Callable[[str], None]) -> None:
    """Answers the page of a desk until Ctrl-C, at an opened port, which is closed then.

    announce  called with the address, which holds a key that nobody else can guess
    """
    import uvicorn

    secret_key = secrets.token_urlsafe(24)
    with port_socket:
        port_socket.listen()  # so that the address can be opened as soon as it is known
        port = port_socket.getsockname()[1]
        guarded_app = Guard(build_app(desk), port=port, key=secret_key)
        announce(f"http://{LOCAL_ADDRESS}:{port}/?key={secret_key}")
        server_options: dict[str, Any] = {
            "log_level": "critical",
            "access_log": False,
            "server_header": False,
        }
        uvicorn.Server(uvicorn.Config(guarded_app, lifespan="off", **server_options)).run(
            sockets=[port_socket]
        )
