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
    are_interleaved,
    is_evenly_spaced,
    is_stack,
    most_images_at_one_position,
    positions_in_image_axes,
    spans_several_positions,
)

# distinguished in a series: a radial one has 100; comparing 8,000 would take too long
MAX_DIRECTIONS = 256
# difference of a direction cosine, 0.6°: in one acquisition it is in the sixth digit
MAX_COSINE_DIFFERENCE = 0.01
SIZE_ATTRIBUTES = ("matrix size", "pixel spacing", "orientation")
KEY_ATTRIBUTES = (*SIZE_ATTRIBUTES, *(name for name, _ in VOLUME_ATTRIBUTES), "series number")
COUNTING_ATTRIBUTES = ("echo", "temporal position")  # some programs write the slice number there
PACKAGE_ATTRIBUTES = (("stack",), ("temporal position",), ("stack", "temporal position"))
"""Attributes that may tell slices acquired together from the others of their volume."""
ATTRIBUTES_OVER_TIME = ("echo", "stack", "temporal position", "b-value")
NO_NUMBER = ""

VolumeKey = tuple[str, ...]
"""Values of the attributes KEY_ATTRIBUTES, in this order; the last is empty where the number of the series
separates nothing."""


def make_keys(frames: Sequence[Frame]) -> list[VolumeKey]:
    """For each image the values that all images of its volume share; values that are not the
    volume's own are blanked."""
    distinct_directions: list[Frame] = []
    keys = [_key_of_image(frame, distinct_directions) for frame in frames]
    keys = [
        (*key_without_number, number)
        for key_without_number, number in zip(keys, _series_numbers(frames, keys), strict=True)
    ]
    for attribute_names in PACKAGE_ATTRIBUTES:
        _blank_packages(
            frames, keys, [KEY_ATTRIBUTES.index(attribute) for attribute in attribute_names]
        )
    _blank_counts(
        frames, keys, [KEY_ATTRIBUTES.index(attribute) for attribute in COUNTING_ATTRIBUTES]
    )
    return keys


def have_same_direction(frame: Frame, other_frame: Frame) -> bool:
    """Whether both images have an orientation, and it is the same."""
    if frame.orientation is None or other_frame.orientation is None:
        return False
    return bool(
        np.abs(np.subtract(frame.orientation, other_frame.orientation)).max()
        < MAX_COSINE_DIFFERENCE
    )


def clean_series_number(frame: Frame) -> str:
    """The number of its series, without leading zeros; NO_NUMBER if there is none."""
    number = frame.facts.series_number
    if number.isdigit():
        return number.lstrip("0") or "0"
    return number


def _key_of_image(frame: Frame, distinct_directions: list[Frame]) -> VolumeKey:
    """The values of an image, without the number of its series; `distinct_directions` collects the
    orientations found so far."""
    matrix_size = f"{frame.rows}x{frame.columns}"
    spacing_text = "none"
    if frame.spacing_mm is not None:
        spacing_text = "\\".join(f"{mm:.4g}" for mm in frame.spacing_mm)
    attribute_values = [value for _, value in frame.volume_attributes]
    return (
        matrix_size,
        spacing_text,
        _direction_text(frame, distinct_directions),
        *attribute_values,
    )


def _direction_text(frame: Frame, distinct_directions: list[Frame]) -> str:
    """The orientation of an image in words, with its number among `distinct_directions`, which it joins."""
    if frame.orientation is None:
        return "none"
    matching_numbers = (
        direction_number
        for direction_number, direction in enumerate(distinct_directions)
        if have_same_direction(direction, frame)
    )
    direction_number = next(matching_numbers, len(distinct_directions))
    if direction_number == len(distinct_directions) < MAX_DIRECTIONS:
        distinct_directions.append(frame)
    if direction_number == len(distinct_directions):
        return "in many ways"
    cosines = (
        f"{cosine + 0.0:.1f}" for cosine in distinct_directions[direction_number].orientation or ()
    )
    return "\\".join(cosines) + f"#{direction_number}"


