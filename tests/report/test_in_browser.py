"""Pages in Chromium: no wider than the window, and without anything that axe calls a fault of accessibility.

axe-core is no part of fovnet: `npm install axe-core` somewhere, and
FOVNET_AXE=.../node_modules/axe-core/axe.min.js.
"""

import importlib.util
from pathlib import Path

import pytest

from fovnet.own_files import page_name, rows_of_index, thumbnail_name
from fovnet.regions import DEFAULT
from fovnet.report.pages.index_page import ROWS_IN_HTML, make_index_page, write_index
from fovnet.report.pages.pour import pour
from fovnet.report.pages.volume_page import make_volume_page, write_volume_page


def module(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


browser, pages = module("browser"), module("test_volume_pages")
WINDOWS = {
    "wide": (1280,),
    "middle": (700,),
    "narrow": (400,),
    "dark": (1280, browser.DARK),
    "dark and narrow": (400, browser.DARK),
}
"""The width of the window, and further options of the browser."""

needs_browser = pytest.mark.skipif(not browser.CHROMIUM, reason="needs Chromium on the path")
needs_axe = pytest.mark.skipif(
    not (browser.CHROMIUM and browser.AXE),
    reason="needs Chromium, and FOVNET_AXE naming axe.min.js of the npm package axe-core",
)


@pytest.fixture(scope="module")
def poured(make_page, pictured, tmp_path_factory):
    """The three kinds of page as text."""
    folder = tmp_path_factory.mktemp("pages")
    case = next(one for one in pictured if one.volume_id == "P10-lost")
    doubts = [{"code": "members-disagree", "sentence": "The networks disagree."}]
    body = pages.body_of(case, boundaries=pages.BOUNDARIES, doubts=doubts, status="uncertain")
    volume = write_volume_page(
        folder / page_name("body"), make_volume_page(body, case.pixels, DEFAULT)
    )
    refused = pages.spans_row(
        "ct", status="refused", region=None, confidence=None, message="a CT " * 60
    )
    page = pages.index_of([[pages.spans_row("body", status="uncertain")], [refused]], folder)
    index = write_index(folder / "index.html", page)
    body |= {"status": "partly", "statements": pages.said(**pages.PARTLY), "extents_sure": False}
    partly = write_volume_page(
        folder / page_name("partly"), make_volume_page(body, case.pixels, DEFAULT)
    )
    rows = [pages.answered("partly", "partly", **pages.PARTLY) for _ in range(3)]
    answers = write_index(folder / "answers.html", make_index_page(rows, folder, DEFAULT))
    return {
        "report": pour(make_page()),
        **{
            path.stem: path.read_text(encoding="utf-8") for path in (volume, index, partly, answers)
        },
    }


@needs_axe
@pytest.mark.slow
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("kind", ["report", "body", "partly", "index", "answers"])
def test_no_fault_of_accessibility_and_nothing_wider_than_the_window(
    poured, kind, window, tmp_path
):
    width, *how = WINDOWS[window]
    found = browser.asked(tmp_path, poured[kind], width, browser.AXE, *how)
    assert found["violations"] == [] and found["rules"] > 30
    assert found["wide"] == {"inner": width, "scroll": width, "opened": width}, (
        "with all details open, too"
    )


@needs_browser
@pytest.mark.slow
def test_the_list_is_sorted_and_filtered(tmp_path):
    volumes = [
        [
            pages.spans_row(
                f"v{number}", region="legs" if number % 2 else "head", confidence=number / 100
            )
        ]
        for number in range(12)
    ]
    volumes.append(
        [
            pages.spans_row(
                "doubtful",
                status="uncertain",
                confidence=0.5,
                message="<b>unlike anything</b> seen",
            )
        ]
    )
    html = write_index(tmp_path / "index.html", pages.index_of(volumes, tmp_path)).read_text(
        encoding="utf-8"
    )
    found = browser.driven(
        tmp_path,
        html,
        """
        const names = () => Array.from(document.querySelectorAll("#volumes tbody th"), one => one.textContent);
        const set = (id, value) => { const one = document.getElementById(id); one.value = value; one.dispatchEvent(new Event("input")); };
        const click = at => document.querySelectorAll("#volumes thead button")[at].click();
        const told = {first: names(), more: document.getElementById("more").checkVisibility()};
        click(0); told.byName = names();
        click(3); click(3); told.surest = names()[0];
        told.arrow = document.querySelectorAll("#volumes thead th")[3].getAttribute("aria-sort");
        set("surely", "legs"); told.legs = names().length; set("surely", "head"); told.head = names().length;
        set("surely", ""); set("may", "head"); told.mayHead = names().length; set("may", "");
        set("text", "unlike"); told.text = names(); told.bold = document.querySelectorAll("#volumes b").length;
        set("text", ""); set("status", "ok"); told.ok = document.getElementById("found").textContent;
        return told;
    """,
    )
    assert found["more"] is False, "all rows are shown"
    assert found["first"][0] == "doubtful" and found["byName"] == [
        "doubtful",
        *(f"v{number}" for number in range(12)),
    ]
    assert (found["surest"], found["arrow"], found["legs"]) == ("v11", "descending", 6)
    assert (found["head"], found["mayHead"]) == (6, 7), "the uncertain one may show it"
    assert (
        found["text"] == ["doubtful"] and found["bold"] == 0 and found["ok"].startswith("12 of 13")
    )


@needs_browser
@pytest.mark.slow
def test_further_rows_are_what_the_first_are_and_every_control_can_be_reached_by_keys(tmp_path):
    """Rows of the script beside those of the page; controls in the order in which they stand, with an
    outline."""
    (tmp_path / "pages").mkdir()
    volumes = []
    for at in range(ROWS_IN_HTML + 2):
        name = f"v{at:03d} é"
        for made in (page_name(name), thumbnail_name(name)):
            (tmp_path / made).write_text("there")
        volumes.append(pages.answered(name, "partly", **pages.PARTLY))
    html = write_index(
        tmp_path / "index.html", make_index_page(volumes, tmp_path, DEFAULT)
    ).read_text("utf-8")
    found = browser.driven(
        tmp_path,
        html,
        """
        const body = document.querySelector("#volumes tbody"), plain = row => row.outerHTML.replace(/v\\d+/g, "v").replace(/\\s+/g, " ").replace(/ (?=<)/g, "").replace(/: /g, ":").replace(/;"/g, '"');
        const bare = row => { for (const one of row.querySelectorAll("*")) { for (const name of ["loading", "alt", "width", "height", "class", "style", "src"]) { const value = one.getAttribute(name); if (value !== null) { one.removeAttribute(name); one.setAttribute(name, value); } } } return plain(row); };
        const keys = [];
        const reach = () => Array.from(document.querySelectorAll("a, input, select, button, [tabindex]")).filter(one => one.checkVisibility());
        for (const one of reach()) {
          one.focus();
          keys.push([one.id || one.textContent.trim().slice(0, 12), document.activeElement === one && one.tabIndex === 0 && one.matches(":focus-visible") && getComputedStyle(one).outlineStyle !== "none"]);
        }
        const told = {first: bare(body.rows[0]), rows: body.rows.length, keys: keys};
        document.getElementById("more").click();
        told.last = bare(body.rows[body.rows.length - 1]); told.all = body.rows.length;
        told.next = document.activeElement.textContent; told.more = document.getElementById("more").checkVisibility();
        return told;
    """,
    )
    assert found["first"].replace("%20%C3%A9", "%20é") == found["last"].replace("%20%C3%A9", "%20é")
    assert (found["rows"], found["all"], found["more"]) == (ROWS_IN_HTML, ROWS_IN_HTML + 2, False)
    assert found["next"] == f"v{ROWS_IN_HTML:03d} é", (
        "who pressed the button goes on where the new rows begin"
    )
    names = [name for name, _ in found["keys"]]
    assert (
        names[names.index("surely") :][:4] == ["surely", "may", "status", "text"]
        and "more" in names
    )
    assert "confidence" in names and all(seen for _, seen in found["keys"])


@needs_browser
@pytest.mark.slow
def test_rows_of_a_large_batch_are_read_file_by_file(tmp_path):
    """And are sorted and filtered with those that the page holds; a lost file is told."""
    (tmp_path / "pages").mkdir()
    odd = "</script> \u2028"
    volumes = [
        pages.answered(f"v{at:03d}{odd * (at == 37)}", "ok", chest=("yes", 0.99))
        for at in range(40)
    ]
    page = make_index_page(volumes, tmp_path, DEFAULT)
    html = write_index(tmp_path / "index.html", page, rows_in_page=11).read_text("utf-8")
    assert [path.name for path in rows_of_index(tmp_path)] == [
        f"rows-000{number}.js" for number in (1, 2, 3)
    ]
    script = """
        const set = (id, value) => { const one = document.getElementById(id); one.value = value; one.dispatchEvent(new Event("input")); };
        const found = () => document.getElementById("found").textContent, told = {all: found()};
        set("text", "v03"); told.some = found(); set("text", "");
        document.querySelectorAll("#volumes thead button")[0].click(); document.querySelectorAll("#volumes thead button")[0].click();
        told.last = document.querySelectorAll("#volumes tbody th")[2].textContent;
        return told;
    """
    assert browser.driven(tmp_path, html, script) == {
        "all": "40 of 40 volumes",
        "some": "10 of 40 volumes",
        "last": f"v037{odd}",
    }
    rows_of_index(tmp_path)[1].unlink()
    lost = browser.driven(tmp_path, html, script)
    assert lost["all"].endswith(", 18 more not found in pages/rows-0002.js")
    write_index(
        tmp_path / "index.html", make_index_page(volumes[:20], tmp_path, DEFAULT), rows_in_page=11
    )
    assert [path.name for path in rows_of_index(tmp_path)] == ["rows-0001.js"], (
        "of the larger index none is left"
    )


@needs_browser
@pytest.mark.slow
def test_the_slider_shows_the_slice_it_names(poured, tmp_path):
    found = browser.driven(
        tmp_path,
        poured["body"],
        """
        const place = document.getElementById("place"), data = JSON.parse(document.getElementById("data").textContent);
        const pixel = () => Array.from(document.getElementById("slice").getContext("2d").getImageData(128, 128, 1, 1).data);
        const told = {strip: document.getElementById("strip").open, count: data.mm.length, middle: pixel()};
        place.value = 0; place.dispatchEvent(new Event("input")); told.first = document.getElementById("readout").textContent;
        told.cursor = Number(document.getElementById("cursor").getAttribute("y1")); told.low = data.down[0];
        place.value = data.mm.length - 1; place.dispatchEvent(new Event("input"));
        told.last = document.getElementById("readout").textContent;
        told.mm = [data.mm[0], data.mm[data.mm.length - 1]]; return told;
    """,
    )
    assert (
        found["strip"] is False
        and found["cursor"] == found["low"]
        and found["middle"][3] == 255
        and max(found["middle"][:3]) > 20
    )
    first, last = (f"{mm:g} mm".replace("-", "\N{MINUS SIGN}") for mm in found["mm"])
    assert found["first"].startswith(first) and found["last"].startswith(last)


@needs_axe
@pytest.mark.slow
def test_faults_and_overflow_are_found_where_they_are(poured, tmp_path):
    bad = poured["index"].replace(
        "<main>", '<main><img src="data:,"><div style="width:3000px;color:#ccc">pale</div>'
    )
    found = browser.asked(tmp_path, bad, 400, browser.AXE)
    assert {one["id"] for one in found["violations"]} >= {"image-alt", "color-contrast"} and found[
        "wide"
    ]["scroll"] > 2900
