"""What regions are called, and which may show a face."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import sampled_from

from fovnet.config.regions import vocabulary
from fovnet.errors import ConfigError
from fovnet.regions import DEFAULT, NONE, Region, Vocabulary
from fovnet.volume.collection.table_rows import find_region

LIMB = Vocabulary(
    (
        Region("lower_leg", 0, "#000000", synonyms=("calf",)),
        Region("thigh", 1, "#111111"),
        Region("hand", None, "#222222"),
    )
)


WORDS = [(region.name, word) for region in DEFAULT.regions for word in sorted(region.words)]


@given(sampled_from(WORDS), sampled_from([str.lower, str.title, str.upper]))
def test_every_word_of_a_region_means_it_however_it_is_written(
    named: tuple[str, str], written
) -> None:
    name, word = named
    assert (
        find_region(written(word), DEFAULT)
        == find_region(f" {word.replace(' ', '_')} ", DEFAULT)
        == name
    )


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
    assert DEFAULT.faces == ("head",)
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
