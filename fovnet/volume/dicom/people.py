"""Patients whose images share a series UID, or have none, distinguished by the patient attributes
of the headers.

Careless pseudonymisation gives several people one PatientID and one series UID, or empty ones.
Birthdays and the words of a name are digests for comparison only: they are not written, and enter a
written hash, against which a guess could be checked, only for images without UID.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import PurePosixPath
from typing import NamedTuple

from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import Frame, ObjectFacts

# spellings compared in threes: for thousands, with another name in every image, it would take
# minutes
MAX_PEOPLE_COMPARED = 64
# letters that NFKD does not decompose
PLAIN_BY_LETTER = str.maketrans({"ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d"})

PLACEHOLDER_PATTERN = re.compile(
    r"|0|9+|1234\d*|X+|(ANON|PSEUDO|DE ?IDENT|DE ?PERSON)[A-Z]*|UNKNOWN|NONE|NULL|NIL|N ?A|NAN"
    r"|NO ?(ID|NAME)"
    r"|TEST|DUMMY|PATIENT( ?ID)?|PAT|SUBJECT|PERSON|NAME|ID|REMOVED|PRIVATE|HIDDEN|REDACTED"
    r"|MASKED|BLANK"
    r"|EMPTY"
)
"""What stands for a PatientID or a name that was removed, in the spelling of `normalise_patient_id`, as
capitals."""


class HeaderPerson(NamedTuple):
    """What headers call a person; each attribute is empty where it is missing.

    birthday_digest  a digest
    name_digests     a digest of each word
    """

    patient_id: str = ""
    birthday_digest: str = ""
    name_digests: frozenset[str] = frozenset()


class PersonImages(NamedTuple):
    """The images of one person."""

    person: HeaderPerson
    images: list[Frame]


def digest_birthday(written: str) -> str:
    """A digest of the digits of a complete date; empty for anything else."""
    digits = re.sub(r"\D", "", written)
    if len(digits) != 8 or not digits.strip("0"):
        return ""
    return _short_digest(digits)


@functools.lru_cache(maxsize=256)
def digest_name(written: str) -> frozenset[str]:
    """A digest of each word of a name, ignoring case, accents, umlauts written with e, and
    separators; initials are left out if there are longer words, unless those stand for a name that
    was removed (Anonymous^A)."""
    plain_letters = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", written)
        if not unicodedata.combining(letter)
    ).casefold()
    plain_letters = plain_letters.translate(PLAIN_BY_LETTER)
    words = re.findall(r"[^\W_]+", plain_letters)
    long_words = [word for word in words if len(word) > 1]
    if all(PLACEHOLDER_PATTERN.fullmatch(word.upper()) for word in long_words):
        long_words = words
    return frozenset(_short_digest(re.sub("(?<=[aou])e", "", word)) for word in long_words)


@functools.lru_cache(maxsize=4096)
def normalise_patient_id(patient_id: str) -> str:
    """A PatientID without what programs change when they copy it: case, blanks, zeros before a
    number."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", "".join(patient_id.split()).casefold())


def is_new_year(written: str) -> bool:
    """Whether a complete date is a 1 January: of a year whose month and day were removed, or of
    none."""
    return bool(re.fullmatch(r"\d{4}0101", re.sub(r"\D", "", written)))


def differing_attributes(frames: Sequence[Frame]) -> list[str]:
    """The patient attributes, in words, by which some of the images contradict others."""
    people = list(dict.fromkeys(_person_of_facts(frame.facts) for frame in frames))[
        :MAX_PEOPLE_COMPARED
    ]
    people_by_attribute = {
        "PatientID": [HeaderPerson(patient_id=person.patient_id) for person in people],
        "birth date": [HeaderPerson(birthday_digest=person.birthday_digest) for person in people],
        "name": [HeaderPerson(name_digests=person.name_digests) for person in people],
    }
    return [
        attribute
        for attribute, persons in people_by_attribute.items()
        if not all(
            _agrees_with(person, other_person) for person, other_person in combinations(persons, 2)
        )
    ]


def split_by_patient(frames: Sequence[Frame]) -> list[PersonImages]:
    """The images of one series UID, by person: all together unless patient attributes contradict
    each other.

    Without a series UID, only images in one folder belong together.  If neither PatientID nor name
    is given, folders in which image numbers recur are taken for different people (in one series
    split over several discs, the numbers continue).
    """
    frames_by_folder = [list(frames)]
    if not frames[0].facts.series_uid:
        frames_by_folder = _group_by_folder(frames)
    shares: list[PersonImages] = []
    for frames_of_folder in frames_by_folder:
        for person, images in group_by_person(frames_of_folder):
            image_groups = [images]
            if not is_identified(person):
                image_groups = _join_folders(images)
            shares += [PersonImages(person, image_group) for image_group in image_groups]
    return shares


def is_identified(person: HeaderPerson) -> bool:
    """Whether a PatientID or a name is given; a birthday alone does not identify a person."""
    return bool(person.patient_id or person.name_digests)


