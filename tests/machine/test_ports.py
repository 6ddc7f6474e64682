"""What is said of a port that cannot be opened."""

from __future__ import annotations

import errno

import pytest

from fovnet.machine.ports import refusal_of_port


@pytest.mark.parametrize(
    ("number", "port", "words"),
    [
        (errno.EACCES, 104, "need a privilege"),
        (errno.EPERM, 104, "need a privilege"),
        (errno.EADDRINUSE, 11112, "give a free one"),
        (errno.EADDRNOTAVAIL, 11112, "an address of this machine"),
        (errno.EINVAL, 70000, "give one of 0 to 65535"),
    ],
)
def test_a_port_that_cannot_be_opened_says_what_to_try(number: int, port: int, words: str) -> None:
    said = refusal_of_port(OSError(number, "reason"), port)
    assert said.startswith(f"port {port}: cannot listen there (reason); ") and words in said
