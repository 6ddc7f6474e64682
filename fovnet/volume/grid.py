"""The voxels of a format that stores plain numbers after a header: NIfTI, NRRD, MetaImage, GIPL,
MGH, Analyze.

A reader converts its header into a StoredGrid, which is checked here before memory is allocated;
the voxels are then read frame by frame. They become float32 piece by piece, so that a frame is in
memory once: 4 bytes a voxel whatever is stored, where an int16 one with a slope would take 14 at
once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import (
    LARGEST_INTENSITY,
    SMALL_SAMPLE_VOXELS,
    join_sizes,
    make_voxels_usable,
)
from fovnet.volume.intensity import CLIP_PERCENTILE, sample_lattice
from fovnet.volume.unpacking import DAMAGE_EXCEPTIONS, read_numbers, read_to_end
from fovnet.volume.volume import Volume

VOXEL_BYTES = 4  # of float32, in which a volume is held
# of a volume: 512 × 512 × 2048 voxels, 1 GB as int16; half the budget of a batch
MAX_FRAME_BYTES = 2**31
MAX_UNUSABLE_FRAMES = 64  # unusable frames after which the others are not tried
# of the next frame's brightness: noise has 0.01 to 0.04, diffusion (b 1000) before its b 0 about 0.1
LEAST_BRIGHTNESS_RATIO = 0.05

LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
MAX_AXES = 16  # the limit of NRRD
MAX_TRAILING_BYTES = 4096  # after the voxels; padding to a page adds fewer


@dataclass(frozen=True)
class StoredGrid:
    """Layout and scaling of the numbers after a header.

    axis_lengths  length of every axis, the fastest in the file first
    dtype         of a stored number, with its byte order
    spatial_axes  which of the axes are i, j, k; every other one counts frames
    slope         an intensity is slope · stored + intercept
    intercept     in units of intensity
    """

    axis_lengths: tuple[int, ...]
    dtype: np.dtype[Any]
    spatial_axes: tuple[int, int, int] = (0, 1, 2)
    slope: float = 1.0
    intercept: float = 0.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of voxels of a frame along i, j, k."""
        i, j, k = (self.axis_lengths[axis] for axis in self.spatial_axes)
        return i, j, k

    @property
    def block_axis_count(self) -> int:
        """How many of the first axes must be read at once for a whole frame: 3 if frames follow one
        another."""
        return max(self.spatial_axes) + 1

    @property
    def byte_count(self) -> int:
        """Bytes of all numbers, uncompressed."""
        return math.prod(self.axis_lengths) * self.dtype.itemsize


def refuse_size(source: str, sizes: Sequence[int]) -> None:
    """Raise VolumeError "volume-too-large" if a frame of this size takes more than MAX_FRAME_BYTES of
    memory."""
    frame_bytes = math.prod(map(int, sizes)) * VOXEL_BYTES
    if frame_bytes > MAX_FRAME_BYTES:
        raise VolumeError(
            "volume-too-large",
            f"{source}: {join_sizes(sizes)} voxels take {frame_bytes:,} bytes of memory; {MAX_FRAME_BYTES:,} are "
            "allowed. Check the header, or resample the volume to larger voxels.",
        )


def refuse_grid(path: Path, grid: StoredGrid, stored_bytes: int | None) -> None:
    """Raises VolumeError for a header with no voxels, too many, more than the file contains, or an
    invalid grid or scaling.

    stored_bytes  bytes of voxels in the file, None if they are compressed
    """
    if len(grid.axis_lengths) > MAX_AXES or min(grid.axis_lengths) < 0:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: a grid of {join_sizes(grid.axis_lengths)}; up to {MAX_AXES} positive sizes are possible. "
            "Export it again.",
        )
    if 0 in grid.axis_lengths:
        raise VolumeError(
            "volume-shape",
            f"{path}: the grid is {join_sizes(grid.axis_lengths)}, without a single voxel. Export it again.",
        )
    if not (np.isfinite([grid.slope, grid.intercept]).all() and grid.slope):
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the header scales the voxels by {grid.slope:g} and {grid.intercept:g}. "
            "Export it again.",
        )
    refuse_size(str(path), grid.axis_lengths[: grid.block_axis_count])
    if stored_bytes is not None and stored_bytes < grid.byte_count:
        raise VolumeError(
            "volume-truncated",
            f"{path}: {join_sizes(grid.axis_lengths)} voxels of {grid.dtype.itemsize} bytes are {grid.byte_count:,} "
            f"bytes, the file has {max(0, stored_bytes):,}. Copy it again from its origin.",
        )


