"""Measures of borders: how far they are off, and how many are near enough, missed or invented."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.borders import AGREEMENT_MM, ROUNDING_MM, Border
from fovnet.evaluate.measures import Measure, Resampling, known_values_and_cases

NumberedBorder = tuple[int, Border]
"""A border, and the number of its volume."""


def measure_borders(
    kind_or_group: str,
    borders: Sequence[NumberedBorder],
    resampling: Resampling,
    near_mm: Sequence[float] = (AGREEMENT_MM,),
) -> list[Measure]:
    """Errors in mm of the borders found; shares of the true ones found within each of `near_mm`, and
    missed, and of the predicted ones invented; how good their intervals are."""
    errors_mm, volume_index_by_error = known_values_and_cases(
        [(volume_index, border.error_mm) for volume_index, border in borders]
    )
    sizes_mm = np.abs(errors_mm)
    error_sum_by_volume = _count_by_volume(volume_index_by_error, resampling, sizes_mm)
    found_by_volume = _count_by_volume(volume_index_by_error, resampling)
    return [
        resampling.measure_quantile(
            "border_signed_median_mm", errors_mm, volume_index_by_error, 0.5, region=kind_or_group
        ),
        resampling.measure_quantile(
            "border_abs_median_mm", sizes_mm, volume_index_by_error, 0.5, region=kind_or_group
        ),
        resampling.measure_mean(
            "border_abs_mean_mm",
            error_sum_by_volume,
            found_by_volume,
            stage="decided",
            region=kind_or_group,
        ),
        resampling.measure_quantile(
            "border_abs_p95_mm", sizes_mm, volume_index_by_error, 0.95, region=kind_or_group
        ),
        *_shares_of_borders(kind_or_group, borders, resampling, near_mm),
        *_interval_measures(kind_or_group, borders, resampling),
    ]


def _shares_of_borders(
    kind_or_group: str,
    borders: Sequence[NumberedBorder],
    resampling: Resampling,
    near_mm: Sequence[float],
) -> list[Measure]:
    """Shares of the true borders found within each of `near_mm`, and missed; of the predicted ones
    invented."""
    volume_by_border = np.array([volume_index for volume_index, _ in borders], dtype=np.int64)
    is_true = np.array([border.true_mm is not None for _, border in borders], dtype=bool)
    is_predicted = np.array([border.predicted_mm is not None for _, border in borders], dtype=bool)
    masks_by_name = {
        f"border_within_{limit_mm:g}_mm": (
            np.array([_is_near(border, limit_mm) for _, border in borders], dtype=bool),
            is_true,
        )
        for limit_mm in near_mm
    }
    masks_by_name["border_missed"] = (is_true & ~is_predicted, is_true)
    masks_by_name["border_invented"] = (is_predicted & ~is_true, is_predicted)
    return [
        resampling.measure_rate(
            name,
            *(_count_by_volume(volume_by_border[mask], resampling) for mask in masks),
            stage="decided",
            region=kind_or_group,
        )
        for name, masks in masks_by_name.items()
    ]


def _is_near(border: Border, limit_mm: float) -> bool:
    """Whether the border is found within so many millimetres."""
    return border.error_mm is not None and abs(border.error_mm) <= limit_mm + ROUNDING_MM


def _count_by_volume(
    volume_indices: NDArray[np.int64],
    resampling: Resampling,
    weights: NDArray[np.float64] | None = None,
) -> NDArray[Any]:
    """(c,) how often each volume's number occurs, or the sum of its weights."""
    return np.bincount(volume_indices, weights, minlength=len(resampling.subject_index))


def _interval_measures(
    kind_or_group: str, borders: Sequence[NumberedBorder], resampling: Resampling
) -> list[Measure]:
    """How often the 90 % intervals of the borders found hold the true height, and their median
    width; empty without intervals."""
    holding_by_volume, interval_count_by_volume = np.zeros(
        (2, len(resampling.subject_index)), dtype=np.int64
    )
    widths_with_volume_index = []
    for volume_index, border in borders:
        if (
            border.is_in_interval is not None
            and border.low_mm is not None
            and border.high_mm is not None
        ):
            holding_by_volume[volume_index] += border.is_in_interval
            interval_count_by_volume[volume_index] += 1
            widths_with_volume_index.append((volume_index, border.high_mm - border.low_mm))
    if not widths_with_volume_index:
        return []
    return [
        resampling.measure_rate(
            "border_interval_holds",
            holding_by_volume,
            interval_count_by_volume,
            stage="decided",
            region=kind_or_group,
        ),
        resampling.measure_quantile(
            "border_interval_median_mm",
            *known_values_and_cases(widths_with_volume_index),
            0.5,
            region=kind_or_group,
        ),
    ]
