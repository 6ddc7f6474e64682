"""`fovnet check` reads the tables that a configuration names, and not only the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from fovnet.cli import app

HEADER = "volume_id\tsubject_id\tpath\n"


def checked(folder: Path, more: str = ""):
    config = folder / "mine.yaml"
    config.write_text(
        f"results: {folder / 'out'}\ncollections: {{mine: {folder / 'data'}}}\n{more}"
    )
    return CliRunner().invoke(app, ["check", "--config", str(config)])


def test_a_folder_that_does_not_exist_is_refused_with_the_name_that_may_be_meant(tmp_path):
    (tmp_path / "datas").mkdir()
    (tmp_path / "data.txt").write_text("no folder")
    done = checked(tmp_path)
    assert done.exit_code != 0 and ": valid." not in done.output
    assert f"collections.mine: {tmp_path / 'data'}: no such folder" in str(done.exception)
    assert f"'{tmp_path / 'datas'}'?" in str(done.exception)


def test_tables_that_are_not_there_yet_are_said_to_be(tmp_path):
    (tmp_path / "data").mkdir()
    done = checked(tmp_path)
    assert done.exit_code == 3
    assert "volumes.tsv does not exist yet" in done.output and ": valid." not in done.output


def test_one_folder_under_two_names_is_refused(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(HEADER + "a\ts1\ta.nii\n")
    config = tmp_path / "mine.yaml"
    config.write_text(
        f"results: {tmp_path / 'out'}\ncollections: "
        f"{{mine: {tmp_path / 'data'}, same: {tmp_path / 'data'}}}\n"
    )
    done = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert done.exit_code != 0 and "is collection 'mine' and 'same'" in str(done.exception)


def test_a_collection_is_counted(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(
        HEADER + "a\ts1\ta.nii\nb\ts1\tb.nii\nc\ts2\tc.nii\n"
    )
    for name in "ab":
        (tmp_path / "data" / f"{name}.nii").touch()
    (tmp_path / "data" / "regions.tsv").write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\na\thead\t0\t3\n"
    )
    done = checked(tmp_path)
    assert (
        done.exit_code == 3
        and "collection mine: 3 volumes of 2 subjects, 1 labelled" in done.output
    )
    assert "1 of its files is missing" in done.output and "c.nii" in done.output


def test_a_split_that_nobody_is_in_and_a_region_without_labels_are_foreseen(tmp_path):
    """Two people: the split gives one to training, one to validation, and no test subject is left."""
    (tmp_path / "data").mkdir()
    table, labels = tmp_path / "data" / "volumes.tsv", tmp_path / "data" / "regions.tsv"
    table.write_text(HEADER + "a\ts1\ta.nii\nb\ts2\tb.nii\n")
    for name in "abc":
        (tmp_path / "data" / f"{name}.nii").touch()
    chain = ["legs", "pelvis", "abdomen", "chest", "head"]
    rows = [f"a\t{region}\t{number}\t{number}\n" for number, region in enumerate(chain)]
    labels.write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\n" + "".join(rows) + "b\thead\t0\t3\n"
    )
    done = checked(tmp_path)
    output = " ".join(done.output.split())
    assert (
        done.exit_code == 3
        and "no labelled subject for test: the 2 there are give 1 train, 1 validation, 0 test"
        in output
    )
    assert "no volume is labelled with spine:" in output and ": valid." not in output
    assert (
        "no train subject is labelled with" in output
        or "no validation subject is labelled with" in output
    )
    table.write_text(HEADER + "a\ts1\ta.nii\nb\ts2\tb.nii\nc\ts3\tc.nii\n")
    labels.write_text(labels.read_text() + "c\tspine\t0\t3\n")
    done = checked(tmp_path)
    assert done.exit_code == 0 and ": valid." in done.output
    assert "too few to promise that at most 5 % of the slices" in " ".join(done.output.split())


def test_a_region_between_others_that_nobody_labelled_is_named_all_the_same_and_said_to_be(
    tmp_path,
):
    """Nobody gets from the pelvis to the chest but through the abdomen: a decision names it where these
    touch."""
    (tmp_path / "data").mkdir()
    names = "abcdefgh"
    (tmp_path / "data" / "volumes.tsv").write_text(
        HEADER + "".join(f"{name}\ts{name}\t{name}.nii\n" for name in names)
    )
    for name in names:
        (tmp_path / "data" / f"{name}.nii").touch()
    rows = "".join(f"{name}\tpelvis\t0\t3\n{name}\tchest\t4\t9\n" for name in names)
    labels = tmp_path / "data" / "regions.tsv"
    labels.write_text("volume_id\tregion\tfirst_slice\tlast_slice\n" + rows)
    done = checked(tmp_path)
    output = " ".join(done.output.split())
    assert done.exit_code == 3 and ": valid." not in output
    assert "labelled with abdomen, which is between regions that one volume shows" in output
    assert (
        "no volume is labelled with legs, head, spine: it is never learned and never predicted"
        in output
    )
    apart = "".join(f"{name}\t{'pelvis' if name < 'e' else 'chest'}\t0\t9\n" for name in names)
    labels.write_text("volume_id\tregion\tfirst_slice\tlast_slice\n" + apart)
    assert checked(tmp_path).exit_code == 0, "scans of pelves and of chests may share a collection"
    labels.write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\n"
        + "".join(f"{name}\tnone\t0\t9\n" for name in names)
    )
    nothing = checked(tmp_path)
    assert nothing.exit_code == 3 and "there is no region to learn" in nothing.output
    labels.write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\n" + rows.replace("a\tpelvis", "a\tabdomen")
    )
    done = checked(tmp_path)
    split = next(
        word
        for word in ("train", "validation", "test")
        if f"no {word} subject is labelled with abdomen" in done.output
    )
    assert done.exit_code == 0 and split


def test_a_stretch_between_two_regions_that_no_row_tells_of_is_told_and_a_hand_in_nothing_refused(
    tmp_path,
):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(HEADER + "a\ts1\ta.nii\nb\ts2\tb.nii\n")
    labels = tmp_path / "data" / "regions.tsv"
    rows = "a\tpelvis\t0\t9\na\tabdomen\t15\t20\nb\thead\t0\t9\nb\thead\t12\t20\n"
    labels.write_text("volume_id\tregion\tfirst_slice\tlast_slice\n" + rows)
    output = " ".join(checked(tmp_path).output.split())
    assert (
        "2 stretches without a row between two regions, the first 10 to 14 in a, between pelvis and abdomen"
        in output
    )
    rows = "a\tpelvis\t0\t90\na\tabdomen\t95\t200\nb\tpelvis\t0\t90\nb\tabdomen\t190\t200\n"
    labels.write_text("volume_id\tregion\tfrom_mm\tto_mm\n" + rows)
    output = " ".join(checked(tmp_path).output.split())
    assert "1 stretch without a row between two regions, the first 90 to 190 in b" in output, (
        "rows may end at the middle of a slice"
    )
    labels.write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\na\tspine\t0\t9\na\tnone\t5\t20\n"
    )
    done = checked(tmp_path)
    assert "overlaps a `none` row (5 to 20)" in str(done.exception)


def test_a_split_given_with_an_unlabelled_volume_counts_for_its_subject(tmp_path):
    """As it does where the volumes are cut."""
    (tmp_path / "data").mkdir()
    rows = [
        f"{name}{kind}\ts{name}\t{name}{kind}.nii\t{'train' if kind == 'x' else ''}\n"
        for name in "abcdef"
        for kind in "lx"
    ]
    (tmp_path / "data" / "volumes.tsv").write_text(
        HEADER.replace("path", "path\tsplit") + "".join(rows)
    )
    for name in "abcdef":
        for kind in "lx":
            (tmp_path / "data" / f"{name}{kind}.nii").touch()
    (tmp_path / "data" / "regions.tsv").write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\n"
        + "".join(f"{name}l\thead\t0\t3\n" for name in "abcdef")
    )
    output = " ".join(checked(tmp_path).output.split())
    assert (
        "no labelled subject for validation and test: the 6 there are give 6 train, 0 validation, 0 test"
        in output
    )


def test_results_that_are_a_file_are_refused(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "out").write_text("notes")
    for results in ("out", "out/deep"):
        config = tmp_path / "mine.yaml"
        config.write_text(
            f"results: {tmp_path / results}\ncollections: {{mine: {tmp_path / 'data'}}}\n"
        )
        done = CliRunner().invoke(app, ["check", "--config", str(config)])
        assert done.exit_code != 0 and f"{tmp_path / 'out'} is a file; name a folder" in str(
            done.exception
        )


@pytest.mark.parametrize("verb", ["check", "calibrate"])
def test_results_that_cannot_be_written_are_refused_before_any_work(tmp_path, verb):
    config = tmp_path / "mine.yaml"
    config.write_text("results: /proc/results\nphantom: {subjects: 8}\n")
    done = CliRunner().invoke(app, [verb, "--config", str(config)])
    assert f"{config}: results: /proc/results: cannot be written (" in str(done.exception)


def test_too_few_simulated_people_are_foreseen(tmp_path):
    for subjects, status in ((2, 3), (8, 0)):
        (tmp_path / "mine.yaml").write_text(
            f"results: {tmp_path / 'out'}\nphantom: {{subjects: {subjects}}}\n"
        )
        done = CliRunner().invoke(app, ["check", "--config", str(tmp_path / "mine.yaml")])
        assert done.exit_code == status and ("leave a split empty" in done.output) == (status == 3)


def test_simulated_people_beside_a_collection_are_told_and_hide_no_missing_file(tmp_path):
    """A configuration made from the demonstration's trains on its simulated people too, which few mean."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(HEADER + "a\ts1\ta.nii\n")
    done = checked(tmp_path, "phantom: {subjects: 20}\n")
    output = " ".join(done.output.split())
    assert (
        done.exit_code == 3
        and "1 of its files is missing, the first" in output
        and "no labelled subject" not in output
    )
    phantom = (
        "phantom: 20 simulated subjects, 3 volumes each, which are trained on together with the collections; "
        "phantom.subjects: 0 leaves them out"
    )
    assert phantom in output


