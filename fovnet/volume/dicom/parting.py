"""Images that agree in size, orientation and `header.APART`, split into volumes by their positions
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
from fovnet.volume.dicom.header import DOUBTFUL_ATTRIBUTES, Frame, read_short_values, real_number
from fovnet.volume.dicom.mixed import mixed_stacks
from fovnet.volume.dicom.positions import (
    LEAST_IMAGES,
    MAX_GAP_RATIO,
    clusters,
    field_mm,
    most_at_one_place,
    position_labels,
    positions_along,
    positions_in_frame,
    spans_places,
)

# of the field of view: images of one stack are shifted less, by a tilted gantry or between stations
BESIDE_SHARE = 0.5


class Part(NamedTuple):
    """Images that an attribute sets apart.

    values  of the attributes that distinguish the part
    names   of these attributes
    """

    values: tuple[str, ...]
    names: tuple[str, ...]
    frames: list[Frame]


def part_volumes(frames: list[Frame]) -> list[Part]:
    """The volumes among `frames`, which are in the order of their numbers, as far as they can be
    separated."""
    divisions: tuple[Callable[[list[Frame]], Iterable[Part]], ...] = (
        _part_in_plane,
        _part_doubled,
        _part_along_normal,
        _part_mixture,
    )
    parts = [Part((), (), frames)]
    for divide in divisions:
        parts = [
            Part(part.values + inner.values, part.names + inner.names, inner.frames)
            for part in parts
            for inner in divide(part.frames)
        ]
    return parts


def _part_in_plane(frames: list[Frame]) -> list[Part]:
    """Stacks whose fields of view lie side by side in the plane: the stations of a coronal
    whole-body scan, two knees."""
    positions = positions_in_frame(frames)
    field_size_mm = field_mm(frames[0])
    if positions is None or field_size_mm is None:
        return [Part((), (), frames)]
    rows, columns = (
        clusters(positions[:, axis], BESIDE_SHARE * field_size_mm[axis]).tolist() for axis in (0, 1)
    )
    groups = group_by_key(frames, zip(rows, columns, strict=True))
    if len(groups) == 1 or min(map(len, groups.values())) < LEAST_IMAGES:
        return [Part((), (), frames)]
    return [
        Part((f"field {row},{column}",), ("place in the plane",), group)
        for (row, column), group in groups.items()
    ]


def _part_along_normal(frames: list[Frame]) -> list[Part]:
    """Stacks separated by a gap in which no image is missing: image numbers continue across it, or
    an attribute differs between the stacks.

    If images are missing, so are their numbers: then all stay together, and are refused as having
    gaps.
    """
    along = positions_along(frames)
    if along is None or len(frames) < 2 * LEAST_IMAGES or most_at_one_place(frames) > 1:
        return [Part((), (), frames)]
    labels = clusters(along, MAX_GAP_RATIO * float(np.median(np.diff(np.sort(along)))))
    stacks = [
        [frame for frame, number in zip(frames, labels, strict=True) if number == label]
        for label in range(labels.max() + 1)
    ]
    if (
        len(stacks) == 1
        or min(map(len, stacks)) < LEAST_IMAGES
        or not (_have_consecutive_numbers(stacks) or _differ_in_one(stacks))
    ):
        return [Part((), (), frames)]
    return [
        Part((f"stack {index}",), ("place along the normal",), stack)
        for index, stack in enumerate(stacks)
    ]


def _part_mixture(frames: list[Frame]) -> list[Part]:
    """Stacks that lie among each other."""
    name, stacks = mixed_stacks(frames)
    if len(stacks) == 1:
        return [Part((), (), frames)]
    return [Part((f"grid {number}",), (name,), stack) for number, stack in enumerate(stacks)]


def _have_consecutive_numbers(stacks: list[list[Frame]]) -> bool:
    """Whether the image numbers of each stack are consecutive, and those of all stacks together
    too."""
    numbers_by_stack = [sorted(frame.instance for frame in stack) for stack in stacks]
    return _is_run(sorted(chain.from_iterable(numbers_by_stack))) and all(
        map(_is_run, numbers_by_stack)
    )


def _is_run(numbers: list[int]) -> bool:
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _differ_in_one(stacks: list[list[Frame]]) -> bool:
    """Whether some attribute has one value in each stack, and a different one in every stack."""
    for index in range(len(DOUBTFUL_ATTRIBUTES)):
        values = [{frame.doubtful_attributes[index][1] for frame in stack} for stack in stacks]
        if max(map(len, values)) == 1 and len(set.union(*values)) == len(stacks):
            return True
    return False


def _part_doubled(frames: list[Frame], names: tuple[str, ...] = ()) -> Iterator[Part]:
    """The volumes in a group with several images per position.

    Split by the first of DOUBTFUL_ATTRIBUTES that separates them, else by image numbers in order,
    any other attribute, or numbers out of order.
    """
    most_images = most_at_one_place(frames)
    if most_images == 1:
        yield Part((), names, frames)
        return
    for index, (name, _) in enumerate(DOUBTFUL_ATTRIBUTES):
        parts = group_by_key(frames, (frame.doubtful_attributes[index][1] for frame in frames))
        # At most as many parts as images per position, or overlapping stations: an attribute may
        # differ from slice to slice of one volume.
        if 1 < len(parts) <= most_images:
            is_separating = max(map(most_at_one_place, parts.values())) < most_images
        else:
            is_separating = len(parts) > 1 and _are_stations(frames, list(parts.values()))
        if is_separating:
            yield from _part_further(parts, (*names, name))
            return
    if runs := _runs(frames, most_images):
        run_names = (*names, "order of the image numbers")
        yield from (Part((f"run {index}",), run_names, run) for index, run in enumerate(runs))
        return
    attribute, groups = _part_by_any_attribute(frames)
    if groups:
        parts = {f"part {number}": group for number, group in enumerate(groups)}
        yield from _part_further(parts, (*names, attribute))
    elif turns := _turns(frames, most_images):
        turn_names = (*names, "order of the images at each position")
        yield from (Part((f"turn {index}",), turn_names, turn) for index, turn in enumerate(turns))
    else:
        yield Part((), names, frames)


def _part_further(groups: Mapping[str, list[Frame]], names: tuple[str, ...]) -> Iterator[Part]:
    """The volumes in each part of a group, which has this value of the last of these attributes."""
    for value, group in groups.items():
        for part in _part_doubled(group, names):
            yield part._replace(values=(value, *part.values))


def _are_stations(frames: list[Frame], parts: list[list[Frame]]) -> bool:
    """Whether each part has exactly one image at every position of the group from its own first to
    its last."""
    along = positions_along(frames)
    if along is None or min(map(len, parts)) < LEAST_IMAGES:
        return False
    labels = dict(zip(map(id, frames), position_labels(along).tolist(), strict=True))
    places_by_part = [{labels[id(frame)] for frame in part} for part in parts]
    return all(
        len(part) == len(part_places) == max(part_places) - min(part_places) + 1
        for part, part_places in zip(parts, places_by_part, strict=True)
    )


def _runs(frames: list[Frame], repeats: int) -> list[list[Frame]]:
    """The volumes by image number: stored one after another, or all images of a position before
    those of the next, as a cine is; empty if neither order fits."""
    along = positions_along(frames)
    length = len(frames) // repeats
    if (
        along is None
        or length * repeats != len(frames)
        or length < 2
        or len({frame.instance for frame in frames}) != len(frames)
    ):
        return []
    labels = position_labels(along)
    if all(sorted(run) == list(range(length)) for run in labels.reshape(repeats, length).tolist()):
        return [frames[start : start + length] for start in range(0, len(frames), length)]
    by_place = labels.reshape(length, repeats)
    if (by_place == by_place[:, :1]).all() and len(np.unique(by_place[:, 0])) == length:
        return [frames[start::repeats] for start in range(repeats)]
    return []


def _part_by_any_attribute(frames: list[Frame]) -> tuple[str, list[list[Frame]]]:
    """The name and the parts of the first attribute, private ones included, of which each value
    stands as often at every position.

    Label and control images of perfusion, for example.  Headers are read whole for it, where all
    else has failed.
    """
    along = positions_along(frames)
    if (
        along is None
        or not spans_places(frames, evenly=True)
        or any(frame.number or frame.tile for frame in frames)
    ):
        return "", []
    labels = position_labels(along)
    place_count = labels.max() + 1
    headers = [read_short_values(frame.item) for frame in frames]
    for tag in sorted(set.intersection(*map(set, headers))):
        indices_by_value = group_by_key(range(len(frames)), (header[tag] for header in headers))
        if not 1 < len(indices_by_value) <= len(frames) // place_count:
            continue
        groups = list(indices_by_value.values())
        counts = [np.bincount(labels[indices], minlength=place_count) for indices in groups]
        if all(np.ptp(count_by_place) == 0 for count_by_place in counts):
            name = f"attribute ({tag >> 16:04x},{tag & 0xFFFF:04x})"
            return name, [[frames[index] for index in indices] for indices in groups]
    return "", []


def _turns(frames: list[Frame], repeats: int) -> list[list[Frame]]:
    """The first images of all positions, the second ones, ... by number, else by time; empty unless
    every position has as many images.

    Some scanners number the images of a series at random.  Volumes that agree in every attribute
    are repetitions of one.
    """
    along = positions_along(frames)
    if along is None or not spans_places(frames, evenly=True):
        return []
    images_by_place = group_by_key(frames, position_labels(along).tolist())
    for order in ORDERS:
        if all(len(set(map(order, images))) == repeats for images in images_by_place.values()):
            ordered = (sorted(images, key=order) for images in images_by_place.values())
            turns = zip(*ordered, strict=True)
            return [
                _note_turn(sorted(turn, key=ORDERS[0]), number, repeats)
                for number, turn in enumerate(turns, start=1)
            ]
    return []


def _note_turn(turn: list[Frame], number: int, repeats: int) -> list[Frame]:
    ordinal = "the first" if number == 1 else f"number {number}"
    note = (
        f"{ordinal} of {repeats} images at each position, by image number or time: no known "
        "attribute tells them apart"
    )
    return [replace(turn[0], notes=(*turn[0].notes, note)), *turn[1:]]


def _time(frame: Frame, name: str) -> float:
    return real_number(dict(frame.doubtful_attributes)[name]) or 0.0


ORDERS: tuple[Callable[[Frame], float], ...] = (
    lambda frame: frame.instance,
    lambda frame: _time(frame, "acquisition time"),
    lambda frame: _time(frame, "content time"),
)
