"""What each step of decision and ensemble contributes: arms of an ablation, each against the one before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.evaluate.ablation import Ablation, AblationStep
from fovnet.evaluate.paired import Difference
from fovnet.report.content.cells import Shown, Table
from fovnet.report.content.wording import minus, shown

ABLATED = {
    "slice_error": "slice error",
    "span_f1": "F1 of spans",
    "exact_set": "right set of regions",
    "border_within_10_mm": "borders within 10 mm",
    "border_abs_median_mm": "border error, median",
}
"""Measures of the arms that the page shows; the TSV beside the evaluation has all."""


@dataclass(frozen=True)
class AblationView:
    """The measures of each arm of the ablation, and the arms that were left out."""

    table: Table
    left_out: str


def ablation_view(ablation: Ablation | None) -> AblationView | None:
    """The arms of the ablation, each with its change from the arm before; None without an ablation."""
    if ablation is None or not ablation.steps:
        return None
    measured = {one.name for step in ablation.steps for one in step.measures}
    names = [name for name in ABLATED if name in measured]
    rows = [
        (f"{step.ladder}: {step.arm}", step.what, *_arm(step, names)) for step in ablation.steps
    ]
    left = [f"{ladder}: {arm} ({why})" for ladder, arm, why in ablation.left_out]
    header = ("step", "what it is", *(ABLATED[name] for name in names))
    return AblationView(Table(header, rows, name="ablation"), "; ".join(left))


def _arm(step: AblationStep, names: Sequence[str]) -> list[str | Shown]:
    """Each measure with its interval and its change from the arm before."""
    values = {one.name: shown(one) for one in step.measures}
    gains = {one.measure: _gain(one) for one in step.gains}
    return [
        Shown(values[name].value, values[name].interval, gains.get(name, ""))
        if name in values
        else "–"
        for name in names
    ]


def _gain(one: Difference) -> str:
    """ "change −1.2 (−2.0 to −0.4) points"."""
    length = one.measure.endswith("_mm") and not one.measure.startswith("border_within")
    scale, unit = (1.0, "mm") if length else (100.0, "points")
    words = f"change {one.difference * scale:+.1f}"
    if one.low is not None and one.high is not None:
        words += f" ({one.low * scale:+.1f} to {one.high * scale:+.1f})"
    return minus(f"{words} {unit}")
