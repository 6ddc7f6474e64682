"""The series in a DICOM place (file, folder, zip archive), from headers alone."""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np

from fovnet.errors import VolumeError
from fovnet.unforeseen import internal
from fovnet.volume.dicom.frames import read_frames
from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.over_time import set_time_points_aside
from fovnet.volume.dicom.series import Series, group_into_volumes
from fovnet.volume.dicom.source import DicomObject, UnreadObject, list_objects


@dataclass(frozen=True)
class DicomSurvey:
    """The contents of a place: its series, and the objects that could not be used."""

    series: tuple[Series, ...]
    unread_objects: tuple[UnreadObject, ...]

    @property
    def readable_series(self) -> list[Series]:
        """The series that triage did not set aside."""
        return [series for series in self.series if not series.aside_kind]


ProgressReport = Callable[[int, int], None]


def survey(
    place: Path, items: Sequence[DicomObject] | None = None, progress: ProgressReport | None = None
) -> DicomSurvey:
    """The contents of a place.  Raises VolumeError if it cannot be opened; a damaged object is
    listed in `unread` instead.

    items     its objects, where they are known already
    progress  told after each header (done, total)

    Remembered for the last few places, as long as names, sizes and modification times of all files
    under them stay the same: headers are read once for a batch of series of one folder.
    """
    place = Path(place)
    stamps = _stamp_everything_under(place)
    remembered = _REMEMBERED_SURVEYS.get(place)
    if remembered is None or remembered.stamp_by_path != stamps:
        found_items = tuple(list_objects(place)) if items is None else items
        remembered = _RememberedSurvey(stamps, survey_objects(found_items, progress))
    with _LOCK:
        _REMEMBERED_SURVEYS[place] = remembered
        _REMEMBERED_SURVEYS.move_to_end(place)
        while len(_REMEMBERED_SURVEYS) > MAX_REMEMBERED_SURVEYS:
            _REMEMBERED_SURVEYS.popitem(last=False)
    return remembered.survey


def forget_survey(place: Path) -> None:
    """Frees the memory of a survey that will not be asked for again."""
    with _LOCK:
        _REMEMBERED_SURVEYS.pop(Path(place), None)


def find_series(place: Path, digits: str) -> Series | None:
    """The series of a place that an address means; None if there is none.  Raises as `survey`.

    Of a place that is remembered only its folders and the files of this series are asked whether
    they have changed: a thousand series of a folder would ask a thousand times for all files.
    """
    place = Path(place)
    remembered = _REMEMBERED_SURVEYS.get(place)
    series = remembered.series_by_id.get(digits) if remembered else None
    if remembered and series:
        paths_to_check = [*remembered.folder_paths, *(str(item.path) for item in series.objects)]
        if all(_stamp(path) == remembered.stamp_by_path.get(path) for path in paths_to_check):
            return series
    dicom_survey = survey(place)
    return next((series for series in dicom_survey.series if series.has_id(digits)), None)


def file_stamp(path: Path) -> tuple[int, int]:
    """(size, modification time in ns) of a file, which show whether it has changed; (-1, -1) if
    they cannot be read."""
    try:
        file_status = path.stat()
    except (OSError, ValueError):
        return -1, -1
    return file_status.st_size, file_status.st_mtime_ns


def survey_objects(
    items: Sequence[DicomObject | UnreadObject], progress: ProgressReport | None = None
) -> DicomSurvey:
    """The contents of these objects together; `progress` as in `survey`."""
    frames: list[Frame] = []
    unread = [entry for entry in items if isinstance(entry, UnreadObject)]
    for item_number, item in enumerate(items, start=1):
        if progress is not None:
            progress(item_number, len(items))
        if isinstance(item, DicomObject):
            try:
                frames += read_frames(item)
            except Exception as fault:  # invalid header values may raise any exception
                unread.append(UnreadObject(item, _refusal_of_object(item, fault)))
    # positions of 1e308 mm are refused when they are read
    with np.errstate(over="ignore", invalid="ignore"):
        series, refused_items = _group_series(frames)
    lost_objects = [entry for entry in unread if not entry.is_dicomdir]
    if not frames and not lost_objects:
        lost_objects = unread  # a DICOMDIR matters if it is alone
    return DicomSurvey(tuple(series), (*lost_objects, *refused_items))


def _refusal_of_object(item: DicomObject, fault: Exception) -> VolumeError:
    """Why an object could not be used."""
    match fault:
        case VolumeError():
            return fault
        case FileNotFoundError():
            return VolumeError("volume-missing", f"{item}: there is no such file. Check the path.")
        case PermissionError():
            sentence = "may not be read by this user. Change its permissions (chmod u+r)."
            return VolumeError("volume-permission", f"{item}: {sentence}")
        case OSError():
            sentence = f"cannot be read ({fault.strerror}). Check the disk."
            return VolumeError("volume-unreadable", f"{item}: {sentence}")
    damage_sentence = f"{item}: damaged DICOM header ({type(fault).__name__}). Export it again."
    return VolumeError("volume-corrupt", damage_sentence)


def _group_series(frames: Sequence[Frame]) -> tuple[list[Series], list[UnreadObject]]:
    """(series, objects that could not be grouped): if grouping raises an unexpected exception, the
    series of those series UIDs that do not, and the objects of the others."""
    try:
        return set_time_points_aside(group_into_volumes(frames)), []
    except Exception as fault:
        frames_by_uid = group_by_key(frames, (frame.facts.series_uid for frame in frames))
        if len(frames_by_uid) < 2:
            items = dict.fromkeys(frame.item for frame in frames)
            return [], [UnreadObject(item, internal(item, fault)) for item in items]
    all_series: list[Series] = []
    all_refused: list[UnreadObject] = []
    for images in frames_by_uid.values():
        series, refused = _group_series(images)
        all_series += series
        all_refused += refused
    return all_series, all_refused


Stamp = tuple[int, int, int]
MAX_REMEMBERED_SURVEYS = 4


@dataclass(frozen=True)
class _RememberedSurvey:
    """The contents of a place, and by path the stamps of all folders and files under it when it was
    read."""

    stamp_by_path: dict[str, Stamp]
    survey: DicomSurvey

    @cached_property
    def folder_paths(self) -> list[str]:
        return [path for path, (mode, _, _) in self.stamp_by_path.items() if stat.S_ISDIR(mode)]

    @cached_property
    def series_by_id(self) -> dict[str, Series]:
        """The series by the digits of their addresses; as in a search, the first that is called
        so."""
        digits_and_series = [
            (digits, series)
            for series in self.survey.series
            for digits in (series.id, *series.other_ids)
        ]
        return dict(reversed(digits_and_series))


_REMEMBERED_SURVEYS: OrderedDict[Path, _RememberedSurvey] = OrderedDict()
_LOCK = Lock()  # volumes are read by threads


def _stamp_everything_under(place: Path) -> dict[str, Stamp]:
    """The stamps of a place and of what `files_under` lists in it, by path."""
    stamps = {str(place): _stamp(str(place))}
    for parent, subfolders, file_names in os.walk(place):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for name in (*subfolders, *(name for name in file_names if not name.startswith("."))):
            path = os.path.join(parent, name)  # noqa: PTH118  (a Path takes ten times as long)
            stamps[path] = _stamp(path)
    return stamps


def _stamp(path: str) -> Stamp:
    """Mode, size and modification time in ns; of a file, folder or archive that cannot be asked,
    -1."""
    try:
        file_status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return -1, -1, -1
    return file_status.st_mode, file_status.st_size, file_status.st_mtime_ns
