"""Where images lie along the normal of their planes, and whether they make a stack.

A gap in a stack is wider than usual where images are missing; volumes are told apart by `parting`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.dicom.header import Frame

SAME_POSITION_MM = 0.01  # positions are written to 1e-4 mm or better
# repetitions of a slice in one series lie nearer than this along the normal
MAX_REPETITION_SHIFT_MM = 0.5
# times the median distance: up to two consecutive missing images are interpolated
MAX_GAP_RATIO = 3.5
# largest deviation of an image from its position in an evenly spaced stack, as a share of the spacing
EVEN_SPACING_TOLERANCE = 0.1
# of the gaps of an even stack may be wider; two stacks at 1, 3, 1, 3 mm lack no images
MAX_MISSING_SHARE = 0.1
# images of a stack, each at a position of its own: a single one elsewhere is a wrong position rather than a volume
LEAST_STACK_IMAGES = 3


def depths_along_normal(frames: Sequence[Frame]) -> NDArray[np.float64] | None:
    """(n,) position of each image along the normal of the first, in mm; None if any has no
    position."""
    positions = positions_in_image_axes(frames)
    if positions is None:
        return None
    return positions[:, 2]


def positions_in_image_axes(frames: Sequence[Frame]) -> NDArray[np.float64] | None:
    """(n, 3) position of each image along rows, columns and normal of the first, in mm; None if any
    has no position."""
    orientation = frames[0].orientation
    if orientation is None or any(frame.position_mm is None for frame in frames):
        return None
    row_direction = np.asarray(orientation[:3])
    column_direction = np.asarray(orientation[3:])
    lps_mm = np.asarray([frame.position_mm for frame in frames], dtype=np.float64)
    positions: NDArray[np.float64]
    positions = (
        lps_mm
        @ np.stack([row_direction, column_direction, np.cross(row_direction, column_direction)]).T
    )
    return positions


def label_positions(depths_mm: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) the number of each image's position, counted along the normal; images less than 0.01 mm
    apart share one.

    Repetitions that are shifted slightly each time share one too: if every position then has the
    same number of images, neighbours less than 0.5 mm apart, spread over less than half the
    distance to the other positions.
    """
    sorted_mm = np.sort(depths_mm)
    gaps_mm = np.sort(np.maximum(np.diff(sorted_mm), SAME_POSITION_MM))
    # the gaps after which they grow by far: up to such a gap, images may be repetitions
    is_repetition_gap = (gaps_mm[1:] > MAX_GAP_RATIO * gaps_mm[:-1]) & (
        gaps_mm[:-1] < MAX_REPETITION_SHIFT_MM
    )
    for gap_index in reversed(np.flatnonzero(is_repetition_gap).tolist()):
        labels = label_clusters(depths_mm, float(gaps_mm[gap_index]))
        cluster_sizes = np.bincount(labels)
        if (
            len(cluster_sizes) < LEAST_STACK_IMAGES
            or not cluster_sizes.min() == cluster_sizes.max() > 1
        ):
            continue
        cluster_spreads_mm = np.ptp(sorted_mm.reshape(len(cluster_sizes), -1), axis=1)
        if cluster_spreads_mm.max() < gaps_mm[gap_index + 1] / 2:
            return labels
    return label_clusters(depths_mm, SAME_POSITION_MM)


def is_stack(frames: Sequence[Frame]) -> bool:
    """Whether at least three images lie at distinct positions along the normal, with at most two
    missing in a row."""
    depths_mm = depths_along_normal(frames)
    if (
        depths_mm is None
        or len(frames) < LEAST_STACK_IMAGES
        or most_images_at_one_position(frames) > 1
    ):
        return False
    gaps_mm = np.diff(np.sort(depths_mm))
    return bool(gaps_mm.max() <= MAX_GAP_RATIO * np.median(gaps_mm))


def is_evenly_spaced(
    frames: Sequence[Frame], *, allows_missing: bool, tolerance: float = EVEN_SPACING_TOLERANCE
) -> bool:
    """Whether at least three images follow each other at one distance in one direction, to this
    share of it; with `allows_missing`, a few may be missing."""
    positions = positions_in_image_axes(frames)
    if positions is None or len(frames) < LEAST_STACK_IMAGES:
        return False
    steps = np.diff(positions[positions[:, 2].argsort()], axis=0)
    usual_step = np.median(steps, axis=0)
    if usual_step[2] <= SAME_POSITION_MM:
        return False
    max_steps = 1
    if allows_missing:
        max_steps = int(MAX_GAP_RATIO)
    step_counts = np.clip(np.rint(steps[:, 2:] / usual_step[2]), 1, max_steps)
    if np.count_nonzero(step_counts > 1) > max(1, MAX_MISSING_SHARE * len(step_counts)):
        return False
    return bool(np.abs(steps - step_counts * usual_step).max() <= tolerance * usual_step[2])


def are_interleaved(stacks: Sequence[NDArray[np.float64]]) -> bool:
    """Whether the positions of each stack, (n,) in mm along the normal, lie between those of every
    other."""
    return bool(
        max(depths_mm.min() for depths_mm in stacks) < min(depths_mm.max() for depths_mm in stacks)
    )


def spans_several_positions(frames: Sequence[Frame], *, evenly: bool = False) -> bool:
    """Whether the images lie at three positions or more along the normal; `evenly`: as many at each,
    and with at most two missing in a row."""
    depths_mm = depths_along_normal(frames)
    if depths_mm is None:
        return False
    position_labels = label_positions(depths_mm)
    image_counts = np.bincount(position_labels)
    gaps_mm = np.diff(depths_mm[np.unique(position_labels, return_index=True)[1]])
    if len(image_counts) < LEAST_STACK_IMAGES:
        return False
    if not evenly:
        return True
    if image_counts.min() < image_counts.max():
        return False
    return not gaps_mm.max() > MAX_GAP_RATIO * np.median(gaps_mm)


def field_of_view_mm(frame: Frame) -> tuple[float, float] | None:
    """The field of view of an image along its rows and along its columns, in mm; None without a
    pixel spacing."""
    if frame.spacing_mm is None:
        return None
    return frame.columns * frame.spacing_mm[1], frame.rows * frame.spacing_mm[0]


def most_images_at_one_position(frames: Sequence[Frame]) -> int:
    """The most images at one position along the normal; 1 without positions."""
    depths_mm = depths_along_normal(frames)
    if depths_mm is None:
        return 1
    return int(np.bincount(label_positions(depths_mm)).max())


def label_clusters(values: NDArray[np.float64], gap: float) -> NDArray[np.int64]:
    """(n,) the number of each value's cluster, ascending; clusters are more than `gap` apart."""
    value_order = np.argsort(values, kind="stable")
    cluster_labels = np.empty(len(values), dtype=np.int64)
    cluster_labels[value_order] = np.concatenate(
        [[0], np.cumsum(np.diff(values[value_order]) > gap)]
    )
    return cluster_labels
