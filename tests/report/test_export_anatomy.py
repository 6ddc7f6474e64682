"""What headers say of every set of regions that an answer can name: all of them, and no others."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from itertools import combinations

import pydicom
import pytest

from fovnet.errors import ModelError
from fovnet.evaluate.cases import StoredSpan
from fovnet.regions import DEFAULT, Vocabulary
from fovnet.report.exports.anatomy import anatomy_of
from fovnet.report.exports.answers import read_answers
from fovnet.report.exports.bids import sidecar_facts
from fovnet.report.exports.copies import write_copies
from fovnet.report.exports.headers import compare_headers
from fovnet.report.exports.identity import content_of
from fovnet.report.exports.structured import build_report
from fovnet.volume.collection.body_part import find_regions_of_text
from tests.report.exported import answered, body, said

RUNS = [DEFAULT.chain[first:stop] for first, stop in combinations(range(len(DEFAULT.chain) + 1), 2)]
SETS = [(*run, *sides) for run in RUNS for sides in ((), DEFAULT.side_regions)] + [
    DEFAULT.side_regions
]
"""What the decoder can name: runs of the chain, each with the spine or without, and the spine alone."""


@pytest.fixture(scope="module")
def answer(tmp_path_factory, write):
    """An answer of the chest on a small series whose header says HEAD."""
    folder = tmp_path_factory.mktemp("anatomy")
    source = write.save(folder / "series", write.images(body((20, 22, 3)), BodyPartExamined="HEAD"))
    (stored,) = read_answers(answered(folder / "answers", source, ["chest"]))
    return stored


def showing(answer, regions, side_share=0.5):
    """The answer with these regions, of equal heights, and side regions over a share of them all."""
    chain = [name for name in regions if name in DEFAULT.chain]
    whole_mm = 100.0 * max(len(chain), 1)
    spans = [
        StoredSpan(name, 100.0 * number, 100.0 * (number + 1), 0, 2, 0.97)
        for number, name in enumerate(chain)
    ]
    spans += [
        StoredSpan(name, 0.0, side_share * whole_mm, 0, 2, 0.97)
        for name in regions
        if name not in DEFAULT.chain
    ]
    return said(replace(answer, spans=tuple(spans), status="ok", message=""), regions)


@pytest.mark.parametrize("side_share", [0.5, 1.0])
@pytest.mark.parametrize("regions", SETS, ids="+".join)
def test_a_copy_names_all_regions_that_are_shown_and_no_others(
    answer, tmp_path, regions, side_share
):
    """Its header agrees with the answer, as `fovnet export headers` reads it, also where it has codes alone;
    that of a region beside a spine is part of it."""
    notes = []
    shown = showing(answer, regions, side_share)
    copies = [
        pydicom.dcmread(path) for path in write_copies(shown, DEFAULT, tmp_path, notes.append)
    ]
    copy = copies[0]
    coded = [DEFAULT.regions_of_code(item.CodeValue) for item in copy.AnatomicRegionSequence]
    assert frozenset().union(*coded) == set(regions)
    assert sum(map(len, coded)) == len(regions), "each region once"
    named = find_regions_of_text(copy.BodyPartExamined) or ()
    sides = set(DEFAULT.side_regions) & set(regions)
    assert set(named) in (set(), set(regions), set(regions) - sides, sides)
    assert bool(notes) == (not copy.BodyPartExamined)
    images = replace(shown.images, uids=tuple(str(each.SOPInstanceUID) for each in copies))
    (row,) = compare_headers(
        [replace(shown, path=tmp_path / shown.volume_id, images=images)], DEFAULT
    )
    assert row.verdict == (
        "part" if named and set(named) == set(regions) - sides and sides else "agree"
    )
    if len(regions) == 1:
        assert copy.BodyPartExamined == DEFAULT.term(regions).body_part


@pytest.mark.parametrize("regions", SETS, ids="+".join)
def test_a_report_and_a_sidecar_name_all_regions_too(answer, regions):
    shown = showing(answer, regions)
    content = content_of(build_report(shown, DEFAULT))
    coded = {region.name for region in DEFAULT.regions if f'"{region.sct}"' in content}
    assert coded == set(regions)
    sidecar = sidecar_facts(shown, DEFAULT, {})
    assert all(name in sidecar["BodyPartDetails"] for name in regions)
    assert sidecar.get("BodyPart", "") == anatomy_of(shown, DEFAULT).body_part


@pytest.mark.parametrize(
    ("regions", "side_share", "body_part"),
    [
        (["spine"], 1.0, "SPINE"),
        (["abdomen", "spine"], 1.0, "SPINE"),
        (["abdomen", "spine"], 0.5, "ABDOMEN"),
        (["abdomen", "chest", "spine"], 0.5, "CHESTABDOMEN"),
        (["chest", "head", "spine"], 0.5, ""),
        (["chest", "head", "spine"], 0.9, "SPINE"),
        (["chest", "head"], 0.5, ""),
        (["legs", "pelvis", "abdomen", "chest"], 0.5, ""),
        (["pelvis", "abdomen", "chest", "head"], 0.5, ""),
    ],
)
def test_no_term_stands_for_fewer_regions_or_for_more(answer, regions, side_share, body_part):
    assert anatomy_of(showing(answer, regions, side_share), DEFAULT).body_part == body_part


def test_a_region_without_a_code_is_named(answer):
    bare = Vocabulary(
        tuple(
            replace(region, sct="", body_part="") if region.name == "head" else region
            for region in DEFAULT.regions
        )
    )
    with pytest.raises(ModelError, match="'head' lacks a SNOMED CT code") as fault:
        anatomy_of(showing(answer, ["chest", "head"]), bare)
    assert fault.value.code == "export-no-code"


def test_a_page_by_dsr2html_has_the_names_of_all_items(answer, tmp_path):
    """In containers that are CONTINUOUS, DCMTK 3.6.7 left out the names of measurements and evaluations; the
    reason why an answer is unsure is the first of the parameters, which alone dcmqi 1.5.7 keeps."""
    if shutil.which("dsr2html") is None:
        pytest.skip("dsr2html (Debian: dcmtk) is not installed")
    spans = showing(answer, ["chest"]).spans
    partly = replace(
        said(replace(answer, spans=spans), ["chest"], ["head"]), message="too few slices"
    )
    report = build_report(partly, DEFAULT)
    report.save_as(tmp_path / "sr.dcm")
    page = subprocess.run(
        ["dsr2html", str(tmp_path / "sr.dcm")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for name in (
        "Length",
        "Probability",
        "Certainty of Finding",
        "Finding",
        "Height of the lower end",
    ):
        assert f"<b>{name}" in page, name
    assert page.index("partly: too few slices") < page.index("ensemble 0123456789abcdef")
    if shutil.which("dciodvfy"):
        checked = subprocess.run(
            ["dciodvfy", str(tmp_path / "sr.dcm")],
            capture_output=True,
            text=True,
            check=False,
        ).stderr
        assert not [line for line in checked.splitlines() if line.startswith("Error")]
