"""Which files are looked at, and what they are called."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.records import read_tsv, write_tsv
from fovnet.volume.sources.discovery import find_volumes, name_volumes
from fovnet.volume.sources.memory import estimate_bytes_to_read
from fovnet.volume.sources.source import read, source_of


def test_a_folder_gives_what_looks_like_a_volume_and_a_named_file_is_never_passed_over(
    tmp_path: Path,
) -> None:
    for name in ("a.nii.gz", "b.MGZ", "notes.txt", ".hidden.nii", "deep/c.nii", "deep/scan.dcm"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x")
    (tmp_path / "IM0001").write_bytes(b"\0" * 128 + b"DICM")
    (tmp_path / "README").write_bytes(b"no volume")
    # nobody writes into it: to open it would wait for ever
    os.mkfifo(tmp_path / "pipe")
    found = [
        path.relative_to(tmp_path).as_posix() for path in find_volumes([tmp_path]).volume_paths
    ]
    assert found == ["IM0001", "a.nii.gz", "b.MGZ", "deep/c.nii", "deep/scan.dcm"]
    named = [tmp_path / "notes.txt", tmp_path / "gone.nii"]
    assert find_volumes(named).volume_paths == named


def test_what_is_named_twice_is_read_and_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However it is spelt; a link is a volume of its own."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.nii").write_bytes(b"x")
    (tmp_path / "in" / "broken.dcm").write_bytes(b"x")
    (tmp_path / "link.nii").symlink_to(tmp_path / "in" / "a.nii")
    monkeypatch.chdir(tmp_path)
    once = find_volumes([Path("in"), Path("link.nii")])
    found = find_volumes(
        [
            Path("in"),
            Path("link.nii"),
            Path("in/a.nii"),
            tmp_path / "in" / "a.nii",
            Path("in/../in"),
            tmp_path / "in",
        ]
    )
    assert (found.volume_paths, found.series_rows) == (once.volume_paths, once.series_rows)
    assert (
        found.volume_paths == [Path("in/a.nii"), Path("in/broken.dcm"), Path("link.nii")]
        and len(found.series_rows) == 1
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look everywhere")
def test_a_link_into_a_closed_folder_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "IM0").write_bytes(b"x")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.nii").write_bytes(b"x")
    (tmp_path / "in" / "IM0").symlink_to(tmp_path / "store" / "IM0")
    (tmp_path / "store").chmod(0)
    try:
        assert [path.name for path in find_volumes([tmp_path / "in"]).volume_paths] == ["a.nii"]
    finally:
        (tmp_path / "store").chmod(0o700)


def test_a_pipe_that_is_called_a_volume_is_refused_and_one_that_is_not_is_told(
    tmp_path: Path,
) -> None:
    """Nobody writes into them: to open one would wait for ever.  A link to a device is neither; a link that
    leads nowhere is called one."""
    (tmp_path / "a.nii").write_bytes(b"x")
    for name in ("p.nii.gz", "p.dcm", "pipe"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "zero.nii").symlink_to("/dev/zero")
    (tmp_path / "gone.nii").symlink_to(tmp_path / "nowhere.nii")
    found = find_volumes([tmp_path])
    assert {path.name for path in found.volume_paths} == {
        "a.nii",
        "p.nii.gz",
        "p.dcm",
        "zero.nii",
        "gone.nii",
    }
    assert [path.name for path in found.passed_paths] == ["pipe"]
    for name, code in (
        ("p.nii.gz", "volume-unreadable"),
        ("p.dcm", "volume-unreadable"),
        ("zero.nii", "volume-unreadable"),
        ("gone.nii", "volume-missing"),
    ):
        assert estimate_bytes_to_read(source_of(tmp_path / name)) < 2**27
        with pytest.raises(VolumeError) as fault:
            read(tmp_path / name)
        assert fault.value.code == code, name
    with pytest.raises(VolumeError, match=r"a link to .*nowhere\.nii, which does not exist"):
        read(tmp_path / "gone.nii")


def test_a_file_in_a_closed_folder_has_a_name_and_a_link_to_it_is_found(tmp_path: Path) -> None:
    """Asking for it by Path.is_dir or is_file raises there, which stopped a batch."""
    (tmp_path / "lock").mkdir()
    (tmp_path / "lock" / "c.nii.gz").write_bytes(b"x")
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "link.nii.gz").symlink_to(tmp_path / "lock" / "c.nii.gz")
    script = f"""
from pathlib import Path
from fovnet.volume.sources.discovery import find_volumes, name_volumes
from fovnet.volume.sources.source import read, source_of
found = find_volumes([Path({str(tmp_path / "open")!r}), Path({str(tmp_path / "lock" / "c.nii.gz")!r})]).volume_paths
print(*name_volumes(found))
for path in found:
    try:
        read(path)
    except Exception as fault:
        print(fault.code)
