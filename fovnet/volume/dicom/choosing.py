"""The series that a path means, and the refusal if it means none or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import address, split_address
from fovnet.volume.dicom.positions import LEAST_IMAGES
from fovnet.volume.dicom.series import Series
from fovnet.volume.dicom.source import GUNZIP, Unread, files_under, is_packed, kind_of_document
from fovnet.volume.dicom.survey import DicomSurvey, find_series, survey
from fovnet.volume.dicom.triage import INCLUDABLE
from fovnet.volume.dicom.uids import difference
from fovnet.words import several

MOST_LISTED = 6  # most series listed in a message
CODE_BY_KIND = {
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

    unread  number of objects beside it that could not be used; 0 if the path is its address
    """

    path: str
    series: Series
    unread: int

    @property
    def files(self) -> tuple[Path, ...]:
        """The files with its images; an archive is one file."""
        return tuple(dict.fromkeys(item.path for item in self.series.items))

    @property
    def beside(self) -> tuple[str, ...]:
        """Notes that depend on other objects of its place: that it is one of several, that some could not
        be used."""
        return (*self.series.notes, *self.unused)

    @property
    def unused(self) -> tuple[str, ...]:
        """A note on the unread objects, if there are any."""
        return (
            (f"{several(self.unread, 'object')} beside it could not be used",)
            if self.unread
            else ()
        )


def choose_series(path: Path) -> SeriesChoice:
    """The series that a path means.  Raises VolumeError if it means none, or several."""
    place, wanted = split_address(Path(path))
    if wanted and not place.exists():
        raise VolumeError(
            "volume-missing",
            f"{path}: {place} does not exist. If it was moved, give its new path, "
            f"with the same #{wanted}.",
        )
    if wanted:
        named = find_series(place, wanted)
        if named is None:
            listing = _listing(place, survey(place))
            raise VolumeError("volume-series", f"{path}: no such series in {place}. {listing}")
        if named.kind and named.kind not in INCLUDABLE:
            raise VolumeError(_code(named), f"{path}: {named.reason}. Give an MR series.")
        return SeriesChoice(str(path), named, 0)
    found = survey(place)
    if len(found.readable) == 1:
        return SeriesChoice(str(path), found.readable[0], len(found.unread))
    if found.readable:
        raise VolumeError(
            "volume-several",
            f"{path}: {len(found.readable)} volumes. Name one of them. {_listing(place, found)}",
        )
    raise _refusal_of_place(place, found)


def _refusal_of_place(place: Path, found: DicomSurvey) -> VolumeError:
    """The refusal of a place without a readable volume."""
    if not found.series:
        if found.unread:
            first, *others = found.unread
            return (
                VolumeError(
                    first.fault.code,
                    f"{place}: none of {len(found.unread)} objects can be used; the first: "
                    f"{first.fault.sentence} Nor: {_names(others)}.",
                )
                if others
                else first.fault
            )
        document = "" if place.is_dir() else kind_of_document(place)
        what = "folder" if place.is_dir() else "archive"
        packed = (
            next((path for path in files_under(place) if is_packed(path)), None)
            if place.is_dir()
            else None
        )
        if packed:
            return VolumeError(
                "volume-format", f"{packed}: a DICOM file packed with gzip. {GUNZIP}"
            )
        seen = (
            f"this is {document}, not an archive of images"
            if document
            else f"no DICOM image in this {what}"
        )
        return VolumeError(
            "volume-no-dicom",
            f"{place}: {seen}. Name a volume, or the folder that holds the series.",
        )
    codes = {_code(series) for series in found.series}
    remedy = "Give an MR series of several images."
    if codes <= {CODE_BY_KIND[kind] for kind in INCLUDABLE}:
        remedy = (
            "Name a series after # to read it anyway (with predict also --include "
            f"{found.series[0].kind})."
        )
    firsts = [series.frames[0] for series in found.series]
    series_uids = {first.facts.series_uid for first in firsts}
    study_uids = {first.facts.study_uid for first in firsts}
    if (
        codes == {"volume-single"}
        and len(firsts) >= LEAST_IMAGES
        and len(firsts) in (len(series_uids), len(study_uids))
    ):
        level = "series" if len(series_uids) == len(firsts) else "study"
        remedy = (
            f"Each image has a {level} UID of its own, and {difference(firsts)}. If they are one stack, "
            "give them one StudyInstanceUID and SeriesInstanceUID, and one value of what differs."
        )
    elif codes == {"volume-single"} and not place.is_dir():
        remedy = "Name the folder that holds the whole series."
        if len(found.series[0].items) == 1 and found.series[0].frames[0].number:
            remedy = "None of its frames is a volume by itself; give a stack of slices."
            if (
                len(found.series) > 1
                and len({series.frames[0].position for series in found.series} | {None}) == 2
            ):
                remedy = (
                    "Frames of one position over time are not a volume; give a stack of slices."
                )
    code = codes.pop() if len(codes) == 1 else "volume-set-aside"
    return VolumeError(
        code, f"{place}: nothing to read by default. {remedy} {_listing(place, found)}"
    )


def _names(unread: Sequence[Unread]) -> str:
    """The names of the members or files, at most LISTED."""
    named = ", ".join(one.item.member or one.item.path.name for one in unread[:MOST_LISTED])
    return named + (f" and {len(unread) - MOST_LISTED} more" if len(unread) > MOST_LISTED else "")


def _code(series: Series) -> str:
    return (
        "volume-ct"
        if series.frames[0].facts.modality == "CT" and series.kind == "modality"
        else CODE_BY_KIND[series.kind]
    )


def _listing(place: Path, found: DicomSurvey) -> str:
    """The series of a place, listed for a message, and the number of objects that could not be used."""
    lines = []
    for series in found.series[:MOST_LISTED]:
        size = f"{several(len(series.frames), 'image')} of {series.frames[0].columns} × {series.frames[0].rows}"
        lines.append(f"{address(place, series.id)} ({size}{series.kind and ': ' + series.reason})")
    more = len(found.series) - MOST_LISTED
    listed = (
        "There are: " + ", ".join(lines) + (f" and {more} more" if more > 0 else "") + "."
        if lines
        else "There is none."
    )
    return listed + (
        f" {several(len(found.unread), 'object')} could not be used." if found.unread else ""
    )
