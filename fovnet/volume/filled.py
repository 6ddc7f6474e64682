"""A constant far below all intensities, in a large part of a volume: what a program wrote where it
had no image.

Programs that resample fill with the air of CT unless told otherwise, -1024 or -1000 (elastix, 3D
Slicer), or with -2000, -9999 or -32768.  Magnitudes are never negative, so that one negative value
beneath them is no intensity, and becomes 0 like any padding; so does what was interpolated between
it and the image.  Where many other values are negative too, as in CT or phase images, nothing is
changed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.intensity import BLACK_PERCENTILE, CLIP_PERCENTILE, sample_lattice
from fovnet.volume.volume import Volume

# of the voxels: a fill in fewer does not change what is shown as black
LEAST_FILL_SHARE = BLACK_PERCENTILE / 100
# of the other voxels may be negative: the border of a fill, and the overshoot of splines
MAX_INTERPOLATED_SHARE = 0.1
CT_AIR_HU = -900.0  # Hounsfield units: air is -1000, lung above -900
"""A fill above it is farther below 0 than the image reaches above it."""


def remove_fill(volume: Volume) -> Volume:
    """The volume with a constant fill, and all else that is negative, set to 0, and a note; itself
    if it has no fill."""
    fill_value = find_fill_value(sample_lattice(volume.voxels))
    if fill_value is None:
        return volume
    fill_share = np.count_nonzero(volume.voxels == fill_value) / volume.voxels.size
    fill_note = (
        f"{fill_share:.0%} of the voxels are exactly {fill_value:g}, a constant fill; set to 0"
    )
    return replace(
        volume, voxels=np.maximum(volume.voxels, np.float32(0)), notes=(*volume.notes, fill_note)
    )


def find_fill_value(sample: NDArray[np.float32]) -> float | None:
    """The constant fill in a sample of voxels (m,); None if there is none."""
    fill_value, fill_share = most_frequent_value(sample[sample < 0])
    if fill_share * np.count_nonzero(sample < 0) < LEAST_FILL_SHARE * sample.size:
        return None
    image_values = sample[sample != fill_value]
    if not image_values.size:
        return None
    dark_intensity, bright_intensity = np.percentile(
        image_values, (100 * MAX_INTERPOLATED_SHARE, CLIP_PERCENTILE)
    )
    is_far_below = fill_value <= CT_AIR_HU or -fill_value > bright_intensity
    if dark_intensity >= 0 and is_far_below:
        return fill_value
    return None


def most_frequent_value(values: NDArray[np.float32]) -> tuple[float, float]:
    """The most frequent of some values (m,) and its share of them; (0, 0) if there are none."""
    if not values.size:
        return 0.0, 0.0
    distinct_values, value_counts = np.unique(values, return_counts=True)
    return float(distinct_values[value_counts.argmax()]), float(value_counts.max() / values.size)
