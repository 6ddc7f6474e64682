"""Durations are counted in the buckets that Prometheus expects."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram

from fovnet.watch.figures import STAGE_BOUNDS_S, Figures
from fovnet.watch.metrics import stage_histogram

SECONDS = st.one_of(st.floats(0, 20_000), st.sampled_from(STAGE_BOUNDS_S))


@given(st.lists(SECONDS, max_size=20))
def test_buckets_are_those_of_the_library_s_own_histogram(durations_s: list[float]) -> None:
    """A duration that is a bound lies below it."""
    registry = CollectorRegistry()
    histogram = Histogram("seconds", "", ["stage"], registry=registry, buckets=STAGE_BOUNDS_S)
    figures = Figures()
    for seconds in durations_s:
        histogram.labels("fetch").observe(seconds)
        figures.time("fetch", seconds)
    (family,) = registry.collect()
    expected = {
        (sample.name.removeprefix("seconds"), sample.labels.get("le")): sample.value
        for sample in family.samples
        if not sample.name.endswith("_created")
    }
    counted = {
        (sample.name.removeprefix("fovnet_stage_seconds"), sample.labels.get("le")): sample.value
        for sample in stage_histogram(figures).samples
    }
    assert counted == expected
