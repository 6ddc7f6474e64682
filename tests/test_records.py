"""Files on disk: whole or not there at all, plain, and stamped with what made them."""

from __future__ import annotations

import resource
import signal
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import booleans, dictionaries, floats, integers, lists, text

from fovnet._version import __version__
from fovnet.records import (
    BLANK_BY_CHARACTER,
    clear_unfinished,
    digest,
    read_json,
    read_npz,
    read_tsv,
    replace_with,
    write_json,
    write_npz,
    write_together,
    write_tsv,
)


def test_a_write_that_fails_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def half(file: BinaryIO) -> None:
        file.write(b"ne")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        replace_with(path, half)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("before", [True, False])
def test_files_of_one_act_are_written_all_or_none(tmp_path: Path, before: bool) -> None:
    """The second is larger than the disk lets it be: the first is as it was before."""
    first, second = tmp_path / "regions.tsv", tmp_path / "volumes.tsv"
    if before:
        write_together({first: "old", second: "old"})
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError) as fault:
            write_together({first: "new", second: "new " * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert fault.value.filename == str(second)
    texts = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert texts == ({"regions.tsv": "old", "volumes.tsv": "old"} if before else {})
    write_together({first: "new", second: "new"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("regions.tsv", "volumes.tsv"), "new"
    )


@pytest.mark.parametrize("name", ["a.html", "v 1.nii.json", "*", "[x]", "é", "a.1.part", "x" * 200])
def test_what_a_killed_run_was_writing_is_found_again_and_no_other_file(
    tmp_path: Path, name: str
) -> None:
    """The name is that of the file which `replace_with` has open when it is killed."""
    open_names: list[str] = []
    replace_with(tmp_path / name, lambda file: open_names.append(Path(file.name).name))
    (left,) = open_names
    others = [
        name,
        f".{name}.part",
        f".{name}.1x.part",
        f"{name}.12.part",
        ".part",
        ".1.part",
        f".{name}.12.part.txt",
    ]
    for one in (left, *others):
        (tmp_path / one).touch()
    (tmp_path / ".folder.12.part").mkdir()
    clear_unfinished(tmp_path, tmp_path / "that is not there", name="else")
    assert (tmp_path / left).exists()
    clear_unfinished(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*others, ".folder.12.part"}


def test_brackets_without_end_are_no_json(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="too deep"):
        read_json(tmp_path / "deep.json")


def test_what_a_terminal_obeys_is_not_written_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    """Names of files and of members of archives may hold escapes: one renamed the window, and wrote a line of
    its own."""
    from fovnet.cli.screen import Console

    Console(soft_wrap=True).print("a\x1b[31m\x1b]0;x\x07\u202egpj.\n[b]")
    assert capsys.readouterr().out == "a\ufffd[31m\ufffd]0;x\ufffd\ufffdgpj.\n[b]\n"


def test_every_json_says_who_made_it_from_what(tmp_path: Path) -> None:
    facts = read_json(
        write_json(tmp_path / "a.json", {"x": np.arange(3)}, settings={"b": 1}, seed=7)
    )
    assert facts["x"] == [0, 1, 2]
    assert facts["fovnet"] == {
        "version": __version__,
        "settings_sha256": digest({"b": 1}),
        "seed": 7,
    }


def test_a_number_that_is_none_is_not_smuggled_into_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"x": float("nan")})
    assert not (tmp_path / "a.json").exists()


@given(dictionaries(text(), lists(integers() | floats(allow_nan=False))))
def test_the_digest_forgets_the_order_of_keys_and_nothing_else(
    facts: dict[str, list[float]],
) -> None:
    assert digest(facts) == digest(dict(reversed(facts.items())))
    assert digest(facts) != digest({**facts, "one more": 1})


def test_a_table_reads_back_with_tabs_and_line_ends_made_harmless(tmp_path: Path) -> None:
    path = write_tsv(
        tmp_path / "t.tsv", ["a", "b"], [{"a": "x\ty\nz", "b": None}, {"a": 1.23456, "b": "é"}]
    )
    assert read_tsv(path) == [{"a": "x y z", "b": ""}, {"a": "1.235", "b": "é"}]


@given(floats(1e-11, 1e9))
def test_a_number_in_a_table_is_near_the_number_however_small(
    tmp_path_factory: pytest.TempPathFactory, number: float
) -> None:
    path = write_tsv(
        tmp_path_factory.mktemp("table") / "t.tsv",
        ["a"],
        [{"a": number}, {"a": -number}, {"a": 0.0}],
    )
    values = [float(row["a"]) for row in read_tsv(path)]
    assert values[0] == pytest.approx(number, rel=5.1e-3) and values[1:] == [-values[0], 0.0]


@given(lists(text(), min_size=1, max_size=4))
def test_a_row_is_a_line_for_every_reader_whatever_a_file_is_called(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str]
) -> None:
    columns = [f"c{number}" for number in range(len(cells))]
    path = write_tsv(
        tmp_path_factory.mktemp("table") / "t.tsv",
        columns,
        [dict(zip(columns, cells, strict=True))],
    )
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) == len(read_tsv(path)) + 1 == 2 and lines[1].count("\t") == len(cells) - 1


