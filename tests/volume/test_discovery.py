"""Which files are looked at, and what they are called."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fovnet.errors import VolumeError
from fovnet.volume.discovery import find_volumes, name_volumes


def test_a_folder_gives_what_looks_like_a_volume_and_a_named_file_is_never_passed_over(tmp_path: Path) -> None:
    for name in ("a.nii.gz", "b.MGZ", "notes.txt", ".hidden.nii", "deep/c.nii", "deep/scan.dcm"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "IM0001").write_bytes(b"\0" * 128 + b"DICM")
    (tmp_path / "README").write_bytes(b"no volume")
    os.mkfifo(tmp_path / "pipe")                                # nobody writes into it: to open it would wait for ever
    found = [path.relative_to(tmp_path).as_posix() for path in find_volumes([tmp_path])]
    assert found == ["IM0001", "a.nii.gz", "b.MGZ", "deep/c.nii", "deep/scan.dcm"]
    assert find_volumes([tmp_path / "notes.txt", tmp_path / "gone.nii"]) == [tmp_path / "notes.txt", tmp_path / "gone.nii"]


def test_a_file_named_twice_is_read_once_and_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a.nii").write_bytes(b"x")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert find_volumes([tmp_path, tmp_path / "a.nii"]) == [tmp_path / "a.nii"]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(VolumeError, match="no file that looks like a volume"):
        find_volumes([tmp_path])


def test_files_of_one_name_in_two_folders_get_two_ids() -> None:
    assert name_volumes([Path("a/T1.nii"), Path("b/T1.nii.gz"), Path("T1-2.nii"), Path("c/T1.nii")]) == ["T1", "T1-2", "T1-2-2", "T1-3"]
