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
    shown_measure_names = [
        measure_name for measure_name in MEASURE_NAMES if measure_name in measured_names
    ]
    rows = [
        (f"{step.ladder}: {step.arm}", step.what, *_measure_cells(step, shown_measure_names))
        for step in ablation.steps
    ]
    left_out_arms = [f"{ladder}: {arm} ({reason})" for ladder, arm, reason in ablation.left_out]
    header = (
        "step",
        "what it is",
        *(MEASURE_NAMES[measure_name] for measure_name in shown_measure_names),
    )
    return AblationView(ReportTable(header, rows, name="ablation"), "; ".join(left_out_arms))


def _measure_cells(step: AblationStep, measure_names: Sequence[str]) -> list[str | MeasuredText]:
    """Each measure with its interval and its change from the arm before."""
    text_by_measure_name = {measure.name: measure_text(measure) for measure in step.measures}
    gain_text_by_measure_name = {gain.measure: _gain_text(gain) for gain in step.gains}
    cells: list[str | MeasuredText] = []
    for measure_name in measure_names:
        measured_text = text_by_measure_name.get(measure_name)
        if measured_text is None:
            cells.append("–")
        else:
            gain_text = gain_text_by_measure_name.get(measure_name, "")
            cells.append(MeasuredText(measured_text.value, measured_text.interval, gain_text))
    return cells


def _gain_text(gain: Difference) -> str:
    """ "change −1.2 (−2.0 to −0.4) points"."""
    is_in_mm = gain.measure.endswith("_mm") and not gain.measure.startswith("border_within")
    shown_per_unit = 1.0 if is_in_mm else 100.0
    unit = "mm" if is_in_mm else "points"
    change_text = f"change {gain.difference * shown_per_unit:+.1f}"
    if gain.low is not None and gain.high is not None:
        change_text += f" ({gain.low * shown_per_unit:+.1f} to {gain.high * shown_per_unit:+.1f})"
    return minus(f"{change_text} {unit}")
