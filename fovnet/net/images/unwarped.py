"""The networks' input images for prediction: those of `fovnet.net.images.inputs` without a warp, by
numpy alone.

    m  slices
    c  channels, of the kinds of inputs in their order
    images  (m, c, 128, 128) float32 in [0, 1]

They differ from torch's by the rounding of a bilinear interpolation, 1e-5 between pixels of noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import ModelError
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.volume.slices.sections import Sections, make_sections_of_slices

Images = NDArray[np.float32]
MILLIMETRES_SIDE_MM = 512.0  # of the square of the input "millimetres", 4 mm a pixel
# slice pixels per 4 mm pixel; above it means of 2 x 2 are read: bilinear sampling would skip pixels
LARGEST_UNHALVED_RATIO = 2.0


def common_input_kinds(input_kinds_of_members: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The kinds of inputs of all the networks.  Raises ModelError ("members-other-inputs") if they
    differ."""
    distinct_kinds = set(input_kinds_of_members)
    if len(distinct_kinds) > 1:
        kinds_in_words = " and ".join(
            sorted(", ".join(member_kinds) for member_kinds in distinct_kinds)
        )
        raise ModelError(
            "members-other-inputs",
            f"the networks of the ensemble have different inputs, {kinds_in_words}; use the networks of "
            "one search",
        )
    return distinct_kinds.pop() if distinct_kinds else ("slice",)


def unplaced_error(input_kinds: Sequence[str]) -> ModelError:
    """The error ("inputs-unplaced") for inputs that need more than the pixels of the slices."""
    return ModelError(
        "inputs-unplaced",
        f"networks with the inputs {', '.join(input_kinds)} need the sizes and the positions of the "
        "slices; give both",
    )


@dataclass(frozen=True)
class InputSlices:
    """A few slices with all that their images are made from.

    input_kinds  in the order of the channels
    slices       (m, h, w) uint8
    neighbours   (2, m, h, w) uint8: those below and above; None where they are no input
    sides_mm     (m,) of the slices; None where it is not known
    sections     of their volumes, if they are inputs
    """

    input_kinds: tuple[str, ...]
    slices: NDArray[np.uint8]
    neighbours: NDArray[np.uint8] | None
    sides_mm: NDArray[np.float32] | None
    sections: Sections | None

    def make_images(self, part: slice) -> Images:
        """The images (n, c, 128, 128) of a part of the slices."""
        channels: list[Images] = []
        slices = _scale_to_unit_range(self.slices[part])
        if "slice" in self.input_kinds:
            channels.append(slices)
        if self.neighbours is not None:
            channels += list(_scale_to_unit_range(self.neighbours[:, part]))
        if self.sides_mm is not None and "millimetres" in self.input_kinds:
            channels.append(resample_in_millimetres(slices, self.sides_mm[part]))
        if self.sections is not None:
            channels += list(cut_sections_about(self.sections, part))
        return np.stack(channels, axis=1)


def gather_slices(
    pixels: NDArray[np.uint8],
    rows: NDArray[np.int64],
    input_kinds: tuple[str, ...],
    placing: Placing | None,
) -> InputSlices:
    """The slices `rows` (m,) of all `pixels` (n, h, w), in memory or in a file, with what inputs of
    these kinds need, and no more; for sections, all slices of the rows' volumes are read.

    Raises ModelError ("inputs-unplaced") if a kind needs the `placing` and there is none.
    """
    if placing is None and input_kinds != ("slice",):
        raise unplaced_error(input_kinds)
    neighbours = None
    sides_mm = None
    sections = None
    if placing is not None:
        sides_mm = placing.sides_mm[rows].astype(np.float32)
        if "neighbours" in input_kinds:
            neighbours = np.stack(
                [pixels[row_numbers] for row_numbers in placing.find_neighbours(rows)]
            )
        if "sections" in input_kinds:
            sections = make_sections_of_slices(pixels, rows, placing)
    return InputSlices(input_kinds, np.asarray(pixels[rows]), neighbours, sides_mm, sections)


def resample_in_millimetres(slices: Images, sides_mm: NDArray[np.float32]) -> Images:
    """Slices (n, 128, 128) that are `sides_mm` (n,) wide, on a square of MILLIMETRES_SIDE_MM; black
    outside them."""
    resampled = np.empty_like(slices)
    for side_mm in np.unique(sides_mm):  # a volume's slices have the same
        has_side = sides_mm == side_mm
        frame_ratio = np.float32(MILLIMETRES_SIDE_MM) / side_mm
        sources = slices[has_side]
        if frame_ratio > LARGEST_UNHALVED_RATIO:
            slice_count, height, width = sources.shape
            sources = sources.reshape(slice_count, height // 2, 2, width // 2, 2).mean(axis=(2, 4))
        samples = bilinear_samples(slices.shape[-1], sources.shape[-1], float(frame_ratio))
        resampled[has_side] = _interpolate_last_axis(
            _interpolate_last_axis(sources, samples).swapaxes(1, 2), samples
        ).swapaxes(1, 2)
    return resampled


class Samples(NamedTuple):
    """Where pixels of a target are read along one axis of a source: (t,) the pixel before and the
    one after, and the weight of each; 0 for what lies outside."""

    before: NDArray[np.int64]
    after: NDArray[np.int64]
    weight_before: Images
    weight_after: Images


def bilinear_samples(target_count: int, source_count: int, frame_ratio: float) -> Samples:
    """The samples of a bilinear interpolation along one axis.

    Pixel centres u of the target, in [-1, 1], are read at frame_ratio * u in the source's own
    [-1, 1]; what lies outside counts as black.
    """
    target_centres = (2 * np.arange(target_count) + 1) / target_count - 1
    source_positions = ((target_centres * frame_ratio + 1) * source_count - 1) / 2
    before = np.floor(source_positions).astype(np.int64)
    weight_after = source_positions - before
    is_inside_before = (before >= 0) & (before < source_count)
    is_inside_after = (before >= -1) & (before < source_count - 1)
    return Samples(
        before=before.clip(0, source_count - 1),
        after=(before + 1).clip(0, source_count - 1),
        weight_before=((1 - weight_after) * is_inside_before).astype(np.float32),
        weight_after=(weight_after * is_inside_after).astype(np.float32),
    )


def _interpolate_last_axis(images: Images, samples: Samples) -> Images:
    """Images (n, h, w) to (n, h, t).  Without linear algebra, whose libraries would use threads of
    their own in each of the threads that prepare images."""
    before = images[..., samples.before] * samples.weight_before
    return before + images[..., samples.after] * samples.weight_after


def cut_sections_about(sections: Sections, part: slice) -> Images:
    """(2, n, 128, 128): the sagittal and the coronal section of each slice of a part, the slice in
    row 64; black beyond the volume."""
    slice_rows = sections.row_of_slice[part]
    section_rows = slice_rows[:, None] + (SIDE_PIXELS // 2 - np.arange(SIDE_PIXELS))
    first_rows = sections.first_row_of_volume[part]
    rows_after = sections.row_after_volume[part]
    is_shown = (section_rows >= first_rows[:, None]) & (section_rows < rows_after[:, None])
    shown_rows = section_rows.clip(0, sections.pixels.shape[1] - 1)
    return _scale_to_unit_range(sections.pixels[:, shown_rows] * is_shown[:, :, None])


def _scale_to_unit_range(pixels: NDArray[np.uint8]) -> Images:
    return pixels.astype(np.float32) / np.float32(255)
