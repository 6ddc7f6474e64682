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
from fovnet.volume.checks import GLANCE_VOXELS, LARGEST_INTENSITY, times, usable_voxels
from fovnet.volume.intensity import CLIP_PERCENTILE, lattice
from fovnet.volume.unpacking import DAMAGE_EXCEPTIONS, drain, stored_numbers
from fovnet.volume.volume import Volume

VOXEL_BYTES = 4  # of float32, in which a volume is held
# of a volume: 512 × 512 × 2048 voxels, 1 GB as int16; half the budget of a batch
MOST_BYTES = 2**31
MAX_UNUSABLE_FRAMES = 64  # unusable frames after which the others are not tried
# of the next frame's brightness: noise has 0.01 to 0.04, diffusion (b 1000) before its b 0 about 0.1
LEAST_BRIGHTNESS_RATIO = 0.05

LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])
MAX_AXES = 16  # the limit of NRRD
MAX_LEFTOVER_BYTES = 4096  # after the voxels; padding to a page adds fewer


@dataclass(frozen=True)
class StoredGrid:
    """Layout and scaling of the numbers after a header.

    sizes      length of every axis, the fastest in the file first
    dtype      of a stored number, with its byte order
    spatial    which of the axes are i, j, k; every other one counts frames
    slope      an intensity is slope · stored + intercept
    intercept  in units of intensity
    """

    sizes: tuple[int, ...]
    dtype: np.dtype[Any]
    spatial: tuple[int, int, int] = (0, 1, 2)
    slope: float = 1.0
    intercept: float = 0.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Number of voxels of a frame along i, j, k."""
        i, j, k = (self.sizes[axis] for axis in self.spatial)
        return i, j, k

    @property
    def frame_axes(self) -> int:
        """How many of the first axes must be read at once for a whole frame: 3 if frames follow one
        another."""
        return max(self.spatial) + 1

    @property
    def bytes(self) -> int:
        """Bytes of all numbers, uncompressed."""
        return math.prod(self.sizes) * self.dtype.itemsize


def refuse_size(source: str, sizes: Sequence[int]) -> None:
    """Raise VolumeError "volume-too-large" if a frame of this size takes more than MOST_BYTES of
    memory."""
    frame_bytes = math.prod(map(int, sizes)) * VOXEL_BYTES
    if frame_bytes > MOST_BYTES:
        raise VolumeError(
            "volume-too-large",
            f"{source}: {times(sizes)} voxels take {frame_bytes:,} bytes of memory; {MOST_BYTES:,} are "
            "allowed. Check the header, or resample the volume to larger voxels.",
        )


def refuse_grid(path: Path, grid: StoredGrid, stored_bytes: int | None) -> None:
    """Raises VolumeError for a header with no voxels, too many, more than the file contains, or an
    invalid grid or scaling.

    stored_bytes  bytes of voxels in the file, None if they are compressed
    """
    if len(grid.sizes) > MAX_AXES or min(grid.sizes) < 0:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: a grid of {times(grid.sizes)}; up to {MAX_AXES} positive sizes are possible. "
            "Export it again.",
        )
    if 0 in grid.sizes:
        raise VolumeError(
            "volume-shape",
            f"{path}: the grid is {times(grid.sizes)}, without a single voxel. Export it again.",
        )
    if not (np.isfinite([grid.slope, grid.intercept]).all() and grid.slope):
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the header scales the voxels by {grid.slope:g} and {grid.intercept:g}. "
            "Export it again.",
        )
    refuse_size(str(path), grid.sizes[: grid.frame_axes])
    if stored_bytes is not None and stored_bytes < grid.bytes:
        raise VolumeError(
            "volume-truncated",
            f"{path}: {times(grid.sizes)} voxels of {grid.dtype.itemsize} bytes are {grid.bytes:,} "
            f"bytes, the file has {max(0, stored_bytes):,}. Copy it again from its origin.",
        )


def rest_notes(path: Path, grid: StoredGrid, rest_bytes: int | None) -> tuple[str, ...]:
    """At most one note, on `rest_bytes` after the voxels of a file with one frame: empty, or that as many bytes
    as whole frames follow.

    Raises VolumeError "volume-corrupt" if the rest is at least as large as one more column, row or
    plane, and not of whole frames: the header then states too small a grid, and planes may be
    sheared.  Less than MAX_LEFTOVER_BYTES, or an unknown number (None), is accepted.
    """
    frame_bytes = math.prod(grid.sizes[: grid.frame_axes]) * grid.dtype.itemsize
    if rest_bytes is None or rest_bytes < max(MAX_LEFTOVER_BYTES, frame_bytes // max(grid.shape)):
        return ()
    if rest_bytes % frame_bytes:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: {rest_bytes:,} bytes follow the {grid.bytes:,} of {times(grid.sizes)} voxels, but "
            "none should: the header seems to give too small a grid. Export it again.",
        )
    return (
        f"as many bytes follow as {rest_bytes // frame_bytes:,} more frames would take, which the header "
        "does not count",
    )


def stored_type(
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


def read_grid(
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
    A file of one frame is read to its end, where a checksum may be.  Raises VolumeError as `first_usable`,
    and for what follows one frame as `rest_notes`.
    """
    frame_count = math.prod(grid.sizes) // math.prod(grid.shape)
    usable_frame = first_usable(path, frames(path, stream, grid), frame_count)
    notes = (*notes, *usable_frame.notes)
    if math.prod(grid.sizes[grid.frame_axes :]) == 1:
        bytes_after_voxels = drain(stream)
        if not tagged:
            notes += rest_notes(path, grid, bytes_after_voxels)
    return Volume(usable_frame.voxels, vox_to_ras, str(path), notes)


