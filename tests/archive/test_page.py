"""The page of a run: what it shows is what is on the disk, it loads nothing, and names nobody."""

from __future__ import annotations

import re
import urllib.request
from dataclasses import replace

import pytest

from fovnet.archive.metrics import serve_metrics
from fovnet.archive.opening import Address, open_fetch
from fovnet.archive.run import ArchiveRun
from fovnet.archive.timing import Throttle
from tests.archive.conftest import ROOT
from tests.archive.test_run import ALONE, rows_planned
from tests.node.conftest import networks
from tests.node.test_page import is_covered, outline_of, pictures_of

pytest.importorskip("dicomweb_client", reason="dicomweb-client is not installed: make setup")

__all__ = ["networks"]


@pytest.mark.parametrize("faces", [True, False])
def test_the_page_of_a_run_shows_its_newest_answers(
    faces, orthanc, networks, tmp_path, monkeypatch
) -> None:
    """All slices may show a face here.  One series does not come."""
    monkeypatch.setattr("fovnet.report.content.faces.LEAST_FACE_PROBABILITY", 0.0)
    rows = rows_planned(orthanc, tmp_path / "plan", "--dates", "20260102")
    rows = [*rows[:2], replace(rows[0], series_uid="1.2.3")]
    settings = replace(ALONE, pages=True, faces=faces)
    archive_run = ArchiveRun(tmp_path / "answers", rows, networks, settings)
    with open_fetch(Address(orthanc.web), Throttle()) as fetch:
        archive_run.run(fetch, keep_bytes=1e9, jobs=1, pauses_s=())
    with serve_metrics(archive_run, 0) as address, urllib.request.urlopen(address) as answer:
        html = answer.read().decode()
    names = re.findall(r"<span>([^<]+)</span>", html)
    assert sorted(names) == sorted(archive_run.volume_ids) and len(names) == 2
    pictures = pictures_of(html)
    assert [is_covered(picture) for picture in pictures] == [not faces] * 2
    assert re.search(r"series that did not come</th>\s*<td>1</td>", html)
    ((_, fault),) = archive_run.failed
    assert re.search(rf"did not come for.*{fault.code}</th>\s*<td>1</td>", html, re.DOTALL)
    assert ROOT not in html and "Drift" not in html
    assert all(uri.startswith("data:") for uri in outline_of(html).addresses)