def test_every_fault_of_the_tables_is_told(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(
        HEADER + "a\ts1\ta.nii\na\ts2\tb.nii\n\ts2\tc.nii\n"
    )
    done = checked(tmp_path)
    assert isinstance(done.exception, Exception) and done.exit_code != 0
    assert "line 3" in str(done.exception) and "line 4" in str(done.exception)


def test_networks_that_are_trained_further_are_named_and_slices_that_they_do_not_know_told(
    tmp_path,
):
    """Those of the package know slices 6 mm apart; 3 mm is what is cut by default."""
    config = tmp_path / "mine.yaml"
    for spacing, differs in (("", True), ("prepare: {target_spacing_mm: 6.0}\n", False)):
        config.write_text(
            f"results: {tmp_path / 'out'}\nphantom: {{subjects: 20}}\nsearch: {{space: members}}\n{spacing}"
            "training: {begin: shipped, inputs: [slice, millimetres, sections]}\n"
        )
        done = CliRunner().invoke(app, ["check", "--config", str(config)])
        assert (
            done.exit_code == 0
            and "10 networks of" in done.output
            and "are trained further" in done.output
        )
        assert (
            "they know slices 6 mm apart, here 3 mm" in " ".join(done.output.split())
        ) == differs


def test_simulated_people_and_regions_of_ones_own_do_not_go_together(tmp_path):
    """Their labels are of the default regions, and would be refused once all are simulated."""
    (tmp_path / "own.yaml").write_text(
        "regions:\n- {name: calf, rung: 0, colour: '#0072b2'}\n- {name: head, rung: 1, colour: '#d55e00'}\n"
    )
    config = tmp_path / "mine.yaml"
    config.write_text(
        f"results: {tmp_path / 'out'}\nregions: {tmp_path / 'own.yaml'}\nphantom: {{subjects: 20}}\n"
    )
    done = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert done.exit_code == 3 and "labelled legs, pelvis, abdomen, chest, spine too" in done.output


@pytest.mark.parametrize(
    ("vocabulary", "sentence"),
    [
        (
            "default",
            "borders labelled: knee | thigh in 2 volumes, thigh | pelvis in 1 volume; "
            "knee and thigh are read as legs, which `regions: nine` tells apart",
        ),
        (
            "nine",
            "borders labelled: knee | thigh in 2 volumes, thigh | pelvis in 1 volume; "
            "not labelled: foot | lower leg, lower leg | knee, pelvis | abdomen, abdomen | chest, "
            "chest | neck, neck | skull",
        ),
    ],
)
def test_the_borders_that_are_labelled_are_told_where_parts_are(tmp_path, vocabulary, sentence):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(
        HEADER + "a\ts1\ta.nii\nb\ts2\tb.nii\nc\ts3\tc.nii\n"
    )
    (tmp_path / "data" / "regions.tsv").write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\na\tknee\t0\t3\na\tthigh\t4\t8\n"
        "b\tKnee\t0\t3\nb\tthigh\t4\t6\nb\tpelvis\t7\t8\n"
        "c\tthigh\t4\t6\nc\tpelvis\t9\t12\n"
    )
    done = checked(tmp_path, f"regions: {vocabulary}\n")
    assert f"collection mine: {sentence}\n" in " ".join(done.output.split(" ")).replace("\n ", " ")


