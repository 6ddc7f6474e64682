"""What a node tells Prometheus adds up to its tables, before and after a restart, and names nobody."""

from __future__ import annotations

import urllib.request
from collections import Counter

import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fovnet.node.places import hash_uids
from fovnet.records import read_tsv, write_json
from tests.node.parties import PATIENT, at_work, statuses

Samples = dict[tuple[str, ...], float]


def page_text(running, path: str) -> str:
    """What the node's local port answers."""
    line = next(line for line in running.lines if "page" in line)
    address = line.split("page ")[1].split("/;")[0]
    with urllib.request.urlopen(f"{address}{path}") as answer:
        return str(answer.read().decode())


def samples(text: str) -> Samples:
    """{(name, label values in the order of the labels' names): value}."""
    return {
        (sample.name, *(sample.labels[label] for label in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if not sample.name.endswith("_created")
    }


def gauges_of_answers(told: Samples) -> Samples:
    names = "fovnet_answers", "fovnet_region_answers", "fovnet_refused_answers", "fovnet_series"
    return {key: value for key, value in told.items() if key[0] in names and value}


def test_metrics_add_up_to_the_tables_after_a_restart_too(tmp_path, networks, series) -> None:
    sent = [series(number) for number in range(3)]
    for image in sent[2]:
        image.PixelData = image.PixelData[:100]
    with at_work(tmp_path / "node", networks, page_port=0) as running:
        for images in [sent[0][:6], *sent[1:]]:
            statuses(running.port, images)
        running.until(answered=2, refused=1)
        statuses(running.port, sent[0][6:])
        status = running.until(answered=3, refused=1)
        text = page_text(running, "/metrics")
    told = samples(text)
    rows = read_tsv(tmp_path / "node" / "answers.tsv")
    expected: Counter[tuple[str, ...]] = Counter({("fovnet_series", "answered"): len(rows)})
    for row in rows:
        expected["fovnet_answers", row["status"]] += 1
        if row["status"] == "refused":
            expected["fovnet_refused_answers", row["code"]] += 1
        for region in (*networks.vocabulary.classes[:-1], *networks.network_vocabulary.part_names):
            if row[region]:
                expected["fovnet_region_answers", row[region], region] += 1
    assert gauges_of_answers(told) == expected and expected["fovnet_answers", "refused"] == 1
    assert told["fovnet_images_received_total",] == sum(map(len, sent)) == status["instances"]
    assert told["fovnet_series_received_total",] == len(sent) + 1
    assert told["fovnet_reports", "unsent"] == status["answered"]
    for stage in ("arrival", "waiting", "answer"):
        assert told["fovnet_stage_seconds_count", stage] == len(sent) + 1
        assert told["fovnet_stage_seconds_bucket", "+Inf", stage] == len(sent) + 1
        assert 0 <= told["fovnet_stage_seconds_sum", stage] < 1000
    write_json(tmp_path / "node" / "acceptance.json", {"volumes": 200, "counts": {"ok": 50}})
    with at_work(tmp_path / "node", networks, page_port=0) as running:
        told_again = samples(page_text(running, "/metrics"))
        assert "too few answers to compare" in running.node.status()["drift"]
    assert told_again["fovnet_accepted_share", "ok"] == 0.25
    recent_refused = told_again["fovnet_recent_share", "refused"]
    assert recent_refused * told_again["fovnet_recent_volumes",] == pytest.approx(1)
    assert gauges_of_answers(told_again) == expected
    assert told_again["fovnet_images_received_total",] == 0
    keys = [hash_uids(images[0].StudyInstanceUID, images[0].SeriesInstanceUID) for images in sent]
    assert not any(secret in text for secret in [*PATIENT.values(), "1.2.826", *keys])
    assert "fovnet" not in prometheus_client.generate_latest().decode()
