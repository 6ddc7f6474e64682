"""Numbers of things as people write them, and what a misspelt word may mean."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path

import hypothesis
import pytest
from hypothesis.strategies import data, integers, sampled_from

import fovnet
from fovnet.config.models import Settings
from fovnet.regions import DEFAULT
from fovnet.words import did_you_mean, near_spelling, several

REGION_OF = {
    word.lower(): region.name
    for region in DEFAULT.regions
    for word in (region.name, *region.synonyms)
}
OTHER_LANGUAGES = {
    "legs": (
        "Bein Beine Oberschenkel Knie Fuß jambe jambes cuisse genou pierna piernas rodilla gamba ginocchio "
        "perna joelho benen dij knä noga"
    ),
    "pelvis": (
        "Becken Hüfte Blase bassin hanche vessie cadera vejiga bacino anca bacia bekken miednica bäcken"
    ),
    "abdomen": (
        "Bauch Leber Niere Milz ventre foie rein rate vientre hígado riñón bazo addome fegato buik mage"
    ),
    "chest": (
        "Brust Herz Lunge poitrine coeur poumon sein pecho tórax mama petto torace cuore peito borst hart"
    ),
    "head": "Kopf Schädel Hirn Hals tête cou nuque cabeza cuello testa collo cabeça hoofd nek huvud głowa",
    "spine": "Wirbelsäule Rücken colonne rachis dos columna espalda espina colonna schiena coluna rug rygg",
    "": (
        "arm hand foot main bras pied brazo mano pie braccio spalla other right lower skin cyst lesion limb "
        "hair ear throat test case site hat lip sole cord"
    ),
}
"""Words for parts of the body by region; "" for those of none."""


@pytest.mark.parametrize("region", OTHER_LANGUAGES)
def test_no_word_of_another_language_is_taken_for_another_region(region: str) -> None:
    """Beine (legs) was asked whether spine was meant, Becken (pelvis) whether head."""
    for word in OTHER_LANGUAGES[region].split():
        near = near_spelling(word, REGION_OF)
        assert near is None or REGION_OF[near] == region, (word, near)


def test_by_the_usual_measure_alone_dozens_are() -> None:
    wrong = [
        word
        for region, words in OTHER_LANGUAGES.items()
        for word in words.split()
        for near in get_close_matches(word.lower(), REGION_OF, 1)
        if REGION_OF[near] != region
    ]
    assert len(wrong) > 25 and {"Beine", "Becken"} <= set(wrong)


@hypothesis.given(
    word=sampled_from(
        sorted(word for word in {*REGION_OF, *Settings.model_fields} if len(word) > 4)
    ),
    chosen=data(),
)
def test_a_slip_of_the_finger_is_a_near_spelling(
    word: str, chosen: hypothesis.strategies.DataObject
) -> None:
    place = chosen.draw(integers(0, len(word) - 2))
    letter = chosen.draw(sampled_from("aeiourstln"))
    slips = (
        word[:place] + word[place + 1 :],
        word[:place] + letter + word[place:],
        word[:place] + letter + word[place + 1 :],
        word[:place] + word[place + 1] + word[place] + word[place + 2 :],
        word.upper(),
    )
    for slip in slips:
        assert near_spelling(slip, [word]) == word, slip


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("sub-01", "sub-02", None),
        ("scan-1.nii", "scan-01.nii", "scan-01.nii"),
        ("scan2023.nii", "scan2024.nii", None),
        ("sub01_T1w", "sub01_T1W", "sub01_T1W"),
        ("x", "y", None),
        ("", "a", None),
        ("rotation", "rotation_deg", "rotation_deg"),
        ("patients", "patience", "patience"),
        ("hand", "head", None),
        ("abdominal", "abdomen", "abdomen"),
        ("optimizer", "optimiser", "optimiser"),
    ],
)
def test_names_with_other_numbers_are_other_names(word: str, known: str, near: str | None) -> None:
    assert near_spelling(word, [known]) == near
    asked = f"did you mean {near!r}?" if near else "known is it"
    assert did_you_mean(word, [known], "known is it") == asked


def test_one_of_a_thing_is_singular_and_thousands_have_a_comma() -> None:
    assert [several(count, "volume") for count in (0, 1, 1204)] == [
        "0 volumes",
        "1 volume",
        "1,204 volumes",
    ]
    assert [several(count, "person", "people") for count in (1, 2)] == ["1 person", "2 people"]


def test_no_other_file_makes_a_plural() -> None:
    """Of "1 volumes" there is one place to mend."""
    package, made = (
        Path(fovnet.__file__).parent,
        re.compile(r"""['"]s['"] if|else ['"]s['"]|thread\(s\)"""),
    )
    assert [
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if made.search(path.read_text())
    ] == []
