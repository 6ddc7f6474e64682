"""Collections on disk: reproducible, placed right, labelled right."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest

from fovnet.errors import CollectionError
from fovnet.phantom.acquisition.field_kinds import (
    SMALL_FIELDS,
    USUAL_FIELDS,
    FieldEnd,
    FieldKind,
    choose_field_kinds,
)
from fovnet.phantom.acquisition.protocols import SITES, Plan, draw_plan
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.collection import (
    RECIPE_NUMBER,
    SLIVER_MM2,
    _rows_reached,
    acquire_volume,
    count_unlisted,
    encode_nifti,
    list_region_rows,
    lock_collection,
    simulate_collection,
    simulate_subject,
)
from fovnet.phantom.person.traits import sample_person
from fovnet.records import read_tsv
from fovnet.regions import DEFAULT, NONE
from fovnet.volume.orient import to_ras
from fovnet.volume.volume import Volume

BODY = FieldKind(
    "test", FieldEnd("ischium", -60, -60), FieldEnd("lung_apex", 30, 30), plane_letters="i"
)


def sums(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.suffix in (".gz", ".tsv")]
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulate_collection(
        tmp_path_factory.mktemp("one"), subjects=2, volumes_per_subject=2, seed=3
    ).parent


@pytest.mark.parametrize(
    "text", ["volume_id\tsubject_id\tpath\nmine\tp01\tmine.nii.gz\n", "volume_id\tpath\n\xe4\tb\n"]
)
def test_tables_that_were_made_by_hand_are_not_simulated_over(tmp_path: Path, text: str) -> None:
    table = tmp_path / "volumes.tsv"
    table.write_bytes(text.encode("latin-1"))
    with pytest.raises(CollectionError, match="phantom-other-tables"):
        simulate_collection(tmp_path, subjects=1, volumes_per_subject=1)
    assert table.read_bytes() == text.encode("latin-1") and list(tmp_path.iterdir()) == [table]


def test_the_same_seed_gives_the_same_bytes_with_two_workers(
    collection: Path, tmp_path: Path
) -> None:
    simulate_collection(tmp_path, subjects=2, volumes_per_subject=2, seed=3, workers=2)
    assert sums(tmp_path) == sums(collection)


def test_a_smaller_collection_is_part_of_a_larger_one_and_a_finished_one_is_left_alone(
    collection: Path,
) -> None:
    before, times = (
        sums(collection),
        {path: path.stat().st_mtime_ns for path in (collection / "volumes").glob("*.gz")},
    )
    reported: list[tuple[int, int]] = []
    simulate_collection(
        collection,
        subjects=1,
        volumes_per_subject=2,
        seed=3,
        progress=lambda done, total: reported.append((done, total)),
    )
    assert reported == [(2, 2)] and {path: path.stat().st_mtime_ns for path in times} == times
    simulate_collection(collection, subjects=2, volumes_per_subject=2, seed=3)
    assert sums(collection) == before


def test_tables_name_files_that_are_there_and_slices_that_exist(collection: Path) -> None:
    volumes = {row["volume_id"]: row for row in read_tsv(collection / "volumes.tsv")}
    rows = read_tsv(collection / "regions.tsv")
    assert (
        set(volumes)
        == {row["volume_id"] for row in rows}
        == {f"sub-000{s}_acq-{a}" for s in (1, 2) for a in (1, 2)}
    )
    for row in rows:
        image = nib.as_closest_canonical(nib.load(collection / volumes[row["volume_id"]]["path"]))
        if row["from_mm"]:
            assert float(row["from_mm"]) < float(row["to_mm"]) and not row["first_slice"]
        else:
            assert 0 <= int(row["first_slice"]) <= int(row["last_slice"]) < image.shape[2]
        assert row["region"] in DEFAULT.classes and image.get_data_dtype() == np.int16


@pytest.fixture(scope="module")
def stored_ways() -> tuple[Volume, list[tuple[np.ndarray, nib.Nifti1Image]], Plan]:
    person = sample_person((0, 3))
    acquired = draw_plan(person, landmarks(person), BODY, SITES[1], np.random.default_rng(5))
    i, j, k = (size // 3 for size in acquired.grid.shape)
    grid = replace(
        acquired.grid,
        shape=(i, j, k),
        vox_to_ras=acquired.grid.vox_to_ras @ np.diag([3, 3, 3, 1.0]),
    )
    acquired = replace(
        acquired, grid=grid, acquisition=replace(acquired.acquisition, labels_per_voxel=(1, 1, 1))
    )
    volume, _ = acquire_volume(person, acquired, np.random.default_rng(0))
    ways = [
        np.array(list(zip(order, signs, strict=True)))
        for order in permutations(range(3))
        for signs in product((1, -1), repeat=3)
    ]
    return (
        volume,
        [
            (way, nib.Nifti1Image.from_bytes(gzip.decompress(encode_nifti(volume, way))))
            for way in ways
        ],
        acquired,
    )


def test_all_48_stored_orders_and_directions_come_back_to_the_same_canonical_volume(
    stored_ways,
) -> None:
    volume, images, _ = stored_ways
    assert (
        len(
            {
                image.get_fdata().shape + tuple(np.round(image.affine, 3).ravel())
                for _, image in images
            }
        )
        == 48
    )
    for _, image in images:
        canonical = nib.as_closest_canonical(image)
        assert np.array_equal(
            np.asarray(canonical.dataobj), np.rint(volume.voxels).astype(np.int16)
        )
        assert canonical.affine == pytest.approx(volume.vox_to_ras, abs=1e-3)


def test_every_plan_covers_its_family_and_its_regions_follow_the_landmarks() -> None:
    rng = np.random.default_rng(2)
    for number in range(1, 25):
        person = sample_person((2, number))
        marks = landmarks(person)
        for field_kind in choose_field_kinds(3, rng):
            acquired = draw_plan(person, marks, field_kind, SITES[number % 3], rng)
            low, high = (
                getattr(marks, field_kind.lower_end.landmark) + field_kind.lower_end.least_mm,
                getattr(marks, field_kind.upper_end.landmark) + field_kind.upper_end.most_mm,
            )
            heights = Volume(
                np.zeros(acquired.grid.shape, np.float32), acquired.grid.vox_to_ras, ""
            ).slice_heights_mm()
            spacing = np.linalg.norm(acquired.grid.vox_to_ras[:3, :3], axis=0)
            assert (
                low - 6 <= heights[0] < heights[-1] <= high + 6
                and spacing.min() >= 0.8
                and spacing.max() <= 10
            )
            for row in list_region_rows(
                heights, np.full(len(heights), 1e4), marks, field_kind.side_region
            ):
                inside = heights[row["first_slice"] : row["last_slice"] + 1]
                if row["region"] in DEFAULT.chain:
                    rung = DEFAULT.chain.index(row["region"])
                    assert (
                        marks.borders_mm[rung] <= inside.min()
                        and inside.max() < marks.borders_mm[rung + 1]
                    )


def test_air_above_the_head_and_slivers_of_body_are_none() -> None:
    marks = landmarks(sample_person((0, 1)))
    heights = np.array([marks.chin, marks.vertex - 40, marks.vertex - 1, marks.vertex + 10])
    area = np.array([2e4, 2e4, SLIVER_MM2 / 2, 5e3])  # the last: raised hands
    assert list_region_rows(heights, area, marks, "") == [
        {"region": "head", "first_slice": 0, "last_slice": 1}
    ]
    assert list_region_rows(heights + 500, area, marks, "spine") == [
        {"region": NONE, "first_slice": 0, "last_slice": 3}
    ]


def test_a_spine_protocol_is_labelled_beside_the_chain() -> None:
    marks = landmarks(sample_person((0, 1)))
    heights = np.linspace(marks.iliac_crest - 50, marks.liver_dome - 5, 20)
    rows = {
        row["region"]: (row["first_slice"], row["last_slice"])
        for row in list_region_rows(heights, np.full(20, 1e4), marks, "spine")
    }
    assert (
        set(rows) == {"pelvis", "abdomen", "spine"}
        and rows["spine"] == (0, 19)
        and rows["pelvis"][1] + 1 == rows["abdomen"][0]
    )


def test_volumes_that_a_larger_simulation_left_are_counted(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / "volumes").mkdir(exist_ok=True)
        (tmp_path / "volumes" / f"{name}.nii.gz").touch()
    (tmp_path / "volumes.tsv").write_text("volume_id\tpath\na\tvolumes/a.nii.gz\n")
    assert count_unlisted(tmp_path / "volumes.tsv") == 1


def test_a_folder_that_another_simulation_writes_to_is_left_to_it(tmp_path: Path) -> None:
    """Of two at once one would write the regions of the other's volumes."""
    with (
        lock_collection(tmp_path / "held"),
        pytest.raises(CollectionError, match="another simulation is writing here") as refused,
    ):
        simulate_collection(tmp_path / "held", subjects=1, volumes_per_subject=1)
    assert refused.value.code == "phantom-held" and not list((tmp_path / "held").iterdir())
    with lock_collection(tmp_path / "held"):
        pass


