"""What the images of one volume share: size, pixel spacing, orientation,
`header.VOLUME_ATTRIBUTES`, and the number of their series.

Scanners and anonymisers also let such attributes change within one volume: from slice to slice, or
from one package of slices acquired together to the next.  There they separate nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import VOLUME_ATTRIBUTES, Frame
from fovnet.volume.dicom.positions import (
    are_woven,
    is_even,
    is_stack,
    most_at_one_place,
    positions_in_frame,
    spans_places,
)

# distinguished in a series: a radial one has 100; comparing 8,000 would take too long
MOST_DIRECTIONS = 256
# difference of a direction cosine, 0.6°: in one acquisition it is in the sixth digit
SAME_DIRECTION = 0.01
SIZE = ("matrix size", "pixel spacing", "orientation")
NAMES = (*SIZE, *(name for name, _ in VOLUME_ATTRIBUTES), "series number")
COUNTING_ATTRIBUTES = ("echo", "temporal position")  # some programs write the slice number there
PACKAGES = (("stack",), ("temporal position",), ("stack", "temporal position"))
"""Attributes that may tell slices acquired together from the others of their volume."""
OVER_TIME = ("echo", "stack", "temporal position", "b-value")
NO_NUMBER = ""

Key = tuple[str, ...]
"""Values of the attributes NAMES, in this order; the last is empty where the number of the series
separates nothing."""


def keys_of(frames: Sequence[Frame]) -> list[Key]:
    """For each image the values that all images of its volume share; values that are not the
    volume's own are blanked."""
    directions: list[Frame] = []
    keys = [_apart(frame, directions) for frame in frames]
    keys = [(*key, number) for key, number in zip(keys, _series_numbers(frames, keys), strict=True)]
    for names in PACKAGES:
        _blank_packages(frames, keys, [NAMES.index(name) for name in names])
    _blank_counts(frames, keys, [NAMES.index(name) for name in COUNTING_ATTRIBUTES])
    return keys


def same_direction(frame: Frame, other: Frame) -> bool:
    """Whether both images have an orientation, and it is the same."""
    if frame.orientation is None or other.orientation is None:
        return False
    return bool(np.abs(np.subtract(frame.orientation, other.orientation)).max() < SAME_DIRECTION)


def series_number(frame: Frame) -> str:
    """The number of its series, without leading zeros; NO_NUMBER if there is none."""
    number = frame.facts.series_number
    return (number.lstrip("0") or "0") if number.isdigit() else number


def _apart(frame: Frame, directions: list[Frame]) -> Key:
    """The values of an image, without the number of its series; `directions` collects the
    orientations found so far."""
    size = f"{frame.rows}x{frame.columns}"
    spacing = "none"
    if frame.spacing_mm is not None:
        spacing = "\\".join(f"{mm:.4g}" for mm in frame.spacing_mm)
    attributes = [value for _, value in frame.volume_attributes]
    return (size, spacing, _direction_text(frame, directions), *attributes)


def _direction_text(frame: Frame, directions: list[Frame]) -> str:
    """The orientation of an image in words, with its number among `directions`, which it joins."""
    if frame.orientation is None:
        return "none"
    matches = (
        number for number, direction in enumerate(directions) if same_direction(direction, frame)
    )
    number = next(matches, len(directions))
    if number == len(directions) < MOST_DIRECTIONS:
        directions.append(frame)
    if number == len(directions):
        return "in many ways"
    cosines = (f"{cosine + 0.0:.1f}" for cosine in directions[number].orientation or ())
    return "\\".join(cosines) + f"#{number}"


def _series_numbers(frames: Sequence[Frame], keys: Sequence[Key]) -> list[str]:
    """For each image the number of its series, if several series share its UID and place; else
    empty."""
    numbers = [series_number(frame) for frame in frames]
    kept_numbers = [NO_NUMBER] * len(frames)
    for indices in _group_alike(keys, [NAMES.index(name) for name in OVER_TIME]):
        group = [frames[index] for index in indices]
        parts = group_by_key(group, [numbers[index] for index in indices])
        if len(parts) > 1 and _are_series(parts):
            for index in indices:
                kept_numbers[index] = numbers[index]
    return kept_numbers


def _are_series(parts: dict[str, list[Frame]]) -> bool:
    """Whether the images of each series number make volumes of their own.

    Not if the numbers change within one volume: from slice to slice, or because some were removed.
    """
    frames = [frame for part in parts.values() for frame in part]
    if is_stack(frames):
        return NO_NUMBER not in parts and all(map(is_stack, parts.values()))
    if NO_NUMBER in parts:
        most_images = most_at_one_place(frames)
        return all(
            spans_places(part, evenly=True)
            and (most_images == 1 or most_at_one_place(part) < most_images)
            for part in parts.values()
        )
    return any(map(spans_places, parts.values()))


def _blank_packages(frames: Sequence[Frame], keys: list[Key], columns: Sequence[int]) -> None:
    """Blanks in place the values by which only packages of slices differ that together make one
    evenly spaced stack."""
    for indices in _group_alike(keys, columns):
        group = [frames[index] for index in indices]
        packages = list(group_by_key(group, [keys[index] for index in indices]).values())
        if len(packages) > 1 and is_even(group, missing=_are_packages_woven(packages)):
            for index in indices:
                keys[index] = _blank(keys[index], columns)


def _are_packages_woven(packages: Sequence[Sequence[Frame]]) -> bool:
    """Whether the slices of each package lie between those of every other."""
    placed = positions_in_frame([frame for package in packages for frame in package])
    if placed is None:
        return False
    along = np.split(placed[:, 2], np.cumsum([len(package) for package in packages])[:-1])
    return are_woven(along)


def _blank_counts(frames: Sequence[Frame], keys: list[Key], columns: Sequence[int]) -> None:
    """Blanks in place an echo or temporal position that numbers the slices of a stack."""
    for indices in _group_alike(keys, columns):
        counting_columns = [
            column
            for column in columns
            if len({keys[index][column] for index in indices}) == len(indices)
        ]
        if counting_columns and is_stack([frames[index] for index in indices]):
            for index in indices:
                keys[index] = _blank(keys[index], counting_columns)


def _group_alike(keys: Sequence[Key], columns: Collection[int]) -> Iterable[list[int]]:
    """The indices of the images that differ in none but these places of their keys, by group."""
    return group_by_key(range(len(keys)), [_blank(key, columns) for key in keys]).values()


def _blank(key: Key, columns: Collection[int]) -> Key:
    return tuple("" if column in columns else value for column, value in enumerate(key))
