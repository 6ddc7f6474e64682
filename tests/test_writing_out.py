"""`--out` of every verb: what cannot be written is said at once, by the path that was given, and nothing is
left of the trial."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from typer import Context, Typer
from typer.main import get_command
from typer.testing import CliRunner

from fovnet import cli
from fovnet.cli import app
from fovnet.cli.options import path_of_word, table_of
from fovnet.cli.screen import Console
from fovnet.cli.verbs import VERBS, Verb
from fovnet.errors import ConfigError
from fovnet.net.cost.prices import COST_COLUMNS
from fovnet.records import replace_with, why_unwritable, write_json, write_tsv


def verbs(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, Any]]:
    """Every verb that has an `--out`, by its words."""
    for option in command.params:
        if "--out" in option.opts:
            yield " ".join(words), command, option
    for name, below in getattr(command, "commands", {}).items():
        yield from verbs(below.load() if isinstance(below, Verb) else below, (*words, name))


def paths(of: Typer) -> Iterator[tuple[str, str, Any]]:
    """Every argument and option that is a path: its verb's function, its name, what typer is told of it."""
    for command in of.registered_commands:
        for name, hint in get_type_hints(command.callback, include_extras=True).items():
            kind, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
            if Path in (kind, *get_args(kind)):
                yield command.callback.__name__, name, metadata[0]
    for group in of.registered_groups:
        yield from paths(group.typer_instance)


WRITING = list(verbs(get_command(app)))
PATHS = [
    path
    for module in dict.fromkeys(Verb(name, *row).module for name, row in VERBS.items())
    for path in paths(import_module(module).verbs)
]


def test_they_are_many() -> None:
    assert len(WRITING) > 25 and {
        "predict",
        "train",
        "export sr",
        "export headers",
        "bench robustness",
    } <= {words for words, *_ in WRITING}


