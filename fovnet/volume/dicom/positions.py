"""Where images lie along the normal of their planes, and whether they make a stack.

A gap in a stack is wider than usual where images are missing; volumes are told apart by `parting`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.dicom.header import Frame

SAME_PLACE_MM = 0.01  # positions are written to 1e-4 mm or better
REPEATED_MM = 0.5  # repetitions of a slice in one series lie nearer than this along the normal
# times the median distance: up to two consecutive missing images are interpolated
MAX_GAP_RATIO = 3.5
# largest deviation of an image from its place in an evenly spaced stack, as a share of the spacing
EVEN_SHARE = 0.1
# of the gaps of an even stack may be wider; two stacks at 1, 3, 1, 3 mm lack no images
MISSING_SHARE = 0.1
# images of a stack: a single one elsewhere is a wrong position rather than a volume
LEAST_IMAGES = 3


def positions_along(frames: Sequence[Frame]) -> NDArray[np.float64] | None:
    """(n,) position of each image along the normal of the first, in mm; None if any has no position."""
    placed = positions_in_frame(frames)
    return None if placed is None else placed[:, 2]


def positions_in_frame(frames: Sequence[Frame]) -> NDArray[np.float64] | None:
    """(n, 3) position of each image along rows, columns and normal of the first, in mm; None if any has no
    position."""
    axes = frames[0].orientation
    if axes is None or any(frame.position is None for frame in frames):
        return None
    rows, columns = np.asarray(axes[:3]), np.asarray(axes[3:])
    positions: NDArray[np.float64] = np.asarray(
        [frame.position for frame in frames], dtype=np.float64
    )
    placed: NDArray[np.float64] = positions @ np.stack([rows, columns, np.cross(rows, columns)]).T
    return placed


def position_labels(along: NDArray[np.float64]) -> NDArray[np.int64]:
    """(n,) the number of each image's position, counted along the normal; images less than 0.01 mm apart
    share one.

    Repetitions that are shifted slightly each time share one too: if every position then has the same number
    of images, neighbours less than 0.5 mm apart, spread over less than half the distance to the other
    positions.
    """
    ordered = np.sort(along)
    gaps = np.sort(np.maximum(np.diff(ordered), SAME_PLACE_MM))
    for narrow in reversed(
        np.flatnonzero((gaps[1:] > MAX_GAP_RATIO * gaps[:-1]) & (gaps[:-1] < REPEATED_MM)).tolist()
    ):
        labels = clusters(along, float(gaps[narrow]))
        sizes = np.bincount(labels)
        even = len(sizes) >= LEAST_IMAGES and sizes.min() == sizes.max() > 1
        if even and np.ptp(ordered.reshape(len(sizes), -1), axis=1).max() < gaps[narrow + 1] / 2:
            return labels
    return clusters(along, SAME_PLACE_MM)


def is_stack(frames: Sequence[Frame]) -> bool:
    """Whether at least three images lie at distinct positions along the normal, with at most two missing in a
    row."""
    along = positions_along(frames)
    if along is None or len(frames) < LEAST_IMAGES or most_at_one_place(frames) > 1:
        return False
    gaps = np.diff(np.sort(along))
    return bool(gaps.max() <= MAX_GAP_RATIO * np.median(gaps))


def is_even(frames: Sequence[Frame], *, missing: bool, within: float = EVEN_SHARE) -> bool:
    """Whether at least three images follow each other at one distance in one direction, to this share of it;
    with `missing`, a few may be missing."""
    placed = positions_in_frame(frames)
    if placed is None or len(frames) < LEAST_IMAGES:
        return False
    steps = np.diff(placed[placed[:, 2].argsort()], axis=0)
    usual = np.median(steps, axis=0)
    if usual[2] <= SAME_PLACE_MM:
        return False
    times = np.clip(np.rint(steps[:, 2:] / usual[2]), 1, int(MAX_GAP_RATIO) if missing else 1)
    few = np.count_nonzero(times > 1) <= max(1, MISSING_SHARE * len(times))
    return bool(few and np.abs(steps - times * usual).max() <= within * usual[2])


def are_woven(stacks: Sequence[NDArray[np.float64]]) -> bool:
    """Whether the places of each stack, (n,) in mm along the normal, lie between those of every other."""
    return bool(max(along.min() for along in stacks) < min(along.max() for along in stacks))


def spans_places(frames: Sequence[Frame], *, evenly: bool = False) -> bool:
    """Whether the images lie at three places or more along the normal; `evenly`: as many at each, and with at
    most two missing in a row."""
    along = positions_along(frames)
    if along is None:
        return False
    labels = position_labels(along)
    counts = np.bincount(labels)
    gaps = np.diff(along[np.unique(labels, return_index=True)[1]])
    return len(counts) >= LEAST_IMAGES and not (
        evenly and (counts.min() < counts.max() or gaps.max() > MAX_GAP_RATIO * np.median(gaps))
    )


def field_mm(frame: Frame) -> tuple[float, float] | None:
    """The field of view of an image along its rows and along its columns, in mm; None without a pixel
    spacing."""
    return (
        None
        if frame.spacing_mm is None
        else (frame.columns * frame.spacing_mm[1], frame.rows * frame.spacing_mm[0])
    )


def most_at_one_place(frames: Sequence[Frame]) -> int:
    """The most images at one position along the normal; 1 without positions."""
    along = positions_along(frames)
    return 1 if along is None else int(np.bincount(position_labels(along)).max())


def clusters(values: NDArray[np.float64], gap: float) -> NDArray[np.int64]:
    """(n,) the number of each value's cluster, ascending; clusters are more than `gap` apart."""
    order = np.argsort(values, kind="stable")
    labels = np.empty(len(values), dtype=np.int64)
    labels[order] = np.concatenate([[0], np.cumsum(np.diff(values[order]) > gap)])
    return labels
