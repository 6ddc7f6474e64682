"""A page about the node for this machine alone: `/`, and `/health` as JSON with status 200, or 503
where something is wrong.  Neither names a patient."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

THIS_MACHINE = "127.0.0.1"
WORDS_BY_FIGURE = {
    "associations": "associations now",
    "series_arriving": "series arriving",
    "series_waiting": "series waiting for their answers",
    "reports_unsent": "reports not sent",
    "reports_stored": "reports stored, not yet committed to",
    "reports_delivered": "reports delivered",
    "free_bytes": "free on the disk",
    "seconds": "at work for",
    "resident_bytes": "memory",
    "answered": "volumes answered",
    "refused": "volumes refused",
    "without_report": "without a report",
    "unchanged": "series sent again, nothing new",
    "instances": "instances taken",
    "bytes": "taken in all",
    "strangers": "callers refused",
    "limit_reached": "callers rejected: no association free",
    "classes_refused": "associations that sent nothing, of objects not taken",
    "tls_failed": "connections ended: TLS",
    "not_dicom": "connections ended: no DICOM",
    "silent": "associations ended: silent",
    "without_request": "connections without a request (probes)",
    "connections_broken": "connections broken off",
    "given_up": "reports given up and removed",
    "uncommitted": "reports stored, never committed to",
    "disk_full": "instances refused: disk full",
    "mismatched": "instances refused: UIDs",
    "not_understood": "instances refused: unreadable",
    "too_large": "connections closed: too large",
}
"""What the page calls the figures; those after `seconds` are counted since the start."""
PAGE_TEMPLATE = """<!doctype html><html lang="en"><meta charset="utf-8">\
<meta http-equiv="refresh" content="5">
<title>fovnet node</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:3em auto;max-width:36em}}
td{{padding:.1em 1.5em .1em 0}}td+td{{text-align:right;font-variant-numeric:tabular-nums}}</style>
<h1>fovnet node {title}</h1><p>{state}</p><table>{rows}</table></html>
"""


def serve(port: int, title: str, figures: Callable[[], Mapping[str, Any]]) -> ThreadingHTTPServer:
    """The server of the page, at work on 127.0.0.1 until it is shut down; with port 0 on any that
    is free.

    figures  numbers by name, and `trouble`: what is wrong, "" if nothing is
    Raises OSError if the port is taken.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(self._send_head())

        def do_HEAD(self) -> None:
            self._send_head()

        def _send_head(self) -> bytes:
            """Sends the status and the headers; the body."""
            url_path = urlsplit(self.path).path
            figures_now = figures()
            body_by_path = {
                "/": _page_html(title, figures_now),
                "/health": json.dumps(figures_now, indent=1) + "\n",
            }
            status_code = HTTPStatus.OK
            if url_path not in body_by_path:
                status_code = HTTPStatus.NOT_FOUND
            elif url_path == "/health" and figures_now["trouble"]:
                status_code = HTTPStatus.SERVICE_UNAVAILABLE
            content_type = "text/html"
            if url_path == "/health":
                content_type = "application/json"
            body_bytes = body_by_path.get(url_path, "").encode()
            self.send_response(status_code)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body_bytes)))
            self.end_headers()
            return body_bytes

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: a monitor asks every few seconds."""

    server = ThreadingHTTPServer((THIS_MACHINE, port), Handler)
    server.daemon_threads = True
    Thread(target=server.serve_forever, name="page", daemon=True).start()
    return server


def _page_html(title: str, figures: Mapping[str, Any]) -> str:
    """The page: what is wrong, and a row for each figure."""
    table_rows = "".join(
        f"<tr><td>{escape(WORDS_BY_FIGURE.get(figure, figure))}</td><td>{_format_figure(figure, value)}</td></tr>"
        for figure, value in figures.items()
        if figure != "trouble"
    )
    return PAGE_TEMPLATE.format(
        title=escape(title), state=escape(figures["trouble"] or "All is well."), rows=table_rows
    )


def _format_figure(name: str, value: float) -> str:
    if name.endswith("bytes"):
        return f"{value / 2**30:,.2f} GiB"
    if name == "seconds":
        return f"{value // 3600:,.0f} h {value % 3600 // 60:.0f} min"
    return f"{value:,.0f}"
