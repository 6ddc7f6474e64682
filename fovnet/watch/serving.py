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
            answer = make_answer()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            return answer.body

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a monitor asks every few seconds."""

    server = ThreadingHTTPServer((THIS_MACHINE, port), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="page", daemon=True).start()
    return server


def _not_there() -> Answer:
    return Answer(b"", "text/plain", HTTPStatus.NOT_FOUND)