def test_a_collection_of_nobody_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CollectionError, match="nothing-to-simulate"):
        simulate_collection(tmp_path, subjects=0)


def test_every_family_can_be_planned_for_everyone() -> None:
    rng = np.random.default_rng(0)
    for number, field_kind in enumerate((*USUAL_FIELDS, *SMALL_FIELDS)):
        person = sample_person((6, number))
        shape = draw_plan(person, landmarks(person), field_kind, SITES[0], rng).grid.shape
        assert min(shape) >= 4 and np.prod(shape) < 8e6, field_kind.name


def test_with_more_volumes_a_person_the_folder_of_fewer_gives_what_an_empty_one_gives(
    tmp_path: Path,
) -> None:
    """The last volume of a person may show no body; it is the last one no more where there are more."""
    of_two = simulate_subject(tmp_path / "grown", 7, 2, 3)[0]
    assert of_two[-1]["field_of_view"] == "no body"
    grown, new = (simulate_subject(tmp_path / name, 7, 3, 3) for name in ("grown", "new"))
    assert grown == new and grown[0][1]["field_of_view"] != "no body"
    assert sums(tmp_path / "grown") == sums(tmp_path / "new")


@pytest.mark.parametrize("damage", ["", "[]", "{"])
def test_a_volume_whose_facts_are_damaged_is_made_again(tmp_path: Path, damage: str) -> None:
    simulate_collection(
        tmp_path / "made", subjects=1, volumes_per_subject=1, seed=3, without=["everything"]
    )
    (facts,) = (tmp_path / "made" / "volumes" / ".facts").iterdir()
    (volume,) = (tmp_path / "made" / "volumes").glob("*.nii.gz")
    before = facts.read_text(), volume.read_bytes()
    facts.write_text(damage)
    simulate_collection(
        tmp_path / "made", subjects=1, volumes_per_subject=1, seed=3, without=["everything"]
    )
    assert (facts.read_text(), volume.read_bytes()) == before


