"""The flow of volumes from those listed to those answered: exclusions at each step, with their reasons."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from fovnet.report.content.page import FlowStep, FlowView, LeftOut, Table

Row = Mapping[str, Any]
SPLITS = {"train": "training", "validation": "validation", "test": "test"}
"""Splits as stored, and their names in the report."""


def flow_view(manifest: Sequence[Row], uncertain: int) -> FlowView:
    """The flow of the volumes in a manifest; `uncertain` is the number of test volumes answered "cannot say".

    A volume without labels is for prediction only, and is in no split.
    """
    read = [row for row in manifest if row.get("status") != "refused"]
    labelled = [row for row in read if row.get("split")]
    tested = [row for row in labelled if row["split"] == "test"]
    steps = (
        _step("listed in the collections", manifest, ()),
        _step("read and cut into slices", read, _refusals(manifest)),
        _step("labelled", labelled, _unlabelled(read)),
        _step("held back for testing", tested, _others(labelled)),
        FlowStep("answered with confidence", len(tested) - uncertain, None, None, _unsure(uncertain)),
    )
    return FlowView(steps if manifest else ())


def flow_table(view: FlowView) -> Table:
    """The flow as a table, for readers who cannot see the figure."""
    rows = []
    for step in view.steps:
        left = "; ".join(f"{one.volumes:,} {one.why}" for one in step.left_out) or "none"
        rows.append((step.name, *(_count(value) for value in (step.volumes, step.subjects, step.slices)), left))
    return Table(("step", "volumes", "subjects", "slices", "left out before it"), tuple(rows), name="flow")


def refused_table(manifest: Sequence[Row]) -> Table:
    """Numbers of refused volumes by code, most frequent first, each with one message as an example."""
    by_code: dict[str, list[str]] = defaultdict(list)
    for row in manifest:
        if row.get("status") == "refused":
            by_code[str(row.get("code") or "no code")].append(str(row.get("message") or ""))
    ordered = sorted(by_code.items(), key=lambda one: (-len(one[1]), one[0]))
    rows = tuple((code, f"{len(messages):,}", messages[0] or "no reason was recorded") for code, messages in ordered)
    return Table(("reason", "volumes", "for example"), rows, name="refused")


def _step(name: str, rows: Sequence[Row], left_out: tuple[LeftOut, ...]) -> FlowStep:
    subjects = len({row.get("subject_id") for row in rows})
    return FlowStep(name, len(rows), subjects, sum(int(row.get("slices") or 0) for row in rows), left_out)


def _refusals(manifest: Sequence[Row]) -> tuple[LeftOut, ...]:
    codes = Counter(str(row.get("code") or "no code") for row in manifest if row.get("status") == "refused")
    return tuple(LeftOut(f"refused: {code}", count) for code, count in codes.most_common())


def _unlabelled(read: Sequence[Row]) -> tuple[LeftOut, ...]:
    count = sum(not row.get("split") for row in read)
    return (LeftOut("without labels: for prediction only", count),) if count else ()


def _others(labelled: Sequence[Row]) -> tuple[LeftOut, ...]:
    counts = Counter(str(row["split"]) for row in labelled if row["split"] != "test")
    return tuple(LeftOut(f"used for {SPLITS.get(split, split)}", counts[split]) for split in sorted(counts))


def _unsure(uncertain: int) -> tuple[LeftOut, ...]:
    return (LeftOut("answered “cannot say”", uncertain),) if uncertain else ()


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"
