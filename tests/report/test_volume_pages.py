"""The page of one volume and the index over a batch: one file each, right millimetres, readable without
JavaScript."""

import base64
import io
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers
from PIL import Image
from typer.testing import CliRunner

from fovnet import volume
from fovnet.cli import app
from fovnet.decision.answers_table import TableRows
from fovnet.decision.doubts import CHECKS
from fovnet.drawing.raster import brighten, contact_sheet
from fovnet.errors import ConfigError
from fovnet.evaluate.cases import StoredSpan
from fovnet.own_files import find_path_answered_before, is_our_thumbnail, page_name, thumbnail_name
from fovnet.records import write_json
from fovnet.regions import DEFAULT
from fovnet.report.content.doubt_words import CODES, doubt_in_words
from fovnet.report.content.faces import COVERED_GREY
from fovnet.report.content.region_answers import GUESS_EXPLANATION
from fovnet.report.figures.body import Body
from fovnet.report.figures.body_drawing import HEIGHT_LABELS_WIDTH, draw_body
from fovnet.report.figures.thumbnail import (
    DASH_LENGTH,
    LANE_WIDTH,
    LONGEST_SIDE,
    SHORTEST_SIDE,
    draw_thumbnail,
    save_thumbnail,
)
from fovnet.report.figures.views import coronal_view, resample_heights, sagittal_view
from fovnet.report.pages.index_page import (
    MOST_DOUBTS_NAMED,
    ROWS_IN_HTML,
    make_index_page,
    write_index,
)
from fovnet.report.pages.volume_page import (
    MOST_SLICES,
    SLICES_PER_LINE,
    make_volume_page,
    write_volume_page,
)
from fovnet.volume.dicom.triage import INCLUDABLE_KINDS

VOID = {"meta", "img", "br", "input", "rect", "line", "image", "polyline", "link"}


