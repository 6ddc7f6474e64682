"""What is said of each region, counted by hand and compared: a statement counts where its labels tell, and is
wrong where they say otherwise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.decision.statements import Statement
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.measures import Resampling
from fovnet.evaluate.statements import count_statements, statement_curve, statement_measures
from fovnet.evaluate.writing import evaluation_facts, rate_rows
from fovnet.regions import DEFAULT

REGIONS = DEFAULT.classes[:-1]
SPACING_MM = 5.0
CHANCES = {"yes": 0.95, "unsure": 0.55, "no": 0.05}


def told(planted, truth, answers, volume_id="v", subject_id=None, chances=None):
    """A case of slices 5 mm thick, with these answers by region, others "no"."""
    case = planted.case(truth, volume_id=volume_id, subject_id=subject_id, spacing_mm=SPACING_MM)
    made = tuple(
        Statement(region, answer, (chances or {}).get(region, CHANCES[answer]))
        for region in REGIONS
        for answer in [answers.get(region, "no")]
    )
    edges_mm = SPACING_MM * (np.arange(len(truth) + 1) - 0.5)
    return replace(case, statements=made, edges_mm=edges_mm, are_extents_sure=True)


@pytest.fixture
def cases(planted):
    """Four volumes of three people, with all that can go right and wrong."""
    return [
        # five of six decided, none wrong; the chest is shown and not surely found
        told(
            planted,
            ["abdomen"] * 6 + ["chest"] * 6,
            {"abdomen": "yes", "chest": "unsure"},
            "a",
            "A",
        ),
        # 5 mm of head are fewer than 10: a yes is wrong
        told(planted, ["chest"] * 6 + ["head"], {"chest": "yes", "head": "yes"}, "b", "A"),
        # a spine alone: what it crosses is not told
        told(planted, ["spine"] * 8, {"spine": "yes", "abdomen": "yes"}, "c", "B"),
        # a spine of which the labels name the chest in part: that is told, and the no is wrong
        told(planted, ["spine"] * 4 + ["spine+chest"] * 4, {"spine": "unsure"}, "d", "C"),
    ]


def counts(evaluation, name, region=""):
    found = evaluation.everything.find(name, "", region)
    return found.numerator, found.denominator


class TestCountedByHand:
    @pytest.fixture
    def evaluation(self, cases):
        return evaluate(cases, DEFAULT, bootstrap=50, seed=1)

    def test_a_statement_is_decided_where_it_is_yes_or_no_and_its_labels_tell(self, evaluation):
        # known: 6 + 6 + 1 (the spine) + 2 (spine and chest)
        assert counts(evaluation, "statements_decided") == (5 + 6 + 1 + 1, 15)

    def test_it_is_wrong_against_ten_millimetres_of_labels(self, evaluation):
        assert counts(evaluation, "statements_wrong") == (2, 13)
        assert counts(evaluation, "yes_wrong") == (1, 4)
        assert counts(evaluation, "no_wrong") == (1, 9)

    def test_a_region_is_surely_found_where_it_is_shown_and_said_to_be(self, evaluation):
        # shown: abdomen and chest of a, chest of b, spine of c, spine and chest of d
        assert counts(evaluation, "surely_found") == (3, 6)
        assert counts(evaluation, "surely_found", "chest") == (1, 3)
        assert counts(evaluation, "surely_found", "spine") == (1, 2)

    def test_of_a_spine_alone_nothing_is_held_against_what_it_crosses(self, evaluation):
        assert counts(evaluation, "yes_wrong", "abdomen") == (0, 1)

    def test_regions_add_up_to_all(self, evaluation):
        for name in (
            "statements_decided",
            "statements_wrong",
            "yes_wrong",
            "no_wrong",
            "surely_found",
        ):
            each = [counts(evaluation, name, region) for region in REGIONS]
            assert tuple(map(sum, zip(*each, strict=True))) == counts(evaluation, name)

    def test_the_bins_of_the_reliability_diagram_hold_every_known_statement(self, evaluation):
        statements, chance, shown = evaluation.statement_bins.sum(axis=0)
        assert (statements, shown) == (15, 6)
        assert chance == pytest.approx(0.95 * 4 + 0.55 * 2 + 0.05 * 9)
        assert evaluation_facts(evaluation)["statements"]["reliability"][0][0] == 9

    def test_tables_have_them_in_all_and_by_region(self, evaluation):
        rows = [row for row in rate_rows(evaluation) if row["measure"] == "surely_found"]
        everything = [row for row in rows if row["group"] == "all"]
        assert [row["region"] for row in everything] == ["", *REGIONS]


def test_nothing_is_said_of_statements_unless_every_volume_was_answered_so(planted, cases):
    plain = planted.case(["head"] * 4, volume_id="plain")
    evaluation = evaluate([*cases, plain], DEFAULT, bootstrap=20, seed=1)
    assert (
        evaluation.everything.find("statements_decided") is None
        and evaluation.statement_bins is None
    )


def test_a_refused_volume_does_not_count(planted, cases):
    refused = planted.refused("broken", "broken.nii: cut short")
    evaluation = evaluate([*cases, refused], DEFAULT, bootstrap=20, seed=1)
    assert counts(evaluation, "statements_decided") == (13, 15)


def test_risk_rises_from_the_surest_statement_on(planted):
    """Three statements that count, the least sure of them wrong: of the two surest none is, of three one."""
    chances = {"chest": 0.99, "head": 0.4, "spine": 0.02}
    case = told(planted, ["chest"] * 4 + ["head"] * 4, {"chest": "yes"}, chances=chances)
    kept = replace(
        count_statements(case, DEFAULT), is_known=np.array([name in chances for name in REGIONS])
    )
    assert [
        (round(one["coverage"], 3), round(one["risk"], 3)) for one in statement_curve([kept])
    ] == [
        (0.333, 0.0),
        (0.667, 0.0),
        (1.0, 0.333),
    ]


NAMES = st.sampled_from(["none", "legs", "pelvis", "abdomen", "chest", "spine", "spine+abdomen"])


@given(
    st.lists(
        st.tuples(
            st.lists(NAMES, min_size=1, max_size=6),
            st.lists(st.sampled_from([*CHANCES]), min_size=6, max_size=6),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_the_rates_are_those_of_a_plain_count(planted, volumes):
    known = decided = wrong = found = shown_in_all = 0
    cases = []
    for number, (truth, answers) in enumerate(volumes):
        answered = dict(zip(REGIONS, answers, strict=True))
        cases.append(told(planted, truth, answered, str(number)))
        least_mm, alone = min(10.0, SPACING_MM * len(truth)), "spine" in truth
        for region, answer in answered.items():
            shown = SPACING_MM * sum(region in name.split("+") for name in truth) >= least_mm
            if alone and region in DEFAULT.chain and not shown:
                continue
            known += 1
            shown_in_all += shown
            decided += answer != "unsure"
            found += shown and answer == "yes"
            wrong += answer == ("no" if shown else "yes")
    draws = Resampling([case.subject_id for case in cases], repeats=2, seed=0)
    measures = statement_measures(
        [count_statements(case, DEFAULT) for case in cases], draws, REGIONS
    )
    in_all = {one.name: (one.numerator, one.denominator) for one in measures if not one.region}
    assert in_all["statements_decided"] == (decided, known)
    assert in_all["statements_wrong"] == (wrong, decided)
    assert in_all["surely_found"] == (found, shown_in_all)
