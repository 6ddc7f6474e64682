"""The figure of a throughput measurement: images per second beside MONAI's pipeline, and where a
step's time and memory go."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, PercentFormatter, ScalarFormatter

from fovnet.bench.throughput import Throughput
from fovnet.drawing.canvas import ACCENT, FAINT, WARN, house_style


def throughput_figure(measurements: Sequence[Throughput]) -> Figure:
    """Three charts with one lane per measured configuration."""
    measured_rows = [
        measurement for measurement in measurements if measurement.images_per_second is not None
    ]
    lane_positions = np.arange(len(measured_rows))
    with house_style():
        figure = Figure(figsize=(11.0, 1.1 + 0.27 * max(4, len(measured_rows))))
        speed_axis, share_axis, memory_axis = figure.subplots(
            1, 3, sharey=True, width_ratios=(1.4, 1, 1)
        )
        _draw_speeds(speed_axis, measured_rows, lane_positions)
        _draw_shares(share_axis, measured_rows, lane_positions)
        _draw_memory(memory_axis, measured_rows, lane_positions)
        for axis in (speed_axis, share_axis, memory_axis):
            axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.06), ncols=2, frameon=False)
            axis.tick_params(axis="y", length=0)
        figure_height = figure.get_figheight()
        figure.subplots_adjust(
            left=0.215,
            right=0.99,
            top=1 - 0.62 / figure_height,
            bottom=0.48 / figure_height,
            wspace=0.08,
        )
        return figure


def _draw_speeds(
    axis: Axes, measured_rows: Sequence[Throughput], lane_positions: np.ndarray
) -> None:
    """Images per second of fovnet and of MONAI's pipeline, a lane each, with their ratio beside
    them."""
    own_speed, monai_speed, ratio = (
        _values_of_attribute(measured_rows, attribute)
        for attribute in ("images_per_second", "monai_images_per_second", "ratio")
    )
    axis.plot(own_speed, lane_positions, "o", color=ACCENT, label="fovnet")
    axis.plot(monai_speed, lane_positions, "o", color=FAINT, label="MONAI's pipeline")
    for lane_index in lane_positions[np.isfinite(ratio)]:
        axis.annotate(
            f"{ratio[lane_index]:.1f} ×",
            (max(own_speed[lane_index], monai_speed[lane_index]), lane_index),
            (6, 0),
            textcoords="offset points",
            va="center",
        )
    axis.set(
        xscale="log", xlabel="images per second, median", ylim=(len(measured_rows) - 0.5, -0.5)
    )
    axis.margins(x=0.15)
    axis.set_yticks(lane_positions, [measurement.label for measurement in measured_rows])
    axis.set_title("training", loc="left")


def _draw_shares(
    axis: Axes, measured_rows: Sequence[Throughput], lane_positions: np.ndarray
) -> None:
    """Bars of the shares of the matrix rate, and of a step's time that its data take."""
    axis.barh(
        lane_positions - 0.16,
        _values_of_attribute(measured_rows, "matrix_share"),
        height=0.3,
        color=ACCENT,
        label="of the matrix rate",
    )
    axis.barh(
        lane_positions + 0.16,
        _values_of_attribute(measured_rows, "handling_share"),
        height=0.3,
        color=WARN,
        label="of the step: its data",
    )
    axis.xaxis.set_major_formatter(PercentFormatter(1.0))
    axis.set_title("shares", loc="left")


def _draw_memory(
    axis: Axes, measured_rows: Sequence[Throughput], lane_positions: np.ndarray
) -> None:
    """Points of the predicted and of the measured peak memory, on a logarithmic axis."""
    axis.plot(
        _values_of_attribute(measured_rows, "predicted_mb"),
        lane_positions,
        "o",
        color=FAINT,
        label="predicted",
        markersize=5,
    )
    axis.plot(
        _values_of_attribute(measured_rows, "peak_mb"),
        lane_positions,
        "x",
        color=ACCENT,
        label="measured",
        markersize=5,
    )
    axis.set(xscale="log", xlabel="MB")
    axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.xaxis.set_major_formatter(ScalarFormatter())
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_title("peak memory", loc="left")


def _values_of_attribute(measured_rows: Sequence[Throughput], attribute: str) -> np.ndarray:
    """Values (n,) of one attribute, nan where not measured."""
    return np.array([getattr(row, attribute) for row in measured_rows], dtype=float)
