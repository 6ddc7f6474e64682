"""Images grouped into volumes.

A DICOM series may contain several volumes: echoes, cardiac or contrast phases, b-values, magnitude
and phase, the three planes of a localiser.  Images are separated by attributes that are constant
within a volume (`keys`), then by position (`parting`).
"""

from __future__ import annotations

import functools
import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from fovnet.volume.dicom.animals import ANIMAL_NOTE, UNCLEAR_NOTE
from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.keys import KEY_ATTRIBUTES, VolumeKey, clean_series_number, make_keys
from fovnet.volume.dicom.parting import separate_volumes
from fovnet.volume.dicom.people import (
    differing_attributes,
    digest_person,
    folder_of,
    is_identified,
    normalise_patient_id,
    split_by_patient,
)
from fovnet.volume.dicom.repeats import LOOK_ATTRIBUTES, shows_same_slices_as, shows_some_slices_of
from fovnet.volume.dicom.source import DicomObject, open_object
from fovnet.volume.dicom.triage import classify_images
from fovnet.volume.dicom.uids import group_by_series, note_on_joining


@dataclass(frozen=True)
class Series:
    """The images of one volume, in the order of their numbers.

    series_id          twelve hex digits, independent of file paths, but different if images of
                       another patient with this series UID lie beside them or another series under
                       the same UID
    other_ids          the ids in these cases; they are valid as addresses without the other images,
                       too
    person_digest      a digest of the person, the same for all their volumes under one series UID
    family_key         its series UID, else its folder, and its series number if there are several
                       under one UID; of time points that have a UID each, that of the first
    aside_kind         why it is set aside, in a word; empty for one to read
    aside_reason       the same in a sentence
    notes              sentences on other volumes in the series
    copied_objects     the object of each copy of an image that was left out
    truncated_objects  those of them that are cut short
    """

    series_id: str
    frames: tuple[Frame, ...]
    aside_kind: str = ""
    aside_reason: str = ""
    copied_objects: tuple[DicomObject, ...] = ()
    truncated_objects: tuple[DicomObject, ...] = ()
    notes: tuple[str, ...] = ()
    other_ids: tuple[str, ...] = ()
    person_digest: str = ""
    family_key: str = ""

    @property
    def is_set_aside(self) -> bool:
        """Whether it is not read by default."""
        return bool(self.aside_kind)

    def has_id(self, series_id: str) -> bool:
        """Whether an address with this id means this series."""
        return series_id in (self.series_id, *self.other_ids)

    @property
    def objects(self) -> list[DicomObject]:
        """The objects that contain the images, each once."""
        return list(dict.fromkeys(frame.dicom_object for frame in self.frames))


def group_into_volumes(frames: Sequence[Frame]) -> list[Series]:
    """The groups of images, in the order of series number and image number.

    Images of other modalities, colour images and secondary captures are grouped apart, whatever
    their series UID; so are the images of each person if several share a series UID, or have none,
    as after careless pseudonymisation.
    """
    series_list = [
        series for images in group_by_series(frames) for series in _series_of_uid(images)
    ]
    return sorted(
        series_list,
        key=lambda series: (
            int(_number_for_sorting(series.frames[0].facts.series_number)),
            series.frames[0].facts.series_uid,
            series.frames[0].image_number,
            series.series_id,
        ),
    )


SHARED_UID_NOTE = "its series UID is that of another patient's images too"
SPELLINGS_NOTE = "its PatientID is written in several ways (leading zeros, case, blanks)"
UNIDENTIFIED_NOTE = (
    "its series UID is also that of images in another folder, numbered alike, and neither names "
    "its patient"
)


