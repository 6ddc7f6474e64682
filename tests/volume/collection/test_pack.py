"""Whole collections on disk: the same bytes whatever the workers, and no bad volume in anybody's way."""

from __future__ import annotations

import operator
import os
from dataclasses import replace
from functools import partial
from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.errors import CollectionError, VolumeError
from fovnet.machine.parallel import run_in_order
from fovnet.records import read_json, read_tsv, write_tsv
from fovnet.regions import DEFAULT, NINE
from fovnet.volume.collection.pack import load_pack, slice_collections
from fovnet.volume.slices.stack import Slicing, slice_volume

FILES = ("pixels.npy", "slices.npz", "volumes.json", "manifest.tsv")


def collection(folder: Path, volumes: int = 12, prefix: str = "v", **column: str) -> Path:
    """Small labelled volumes of six subjects; every fifth is truncated, one has no file, one no labels, one
    too few slices."""
    folder.mkdir(parents=True)
    rows, labels = [], []
    for number in range(volumes):
        name = f"{prefix}{number:02d}"
        rng = np.random.default_rng([number, *prefix.encode()])
        path = folder / f"{name}.nii.gz"
        image = nibabel.Nifti1Image(
            rng.integers(0, 900, (16, 14, 8 + number)).astype(np.int16),
            np.diag([3.0, 3.0, 2.0 + number, 1.0]),
        )
        nibabel.save(image, path)
        if number % 5 == 4:
            path.write_bytes(path.read_bytes()[:900])
        rows.append(
            {
                "volume_id": name,
                "subject_id": f"subject{number % 6}",
                "path": path.name,
                "site": "Oslo",
                **column,
            }
        )
        if number != 2:
            labels.append(
                {
                    "volume_id": name,
                    "region": "pelvis",
                    "first_slice": 0,
                    "last_slice": 40 if number == 3 else 5,
                }
            )
    rows.append(
        {
            "volume_id": f"{prefix}gone",
            "subject_id": "subject9",
            "path": "gone.nii",
            "site": "Rome",
            **column,
        }
    )
    write_tsv(folder / "volumes.tsv", list(rows[0]), rows)
    write_tsv(folder / "regions.tsv", list(labels[0]), labels)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """(collection, pack made with one worker)."""
    root = tmp_path_factory.mktemp("pack")
    at = collection(root / "cohort")
    return at, slice_collections({"cohort": at}, root / "one", seed=7)


def test_two_workers_write_the_same_bytes_as_one(made, tmp_path):
    calls = []
    slice_collections(
        {"cohort": made[0]},
        tmp_path,
        seed=7,
        workers=2,
        progress=lambda done, total: calls.append((done, total)),
    )
    assert contents(tmp_path) == contents(made[1].folder)
    assert calls == [(done, 13) for done in range(1, 14)]


def test_broken_volumes_are_recorded_and_the_others_are_as_if_alone(made):
    at, pack = made
    codes = {record.volume_id: record.code for record in pack.records if record.status == "refused"}
    assert codes == {
        "v03": "collection-slices",
        "v04": "volume-truncated",
        "v09": "volume-truncated",
        "vgone": "volume-missing",
    }
    for index, record in enumerate(pack.records):
        if record.status == "refused":
            others = {
                one.split
                for one in pack.records
                if one.subject == record.subject and one.status == "ok" and one.is_labelled
            }
            assert (
                record.message
                and record.slice_count == 0
                and record.split == (others.pop() if others else "")
            )
            with pytest.raises(VolumeError):
                pack.stack_of_volume(index)
            continue
        alone, kept = slice_volume(at / f"{record.volume_id}.nii.gz"), pack.stack_of_volume(index)
        assert np.array_equal(kept.pixels, alone.pixels) and np.array_equal(kept.z_mm, alone.z_mm)
        assert np.array_equal(kept.slice_ranges, alone.slice_ranges) and np.array_equal(
            kept.vox_to_ras, alone.vox_to_ras
        )
        assert (kept.checksum, kept.notes, kept.side_mm) == (
            alone.checksum,
            alone.notes,
            alone.side_mm,
        )


def test_truth_stands_beside_every_labelled_slice(made):
    _, pack = made
    pelvis, none = DEFAULT.classes.index("pelvis"), DEFAULT.classes.index("none")
    unlabelled = [record.volume_id for record in pack.records].index("v02")
    assert (
        not pack.truth[pack.volume_of_slice == unlabelled].any()
        and pack.records[unlabelled].split == ""
    )
    labelled = pack.volume_of_slice != unlabelled
    middle = pack.slice_ranges.sum(axis=1) // 2
    assert np.array_equal(pack.truth[labelled, pelvis], middle[labelled] <= 5)
    assert np.array_equal(pack.truth[labelled, none], middle[labelled] > 5)


