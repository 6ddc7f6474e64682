"""The page for people: what it shows is what is on the disk, it loads nothing, and faces stay covered."""

from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from http import HTTPStatus
from http.client import HTTPConnection
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from fovnet.node.page import MOST_ROWS, node_subject, page_answer
from fovnet.node.places import Places, lock_places
from fovnet.report.content.faces import COVERED_GREY
from fovnet.watch.serving import Answer, serve
from fovnet.watch.tally import CountedAnswer, Tally
from tests.node.parties import PATIENT, at_work, statuses
from tests.node.test_metrics import page_text

EVIL = "<script>alert(1)</script>&\"'"
FIGURES = {"trouble": EVIL, "drift": EVIL, "associations": 2, "series_waiting": 1234}
VOID = {"meta", "img", "link", "br", "input"}


class Outline(HTMLParser):
    """The tags of a page, each closed in order; what it would load; its rows."""

    def __init__(self) -> None:
        super().__init__()
        self.open_tags: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag not in VOID:
            self.open_tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open_tags.pop() == tag


def outline_of(html: str) -> Outline:
    outline = Outline()
    outline.feed(html)
    assert not outline.open_tags
    return outline


def test_whatever_stands_in_it_the_page_is_text_and_loads_nothing(tmp_path) -> None:
    """The newest 50 of 60 volumes, the newest first."""
    tally = Tally()
    tally.add(
        CountedAnswer(f"{k:032x}-1", f"{k:032x}", EVIL, (EVIL,), {EVIL: "yes"}) for k in range(60)
    )
    with lock_places(tmp_path / "node") as places:
        html = page_answer(node_subject(EVIL, places), FIGURES, tally).body.decode()
    outline = outline_of(html)
    assert "script" not in outline.tags and "url(" not in html and "@import" not in html
    assert outline.addresses == []
    names = re.findall(r"<span>([0-9a-f]{32}-1)</span>", html)
    assert names == [f"{k:032x}-1" for k in range(59, 59 - MOST_ROWS, -1)]
    assert "1,234" in html


def pictures_of(html: str) -> list[np.ndarray]:
    uris = [uri for uri in outline_of(html).addresses if uri.startswith("data:image/jpeg;base64,")]
    return [
        np.asarray(Image.open(BytesIO(base64.b64decode(uri.split(",")[1]))).convert("L"))
        for uri in uris
    ]


def is_covered(picture: np.ndarray) -> bool:
    return bool((np.abs(picture.astype(int) - COVERED_GREY) <= 3).mean() > 0.5)


def test_the_page_shows_newest_answers_and_without_faces_no_uncovered_picture(
    tmp_path, networks, series, monkeypatch
) -> None:
    """All slices may show a face here.  Pictures of a start that was not told to cover them go."""
    monkeypatch.setattr("fovnet.report.content.faces.LEAST_FACE_PROBABILITY", 0.0)
    with at_work(tmp_path / "node", networks, page_port=0) as running:
        statuses(running.port, series(1))
        running.until(answered=1)
        html = page_text(running, "/")
    (picture,) = pictures_of(html)
    assert not is_covered(picture)
    assert "unsent" in html
    assert not any(value in html for value in [*PATIENT.values(), "1.2.826"])
    with at_work(tmp_path / "node", networks, faces=False, page_port=0) as running:
        assert pictures_of(page_text(running, "/")) == []
        statuses(running.port, series(2))
        running.until(answered=1)
        (picture,) = pictures_of(page_text(running, "/"))
    assert is_covered(picture)
    assert len(list(Places(tmp_path / "node").thumbnails.iterdir())) == 1


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:11180", 200),
        ("localhost", 200),
        ("[::1]:80", 200),
        ("evil.example", 404),
        ("127.0.0.1.evil.example:11180", 404),
    ],
)
def test_a_name_that_leads_to_this_machine_is_not_answered(host: str, status: int) -> None:
    """As a page of somebody else in a browser here could use (DNS rebinding)."""
    server = serve(0, {"/": lambda: Answer(b"secret", "text/plain")})
    try:
        connection = HTTPConnection("127.0.0.1", server.server_address[1])
        connection.request("GET", "/", headers={"Host": host})
        answer = connection.getresponse()
        assert (answer.status, answer.read() == b"secret") == (status, status == HTTPStatus.OK)
        assert "default-src 'none'" in str(answer.headers["Content-Security-Policy"])
        connection.close()
    finally:
        server.shutdown()
        server.server_close()