def frames(path: Path, stream: BinaryIO, grid: StoredGrid) -> Iterator[NDArray[np.float32]]:
    """The frames (i, j, k) in the order of the file, as float32 intensities; each is read when it
    is requested."""
    block_shape = grid.sizes[: grid.frame_axes]
    for _ in range(math.prod(grid.sizes[grid.frame_axes :])):
        voxels = np.empty(math.prod(block_shape), np.float32)
        filled_count = 0
        for stored_piece in stored_numbers(path, stream, math.prod(block_shape), grid.dtype):
            voxels[filled_count : filled_count + len(stored_piece)] = intensities(
                stored_piece, grid
            )
            filled_count += len(stored_piece)
        spatial_first = np.moveaxis(voxels.reshape(block_shape, order="F"), grid.spatial, (0, 1, 2))
        for frame_index in np.ndindex(*spatial_first.shape[3:]):
            frame = spatial_first[(..., *frame_index)]
            # of interleaved ones a view would keep all in memory
            yield frame.copy(order="K") if frame_index else frame
        del voxels, spatial_first, frame  # else they are in memory together with the next frame


class UsableFrame(NamedTuple):
    """A frame whose voxels can be used.

    voxels      (i, j, k), all finite
    notes       on what was done and chosen
    brightness  see `brightness`; 0 for a single frame
    """

    voxels: NDArray[np.float32]
    notes: tuple[str, ...]
    brightness: float


def first_usable(
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
        frame_brightness = brightness(lattice(frame, GLANCE_VOXELS)) if frame_count > 1 else 0.0
        choice_note = f"frame {frame_number} of {frame_count}, the first usable one"
        if chosen_frame is not None:
            if chosen_frame.brightness >= LEAST_BRIGHTNESS_RATIO * frame_brightness:
                break
            ratio_to_next = chosen_frame.brightness / frame_brightness
            choice_note = (
                f"frame {frame_number} of {frame_count}; the one before is {ratio_to_next:.1%} as bright, "
                "perhaps noise or nearly empty"
            )
        try:
            voxels, voxel_notes = usable_voxels(str(path), frame)
        except VolumeError as fault:
            if chosen_frame is not None:
                break
            first_fault = first_fault or fault
            if frame_number == MAX_UNUSABLE_FRAMES:
                break
        else:
            chosen_frame = UsableFrame(
                voxels,
                (choice_note, *voxel_notes) if frame_count > 1 else voxel_notes,
                frame_brightness,
            )
    if chosen_frame is None:
        assert first_fault is not None  # no size is 0, so there was a frame
        raise first_fault
    return chosen_frame


def brightness(sample: NDArray[np.float32]) -> float:
    """The 99.5th percentile of the absolute difference from the median, over the finite values of a
    sample (m,); 0 if there are none."""
    finite_values = sample[np.abs(sample) <= LARGEST_INTENSITY]
    if not finite_values.size:
        return 0.0
    return float(np.percentile(np.abs(finite_values - np.median(finite_values)), CLIP_PERCENTILE))


def intensities(stored: NDArray[Any], grid: StoredGrid) -> NDArray[np.float32]:
    """Stored numbers as float32 intensities."""
    # a float64 beyond float32 becomes inf, which `usable_voxels` handles
    with np.errstate(over="ignore", invalid="ignore"):
        if grid.slope == 1.0 and grid.intercept == 0.0:
            return stored.astype(np.float32, copy=False)
        return (stored * np.float64(grid.slope) + np.float64(grid.intercept)).astype(np.float32)
