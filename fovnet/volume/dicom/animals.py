"""Whether a patient is an animal, by the header.

The regions are those of people, and in a quadruped's images the axes of the patient mean other directions.
Source: DICOM PS3.3, C.7.1.1 (species, breed), C.7.6.2.1.1 (axes of quadrupeds), CID 7454 (species codes).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from fovnet.volume.dicom.header import getter, many, text

NOTE = "an animal, by its header: the regions are those of people"
PEOPLE_CODES = ("337915000", "L-85B00", "9606")         # Homo sapiens in SNOMED CT, SNOMED RT, NCBI taxonomy
PEOPLE = re.compile(r"HUMAN|HOMO|PERSON|MENSCH|HUMAIN|UMANO")
# what stands where nothing is known
UNKNOWN = re.compile(
    r"|[\W_\d]+|NA|N A|UNKNOWN|NONE|NULL|ANON\w*|UNSPECIFIED|OTHER|NOT (APPLICABLE|KNOWN|SPECIFIED|GIVEN)"
)


def is_animal(get: Callable[[str], Any]) -> bool:
    """Whether the species or breed is another than human, or the axes are those of a quadruped."""
    if text(get("AnatomicalOrientationType")).upper() == "QUADRUPED":
        return True
    species = _words(get("PatientSpeciesDescription"))
    codes = [getter(item) for item in many(get("PatientSpeciesCodeSequence"))]
    if any(text(code("CodeValue")).upper() in PEOPLE_CODES for code in codes):
        return False
    descriptions = [species, *(_words(code("CodeMeaning")) for code in codes)]
    if any(PEOPLE.search(words) for words in descriptions):
        return False
    breeds = [_words(get("PatientBreedDescription"))]
    breeds += [_words(getter(item)("CodeMeaning")) for item in many(get("PatientBreedCodeSequence"))]
    return any(not UNKNOWN.fullmatch(words) for words in (*descriptions, *breeds))


def _words(value: Any) -> str:
    return " ".join(re.sub(r"[\W_]+", " ", text(value)).upper().split())
