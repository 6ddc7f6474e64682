"""A workflow sees a change of whatever a volume is read from, without opening it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fovnet.records import write_tsv
from fovnet.volume.changed import stamp_of_volumes


def table(folder: Path, path: str) -> Path:
    return write_tsv(folder / "volumes.tsv", ["volume_id", "subject_id", "path"], [{"volume_id": "a", "subject_id": "a", "path": path}])


@pytest.mark.parametrize(("named", "part"), [
    ("p.hdr", "p.img"), ("p.img", "p.hdr"), ("p.hdr", "p.mat"), ("n.nhdr", "n.raw.gz"), ("m.mhd", "m.raw"), ("m.mhd", "m.zraw"),
    ("t1.nii.gz", "t1.nii.gz"), ("series", "series/part/im0.dcm"), ("series#0123456789ab", "series/part/im0.dcm"),
])
def test_the_stamp_goes_by_every_part(tmp_path: Path, named: str, part: str) -> None:
    for name in {named.partition("#")[0], part, "other.img"}:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        if "." in name:
            (tmp_path / name).write_bytes(b"x")
    tables = [table(tmp_path, named)]
    before = stamp_of_volumes(tables)
    os.utime(tmp_path / "other.img", ns=(1, 1))
    assert stamp_of_volumes(tables) == before
    if "series" in named:
        (tmp_path / part).unlink()
    else:
        os.utime(tmp_path / part, ns=(1, 1))
    assert stamp_of_volumes(tables) != before
