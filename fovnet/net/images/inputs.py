"""The networks' input images, made by the same code for training, validation and prediction.

    pixels  (n, 128, 128) uint8      rows   (m,) row numbers          theta  (m, 2, 3) affine maps
        (fovnet.net.images.augment), if warped
    images  (m, c, 128, 128) float in [0, 1], channels last; the kinds in the order of
            `fovnet.net.family.architecture.INPUTS`:

    slice         the slice as it was cut, whatever its field of view in millimetres
    neighbours    the slices below and above in the same volume; at its ends the slice itself
    millimetres   the slice at 4 mm a pixel, 512 mm across, centred; black outside its field of view.  It
                  shows the size of the body, which resizing to 128 pixels loses
    sections      the volume's sagittal and coronal sections at 4 mm a pixel, head up, with the slice in row
                  64: its place in the volume

A warp transforms the body: it is the same in all channels of a slice, each resampled once.  In "millimetres"
and "sections" it is combined with the change of scale, so that a body zoomed by 8 % is 8 % larger there too:
a person of another size, not another field of view. Sections are rotated, sheared and zoomed by the same
numbers, each along its own axes, but not moved up or down.  Those of a cropped slice are still cut through
the middle of the whole volume, not of the cropped field of view.
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
from fovnet.net.images.augment import cropped, framed
from fovnet.net.images.resampling import grid_of, read_at, resample
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE
from fovnet.volume.slices.sections import PIXEL_MM, Sections, sections_of

ACROSS_MM = 512.0  # 4 mm a pixel
THROUGH_MM = PIXEL_MM * SIDE
# slice pixels per 4 mm pixel above which means of 2 x 2 are read: bilinear sampling would skip pixels
HALVED = 2.0


@dataclass(frozen=True)
class Through:
    """`Sections` on a device: pixels (2, r, 128) uint8; row, low, high (n,)."""

    pixels: Tensor
    row: Tensor
    low: Tensor
    high: Tensor

    @classmethod
    def on(cls, device: torch.device, of: Sections) -> Through:
        """The sections on `device`."""
        return cls(
            *(torch.from_numpy(array).to(device) for array in (of.pixels, of.row, of.low, of.high))
        )

    def about(self, rows: Tensor, ends: Tensor | None = None) -> Tensor:
        """(m, 2, 128, 128) float in [0, 1]: both sections of each of the slices `rows` (m,), the slice in row
        64; black beyond the volume.

        ends  (m, 2) shares of the rows below and above the slice that are shown; None: all
        """
        row, low, high = (each.index_select(0, rows) for each in (self.row, self.low, self.high))
        if ends is not None:
            below, above = (
                (ends * torch.stack([row - low, high - 1 - row], dim=1)).long().unbind(dim=1)
            )
            low, high = row - below, row + above + 1
        shown = row[:, None] + (SIDE // 2 - torch.arange(SIDE, device=row.device))
        inside = (shown >= low[:, None]) & (shown < high[:, None])
        read = (
            self.pixels[:, shown.clamp(0, self.pixels.shape[1] - 1)]
            .transpose(0, 1)
            .to(torch.float32)
            .div_(255.0)
        )
        return (read * inside[:, None, :, None]).contiguous(memory_format=torch.channels_last)


@dataclass(frozen=True)
class Placed:
    """A `Placing` on a device: sides_mm (n,) float32; below, above (n,) rows of the neighbours; the sections,
    if they are inputs."""

    sides_mm: Tensor
    below: Tensor
    above: Tensor
    through: Through | None = None

    @classmethod
    def on(cls, device: torch.device, placing: Placing, through: Sections | None = None) -> Placed:
        """The placing on `device`."""
        arrays = (
            placing.sides_mm.astype(np.float32),
            *placing.neighbours(np.arange(len(placing.volume))),
        )
        sides_mm, below, above = (torch.from_numpy(array).to(device) for array in arrays)
        return cls(sides_mm, below, above, None if through is None else Through.on(device, through))


@dataclass(frozen=True)
class Warp:
    """The augmentation of m training slices.

    theta   (m, 2, 3) affine map of each, as in fovnet.net.images.augment
    crops   (m, 4), as there: the rectangle of each slice that is its field of view, and the frame of theta;
            None: the whole slice
    ends    (m, 2) the shares of its volume below and above it that its sections show; None: all of it
    as_cut  as in `fovnet.net.recipe.Ranges`
    before  applied first to images (m, c, h, w); its second argument is whether it may move their content,
            which is False for sections: the slice would no longer be in its row
    """

    theta: Tensor
    crops: Tensor | None = None
    ends: Tensor | None = None
    before: Callable[[Tensor, bool], Tensor] | None = None
    as_cut: bool = True


def images(
    pixels: Tensor,
    rows: Tensor,
    kinds: Sequence[str] = ("slice",),
    placed: Placed | None = None,
    warp: Warp | None = None,
) -> Tensor:
    """(m, c, h, w) float in [0, 1]: the input of these kinds for the slices `rows` (m,); not augmented
    without a warp.

    Raises ModelError ("inputs-unplaced") if a kind needs more than the pixels of the slices and `placed` does
    not have it.
    """
    source, theta, crops = _warped(_source(pixels, rows, kinds, placed), warp)
    shown = source if "slice" in kinds else source[:, 1:]
    made = [shown if theta is None else resample(shown, theta)] if shown.shape[1] else []
    if placed is not None and "millimetres" in kinds:
        sides_mm = placed.sides_mm.index_select(0, rows)
        shown_mm = sides_mm if crops is None else crops[:, :2].amax(dim=1) * sides_mm
        # cropping does not change the pixel size
        cut_mm = shown_mm if warp is not None and not warp.as_cut else sides_mm
        made.append(in_millimetres(source[:, :1], shown_mm, theta, cut_mm))
    if placed is not None and placed.through is not None and "sections" in kinds:
        both = placed.through.about(rows, None if warp is None else warp.ends)
        if warp is not None and theta is not None:
            both = _warped_sections(
                both,
                placed.sides_mm.index_select(0, rows) / THROUGH_MM,
                warp,
                theta[:, :, 2],
                crops,
            )
        made.append(both)
    return (
        made[0]
        if len(made) == 1
        else torch.cat(made, dim=1).contiguous(memory_format=torch.channels_last)
    )


def _source(pixels: Tensor, rows: Tensor, kinds: Sequence[str], placed: Placed | None) -> Tensor:
    """(m, 1, h, w) the slices themselves, or (m, 3, h, w) with their neighbours if those are inputs."""
    if tuple(kinds) != ("slice",) and (
        placed is None or ("sections" in kinds and placed.through is None)
    ):
        raise ModelError(
            "inputs-unplaced",
            f"networks with the inputs {', '.join(kinds)} need the sizes and the positions of the slices; "
            "give both",
        )
    own = normalised(pixels.index_select(0, rows))
    if placed is None or "neighbours" not in kinds:
        return own
    beside = [
        normalised(pixels.index_select(0, those.index_select(0, rows)))
        for those in (placed.below, placed.above)
    ]
    return torch.cat([own, *beside], dim=1)


def _warped(source: Tensor, warp: Warp | None) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """The slices distorted and cropped but not yet resampled, theta in the frames of their crops, and the
    crops made."""
    if warp is None:
        return source, None, None
    if warp.before is not None:
        source = warp.before(source, True)
    if warp.crops is None:
        return source, warp.theta, None
    source, crops = cropped(source, warp.crops)
    return source, framed(warp.theta, crops), crops


def _warped_sections(
    both: Tensor, halves: Tensor, warp: Warp, shift: Tensor, crops: Tensor | None
) -> Tensor:
    """Sections (m, 2, h, w) warped consistently with their slices: cropped and shifted sideways with these.

    halves  (m,) half a slice's side, in half sides of a section's frame    shift  (m, 2) translation of the
        slices, to the right and down
    in their own frames
    """
    if warp.before is not None:
        both = warp.before(both, False)
    at = (2 * torch.arange(both.shape[3], device=both.device) + 1) / both.shape[3] - 1
    made = []
    # the sagittal section's width is the slice's y (1), the coronal one's x (0)
    for section, axis in enumerate((1, 0)):
        one = both[:, section : section + 1]
        if crops is not None:
            off = (at - (crops[:, 2 + axis] * halves)[:, None]).abs()
            one = one * (off <= (crops[:, axis] * halves)[:, None])[:, None, None, :]
        aside = torch.stack([shift[:, axis] * halves, torch.zeros_like(halves)], dim=1)
        turned = _zoomed_along(warp.theta) if axis == 1 and warp.as_cut else warp.theta[:, :, :2]
        made.append(resample(one, torch.cat([turned, aside[:, :, None]], dim=2)))
    return torch.cat(made, dim=1)


def _zoomed_along(theta: Tensor) -> Tensor:
    """(m, 2, 2) theta for a section whose width is the slice's second axis: the first column gets the zoom of
    that axis.

    The zooms are those of `fovnet.net.images.augment.draw_affines`: the length of the first column, and the
    determinant divided by it.
    """
    wide, tall = theta[:, :, 0], theta[:, :, 1]
    zoom = wide.norm(dim=1)
    other = (wide[:, 0] * tall[:, 1] - wide[:, 1] * tall[:, 0]) / zoom
    return torch.stack([wide * (other / zoom)[:, None], tall], dim=2)


def normalised(slices: Tensor) -> Tensor:
    """Slices (n, 1, h, w) float in [0, 1] from (n, h, w) uint8, channels last: convolutions 1.3 to 1.8 times
    faster on a CPU."""
    return (
        slices.unsqueeze(1)
        .to(torch.float32)
        .div_(255.0)
        .contiguous(memory_format=torch.channels_last)
    )


def in_millimetres(
    own: Tensor, sides_mm: Tensor, theta: Tensor | None = None, cut_mm: Tensor | None = None
) -> Tensor:
    """Slices (m, 1, h, w) that are `sides_mm` (m,) wide, on a square of ACROSS_MM, warped by theta.

    cut_mm  (m,) width of the whole slices, which gives the pixel size, if theta is of a crop
    In frames of [-1, 1], u in the square is u * 512 / side in the slice, read at A (u * 512 / side) + t.
    """
    scale = (ACROSS_MM / sides_mm)[:, None, None]
    if theta is None:
        theta = torch.eye(2, 3, device=own.device).expand(len(own), 2, 3)
    where = grid_of(torch.cat([theta[:, :, :2] * scale, theta[:, :, 2:]], dim=2), *own.shape[-2:])
    fine = scale if cut_mm is None else (ACROSS_MM / cut_mm)[:, None, None]
    return torch.where(
        (fine > HALVED)[..., None], read_at(F.avg_pool2d(own, 2), where), read_at(own, where)
    )


def images_of(
    pixels: NDArray[np.uint8],
    rows: NDArray[np.int64],
    kinds: Sequence[str],
    placing: Placing | None,
    device: torch.device,
) -> Tensor:
    """`images` (m, c, h, w) of a few rows (m,) of slices (n, h, w) uint8 in memory or in a file."""
    brought, own, placed = brought_for(pixels, rows, kinds, placing, device)
    return images(brought, own, kinds, placed)


def brought_for(
    pixels: NDArray[np.uint8],
    rows: NDArray[np.int64],
    kinds: Sequence[str],
    placing: Placing | None,
    device: torch.device,
) -> tuple[Tensor, Tensor, Placed | None]:
    """What `images` of a few rows (m,) of slices (n, h, w) uint8, in memory or in a file, are made from:
    pixels, row numbers (m,) among them, and their placing.  The device gets only what they need.

    For sections, all slices of the rows' volumes are read, and no others.
    """
    needed, places = rows, np.arange(3 * len(rows)) % len(rows)  # own, below, above
    if placing is not None and "neighbours" in kinds:
        needed, places = np.unique(
            np.concatenate([rows, *placing.neighbours(rows)]), return_inverse=True
        )
    own, *beside = (torch.from_numpy(place).to(device) for place in places.reshape(3, len(rows)))
    brought, placed = torch.from_numpy(np.array(pixels[needed])).to(device), None
    if placing is not None:
        sides_mm = torch.from_numpy(placing.sides_mm[needed].astype(np.float32)).to(device)
        through = (
            Through.on(device, sections_of(pixels, needed, placing))
            if "sections" in kinds
            else None
        )
        below, above = (
            torch.arange(len(needed), device=device).scatter(0, own, those) for those in beside
        )
        placed = Placed(sides_mm, below, above, through)
    return brought, own, placed


def inputs_of(members: Sequence[nn.Module]) -> tuple[str, ...]:
    """The kinds of inputs of all the networks.  Raises ModelError ("members-other-inputs") if they differ."""
    kinds = {getattr(member, "inputs", ("slice",)) for member in members}
    if len(kinds) > 1:
        listed = " and ".join(sorted(", ".join(each) for each in kinds))
        raise ModelError(
            "members-other-inputs",
            f"the networks of the ensemble have different inputs, {listed}; use the networks of one search",
        )
    return kinds.pop() if kinds else ("slice",)