"""
    (tmp_path / "lock").chmod(0)
    # root may look into every folder
    as_anybody = [] if os.geteuid() else ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
    if as_anybody and not shutil.which(as_anybody[0]):
        # no folder is closed to root; setpriv, of util-linux, which macOS lacks, starts a process that it is
        # closed to
        pytest.skip("root, and no setpriv to give up its rights with")
    try:
        done = subprocess.run(
            [*as_anybody, sys.executable, "-c", script], capture_output=True, text=True, check=False
        )
    finally:
        (tmp_path / "lock").chmod(0o700)
    assert done.stdout.split() == ["link", "c", "volume-permission", "volume-permission"], (
        done.stderr
    )


def test_what_is_passed_over_is_told_but_for_what_belongs_to_a_volume(tmp_path: Path, made) -> None:
    for name in (
        "a.nii",
        "a.json",
        "a.bval",
        "scan.nii.gz.bak",
        "tree.tar.gz",
        "deep/a.json",
        "notes",
        "DICOMDIR",
        ".hidden",
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"no volume")
    made.analyze(tmp_path / "pair.hdr", made.body())
    found = find_volumes([tmp_path, tmp_path / "deep"])
    assert [path.name for path in found.volume_paths] == ["a.nii", "pair.hdr"] and (
        tmp_path / "pair.img"
    ).exists()
    passed = sorted(path.relative_to(tmp_path).as_posix() for path in found.passed_paths)
    assert passed == ["deep/a.json", "notes", "scan.nii.gz.bak", "tree.tar.gz"]
    assert find_volumes([tmp_path / "a.nii", tmp_path / "notes"]).passed_paths == []


def test_a_file_named_twice_is_read_once_and_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "a.nii").write_bytes(b"x")
    (tmp_path / "loop").symlink_to(tmp_path, target_is_directory=True)
    assert find_volumes([tmp_path, tmp_path / "a.nii"]).volume_paths == [tmp_path / "a.nii"]
    assert find_volumes([tmp_path]).passed_paths == [tmp_path / "loop"]


def test_a_folder_that_holds_links_to_folders_alone_is_refused_with_the_link_to_name(
    tmp_path: Path,
) -> None:
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "a.nii").write_bytes(b"x")
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "linked").symlink_to(tmp_path / "away", target_is_directory=True)
    with pytest.raises(
        VolumeError, match=r"links to folders are not followed; name .*/scans/linked itself"
    ) as fault:
        find_volumes([tmp_path / "scans"])
    assert fault.value.code == "volumes-none"
    assert find_volumes([tmp_path / "scans" / "linked"]).volume_paths == [
        tmp_path / "scans" / "linked" / "a.nii"
    ]


def test_a_zip_archive_that_is_called_otherwise_is_a_document_in_a_folder(tmp_path: Path) -> None:
    """Spreadsheets and arrays are zip archives; named themselves they are refused."""
    (tmp_path / "a.nii").write_bytes(b"x")
    np.savez(tmp_path / "arrays.npz", a=np.zeros(3))
    shutil.copy(tmp_path / "arrays.npz", tmp_path / "table.xlsx")
    shutil.copy(tmp_path / "arrays.npz", tmp_path / "export.zip")
    shutil.copy(tmp_path / "arrays.npz", tmp_path / "b.nii.gz")
    found = find_volumes([tmp_path])
    assert [path.name for path in found.volume_paths] == ["a.nii", "b.nii.gz", "export.zip"]
    assert [path.name for path in found.passed_paths] == ["arrays.npz", "table.xlsx"]
    assert find_volumes([tmp_path / "table.xlsx"]).volume_paths == [tmp_path / "table.xlsx"]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(VolumeError, match="no file that looks like a volume"):
        find_volumes([tmp_path])


def test_a_folder_without_a_volume_beside_another_path_is_given_and_refused_by_name(
    tmp_path: Path,
) -> None:
    """A share that is not mounted is an empty folder: alone it is an error, and beside others it is not
    forgotten."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.nii").write_bytes(b"x")
    assert find_volumes([tmp_path / "empty", tmp_path / "a.nii"]).volume_paths == [
        tmp_path / "a.nii",
        tmp_path / "empty",
    ]
    with pytest.raises(VolumeError) as refusal:
        read(tmp_path / "empty")
    assert refusal.value.code == "volume-no-dicom"


def test_a_file_that_is_not_there_is_no_series(tmp_path: Path) -> None:
    found = find_volumes([tmp_path / "gone.dcm", tmp_path / "gone.nii"])
    assert (
        found.volume_paths == [tmp_path / "gone.dcm", tmp_path / "gone.nii"]
        and not found.series_rows
    )


