"""What a node tells Prometheus."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prometheus_client.metrics_core import Metric

from fovnet.node.places import STATES
from fovnet.watch.drift import Shares, count_kinds
from fovnet.watch.figures import Figures
from fovnet.watch.metrics import (
    answer_gauges,
    counter,
    counters,
    drift_gauges,
    gauge,
    gauges,
    stage_histogram,
)
from fovnet.watch.tally import Tally

SERIES_STATES = ("arriving", "waiting", "answered")
REFUSING_FIGURES = (
    "strangers",
    "limit_reached",
    "classes_refused",
    "tls_failed",
    "not_dicom",
    "silent",
    "disk_full",
    "mismatched",
    "not_understood",
    "too_large",
)
"""Figures that count what callers were refused."""


def node_metrics(
    status: Mapping[str, Any], figures: Figures, tally: Tally, accepted: Shares | None
) -> list[Metric]:
    """The metrics of a node; `status` as the node gives it, and the shares
    accepted."""

    def since_start(figure: str) -> int:
        return int(status.get(figure, 0))

    count_by_cause = {figure: since_start(figure) for figure in REFUSING_FIGURES}
    series_by_state = {state: status[f"series_{state}"] for state in SERIES_STATES}
    reports_by_state = {state: status[f"reports_{state}"] for state in STATES}
    return [
        gauge("trouble", "1 where /health tells of trouble.", bool(status["trouble"])),
        counter("images_received", "Images acknowledged.", since_start("instances")),
        counter("received_bytes", "Bytes of these images.", since_start("bytes")),
        counter("series_received", "Series at rest, with something new.", since_start("series")),
        counter("series_unchanged", "Series sent again.", since_start("unchanged")),
        gauges("series", "Series on the disk, by state.", "state", series_by_state),
        gauge(
            "oldest_waiting_seconds",
            "Since the series came to rest that waits longest for its answer.",
            status["oldest_waiting_s"],
        ),
        *answer_gauges(tally),
        counters("refusals", "What callers were refused, by cause.", "cause", count_by_cause),
        gauges(
            "reports",
            "Reports on the disk, by state; delivered ones are removed after --keep hours.",
            "state",
            reports_by_state,
        ),
        counter("reports_sent", "Reports stored by the archive.", since_start("sent")),
        counter("reports_given_up", "Reports never stored.", since_start("given_up")),
        counter("reports_uncommitted", "Never committed to.", since_start("uncommitted")),
        counter("retries", "Attempts at the archive that were put off.", since_start("retries")),
        *drift_gauges(count_kinds(tally.recent()), accepted),
        stage_histogram(figures),
        gauge("associations", "Associations now.", status["associations"]),
        gauge("free_bytes", "Free on the disk.", status["free_bytes"]),
        gauge("resident_memory_bytes", "Memory of the process.", status["resident_bytes"]),
    ]
