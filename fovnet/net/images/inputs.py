"""The networks' input images, made by the same code for training, validation and prediction.

    pixels  (n, 128, 128) uint8
    rows    (m,) row numbers
    theta   (m, 2, 3) affine maps (fovnet.net.images.augment), if warped
    images  (m, c, 128, 128) float in [0, 1], channels last; the kinds in the order of
            `fovnet.net.family.architecture.INPUTS`:

    slice         the slice as it was cut, whatever its field of view in millimetres
    neighbours    the slices below and above in the same volume; at its ends the slice itself
    millimetres   the slice at 4 mm a pixel, 512 mm across, centred; black outside its field of
                  view.  It shows the size of the body, which resizing to 128 pixels loses
    sections      the volume's sagittal and coronal sections at 4 mm a pixel, head up, with the
                  slice in row 64: its place in the volume

A warp transforms the body: it is the same in all channels of a slice, each resampled once.  In
"millimetres" and "sections" it is combined with the change of scale, so that a body zoomed by 8 %
is 8 % larger there too: a person of another size, not another field of view. Sections are rotated,
sheared and zoomed by the same numbers, each along its own axes, but not moved up or down.  Those of
a cropped slice are still cut through the middle of the whole volume, not of the cropped field of
view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from fovnet.errors import ModelError
from fovnet.net.images.augment import crop_images, theta_in_crops
from fovnet.net.images.resampling import grid_of, read_at, resample
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.volume.slices.sections import PIXEL_MM, Sections, make_sections_of_slices

ACROSS_MM = 512.0  # 4 mm a pixel
THROUGH_MM = PIXEL_MM * SIDE_PIXELS
# slice pixels per 4 mm pixel above which means of 2 x 2 are read: bilinear sampling would skip
# pixels
LEAST_HALVED_RATIO = 2.0


@dataclass(frozen=True)
class SectionsOnDevice:
    """`Sections` on a device: pixels (2, r, 128) uint8; row, low, high (n,)."""

    pixels: Tensor
    row: Tensor
    low: Tensor
    high: Tensor

    @classmethod
    def on(cls, device: torch.device, body_sections: Sections) -> SectionsOnDevice:
        """The sections on `device`."""
        arrays = (
            body_sections.pixels,
            body_sections.row_of_slice,
            body_sections.first_row_of_volume,
            body_sections.row_after_volume,
        )
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))

    def about(self, rows: Tensor, ends: Tensor | None = None) -> Tensor:
        """(m, 2, 128, 128) float in [0, 1]: both sections of each of the slices `rows` (m,), the
        slice in row 64; black beyond the volume.

        ends  (m, 2) shares of the rows below and above the slice that are shown; None: all
        """
        slice_row = self.row.index_select(0, rows)
        lowest_row = self.low.index_select(0, rows)
        end_row = self.high.index_select(0, rows)
        if ends is not None:
            distances = torch.stack([slice_row - lowest_row, end_row - 1 - slice_row], dim=1)
            rows_below, rows_above = (ends * distances).long().unbind(dim=1)
            lowest_row = slice_row - rows_below
            end_row = slice_row + rows_above + 1
        section_rows = slice_row[:, None] + (
            SIDE_PIXELS // 2 - torch.arange(SIDE_PIXELS, device=slice_row.device)
        )
        is_shown = (section_rows >= lowest_row[:, None]) & (section_rows < end_row[:, None])
        pixels = self.pixels[:, section_rows.clamp(0, self.pixels.shape[1] - 1)]
        images = pixels.transpose(0, 1).to(torch.float32).div_(255.0)
        return (images * is_shown[:, None, :, None]).contiguous(memory_format=torch.channels_last)


@dataclass(frozen=True)
class Placed:
    """A `Placing` on a device.

    sides_mm      (n,) float32
    below, above  (n,) rows of the neighbours
    through       the sections, if they are inputs
    """

    sides_mm: Tensor
    below: Tensor
    above: Tensor
    through: SectionsOnDevice | None = None

    @classmethod
    def on(
        cls, device: torch.device, placing: Placing, body_sections: Sections | None = None
    ) -> Placed:
        """The placing on `device`."""
        row_below, row_above = placing.find_neighbours(np.arange(len(placing.volume)))
        return cls(
            sides_mm=torch.from_numpy(placing.sides_mm.astype(np.float32)).to(device),
            below=torch.from_numpy(row_below).to(device),
            above=torch.from_numpy(row_above).to(device),
            through=(None if body_sections is None else SectionsOnDevice.on(device, body_sections)),
        )


@dataclass(frozen=True)
class Warp:
    """The augmentation of m training slices.

    theta    (m, 2, 3) affine map of each, as in fovnet.net.images.augment
    crops    (m, 4), as there: the rectangle of each slice that is its field of view, and the frame
             of theta; None: the whole slice
    ends     (m, 2) the shares of its volume below and above it that its sections show; None: all of
             it
    distort  applied first to images (m, c, h, w); its second argument is whether it may move their
             content, which is False for sections: the slice would no longer be in its row
    as_cut   as in `fovnet.net.recipe.Ranges`
    """

    theta: Tensor
    crops: Tensor | None = None
    ends: Tensor | None = None
    distort: Callable[[Tensor, bool], Tensor] | None = None
    as_cut: bool = True


def images(
    pixels: Tensor,
    rows: Tensor,
    kinds: Sequence[str] = ("slice",),
    placed: Placed | None = None,
    warp: Warp | None = None,
) -> Tensor:
    """(m, c, h, w) float in [0, 1]: the input of these kinds for the slices `rows` (m,); not
    augmented without a warp.

    Raises ModelError ("inputs-unplaced") if a kind needs more than the pixels of the slices and
    `placed` does not have it.
    """
    source_slices, theta, crops = _distort_and_crop(
        _source_slices(pixels, rows, kinds, placed), warp
    )
    channels = []
    resampled_source = source_slices if "slice" in kinds else source_slices[:, 1:]
    if resampled_source.shape[1]:
        channels.append(resampled_source if theta is None else resample(resampled_source, theta))
    if placed is not None and "millimetres" in kinds:
        sides_mm = placed.sides_mm.index_select(0, rows)
        crop_mm = sides_mm if crops is None else crops[:, :2].amax(dim=1) * sides_mm
        # cropping does not change the pixel size
        cut_mm = crop_mm if warp is not None and not warp.as_cut else sides_mm
        channels.append(in_millimetres(source_slices[:, :1], crop_mm, theta, cut_mm))
    if placed is not None and placed.through is not None and "sections" in kinds:
        section_images = placed.through.about(rows, warp.ends if warp else None)
        if warp is not None and theta is not None:
            half_sides = placed.sides_mm.index_select(0, rows) / THROUGH_MM
            section_images = _warp_sections(section_images, half_sides, warp, theta[:, :, 2], crops)
        channels.append(section_images)
    if len(channels) == 1:
        return channels[0]
    return torch.cat(channels, dim=1).contiguous(memory_format=torch.channels_last)


def _source_slices(
    pixels: Tensor, rows: Tensor, kinds: Sequence[str], placed: Placed | None
) -> Tensor:
    """(m, 1, h, w) the slices themselves, or (m, 3, h, w) with their neighbours if those are
    inputs."""
    if tuple(kinds) != ("slice",) and (
        placed is None or ("sections" in kinds and placed.through is None)
    ):
        raise ModelError(
            "inputs-unplaced",
            f"networks with the inputs {', '.join(kinds)} need the sizes and the positions of the "
            "slices; give both",
        )
    slices = normalise(pixels.index_select(0, rows))
    if placed is None or "neighbours" not in kinds:
        return slices
    slices_below = normalise(pixels.index_select(0, placed.below.index_select(0, rows)))
    slices_above = normalise(pixels.index_select(0, placed.above.index_select(0, rows)))
    return torch.cat([slices, slices_below, slices_above], dim=1)


def _distort_and_crop(
    source: Tensor, warp: Warp | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The slices distorted and cropped but not yet resampled, theta in the frames of their crops,
    and the crops made."""
    if warp is None:
        return source, None, None
    if warp.distort is not None:
        source = warp.distort(source, True)
    if warp.crops is None:
        return source, warp.theta, None
    source, crops = crop_images(source, warp.crops)
    return source, theta_in_crops(warp.theta, crops), crops


