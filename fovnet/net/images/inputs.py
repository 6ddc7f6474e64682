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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from fovnet.net.images.augment import crop_images, theta_in_crops
from fovnet.net.images.resampling import interpolate_at, resample, sampling_grid
from fovnet.net.images.unwarped import (
    LARGEST_UNHALVED_RATIO,
    MILLIMETRES_SIDE_MM,
    common_input_kinds,
    unplaced_error,
)
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE_PIXELS
from fovnet.volume.slices.sections import PIXEL_MM, Sections, make_sections_of_slices

SECTION_SIDE_MM = PIXEL_MM * SIDE_PIXELS


@dataclass(frozen=True)
class SectionsOnDevice:
    """The sagittal and the coronal section of every volume, on a device.

    pixels        (2, r, 128) uint8: the rows of both sections, one volume's after another's
    row_of_slice  (n,) the row in which each slice lies
    lowest_row    (n,) the first row of each slice's volume
    end_row       (n,) the row after its last
    """

    pixels: Tensor
    row_of_slice: Tensor
    lowest_row: Tensor
    end_row: Tensor

    @classmethod
    def copy_to(cls, device: torch.device, body_sections: Sections) -> SectionsOnDevice:
        """The sections on `device`."""
        arrays = (
            body_sections.pixels,
            body_sections.row_of_slice,
            body_sections.first_row_of_volume,
            body_sections.row_after_volume,
        )
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))

    def make_images_about(self, rows: Tensor, shown_shares: Tensor | None = None) -> Tensor:
        """(m, 2, 128, 128) float in [0, 1]: both sections of each of the slices `rows` (m,), the
        slice in row 64; black beyond the volume.

        shown_shares  (m, 2) shares of the rows below and above the slice that are shown; None: all
        """
        slice_row = self.row_of_slice.index_select(0, rows)
        lowest_row = self.lowest_row.index_select(0, rows)
        end_row = self.end_row.index_select(0, rows)
        if shown_shares is not None:
            row_counts = torch.stack([slice_row - lowest_row, end_row - 1 - slice_row], dim=1)
            rows_below, rows_above = (shown_shares * row_counts).long().unbind(dim=1)
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
class PlacingOnDevice:
    """Where n slices lie in their volumes, on a device.

    sides_mm   (n,) float32, of the slices, which are square
    row_below  (n,) row number of the neighbour towards the feet; at an end the slice itself
    row_above  (n,) row number of the neighbour towards the head; at an end the slice itself
    sections   of the volumes, if they are inputs
    """

    sides_mm: Tensor
    row_below: Tensor
    row_above: Tensor
    sections: SectionsOnDevice | None = None

    @classmethod
    def copy_to(
        cls, device: torch.device, placing: Placing, body_sections: Sections | None = None
    ) -> PlacingOnDevice:
        """The placing on `device`."""
        row_below, row_above = placing.find_neighbours(np.arange(len(placing.volume_of_slice)))
        sections = None
        if body_sections is not None:
            sections = SectionsOnDevice.copy_to(device, body_sections)
        return cls(
            sides_mm=torch.from_numpy(placing.sides_mm.astype(np.float32)).to(device),
            row_below=torch.from_numpy(row_below).to(device),
            row_above=torch.from_numpy(row_above).to(device),
            sections=sections,
        )


class DistortImages(Protocol):
    """Distorts images (m, c, h, w)."""

    def __call__(self, images: Tensor, *, may_move: bool) -> Tensor:
        """The images, their content moved only if it `may_move`."""


@dataclass(frozen=True)
class Warp:
    """The augmentation of m training slices.

    theta            (m, 2, 3) affine map of each, from output to input coordinates in [-1, 1]
    crops            (m, 4) the rectangle of each slice that is its field of view, and the frame of
                     theta: half its width and height, and its centre; None: the whole slice
    shown_shares     (m, 2) the shares of its volume below and above it that its sections show;
                     None: all of it
    distort_images   applied first; it may not move the content of sections: the slice would leave
                     its row
    crops_like_cut_slices  whether a crop is resampled at 4 mm like a slice cut to it, and sections
                     are zoomed along their own axis, as `fovnet.net.recipe.Ranges.as_cut` says
    """

    theta: Tensor
    crops: Tensor | None = None
    shown_shares: Tensor | None = None
    distort_images: DistortImages | None = None
    crops_like_cut_slices: bool = True