FORMULAS = (
    "=1+1",
    "=cmd|' /C calc'!A1",
    "+1+cmd|x",
    "-2+3",
    "@SUM(A1)",
    '=HYPERLINK("http://x","y")',
    "\t=1",
    "\r=1",
    " =1",
    "＝1+1",
    "-scan/t1.nii",
    "--out",
    "'=1",
    "''=1",
    "=",
    "==",
    "-12 to 5 mm",
    "+x",
    "@a",
    "-1e",
    "-1.2.3",
    "=\t1",
    "= ",
    "'＝1",
    "-inf=1",
)


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula_to_a_spreadsheet_and_its_text_is_not_lost(
    tmp_path: Path, text: str
) -> None:
    """Names of files are names in tables, and a spreadsheet runs what begins as a formula."""
    path = write_tsv(tmp_path / "t.tsv", ["volume_id", text], [{"volume_id": text, text: 1}])
    cells = [
        cell.strip(' "')
        for line in path.read_text(encoding="utf-8").splitlines()
        for cell in line.split("\t")
    ]
    assert not any(cell.startswith(tuple("=+-@＝＋－＠")) and len(cell) > 1 for cell in cells)
    ((heading, name), (column, _)) = read_tsv(path)[0].items()
    assert (
        heading == "volume_id"
        and name.strip() == column.strip() == text.translate(BLANK_BY_CHARACTER).strip()
    )


@given(lists(text(alphabet="=+-@'1.e \t\"ax＝"), min_size=1, max_size=3))
def test_a_table_read_back_has_the_texts_that_were_written_whatever_they_begin_with(
    tmp_path_factory: pytest.TempPathFactory, cells: list[str]
) -> None:
    columns = [f"c{number}" for number in range(len(cells))]
    path = write_tsv(
        tmp_path_factory.mktemp("table") / "t.tsv",
        columns,
        [dict(zip(columns, cells, strict=True))],
    )
    if any(cell.strip() for cell in cells):
        assert [cell.strip() for cell in read_tsv(path)[0].values()] == [
            cell.translate(BLANK_BY_CHARACTER).strip() for cell in cells
        ]


NUMBERS = (
    -481.5,
    -3,
    -1e-9,
    5.0,
    -0.05,
    "-481.498",
    "+7",
    "-1e-05",
    "-.5",
    "-3.",
    float("-inf"),
    np.float32(-2.5),
    np.int64(-4),
)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_stays_one_in_a_spreadsheet(tmp_path: Path, number: object) -> None:
    cell = (
        write_tsv(tmp_path / "t.tsv", ["from_mm"], [{"from_mm": number}])
        .read_text()
        .splitlines()[1]
    )
    assert float(cell) == pytest.approx(float(number), rel=1e-2)  # type: ignore[arg-type]


def test_arrays_with_objects_in_them_are_not_read(tmp_path: Path) -> None:
    """An object array is a pickle, and a pickle can run code."""
    np.savez(tmp_path / "bad.npz", x=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="pickle"):
        read_npz(tmp_path / "bad.npz")
    np.testing.assert_array_equal(
        read_npz(write_npz(tmp_path / "good.npz", x=np.eye(2)))["x"], np.eye(2)
    )


@given(at=floats(0, 1, exclude_max=True), flip=integers(1, 255), cut=booleans())
def test_damaged_arrays_are_read_as_they_were_or_refused_with_a_value_error(
    tmp_path_factory: pytest.TempPathFactory, at: float, flip: int, cut: bool
) -> None:
    """A byte changed or the rest gone, anywhere: what reads an archive raises whatever its parts raise."""
    wanted = np.arange(500.0)
    path = write_npz(tmp_path_factory.mktemp("npz") / "a.npz", x=wanted)
    data = bytearray(path.read_bytes())
    place = int(at * len(data))
    data[place] ^= flip
    path.write_bytes(data[:place] if cut else data)
    try:
        found = read_npz(path)
    except ValueError:
        return
    assert all(np.array_equal(array, wanted) for array in found.values())
