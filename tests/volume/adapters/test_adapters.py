"""Published trees become tables: small trees made here in each layout, and organs whose regions are known."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from itertools import permutations, product
from pathlib import Path

import nibabel
import numpy as np
import pytest
import SimpleITK
from hypothesis import given, settings
from hypothesis.strategies import data, integers, sampled_from
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import CollectionError
from fovnet.records import read_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.adapters.body import find_body_slices
from fovnet.volume.adapters.gathering import Gathering, write_tables
from fovnet.volume.adapters.masked import (
    LEAST_SIMILARITY,
    UNNUMBERED_SPELLINGS,
    find_organ,
    gather_masked,
    read_mask_in_ras,
)
from fovnet.volume.adapters.organs import find_organ_extent, find_rungs
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.orient import reorder_to_closest_ras
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.grids import VolumeGrid
from fovnet.volume.volume import Volume

SPACING_MM = np.array([8.0, 8.0, 10.0])
WIDE, DEEP, TALL = 48, 30, 180  # 384 × 240 mm, 1.8 m
BODY = {  # organ: first and last slice of a person whose ends are known, columns, rows
    "tibia": (8, 45, (14, 20), (12, 18)),
    "femur_left": (46, 90, (14, 20), (12, 18)),
    "femur_right": (46, 90, (28, 34), (12, 18)),
    "hip_left": (82, 102, (10, 22), (10, 20)),
    "hip_right": (82, 103, (26, 38), (10, 20)),
    "sacrum": (88, 100, (22, 26), (6, 10)),
    "kidney_left": (108, 118, (12, 16), (8, 12)),
    "kidney_right": (107, 117, (30, 34), (8, 12)),
    "liver": (110, 126, (24, 40), (10, 24)),
    "lung_left": (120, 148, (9, 20), (8, 22)),
    "lung_right": (121, 147, (28, 39), (8, 22)),
    "heart": (124, 134, (20, 28), (12, 20)),
    "brain": (160, 174, (17, 31), (8, 22)),
}
# first slice of pelvis, abdomen, chest, head, by the convention
BORDERS = (82, 104, 127, 149)
FEET, CROWN = 2, 176  # first and last slice of the skin


@cache
def person() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """(organ masks, image, rung of each slice) of a whole body."""
    masks = {}
    for name, (first, last, columns, rows) in BODY.items():
        masks[name] = np.zeros((WIDE, DEEP, TALL), bool)
        masks[name][columns[0] : columns[1], rows[0] : rows[1], first : last + 1] = True
    image = np.random.default_rng(0).rayleigh(8, (WIDE, DEEP, TALL)).astype(np.float32)
    image[8:41, 5:25, FEET : CROWN + 1] += 300
    return masks, image, np.searchsorted(BORDERS, np.arange(TALL), side="right")


def extents(first: int, last: int, left: int = 0, right: int = WIDE, without: tuple[str, ...] = ()):
    """The organs in a segmentation of a part of the person: slices first..last, columns left..right."""
    masks = person()[0]
    return {
        name: find_organ_extent(mask[left:right, :, first : last + 1], SPACING_MM)
        for name, mask in masks.items()
        if name not in without
    }


def regions_seen(
    first: int, last: int, left: int = 0, right: int = WIDE, without: tuple[str, ...] = ()
):
    return find_rungs(
        extents(first, last, left, right, without), last - first + 1, (right - left) * SPACING_MM[0]
    )


def test_the_whole_body_has_the_borders_of_the_convention():
    rungs, reason = regions_seen(0, TALL - 1)
    assert reason == "" and np.array_equal(rungs, person()[2])


@settings(max_examples=150)
@given(data())
def test_a_part_of_the_body_is_labelled_as_in_the_whole_or_not_at_all(draw):
    """Any field of view, any organs that nobody outlined: no border is ever invented."""
    first = draw.draw(integers(0, TALL - 2))
    last = draw.draw(integers(first, TALL - 1))
    left, right = draw.draw(
        sampled_from(
            ((0, WIDE), (0, WIDE), (11, WIDE), (0, WIDE - 11), (11, WIDE - 11), (20, WIDE - 20))
        )
    )
    without = draw.draw(
        sampled_from(
            (
                (),
                (),
                ("hip_left", "hip_right"),
                ("liver",),
                ("lung_left", "lung_right"),
                ("lung_right",),
            )
        )
    )
    rungs, reason = regions_seen(first, last, left, right, without)
    assert bool(reason) != bool(len(rungs))
    if len(rungs):
        assert np.array_equal(rungs, person()[2][first : last + 1])


@pytest.mark.parametrize(
    ("first", "last", "regions"),
    [
        (106, 130, {2, 3}),  # liver dome inside, hips and lung apex outside
        (95, 125, {1, 2}),  # crest inside, dome outside
        (84, 100, {1}),  # the hips cut off at both ends
        (50, 78, {0}),  # thighs without hips
        (128, 145, {3}),  # lungs cut off at both ends, the liver below
        (152, 179, {4}),  # from the neck on
        (60, 170, {0, 1, 2, 3, 4}),
    ],
)
def test_usual_fields_of_view_are_labelled(first, last, regions):
    rungs, reason = regions_seen(first, last)
    assert reason == "" and set(rungs.tolist()) == regions


def test_what_cannot_be_known_is_reported_and_not_guessed():
    assert "no organ shows" in regions_seen(95, 125, without=("hip_left", "hip_right"))[1]
    # a narrow field beside the hips
    assert "no organ shows" in regions_seen(95, 110, left=20, right=28)[1]
    # neither lung, and only one was looked for
    assert "no organ shows" in regions_seen(113, 172, left=20, without=("lung_right",))[1]
    # the apex of one lung, the other beside the field
    assert "no organ shows" in regions_seen(107, 148, left=20)[1]
    assert (
        regions_seen(112, 119)[1] == ""
        and "no organ shows" in regions_seen(104, 106, without=("hip_left", "hip_right"))[1]
    )
    organs = extents(0, TALL - 1)
    assert (
        "contradict"
        in find_rungs({**organs, "liver": extents(0, TALL - 1)["brain"]}, TALL, 400.0)[1]
    )


def test_islands_of_a_segmentation_move_no_border():
    mask = np.zeros((20, 20, 40), bool)
    mask[5:15, 5:15, 10:20] = True
    mask[7:9, 7:9, 33] = True
    found = find_organ_extent(mask, SPACING_MM)
    assert (
        found.first_slice,
        found.last_slice,
        found.is_lower_end_seen,
        found.is_upper_end_seen,
    ) == (10, 19, True, True)


def test_an_organ_that_ends_at_a_side_of_the_volume_has_no_end():
    mask = np.zeros((20, 20, 40), bool)
    mask[10:, 5:15, 10:20] = True
    assert not find_organ_extent(mask, SPACING_MM).is_upper_end_seen
    mask[19, :, 15:] = False
    assert (
        find_organ_extent(mask, SPACING_MM).is_upper_end_seen
        and not find_organ_extent(mask, SPACING_MM).is_lower_end_seen
    )


def test_air_is_no_body():
    _, image, _ = person()
    assert find_body_slices(Volume(image, np.diag([*SPACING_MM, 1.0]), "made")) == (FEET, CROWN)
    turned = Volume(
        np.ascontiguousarray(image[:, :, ::-1]), np.diag([8.0, 8.0, -10.0, 1.0]), "made"
    )
    assert find_body_slices(turned) == (FEET, CROWN)


def run(*words: str | Path, status: int = 0) -> str:
    done = CliRunner().invoke(app, ["collect", *map(str, words)])
    assert done.exit_code == status, (done.output, done.exception)
    return done.output


def save(path: Path, voxels: np.ndarray, affine: np.ndarray | None = None) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(
        nibabel.Nifti1Image(voxels, np.diag([*SPACING_MM, 1.0]) if affine is None else affine), path
    )
    return path


def save_case(
    folder: Path, first: int, last: int, image: str = "mri.nii.gz", *, flipped: bool = False
) -> Path:
    """A part of the person as a case; `flipped` stores it from head to feet, the affine saying so."""
    masks, voxels, _ = person()
    step, affine = slice(None, None, -1 if flipped else 1), np.diag([*SPACING_MM, 1.0])
    if flipped:
        affine[2, 2], affine[2, 3] = -10.0, 10.0 * (last - first)
    for name, mask in masks.items():
        save(
            folder / "segmentations" / f"{name}.nii.gz",
            mask[:, :, first : last + 1][:, :, step].astype(np.uint8),
            affine,
        )
    # tells no region and is never opened
    save(folder / "segmentations" / "aorta.nii.gz", np.zeros((2, 2, 2), np.uint8))
    return save(folder / image, voxels[:, :, first : last + 1][:, :, step], affine)


def labels(folder: Path) -> dict[str, list[tuple[str, int, int]]]:
    collection = read_collection(folder)
    return {
        name: [(row.region, int(row.range_start), int(row.range_end)) for row in rows]
        for name, rows in collection.region_rows_by_volume.items()
    }


def asides(folder: Path) -> dict[str, str]:
    return {Path(row["path"]).name: row["kind"] for row in read_tsv(folder / "aside.tsv")}


def test_totalsegmentators_layout(tmp_path):
    tree, out = tmp_path / "set", tmp_path / "tables"
    save_case(tree / "s0001", 95, 135)
    save_case(tree / "s0002", 150, 179, flipped=True)
    save_case(tree / "s0003", 104, 109).write_bytes(b"")
    save_case(tree / "s0004", 95, 135)
    save(tree / "s0004/segmentations/liver.nii.gz", np.zeros((5, 5, 5), np.uint8))
    save_case(tree / "s0005", 95, 135, image="ct.nii.gz")
    save_case(tree / "s0006", 104, 106)
    for name in ("hip_left", "hip_right"):
        (tree / "s0006/segmentations" / f"{name}.nii.gz").unlink()
    (tree / "meta.csv").write_text(
        "image_id;age;institute;split;manufacturer;field_strength\ns0001;44;C;train;ge;1.50\n"
    )
    output = run("totalsegmentator", tree, "--out", out, status=3)
    assert "3 volumes of 3 subjects, 2 labelled" in output
    assert labels(out) == {
        "s0001": [("pelvis", 0, 8), ("abdomen", 9, 31), ("chest", 32, 40)],
        "s0002": [("head", 0, CROWN - 150)],
    }
    volumes = {row.volume_id: row for row in read_collection(out).volume_rows}
    assert dict(volumes["s0001"].attributes) == {
        "site": "C",
        "manufacturer": "ge",
        "field_strength": "1.50",
        "published_split": "train",
    }
    assert volumes["s0001"].path == tree / "s0001/mri.nii.gz" and volumes["s0001"].split == ""
    kinds = [(row["kind"], row["code"]) for row in read_tsv(out / "aside.tsv")]
    assert kinds == [
        ("broken", "volume-empty"),
        ("broken", "mask-grid"),
        ("left out", ""),
        ("not labelled", ""),
    ]


def test_one_file_of_numbered_labels_gives_the_same_regions(tmp_path):
    masks, image, _ = person()
    save_case(tmp_path / "a" / "case", 95, 135)
    numbered = np.zeros((WIDE, DEEP, 41), np.uint8)
    for number, mask in enumerate(masks.values(), start=1):
        numbered[mask[:, :, 95:136]] = number
    save(tmp_path / "b" / "case" / "segmentations.nii.gz", numbered)
    save(tmp_path / "b" / "case" / "t1.nii.gz", image[:, :, 95:136])
    (tmp_path / "labels.tsv").write_text(
        "number\tname\n" + "".join(f"{n}\t{name}\n" for n, name in enumerate(masks, start=1))
    )
    for tree, more in (("a", ()), ("b", ("--labels", tmp_path / "labels.tsv"))):
        run("organs", tmp_path / tree, "--out", tmp_path / f"{tree}-tables", *more)
    assert labels(tmp_path / "a-tables") == labels(tmp_path / "b-tables") != {}
    done = CliRunner().invoke(
        app, ["collect", "organs", str(tmp_path / "b"), "--out", str(tmp_path / "c")]
    )
    assert isinstance(done.exception, CollectionError) and done.exception.code == "collect-labels"


@pytest.mark.parametrize("dim", ["a cut without signal", "a coil that hears one end"])
def test_a_slice_in_which_an_organ_is_outlined_is_never_none(tmp_path, dim):
    """Slices outside of every row are learned as `none`: a body that is dark there is none all the same."""
    image = person()[1][:, :, 95:136].copy()
    if dim == "a cut without signal":
        image[:, :, 20] = 0
    else:
        image *= np.exp(-np.arange(41) / 8.0)
    for tree in ("a", "b"):
        save_case(tmp_path / tree / "case", 95, 135)
    save(tmp_path / "b" / "case" / "mri.nii.gz", image)
    for tree in ("a", "b"):
        run("organs", tmp_path / tree, "--out", tmp_path / f"{tree}-tables")
        assert labels(tmp_path / f"{tree}-tables") == {
            "case": [("pelvis", 0, 8), ("abdomen", 9, 31), ("chest", 32, 40)]
        }


def test_hidden_files_are_neither_images_nor_masks(tmp_path):
    """macOS writes ._mri.nii.gz beside mri.nii.gz on disks that are not its own."""
    save_case(tmp_path / "a" / "case", 95, 135)
    for path in [*(tmp_path / "a").rglob("*.nii.gz")]:
        path.with_name(f"._{path.name}").write_bytes(b"\0\5\x16\7 Mac OS X")
    run("organs", tmp_path / "a", "--out", tmp_path / "tables")
    assert labels(tmp_path / "tables").keys() == {"case"} and not asides(tmp_path / "tables")


def test_masks_of_one_organ_are_joined(tmp_path):
    """A liver in two files, and in two numbers: its dome is that of the higher part, whichever is read
    last."""
    masks, image, _ = person()
    save_case(tmp_path / "a" / "case", 95, 135)
    liver, parts = masks["liver"][:, :, 95:136], tmp_path / "a" / "case" / "segmentations"
    upper, lower = liver.copy(), liver.copy()
    upper[:, :, :25], lower[:, :, 25:] = False, False
    save(parts / "Liver.nii.gz", upper.astype(np.uint8))
    save(parts / "liver.nii.gz", lower.astype(np.uint8))
    numbered = np.zeros((WIDE, DEEP, 41), np.uint8)
    for number, mask in enumerate(masks.values(), start=1):
        numbered[mask[:, :, 95:136]] = number
    numbered[lower & (numbered == 1 + list(masks).index("liver"))] = 99
    save(tmp_path / "b" / "case" / "segmentations.nii.gz", numbered)
    save(tmp_path / "b" / "case" / "t1.nii.gz", image[:, :, 95:136])
    (tmp_path / "labels.tsv").write_text(
        "".join(f"{n}\t{name}\n" for n, name in enumerate(masks, start=1)) + "99\tliver\n"
    )
    for tree, more in (("a", ()), ("b", ("--labels", tmp_path / "labels.tsv"))):
        run("organs", tmp_path / tree, "--out", tmp_path / f"{tree}-tables", *more)
        assert labels(tmp_path / f"{tree}-tables") == {
            "case": [("pelvis", 0, 8), ("abdomen", 9, 31), ("chest", 32, 40)]
        }


def test_sessions_of_one_person_are_one_subject(tmp_path):
    for case in ("p01/ses-1", "p01/ses-2", "p02/visit1", "group/p03"):
        save_case(tmp_path / "tree" / case, 95, 135)
    run("organs", tmp_path / "tree", "--out", tmp_path / "tables")
    assert {
        row.volume_id: row.subject_id for row in read_collection(tmp_path / "tables").volume_rows
    } == {
        "p01_ses-1": "p01",
        "p01_ses-2": "p01",
        "p02_visit1": "p02",
        "group_p03": "group_p03",
    }


def test_lower_lobes_alone_do_not_tell_where_a_lung_ends():
    organs = extents(107, 172)
    lungs = {name: organs.pop(name) for name in ("lung_left", "lung_right")}
    lobes = {f"lung_lower_lobe_{side}": lungs[f"lung_{side}"] for side in ("left", "right")}
    assert find_rungs({**organs, **lungs}, 66, 400.0)[1] == ""
    assert "no organ shows" in find_rungs({**organs, **lobes}, 66, 400.0)[1]
    upper = {f"lung_upper_lobe_{side}": lungs[f"lung_{side}"] for side in ("left", "right")}
    assert find_rungs({**organs, **lobes, **upper}, 66, 400.0)[1] == ""


def test_a_mask_of_several_frames_is_refused_as_such_and_what_is_no_number_marks_nothing(tmp_path):
    for name in ("frames", "nan", "whole"):
        save_case(tmp_path / "tree" / name, 95, 135)
    parts = tmp_path / "tree"
    save(
        parts / "frames" / "segmentations" / "liver.nii.gz", np.zeros((WIDE, DEEP, 41, 3), np.uint8)
    )
    liver = person()[0]["liver"][:, :, 95:136].astype(np.float32)
    liver[0, 0, 38] = np.nan
    liver[20:40, 5:25, 36:40] = np.where(liver[20:40, 5:25, 36:40] == 0, np.nan, 1)
    save(parts / "nan" / "segmentations" / "liver.nii.gz", liver)
    run("organs", tmp_path / "tree", "--out", tmp_path / "tables", status=3)
    assert [row["code"] for row in read_tsv(tmp_path / "tables" / "aside.tsv")] == ["mask-frames"]
    assert labels(tmp_path / "tables")["nan"] == labels(tmp_path / "tables")["whole"]


def test_masks_are_known_whatever_their_capitals_and_hyphens_and_a_misspelt_one_is_asked_after(
    tmp_path,
):
    for tree in ("a", "b"):
        save_case(tmp_path / tree / "case", 95, 135)
    masks = tmp_path / "b" / "case" / "segmentations"
    for name, other in (
        ("hip_left", "Hip-Left"),
        ("lung_right", "LUNG right"),
        ("kidney_left", "kidny_left"),
    ):
        (masks / f"{name}.nii.gz").rename(masks / f"{other}.nii.gz")
    for tree in ("a", "b"):
        run("organs", tmp_path / tree, "--out", tmp_path / f"{tree}-tables")
    assert labels(tmp_path / "a-tables") == labels(tmp_path / "b-tables") != {}
    aside = read_tsv(tmp_path / "b-tables" / "aside.tsv")
    assert [row["reason"] for row in aside] == [
        "'kidny_left' is not an organ that marks a region; is 'kidney_left' meant?"
    ]


def test_organs_of_other_names_ask_nothing_and_a_case_that_has_no_others_says_what_to_call_them():
    """Of what TotalSegmentator outlines besides, nothing is taken for a misspelling."""
    others = (
        "kidney_cyst_left",
        "kidney_cyst_right",
        "heart_atrium",
        "brainstem",
        "vertebrae_T9",
        "vertebrae_L4",
        "humerus_left",
        "colon",
        "scapula_left",
        "clavicula_right",
        "stomach",
        "esophagus",
        "iliac_artery_left",
        "spinal_cord",
        "gluteus_maximus_left",
    )
    assert all(
        find_organ(name) is None
        and not get_close_matches(name.casefold(), UNNUMBERED_SPELLINGS, 1, LEAST_SIMILARITY)
        for name in others
    )
    assert {find_organ(name) for name in ("Vertebrae-t7", " liver ", "HIP LEFT")} == {
        "vertebrae_T7",
        "liver",
        "hip_left",
    }


def test_a_case_without_an_organ_that_tells_is_listed_with_what_to_call_its_masks(tmp_path):
    save_case(tmp_path / "case", 95, 135)
    masks = tmp_path / "case" / "segmentations"
    for number, path in enumerate(sorted(masks.iterdir())):
        path.rename(masks / f"structure{number}.nii.gz")
    gathered = gather_masked(tmp_path)
    assert len(gathered.volume_rows) == 1 and not gathered.region_rows
    assert [one.kind for one in gathered.aside_rows] == [
        "not labelled"
    ] and "such as liver, hip_left" in gathered.aside_rows[0].reason


def save_meta(path: Path, size: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = SimpleITK.GetImageFromArray(np.zeros(size[::-1], np.int16))
    image.SetSpacing((4.0, 0.9, 0.8))
    # first axis to the back, second to the feet, third to the left (LPS)
    image.SetDirection((0, 0, 1, 1, 0, 0, 0, -1, 0))
    SimpleITK.WriteImage(image, str(path))


def test_spiders_layout(tmp_path):
    tree, out = tmp_path / "spider", tmp_path / "tables"
    for name in ("1_t1", "1_t2", "2_t2_SPACE", "3_t1"):
        save_meta(tree / "images" / f"{name}.mha", (12, 30, 15))
        if name != "3_t1":
            save_meta(tree / "masks" / f"{name}.mha", (12, 31 if name == "1_t2" else 30, 15))
    (tree / "images" / "readme.txt").write_text("x")
    run("spider", tree, "--out", out, status=3)
    # the second axis runs to the feet
    assert labels(out) == {"1_t1": [("spine", 0, 29)], "2_t2_SPACE": [("spine", 0, 29)]}
    rows = {row.volume_id: row for row in read_collection(out).volume_rows}
    assert (rows["2_t2_SPACE"].subject_id, rows["2_t2_SPACE"].attributes["sequence"]) == (
        "2",
        "t2_SPACE",
    )
    assert asides(out) == {"1_t2.mha": "broken", "3_t1.mha": "broken", "readme.txt": "left out"}


def test_chaos_layout(tmp_path):
    tree, out = tmp_path / "Train_Sets", tmp_path / "tables"
    places = ("T1DUAL/DICOM_anon/InPhase", "T1DUAL/DICOM_anon/OutPhase", "T2SPIR/DICOM_anon")
    for subject in ("1", "20"):
        for place in places[: 3 if subject == "1" else 2]:
            (tree / "MR" / subject / place).mkdir(parents=True)
            (tree / "MR" / subject / place / "IMG-0004-00001.dcm").write_bytes(
                b"\0" * 128 + b"DICM"
            )
    (tree / "CT" / "1" / "DICOM_anon").mkdir(parents=True)
    run("chaos", tree, "--out", out)
    rows = read_collection(out).volume_rows
    assert [row.volume_id for row in rows] == [
        "1_T1-in",
        "1_T1-out",
        "1_T2-SPIR",
        "20_T1-in",
        "20_T1-out",
    ]
    assert rows[2].path == tree / "MR/1/T2SPIR/DICOM_anon" and not (out / "regions.tsv").exists()
    kinds = [row["kind"] for row in read_tsv(out / "aside.tsv")]
    assert sorted(kinds) == ["left out", "left out", *["not labelled"] * 5]


def test_ixi_layout(tmp_path):
    tree, out = tmp_path / "IXI", tmp_path / "tables"
    _, image, _ = person()
    for name in ("IXI002-Guys-0828-T1", "IXI013-HH-1212-MRA", "IXI002-Guys-0828-DTI-07", "other"):
        save(tree / f"{name}.nii.gz", image[:, :, 150:])
    (tree / "IXI600-IOP-0001-T2.nii.gz").write_bytes(b"\x1f\x8b garbage")
    run("ixi", tree, "--out", out, status=3)
    assert labels(out) == {
        "IXI002-Guys-0828-T1": [("head", 0, CROWN - 150)],
        "IXI013-HH-1212-MRA": [("head", 0, CROWN - 150)],
    }
    row = read_collection(out).volume_rows[1]
    assert (row.subject_id, row.attributes["site"], row.attributes["field_strength"]) == (
        "IXI013",
        "HH",
        "3",
    )
    assert asides(out) == {
        "IXI002-Guys-0828-DTI-07.nii.gz": "left out",
        "other.nii.gz": "left out",
        "IXI600-IOP-0001-T2.nii.gz": "broken",
    }


def test_a_bids_tree(tmp_path):
    """The nearest sidecar wins; one for another acquisition does not apply; what is no anatomical image is
    set aside with a reason."""
    tree, out = tmp_path / "ds", tmp_path / "tables"
    voxels = np.random.default_rng(0).random((6, 7, 8)).astype(np.float32)
    thick = np.diag([5.0, 1.0, 1.0, 1.0])
    save(tree / "sub-01/ses-b/anat/sub-01_ses-b_T1w.nii.gz", voxels, thick)
    save(tree / "sub-01/ses-b/anat/sub-01_ses-b_acq-low_T2w.nii", voxels)
    save(tree / "sub-01/ses-b/anat/sub-01_ses-b_part-phase_T2w.nii", voxels)
    save(tree / "sub-01/ses-b/anat/sub-01_ses-b_T1map.nii", voxels)
    save(tree / "sub-01/ses-b/func/sub-01_ses-b_task-rest_bold.nii", voxels)
    save(tree / "sub-02/anat/sub-02_T1w.nii.gz", voxels)
    save(tree / "sub-02/anat/sub-03_T1w.nii.gz", voxels)
    (tree / "sub-02/anat/sub-02_T2w.nii.gz").write_bytes(b"/annex/objects/MD5E-s1--0")
    (tree / "sub-02/anat/sub-02_PDw.nii.gz").symlink_to("gone")
    (tree / "derivatives").mkdir()
    sidecars = {
        "T1w.json": {
            "Manufacturer": "Siemens",
            "MagneticFieldStrength": 3,
            "PatientName": "Zebulon",
        },
        "acq-high_T2w.json": {"Manufacturer": "GE"},
        "sub-01/ses-b/anat/sub-01_ses-b_T1w.json": {"MagneticFieldStrength": 1.5},
    }
    for name, facts in sidecars.items():
        (tree / name).write_text(json.dumps(facts))
    # json fails of that with another error than of "{"
    (tree / "sub-02" / "sub-02_T1w.json").write_text("[" * 100_000)
    os.mkfifo(tree / "sub-02" / "anat" / "sub-02_T1w.json")
    (tree / "participants.tsv").write_text("participant_id\tage\tsex\tsite\nsub-01\t61\tF\tOslo\n")
    run("bids", tree, "--out", out, status=3)
    rows = {
        row.volume_id: (
            row.subject_id,
            {name: value for name, value in row.attributes.items() if value},
        )
        for row in read_collection(out).volume_rows
    }
    assert rows == {
        "sub-01_ses-b_T1w": (
            "sub-01",
            {
                "site": "Oslo",
                "manufacturer": "Siemens",
                "field_strength": "1.5",
                "sequence": "T1w",
                "plane": "sagittal",
                "sex": "F",
            },
        ),
        "sub-01_ses-b_acq-low_T2w": ("sub-01", {"site": "Oslo", "sequence": "T2w", "sex": "F"}),
        "sub-02_T1w": (
            "sub-02",
            {"manufacturer": "Siemens", "field_strength": "3", "sequence": "T1w"},
        ),
    }
    assert asides(out) == {
        "derivatives": "left out",
        "func": "left out",
        "sub-01_ses-b_part-phase_T2w.nii": "left out",
        "sub-01_ses-b_T1map.nii": "left out",
        "sub-02": "left out",
        "sub-03_T1w.nii.gz": "left out",
        "sub-02_T2w.nii.gz": "broken",
        "sub-02_PDw.nii.gz": "broken",
        "sub-02_T1w.json": "broken",
    }
    assert "Zebulon" not in "".join(path.read_text() for path in out.iterdir())


def test_a_broken_sidecar_of_many_images_is_one_entry_and_takes_none_of_them_away(tmp_path):
    """Inherited from the top of the data set.  Status 3 all the same: what it says of the scanner is in no
    subgroup."""
    voxels = np.random.default_rng(0).random((6, 7, 8)).astype(np.float32)
    for subject in ("sub-01", "sub-02", "sub-03"):
        save(tmp_path / "ds" / subject / "anat" / f"{subject}_T1w.nii.gz", voxels)
    (tmp_path / "ds" / "T1w.json").write_text("{")
    output = run("bids", tmp_path / "ds", "--out", tmp_path / "tables", status=3)
    assert (
        "3 volumes of 3 subjects" in output
        and "1 set aside or not labelled, 1 of them broken" in output
    )
    (row,) = read_tsv(tmp_path / "tables" / "aside.tsv")
    assert row["path"].endswith("ds/T1w.json") and (row["kind"], row["code"]) == (
        "broken",
        "sidecar",
    )
    assert "images are taken without it" in row["reason"]


def test_the_labels_count_slices_as_the_slicer_does(tmp_path):
    """A volume stored from head to feet: the row of its head is at the end of the slices, counted from the
    feet."""
    save_case(tmp_path / "s0001", 140, 179, flipped=True)
    run("totalsegmentator", tmp_path, "--out", tmp_path / "tables")
    (chest, head) = read_collection(tmp_path / "tables").region_rows_by_volume["s0001"]
    stack = slice_volume(tmp_path / "s0001/mri.nii.gz")
    assert (chest.region, chest.range_start, chest.range_end, head.range_start) == (
        "chest",
        0,
        8,
        9,
    )
    assert (
        len(stack.pixels) == 40
        and stack.pixels[int(head.range_end)].max() > 100
        and head.range_end == CROWN - 140
    )


def test_a_name_that_is_taken_or_cannot_be_one_is_set_aside_with_whose_it_is():
    gathered = Gathering()
    for name, path in (("p-1", "a.zip"), ("P-1", "b.zip"), ("a/b", "c.zip")):
        gathered.add_volume(VolumeRow(name, "p", Path(path)))
    assert [row.volume_id for row in gathered.volume_rows] == ["p-1"]
    assert [(one.path.name, one.reason) for one in gathered.aside_rows] == [
        ("b.zip", "its name 'P-1' is that of a.zip: a duplicate, or it needs another name"),
        ("c.zip", "its name 'a/b' cannot be a file name; rename it"),
    ]


def test_tables_corrected_by_hand_are_not_written_over(tmp_path):
    gathered = Gathering()
    gathered.add_volume(
        VolumeRow("a", "s", tmp_path / "in" / "a.nii"), [RegionRow("a", DEFAULT.chain[0], 0, 4)]
    )
    gathered.add_volume(VolumeRow("A", "s", tmp_path / "elsewhere.nii"))
    write_tables(tmp_path / "in", gathered)
    assert [row["path"] for row in read_tsv(tmp_path / "in" / "volumes.tsv")] == ["a.nii"]
    assert asides(tmp_path / "in") == {"elsewhere.nii": "left out"}
    before = (tmp_path / "in" / "volumes.tsv").read_bytes()
    with pytest.raises(CollectionError) as refusal:
        write_tables(tmp_path / "in", Gathering([VolumeRow("b", "s", tmp_path / "b.nii")]))
    assert (
        refusal.value.code == "collection-exists"
        and (tmp_path / "in" / "volumes.tsv").read_bytes() == before
    )
    write_tables(
        tmp_path / "in", Gathering([VolumeRow("b", "s", tmp_path / "b.nii")]), replace=True
    )
    assert [row.volume_id for row in read_collection(tmp_path / "in").volume_rows] == [
        "b"
    ] and read_collection(tmp_path / "in").region_rows_by_volume == {}


def test_a_tree_without_volumes_says_so(tmp_path):
    with pytest.raises(CollectionError) as refusal:
        write_tables(tmp_path, Gathering())
    assert refusal.value.code == "collect-nothing"


def test_an_image_without_masks_is_set_aside_with_what_it_lacks(tmp_path, made):
    (tmp_path / "case").mkdir()
    made.nifti(tmp_path / "case" / "mri.nii.gz", made.body())
    gathered = gather_masked(tmp_path)
    assert [(one.path.name, one.kind) for one in gathered.aside_rows] == [
        ("mri.nii.gz", "left out")
    ]
    assert "no masks beside it" in gathered.aside_rows[0].reason


@pytest.mark.parametrize("axes", list(permutations(range(3))))
@pytest.mark.parametrize("flips", list(product([1, -1], repeat=3)))
def test_a_mask_turned_by_45_degrees_is_counted_as_its_image_is(
    tmp_path: Path, axes: Sequence[int], flips: Sequence[int]
) -> None:
    """Where two axes are as close, the order they are stored in must not decide: a liver would lie along the
    left-right axis."""
    turn = np.array(
        [[1.0, 0, 0], [0, np.sqrt(0.5), -np.sqrt(0.5)], [0, np.sqrt(0.5), np.sqrt(0.5)]]
    )
    affine = np.eye(4)
    affine[:3, :3] = (turn * flips)[:, list(axes)]
    voxels = np.random.default_rng(0).integers(0, 2, (5, 6, 7)).astype(np.uint8)
    nibabel.save(nibabel.Nifti1Image(voxels, affine), tmp_path / "liver.nii.gz")
    grid = VolumeGrid((5, 6, 7), affine)
    marked, _ = read_mask_in_ras(tmp_path / "liver.nii.gz", grid)
    assert (
        np.array_equal(marked, reorder_to_closest_ras(Volume(voxels, affine, "image")).voxels)
        and marked.shape[2] == grid.slice_count
    )
