"""One reader's work, and several at once, on real files."""

from __future__ import annotations

import io
import os
import re
import resource
import shutil
import signal
from pathlib import Path

import nibabel
import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.errors import CollectionError, ConfigError, VolumeError
from fovnet.label.agreement import compare_readers
from fovnet.label.desk import Action, VolumeChanged
from fovnet.label.starts import gather_items
from fovnet.records import checksum, read_tsv, write_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.collection.tables import read_collection
from tests.label.conftest import NAMES, OTHER, SEEN, SESSION, SLICES

LEGS, WHOLE = ("legs", 0, 9), (("legs", 0, 9), ("pelvis", 10, 23))


def regions(out: Path) -> dict[str, list[tuple]]:
    table = read_collection(out)
    return {
        name: [(row.region, row.range_start, row.range_end) for row in rows]
        for name, rows in table.region_rows_by_volume.items()
    }


def test_what_is_labelled_is_a_collection(desk, act, volumes: Path) -> None:
    made = desk()
    for index in range(len(NAMES)):
        act(made, index, "done", *(WHOLE if index else ()))
    nothing = [("none", 0, SLICES - 1)]
    assert regions(made.out) == {NAMES[0]: nothing} | {name: [*WHOLE] for name in NAMES[1:]}
    rows = read_collection(made.out).volume_rows
    assert [row.path.resolve() for row in rows] == [
        (volumes / f"{name}.nii.gz").resolve() for name in NAMES
    ]
    assert {row.attributes["site"] for row in rows} == {"A"} and made.find_next(
        SESSION, None
    ) is None


def test_the_page_begins_with_the_prediction_and_blind_with_nothing(desk) -> None:
    told = desk().volume_facts(0)
    assert told["extents"] == told["predicted"] == [[*SEEN]] and told["message"]
    blind = desk("bo", mode="blind").volume_facts(0)
    hidden = ("extents", "predicted", "beside", "message", "attributes")
    assert not any(blind[key] for key in hidden)


def test_a_volume_has_the_grid_that_its_header_says(desk) -> None:
    told = desk().volume_facts(0)
    assert told["grid"] == {"slices": SLICES, "bottom_mm": -10.0, "step_mm": 5.0}
    assert len(told["cut_of"]) == SLICES and max(told["cut_of"]) == told["cuts"] - 1


def test_a_slice_in_original_resolution_is_that_of_the_file(desk, volumes: Path) -> None:
    """Patient's right on the left, the front on top: both axes of the array reversed, then transposed."""
    picture, wide_to_high = desk().pictures.slice_picture(0, 5)
    seen = np.asarray(Image.open(io.BytesIO(picture)), dtype=float)
    plane = nibabel.load(volumes / f"{NAMES[0]}.nii.gz").get_fdata()[::-1, ::-1, 5].T
    assert seen.shape == plane.shape and wide_to_high == pytest.approx(20 / 16)
    assert np.corrcoef(seen.ravel(), plane.ravel())[0, 1] > 0.99


def test_work_goes_on_where_it_was(desk, act) -> None:
    first = desk()
    act(first, 0, "done", LEGS)
    act(first, 1, "edit", LEGS)
    act(first, 2, "skipped")
    act(first, 3, "comment", words="=1+1")
    again = desk()
    assert again.find_next(OTHER, None) == 1 and again.volume_facts(1)["extents"] == [[*LEGS]]
    assert again.volume_facts(3)["comment"] == "=1+1" and again.volume_facts(1)["undo"]
    order = []
    while (index := again.find_next(OTHER, None)) is not None:
        order.append(index)
        act(again, index, "done", LEGS, session=OTHER)
    assert order == [1, 3, 2]  # what was skipped comes last


@pytest.mark.parametrize(
    ("what", "words"), [("skipped", None), ("comment", "odd"), ("aside", "a bottle")]
)
def test_what_nobody_has_labelled_yet_still_begins_with_the_prediction(
    desk, act, what, words
) -> None:
    """Else Enter, on its return, would say that it shows nothing."""
    made = desk()
    assert act(made, 0, what, words=words)["extents"] == [[*SEEN]]
    act(made, 0, "edit")  # the reader has removed all
    again = desk().volume_facts(0)
    assert again["extents"] == [] and again["begun"] == [[*SEEN]]


