"""What the page shows first, in Chromium: pictures of the volume and what to do, or why there are none."""

from __future__ import annotations

import json
import signal
import sys
from importlib.resources import files
from pathlib import Path
from shutil import copytree

import pytest

from fovnet.records import read_tsv, write_json, write_tsv
from fovnet.regions import DEFAULT
from tests.label.conftest import NAMES, SLICES
from tests.label.test_served import Server
from tests.report.browser import CHROMIUM, chromium, driven

needs_browser = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")
CHAIN, SIDE = list(DEFAULT.chain), list(DEFAULT.side_regions)
SLICE_COUNTS = (1, 2, 3, 24, 500)


def labels(slices: int) -> list[list[tuple[str, int, int]]]:
    """Labels of a volume: none, one region over all, part and ends of it, several, a spine over all or in
    part."""
    end, middle = slices - 1, slices // 2
    chosen = [
        [],
        [("head", 0, end)],
        [("spine", 0, end)],
        [("head", 0, end), ("spine", 0, end)],
        [("chest", middle, end)],
        [("chest", 0, middle)],
        [("chest", middle, middle)],
        [("abdomen", 0, end), ("spine", middle, end)],
        [("spine", 0, middle)],
    ]
    if slices > 2:
        chosen += [
            [("pelvis", 0, 0), ("abdomen", 1, end)],
            [("legs", 0, middle - 1), ("pelvis", middle, end)],
            [("legs", 0, 0), ("pelvis", 1, end - 1), ("abdomen", end, end), ("spine", 0, end)],
        ]
    return chosen


@needs_browser
@pytest.mark.slow
def test_whatever_the_label_both_pictures_show_the_volume_at_first(tmp_path: Path) -> None:
    """The first line was at an end of the volume, and one of the two pictures black."""
    cases = [(label, slices) for slices in SLICE_COUNTS for label in labels(slices)]
    text = (
        (files("fovnet.label") / "page" / "regions.js")
        .read_text("utf-8")
        .replace("export class", "class")
    )
    script = f"""
        {text}
        const regions = new Regions({{chain: {CHAIN}, side: {SIDE}, colours: {{}}, landmarks: []}});
        return {json.dumps(cases)}.map(([label, slices]) => ({{
            ...regions.beginning(label, slices), lines: regions.borders(label, slices)}}));
    """
    begun = driven(tmp_path, "<html><body></body></html>", script)
    assert len(begun) == len(cases) >= 50
    for (label, slices), first in zip(cases, begun, strict=True):
        line = next((one for one in first["lines"] if one["id"] == first["chosen"]), None)
        assert (line is None) == (not label)
        upper = first["looked"] if first["looked"] is not None else line["at"] if line else 0
        assert slices == 1 or 1 <= upper <= slices - 1, (label, slices)
        inner = [
            one for one in first["lines"] if one["below"] and one["above"] and "side" not in one
        ]
        assert not inner or first["chosen"] == inner[0]["id"], (
            "a border between regions before their ends"
        )


def first_page(answers: Path, out: Path, folder: Path) -> str:
    """The page as it is when its first volume has come."""
    server = Server(
        [
            sys.executable,
            "-m",
            "fovnet",
            "label",
            str(answers),
            "--out",
            str(out),
            "--order",
            "listed",
        ]
    )
    try:
        return chromium(folder, "--virtual-time-budget=9000", "--dump-dom", server.address)
    finally:
        server.end(signal.SIGINT)


def button(dom: str, action: str) -> str:
    """The opening tag of an action's button."""
    end = dom.index(">", dom.index(f'data-do="{action}"'))
    return dom[dom.rindex("<button", 0, end) : end]


def changed(answers: Path, folder: Path, **facts: object) -> Path:
    """A copy of the answers, with other facts of the first volume."""
    copy = copytree(answers, folder / "answers")
    write_json(
        copy / f"{NAMES[0]}.json", json.loads((copy / f"{NAMES[0]}.json").read_text()) | facts
    )
    return copy


@needs_browser
@pytest.mark.slow
def test_a_volume_of_one_region_is_shown_at_its_middle_with_sides_and_what_to_do(
    answers: Path, tmp_path: Path
) -> None:
    span = {"region": "abdomen", "first_slice": 0, "last_slice": SLICES - 1}
    dom = first_page(changed(answers, tmp_path, spans=[span]), tmp_path / "labels", tmp_path)
    assert f"Looking at slice {SLICES // 2}" in dom and "outside the volume" not in dom
    assert all(
        dom.count(f'class="at {side}">{letter}</span>') >= 2
        for side, letter in (
            ("left", "R"),
            ("right", "L"),
            ("front", "A"),
            ("back", "P"),
        )
    )
    assert '<p id="begin">' in dom and 'id="unread" hidden=""' in dom
    assert 'class="main"' in button(dom, "done") and 'class="main"' not in button(dom, "aside")


@needs_browser
@pytest.mark.slow
def test_an_unreadable_volume_says_why_and_is_not_all_right(answers: Path, tmp_path: Path) -> None:
    """The page was empty, and "all right" still the highlighted button."""
    copy = copytree(answers, tmp_path / "answers")
    rows = read_tsv(copy / "spans.tsv")
    rows[0]["path"] = str(tmp_path / "gone.nii.gz")
    write_tsv(copy / "spans.tsv", tuple(rows[0]), rows)
    dom = first_page(copy, tmp_path / "labels", tmp_path)
    assert "gone.nii.gz: there is no such file" in dom[dom.index('id="unread-words"') :][:300]
    assert 'id="unread" hidden' not in dom
    assert 'id="body" aria-label="The regions along the body" hidden' in dom
    assert 'class="main"' in button(dom, "aside") and 'aria-disabled="true"' in button(dom, "done")
    assert 'class="main"' not in button(dom, "done")