LABELS_IN_THREE_VOLUMES = {
    "five words": (
        ["a legs 0 3", "a pelvis 4 8", "b abdomen 0 3", "b chest 4 6", "b head 7 8", "c head 0 9"],
        [
            "borders labelled: abdomen | chest in 1 volume, legs | pelvis in 1 volume, chest | head in "
            "1 volume; not labelled: foot | lower leg, lower leg | knee, knee | thigh, pelvis | "
            "abdomen, neck | skull",
            "1 volume labelled with legs: this teaches nothing of its parts; no volume is labelled with "
            "foot, lower leg, knee, thigh: never learned apart",
            "2 volumes labelled with head: this teaches nothing of its parts; no volume is labelled with "
            "neck, skull: never learned apart",
            "no volume is labelled with spine: it is never learned and never predicted",
        ],
        ["without a row", "labelled with foot: it", "skips"],
    ),
    "both": (
        # the part lies within its whole: no gap is above it, and the whole is the pelvis's neighbour
        [
            "a legs 0 9",
            "a knee 2 4",
            "a pelvis 10 12",
            "b knee 0 3",
            "b legs 4 9",
            "b pelvis 10 12",
        ],
        [
            "borders labelled: legs | pelvis in 2 volumes; not labelled: foot | lower leg, ",
            "2 volumes labelled with legs: this teaches nothing of its parts; no volume is labelled with "
            "foot, lower leg, thigh: never learned apart",
        ],
        ["without a row", "thigh | pelvis"],
    ),
    "a gap": (
        ["a legs 0 3", "a pelvis 6 8", "b legs 0 3", "b abdomen 4 9"],
        [
            "1 stretch without a row between two regions, the first 4 to 5 in a, between legs and pelvis"
        ],
        [],
    ),
    "a rung that is skipped": (
        ["a legs 0 3", "a abdomen 4 9"],
        ["no volume is labelled with pelvis, which is between regions that one volume shows"],
        [],
    ),
}


