"""DICOM: a place (file, folder, zip archive) to the volumes in it, and one of them to a Volume.

`survey` says what a place holds, from headers alone; `read` gives the one volume there is to read, or the one that a path names
behind `#` (see `address`).  A series that is named so is read even where triage would have set it aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from fovnet.errors import VolumeError
from fovnet.volume.checks import refuse_affine, times, usable
from fovnet.volume.dicom.address import address, split_address
from fovnet.volume.dicom.frames import frames_of
from fovnet.volume.dicom.grid import Stand, grid_of, stand_of, without_doubles
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.pixels import planes_of
from fovnet.volume.dicom.series import Series, series_of
from fovnet.volume.dicom.source import ZIP_MAGIC, Item, Unread, begins_like_dicom, items_of
from fovnet.volume.dicom.triage import INCLUDABLE
from fovnet.volume.grid import Limits
from fovnet.volume.unpacking import is_gzip
from fovnet.volume.volume import Images, Volume
from fovnet.words import several

MAX_SERIES_VOXELS = 2**29       # a series is held whole: 2 GiB as float32
LISTED = 6                      # series that a message names
CODES = {"no-pixels": "volume-no-pixels", "colour": "volume-rgb", "screenshot": "volume-screenshot", "localizer": "volume-localizer",
         "derived": "volume-derived", "phase": "volume-phase", "single": "volume-single", "modality": "volume-modality",
         "repeat": "volume-repeat"}


@dataclass(frozen=True)
class Survey:
    """What a place holds: its groups of images, and the objects that could not be used."""

    series: tuple[Series, ...]
    unread: tuple[Unread, ...]

    @property
    def readable(self) -> list[Series]:
        """The series that triage did not set aside."""
        return [series for series in self.series if not series.kind]


def claims(path: Path, opening: bytes) -> bool:
    """Whether the path is a folder, a series of a place, a zip archive or a DICOM file; one packed with gzip is none."""
    place, wanted = split_address(path)
    return bool(wanted) or place.is_dir() or opening.startswith(ZIP_MAGIC) or (begins_like_dicom(opening) and not is_gzip(place))


def files_of(path: Path) -> tuple[Path, ...]:
    """The files that hold the volume's images; an archive is one file."""
    return tuple(dict.fromkeys(item.path for item in _chosen(path)[1].items))


def images_of(path: Path) -> tuple[Frame, ...]:
    """The images of the volume that a path means.  Raises VolumeError as `read`."""
    return _chosen(path)[1].frames


def stamp_of(path: Path) -> list[list[int]]:
    """Size and time of change of every file that the answer for this path depends on.  Raises VolumeError as `survey`."""
    place, wanted = split_address(Path(path))
    items = [item for series in survey(place).series if series.is_called(wanted) for item in series.items] if wanted else [
        one.item if isinstance(one, Unread) else one for one in items_of(place)
    ]
    return [list(stamp(file)) for file in dict.fromkeys([item.path for item in items] or [place])]


def survey(place: Path) -> Survey:
    """What a place holds.  Raises VolumeError where it cannot be looked into; a single damaged object is listed instead.

    Remembered for the last few places, by name, size and time of change of every file under them.
    """
    place = Path(place)
    listed = tuple(items_of(place))
    items = tuple(one for one in listed if isinstance(one, Item))
    found = _remembered(items, tuple(stamp(path) for path in dict.fromkeys(item.path for item in items)))
    return Survey(found.series, (*(one for one in listed if isinstance(one, Unread)), *found.unread))