def _warp_sections(
    images: Tensor, half_sides: Tensor, warp: Warp, shift: Tensor, crops: Tensor | None
) -> Tensor:
    """Sections (m, 2, h, w) warped consistently with their slices: cropped and shifted sideways
    with these.

    half_sides  (m,) of the slices, in half sides of a section's frame
    shift       (m, 2) translation of the slices, to the right and down in their own frames
    """
    if warp.distort is not None:
        images = warp.distort(images, False)
    width = images.shape[3]
    column_positions = (2 * torch.arange(width, device=images.device) + 1) / width - 1
    warped_sections = []
    # the sagittal section's width is the slice's y (1), the coronal one's x (0)
    for section_index, slice_axis in enumerate((1, 0)):
        section_image = images[:, section_index : section_index + 1]
        if crops is not None:
            centre_distances = (
                column_positions - (crops[:, 2 + slice_axis] * half_sides)[:, None]
            ).abs()
            is_in_crop = centre_distances <= (crops[:, slice_axis] * half_sides)[:, None]
            section_image = section_image * is_in_crop[:, None, None, :]
        linear = warp.theta[:, :, :2]
        if slice_axis == 1 and warp.as_cut:
            linear = zoom_along_second_axis(warp.theta)
        sideways_shift = shift[:, slice_axis] * half_sides
        section_shift = torch.stack([sideways_shift, torch.zeros_like(half_sides)], dim=1)
        theta = torch.cat([linear, section_shift[:, :, None]], dim=2)
        warped_sections.append(resample(section_image, theta))
    return torch.cat(warped_sections, dim=1)


