"""Images that agree in size, orientation and `header.APART`, split into volumes by their positions and the
attributes `header.DOUBTFUL_ATTRIBUTES`.

Scanners put several volumes of one kind into one series: the stations of a whole-body scan beside or above
each other, a stack for each knee, the phases of the heart, b-values.  A group is split only if each part is a
stack of its own; images that cannot be separated stay together, and are refused when they are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

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

Part = tuple[tuple[str, ...], tuple[str, ...], list[Frame]]
"""Values of the attributes that distinguish a part, names of these attributes, images of the part."""


def part_volumes(frames: list[Frame]) -> list[Part]:
    """The volumes among `frames`, which are in the order of their numbers, as far as they can be
    separated."""
    return [
        (
            (*place, *values, *stack, *mixture),
            (*place_names, *value_names, *stack_names, *mixture_names),
            images,
        )
        for place, place_names, group in _part_in_plane(frames)
        for values, value_names, one in _part_doubled(group, ())
        for stack, stack_names, together in _part_along_normal(one)
        for mixture, mixture_names, images in _part_mixture(together)
    ]


def _part_in_plane(frames: list[Frame]) -> list[Part]:
    """Stacks whose fields of view lie side by side in the plane: the stations of a coronal whole-body scan,
    two knees."""
    placed, field = positions_in_frame(frames), field_mm(frames[0])
    if placed is None or field is None:
        return [((), (), frames)]
    rows, columns = (
        clusters(placed[:, axis], BESIDE_SHARE * field[axis]).tolist() for axis in (0, 1)
    )
    groups = group_by_key(frames, zip(rows, columns, strict=True))
    if len(groups) == 1 or min(map(len, groups.values())) < LEAST_IMAGES:
        return [((), (), frames)]
    return [
        ((f"field {row},{column}",), ("place in the plane",), group)
        for (row, column), group in groups.items()
    ]


def _part_along_normal(frames: list[Frame]) -> list[Part]:
    """Stacks separated by a gap in which no image is missing: image numbers continue across it, or an
    attribute differs between the stacks.

    If images are missing, so are their numbers: then all stay together, and are refused as having gaps.
    """
    along = positions_along(frames)
    if along is None or len(frames) < 2 * LEAST_IMAGES or most_at_one_place(frames) > 1:
        return [((), (), frames)]
    labels = clusters(along, MAX_GAP_RATIO * float(np.median(np.diff(np.sort(along)))))
    stacks = [
        [frame for frame, own in zip(frames, labels, strict=True) if own == label]
        for label in range(labels.max() + 1)
    ]
    if (
        len(stacks) == 1
        or min(map(len, stacks)) < LEAST_IMAGES
        or not (_have_consecutive_numbers(stacks) or _differ_in_one(stacks))
    ):
        return [((), (), frames)]
    return [
        ((f"stack {index}",), ("place along the normal",), stack)
        for index, stack in enumerate(stacks)
    ]


def _part_mixture(frames: list[Frame]) -> list[Part]:
    """Stacks that lie among each other."""
    name, stacks = mixed_stacks(frames)
    if len(stacks) == 1:
        return [((), (), frames)]
    return [((f"grid {number}",), (name,), stack) for number, stack in enumerate(stacks)]


def _have_consecutive_numbers(stacks: list[list[Frame]]) -> bool:
    """Whether the image numbers of each stack are consecutive, and those of all stacks together too."""
    numbers = [[frame.instance for frame in stack] for stack in stacks]
    every = sorted(number for own in numbers for number in own)
    return _is_run(every) and all(_is_run(sorted(own)) for own in numbers)


def _is_run(numbers: list[int]) -> bool:
    return numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _differ_in_one(stacks: list[list[Frame]]) -> bool:
    """Whether some attribute has one value in each stack, and a different one in every stack."""
    values = [
        [{frame.perhaps[index][1] for frame in stack} for stack in stacks]
        for index in range(len(DOUBTFUL_ATTRIBUTES))
    ]
    return any(
        all(len(own) == 1 for own in each) and len(set.union(*each)) == len(stacks)
        for each in values
    )


def _part_doubled(frames: list[Frame], names: tuple[str, ...]) -> Iterator[Part]:
    """The volumes in a group with several images per position.

    Split by the first of PERHAPS that separates them, else by image numbers in order, any other attribute, or
    numbers out of order.
    """
    most = most_at_one_place(frames)
    if most == 1:
        yield (), names, frames
        return
    for index, (name, _) in enumerate(DOUBTFUL_ATTRIBUTES):
        parts = group_by_key(frames, (frame.perhaps[index][1] for frame in frames))
        # At most as many parts as images per position, or overlapping stations: an attribute may differ from
        # slice to slice of one volume.
        fewer = 1 < len(parts) <= most and max(map(most_at_one_place, parts.values())) < most
        if fewer or (len(parts) > most and _are_stations(frames, list(parts.values()))):
            yield from _part_further(parts, (*names, name))
            return
    if runs := _runs(frames, most):
        order = (*names, "order of the image numbers")
        yield from (((f"run {index}",), order, run) for index, run in enumerate(runs))
        return
    tag, told = _part_by_any_attribute(frames)
    if told:
        yield from _part_further(
            {f"part {number}": one for number, one in enumerate(told)}, (*names, tag)
        )
    elif turns := _turns(frames, most):
        order = (*names, "order of the images at each position")
        yield from (((f"turn {index}",), order, turn) for index, turn in enumerate(turns))
    else:
        yield (), names, frames


def _part_further(parts: Mapping[str, list[Frame]], names: tuple[str, ...]) -> Iterator[Part]:
    """The volumes in each part of a group, which has this value of the last of these attributes."""
    for value, part in parts.items():
        for rest, all_names, group in _part_doubled(part, names):
            yield (value, *rest), all_names, group


def _are_stations(frames: list[Frame], parts: list[list[Frame]]) -> bool:
    """Whether each part has exactly one image at every position of the group from its own first to its
    last."""
    along = positions_along(frames)
    if along is None or min(map(len, parts)) < LEAST_IMAGES:
        return False
    labels = dict(zip(map(id, frames), position_labels(along).tolist(), strict=True))
    places = [{labels[id(frame)] for frame in part} for part in parts]
    return all(
        len(part) == len(own) == max(own) - min(own) + 1
        for part, own in zip(parts, places, strict=True)
    )


def _runs(frames: list[Frame], times: int) -> list[list[Frame]]:
    """The volumes by image number: stored one after another, or all images of a position before those of the
    next, as a cine is; empty if neither order fits."""
    along, length = positions_along(frames), len(frames) // times
    if (
        along is None
        or length * times != len(frames)
        or length < 2
        or len({frame.instance for frame in frames}) != len(frames)
    ):
        return []
    labels = position_labels(along)
    if all(sorted(run) == list(range(length)) for run in labels.reshape(times, length).tolist()):
        return [frames[start : start + length] for start in range(0, len(frames), length)]
    by_place = labels.reshape(length, times)
    if (by_place == by_place[:, :1]).all() and len(np.unique(by_place[:, 0])) == length:
        return [frames[start::times] for start in range(times)]
    return []


def _part_by_any_attribute(frames: list[Frame]) -> tuple[str, list[list[Frame]]]:
    """The name and the parts of the first attribute, private ones included, of which each value stands as
    often at every position.

    Label and control images of perfusion, for example.  Headers are read whole for it, where all else has
    failed.
    """
    along = positions_along(frames)
    if (
        along is None
        or not spans_places(frames, evenly=True)
        or any(frame.number or frame.tile for frame in frames)
    ):
        return "", []
    labels = position_labels(along)
    places = labels.max() + 1
    headers = [read_short_values(frame.item) for frame in frames]
    for tag in sorted(set.intersection(*map(set, headers))):
        parts = group_by_key(range(len(frames)), (header[tag] for header in headers))
        even = 1 < len(parts) <= len(frames) // places
        if even and all(
            np.ptp(np.bincount(labels[own], minlength=places)) == 0 for own in parts.values()
        ):
            return f"attribute ({tag >> 16:04x},{tag & 0xFFFF:04x})", [
                [frames[index] for index in own] for own in parts.values()
            ]
    return "", []


def _turns(frames: list[Frame], times: int) -> list[list[Frame]]:
    """The first images of all positions, the second ones, ... by number, else by time; empty unless every
    position has as many images.

    Some scanners number the images of a series at random.  Volumes that agree in every attribute are
    repetitions of one.
    """
    along = positions_along(frames)
    if along is None or not spans_places(frames, evenly=True):
        return []
    places = group_by_key(frames, position_labels(along).tolist())
    for order in ORDERS:
        if all(len(set(map(order, place))) == times for place in places.values()):
            turns = zip(*(sorted(place, key=order) for place in places.values()), strict=True)
            return [
                _note_turn(sorted(turn, key=ORDERS[0]), number, times)
                for number, turn in enumerate(turns, start=1)
            ]
    return []


def _note_turn(turn: list[Frame], number: int, times: int) -> list[Frame]:
    which = "the first" if number == 1 else f"number {number}"
    note = (
        f"{which} of {times} images at each position, by image number or time: no known attribute tells them "
        "apart"
    )
    return [replace(turn[0], notes=(*turn[0].notes, note)), *turn[1:]]


def _time(frame: Frame, name: str) -> float:
    return real_number(dict(frame.perhaps)[name]) or 0.0


ORDERS: tuple[Callable[[Frame], float], ...] = (
    lambda frame: frame.instance,
    lambda frame: _time(frame, "acquisition time"),
    lambda frame: _time(frame, "content time"),
)
