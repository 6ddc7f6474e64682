"""volumes.tsv and regions.tsv: what they say of each slice, and every fault in them at once."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import data, integers, lists, permutations, sampled_from

from fovnet.errors import CollectionError
from fovnet.records import write_tsv
from fovnet.regions import DEFAULT, NINE, PARTS, Vocabulary
from fovnet.volume.collection.table_rows import RegionRow, find_region
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.collection.truth import find_classes_at_heights, find_classes_of_cuts
from fovnet.volume.slices.stack import SliceStack, group_slices


def tables(folder: Path, volumes: str, regions: str | None = None) -> Path:
    """A collection written with | for tabs, so that the tests can be read."""
    (folder / "volumes.tsv").write_text(
        "\n".join(line.strip() for line in volumes.strip().splitlines()).replace("|", "\t") + "\n"
    )
    if regions is not None:
        (folder / "regions.tsv").write_text(
            "\n".join(line.strip() for line in regions.strip().splitlines()).replace("|", "\t")
            + "\n"
        )
    return folder


def faults(folder: Path, vocabulary: Vocabulary = DEFAULT) -> list[str]:
    with pytest.raises(CollectionError) as refusal:
        read_collection(folder, vocabulary)
    assert refusal.value.code == "collection-invalid"
    return refusal.value.sentence.splitlines()[1:]


def stack_of(
    slices: int, spacing_mm: float, bottom_mm: float = 0.0, target_mm: float = 3.0
) -> SliceStack:
    covers = group_slices(slices, spacing_mm, target_mm)
    affine = np.diag([1.0, 1.0, spacing_mm, 1.0])
    affine[2, 3] = bottom_mm
    pixels = np.zeros((len(covers), 128, 128), dtype=np.uint8)
    return SliceStack(
        pixels, bottom_mm + covers.mean(axis=1) * spacing_mm, covers, 128.0, affine, "made", ""
    )


VOLUMES = """
    volume_id|subject_id|path|site
    one|anna|a/one.nii.gz|Oslo
    two|bert|/elsewhere/two.nii|
    three|anna|three.nii|Rome
