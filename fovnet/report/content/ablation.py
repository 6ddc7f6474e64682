"""What each step of decision and ensemble contributes: arms of an ablation, each against the one
before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fovnet.evaluate.ablation import Ablation, AblationStep
from fovnet.evaluate.paired import Difference
from fovnet.report.content.cells import MeasuredText, ReportTable
from fovnet.report.content.wording import measure_text, minus

MEASURE_NAMES = {
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

    table: ReportTable
    left_out: str


def ablation_view(ablation: Ablation | None) -> AblationView | None:
    """The arms of the ablation, each with its change from the arm before; None without an
    ablation."""
    if ablation is None or not ablation.steps:
        return None
    measured_names = {measure.name for step in ablation.steps for measure in step.measures}
    names = [name for name in MEASURE_NAMES if name in measured_names]
    rows = [
        (f"{step.ladder}: {step.arm}", step.what, *_arm(step, names)) for step in ablation.steps
    ]
    left_out = [f"{ladder}: {arm} ({why})" for ladder, arm, why in ablation.left_out]
    header = ("step", "what it is", *(MEASURE_NAMES[name] for name in names))
    return AblationView(ReportTable(header, rows, name="ablation"), "; ".join(left_out))


def _arm(step: AblationStep, names: Sequence[str]) -> list[str | MeasuredText]:
    """Each measure with its interval and its change from the arm before."""
    text_of_measure = {measure.name: measure_text(measure) for measure in step.measures}
    gain_of_measure = {gain.measure: _gain(gain) for gain in step.gains}
    cells: list[str | MeasuredText] = []
    for name in names:
        text = text_of_measure.get(name)
        if text is None:
            cells.append("–")
        else:
            gain_text = gain_of_measure.get(name, "")
            cells.append(MeasuredText(text.value, text.interval, gain_text))
    return cells


def _gain(gain: Difference) -> str:
    """ "change −1.2 (−2.0 to −0.4) points"."""
    is_length = gain.measure.endswith("_mm") and not gain.measure.startswith("border_within")
    scale = 1.0 if is_length else 100.0
    unit = "mm" if is_length else "points"
    text = f"change {gain.difference * scale:+.1f}"
    if gain.low is not None and gain.high is not None:
        text += f" ({gain.low * scale:+.1f} to {gain.high * scale:+.1f})"
    return minus(f"{text} {unit}")
