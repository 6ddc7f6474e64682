"""Evenly spaced stacks whose images lie among each other, and agree in every attribute that is
read.

Anonymisers that give every volume one series UID, and exports of two scans as one series, leave
such mixtures.  Read as one stack, the images of two bodies alternate.  An image number stands once
in a volume: numbers that recur tell a mixture from a stack with odd gaps, and so do positions that
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
    EVEN_SPACING_TOLERANCE,
    LEAST_STACK_IMAGES,
    MAX_GAP_RATIO,
    MAX_MISSING_SHARE,
    SAME_POSITION_MM,
    are_interleaved,
    is_evenly_spaced,
    label_positions,
    most_images_at_one_position,
    positions_in_image_axes,
)

MAX_STACKS = 4  # in one mixture; a number that recurs more often counts nothing
# as EVEN_SPACING_TOLERANCE, where positions alone tell stacks apart: scanners write them to 0.1 %,
# and coarse grids lie in noise
SAME_GRID_TOLERANCE = 0.02
# images of a stack then: three of six odd positions are even by chance
LEAST_IMAGES_BY_POSITION = 4
MAX_PROGRESSIONS_TRIED = 4  # longest progressions from the first image that are tried
MAX_PERIOD_GAPS = 8  # gaps, after which the gaps of a mixture of grids repeat
LEAST_PERIODS = 3  # fewer may be chance


def separate_mixture(frames: list[Frame]) -> tuple[str, list[list[Frame]]]:
    """What tells the stacks of a mixture apart, and their images; ("", [frames]) for one stack, and
    for a mixture that cannot be parted."""
    unparted = "", [frames]
    positions = positions_in_image_axes(frames)
    if positions is None or len(frames) < 2 * LEAST_STACK_IMAGES:
        return unparted
    index_order = positions[:, 2].argsort(kind="stable")
    ordered_frames = [frames[frame_index] for frame_index in index_order]
    ordered_positions = positions[index_order]
    if find_recurring_numbers(frames):
        differing_property = "image numbers that recur"
        stacks = _find_stacks_by_number(ordered_frames, ordered_positions)
    elif is_evenly_spaced(frames, allows_missing=True):
        return unparted
    else:
        differing_property = "grids of positions"
        stacks = _find_stacks_by_position(ordered_frames, ordered_positions)
    if not stacks or _repeats_positions(label_positions(ordered_positions[:, 2]), stacks):
        return unparted
    return differing_property, [
        [frames[frame_index] for frame_index in np.sort(index_order[stack])] for stack in stacks
    ]


def _find_stacks_by_number(
    frames: Sequence[Frame], positions_mm: NDArray[np.float64]
) -> list[list[int]]:
    """The indices of the images of each stack, in which no image number recurs; empty if there are
    no such stacks.

    frames        in their order along the normal
    positions_mm  (n, 3) of these images along rows, columns and normal
    """
    image_numbers = [frame.image_number for frame in frames]
    search = _StackSearch(
        frames=frames,
        positions_mm=positions_mm,
        numbers=image_numbers,
        tolerance=EVEN_SPACING_TOLERANCE,
        least_images=LEAST_STACK_IMAGES,
    )
    return search.find_stacks(range(len(frames)), MAX_STACKS)


def _find_stacks_by_position(
    frames: Sequence[Frame], positions_mm: NDArray[np.float64]
) -> list[list[int]]:
    """The indices of the images of each of several interleaved grids; empty if the images make no
    such grids, or one stack in which some are missing.

    frames        in their order along the normal
    positions_mm  (n, 3) of these images along rows, columns and normal
    """
    image_numbers = [frame.image_number for frame in frames]
    depths_mm = positions_mm[:, 2]
    if _are_images_missing(depths_mm, image_numbers):
        return []
    max_stacks = MAX_STACKS
    if _is_monotonic(image_numbers) and not _do_gaps_alternate(depths_mm, image_numbers):
        max_stacks = 2
    ranks = range(len(frames))  # no two images have the same
    search = _StackSearch(
        frames=frames,
        positions_mm=positions_mm,
        numbers=ranks,
        tolerance=SAME_GRID_TOLERANCE,
        least_images=LEAST_IMAGES_BY_POSITION,
    )
    stacks = search.find_stacks(range(len(frames)), max_stacks)
    if stacks and not are_interleaved([depths_mm[stack] for stack in stacks]):
        return []
    return stacks


def _repeats_positions(position_labels: NDArray[np.int64], stacks: Sequence[Sequence[int]]) -> bool:
    """Whether most positions of one of the stacks are positions of the others: a pass that was broken
    off."""
    is_shared_position = np.bincount(position_labels)[position_labels] > 1
    return any(2 * np.count_nonzero(is_shared_position[stack]) > len(stack) for stack in stacks)


def find_recurring_numbers(frames: Sequence[Frame]) -> list[int]:
    """The image numbers that images of one group have in common; none for fewer than three, for
    frames of one object, and where a number stands in place of none."""
    if any(frame.frame_number or frame.tile_origin for frame in frames):
        return []
    image_counts = Counter(
        (frame.image_number, frame.volume_attributes) for frame in frames if frame.image_number
    )
    repeated_numbers = sorted(
        {image_number for (image_number, _), image_count in image_counts.items() if image_count > 1}
    )
    if len(repeated_numbers) < LEAST_STACK_IMAGES or max(image_counts.values()) > MAX_STACKS:
        return []
    return repeated_numbers


def refuse_mixture(source: str, frames: Sequence[Frame]) -> None:
    """Raises VolumeError "volume-doubled" for odd gaps between images whose numbers recur, and for
    gaps that alternate regularly."""
    if most_images_at_one_position(frames) > 1 or is_evenly_spaced(frames, allows_missing=True):
        return
    repeated_numbers = find_recurring_numbers(frames)
    positions = positions_in_image_axes(frames)
    if repeated_numbers:
        evidence = f"{len(repeated_numbers)} image numbers recur at other places ({repeated_numbers[0]}, for example)"
        evidence_sentence = f"{evidence}, and the images are not evenly spaced"
    elif positions is not None and len(frames) >= 2 * LEAST_STACK_IMAGES:
        index_order = positions[:, 2].argsort(kind="stable")
        depths_mm = positions[index_order, 2]
        if not _do_gaps_alternate(
            depths_mm, [frames[frame_index].image_number for frame_index in index_order]
        ):
            return
        gaps_mm = np.diff(depths_mm)
        gap_range = f"{gaps_mm.min():.2f} to {gaps_mm.max():.2f} mm"
        evidence_sentence = f"the gaps between the images alternate regularly ({gap_range})"
    else:
        return
    raise VolumeError(
        "volume-doubled",
        f"{source}: {evidence_sentence}: they are of several volumes, and no attribute tells them apart. "
        "Separate the volumes into folders.",
    )


def _is_monotonic(image_numbers: Sequence[int]) -> bool:
    """Whether the numbers rise or fall along the normal, or are all the same and tell nothing."""
    steps = np.sign(np.diff(image_numbers))
    return bool((steps == steps[0]).all())


def _are_images_missing(depths_mm: NDArray[np.float64], image_numbers: Sequence[int]) -> bool:
    """Whether every gap is one, two or three times the smallest, at no regular distance, and the
    numbers do not contradict that images are missing."""
    return (
        _gap_multiples(depths_mm) is not None
        and _is_monotonic(image_numbers)
        and not _do_gaps_alternate(depths_mm, image_numbers)
    )


def _gap_multiples(depths_mm: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Each gap as a multiple of the smallest; None if some are none, or wider than three, or images
    share a position."""
    gaps_mm = np.diff(depths_mm)
    if gaps_mm.min() < SAME_POSITION_MM:
        return None
    gap_ratios: NDArray[np.float64] = gaps_mm / gaps_mm.min()
    deviation = np.abs(gap_ratios - np.rint(gap_ratios))
    if not (gap_ratios.max() <= MAX_GAP_RATIO and deviation.max() <= EVEN_SPACING_TOLERANCE):
        return None
    return np.rint(gap_ratios).astype(np.int64)


