"""Images that agree in size, orientation and `header.VOLUME_ATTRIBUTES`, split into volumes by their positions
and the attributes `header.DOUBTFUL_ATTRIBUTES`.

Scanners put several volumes of one kind into one series: the stations of a whole-body scan beside
or above each other, a stack for each knee, the phases of the heart, b-values.  A group is split
only if each part is a stack of its own; images that cannot be separated stay together, and are
refused when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

import numpy as np

from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import DOUBTFUL_ATTRIBUTES, Frame, as_real_number, read_short_values
from fovnet.volume.dicom.mixed import separate_mixture
from fovnet.volume.dicom.positions import (
    LEAST_STACK_IMAGES,
    MAX_GAP_RATIO,
    depths_along_normal,
    field_of_view_mm,
    label_clusters,
    label_positions,
    most_images_at_one_position,
    positions_in_image_axes,
    spans_several_positions,
)

# of the field of view: images of one stack are shifted less, by a tilted gantry or between stations
SIDE_BY_SIDE_SHARE = 0.5


class Part(NamedTuple):
    """Images that an attribute sets apart.

    attribute_values  of the attributes that distinguish the part
    attribute_names   of these attributes
    """

    attribute_values: tuple[str, ...]
    attribute_names: tuple[str, ...]
    frames: list[Frame]


def separate_volumes(frames: list[Frame]) -> list[Part]:
    """The volumes among `frames`, which are in the order of their numbers, as far as they can be
    separated."""
    division_steps: tuple[Callable[[list[Frame]], Iterable[Part]], ...] = (
        _separate_in_plane,
        _separate_doubled,
        _separate_along_normal,
        _separate_mixture,
    )
    parts = _unseparated(frames)
    for divide in division_steps:
        parts = [
            Part(
                part.attribute_values + inner_part.attribute_values,
                part.attribute_names + inner_part.attribute_names,
                inner_part.frames,
            )
            for part in parts
            for inner_part in divide(part.frames)
        ]
    return parts


def _unseparated(frames: list[Frame]) -> list[Part]:
    """All images as one part."""
    return [Part((), (), frames)]


def _separate_in_plane(frames: list[Frame]) -> list[Part]:
    """Stacks whose fields of view lie side by side in the plane: the stations of a coronal
    whole-body scan, two knees."""
    positions = positions_in_image_axes(frames)
    field_size_mm = field_of_view_mm(frames[0])
    if positions is None or field_size_mm is None:
        return _unseparated(frames)
    row_clusters, column_clusters = (
        label_clusters(positions[:, axis], SIDE_BY_SIDE_SHARE * field_size_mm[axis]).tolist()
        for axis in (0, 1)
    )
    frames_by_field = group_by_key(frames, zip(row_clusters, column_clusters, strict=True))
    if len(frames_by_field) == 1 or min(map(len, frames_by_field.values())) < LEAST_STACK_IMAGES:
        return _unseparated(frames)
    return [
        Part((f"field {row_cluster},{column_cluster}",), ("place in the plane",), frames_of_field)
        for (row_cluster, column_cluster), frames_of_field in frames_by_field.items()
    ]


def _separate_along_normal(frames: list[Frame]) -> list[Part]:
    """Stacks separated by a gap in which no image is missing: image numbers continue across it, or
    an attribute differs between the stacks.

    If images are missing, so are their numbers: then all stay together, and are refused as having
    gaps.
    """
    depths_mm = depths_along_normal(frames)
    if (
        depths_mm is None
        or len(frames) < 2 * LEAST_STACK_IMAGES
        or most_images_at_one_position(frames) > 1
    ):
        return _unseparated(frames)
    stack_labels = label_clusters(
        depths_mm, MAX_GAP_RATIO * float(np.median(np.diff(np.sort(depths_mm))))
    )
    stacks = [
        [
            frame
            for frame, frame_label in zip(frames, stack_labels, strict=True)
            if frame_label == stack_label
        ]
        for stack_label in range(stack_labels.max() + 1)
    ]
    if (
        len(stacks) == 1
        or min(map(len, stacks)) < LEAST_STACK_IMAGES
        or not (_have_consecutive_numbers(stacks) or _differ_in_one(stacks))
    ):
        return _unseparated(frames)
    return [
        Part((f"stack {stack_index}",), ("place along the normal",), stack)
        for stack_index, stack in enumerate(stacks)
    ]


def _separate_mixture(frames: list[Frame]) -> list[Part]:
    """Stacks that lie among each other."""
    name, stacks = separate_mixture(frames)
    if len(stacks) == 1:
        return _unseparated(frames)
    return [Part((f"grid {number}",), (name,), stack) for number, stack in enumerate(stacks)]


def _have_consecutive_numbers(stacks: list[list[Frame]]) -> bool:
    """Whether the image numbers of each stack are consecutive, and those of all stacks together
    too."""
    numbers_by_stack = [sorted(frame.image_number for frame in stack) for stack in stacks]
    return _are_consecutive(sorted(chain.from_iterable(numbers_by_stack))) and all(
        map(_are_consecutive, numbers_by_stack)
    )


def _are_consecutive(numbers: list[int]) -> bool:
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _differ_in_one(stacks: list[list[Frame]]) -> bool:
    """Whether some attribute has one value in each stack, and a different one in every stack."""
    for attribute_index in range(len(DOUBTFUL_ATTRIBUTES)):
        values_by_stack = [
            {frame.doubtful_attributes[attribute_index][1] for frame in stack} for stack in stacks
        ]
        if max(map(len, values_by_stack)) == 1 and len(set.union(*values_by_stack)) == len(stacks):
            return True
    return False


def _separate_doubled(frames: list[Frame], names: tuple[str, ...] = ()) -> Iterator[Part]:
    """The volumes in a group with several images per position.

    Split by the first of DOUBTFUL_ATTRIBUTES that separates them, else by image numbers in order,
    any other attribute, or numbers out of order.
    """
    most_images = most_images_at_one_position(frames)
    if most_images == 1:
        yield Part((), names, frames)
        return
    for attribute_index, (attribute_name, _) in enumerate(DOUBTFUL_ATTRIBUTES):
        frames_by_value = group_by_key(
            frames, (frame.doubtful_attributes[attribute_index][1] for frame in frames)
        )
        # At most as many parts as images per position, or overlapping stations: an attribute may
        # differ from slice to slice of one volume.
        if 1 < len(frames_by_value) <= most_images:
            is_separating = (
                max(map(most_images_at_one_position, frames_by_value.values())) < most_images
            )
        else:
            is_separating = len(frames_by_value) > 1 and _are_stations(
                frames, list(frames_by_value.values())
            )
        if is_separating:
            yield from _separate_each_part(frames_by_value, (*names, attribute_name))
            return
    if runs := _split_into_runs(frames, most_images):
        run_names = (*names, "order of the image numbers")
        yield from (
            Part((f"run {run_index}",), run_names, run) for run_index, run in enumerate(runs)
        )
        return
    separating_attribute, frames_of_parts = _separate_by_any_attribute(frames)
    if frames_of_parts:
        frames_by_value = {
            f"part {part_number}": frames_of_part
            for part_number, frames_of_part in enumerate(frames_of_parts)
        }
        yield from _separate_each_part(frames_by_value, (*names, separating_attribute))
    elif turns := _split_into_turns(frames, most_images):
        turn_names = (*names, "order of the images at each position")
        yield from (
            Part((f"turn {turn_index}",), turn_names, turn) for turn_index, turn in enumerate(turns)
        )
    else:
        yield Part((), names, frames)


def _separate_each_part(
    frames_by_value: Mapping[str, list[Frame]], names: tuple[str, ...]
) -> Iterator[Part]:
    """The volumes in each part of a group, which has this value of the last of these attributes."""
    for value, frames_of_value in frames_by_value.items():
        for part in _separate_doubled(frames_of_value, names):
            yield part._replace(attribute_values=(value, *part.attribute_values))


def _are_stations(frames: list[Frame], parts: list[list[Frame]]) -> bool:
    """Whether each part has exactly one image at every position of the group from its own first to
    its last."""
    depths_mm = depths_along_normal(frames)
    if depths_mm is None or min(map(len, parts)) < LEAST_STACK_IMAGES:
        return False
    label_by_frame_id = dict(zip(map(id, frames), label_positions(depths_mm).tolist(), strict=True))
    labels_by_part = [{label_by_frame_id[id(frame)] for frame in part} for part in parts]
    return all(
        len(part) == len(part_labels) == max(part_labels) - min(part_labels) + 1
        for part, part_labels in zip(parts, labels_by_part, strict=True)
    )


def _split_into_runs(frames: list[Frame], images_per_position: int) -> list[list[Frame]]:
    """The volumes by image number: stored one after another, or all images of a position before
    those of the next, as a cine is; empty if neither order fits."""
    depths_mm = depths_along_normal(frames)
    run_length = len(frames) // images_per_position
    if (
        depths_mm is None
        or run_length * images_per_position != len(frames)
        or run_length < 2
        or len({frame.image_number for frame in frames}) != len(frames)
    ):
        return []
    position_labels = label_positions(depths_mm)
    if all(
        sorted(run) == list(range(run_length))
        for run in position_labels.reshape(images_per_position, run_length).tolist()
    ):
        return [
            frames[first_index : first_index + run_length]
            for first_index in range(0, len(frames), run_length)
        ]
    labels_by_position = position_labels.reshape(run_length, images_per_position)
    if (labels_by_position == labels_by_position[:, :1]).all() and len(
        np.unique(labels_by_position[:, 0])
    ) == run_length:
        return [
            frames[first_index::images_per_position] for first_index in range(images_per_position)
        ]
    return []


def _separate_by_any_attribute(frames: list[Frame]) -> tuple[str, list[list[Frame]]]:
    """(name, parts) by the first attribute, private ones included, of which each value stands as often
    at every position; ("", []) if there is none.

    Label and control images of perfusion, for example.  Headers are read whole for it, where all
    else has failed.
    """
    depths_mm = depths_along_normal(frames)
    if (
        depths_mm is None
        or not spans_several_positions(frames, evenly=True)
        or any(frame.frame_number or frame.tile_origin for frame in frames)
    ):
        return "", []
    position_labels = label_positions(depths_mm)
    position_count = position_labels.max() + 1
    headers = [read_short_values(frame.dicom_object) for frame in frames]
    for tag in sorted(set.intersection(*map(set, headers))):
        indices_by_value = group_by_key(range(len(frames)), (header[tag] for header in headers))
        if not 1 < len(indices_by_value) <= len(frames) // position_count:
            continue
        indices_of_parts = list(indices_by_value.values())
        counts_by_group = [
            np.bincount(position_labels[indices], minlength=position_count)
            for indices in indices_of_parts
        ]
        if all(np.ptp(count_by_position) == 0 for count_by_position in counts_by_group):
            attribute_name = f"attribute ({tag >> 16:04x},{tag & 0xFFFF:04x})"
            return attribute_name, [
                [frames[frame_index] for frame_index in indices] for indices in indices_of_parts
            ]
    return "", []


def _split_into_turns(frames: list[Frame], images_per_position: int) -> list[list[Frame]]:
    """The first images of all positions, the second ones, ... by number, else by time; empty unless
    every position has as many images.

    Some scanners number the images of a series at random.  Volumes that agree in every attribute
    are repetitions of one.
    """
    depths_mm = depths_along_normal(frames)
    if depths_mm is None or not spans_several_positions(frames, evenly=True):
        return []
    images_by_position = group_by_key(frames, label_positions(depths_mm).tolist())
    for sort_key in SORT_KEYS:
        if all(
            len(set(map(sort_key, images))) == images_per_position
            for images in images_by_position.values()
        ):
            sorted_positions = (
                sorted(images, key=sort_key) for images in images_by_position.values()
            )
            turns = zip(*sorted_positions, strict=True)
            return [
                _with_turn_note(sorted(turn, key=SORT_KEYS[0]), turn_number, images_per_position)
                for turn_number, turn in enumerate(turns, start=1)
            ]
    return []


def _with_turn_note(turn: list[Frame], turn_number: int, images_per_position: int) -> list[Frame]:
    """The images of one turn, with a note on the first that no attribute tells the turns apart."""
    ordinal = f"number {turn_number}"
    if turn_number == 1:
        ordinal = "the first"
    note = (
        f"{ordinal} of {images_per_position} images at each position, by image number or time: no known "
        "attribute tells them apart"
    )
    return [replace(turn[0], notes=(*turn[0].notes, note)), *turn[1:]]


def _time_of(frame: Frame, name: str) -> float:
    return as_real_number(dict(frame.doubtful_attributes)[name]) or 0.0


SORT_KEYS: tuple[Callable[[Frame], float], ...] = (
    lambda frame: frame.image_number,
    lambda frame: _time_of(frame, "acquisition time"),
    lambda frame: _time_of(frame, "content time"),
)
