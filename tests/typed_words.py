"""A command as it is typed."""

from __future__ import annotations

from typer import Typer
from typer.testing import CliRunner

from fovnet.errors import FovnetError


def output_of(command: Typer, *words: object) -> str:
    """What a command says.  Raises the FovnetError that it ends with."""
    done = CliRunner().invoke(command, [*map(str, words)], catch_exceptions=True)
    if isinstance(done.exception, FovnetError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.output