"""


def test_paths_are_relative_to_the_table_and_further_columns_are_attributes(tmp_path):
    collection = read_collection(tables(tmp_path, VOLUMES))
    assert [row.volume_id for row in collection.volume_rows] == ["one", "two", "three"]
    assert [row.path for row in collection.volume_rows] == [
        tmp_path / "a/one.nii.gz",
        Path("/elsewhere/two.nii"),
        tmp_path / "three.nii",
    ]
    assert dict(collection.volume_rows[0].attributes) == {"site": "Oslo"}
    assert collection.region_rows_by_volume == {}
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
    rows = read_collection(tables(tmp_path, VOLUMES, regions)).region_rows_by_volume
    assert rows["one"] == (
        RegionRow("one", "legs", 0, 9),
        RegionRow("one", "pelvis", 10, 20),
        RegionRow("one", "spine", 15, 30),
    )
    assert rows["two"] == (RegionRow("two", "chest", -20.5, 80, in_mm=True),)
    assert rows["three"] == (RegionRow("three", "none", 0, 5),)
    assert find_region("NONE", DEFAULT) == "none" and find_region("elbow", DEFAULT) is None


@given(data(), integers(2, 9))
def test_rows_of_nine_regions_read_as_five_are_their_sums(tmp_path_factory, draw, rows):
    """Each slice shows a region in a run of five where it shows one of its parts in a run of nine."""
    low = draw.draw(integers(0, 9 - rows))
    firsts = sorted(draw.draw(lists(integers(1, 29), min_size=rows, max_size=rows, unique=True)))
    table = "\n".join(
        f"one|{name}|{first}|{last - 1}"
        for name, first, last in zip(NINE.chain[low:], firsts, [*firsts[1:], 30], strict=False)
    )
    folder = tmp_path_factory.mktemp("nine")
    tables(folder, VOLUMES, "volume_id|region|first_slice|last_slice\n" + table)
    of_nine, of_five = (
        find_classes_of_cuts(
            stack_of(30, 4.0),
            read_collection(folder, vocabulary).region_rows_by_volume["one"],
            vocabulary,
        )
        for vocabulary in (NINE, DEFAULT)
    )
    for column, name in enumerate(DEFAULT.classes):
        parts = [NINE.classes.index(part) for part in PARTS.get(name, (name,))]
        assert np.array_equal(of_five[:, column], of_nine[:, parts].any(axis=1))


def test_a_word_of_the_whole_labels_all_its_parts_where_no_row_names_one(tmp_path):
    """LEG and HEAD too, by which DICOM means a lower leg and a skull, and many the whole."""
    regions = """
        volume_id|region|first_slice|last_slice
        one|Leg|0|4
        one|legs|5|9
        one|knee|8|12
        one|pelvis|13|14
        two|head|0|9
        three|skull|0|9
    """
    rows = read_collection(tables(tmp_path, VOLUMES, regions), NINE).region_rows_by_volume
    assert [row.region for row in rows["one"]] == ["legs", "legs", "knee", "pelvis"]
    assert [row.region for volume in ("two", "three") for row in rows[volume]] == ["head", "skull"]
    slices = np.arange(15)
    shown = find_classes_at_heights(1.0 * slices, slices, 15, rows["one"], NINE)
    names = [{NINE.classes[index] for index in np.flatnonzero(row)} for row in shown]
    legs = {"foot", "lower leg", "knee", "thigh"}
    assert names == [legs] * 8 + [{"knee"}] * 5 + [{"pelvis"}] * 2
    of_wholes = np.logical_or.reduceat(shown, NINE.whole_starts, axis=1)
    plain = read_collection(tmp_path, DEFAULT).region_rows_by_volume["one"]
    assert np.array_equal(
        of_wholes[:, 0], find_classes_at_heights(1.0 * slices, slices, 15, plain)[:, 0]
    )


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
        "volumes.tsv, line 3, volume_id 'one': is in line 2 already",
        "volumes.tsv, line 6, split 'test': its subject is in 'train' in line 2",
        "regions.tsv, line 2, volume_id 'onee': is not in volumes.tsv; did you mean 'one'?",
        "regions.tsv, line 3, region 'abdomn': did you mean 'abdomen'?",
        "regions.tsv, line 4, last_slice '5': is below first_slice 9; ranges run from feet to head. Are "
        "the two swapped?",
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
    named = [re.match(r"(.*), line (\d+)", one.strip()).groups() for one in found]
    places = [(table.endswith("regions.tsv"), int(line)) for table, line in named]
    # as somebody mends them: table by table, downwards
    assert places == sorted(places)


@pytest.mark.parametrize("name", ["regions.tsv", "of line 7", "mine, line 90"])
def test_faults_are_in_order_whatever_the_folder_is_called(tmp_path, name):
    (tmp_path / name).mkdir()
    volumes = "volume_id|subject_id|path\none|anna|one.nii\ntwo|anna|two.nii\nthree||three.nii"
    found = faults(
        tables(tmp_path / name, volumes, "volume_id|region|from_mm|to_mm\none|hed|0|5\ntwo||0|5")
    )
    assert [re.findall(r"(\w+)\.tsv, line (\d), ", one)[-1] for one in found] == [
        ("volumes", "4"),
        ("regions", "2"),
        ("regions", "3"),
    ]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "first_slice|last_slise",
            "no column last_slice among volume_id, region, first_slice, last_slise. Is 'last_slise' meant?",
        ),
        ("from_mm|till_mm", "no column to_mm among volume_id, region, from_mm, till_mm"),
        (
            "a|b",
            "no column first_slice, last_slice among volume_id, region, a, b. Rows need first_slice and "
            "last_slice, or from_mm",
        ),
    ],
)
def test_a_column_of_labels_that_is_misspelt_is_one_fault_of_the_header_and_not_one_of_every_row(
    tmp_path, columns, message
):
    rows = "".join(f"one|head|{at}|{at}\n" for at in range(20))
    (found,) = faults(
        tables(
            tmp_path,
            "volume_id|subject_id|path\none|a|a.nii",
            f"volume_id|region|{columns}\n{rows}",
        )
    )
    assert "regions.tsv, line 1: " + message in found


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
    assert "line 5, region 'chest': is above head" in found[1]


def test_labels_of_wholes_contradict_others_as_they_do_without_parts(tmp_path):
    """And of a part, neither overlaps nor order are asked of its whole."""
    regions = """
        volume_id|region|first_slice|last_slice
        one|legs|0|5
        one|pelvis|5|9
        two|head|0|5
        two|chest|6|9
        three|legs|0|9
        three|none|9|12
    """
    found = faults(tables(tmp_path, VOLUMES, regions))
    assert len(found) == 3 and found == faults(tmp_path, NINE)
    regions = """
        volume_id|region|first_slice|last_slice
        one|legs|0|9
        one|knee|3|5
        two|knee|0|5
        two|legs|6|9
        three|thigh|0|5
        three|knee|6|9
    """
    (fault,) = faults(tables(tmp_path, VOLUMES, regions), NINE)
    assert "line 7, region 'knee': is above thigh" in fault


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (None, "collection-missing", "no such file or folder"),
        (b"", "collection-invalid", "no column volume_id, subject_id, path among nothing"),
        (
            b"volume_id,subject_id,path\na,b,c\n",
            "collection-invalid",
            "Are the columns separated by tabs?",
        ),
        (b"volume_id\tsubject\tpath\n", "collection-invalid", "Is 'subject' meant?"),
        (b"volume_id\tsubject_id\tpath\tpath\n", "collection-invalid", "column path appears twice"),
        (
            b"volume_id\tsubject_id\tpath\n\xff\xfe\t1\t2\n",
            "collection-unreadable",
            "not a UTF-8 table",
        ),
    ],
)
def test_a_table_that_is_none_is_refused(tmp_path, text, code, message):
    if text is not None:
        (tmp_path / "volumes.tsv").write_bytes(text)
    with pytest.raises(CollectionError) as refusal:
        read_collection(tmp_path)
    assert refusal.value.code == code
    assert message in refusal.value.sentence


def test_faults_begin_with_the_file_that_was_given(tmp_path):
    (tmp_path / "notes.txt").write_text("no table\n")
    with pytest.raises(CollectionError, match=f"^{tmp_path}/notes.txt: 1 fault in the tables"):
        read_collection(tmp_path / "notes.txt")


def test_a_wrong_header_is_one_fault_and_hides_no_other(tmp_path):
    """The rows of regions.tsv are not called unknown where nobody can know the names."""
    regions = (
        "volume_id|region|first_slice|last_slice\n"
        + "\n".join(f"v{n}|legs|0|5" for n in range(50))
        + "\nv1|abdomn|6|9"
    )
    found = faults(tables(tmp_path, "volumeid|subject_id|path|split\nv0|a|x.nii|Train", regions))
    assert len(found) == 3
    assert (
        "no column volume_id among volumeid, subject_id, path, split. Is 'volumeid' meant?"
        in found[0]
    )
    assert (
        "volumes.tsv, line 2, split 'Train'" in found[1]
        and "regions.tsv, line 52, region 'abdomn'" in found[2]
    )
    regions = "volume_id|regions|first_slice|last_slice\nv9|legs|0|5"
    found = faults(tables(tmp_path, "volume_id|subject_id|file|split\nv0|a|x.nii|Train", regions))
    assert len(found) == 4
    assert (
        "no column path" in found[0]
        and "'Train'" in found[1]
        and "no column region among" in found[2]
        and "'v9'" in found[3]
    )


def test_an_open_quotation_mark_swallows_no_line(tmp_path):
    """A spreadsheet would read on until the next mark, and lose the lines between without a word."""
    volumes = 'volume_id|subject_id|path|note\none|a|1.nii|"3 mm\ntwo|b|2.nii|\nthree|c||5" coil\nfour|d|4.nii|"a|b"'
    found = faults(
        tables(tmp_path, volumes, "volume_id|region|first_slice|last_slice\none|legs|0|5")
    )
    assert len(found) == 2
    assert (
        "line 2: a quotation mark that opens a cell" in found[0] and "line 4, path ''" in found[1]
    )
    fine = read_collection(
        tables(tmp_path, 'volume_id|subject_id|path|note\none|a|1.nii|"3 ""mm"" | b"')
    )
    assert dict(fine.volume_rows[0].attributes) == {"note": '3 "mm" \t b'}


def test_a_name_that_begins_as_a_formula_is_the_same_in_a_table_that_fovnet_wrote(tmp_path):
    """Tables of collections are written with an apostrophe before it."""
    row = {"volume_id": "=1+1", "subject_id": "@x", "path": "-scans/=1+1.nii", "note": "'=y"}
    write_tsv(tmp_path / "volumes.tsv", list(row), [row])
    (read,) = read_collection(tmp_path).volume_rows
    assert (read.volume_id, read.subject_id, read.attributes["note"]) == (
        "=1+1",
        "@x",
        "'=y",
    ) and read.path == tmp_path / row["path"]


def test_a_row_under_a_long_one_is_seen_to_overlap_it(tmp_path):
    regions = "volume_id|region|first_slice|last_slice\none|legs|0|100\none|pelvis|10|20\none|abdomen|30|40"
    found = faults(tables(tmp_path, VOLUMES, regions))
    assert ["line 3" in found[0], "line 4" in found[1], len(found)] == [True, True, 2]


# volumes, each with pelvis 0-4, abdomen 5-9, chest 10-14; volume 0 stays as it is, to be contradicted
CLEAN = 8


def clean():
    """(volumes, regions) as lists of cells by column; a subject a volume, all of them training."""
    volumes = [
        {
            "volume_id": f"v{n}",
            "subject_id": f"s{n}",
            "path": f"{n}.nii",
            "split": "train",
            "site": "Oslo",
        }
        for n in range(CLEAN)
    ]
    regions = [
        {
            "volume_id": f"v{n}",
            "region": name,
            "first_slice": str(5 * rung),
            "last_slice": str(5 * rung + 4),
            "from_mm": "",
            "to_mm": "",
        }
        for n in range(CLEAN)
        for rung, name in enumerate(("pelvis", "abdomen", "chest"))
    ]
    return volumes, regions


def named(n, name):
    """A volume's name changed in both tables."""

    def plant(volumes, regions):
        volumes[n]["volume_id"] = name
        for row in regions[3 * n : 3 * n + 3]:
            row["volume_id"] = name

    return plant