def test_no_subject_is_in_two_splits_and_rows_follow_the_records(made):
    _, pack = made
    splits: dict[str, set[str]] = {}
    for record in pack.records:
        if record.split:
            splits.setdefault(record.subject_id, set()).add(record.split)
    assert splits and all(len(found) == 1 for found in splits.values())
    rows = np.concatenate(
        [pack.rows_in_split(split) for split in ("train", "validation", "test", "")]
    )
    assert np.array_equal(np.sort(rows), np.arange(len(pack.pixels)))
    assert all(
        pack.records[index].split == "train"
        for index in pack.volume_of_slice[pack.rows_in_split("train")]
    )


def test_the_manifest_shows_every_volume(made):
    _, pack = made
    rows = read_tsv(pack.folder / "manifest.tsv")
    assert [row["volume_id"] for row in rows] == [record.volume_id for record in pack.records]
    columns = "volume_id subject_id collection split labelled status path slices code message shown_id site"
    assert list(rows[0]) == columns.split()
    assert rows[4]["status"] == "refused" and rows[4]["site"] == "Oslo"
    assert read_json(pack.folder / "volumes.json")["fovnet"]["seed"] == 7


def test_pixels_are_mapped_not_read(made):
    pack = load_pack(made[1].folder)
    assert isinstance(pack.pixels, np.memmap) and not pack.pixels.flags.writeable
    assert pack.records == made[1].records


def test_a_second_run_takes_the_slices_from_the_cache_and_mends_a_broken_entry(tmp_path):
    at, out = collection(tmp_path / "cohort", volumes=4), tmp_path / "out"
    slice_collections({"c": at}, out)
    before = contents(out)
    entries = sorted((out / "cache").iterdir())
    entries[0].write_bytes(entries[0].read_bytes()[:200])
    untouched = entries[1].stat().st_mtime_ns
    slice_collections({"c": at}, out)
    assert contents(out) == before
    assert entries[0].stat().st_size > 1000 and entries[1].stat().st_mtime_ns == untouched
    slice_collections({"c": at}, out, slicing=Slicing(target_spacing_mm=9.0))
    assert len(list((out / "cache").iterdir())) > len(entries)


def test_slices_that_come_out_as_they_were_keep_their_dates(tmp_path):
    """A workflow makes anew whatever was made from younger files: tidying the cache is no reason."""
    at, out = collection(tmp_path / "cohort", volumes=4), tmp_path / "out"

    def dates() -> list[int]:
        return [(out / name).stat().st_mtime_ns for name in FILES]

    slice_collections({"c": at}, out)
    for name in FILES:
        os.utime(out / name, ns=(10**18, 10**18))
    slice_collections({"c": at}, out, prune_cache=True)
    assert dates() == [10**18] * len(FILES)
    slice_collections({"c": at}, out, seed=1)
    assert min(dates()) > 10**18


def test_a_given_split_wins(tmp_path):
    pack = slice_collections({"c": collection(tmp_path / "c", split="test")}, tmp_path / "out")
    assert {
        record.split for record in pack.records if record.status == "ok" and record.is_labelled
    } == {"test"}


def test_one_name_in_two_collections_is_refused_before_any_volume_is_read(tmp_path):
    both = {name: collection(tmp_path / name, volumes=2) for name in ("oslo", "rome")}
    with pytest.raises(CollectionError, match="rome_v00") as refusal:
        slice_collections(both, tmp_path / "out")
    assert refusal.value.code == "collection-duplicate"
    assert not (tmp_path / "out").exists()


def test_one_folder_under_two_names_is_refused(tmp_path):
    one = collection(tmp_path / "oslo", volumes=2)
    with pytest.raises(CollectionError, match="'oslo' and 'again'") as refusal:
        slice_collections(
            {"oslo": one, "again": tmp_path / "oslo" / ".." / "oslo"}, tmp_path / "out"
        )
    assert refusal.value.code == "collection-duplicate"


def test_each_collection_is_split_by_itself(tmp_path):
    oslo, rome = (
        collection(tmp_path / "oslo", volumes=6, prefix="o"),
        collection(tmp_path / "rome", volumes=6, prefix="r"),
    )
    alone = slice_collections({"oslo": oslo}, tmp_path / "alone", seed=3)
    both = slice_collections({"oslo": oslo, "rome": rome}, tmp_path / "both", seed=3)
    assert both.records[: len(alone.records)] == alone.records


def test_a_collection_of_only_broken_volumes_is_an_empty_pack(tmp_path):
    collection(tmp_path / "c", volumes=1)
    (tmp_path / "c" / "v00.nii.gz").unlink()
    pack = slice_collections({"c": tmp_path / "c"}, tmp_path / "empty")
    assert pack.pixels.shape == (0, 128, 128) and {record.status for record in pack.records} == {
        "refused"
    }
    assert pack.rows_in_split("train").tolist() == []