def test_what_another_process_changed_is_never_written_over(desk, act) -> None:
    one, other = desk("anna"), desk("bo")
    stale = one.volume_facts(0)["revision"]
    act(other, 0, "edit", LEGS)
    with pytest.raises(VolumeChanged):
        one.apply_action(SESSION, 0, Action("done", stale, WHOLE))
    act(other, 0, "done", LEGS)
    assert regions(one.out) == {NAMES[0]: [LEGS]}
    seen = one.volume_facts(0)
    assert seen["extents"] == [[*LEGS]] and seen["beside"][0]["reader"] == "bo"
    act(one, 0, "done", *WHOLE)  # knowing it, it may be corrected
    assert regions(one.out) == {NAMES[0]: [*WHOLE]}


def test_the_list_says_what_is_done_and_what_is_left(desk, act) -> None:
    made = desk()
    act(made, 1, "done", *WHOLE)
    act(made, 2, "skipped")
    states = ("left", "done", "skipped", "left")
    assert made.list_volumes() == [*zip(range(4), NAMES, states, strict=True)]


def test_two_windows_are_given_different_volumes(desk) -> None:
    made = desk()
    first = made.find_next(SESSION, None)
    made.apply_action(SESSION, first, Action("shown", 0))
    assert made.find_next(OTHER, None) != first == made.find_next(SESSION, None)


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (Action("done", 0, (("legs", 0, SLICES),)), "label-unlawful"),
        (Action("done", 0, (("legs", 0, 3), ("head", 4, 9))), "label-unlawful"),
        (Action("done", 0), "label-action"),
        (Action("aside", 0, None, " "), "label-action"),
        (Action("delete", 0), "label-action"),
    ],
)
def test_what_is_no_label_is_refused_and_not_in_the_log(desk, action: Action, code: str) -> None:
    made = desk()
    before = made.log.path.read_bytes()
    with pytest.raises(CollectionError) as fault:
        made.apply_action(SESSION, 0, action)
    assert fault.value.code == code and made.log.path.read_bytes() == before


def test_what_cannot_be_labelled_is_set_aside_with_its_reason(desk, act) -> None:
    made = desk()
    act(made, 0, "aside", words="a bottle")
    assert regions(made.out) == {} and read_tsv(made.out / "aside.tsv")[0]["reason"] == "a bottle"


def test_a_volume_that_cannot_be_read_says_why_and_stops_nothing(
    desk, act, volumes, tmp_path: Path
) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(volumes, folder)
    (folder / f"{NAMES[0]}.nii.gz").write_bytes(b"\x1f\x8b no volume")
    made = desk(starts=(folder,))
    assert NAMES[0] in made.volume_facts(0)["fault"]
    act(made, 0, "aside", words="broken")
    assert made.find_next(SESSION, 0) == 1


def test_labels_that_exist_are_done_and_stay_as_they_were(
    desk, act, volumes, tmp_path: Path
) -> None:
    """In millimetres too: -10 to 40 mm are the ten lowest slices."""
    folder = tmp_path / "started"
    folder.mkdir()
    table = (volumes / "volumes.tsv").read_text()
    (folder / "volumes.tsv").write_text(re.sub(r"(\S+\.nii\.gz)", rf"{volumes}/\1", table))
    columns = ("volume_id", "region", "first_slice", "last_slice", "from_mm", "to_mm")
    rows = [
        dict(zip(columns, (NAMES[0], "legs", "", "", -10, 40), strict=True)),
        dict(zip(columns, (NAMES[1], "head", 3, 5, "", ""), strict=True)),
    ]
    write_tsv(folder / "regions.tsv", columns, rows)
    made = desk(starts=(folder,))
    assert regions(made.out) == regions(folder) and made.find_next(SESSION, None) == 2
    assert made.volume_facts(0)["extents"] == [["legs", 0, 9]]
    again = desk(starts=(volumes,))  # the table is not named any more
    assert regions(again.out) == regions(folder)
    act(again, 0, "done", *WHOLE)
    assert regions(again.out)[NAMES[0]] == [*WHOLE]


