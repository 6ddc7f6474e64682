"""Pictures that show a phantom and no body: smooth inside, as water is, or round in most slices, as
bottles are, with air all around.

    roughness   deviation of grey values from the mean about them, NEIGHBOURHOOD_PIXELS pixels
                across, as a share of their mean; inside the outline
    roundness   overlap (intersection over union) of the largest outline with the disc of same area
                and centre

Median roughness of a volume's slices, measured: simulated bottles of water up to 0.03, two of a 3 T
scanner, brighter at the rim than in the middle, 0.06; 20 real bodies 0.13 and more, 60 simulated
ones 0.11.  Median roundness: bottles, with rods in them too, 0.96 to 1.00; bodies up to 0.92, a
calf.  A small field of view may show nothing but muscle, smooth as water, so what reaches the
border is not judged.  What is blurred as if it were water is doubted as well, but not what is
surely seen in it: of 21 simulated bodies that look like phantoms 13 showed a region with a
probability of 0.99 or more, all rightly; of 207 things of kinds that no network learned from 66
looked like phantoms, and one of them, nested vessels, did so too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.decision.checks.check import Check, Concern, DecidedVolume, StatedRegion
from fovnet.decision.rule import Rule

EXAMINED_SLICES = 12  # slices, evenly chosen among those with signal
LEAST_SIGNAL_GREY = 40  # grey value of 255, means of 3 × 3 pixels: darker is air and its noise
NEIGHBOURHOOD_PIXELS = 13  # pixels across what is "about" a pixel
RIM_PIXELS = 4  # pixels: the rim of an outline that is left out, as it is partly air
LEAST_PIXELS = 150  # inside a rim; smaller outlines tell nothing
LEAST_BODY_ROUGHNESS = 0.09
LEAST_PHANTOM_ROUNDNESS = 0.95
SURE_PROBABILITY = (
    0.99  # probability of a region from which on it is a body's in spite of the picture
)

Floats32 = NDArray[np.float32]


def measure(volume: DecidedVolume) -> bool:
    """Whether a region is shown, and the picture resembles a phantom."""
    return bool(volume.decision.spans) and volume.picture.resembles_phantom


def find_reasons(resembles: bool, rule: Rule) -> Iterator[str]:
    """A sentence if it does."""
    if resembles:
        yield "looks like a phantom: smooth inside as water is, or round as a bottle"


def is_hardly_sure(resembles: bool, rule: Rule, region: StatedRegion) -> bool:
    """Whether the region is in the answer, and less probable than SURE_PROBABILITY."""
    return region.is_shown and region.probability < SURE_PROBABILITY


def resembles_phantom(pixels: NDArray[np.uint8]) -> bool:
    """Whether slices (s, 128, 128) show a phantom rather than a body; False where too little is
    shown to tell."""
    signal_slices = np.flatnonzero((pixels >= LEAST_SIGNAL_GREY).sum(axis=(1, 2)) >= LEAST_PIXELS)
    if not len(signal_slices):
        return False
    chosen_slices = signal_slices[
        np.unique(np.linspace(0, len(signal_slices) - 1, EXAMINED_SLICES).round().astype(int))
    ]
    planes = ndimage.uniform_filter(pixels[chosen_slices].astype(np.float32), (1, 3, 3))
    outlines = np.stack([ndimage.binary_fill_holes(plane > LEAST_SIGNAL_GREY) for plane in planes])
    is_within = np.array([lies_within(outline) for outline in outlines])
    if 2 * is_within.sum() <= len(is_within):
        return False
    roughness_of_slices = roughness(planes[is_within], outlines[is_within])
    roughness_of_slices = roughness_of_slices[np.isfinite(roughness_of_slices)]
    is_smooth = (
        roughness_of_slices.size > 0
        and float(np.median(roughness_of_slices)) < LEAST_BODY_ROUGHNESS
    )
    return (
        is_smooth
        or float(np.median([roundness(outline) for outline in outlines[is_within]]))
        >= LEAST_PHANTOM_ROUNDNESS
    )


def lies_within(outline: NDArray[np.bool_]) -> bool:
    """Whether an outline (i, j) nowhere reaches the border of the picture, beyond which a body may
    go on."""
    return not (outline[[0, -1]].any() or outline[:, [0, -1]].any())


def roughness(planes: Floats32, outlines: NDArray[np.bool_]) -> Floats32:
    """(s,) of slices (s, i, j) inside their outlines; NaN where these are smaller than
    LEAST_PIXELS."""
    inside_weight = ndimage.minimum_filter(
        outlines, (1, 2 * RIM_PIXELS + 1, 2 * RIM_PIXELS + 1)
    ).astype(np.float32)
    neighbourhood_weight = ndimage.uniform_filter(
        inside_weight, (1, NEIGHBOURHOOD_PIXELS, NEIGHBOURHOOD_PIXELS)
    )
    neighbourhood_mean = ndimage.uniform_filter(
        planes * inside_weight, (1, NEIGHBOURHOOD_PIXELS, NEIGHBOURHOOD_PIXELS)
    ) / np.maximum(neighbourhood_weight, 1e-6)
    pixel_count = inside_weight.sum(axis=(1, 2))
    squared_sum = (np.square(planes - neighbourhood_mean) * inside_weight).sum(axis=(1, 2))
    mean_grey = (planes * inside_weight).sum(axis=(1, 2)) / np.maximum(pixel_count, 1)
    relative_deviation = np.sqrt(squared_sum / np.maximum(pixel_count, 1)) / np.maximum(
        mean_grey, 1
    )
    return np.where(pixel_count < LEAST_PIXELS, np.float32(np.nan), relative_deviation)


def roundness(outline: NDArray[np.bool_]) -> float:
    """Of the largest connected part of an outline (i, j), 0 to 1."""
    part_of_pixel, part_count = ndimage.label(outline)
    if not part_count:
        return 0.0
    is_largest_part = part_of_pixel == 1 + np.bincount(part_of_pixel.ravel())[1:].argmax()
    rows, columns = np.nonzero(is_largest_part)
    row_grid, column_grid = np.ogrid[: outline.shape[0], : outline.shape[1]]
    is_in_disc = (
        np.square(row_grid - rows.mean()) + np.square(column_grid - columns.mean())
        <= len(rows) / np.pi
    )
    return float((is_in_disc & is_largest_part).sum() / (is_in_disc | is_largest_part).sum())


CHECK = Check(
    code="phantom",
    words="looks like a phantom",
    meaning="the picture is smooth inside, as water is, or its outline is round in most slices, as "
    "bottles are",
    to_try="look at the picture: an object that is not a body has no regions",
    measure=measure,
    concerns=Concern(f"regions shown with a probability below {SURE_PROBABILITY}", is_hardly_sure),
    find_reasons=find_reasons,
)
