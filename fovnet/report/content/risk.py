"""Risk against coverage: the error rate when only the most confident volumes are answered."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fovnet.evaluate.evaluation import Evaluation, VolumeRow
from fovnet.evaluate.measures import Measure, Resampling
from fovnet.report.content.page import RiskPoint, RiskView, Shown, Table
from fovnet.report.content.wording import percent, shown

STEPS = (1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.25)
"""Shares of the volumes, most confident first, for which the table gives risks with intervals."""


def risk_view(evaluation: Evaluation) -> RiskView:
    """The curve over all volumes with a confidence, uncertain ones included, and a table at STEPS with intervals over subjects."""
    rows = [row for row in evaluation.volumes if row.slices and row.confidence is not None]
    ranked = sorted(rows, key=lambda row: (-(row.confidence or 0.0), row.volume_id))
    if not ranked:
        return RiskView((), None, Table((), (), name="risk"), "")
    slices, wrong = (np.cumsum([getattr(row, name) for row in ranked]) for name in ("slices", "wrong"))
    other_set = np.cumsum([not row.right for row in ranked])
    count = np.arange(1, len(ranked) + 1)
    points = tuple(
        RiskPoint(float(kept / len(ranked)), float(wrong[kept - 1] / slices[kept - 1]), float(other_set[kept - 1] / kept))
        for kept in count.tolist()
    )
    area = evaluation.everything.find("risk_coverage_slices", "decided")
    mean = percent(float(np.mean(wrong / slices))) if area is None else f"{shown(area).value} ({shown(area).interval})"
    words = (
        f"Averaged over all coverages, {mean} of the slices answered are wrong (the area under the solid curve); answering "
        f"everything, {percent(float(wrong[-1] / slices[-1]))}."
    )
    answered = sum(row.status == "ok" for row in ranked)
    return RiskView(points, answered / len(ranked), _table(ranked, evaluation), words)


def _table(ranked: Sequence[VolumeRow], evaluation: Evaluation) -> Table:
    rows: list[tuple[str | Shown, ...]] = []
    for step in STEPS:
        kept = list(ranked[: max(math.ceil(step * len(ranked)), 1)])
        sets, wrong = _risks(kept, evaluation)
        least = f"{kept[-1].confidence:.2f}"
        rows.append((f"surest {percent(step)}", f"{len(kept):,} of {len(ranked):,}", least, shown(wrong), shown(sets)))
    header = ("answering the", "volumes", "confidence at least", "slices wrong", "volumes with wrong regions")
    return Table(header, tuple(rows), name="risk")


def _risks(kept: Sequence[VolumeRow], evaluation: Evaluation) -> tuple[Measure, Measure]:
    """Share of volumes whose set of regions is wrong, and of slices that are wrong, with intervals over subjects."""
    draws = Resampling([row.subject_id for row in kept], repeats=evaluation.bootstrap, seed=evaluation.seed)
    one = np.ones((len(kept), 1), dtype=np.int64)
    sets = draws.rates("wrong_set", np.array([[not row.right] for row in kept], dtype=np.int64), one, stage="decided")
    wrong = draws.rates("slice_error", np.array([[row.wrong] for row in kept]), np.array([[row.slices] for row in kept]), stage="decided")
    return sets[0], wrong[0]