def _series_of_uid(frames: list[Frame]) -> list[Series]:
    """The groups of one series UID, separately for each person."""
    person_shares = split_by_patient(frames)
    notes: list[str] = []
    if len(person_shares) > 1 and frames[0].facts.series_uid:
        people_note = UNIDENTIFIED_NOTE
        if any(is_identified(person) for person, _ in person_shares):
            people_note = f"{SHARED_UID_NOTE}, by {', '.join(differing_attributes(frames))}"
        notes.append(people_note)
    if joining_note := note_on_joining(frames):
        notes.append(joining_note)
    taken_ids: set[str] = set()
    series_list: list[Series] = []
    images_with_digest = [
        (digest_person(person, images), images) for person, images in person_shares
    ]
    for digest, images in sorted(images_with_digest, key=lambda pair: pair[0]):
        spellings = {frame.facts.patient_id for frame in images} - {""}
        person_notes = list(notes)
        if len(spellings) > 1 and len(set(map(normalise_patient_id, spellings))) == 1:
            person_notes.append(SPELLINGS_NOTE)
        share = PersonShare(digest, len(person_shares) > 1, tuple(person_notes))
        series_list += _series_of_person(images, share, taken_ids)
    return series_list


@dataclass(frozen=True)
class PersonShare:
    """The person of these images (a digest), whether other people's images have the same series
    UID, and notes on the UIDs."""

    person_digest: str
    has_other_people: bool
    notes: tuple[str, ...]


def _series_of_person(frames: list[Frame], share: PersonShare, taken_ids: set[str]) -> list[Series]:
    """The groups of one person's images of a series.  If there are several people, the ids depend
    on the person; new ids are added to `taken_ids`."""
    frames, copies, truncated_objects = _remove_copies(sorted(frames, key=_order_of_frame))
    images_by_key = group_by_key(frames, make_keys(frames))
    differing_names = [
        name
        for index, name in enumerate(KEY_ATTRIBUTES)
        if len({key[index] for key in images_by_key}) > 1
    ]
    versions_by_key = {key: _split_versions(images) for key, images in images_by_key.items()}
    keyed_parts = [
        (key, part)
        for key, (first, *_) in versions_by_key.items()
        for part in separate_volumes(first)
    ]
    differing_names += sorted({name for _, part in keyed_parts for name in part.attribute_names})
    notes = [_species_note(frames[0]), *share.notes]
    series_list: list[Series] = []
    for part_number, (key, part) in enumerate(keyed_parts, start=1):
        images = tuple(part.frames)
        number_note = _number_note(part_number, len(keyed_parts), differing_names)
        copied_objects = [
            copied_object for frame in images for copied_object in copies.pop(_image_id(frame), ())
        ]
        kind, reason = classify_images(images)
        series_id, *other_ids = _make_ids(images[0], key, part.attribute_values, share, taken_ids)
        taken_ids.add(series_id)
        series_list.append(
            Series(
                series_id=series_id,
                frames=images,
                aside_kind=kind,
                aside_reason=reason,
                copied_objects=tuple(copied_objects),
                truncated_objects=tuple(
                    copied_object
                    for copied_object in copied_objects
                    if copied_object in truncated_objects
                ),
                notes=tuple(filter(None, (*notes, number_note))) + images[0].notes,
                other_ids=tuple(other_ids),
                person_digest=share.person_digest,
                family_key=_family_of_image(frames[0], key),
            )
        )
    for key, (_, *other_versions) in versions_by_key.items():
        family = _family_of_image(frames[0], key)
        for version in other_versions:
            series_list.append(_make_other_version(tuple(version), key, family, share, taken_ids))
            taken_ids.add(series_list[-1].series_id)
    series_list.sort(key=lambda series: series.frames[0].image_number)
    return _set_repeats_aside(series_list, differing_names)


def _number_note(part_number: int, part_count: int, differing_names: Sequence[str]) -> str:
    """Which of several volumes of a series this is; "" for the only one."""
    if part_count == 1:
        return ""
    differences = ", ".join(differing_names)
    return f"volume {part_number} of {part_count} of its series, told apart by {differences}"


def _order_of_frame(frame: Frame) -> tuple[Any, ...]:
    """By image number; the rest settles ties, whatever order the files were found in."""
    return frame.image_number, frame.sop_uid, frame.frame_number, frame.dicom_object