def test_files_of_one_name_in_two_folders_get_two_ids() -> None:
    assert name_volumes(
        [Path("a/T1.nii"), Path("b/T1.nii.gz"), Path("T1-2.nii"), Path("c/T1.nii")]
    ) == [
        "T1",
        "T1-2",
        "T1-2-2",
        "T1-3",
    ]


def test_an_id_is_what_a_table_gives_back_and_no_other_file_beside_the_answers(
    tmp_path: Path,
) -> None:
    names = name_volumes(
        [
            Path("a/tab\tnew\nline.nii"),
            Path("b/ Ann .nii"),
            Path("found.nii"),
            Path("Found.nii.gz"),
            Path("c/\t.nii"),
        ]
    )
    assert names == ["tab new line", "Ann", "found-2", "Found-3", "volume"]
    rows = read_tsv(
        write_tsv(tmp_path / "t.tsv", ["volume_id"], [{"volume_id": name} for name in names])
    )
    assert [row["volume_id"] for row in rows] == names


def test_an_id_holds_no_character_that_a_table_would_blank(tmp_path: Path) -> None:
    """U+0096 is what a dash of Windows becomes in an archive that is unpacked carelessly."""
    names = [
        f"knee {chr(code)} left.nii.gz" for code in (0x0B, 0x7F, 0x80, 0x85, 0x96, 0x9F, 0x2028)
    ]
    for volume_id in name_volumes([tmp_path / name for name in names]):
        write_tsv(tmp_path / "table.tsv", ("volume_id",), [{"volume_id": volume_id}])
        assert read_tsv(tmp_path / "table.tsv")[0]["volume_id"] == volume_id


def test_volumes_of_other_formats_inside_an_archive_are_named_not_passed_over(tmp_path, made):
    volume, nested = made.nifti(tmp_path / "brain.nii.gz", made.body()), io.BytesIO()
    with zipfile.ZipFile(nested, "w") as inner:
        inner.writestr("anything", b"x")
    with zipfile.ZipFile(tmp_path / "study.zip", "w") as archive:
        archive.write(volume, "brain.nii.gz")
        archive.writestr("inner.zip", nested.getvalue())
        archive.writestr("readme.txt", b"nothing to read")
    found = find_volumes([tmp_path / "study.zip"])
    # nothing of it can be read, and it says so itself
    assert found.volume_paths == [tmp_path / "study.zip"]
    assert sorted(row["path"].partition(", member ")[2] for row in found.series_rows) == [
        "brain.nii.gz",
        "inner.zip",
    ]
    with pytest.raises(VolumeError, match="only DICOM is read from archives"):
        read(tmp_path / "study.zip")


def test_a_volume_without_a_suffix_is_found_in_a_tree_by_what_it_contains(tmp_path, made):
    made.nifti(tmp_path / "volume.nii", made.body()).rename(tmp_path / "volume")
    (tmp_path / "notes").write_text("nothing of the kind")
    assert find_volumes([tmp_path]).volume_paths == [tmp_path / "volume"]


@pytest.mark.parametrize("digits", ["12345", "0123456789AB", "0123456789abc"])
def test_digits_that_cannot_be_a_series_are_called_so(tmp_path, digits):
    (tmp_path / "study").mkdir()
    with pytest.raises(VolumeError, match="twelve hexadecimal digits") as refusal:
        read(Path(f"{tmp_path / 'study'}#{digits}"))
    assert refusal.value.code == "volume-series"


def test_a_dicom_file_that_is_named_is_never_passed_over_for_the_one_named_beside_it(
    tmp_path, write
):
    """One is a stack, the other an image by itself: set aside, it is still given to the reader, who says
    why."""
    frames = write.noise((20, 24, 9)).transpose(2, 1, 0).copy()
    write.save(
        tmp_path,
        [write.enhanced(frames, [write.geometry(write.AFFINE, k) for k in range(9)])],
        "stack",
    )
    write.save(tmp_path, write.images(write.noise((20, 24, 1)), series=9), "alone")
    named = [tmp_path / "alone000.dcm", tmp_path / "stack000.dcm"]
    assert sorted(find_volumes(named).volume_paths) == named


@pytest.mark.parametrize("name", ["x.hdr.gz", "y.mgh.gz"])
def test_what_a_reader_claims_by_name_is_found_in_a_folder(tmp_path, made, name):
    if "hdr" in name:
        made.nifti(tmp_path / "x.hdr", made.body(), kind=nibabel.Nifti1Pair)
    else:
        made.mgh(tmp_path / "y.mgh", made.body())
    for part in list(tmp_path.iterdir()):
        part.with_name(part.name + ".gz").write_bytes(gzip.compress(part.read_bytes()))
        part.unlink()
    found = find_volumes([tmp_path])
    assert found.volume_paths == [tmp_path / name] and not found.passed_paths
    assert read(found.volume_paths[0]).voxels.shape == made.body().voxels.shape