def notes_on_trailing_bytes(
    path: Path, grid: StoredGrid, rest_bytes: int | None
) -> tuple[str, ...]:
    """At most one note, on `rest_bytes` after the voxels of a file with one frame: empty, or that as many bytes
    as whole frames follow.

    Raises VolumeError "volume-corrupt" if the rest is at least as large as one more column, row or
    plane, and not of whole frames: the header then states too small a grid, and planes may be
    sheared.  Less than MAX_TRAILING_BYTES, or an unknown number (None), is accepted.
    """
    frame_bytes = math.prod(grid.axis_lengths[: grid.block_axis_count]) * grid.dtype.itemsize
    if rest_bytes is None or rest_bytes < max(MAX_TRAILING_BYTES, frame_bytes // max(grid.shape)):
        return ()
    if rest_bytes % frame_bytes:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: {rest_bytes:,} bytes follow the {grid.byte_count:,} of {join_sizes(grid.axis_lengths)} voxels, "
            "but none should: the header seems to give too small a grid. Export it again.",
        )
    return (
        f"as many bytes follow as {rest_bytes // frame_bytes:,} more frames would take, which the header "
        "does not count",
    )


def dtype_of_type_code(
    path: Path,
    type_code: int,
    dtype_by_code: Mapping[int, str],
    refusal_by_code: Mapping[int, tuple[str, str]],
) -> np.dtype[Any]:
    """The dtype of a format's type code `type_code`.  Raises VolumeError with the code and words of
    `refusal_by_code`, or "volume-corrupt"."""
    if type_code in refusal_by_code:
        error_code, description = refusal_by_code[type_code]
        raise VolumeError(
            error_code,
            f"{path}: the voxels are {description} (type {type_code}), not MR intensities. Give the MR volume itself.",
        )
    if type_code not in dtype_by_code:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the header's type is {type_code}; one of {', '.join(map(str, dtype_by_code))} wanted. "
            "Export it again.",
        )
    return np.dtype(dtype_by_code[type_code])


def read_first_usable_frame(
    path: Path,
    stream: BinaryIO,
    grid: StoredGrid,
    vox_to_ras: NDArray[np.float64],
    notes: tuple[str, ...] = (),
    *,
    tagged: bool = False,
) -> Volume:
    """The first usable frame in a stream at the first voxel; `notes` are put before its own.

    tagged  whether the format lets anything follow the voxels
    A file of one frame is read to its end, where a checksum may be.  Raises VolumeError as `choose_usable_frame`,
    and for what follows one frame as `notes_on_trailing_bytes`.
    """
    frame_count = math.prod(grid.axis_lengths) // math.prod(grid.shape)
    usable_frame = choose_usable_frame(path, read_frames(path, stream, grid), frame_count)
    notes = (*notes, *usable_frame.notes)
    if math.prod(grid.axis_lengths[grid.block_axis_count :]) == 1:
        bytes_after_voxels = read_to_end(stream)
        if not tagged:
            notes += notes_on_trailing_bytes(path, grid, bytes_after_voxels)
    return Volume(usable_frame.voxels, vox_to_ras, str(path), notes)


