"""The batch size for inference: large, so that weights are read seldom, but limited by memory."""

from __future__ import annotations

FEWEST_SLICES = 16
MOST_SLICES_BY_DEVICE = {"cpu": 128, "cuda": 1024}
"""Each call reads the millions of fully-connected weights once: with 16 slices it is a third slower
on a CPU."""
LARGEST_ACTIVATION_BYTES = 2**28
"""Of a network's largest activation: with a layer's workspace, about 0.8 GB at the peak."""
NUMBER_BYTES_BY_DEVICE = {"cpu": 4, "cuda": 2}  # of float32, and of bfloat16


def inference_batch_size(numbers_per_slice: int, device_type: str = "cpu") -> int:
    """The number of slices for which the output of the networks' widest first convolution, with so
    many numbers per slice, fills LARGEST_ACTIVATION_BYTES; at least FEWEST_SLICES, and at most those
    of MOST_SLICES_BY_DEVICE, beyond which nothing is gained.

    A network of 128 filters, which trains on four slices in 0.13 GB, took 1.9 GB to validate 128 at
    once.
    """
    fitting_slices = LARGEST_ACTIVATION_BYTES // (
        NUMBER_BYTES_BY_DEVICE[device_type] * numbers_per_slice
    )
    return max(FEWEST_SLICES, min(MOST_SLICES_BY_DEVICE[device_type], fitting_slices))
