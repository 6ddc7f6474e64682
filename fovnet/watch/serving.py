"""Pages of a port of this machine alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

THIS_MACHINE = "127.0.0.1"
SAFE_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; img-src data:; style-src 'unsafe-inline'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""Of every answer: a page loads nothing, runs nothing, and is kept by no browser."""


@dataclass(frozen=True)
class Answer:
    """What is answered to a request."""

    body: bytes
    content_type: str
    status: HTTPStatus = HTTPStatus.OK


def health_answer(figures: Mapping[str, Any]) -> Answer:
    """These figures as JSON; with status 503 where their `trouble` is not empty."""
    status = HTTPStatus.OK
    if figures["trouble"]:
        status = HTTPStatus.SERVICE_UNAVAILABLE
    body = json.dumps(figures, indent=1) + "\n"
    return Answer(body.encode(), "application/json", status)


def serve(port: int, answer_by_path: Mapping[str, Callable[[], Answer]]) -> ThreadingHTTPServer:
    """A server at work on 127.0.0.1 until it is shut down; with port 0 on any that is free.

    Raises OSError if the port is taken.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(self._send_head())

        def do_HEAD(self) -> None:
            self._send_head()

        def _send_head(self) -> bytes:
            """Sends the status and the headers; the body."""
            make_answer = answer_by_path.get(urlsplit(self.path).path, _not_there)
            if not _is_this_machine(self.headers.get("Host", THIS_MACHINE)):
                make_answer = _not_there
            answer = make_answer()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            for name, value in SAFE_HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            return answer.body

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a monitor asks every few seconds."""

    server = ThreadingHTTPServer((THIS_MACHINE, port), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="page", daemon=True).start()
    return server


def _is_this_machine(host: str) -> bool:
    """Whether a request names this machine by address or as localhost.  A page of somebody else that
    a browser here has open may let its own name lead to 127.0.0.1, and would read what is answered."""
    name = urlsplit(f"//{host}").hostname or ""
    return name == "localhost" or name.replace(".", "").isdigit() or ":" in name


def _not_there() -> Answer:
    return Answer(b"", "text/plain", HTTPStatus.NOT_FOUND)
