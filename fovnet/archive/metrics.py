"""What a run over an archive tells while it is at work, on a port of this machine alone."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from prometheus_client.metrics_core import Metric

from fovnet.archive.page import run_subject
from fovnet.archive.run import ArchiveRun
from fovnet.errors import ConfigError
from fovnet.machine.ports import refusal_of_port
from fovnet.node.page import page_answer
from fovnet.node.places import STORED, UNSENT
from fovnet.watch.metrics import (
    answer_gauges,
    counter,
    gauge,
    gauges,
    metrics_answer,
    stage_histogram,
)
from fovnet.watch.serving import health_answer, serve


@contextmanager
def serve_metrics(archive_run: ArchiveRun, port: int) -> Iterator[str]:
    """The address of the page, /metrics and /health, served while the block runs; port 0 takes any.

    Raises ConfigError "node-port" if it is taken.
    """
    subject = run_subject(archive_run)
    answer_by_path = {
        "/": lambda: page_answer(subject, run_status(archive_run), archive_run.tally),
        "/health": lambda: health_answer(run_status(archive_run)),
        "/metrics": metrics_answer(lambda: run_metrics(archive_run)),
    }
    try:
        server = serve(port, answer_by_path)
    except OSError as fault:
        raise ConfigError("node-port", refusal_of_port(fault, port)) from fault
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


def run_status(archive_run: ArchiveRun) -> dict[str, Any]:
    """{figure: number}: series by state, and counts since the start; and `trouble`, why nothing is
    asked for, "" where series are."""
    queue = archive_run.queue
    status: dict[str, Any] = {"trouble": "", "oldest_waiting_s": 0.0}
    if queue is not None:
        status = {"trouble": queue.trouble, "oldest_waiting_s": queue.oldest_waiting_s()}
        status |= {f"series_{state}": count for state, count in queue.count_by_state().items()}
    if archive_run.reporting is not None:
        status[f"reports_{UNSENT}"] = archive_run.reporting.unsent_count
        status[f"reports_{STORED}"] = archive_run.reporting.stored_count
    return {
        **status,
        "drift": "",
        "series_answered": archive_run.tally.series_count,
        "series_failed": len(archive_run.failed),
        "free_bytes": shutil.disk_usage(archive_run.folder).free,
        **archive_run.figures.now(),
    }


def run_metrics(archive_run: ArchiveRun) -> list[Metric]:
    """The metrics of a run."""
    status = run_status(archive_run)
    states = ("waiting", "fetching", "put_off", "answered", "failed")
    series_by_state = {state: status.get(f"series_{state}", 0) for state in states}
    reports_by_state = {
        state: status[f"reports_{state}"]
        for state in (UNSENT, STORED)
        if f"reports_{state}" in status
    }
    failed_by_code = archive_run.count_failures()
    return [
        gauge("trouble", "1 where nothing is asked for.", bool(status["trouble"])),
        counter("images_received", "Images fetched.", status.get("instances", 0)),
        counter("received_bytes", "Bytes of these images.", status.get("bytes", 0)),
        counter("series_received", "Series fetched.", status.get("series", 0)),
        gauges("series", "Series of the worklist, by state.", "state", series_by_state),
        gauges("failed_series", "Series that did not come, by code.", "code", failed_by_code),
        gauge(
            "oldest_waiting_seconds",
            "Since the series was begun that is longest on its way.",
            status["oldest_waiting_s"],
        ),
        *answer_gauges(archive_run.tally),
        gauges("reports", "Reports unsent, and stored by this run.", "state", reports_by_state),
        counter("retries", "Attempts that were put off.", status.get("retries", 0)),
        stage_histogram(archive_run.figures),
        gauge("free_bytes", "Free on the disk.", status["free_bytes"]),
        gauge("resident_memory_bytes", "Memory of the process.", status["resident_bytes"]),
    ]