def test_two_readers_and_a_third(desk, act) -> None:
    one, two = desk("anna"), desk("bo", mode="blind")
    for index in range(3):
        act(one, index, "done", *WHOLE)
        act(two, index, "done", *(WHOLE if index < 2 else (("legs", 0, 13), ("pelvis", 14, 23))))
    found = compare_readers(one.out, DEFAULT)
    assert [(row["volume_id"], row["what"], row["settled"]) for row in found.difference_rows] == [
        (NAMES[2], "upper end of legs: 20 mm apart; lower end of pelvis: 20 mm apart", "no")
    ]
    alike = next(m for m in found.measures_by_readers["anna", "bo"] if m.name == "slices_alike")
    assert (alike.numerator, alike.denominator) == (3 * SLICES - 4, 3 * SLICES)
    assert NAMES[2] not in regions(one.out)
    third = desk("cleo", mode="third")
    assert third.find_next(SESSION, None) == 2 and len(third.volume_facts(2)["beside"]) == 2
    act(third, 2, "done", *WHOLE)
    assert third.find_next(SESSION, None) is None and NAMES[2] in regions(one.out)


def test_subjects_that_are_corrected_by_hand_stay(desk, answers: Path) -> None:
    made = desk(starts=(answers,))
    assert {one.row.subject_id for one in made.items} == {"sub-1", "sub-2", "z<script>alert(1)<"}
    assert all(one.is_subject_guessed for one in made.items)
    table = made.out / "volumes.tsv"
    table.write_text(table.read_text().replace("\tsub-2\t", "\tsub-1\t"))
    again = desk(starts=(answers,))
    assert (
        "sub-2" not in {one.row.subject_id for one in again.items}
        and "\tsub-2\t" not in table.read_text()
    )


def test_tables_that_are_not_a_labellings_are_not_touched(desk, volumes, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    shutil.copytree(volumes, out)
    with pytest.raises(CollectionError, match="would be overwritten") as fault:
        desk(out=out)
    assert fault.value.code == "collection-exists" and not (out / "label-log.jsonl").exists()


def test_a_full_disk_is_said_and_leaves_the_log_whole(desk, act) -> None:
    made = desk()
    act(made, 0, "done", LEGS)
    before = made.log.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, hard))
    try:
        with pytest.raises(OSError):
            act(made, 1, "done", LEGS)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert made.log.path.read_bytes() == before
    act(made, 1, "done", LEGS)


def test_a_folder_of_neither_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CollectionError) as fault:
        gather_items([tmp_path], DEFAULT)
    assert fault.value.code == "label-start" and not [*tmp_path.iterdir()]


def other_body_part(path: Path) -> None:
    """Another picture on the same grid."""
    image = nibabel.load(path)
    voxels = np.random.default_rng(9).integers(100, 200, image.shape).astype(np.int16)
    nibabel.save(nibabel.Nifti1Image(voxels, image.affine), path)


