"""Whose images share a series UID, or have none: people distinguished by the patient attributes of the headers.

Careless pseudonyms leave several people one PatientID and one series UID, or blanks.  Birthdays and the words of a name are digests,
compared and never written, nor hashed into what is: a guessed name could be checked against the hash.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations
from pathlib import PurePosixPath

from fovnet.volume.dicom.header import Facts, Frame

MOST_PEOPLE = 64                # spellings held against each other, three at a time: of thousands, a name an image, it would take minutes
LETTERS = str.maketrans({"ø": "o", "æ": "a", "œ": "o", "ł": "l", "đ": "d"})       # letters with strokes and pairs, which have no accent

Person = tuple[str, str, frozenset[str]]
"""PatientID, birthday, words of the name; each empty where it is missing."""


def birthday_of(written: str) -> str:
    """A digest of the digits of a whole date; empty for none."""
    digits = re.sub(r"\D", "", written)
    return _digest(digits) if len(digits) == 8 and digits.strip("0") else ""


@functools.lru_cache(maxsize=256)
def name_of(written: str) -> frozenset[str]:
    """A digest of each word of a name, whatever is capital, accented, an umlaut in two letters, and between words; initials beside words
    are left out."""
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", written) if not unicodedata.combining(letter)).casefold()
    plain = plain.translate(LETTERS)
    words = re.findall(r"[^\W_]+", plain)
    long = [word for word in words if len(word) > 1] or words
    return frozenset(_digest(re.sub("(?<=[aou])e", "", word)) for word in long)


def shares_of(frames: Sequence[Frame]) -> list[tuple[Person, list[Frame]]]:
    """(person, images) of one series UID: a single one where nothing contradicts that they are one person's.

    Without a series UID, only a common folder shows that images belong together.  Where nobody is named at all, images of several folders
    that are numbered alike are of different people (the discs of one series go on counting).
    """
    folders = [list(frames)] if frames[0].facts.series_uid else _by_folder(frames)
    shares = [share for folder in folders for share in people_of(folder)]
    return [(person, own) for person, together in shares for own in ([together] if named(person) else _numbered_once(together))]


def named(person: Person) -> bool:
    """Whether PatientID or name identify the person; a birthday is many people's."""
    return bool(person[0] or person[2])


def people_of(frames: Sequence[Frame]) -> list[tuple[Person, list[Frame]]]:
    """(person, images): PatientIDs, birthdays or names that contradict each other are different people's.

    A name agrees with one that has more words: DOE^JANE is Doe, Jane Mary.  What is left blank is anybody's: it joins the only person whom
    it does not contradict, and is a share of its own beside several.  Beyond MOST_PEOPLE each spelling is a person.
    """
    images: dict[Person, list[Frame]] = {}
    for frame in frames:
        images.setdefault(_person(frame.facts), []).append(frame)
    if len(images) > MOST_PEOPLE:
        return list(images.items())
    people: list[tuple[Person, list[Frame]]] = []
    unclear: list[tuple[Person, list[Frame]]] = []
    friends = {one: [other for other in images if _agree(one, other)] for one in images}
    torn = {one for one, alike in friends.items() if not all(_agree(*two) for two in combinations(alike, 2))}
    for one in sorted(images, key=lambda one: (-sum(map(bool, one)), -len(one[2]), one[0], one[1], sorted(one[2]))):
        alike = [index for index, (person, _) in enumerate(people) if _agree(person, one)]
        if one in torn:
            unclear.append((one, images[one]))
        elif len(alike) == 1:
            person, own = people[alike[0]]
            people[alike[0]] = (person[0] or one[0], person[1] or one[1], max(person[2], one[2], key=len)), own + images[one]
        else:
            (unclear if alike else people).append((one, images[one]))
    return people + unclear


def digest_of(person: Person, frames: Sequence[Frame]) -> str:
    """What stands for a person wherever the images lie: their first image, by its UID, and they themselves only where that has none."""
    first = min(frames, key=lambda one: (one.instance, one.sop_uid, one.number, one.item))
    identity = [first.sop_uid, str(first.instance), str(first.position)]
    if not first.sop_uid:
        identity += [person[0], person[1], *sorted(person[2])]
    return hashlib.sha256("\n".join(identity).encode()).hexdigest()


def folder_of(frame: Frame) -> tuple[str, str]:
    """The folder an image lies in, or its archive and the folder in that."""
    path, member = frame.item.path, frame.item.member
    return (str(path), str(PurePosixPath(member).parent)) if member else (str(path.parent), "")


def _digest(word: str) -> str:
    return hashlib.sha256(word.encode(errors="replace")).hexdigest()[:12]


def _person(facts: Facts) -> Person:
    return facts.patient_id, facts.birthday, facts.name


def _agree(one: Person, other: Person) -> bool:
    """Whether the attributes that both have agree."""
    same = all(not mine or not others or mine == others for mine, others in zip(one[:2], other[:2], strict=True))
    return same and (not one[2] or not other[2] or one[2] <= other[2] or other[2] <= one[2])


def _by_folder(frames: Sequence[Frame]) -> list[list[Frame]]:
    folders: dict[tuple[str, str], list[Frame]] = {}
    for frame in frames:
        folders.setdefault(folder_of(frame), []).append(frame)
    return list(folders.values())


def _numbered_once(frames: Sequence[Frame]) -> list[list[Frame]]:
    """The images of folders together, as long as none has a number that another image of another one has."""
    groups: list[tuple[Numbers, list[Frame]]] = []
    for folder in _by_folder(frames):
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
"""UIDs of the images of each number and of each value of `Frame.apart`: an echo and the next are numbered alike."""


def _collide(taken: Numbers, numbers: Numbers) -> bool:
    """Whether a number is that of another image too, and not of a copy under the same UID."""
    return any(number in taken and not (taken[number] & uids) - {""} for number, uids in numbers.items())
