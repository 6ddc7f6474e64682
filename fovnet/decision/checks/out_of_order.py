"""Neighbouring slices do not resemble each other: they are shuffled, or in the order of
acquisition.

disorder  dissimilarity of neighbouring slices: about 2 if shuffled, near 0 for a body in thin
          slices
passes    interleaved passes of the acquisition, stored one after the other; 1 if in their order
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.checks.check import EVERY_REGION, Check, DecidedVolume, Floats
from fovnet.decision.rule import Rule
from fovnet.maths.ordering import detect_passes, neighbour_ratio

GREATEST_DISORDER = 1.2
"""160 simulated volumes had at most 0.87, and at least 1.48 with their slices shuffled."""
BLOCKS_PER_SIDE = 16  # slices are compared as 16 x 16 block means, in which noise has averaged out


@dataclass(frozen=True)
class SliceOrder:
    """The order of a volume's slices; `shows_region`: whether they show a region, as noise has no
    order."""

    disorder: float
    pass_count: int = 1
    shows_region: bool = True


def measure(volume: DecidedVolume) -> SliceOrder:
    """How disordered the slices are, and in how many passes they lie between black margins."""
    return SliceOrder(
        volume.picture.disorder, volume.picture.pass_count, bool(volume.decision.spans)
    )


def find_reasons(order: SliceOrder, rule: Rule) -> Iterator[str]:
    """A sentence if a region is shown, and slices are shuffled or interleaved."""
    if order.shows_region and order.disorder > GREATEST_DISORDER:
        yield "neighbouring slices do not resemble each other: they may be in the wrong order"
    elif order.shows_region and order.pass_count > 1:
        acquisition_text = f"as they were acquired, in {order.pass_count} interleaved passes"
        yield f"slices seem to lie {acquisition_text}, and not in their order"


def measure_disorder(pixels: NDArray[np.uint8]) -> float:
    """Dissimilarity of neighbouring slices (s, side, side), each with brightness and contrast
    normalised."""
    return neighbour_ratio(_block_means(pixels))


def count_passes(pixels: NDArray[np.uint8]) -> int:
    """The passes of slices (s, side, side) that seem to be stored as they were acquired; else 1."""
    return detect_passes(_block_means(pixels))


def _block_means(pixels: NDArray[np.uint8]) -> Floats:
    """(s, 256) block means of slices, with brightness and contrast of each slice normalised."""
    slice_count, side_pixels, _ = pixels.shape
    block_pixels = side_pixels // BLOCKS_PER_SIDE
    cropped_pixels = pixels[:, : block_pixels * BLOCKS_PER_SIDE, : block_pixels * BLOCKS_PER_SIDE]
    block_means = (
        cropped_pixels.reshape(
            slice_count, BLOCKS_PER_SIDE, block_pixels, BLOCKS_PER_SIDE, block_pixels
        )
        .mean(axis=(2, 4))
        .reshape(slice_count, -1)
    )
    block_means = block_means - block_means.mean(axis=1, keepdims=True)
    return np.asarray(block_means / np.maximum(block_means.std(axis=1, keepdims=True), 1.0))


CHECK = Check(
    code="out-of-order",
    words="slices perhaps out of order",
    meaning="neighbouring slices resemble each other no more than slices in any order do, or they "
    "are in the order of acquisition, in interleaved passes",
    to_try="convert the series again, sorted by position and not by file name or instance number",
    measure=measure,
    concerns=EVERY_REGION,
    find_reasons=find_reasons,
)
