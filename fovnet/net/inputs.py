"""What networks are shown, made in one place for training, validation and prediction alike.

    pixels  (n, 128, 128) uint8      rows   (m,) which of them        theta  (m, 2, 3) where each is read (fovnet.net.augment), if warped
    images  (m, c, 128, 128) float in [0, 1], channels last; the kinds in the order of `fovnet.net.architecture.INPUTS`:

    slice         the slice as it was cut, its side whatever the field of view was
    neighbours    the slices below and above of the same volume, at its ends the slice itself
    millimetres   the slice at 4 mm a pixel, 512 mm across, centred; what lies outside of the field of view is black.  How large a body is,
                  resizing to 128 pixels throws away

A warp is one of the body: all channels of a slice get the same, each in one resampling.  In "millimetres" the change of scale comes on
top, so that a body zoomed by 8 % is 8 % larger there too: a person of another size, not another field of view.
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
from fovnet.net.augment import cropped, framed
from fovnet.net.sampling import grid_of, read_at, resample
from fovnet.volume.placing import Placing

ACROSS_MM = 512.0       # 4 mm a pixel
HALVED = 2.0            # pixels of the slice in one of 4 mm; above, means of 2 x 2 are read: bilinear reading would leave pixels out


@dataclass(frozen=True)
class Placed:
    """A `Placing` on a device: sides_mm (n,) float32; below, above (n,) rows of the neighbours."""

    sides_mm: Tensor
    below: Tensor
    above: Tensor

    @classmethod
    def on(cls, device: torch.device, placing: Placing) -> Placed:
        """It, there."""
        arrays = placing.sides_mm.astype(np.float32), *placing.neighbours(np.arange(len(placing.volume)))
        return cls(*(torch.from_numpy(array).to(device) for array in arrays))


def images(
    pixels: Tensor, rows: Tensor, kinds: Sequence[str] = ("slice",), placed: Placed | None = None, theta: Tensor | None = None,
    crops: Tensor | None = None, before: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:  # fmt: skip
    """(m, c, h, w) float in [0, 1]: what a network of these kinds of inputs is shown of some rows; theta None: as they are.

    crops   (m, 4), as in fovnet.net.augment: the rectangle of each slice that is its field of view, from which theta then counts
    before  what is done to the slices (m, c, h, w), in channels, before anything else
    Raises ModelError ("inputs-unplaced") where a kind needs to know more of the slices than their pixels.
    """
    if placed is None and tuple(kinds) != ("slice",):
        raise ModelError("inputs-unplaced", f"networks that see {', '.join(kinds)} need the sizes and the order of the slices; give both")
    source = normalised(pixels.index_select(0, rows))
    if placed is not None and "neighbours" in kinds:
        beside = [normalised(pixels.index_select(0, those.index_select(0, rows))) for those in (placed.below, placed.above)]
        source = torch.cat([source, *beside], dim=1)
    if before is not None:
        source = before(source)
    share: Tensor | float = 1.0
    if crops is not None and theta is not None:
        source, crops = cropped(source, crops)
        theta, share = framed(theta, crops), crops[:, :2].amax(dim=1)
    shown = source if "slice" in kinds else source[:, 1:]
    made = [shown if theta is None else resample(shown, theta)] if shown.shape[1] else []
    if placed is not None and "millimetres" in kinds:
        made.append(in_millimetres(source[:, :1], share * placed.sides_mm.index_select(0, rows), theta))
    return made[0] if len(made) == 1 else torch.cat(made, dim=1).contiguous(memory_format=torch.channels_last)


def normalised(slices: Tensor) -> Tensor:
    """Slices (n, 1, h, w) float in [0, 1] from (n, h, w) uint8, channels last: 1.3 to 1.8 times faster convolutions on a CPU."""
    return slices.unsqueeze(1).to(torch.float32).div_(255.0).contiguous(memory_format=torch.channels_last)


def in_millimetres(own: Tensor, sides_mm: Tensor, theta: Tensor | None = None) -> Tensor:
    """Slices (m, 1, h, w) that are `sides_mm` (m,) wide, on a square of ACROSS_MM, warped by theta.

    Both frames being [-1, 1], what stands at u in the square stands at u * 512 / side in the slice, and is read at A (u * 512 / side) + t.
    """
    scale = (ACROSS_MM / sides_mm)[:, None, None]
    if theta is None:
        theta = torch.eye(2, 3, device=own.device).expand(len(own), 2, 3)
    where = grid_of(torch.cat([theta[:, :, :2] * scale, theta[:, :, 2:]], dim=2), *own.shape[-2:])
    return torch.where((scale > HALVED)[..., None], read_at(F.avg_pool2d(own, 2), where), read_at(own, where))


def images_of(
    pixels: NDArray[np.uint8], rows: NDArray[np.int64], kinds: Sequence[str], placing: Placing | None, device: torch.device
) -> Tensor:
    """`images` of a few rows of slices that lie in memory or in a file, and not on the device: only what is shown is brought there."""
    needed, places = rows, np.arange(3 * len(rows)) % len(rows)                  # own, below, above
    if placing is not None and "neighbours" in kinds:
        needed, places = np.unique(np.concatenate([rows, *placing.neighbours(rows)]), return_inverse=True)
    own, *beside = (torch.from_numpy(place).to(device) for place in places.reshape(3, len(rows)))
    brought, placed = torch.from_numpy(np.array(pixels[needed])).to(device), None
    if placing is not None:
        sides_mm = torch.from_numpy(placing.sides_mm[needed].astype(np.float32)).to(device)
        placed = Placed(sides_mm, *(torch.arange(len(needed), device=device).scatter(0, own, those) for those in beside))
    return images(brought, own, kinds, placed)


def inputs_of(members: Sequence[nn.Module]) -> tuple[str, ...]:
    """What all the networks are shown.  Raises ModelError ("members-other-inputs") where they are shown different things."""
    kinds = {getattr(member, "inputs", ("slice",)) for member in members}
    if len(kinds) > 1:
        said = " and ".join(sorted(", ".join(each) for each in kinds))
        raise ModelError("members-other-inputs", f"networks of one ensemble are shown {said}; take the networks of one search")
    return kinds.pop() if kinds else ("slice",)
