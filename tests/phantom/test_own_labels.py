"""A segmentation of one's own becomes a collection."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np
import pytest
import SimpleITK
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import CollectionError, ConfigError, VolumeError
from fovnet.phantom.collection import FORMER_TABLE, simulate_collection
from fovnet.phantom.features import SCANNING
from fovnet.phantom.own_labels import read_labels, simulate_labels
from fovnet.regions import DEFAULT
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.collection.truth import find_classes_of_cuts
from fovnet.volume.slices.stack import slice_volume

# One process imports the simulator and forks the runs.  Run n is killed just before the n-th time that a file
# is moved or removed.
STAGE = """
import os, shutil, signal, sys
from pathlib import Path
from fovnet.phantom.features import SCANNING
from fovnet.phantom.own_labels import read_labels, simulate_labels

before, runs = map(Path, sys.argv[1:3])
given = read_labels(*map(Path, sys.argv[3:]), "ann")

def begin(out, moment):
    if child := os.fork():
        return child
    left = iter(range(moment))

    def watch(event, _):
        if event in ("os.rename", "os.remove") and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    simulate_labels(given, out, count=2, seed=6, without=tuple(SCANNING))
    os._exit(0)

for moment in range(100):
    out = runs / f"{moment:02d}"
    shutil.copytree(before, out) if before.exists() else out.mkdir(parents=True)
    if not os.WIFSIGNALED(os.waitpid(begin(out, moment), 0)[1]):
        break
"""
TISSUES = "label\ttissue\tpd\tt1_ms\tt2_ms\n0\tair\t\t\t\n7\tmuscle\t\t\t\n12\t\t0.9\t600\t50\n"
REGIONS = "region\tfrom_mm\tto_mm\nabdomen\t-30\t20\nchest\t20\t70\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path, Path]:
    """A body of 30 × 24 × 30 voxels of 3 mm whose middle is another tissue, stored with its axes turned."""
    labels = np.zeros((30, 24, 34), np.int16)
    labels[4:26, 4:20, 2:32] = 7
    labels[10:18, 8:14] = 12
    affine = np.diag([-3.0, 3.0, 3.0, 1.0])
    affine[:3, 3] = 45, -36, -30
    nib.save(nib.Nifti1Image(labels, affine), tmp_path / "seg.nii.gz")
    (tmp_path / "tissues.tsv").write_text(TISSUES)
    (tmp_path / "regions.tsv").write_text(REGIONS)
    return tmp_path / "seg.nii.gz", tmp_path / "tissues.tsv", tmp_path / "regions.tsv"


def test_scans_have_the_regions_of_the_segmentation_where_they_are_cut(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    table = simulate_labels(read_labels(*files), tmp_path / "made", count=12, seed=3)
    found = read_collection(tmp_path / "made")
    assert len(found.volume_rows) == 12 and table.exists()
    for row in found.volume_rows:
        stack = slice_volume(row.path)
        seen = find_classes_of_cuts(stack, found.region_rows_by_volume[row.volume_id], DEFAULT)
        for flags, z in zip(seen, stack.z_mm, strict=True):
            # a cut of several slices has the label of its middle one
            if abs(z - 20) > 4:
                assert flags[-1] or flags[DEFAULT.classes.index("abdomen" if z < 20 else "chest")]


def test_the_same_seed_gives_the_same_bytes_and_without_everything_the_whole_field_is_seen(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    given = read_labels(*files)
    for name in ("one", "two"):
        simulate_labels(given, tmp_path / name, count=2, seed=5, without=tuple(SCANNING))
    one, two = (sorted((tmp_path / name / "volumes").iterdir()) for name in ("one", "two"))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    for path in one:
        image = nib.as_closest_canonical(nib.load(path))
        spanned = np.array(image.shape) * np.array(image.header.get_zooms())
        assert np.all(spanned > 0.85 * np.array([90, 72, 102])) and np.all(
            spanned <= [90.01, 72.01, 102.01]
        )


def test_another_segmentation_joins_the_first_and_the_same_one_takes_its_own_place(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """So that a collection of one's own segmentations has subjects to share out."""
    for subject, count in (("ann", 2), ("bob", 3), ("ann", 1)):
        simulate_labels(
            read_labels(*files, subject),
            tmp_path / "made",
            count=count,
            seed=5,
            without=tuple(SCANNING),
        )
    found = read_collection(tmp_path / "made")
    assert sorted((row.subject_id, row.volume_id) for row in found.volume_rows) == [
        ("ann", "ann_sim-0001"),
        ("bob", "bob_sim-0001"),
        ("bob", "bob_sim-0002"),
        ("bob", "bob_sim-0003"),
    ]
    assert set(found.region_rows_by_volume) == {row.volume_id for row in found.volume_rows}
    one, other = (
        tmp_path / "made" / "volumes" / f"{name}_sim-0001.nii.gz" for name in ("ann", "bob")
    )
    assert one.read_bytes() != other.read_bytes(), "two people are not scanned alike"


