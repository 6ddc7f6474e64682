"""What people see of the parts of regions: pages, list and pictures, on answers whose parts are known.

leg    foot, lower leg and knee for sure, and what may be knee or thigh
knee   lower leg, knee and thigh
neck   a neck and the lower end of the skull
chest  no region with parts
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fovnet.decision.answer import AnsweredVolume, answer_facts, make_answer, table_rows
from fovnet.decision.answers_table import TableRows
from fovnet.decision.chain.spans import decide_volume
from fovnet.decision.division import VolumeShares, divide_regions, find_finest_names
from fovnet.decision.doubts import Signs
from fovnet.decision.rule import Rule
from fovnet.decision.statements import NO, UNSURE, YES, RegionEnd, Statement
from fovnet.evaluate.stored_answers import spans_in
from fovnet.own_files import thumbnail_name
from fovnet.records import as_json_type
from fovnet.regions import DEFAULT, NINE
from fovnet.report.content.parts import divide_rows, parts_in_facts, parts_in_rows
from fovnet.report.figures.body import Body
from fovnet.report.figures.thumbnail import draw_thumbnail
from fovnet.report.pages.index_page import make_index_page, script_data
from fovnet.report.pages.predictions import write_prediction
from fovnet.report.pages.volume_page import make_volume_page, write_volume_page
from tests.decision.measured import stack_of

RULE = Rule(yes_bar=0.8, no_bar=0.8)
RULE_BY_REGION = {"legs": RULE, "head": RULE}
SLICES_BY_VOLUME: dict[str, list[dict[str, float]]] = {
    "leg": [{"foot": 1}] * 8
    + [{"lower leg": 1}] * 20
    + [{"knee": 1}] * 10
    + [{"knee": 0.45, "thigh": 0.55}] * 4,
    "knee": [{"lower leg": 1}] * 6 + [{"knee": 1}] * 12 + [{"thigh": 1}] * 6,
    "neck": [{"neck": 1}] * 14 + [{"skull": 1}] * 6,
    "chest": [{"chest": 1}] * 12,
}


def shares_of(slices: list[dict[str, float]]) -> np.ndarray:
    """(s, 11) of slices, each by its probabilities in NINE."""
    probabilities = np.full((len(slices), len(NINE.classes)), 1e-4)
    for row, share_by_name in enumerate(slices):
        for name, share in share_by_name.items():
            probabilities[row, NINE.classes.index(name)] += share
    return probabilities / probabilities.sum(axis=1, keepdims=True)


def answered(name: str, pixels: np.ndarray | None = None) -> tuple[AnsweredVolume, dict[str, Any]]:
    """The answer on a volume, and its JSON."""
    probabilities = shares_of(SLICES_BY_VOLUME[name])
    if pixels is None:
        random = np.random.default_rng(len(name))
        pixels = random.integers(40, 200, (len(probabilities), 128, 128), dtype=np.uint8)
    stack = stack_of(pixels)
    wholes = np.add.reduceat(probabilities, NINE.whole_starts, axis=1)
    decision = decide_volume(wholes, stack.z_mm, DEFAULT, RULE, edges_mm=stack.edges_mm)
    answer = make_answer(name, f"{name}.nii", decision, Signs({}), RULE, DEFAULT)
    shares = VolumeShares(
        NINE, probabilities[:, list(NINE.part_columns)], stack.z_mm, stack.edges_mm
    )
    divisions = divide_regions(decision, answer.statements, shares, RULE_BY_REGION)
    answer = replace(answer, divisions=divisions)
    facts = answer_facts(answer, stack, wholes, DEFAULT) | {
        "rows": table_rows(answer, stack),
        "model": "m",
    }
    volume = AnsweredVolume(answer, stack, wholes)
    return volume, json.loads(json.dumps(facts, default=as_json_type))


def page_of(name: str):
    volume, facts = answered(name)
    return make_volume_page(facts, volume.stack.pixels, NINE)


def index_of(names, folder):
    rows = [TableRows.from_facts(answered(name)[1]) for name in names]
    return make_index_page(rows, folder, NINE)


SENTENCES = {
    "leg": "Shows legs (foot, lower leg and knee, perhaps thigh).",
    "knee": "Shows lower leg, knee and thigh.",
    "neck": "Shows neck and skull.",
    "chest": "Shows chest.",
}


@pytest.mark.parametrize(("name", "sentence"), SENTENCES.items())
def test_a_region_is_called_by_its_parts_where_these_are_sure_throughout(name, sentence, tmp_path):
    assert page_of(name).sentence == sentence
    (row,) = index_of([name], tmp_path).rows
    assert row.sentence == sentence


def test_a_printed_table_has_a_row_for_each_of_these_names():
    names = {}
    for name in SLICES_BY_VOLUME:
        rows = divide_rows(TableRows.from_facts(answered(name)[1]), NINE)
        names[name] = [row["region"] for row in rows]
    assert names == {
        "leg": ["legs (foot, lower leg and knee, perhaps thigh)"],
        "knee": ["lower leg", "knee", "thigh"],
        "neck": ["neck", "skull"],
        "chest": ["chest"],
    }


def part(name: str, answer: str, *, has_span: bool = True, probability: float = 0.4) -> Statement:
    end = RegionEnd(0.0) if has_span else None
    return Statement(name, answer, probability, lower=end, upper=end)


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ([part("neck", YES), part("skull", YES)], ("neck", "skull")),
        ([part("neck", YES), part("skull", NO, has_span=False)], ("neck",)),
        ([part("neck", YES), part("skull", UNSURE, has_span=False)], ("neck",)),
        ([part("neck", YES), part("skull", UNSURE)], ("head",)),
        (
            [part("neck", YES), part("skull", UNSURE, has_span=False, probability=0.6)],
            ("head",),
        ),
        ([part("neck", YES), part("skull", NO)], ("head",)),
        ([], ("head",)),
    ],
)
def test_a_part_without_rows_of_the_region_leaves_the_others_sure(parts, names):
    assert find_finest_names("head", parts) == names


def test_tables_tell_of_parts_what_the_json_tells():
    for name in SLICES_BY_VOLUME:
        _, facts = answered(name)
        from_json = parts_in_facts(facts).statements_by_region
        from_rows = parts_in_rows(TableRows.from_facts(facts), NINE).statements_by_region
        assert {
            region: [replace(part, doubts=()) for part in parts]
            for region, parts in from_json.items()
        } == from_rows


class TestPageOfAVolume:
    def test_parts_have_a_line_of_their_own_with_their_extents(self):
        (legs,) = page_of("leg").part_chips
        assert [(chip.region, chip.answer, chip.is_guess) for chip in legs] == [
            ("foot", YES, True),
            ("lower leg", YES, True),
            ("knee", YES, True),
            ("thigh", UNSURE, True),
        ]
        assert legs[0].extent == "−4 to 60\N{NO-BREAK SPACE}mm"
        assert {chip.whole for chip in legs} == {"legs"}

    def test_nothing_is_said_of_the_parts_of_a_region_that_is_surely_not_shown(self):
        page = page_of("chest")
        assert page.part_chips == ()
        assert [row[0] for row in page.statements.rows] == [*DEFAULT.classes[:-1]]

    def test_boxes_and_borders_are_those_of_the_parts_and_the_unsure_one_is_pale(self):
        page = page_of("leg")
        boxes = page.drawing.spans
        assert [box.label for box in boxes] == ["foot", "lower leg", "knee", "thigh"]
        assert [box.colour for box in boxes] == [NINE.colour(box.label) for box in boxes]
        assert len(page.drawing.edge_tops) == 3
        assert "thigh" in page.unsure_regions and "legs" not in page.unsure_regions

    def test_tables_have_the_parts_below_their_region(self):
        page = page_of("leg")
        assert [row[0] for row in page.statements.rows[:3]] == [
            "legs",
            "legs:\N{NO-BREAK SPACE}foot",
            "legs:\N{NO-BREAK SPACE}lower\N{NO-BREAK SPACE}leg",
        ]
        assert [row[0] for row in page.spans.rows] == [
            *(
                "legs",
                "legs:\N{NO-BREAK SPACE}foot",
                "legs:\N{NO-BREAK SPACE}lower\N{NO-BREAK SPACE}leg",
                "legs:\N{NO-BREAK SPACE}knee",
                "legs:\N{NO-BREAK SPACE}thigh",
            )
        ]
        assert page.spans.rows[-1][-1] == "–"  # no confidence of a part that is unsure

    def test_the_viewer_names_the_part_of_each_slice(self):
        texts = page_of("leg").viewer.predicted_texts
        assert texts[0] == "foot; legs" and texts[-1] == "perhaps thigh; legs"

    def test_it_is_written(self, tmp_path):
        path = write_volume_page(tmp_path / "a.html", page_of("leg"))
        assert path.read_text().count('aria-label="Parts of legs"') == 1


class TestCurves:
    def test_those_of_the_parts_add_up_to_that_of_their_region_in_its_place(self):
        volume, facts = answered("neck")
        smoothed = volume.answer.decision.smoothed_probabilities
        parts = parts_in_facts(facts)
        body = Body(
            volume.stack.pixels,
            volume.stack.z_mm,
            400.0,
            smoothed,
            (),
            NINE,
            parts.shares_by_region,
        )
        curves = body.curve_by_name
        head = smoothed[:, DEFAULT.classes.index("head")]
        assert np.isnan(curves["head"]).all()
        assert np.abs(curves["neck"] + curves["skull"] - head).max() < 1e-4
        assert list(curves) == [*DEFAULT.classes[:5], "neck", "skull", *DEFAULT.classes[5:]]

    def test_without_parts_they_are_the_probabilities(self):
        smoothed = np.random.default_rng(1).random((6, len(DEFAULT.classes)))
        body = Body(np.zeros((6, 8, 8), np.uint8), np.arange(6.0), 400.0, smoothed, (), DEFAULT)
        assert (np.stack([*body.curve_by_name.values()], axis=1) == smoothed).all()


class TestThumbnail:
    def test_its_bar_has_the_colours_of_the_parts(self):
        volume, facts = answered("leg")
        parts = parts_in_facts(facts)
        spans = parts.divide(spans_in(facts["spans"]))
        body = Body(volume.stack.pixels, volume.stack.z_mm, 400.0, np.zeros((42, 7)), spans, NINE)
        bar = draw_thumbnail(body, {"thigh"})[:, -1].tolist()
        colours = [list(bytes.fromhex(NINE.colour(name)[1:])) for name in NINE.parts["legs"]]
        assert [colour for colour in bar if colour != [0, 0, 0]] == sorted(
            (colour for colour in bar if colour != [0, 0, 0]), key=colours.index, reverse=True
        )
        assert all(colour in bar for colour in colours)


class TestList:
    def test_its_filters_find_a_part(self, tmp_path):
        page = index_of(["leg", "knee", "neck", "chest"], tmp_path)
        names = script_data(page)["regions"]
        assert list(names) == [*NINE.answer_names]
        marks_by_volume = {
            row[0]: dict(zip(names, row[5].split(), strict=True))
            for row in script_data(page)["rows"]
        }
        assert {
            volume: [name for name, mark in marks.items() if mark[0] == "y"]
            for volume, marks in marks_by_volume.items()
        } == {
            "leg": ["legs", "foot", "lower leg", "knee"],
            "knee": ["legs", "lower leg", "knee", "thigh"],
            "neck": ["head", "neck", "skull"],
            "chest": ["chest"],
        }
        assert marks_by_volume["leg"]["thigh"][0] == "g"
        assert marks_by_volume["chest"]["knee"] == "-"

    def test_it_counts_them(self, tmp_path):
        rows = index_of(["leg", "knee", "neck"], tmp_path).regions.rows
        assert (
            ("knee", "2", "2") in rows
            and ("thigh", "1", "2") in rows
            and ("legs", "2", "2") in rows
        )

    def test_an_unsure_part_needs_no_word_about_guesses(self, tmp_path):
        assert index_of(["leg"], tmp_path).guess_words == ""


def test_all_files_of_a_divided_volume_are_written(tmp_path):
    volume, facts = answered("leg")
    rows = write_prediction(
        tmp_path, volume, NINE, "m", None, pictures=True, pages=True, faces=False
    )
    assert json.loads((tmp_path / "leg.json").read_text())["classes"] == list(DEFAULT.classes)
    assert (tmp_path / "leg.png").exists() and (tmp_path / thumbnail_name("leg")).exists()
    assert rows == TableRows.from_facts(facts)
