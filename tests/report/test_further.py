"""Parts that only newer results have: shown where they are, left out where they are not."""

from dataclasses import replace

import pytest

from fovnet.evaluate.ablation import Ablation, AblationStep, NetworkConfusion
from fovnet.evaluate.evaluation import DoubtRow, evaluate
from fovnet.evaluate.headers import HeaderRow
from fovnet.evaluate.measures import Measure
from fovnet.evaluate.paired import Difference
from fovnet.regions import DEFAULT
from fovnet.report.content.ablation import ablation_view
from fovnet.report.content.confidence import promise_sentences
from fovnet.report.content.performance import doubts_table, header_rates_table, headers_table
from fovnet.report.content.run_record import Abstention
from fovnet.report.pages.pour import pour


@pytest.fixture(scope="module")
def evaluation(planted):
    return evaluate([planted.case(["head"] * 4)], DEFAULT, bootstrap=20, seed=1)


def measure(name, value, low=None, high=None, numerator=1.0, denominator=20, stage="decided"):
    interval = "bootstrap" if low is not None else "not estimable"
    return Measure(name, stage, "", numerator, denominator, value, low, high, interval, 20)


def gain(name, difference, low, high):
    return Difference(
        name, "decided", 0.0, difference, difference, low, high, "bootstrap", 20, True
    )


ABLATION = Ablation(
    (
        AblationStep(
            "decision",
            "raw",
            "most probable class",
            1.0,
            (measure("slice_error", 0.08, 0.06, 0.1),),
            "",
            (),
            (),
        ),
        AblationStep(
            "decision",
            "exact",
            "exact decoding",
            1.0,
            (
                measure("slice_error", 0.06, 0.04, 0.08),
                measure("border_abs_median_mm", 7.5, 6.0, 9.0, numerator=None),
            ),
            "raw",
            (
                gain("slice_error", -0.02, -0.031, -0.008),
                gain("border_abs_median_mm", -1.25, None, None),
            ),
            (),
        ),
    ),
    (("ensemble", "greedy", "no member probabilities"),),
    (
        NetworkConfusion("starting network", ((5, 3), (2, 10))),
        NetworkConfusion("ensemble", ((8, 0), (1, 11))),
    ),
    200,
    1,
)


class TestAblation:
    def test_gains_stand_in_points_and_in_millimetres(self):
        view = ablation_view(ABLATION, DEFAULT)
        first, second = view.table.rows
        assert view.table.header[2:] == ("slice error", "border error, median")
        assert first[0] == "decision: raw" and first[2].count == "" and first[3] == "–"
        assert (
            second[2].count == "change −2.0 (−3.1 to −0.8) points"
            and second[3].count == "change −1.2 mm"
        )
        assert view.omitted_arms == "ensemble: greedy (no member probabilities)"
        assert [(matrix.name, matrix.error_text) for matrix in view.networks.matrices] == [
            ("starting network", "25.0\u00a0% wrong, 5/20"),
            ("ensemble", "5.0\u00a0% wrong, 1/20"),
        ]

    def test_is_a_section_of_its_own_or_none(self, make_page):
        with_it, without = pour(make_page(ablation=ABLATION)), pour(make_page())
        assert (
            'id="ablation"' in with_it
            and "exact decoding" in with_it
            and 'href="#ablation"' in with_it
        )
        assert (
            'id="ablation"' not in without
            and "#ablation" not in without
            and "What each step contributes" not in without
        )


def test_doubts_are_told_with_how_often_they_were_right(evaluation):
    told = replace(evaluation, doubts=(DoubtRow("members-disagree", 4, 3, 100, 25),))
    ((doubt, sets, slices),) = doubts_table(told).rows
    assert (doubt, sets.count, slices.count) == ("the networks disagree", "3/4", "25/100")
    assert slices.value.startswith("25.0") and not doubts_table(replace(evaluation, doubts=())).rows


def test_headers_are_told_in_rates_and_one_by_one(evaluation):
    rates = (measure("header_exact", 0.5, 0.3, 0.7, stage=""),)
    row = HeaderRow("THORAX", ("chest",), ("abdomen", "chest"), ("chest",), 7)
    told = replace(evaluation, header_rates=rates, headers=(row,))
    ((words, rate),) = header_rates_table(told).rows
    assert "exactly the regions" in words and rate.value.startswith("50.0")
    assert headers_table(told).rows == [("THORAX", "chest", "abdomen, chest", "chest", "7")]
    assert not header_rates_table(evaluation).rows and not headers_table(evaluation).rows


@pytest.mark.parametrize(
    ("promised", "wanted"), [(True, "holds for new people"), (False, "not be shown")]
)
def test_what_the_bar_promises_is_said_as_it_is(promised, wanted):
    told = Abstention(stated_error=0.05, min_confidence=0.83, subjects=20, promised=promised)
    words = promise_sentences(told)
    assert (
        wanted in words and "0.83" in words and "20 subjects" in words and "test split" not in words
    )
    text = promise_sentences(told, measure("answered_risk", 0.031, 0.017, 0.061, numerator=None))
    assert text.replace("\N{NO-BREAK SPACE}", " ").endswith(
        "On the test split it is 3.1 % (1.7–6.1 %, 20 subjects)."
    )