def group_by_person(frames: Sequence[Frame]) -> list[PersonImages]:
    """The images of each person: images whose PatientIDs, birthdays or names contradict each other
    are of different people.

    A name agrees with one that has further words: DOE^JANE and Doe, Jane Mary.  An empty attribute
    agrees with any: such images join the only person they agree with, and are kept apart if there
    are several. Beyond MAX_PEOPLE_COMPARED each spelling is a person.
    """
    images_by_spelling = group_by_key(frames, (_person_of_facts(frame.facts) for frame in frames))
    if len(images_by_spelling) > MAX_PEOPLE_COMPARED:
        return [PersonImages(spelling, images) for spelling, images in images_by_spelling.items()]
    people: list[PersonImages] = []
    ambiguous_people: list[PersonImages] = []
    for spelling in sorted(images_by_spelling, key=_most_known_first):
        images = images_by_spelling[spelling]
        matches = [
            person_index
            for person_index, (person, _) in enumerate(people)
            if _agrees_with(person, spelling)
        ]
        if _agrees_with_strangers(spelling, images_by_spelling) or len(matches) > 1:
            ambiguous_people.append(PersonImages(spelling, images))
        elif not matches:
            people.append(PersonImages(spelling, images))
        else:
            person, earlier_images = people[matches[0]]
            joined_person = _join_spellings(person, spelling)
            people[matches[0]] = PersonImages(joined_person, earlier_images + images)
    return people + ambiguous_people


def _most_known_first(person: HeaderPerson) -> tuple[int, int, str, str, list[str]]:
    """A key that sorts people by how many attributes and words of the name are known."""
    attribute_count = sum(map(bool, person))
    words = sorted(person.name_digests)
    return -attribute_count, -len(words), person.patient_id, person.birthday_digest, words


def _agrees_with_strangers(spelling: HeaderPerson, spellings: Iterable[HeaderPerson]) -> bool:
    """Whether two that do not agree with each other both agree with this one."""
    agreeing_spellings = [other for other in spellings if _agrees_with(spelling, other)]
    return not all(_agrees_with(*pair) for pair in combinations(agreeing_spellings, 2))


def _join_spellings(person: HeaderPerson, other_spelling: HeaderPerson) -> HeaderPerson:
    """The person with what another spelling adds."""
    return HeaderPerson(
        person.patient_id or other_spelling.patient_id,
        person.birthday_digest or other_spelling.birthday_digest,
        max(person.name_digests, other_spelling.name_digests, key=len),
    )


def digest_person(person: HeaderPerson, frames: Sequence[Frame]) -> str:
    """A digest for a person that does not depend on file paths: of the UID, number and position of
    their first image, and of the patient attributes only if that has no UID."""
    first_frame = min(
        frames,
        key=lambda frame: (
            frame.image_number,
            frame.sop_uid,
            frame.frame_number,
            frame.dicom_object,
        ),
    )
    identity_parts = [
        first_frame.sop_uid,
        str(first_frame.image_number),
        str(first_frame.position_mm),
    ]
    if not first_frame.sop_uid:
        identity_parts += [person.patient_id, person.birthday_digest, *sorted(person.name_digests)]
    return hashlib.sha256("\n".join(identity_parts).encode()).hexdigest()


def folder_of(frame: Frame) -> tuple[str, str]:
    """(folder of an image, ""), or (its archive, the folder within it)."""
    member = frame.dicom_object.member_name
    if member:
        return str(frame.dicom_object.path), str(PurePosixPath(member).parent)
    return str(frame.dicom_object.path.parent), ""


def _short_digest(word: str) -> str:
    return hashlib.sha256(word.encode(errors="replace")).hexdigest()[:12]


def _person_of_facts(facts: ObjectFacts) -> HeaderPerson:
    return HeaderPerson(facts.patient_id, facts.birthday_digest, facts.name_digests)


def _agrees_with(person: HeaderPerson, other_person: HeaderPerson) -> bool:
    """Whether all attributes given in both agree."""
    patient_id = normalise_patient_id(person.patient_id)
    other_id = normalise_patient_id(other_person.patient_id)
    if patient_id and other_id and patient_id != other_id:
        return False
    if (
        person.birthday_digest
        and other_person.birthday_digest
        and person.birthday_digest != other_person.birthday_digest
    ):
        return False
    if not person.name_digests or not other_person.name_digests:
        return True
    return (
        person.name_digests <= other_person.name_digests
        or other_person.name_digests <= person.name_digests
    )


def _group_by_folder(frames: Sequence[Frame]) -> list[list[Frame]]:
    return list(group_by_key(frames, map(folder_of, frames)).values())


def _join_folders(frames: Sequence[Frame]) -> list[list[Frame]]:
    """The images by groups of folders; folders are joined unless different images in them have the
    same number."""
    joined_groups: list[tuple[UidsByNumber, list[Frame]]] = []
    for frames_of_folder in _group_by_folder(frames):
        uids_by_number: UidsByNumber = {}
        for folder_frame in frames_of_folder:
            if folder_frame.image_number:
                number_and_attributes = folder_frame.image_number, folder_frame.volume_attributes
                uids_by_number.setdefault(number_and_attributes, set()).add(folder_frame.sop_uid)
        for group_numbers, images in joined_groups:
            if not _have_numbers_of_others(group_numbers, uids_by_number):
                for number, uids in uids_by_number.items():
                    group_numbers.setdefault(number, set()).update(uids)
                images.extend(frames_of_folder)
                break
        else:
            joined_groups.append((uids_by_number, frames_of_folder))
    return [images for _, images in joined_groups]


UidsByNumber = dict[tuple[int, tuple[tuple[str, str], ...]], set[str]]
"""UIDs of the images with each number and value of `Frame.volume_attributes`: images of different
echoes may have the same numbers."""


def _have_numbers_of_others(numbers: UidsByNumber, other_numbers: UidsByNumber) -> bool:
    """Whether a number occurs in both with no UID in common, so that the images are not copies."""
    return any(
        number in numbers and not (numbers[number] & uids) - {""}
        for number, uids in other_numbers.items()
    )