def volume_cells(n, **cells):
    return lambda volumes, regions: volumes[n].update(cells)


def region_cells(n, rung, **cells):
    return lambda volumes, regions: regions[3 * n + rung].update(cells)


# kind: (table, what is planted in volume n, row of the table that is at fault, column or sentence)
FAULTS = {
    "no subject": lambda n: ("volumes", volume_cells(n, subject_id=""), n, "subject_id ''"),
    "no path": lambda n: ("volumes", volume_cells(n, path=""), n, "path ''"),
    "no file name": lambda n: ("volumes", named(n, f"a/b{n}"), n, f"volume_id 'a/b{n}'"),
    "a name too long": lambda n: ("volumes", named(n, f"{n}" + "Å" * 100), n, f"volume_id '{n}ÅÅÅ"),
    "the same name": lambda n: ("volumes", named(n, "V0"), n, "volume_id 'V0'"),
    "no split": lambda n: ("volumes", volume_cells(n, split="Train"), n, "split 'Train'"),
    "two splits": lambda n: (
        "volumes",
        volume_cells(n, subject_id="s0", split="test"),
        n,
        "split 'test'",
    ),
    "another's file": lambda n: ("volumes", volume_cells(n, path="0.nii"), n, "path '0.nii'"),
    "an extra tab": lambda n: (
        "volumes",
        volume_cells(n, site="Oslo\tRome"),
        n,
        "6 cells under 5 columns",
    ),
    "an open quote": lambda n: ("volumes", volume_cells(n, site='"Oslo'), n, "a quotation mark"),
    "unknown volume": lambda n: (
        "regions",
        region_cells(n, 1, volume_id="w"),
        3 * n + 1,
        "volume_id 'w'",
    ),
    "no volume": lambda n: ("regions", region_cells(n, 1, volume_id=""), 3 * n + 1, "volume_id ''"),
    "unknown region": lambda n: (
        "regions",
        region_cells(n, 2, region="abdomn"),
        3 * n + 2,
        "region 'abdomn'",
    ),
    "upside down range": lambda n: (
        "regions",
        region_cells(n, 0, first_slice="4", last_slice="3"),
        3 * n,
        "last_slice '3'",
    ),
    "a half slice": lambda n: (
        "regions",
        region_cells(n, 0, last_slice="3.5"),
        3 * n,
        "last_slice '3.5'",
    ),
    "a comma": lambda n: (
        "regions",
        region_cells(n, 0, first_slice="", last_slice="", from_mm="1,5", to_mm="9"),
        3 * n,
        "from_mm '1,5'",
    ),
    "no range": lambda n: (
        "regions",
        region_cells(n, 1, first_slice="", last_slice=""),
        3 * n + 1,
        "give first_slice and last_slice",
    ),
    "two ranges": lambda n: (
        "regions",
        region_cells(n, 1, from_mm="1", to_mm="2"),
        3 * n + 1,
        "not both",
    ),
    "overlap": lambda n: (
        "regions",
        region_cells(n, 1, first_slice="4"),
        3 * n + 1,
        "region 'abdomen': overlaps pelvis",
    ),
    "upside down": lambda n: (
        "regions",
        region_cells(n, 2, region="legs"),
        3 * n + 2,
        "region 'legs': is above abdomen",
    ),
    "two units": lambda n: (
        "regions",
        region_cells(n, 2, first_slice="", last_slice="", from_mm="10", to_mm="14"),
        3 * n + 2,
        "from_mm '10'",
    ),
    "said twice": lambda n: (
        "regions",
        region_cells(n, 1, region="pelvis", first_slice="0", last_slice="4"),
        3 * n + 1,
        "region 'pelvis': the same",
    ),
}


