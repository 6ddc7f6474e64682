"""The people under one PatientID, and one person under two spellings of it."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers

from fovnet.volume.adapters.subjects import PersonOfVolume, Subjects, find_subjects
from fovnet.volume.dicom.demographics import Demographics, parse_age_years
from fovnet.volume.dicom.header import ObjectFacts
from fovnet.volume.dicom.people import digest_birthday, digest_name, is_new_year
from fovnet.volume.dicom.table import short_hash

Header = dict[str, str]
DATE = "20240105"


def people(*headers: Header, patient_id: str = "ANONYMIZED") -> Subjects:
    """The subjects of volumes with these headers, each of a study of its own unless it names one."""
    volumes = []
    for number, header in enumerate(headers):
        facts = ObjectFacts(
            patient_id=header.get("id", patient_id),
            name_digests=digest_name(header.get("name", "")),
            birthday_digest=digest_birthday(header.get("birth", "")),
            sex=header.get("sex", ""),
            age=header.get("age", ""),
            study_date=header.get("date", DATE),
            is_born_on_new_year=is_new_year(header.get("birth", "")),
        )
        study = short_hash(header.get("study", f"1.2.{number}"))
        volumes.append(
            PersonOfVolume(
                short_hash(facts.patient_id), study, f"series {number}", Demographics.of(facts)
            )
        )
    return find_subjects(volumes)


def partition(subjects: Subjects, count: int) -> list[int]:
    """For each volume the number of its subject, in the order in which they come first; -1 for none."""
    ids = [subjects.subject_by_series.get(f"series {number}", "") for number in range(count)]
    order = list(dict.fromkeys(filter(None, ids)))
    return [order.index(digits) if digits else -1 for digits in ids]


ANN = {"name": "DOE^ANN", "birth": "19600101", "sex": "F"}
BOB = {"name": "ROE^BOB", "birth": "19700202", "sex": "M"}
# headers, and the number of the subject of each
CASES: dict[str, tuple[list[Header], list[int]]] = {
    "sexes": ([{"sex": "F"}, {"sex": "M"}], [0, 1]),
    "ages": ([{"age": "020Y"}, {"age": "047Y"}], [0, 1]),
    "sexes and ages": (
        [{"sex": "FM"[n % 2], "age": f"{20 + 9 * n:03}Y"} for n in range(6)],
        [0, 1, 2, 3, 4, 5],
    ),
    "names": ([{"name": "DOE^ANN"}, {"name": "ROE^BOB"}], [0, 1]),
    "names, one birth date for all": (
        [{"name": "DOE^ANN", "birth": "19000101"}, {"name": "ROE^BOB", "birth": "19000101"}],
        [0, 1],
    ),
    "birth dates": ([{"birth": "19600101"}, {"birth": "19610101"}], [0, 1]),
    "all of it": ([ANN, BOB, ANN, BOB], [0, 1, 0, 1]),
    "names of one letter": ([{"name": f"Anonymous^{letter}"} for letter in "ABC"], [0, 1, 2]),
    "names of one digit": ([{"name": f"ANON {digit}"} for digit in "123"], [0, 1, 2]),
    "one letter twice": ([{"name": f"Patient^{letter}"} for letter in "ABA"], [0, 1, 0]),
    "ages without dates": ([{"age": "020Y", "date": ""}, {"age": "029Y", "date": ""}], [0, 1]),
    "an age in months": ([{"age": "018M"}, {"age": "030Y"}], [0, 1]),
    "a later study of one person": (
        [{"age": "040Y", "date": "20100105", "sex": "F"}, {"age": "054Y", "sex": "F"}],
        [0, 0],
    ),
    "the same age ten years later": (
        [{"age": "040Y", "date": "20140105"}, {"age": "040Y"}],
        [0, 1],
    ),
    "nothing": ([{}, {}, {}], [0, 0, 0]),
    "a name with more words": ([{"name": "DOE^ANN"}, {"name": "Doe, Ann Mary"}], [0, 0]),
    "other sexes than these two": ([{"sex": "O"}, {"sex": "M"}], [0, 0]),
    "one that tells nothing": ([ANN, BOB, {}], [0, 1, -1]),
    "one that tells nothing, of a study": ([ANN | {"study": "1"}, BOB, {"study": "1"}], [0, 1, 0]),
    "one that agrees with one only": ([ANN, BOB, {"sex": "M"}], [0, 1, 1]),
    "ages that run into each other": (
        [{"age": "040Y"}, {"age": "043Y"}, {"age": "041Y"}],
        [0, 0, 0],
    ),
    "two people of one study UID": ([ANN | {"study": "1"}, BOB | {"study": "1"}], [0, 1]),
    "three people, one study UID": (
        [{"birth": f"19{n}00101", "study": "1"} for n in (5, 6, 7)],
        [0, 1, 2],
    ),
}


PLACEHOLDERS = ("ANONYMIZED", "0", "anon", "000000", "UNKNOWN", "xxx", "Patient", "123456")


@pytest.mark.parametrize("patient_id", PLACEHOLDERS)
@pytest.mark.parametrize("headers, wanted", CASES.values(), ids=CASES)
def test_people_under_one_patient_id_are_told_apart_by_what_contradicts(
    headers, wanted, patient_id
):
    subjects = people(*headers, patient_id=patient_id)
    assert partition(subjects, len(headers)) == wanted
    several = len(set(wanted) - {-1})
    (note,) = subjects.note_by_series.values()
    assert (f"of {several} people" in note) if several > 1 else ("nothing tells apart" in note)
    assert patient_id not in note.split()


REAL: dict[str, tuple[list[Header], list[int]]] = {
    "one person": ([ANN, ANN], [0, 0]),
    "a married name": ([ANN, ANN | {"name": "SMITH^ANN"}], [0, 0]),
    "ages without dates": ([{"age": "020Y", "date": ""}, {"age": "029Y", "date": ""}], [0, 0]),
    "ages a generation apart": ([{"age": "020Y", "date": ""}, {"age": "050Y", "date": ""}], [0, 1]),
    "a centre's numbers": ([ANN, BOB], [0, 1]),
    "a month and day removed": ([{"birth": "19500101"}, {"birth": "19500617"}], [0, 0]),
    "a birth date removed": ([ANN | {"birth": "19000101"}, ANN | {"birth": "19500617"}], [0, 0]),
    "other birth dates": ([{"birth": "19500203"}, {"birth": "19500617"}], [0, 1]),
    "a birth date removed, another sex": (
        [{"birth": "19000101", "sex": "F"}, {"birth": "19500617", "sex": "M"}],
        [0, 1],
    ),
    "nothing": ([{}, {}], [0, 0]),
}


@pytest.mark.parametrize("headers, wanted", REAL.values(), ids=REAL)
def test_a_patient_id_of_a_person_counts_for_more(headers, wanted):
    subjects = people(*headers, patient_id="MR4711")
    assert partition(subjects, len(headers)) == wanted
    assert len(subjects.note_by_series) == len(set(wanted)) - 1
    if set(wanted) == {0}:
        assert set(subjects.subject_by_series.values()) == {short_hash("MR4711")}


SPELLINGS = [
    ("0071234", "71234"),
    ("ab12", "AB12"),
    ("AB 12", "AB12"),
    ("P007", "p7"),
    (" 5 ", "05"),
    ("A-01", "a-1"),
]


@pytest.mark.parametrize("spellings", SPELLINGS, ids=map("/".join, SPELLINGS))
def test_one_person_under_two_spellings_is_one_subject(spellings):
    first, second = spellings
    subjects = people(ANN | {"id": first}, ANN | {"id": second}, BOB | {"id": "other"})
    assert partition(subjects, 3) == [0, 0, 1]
    (note,) = subjects.note_by_series.values()
    assert "written in several ways" in note
    # two centres' numbers, or nothing that confirms it
    for others in (BOB, {}):
        subjects = people(ANN | {"id": first}, others | {"id": second})
        assert partition(subjects, 2) == [0, 1]
        assert set(subjects.subject_by_series.values()) == {short_hash(first), short_hash(second)}
        assert len(subjects.note_by_series) == (not others)


@pytest.mark.parametrize(
    "second", ["H-12345", "H12345^^^HOSP", "h 12345", "H.12345", "H_12345", "H/12345"]
)
def test_punctuation_and_issuer_join_by_name_and_birth_date_alone(second):
    subjects = people(ANN | {"id": "H12345"}, ANN | {"id": second})
    assert partition(subjects, 2) == [0, 0]
    subjects = people({"id": "H12345"}, {"id": second})
    assert partition(subjects, 2) == [0, 1]
    (note,) = subjects.note_by_series.values()
    assert "may be of one person" in note
    subjects = people(ANN | {"id": "H12345"}, BOB | {"id": second})
    assert partition(subjects, 2) == [0, 1]
    assert not subjects.note_by_series


def test_studies_without_a_patient_id_are_said_to_be_a_subject_each():
    headers = [
        {"name": "Anonymous", "sex": sex, "age": age} for sex, age in (("M", "040Y"), ("F", "071Y"))
    ]
    subjects = people(*headers, patient_id="")
    assert partition(subjects, 2) == [0, 1]
    (note,) = subjects.note_by_series.values()
    assert note.startswith("a missing PatientID in 2 studies")
    assert not people(headers[0], patient_id="").note_by_series


def test_numbers_that_differ_by_zeros_alone_are_said():
    subjects = people({"id": "7"}, {"id": "07"}, {"id": "007"})
    assert partition(subjects, 3) == [0, 1, 2]
    (note,) = subjects.note_by_series.values()
    assert note.endswith("is like that of 2 others; they may be of one person: 3 subjects")


def test_people_without_patient_id_are_told_by_name_and_birth_date():
    """The study UID tells one from another, unless two studies are surely of one person, or one of two."""
    headers = [ANN, BOB, ANN, {}, {}, {"sex": "M", "study": "s"}, {"sex": "F", "study": "s"}]
    subjects = people(*headers, patient_id="")
    assert partition(subjects, 7) == [0, 1, 0, 2, 3, 4, 5]


@given(integers(0, 2**16), integers(2, 8))
@settings(max_examples=60, deadline=None)
def test_volumes_that_may_be_of_one_person_are_never_of_two_subjects(seed, count):
    """A split by subject leaks nothing, whatever is missing; whole headers that contradict are never one."""
    digits = [(seed >> shift) % 3 for shift in range(count)]
    headers = [
        {"sex": ("", "F", "M")[digit], "age": ("", "040Y", "060Y")[(digit * 7 + seed + number) % 3]}
        for number, digit in enumerate(digits)
    ]
    subjects = people(*headers)
    for first, second in combinations(range(count), 2):
        ids = [subjects.subject_by_series.get(f"series {number}") for number in (first, second)]
        if None not in ids and headers[first] == headers[second]:
            assert ids[0] == ids[1]
        whole = all(headers[number]["sex"] and headers[number]["age"] for number in (first, second))
        if whole and headers[first] != headers[second]:
            assert ids[0] != ids[1]


@pytest.mark.parametrize(
    "written, years",
    [
        ("045Y", 45),
        ("018M", 1.5),
        ("052W", 1.0),
        ("45Y", 45),
        ("", None),
        ("45", None),
        ("O45Y", None),
        ("-01Y", None),
    ],
)
def test_ages_are_read(written, years):
    assert parse_age_years(written) == (None if years is None else pytest.approx(years, abs=0.01))
