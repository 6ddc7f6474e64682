"""Which answers are of files as they are now: a change of content is seen whatever it leaves alone, and what
is the same is not called changed."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import nibabel
import numpy as np
import pytest

from fovnet.acts.changed_sources import find_changed_volumes
from fovnet.decision.earlier_answers import file_record
from fovnet.records import read_json, write_json
from fovnet.volume.sources.discovery import find_volumes


def image(seed: int) -> nibabel.Nifti1Image:
    rng = np.random.default_rng(seed)
    return nibabel.Nifti1Image(
        rng.integers(0, 900, (7, 6, 5)).astype(np.int16), np.diag([6, 6, 6, 1.0])
    )


@pytest.fixture
def archive(tmp_path: Path, write: ModuleType) -> Path:
    """A file, one behind a link, a header with its data, two series in a folder, one in a zip archive."""
    folder = tmp_path / "archive"
    (folder / "pair").mkdir(parents=True)
    (folder / "plain.nii.gz").write_bytes(gzip.compress(image(1).to_bytes(), 1))
    (tmp_path / "elsewhere.nii").write_bytes(image(2).to_bytes())
    (folder / "linked.nii").symlink_to(tmp_path / "elsewhere.nii")
    nibabel.save(
        nibabel.Nifti1Pair(*(image(3).dataobj, image(3).affine)), folder / "pair" / "p.img"
    )
    for series in (1, 2):
        write.save(
            folder / "both", write.images(write.noise(seed=series), series=series), f"s{series}"
        )
    write.save(tmp_path / "zip", write.images(write.noise(seed=3), series=3), "z")
    write.zipped(folder / "export.zip", tmp_path / "zip")
    return folder


def answered(archive: Path, out: Path) -> dict[str, str]:
    """What an answers folder says of the files, as `predict` writes it."""
    paths = {}
    for source in find_volumes([archive]).sources:
        name = source.path.name
        write_json(out / f"{name}.json", {"volume_id": name, "file": file_record(source)})
        paths[name] = str(source.path)
    return paths


def overwrite(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


def replace_with_times(path: Path, content: bytes) -> None:
    """Another file of the same times, as `cp -p` and archives restore them."""
    stat = path.stat()
    other = path.with_name("other")
    other.write_bytes(content)
    os.utime(other, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    other.replace(path)


def flip_last_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def copied_back(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


PLAIN, LINKED, PAIR, ZIP, BOTH = "plain.nii.gz", "linked.nii", "pair/p.img", "export.zip", "both"
CHANGES: dict[str, tuple[Callable[[Path], object], int]] = {
    "nothing": (lambda root: None, 0),
    "touched": (lambda root: os.utime(root / PLAIN, (1, 1)), 0),
    "copied back": (lambda root: copied_back(root / PLAIN), 0),
    "permissions": (lambda root: (root / PLAIN).chmod(0o600), 0),
    "a file added beside": (lambda root: (root / "new.nii").write_bytes(image(9).to_bytes()), 0),
    "a file added to a folder of series": (
        lambda root: (root / BOTH / "notes.txt").write_text("x"),
        0,
    ),
    "the link led anew to a copy": (
        lambda root: (
            shutil.copy(root / LINKED, root / "copy"),
            (root / LINKED).unlink(),
            (root / LINKED).symlink_to(root / "copy"),
        ),
        0,
    ),
    "all touched": (lambda root: [os.utime(path, (9, 9)) for path in root.rglob("*.*")], 0),
    "another body part": (
        lambda root: (root / PLAIN).write_bytes(gzip.compress(image(8).to_bytes(), 1)),
        1,
    ),
    "packed anew": (
        lambda root: (root / PLAIN).write_bytes(gzip.compress(image(1).to_bytes(), 9, mtime=1)),
        1,
    ),
    "of the same size and times": (
        lambda root: replace_with_times(root / PLAIN, (root / PLAIN).read_bytes()[:-1] + b"\1"),
        1,
    ),
    "one byte": (lambda root: flip_last_byte(root / PLAIN), 1),
    "cut short": (lambda root: os.truncate(root / PLAIN, 100), 1),
    "appended": (lambda root: (root / PLAIN).write_bytes((root / PLAIN).read_bytes() + b"more"), 1),
    "removed": (lambda root: (root / PLAIN).unlink(), 1),
    "a folder in its place": (lambda root: ((root / PLAIN).unlink(), (root / PLAIN).mkdir()), 1),
    "the target of a link": (lambda root: flip_last_byte((root / LINKED).resolve()), 1),
    "the link led elsewhere": (
        lambda root: (
            (root / LINKED).unlink(),
            (root / LINKED).symlink_to(root / "pair" / "p.img"),
        ),
        1,
    ),
    "a link without a target": (lambda root: (root / LINKED).resolve().unlink(), 1),
    "the data beside a header": (lambda root: overwrite(root / PAIR, b"\1\2\3"), 1),
    "the header beside its data": (lambda root: overwrite(root / "pair" / "p.hdr", b"\0"), 1),
    "one image of one series": (lambda root: flip_last_byte(next((root / BOTH).glob("s1*"))), 1),
    "one image of each series": (
        lambda root: [flip_last_byte(next((root / BOTH).glob(f"s{series}*"))) for series in (1, 2)],
        2,
    ),
    "an image removed": (lambda root: next((root / BOTH).glob("s2*")).unlink(), 1),
    "a folder of series removed": (lambda root: shutil.rmtree(root / BOTH), 2),
    "an archive": (lambda root: flip_last_byte(root / ZIP), 1),
    "an archive removed": (lambda root: (root / ZIP).unlink(), 1),
    "all removed": (lambda root: shutil.rmtree(root), 6),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_file_is_seen_and_an_unchanged_one_is_not(
    change: str, archive: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    paths = answered(archive, out)
    assert len(paths) == 6
    act, count = CHANGES[change]
    act(archive)
    assert len(find_changed_volumes(out, paths)) == count


@pytest.mark.parametrize("spoil", ["no JSON", "no file", "no places"])
def test_an_answer_that_does_not_say_what_it_is_of_is_passed_over(
    spoil: str, archive: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    paths = answered(archive, out)
    answer = out / f"{PLAIN}.json"
    facts = read_json(answer)
    if spoil == "no JSON":
        answer.unlink()
    elif spoil == "no file":
        write_json(answer, {"volume_id": PLAIN})
    else:
        write_json(answer, facts | {"file": {"places": None, "sha256": None, "beside": None}})
    (archive / PLAIN).unlink()
    assert find_changed_volumes(out, paths) == ()
