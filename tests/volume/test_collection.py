"""volumes.tsv and regions.tsv: what they say of each slice, and every fault in them at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import data, integers

from fovnet.errors import CollectionError
from fovnet.regions import DEFAULT
from fovnet.volume.collection import RegionRow, read_collection, region_named, truth
from fovnet.volume.slices import SliceStack, groups


def tables(folder: Path, volumes: str, regions: str | None = None) -> Path:
    """A collection written with | for tabs, so that the tests can be read."""
    (folder / "volumes.tsv").write_text("\n".join(line.strip() for line in volumes.strip().splitlines()).replace("|", "\t") + "\n")
    if regions is not None:
        (folder / "regions.tsv").write_text("\n".join(line.strip() for line in regions.strip().splitlines()).replace("|", "\t") + "\n")
    return folder


def faults(folder: Path) -> list[str]:
    with pytest.raises(CollectionError) as refusal:
        read_collection(folder)
    assert refusal.value.code == "collection-invalid"
    return refusal.value.sentence.splitlines()[1:]


def stack_of(slices: int, spacing_mm: float, bottom_mm: float = 0.0, target_mm: float = 3.0) -> SliceStack:
    covers = groups(slices, spacing_mm, target_mm)
    affine = np.diag([1.0, 1.0, spacing_mm, 1.0])
    affine[2, 3] = bottom_mm
    pixels = np.zeros((len(covers), 128, 128), dtype=np.uint8)
    return SliceStack(pixels, bottom_mm + covers.mean(axis=1) * spacing_mm, covers, 128.0, affine, "made", "")


VOLUMES = """
    volume_id|subject_id|path|site
    one|anna|a/one.nii.gz|Oslo
    two|bert|/elsewhere/two.nii|
    three|anna|three.nii|Rome
