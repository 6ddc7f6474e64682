"""Checks that an array and its affine can be an MR volume, for every file format: geometry, values,
kind of image."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.filled import CT_AIR_HU, most_frequent_value
from fovnet.volume.intensity import LEAST_WINDOW_WIDTH, lattice_steps, sample_lattice
from fovnet.volume.volume import Volume

# from microscopy at 9.4 T to the slice distance of a scout; outside, the header's unit is wrong
SPACING_RANGE_MM = (0.05, 100.0)
# 100 m from the scanner's centre there is no patient, and float32 positions begin to lose 0.01 mm
MAX_DISTANCE_MM = 1e5
# a scanner's grid is right-angled to 0.01°; 5° bends a 400 mm field of view by 35 mm
MAX_SHEAR_DEG = 5.0
# a uint64 still fits; above, sums of float32 overflow, and the numbers are not intensities
LARGEST_INTENSITY = 1e20
CT_AIR_SHARE = 0.05  # a CT of the trunk with its table and air has 0.3 to 0.5
# an 8-bit MR volume shows 90 values or more, one of 12 bits thousands; an atlas has up to 5,000
MAX_FEW_LABELS = 100
# sample in which most MR volumes show, in 2 ms, that their values lie anywhere, or are fractions
SMALL_SAMPLE_VOXELS = 20_000
# share of equal neighbours off the background: label maps seen 0.84 to 0.98, MR 0.00 to 0.26
LABEL_FLATNESS = 0.7
PARCEL_FLATNESS = 0.5  # for more than MAX_FEW_LABELS: parcels of the cortex are thin
# share of the variance of positions that values explain: many labels seen 0.73 to 0.99, MR up to 0.28
LEAST_POSITION_SHARE = 0.5
# background values an MR volume may have: masked air, and the padding around it
MAX_BACKGROUND_VALUES = 2
# an 8-bit MR volume has over 100 values; with fewer than these, two may be all the values of a mask
LEAST_GREY_VALUES = 16
CT_MODALITIES = ("CT", "CTA")
# fmt: off
OTHER_MODALITIES = (
    "NM", "PT", "PET", "SPECT", "US", "CR", "DX", "MG", "XA", "RF", "OT", "SEG", "OCT",
)
# fmt: on
LEAST_FLATNESS_PLANES = 40
# quantile: darker voxels may be broken, such as one of -32768 in an image of 0 to 4095
FILL_QUANTILE = 0.001
FILLED_NOTE = "NaN or infinite voxels set to the darkest finite value"
MAX_SIDE_MM = 1e4  # longest side of a volume: a body with the table is 2.5 m
MAX_SIDE_PIXELS = 2**15  # longest in-plane side of an axial cut over its smallest in-plane spacing
LABEL_MIN_VOXELS = 32**3  # in fewer voxels equal neighbours can be chance


def refuse_affine(source: str, vox_to_ras: NDArray[np.float64]) -> None:
    """Raises VolumeError "volume-geometry" if the affine cannot be a scanner's grid: not finite,
    singular, sheared by more than 5°, with voxels outside 0.05..100 mm, or 100 m away."""
    if not np.isfinite(vox_to_ras).all():
        raise VolumeError(
            "volume-geometry",
            f"{source}: the affine holds NaN or infinite numbers. Convert the series again.",
        )
    spacing_mm = np.linalg.norm(vox_to_ras[:3, :3], axis=0)
    least_mm, most_mm = SPACING_RANGE_MM
    if spacing_mm.min() < least_mm or spacing_mm.max() > most_mm:
        raise VolumeError(
            "volume-geometry",
            f"{source}: voxels of {join_sizes(f'{mm:.4g}' for mm in spacing_mm)} mm; each side must be "
            f"{least_mm:g} to {most_mm:g} mm. Check the header's unit, or convert the series again.",
        )
    farthest_mm = float(np.abs(vox_to_ras[:3, 3]).max())
    if farthest_mm > MAX_DISTANCE_MM:
        raise VolumeError(
            "volume-geometry",
            f"{source}: the first voxel lies {farthest_mm:.4g} mm from the scanner's centre; up to "
            f"{MAX_DISTANCE_MM:g} mm are accepted. Check the header's unit, or convert the series again.",
        )
    directions = vox_to_ras[:3, :3] / spacing_mm
    largest_cosine = float(np.abs(np.triu(directions.T @ directions, 1)).max())
    shear_deg = float(np.degrees(np.arcsin(min(1.0, largest_cosine))))
    if shear_deg > MAX_SHEAR_DEG or np.linalg.matrix_rank(directions) < 3:
        raise VolumeError(
            "volume-geometry",
            f"{source}: the grid's axes are {shear_deg:.1f}° away from right angles (limit "
            f"{MAX_SHEAR_DEG:g}°), a sheared or singular affine. Resample to a right-angled grid.",
        )


def refuse_plane(volume: Volume) -> None:
    """Raise VolumeError if a RAS volume cannot be cut: "volume-geometry" for a side over 10 m, or
    axial slices over 32,768 pixels of their smaller spacing wide, whose square padding would not
    fit into memory; "volume-shape" for slices that are lines or points."""
    shape = volume.voxels.shape
    spacing_mm = volume.spacing_mm
    columns, rows, _ = shape
    sides_mm = np.asarray(shape) * spacing_mm
    pixels_wide = sides_mm[:2].max() / spacing_mm[:2].min()
    if sides_mm.max() > MAX_SIDE_MM or pixels_wide > MAX_SIDE_PIXELS:
        raise VolumeError(
            "volume-geometry",
            f"{volume.source}: {join_sizes(shape)} voxels of {join_sizes(f'{mm:.4g}' for mm in spacing_mm)} mm, "
            f"{sides_mm.max():,.0f} mm long and up to {pixels_wide:,.0f} pixels wide; "
            f"{MAX_SIDE_MM:,.0f} and {MAX_SIDE_PIXELS:,} are accepted. "
            "Check the header's spacings, or convert the series again.",
        )
    if min(columns, rows) < 2:
        raise VolumeError(
            "volume-shape",
            f"{volume.source}: an axial cut has {columns} × {rows} voxels, a line; it needs 2 × 2 "
            "or more. Give the whole series, not one sagittal or coronal image.",
        )


def make_voxels_usable(
    source: str, voxels: NDArray[np.float32]
) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """(voxels all finite, notes): NaN, infinities and values beyond 1e20, if fewer than half, are
    set to `estimate_dark_intensity` of the others.

    Raises VolumeError "volume-nonfinite" if half or more are such, "volume-constant" if all others
    are equal.
    """
    notes: tuple[str, ...] = ()
    with np.errstate(invalid="ignore"):
        # NaN if any voxel is: most volumes need no further pass
        lowest = float(voxels.min())
        highest = float(voxels.max())
    are_all_usable = -LARGEST_INTENSITY <= lowest <= highest <= LARGEST_INTENSITY
    if not are_all_usable:
        is_finite = np.abs(voxels) <= LARGEST_INTENSITY
        notes = notes_on_non_finite_voxels(
            source, voxels.size - int(np.count_nonzero(is_finite)), voxels.size
        )
        lowest = float(voxels[is_finite].min())
        highest = float(voxels[is_finite].max())
        sample = sample_lattice(np.where(is_finite, voxels, np.float32(np.nan)))
        voxels = np.where(is_finite, voxels, estimate_dark_intensity(sample, lowest))
    refuse_constant(source, lowest, highest)
    return voxels, notes


def estimate_dark_intensity(sample: NDArray[np.float32], low: float) -> np.float32:
    """The 0.001 quantile of the finite values of a sample (m,), with which non-finite voxels are
    filled; `low` if there are none.  Not the minimum: a single broken voxel would give all filled
    ones its value, and the window would show everything else white."""
    finite_values = sample[np.isfinite(sample)]
    if not finite_values.size:
        return np.float32(low)
    return np.float32(np.quantile(finite_values, FILL_QUANTILE, method="lower"))


def notes_on_non_finite_voxels(source: str, bad_count: int, voxel_count: int) -> tuple[str, ...]:
    """One note if some voxels are not finite, else none.  Raises VolumeError "volume-nonfinite" if half or more
    are not."""
    if 2 * bad_count >= voxel_count:
        raise VolumeError(
            "volume-nonfinite",
            f"{source}: {bad_count} of {voxel_count} voxels are NaN, infinite or beyond {LARGEST_INTENSITY:g}, "
            "half or more. Export it again, or set NaN about the body to 0 (fslmaths IN -nan OUT).",
        )
    if not bad_count:
        return ()
    return (f"{bad_count} {FILLED_NOTE}",)


def refuse_constant(source: str, low: float, high: float) -> None:
    """Raises VolumeError "volume-constant" if the lowest and the highest intensity are equal."""
    if high - low <= LEAST_WINDOW_WIDTH:
        raise VolumeError(
            "volume-constant",
            f"{source}: every voxel is {low:g}, there is nothing to see. Export the volume again.",
        )


def refuse_ct(volume: Volume) -> None:
    """Raise VolumeError "volume-ct" if more than 5 % of the voxels are at or below -900, as air is
    in CT; a value that most of them have in a sample is named, as it may be a constant fill."""
    if volume.voxels.min() > CT_AIR_HU:  # most volumes: counted below, each voxel takes a byte
        return
    air_share = np.count_nonzero(volume.voxels <= CT_AIR_HU) / volume.voxels.size
    if air_share > CT_AIR_SHARE:
        sample = sample_lattice(volume.voxels)
        fill_value, fill_share = most_frequent_value(sample[sample <= CT_AIR_HU])
        fill_phrase = ""
        remedy = ""
        if fill_share > 0.5:
            fill_phrase = f", {fill_share:.0%} of them exactly {fill_value:g}, a constant fill"
            remedy = "; if it is MR, fill with 0 instead"
        raise VolumeError(
            "volume-ct",
            f"{volume.source}: {air_share:.0%} of the voxels are at or below {CT_AIR_HU:g}{fill_phrase}, like air in "
            "CT (Hounsfield units): this looks like CT, or a phase image. Give an MR series of "
            f"magnitudes{remedy}.",
        )


def refuse_labels(volume: Volume) -> None:
    """Raises VolumeError "volume-labels" for whole numbers in flat patches, the background
    (`_find_background_values`) excepted: a scanner's noise does not allow such patches.  MR enlarged to blocks of
    equal voxels has them too: more than MAX_FEW_LABELS values must also be gathered, each in a place of
    its own.  Volumes under 32³ voxels are not tested."""
    small_sample = _sample_few_voxels(volume.voxels)
    if volume.voxels.size < LABEL_MIN_VOXELS or not _are_whole(small_sample):
        return
    background_values = _find_background_values(small_sample)
    has_many_values = len(np.unique(small_sample)) > MAX_FEW_LABELS
    if has_many_values:
        position_share = _explained_position_share(small_sample, background_values)
        if position_share < LEAST_POSITION_SHARE:
            return
    flatness = (
        sum(_measure_flatness(volume.voxels, axis, background_values) for axis in range(3)) / 3
    )
    least_flatness = LABEL_FLATNESS
    if has_many_values:
        least_flatness = PARCEL_FLATNESS
    sample = sample_lattice(volume.voxels)
    if flatness > least_flatness and _are_whole(sample):
        raise VolumeError(
            "volume-labels",
            f"{volume.source}: {len(np.unique(sample))} different whole numbers, {flatness:.0%} of "
            "neighbours equal: this looks like a label map. Give the MR volume it was drawn on.",
        )


def _are_whole(values: NDArray[np.float32]) -> bool:
    """Whether all values are whole numbers."""
    return np.array_equal(values, np.rint(values))


def refuse_modality(source: str, modality: str) -> None:
    """Raises VolumeError "volume-ct" or "volume-modality" for a known modality other than MR; a
    missing or unknown one is accepted."""
    modality_code = modality.upper().removeprefix("MET_MOD_")
    sentence = f"{source}: the header says modality {modality}; fovnet reads MR. Give an MR series."
    if modality_code in CT_MODALITIES:
        raise VolumeError("volume-ct", sentence)
    if modality_code in OTHER_MODALITIES:
        raise VolumeError("volume-modality", sentence)


def join_sizes(numbers: Iterable[object]) -> str:
    """The numbers joined for a message: 3 × 4 × 5."""
    return " × ".join(map(str, numbers))


def _sample_few_voxels(voxels: NDArray[np.float32]) -> NDArray[np.float32]:
    """At most SMALL_SAMPLE_VOXELS voxels of a volume, (i, j, k), on a regular lattice."""
    return voxels[
        tuple(slice(None, None, step) for step in lattice_steps(voxels.shape, SMALL_SAMPLE_VOXELS))
    ]


def _explained_position_share(
    small_sample: NDArray[np.float32], background_values: NDArray[np.float32]
) -> float:
    """How much of the variance of positions along an axis the values of a sample (i, j, k) explain,
    the background excepted; the second largest of the three axes, since left and right may share
    labels, and brightness may fall off along one.  Adjusted for their number: 0 for values that lie
    anywhere, 1 if each has a place of its own.

    Source: Fisher (1925), Statistical Methods for Research Workers, intraclass correlations (η²);
    Ezekiel (1930), the adjustment of R².
    """
    is_foreground = ~np.isin(small_sample, background_values)
    _, value_index, value_counts = np.unique(
        small_sample[is_foreground], return_inverse=True, return_counts=True
    )
    voxel_count = len(value_index)
    degrees_of_freedom = max(1, voxel_count - len(value_counts))
    unexplained_shares = []
    for axis_indices in np.nonzero(is_foreground):
        centred_positions = axis_indices - axis_indices.mean()
        explained = (np.bincount(value_index, centred_positions) ** 2 / value_counts).sum()
        unexplained_shares.append(1 - explained / max(1.0, (centred_positions**2).sum()))
    return float(1 - sorted(unexplained_shares)[1] * (voxel_count - 1) / degrees_of_freedom)


def _find_background_values(sample: NDArray[np.float32]) -> NDArray[np.float32]:
    """The two most frequent values of a sample, or one if it has under 16: possible background
    values, be it 0 or -500."""
    values, value_counts = np.unique(sample, return_counts=True)
    background_count = 1
    if len(values) >= LEAST_GREY_VALUES:
        background_count = MAX_BACKGROUND_VALUES
    return values[np.argsort(-value_counts, kind="stable")][:background_count]


def _measure_flatness(
    voxels: NDArray[np.float32], axis: int, background_values: NDArray[np.float32]
) -> float:
    """Share of the voxels outside the background whose next neighbour along an axis is equal; 0 for
    a single layer.

    Counted in at most about 80 planes, contiguous in memory: label maps and MR differ so much that
    a part of a large volume suffices.
    """
    slow_axis = int(np.argmax(np.abs(voxels.strides)))
    plane_slices = [slice(None)] * 3
    plane_slices[slow_axis] = slice(
        None, None, max(1, voxels.shape[slow_axis] // LEAST_FLATNESS_PLANES)
    )
    voxels_before, voxels_after = (
        np.moveaxis(np.moveaxis(voxels, axis, 0)[range_along_axis], 0, axis)[tuple(plane_slices)]
        for range_along_axis in (slice(None, -1), slice(1, None))
    )
    is_foreground: NDArray[np.bool_] = np.logical_and.reduce(
        [voxels_before != background_value for background_value in background_values]
    )
    return int(np.count_nonzero((voxels_after == voxels_before) & is_foreground)) / max(
        1, int(np.count_nonzero(is_foreground))
    )