def make_images(
    pixels: Tensor,
    rows: Tensor,
    input_kinds: Sequence[str] = ("slice",),
    placing: PlacingOnDevice | None = None,
    warp: Warp | None = None,
) -> Tensor:
    """(m, c, h, w) float in [0, 1]: the input of these kinds for the slices `rows` (m,); not
    augmented without a warp.

    pixels   (n, h, w) uint8, of all slices
    placing  of all slices, for kinds that need it

    Raises ModelError ("inputs-unplaced") if a kind needs more than the pixels of the slices and
    `placing` does not have it.
    """
    source_slices, theta, crops = _distort_and_crop(
        _source_slices(pixels, rows, input_kinds, placing), warp
    )
    channels = []
    resampled_source = source_slices if "slice" in input_kinds else source_slices[:, 1:]
    if resampled_source.shape[1]:
        channels.append(resampled_source if theta is None else resample(resampled_source, theta))
    if placing is not None and "millimetres" in input_kinds:
        sides_mm = placing.sides_mm.index_select(0, rows)
        crop_mm = sides_mm if crops is None else crops[:, :2].amax(dim=1) * sides_mm
        # cropping does not change the pixel size
        pixel_frame_mm = sides_mm
        if warp is not None and not warp.crops_like_cut_slices:
            pixel_frame_mm = crop_mm
        channels.append(
            resample_in_millimetres(source_slices[:, :1], crop_mm, theta, pixel_frame_mm)
        )
    if placing is not None and placing.sections is not None and "sections" in input_kinds:
        section_images = placing.sections.make_images_about(
            rows, warp.shown_shares if warp else None
        )
        if warp is not None and theta is not None:
            side_ratios = placing.sides_mm.index_select(0, rows) / SECTION_SIDE_MM
            section_images = _warp_sections(
                section_images, side_ratios, warp, theta[:, :, 2], crops
            )
        channels.append(section_images)
    if len(channels) == 1:
        return channels[0]
    return torch.cat(channels, dim=1).contiguous(memory_format=torch.channels_last)


def _source_slices(
    pixels: Tensor, rows: Tensor, input_kinds: Sequence[str], placing: PlacingOnDevice | None
) -> Tensor:
    """(m, 1, h, w) the slices themselves, or (m, 3, h, w) with their neighbours if those are
    inputs.  Raises ModelError "inputs-unplaced"."""
    if tuple(input_kinds) != ("slice",) and (
        placing is None or ("sections" in input_kinds and placing.sections is None)
    ):
        raise unplaced_error(input_kinds)
    slices = scale_to_unit_range(pixels.index_select(0, rows))
    if placing is None or "neighbours" not in input_kinds:
        return slices
    slices_below = scale_to_unit_range(
        pixels.index_select(0, placing.row_below.index_select(0, rows))
    )
    slices_above = scale_to_unit_range(
        pixels.index_select(0, placing.row_above.index_select(0, rows))
    )
    return torch.cat([slices, slices_below, slices_above], dim=1)


