"""The people among the volumes of a DICOM tree, where one PatientID is that of several, or one person has it
in two spellings.

Volumes that may be of one person are one subject, so that a split cannot cut through them; volumes whose
headers contradict each other are several.  One that may be of either of two people is of none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

from fovnet.volume.dicom.demographics import Demographics
from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.people import spelling_of
from fovnet.words import several

ATTRIBUTES = ("name", "birth date", "sex", "age", "PatientID")


@dataclass(frozen=True)
class Portrayed:
    """A volume as its header tells of its person; patient, study and series as hashes, empty if missing."""

    patient: str
    study: str
    series: str
    person: Demographics


@dataclass
class Subjects:
    """The people of some volumes.

    subject_of   the subject_id by series; a series of nobody's is left out
    notes        a sentence on a PatientID, by the first series that has it
    """

    subject_of: dict[str, str] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)


def subjects_of(volumes: Sequence[Portrayed]) -> Subjects:
    """The people of these volumes."""
    subjects = Subjects()
    for together in group_by_key(volumes, map(_claim, volumes)).values():
        people, unclear = _people(together)
        for number, own in enumerate(people):
            others = [
                volume for index, other in enumerate(people) if index != number for volume in other
            ]
            subject = _subject_id(own, [*others, *unclear])
            subjects.subject_of |= {volume.series: subject for volume in own}
        note = _note(together, people, unclear)
        if note:
            subjects.notes[together[0].series] = note
    nameless = [volume for volume in volumes if _claim(volume)[0] in ("study", "series")]
    claims = len({_claim(volume) for volume in nameless})
    if claims > 1:
        note = (
            f"a missing PatientID in {claims} studies, without name and birth date: a subject each"
        )
        subjects.notes.setdefault(nameless[0].series, note)
    return subjects


def _claim(volume: Portrayed) -> tuple[str, str]:
    """What volumes of one person have in common: the PatientID, however it is written; without one the name
    and birth date, else the study, else nothing."""
    person = volume.person
    if person.patient_id:
        spelling = spelling_of(person.patient_id)
        # without punctuation and issuer (H-12345, H12345^^^HOSP): joined by name and birth date alone
        return "id", re.sub(r"[\W_]", "", spelling.split("^")[0]) or spelling
    if person.name and person.birthday:
        return "person", f"{person.birthday} {' '.join(sorted(person.name))}"
    if volume.study:
        return "study", volume.study
    return "series", volume.series


def _people(volumes: Sequence[Portrayed]) -> tuple[list[list[Portrayed]], list[Portrayed]]:
    """(the volumes of each person, those that may be of several people)."""
    by_person = group_by_key(volumes, (volume.person for volume in volumes))
    most = max(person.told for person in by_person)
    people: list[list[Demographics]] = []
    unclear: list[Demographics] = []
    for person in sorted(by_person, key=lambda person: -person.told):
        agreeing = [own for own in people if any(not person.contradictions(other) for other in own)]
        if len(agreeing) < 2:
            (agreeing[0] if agreeing else _begin(people)).append(person)
        elif person.told == most:  # nothing is missing: they may all be one person, by their ages
            merged = [other for own in agreeing for other in own]
            people = [own for own in people if own not in agreeing] + [[*merged, person]]
        else:
            unclear.append(person)
    order = {volume.series: index for index, volume in enumerate(volumes)}
    volumes_of = [[volume for person in own for volume in by_person[person]] for own in people]
    torn: list[Portrayed] = []
    for volume in (volume for person in unclear for volume in by_person[person]):
        same_study = [
            own for own in volumes_of if volume.study in {other.study for other in own} - {""}
        ]
        (same_study[0] if len(same_study) == 1 else torn).append(volume)
    return sorted(volumes_of, key=lambda own: min(order[volume.series] for volume in own)), torn


def _begin(people: list[list[Demographics]]) -> list[Demographics]:
    people.append([])
    return people[-1]


def _subject_id(own: Sequence[Portrayed], others: Sequence[Portrayed]) -> str:
    """The first hash of PatientID, study or series that none of the others has."""
    taken = {digits for volume in others for digits in (volume.patient, volume.study)}
    series = [volume.series for volume in own]
    for level in ([volume.patient for volume in own], [volume.study for volume in own]):
        if all(level) and not taken.intersection(level):
            return min(level)
    return min(series)


def _note(
    volumes: Sequence[Portrayed],
    people: Sequence[Sequence[Portrayed]],
    unclear: Sequence[Portrayed],
) -> str:
    studies = len({volume.study for volume in volumes})
    first = volumes[0]
    label = (
        f"the PatientID with the hash {first.patient}" if first.patient else "a missing PatientID"
    )
    if len(people) > 1 and len({volume.patient for volume in volumes}) < len(people):
        differing = _differing(people)
        note = f"{label} is that of {several(len(people), 'person', 'people')}, by {', '.join(differing)}"
        note += f": {len(people)} subjects"
        return (
            f"{note}; {several(len(unclear), 'volume')} of none of them surely" if unclear else note
        )
    if len(people) > 1 and _differing(people) == ["PatientID"]:
        others = several(len(people) - 1, "other")
        return (
            f"{label} is like that of {others}; they may be of one person: {len(people)} subjects"
        )
    if len(people) == 1 and len({volume.person.patient_id for volume in volumes}) > 1:
        return f"{label} is written in several ways (leading zeros, case, blanks, punctuation): one subject"
    if len(people) == 1 and first.patient and first.person.is_placeholder and studies > 1:
        seen = f"{label} stands for one that was removed"
        return f"{seen}, in {studies} studies that nothing tells apart: one subject"
    return ""


def _differing(people: Sequence[Sequence[Portrayed]]) -> list[str]:
    """The attributes that tell them apart; a hundred of the people show them all."""
    found = {
        attribute
        for first, second in combinations([own[0].person for own in people[:100]], 2)
        for attribute in first.contradictions(second)
    }
    return [attribute for attribute in ATTRIBUTES if attribute in found]