@pytest.mark.parametrize("words", LABELS_IN_THREE_VOLUMES)
def test_labels_of_wholes_are_told_to_teach_nothing_of_parts(tmp_path, words):
    rows, told, not_told = LABELS_IN_THREE_VOLUMES[words]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(
        HEADER + "a\ts1\ta.nii\nb\ts2\tb.nii\nc\ts3\tc.nii\n"
    )
    (tmp_path / "data" / "regions.tsv").write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\n"
        + "".join("\t".join(row.split()) + "\n" for row in rows)
    )
    output = " ".join(checked(tmp_path, "regions: nine\n").output.split())
    for sentence in told:
        assert sentence in output
    for sentence in not_told:
        assert sentence not in output


def test_tables_without_parts_are_told_no_borders(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "volumes.tsv").write_text(HEADER + "a\ts1\ta.nii\n")
    (tmp_path / "data" / "regions.tsv").write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\na\tlegs\t0\t3\na\tpelvis\t4\t8\n"
    )
    assert "borders" not in checked(tmp_path).output


def test_people_are_simulated_with_the_regions_of_a_vocabulary_that_has_their_parts(tmp_path):
    config = tmp_path / "nine.yaml"
    config.write_text(f"results: {tmp_path / 'out'}\nregions: nine\nphantom: {{subjects: 20}}\n")
    done = CliRunner().invoke(app, ["check", "--config", str(config)])
    assert done.exit_code == 0 and "classes foot, lower leg, knee, thigh, pelvis" in done.output
