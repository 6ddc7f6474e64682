"""A node under systemd: signs of life on its socket, and a unit that lets it do little else."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path
from shutil import which

import pytest

from tests.node.parties import at_work

UNIT = Path(__file__).parents[2] / "packaging" / "fovnet-node.service"
MOST_EXPOSED = 2.0  # of 10, by `systemd-analyze security`


@pytest.mark.parametrize("in_abstract_namespace", [False, True])
def test_a_node_says_when_it_is_ready_that_it_lives_and_that_it_stops(
    tmp_path, monkeypatch, in_abstract_namespace: bool
) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.settimeout(20)
        supervisor.bind("" if in_abstract_namespace else str(tmp_path / "notify"))
        address = supervisor.getsockname()
        if in_abstract_namespace:
            address = address.decode().replace("\0", "@")
        monkeypatch.setenv("NOTIFY_SOCKET", address)
        monkeypatch.setenv("WATCHDOG_USEC", "100000")
        with at_work(tmp_path / "node", networks=None):
            told = [supervisor.recv(64) for _ in range(3)]
        while told[-1] != b"STOPPING=1":
            told.append(supervisor.recv(64))
    assert told[0] == b"READY=1" and set(told[1:-1]) == {b"WATCHDOG=1"}


def test_a_watchdog_of_another_process_is_not_answered(tmp_path, monkeypatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(tmp_path / "notify"))
        supervisor.settimeout(20)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "1000")
        monkeypatch.setenv("WATCHDOG_PID", "1")
        with at_work(tmp_path / "node", networks=None):
            told = [supervisor.recv(64)]
        told.append(supervisor.recv(64))
    assert told == [b"READY=1", b"STOPPING=1"]


def test_the_unit_is_valid_and_lets_the_node_do_little(tmp_path) -> None:
    analyze = which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    # it is installed elsewhere, and has to be there to be verified
    text, replaced_count = re.subn(r"(?m)^ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text())
    unit = tmp_path / UNIT.name
    unit.write_text(text)
    verified = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, check=True)
    assert replaced_count == 1 and not verified.stdout + verified.stderr
    words = [analyze, "security", "--offline=true", "--no-pager", unit]
    judged = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    assert float(re.findall(r"exposure level for \S+: ([\d.]+)", judged)[0]) <= MOST_EXPOSED