def test_neither_simulated_people_nor_segmentations_take_the_others_tables(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    made, line = (
        tmp_path / "made",
        [
            "--from",
            str(files[0]),
            "--tissues",
            str(files[1]),
            "--regions",
            str(files[2]),
            "--count",
            "1",
        ],
    )
    first, again = (CliRunner().invoke(app, ["phantom", str(made), *line]) for _ in range(2))
    assert "in the place of 1 that seg had" in again.output and "in the place" not in first.output
    table = (made / "volumes.tsv").read_bytes()
    people = (
        CliRunner()
        .invoke(app, ["phantom", str(made), "--subjects", "1", "--volumes", "1"])
        .exception
    )
    assert (
        isinstance(people, CollectionError)
        and people.code == "phantom-other-tables"
        and (made / "volumes.tsv").read_bytes() == table
    )
    lost = CliRunner().invoke(app, ["phantom", str(tmp_path / "people"), "--count", "3"]).exception
    assert isinstance(lost, ConfigError) and "--count 3" in lost.sentence
    simulate_collection(
        tmp_path / "people", subjects=1, volumes_per_subject=1, seed=3, without=["everything"]
    )
    with pytest.raises(CollectionError, match="phantom-other-tables"):
        simulate_labels(read_labels(*files), tmp_path / "people", count=1)


def test_regions_that_are_not_fovnets_own_are_reported(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    line = [
        str(word)
        for word in (
            "phantom",
            tmp_path / "made",
            "--from",
            files[0],
            "--tissues",
            files[1],
            "--regions",
            files[2],
        )
    ]
    assert "own regions" not in CliRunner().invoke(app, [*line, "--count", "1"]).output
    files[2].write_text("region\tfrom_mm\tto_mm\nabdomen\t-30\t20\nTHORAX\t20\t40\n")
    assert "own regions" not in CliRunner().invoke(app, [*line, "--count", "1"]).output, (
        "the tables are read with what headers say"
    )
    files[2].write_text("region\tfrom_mm\tto_mm\nabdomen\t-30\t20\nshank\t20\t60\n")
    assert (
        "shank: not among fovnet's own regions"
        in CliRunner().invoke(app, [*line, "--count", "1"]).output
    )


def test_regions_may_be_written_in_capitals(files: tuple[Path, Path, Path]) -> None:
    """As in the tables of a collection, and in the same order."""
    files[2].write_text("region\tfrom_mm\tto_mm\nABDOMEN\t-30\t20\nChest\t20\t70\n")
    assert [region for region, _, _ in read_labels(*files).region_spans] == ["abdomen", "chest"]
    files[2].write_text("region\tfrom_mm\tto_mm\nChest\t-30\t20\nABDOMEN\t20\t70\n")
    with pytest.raises(CollectionError, match=r"regions must follow one another from the feet up"):
        read_labels(*files)
    files[2].write_text("region\tfrom_mm\tto_mm\n\t-30\t20\n")
    with pytest.raises(CollectionError, match=r"line 2: no region is named"):
        read_labels(*files)


@pytest.mark.parametrize("names", [("seg ", "seg"), ("ann", "ANN")])
def test_names_that_tables_cannot_tell_apart_are_one_subject(
    files: tuple[Path, Path, Path], tmp_path: Path, names: tuple[str, str]
) -> None:
    for subject in names:
        simulate_labels(
            read_labels(*files, subject),
            tmp_path / "made",
            count=1,
            seed=5,
            without=tuple(SCANNING),
        )
    assert len(read_collection(tmp_path / "made").volume_rows) == 1


def test_of_a_tilted_segmentation_all_that_its_corners_reach_is_inside(
    files: tuple[Path, Path, Path],
) -> None:
    """72 mm deep and tilted by 30 degrees, it reaches 18 mm farther at either end than along its middle."""
    image = nib.load(files[0])
    turn = np.eye(4)
    turn[1:3, 1:3] = [[np.cos(np.pi / 6), -0.5], [0.5, np.cos(np.pi / 6)]]
    affine = turn @ image.affine
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj), affine), files[0])
    corners = np.indices((2, 2, 2)).reshape(3, 8).T * np.array(image.shape) - 0.5
    z = (corners @ affine[:3, :3].T + affine[:3, 3])[:, 2]
    files[2].write_text(
        f"region\tfrom_mm\tto_mm\nabdomen\t{z.min() - 19:.1f}\t0\nchest\t0\t{z.max() + 19:.1f}\n"
    )
    assert len(read_labels(*files).region_spans) == 2
    files[2].write_text(f"region\tfrom_mm\tto_mm\nabdomen\t{z.min() - 25:.1f}\t0\n")
    with pytest.raises(CollectionError, match="lies outside of the segmentation"):
        read_labels(*files)


