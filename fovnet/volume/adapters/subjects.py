"""The people among the volumes of a DICOM tree, where one PatientID is that of several, or one
person has it in two spellings.

Volumes that may be of one person are one subject, so that a split cannot cut through them; volumes
whose headers contradict each other are several.  One that may be of either of two people is of
none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations

from fovnet.volume.dicom.demographics import Demographics
from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.people import normalise_patient_id
from fovnet.words import several

PERSON_ATTRIBUTES = ("name", "birth date", "sex", "age", "PatientID")


@dataclass(frozen=True)
class PersonOfVolume:
    """A volume as its header tells of its person.

    patient_hash  hash of the PatientID, empty if missing
    study_hash    hash of the study UID
    series_id     digits of the series
    demographics  facts in the header
    """

    patient_hash: str
    study_hash: str
    series_id: str
    demographics: Demographics


@dataclass
class Subjects:
    """The people of some volumes.

    subject_by_series  the subject_id by series; a series of nobody's is left out
    note_by_series     a sentence on a PatientID, by the first series that has it
    """

    subject_by_series: dict[str, str] = field(default_factory=dict)
    note_by_series: dict[str, str] = field(default_factory=dict)


def find_subjects(volumes: Sequence[PersonOfVolume]) -> Subjects:
    """The people of these volumes, and notes on PatientIDs that several people or spellings have."""
    subjects = Subjects()
    for claimants in group_by_key(volumes, map(_identity_claim, volumes)).values():
        people, unclear = _group_into_people(claimants)
        for person_index, person_volumes in enumerate(people):
            other_volumes = list(
                chain(*people[:person_index], *people[person_index + 1 :], unclear)
            )
            subject = _subject_id(person_volumes, other_volumes)
            subjects.subject_by_series |= {volume.series_id: subject for volume in person_volumes}
        note = _note_on_patient_id(claimants, people, unclear)
        if note:
            subjects.note_by_series[claimants[0].series_id] = note
    volumes_without_name = [
        volume for volume in volumes if _identity_claim(volume)[0] in ("study", "series")
    ]
    claim_count = len({_identity_claim(volume) for volume in volumes_without_name})
    if claim_count > 1:
        note = f"a missing PatientID in {claim_count} studies, without name and birth date: a subject each"
        subjects.note_by_series.setdefault(volumes_without_name[0].series_id, note)
    return subjects


def _identity_claim(volume: PersonOfVolume) -> tuple[str, str]:
    """(kind, value) that volumes of one person have in common: the PatientID, however it is written;
    without one the name and birth date, else the study, else the series itself."""
    person = volume.demographics
    if person.patient_id:
        spelling = normalise_patient_id(person.patient_id)
        # without punctuation and issuer (H-12345, H12345^^^HOSP): joined by name and birth date alone
        return "id", re.sub(r"[\W_]", "", spelling.split("^")[0]) or spelling
    if person.name_digests and person.birthday_digest:
        return "person", f"{person.birthday_digest} {' '.join(sorted(person.name_digests))}"
    if volume.study_hash:
        return "study", volume.study_hash
    return "series", volume.series_id


def _group_into_people(
    volumes: Sequence[PersonOfVolume],
) -> tuple[list[list[PersonOfVolume]], list[PersonOfVolume]]:
    """(the volumes of each person, those that may be of several people)."""
    volumes_by_header = group_by_key(volumes, (volume.demographics for volume in volumes))
    headers_of_people, unclear_headers = _group_headers(list(volumes_by_header))
    volumes_of_people = [
        list(chain(*(volumes_by_header[header] for header in headers)))
        for headers in headers_of_people
    ]
    volumes_of_nobody: list[PersonOfVolume] = []
    for volume in chain(*(volumes_by_header[header] for header in unclear_headers)):
        study_matches = [
            person_volumes
            for person_volumes in volumes_of_people
            if volume.study_hash in {other.study_hash for other in person_volumes} - {""}
        ]
        if len(study_matches) == 1:
            study_matches[0].append(volume)
        else:
            volumes_of_nobody.append(volume)
    index_by_series = {volume.series_id: index for index, volume in enumerate(volumes)}
    volumes_of_people.sort(
        key=lambda person_volumes: min(
            index_by_series[volume.series_id] for volume in person_volumes
        )
    )
    return volumes_of_people, volumes_of_nobody


def _group_headers(
    headers: Sequence[Demographics],
) -> tuple[list[list[Demographics]], list[Demographics]]:
    """(the headers that may be of each person, those that may be of several people), the headers
    that tell most first."""
    most_attributes = max(header.attribute_count for header in headers)
    headers_of_people: list[list[Demographics]] = []
    unclear_headers: list[Demographics] = []
    for header in sorted(headers, key=lambda header: -header.attribute_count):
        matches = [
            headers_of_person
            for headers_of_person in headers_of_people
            if any(not header.find_contradictions(other) for other in headers_of_person)
        ]
        if not matches:
            headers_of_people.append([header])
        elif len(matches) == 1:
            matches[0].append(header)
        elif header.attribute_count == most_attributes:
            # nothing is missing: they may all be one person, by their ages
            headers_of_people = [
                headers_of_person
                for headers_of_person in headers_of_people
                if headers_of_person not in matches
            ]
            headers_of_people.append([*chain(*matches), header])
        else:
            unclear_headers.append(header)
    return headers_of_people, unclear_headers


def _subject_id(
    person_volumes: Sequence[PersonOfVolume], other_volumes: Sequence[PersonOfVolume]
) -> str:
    """The first hash of PatientID, study or series that none of the other volumes has."""
    other_hashes = {
        digits for volume in other_volumes for digits in (volume.patient_hash, volume.study_hash)
    }
    patient_hashes = [volume.patient_hash for volume in person_volumes]
    study_hashes = [volume.study_hash for volume in person_volumes]
    for hashes in (patient_hashes, study_hashes):
        if all(hashes) and not other_hashes.intersection(hashes):
            return min(hashes)
    return min(volume.series_id for volume in person_volumes)


def _note_on_patient_id(
    volumes: Sequence[PersonOfVolume],
    people: Sequence[Sequence[PersonOfVolume]],
    unclear: Sequence[PersonOfVolume],
) -> str:
    """What is odd about a PatientID, in a sentence; empty if nothing is."""
    study_count = len({volume.study_hash for volume in volumes})
    first_volume = volumes[0]
    which_patient_id = "a missing PatientID"
    if first_volume.patient_hash:
        which_patient_id = f"the PatientID with the hash {first_volume.patient_hash}"
    if len(people) > 1 and len({volume.patient_hash for volume in volumes}) < len(people):
        people_phrase = several(len(people), "person", "people")
        attributes = ", ".join(_find_contradictions(people))
        note = f"{which_patient_id} is that of {people_phrase}, by {attributes}: {len(people)} subjects"
        if unclear:
            note = f"{note}; {several(len(unclear), 'volume')} of none of them surely"
        return note
    if len(people) > 1 and _find_contradictions(people) == ["PatientID"]:
        other_people = several(len(people) - 1, "other")
        note = f"{which_patient_id} is like that of {other_people}; they may be of one person"
        return f"{note}: {len(people)} subjects"
    if len(people) == 1 and len({volume.demographics.patient_id for volume in volumes}) > 1:
        ways = "leading zeros, case, blanks, punctuation"
        return f"{which_patient_id} is written in several ways ({ways}): one subject"
    if (
        len(people) == 1
        and first_volume.patient_hash
        and first_volume.demographics.is_placeholder
        and study_count > 1
    ):
        note = f"{which_patient_id} stands for one that was removed"
        return f"{note}, in {study_count} studies that nothing tells apart: one subject"
    return ""


def _find_contradictions(people: Sequence[Sequence[PersonOfVolume]]) -> list[str]:
    """The attributes that tell them apart; a hundred of the people show them all."""
    people_compared = [person_volumes[0].demographics for person_volumes in people[:100]]
    contradicted_attributes = {
        attribute
        for first_person, second_person in combinations(people_compared, 2)
        for attribute in first_person.find_contradictions(second_person)
    }
    return [attribute for attribute in PERSON_ATTRIBUTES if attribute in contradicted_attributes]
