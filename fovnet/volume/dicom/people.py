"""Patients whose images share a series UID, or have none, distinguished by the patient attributes of the
headers.

Careless pseudonymisation gives several people one PatientID and one series UID, or empty ones.  Birthdays and
the words of a name are digests for comparison only: they are not written, and enter a written hash, against
which a guess could be checked, only for images without UID.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations
from pathlib import PurePosixPath

from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import Frame, ObjectFacts

# spellings compared in threes: for thousands, with another name in every image, it would take minutes
MOST_PEOPLE = 64
# letters that NFKD does not decompose
LETTERS = str.maketrans({"ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d"})

PLACEHOLDER = re.compile(
    r"|0|9+|1234\d*|X+|(ANON|PSEUDO|DE ?IDENT|DE ?PERSON)[A-Z]*|UNKNOWN|NONE|NULL|NIL|N ?A|NAN|NO ?(ID|NAME)"
    r"|TEST|DUMMY|PATIENT( ?ID)?|PAT|SUBJECT|PERSON|NAME|ID|REMOVED|PRIVATE|HIDDEN|REDACTED|MASKED|BLANK"
    r"|EMPTY"
)
"""What stands for a PatientID or a name that was removed, in the spelling of `spelling_of`, as capitals."""

Person = tuple[str, str, frozenset[str]]
"""PatientID, birthday, words of the name; each empty where it is missing."""


def birthday_of(written: str) -> str:
    """A digest of the digits of a complete date; empty for anything else."""
    digits = re.sub(r"\D", "", written)
    return _digest(digits) if len(digits) == 8 and digits.strip("0") else ""


@functools.lru_cache(maxsize=256)
def name_of(written: str) -> frozenset[str]:
    """A digest of each word of a name, ignoring case, accents, umlauts written with e, and separators;
    initials are left out if there are longer words, unless those stand for a name that was removed
    (Anonymous^A)."""
    plain = "".join(
        letter
        for letter in unicodedata.normalize("NFKD", written)
        if not unicodedata.combining(letter)
    ).casefold()
    plain = plain.translate(LETTERS)
    words = re.findall(r"[^\W_]+", plain)
    long = [word for word in words if len(word) > 1]
    if all(PLACEHOLDER.fullmatch(word.upper()) for word in long):
        long = words
    return frozenset(_digest(re.sub("(?<=[aou])e", "", word)) for word in long)


@functools.lru_cache(maxsize=4096)
def spelling_of(patient_id: str) -> str:
    """A PatientID without what programs change when they copy it: case, blanks, zeros before a number."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", "".join(patient_id.split()).casefold())


def is_new_year(written: str) -> bool:
    """Whether a complete date is a 1 January: of a year whose month and day were removed, or of none."""
    return bool(re.fullmatch(r"\d{4}0101", re.sub(r"\D", "", written)))


def differing_attributes(frames: Sequence[Frame]) -> list[str]:
    """The patient attributes, in words, by which some of the images contradict others."""
    people = list(dict.fromkeys(_person(frame.facts) for frame in frames))[:MOST_PEOPLE]
    pairs = list(combinations(people, 2))
    return [
        name
        for index, name in enumerate(("PatientID", "birth date", "name"))
        if not all(
            _agree(_attribute_alone(index, one), _attribute_alone(index, other))
            for one, other in pairs
        )
    ]


def _attribute_alone(index: int, person: Person) -> Person:
    """The person by one attribute alone."""
    return (
        person[0] if index == 0 else "",
        person[1] if index == 1 else "",
        person[2] if index == 2 else frozenset(),
    )


def shares_of(frames: Sequence[Frame]) -> list[tuple[Person, list[Frame]]]:
    """(person, images) of one series UID: a single pair unless patient attributes contradict each other.

    Without a series UID, only images in one folder belong together.  If neither PatientID nor name is given,
    folders in which image numbers recur are taken for different people (in one series split over several
    discs, the numbers continue).
    """
    folders = [list(frames)] if frames[0].facts.series_uid else _group_by_folder(frames)
    shares = [share for folder in folders for share in people_of(folder)]
    return [
        (person, own)
        for person, together in shares
        for own in ([together] if is_identified(person) else _join_folders(together))
    ]


