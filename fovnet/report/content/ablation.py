"""What each step of decision and ensemble contributes: arms of an ablation, each against the one
before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from fovnet.evaluate.ablation import Ablation, AblationStep
from fovnet.evaluate.paired import Difference
from fovnet.records import json_key
from fovnet.regions import Vocabulary
from fovnet.report.content.cells import MeasuredText, ReportTable
from fovnet.report.content.confusions import ConfusionView, network_confusion_view
from fovnet.report.content.wording import DASH, is_length, measure_text, minus

TITLE_BY_MEASURE_NAME = {
    "slice_error": "slice error",
    "span_f1": "F1 of spans",
    "exact_set": "right set of regions",
    "border_within_10_mm": "borders within 10 mm",
    "border_abs_median_mm": "border error, median",
}
"""Measures of the arms that the page shows; the TSV beside the evaluation has all."""


@dataclass(frozen=True)
class AblationView:
    """The measures of each arm of the ablation, the arms that were left out, with the reasons, and
    the confusions of the networks alone."""

    table: ReportTable
    omitted_arms: str = field(metadata=json_key("left_out"))
    networks: ConfusionView


def ablation_view(ablation: Ablation | None, vocabulary: Vocabulary) -> AblationView | None:
    """A row for each arm of the ablation, with its change from the arm before; None without an
    ablation."""
    if ablation is None or not ablation.steps:
        return None
    measured_names = {measure.name for step in ablation.steps for measure in step.measures}
    title_by_measure_name = {
        measure_name: title
        for measure_name, title in TITLE_BY_MEASURE_NAME.items()
        if measure_name in measured_names
    }
    rows = [
        (f"{step.ladder}: {step.arm}", step.what, *_measure_cells(step, [*title_by_measure_name]))
        for step in ablation.steps
    ]
    omitted_arms = [f"{ladder}: {arm} ({reason})" for ladder, arm, reason in ablation.omitted_arms]
    header = ("step", "what it is", *title_by_measure_name.values())
    return AblationView(
        ReportTable(header, rows, name="ablation"),
        "; ".join(omitted_arms),
        network_confusion_view(ablation.confusions, vocabulary),
    )


def _measure_cells(step: AblationStep, measure_names: Sequence[str]) -> list[str | MeasuredText]:
    """A cell for each measure of an arm: its value, its interval and its change from the arm
    before; a dash where it was not measured."""
    text_by_measure_name = {measure.name: measure_text(measure) for measure in step.measures}
    change_by_measure_name = {gain.measure: _change_text(gain) for gain in step.gains}
    cells: list[str | MeasuredText] = []
    for measure_name in measure_names:
        measured_text = text_by_measure_name.get(measure_name)
        if measured_text is None:
            cells.append(DASH)
        else:
            change_text = change_by_measure_name.get(measure_name, "")
            cells.append(MeasuredText(measured_text.value, measured_text.interval, change_text))
    return cells


def _change_text(gain: Difference) -> str:
    """ "change −1.2 (−2.0 to −0.4) points": in mm for a length, else in points of percent."""
    unit = "points"
    factor = 100.0
    if is_length(gain.measure):
        unit = "mm"
        factor = 1.0
    change_text = f"change {gain.difference * factor:+.1f}"
    if gain.low is not None and gain.high is not None:
        change_text += f" ({gain.low * factor:+.1f} to {gain.high * factor:+.1f})"
    return minus(f"{change_text} {unit}")