def _species_note(frame: Frame) -> str:
    if frame.facts.is_animal:
        return ANIMAL_NOTE
    if frame.facts.has_unclear_species:
        return UNCLEAR_NOTE
    return ""


def _make_other_version(
    images: tuple[Frame, ...],
    key: VolumeKey,
    family: str,
    share: PersonShare,
    taken_ids: Collection[str],
) -> Series:
    """The group of images that are read from another folder."""
    kind, reason = classify_images(images)
    if kind in ("", "single"):
        kind = "repeat"
        reason = OTHER_VERSION_REASON
    share_alone = replace(share, has_other_people=False)
    series_id, *_ = _make_ids(images[0], key, (OTHER_VERSION_REASON,), share_alone, taken_ids)
    return Series(
        series_id=series_id,
        frames=images,
        aside_kind=kind,
        aside_reason=reason,
        person_digest=share.person_digest,
        family_key=family,
    )


def _family_of_image(first_frame: Frame, image_key: VolumeKey) -> str:
    return "\n".join(
        (first_frame.facts.series_uid or str(first_frame.dicom_object.path.parent), image_key[-1])
    )


OTHER_VERSION_REASON = "another version of images that are read from another folder"


def _split_versions(frames: list[Frame]) -> list[list[Frame]]:
    """[images with one version of each, then the other versions, grouped by folder].

    Images with the same SOP Instance UID, number and position but different bytes are versions of
    one image, edited or recompressed. The version in the folder with most of these images is used,
    of several such in the first; two in one folder are both kept.
    """
    versions_by_image = group_by_key(
        frames, ((_image_id(frame), frame.image_number, frame.position_mm) for frame in frames)
    )
    image_counts = Counter(map(folder_of, frames))
    chosen_frames: list[Frame] = []
    others_by_folder: dict[tuple[str, str], list[Frame]] = {}
    for versions in versions_by_image.values():
        folders = [folder_of(frame) for frame in versions]
        best_folder = min(folders, key=lambda folder: (-image_counts[folder], folder))
        for frame, folder in zip(versions, folders, strict=True):
            if not frame.sop_uid or folder == best_folder:
                chosen_frames.append(frame)
            else:
                others_by_folder.setdefault(folder, []).append(frame)
    return [chosen_frames, *others_by_folder.values()]


def _set_repeats_aside(series_list: list[Series], differing_names: list[str]) -> list[Series]:
    """The groups; of those that show the same slices at another time, echo or b-value, all but the
    first get the kind "repeat", and those that show only some of them."""
    distinct_series: list[Series] = []
    series_with_kinds = []
    readable_series = [series for series in series_list if not series.is_set_aside]
    differing_phrase = " or ".join(
        attribute for attribute in differing_names if attribute not in LOOK_ATTRIBUTES
    )
    for series in series_list:
        reason = ""
        if not series.is_set_aside:
            if _repeats_any(series, distinct_series, shows_same_slices_as):
                reason = f"the same slices once more, of another {differing_phrase}"
            elif _repeats_any(series, readable_series, shows_some_slices_of):
                reason = (
                    f"some of the same slices once more, of another {differing_phrase}: broken off"
                )
            else:
                distinct_series.append(series)
        if reason:
            series = replace(series, aside_kind="repeat", aside_reason=reason)
        series_with_kinds.append(series)
    return series_with_kinds


def _repeats_any(
    series: Series,
    other_series: Iterable[Series],
    shows_slices: Callable[[Sequence[Frame], Sequence[Frame]], bool],
) -> bool:
    """Whether a series shows slices of another one of its family."""
    return any(
        series.family_key == earlier_series.family_key
        and shows_slices(series.frames, earlier_series.frames)
        for earlier_series in other_series
    )


ImageId = tuple[str, int, tuple[int, int] | None]