class Reader(HTMLParser):
    """Tags and words of a page; stands still at the first tag that is not closed in order."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words, self.scripts = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        (self.scripts if self.open and self.open[-1] in {"script", "style"} else self.words).append(
            data
        )


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert not reader.open
    return reader


def body_of(case, **more):
    """The facts of a case as prediction writes them."""
    spans = [
        {
            "region": one.region,
            "first_slice": one.first_slice,
            "last_slice": one.last_slice,
            "from_mm": one.from_mm,
            "to_mm": one.to_mm,
            "confidence": one.confidence,
        }
        for one in case.spans
    ]
    return {
        "volume_id": case.volume_id,
        "path": f"scans/{case.volume_id}.nii.gz",
        "status": case.status,
        "message": case.message,
        "confidence": 0.9,
        "flipped_gain": 0.0,
        "spans": spans,
        "z_mm": case.z_mm,
        "side_mm": case.side_mm,
        "counted": np.arange(len(case.z_mm)),
        "raw": case.raw_probabilities,
        "smoothed": case.smoothed_probabilities,
        "decided": case.decided_labels.astype(int),
        "slice_confidence": case.slice_confidence,
        "notes": ("3 neighbouring slices averaged in each cut",),
        "model": "m",
        "checksum": "c" * 64,
        **more,
    }


BOUNDARIES = [
    {"below": "pelvis", "above": "abdomen", "mm": 100.0, "low_mm": 90.0, "high_mm": 112.0}
]


@pytest.fixture(scope="module")
def case(planted):
    return planted.whole_body(np.random.default_rng(3), "body", pictured=True)


@pytest.fixture(scope="module")
def page(case):
    doubts = [{"code": "members-disagree", "sentence": "The networks disagree."}]
    body = body_of(
        case,
        boundaries=BOUNDARIES,
        set_probability=0.87,
        doubts=doubts,
        status="uncertain",
        novelty=0.02,
        agreement=None,
    )
    return make_volume_page(body, case.pixels, DEFAULT)


class TestViews:
    def test_from_the_side_feet_come_first_and_the_front_is_on_the_left(self):
        pixels = np.zeros((4, 128, 128), dtype=np.uint8)
        # a bright spot at the feet, in the first rows: the patient's front
        pixels[0, :64, 60:68] = 200
        view = sagittal_view(pixels)
        assert view[0, :64].min() > view[1:].max() and view[0, 64:].max() == 0

    def test_both_views_of_a_turned_stack_are_each_other(self):
        pixels = np.random.default_rng(1).integers(0, 255, (5, 128, 128), dtype=np.uint8)
        assert (coronal_view(pixels) == sagittal_view(pixels.transpose(0, 2, 1))).all()

    def test_uneven_cuts_are_as_tall_as_they_lie_apart(self):
        view = np.repeat(np.array([[10], [20], [30]], dtype=np.uint8), 4, axis=1)
        even = resample_heights(view, np.array([0.0, 10.0, 80.0]), -5.0, 115.0)
        assert (even[:, 0] == 10).sum() == 1 and (even[:, 0] == 30).sum() == 3


def part_of(case, slices, side_mm):
    """The lowest slices of a case, without an answer, to draw."""
    lowest = slice(slices)
    return Body(
        case.pixels[lowest],
        case.z_mm[lowest],
        side_mm,
        case.smoothed_probabilities[lowest],
        [],
        DEFAULT,
    )


class TestDrawing:
    def test_millimetres_are_true_to_scale(self, case):
        drawing = draw_body(part_of(case, len(case.z_mm), case.side_mm), [])
        tall_mm = case.z_mm[-1] - case.z_mm[0] + np.median(np.diff(case.z_mm))
        assert (drawing.bottom - drawing.top) / drawing.panels[0].width == pytest.approx(
            tall_mm / case.side_mm, rel=0.01
        )
        assert "true to scale" in drawing.note and drawing.panels[0].left == HEIGHT_LABELS_WIDTH

    def test_a_flat_stack_is_stretched_and_says_so(self, case):
        drawing = draw_body(part_of(case, 8, 400.0), [])
        assert "stretched" in drawing.note

    def test_spans_follow_each_other_from_the_bottom_to_the_top(self, page):
        boxes = page.drawing.spans
        assert all(
            above.top + above.height == pytest.approx(below.top, abs=0.2)
            for below, above in pairwise(boxes)
        )
        assert page.drawing.slice_tops == tuple(sorted(page.drawing.slice_tops, reverse=True))

    def test_intervals_lie_at_their_millimetres(self, page, case):
        (band,) = page.drawing.intervals
        down = np.interp([112.0, 90.0], case.z_mm, page.drawing.slice_tops)
        assert (band.top, band.top + band.height) == pytest.approx(tuple(down), abs=0.3)

    def test_one_slice_is_a_volume(self, case):
        drawing = draw_body(part_of(case, 1, 300.0), [])
        assert len(drawing.slice_tops) == 1 and drawing.bottom > drawing.top


class TestVolumePage:
    def test_asks_for_nothing_from_anywhere(self, page, tmp_path):
        reader = read(write_volume_page(tmp_path / "a.html", page))
        named = [
            attrs[name] for _, attrs in reader.tags for name in ("src", "href") if name in attrs
        ]
        assert all(
            address.startswith("data:image/jpeg") or address == "../index.html" for address in named
        )
        text = (tmp_path / "a.html").read_text(encoding="utf-8")
        assert "url(" not in text and "@import" not in text and "fetch(" not in text

    def test_answer_doubts_and_intervals_are_in_words(self, page, tmp_path):
        words = " ".join(" ".join(read(write_volume_page(tmp_path / "a.html", page)).words).split())
        assert (
            "uncertain Best guess: legs to head" in words
            and "regions is 0.87" not in words
            and "confidence 0.9" not in words
            and "The networks disagree." in words
        )
        assert "90 mm to 112 mm" in words and "at least as unusual" in words
        assert "agreement of the networks" not in words, "what the answer lacks is left out"

    def test_every_slice_stands_on_the_sheet_for_readers_without_scripts(
        self, page, case, tmp_path
    ):
        reader = read(write_volume_page(tmp_path / "a.html", page))
        (sheet,) = (attrs for tag, attrs in reader.tags if tag == "img")
        picture = Image.open(io.BytesIO(base64.b64decode(sheet["src"].split(",")[1])))
        shown = len(page.viewer.heights_mm)
        assert shown == MOST_SLICES < len(case.z_mm) and picture.size == (
            128 * SLICES_PER_LINE,
            128 * -(-shown // SLICES_PER_LINE),
        )
        assert (
            dict(reader.tags[[tag for tag, _ in reader.tags].index("details")][1])["open"] is None
        ), "open until a script closes it"

    def test_the_viewer_is_told_what_the_answer_says(self, page, case, tmp_path):
        reader = read(write_volume_page(tmp_path / "a.html", page))
        data = json.loads(next(script for script in reader.scripts if script.startswith("{")))
        rows = [int(np.argmin(np.abs(case.z_mm - mm))) for mm in data["mm"]]
        assert rows[0] == 0 and rows[-1] == len(case.z_mm) - 1 and data["slice"] == rows
        assert data["predicted"] == [
            DEFAULT.classes[int(case.decided_labels[row].argmax())] for row in rows
        ]

    def test_pictures_have_words_fields_have_labels_and_headers_scopes(self, page, tmp_path):
        reader = read(write_volume_page(tmp_path / "a.html", page))
        labelled = {attrs["for"] for tag, attrs in reader.tags if tag == "label"}
        assert all(
            attrs["id"] in labelled for tag, attrs in reader.tags if tag in {"input", "select"}
        )
        assert all(len(attrs["alt"]) > 10 for tag, attrs in reader.tags if tag == "img")
        assert all("aria-label" in attrs for tag, attrs in reader.tags if tag in {"svg", "canvas"})
        assert all(
            attrs.get("scope") in {"col", "row"} for tag, attrs in reader.tags if tag == "th"
        )
        levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch("h[1-6]", tag)]
        assert levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels))

    def test_names_are_shown_and_never_obeyed(self, case, tmp_path):
        body = body_of(case, message="</script><script>alert(1)</script>") | {
            "volume_id": "<img src=x onerror=alert(1)>"
        }
        reader = read(
            write_volume_page(tmp_path / "a.html", make_volume_page(body, case.pixels, DEFAULT))
        )
        assert len([tag for tag, _ in reader.tags if tag == "script"]) == 2 and not any(
            "onerror" in attrs for _, attrs in reader.tags
        )

    def test_a_volume_without_a_region_has_a_page(self, planted, tmp_path):
        case = planted.case(["none"] * 5, pixels=np.zeros((5, 128, 128), dtype=np.uint8))
        words = " ".join(
            read(
                write_volume_page(
                    tmp_path / "a.html", make_volume_page(body_of(case), case.pixels, DEFAULT)
                )
            ).words
        )
        assert "Shows none of the regions" in words

    @pytest.mark.parametrize(
        ("code", "whose"), [("", "scanner"), ("template low-confidence", "template")]
    )
    def test_heights_are_those_that_they_are(self, case, tmp_path, code, whose):
        """A template's millimetres are nobody's height in a scanner."""
        reader = read(
            write_volume_page(
                tmp_path / "a.html",
                make_volume_page(body_of(case, code=code), case.pixels, DEFAULT),
            )
        )
        words = " ".join(" ".join(reader.words).split())
        assert f"of {whose} height" in words and f"Heights are the {whose}’s." in words
        assert {"scanner": "template height", "template": "scanner height"}[whose] not in words

    def test_same_volume_same_page(self, case):
        assert make_volume_page(body_of(case), case.pixels, DEFAULT) == make_volume_page(
            body_of(case), case.pixels, DEFAULT
        )


def test_how_sure_a_region_beside_the_spine_is_is_told_as_its_own(planted):
    """A head at 0.63 beside a spine at 0.99 read "head and spine (confidence 0.99)"."""
    case = planted.case(
        ["spine+head"] * 6 + ["spine"] * 4, pixels=np.zeros((10, 128, 128), np.uint8)
    )
    facts = body_of(case, confidence=0.99)
    for span in facts["spans"]:
        span["confidence"] = 0.99 if span["region"] == "spine" else 0.63
    page = make_volume_page(facts, case.pixels, DEFAULT)
    assert "0.63 in head" in page.sentence and "0.99 in spine" in page.sentence
    assert (
        page.viewer.predicted_texts == ["head (0.63 over its span) and spine"] * 6 + ["spine"] * 4
    )


def test_the_contact_sheet_is_read_like_a_page():
    slices = np.arange(5, dtype=np.uint8)[:, None, None] * np.ones((5, 2, 3), dtype=np.uint8)
    sheet = contact_sheet(slices, 2)
    assert sheet.shape == (6, 6) and sheet[::2, ::3].tolist() == [[0, 1], [2, 3], [4, 0]]


def spans_row(
    volume_id, status="ok", region="head", confidence=0.9, message="", volume_confidence=None
):
    row = {
        "region": region,
        "confidence": confidence,
        "message": message,
        "volume_confidence": volume_confidence or confidence,
    }
    return {"volume_id": volume_id, "path": f"{volume_id}.nii", "status": status, **row}


def index_of(volumes, folder, series=()):
    """The index over rows of spans.tsv alone, as of networks that say nothing region by region."""
    return make_index_page(
        [TableRows.from_facts({"rows": rows}) for rows in volumes], folder, DEFAULT, series
    )


def said(lower=None, **answers):
    """Statements as a volume's JSON holds them: (answer, probability, doubts) of some regions, the others a
    "no"; all but these have a span with the end `lower`."""
    made = []
    for region in DEFAULT.classes[:-1]:
        answer, probability, *doubts = answers.get(region, ("no", 0.02))
        ends = {"lower": lower or END, "upper": {"mm": 90.0, "low_mm": None, "high_mm": None}}
        made.append(
            {
                "region": region,
                "answer": answer,
                "probability": probability,
                "doubts": doubts,
                **(ends if answer != "no" else {"lower": None, "upper": None}),
            }
        )
    return made


END = {"mm": 10.0, "low_mm": 4.0, "high_mm": 19.0}
PARTLY = {"chest": ("yes", 0.97), "head": ("unsure", 0.6, "members-disagree")}


def answered(volume_id, status, *, extents="sure", code="", region="chest", message="", **answers):
    """What the tables hold of a volume answered region by region."""
    row = spans_row(volume_id, status, region, message=message) | {"extents": extents, "code": code}
    return TableRows.from_facts({**row, "rows": [row], "statements": said(**answers)})


class TestIndex:
    @pytest.fixture
    def batch(self, tmp_path):
        write_json(
            tmp_path / "c.json",
            {
                "status": "uncertain",
                "doubts": [{"code": "two-answers", "sentence": "Two answers fit alike."}],
            },
        )
        (tmp_path / "pages").mkdir()
        for name in "ac":
            (tmp_path / page_name(name)).write_text("a page")
        volumes = [
            [
                spans_row("a", region="legs", confidence=0.3, volume_confidence=0.8),
                spans_row("a", region="pelvis", volume_confidence=0.8),
            ],
            [
                spans_row(
                    "b", status="refused", region=None, confidence=None, message="b.nii: a CT."
                )
            ],
            [spans_row("c", status="uncertain", confidence=0.4, message="not this")],
            [spans_row("d", region=None, confidence=0.9, message="shows none of the regions")],
        ]
        return index_of(volumes, tmp_path), tmp_path

    def test_those_that_need_a_look_come_first(self, batch):
        assert [row.volume_id for row in batch[0].rows] == ["c", "b", "a", "d"]
        assert "2 answered, 1 uncertain, 1 refused" in batch[0].sentence

    def test_counts_are_volumes_by_answer_region_and_doubt(self, batch):
        page, _ = batch
        assert dict(row[:2] for row in page.statuses.rows) == {
            "uncertain": "1/4",
            "refused": "1/4",
            "answered": "2/4",
        }
        assert {row[0] for row in page.doubts.rows} == {"two answers nearly equal", "refused"}

    @pytest.mark.parametrize("turn", range(4))
    def test_kinds_of_equal_counts_are_listed_by_name_whatever_the_order_of_volumes(
        self, tmp_path, turn
    ):
        """A set of words has another order in every process."""
        codes = [code for code in CODES if CODES[code].status == "uncertain"]
        codes = codes[turn:] + codes[:turn]
        for at, shown in enumerate((codes, codes[::-1], codes[:2])):
            doubts = [{"code": code, "sentence": "why"} for code in shown]
            write_json(tmp_path / f"{at}.json", {"status": "uncertain", "doubts": doubts})
        listed = [
            row[0]
            for row in index_of(
                [[spans_row(str(at), status="uncertain")] for at in range(3)], tmp_path
            ).doubts.rows
        ]
        words = [doubt_in_words(code) for code in codes]
        assert listed == (sorted(words[:2]) + sorted(words[2:]))[:MOST_DOUBTS_NAMED]

    def test_every_doubt_has_words(self):
        """A table shows no code."""
        assert [doubt_in_words(check.code) for check in CHECKS if check.status == "uncertain"] == [
            check.words for check in CHECKS if check.status == "uncertain"
        ]
        assert (
            doubt_in_words("volume-corrupt") == "refused: damaged"
            and doubt_in_words("never-heard-of") == "never heard of"
        )

    def test_every_refusal_has_words(self):
        """Whatever the rooms that read volumes can refuse with, looked for in their sources; and networks
        that gave no answer."""
        rooms = Path(volume.__file__).parent
        sources = "".join(path.read_text(encoding="utf-8") for path in rooms.rglob("*.py"))
        refused = set(re.findall(r'"(volume-[a-z-]+)"', sources))
        refused |= {"engine-failed", "internal", "model-overflow"}
        assert (
            refused == {one.code for one in CODES.values() if one.status == "refused"}
            and len(refused) > 40
        )

    def test_the_list_of_codes_has_all_each_with_a_meaning_and_something_to_try(self):
        head, *rows = [
            line.split("\t") for line in CliRunner().invoke(app, ["codes"]).stdout.splitlines()
        ]
        assert head == ["code", "status", "meaning", "to_try", "concerns"]
        assert {code for code, *_ in rows} == CODES.keys()
        of = {code: status for code, status, *_ in rows}
        assert (of["none"], of["volume-ct"], of["regions-unsure"]) == ("ok", "refused", "partly")
        # a doubt about where regions end leaves every status possible, one about all regions none but this
        doubts = [of[code] for code in ("low-confidence", "phantom", "flipped")]
        assert doubts == ["any", "partly or uncertain", "uncertain"]
        assert all(meaning and to_try for *_, meaning, to_try, _ in rows)
        assert {code for code, *_, concerns in rows if concerns} == {check.code for check in CHECKS}
        texts = [word for one in CODES.values() for word in (one.words, one.meaning)]
        assert len(set(texts)) == len(texts)

    def test_what_to_try_can_be_typed(self):
        """Series set aside are asked for by names that --include knows."""
        named = {
            word for one in CODES.values() for word in re.findall(r"--include (\w+)", one.to_try)
        }
        assert named == set(INCLUDABLE_KINDS)

    def test_a_guess_is_not_counted_with_the_answers(self, batch):
        """One volume of the four shows a head, and it is the one that cannot be said."""
        answers = {"legs": ("1", "1"), "pelvis": ("1", "1"), "none": ("1", "1"), "head": ("0", "1")}
        assert batch[0].regions.header[1:] == ("surely shows", "may show")
        assert {row[0]: row[1:] for row in batch[0].regions.rows} == answers

    def test_the_confidence_is_the_volumes_not_that_of_its_least_sure_region(self, batch):
        assert {row.volume_id: row.confidence for row in batch[0].rows} == {
            "a": 0.8,
            "b": None,
            "c": None,
            "d": 0.9,
        }

    def test_doubts_are_the_jsons_and_else_the_message(self, batch):
        doubts = {row.volume_id: row.doubt for row in batch[0].rows}
        assert doubts == {"a": "", "b": "b.nii: a CT.", "c": "Two answers fit alike.", "d": ""}

    def test_a_volume_leads_to_its_page_where_it_has_one(self, batch):
        page, folder = batch
        reader = read(write_index(folder / "index.html", page))
        assert [attrs["href"] for tag, attrs in reader.tags if tag == "a"] == [
            "#list",
            "pages/c.html",
            "pages/a.html",
        ]
        assert {row.volume_id: row.confidence for row in page.rows}["a"] == 0.8, (
            "the least sure region's"
        )

    def test_what_was_not_read_is_listed_with_its_whole_reason(self, tmp_path):
        """A file given by name may have given no volume, and so no row."""
        why = "a single image, no stack, " + "of many words " * 40 + "to the end"
        series = [
            {"kind": "volume", "path": "in/a", "reason": "7 copies"},
            {"kind": "single", "path": "in/s.dcm#0e6c36dd56a4", "reason": why},
            {"kind": "unreadable", "path": "in/x.dcm", "reason": "cut short"},
            *({"kind": "derived", "path": f"in/d{at}", "reason": "derived"} for at in range(300)),
        ]
        page = index_of([[spans_row("a")]], tmp_path, series)
        assert page.unread_series.rows[:2] == [
            ("in/x.dcm", "unreadable", "cut short"),
            ("in/s.dcm#0e6c36dd56a4", "single", why),
        ]
        assert (len(page.unread_series.rows), page.unlisted_count) == (200, 102)
        assert "the first of them" in write_index(tmp_path / "index.html", page).read_text("utf-8")
        some = index_of([[spans_row("a")]], tmp_path, series[:201])
        assert (len(some.unread_series.rows), some.unlisted_count) == (200, 0)
        html = write_index(tmp_path / "index.html", some).read_text("utf-8")
        assert "the first of them" not in html and 'data-is="reason"' in html
        words = " ".join(read(write_index(tmp_path / "index.html", page)).words)
        assert why in words and "in/s.dcm#0e6c36dd56a4" in words and "7 copies" not in words

    def test_the_reason_of_a_refused_volume_is_whole(self, tmp_path):
        """It has no page that could tell it."""
        why = "x.nii: this is a text file; " + "fovnet reads " * 40 + "Name the image itself."
        head = spans_row("x") | {
            "status": "refused",
            "message": why,
            "code": "volume-format",
            "region": "",
        }
        page = index_of([[head]], tmp_path)
        assert page.rows[0].doubt == why
        reader = read(write_index(tmp_path / "index.html", page))
        assert why in " ".join(reader.words)

    def test_series_set_aside_are_counted_of_all_that_were_found(self, tmp_path):
        series = [{"kind": kind} for kind in ("volume", "volume", "single", "single", "localizer")]
        page = index_of([[spans_row("a")]], tmp_path, series)
        assert [row[:2] for row in page.unread_kinds.rows] == [
            ("single", "2/5"),
            ("localizer", "1/5"),
        ]
        assert page.unread_kinds.rows[0][2].startswith("40.0")
        words = " ".join(read(write_index(tmp_path / "index.html", page)).words)
        assert "found but not read" in words
        assert "found but not read" not in " ".join(
            read(write_index(tmp_path / "i.html", index_of([[spans_row("a")]], tmp_path))).words
        )

    def test_addresses_are_quoted(self, tmp_path):
        (tmp_path / "pages").mkdir()
        (tmp_path / page_name("p01#b69f 0")).write_text("a page")
        assert (
            index_of([[spans_row("p01#b69f 0")]], tmp_path).rows[0].page_address
            == "pages/p01%23b69f%200.html"
        )

    def test_a_large_batch_is_bounded_without_scripts_and_whole_with_them(self, tmp_path):
        volumes = [
            [spans_row(f"v{number:05d}", message="<b>")] for number in range(ROWS_IN_HTML + 40)
        ]
        reader = read(write_index(tmp_path / "index.html", index_of(volumes, tmp_path)))
        assert (
            sum(tag == "th" and attrs["scope"] == "row" for tag, attrs in reader.tags)
            == ROWS_IN_HTML + 2
        )
        data = json.loads(next(script for script in reader.scripts if script.startswith("{")))
        assert len(data["rows"]) == ROWS_IN_HTML + 40
        assert f"These are {ROWS_IN_HTML} of {ROWS_IN_HTML + 40}" in " ".join(reader.words)


class TestRegionByRegion:
    """The index over answers that say of each region whether it is shown."""

    @pytest.fixture
    def batch(self, tmp_path):
        doubts = [{"code": "members-disagree", "sentence": "they disagree"}]
        write_json(tmp_path / "partly.json", {"status": "partly", "doubts": doubts})
        write_json(tmp_path / "ends.json", {"status": "ok", "doubts": doubts})
        volumes = [
            answered("ok", "ok", chest=("yes", 0.99)),
            answered("partly", "partly", extents="unsure", code="members-disagree", **PARTLY),
            answered(
                "some", "partly", code="regions-unsure", chest=("yes", 0.9), head=("unsure", 0.3)
            ),
            answered("ends", "ok", extents="unsure", code="members-disagree", chest=("yes", 0.99)),
            answered("air", "ok", region=None),
            TableRows.from_facts({"rows": [spans_row("ct", "refused", None, None, "a CT")]}),
        ]
        return make_index_page(volumes, tmp_path, DEFAULT), tmp_path

    def test_what_is_partly_answered_comes_before_what_is_answered(self, batch):
        page, _ = batch
        assert [row.status for row in page.rows] == [
            "refused",
            "partly",
            "partly",
            "ok",
            "ok",
            "ok",
        ]
        assert "3 answered, 2 partly answered, 0 uncertain, 1 refused" in page.sentence
        assert "need a look (3)" in page.sentence

    def test_each_is_told_in_plain_words(self, batch):
        told = {row.volume_id: row.sentence for row in batch[0].rows}
        assert told == {
            "ok": "Shows chest.",
            "partly": "Shows chest. Perhaps also head.",
            "ends": "Shows chest.",
            "some": "Shows chest. Perhaps also head.",
            "air": "Shows none of the regions.",
            "ct": "",
        }

    def test_what_may_be_shown_takes_in_what_surely_is(self, batch):
        rows = {row[0]: row[1:] for row in batch[0].regions.rows}
        assert rows == {"chest": ("4", "4"), "head": ("0", "2"), "none": ("1", "1")}

    def test_a_doubt_is_told_wherever_there_is_one(self, batch):
        """Of an `ok` volume too, the ends of whose regions are unsure; probabilities stand on the chips."""
        told = {row.volume_id: row.doubt for row in batch[0].rows}
        disagree = "they disagree"
        assert told == {
            "ok": "",
            "partly": disagree,
            "some": "",
            "ends": disagree,
            "air": "",
            "ct": "a CT",
        }
        assert {row[0] for row in batch[0].doubts.rows} == {
            "the networks disagree",
            "some regions unsure",
            "refused",
        }

    def test_the_script_is_told_the_same(self, batch):
        page, folder = batch
        reader = read(write_index(folder / "index.html", page))
        data = json.loads(next(script for script in reader.scripts if script.startswith("{")))
        partly = next(row for row in data["rows"] if row[0] == "partly")
        words = [data["answers"][partly[1]], data["sentences"][partly[2]], *partly[3:]]
        assert words == [
            "partly",
            "Shows chest. Perhaps also head.",
            None,
            "they disagree",
            "n2 n2 n2 y97 g60 n2 -",
            0,
            0,
        ]
        assert data["regions"] == list(DEFAULT.classes) and len(data["colours"]) == len(
            data["regions"]
        )

    def test_thumbnails_are_files_asked_for_when_they_come_into_sight(self, batch):
        _, folder = batch
        (folder / "pages").mkdir()
        for name in (page_name("ok"), thumbnail_name("ok"), page_name("partly")):
            (folder / name).write_text("there")
        rows = [answered("ok", "ok", chest=("yes", 0.99)), answered("partly", "partly", **PARTLY)]
        reader = read(write_index(folder / "index.html", make_index_page(rows, folder, DEFAULT)))
        (picture,) = (attrs for tag, attrs in reader.tags if tag == "img")
        assert (picture["src"], picture["loading"], picture["alt"]) == ("pages/ok.jpg", "lazy", "")
        data = json.loads(next(script for script in reader.scripts if script.startswith("{")))
        assert [row[-2:] for row in data["rows"]] == [[1, 0], [1, 1]]

    def test_a_hundred_thousand_volumes_are_a_few_megabytes(self, tmp_path):
        rows = [
            answered(f"sub-{at:06d}", "ok", chest=("yes", 0.99)) for at in range(ROWS_IN_HTML * 3)
        ]
        text = write_index(tmp_path / "i.html", make_index_page(rows, tmp_path, DEFAULT)).read_text(
            "utf-8"
        )
        data = text[text.index('id="data">') : text.index("</script>", text.index('id="data">'))]
        assert len(data) / len(rows) < 80

    def test_names_that_are_no_utf8_lead_to_their_pages(self, tmp_path):
        name = "caf\udce9"
        (tmp_path / "pages").mkdir()
        (tmp_path / page_name(name)).write_text("a page")
        page = make_index_page([answered(name, "ok")], tmp_path, DEFAULT)
        assert page.rows[0].page_address == "pages/caf%E9.html"
        assert '"caf%E9"' in write_index(tmp_path / "i.html", page).read_text("utf-8")

    def test_names_and_doubts_are_shown_and_never_obeyed(self, tmp_path):
        bad = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
        rows = [
            answered(bad, "ok"),
            TableRows.from_facts({"rows": [spans_row("b", "refused", None, None, bad)]}),
        ]
        reader = read(
            write_index(tmp_path / "index.html", make_index_page(rows, tmp_path, DEFAULT))
        )
        assert [tag for tag, _ in reader.tags if tag in ("script", "img")] == ["script", "script"]
        assert " ".join(reader.words).count("alert(1)") == 4


class TestAnswerOnAPage:
    """The page of a volume answered region by region."""

    @pytest.fixture
    def words(self, case, tmp_path):
        doubts = [
            {"code": "low-confidence", "sentence": "not sure enough"},
            {"code": "members-disagree", "sentence": "they disagree"},
        ]
        body = body_of(
            case,
            status="partly",
            doubts=doubts,
            statements=said(**PARTLY),
            extents_sure=False,
            min_extent_mm=10.0,
            set_probability=0.4,
            boundaries=BOUNDARIES,
        )
        page = make_volume_page(body, case.pixels, DEFAULT)
        return " ".join(" ".join(read(write_volume_page(tmp_path / "a.html", page)).words).split())

    def test_begins_with_plain_words_and_says_each_region(self, words):
        assert (
            "partly answered Shows chest. Perhaps also head. legs no 0.02 pelvis no 0.02" in words
        )
        assert (
            "chest yes 0.97 head unsure 0.60" in words and "at least 10 mm of the region" in words
        )

    def test_extents_have_their_intervals(self, words):
        assert "chest yes 0.97 10 mm (4 mm to 19 mm) 90 mm –" in words

    def test_each_doubt_stands_with_what_it_concerns(self, words):
        about_regions = words.index("In doubt: head they disagree")
        assert about_regions < words.index("In doubt: where regions begin and end not sure enough")
        assert "head unsure 0.60 10 mm (4 mm to 19 mm) 90 mm the networks disagree" in words
        assert "It is not sure where the regions begin and end." in words

    def test_only_what_is_unsure_is_drawn_as_a_guess(self, case, tmp_path):
        body = body_of(case, status="partly", statements=said(**PARTLY), extents_sure=True)
        page = make_volume_page(body, case.pixels, DEFAULT)
        html = write_volume_page(tmp_path / "a.html", page).read_text("utf-8")
        assert page.unsure_regions == ("head",) and html.count('fill-opacity=".45"') == 1
        assert "is not sure" not in page.extent and not page.is_only_guess

    @pytest.mark.parametrize("region", DEFAULT.classes[:-1])
    def test_a_region_unsure_by_its_probability_alone_is_in_doubt_before_the_ends(
        self, case, region
    ):
        ends = "where regions begin and end"
        doubts = [{"code": "low-confidence", "sentence": f"{ends} is not sure", "figures": "60%"}]
        statements = said(**{region: ("unsure", 0.5)})
        body = body_of(
            case, status="partly", doubts=doubts, statements=statements, extents_sure=False
        )
        page = make_volume_page(body, case.pixels, DEFAULT)
        assert [(group.unsure_part, group.sentences) for group in page.doubts] == [
            (region, (f"unsure whether it shows {region} (0.50)",)),
            (ends, ()),
        ]
        assert page.figures.rows[0] == (f"not sure {ends}", "60%")

    @pytest.mark.parametrize("others", [(), ("two answers are nearly equal: legs or pelvis",)])
    def test_no_heading_is_said_again_below_it(self, case, tmp_path, others):
        sentences = ("where regions begin and end is not sure", *others)
        doubts = [{"code": "low-confidence", "sentence": one} for one in sentences]
        body = body_of(
            case, doubts=doubts, statements=said(chest=("yes", 0.97)), extents_sure=False
        )
        path = write_volume_page(tmp_path / "a.html", make_volume_page(body, case.pixels, DEFAULT))
        words = " ".join(" ".join(read(path).words).split())
        assert words.count("where regions begin and end") == 1 and sentences[0] not in words
        assert all(one in words for one in others)
        assert path.read_text("utf-8").count('<ul class="doubts"') == len(others)

    @pytest.mark.parametrize(
        ("answers", "is_told"),
        [
            (PARTLY, True),
            ({"chest": ("yes", 0.97)}, False),
            ({}, False),
            ({"legs": ("unsure", 0.69), "pelvis": ("unsure", 0.4)}, True),
        ],
    )
    def test_what_a_best_guess_is_stands_where_it_is_not_sure(
        self, case, tmp_path, answers, is_told
    ):
        """ "Best guess: legs and pelvis", with a pelvis of 0.40, stood beside a chest of 0.50."""
        body = body_of(case, status="partly", statements=said(**answers))
        volume = write_volume_page(
            tmp_path / "a.html", make_volume_page(body, case.pixels, DEFAULT)
        )
        index = make_index_page([answered("a", "partly", **answers)], tmp_path, DEFAULT)
        for path in (volume, write_index(tmp_path / "index.html", index)):
            words = " ".join(read(path).words)
            assert (GUESS_EXPLANATION in words) == is_told

    @pytest.mark.parametrize("chance", [0.2, 0.89, 0.95])
    def test_no_set_of_regions_is_called_more_probable_than_one_of_them(
        self, case, tmp_path, chance
    ):
        """0.95 of exactly pelvis, abdomen and chest stood beside a chest of 0.89: other figures by far."""
        body = body_of(case, statements=said(chest=("yes", 0.89)), set_probability=chance)
        page = make_volume_page(body, case.pixels, DEFAULT)
        assert page.extent.startswith("Found from ") and "probability" not in page.extent

    def test_a_doubt_about_the_whole_concerns_every_region(self, case):
        whole = dict.fromkeys(DEFAULT.classes[:-1], ("unsure", 0.5, "flipped"))
        doubts = [{"code": "flipped", "sentence": "upside down"}]
        body = body_of(case, status="uncertain", doubts=doubts, statements=said(**whole))
        (group,) = make_volume_page(body, case.pixels, DEFAULT).doubts
        assert (group.unsure_part, group.sentences) == ("every region", ("upside down",))


class TestThumbnail:
    Z_MM = np.arange(100) * 5.0
    SPANS = (
        StoredSpan("pelvis", -2.5, 250.0, 0, 50, 0.9),
        StoredSpan("abdomen", 250.0, 497.5, 50, 99, 0.9),
    )

    def drawn(self, unsure=(), z_mm=Z_MM, spans=SPANS):
        pixels = np.random.default_rng(1).integers(0, 255, (len(z_mm), 128, 128), dtype=np.uint8)
        return draw_thumbnail(
            Body(pixels, z_mm, 400.0, np.zeros((len(z_mm), 7)), spans, DEFAULT), unsure
        )

    def test_spans_stand_at_their_heights_in_their_colours(self):
        bar = self.drawn()[:, -1]
        assert len(bar) == LONGEST_SIDE and bar[:, None].shape[-1] == 3
        colours = [
            bytes(bar[at]).hex()
            for at in (3, LONGEST_SIDE // 2 - 6, LONGEST_SIDE // 2 + 6, LONGEST_SIDE - 6)
        ]
        names = ("abdomen", "abdomen", "pelvis", "pelvis")
        assert colours == [DEFAULT.colour(name)[1:] for name in names]

    def test_what_is_unsure_is_dashed(self):
        """It differs by more than its colour."""
        sure, unsure = self.drawn()[:, -1], self.drawn(unsure=["pelvis"])[:, -1]
        half = LONGEST_SIDE // 2
        assert (sure[:half] == unsure[:half]).all()
        dark = (unsure[half + 2 :] == 0).all(axis=1)
        assert 0.4 < dark.mean() < 0.6 and (sure[half + 2 : -2] != 0).any(axis=1).all()
        assert np.flatnonzero(np.diff(dark.astype(int))).size >= half // DASH_LENGTH - 2

    def test_a_stack_of_a_few_slices_can_be_seen(self):
        picture = self.drawn(z_mm=np.arange(3) * 5.0, spans=())
        assert picture.shape == (SHORTEST_SIDE, LONGEST_SIDE + LANE_WIDTH + 3, 3)

    def test_it_is_a_small_file_of_fovnets(self, tmp_path):
        path = save_thumbnail(tmp_path / thumbnail_name("a"), self.drawn())
        assert is_our_thumbnail(path) and path.stat().st_size < 20_000
        assert np.asarray(Image.open(path)).shape == self.drawn().shape

    def test_covered_slices_are_covered_in_it(self):
        pixels = np.full((100, 128, 128), COVERED_GREY, dtype=np.uint8)
        pixels[:50] = np.random.default_rng(1).integers(0, 255, (50, 128, 128), dtype=np.uint8)
        picture = draw_thumbnail(
            Body(pixels, self.Z_MM, 400.0, np.zeros((100, 7)), (), DEFAULT), ()
        )
        assert np.ptp(picture[: LONGEST_SIDE // 2 - 4, :100].astype(int)) == 0

    def test_no_other_picture_of_that_name_is_written_over(self, tmp_path):
        path = tmp_path / thumbnail_name("a")
        path.parent.mkdir()
        path.write_bytes(b"\xff\xd8\xff\xe0 somebody's holiday")
        with pytest.raises(ConfigError) as refused:
            find_path_answered_before(tmp_path, "a")
        assert refused.value.code == "out-foreign" and "a.jpg" in refused.value.sentence
        save_thumbnail(path, self.drawn())
        assert find_path_answered_before(tmp_path, "a") == ""


def test_words_of_the_pages_are_those_of_the_golden_ones(page, tmp_path):
    """Compare with golden-pages.txt; where a change is meant, delete it, run again, read it, and commit it.
    The sheet is scrubbed."""
    golden = Path(__file__).with_name("golden-pages.txt")
    rows = [
        [spans_row("body", status="uncertain", confidence=0.6, message="The networks disagree.")],
        [spans_row("sure")],
    ]
    index = write_index(tmp_path / "index.html", index_of(rows, tmp_path))
    read_words = [
        " ".join(" ".join(read(path).words).split())
        for path in (write_volume_page(tmp_path / "a.html", page), index)
    ]
    text = re.sub(r"(.{1,110})(?:\s|$)", r"\1\n", "\n\n".join(read_words))
    if not golden.exists():
        golden.write_text(text, encoding="utf-8")
        pytest.fail("golden-pages.txt was missing and has been written: read it and commit it")
    assert text == golden.read_text(encoding="utf-8")


@given(top=integers(1, 255), seed=integers(0, 99))
@settings(max_examples=30)
def test_slices_are_brightened_by_one_factor_until_a_few_pixels_are_white(top, seed):
    pixels = np.random.default_rng(seed).integers(0, top + 1, (3, 40, 40)).astype(np.uint8)
    bright = brighten(pixels)
    white = max(np.quantile(pixels, 0.995), 1.0)
    assert (
        bright.dtype == np.uint8 and (bright >= pixels).all() and (bright[pixels == 0] == 0).all()
    )
    assert np.abs(bright.astype(float) - np.minimum(pixels * (255 / white), 255)).max() <= 0.5
