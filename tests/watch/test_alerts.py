"""The alert rules that come along name metrics that there are, and are what Prometheus takes."""

from __future__ import annotations

import re
from pathlib import Path
from subprocess import run

import yaml

from fovnet.archive.metrics import run_metrics
from fovnet.archive.run import AnswerSettings, ArchiveRun
from fovnet.node.metrics import node_metrics
from fovnet.watch.drift import Shares
from fovnet.watch.figures import Figures
from fovnet.watch.tally import Tally
from tests.node.conftest import networks
from tests.programs import require

__all__ = ["networks"]
RULES = Path(__file__).parents[2] / "packaging" / "alerts.yml"
CASES = """
rule_files: [alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'fovnet_reports{state="unsent",instance="a"}', values: '3x200'}
      - {series: 'fovnet_reports_sent_total{instance="a"}', values: '7x200'}
      - {series: 'fovnet_reports{state="unsent",instance="b"}', values: '3x200'}
      - {series: 'fovnet_reports_sent_total{instance="b"}', values: '0+1x200'}
      - {series: 'fovnet_free_bytes{instance="a"}', values: '9e10-1e8x200'}
      - {series: 'fovnet_free_bytes{instance="b"}', values: '9e10x200'}
    alert_rule_test:
      - eval_time: 180m
        alertname: FovnetReportsStay
        exp_alerts:
          - exp_labels: {severity: page, state: unsent, instance: a}
            exp_annotations: {summary: "3 reports wait, and the archive has taken none for an hour"}
      - eval_time: 180m
        alertname: FovnetDiskFills
        exp_alerts:
          - exp_labels: {severity: page, instance: a}
            exp_annotations: {summary: "The disk of fovnet at a is full within a day"}
"""


def test_every_metric_of_the_rules_is_told_by_a_service(networks, tmp_path) -> None:
    figures = Figures()
    figures.time("answer", 1.0)
    status = dict.fromkeys(
        ("trouble", "series_arriving", "series_waiting", "series_answered", "oldest_waiting_s"), 0
    ) | dict.fromkeys(("reports_unsent", "reports_stored", "reports_delivered"), 0)
    status |= dict.fromkeys(("associations", "free_bytes", "resident_bytes"), 0)
    archive_run = ArchiveRun(tmp_path, [], networks, AnswerSettings())
    families = [
        *node_metrics(status, figures, Tally(), Shares(1, {"ok": 1})),
        *run_metrics(archive_run),
    ]
    names = {sample.name for family in families for sample in family.samples}
    names |= {family.name for family in families}
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"][0]["rules"]
    for rule in rules:
        metrics = set(re.findall(r"fovnet_\w+", rule["expr"]))
        assert metrics <= names, rule["alert"]
        assert metrics or rule["alert"] == "FovnetDown"


def test_prometheus_takes_the_rules_and_alerts_as_they_say(tmp_path) -> None:
    """Reports that wait beside an archive that takes others are no alert, nor is a disk that does not
    fill."""
    promtool = require("promtool")
    (tmp_path / "alerts.yml").write_bytes(RULES.read_bytes())
    (tmp_path / "cases.yml").write_text(CASES)
    for words in (["check", "rules", "alerts.yml"], ["test", "rules", "cases.yml"]):
        done = run([promtool, *words], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
