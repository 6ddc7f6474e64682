"""The series in a DICOM place (file, folder, zip archive), from headers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from fovnet.errors import VolumeError
from fovnet.unforeseen import internal
from fovnet.volume.dicom.frames import frames_of
from fovnet.volume.dicom.groups import grouped
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.over_time import repeats_over_time
from fovnet.volume.dicom.series import Series, series_of
from fovnet.volume.dicom.source import Item, Unread, items_of


@dataclass(frozen=True)
class Survey:
    """The contents of a place: its series, and the objects that could not be used."""

    series: tuple[Series, ...]
    unread: tuple[Unread, ...]

    @property
    def readable(self) -> list[Series]:
        """The series that triage did not set aside."""
        return [series for series in self.series if not series.kind]


def survey(place: Path) -> Survey:
    """The contents of a place.  Raises VolumeError if it cannot be opened; a damaged object is listed in
    `unread` instead.

    Cached for the last few places, by name, size and modification time of every file under them.
    """
    place = Path(place)
    listed = tuple(items_of(place))
    items = tuple(one for one in listed if isinstance(one, Item))
    found = _remembered(items, tuple(file_stamp(path) for path in dict.fromkeys(item.path for item in items)))
    return Survey(found.series, (*(one for one in listed if isinstance(one, Unread)), *found.unread))


def file_stamp(path: Path) -> tuple[int, int]:
    """(size, modification time in ns) of a file, which show whether it has changed; (-1, -1) if they cannot
    be read."""
    try:
        facts = path.stat()
    except (OSError, ValueError):
        return -1, -1
    return facts.st_size, facts.st_mtime_ns


def survey_of(items: Sequence[Item | Unread]) -> Survey:
    """The contents of these objects together."""
    frames: list[Frame] = []
    unread = [one for one in items if isinstance(one, Unread)]
    for item in items:
        if isinstance(item, Item):
            try:
                frames += frames_of(item)
            except Exception as fault:      # invalid header values may raise any exception
                unread.append(Unread(item, _refusal(item, fault)))
    # positions of 1e308 mm are refused when they are read
    with np.errstate(over="ignore", invalid="ignore"):
        series, refused = _grouped(frames)
    # a DICOMDIR matters if it is alone
    kept = [one for one in unread if not one.is_directory] or ([] if frames else unread)
    return Survey(tuple(series), (*kept, *refused))


def _refusal(item: Item, fault: Exception) -> VolumeError:
    """Why an object could not be used."""
    match fault:
        case VolumeError():
            return fault
        case FileNotFoundError():
            return VolumeError("volume-missing", f"{item}: there is no such file. Check the path.")
        case PermissionError():
            told = "may not be read by this user. Change its permissions (chmod u+r)."
            return VolumeError("volume-permission", f"{item}: {told}")
        case OSError():
            told = f"cannot be read ({fault.strerror}). Check the disk."
            return VolumeError("volume-unreadable", f"{item}: {told}")
    damaged = f"{item}: damaged DICOM header ({type(fault).__name__}). Export it again."
    return VolumeError("volume-corrupt", damaged)


def _grouped(frames: Sequence[Frame]) -> tuple[list[Series], list[Unread]]:
    """The series; if grouping raises an unexpected exception, only of those series UIDs that do not, and the
    objects of the others."""
    try:
        return repeats_over_time(series_of(frames)), []
    except Exception as fault:
        together = grouped(frames, (frame.facts.series_uid for frame in frames))
        if len(together) < 2:
            return [], [
                Unread(item, internal(item, fault)) for item in dict.fromkeys(frame.item for frame in frames)
            ]
    parts = [_grouped(own) for own in together.values()]
    return [one for series, _ in parts for one in series], [one for _, refused in parts for one in refused]


@lru_cache(maxsize=4)
def _remembered(items: tuple[Item, ...], stamps: tuple[tuple[int, int], ...]) -> Survey:
    """`survey_of`, cached: headers are read once for a batch of series of one folder; `stamps` invalidate it
    when a file changes."""
    return survey_of(items)
