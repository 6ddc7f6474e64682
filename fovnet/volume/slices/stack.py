"""Slice stacks: the axial slices of one volume, the input of the networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.machine.threads import one_thread
from fovnet.volume import both_signs
from fovnet.volume.checks import refuse_plane
from fovnet.volume.formats import nifti
from fovnet.volume.intensity import (
    BLACK_PERCENTILE,
    CLIP_PERCENTILE,
    WHITE_PERCENTILE,
    estimate_window,
)
from fovnet.volume.orient import to_ras
from fovnet.volume.slices import noisy_air
from fovnet.volume.slices.even_light import divide_light
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import SIDE_PIXELS, Resize, resize_weights
from fovnet.volume.sources.source import Source, read, source_of
from fovnet.volume.volume import Images, Volume

ALGORITHM = 1
"""Incremented when the same file and settings give different slices: old cache entries are then
remade, and old networks refused."""

# of a slice: a stack of 2.8 mm slices stays as it is, instead of being halved to 5.6 mm
GROUP_SLACK_SLICES = 0.1


@dataclass(frozen=True)
class Slicing:
    """How a volume becomes slices.

    target_spacing_mm  thinner slices are averaged in groups so that the cuts are at least this far apart
    max_tilt_deg       a volume more oblique than this is resampled along the scanner axes
    blacken_noise      noise around the body, if as bright as the body, becomes black: see `noisy_air`
    even_light         shading is divided out: see `even_light`
    """

    target_spacing_mm: float = 3.0
    max_tilt_deg: float = 20.0
    blacken_noise: bool = True
    even_light: bool = False


@dataclass(frozen=True)
class SliceStack:
    """Axial cuts of one volume, counted from feet to head.

    pixels             (s, 128, 128) uint8; rows run front→back and columns right→left
                       (radiological: the patient's right is on the left)
    z_mm               (s,) float64, scanner height of each cut's centre, ascending
    slice_ranges       (s, 2) int64, first and last slice (inclusive) of the RAS volume that are
                       averaged in the cut
    side_mm            side length of a slice in mm (square: the shorter side of the volume is
                       padded with 0)
    vox_to_ras         (4, 4) affine of the RAS volume whose slices `slice_ranges` counts
    source             path
    checksum           SHA-256 of the file
    notes              on what was done, in sentences
    label_slices       (s,) int64, the slice of the closest-canonical volume at each cut's middle,
                       as regions.tsv counts slices
    label_slice_count  number of slices of that volume.  Both None unless the volume was resampled,
                       when they differ from `slice_ranges`
    images             the source images (DICOM), one per slice that `slice_ranges` counts if
                       images.axis is 2; else every cut crosses many of them.  None for other formats
    """

    pixels: NDArray[np.uint8]
    z_mm: NDArray[np.float64]
    slice_ranges: NDArray[np.int64]
    side_mm: float
    vox_to_ras: NDArray[np.float64]
    source: str
    checksum: str
    notes: tuple[str, ...] = ()
    label_slices: NDArray[np.int64] | None = None
    label_slice_count: int | None = None
    images: Images | None = None

    @property
    def middle_slices(self) -> NDArray[np.int64]:
        """(s,) the slice at the middle of each cut, as regions.tsv counts slices; of an even group
        the lower of the two."""
        if self.label_slices is not None:
            return self.label_slices
        return np.asarray(self.slice_ranges.sum(axis=1) // 2)

    @property
    def edges_mm(self) -> NDArray[np.float64]:
        """(s + 1,) scanner heights of the cuts' edges, feet to head: the outer faces of the slices
        they average, so that a last cut of more slices than the others, and a single cut, have
        their true thickness."""
        return compute_edges_mm(self.z_mm, self.slice_ranges, self.vox_to_ras)

    @property
    def is_noise_blackened(self) -> bool:
        """Whether noise around the body was made black."""
        return noisy_air.BLACKENED_NOTE in self.notes

    @property
    def is_in_template(self) -> bool:
        """Whether heights are in the coordinates of a template, not the scanner's."""
        return nifti.TEMPLATE_NOTE in self.notes

    @property
    def has_sform_of_ones(self) -> bool:
        """Whether the sform was of ones against the voxel sizes, so that heights may be anywhere."""
        return not set(nifti.ONES_NOTES).isdisjoint(self.notes)

    @property
    def has_both_signs(self) -> bool:
        """Whether the values lie on both sides of the background, as in maps."""
        return both_signs.BOTH_SIGNS_NOTE in self.notes

    @property
    def placing(self) -> Placing:
        """The size and heights of the slices, all of volume 0."""
        return Placing(
            np.full(len(self.pixels), self.side_mm),
            np.zeros(len(self.pixels), dtype=np.int64),
            self.z_mm,
        )


def compute_edges_mm(
    z_mm: NDArray[np.float64], slice_ranges: NDArray[np.int64], vox_to_ras: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(s + 1,) scanner heights of the edges of cuts at z_mm (s,) that average the slices `slice_ranges`
    (s, 2); see `SliceStack.edges_mm`."""
    cut_heights_mm = vox_to_ras[2, 2] * (np.diff(slice_ranges, axis=1)[:, 0] + 1)
    return np.append(z_mm - cut_heights_mm / 2, z_mm[-1:] + cut_heights_mm[-1:] / 2)


def slice_volume(source: Source | Path, slicing: Slicing | None = None) -> SliceStack:
    """The slices of a volume on disk: read, reoriented to RAS, cut.  Raises VolumeError if it
    cannot be."""
    if not isinstance(source, Source):
        source = source_of(source)
    slicing = slicing or Slicing()
    volume = to_ras(read(source), slicing.max_tilt_deg)
    refuse_plane(volume)
    return cut_slices(
        volume,
        target_spacing_mm=slicing.target_spacing_mm,
        checksum=source.checksum,
        blacken_noise=slicing.blacken_noise,
        even_light=slicing.even_light,
    )


def cut_slices(
    volume: Volume,
    *,
    target_spacing_mm: float = 3.0,
    checksum: str = "",
    blacken_noise: bool = True,
    even_light: bool = False,
) -> SliceStack:
    """The slices of a RAS volume: grouped to the target spacing, padded to a square in millimetres,
    resized to 128 × 128, windowed.

    Intensities are resized first and windowed last, so that values are rounded to grey levels only
    once. Padding is black, also if black is not intensity 0.  With `blacken_noise` so is noise
    around the body that is as bright as the body.  With `even_light` shading is divided out then.
    """
    volume, (black, white) = _mend_intensities(volume, blacken_noise, even_light)
    slice_ranges = group_slices(
        volume.voxels.shape[2], float(volume.spacing_mm[2]), target_spacing_mm
    )
    columns_mm, rows_mm = (volume.spacing_mm[:2] * volume.voxels.shape[:2]).tolist()
    side_mm = max(columns_mm, rows_mm)
    # Axis 0 runs to the patient's right and axis 1 to the front; the picture begins at the right and at the
    # front.
    column_weights = resize_weights(volume.voxels.shape[0], float(volume.spacing_mm[0]), side_mm)[
        ::-1
    ]
    row_weights = resize_weights(volume.voxels.shape[1], float(volume.spacing_mm[1]), side_mm)[::-1]
    grey_per_intensity = np.float32(255.0 / (white - black))
    # the grey value of black, as far as a pixel is not padding; less 0.5, since the cast rounds down
    volume_shares = np.outer(row_weights.sum(axis=1), column_weights.sum(axis=1))
    black_grey = volume_shares * np.float32(black) * grey_per_intensity
    black_grey -= np.float32(0.5)
    resize_plane = Resize(row_weights * grey_per_intensity, column_weights)
    pixels = np.empty((len(slice_ranges), SIDE_PIXELS, SIDE_PIXELS), dtype=np.uint8)
    # a voxel 1e35 times the window is white, not a warning
    with one_thread(), np.errstate(over="ignore"):
        for cut_index, plane in enumerate(_average_groups(volume.voxels, slice_ranges)):
            pixels[cut_index] = np.clip(resize_plane(plane) - black_grey, 0.0, 255.0)
    heights_mm = volume.slice_heights_mm()
    z_mm = (heights_mm[slice_ranges[:, 0]] + heights_mm[slice_ranges[:, 1]]) / 2
    label_slices = None
    label_slice_count = None
    if volume.label_slice_z_mm is not None:
        label_slices = np.abs(volume.label_slice_z_mm - z_mm[:, None]).argmin(axis=1)
        label_slice_count = len(volume.label_slice_z_mm)
    return SliceStack(
        pixels,
        z_mm,
        slice_ranges,
        side_mm,
        vox_to_ras=volume.vox_to_ras,
        source=volume.source,
        checksum=checksum,
        notes=volume.notes + _grouping_note(slice_ranges),
        label_slices=label_slices,
        label_slice_count=label_slice_count,
        images=volume.images,
    )


def _mend_intensities(
    volume: Volume, blacken_noise: bool, even_light: bool
) -> tuple[Volume, tuple[float, float]]:
    """The volume as `cut_slices` has it blackened and evenly lit, and the window of its intensities."""
    window = estimate_window(volume.voxels)
    if blacken_noise and noisy_air.has_noisy_air(volume, *window):
        volume = noisy_air.blacken_noise(volume, *window)
        window = estimate_window(volume.voxels)
    if even_light:
        volume = divide_light(volume, *window)
        window = estimate_window(volume.voxels)
    return volume, window


def describe_slice_format(slicing: Slicing) -> dict[str, Any]:
    """The settings that determine the content of a slice, as JSON facts: a network is valid only
    for the format it was trained on.

    `blacken_noise` is not included: it changes only volumes that a network then knows nothing of.
    `even_light` is included only if it is on: networks of before it have the format without.
    """
    percentiles = {"clip": CLIP_PERCENTILE, "black": BLACK_PERCENTILE, "white": WHITE_PERCENTILE}
    facts = {
        "target_spacing_mm": slicing.target_spacing_mm,
        "max_tilt_deg": slicing.max_tilt_deg,
        "side": SIDE_PIXELS,
        "window_percentiles": percentiles,
        "algorithm": ALGORITHM,
    }
    if slicing.even_light:
        facts["even_light"] = True
    return facts


def group_slices(slices: int, spacing_mm: float, target_spacing_mm: float) -> NDArray[np.int64]:
    """(s, 2) first and last slice of each group of neighbours, counted from the feet; every slice
    is in exactly one.

    Each group has n = ⌈target / spacing - 0.1⌉ slices, so that cuts are at least the target apart
    (less a tenth of a slice); the last also takes the up to n - 1 left over, since a smaller group
    of their own would be noisier and too near.
    """
    group_size = max(1, int(np.ceil(target_spacing_mm / spacing_mm - GROUP_SLACK_SLICES)))
    first_slices = np.arange(max(1, slices // group_size), dtype=np.int64) * group_size
    last_slices = np.append(first_slices[1:] - 1, slices - 1)
    return np.stack([first_slices, last_slices], axis=1)


def _average_groups(
    voxels: NDArray[np.float32], slice_ranges: NDArray[np.int64]
) -> Iterator[NDArray[np.float32]]:
    """The mean plane (j, i) of each group, summed slice by slice, so that the result does not
    depend on the memory layout."""
    for first_slice, last_slice in slice_ranges.tolist():
        group_planes = np.ascontiguousarray(
            voxels[:, :, first_slice : last_slice + 1].transpose(2, 1, 0)
        )
        mean_plane = group_planes[0].copy()  # the block may be a view of the volume, as for NIfTI
        for next_plane in group_planes[1:]:
            mean_plane += next_plane
        mean_plane /= np.float32(len(group_planes))
        yield mean_plane


def _grouping_note(slice_ranges: NDArray[np.int64]) -> tuple[str, ...]:
    """A sentence with the number of slices averaged in a cut, if more than one."""
    group_size = int(slice_ranges[0, 1] - slice_ranges[0, 0]) + 1
    if group_size == 1:
        return ()
    return (f"{group_size} neighbouring slices averaged in each cut",)
