"""A page about the node, which names no patient."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from fovnet.watch.serving import Answer

WORDS_BY_FIGURE = {
    "associations": "associations now",
    "series_arriving": "series arriving",
    "series_waiting": "series waiting for their answers",
    "oldest_waiting_s": "the oldest waits for",
    "series_answered": "series answered",
    "reports_unsent": "reports not sent",
    "reports_stored": "reports stored, not yet committed to",
    "reports_delivered": "reports delivered",
    "free_bytes": "free on the disk",
    "seconds": "at work for",
    "resident_bytes": "memory",
    "series": "series taken",
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
    "sent": "reports sent",
    "retries": "attempts put off",
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


def page_answer(title: str, figures: Mapping[str, Any]) -> Answer:
    """What is answered to a request for the page.

    figures  numbers by name, and `trouble`: what is wrong, "" if nothing is
    """
    return Answer(_page_html(title, figures).encode(), "text/html")


def _page_html(title: str, figures: Mapping[str, Any]) -> str:
    """The page: what is wrong, and a row for each figure."""
    table_rows = "".join(
        f"<tr><td>{escape(WORDS_BY_FIGURE.get(figure, figure))}</td><td>{_format_figure(figure, value)}</td></tr>"
        for figure, value in figures.items()
        if figure not in ("trouble", "drift")
    )
    return PAGE_TEMPLATE.format(
        title=escape(title), state=escape(figures["trouble"] or "All is well."), rows=table_rows
    )


def _format_figure(name: str, value: float) -> str:
    if name.endswith("bytes"):
        return f"{value / 2**30:,.2f} GiB"
    if name in ("seconds", "oldest_waiting_s"):
        return f"{value // 3600:,.0f} h {value % 3600 // 60:.0f} min"
    return f"{value:,.0f}"
