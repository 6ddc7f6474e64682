"""Figures and tallies as Prometheus reads them (its text format), in a registry of their own.

Gauges tell what is there now, and are the same after a restart; counters and histograms begin with the
process, which Prometheus expects.  No label names a patient, or has a UID.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from fovnet.watch.drift import LEAST_VOLUMES, Shares, find_drift
from fovnet.watch.figures import STAGE_BOUNDS_S, Figures
from fovnet.watch.serving import Answer
from fovnet.watch.tally import Tally


def metrics_answer(collect: Callable[[], Iterable[Metric]]) -> Callable[[], Answer]:
    """What a port answers when it is asked for metrics, which `collect` gives each time."""

    class Families(Collector):
        def collect(self) -> Iterable[Metric]:
            return collect()

    registry = CollectorRegistry()
    registry.register(Families())
    return lambda: Answer(generate_latest(registry), CONTENT_TYPE_PLAIN_0_0_4)


def gauge(name: str, meaning: str, value: float) -> Metric:
    """A figure of now."""
    return GaugeMetricFamily(f"fovnet_{name}", meaning, value=value)


def gauges(name: str, meaning: str, label: str, value_by_label: Mapping[str, float]) -> Metric:
    """Figures of now, by the values of a label."""
    family = GaugeMetricFamily(f"fovnet_{name}", meaning, labels=[label])
    return _fill_family(family, value_by_label)


def counter(name: str, meaning: str, count: float) -> Metric:
    """A count since the start; `_total` is added to its name."""
    return CounterMetricFamily(f"fovnet_{name}", meaning, value=count)


def counters(name: str, meaning: str, label: str, count_by_label: Mapping[str, float]) -> Metric:
    """Counts since the start, by the values of a label."""
    family = CounterMetricFamily(f"fovnet_{name}", meaning, labels=[label])
    return _fill_family(family, count_by_label)


def _fill_family(
    family: GaugeMetricFamily | CounterMetricFamily, value_by_label: Mapping[str, float]
) -> Metric:
    """The family with a figure for each value of its label."""
    for label_value, value in value_by_label.items():
        family.add_metric([label_value], value)
    return family


def stage_histogram(figures: Figures) -> Metric:
    """Seconds by stage."""
    family = HistogramMetricFamily(
        "fovnet_stage_seconds", "Seconds that a stage took.", labels=["stage"]
    )
    bounds = [*map(str, STAGE_BOUNDS_S), "+Inf"]
    for stage, durations in figures.durations().items():
        cumulative_counts = accumulate(durations.counts)
        buckets = list(zip(bounds, cumulative_counts, strict=True))
        family.add_metric([stage], buckets, durations.sum_s)
    return family


def answer_gauges(tally: Tally) -> list[Metric]:
    """The answers of a table, by status, by region, and the refused ones by code."""
    by_region = GaugeMetricFamily(
        "fovnet_region_answers",
        "Volumes whose newest answer on a region is this.",
        labels=["region", "answer"],
    )
    for region_and_answer, count in tally.by_region().items():
        by_region.add_metric(region_and_answer, count)
    return [
        gauges("answers", "Volumes by status of the newest answer.", "status", tally.by_status()),
        by_region,
        gauges("refused_answers", "Refused volumes, by code.", "code", tally.by_code()),
    ]


def drift_gauges(recent: Shares, accepted: Shares | None) -> list[Metric]:
    """The shares of the newest answers, and those accepted, by kind."""
    families = [
        gauge("recent_volumes", "Volumes of the newest series.", recent.volume_count),
        gauges(
            "recent_share", "Share of these volumes, by kind of answer.", "kind", _shares(recent)
        ),
    ]
    if accepted is not None:
        drift_count = 0
        if recent.volume_count >= LEAST_VOLUMES:
            drift_count = len(find_drift(recent, accepted))
        families += [
            gauges("accepted_share", "The shares at acceptance.", "kind", _shares(accepted)),
            gauge("drifted_shares", "Kinds whose shares differ by more than chance.", drift_count),
        ]
    return families


def _shares(shares: Shares) -> dict[str, float]:
    return {kind: shares.share(kind) for kind in shares.count_by_kind}