def stamp(path: Path) -> tuple[int, int]:
    """Size and time of change of a file, by which it is known to be the same; (-1, -1) where it cannot be asked."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return -1, -1
    return facts.st_size, facts.st_mtime_ns


def survey_of(items: Sequence[Item | Unread]) -> Survey:
    """What these objects hold together."""
    frames: list[Frame] = []
    unread = [one for one in items if isinstance(one, Unread)]
    for item in items:
        if isinstance(item, Item):
            try:
                frames += frames_of(item)
            except VolumeError as fault:
                unread.append(Unread(item, fault))
            except FileNotFoundError:
                unread.append(Unread(item, VolumeError("volume-missing", f"{item}: there is no such file. Check the path.")))
            except PermissionError:
                unread.append(Unread(item, VolumeError("volume-permission", f"{item}: may not be read by this user. "
                                                                            "Change its permissions (chmod u+r).")))
            except OSError as fault:
                unread.append(Unread(item, VolumeError("volume-unreadable", f"{item}: cannot be read ({fault.strerror}). Check the disk.")))
            except Exception as fault:      # a header's values meet code that never saw their like
                damaged = f"{item}: damaged DICOM header ({type(fault).__name__}). Export it again."
                unread.append(Unread(item, VolumeError("volume-corrupt", damaged)))
    return Survey(tuple(series_of(frames)), tuple(unread))


def read(path: Path, limits: Limits) -> Volume:
    """The one volume of a place, or the one an address names, on the grid of its images (columns, rows, slices).

    Raises VolumeError: "volume-several" where there are several to read, listing them; the code of the triage where there is none;
    "volume-geometry", "volume-gaps", "volume-doubled", "volume-tilt" for images that make no regular grid; those of `pixels`.
    """
    source, series = _chosen(path)
    try:
        volume = _stacked(source, series, min(limits.max_voxels, MAX_SERIES_VOXELS))
        return replace(volume, notes=(*volume.notes, *_unused_beside(path)))
    except (VolumeError, MemoryError, OSError):
        raise
    except Exception as fault:          # values their authors never saw; the library's own words might repeat a header's
        raise VolumeError("volume-corrupt", f"{source}: damaged DICOM ({type(fault).__name__}). Export it again.") from fault


def told_beside(path: Path) -> tuple[str, ...]:
    """What is told of a volume because of other objects of its place: that it is one of several, that some could not be used.

    Raises VolumeError as `read`.
    """
    return (*_chosen(path)[1].notes, *_unused_beside(path))


def _unused_beside(path: Path) -> tuple[str, ...]:
    unread = 0 if split_address(path)[1] else len(survey(Path(path)).unread)
    return (f"{several(unread, 'object')} beside it could not be used",) if unread else ()


def _stacked(source: str, series: Series, max_voxels: int) -> Volume:
    """The volume of a group of images."""
    frames = series.frames
    shape = (frames[0].columns, frames[0].rows, len(frames))
    if min(shape) < 1:
        raise VolumeError("volume-shape", f"{source}: images of {times(shape[:2])} pixels. Export the series again.")
    if int(np.prod(shape, dtype=np.float64)) > max_voxels:
        raise VolumeError("volume-too-large", f"{source}: {times(shape)} voxels; the limit is {max_voxels:,}. "
                                              "Resample it, or convert it to NIfTI (dcm2niix), which is read slab by slab.")
    stand = stand_of(source, frames)
    ordered = [frames[index] for index in stand.order]
    planes = planes_of(source, ordered)
    kept = without_doubles(source, planes, stand)
    notes = list(series.notes)
    if series.copies or len(kept) < len(frames):
        notes.append(f"{several(len(series.copies) + len(frames) - len(kept), 'doubled image')} left out: identical")
    if len(kept) < len(frames):
        planes, ordered = planes[kept], [ordered[index] for index in kept]
        stand = Stand(kept, stand.along[kept], stand.across[kept], stand.axes, stand.origin, stand.spacing_mm)
    grid = grid_of(source, planes, stand)
    refuse_affine(source, grid.vox_to_ras)
    voxels, more = usable(source, grid.voxels)
    images = Images(2, tuple(ordered[index].sop_uid for index in grid.nearest), tuple(ordered[index].number for index in grid.nearest))
    return Volume(voxels, grid.vox_to_ras, source, (*notes, *grid.notes, *more), images=images)


def _chosen(path: Path) -> tuple[str, Series]:
    """(the path for messages, the series it means).  Raises VolumeError where it means none, or several."""
    place, wanted = split_address(Path(path))
    if wanted and not place.exists():
        raise VolumeError("volume-missing", f"{path}: there is no {place} to hold that series. If it was moved, give its new path, "
                                            f"with the same #{wanted}.")
    found = survey(place)
    if wanted:
        named = next((series for series in found.series if series.is_called(wanted)), None)
        if named is None:
            raise VolumeError("volume-series", f"{path}: no such series in {place}. {_listing(place, found)}")
        if named.kind and named.kind not in INCLUDABLE:
            raise VolumeError(_code(named), f"{path}: {named.reason}. Give an MR series.")
        return str(path), named
    if len(found.readable) == 1:
        return str(path), found.readable[0]
    if found.readable:
        raise VolumeError("volume-several", f"{path}: {len(found.readable)} volumes. Name one of them. {_listing(place, found)}")
    raise _nothing(place, found)


def _nothing(place: Path, found: Survey) -> VolumeError:
    """Why a place gives no volume."""
    if not found.series:
        if found.unread:
            first, *others = found.unread
            return VolumeError(first.fault.code, f"{place}: none of {len(found.unread)} objects can be used; the first: "
                                                 f"{first.fault.sentence} Nor: {_names(others)}.") if others else first.fault
        what = "folder" if place.is_dir() else "archive"
        return VolumeError("volume-no-dicom", f"{place}: no DICOM image in this {what}. Name a volume, or the folder that "
                                              "holds the series.")
    codes = {_code(series) for series in found.series}
    remedy = "Give an MR series of several images."
    if codes <= {CODES[kind] for kind in INCLUDABLE}:
        remedy = f"Name a series behind # to have it read all the same (of predict also --include {found.series[0].kind})."
    if codes == {"volume-single"} and not place.is_dir():
        remedy = "Name the folder that holds the whole series."
        if len(found.series[0].items) == 1 and found.series[0].frames[0].number:
            remedy = "None of its frames is a volume by itself; give a stack of slices."
            if len(found.series) > 1 and len({series.frames[0].position for series in found.series} | {None}) == 2:
                remedy = "Frames of one place over time are no volume; give a stack of slices."
    code = codes.pop() if len(codes) == 1 else "volume-set-aside"
    return VolumeError(code, f"{place}: nothing to read by default. {remedy} {_listing(place, found)}")


def _names(unread: Sequence[Unread]) -> str:
    """The members or files, as many as a message names."""
    named = ", ".join(one.item.member or one.item.path.name for one in unread[:LISTED])
    return named + (f" and {len(unread) - LISTED} more" if len(unread) > LISTED else "")


def _code(series: Series) -> str:
    return "volume-ct" if series.frames[0].facts.modality == "CT" and series.kind == "modality" else CODES[series.kind]


def _listing(place: Path, found: Survey) -> str:
    """The series of a place as a message lists them, and how many objects were no use."""
    lines = []
    for series in found.series[:LISTED]:
        size = f"{several(len(series.frames), 'image')} of {series.frames[0].columns} × {series.frames[0].rows}"
        lines.append(f"{address(place, series.id)} ({size}{series.kind and ': ' + series.reason})")
    more = len(found.series) - LISTED
    listed = "There are: " + ", ".join(lines) + (f" and {more} more" if more > 0 else "") + "." if lines else "There is none."
    return listed + (f" {several(len(found.unread), 'object')} could not be used." if found.unread else "")


@lru_cache(maxsize=4)
def _remembered(items: tuple[Item, ...], stamps: tuple[tuple[int, int], ...]) -> Survey:
    """Headers are read once for a batch that reads one series after another of a folder; `stamps` sees to it that they are still true."""
    return survey_of(items)