def zoom_along_second_axis(theta: Tensor) -> Tensor:
    """(m, 2, 2) theta for a section whose width is the slice's second axis: the first column gets
    the zoom of that axis.

    The zooms are those of `fovnet.net.images.augment.draw_affines`: the length of the first column,
    and the determinant divided by it.
    """
    first_column = theta[:, :, 0]
    second_column = theta[:, :, 1]
    first_zoom = first_column.norm(dim=1)
    determinant = (
        first_column[:, 0] * second_column[:, 1] - first_column[:, 1] * second_column[:, 0]
    )
    second_zoom = determinant / first_zoom
    return torch.stack([first_column * (second_zoom / first_zoom)[:, None], second_column], dim=2)


def normalise(slices: Tensor) -> Tensor:
    """Slices (n, 1, h, w) float in [0, 1] from (n, h, w) uint8, channels last: convolutions 1.3 to
    1.8 times faster on a CPU."""
    return (
        slices.unsqueeze(1)
        .to(torch.float32)
        .div_(255.0)
        .contiguous(memory_format=torch.channels_last)
    )


def in_millimetres(
    slices: Tensor, sides_mm: Tensor, theta: Tensor | None = None, cut_mm: Tensor | None = None
) -> Tensor:
    """Slices (m, 1, h, w) that are `sides_mm` (m,) wide, on a square of ACROSS_MM, warped by theta.

    cut_mm  (m,) width of the whole slices, which gives the pixel size, if theta is of a crop
    In frames of [-1, 1], u in the square is u * 512 / side in the slice, read at A (u * 512 / side)
    + t.
    """
    frame_ratio = (ACROSS_MM / sides_mm)[:, None, None]
    if theta is None:
        theta = torch.eye(2, 3, device=slices.device).expand(len(slices), 2, 3)
    scaled_theta = torch.cat([theta[:, :, :2] * frame_ratio, theta[:, :, 2:]], dim=2)
    grid = grid_of(scaled_theta, *slices.shape[-2:])
    slice_pixels_per_pixel = frame_ratio if cut_mm is None else (ACROSS_MM / cut_mm)[:, None, None]
    return torch.where(
        (slice_pixels_per_pixel > LEAST_HALVED_RATIO)[..., None],
        read_at(F.avg_pool2d(slices, 2), grid),
        read_at(slices, grid),
    )


def images_of(
    pixels: NDArray[np.uint8],
    rows: NDArray[np.int64],
    kinds: Sequence[str],
    placing: Placing | None,
    device: torch.device,
) -> Tensor:
    """`images` (m, c, h, w) of a few rows (m,) of slices (n, h, w) uint8 in memory or in a file."""
    resident_pixels, resident_rows, placed = move_to_device(pixels, rows, kinds, placing, device)
    return images(resident_pixels, resident_rows, kinds, placed)


def move_to_device(
    pixels: NDArray[np.uint8],
    rows: NDArray[np.int64],
    kinds: Sequence[str],
    placing: Placing | None,
    device: torch.device,
) -> tuple[Tensor, Tensor, Placed | None]:
    """What `images` of a few rows (m,) of slices (n, h, w) uint8, in memory or in a file, are made
    from: pixels, row numbers (m,) among them, and their placing.  The device gets only what they
    need.

    For sections, all slices of the rows' volumes are read, and no others.
    """
    moved_rows = rows
    new_rows = np.arange(3 * len(rows)) % len(rows)  # of the slices, those below, those above
    if placing is not None and "neighbours" in kinds:
        moved_rows, new_rows = np.unique(
            np.concatenate([rows, *placing.find_neighbours(rows)]), return_inverse=True
        )
    slice_rows, rows_below, rows_above = (
        torch.from_numpy(row_numbers).to(device) for row_numbers in new_rows.reshape(3, len(rows))
    )
    resident_pixels = torch.from_numpy(np.array(pixels[moved_rows])).to(device)
    if placing is None:
        return resident_pixels, slice_rows, None
    sides_mm = torch.from_numpy(placing.sides_mm[moved_rows].astype(np.float32)).to(device)
    sections_on_device = None
    if "sections" in kinds:
        sections_on_device = SectionsOnDevice.on(
            device, make_sections_of_slices(pixels, moved_rows, placing)
        )
    every_row = torch.arange(len(moved_rows), device=device)
    row_below = every_row.scatter(0, slice_rows, rows_below)
    row_above = every_row.scatter(0, slice_rows, rows_above)
    return resident_pixels, slice_rows, Placed(sides_mm, row_below, row_above, sections_on_device)


def inputs_of(members: Sequence[nn.Module]) -> tuple[str, ...]:
    """The kinds of inputs of all the networks.  Raises ModelError ("members-other-inputs") if they
    differ."""
    distinct_kinds = {getattr(member, "inputs", ("slice",)) for member in members}
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