FOREIGN = {
    "patients.tsv": b"patient\tdiagnosis\nDoe\tcyst\n",
    "volumes.tsv": b"volume_id\tsubject_id\tpath\nv\ts\tv.nii\n",
    "rows.tsv": b"row\tseconds\tfits\n1\t2\tyes\n",
    "scan.nii.gz": b"\x1f\x8b\x08 voxels",
    "table.npz": b"PK\x03\x04-\x00\t\x00\n",
    "own.yaml": b"results: here\n",
    "facts.json": b'{"mine": 1}',
    "fovnet.json": b'{"fovnet": "is what I used"}',
    "one line": b"patient\tdiagnosis",
    "ensemble.json": b'{"fovnet": {"version": "1", "settings_sha256": "0", "seed": 1}, "members": []}',
}
"""Files of a user's: none is written over, whatever is asked for."""


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize(
    ("verb", "command", "option"), WRITING, ids=[words for words, *_ in WRITING]
)
def test_a_file_of_the_users_is_not_written_over(
    verb: str, command: Any, option: Any, name: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(FOREIGN[name])
    with pytest.raises(ConfigError) as refused:
        option.process_value(Context(command), str(path))
    assert (
        refused.value.code in ("out-other-file", "out-unwritable")
        and name in refused.value.sentence
    )
    assert path.read_bytes() == FOREIGN[name]


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("patients.tsv", "a table of 2 columns, the first 'patient'"),
        ("scan.nii.gz", "is not a table"),
        ("table.npz", "is not a table"),
    ],
)
def test_what_lies_there_is_told_and_what_is_wanted(name: str, seen: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(FOREIGN[name])
    fault = CliRunner().invoke(app, ["bench", "propose", "--out", str(tmp_path / name)]).exception
    assert seen in str(fault)
    assert "where a table of this command's own columns is wanted, and would be overwritten" in str(
        fault
    )


def test_an_explanation_is_written_anew(tmp_path: Path) -> None:
    path = write_json(tmp_path / "explain.json", {"matter": None, "forecasts": {}})
    command, option = next(
        (command, option) for words, command, option in WRITING if words == "search explain"
    )
    assert option.process_value(Context(command), str(path)) == path


@pytest.mark.parametrize(
    ("verb", "command", "option"), WRITING, ids=[words for words, *_ in WRITING]
)
def test_a_path_that_cannot_be_asked_about_is_refused_with_the_reason(
    verb: str, command: Any, option: Any, tmp_path: Path
) -> None:
    """As one in a closed folder, which is open to root, who may run this."""
    with pytest.raises(ConfigError, match="cannot be written") as refused:
        option.process_value(Context(command), str(tmp_path / ("a" * 300) / "out"))
    assert refused.value.code == "out-unwritable"


@pytest.mark.parametrize("content", [b"", b"draws of my own\n"])
def test_what_a_verb_itself_wrote_is_written_anew(content: bytes, tmp_path: Path) -> None:
    def check(words: str) -> Path:
        command, option = next(
            (command, option) for verb, command, option in WRITING if verb == words
        )
        return option.process_value(Context(command), str(table))

    table = write_tsv(tmp_path / "pace.tsv", import_module("fovnet.bench.pace").COLUMNS, [])
    assert check("bench propose") == table
    with pytest.raises(ConfigError, match="out-other-file"):
        check("bench predict")
    table.write_bytes(content)
    if content:
        with pytest.raises(ConfigError, match="out-other-file"):
            check("bench propose")
    else:
        assert check("bench propose") == table


CLI = Path(cli.__file__).parent
TABLES = sorted(
    {
        (module, constant or "COLUMNS")
        for path in CLI.glob("*.py")
        for module, constant in re.findall(
            r'table_of\(\s*"([^"]+)"(?:,\s*"([A-Z_]+)")?', path.read_text()
        )
    }
)


@pytest.mark.parametrize(("module", "constant"), TABLES)
def test_the_table_of_an_earlier_run_is_known_by_its_columns(
    module: str, constant: str, tmp_path: Path
) -> None:
    is_ours = table_of(module, constant)
    table = write_tsv(tmp_path / "table.tsv", getattr(import_module(module), constant), [])
    assert is_ours(table)
    table.write_text(table.read_text().replace("\n", "\tremarks\n"))
    assert not is_ours(table) and len(TABLES) > 5


def test_prices_are_written_anew_whatever_space_they_were_of(tmp_path: Path) -> None:
    """Their columns are the axes of a configuration."""
    line = [
        "cost",
        "--config",
        str(CLI.parents[1] / "configs" / "smoke.yaml"),
        "--out",
        str(tmp_path / "prices.tsv"),
    ]
    assert not any(CliRunner().invoke(app, line).exception for _ in range(2))
    write_tsv(tmp_path / "prices.tsv", ("row", "patient", *COST_COLUMNS), [])
    assert not CliRunner().invoke(app, line).exception


@pytest.mark.parametrize(
    ("verb", "command", "option"), WRITING, ids=[words for words, *_ in WRITING]
)
def test_a_path_below_a_file_is_refused_at_once(
    verb: str, command: Any, option: Any, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    given = file / "deeper" / "out"
    with pytest.raises(ConfigError) as refused:
        option.process_value(Context(command), str(given))
    assert (
        refused.value.code == "out-unwritable"
        and str(given) in refused.value.sentence
        and ".part" not in refused.value.sentence
    )
    assert sorted(tmp_path.iterdir()) == [file]


def test_a_folder_is_no_table_and_a_table_no_folder(tmp_path: Path) -> None:
    (tmp_path / "table.tsv").touch()
    assert "is a file" in why_unwritable(tmp_path / "table.tsv", folder=True)
    assert "is a folder" in why_unwritable(tmp_path, folder=False)
    assert (
        why_unwritable(tmp_path / "new" / "er", folder=True)
        == why_unwritable(tmp_path / "new" / "er.tsv", folder=False)
        == ""
    )
    assert [path.name for path in tmp_path.iterdir()] == ["table.tsv"]


def test_a_fault_of_the_system_names_the_file_that_was_wanted(tmp_path: Path) -> None:
    """A name of 255 bytes is a file's longest, and the temporary one is longer still."""
    wanted = tmp_path / ("a" * 250)
    with pytest.raises(OSError) as fault:
        replace_with(wanted, lambda file: file.write(b"x"))
    assert fault.value.filename == str(wanted)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        # pathlib would take it for the current folder
        (["predict", "", "--out", "answers"], "path-empty"),
        (["predict", ".", "--out", ""], "path-empty"),
        (["phantom", "", "--subjects", "1"], "path-empty"),
        (["collect", "dicom", ".", "--out", ""], "path-empty"),
        (["examine", "answers", "--truth", ".", "--out", ""], "path-empty"),
        (["collect", "bids", "nowhere", "--out", "tables"], "collect-missing"),
        (["examine", "answers", "--truth", "labels", "--out", "labels"], "out-in-inputs"),
        (
            ["examine", "answers", "--truth", "labels/volumes.tsv", "--out", "./labels"],
            "out-in-inputs",
        ),
        (["examine", "answers", "--truth", "labels", "--out", "answers/"], "out-in-inputs"),
        # before --tissues is asked for
        (["phantom", "made", "--from", "gone.nii.gz"], "phantom-labels"),
    ],
)
def test_a_path_that_leads_nowhere_is_named_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, words)
    assert getattr(done.exception, "code", "") == code and not any(tmp_path.iterdir())


