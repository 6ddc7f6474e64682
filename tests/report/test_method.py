"""What the page says of this very run: its method, its simulated people, and points that would press a figure
together."""

import pytest

from fovnet.decision.rule import Rule
from fovnet.maths.ladder import Height
from fovnet.report.content.method import method_summary, predictors_phrase
from fovnet.report.content.performance import BorderDots
from fovnet.report.figures.charts import border_figure, reliability_figure

from .conftest import settings_of

HEIGHTS = (None, Height(216.0, 16.0), None, None, None)


@pytest.mark.parametrize(
    ("configuration", "rule", "wanted", "unwanted"),
    [
        (
            {},
            Rule(),
            ("found by Gaussian-process", "smoothed along the body", "anatomical order"),
            ("from it", "usual height"),
        ),
        (
            {"training": {"begin": "shipped"}, "search": {"space": "members"}},
            Rule(),
            ("trained further from those of another ensemble",),
            ("optimisation",),
        ),
        ({"search": {"method": "random"}}, Rule(), ("drawn at random",), ("optimisation",)),
        (
            {"search": {"method": "grid"}},
            Rule(),
            ("best of a grid",),
            ("optimisation", "at random"),
        ),
        (
            {"search": {"method": "tpe"}},
            Rule(),
            ("Parzen estimators",),
            ("optimisation", "at random"),
        ),
        ({"search": {"method": "gp-ts"}}, Rule(), ("found by Gaussian-process",), ("Parzen",)),
        (
            {"training": {"inputs": ["slice", "sections"]}},
            Rule(),
            ("from it and the volume’s sagittal",),
            (),
        ),
        (
            {"training": {"inputs": ["slice", "millimetres", "sections"]}},
            Rule(),
            ("from it, the same at a", "pixel and the volume’s"),
            (),
        ),
        ({}, Rule(sigma_mm=0.0), ("calibrated on the validation split. ",), ("smoothed",)),
        ({}, Rule(heights=HEIGHTS), ("near their usual heights",), ()),
        (
            {},
            Rule(method="intersections"),
            ("curves of two adjacent regions cross",),
            ("most probable", "usually"),
        ),
    ],
)
def test_the_method_is_told_as_this_run_has_it(configuration, rule, wanted, unwanted):
    words = method_summary(settings_of(configuration), rule)
    assert all(part in words for part in wanted) and not any(part in words for part in unwanted), (
        words
    )


def test_answers_are_predicted_from_what_networks_are_shown_and_the_rule_knows():
    assert (
        predictors_phrase(settings_of({}), Rule()) == "the pixels of axial slices and nothing else"
    )
    settings = settings_of({"training": {"inputs": ["slice", "sections"]}})
    text = predictors_phrase(settings, Rule(heights=HEIGHTS))
    assert text.endswith("sagittal and coronal section, and the usual heights of regions")


def test_people_are_called_simulated_where_all_are_and_collections_where_some_are(
    make_page, pictured
):
    simulating = {"phantom": {"subjects": 40}}
    alone = [case for case in pictured if case.collection == "phantom"]
    mixed, plain = (make_page(bootstrap=100, configuration=one) for one in (simulating, {}))
    only = make_page(alone, bootstrap=100, configuration=simulating)
    assert "11 simulated people" in only.answer.sentence
    assert only.answer.errors_by_collection.endswith("collection phantom, which is simulated.")
    assert (
        "simulated" not in mixed.answer.sentence
        and "phantom (simulated)" in mixed.answer.errors_by_collection
    )
    assert "simulated" not in plain.answer.sentence + plain.answer.errors_by_collection


def test_what_is_said_beside_a_spine_stands_in_the_answer(make_page, planted):
    cases = [
        planted.case(
            ["spine+pelvis"] * 10, ["spine+head"] * 3 + ["spine+pelvis"] * 7, volume_id=f"v{n}"
        )
        for n in range(6)
    ]
    sentence = make_page(cases, bootstrap=100).answer.sentence
    assert "0.0\N{NO-BREAK SPACE}% of 60 slices" in sentence.replace("in 0.0", "0.0")
    assert "counting all that is predicted beside it, 30.0\N{NO-BREAK SPACE}% are wrong" in sentence


def test_one_border_half_a_metre_off_does_not_press_the_others_together():
    errors = tuple(float(error) for error in range(-20, 21))
    usual, odd = (
        border_figure([BorderDots("a | b", errors_mm, 0.0)])
        for errors_mm in (errors, (*errors, 540.0, -300.0))
    )
    assert 20.0 < usual.axes[0].get_xlim()[1] < odd.axes[0].get_xlim()[1] < 60.0
    assert [
        len(dots.get_offsets()) for dots in odd.axes[0].collections if len(dots.get_offsets())
    ] == [
        len(errors),
        1,
        1,
    ]


def test_ends_do_not_stretch_the_axis_of_borders_between_regions():
    between, ends = (
        BorderDots("a | b", (-12.0, 3.0, 15.0), 3.0),
        BorderDots("ends", (-90.0, 40.0, 70.0), 40.0, are_ends=True),
    )
    limits = [
        border_figure(dots).axes[0].get_xlim() for dots in ([between], [between, ends], [ends])
    ]
    assert limits[0] == limits[1] and limits[2][1] > 60.0


def test_every_median_is_drawn_also_one_beyond_the_axis():
    """Ends too far down by more than borders between regions ever are: a wedge outside of the axis would not
    be seen."""
    rows = (
        BorderDots("a | b", (-12.0, 3.0, 15.0), 3.0),
        BorderDots("ends", (-90.0, -80.0, 4.0), -80.0, are_ends=True),
    )
    axis = border_figure(rows).axes[0]
    (low, high), medians = (
        axis.get_xlim(),
        [line for line in axis.lines if line.get_marker() in "v<>"],
    )
    assert [line.get_marker() for line in medians] == ["<", "v"]
    assert all(low < line.get_xdata()[0] < high for line in medians)


def test_the_legend_of_the_calibration_lies_above_its_curves(make_page):
    page = make_page(bootstrap=100)
    figure = reliability_figure(page.confidence.reliability)
    figure.canvas.draw()
    axis = figure.axes[0]
    assert axis.get_legend().get_window_extent().y0 >= axis.get_window_extent().y1 - 1.0
    assert axis.get_legend().get_texts()[0].get_text() == "networks alone"
