"""The series in a DICOM container (file, folder, zip archive), from headers alone."""

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
from fovnet.volume.dicom.frames import forget_names, read_frames
from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import Frame, without_warnings
from fovnet.volume.dicom.over_time import set_time_points_aside
from fovnet.volume.dicom.series import Series, group_into_volumes
from fovnet.volume.dicom.source import DicomObject, UnreadObject, list_objects


@dataclass(frozen=True)
class DicomSurvey:
    """The contents of a container: its series, and the objects that could not be used."""

    series: tuple[Series, ...]
    unread_objects: tuple[UnreadObject, ...]

    @property
    def readable_series(self) -> list[Series]:
        """The series that triage did not set aside."""
        return [series for series in self.series if not series.is_set_aside]


ProgressReport = Callable[[int, int], None]


def survey(
    container: Path,
    dicom_objects: Sequence[DicomObject] | None = None,
    progress: ProgressReport | None = None,
) -> DicomSurvey:
    """The contents of a container.  Raises VolumeError if it cannot be opened; a damaged object is
    listed in `unread_objects` instead.

    dicom_objects  its objects, where they are known already
    progress       called after each header with (how many are done, how many there are)

    Remembered for the last few containers, as long as names, sizes and modification times of all files
    under them stay the same: headers are read once for a batch of series of one folder.
    """
    container = Path(container)
    stamp_by_path = _stamp_everything_under(container)
    remembered = _REMEMBERED_SURVEYS.get(container)
    if remembered is None or remembered.stamp_by_path != stamp_by_path:
        objects: Sequence[DicomObject | UnreadObject] = dicom_objects or ()
        if dicom_objects is None:
            objects = tuple(list_objects(container))
        remembered = _RememberedSurvey(stamp_by_path, survey_objects(objects, progress))
    with _LOCK:
        _REMEMBERED_SURVEYS[container] = remembered
        _REMEMBERED_SURVEYS.move_to_end(container)
        while len(_REMEMBERED_SURVEYS) > MAX_REMEMBERED_SURVEYS:
            _REMEMBERED_SURVEYS.popitem(last=False)
    return remembered.survey


def forget_survey(container: Path) -> None:
    """Frees the memory of a survey that will not be asked for again."""
    with _LOCK:
        _REMEMBERED_SURVEYS.pop(Path(container), None)


def find_series(container: Path, series_id: str) -> Series | None:
    """The series of a container that an address means; None if there is none.  Raises as `survey`.

    Of a container that is remembered only its folders and the files of this series are asked whether
    they have changed: a thousand series of a folder would ask a thousand times for all files.
    """
    container = Path(container)
    remembered = _REMEMBERED_SURVEYS.get(container)
    if remembered and series_id in remembered.series_by_id:
        series = remembered.series_by_id[series_id]
        paths_to_check = [
            *remembered.folder_paths,
            *(str(dicom_object.path) for dicom_object in series.objects),
        ]
        if all(_stamp(path) == remembered.stamp_by_path.get(path) for path in paths_to_check):
            return series
    dicom_survey = survey(container)
    return next((series for series in dicom_survey.series if series.has_id(series_id)), None)


def file_stamp(path: Path) -> tuple[int, int]:
    """(size, modification time in ns) of a file, which show whether it has changed; (-1, -1) if
    they cannot be read."""
    try:
        file_status = path.stat()
    except (OSError, ValueError):
        return -1, -1
    return file_status.st_size, file_status.st_mtime_ns


def survey_objects(
    dicom_objects: Sequence[DicomObject | UnreadObject], progress: ProgressReport | None = None
) -> DicomSurvey:
    """The series in these objects together, and the objects that could not be used.

    progress  called after each header with (how many are done, how many there are)
    """
    frames: list[Frame] = []
    unread_objects = [unread for unread in dicom_objects if isinstance(unread, UnreadObject)]
    with without_warnings():
        for object_number, dicom_object in enumerate(dicom_objects, start=1):
            if progress is not None:
                progress(object_number, len(dicom_objects))
            if isinstance(dicom_object, DicomObject):
                try:
                    frames += read_frames(dicom_object)
                except Exception as fault:  # invalid header values may raise any exception
                    unread_objects.append(
                        UnreadObject(dicom_object, _refusal_of_object(dicom_object, fault))
                    )
    forget_names()
    # positions of 1e308 mm are refused when they are read
    with np.errstate(over="ignore", invalid="ignore"):
        series_list, ungrouped_objects = _group_series(frames)
    lost_objects = [unread for unread in unread_objects if not unread.is_dicomdir]
    if not frames and not lost_objects:
        lost_objects = unread_objects  # a DICOMDIR matters if it is alone
    return DicomSurvey(tuple(series_list), (*lost_objects, *ungrouped_objects))


