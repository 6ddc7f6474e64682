"""What regions are called, and which may show a face."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import sampled_from

from fovnet.config.regions import vocabulary
from fovnet.errors import ConfigError
from fovnet.regions import (
    BUILT_IN,
    DEFAULT,
    NINE,
    NONE,
    PARTS,
    WHOLE_BY_PART,
    Region,
    Vocabulary,
    simulated_chain,
)
from fovnet.volume.collection.body_part import read_body_part
from fovnet.volume.collection.table_rows import find_region

LIMB = Vocabulary(
    (
        Region("lower_leg", 0, "#000000", synonyms=("calf",)),
        Region("thigh", 1, "#111111"),
        Region("hand", None, "#222222"),
    )
)


WORDS = [
    (vocabulary, region.name, word)
    for vocabulary in BUILT_IN.values()
    for region in vocabulary.regions
    for word in sorted(region.words)
]


@given(sampled_from(WORDS), sampled_from([str.lower, str.title, str.upper]))
def test_every_word_of_a_region_means_it_however_it_is_written(
    named: tuple[Vocabulary, str, str], written
) -> None:
    of, name, word = named
    assert find_region(written(word), of) == find_region(f" {word.replace(' ', '_')} ", of) == name


STRETCHES = [NINE.chain[low:high] for low in range(9) for high in range(low + 1, 10)]


def test_nine_regions_are_the_five_with_parts_in_place_of_legs_and_head() -> None:
    wholes = [WHOLE_BY_PART.get(name, name) for name in NINE.chain]
    assert tuple(dict.fromkeys(wholes)) == DEFAULT.chain and len(NINE.chain) == 9
    assert NINE.parts == PARTS and not DEFAULT.parts
    assert NINE.side_regions == DEFAULT.side_regions
    for name in set(NINE.chain) & set(DEFAULT.chain):
        assert NINE.region(name).term == DEFAULT.region(name).term


def test_every_concept_of_the_nine_is_one_of_dicom_s_anatomic_regions() -> None:
    """CID 4031, Common Anatomic Region, as pydicom has it: code and meaning."""
    terms = {NINE.term(stretch) for stretch in STRETCHES} - {None}
    meanings = {code.value: code.meaning for code in pydicom_codes(4031)}
    for term in terms:
        assert term is not None and meanings[term.sct] == term.meaning
    assert len(terms) == 9 + 10  # of one region, and of several


def pydicom_codes(cid: int):
    from pydicom.sr.codedict import Collection

    return Collection(f"CID{cid}").concepts.values()


def test_what_is_written_for_parts_is_read_back_as_them() -> None:
    """Of a lower leg DICOM's term is LEG: it is not read back as all of the leg."""
    for stretch in STRETCHES:
        term = NINE.term(stretch)
        if term is not None:
            assert NINE.regions_of_code(term.sct) == set(stretch)
            assert read_body_part(term.body_part, NINE).regions == stretch
    assert NINE.region("lower leg").body_part == "LEG"
    assert read_body_part("LOWERLIMB", NINE).regions == PARTS["legs"]


def test_a_vocabulary_may_have_the_parts_of_one_region_alone() -> None:
    """Simulated people are then labelled with these, and with the whole of the other."""
    regions = [NINE.region(name) for name in PARTS["legs"]]
    regions += [DEFAULT.region(name) for name in DEFAULT.chain[1:]]
    mixed = Vocabulary(
        tuple(
            Region(region.name, rung, "#000000", region.sct) for rung, region in enumerate(regions)
        )
    )
    assert simulated_chain(mixed) == (*PARTS["legs"], *DEFAULT.chain[1:])
    assert simulated_chain(LIMB) == simulated_chain(DEFAULT) == DEFAULT.chain
    assert simulated_chain(NINE) == NINE.chain


def test_names_with_underscores_are_names_and_an_empty_cell_is_none_of_them() -> None:
    assert (
        find_region("lower_leg", LIMB)
        == find_region("Lower Leg", LIMB)
        == find_region("CALF", LIMB)
        == "lower_leg"
    )
    assert find_region("none", LIMB) == NONE
    assert find_region("", LIMB) is None and find_region("  ", LIMB) is None


def test_heads_may_show_a_face_and_without_any_everything_may() -> None:
    assert DEFAULT.faces == ("head",) and NINE.faces == ("neck", "skull")
    beside = Vocabulary(
        (Region("body", 0, "#000000"), Region("Brain", None, "#111111", synonyms=("head",)))
    )
    assert beside.faces == ("Brain",)
    assert LIMB.faces == LIMB.classes
    parts = Vocabulary(
        tuple(
            Region(name, rung, "#000000")
            for rung, name in enumerate(["trunk", "neck", "upper face", "Skull"])
        )
    )
    assert parts.faces == ("neck", "upper face", "Skull"), "only what was called a head was covered"


@pytest.mark.parametrize(
    "regions",
    [
        "regions:\n- {name: calf, rung: 0, colour: '#0072b2'}\n- {name: thigh, rung: 1, colour: '#009e73', "
        "synonyms: [calf]}\n",
        "regions:\n- {name: calf, rung: 0, colour: '#0072b2'}\n- {name: Calf, rung: 1, colour: '#009e73'}\n",
        "regions:\n- {name: lower_leg, rung: 0, colour: '#0072b2'}\n- {name: thigh, rung: 1, colour: "
        "'#009e73', body_part: LOWER LEG}\n",
    ],
)
def test_a_word_that_means_two_regions_is_refused(tmp_path: Path, regions: str) -> None:
    (tmp_path / "own.yaml").write_text(regions)
    with pytest.raises(ConfigError, match="keep it in one of them") as refusal:
        vocabulary(str(tmp_path / "own.yaml"))
    assert refusal.value.code == "regions-invalid"
