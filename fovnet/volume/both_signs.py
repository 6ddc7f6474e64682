"""Volumes whose background lies amid their values, as much below it as above: field maps in Hz,
phase images, differences, susceptibility and statistic maps.

Magnitudes have their air at the lowest value.  Where nothing gives signal a map has one constant,
mostly 0, and on both sides of it values of like size; where a program wrote NaN, that constant is
taken to be 0. Intensities normalised to the mean 0 and the standard deviation 1 inside a mask
(MONAI, nnU-Net) have both signs too, and are recognised by these two numbers.  Interpolation
between them and the background takes the deviation down to 0.5 to 0.9: such intensities are called
a map.

Not seen are a z map of mean 0 and deviation 1, which these numbers do not tell from normalised
intensities; a field so far from 0 that under a tenth of it has the other sign; and p values, which
lie within 0 and 1 as many scaled intensities do.

Measured, the 1st percentile below the background over the 99th above it: 54 series of real
magnitudes and 200 simulated ones have at most 0.09 where 5 % of the voxels are one value, splines
0.03; the real field map of a bottle 0.89, real and imaginary parts of a liver 0.89 to 1.16.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fovnet.volume.checks import FILLED_NOTE, SMALL_SAMPLE_VOXELS
from fovnet.volume.filled import most_frequent_value
from fovnet.volume.intensity import sample_lattice
from fovnet.volume.volume import Volume

BOTH_SIGNS_NOTE = "the values lie on both sides of the background"
LEAST_BACKGROUND_SHARE = 0.05  # share of the voxels that are the one value
LEAST_SIDE_SHARE = 0.1  # share of the others on either side of it
LEAST_REACH_RATIO = 0.25  # of the smaller side's reach to the larger one's, percentiles
# how far from 0 and 1 mean and deviation may be.  Rounding sets voxels to the background's value, and they
# are not counted: with two decimals the deviation of two volumes was 1.008 and 1.002, of nearest voxels 1.011
NORMALISED_TOLERANCE = 0.03


def note_both_signs(volume: Volume) -> Volume:
    """The volume, with BOTH_SIGNS_NOTE if its background lies amid its values."""
    if has_both_signs(volume):
        return replace(volume, notes=(*volume.notes, BOTH_SIGNS_NOTE))
    return volume


def has_both_signs(volume: Volume) -> bool:
    """Whether the background lies amid the values; False for intensities normalised about 0."""
    sample = sample_lattice(volume.voxels, SMALL_SAMPLE_VOXELS)
    if not sample.min() < 0 < sample.max():
        return False
    background, background_share = most_frequent_value(sample)
    foreground = sample[sample != background]
    if background_share < LEAST_BACKGROUND_SHARE or not foreground.size:
        return False
    had_nan = any(note.endswith(FILLED_NOTE) for note in volume.notes)
    centre = background
    if had_nan and background < np.percentile(foreground, 1):
        centre = 0.0  # the background was NaN
    if not _are_around(foreground, centre):
        return False
    return not _are_normalised(volume.voxels[volume.voxels != np.float32(background)])


def _are_around(values: NDArray[np.float32], centre: float) -> bool:
    """Whether values (m,) lie on both sides of a centre, as many and as far."""
    low_value, high_value = np.percentile(values, (1, 99))
    reach_below = centre - low_value
    reach_above = high_value - centre
    share_below = float((values < centre).mean())
    if not LEAST_SIDE_SHARE <= share_below <= 1 - LEAST_SIDE_SHARE:
        return False
    longer_reach = max(reach_below, reach_above)
    return bool(min(reach_below, reach_above) >= LEAST_REACH_RATIO * longer_reach > 0)


def _are_normalised(values: NDArray[np.float32]) -> bool:
    """Whether values (m,) have the mean 0 and the standard deviation 1."""
    mean = values.mean(dtype=np.float64)
    deviation = values.std(dtype=np.float64)
    return bool(abs(mean) <= NORMALISED_TOLERANCE and abs(deviation - 1.0) <= NORMALISED_TOLERANCE)