def _refusal_of_object(dicom_object: DicomObject, fault: Exception) -> VolumeError:
    """Why an object could not be used."""
    match fault:
        case VolumeError():
            return fault
        case FileNotFoundError():
            return VolumeError(
                "volume-missing", f"{dicom_object}: there is no such file. Check the path."
            )
        case PermissionError():
            sentence = "may not be read by this user. Change its permissions (chmod u+r)."
            return VolumeError("volume-permission", f"{dicom_object}: {sentence}")
        case OSError():
            sentence = f"cannot be read ({fault.strerror}). Check the disk."
            return VolumeError("volume-unreadable", f"{dicom_object}: {sentence}")
    damage_sentence = (
        f"{dicom_object}: damaged DICOM header ({type(fault).__name__}). Export it again."
    )
    return VolumeError("volume-corrupt", damage_sentence)


def _group_series(frames: Sequence[Frame]) -> tuple[list[Series], list[UnreadObject]]:
    """(series, objects that could not be grouped): if grouping raises an unexpected exception, the
    series of those series UIDs that do not, and the objects of the others."""
    try:
        return set_time_points_aside(group_into_volumes(frames)), []
    except Exception as fault:
        frames_by_uid = group_by_key(frames, (frame.facts.series_uid for frame in frames))
        if len(frames_by_uid) < 2:
            dicom_objects = dict.fromkeys(frame.dicom_object for frame in frames)
            return [], [
                UnreadObject(dicom_object, internal(dicom_object, fault))
                for dicom_object in dicom_objects
            ]
    all_series: list[Series] = []
    all_ungrouped: list[UnreadObject] = []
    for frames_of_uid in frames_by_uid.values():
        series_list, ungrouped_objects = _group_series(frames_of_uid)
        all_series += series_list
        all_ungrouped += ungrouped_objects
    return all_series, all_ungrouped


Stamp = tuple[int, int, int]
MAX_REMEMBERED_SURVEYS = 4


@dataclass(frozen=True)
class _RememberedSurvey:
    """The contents of a container, and by path the stamps of all folders and files under it when it was
    read."""

    stamp_by_path: dict[str, Stamp]
    survey: DicomSurvey

    @cached_property
    def folder_paths(self) -> list[str]:
        return [path for path, (mode, _, _) in self.stamp_by_path.items() if stat.S_ISDIR(mode)]

    @cached_property
    def series_by_id(self) -> dict[str, Series]:
        """The series by every id that they have; of several with one id the first."""
        id_and_series = [
            (series_id, series)
            for series in self.survey.series
            for series_id in (series.series_id, *series.other_ids)
        ]
        return dict(reversed(id_and_series))


_REMEMBERED_SURVEYS: OrderedDict[Path, _RememberedSurvey] = OrderedDict()
_LOCK = Lock()  # volumes are read by threads


def _stamp_everything_under(container: Path) -> dict[str, Stamp]:
    """The stamps of a container and of what `files_under` lists in it, by path."""
    stamp_by_path = {str(container): _stamp(str(container))}
    for parent, subfolders, file_names in os.walk(container):
        subfolders[:] = [name for name in subfolders if not name.startswith(".")]
        for name in (*subfolders, *(name for name in file_names if not name.startswith("."))):
            path = os.path.join(parent, name)  # noqa: PTH118  (a Path takes ten times as long)
            stamp_by_path[path] = _stamp(path)
    return stamp_by_path


def _stamp(path: str) -> Stamp:
    """Mode, size and modification time in ns; of a file, folder or archive that cannot be asked,
    -1."""
    try:
        file_status = os.stat(path)  # noqa: PTH116
    except (OSError, ValueError):
        return -1, -1, -1
    return file_status.st_mode, file_status.st_size, file_status.st_mtime_ns
