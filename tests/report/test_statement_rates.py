"""What the report says of statements on regions, and where volumes count as doubted."""

from dataclasses import replace

import numpy as np
import pytest

from fovnet.decision.statements import Statement
from fovnet.evaluate.evaluation import evaluate
from fovnet.regions import DEFAULT
from fovnet.report.content.checklists import HEADING_BY_SECTION
from fovnet.report.content.failures import failures_view
from fovnet.report.content.run_record import ByRegion, RegionBar, by_region_in
from fovnet.report.content.statement_rates import statements_view
from fovnet.report.pages.card import markdown
from fovnet.report.pages.facts import report_facts
from fovnet.report.pages.pour import pour

REGIONS = DEFAULT.classes[:-1]


def told(case, unsure=(), doubted=False):
    """The same volume, answered region by region as decided, but for these regions; `doubted` as a whole."""
    shown = {span.region for span in case.spans}
    made = tuple(
        Statement(
            region,
            *(
                ("unsure", 0.6)
                if region in unsure
                else ("yes", 0.97)
                if region in shown
                else ("no", 0.03)
            ),
        )
        for region in REGIONS
    )
    edges_mm = (
        np.append(case.z_mm, case.z_mm[-1] + np.diff(case.z_mm)[0]) - np.diff(case.z_mm)[0] / 2
    )
    sure = sum(one.is_sure for one in made)
    return replace(
        case,
        statements=made,
        edges_mm=edges_mm,
        are_extents_sure=not doubted,
        status="ok" if sure == len(made) else "partly" if sure else "uncertain",
    )


@pytest.fixture(scope="module")
def cases(pictured):
    """The planted split, answered region by region: of every other volume the pelvis is unsure."""
    read = [case for case in pictured if len(case.z_mm)]
    return [
        *(
            told(case, ["pelvis"] if place % 2 else [], case.status == "uncertain")
            for place, case in enumerate(read)
        ),
        *(case for case in pictured if not len(case.z_mm)),
    ]


@pytest.fixture(scope="module")
def bars():
    return ByRegion(0.02, RegionBar(0.95, True, 80, 210), RegionBar(0.8, False, 90, 300))


@pytest.fixture(scope="module")
def page(make_page, cases, bars):
    return make_page(cases, by_region=bars)


@pytest.fixture(scope="module")
def evaluation(cases):
    return evaluate(cases, DEFAULT, bootstrap=50, seed=1)


class TestTheSection:
    def test_every_share_has_its_counts_and_they_add_up(self, page, evaluation):
        first, *regions = page.performance.statements.table.rows
        assert first[0] == "all regions" and [row[0] for row in regions] == list(REGIONS)
        parts = [
            tuple(int(n.replace(",", "")) for n in row[2].count.split("/"))
            for row in (first, *regions)
        ]
        assert parts[0] == tuple(map(sum, zip(*parts[1:], strict=True)))
        assert parts[0][1] == 6 * sum(row.slices > 0 for row in evaluation.volumes)
        halves = sum("pelvis" in row.unsure for row in evaluation.volumes)
        assert parts[0][1] - parts[0][0] == halves > 5

    def test_the_first_paragraph_says_how_many_are_decided_and_wrong(self, page):
        sentence = page.answer.sentence
        assert "statements on whether a region is shown" in sentence and "wrong (" in sentence

    def test_it_says_which_promise_was_given_and_which_was_not(self, page):
        words = page.performance.statements.promises
        assert "at most 2.0\N{NO-BREAK SPACE}% of each kind are wrong" in words
        yes, no = words.split("“No”")
        assert "0.95" in yes and "shows that this holds for new people" in yes
        assert "0.80" in no and "not be shown" in no

    def test_page_card_and_json_have_it(self, page, evaluation):
        html = pour(page)
        assert (
            'id="statements"' in html
            and 'href="#statements"' in html
            and HEADING_BY_SECTION["statements"] in html
        )
        assert "probability that the region is shown" not in html  # words of a figure are drawn
        assert html.count("<img") >= 7
        assert "| all regions | " in markdown(page)
        assert (
            report_facts(page, evaluation)["page"]["performance"]["said"]["table"]["name"]
            == "statements"
        )

    def test_without_statements_there_is_none_of_it(self, make_page, pictured):
        page = make_page(pictured)
        assert page.performance.statements is None and 'id="statements"' not in pour(page)
        assert "statement" not in page.answer.sentence and "all regions" not in markdown(page)


def test_bars_are_read_from_a_decision_and_older_ones_lack_them():
    found = {
        "min_confidence": 0.95,
        "promised": True,
        "p_value": 0.01,
        "subjects": 80,
        "statements": 210,
    }
    facts = {"statements": {"stated_error": 0.02, "at_risk": 0.1, "yes": found, "no": found}}
    bar = RegionBar(0.95, True, 80, 210)
    assert by_region_in(facts) == ByRegion(0.02, bar, bar) and by_region_in({"rule": {}}) is None


class TestAVolumeInDoubt:
    """Which volumes count as answered is told by their extents, whatever their statements."""

    def test_one_with_a_region_unsure_and_no_doubt_counts_as_answered(
        self, cases, evaluation, page
    ):
        partly = [case for case in cases if case.status == "partly" and case.is_answered]
        assert len(partly) > 5
        doubted = sum(case.are_extents_sure is False for case in cases)
        whole = evaluation.everything.volumes
        assert whole - evaluation.answered.volumes == doubted == 1
        *_, tested, answered = page.cohort.flow.steps
        assert (tested.volume_count, answered.volume_count) == (whole, whole - 1)

    def test_failures_without_a_doubt_come_first(self, planted):
        wrong = {"truth": ["head"] * 8, "predicted": ["chest"] * 8}
        doubted = told(
            planted.case(**wrong, volume_id="doubted", confidence=[0.99] * 8), doubted=True
        )
        partly = told(planted.case(**wrong, volume_id="partly", confidence=[0.8] * 8), ["pelvis"])
        both = [doubted, partly]
        view = failures_view(evaluate(both, DEFAULT, bootstrap=20, seed=1), both, 9, faces=True)
        assert [row[0] for row in view.table.rows] == ["partly", "doubted"]
        assert "1 of them were answered without a doubt, 1 with one" in view.sentence

    def test_the_share_answered_is_that_without_a_doubt(self, page, evaluation):
        whole = evaluation.everything.volumes
        assert page.confidence.risk.answered_share == pytest.approx((whole - 1) / whole)

    def test_no_statement_no_section(self, pictured):
        assert statements_view(evaluate(pictured, DEFAULT, bootstrap=20, seed=1), None) is None