@pytest.mark.parametrize("name", ["pixels.npy", "slices.npz", "volumes.json"])
def test_a_damaged_pack_is_refused(tmp_path, name):
    out = slice_collections({"c": collection(tmp_path / "c", volumes=2)}, tmp_path / "out").folder
    (out / name).write_bytes((out / name).read_bytes()[:60])
    with pytest.raises(CollectionError) as refusal:
        load_pack(out)
    assert refusal.value.code == "pack-damaged"
    (out / name).unlink()
    with pytest.raises(CollectionError) as refusal:
        load_pack(out)
    assert refusal.value.code == "pack-missing"


def test_a_job_that_kills_its_process_is_the_only_one_lost():
    jobs = [partial(abs, -number) for number in range(12)]
    jobs[5] = partial(os._exit, 3)
    got = list(run_in_order(operator.call, jobs, 2, lambda job: "lost"))
    assert got == [0, 1, 2, 3, 4, "lost", 6, 7, 8, 9, 10, 11]


def test_a_resampled_volume_keeps_the_count_of_its_labels(tmp_path):
    """35° oblique: cut on the scanner's axes, labelled and answered in slices of the volume as it was."""
    turn = np.diag([4.0, 4.0, 4.0, 1.0])
    c, s = np.cos(np.deg2rad(35)), np.sin(np.deg2rad(35))
    turn[1:3, 1:3] = 4.0 * np.array([[c, -s], [s, c]])
    rng = np.random.default_rng(0)
    nibabel.save(
        nibabel.Nifti1Image(rng.integers(1, 900, (12, 14, 20)).astype(np.int16), turn),
        tmp_path / "tilted.nii.gz",
    )
    volume = {"volume_id": "t", "subject_id": "s", "path": "tilted.nii.gz"}
    write_tsv(tmp_path / "volumes.tsv", list(volume), [volume])
    write_tsv(
        tmp_path / "regions.tsv",
        ["volume_id", "region", "first_slice", "last_slice"],
        [{"volume_id": "t", "region": "pelvis", "first_slice": 0, "last_slice": 19}],
    )
    pack = slice_collections({"c": tmp_path}, tmp_path / "pack")
    direct, kept = slice_volume(tmp_path / "tilted.nii.gz"), pack.stack_of_volume(0)
    assert kept.label_slice_count == direct.label_slice_count == 20
    np.testing.assert_array_equal(kept.middle_slices, direct.middle_slices)


def test_one_scan_of_two_subjects_is_refused_before_they_stand_in_two_splits(tmp_path):
    """The same voxels in another file: names and checksums differ, the slices do not."""
    image = nibabel.Nifti1Image(
        np.random.default_rng(0).integers(0, 900, (16, 14, 8)).astype(np.int16),
        np.diag([3.0, 3.0, 2.0, 1.0]),
    )
    for name in ("a.nii", "b.nii.gz"):
        nibabel.save(image, tmp_path / name)
    (tmp_path / "volumes.tsv").write_text(
        "volume_id\tsubject_id\tpath\na\ts1\ta.nii\nb\ts2\tb.nii.gz\n"
    )
    with pytest.raises(CollectionError, match="volumes b and a") as refusal:
        slice_collections({"mine": tmp_path}, tmp_path / "out")
    assert refusal.value.code == "collection-same-scan"
    (tmp_path / "volumes.tsv").write_text(
        "volume_id\tsubject_id\tpath\na\ts1\ta.nii\nb\ts1\tb.nii.gz\n"
    )
    assert len(slice_collections({"mine": tmp_path}, tmp_path / "out").records) == 2


def test_labels_of_the_whole_are_those_of_all_its_parts_and_back(made):
    _, pack = made
    in_parts = pack.in_classes_of(NINE, DEFAULT)
    pelvis_rows = pack.truth[:, 1]
    assert pelvis_rows.any() and np.array_equal(in_parts.truth[:, 4], pelvis_rows)
    assert np.array_equal(in_parts.in_classes_of(DEFAULT, NINE).truth, pack.truth)
    legs = replace(pack, truth=np.roll(pack.truth, -1, axis=1)).in_classes_of(NINE, DEFAULT)
    assert np.array_equal(legs.truth[:, :4], np.repeat(pelvis_rows[:, None], 4, axis=1))
    knee = replace(in_parts, truth=np.roll(in_parts.truth, -2, axis=1))
    as_regions = knee.in_classes_of(DEFAULT, NINE)
    assert as_regions.classes == DEFAULT.classes
    assert np.array_equal(as_regions.truth[:, 0], pelvis_rows)
    assert pack.in_classes_of(DEFAULT, DEFAULT) is pack
