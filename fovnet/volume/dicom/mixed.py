"""Evenly spaced stacks whose images lie among each other, and agree in every attribute that is
read.

Anonymisers that give every volume one series UID, and exports of two scans as one series, leave
such mixtures.  Read as one stack, the images of two bodies alternate.  An image number stands once
in a volume: numbers that recur tell a mixture from a stack with odd gaps, and so do places that
alternate between two grids.  Images that are missing are few, or at no regular distance, or missing
in the numbers too. Source: DICOM PS3.3, C.7.6.1.1.1 (Instance Number identifies an image of the
series).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.positions import (
    EVEN_SHARE,
    LEAST_IMAGES,
    MAX_GAP_RATIO,
    MISSING_SHARE,
    SAME_PLACE_MM,
    are_woven,
    is_even,
    most_at_one_place,
    position_labels,
    positions_in_frame,
)

MOST_STACKS = 4  # in one mixture; a number that recurs more often counts nothing
# as `EVEN`, where places alone tell stacks apart: scanners write them to 0.1 %, and coarse grids
# lie in noise
SAME_GRID = 0.02
LEAST_BY_PLACES = 4  # images of a stack then: three of six odd places are even by chance
MOST_TRIED = 4  # longest progressions from the first image that are tried
LONGEST_PERIOD = 8  # gaps, after which the gaps of a mixture of grids repeat
LEAST_PERIODS = 3  # fewer may be chance


def mixed_stacks(frames: list[Frame]) -> tuple[str, list[list[Frame]]]:
    """What tells the stacks of a mixture apart, and their images; ("", [frames]) for one stack, and
    for a mixture that cannot be parted."""
    one_stack = "", [frames]
    positions = positions_in_frame(frames)
    if positions is None or len(frames) < 2 * LEAST_IMAGES:
        return one_stack
    order = positions[:, 2].argsort(kind="stable")
    numbers = [frames[index].instance for index in order]
    ordered = [frames[index] for index in order]
    if recurring_numbers(frames):
        name = "image numbers that recur"
        search = _StackSearch(ordered, positions[order], numbers, EVEN_SHARE, LEAST_IMAGES)
        stacks = search.stacks(range(len(frames)), MOST_STACKS)
    else:
        name = "grids of positions"
        along = positions[order, 2]
        if is_even(frames, missing=True) or _lacks_images(along, numbers):
            return one_stack
        has_two_at_most = _is_counted(numbers) and not _alternates(along, numbers)
        ranks = list(range(len(frames)))
        search = _StackSearch(ordered, positions[order], ranks, SAME_GRID, LEAST_BY_PLACES)
        stacks = search.stacks(range(len(frames)), 2 if has_two_at_most else MOST_STACKS)
        if stacks and not are_woven([positions[order[stack], 2] for stack in stacks]):
            return one_stack
    if not stacks or _repeats_places(position_labels(positions[order, 2]), stacks):
        return one_stack
    return name, [[frames[index] for index in np.sort(order[stack])] for stack in stacks]


def _repeats_places(labels: NDArray[np.int64], stacks: Sequence[Sequence[int]]) -> bool:
    """Whether most places of one of the stacks are places of the others: a pass that was broken
    off."""
    shared = np.bincount(labels)[labels] > 1
    return any(2 * np.count_nonzero(shared[stack]) > len(stack) for stack in stacks)


def recurring_numbers(frames: Sequence[Frame]) -> list[int]:
    """The image numbers that images of one group have in common; none for fewer than three, for
    frames of one object, and where a number stands in place of none."""
    if any(frame.number or frame.tile for frame in frames):
        return []
    counts = Counter(
        (frame.instance, frame.volume_attributes) for frame in frames if frame.instance
    )
    recurring = sorted({number for (number, _), count in counts.items() if count > 1})
    if len(recurring) < LEAST_IMAGES or max(counts.values()) > MOST_STACKS:
        return []
    return recurring


def refuse_mixture(source: str, frames: Sequence[Frame]) -> None:
    """Raises VolumeError "volume-doubled" for odd gaps between images whose numbers recur, and for
    gaps that alternate regularly."""
    if most_at_one_place(frames) > 1 or is_even(frames, missing=True):
        return
    recurring = recurring_numbers(frames)
    positions = positions_in_frame(frames)
    if recurring:
        evidence = (
            f"{len(recurring)} image numbers recur at other places ({recurring[0]}, for example)"
        )
        fault = f"{evidence}, and the images are not evenly spaced"
    elif positions is not None and len(frames) >= 2 * LEAST_IMAGES:
        order = positions[:, 2].argsort(kind="stable")
        along = positions[order, 2]
        if not _alternates(along, [frames[index].instance for index in order]):
            return
        gaps_mm = np.diff(along)
        widths = f"{gaps_mm.min():.2f} to {gaps_mm.max():.2f} mm"
        fault = f"the gaps between the images alternate regularly ({widths})"
    else:
        return
    raise VolumeError(
        "volume-doubled",
        f"{source}: {fault}: they are of several volumes, and no attribute tells them apart. "
        "Separate the volumes into folders.",
    )


def _is_counted(numbers: Sequence[int]) -> bool:
    """Whether the numbers rise or fall along the normal, or are all the same and tell nothing."""
    steps = np.sign(np.diff(numbers))
    return bool((steps == steps[0]).all())


def _lacks_images(along: NDArray[np.float64], numbers: Sequence[int]) -> bool:
    """Whether every gap is one, two or three times the smallest, at no regular distance, and the
    numbers do not contradict that images are missing."""
    return _times(along) is not None and _is_counted(numbers) and not _alternates(along, numbers)


def _times(along: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Each gap as a multiple of the smallest; None if some are none, or wider than three, or images
    share a place."""
    gaps = np.diff(along)
    if gaps.min() < SAME_PLACE_MM:
        return None
    times: NDArray[np.float64] = gaps / gaps.min()
    deviation = np.abs(times - np.rint(times))
    if not (times.max() <= MAX_GAP_RATIO and deviation.max() <= EVEN_SHARE):
        return None
    return np.rint(times).astype(np.int64)