def _distort_and_crop(
    source: Tensor, warp: Warp | None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Source images (m, c, h, w) distorted and cropped but not yet resampled, theta (m, 2, 3) in
    the frames of their crops, and the crops made (m, 4); no theta without a warp."""
    if warp is None:
        return source, None, None
    if warp.distort_images is not None:
        source = warp.distort_images(source, may_move=True)
    if warp.crops is None:
        return source, warp.theta, None
    source, crops = crop_images(source, warp.crops)
    return source, theta_in_crops(warp.theta, crops), crops


def _warp_sections(
    images: Tensor, side_ratios: Tensor, warp: Warp, shift: Tensor, crops: Tensor | None
) -> Tensor:
    """Sections (m, 2, h, w) warped consistently with their slices: cropped and shifted sideways
    with these.

    side_ratios  (m,) side of each slice over that of a section's frame
    shift        (m, 2) translation of the slices, to the right and down in their own frames
    crops        (m, 4) rectangles of the slices: half width and height, centre; None: whole slices
    """
    if warp.distort_images is not None:
        images = warp.distort_images(images, may_move=False)
    width = images.shape[3]
    column_positions = (2 * torch.arange(width, device=images.device) + 1) / width - 1
    warped_sections = []
    # the sagittal section's width is the slice's y (1), the coronal one's x (0)
    for section_index, slice_axis in enumerate((1, 0)):
        section_image = images[:, section_index : section_index + 1]
        if crops is not None:
            centre_distances = (
                column_positions - (crops[:, 2 + slice_axis] * side_ratios)[:, None]
            ).abs()
            is_in_crop = centre_distances <= (crops[:, slice_axis] * side_ratios)[:, None]
            section_image = section_image * is_in_crop[:, None, None, :]
        linear = warp.theta[:, :, :2]
        if slice_axis == 1 and warp.crops_like_cut_slices:
            linear = zoom_along_second_axis(warp.theta)
        sideways_shift = shift[:, slice_axis] * side_ratios
        section_shift = torch.stack([sideways_shift, torch.zeros_like(side_ratios)], dim=1)
        theta = torch.cat([linear, section_shift[:, :, None]], dim=2)
        warped_sections.append(resample(section_image, theta))
    return torch.cat(warped_sections, dim=1)


def zoom_along_second_axis(theta: Tensor) -> Tensor:
    """(m, 2, 2) linear part of theta (m, 2, 3) for a section whose width is the slice's second
    axis: the first column gets the zoom of that axis.

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


def scale_to_unit_range(slices: Tensor) -> Tensor:
    """Slices (n, 1, h, w) float in [0, 1] from (n, h, w) uint8, channels last: convolutions 1.3 to
    1.8 times faster on a CPU."""
    return (
        slices.unsqueeze(1)
        .to(torch.float32)
        .div_(255.0)
        .contiguous(memory_format=torch.channels_last)
    )


def resample_in_millimetres(
    slices: Tensor,
    sides_mm: Tensor,
    theta: Tensor | None = None,
    uncropped_sides_mm: Tensor | None = None,
) -> Tensor:
    """Slices (m, 1, h, w) that are `sides_mm` (m,) wide, on a square of MILLIMETRES_SIDE_MM, warped
    by theta (m, 2, 3).

    uncropped_sides_mm  (m,) width of the whole slices, which gives the pixel size, if theta is of a
                        crop
    In frames of [-1, 1], u in the square is u * 512 / side in the slice, read at A (u * 512 / side)
    + t.
    """
    frame_ratio = (MILLIMETRES_SIDE_MM / sides_mm)[:, None, None]
    slice_pixels_per_pixel = frame_ratio
    if uncropped_sides_mm is not None:
        slice_pixels_per_pixel = (MILLIMETRES_SIDE_MM / uncropped_sides_mm)[:, None, None]
    if theta is None:
        theta = torch.eye(2, 3, device=slices.device).expand(len(slices), 2, 3)
    scaled_theta = torch.cat([theta[:, :, :2] * frame_ratio, theta[:, :, 2:]], dim=2)
    grid = sampling_grid(scaled_theta, *slices.shape[-2:])
    return torch.where(
        (slice_pixels_per_pixel > LARGEST_UNHALVED_RATIO)[..., None],
        interpolate_at(F.avg_pool2d(slices, 2), grid),
        interpolate_at(slices, grid),
    )


def load_images(
    pixels: NDArray[np.uint8],
    rows: NDArray[np.int64],
    input_kinds: Sequence[str],
    placing: Placing | None,
    device: torch.device,
) -> Tensor:
    """(m, c, h, w) float in [0, 1]: the input of these kinds for a few rows (m,) of slices (n, h,
    w) uint8 in memory or in a file."""
    batch = copy_rows_to_device(pixels, rows, input_kinds, placing, device)
    return make_images(batch.pixels, batch.rows, input_kinds, batch.placing)


class SlicesOnDevice(NamedTuple):
    """A few slices on a device, with all that their images are made from.

    pixels   (n, h, w) uint8: the slices and their neighbours
    rows     (m,) which of these the slices are
    placing  of all n; None where it is not known
    """

    pixels: Tensor
    rows: Tensor
    placing: PlacingOnDevice | None


def copy_rows_to_device(
    pixels: NDArray[np.uint8],
    rows: NDArray[np.int64],
    input_kinds: Sequence[str],
    placing: Placing | None,
    device: torch.device,
) -> SlicesOnDevice:
    """A few rows (m,) of slices (n, h, w) uint8, in memory or in a file, copied to a device with
    what inputs of these kinds are made from, and no more.

    For sections, all slices of the rows' volumes are read, and no others.
    """
    copied_rows = rows
    new_rows = np.arange(3 * len(rows)) % len(rows)  # of the slices, those below, those above
    if placing is not None and "neighbours" in input_kinds:
        copied_rows, new_rows = np.unique(
            np.concatenate([rows, *placing.find_neighbours(rows)]), return_inverse=True
        )
    slice_rows, rows_below, rows_above = (
        torch.from_numpy(row_numbers).to(device) for row_numbers in new_rows.reshape(3, len(rows))
    )
    resident_pixels = torch.from_numpy(np.array(pixels[copied_rows])).to(device)
    if placing is None:
        return SlicesOnDevice(resident_pixels, slice_rows, None)
    sides_mm = torch.from_numpy(placing.sides_mm[copied_rows].astype(np.float32)).to(device)
    sections_on_device = None
    if "sections" in input_kinds:
        sections_on_device = SectionsOnDevice.copy_to(
            device, make_sections_of_slices(pixels, copied_rows, placing)
        )
    every_row = torch.arange(len(copied_rows), device=device)
    return SlicesOnDevice(
        resident_pixels,
        slice_rows,
        PlacingOnDevice(
            sides_mm=sides_mm,
            row_below=every_row.scatter(0, slice_rows, rows_below),
            row_above=every_row.scatter(0, slice_rows, rows_above),
            sections=sections_on_device,
        ),
    )


def input_kinds_of(members: Sequence[nn.Module]) -> tuple[str, ...]:
    """The kinds of inputs of all the networks.  Raises ModelError as `common_input_kinds`."""
    return common_input_kinds([getattr(member, "inputs", ("slice",)) for member in members])