"""


def test_paths_are_relative_to_the_table_and_further_columns_are_attributes(tmp_path):
    collection = read_collection(tables(tmp_path, VOLUMES))
    assert [row.volume_id for row in collection.volumes] == ["one", "two", "three"]
    assert [row.path for row in collection.volumes] == [tmp_path / "a/one.nii.gz", Path("/elsewhere/two.nii"), tmp_path / "three.nii"]
    assert dict(collection.volumes[0].attributes) == {"site": "Oslo"}
    assert collection.regions == {}
    assert read_collection(tmp_path / "volumes.tsv") == collection


def test_regions_are_read_by_any_of_their_names(tmp_path):
    regions = """
        volume_id|region|first_slice|last_slice|from_mm|to_mm
        one|Leg|0|9||
        one|PELVIS|10|20||
        one|lumbar_spine|15|30||
        two|thorax|||-20.5|80
        three|none|0|5||
    """
    rows = read_collection(tables(tmp_path, VOLUMES, regions)).regions
    assert rows["one"] == (RegionRow("one", "legs", 0, 9), RegionRow("one", "pelvis", 10, 20), RegionRow("one", "spine", 15, 30))
    assert rows["two"] == (RegionRow("two", "chest", -20.5, 80, in_mm=True),)
    assert rows["three"] == (RegionRow("three", "none", 0, 5),)
    assert region_named("NONE", DEFAULT) == "none" and region_named("elbow", DEFAULT) is None


def test_all_faults_are_listed_at_once_with_line_column_value_and_remedy(tmp_path):
    volumes = """
        volume_id|subject_id|path|split
        one|anna|one.nii|train
        one|bert|two.nii|
        |bert|three.nii|
        ../four|cleo|four.nii|training
        five|anna||test
        six|dora|six.nii||too|much
    """
    regions = """
        volume_id|region|first_slice|last_slice|from_mm|to_mm
        onee|head|0|5||
        one|abdomn|0|5||
        one|head|9|5||
        one|head|-1|5.5||
        one|head||||
        one|head|0|5|10|20
        one|head|||x|nan
    """
    found = faults(tables(tmp_path, volumes, regions))
    expected = [
        "volumes.tsv, line 7: 6 cells under 4 columns",
        "volumes.tsv, line 4, volume_id '': must be given",
        "volumes.tsv, line 5, volume_id '../four': becomes a file name",
        "volumes.tsv, line 5, split 'training': write one of train, validation, test",
        "volumes.tsv, line 6, path '': must be given",
        "volumes.tsv, line 3, volume_id 'one': stands in line 2 already",
        "volumes.tsv, line 6, split 'test': subject 'anna' is in 'train' in line 2",
        "regions.tsv, line 2, volume_id 'onee': is not in volumes.tsv; did you mean 'one'?",
        "regions.tsv, line 3, region 'abdomn': did you mean 'abdomen'?",
        "regions.tsv, line 4, last_slice '5': lies below first_slice 9",
        "regions.tsv, line 5, first_slice '-1': a whole slice number",
        "regions.tsv, line 5, last_slice '5.5': a whole slice number",
        "regions.tsv, line 6: give first_slice and last_slice, or from_mm and to_mm",
        "regions.tsv, line 7: give slices or millimetres, not both",
        "regions.tsv, line 8, from_mm 'x': a number of millimetres",
        "regions.tsv, line 8, to_mm 'nan': a number of millimetres",
    ]
    for sentence in expected:
        assert any(sentence in fault for fault in found), sentence
    assert len(found) == len(expected)


def test_two_regions_of_the_chain_cannot_share_a_slice_or_stand_upside_down(tmp_path):
    regions = """
        volume_id|region|first_slice|last_slice
        one|legs|0|5
        one|pelvis|5|9
        two|head|0|5
        two|chest|6|9
        three|spine|0|9
        three|chest|0|9
    """
    found = faults(tables(tmp_path, VOLUMES, regions))
    assert len(found) == 2
    assert "line 3, region 'pelvis': overlaps legs (0 to 5)" in found[0]
    assert "line 5, region 'chest': lies above head" in found[1]


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (None, "collection-missing", "there is no such table"),
        (b"", "collection-invalid", "no column volume_id, subject_id, path among nothing"),
        (b"volume_id,subject_id,path\na,b,c\n", "collection-invalid", "Are the columns separated by tabs?"),
        (b"volume_id\tsubject\tpath\n", "collection-invalid", "Is 'subject' meant?"),
        (b"volume_id\tsubject_id\tpath\tpath\n", "collection-invalid", "column path stands there twice"),
        (b"volume_id\tsubject_id\tpath\n\xff\xfe\t1\t2\n", "collection-unreadable", "not a UTF-8 table"),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, text, code, says):
    if text is not None:
        (tmp_path / "volumes.tsv").write_bytes(text)
    with pytest.raises(CollectionError) as refusal:
        read_collection(tmp_path)
    assert refusal.value.code == code
    assert says in refusal.value.sentence


def test_a_missing_volume_file_is_no_fault_of_the_table(tmp_path):
    assert len(read_collection(tables(tmp_path, VOLUMES)).volumes) == 3


def test_the_shared_collection_can_be_read(shared):
    collection = read_collection(shared / "data")
    assert len(collection.volumes) == 29 and len(collection.regions) == 21


def test_slices_outside_every_row_are_none_and_spine_stands_beside_the_chain():
    rows = [RegionRow("v", "chest", 2, 5), RegionRow("v", "spine", 4, 7)]
    shown = truth(stack_of(10, 5.0), rows)
    names = [{DEFAULT.classes[k] for k in np.flatnonzero(row)} for row in shown]
    assert names == [{"none"}] * 2 + [{"chest"}] * 2 + [{"chest", "spine"}] * 2 + [{"spine"}] * 2 + [{"none"}] * 2


@settings(deadline=None, max_examples=100)
@given(data())
def test_a_cut_shows_the_region_of_its_middle_slice(draw):
    """Against a slice-by-slice lookup of the table."""
    slices = draw.draw(integers(1, 80))
    border = draw.draw(integers(0, slices - 1))
    stack = stack_of(slices, draw.draw(integers(5, 60)) / 10)
    rows = [RegionRow("v", "legs", 0, border)] + ([RegionRow("v", "pelvis", border + 1, slices - 1)] if border + 1 < slices else [])
    by_slice = ["legs"] * (border + 1) + ["pelvis"] * (slices - border - 1)
    shown = truth(stack, rows)
    assert (shown.sum(axis=1) == 1).all()
    assert [DEFAULT.classes[k] for k in shown.argmax(axis=1)] == [by_slice[(first + last) // 2] for first, last in stack.covers.tolist()]


def test_millimetres_hold_the_cuts_between_them_and_the_lower_region_has_the_border():
    stack = stack_of(6, 10.0, bottom_mm=-20.0)
    shown = truth(stack, [RegionRow("v", "legs", -20, 0, in_mm=True), RegionRow("v", "pelvis", 0, 25, in_mm=True)])
    assert [DEFAULT.classes[k] for k in shown.argmax(axis=1)] == ["legs"] * 3 + ["pelvis"] * 2 + ["none"]
    assert (shown.sum(axis=1) == 1).all()


def test_a_slice_the_volume_does_not_have_is_refused():
    truth(stack_of(30, 1.0), [RegionRow("v", "head", 0, 29)])
    with pytest.raises(CollectionError, match="last slice is 29") as refusal:
        truth(stack_of(30, 1.0), [RegionRow("v", "head", 0, 30)])
    assert refusal.value.code == "collection-slices"


def test_millimetres_far_outside_the_volume_are_refused_and_not_taken_for_an_empty_label():
    stack = stack_of(6, 10.0, bottom_mm=-20.0)
    with pytest.raises(CollectionError, match="the volume reaches from -20 to 30 mm") as refusal:
        truth(stack, [RegionRow("v", "legs", -9000, -8000, in_mm=True)])
    assert refusal.value.code == "collection-extent"
