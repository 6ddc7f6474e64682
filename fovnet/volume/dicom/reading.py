"""From a DICOM path to a Volume.

A container (file, folder, zip archive) means its only readable volume; a path with a series id after
`#` (see `address`) means that series, which is read even if triage sets it aside as one of the
kinds `triage.INCLUDABLE_KINDS`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fovnet.errors import VolumeError
from fovnet.volume.checks import join_sizes, make_voxels_usable, refuse_affine
from fovnet.volume.dicom.choosing import SeriesChoice, choose_series
from fovnet.volume.dicom.grid import build_regular_grid, find_distinct_images, locate_images
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.mixed import refuse_mixture
from fovnet.volume.dicom.pixels import read_planes
from fovnet.volume.dicom.series import Series
from fovnet.volume.grid import refuse_size
from fovnet.volume.volume import Images, Volume
from fovnet.words import several


def files_of(path: Path) -> tuple[Path, ...]:
    """The files with the volume's images; an archive is one file."""
    return choose_series(path).files


def images_of(path: Path) -> tuple[Frame, ...]:
    """The images of the volume that a path means.  Raises VolumeError as `read`."""
    return choose_series(path).series.frames


def read(path: Path) -> Volume:
    """The only volume of a container, or that of an address, on the grid of its images (columns, rows,
    slices).

    Raises VolumeError: "volume-several" if several can be read, listing them; the code of the
    triage if none can; and as `volume_of`.
    """
    return volume_of(choose_series(path))


def volume_of(choice: SeriesChoice) -> Volume:
    """The volume of a series.

    Raises VolumeError: "volume-geometry", "volume-gaps", "volume-doubled", "volume-tilt" for images
    that do not form a regular grid; "volume-too-large"; those of `pixels`.
    """
    try:
        volume = _stack_images(choice.path, choice.series)
        return replace(volume, notes=(*volume.notes, *choice.unread_object_notes))
    except (VolumeError, MemoryError, OSError):
        raise
    except Exception as fault:
        # damaged data raise any; its message is left out, as it may quote the header
        sentence = f"{choice.path}: damaged DICOM ({type(fault).__name__}). Export it again."
        raise VolumeError("volume-corrupt", sentence) from fault


def _stack_images(source: str, series: Series) -> Volume:
    """The volume of one group of images."""
    frames = series.frames
    shape = (frames[0].columns, frames[0].rows, len(frames))
    if min(shape) < 1:
        raise VolumeError(
            "volume-shape",
            f"{source}: images of {join_sizes(shape[:2])} pixels. Export the series again.",
        )
    refuse_size(source, shape)
    positions = locate_images(source, frames)
    refuse_mixture(source, frames)
    ordered_frames = [frames[image_index] for image_index in positions.image_order]
    planes = read_planes(source, ordered_frames)
    distinct_indices = find_distinct_images(source, planes, positions)
    notes = list(series.notes)
    identical_count = (
        len(series.copied_objects)
        - len(series.truncated_objects)
        + len(frames)
        - len(distinct_indices)
    )
    if identical_count:
        notes.append(f"{several(identical_count, 'doubled image')} left out: identical")
    if series.truncated_objects:
        notes.append(
            f"{several(len(series.truncated_objects), 'doubled image')} left out: cut short"
        )
    if len(distinct_indices) < len(frames):
        planes = planes[distinct_indices]
        ordered_frames = [ordered_frames[image_index] for image_index in distinct_indices]
        positions = replace(
            positions,
            image_order=distinct_indices,
            depths_mm=positions.depths_mm[distinct_indices],
            shifts_mm=positions.shifts_mm[distinct_indices],
        )
    grid = build_regular_grid(source, planes, positions)
    refuse_affine(source, grid.vox_to_ras)
    voxels, intensity_notes = make_voxels_usable(source, grid.voxels)
    nearest_frames = [ordered_frames[image_index] for image_index in grid.nearest_images]
    images = Images(
        2,
        tuple(frame.sop_uid for frame in nearest_frames),
        tuple(frame.frame_number for frame in nearest_frames),
    )
    return Volume(
        voxels, grid.vox_to_ras, source, (*notes, *grid.notes, *intensity_notes), images=images
    )