def test_a_run_that_ends_too_early_leaves_no_table_of_volumes_that_it_has_written_over(
    tmp_path: Path,
) -> None:
    simulate_collection(tmp_path, subjects=2, volumes_per_subject=1, seed=3, without=["everything"])

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_collection(
            tmp_path,
            subjects=2,
            volumes_per_subject=1,
            seed=4,
            without=["everything"],
            progress=stop,
        )
    assert not (tmp_path / "volumes.tsv").exists() and not (tmp_path / "regions.tsv").exists()


def test_the_number_that_makes_old_volumes_anew_is_that_of_the_newest_recipe() -> None:
    """Volumes of an older recipe were kept as current once: a thirteenth was told of, the number had stayed
    at twelve."""
    room = Path(__file__).parents[2] / "fovnet" / "phantom"
    told = re.findall(r"recipe (\d+)", (room / "README.md").read_text(encoding="utf-8"))
    assert max(map(int, told)) == RECIPE_NUMBER


@pytest.mark.slow
def test_ctrl_c_stops_the_simulation_of_people_whom_nobody_wants_any_more(tmp_path: Path) -> None:
    """A terminal interrupts all processes at once; only one of them reports it.  A background process is made
    to receive the signal."""
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from fovnet.cli import "
        "main; main()"
    )
    line = [
        sys.executable,
        "-c",
        program,
        "phantom",
        str(tmp_path / "out"),
        "--subjects",
        "200",
        "--volumes",
        "1",
        "--workers",
        "2",
        "--without",
        "everything",
    ]
    with subprocess.Popen(
        line, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        while not list((tmp_path / "out").rglob("*.nii.gz")):
            assert running.poll() is None
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        stderr = running.communicate()[1]
    assert (
        running.returncode == 130
        and "stopped; the same command resumes from here" in stderr
        and "Traceback" not in stderr
    )
    assert len(list((tmp_path / "out").rglob("*.nii.gz"))) < 100


def test_a_person_whose_process_dies_again_and_again_is_named_and_no_table_is_written(
    tmp_path: Path,
) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import os\nfrom pathlib import Path\nfrom fovnet.errors import CollectionError\n"
        "from fovnet.phantom import collection\n"
        "def dies(*_, **__):\n    os._exit(9)\n"
        "collection.simulate_subject = dies\n"
        "if __name__ == '__main__':\n    try:\n"
        f"        collection.simulate_collection(Path({str(tmp_path / 'out')!r}), subjects=1, workers=2)\n"
        "    except CollectionError as fault:\n        print(fault)\n"
    )
    said = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=900
    ).stdout
    assert "subject 1 died twice" in said and "phantom-crash" in said
    assert not (tmp_path / "out" / "volumes.tsv").exists()


@pytest.mark.parametrize(("tilt_deg", "kept"), [(16.0, ["pelvis"]), (24.0, ["pelvis", "abdomen"])])
def test_a_region_that_only_a_corner_reaches_is_none_of_a_volume_that_is_cut_along_its_own_slices(
    tilt_deg: float, kept: list[str]
) -> None:
    """Slices 28 cm deep: their corners lie 4 cm and more above their middles, where no cut is unless the
    volume is resampled."""
    turn = np.deg2rad(tilt_deg)
    affine = np.diag([2.0, 2.0, 8.0, 1.0])
    affine[1:3, 1:3] = np.array(
        [[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]]
    ) @ np.diag([2.0, 8.0])
    volume = Volume(np.arange(10 * 140 * 8, dtype=np.float32).reshape(10, 140, 8), affine, "")
    z = volume.slice_heights_mm()
    ends = z[0] - 20, z[-1] + 25, z[-1] + 35
    rows = [
        {"region": name, "from_mm": ends[at], "to_mm": ends[at + 1]}
        for at, name in enumerate(("pelvis", "abdomen"))
    ]
    assert [row["region"] for row in _rows_reached(rows, volume)] == kept
    straight = to_ras(volume).slice_heights_mm()
    assert (straight.max() > rows[1]["from_mm"]) == (len(kept) == 2)
