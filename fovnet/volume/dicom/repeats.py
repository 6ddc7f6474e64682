"""Groups of images that show the same slices, or some of the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.keys import have_same_direction
from fovnet.volume.dicom.positions import (
    MAX_REPETITION_SHIFT_MM,
    field_of_view_mm,
    positions_in_image_axes,
)

# of the field of view: repetitions of the same slices are shifted at most this far in the plane
MAX_SHIFT_SHARE = 0.25
LOOK_ATTRIBUTES = ("image type", "component")


def shows_same_slices_as(group: Sequence[Frame], other_group: Sequence[Frame]) -> bool:
    """Whether two groups have the same size, image type, component and orientation, and nearly the
    same positions."""
    if len(group) != len(other_group) or not _are_of_one_kind(group[0], other_group[0]):
        return False
    positions = positions_in_image_axes(group)
    other_positions = positions_in_image_axes(other_group)
    if positions is None or other_positions is None:
        return False
    positions = positions[positions[:, 2].argsort()]
    other_positions = other_positions[other_positions[:, 2].argsort()]
    return _lie_together(positions, other_positions, group[0])


def shows_some_slices_of(group: Sequence[Frame], other_group: Sequence[Frame]) -> bool:
    """As `shows_same_slices_as`, of a group with fewer images: each lies where one of the other's does, as
    in a time point that was broken off."""
    if len(group) >= len(other_group) or not _are_of_one_kind(group[0], other_group[0]):
        return False
    positions = positions_in_image_axes(group)
    other_positions = positions_in_image_axes(other_group)
    if positions is None or other_positions is None:
        return False
    other_positions = other_positions[other_positions[:, 2].argsort()]
    index_after = np.clip(
        np.searchsorted(other_positions[:, 2], positions[:, 2]), 1, len(other_positions) - 1
    )
    is_nearer_before = (
        positions[:, 2] - other_positions[index_after - 1, 2]
        < other_positions[index_after, 2] - positions[:, 2]
    )
    nearest_index = index_after - is_nearer_before
    return len(set(nearest_index.tolist())) == len(group) and _lie_together(
        positions, other_positions[nearest_index], group[0]
    )


def _are_of_one_kind(frame: Frame, other_frame: Frame) -> bool:
    """Whether two images agree in image type, component, size, pixel spacing and orientation."""
    look_values = [
        tuple(value for attribute, value in image.volume_attributes if attribute in LOOK_ATTRIBUTES)
        for image in (frame, other_frame)
    ]
    size_values = [(image.rows, image.columns, image.spacing_mm) for image in (frame, other_frame)]
    return (
        look_values[0] == look_values[1]
        and size_values[0] == size_values[1]
        and have_same_direction(frame, other_frame)
    )


def _lie_together(
    positions: NDArray[np.float64], other_positions: NDArray[np.float64], first_frame: Frame
) -> bool:
    """Whether images (n, 3), in mm along rows, columns and normal, are pairs of one position each."""
    shift_mm = np.abs(positions - other_positions).max(axis=0)
    is_beside = any(
        shift_mm[:2]
        > MAX_SHIFT_SHARE * np.asarray(field_of_view_mm(first_frame) or (np.inf, np.inf))
    )
    return bool(shift_mm[2] < MAX_REPETITION_SHIFT_MM) and not is_beside
