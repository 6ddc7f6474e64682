"""The report for programs: no number on the page that is not in the JSON, and tables that say what the page
says."""

import json
import re
from html.parser import HTMLParser

import pytest

from fovnet.evaluate.evaluation import evaluate
from fovnet.records import read_tsv
from fovnet.regions import DEFAULT
from fovnet.report.content.cells import MeasuredText, ReportTable
from fovnet.report.pages.card import card_sections, markdown
from fovnet.report.pages.facts import report_facts, spreadsheet_of, tables_in, write_facts
from fovnet.report.pages.pour import pour

NUMBER = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]?\d+)?")


class Cells(HTMLParser):
    """The words of a page outside style and script, and the text of every table cell."""

    def __init__(self):
        super().__init__()
        self.words, self.cells, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag in {"td", "th"}:
            self.cells.append("")
        self.open += [tag] if tag in {"td", "th", "style", "script"} else []

    def handle_endtag(self, tag):
        if tag in {"td", "th", "style", "script"}:
            self.open.pop()

    def handle_data(self, data):
        if not {"style", "script"} & set(self.open):
            self.words.append(data)
        if {"td", "th"} & set(self.open):
            self.cells[-1] += data


def numbers(text):
    """Every number in a text, without the commas of its thousands."""
    return {found.replace(",", "") for found in NUMBER.findall(text)}


def strings(value):
    """Every string anywhere in JSON facts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from strings(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings(one)


def squeezed(text):
    return "".join(text.split())


def missing(html, facts):
    """Numbers of the page that the JSON lacks, and table cells that are no string or measured number of
    it."""
    seen = Cells()
    seen.feed(html)
    known = {squeezed(text) for text in strings(facts)} | {
        squeezed("".join(one)) for one in measured(facts)
    }
    known |= {squeezed(str(value)) for value in json.dumps(facts).replace(",", " ").split()} | {""}
    held = numbers(" ".join([*strings(facts), json.dumps(facts)]))
    return numbers(" ".join(seen.words)) - held, {
        cell for cell in seen.cells if squeezed(cell) not in known
    }


def measured(value):
    """Value, interval and count of every measured cell, as they stand in one cell of the page."""
    if isinstance(value, dict):
        if value.keys() == {"value", "interval", "count"}:
            yield value["value"], value["interval"], value["count"]
        for one in value.values():
            yield from measured(one)
    elif isinstance(value, list):
        for one in value:
            yield from measured(one)


@pytest.fixture(scope="module")
def evaluation(pictured):
    return evaluate(pictured, DEFAULT, bootstrap=200, seed=1)


@pytest.fixture(scope="module")
def page(make_page):
    return make_page()


@pytest.fixture(scope="module")
def facts(page, evaluation):
    return json.loads(
        json.dumps(report_facts(page, evaluation), default=lambda value: value.tolist())
    )


@pytest.fixture(scope="module")
def html(page):
    return pour(page)


class TestEveryNumberOfThePageIsInTheJson:
    def test_in_words_and_in_tables(self, html, facts):
        assert missing(html, facts) == (set(), set())

    def test_and_in_the_figure_of_the_confusions(self, page, facts):
        matrices = page.performance.confusion.matrices
        counts = {str(int(count)) for matrix in matrices for count in matrix.counts.ravel()}
        assert counts <= numbers(json.dumps(facts["evaluation"]["confusions"]))

    def test_a_number_that_the_json_lacks_is_found(self, html, facts):
        planted = html.replace(
            "</main>", "<p>71,829.5 mm</p><table><tr><td>12.34 of 5</td></tr></table></main>"
        )
        numbers_missing, cells_missing = missing(planted, facts)
        assert "71829.5" in numbers_missing and cells_missing == {"12.34 of 5"}

    def test_a_table_that_the_json_forgot_is_found(self, html, facts):
        less = {**facts, "page": {**facts["page"], "performance": None}}
        assert missing(html, less)[1]


def test_digits_behind_the_rounded_figures_are_in_the_json(page, facts):
    whole = facts["evaluation"]["groups"][0]
    (error,) = (
        one
        for one in whole["measures"]
        if (one["name"], one["stage"]) == ("slice_error", "decided")
    )
    assert f"{error['value']:.1%}"[:-1] in page.answer.headlines[0].result.value
    assert error["numerator"] / error["denominator"] == pytest.approx(error["value"])


def test_the_json_holds_no_pixels_and_no_curves(facts):
    assert not {"pixels", "raw", "smoothed", "z_mm"} & set(keys(facts["page"]))


def keys(value):
    if isinstance(value, dict):
        yield from value
        for one in value.values():
            yield from keys(one)
    elif isinstance(value, list):
        for one in value:
            yield from keys(one)


class TestTables:
    def test_a_measured_cell_becomes_three(self):
        table = ReportTable(
            ("a", "b"), (("x", MeasuredText("4 %", "1–9 %", "4/100")), ("y", "–")), name="t"
        )
        assert spreadsheet_of(table) == (
            ["a", "b", "b, interval", "b, count"],
            [
                {"a": "x", "b": "4 %", "b, interval": "1–9 %", "b, count": "4/100"},
                {"a": "y", "b": "–"},
            ],
        )

    def test_names_of_tables_differ_and_are_names_of_files(self, page):
        names = [table.name for table in tables_in(page)]
        assert len(names) == len(set(names)) > 20 and all(
            re.fullmatch(r"[a-z0-9-]+", name) for name in names
        )

    def test_files_say_what_the_page_says(self, page, evaluation, tmp_path):
        (tmp_path / "report-tables").mkdir()
        (tmp_path / "report-tables" / "old.tsv").write_text("of an earlier run")
        written = write_facts(tmp_path / "report.html", page, evaluation, settings={}, seed=1)
        assert {path.name for path in written} >= {
            "report.json",
            "model-card.md",
            "regions.tsv",
            "claim-2024.tsv",
            "tripod-ai.tsv",
        }
        assert not (tmp_path / "report-tables" / "old.tsv").exists()
        rows = read_tsv(tmp_path / "report-tables" / "regions.tsv")
        assert [row["region"] for row in rows] == list(DEFAULT.classes)
        assert rows[0]["sensitivity, count"] == page.performance.regions.rows[0][2].count


class TestModelCard:
    def test_has_the_headings_of_a_model_card_in_order(self, page):
        text = markdown(page)
        wanted = [
            "Intended use",
            "Not for",
            "Factors",
            "Metrics",
            "Training and evaluation data",
            "Quantitative analyses",
            "Ethical considerations",
            "Caveats",
        ]
        places = [text.index(f"## {heading}") for heading in wanted]
        assert places == sorted(places) and text.startswith("# Model card: ")

    def test_says_nothing_that_the_report_does_not_say(self, page, facts):
        # of the licence
        assert numbers(markdown(page)) <= numbers(json.dumps(facts, ensure_ascii=False)) | {"2.0"}

    def test_tables_have_as_many_cells_in_every_line(self, page):
        tables = [block for block in markdown(page).split("\n\n") if block.startswith("|")]
        assert tables
        for block in tables:
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1

    def test_every_part_says_something(self, page):
        assert all(part.paragraphs for part in card_sections(page))