@pytest.mark.parametrize(
    "rows", ["abdomen\t-30\t20\nchest\t10\t70", "chest\t-30\t20\nabdomen\t20\t70"]
)
def test_regions_that_overlap_or_lie_the_other_way_up_are_refused(
    files: tuple[Path, Path, Path], rows: str
) -> None:
    files[2].write_text(f"region\tfrom_mm\tto_mm\n{rows}\n")
    with pytest.raises(
        CollectionError, match=r"regions must follow one another from the feet up.*regions-invalid"
    ):
        read_labels(*files)
    files[2].write_text(
        "region\tfrom_mm\tto_mm\nabdomen\t-30\t20\nspine\t-30\t70\nchest\t20\t70\ncalf\t0\t10\n"
    )
    assert len(read_labels(*files).region_spans) == 4, (
        "what stands beside the others, or is a region of one's own, may lie anywhere"
    )


@pytest.mark.parametrize("table", ["hello\n", "region\tfrom_mm\tto_mm\n"])
def test_a_table_that_names_no_region_is_refused(
    files: tuple[Path, Path, Path], table: str
) -> None:
    """It would silently leave every volume without a label."""
    files[2].write_text(table)
    with pytest.raises(CollectionError, match=r"no row names a region.*regions-invalid"):
        read_labels(*files)


def test_a_label_with_two_tissues_and_a_body_of_air_are_refused(
    files: tuple[Path, Path, Path],
) -> None:
    files[1].write_text("label\ttissue\n0\tair\n7\tmuscle\n7\tfat\n12\tfat\n")
    with pytest.raises(
        CollectionError, match=r"line 4: label 7 has an earlier line.*tissues-invalid"
    ):
        read_labels(*files)
    files[1].write_text("label\ttissue\n0\tair\n7\tair\n12\tair\n")
    with pytest.raises(VolumeError, match="labels-empty"):
        read_labels(*files)


@pytest.mark.parametrize("row", ["0.9\t0\t50", "-1\t600\t50", "0.9\t600\tnan", "90\t600\t50"])
def test_a_tissue_that_no_matter_has_is_refused_with_its_line(
    files: tuple[Path, Path, Path], row: str
) -> None:
    files[1].write_text(f"label\ttissue\tpd\tt1_ms\tt2_ms\n0\tair\n7\tmuscle\n12\t\t{row}\n")
    with pytest.raises(CollectionError, match=r"line 4: no matter has pd .*tissues-invalid"):
        read_labels(*files)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            "from_mm\tto_mm\nabdomen\t300\t400",
            "300 to 400 mm lies outside of the segmentation, which goes from -31.5 to 70.5 mm",
        ),
        ("first_slice\tlast_slice\nabdomen\t-3\t8", "there is no slice -3"),
        ("first_slice\tlast_slice\nabdomen\t3\t34", "there is no slice 34"),
    ],
)
def test_a_region_outside_of_the_segmentation_is_refused_with_its_line(
    files: tuple[Path, Path, Path], table: str, message: str
) -> None:
    files[2].write_text(f"region\t{table}\n")
    with pytest.raises(CollectionError, match=f"line 2: {message}.*regions-invalid"):
        read_labels(*files)


def test_labels_that_the_table_lacks_are_named(files: tuple[Path, Path, Path]) -> None:
    files[1].write_text("label\ttissue\n0\tair\n")
    with pytest.raises(VolumeError, match=r"no row for label 7, 12\..*labels-unnamed"):
        read_labels(*files)


