"""Parts that only newer results have: shown where they are, left out where they are not."""

import pytest

from fovnet.evaluate.measures import Measure
from fovnet.regions import DEFAULT
from fovnet.report.content.further import ablation_view, doubts_table, header_rates, header_rows, promise_words
from fovnet.report.pages.pour import pour


def measure(name, value, low=None, high=None, numerator=1.0, denominator=20, stage="decided"):
    interval = "bootstrap" if low is not None else "not estimable"
    return {"name": name, "stage": stage, "region": "", "numerator": numerator, "denominator": denominator, "value": value, "low": low,
            "high": high, "interval": interval, "subjects": 20}


def gain(name, difference, low, high):
    return {"measure": name, "stage": "decided", "difference": difference, "low": low, "high": high, "interval": "bootstrap"}


ABLATION = {
    "steps": [
        {"ladder": "decision", "arm": "raw", "what": "most probable class", "gains": [],
         "measures": [measure("slice_error", 0.08, 0.06, 0.1)]},
        {"ladder": "decision", "arm": "exact", "what": "exact decoding",
         "measures": [measure("slice_error", 0.06, 0.04, 0.08), measure("border_abs_median_mm", 7.5, 6.0, 9.0, numerator=None)],
         "gains": [gain("slice_error", -0.02, -0.031, -0.008), gain("border_abs_median_mm", -1.25, None, None)]},
    ],
    "left_out": [{"ladder": "ensemble", "arm": "greedy", "why": "no member probabilities"}],
}


class TestAblation:
    def test_gains_stand_in_points_and_in_millimetres(self):
        view = ablation_view(ABLATION)
        first, second = view.table.rows
        assert view.table.header[2:] == ("slice error", "border error, median")
        assert first[0] == "decision: raw" and first[2].count == "" and first[3] == "–"
        assert second[2].count == "change −2.0 (−3.1 to −0.8) points" and second[3].count == "change −1.2 mm"
        assert view.left_out == "ensemble: greedy (no member probabilities)"

    def test_is_a_section_of_its_own_or_none(self, make_page):
        with_it, without = pour(make_page(ablation=ABLATION)), pour(make_page())
        assert 'id="ablation"' in with_it and "exact decoding" in with_it and 'href="#ablation"' in with_it
        assert 'id="ablation"' not in without and "#ablation" not in without and "What each step is worth" not in without


def test_doubts_are_told_with_how_often_they_were_right():
    row = {"code": "members-disagree", "volumes": 4, "wrong": 3, "slices": 100, "wrong_slices": 25}
    ((doubt, sets, slices),) = doubts_table({"doubts": [row]}).rows
    assert (doubt, sets.count, slices.count) == ("the networks disagree", "3/4", "25/100") and slices.value.startswith("25.0")
    assert doubts_table({}).rows == ()


def test_headers_are_told_in_rates_and_one_by_one():
    headers = {
        "rates": [measure("header_exact", 0.5, 0.3, 0.7, stage="")],
        "rows": [{"text": "THORAX", "header": ["chest"], "truth": ["abdomen", "chest"], "predicted": ["chest"], "volumes": 7}],
    }
    ((words, rate),) = header_rates({"headers": headers}).rows
    assert "exactly the regions" in words and rate.value.startswith("50.0")
    assert header_rows({"headers": headers}, DEFAULT).rows == (("THORAX", "chest", "abdomen, chest", "chest", "7"),)
    assert header_rates({}).rows == header_rows({}, DEFAULT).rows == ()


@pytest.mark.parametrize(("promised", "wanted"), [(True, "holds for new people"), (False, "was not shown")])
def test_what_the_bar_promises_is_said_as_it_is(promised, wanted):
    words = promise_words({"stated_error": 0.05, "min_confidence": 0.83, "promised": promised, "subjects": 20})
    assert wanted in words and "0.83" in words and "20 subjects" in words
    assert promise_words({}) == "" and "test split" not in words
    text = promise_words({"stated_error": 0.05}, Measure("answered_risk", "decided", "", None, 20, 0.031, 0.017, 0.061, "bootstrap-t", 20))
    assert text.replace("\N{NO-BREAK SPACE}", " ").endswith("On the test split it is 3.1 % (1.7–6.1 %, 20 subjects).")