def is_identified(person: Person) -> bool:
    """Whether a PatientID or a name is given; a birthday alone does not identify a person."""
    return bool(person[0] or person[2])


def people_of(frames: Sequence[Frame]) -> list[tuple[Person, list[Frame]]]:
    """(person, images): images whose PatientIDs, birthdays or names contradict each other are of different
    people.

    A name agrees with one that has further words: DOE^JANE and Doe, Jane Mary.  An empty attribute agrees
    with any: such images join the only person they agree with, and are kept apart if there are several.
    Beyond MOST_PEOPLE each spelling is a person.
    """
    images = group_by_key(frames, (_person(frame.facts) for frame in frames))
    if len(images) > MOST_PEOPLE:
        return list(images.items())
    people: list[tuple[Person, list[Frame]]] = []
    unclear: list[tuple[Person, list[Frame]]] = []
    friends = {one: [other for other in images if _agree(one, other)] for one in images}
    torn = {
        one
        for one, alike in friends.items()
        if not all(_agree(*two) for two in combinations(alike, 2))
    }
    for one in sorted(
        images, key=lambda one: (-sum(map(bool, one)), -len(one[2]), one[0], one[1], sorted(one[2]))
    ):
        alike = [index for index, (person, _) in enumerate(people) if _agree(person, one)]
        if one in torn:
            unclear.append((one, images[one]))
        elif len(alike) == 1:
            person, own = people[alike[0]]
            people[alike[0]] = (
                (person[0] or one[0], person[1] or one[1], max(person[2], one[2], key=len)),
                own + images[one],
            )
        else:
            (unclear if alike else people).append((one, images[one]))
    return people + unclear


def digest_of(person: Person, frames: Sequence[Frame]) -> str:
    """A digest for a person that does not depend on file paths: of the UID, number and position of their
    first image, and of the patient attributes only if that has no UID."""
    first = min(frames, key=lambda one: (one.instance, one.sop_uid, one.number, one.item))
    identity = [first.sop_uid, str(first.instance), str(first.position)]
    if not first.sop_uid:
        identity += [person[0], person[1], *sorted(person[2])]
    return hashlib.sha256("\n".join(identity).encode()).hexdigest()


def folder_of(frame: Frame) -> tuple[str, str]:
    """(folder of an image, ""), or (its archive, the folder within it)."""
    path, member = frame.item.path, frame.item.member
    return (str(path), str(PurePosixPath(member).parent)) if member else (str(path.parent), "")


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode(errors="replace")).hexdigest()[:12]


def _person(facts: ObjectFacts) -> Person:
    return facts.patient_id, facts.birthday, facts.name


def _agree(one: Person, other: Person) -> bool:
    """Whether all attributes given in both agree."""
    mine, others = (spelling_of(one[0]), one[1]), (spelling_of(other[0]), other[1])
    same = all(
        not mine[index] or not others[index] or mine[index] == others[index] for index in (0, 1)
    )
    return same and (not one[2] or not other[2] or one[2] <= other[2] or other[2] <= one[2])


def _group_by_folder(frames: Sequence[Frame]) -> list[list[Frame]]:
    return list(group_by_key(frames, map(folder_of, frames)).values())


def _join_folders(frames: Sequence[Frame]) -> list[list[Frame]]:
    """The images by groups of folders; folders are joined unless different images in them have the same
    number."""
    groups: list[tuple[Numbers, list[Frame]]] = []
    for folder in _group_by_folder(frames):
        numbers: Numbers = {}
        for frame in folder:
            if frame.instance:
                numbers.setdefault((frame.instance, frame.apart), set()).add(frame.sop_uid)
        group = next((group for group in groups if not _collide(group[0], numbers)), None)
        if group is None:
            groups.append((numbers, folder))
            continue
        for number, uids in numbers.items():
            group[0].setdefault(number, set()).update(uids)
        group[1].extend(folder)
    return [own for _, own in groups]


Numbers = dict[tuple[int, tuple[tuple[str, str], ...]], set[str]]
"""UIDs of the images with each number and value of `Frame.apart`: images of different echoes may have the
same numbers."""


def _collide(taken: Numbers, numbers: Numbers) -> bool:
    """Whether a number occurs in both with no UID in common, so that the images are not copies."""
    return any(
        number in taken and not (taken[number] & uids) - {""} for number, uids in numbers.items()
    )