def fewer_slices(path: Path) -> None:
    image = nibabel.load(path)
    voxels = np.asarray(image.dataobj)[:, :, : SLICES // 2].copy()
    nibabel.save(nibabel.Nifti1Image(voxels, image.affine), path)


def other_header(path: Path) -> None:
    """The same voxels, placed elsewhere."""
    image = nibabel.load(path)
    nibabel.save(
        nibabel.Nifti1Image(np.asarray(image.dataobj).copy(), np.diag([10, 10, 5, 1])), path
    )


def another_volume(path: Path) -> None:
    shutil.copyfile(path.with_name(f"{NAMES[1]}.nii.gz"), path)


def another_volume_of_its_times(path: Path) -> None:
    shutil.copy2(path.with_name(f"{NAMES[1]}.nii.gz"), path)


def a_link_to_another_volume(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name(f"{NAMES[1]}.nii.gz"))


def touched(path: Path) -> None:
    os.utime(path, (1, 1))


def copied(path: Path) -> None:
    other = path.with_name("copy")
    shutil.copyfile(path, other)
    other.replace(path)


def moved_behind_a_link(path: Path) -> None:
    path.rename(path.with_name("moved.nii.gz"))
    path.symlink_to(path.with_name("moved.nii.gz"))


OTHERS = (
    other_body_part,
    fewer_slices,
    other_header,
    another_volume,
    another_volume_of_its_times,
    a_link_to_another_volume,
)


@pytest.fixture
def own_volumes(volumes: Path, answers: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Volumes that may be changed, and answers on them."""
    folder = Path(shutil.copytree(volumes, tmp_path / "own"))
    own_answers = Path(shutil.copytree(answers, tmp_path / "own answers"))
    for path in own_answers.glob("*.*"):
        path.write_text(path.read_text().replace(str(volumes), str(folder)))
    return folder, own_answers


@pytest.mark.parametrize("change", [*OTHERS, touched, copied, moved_behind_a_link])
def test_a_prediction_is_offered_on_the_file_it_was_made_on_alone(
    desk, act, own_volumes, change
) -> None:
    """And it counts as wrong or right on that file alone."""
    folder, own_answers = own_volumes
    change(folder / f"{NAMES[0]}.nii.gz")
    made = desk(starts=(own_answers,))
    told, same = made.volume_facts(0), change not in OTHERS
    assert (told["predicted"] == told["extents"] == [[*SEEN]]) == same
    assert (told["predicted"] is None) != same and (told["extents"] == []) != same
    assert ("another than the one that was predicted" in told["message"]) != same
    state = act(made, 0, "done", LEGS)
    assert (state["progress"]["wrong"] is not None) == same
    assert desk(starts=(own_answers,)).progress_facts() == state["progress"], "after a new start"


@pytest.mark.parametrize("change", OTHERS)
def test_a_label_is_offered_on_the_file_it_was_made_on_alone(
    desk, act, own_volumes, change
) -> None:
    folder, own_answers = own_volumes
    first = desk("anna", starts=(own_answers,))
    act(first, 0, "done", *WHOLE)
    assert desk("bo", starts=(own_answers,)).volume_facts(0)["extents"] == [[*one] for one in WHOLE]
    change(folder / f"{NAMES[0]}.nii.gz")
    for reader in ("bo", "anna"):
        told = desk(reader, starts=(own_answers,)).volume_facts(0)
        assert told["extents"] == [] and "made on another file" in told["message"]
    assert (
        "made on another"
        not in desk("cleo", starts=(own_answers,), mode="blind").volume_facts(0)["message"]
    )


@pytest.mark.parametrize("change", OTHERS)
def test_what_was_offered_nothing_is_not_settled_without_a_word(
    desk, act, own_volumes, change
) -> None:
    """Enter alone said "shows none" of a file that nobody had predicted; saying so first is a label."""
    folder, own_answers = own_volumes
    change(folder / f"{NAMES[0]}.nii.gz")
    made = desk(starts=(own_answers,))
    assert made.volume_facts(0)["unoffered"] and not made.volume_facts(1)["unoffered"]
    with pytest.raises(CollectionError, match="label-action"):
        act(made, 0, "done")
    assert made.progress_facts()["done"] == 0 and regions(made.out) == {}
    assert not act(made, 0, "edit")["unoffered"]
    assert act(made, 0, "done")["progress"]["done"] == 1
    assert not desk("bo", starts=(own_answers,), mode="blind").volume_facts(0)["unoffered"]


@pytest.mark.parametrize("is_predicted_anew", [True, False])
@pytest.mark.parametrize("change", [*OTHERS, touched, copied, moved_behind_a_link])
def test_a_label_of_another_file_does_not_count_and_is_in_no_table(
    desk, act, own_volumes, change, is_predicted_anew
) -> None:
    """Whether `predict` was given again or not; it is asked for again, and counts again once it is made."""
    folder, own_answers = own_volumes
    path = folder / f"{NAMES[0]}.nii.gz"
    first = desk("anna", starts=(own_answers,))
    act(first, 0, "done", *WHOLE)
    before = checksum(path)
    change(path)
    if is_predicted_anew:
        answer = own_answers / f"{NAMES[0]}.json"
        answer.write_text(answer.read_text().replace(before, checksum(path)))
    second, same = desk("anna", starts=(own_answers,)), change not in OTHERS
    assert second.volumes_of_replaced_files == ([] if same else [NAMES[0]])
    assert (
        second.progress_facts()["done"] == int(same)
        and (second.list_volumes()[0][2] == "done") == same
    )
    for table in ("regions.tsv", "readings.tsv"):
        assert (NAMES[0] in (second.out / table).read_text()) == same, table
    state = act(second, 0, "done", LEGS)
    assert state["progress"]["done"] == 1 and regions(second.out) == {NAMES[0]: [LEGS]}
    third = desk("anna", starts=(own_answers,))
    assert third.progress_facts()["done"] == 1 and third.volumes_of_replaced_files == []


def test_labels_of_a_file_that_was_replaced_since_count_in_no_agreement(
    desk, act, own_volumes
) -> None:
    """Not beside each other, nor beside a label of the file that is there now."""
    folder, own_answers = own_volumes
    desks = [desk("anna", starts=(own_answers,)), desk("bo", starts=(own_answers,), mode="blind")]
    for reader_desk in desks:
        for index in range(2):
            act(reader_desk, index, "done", *WHOLE)
    comparison = compare_readers(desks[0].out, DEFAULT)
    assert comparison.volume_count_by_readers == {("anna", "bo"): 2}
    assert comparison.replaced_volume_ids == []
    another_volume(folder / f"{NAMES[0]}.nii.gz")
    for _ in range(2):
        comparison = compare_readers(desks[0].out, DEFAULT)
        assert comparison.volume_count_by_readers == {("anna", "bo"): 1}
        assert comparison.replaced_volume_ids == [NAMES[0]]
        act(desk("bo", starts=(own_answers,), mode="blind"), 0, "done", LEGS)


def test_a_slice_of_another_file_is_not_shown_beside_cuts_of_the_first(desk, own_volumes) -> None:
    folder, own_answers = own_volumes
    made = desk(starts=(own_answers,))
    made.volume_facts(0)
    other_body_part(folder / f"{NAMES[0]}.nii.gz")
    with pytest.raises(VolumeError, match="volume-changed"):
        made.pictures.slice_picture(0, 5)


@pytest.mark.parametrize("table", ["regions.tsv", "aside.tsv", "readings.tsv"])
def test_what_is_in_the_log_is_saved_and_the_tables_follow(desk, act, table: str) -> None:
    """A folder in a table's place stops its writing as a full disk does."""
    made = desk()
    act(made, 0, "done", LEGS)
    (made.out / table).unlink()
    (made.out / table / "in the way").mkdir(parents=True)
    state = act(made, 1, "done", LEGS)
    assert state["mark"] == "done" and state["progress"]["done"] == 2
    assert state["progress"]["unwritten"].startswith("saved; the tables follow") and table in str(
        state
    )
    act(made, 1, "edit", *WHOLE)  # doing more is no conflict
    shutil.rmtree(made.out / table)
    assert made.progress_facts()["unwritten"] == ""
    assert (made.out / table).is_file() and regions(made.out) == {
        NAMES[0]: [LEGS],
        NAMES[1]: [*WHOLE],
    }


def test_answers_and_labels_do_not_share_a_folder(answers: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(answers)
    for out in (answers, link, answers / ".." / answers.name):
        fault = CliRunner().invoke(app, ["label", str(answers), "--out", str(out)]).exception
        assert isinstance(fault, CollectionError) and fault.code == "label-out-in-answers"
    assert not (answers / "label-log.jsonl").exists()


@pytest.mark.parametrize("command", [("predict",), ("predict", "--no-faces"), ("shard", "survey")])
def test_answers_are_not_written_among_labels(
    desk, act, volumes: Path, command: tuple[str, ...]
) -> None:
    made = desk()
    act(made, 0, "done", LEGS)
    before = sorted(made.out.rglob("*"))
    fault = CliRunner().invoke(app, [*command, str(volumes), "--out", str(made.out)]).exception
    assert isinstance(fault, ConfigError) and fault.code == "out-labels"
    assert sorted(made.out.rglob("*")) == before


@pytest.mark.parametrize(
    ("what", "extents", "words"),
    [
        ("edit", (LEGS,), None),
        ("done", WHOLE, None),
        ("skipped", None, None),
        ("aside", None, "a bottle"),
        ("comment", None, "odd"),
        ("undo", None, None),
    ],
)
def test_an_action_sent_again_as_its_answer_was_lost_is_not_done_twice(
    desk, what, extents, words
) -> None:
    """Another one, and the same from another window, is still a change by somebody else."""
    made = desk()
    made.apply_action(SESSION, 0, Action("edit", 0, (("head", 0, 3),)))
    action = Action(what, 1, extents, words)
    first = made.apply_action(SESSION, 0, action)
    log = made.log.path.read_bytes()
    again = made.apply_action(SESSION, 0, action)
    assert again == first and made.log.path.read_bytes() == log
    for session, other in ((OTHER, action), (SESSION, Action("comment", 1, None, "another"))):
        with pytest.raises(VolumeChanged):
            made.apply_action(session, 0, other)
