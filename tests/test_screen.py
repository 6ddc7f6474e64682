"""What a terminal shows of names: the names, whatever stands in them."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text
from typer.testing import CliRunner

from fovnet.cli import app, main
from fovnet.cli.screen import Console, empty_table, progress_bar

NAMES = ["runs[red]1", "a[/b]", "a[", "[link=x]y[/link]", ":warning:.nii", "[bold]"]


def on_a_terminal(one: object) -> str:
    shown = StringIO()
    Console(file=shown, force_terminal=True, color_system="truecolor", width=80).print(one)
    return shown.getvalue()


def in_a_table(cell: object) -> Table:
    table = empty_table(cell if isinstance(cell, str) else "", "volume", "")
    table.add_row(cell, "|")
    return table


@pytest.mark.parametrize("name", NAMES)
def test_a_name_is_shown_as_it_is_in_a_sentence_and_in_a_table(name: str) -> None:
    assert on_a_terminal(f"refused {name}: 12 of 3") == f"refused {name}: 12 of 3\n"
    assert on_a_terminal(in_a_table(name)).count(name) == 2  # in the title and in a cell


@pytest.mark.parametrize(
    "shown",
    [in_a_table, lambda text: text, lambda text: Text(text), lambda text: in_a_table(Text(text))],
)
@pytest.mark.parametrize(
    "obeyed",
    [
        "\x1b[31mred",
        "\x9b31mred",
        "\x1b]0;title\x07",
        *(f"abc{mark}red" for mark in "\u202e\u200e\u200f\u061c\u2028\u2029"),
    ],
)
def test_nothing_is_obeyed_that_stands_in_a_name(shown, obeyed: str) -> None:  # type: ignore[no-untyped-def]
    text = on_a_terminal(shown(obeyed))
    assert obeyed[:4] not in text and "\N{REPLACEMENT CHARACTER}" in text


def test_a_cell_is_as_wide_as_what_is_shown_of_it() -> None:
    table = empty_table("", "", "")
    for name in ("volume-1", "\x1bvolume1"):
        table.add_row(name, "|")
    *_, plain, odd, _ = on_a_terminal(table).splitlines()
    assert plain.index("|") == odd.index("|")


def test_a_folder_with_brackets_in_its_name_is_filled_twice(tmp_path: Path) -> None:
    """The second time with fewer people, so that a sentence names what stays."""
    folder = tmp_path / "a[" / "b]"
    folder.parent.mkdir()
    for subjects in ("2", "1"):
        done = CliRunner().invoke(
            app, ["phantom", str(tmp_path / "a[/b]"), "--subjects", subjects, "--volumes", "1"]
        )
        assert done.exception is None
    assert folder.is_dir() and f"{folder}: 1 volume of an earlier simulation" in done.stderr


def test_an_error_keeps_the_brackets_of_a_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.argv", ["fovnet", "check", "--config", str(tmp_path / "runs[red]1")])
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().err.startswith(f"error {tmp_path}/runs[red]1: ")


def test_a_bar_names_what_is_done_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = StringIO()
    monkeypatch.setattr(
        "fovnet.cli.screen.err", Console(file=shown, force_terminal=True, stderr=True, width=120)
    )
    with progress_bar("a[/b]") as advance:
        advance(1, 2)
    assert "a[/b]" in shown.getvalue()