def _image_id(frame: Frame) -> ImageId:
    return frame.sop_uid, frame.frame_number, frame.tile_origin


def _remove_copies(
    frames: list[Frame],
) -> tuple[list[Frame], dict[ImageId, list[DicomObject]], set[DicomObject]]:
    """(images without copies, the objects with the copies of each, those that are shorter): files
    of one UID are copies if the shorter is the beginning of the other.

    So a file truncated while it was copied is a copy; the longest is kept.
    """
    # for each image: the objects with a different version of it, and its index in `originals`
    indices_by_image: dict[ImageId, dict[DicomObject, int]] = {}
    originals: list[Frame] = []
    copies_by_image: dict[ImageId, list[DicomObject]] = {}
    truncated_objects: set[DicomObject] = set()
    # an object with a thousand frames is read once
    begins_alike = functools.cache(_does_one_begin_like_other)
    byte_count = functools.cache(_count_bytes)
    for frame in frames:
        index_by_object: dict[DicomObject, int] = {}
        if frame.sop_uid:
            index_by_object = indices_by_image.setdefault(_image_id(frame), {})
        same_object = next(
            (
                dicom_object
                for dicom_object in index_by_object
                if dicom_object == frame.dicom_object
                or begins_alike(dicom_object, frame.dicom_object)
            ),
            None,
        )
        if same_object is None:
            index_by_object[frame.dicom_object] = len(originals)
            originals.append(frame)
            continue
        copied_object = frame.dicom_object
        whole_object = same_object
        if same_object != frame.dicom_object and byte_count(frame.dicom_object) > byte_count(
            same_object
        ):
            index_by_object[frame.dicom_object] = index_by_object.pop(same_object)
            originals[index_by_object[frame.dicom_object]] = frame
            copied_object = same_object
            whole_object = frame.dicom_object
        if byte_count(copied_object) < byte_count(whole_object):
            truncated_objects.add(copied_object)
        copies_by_image.setdefault(_image_id(frame), []).append(copied_object)
    return originals, copies_by_image, truncated_objects


def _does_one_begin_like_other(dicom_object: DicomObject, other_object: DicomObject) -> bool:
    """Whether one of two objects is the beginning of the other."""
    with open_object(dicom_object) as file, open_object(other_object) as other_file:
        content = file.read()
        other_content = other_file.read()
    return content.startswith(other_content) or other_content.startswith(content)


def _count_bytes(dicom_object: DicomObject) -> int:
    with open_object(dicom_object) as file:
        return int(file.seek(0, 2))


def _make_ids(
    first_frame: Frame,
    image_key: VolumeKey,
    part_values: VolumeKey,
    share: PersonShare,
    taken_ids: Collection[str],
) -> list[str]:
    """The id, then those that it has where images of another person, or of another series, lie
    under the same UID too."""
    *key_values, series_number = image_key
    number_choices = [[series_number]]
    if not series_number:
        number_choices = [[], [clean_series_number(first_frame)]]
    digest_choices = [[share.person_digest]]
    if not share.has_other_people:
        digest_choices = [[], [share.person_digest]]
    return [
        _make_new_id(
            first_frame, (*key_values, *part_values, *number_words, *digest_words), taken_ids
        )
        for number_words, digest_words in product(number_choices, digest_choices)
    ]


def _make_new_id(frame: Frame, key: tuple[str, ...], taken_ids: Collection[str]) -> str:
    """Twelve hex digits that are not in `taken_ids`."""
    attempt_count = 0
    while True:
        hashed_words = [frame.facts.study_uid, frame.facts.series_uid, *key, str(attempt_count)]
        new_id = hashlib.sha256("\n".join(hashed_words).encode()).hexdigest()[:12]
        if new_id not in taken_ids:
            return new_id
        attempt_count += 1


def _number_for_sorting(number: str) -> str:
    """A series number of digits that fit into 64 bits; "0" for any other."""
    if number.isascii() and number.isdigit() and len(number) < 18:
        return number
    return "0"
