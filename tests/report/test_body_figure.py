"""The whole-body figure: true millimetres, feet at the bottom, right on the left, and PNG files that come
whole or not at all."""

import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.image import imread

from fovnet.drawing.canvas import png, save_png, svg
from fovnet.regions import DEFAULT, Region, Vocabulary
from fovnet.report.figures.body import Body
from fovnet.report.figures.body_figure import volume_figure
from fovnet.report.figures.views import coronal_view


def drawn(case, truth=None, **more):
    pixels = (
        case.pixels
        if case.pixels is not None
        else np.zeros((len(case.z_mm), 128, 128), dtype=np.uint8)
    )
    body = Body(pixels, case.z_mm, case.side_mm, case.smoothed_probabilities, case.spans, DEFAULT)
    return volume_figure(case.volume_id, body, case.raw_probabilities, truth=truth, **more)


def panel_of(figure):
    (panel,) = figure.axes
    return panel


def words_of(panel):
    return [text.get_text() for text in panel.texts]


def names_in(panel):
    """The names of regions written in their boxes."""
    return [text for text in panel.texts if text.get_text() in DEFAULT.classes]


def boxes_of(panel):
    """The boxes of spans, without what lies behind them."""
    return [box for box in panel.patches if box.get_height() < 1e5]


@pytest.fixture(scope="module")
def body(planted):
    return planted.whole_body(np.random.default_rng(3), "body", pictured=True)


class TestCoronalView:
    def test_keeps_feet_first_and_right_first(self):
        pixels = np.zeros((4, 128, 128), dtype=np.uint8)
        # a bright spot at the feet, in the first columns: the patient's right
        pixels[0, 60:68, :64] = 200
        view = coronal_view(pixels)
        assert view.shape == (4, 128) and view.dtype == np.uint8
        assert view[0, :64].min() > view[1:].max() and view[0, 64:].max() == 0

    def test_looks_where_the_body_is(self):
        pixels = np.zeros((3, 128, 128), dtype=np.uint8)
        pixels[:, 90:120, 40:80] = 100  # a body far behind the middle of the slice
        assert coronal_view(pixels)[:, 40:80].min() == 255

    @pytest.mark.parametrize("value", [0, 7, 255])
    def test_of_equal_pixels_is_flat(self, value):
        view = coronal_view(np.full((2, 128, 128), value, dtype=np.uint8))
        assert view.min() == view.max()


class TestScale:
    def test_a_millimetre_across_is_a_millimetre_along(self, body):
        panel = panel_of(drawn(body))
        left, right, low, high = panel.images[0].get_extent()
        width, height = np.diff(panel.transData.transform([(left, low), (right, high)]), axis=0)[0]
        assert width / body.side_mm == pytest.approx(height / (high - low), rel=1e-6)
        assert "460 mm wide" in words_of(panel)

    def test_a_thin_stack_is_stretched_and_says_so(self, planted):
        panel = panel_of(drawn(planted.case(["head"] * 5, spacing_mm=5.0)))
        assert any("stretched" in words for words in words_of(panel))

    def test_a_height_in_the_scanner_is_the_same_height_in_every_column(self, body):
        panel = panel_of(drawn(body, truth=body.spans))
        step = body.z_mm[1] - body.z_mm[0]
        ends = (body.z_mm[0] - step / 2, body.z_mm[-1] + step / 2)
        assert panel.get_ylim() == tuple(panel.images[0].get_extent()[2:]) == ends

    def test_spans_lie_at_their_millimetres_in_their_colours(self, body):
        boxes = boxes_of(panel_of(drawn(body)))
        assert [box.get_y() for box in boxes] == pytest.approx(
            [span.from_mm for span in body.spans]
        )
        assert [box.get_y() + box.get_height() for box in boxes] == pytest.approx(
            [span.to_mm for span in body.spans]
        )
        assert len({box.get_facecolor() for box in boxes}) == len(body.spans)

    def test_a_name_is_written_where_its_box_has_room_for_it(self, body, planted):
        """Every word drawn lies within the heights of its own box, and what is too low for a word has
        none."""
        for names in (
            ["spine+chest"] * 30 + ["chest"] * 2,
            ["pelvis"] + ["abdomen"] * 60,
            ["abdomen"] * 40 + ["chest"],
        ):
            case = planted.case(names)
            figure = drawn(case)
            figure.canvas.draw()
            axis = panel_of(figure)
            written = names_in(axis)
            for text in written:
                span = next(span for span in case.spans if span.region == text.get_text())
                box = text.get_window_extent()
                low, high = axis.transData.transform([(0, span.from_mm), (0, span.to_mm)])[:, 1]
                assert low <= box.y0 and box.y1 <= high
        assert [text.get_text() for text in written] == ["abdomen"]
        assert [text.get_text() for text in names_in(panel_of(drawn(body)))] == [
            span.region for span in body.spans
        ]