def _series_numbers(frames: Sequence[Frame], keys: Sequence[VolumeKey]) -> list[str]:
    """For each image the number of its series, if several series share its UID and, but for
    times, its key; else empty."""
    series_numbers = [clean_series_number(frame) for frame in frames]
    kept_numbers = [NO_NUMBER] * len(frames)
    for frame_indices in _group_alike(
        keys, [KEY_ATTRIBUTES.index(attribute) for attribute in ATTRIBUTES_OVER_TIME]
    ):
        alike_frames = [frames[frame_index] for frame_index in frame_indices]
        frames_by_number = group_by_key(
            alike_frames, [series_numbers[frame_index] for frame_index in frame_indices]
        )
        if len(frames_by_number) > 1 and _are_series(frames_by_number):
            for frame_index in frame_indices:
                kept_numbers[frame_index] = series_numbers[frame_index]
    return kept_numbers


def _are_series(frames_by_number: dict[str, list[Frame]]) -> bool:
    """Whether the images of each series number make volumes of their own.

    Not if the numbers change within one volume: from slice to slice, or because some were removed.
    """
    all_frames = [
        frame for frames_of_number in frames_by_number.values() for frame in frames_of_number
    ]
    if is_stack(all_frames):
        return NO_NUMBER not in frames_by_number and all(map(is_stack, frames_by_number.values()))
    if NO_NUMBER in frames_by_number:
        most_images = most_images_at_one_position(all_frames)
        return all(
            spans_several_positions(frames_of_number, evenly=True)
            and (most_images == 1 or most_images_at_one_position(frames_of_number) < most_images)
            for frames_of_number in frames_by_number.values()
        )
    return any(map(spans_several_positions, frames_by_number.values()))


def _blank_packages(
    frames: Sequence[Frame], keys: list[VolumeKey], key_columns: Sequence[int]
) -> None:
    """Blanks in place the values by which only packages of slices differ that together make one
    evenly spaced stack."""
    for frame_indices in _group_alike(keys, key_columns):
        alike_frames = [frames[frame_index] for frame_index in frame_indices]
        packages = list(
            group_by_key(
                alike_frames, [keys[frame_index] for frame_index in frame_indices]
            ).values()
        )
        if len(packages) > 1 and is_evenly_spaced(
            alike_frames, allows_missing=_are_packages_interleaved(packages)
        ):
            for frame_index in frame_indices:
                keys[frame_index] = _blank_columns(keys[frame_index], key_columns)


def _are_packages_interleaved(packages: Sequence[Sequence[Frame]]) -> bool:
    """Whether the slices of each package lie between those of every other."""
    positions = positions_in_image_axes([frame for package in packages for frame in package])
    if positions is None:
        return False
    depths_by_package = np.split(
        positions[:, 2], np.cumsum([len(package) for package in packages])[:-1]
    )
    return are_interleaved(depths_by_package)


def _blank_counts(
    frames: Sequence[Frame], keys: list[VolumeKey], key_columns: Sequence[int]
) -> None:
    """Blanks in place an echo or temporal position that numbers the slices of a stack."""
    for frame_indices in _group_alike(keys, key_columns):
        counting_columns = [
            column
            for column in key_columns
            if len({keys[frame_index][column] for frame_index in frame_indices})
            == len(frame_indices)
        ]
        if counting_columns and is_stack([frames[frame_index] for frame_index in frame_indices]):
            for frame_index in frame_indices:
                keys[frame_index] = _blank_columns(keys[frame_index], counting_columns)


def _group_alike(
    keys: Sequence[VolumeKey], ignored_columns: Collection[int]
) -> Iterable[list[int]]:
    """The indices of the images that differ in none but these columns of their keys, by group."""
    return group_by_key(
        range(len(keys)), [_blank_columns(image_key, ignored_columns) for image_key in keys]
    ).values()


def _blank_columns(image_key: VolumeKey, columns_to_blank: Collection[int]) -> VolumeKey:
    """A key with "" in place of the values in these columns."""
    key_values = list(image_key)
    for column in columns_to_blank:
        key_values[column] = ""
    return tuple(key_values)
