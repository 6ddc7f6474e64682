"""The page as a browser and as others see it: `fovnet label` in a process of its own."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import FovnetError
from fovnet.volume.collection.tables import read_collection
from tests.label.conftest import NAMES, SEEN, SESSION
from tests.report.browser import CHROMIUM, chromium


class Server:
    """A `fovnet label`, its address, and requests to it."""

    def __init__(self, line: list[str]) -> None:
        self.process = subprocess.Popen(
            line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.told = ""
        while not (found := re.search(r"open (http://127.0.0.1:(\d+)/\?key=(\S+))", self.told)):
            new = self.process.stdout.readline()
            assert new, self.told
            self.told += new
        self.address, self.port, self.key = found[1], int(found[2]), found[3]

    def ask(self, path: str, body: dict | str | None = None, **headers) -> tuple[int, bytes, dict]:
        """Status, body and headers of an answer, asked as the page would but for the `headers` given."""
        own = {
            "Host": f"127.0.0.1:{self.port}",
            "Cookie": f"fovnet-label-{self.port}={self.key}",
            "Sec-Fetch-Site": "same-origin",
        }
        if body is not None:
            own |= {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{self.port}"}
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        text = json.dumps(body) if isinstance(body, dict) else body
        sent = {name: value for name, value in own.items() if value is not None}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as asked:
            asked.request("GET" if body is None else "POST", path, text, sent)
            answer = asked.getresponse()
            return answer.status, answer.read(), dict(answer.getheaders())

    def act(self, index: int, act: str, revision: int = 0, **more) -> dict:
        """The volume after an action."""
        body = {"session": SESSION, "act": act, "revision": revision, **more}
        status, told, _ = self.ask(f"/volumes/{index}", body)
        assert status == 200, told
        return json.loads(told)

    def end(self, how: int) -> int:
        """Its exit status, once it has been sent a signal."""
        self.process.send_signal(how)
        with self.process:
            return self.process.wait(60)


def started(answers: Path, volumes: Path, out: Path) -> Server:
    line = [sys.executable, "-m", "fovnet", "label", str(answers), str(volumes), "--out", str(out)]
    return Server([*line, "--order", "listed", "--reader", "anna"])


@pytest.fixture(scope="module")
def server(
    answers: Path, volumes: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    made = started(answers, volumes, tmp_path_factory.mktemp("served") / "labels")
    yield made
    assert made.end(signal.SIGINT) == 0


PATHS = ("/", "/begin", "/volumes/0", "/volumes/0/cuts.jpg", "/page/label.js", "/progress", "/list")


@pytest.mark.parametrize("path", PATHS)
class TestNobodyElseReads:
    def test_without_the_key(self, server: Server, path: str) -> None:
        assert server.ask(path, Cookie=None)[0] == 403
        assert server.ask(path, Cookie=f"fovnet-label-{server.port}=guess")[0] == 403

    def test_under_a_name_that_was_made_to_point_here(self, server: Server, path: str) -> None:
        """DNS rebinding: the foreign page is then of the same origin, and has its own name as Host."""
        for host in (
            f"evil.example:{server.port}",
            "127.0.0.1",
            f"127.0.0.1:{server.port + 1}",
            "",
        ):
            assert server.ask(path, Host=host)[0] in (400, 421)

    def test_from_another_page(self, server: Server, path: str) -> None:
        """Another port of this machine is the same site: SameSite cookies are sent along."""
        assert server.ask(path, Origin=f"http://127.0.0.1:{server.port + 1}")[0] == 403
        assert server.ask(path, Origin="null")[0] == 403
        assert server.ask(path, Sec_Fetch_Dest="iframe")[0] == 403
        for site in ("same-site", "cross-site") if path != "/" else ():
            assert server.ask(path, Sec_Fetch_Site=site)[0] == 403

    def test_and_the_page_itself_does(self, server: Server, path: str) -> None:
        status, _, headers = server.ask(path)
        assert status == 200 and headers["cache-control"] == "no-store"
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "access-control-allow-origin" not in headers


ASIDE = {"session": SESSION, "act": "aside", "revision": 0, "words": "x"}


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (ASIDE, {"Origin": None}, 403),
        (ASIDE, {"Origin": "http://evil.example"}, 403),
        (ASIDE, {"Content_Type": "text/plain"}, 415),
        (ASIDE, {"Cookie": None}, 403),
        ({**ASIDE, "words": "x" * 3000}, {}, 400),
        ({**ASIDE, "words": "x" * 200_000}, {}, 413),
        ({**ASIDE, "path": "../x"}, {}, 400),
        ("[]", {}, 400),
        ("{", {}, 400),
        ({**ASIDE, "revision": 7}, {}, 409),
    ],
)
def test_nothing_is_written_for_others_or_out_of_turn(server, body, headers, status) -> None:
    assert server.ask("/volumes/0", body, **headers)[0] == status
    assert json.loads(server.ask("/volumes/0")[1])["revision"] == 0


@pytest.mark.parametrize(
    "path",
    [
        "/page/../desk.py",
        "/page/%2e%2e%2fdesk.py",
        "/page/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/page/",
        "/volumes/-1",
        "/volumes/4",
        "/volumes/0/slices/24.jpg",
        "/volumes/..%2f0/cuts.jpg",
    ],
)
def test_names_from_outside_are_no_paths(server: Server, path: str) -> None:
    assert server.ask(path)[0] == 404


def test_a_killed_server_has_lost_nothing(answers: Path, volumes: Path, tmp_path: Path) -> None:
    first = started(answers, volumes, tmp_path / "labels")
    first.act(1, "shown")
    first.act(1, "done", extents=[["legs", 0, 9]])
    first.act(2, "edit", extents=[["head", 3, 9]])
    first.end(signal.SIGKILL)
    with (tmp_path / "labels" / "label-log.jsonl").open("a") as log:
        log.write('{"time": "2026')  # as a kill in the middle of a write leaves it
    again = started(answers, volumes, tmp_path / "labels")
    assert "one unfinished line" in again.told and "4 volumes, 1 done, 3 to label" in again.told
    assert json.loads(again.ask("/volumes/2")[1])["extents"] == [["head", 3, 9]]
    again.act(2, "undo", 1)
    assert json.loads(again.ask("/volumes/2")[1])["extents"] == [[*SEEN]]
    again.end(signal.SIGKILL)
    assert [*read_collection(tmp_path / "labels").region_rows_by_volume] == [NAMES[1]]


@pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")
def test_the_page_shows_the_first_volume_under_its_own_policy(
    server: Server, tmp_path: Path
) -> None:
    """Its scripts run, its pictures are drawn, and the name of a volume is text."""
    dom = chromium(tmp_path, "--virtual-time-budget=300000", "--dump-dom", server.address)
    assert f'<h1 id="name">{NAMES[0]}</h1>' in dom and "0 of 4 done" in dom
    assert (
        dom.count('role="slider"') == 2
        and "lower end of abdomen: between slice 3 and 4, at 10 mm" in dom
    )


def test_guessed_subjects_are_told_before_labelling_begins(
    answers, volumes, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(
        "fovnet.cli.labelling.serve", lambda desk, page_socket, **_: page_socket.close()
    )
    table = tmp_path / "one"
    table.mkdir()
    shutil.copy(answers / f"{NAMES[0]}.json", table)
    rows = (answers / "spans.tsv").read_text().splitlines(keepends=True)
    (table / "spans.tsv").write_text("".join(rows[:2]))
    for start, sentence in (
        (table, "1 volume: the subject is guessed from its name;"),
        (answers, "4 volumes: the subjects are guessed from their names;"),
    ):
        line = ["label", str(start), "--out", str(tmp_path / f"labels-{start.name}")]
        assert sentence in CliRunner().invoke(app, line).stderr


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (["--order", "best"], "label-options"),
        (["--reader", "a/b"], "label-options"),
        (["--blind", "--third"], "label-options"),
        (["--third"], "label-one-reader"),
        (["--port", "PORT"], "label-port"),
    ],
)
def test_odd_options_and_a_taken_port_are_refused(server, answers, tmp_path, more, code) -> None:
    given = [str(server.port) if one == "PORT" else one for one in more]
    fault = (
        CliRunner()
        .invoke(app, ["label", str(answers), "--out", str(tmp_path / "out"), *given])
        .exception
    )
    assert isinstance(fault, FovnetError) and fault.code == code
    assert not (tmp_path / "out").exists()
    assert code != "label-port" or f"port {server.port}: cannot listen there" in str(fault)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are told otherwise here")
def test_a_refused_labelling_leaves_no_port_open(tmp_path) -> None:
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    refused = CliRunner().invoke(
        app, ["label", str(tmp_path / "no-answers"), "--out", str(tmp_path / "labels")]
    )
    assert refused.exit_code and refused.exception is not None
    assert len(list(Path("/proc/self/fd").iterdir())) == open_files