def test_a_table_with_commas_is_reported_as_such(files: tuple[Path, Path, Path]) -> None:
    files[1].write_text("label,tissue\n0,air\n7,muscle\n")
    with pytest.raises(
        CollectionError, match=r"'label,tissue'; columns must be separated by tabs.*tissues-invalid"
    ):
        read_labels(*files)


def test_a_table_that_is_not_there_is_reported_as_such(files: tuple[Path, Path, Path]) -> None:
    files[2].unlink()
    with pytest.raises(CollectionError, match=r"no such file.*regions-invalid"):
        read_labels(*files)


def test_a_tissue_nobody_knows_is_refused_with_its_line(files: tuple[Path, Path, Path]) -> None:
    files[1].write_text("label\ttissue\n0\tair\n7\tmussel\n")
    with pytest.raises(CollectionError, match=r"line 3: 'mussel'.*tissues-invalid"):
        read_labels(*files)


def test_all_faulty_lines_of_the_regions_are_reported_at_once(
    files: tuple[Path, Path, Path],
) -> None:
    files[2].write_text("region\tfrom_mm\tto_mm\nabdomen\tx\t20\nchest\t20\t30\nhead\t70\t20\n")
    with pytest.raises(
        CollectionError, match=r"line 2: could not convert.*; line 4: 70 to 20 does not go upwards"
    ):
        read_labels(*files)


def test_a_region_that_ends_below_its_beginning_is_refused_with_its_line(
    files: tuple[Path, Path, Path],
) -> None:
    files[2].write_text("region\tfrom_mm\tto_mm\nabdomen\t-30\t20\nchest\t70\t20\n")
    with pytest.raises(
        CollectionError,
        match=r"line 3: 70 to 20 does not go upwards.*the lower one first.*regions-invalid",
    ):
        read_labels(*files)