def test_no_path_may_be_empty_whatever_it_is_for() -> None:
    lax = [(verb, name) for verb, name, given in PATHS if given.parser is not path_of_word]
    assert len(PATHS) > 60 and not lax


def test_a_tree_without_volumes_is_named_and_not_the_folder_of_the_tables(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    fault = (
        CliRunner()
        .invoke(
            app, ["collect", "organs", str(tmp_path / "tree"), "--out", str(tmp_path / "tables")]
        )
        .exception
    )
    assert str(fault).startswith(f"{tmp_path / 'tree'}: no volume was found")


def test_a_collection_is_not_simulated_into_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for given in (tmp_path / "file", tmp_path / "file" / "deeper"):
        fault = CliRunner().invoke(app, ["phantom", str(given), "--subjects", "1"]).exception
        assert (
            isinstance(fault, ConfigError)
            and fault.code == "out-unwritable"
            and str(fault).startswith(f"{given}: ")
        )


class Full(StringIO):
    """A stream onto a disk without room."""

    def write(self, _: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_log_on_a_full_disk_stops_no_work_and_a_result_that_is_not_taken_does() -> None:
    Console(file=Full(), stderr=True).print("one of two")
    with pytest.raises(OSError, match="No space"):
        Console(file=Full()).print("a result")


FILLED = {
    "bench search": ("standings.tsv", "runs.tsv", "standings.png"),
    "bench thesis": ("thesis.md", "effects.tsv", "seconds.tsv", "losses.png"),
    "bench train": ("throughput.tsv", "throughput.png"),
}


@pytest.mark.parametrize(
    ("words", "name"), [(words, name) for words, names in FILLED.items() for name in names]
)
def test_no_file_of_the_users_is_written_over_in_the_folder_of_a_measurement(
    words: str, name: str, tmp_path: Path
) -> None:
    command, option = next((command, option) for verb, command, option in WRITING if verb == words)
    assert option.process_value(Context(command), str(tmp_path)) == tmp_path
    (tmp_path / name).write_bytes(FOREIGN["patients.tsv"])
    with pytest.raises(ConfigError, match=f"{name} exists, was not written by fovnet") as refused:
        option.process_value(Context(command), str(tmp_path))
    assert (
        refused.value.code == "out-foreign"
        and (tmp_path / name).read_bytes() == FOREIGN["patients.tsv"]
    )


def test_the_tables_and_pictures_of_a_measurement_are_written_anew(tmp_path: Path) -> None:
    """Two races on a table of forty rows, in the same folder."""
    rng = np.random.default_rng(1)
    rows = np.stack([np.repeat(np.arange(8), 5), np.tile(np.arange(5), 8)], axis=1).astype(float)
    np.savez(
        tmp_path / "rows.npz",
        X=rows,
        kinds=["ord", "ord"],
        y=rng.random(40),
        cost=np.ones(40),
        names=["blocks", "size"],
    )
    table, out = str(tmp_path / "rows.npz"), str(tmp_path / "r")
    race = [
        "bench",
        "search",
        table,
        "--method",
        "random",
        "--runs",
        "2",
        "--draws",
        "5",
        "--out",
        out,
    ]
    for _ in range(2):
        done = CliRunner().invoke(app, race)
        assert done.exit_code == 0, done.exception
    assert {path.name for path in (tmp_path / "r").iterdir()} == set(FILLED["bench search"])
