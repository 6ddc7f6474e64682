"""Whether headers may be of one person: PatientID, name, birth date, sex, and the year of birth by
age.

Careless anonymisation gives everybody one PatientID.  A split by it then leaks nothing, and is
empty; what else the headers say of the person tells people apart.  Source: DICOM PS3.3, C.7.1.1 and
C.7.2.2.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from fovnet.volume.dicom.header import ObjectFacts
from fovnet.volume.dicom.people import PLACEHOLDER_PATTERN, normalise_patient_id

DAYS_A_YEAR = 365.25
YEARS_BY_AGE_UNIT = {"Y": 1.0, "M": 1 / 12, "W": 7 / DAYS_A_YEAR, "D": 1 / DAYS_A_YEAR}
# an age in whole years leaves a year open, and some are rounded up
MAX_BIRTH_YEARS_APART = 2.0
MAX_UNDATED_AGES_APART = 15.0  # between two ages of one person whose studies have no dates


@dataclass(frozen=True)
class Demographics:
    """What a header says of the person, for comparison only.

    birth_year           with a fraction, by the age and the date of the study; None: not known
    age_years            in years; None: missing
    is_born_on_new_year  whether the birth date is a 1 January
    """

    patient_id: str
    name_digests: frozenset[str]
    birthday_digest: str
    sex: str
    birth_year: float | None
    age_years: float | None
    is_born_on_new_year: bool = False

    @classmethod
    def of(cls, facts: ObjectFacts) -> Demographics:
        """What these facts say."""
        age = parse_age_years(facts.age)
        study_year = _parse_decimal_year(facts.study_date)
        birth_year = None
        if age is not None and study_year is not None:
            birth_year = study_year - age
        sex = ""
        if facts.sex in ("M", "F"):
            sex = facts.sex
        return cls(
            facts.patient_id,
            facts.name_digests,
            facts.birthday_digest,
            sex,
            birth_year,
            age,
            facts.is_born_on_new_year,
        )

    @property
    def is_placeholder(self) -> bool:
        """Whether its PatientID is missing, or stands for one that was removed."""
        words = re.sub(r"[\W_]+", " ", normalise_patient_id(self.patient_id)).strip().upper()
        return bool(PLACEHOLDER_PATTERN.fullmatch(words))

    @property
    def attribute_count(self) -> int:
        """How many attributes are given besides the PatientID."""
        return (
            bool(self.name_digests)
            + bool(self.birthday_digest)
            + bool(self.sex)
            + (self.age_years is not None)
        )

    def find_contradictions(self, other: Demographics) -> list[str]:
        """The attributes, in words, by which both cannot be one person."""
        differing_attributes = []
        same_birthday = self._has_birthday_of(other)
        is_other_name = not (
            self.name_digests <= other.name_digests or other.name_digests <= self.name_digests
        )
        # a name changes with a marriage; under a PatientID for all, the birth date may be one for
        # all too
        if (
            self.name_digests
            and other.name_digests
            and is_other_name
            and (not same_birthday or self.is_placeholder)
        ):
            differing_attributes.append("name")
        # a month and day that were removed are 1 January, and a date that was is 19000101
        is_rounded = not self.is_placeholder and (
            self.is_born_on_new_year or other.is_born_on_new_year
        )
        if self.birthday_digest and other.birthday_digest and not same_birthday and not is_rounded:
            differing_attributes.append("birth date")
        if self.sex and other.sex and self.sex != other.sex:
            differing_attributes.append("sex")
        if self._ages_differ(other):
            differing_attributes.append("age")
        if self.patient_id != other.patient_id and not self._is_same_person_by_name_or_birthday(
            other
        ):
            differing_attributes.append("PatientID")
        return differing_attributes

    def _has_birthday_of(self, other: Demographics) -> bool:
        """Whether both have a birth date, and it is the same."""
        return bool(self.birthday_digest) and self.birthday_digest == other.birthday_digest

    def _ages_differ(self, other: Demographics) -> bool:
        """Whether both years of birth, else both ages, are farther apart than one person's."""
        if self.birth_year is not None and other.birth_year is not None:
            return abs(self.birth_year - other.birth_year) > MAX_BIRTH_YEARS_APART
        if self.age_years is None or other.age_years is None:
            return False
        limit_years = MAX_UNDATED_AGES_APART
        if self.is_placeholder:
            limit_years = MAX_BIRTH_YEARS_APART
        return abs(self.age_years - other.age_years) > limit_years

    def _is_same_person_by_name_or_birthday(self, other: Demographics) -> bool:
        """Whether two spellings of one PatientID are of one person by birth date, or two words of
        the name; by both, where punctuation or an issuer differs too."""
        same_birthday = self._has_birthday_of(other)
        if normalise_patient_id(self.patient_id) != normalise_patient_id(other.patient_id):
            return same_birthday and bool(self.name_digests & other.name_digests)
        return same_birthday or len(self.name_digests & other.name_digests) > 1


def parse_age_years(written: str) -> float | None:
    """An age string (045Y, 018M, 003W, 002D) in years; None for anything else."""
    match = re.fullmatch(r"(\d{1,3})([DWMY])", written.strip().upper())
    if match is None:
        return None
    return int(match[1]) * YEARS_BY_AGE_UNIT[match[2]]


def _parse_decimal_year(date_text: str) -> float | None:
    """A date with or without separators as a year with a fraction; None for anything else."""
    date_digits = re.sub(r"[-./]", "", date_text)
    if not re.fullmatch(r"\d{8}", date_digits):
        return None
    try:
        full_date = date(int(date_digits[:4]), int(date_digits[4:6]), int(date_digits[6:]))
    except ValueError:
        return None
    return full_date.year + (full_date - date(full_date.year, 1, 1)).days / DAYS_A_YEAR