def test_a_tissue_table_without_a_segmentation_is_refused(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    """Without --from the simulated people would be scanned instead, and nobody would notice."""
    fault = (
        CliRunner()
        .invoke(app, ["phantom", str(tmp_path / "made"), "--tissues", str(files[1])])
        .exception
    )
    assert (
        isinstance(fault, ConfigError)
        and fault.code == "phantom-from"
        and not (tmp_path / "made").exists()
    )


def test_a_segmentation_is_of_one_subject_and_no_other_number_is_passed_over(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    line = [
        "phantom",
        str(tmp_path / "made"),
        "--from",
        str(files[0]),
        "--tissues",
        str(files[1]),
        "--subjects",
        "3",
    ]
    fault = CliRunner().invoke(app, line).exception
    assert (
        isinstance(fault, ConfigError)
        and "--count" in fault.sentence
        and not (tmp_path / "made").exists()
    )


@pytest.mark.parametrize("subject", ["..", ".ann", "a/b", "a\tb", "a" * 300])
def test_a_subject_whose_volumes_could_not_be_named_is_refused(
    files: tuple[Path, Path, Path], tmp_path: Path, subject: str
) -> None:
    line = [
        "phantom",
        str(tmp_path / "made"),
        "--from",
        str(files[0]),
        "--tissues",
        str(files[1]),
        "--subject",
        subject,
    ]
    fault = CliRunner().invoke(app, line).exception
    assert (
        isinstance(fault, ConfigError)
        and fault.code == "phantom-subject"
        and not (tmp_path / "made").exists()
    )


def test_a_segmentation_too_large_for_memory_is_refused_by_its_header(
    files: tuple[Path, Path, Path],
) -> None:
    """260 KB of zeros took 4.6 GB."""
    header = nib.Nifti1Image(np.zeros((2, 2, 2), np.uint8), np.eye(4)).header
    header.set_data_shape((1024, 1024, 1024))
    with gzip.open(files[0], "wb") as file:
        file.write(header.binaryblock + bytes(5000))
    with pytest.raises(VolumeError, match="volume-too-large"):
        read_labels(*files)


def test_fractions_are_no_labels(files: tuple[Path, Path, Path]) -> None:
    nib.save(nib.Nifti1Image(np.full((6, 6, 6), 0.5, np.float32), np.eye(4)), files[0])
    with pytest.raises(VolumeError, match="labels-not-whole"):
        read_labels(*files)


@pytest.mark.parametrize(
    "row", ["-0.1\t\t\t", "7\t\t\t", "\t2\t\t", "\t\t-5\t", "\t\t\tnan", "\t\t\tinf"]
)
def test_a_share_that_no_tissue_has_is_refused_with_its_line(
    files: tuple[Path, Path, Path], row: str
) -> None:
    files[1].write_text(
        f"label\ttissue\tpd\tt1_ms\tt2_ms\tfat\tflow\tuptake\tmottle\n0\tair\n7\tmuscle\n12\t\t0.9\t600\t50\t{row}\n"
    )
    with pytest.raises(
        CollectionError, match=r"line 4: no tissue has (fat|flow|uptake|mottle) .*tissues-invalid"
    ):
        read_labels(*files)


def test_a_segmentation_in_metres_or_nowhere_is_placed_as_a_volume_is(
    files: tuple[Path, Path, Path],
) -> None:
    before = read_labels(*files)
    image = nib.load(files[0])
    metres = nib.Nifti1Image(
        np.asarray(image.dataobj), np.diag([1e-3, 1e-3, 1e-3, 1.0]) @ image.affine
    )
    metres.header.set_xyzt_units("meter")
    nib.save(metres, files[0])
    np.testing.assert_allclose(
        read_labels(*files).label_volume.vox_to_ras, before.label_volume.vox_to_ras, atol=1e-4
    )
    metres.set_sform(None, 0)
    metres.set_qform(None, 0)
    nib.save(metres, files[0])
    with pytest.raises(VolumeError, match="volume-geometry"):
        read_labels(*files)


@pytest.mark.parametrize("suffix", [".mgz", ".nrrd"])
def test_a_segmentation_may_be_of_any_format_that_is_read(
    files: tuple[Path, Path, Path], suffix: str
) -> None:
    """Against SimpleITK's NRRD and nibabel's MGH, which FreeSurfer writes."""
    before, image, other = (
        read_labels(*files),
        nib.load(files[0]),
        files[0].with_name(f"seg{suffix}"),
    )
    if suffix == ".mgz":
        nib.save(nib.MGHImage(np.asarray(image.dataobj).astype(np.int32), image.affine), other)
    else:
        SimpleITK.WriteImage(SimpleITK.ReadImage(files[0]), other)
    again = read_labels(other, *files[1:])
    assert (
        np.array_equal(again.label_volume.labels, before.label_volume.labels)
        and again.region_spans == before.region_spans
        and again.subject == "seg"
    )
    np.testing.assert_allclose(
        again.label_volume.vox_to_ras, before.label_volume.vox_to_ras, atol=1e-4
    )


def test_a_damaged_or_coloured_segmentation_gets_a_sentence(files: tuple[Path, Path, Path]) -> None:
    whole = files[0].read_bytes()
    files[0].write_bytes(whole[: len(whole) // 2])
    with pytest.raises(VolumeError, match="volume-truncated"):
        read_labels(*files)
    colours = np.zeros((6, 6, 6), np.dtype([("R", "u1"), ("G", "u1"), ("B", "u1")]))
    nib.save(nib.Nifti1Image(colours, np.eye(4)), files[0])
    with pytest.raises(VolumeError, match="volume-rgb"):
        read_labels(*files)


def test_scans_that_are_not_finished_leave_no_rows_of_what_they_wrote_over(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    for subject in ("ann", "bob"):
        simulate_labels(
            read_labels(*files, subject),
            tmp_path / "made",
            count=1,
            seed=5,
            without=tuple(SCANNING),
        )

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate_labels(
            read_labels(*files, "ann"), tmp_path / "made", count=2, seed=6, progress=stop
        )
    found = read_collection(tmp_path / "made")
    assert (
        [row.volume_id for row in found.volume_rows]
        == ["bob_sim-0001"]
        == list(found.region_rows_by_volume)
    )


@pytest.mark.parametrize("earlier", [(), ("ann", "bob")])
def test_a_run_killed_at_any_moment_leaves_no_faulty_tables_and_can_be_repeated(
    files: tuple[Path, Path, Path], tmp_path: Path, earlier: tuple[str, ...]
) -> None:
    """The tables are whole, or there is no volumes.tsv or none with a volume; the same command then ends as
    if nothing had happened."""
    for subject in earlier:
        simulate_labels(
            read_labels(*files, subject),
            tmp_path / "before",
            count=1,
            seed=5,
            without=tuple(SCANNING),
        )
    line = [
        sys.executable,
        "-c",
        STAGE,
        *map(str, (tmp_path / "before", tmp_path / "runs", *files)),
    ]
    subprocess.run(line, check=True, timeout=900)
    *killed, whole = sorted((tmp_path / "runs").iterdir())
    assert len(killed) > 10
    for out in killed:
        try:
            found = read_collection(out)
            assert {row.volume_id for row in found.volume_rows} == set(
                found.region_rows_by_volume
            ), out
        except CollectionError as fault:
            assert (
                fault.code == "collection-missing" or "no volume under the header" in fault.sentence
            ), (
                out,
                fault.sentence,
            )
        simulate_labels(read_labels(*files, "ann"), out, count=2, seed=6, without=tuple(SCANNING))
        assert contents(out) == contents(whole), out


def test_simulated_people_do_not_take_the_folder_of_a_run_killed_between_its_tables(
    files: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    simulate_labels(read_labels(*files), tmp_path / "made", count=1, without=tuple(SCANNING))
    (tmp_path / "made" / "volumes.tsv").rename(tmp_path / "made" / FORMER_TABLE)
    with pytest.raises(CollectionError, match="phantom-other-tables"):
        simulate_collection(
            tmp_path / "made", subjects=1, volumes_per_subject=1, without=["everything"]
        )
    assert (tmp_path / "made" / "regions.tsv").exists()


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of the files in a folder, by name; unfinished ones, whose names hold the number of a process,
    are left out."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.suffix != ".part"
    }


def tilted(folder: Path, degrees: float, spacing_mm: float = 2.0) -> tuple[Path, Path, Path]:
    """Muscle in slices 0 to 29, lung in 30 to 59, the whole turned about the left-right axis."""
    labels = np.ones((50, 60, 60), np.int16)
    labels[:, :, 30:] = 2
    turn, affine = np.deg2rad(degrees), np.eye(4)
    affine[:3, :3] = spacing_mm * np.array(
        [[1, 0, 0], [0, np.cos(turn), -np.sin(turn)], [0, np.sin(turn), np.cos(turn)]]
    )
    affine[:3, 3] = -affine[:3, :3] @ ((np.array(labels.shape) - 1) / 2)
    nib.save(nib.Nifti1Image(labels, affine), folder / "tilted.nii.gz")
    (folder / "two.tsv").write_text("label\ttissue\n1\tmuscle\n2\tlung\n")
    (folder / "halves.tsv").write_text(
        "region\tfirst_slice\tlast_slice\nabdomen\t0\t29\nchest\t30\t59\n"
    )
    return folder / "tilted.nii.gz", folder / "two.tsv", folder / "halves.tsv"


@pytest.mark.parametrize(
    ("degrees", "spacing_mm"),
    [(0, 0.7), (0, 1.1), (0, 2.3), (0.1, 2), (1, 2), (5, 1.3), (15, 2), (-15, 2)],
)
def test_slices_that_follow_one_another_are_regions_that_do(
    tmp_path: Path, degrees: float, spacing_mm: float
) -> None:
    """However the segmentation is turned, and whatever the last bit of its heights."""
    (_, low, middle), (_, again, high) = read_labels(
        *tilted(tmp_path, degrees, spacing_mm)
    ).region_spans
    assert again == pytest.approx(middle, abs=1e-3)
    assert high - low == pytest.approx(60 * spacing_mm * np.cos(np.deg2rad(degrees)), rel=1e-5)


def test_a_part_of_a_tilted_segmentation_has_its_border_where_it_is_seen(tmp_path: Path) -> None:
    without = ("masks", "artefacts", "free contrasts", "coil fall-off")
    simulate_labels(
        read_labels(*tilted(tmp_path, 15)), tmp_path / "made", count=14, seed=3, without=without
    )
    seen, parts = 0, 0
    for row in (found := read_collection(tmp_path / "made")).volume_rows:
        stack = slice_volume(row.path)
        flags, brightness = (
            find_classes_of_cuts(stack, found.region_rows_by_volume[row.volume_id], DEFAULT),
            stack.pixels.mean(axis=(1, 2), dtype=float),
        )
        if brightness.max() > 3 * brightness.min():
            border = int(np.abs(np.diff(brightness)).argmax())
            labelled = int(np.flatnonzero(flags[:, DEFAULT.classes.index("abdomen")]).max())
            assert abs(labelled - border) <= 1
            seen, parts = seen + 1, parts + (stack.z_mm[-1] - stack.z_mm[0] < 90)
    assert seen >= 8 and parts >= 2
