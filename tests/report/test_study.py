"""What went in, who is in which split, what abstaining buys, and what failed: counted by hand here, and
compared."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from fovnet.evaluate.cases import ListedVolume
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.readers import ReadingPair, measure_agreement
from fovnet.regions import DEFAULT, Vocabulary
from fovnet.report.content.cohort import refusal_reasons
from fovnet.report.content.confidence import risk_view
from fovnet.report.content.faces import COVERED_GREY, cover_faces
from fovnet.report.content.failures import MOST_THUMBNAILS, failures_view
from fovnet.report.content.flow import flow_table, flow_view
from fovnet.report.content.method import published_results_table
from fovnet.report.content.people import people_table
from fovnet.report.content.reference import labels_table, landmarks_table, reference_paragraphs
from fovnet.report.content.trainings import costs_table, trainings_of
from fovnet.report.pages.pour import pour
from fovnet.search.trial import Outcome, Proposal, Trial


def row(subject, split="", status="ok", slices=10, code="", **attributes):
    return ListedVolume(
        volume_id=f"{subject}-{split}-{len(attributes)}-{code}",
        subject_id=subject,
        split=split,
        status=status,
        slices=0 if status == "refused" else slices,
        code=code,
        message=f"{subject}: {code}",
        attributes=attributes,
    )


@pytest.fixture
def manifest():
    return [
        row("a", "train", sex="female", age="31", plane="axial"),
        row("a", "train", sex="female", age="31", plane="sagittal"),
        row("b", "train", sex="male", age="44", plane="axial"),
        row("c", "validation", sex="male", plane="axial"),
        row("d", "test", sex="female", age="62", plane="coronal"),
        row("e", "test", sex="male", age="20", plane="coronal"),
        row("f", slices=7),
        row("g", status="refused", code="volume-ct"),
        row("g", status="refused", code="volume-ct"),
        row("h", status="refused", code="volume-rgb"),
    ]


class TestFlow:
    def test_nobody_is_lost_between_two_steps(self, manifest):
        steps = flow_view(manifest, doubted_count=1).steps
        assert [step.volume_count for step in steps] == [10, 7, 6, 2, 1]
        for before, after in pairwise(steps):
            assert (
                before.volume_count - sum(one.volume_count for one in after.exclusions)
                == after.volume_count
            )

    def test_subjects_and_slices_are_counted_once(self, manifest):
        steps = flow_view(manifest, doubted_count=0).steps
        assert [step.subject_count for step in steps[:4]] == [8, 6, 5, 2]
        assert [step.slice_count for step in steps[:4]] == [67, 67, 60, 20]

    def test_why_is_said(self, manifest):
        words = " ".join(
            str(cell) for line in flow_table(flow_view(manifest, 1)).rows for cell in line
        )
        assert (
            "2 refused: volume-ct; 1 refused: volume-rgb" in words and "1 without labels" in words
        )
        rows = [("volume-ct", "2", "g: volume-ct"), ("volume-rgb", "1", "h: volume-rgb")]
        assert refusal_reasons(manifest).rows == rows

    def test_nothing_listed_is_nothing_to_draw(self):
        assert flow_view([], 0).steps == ()


class TestPeople:
    def test_what_belongs_to_a_person_is_counted_in_people(self, manifest):
        counted = {line[0]: line[1:] for line in people_table(manifest).rows}
        unit, train, validation, test = counted["sex: female"]
        assert unit == "subjects" and (
            train.value,
            train.count[:2],
            validation.value,
            test.value,
        ) == (
            "1",
            "50",
            "0",
            "1",
        )

    def test_what_differs_within_a_person_is_counted_in_volumes(self, manifest):
        unit, train, *_ = next(
            line[1:] for line in people_table(manifest).rows if line[0] == "plane: axial"
        )
        assert unit == "volumes" and train.value == "2"

    def test_what_is_not_recorded_is_said(self, manifest):
        unknown = next(
            line for line in people_table(manifest).rows if line[0] == "age: not recorded"
        )
        assert unknown[3].value == "1"

    def test_many_numbers_are_told_by_their_middle_and_range(self):
        ages = [row(f"s{age}", "train", age=str(age)) for age in range(20, 61)] + [
            row("x", "train")
        ]
        (line,) = people_table(ages).rows
        assert line[:3] == ("age: median (range)", "subjects", "40 (20 to 60), 41 of 42")

    def test_many_words_are_told_by_how_many(self):
        sites = [row(f"s{site}", "train", site=f"site {site}") for site in range(30)]
        assert people_table(sites).rows == [("site: different values", "subjects", "30", "0", "0")]


def test_published_figures_stand_beside_the_same_regions_alone():
    own = Vocabulary(tuple(region for region in DEFAULT.regions if region.name != "spine"))
    assert published_results_table(own).rows == ()
    baseline, best = published_results_table(DEFAULT).rows
    assert (best[0], best[2], best[-1]) == (
        "best single network found",
        "93\u00a0%",
        "10\u00a0%",
    ) and baseline[-1] == "14\u00a0%"


def test_the_reference_names_every_landmark_of_the_default_vocabulary():
    assert len(landmarks_table(DEFAULT).rows) == len(DEFAULT.chain) - 1
    assert "10 mm" in " ".join(reference_paragraphs(DEFAULT))
    table = labels_table({"train": (1, 2, 3, 4, 5, 6, 7), "test": (0,) * 7}, DEFAULT)
    assert table.rows[2] == ("abdomen", "3", "–", "0")


@pytest.fixture(scope="module")
def read_twice():
    """What is found of a collection in which the second reader draws one border two slices higher."""
    first, second = (np.zeros((30, len(DEFAULT.classes)), dtype=bool) for _ in range(2))
    for labels, border in ((first, 10), (second, 12)):
        labels[:border, 0] = labels[border:, 1] = True
    pairs = [ReadingPair(f"v{at}", f"s{at}", first, second, 5.0 * np.arange(31)) for at in range(6)]
    return {"clinic": {("anna", "bo"): measure_agreement(pairs, DEFAULT, repeats=50)}}


def test_how_far_readers_agree_is_told_where_a_collection_was_read_twice(make_page, read_twice):
    page = make_page(readers=read_twice)
    rows = {row[0]: row[1:] for row in page.reference.readers.rows}
    alike, _, near, alone, apart = rows["clinic, anna and bo: all"]
    assert (alike.value, alike.count) == ("93.3\u00a0%", "168/180")
    assert (near.count, alone.count, apart.value) == ("6/6", "0/6", "10.0\u00a0mm")
    html = pour(page)
    assert (
        'id="readers"' in html
        and "Of collection clinic a part was read by more than one reader" in html
    )


def test_without_a_second_reader_the_item_of_the_guideline_is_unfilled(make_page, read_twice):
    def item_18(page):
        (claim, _) = page.method.checklists
        return next(row for row in claim.table.rows if row[0] == "18")[2]

    assert item_18(make_page()) == "unfilled"
    assert item_18(make_page(readers=read_twice)) == "How far readers agree"


@pytest.fixture(scope="module")
def evaluation(pictured):
    return evaluate(pictured, DEFAULT, bootstrap=100, seed=1)


class TestRisk:
    def test_curve_is_that_of_taking_the_surest_one_by_one(self, evaluation):
        rows = sorted(
            (one for one in evaluation.volumes if one.slices),
            key=lambda one: (-one.confidence, one.volume_id),
        )
        for kept, point in enumerate(risk_view(evaluation).points, start=1):
            taken = rows[:kept]
            assert point.coverage == pytest.approx(kept / len(rows))
            assert point.slice_error == pytest.approx(
                sum(one.wrong for one in taken) / sum(one.slices for one in taken)
            )
            assert point.wrong_set_share == pytest.approx(
                sum(not one.right for one in taken) / kept
            )

    def test_everything_answered_errs_as_the_evaluation_says(self, evaluation):
        view = risk_view(evaluation)
        whole = evaluation.everything.find("slice_error", "decided")
        assert view.points[-1].slice_error == pytest.approx(whole.value)
        assert view.table.rows[0][3].count == f"{whole.numerator:,.0f}/{whole.denominator:,}"
        assert view.answered_share == pytest.approx(21 / 22)


@pytest.fixture(scope="module")
def wrong(planted):
    """Three volumes: right, sure and wrong, unsure and wrong."""
    rng = np.random.default_rng(5)
    right = planted.whole_body(rng, "right", pictured=True, flicker=0.0, shift=0.0)
    sure = planted.case(
        ["legs"] * 6 + ["pelvis"] * 6, ["legs"] * 12, volume_id="sure", confidence=[0.99] * 12
    )
    unsure = planted.case(["head"] * 8, ["chest"] * 8, volume_id="unsure", confidence=[0.55] * 8)
    return [right, sure, unsure]


class TestFailures:
    def test_the_most_confident_come_first_and_the_right_not_at_all(self, wrong):
        view = failures_view(evaluate(wrong, DEFAULT, bootstrap=20, seed=1), wrong, 9, faces=True)
        assert [line[0] for line in view.table.rows] == ["sure", "unsure"]
        assert "2 of 3 volumes failed" in view.sentence

    def test_a_spine_told_rightly_makes_no_failure_sure(self, planted):
        vague = planted.case(
            ["spine+chest"] * 8, ["spine+head"] * 8, volume_id="vague", confidence=[1.0] * 8
        )
        vague = replace(vague, set_probability=0.4)
        surely = replace(
            planted.case(["legs"] * 8, ["pelvis"] * 8, volume_id="surely", confidence=[0.9] * 8),
            set_probability=0.8,
        )
        rows = failures_view(
            evaluate([vague, surely], DEFAULT, bootstrap=20, seed=1), [vague, surely], 9, faces=True
        ).table.rows
        assert [row[:2] for row in rows] == [("surely", "0.80"), ("vague", "0.40")]

    def test_answers_come_before_those_that_said_they_could_not(self, planted):
        doubted = planted.case(
            ["head"] * 8,
            ["chest"] * 8,
            volume_id="doubted",
            confidence=[0.99] * 8,
            status="uncertain",
        )
        answered = planted.case(
            ["legs"] * 8, ["pelvis"] * 8, volume_id="answered", confidence=[0.9] * 8
        )
        both = [doubted, answered]
        rows = failures_view(
            evaluate(both, DEFAULT, bootstrap=20, seed=1), both, 9, faces=True
        ).table.rows
        assert [row[0] for row in rows] == ["answered", "doubted"]

    def test_pictures_are_bounded_and_thumbnails_lie_around_the_wrong_run(
        self, evaluation, pictured
    ):
        assert failures_view(evaluation, pictured, 0, faces=True).pictured_failures == ()
        (failure,) = failures_view(evaluation, pictured, 9, faces=True).pictured_failures
        assert failure.title.startswith("P10-lost") and len(failure.thumbnails) == MOST_THUMBNAILS
        assert [one.is_wrong for one in failure.thumbnails] == [False, True, True, True, False]
        assert "predicted legs, true is" in failure.thumbnails[2].caption

    def test_without_failures_the_report_says_so(self, planted):
        cases = [
            planted.case(["head"] * 5, volume_id="a"),
            planted.case(["legs"] * 5, volume_id="b"),
        ]
        view = failures_view(evaluate(cases, DEFAULT, bootstrap=20, seed=1), cases, 9, faces=True)
        assert not view.table.rows and "No volume of 2 failed" in view.sentence


class TestFaces:
    def test_heads_said_believed_or_true_are_covered_and_nothing_far_from_them(self):
        pixels = np.full((100, 128, 128), 7, dtype=np.uint8)
        z_mm = 5.0 * np.arange(100)
        head = DEFAULT.classes.index("head")
        shares = [np.zeros((100, len(DEFAULT.classes))) for _ in range(3)]
        shares[0][90:, head], shares[1][70, head], shares[2][80, head] = 1.0, 0.03, 0.001
        hidden = (cover_faces(pixels, z_mm, DEFAULT, shares) == COVERED_GREY).all(axis=(1, 2))
        assert np.flatnonzero(hidden).tolist() == [*range(64, 77), *range(84, 100)]
        assert (pixels == 7).all(), "the slices handed in stay as they are"

    def test_no_head_nothing_covered(self):
        pixels = np.ones((4, 128, 128), dtype=np.uint8)
        assert (cover_faces(pixels, np.arange(4.0), DEFAULT, [np.zeros((4, 7))]) == pixels).all()

    def test_no_picture_of_the_report_shows_a_head(self, make_page, pictured):
        page = make_page(configuration={"report": {"faces": False}})
        of_id = {case.volume_id: case for case in pictured}
        head = DEFAULT.classes.index("head")
        views = [
            *page.cases.pictures,
            *(one.picture for one in page.cases.failures.pictured_failures),
        ]
        assert views
        for view in views:
            assert (view.pixels[of_id[view.title].truth[:, head]] == COVERED_GREY).all()


def test_costs_are_those_recorded_and_the_rest_is_not_invented():
    def trained(slot, predicted_seconds, **outcome):
        proposal = Proposal(slot, slot, {}, 0, (), (), predicted_seconds)
        return Trial(proposal, Outcome("completed", score=1.0, **outcome))

    trials = [
        trained(0, 12.0, seconds=10.0, peak_memory_bytes=2e6, device="cpu"),
        trained(1, 30.0, seconds=30.0, peak_memory_bytes=0),
    ]
    costs = dict(costs_table(trainings_of(trials)).rows)
    assert costs["trainings"] == "2" and "40" in costs["time of all trainings together"]
    assert costs["peak memory of one training, median (range)"] == "2 MB (2 MB to 2 MB)"
    assert dict(costs_table(trainings_of([trained(0, 1.0)])).rows)["device"] == "not recorded"
    assert not costs_table([]).rows
