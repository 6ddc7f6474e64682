"""Callers and peers, as they are named on the command line."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import ConfigError
from fovnet.node.peers import ReportPeer, all_callers, caller_of, peer_of
from fovnet.node.places import lock_places


@pytest.mark.parametrize(
    ("text", "peer"),
    [
        ("ARCHIVE@pacs.example:4242", ReportPeer("ARCHIVE", "pacs.example", 4242)),
        ("A B@10.0.0.1:104", ReportPeer("A B", "10.0.0.1", 104)),
        ("X@[::1]:1", ReportPeer("X", "::1", 1)),
    ],
)
def test_a_peer_has_a_title_a_host_and_a_port(text: str, peer: ReportPeer) -> None:
    assert peer_of(text) == peer


@pytest.mark.parametrize(
    ("text", "address", "may"),
    [
        ("SCANNER@10.1.2.3", "10.1.2.3", True),
        ("SCANNER@10.1.2.3", "10.1.2.4", False),
        ("*@10.1.0.0/16", "10.1.255.1", True),
        ("*@10.1.0.0/16", "10.2.0.1", False),
        ("SCANNER@10.1.2.3", "::ffff:10.1.2.3", True),
        ("S@fd00::/8", "fd12::1%eth0", True),
        ("S@localhost", "127.0.0.1", True),
    ],
)
def test_a_caller_is_known_by_its_network(text: str, address: str, may: bool) -> None:
    assert caller_of(text).is_at(address) is may


def test_without_callers_this_machine_may_call_and_the_archive_always_may() -> None:
    peer = ReportPeer("ARCHIVE", "192.0.2.7", 104)
    alone, named = all_callers((), None), all_callers([caller_of("S@10.1.2.3")], peer)
    assert (
        [caller.title for caller in alone] == ["*"]
        and alone[0].is_at("::1")
        and not alone[0].is_at("10.1.2.3")
    )
    assert [caller.title for caller in named] == ["S", "ARCHIVE"] and named[1].is_at("192.0.2.7")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--to", "archive:4242"], "node-peer"),
        (["--to", "A@host:99999"], "node-peer"),
        (["--to", "A@no-such-host.invalid:104"], "node-host"),
        (["--from", "SCANNER"], "node-caller"),
        (["--from", "A TITLE FAR TOO LONG@10.0.0.1"], "node-title"),
        (["--aet", " "], "node-title"),
        (["--tls-key", "key.pem"], "node-tls"),
        (["--tls-cert", "none.pem"], "node-tls"),
    ],
)
def test_a_wrong_word_is_refused_before_anything_is_written(
    tmp_path, words: list[str], code: str
) -> None:
    fault = CliRunner().invoke(app, ["node", "--out", str(tmp_path / "node"), *words]).exception
    assert isinstance(fault, ConfigError) and fault.code == code
    assert not any(tmp_path.iterdir())


def test_a_folder_of_the_users_and_one_at_work_are_refused(tmp_path) -> None:
    (tmp_path / "users").mkdir()
    (tmp_path / "users" / "thesis.txt").touch()
    for folder, code in (("users", "out-foreign"), ("node", "out-busy")):
        with (
            lock_places(tmp_path / "node"),
            pytest.raises(ConfigError) as fault,
            lock_places(tmp_path / folder),
        ):
            pass
        assert fault.value.code == code