def read_frames(path: Path, stream: BinaryIO, grid: StoredGrid) -> Iterator[NDArray[np.float32]]:
    """The frames (i, j, k) in the order of the file, as float32 intensities; each is read when it
    is requested."""
    block_shape = grid.axis_lengths[: grid.block_axis_count]
    for _ in range(math.prod(grid.axis_lengths[grid.block_axis_count :])):
        voxels = np.empty(math.prod(block_shape), np.float32)
        filled_count = 0
        for stored_piece in read_numbers(path, stream, math.prod(block_shape), grid.dtype):
            voxels[filled_count : filled_count + len(stored_piece)] = scale_to_intensities(
                stored_piece, grid
            )
            filled_count += len(stored_piece)
        spatial_first = np.moveaxis(
            voxels.reshape(block_shape, order="F"), grid.spatial_axes, (0, 1, 2)
        )
        for frame_index in np.ndindex(*spatial_first.shape[3:]):
            frame = spatial_first[(..., *frame_index)]
            if frame_index:  # of interleaved frames a view would keep all in memory
                frame = frame.copy(order="K")
            yield frame
        del voxels, spatial_first, frame  # else they are in memory together with the next frame


class UsableFrame(NamedTuple):
    """A frame whose voxels can be used.

    voxels      (i, j, k), all finite
    notes       on what was done and chosen
    brightness  see `measure_brightness`; 0 for a single frame
    """

    voxels: NDArray[np.float32]
    notes: tuple[str, ...]
    brightness: float


def choose_usable_frame(
    path: Path, frames_in_order: Iterable[NDArray[np.float32]], frame_count: int
) -> UsableFrame:
    """The first usable of `frame_count` frames.  A frame with less than 5 % of the next one's brightness
    is taken for noise or nearly empty, and the next is used instead.

    One more frame is read than is returned.  Raises the VolumeError of the first frame if none of
    the first MAX_UNUSABLE_FRAMES is usable: 260 KB of zeros may unpack to millions of frames.
    """
    chosen_frame: UsableFrame | None = None
    first_fault: VolumeError | None = None
    frames_left = iter(frames_in_order)
    for frame_number in range(1, frame_count + 1):
        try:
            frame = next(frames_left)
        except (VolumeError, EOFError, *DAMAGE_EXCEPTIONS):
            if chosen_frame is None:
                raise
            break  # damage after the chosen frame does not matter
        frame_brightness = 0.0
        choice_notes: tuple[str, ...] = ()
        if frame_count > 1:
            frame_brightness = measure_brightness(sample_lattice(frame, SMALL_SAMPLE_VOXELS))
            choice_notes = (f"frame {frame_number} of {frame_count}, the first usable one",)
        if chosen_frame is not None:
            if chosen_frame.brightness >= LEAST_BRIGHTNESS_RATIO * frame_brightness:
                break
            ratio_to_next = chosen_frame.brightness / frame_brightness
            choice_notes = (
                f"frame {frame_number} of {frame_count}; the one before is {ratio_to_next:.1%} as bright, "
                "perhaps noise or nearly empty",
            )
        try:
            voxels, voxel_notes = make_voxels_usable(str(path), frame)
        except VolumeError as fault:
            if chosen_frame is not None:
                break
            first_fault = first_fault or fault
            if frame_number == MAX_UNUSABLE_FRAMES:
                break
        else:
            chosen_frame = UsableFrame(
                voxels,
                (*choice_notes, *voxel_notes),
                frame_brightness,
            )
    if chosen_frame is None:
        assert first_fault is not None  # no size is 0, so there was a frame
        raise first_fault
    return chosen_frame


def measure_brightness(sample: NDArray[np.float32]) -> float:
    """The 99.5th percentile of the absolute difference from the median, over the finite values of a
    sample (m,); 0 if there are none."""
    finite_values = sample[np.abs(sample) <= LARGEST_INTENSITY]
    if not finite_values.size:
        return 0.0
    return float(np.percentile(np.abs(finite_values - np.median(finite_values)), CLIP_PERCENTILE))


def scale_to_intensities(stored: NDArray[Any], grid: StoredGrid) -> NDArray[np.float32]:
    """Stored numbers as float32 intensities."""
    # a float64 beyond float32 becomes inf, which `make_voxels_usable` handles
    with np.errstate(over="ignore", invalid="ignore"):
        if grid.slope == 1.0 and grid.intercept == 0.0:
            return stored.astype(np.float32, copy=False)
        return (stored * np.float64(grid.slope) + np.float64(grid.intercept)).astype(np.float32)
