"""Each member's class probabilities and features of slices.

    p  members
    s  slices
    k  classes
    f  features of all members together

A feature is the standard deviation over the image of one filter's output after its block's pooling
and ReLU: an object of the right shape but without texture, like a bottle of water, still differs
from a body.  Features exist with any head and cost a thousandth of the convolutions.  Source: Lee
et al. (2018), *A simple unified framework for detecting out-of-distribution samples*, section 2.2
(all layers, averaged over the image); the second moment instead of the first after Sastry & Oore
(2020), *Detecting out-of-distribution examples with Gram matrices*: with the first, bottles of
water were distinguished from bodies less often.
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

from fovnet.net.images.inputs import copy_rows_to_device, input_kinds_of, make_images
from fovnet.net.inference.engines import Engine, TorchEngine
from fovnet.net.inference.side_by_side import run_side_by_side, split_rows
from fovnet.net.inference_batch import inference_batch_size
from fovnet.volume.slices.placing import Placing

Floats32 = NDArray[np.float32]
Outputs = tuple[Floats32, Floats32]


def compute_member_outputs(
    members: Sequence[nn.Module],
    pixels: NDArray[np.uint8],
    device: torch.device,
    progress: Callable[[int, int], Any] | None = None,
    rows: NDArray[np.int64] | None = None,
    placing: Placing | None = None,
    *,
    engine: Engine | None = None,
) -> Outputs:
    """Class probabilities (p, s, k) and features (s, f) of every member for slices (s, 128, 128),
    or for some `rows` of them.

    placing  of all the slices, if the members' inputs need it
    engine   what computes them, made from the same members; None: torch
    Computed batch by batch, so that only one batch of memory-mapped pixels is in memory; on a CPU
    parts of a batch side by side.
    """
    input_kinds = input_kinds_of(members)
    engine = engine or TorchEngine(members)
    batch_size = inference_batch_size(members, prod(pixels.shape[1:]), device)
    if rows is None:
        rows = np.arange(len(pixels))
    batch_outputs = []
    for start in range(0, len(rows), batch_size):
        batch_rows = rows[start : start + batch_size]
        batch = copy_rows_to_device(pixels, batch_rows, input_kinds, placing, device)
        images_of_rows = partial(
            make_images, batch.pixels, input_kinds=input_kinds, placing=batch.placing
        )
        batch_outputs.append(
            compute_outputs_in_parts(engine, batch.rows, images_of_rows, batch_size)
        )
        if progress:
            progress(min(start + batch_size, len(rows)), len(rows))
    return _join_outputs(batch_outputs)


def compute_outputs_in_parts(
    engine: Engine, rows: Tensor, images_of_rows: Callable[[Tensor], Tensor], most_images: int
) -> Outputs:
    """Probabilities (p, n, k) and features (n, f) of the slices of `rows` (n,).

    images_of_rows  makes the images (m, c, h, w) of some of the rows (m,)
    On a CPU parts of the rows are computed by several threads, with at most `most_images` under
    way; on other devices all at once.
    """

    def compute_part(row_part: Tensor) -> Outputs:
        with torch.inference_mode():  # of each thread its own
            return engine.compute_outputs(images_of_rows(row_part))

    if rows.device.type != "cpu":
        return compute_part(rows)
    row_parts = split_rows(rows)
    thread_limit = most_images // len(row_parts[0])
    return _join_outputs(run_side_by_side(compute_part, row_parts, thread_limit))


def _join_outputs(outputs: Sequence[Outputs]) -> Outputs:
    """Probabilities (p, n, k) and features (n, f) of several batches, one after another."""
    probabilities, features = zip(*outputs, strict=True)
    return (
        np.concatenate(probabilities, axis=1, dtype=np.float32),
        np.concatenate(features, dtype=np.float32),
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
