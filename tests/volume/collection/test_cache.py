"""Slices kept between runs: the same content and settings find them, damage never passes for them."""

from __future__ import annotations

import os
import shutil
import zipfile
from pathlib import Path

import nibabel
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import data, integers

from fovnet.records import write_tsv
from fovnet.volume.collection import cache
from fovnet.volume.collection.pack import slice_collections
from fovnet.volume.slices.stack import Slicing

FILES = ("pixels.npy", "slices.npz", "volumes.json", "manifest.tsv")


def collection(folder: Path, volumes: int = 3) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(volumes):
        voxels = np.random.default_rng(number).integers(0, 900, (9, 8, 7)).astype(np.int16)
        nibabel.save(
            nibabel.Nifti1Image(voxels, np.diag([5.0, 5.0, 6.0, 1.0])), folder / f"v{number}.nii"
        )
    rows = [
        {"volume_id": f"v{number}", "subject_id": f"s{number}", "path": f"v{number}.nii"}
        for number in range(volumes)
    ]
    write_tsv(folder / "volumes.tsv", list(rows[0]), rows)
    return folder


def cache_messages(at: Path, out: Path, **options) -> list[str]:
    """The messages of a slicing about its cache."""
    sentences: list[str] = []
    slice_collections({"c": at}, out, log=sentences.append, **options)
    return sentences


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    path = cache.entry_path(tmp_path_factory.mktemp("cache"), {"volume": 1})
    cache.write(
        path,
        {"pixels": np.arange(4000, dtype=np.uint8).reshape(10, 400), "z_mm": np.linspace(0, 1, 10)},
    )
    return path, path.read_bytes()


@settings(max_examples=200)
@given(data())
def test_any_flipped_bit_of_an_entry_is_found(sealed, draw):
    path, whole = sealed
    place, bit = draw.draw(integers(0, len(whole) - 1)), draw.draw(integers(0, 7))
    damaged = bytearray(whole)
    damaged[place] ^= 1 << bit
    path.write_bytes(damaged)
    with pytest.raises(ValueError, match="checksum"):
        cache.read(path)
    path.write_bytes(whole)
    assert np.array_equal(cache.read(path)["pixels"].ravel(), np.arange(4000, dtype=np.uint8))


@settings(max_examples=50)
@given(data())
def test_any_entry_cut_short_is_found(sealed, draw):
    path, whole = sealed
    path.write_bytes(whole[: draw.draw(integers(0, len(whole) - 1))])
    with pytest.raises(ValueError, match="checksum"):
        cache.read(path)
    path.write_bytes(whole)


def test_an_entry_under_another_name_is_not_taken_for_it(sealed):
    path, _ = sealed
    other = cache.entry_path(path.parent, {"volume": 2})
    shutil.copy(path, other)
    with pytest.raises(ValueError, match="checksum"):
        cache.read(other)


def test_renamed_and_touched_volumes_are_hits_and_changed_ones_are_not(tmp_path):
    at, out = collection(tmp_path / "cohort"), tmp_path / "out"
    assert "0 volumes from an earlier run, 3 cut now" in cache_messages(at, out)[-1]
    before = contents(out)
    os.utime(at / "v0.nii", (1, 1))
    assert "3 volumes from an earlier run, 0 cut now" in cache_messages(at, out)[-1]
    assert contents(out) == before
    (at / "v0.nii").rename(at / "spare")
    (at / "v1.nii").rename(at / "v0.nii")
    (at / "spare").rename(at / "v1.nii")
    assert "3 volumes from an earlier run" in cache_messages(at, out)[-1]
    # the two changed places, and so did their slices
    assert contents(out)["pixels.npy"] != before["pixels.npy"]
    content = bytearray((at / "v2.nii").read_bytes())
    content[-1] ^= 4
    (at / "v2.nii").write_bytes(content)
    assert "2 volumes from an earlier run, 1 cut now" in cache_messages(at, out)[-1]
    assert (
        "0 volumes from an earlier run, 3 cut now"
        in cache_messages(at, out, slicing=Slicing(target_spacing_mm=4.0))[-1]
    )


def test_a_damaged_entry_that_still_unpacks_is_reported_and_made_again(tmp_path):
    """Rewritten as a valid archive with other pixels: no checksum of the zip format would find that."""
    at, out = collection(tmp_path / "cohort"), tmp_path / "out"
    cache_messages(at, out)
    before = contents(out)
    victim = sorted((out / "cache").iterdir())[0]
    seal = victim.read_bytes()[-cache.SEAL_BYTES :]
    arrays = cache.read(victim)
    with victim.open("wb") as file:
        np.savez_compressed(file, **{**arrays, "pixels": arrays["pixels"][::-1]})
        file.write(seal)
    assert zipfile.ZipFile(victim).testzip() is None
    sentences = cache_messages(at, out)
    assert len(sentences) == 2 and "was damaged; cut again from the volume" in sentences[0]
    assert "2 volumes from an earlier run, 0 cut now, 1 cut again" in sentences[1]
    assert contents(out) == before
    assert "3 volumes from an earlier run" in cache_messages(at, out)[-1]


def test_pruning_removes_what_nobody_uses_and_nothing_else(tmp_path):
    at, out = collection(tmp_path / "cohort"), tmp_path / "out"
    cache_messages(at, out)
    used = {path.name for path in (out / "cache").iterdir()}
    cache_messages(at, out, slicing=Slicing(target_spacing_mm=20.0))
    assert len(list((out / "cache").iterdir())) == 6
    (out / "cache" / "notes.txt").write_text("mine")
    fresh, abandoned = (out / "cache" / f".{letter * 64}.npz.99.part" for letter in "ab")
    for path in (fresh, abandoned):
        path.write_bytes(b"half")
    os.utime(abandoned, (1, 1))
    assert "4 unused files removed" in cache_messages(at, out, prune_cache=True)[-1]
    assert {path.name for path in (out / "cache").iterdir()} == {*used, "notes.txt", fresh.name}
    assert "3 volumes from an earlier run" in cache_messages(at, out)[-1]