def _alternates(along: NDArray[np.float64], numbers: Sequence[int]) -> bool:
    """Whether multiples of the smallest gap recur with a period where two grids may overlap, from
    the first of the smallest gaps to the last; not if the image numbers are missing there too."""
    times = _times(along)
    if times is None or np.array_equal(np.abs(np.diff(numbers)), times):
        return False
    smallest = np.flatnonzero(times == 1)
    woven = times[smallest[0] : smallest[-1] + 1]
    if np.count_nonzero(woven > 1) <= MISSING_SHARE * len(woven):
        return False
    periods = range(2, min(LONGEST_PERIOD, len(woven) // LEAST_PERIODS) + 1)
    return any(
        np.count_nonzero(woven[period:] != woven[:-period]) <= MISSING_SHARE * len(woven)
        for period in periods
    )


@dataclass(frozen=True)
class _StackSearch:
    """The search for stacks among images in their order along the normal: `placed` (n, 3) in mm,
    and a number of each, which no stack has twice."""

    frames: Sequence[Frame]
    placed: NDArray[np.float64]
    numbers: Sequence[int]
    tolerance: float
    least: int

    def stacks(self, indices: Sequence[int], most_stacks: int) -> list[list[int]]:
        """The indices of each of at most so many stacks; empty if the images do not make them."""
        if len(indices) < self.least:
            return []
        if self._is_stack(indices):
            return [list(indices)]
        if most_stacks == 1:
            return []
        longest_first = sorted(self._progressions(indices), key=len, reverse=True)
        for stack in longest_first[:MOST_TRIED]:
            stack_indices = set(stack)
            further_stacks = self.stacks(
                [index for index in indices if index not in stack_indices], most_stacks - 1
            )
            if further_stacks:
                return [stack, *further_stacks]
        return []

    def _is_stack(self, indices: Sequence[int]) -> bool:
        numbers = {self.numbers[index] for index in indices}
        frames = [self.frames[index] for index in indices]
        return len(numbers) == len(frames) and is_even(frames, missing=True, within=self.tolerance)

    def _progressions(self, indices: Sequence[int]) -> Iterator[list[int]]:
        """The stacks that begin with the first image, by the distance to the second, with and
        without missing images."""
        tried_stacks: set[tuple[int, ...]] = set()
        for second in indices[1 : 2 * MOST_STACKS + 1]:
            for longest_step in (1, int(MAX_GAP_RATIO)):
                stack = self._progression(indices, second, longest_step)
                if (
                    tuple(stack) not in tried_stacks
                    and len(stack) >= self.least
                    and self._is_stack(stack)
                ):
                    yield stack
                tried_stacks.add(tuple(stack))

    def _progression(self, indices: Sequence[int], second: int, longest_step: int) -> list[int]:
        """The images at the distance of the first and `second` after each other."""
        stack = [indices[0], second]
        step = self.placed[second] - self.placed[indices[0]]
        numbers = {self.numbers[index] for index in stack}
        along = self.placed[np.asarray(indices), 2]
        following: int | None = second
        while following is not None:
            following = None
            for times in range(1, longest_step + 1):
                place = self.placed[stack[-1]] + times * step
                following = self._nearest(indices, along, place, self.tolerance * step[2], numbers)
                if following is not None:
                    stack.append(following)
                    numbers.add(self.numbers[following])
                    break
        return stack

    def _nearest(
        self,
        indices: Sequence[int],
        along: NDArray[np.float64],
        place: NDArray[np.float64],
        within_mm: float,
        numbers: set[int],
    ) -> int | None:
        """The image nearest to a place, of another number than these; None if none is so near."""
        start, stop = np.searchsorted(along, [place[2] - within_mm, place[2] + within_mm])
        candidates = [index for index in indices[start:stop] if self.numbers[index] not in numbers]
        off_mm = {index: float(np.abs(self.placed[index] - place).max()) for index in candidates}
        nearest = min(candidates, key=lambda index: off_mm[index], default=None)
        return nearest if nearest is not None and off_mm[nearest] <= within_mm else None
