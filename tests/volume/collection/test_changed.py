"""A workflow sees a change of whatever a volume is read from, without opening it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fovnet.records import write_tsv
from fovnet.volume.collection.changed import stamp_collections


def table(folder: Path, path: str) -> Path:
    return write_tsv(
        folder / "volumes.tsv",
        ["volume_id", "subject_id", "path"],
        [{"volume_id": "a", "subject_id": "a", "path": path}],
    )


@pytest.mark.parametrize(
    ("named", "part"),
    [
        ("p.hdr", "p.img"),
        ("p.img", "p.hdr"),
        ("p.hdr", "p.mat"),
        ("n.nhdr", "n.raw.gz"),
        ("m.mhd", "m.raw"),
        ("m.mhd", "m.zraw"),
        ("A.HDR", "A.IMG"),
        ("A.IMG.gz", "A.HDR.gz"),
        ("A.hdr.GZ", "A.img.GZ"),
        ("A.MHD", "A.RAW"),
        ("t1.nii.gz", "t1.nii.gz"),
        ("series", "series/part/im0.dcm"),
        ("series#0123456789ab", "series/part/im0.dcm"),
    ],
)
def test_the_stamp_goes_by_every_part(tmp_path: Path, named: str, part: str) -> None:
    for name in {named.partition("#")[0], part, "other.img"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if "." in name:
            (tmp_path / name).write_bytes(b"x")
    tables = [table(tmp_path, named)]
    before = stamp_collections(tables)
    os.utime(tmp_path / "other.img", ns=(1, 1))
    assert stamp_collections(tables) == before
    if "series" in named:
        (tmp_path / part).unlink()
    else:
        os.utime(tmp_path / part, ns=(1, 1))
    assert stamp_collections(tables) != before


def test_an_image_written_over_in_its_place_is_noticed(tmp_path: Path) -> None:
    """An export into the same folder, same names: no folder's time of change moves."""
    image = tmp_path / "series" / "im0.dcm"
    image.parent.mkdir()
    for content in (b"x", b"yy"):
        image.with_name("im1.dcm").write_bytes(content)
        image.write_bytes(content[:1])
    tables, folder = [table(tmp_path, "series")], image.parent.stat()
    before = stamp_collections(tables)
    assert stamp_collections(tables) == before
    with image.open("r+b") as file:
        file.write(b"z")
    os.utime(image, ns=(folder.st_atime_ns, folder.st_mtime_ns + 10**9))
    assert image.parent.stat().st_mtime_ns == folder.st_mtime_ns
    assert stamp_collections(tables) != before


@pytest.mark.parametrize("name", ["volumes.tsv", "regions.tsv"])
def test_a_table_with_an_older_date_than_before_is_noticed_by_its_content(
    tmp_path: Path, name: str
) -> None:
    """As `unzip`, `mv` and `rsync -a` put it there; the same content with a newer date is no change."""
    tables = [table(tmp_path, "a.nii")]
    path = tmp_path / name
    path.write_text(
        path.read_text() if path.exists() else "volume_id\tregion\tfirst_slice\tlast_slice\n"
    )
    before = stamp_collections(tables)
    os.utime(path, ns=(2 * 10**18, 2 * 10**18))
    assert stamp_collections(tables) == before
    path.write_text(path.read_text() + "a\thead\t0\t9\n")
    os.utime(path, ns=(1, 1))
    assert stamp_collections(tables) != before