@settings(max_examples=150)
@given(
    lists(sampled_from(sorted(FAULTS)), min_size=1, max_size=5, unique=True),
    permutations(range(1, CLEAN)),
)
def test_every_planted_fault_is_reported_on_its_line_and_nothing_else(
    tmp_path_factory, kinds, places
):
    volumes, regions = clean()
    expected = []
    for kind, n in zip(kinds, places, strict=False):
        table, plant, row, message = FAULTS[kind](n)
        plant(volumes, regions)
        expected.append((f"{table}.tsv, line {row + 2}", message))
    folder = tmp_path_factory.mktemp("planted")
    for name, rows in (("volumes", volumes), ("regions", regions)):
        text = "\n".join(["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)])
        (folder / f"{name}.tsv").write_text(text + "\n")
    found = faults(folder)
    for line, message in expected:
        assert any(
            f"{line}, {message}" in fault or (f"{line}: " in fault and message in fault)
            for fault in found
        ), (line, message, found)
    assert len(found) == len(expected), found


def test_the_tables_before_planting_have_no_fault(tmp_path):
    volumes, regions = clean()
    for name, rows in (("volumes", volumes), ("regions", regions)):
        (tmp_path / f"{name}.tsv").write_text(
            "\n".join(["\t".join(rows[0]), *("\t".join(row.values()) for row in rows)])
        )
    assert len(read_collection(tmp_path).region_rows_by_volume) == CLEAN


def test_a_missing_volume_file_is_no_fault_of_the_table(tmp_path):
    assert len(read_collection(tables(tmp_path, VOLUMES)).volume_rows) == 3


def test_the_shared_collection_can_be_read(shared):
    collection = read_collection(shared / "data")
    assert len(collection.volume_rows) == 29 and len(collection.region_rows_by_volume) == 21


def test_slices_outside_every_row_are_none_and_spine_stands_beside_the_chain():
    rows = [RegionRow("v", "chest", 2, 5), RegionRow("v", "spine", 4, 7)]
    shown = find_classes_of_cuts(stack_of(10, 5.0), rows)
    names = [{DEFAULT.classes[k] for k in np.flatnonzero(row)} for row in shown]
    assert (
        names
        == [{"none"}] * 2
        + [{"chest"}] * 2
        + [{"chest", "spine"}] * 2
        + [{"spine"}] * 2
        + [{"none"}] * 2
    )


@settings(max_examples=100)
@given(data())
def test_a_cut_shows_the_region_of_its_middle_slice(draw):
    """Against a slice-by-slice lookup of the table."""
    slices = draw.draw(integers(1, 80))
    border = draw.draw(integers(0, slices - 1))
    stack = stack_of(slices, draw.draw(integers(5, 60)) / 10)
    rows = [RegionRow("v", "legs", 0, border)] + (
        [RegionRow("v", "pelvis", border + 1, slices - 1)] if border + 1 < slices else []
    )
    by_slice = ["legs"] * (border + 1) + ["pelvis"] * (slices - border - 1)
    shown = find_classes_of_cuts(stack, rows)
    assert (shown.sum(axis=1) == 1).all()
    assert [DEFAULT.classes[k] for k in shown.argmax(axis=1)] == [
        by_slice[(first + last) // 2] for first, last in stack.slice_ranges.tolist()
    ]


def test_millimetres_hold_the_cuts_between_them_and_the_lower_region_has_the_border():
    stack = stack_of(6, 10.0, bottom_mm=-20.0)
    shown = find_classes_of_cuts(
        stack,
        [RegionRow("v", "legs", -20, 0, in_mm=True), RegionRow("v", "pelvis", 0, 25, in_mm=True)],
    )
    assert [DEFAULT.classes[k] for k in shown.argmax(axis=1)] == ["legs"] * 3 + ["pelvis"] * 2 + [
        "none"
    ]
    assert (shown.sum(axis=1) == 1).all()


def test_a_slice_the_volume_does_not_have_is_refused():
    find_classes_of_cuts(stack_of(30, 1.0), [RegionRow("v", "head", 0, 29)])
    with pytest.raises(CollectionError, match="last slice is 29") as refusal:
        find_classes_of_cuts(stack_of(30, 1.0), [RegionRow("v", "head", 0, 30)])
    assert refusal.value.code == "collection-slices"


def test_millimetres_far_outside_the_volume_are_refused_and_not_taken_for_an_empty_label():
    stack = stack_of(6, 10.0, bottom_mm=-20.0)
    with pytest.raises(CollectionError, match="the volume extends from -20 to 30 mm") as refusal:
        find_classes_of_cuts(stack, [RegionRow("v", "legs", -9000, -8000, in_mm=True)])
    assert refusal.value.code == "collection-extent"
