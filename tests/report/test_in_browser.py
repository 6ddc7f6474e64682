"""Pages in Chromium: no wider than the window, and without anything that axe calls a fault of accessibility.

axe-core is no part of fovnet: `npm install axe-core` somewhere, and FOVNET_AXE=.../node_modules/axe-core/axe.min.js.
"""

import importlib.util
from pathlib import Path

import pytest

from fovnet.regions import DEFAULT
from fovnet.report.index_page import index_page, page_name, write_index
from fovnet.report.pour import pour
from fovnet.report.volume_page import volume_page, write_volume_page


def module(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


browser, pages = module("browser"), module("test_volume_pages")
WIDTHS = (1280, 400)

needs_axe = pytest.mark.skipif(
    not (browser.CHROMIUM and browser.AXE), reason="needs Chromium, and FOVNET_AXE naming axe.min.js of the npm package axe-core"
)


@pytest.fixture(scope="module")
def poured(make_page, pictured, tmp_path_factory):
    """The three kinds of page as text."""
    folder = tmp_path_factory.mktemp("pages")
    case = next(one for one in pictured if one.volume_id == "P10-lost")
    doubts = [{"code": "members-disagree", "sentence": "The networks disagree."}]
    body = pages.body_of(case, boundaries=pages.BOUNDARIES, doubts=doubts, status="uncertain")
    volume = write_volume_page(folder / page_name("body"), volume_page(body, case.pixels, DEFAULT))
    refused = pages.spans_row("ct", status="refused", region=None, confidence=None, message="a CT " * 60)
    index = write_index(folder / "index.html", index_page([[pages.spans_row("body", status="uncertain")], [refused]], folder))
    return {"report": pour(make_page()), **{path.stem: path.read_text(encoding="utf-8") for path in (volume, index)}}


@needs_axe
@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kind", ["report", "body", "index"])
def test_no_fault_of_accessibility_and_nothing_wider_than_the_window(poured, kind, width, tmp_path):
    found = browser.asked(tmp_path, poured[kind], width, browser.AXE)
    assert found["violations"] == [] and found["rules"] > 30
    assert found["wide"] == {"inner": width, "scroll": width, "opened": width}, "with all details open, too"


@needs_axe
@pytest.mark.slow
def test_faults_and_overflow_are_found_where_they_are(poured, tmp_path):
    bad = poured["index"].replace("<main>", '<main><img src="data:,"><div style="width:3000px;color:#ccc">pale</div>')
    found = browser.asked(tmp_path, bad, 400, browser.AXE)
    assert {one["id"] for one in found["violations"]} >= {"image-alt", "color-contrast"} and found["wide"]["scroll"] > 2900