def _do_gaps_alternate(depths_mm: NDArray[np.float64], image_numbers: Sequence[int]) -> bool:
    """Whether multiples of the smallest gap recur with a period where two grids may overlap, from
    the first of the smallest gaps to the last; not if the image numbers are missing there too."""
    gap_multiples = _gap_multiples(depths_mm)
    if gap_multiples is None or np.array_equal(np.abs(np.diff(image_numbers)), gap_multiples):
        return False
    smallest_gap_indices = np.flatnonzero(gap_multiples == 1)
    woven_multiples = gap_multiples[smallest_gap_indices[0] : smallest_gap_indices[-1] + 1]
    if np.count_nonzero(woven_multiples > 1) <= MAX_MISSING_SHARE * len(woven_multiples):
        return False
    periods = range(2, min(MAX_PERIOD_GAPS, len(woven_multiples) // LEAST_PERIODS) + 1)
    return any(
        np.count_nonzero(woven_multiples[period:] != woven_multiples[:-period])
        <= MAX_MISSING_SHARE * len(woven_multiples)
        for period in periods
    )


@dataclass(frozen=True)
class _StackSearch:
    """The search for stacks among images in their order along the normal.

    positions_mm  (n, 3) along rows, columns and normal
    numbers       of each image; no stack has one twice
    tolerance     of the distance between images, as a share of it
    least_images  that a stack has
    """

    frames: Sequence[Frame]
    positions_mm: NDArray[np.float64]
    numbers: Sequence[int]
    tolerance: float
    least_images: int

    def find_stacks(self, indices: Sequence[int], max_stacks: int) -> list[list[int]]:
        """The indices of each of at most so many stacks; empty if the images do not make them."""
        if len(indices) < self.least_images:
            return []
        if self._is_stack(indices):
            return [list(indices)]
        if max_stacks == 1:
            return []
        longest_first = sorted(self._try_progressions(indices), key=len, reverse=True)
        for stack in longest_first[:MAX_PROGRESSIONS_TRIED]:
            stack_indices = set(stack)
            further_stacks = self.find_stacks(
                [index for index in indices if index not in stack_indices], max_stacks - 1
            )
            if further_stacks:
                return [stack, *further_stacks]
        return []

    def _is_stack(self, indices: Sequence[int]) -> bool:
        """Whether these images are evenly spaced, and no number recurs among them."""
        numbers = {self.numbers[index] for index in indices}
        frames = [self.frames[index] for index in indices]
        return len(numbers) == len(frames) and is_evenly_spaced(
            frames, allows_missing=True, tolerance=self.tolerance
        )

    def _try_progressions(self, indices: Sequence[int]) -> Iterator[list[int]]:
        """The stacks that begin with the first image, by the distance to the second, with and
        without missing images."""
        tried_stacks: set[tuple[int, ...]] = set()
        for second_index in indices[1 : 2 * MAX_STACKS + 1]:
            for longest_step in (1, int(MAX_GAP_RATIO)):
                stack = self._follow_progression(indices, second_index, longest_step)
                if (
                    tuple(stack) not in tried_stacks
                    and len(stack) >= self.least_images
                    and self._is_stack(stack)
                ):
                    yield stack
                tried_stacks.add(tuple(stack))

    def _follow_progression(
        self, indices: Sequence[int], second_index: int, longest_step: int
    ) -> list[int]:
        """The images at the distance of the first and `second_index` after each other."""
        stack = [indices[0], second_index]
        step_mm = self.positions_mm[second_index] - self.positions_mm[indices[0]]
        numbers_taken = {self.numbers[index] for index in stack}
        depths_mm = self.positions_mm[np.asarray(indices), 2]
        next_index: int | None = second_index
        while next_index is not None:
            next_index = None
            for step_count in range(1, longest_step + 1):
                expected_position = self.positions_mm[stack[-1]] + step_count * step_mm
                next_index = self._find_nearest_image(
                    indices,
                    depths_mm,
                    expected_position,
                    self.tolerance * step_mm[2],
                    numbers_taken,
                )
                if next_index is not None:
                    stack.append(next_index)
                    numbers_taken.add(self.numbers[next_index])
                    break
        return stack

    def _find_nearest_image(
        self,
        indices: Sequence[int],
        depths_mm: NDArray[np.float64],
        expected_position: NDArray[np.float64],
        tolerance_mm: float,
        numbers_taken: set[int],
    ) -> int | None:
        """The image nearest to a position, of another number than these; None if none is so near."""
        start, stop = np.searchsorted(
            depths_mm, [expected_position[2] - tolerance_mm, expected_position[2] + tolerance_mm]
        )
        candidates = [
            index for index in indices[start:stop] if self.numbers[index] not in numbers_taken
        ]
        distance_mm_by_index = {
            index: float(np.abs(self.positions_mm[index] - expected_position).max())
            for index in candidates
        }
        nearest = min(candidates, key=lambda index: distance_mm_by_index[index], default=None)
        if nearest is None or distance_mm_by_index[nearest] > tolerance_mm:
            return None
        return nearest
