"""`fovnet check` reads the tables that a configuration names, and not only the configuration."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from fovnet.cli import app

HEADER = "volume_id\tsubject_id\tpath\n"


def checked(folder: Path):
    config = folder / "mine.yaml"
    config.write_text(f"results: {folder / 'out'}\ncollections: {{mine: {folder / 'data'}}}\n")
    return CliRunner().invoke(app, ["check", "--config", str(config)])


def test_a_folder_that_does_not_exist_is_refused_with_the_name_that_may_be_meant(tmp_path):
    (tmp_path / "dats").mkdir()
    done = checked(tmp_path)
    assert done.exit_code != 0 and "fine" not in done.output
    assert f"collections.mine: {tmp_path / 'data'}: there is no such folder" in str(done.exception)
    assert f"'{tmp_path / 'dats'}'?" in str(done.exception)


def test_tables_that_are_not_there_yet_are_said_to_be(tmp_path):
    (tmp_path / "data").mkdir()
    done = checked(tmp_path)
    assert done.exit_code == 0 and "collection mine: there is no" in done.output


def test_a_collection_is_counted(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(HEADER + "a\ts1\ta.nii\nb\ts1\tb.nii\nc\ts2\tc.nii\n")
    for name in "ab":
        (tmp_path / "data" / f"{name}.nii").touch()
    (tmp_path / "data" / "regions.tsv").write_text("volume_id\tregion\tfirst_slice\tlast_slice\na\thead\t0\t3\n")
    done = checked(tmp_path)
    assert done.exit_code == 0 and "collection mine: 3 volumes of 2 subjects, 1 labelled; 1 of their files" in done.output
    assert "c.nii" in done.output


def test_every_fault_of_the_tables_is_told(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(HEADER + "a\ts1\ta.nii\na\ts2\tb.nii\n\ts2\tc.nii\n")
    done = checked(tmp_path)
    assert isinstance(done.exception, Exception) and done.exit_code != 0
    assert "line 3" in str(done.exception) and "line 4" in str(done.exception)
