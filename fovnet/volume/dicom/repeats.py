"""Groups of images that show the same slices, or some of the same."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.keys import same_direction
from fovnet.volume.dicom.positions import REPEATED_MM, field_mm, positions_in_frame

# of the field of view: repetitions of the same slices are shifted at most this far in the plane
SHIFT_SHARE = 0.25
LOOK_ATTRIBUTES = ("image type", "component")


def same_slices(group: Sequence[Frame], other: Sequence[Frame]) -> bool:
    """Whether two groups have the same size, image type, component and orientation, and nearly the same
    positions."""
    if len(group) != len(other) or not _look_alike(group[0], other[0]):
        return False
    positions = positions_in_frame(group), positions_in_frame(other)
    if positions[0] is None or positions[1] is None:
        return False
    mine, others = (placed[placed[:, 2].argsort()] for placed in positions if placed is not None)
    return _lie_together(mine, others, group[0])


def some_slices(group: Sequence[Frame], other: Sequence[Frame]) -> bool:
    """As `same_slices`, of a group with fewer images: each lies where one of the other's does, as in a time
    point that was broken off."""
    if len(group) >= len(other) or not _look_alike(group[0], other[0]):
        return False
    mine, others = positions_in_frame(group), positions_in_frame(other)
    if mine is None or others is None:
        return False
    others = others[others[:, 2].argsort()]
    after = np.clip(np.searchsorted(others[:, 2], mine[:, 2]), 1, len(others) - 1)
    is_before = mine[:, 2] - others[after - 1, 2] < others[after, 2] - mine[:, 2]
    nearest = after - is_before
    return len(set(nearest.tolist())) == len(group) and _lie_together(
        mine, others[nearest], group[0]
    )


def _look_alike(mine: Frame, other: Frame) -> bool:
    looks = [
        tuple(value for name, value in frame.apart if name in LOOK_ATTRIBUTES)
        for frame in (mine, other)
    ]
    sizes = [(frame.rows, frame.columns, frame.spacing_mm) for frame in (mine, other)]
    return looks[0] == looks[1] and sizes[0] == sizes[1] and same_direction(mine, other)


def _lie_together(mine: NDArray[np.float64], others: NDArray[np.float64], first: Frame) -> bool:
    """Whether images (n, 3), in mm along rows, columns and normal, are pairs of one place each."""
    off = np.abs(mine - others).max(axis=0)
    beside = any(off[:2] > SHIFT_SHARE * np.asarray(field_mm(first) or (np.inf, np.inf)))
    return bool(off[2] < REPEATED_MM) and not beside
