"""Each member's class probabilities and features of slices, by torch.

    p  members
    s  slices
    k  classes
    f  features of all members together

A feature is the standard deviation over the image of one filter's output after its block's pooling
and ReLU: an object of the right shape but without texture, like a bottle of water, still differs
from a body.  Features exist with any head; they cost 7 to 20 % of all, as they read every pooled map
twice more.  Source: Lee et al. (2018), *A simple unified framework for detecting out-of-distribution
samples*, section 2.2 (all layers, averaged over the image); the second moment instead of the first
after Sastry & Oore (2020), *Detecting out-of-distribution examples with Gram matrices*: with the
first, bottles of water were distinguished from bodies less often.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fovnet.net.family.model import count_first_layer_numbers
from fovnet.net.images.inputs import copy_rows_to_device, input_kinds_of, make_images
from fovnet.net.inference.engines import Floats32, Outputs, join_outputs
from fovnet.net.inference.side_by_side import run_side_by_side, split_rows
from fovnet.net.inference_batch import inference_batch_size
from fovnet.volume.slices.placing import Placing


def compute_member_outputs(
    members: Sequence[nn.Module],
    pixels: NDArray[np.uint8],
    device: torch.device,
    progress: Callable[[int, int], Any] | None = None,
    rows: NDArray[np.int64] | None = None,
    placing: Placing | None = None,
) -> Outputs:
    """Class probabilities (p, s, k) and features (s, f) of every member for slices (s, 128, 128),
    or for some `rows` of them.

    placing  of all the slices, if the members' inputs need it
    Computed batch by batch, so that only one batch of memory-mapped pixels is in memory; on a CPU
    parts of a batch side by side.
    """
    input_kinds = input_kinds_of(members)
    numbers_per_slice = count_first_layer_numbers(members, prod(pixels.shape[1:]))
    batch_size = inference_batch_size(numbers_per_slice, device.type)
    if rows is None:
        rows = np.arange(len(pixels))
    batch_outputs = []
    for start in range(0, len(rows), batch_size):
        batch_rows = rows[start : start + batch_size]
        batch = copy_rows_to_device(pixels, batch_rows, input_kinds, placing, device)
        images_of_rows = partial(
            make_images, batch.pixels, input_kinds=input_kinds, placing=batch.placing
        )
        batch_outputs.append(compute_in_parts(members, batch.rows, images_of_rows, batch_size))
        if progress:
            progress(min(start + batch_size, len(rows)), len(rows))
    return join_outputs(batch_outputs)


def compute_in_parts(
    members: Sequence[nn.Module],
    rows: Tensor,
    images_of_rows: Callable[[Tensor], Tensor],
    most_images: int,
) -> Outputs:
    """Probabilities (p, n, k) and features (n, f) of the slices of `rows` (n,).

    images_of_rows  makes the images (m, c, h, w) of some of the rows (m,)
    On a CPU parts of the rows are computed by several threads, each with one thread of torch, and at
    most `most_images` under way; on other devices all at once.
    """

    def compute_part(row_part: Tensor) -> Outputs:
        with torch.inference_mode():  # of each thread its own
            return compute_image_outputs(members, images_of_rows(row_part))

    if rows.device.type != "cpu":
        return compute_part(rows)
    row_parts = [rows[part] for part in split_rows(len(rows))]
    thread_limit = most_images // len(row_parts[0])
    threads_before = torch.get_num_threads()
    try:
        return join_outputs(
            run_side_by_side(
                compute_part, row_parts, thread_limit, partial(torch.set_num_threads, 1)
            )
        )
    finally:
        # the number is each thread's own, but a new thread begins with the one last set anywhere
        torch.set_num_threads(threads_before)


def compute_image_outputs(members: Sequence[nn.Module], images: Tensor) -> Outputs:
    """Probabilities (p, n, k) and features (n, f) for images (n, c, 128, 128) on the members'
    device."""
    member_outputs = [_compute_member_output(member, images) for member in members]
    probabilities, features = zip(*member_outputs, strict=True)
    return (
        torch.stack(probabilities).float().cpu().numpy(),
        torch.cat(features, dim=1).cpu().numpy(),
    )


def compute_member_probabilities(
    members: Sequence[nn.Module],
    pixels: NDArray[np.uint8],
    device: torch.device,
    progress: Callable[[int, int], Any] | None = None,
    rows: NDArray[np.int64] | None = None,
    placing: Placing | None = None,
) -> Floats32:
    """Class probabilities (p, s, k) of every member for slices (s, 128, 128), or for some
    `rows` of them, as `compute_member_outputs` gives them beside features."""
    probabilities, _ = compute_member_outputs(members, pixels, device, progress, rows, placing)
    return probabilities


def _compute_member_output(member: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """Class probabilities (n, k) and features (n, filters of its watched maps) of one member."""
    features: list[Tensor] = []
    scores = member(images, lambda active: features.append(_measure_deviation(active.float())))
    return scores.softmax(dim=1), torch.cat(features, dim=1)


def _measure_deviation(active: Tensor) -> Tensor:
    """(n, filters) the standard deviation over the image, in two passes: torch.std takes nine times
    as long on a CPU, a quarter of all."""
    differences = active - active.mean(dim=(2, 3), keepdim=True)
    return differences.square_().mean(dim=(2, 3)).sqrt_()