def test_regions_that_are_unsure_are_pale_and_true_ones_never(body):
    """All of them are where the whole answer is a guess."""

    def pale(**more):
        boxes = boxes_of(panel_of(drawn(body, truth=body.spans, **more)))
        return [box.get_y() for box in boxes if box.get_alpha()]

    bottoms = [span.from_mm for span in body.spans]
    assert pale() == [] and pale(unsure_regions=[body.spans[1].region]) == bottoms[1:2]
    assert pale(is_guess=True) == bottoms


@pytest.mark.parametrize(
    "names", [["head"], ["none"] * 6, ["spine"] * 12, ["spine+chest"] * 6 + ["chest"] * 6]
)
def test_any_volume_can_be_drawn(planted, names):
    case = planted.case(names)
    assert svg(drawn(case, truth=(), message="possibly flipped head to feet " * 9)).startswith(
        "<svg"
    )


def test_a_refused_volume_gets_a_figure_with_its_sentence(planted):
    case = planted.refused("r", "r.nii: the file ends after 1.2 of 8.4 MB. Copy it again.")
    assert "the file ends after" in svg(drawn(case, message=case.message))


def test_the_same_figure_is_the_same_file(body, tmp_path):
    assert svg(drawn(body)) == svg(drawn(body))
    assert png(drawn(body)) == png(drawn(body))
    assert "<dc:date>" not in svg(drawn(body))
    saved = save_png(drawn(body), tmp_path / "deep" / "body.png")
    assert saved.read_bytes() == png(drawn(body)) and [
        path.name for path in saved.parent.iterdir()
    ] == ["body.png"]
    assert imread(io.BytesIO(saved.read_bytes())).shape[2] == 3


class TestScripts:
    def test_a_name_in_a_script_the_font_lacks_is_drawn_as_boxes_without_a_warning(self, body):
        """Warnings are errors here.  Greek and Cyrillic are in the font, Han and Hangul are not."""
        han, boxes, greek = (
            png(drawn(replace(body, volume_id=name)), dpi=50)
            for name in ("膝 무릎 α Ж", "□ □□ α Ж", "□ □□ a Ж")
        )
        assert han == boxes != greek


@pytest.mark.parametrize(("count", "letters"), [(6, 5), (13, 6), (24, 12)])
def test_the_names_of_many_regions_stand_within_the_figure(planted, count, letters):
    words = Vocabulary(
        tuple(Region(f"{'m' * letters}{number}", number, "#445566") for number in range(count))
    )
    k = len(words.classes)
    z_mm = 5.0 * np.arange(20)
    curves = np.full((20, k), 1 / k)
    body = Body(np.zeros((20, 40, 40), np.uint8), z_mm, 200.0, curves, (), words)
    figure = volume_figure("t", body, curves)
    figure.canvas.draw()
    box, whole = figure.legends[0].get_window_extent(), figure.bbox
    assert box.x0 >= 0 and box.x1 <= whole.x1
    assert box.y1 < min(axis.get_tightbbox().y0 for axis in figure.axes) + 2, (
        "names and axis labels do not meet"
    )


def test_a_long_message_is_read_to_its_end_and_makes_the_figure_taller() -> None:
    """A refusal says last what to try."""
    short, long = (
        "stack.nrrd: only 61 whole numbers.",
        " ".join(f"word{number}" for number in range(60)) + " Give the MR volume.",
    )
    curves = np.zeros((0, 7))
    nothing = Body(np.zeros((0, 8), np.uint8), np.zeros(0), 1.0, curves, [], DEFAULT)
    figures = [volume_figure("v", nothing, curves, message=message) for message in (short, long)]
    assert [" ".join(figure.texts[1].get_text().split()) for figure in figures] == [short, long]
    assert figures[1].get_figheight() > figures[0].get_figheight() + 0.5
    for figure in figures:
        figure.canvas.draw()
        box = figure.texts[1].get_window_extent()
        assert box.y0 > 0 and box.x1 < figure.bbox.width
