"""The series that a path means, and the refusal if it means none or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import address, split_address
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.positions import LEAST_STACK_IMAGES
from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.source import (
    GUNZIP_REMEDY,
    UnreadObject,
    files_under,
    find_document_kind,
    is_gzip_of_dicom,
)
from fovnet.volume.dicom.survey import DicomSurvey, find_series, survey
from fovnet.volume.dicom.triage import INCLUDABLE_KINDS
from fovnet.volume.dicom.uids import describe_difference
from fovnet.words import several

MAX_LISTED = 6  # most series listed in a message
CODE_BY_ASIDE_KIND = {
    "no-pixels": "volume-no-pixels",
    "colour": "volume-rgb",
    "screenshot": "volume-screenshot",
    "localizer": "volume-localizer",
    "derived": "volume-derived",
    "phase": "volume-phase",
    "single": "volume-single",
    "modality": "volume-modality",
    "repeat": "volume-repeat",
    "animal": "volume-animal",
}


@dataclass(frozen=True)
class SeriesChoice:
    """The series that a path means.

    unread_count  of objects beside it that could not be used; 0 if the path is its address
    """

    path: str
    series: Series
    unread_count: int

    @property
    def files(self) -> tuple[Path, ...]:
        """The files with its images; an archive is one file."""
        return tuple(dict.fromkeys(dicom_object.path for dicom_object in self.series.objects))

    @property
    def neighbour_notes(self) -> tuple[str, ...]:
        """Notes that depend on other objects of its container: that it is one of several, that some
        could not be used."""
        return (*self.series.notes, *self.unread_object_notes)

    @property
    def unread_object_notes(self) -> tuple[str, ...]:
        """A note on the unread objects, if there are any."""
        if not self.unread_count:
            return ()
        return (f"{several(self.unread_count, 'object')} beside it could not be used",)


def choose_series(path: Path) -> SeriesChoice:
    """The series that a path means.  Raises VolumeError if it means none, or several."""
    container, series_id = split_address(Path(path))
    if series_id and not container.exists():
        raise VolumeError(
            "volume-missing",
            f"{path}: {container} does not exist. If it was moved, give its new path, "
            f"with the same #{series_id}.",
        )
    if series_id:
        series = find_series(container, series_id)
        if series is None:
            series_listing = _list_series_in_words(container, survey(container))
            raise VolumeError(
                "volume-series", f"{path}: no such series in {container}. {series_listing}"
            )
        if series.is_set_aside and series.aside_kind not in INCLUDABLE_KINDS:
            raise VolumeError(
                _error_code(series), f"{path}: {series.aside_reason}. Give an MR series."
            )
        return SeriesChoice(str(path), series, 0)
    dicom_survey = survey(container)
    if len(dicom_survey.readable_series) == 1:
        return SeriesChoice(
            str(path), dicom_survey.readable_series[0], len(dicom_survey.unread_objects)
        )
    if dicom_survey.readable_series:
        raise VolumeError(
            "volume-several",
            f"{path}: {len(dicom_survey.readable_series)} volumes. Name one of them. "
            f"{_list_series_in_words(container, dicom_survey)}",
        )
    raise _refusal_of_container(container, dicom_survey)


def _refusal_of_container(container: Path, dicom_survey: DicomSurvey) -> VolumeError:
    """The refusal of a container without a readable volume."""
    if dicom_survey.series:
        error_codes = {_error_code(series) for series in dicom_survey.series}
        error_code = "volume-set-aside"
        if len(error_codes) == 1:
            (error_code,) = error_codes
        remedy = _remedy_for_set_aside(container, dicom_survey.series)
        listing = _list_series_in_words(container, dicom_survey)
        return VolumeError(
            error_code, f"{container}: nothing to read by default. {remedy} {listing}"
        )
    if dicom_survey.unread_objects:
        return _refusal_of_objects(container, dicom_survey.unread_objects)
    return _refusal_without_dicom(container)


def _refusal_of_objects(container: Path, unread_objects: Sequence[UnreadObject]) -> VolumeError:
    """The refusal of a container all of whose objects cannot be used."""
    first_object, *other_objects = unread_objects
    if not other_objects:
        return first_object.fault
    return VolumeError(
        first_object.fault.code,
        f"{container}: none of {len(unread_objects)} objects can be used; the first: "
        f"{first_object.fault.sentence} Nor: {_list_names(other_objects)}.",
    )


def _refusal_without_dicom(container: Path) -> VolumeError:
    """The refusal of a container in which nothing looks like DICOM."""
    if container.is_dir():
        for path in files_under(container):
            if is_gzip_of_dicom(path):
                sentence = f"{path}: a DICOM file packed with gzip. {GUNZIP_REMEDY}"
                return VolumeError("volume-format", sentence)
        sentence_start = "no DICOM image in this folder"
    elif document_kind := find_document_kind(container):
        sentence_start = f"this is {document_kind}, not an archive of images"
    else:
        sentence_start = "no DICOM image in this archive"
    return VolumeError(
        "volume-no-dicom",
        f"{container}: {sentence_start}. Name a volume, or the folder that holds the series.",
    )


def _remedy_for_set_aside(container: Path, series_list: Sequence[Series]) -> str:
    """What to do where every series is set aside, in a sentence."""
    error_codes = {_error_code(series) for series in series_list}
    if error_codes == {"volume-single"}:
        first_frames = [series.frames[0] for series in series_list]
        uid_level = _level_of_own_uids(first_frames)
        if uid_level:
            return (
                f"Each image has a {uid_level} UID of its own, and {describe_difference(first_frames)}. If they are "
                "one stack, give them one StudyInstanceUID and SeriesInstanceUID, and one value "
                "of what differs."
            )
        if not container.is_dir():
            return _remedy_of_single_file(series_list)
    if error_codes <= {CODE_BY_ASIDE_KIND[kind] for kind in INCLUDABLE_KINDS}:
        return (
            "Name a series after # to read it anyway (with predict also --include "
            f"{series_list[0].aside_kind})."
        )
    return "Give an MR series of several images."


def _level_of_own_uids(first_frames: Sequence[Frame]) -> str:
    """ "series" or "study", if as many images as make a stack have a UID of that level each; else
    empty."""
    if len(first_frames) < LEAST_STACK_IMAGES:
        return ""
    if len({frame.facts.series_uid for frame in first_frames}) == len(first_frames):
        return "series"
    if len({frame.facts.study_uid for frame in first_frames}) == len(first_frames):
        return "study"
    return ""


def _remedy_of_single_file(series_list: Sequence[Series]) -> str:
    """What to do where a file or archive holds single images."""
    if len(series_list[0].objects) != 1 or not series_list[0].frames[0].frame_number:
        return "Name the folder that holds the whole series."
    positions = {series.frames[0].position_mm for series in series_list} | {None}
    if len(series_list) > 1 and len(positions) == 2:
        return "Frames of one position over time are not a volume; give a stack of slices."
    return "None of its frames is a volume by itself; give a stack of slices."


def _list_names(unread_objects: Sequence[UnreadObject]) -> str:
    """The names of the members or files, at most MAX_LISTED, and how many more there are."""
    listed_objects = [unread.dicom_object for unread in unread_objects[:MAX_LISTED]]
    names = ", ".join(listed.member_name or listed.path.name for listed in listed_objects)
    return names + _and_more(len(unread_objects))


def _and_more(count: int) -> str:
    """ "and 3 more", if more than MAX_LISTED are to be listed; else empty."""
    if count <= MAX_LISTED:
        return ""
    return f" and {count - MAX_LISTED} more"


def _error_code(series: Series) -> str:
    """The error code for reading a series that is set aside."""
    if series.aside_kind == "modality" and series.frames[0].facts.modality == "CT":
        return "volume-ct"
    return CODE_BY_ASIDE_KIND[series.aside_kind]


def _list_series_in_words(container: Path, dicom_survey: DicomSurvey) -> str:
    """The series of a container, listed for a message, and the number of objects that could not be
    used."""
    series_phrases = []
    for series in dicom_survey.series[:MAX_LISTED]:
        first_frame = series.frames[0]
        size_phrase = (
            f"{several(len(series.frames), 'image')} of {first_frame.columns} × {first_frame.rows}"
        )
        reason_phrase = ""
        if series.is_set_aside:
            reason_phrase = f": {series.aside_reason}"
        series_phrases.append(
            f"{address(container, series.series_id)} ({size_phrase}{reason_phrase})"
        )
    listing = "There is none."
    if series_phrases:
        listing = f"There are: {', '.join(series_phrases)}{_and_more(len(dicom_survey.series))}."
    if dicom_survey.unread_objects:
        listing += f" {several(len(dicom_survey.unread_objects), 'object')} could not be used."
    return listing
