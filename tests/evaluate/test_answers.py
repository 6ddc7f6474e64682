"""Answers on disk, as `predict` writes them, are held against the truth of a collection."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.decision.answer import (
    SPANS_TABLE_COLUMNS,
    answer_facts,
    make_answer,
    make_refusal,
    table_rows,
)
from fovnet.decision.chain.spans import decide_volume
from fovnet.decision.doubts import Signs
from fovnet.decision.earlier_answers import file_record
from fovnet.decision.rule import Rule
from fovnet.errors import CollectionError, ConfigError, VolumeError
from fovnet.evaluate.answers import Matching, cases_of_answers, volume_outcomes
from fovnet.evaluate.cases import Case
from fovnet.evaluate.evaluation import evaluate
from fovnet.evaluate.matching import BY_CONTENT, BY_NAME
from fovnet.evaluate.tallies import count_case
from fovnet.records import read_json, read_tsv, write_json, write_tsv
from fovnet.regions import DEFAULT
from fovnet.report.exports.answers import read_answers
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.slices.stack import SliceStack
from fovnet.volume.sources.source import source_of

RULE = Rule(sigma_mm=0.0)
S = 20


def compared(answers: Path, folder: Path) -> tuple[list[Case], list[str], list[str]]:
    return cases_of_answers(Matching.of(answers, read_collection(folder)), DEFAULT)


def collection(folder: Path, labels: str) -> Path:
    rows = [
        f"{name}\tsubject-{name}\t{name}.nii.gz"
        for name in ("right", "half", "broken", "passed-over")
    ]
    (folder / "volumes.tsv").write_text("volume_id\tsubject_id\tpath\n" + "\n".join(rows) + "\n")
    (folder / "regions.tsv").write_text("volume_id\tregion\tfirst_slice\tlast_slice\n" + labels)
    return folder


def predicted(folder: Path, out: Path, rule: Rule = RULE) -> Path:
    """Pelvis below slice 10 and abdomen from it on are predicted for both volumes that could be read, each
    slice standing for two.

    The two lowest slices and two in the middle are dark.
    """
    pixels = np.zeros((S, 128, 128), np.uint8)
    pixels[:, 60, 60], pixels[[0, 1, 8, 9]] = 200, 9
    truth = np.eye(len(DEFAULT.classes))[np.repeat([1, 2], S // 2)]
    p = 0.9 * truth + 0.1 / len(DEFAULT.classes)
    z_mm, rows = 5.0 + 10.0 * np.arange(S), []
    for name in ("right", "half"):
        path = folder / f"{name}.nii.gz"
        covers = np.stack([2 * np.arange(S), 2 * np.arange(S) + 1], axis=1)
        stack = SliceStack(pixels, z_mm, covers, 400.0, np.eye(4), str(path), "0" * 64)
        decision = decide_volume(p, z_mm, DEFAULT, rule)
        answered = make_answer(f"renamed-{name}", str(path), decision, Signs({}), rule, DEFAULT)
        write_json(out / f"renamed-{name}.json", answer_facts(answered, stack, p, DEFAULT))
        rows += table_rows(answered, stack)
    refused = make_refusal(
        "broken",
        str(folder / "broken.nii.gz"),
        VolumeError("volume-broken", "broken.nii.gz: cut short"),
    )
    write_json(out / "broken.json", answer_facts(refused, None, None, DEFAULT))
    write_tsv(out / "spans.tsv", SPANS_TABLE_COLUMNS, rows + table_rows(refused, None))
    return out


LABELS = (
    "right\tpelvis\t0\t19\nright\tabdomen\t20\t39\n"
    "half\tpelvis\t0\t9\nhalf\tabdomen\t10\t39\nbroken\thead\t0\t9\npassed-over\thead\t0\t9\n"
)


def test_slices_are_counted_as_the_collection_counts_them(tmp_path: Path) -> None:
    """Slice 19 of the volume is in the tenth cut; of the second volume five cuts of pelvis are abdomen in
    truth."""
    answers = predicted(tmp_path, tmp_path / "answers")
    cases, lacking, beyond = compared(answers, collection(tmp_path, LABELS))
    assert beyond == []
    assert lacking == ["passed-over"] and [case.status for case in cases[2:]] == ["refused"]
    rows = list(volume_outcomes(cases, DEFAULT))
    assert [(row["right"], row["slices"]) for row in rows] == [(20, 20), (15, 20), (0, 0)]
    # of the second volume's five wrong cuts, 5 to 9
    assert [row["wrong_empty"] for row in rows] == [0, 2, 0]
    assert rows[0]["truth"] == rows[1]["predicted"] == "pelvis+abdomen"
    found = evaluate(cases, DEFAULT, bootstrap=100, seed=1).everything
    error, seen = (
        found.find("slice_error", "decided"),
        found.find("slice_error_not_dark", "decided"),
    )
    assert error is not None and (error.numerator, error.denominator) == (5, 40)
    dark = sum(int(case.is_dark.sum()) for case in cases if case.is_dark is not None)
    assert (
        seen is not None and (seen.numerator, seen.denominator) == (5 - 2, 40 - dark) and dark > 2
    )


def test_a_volume_is_as_sure_as_its_answer_says_which_black_margins_make_no_surer(
    tmp_path: Path,
) -> None:
    """The bar is held against this confidence; the mean over all slices would put volumes above it that are
    not answered."""
    answers = predicted(collection(tmp_path, LABELS), tmp_path / "answers")
    stored = read_json(answers / "renamed-right.json")
    write_json(
        answers / "renamed-right.json",
        {**stored, "confidence": 0.731, "slice_confidence": [*[1.0] * 4, *[0.731] * (S - 4)]},
    )
    cases, _, _ = compared(answers, tmp_path)
    right, half = (count_case(case, DEFAULT) for case in cases[:2])
    assert right.confidence == 0.731 and half.confidence == pytest.approx(
        np.mean(stored["slice_confidence"])
    )


def test_an_answer_on_one_labelled_file_is_not_held_against_another_of_its_name(
    tmp_path: Path,
) -> None:
    """Right's file was answered under the name that the collection gives to half, whose own was not."""
    answers = predicted(collection(tmp_path, LABELS), tmp_path / "answers")
    stored = read_json(answers / "renamed-right.json")
    for name in ("renamed-right", "renamed-half"):
        (answers / f"{name}.json").unlink()
    write_json(answers / "half.json", {**stored, "volume_id": "half"})
    rows = [
        {**row, "volume_id": "half"}
        for row in read_tsv(answers / "spans.tsv")
        if row["volume_id"] == "renamed-right"
    ]
    write_tsv(answers / "spans.tsv", SPANS_TABLE_COLUMNS, rows)
    cases, lacking, beyond = compared(answers, tmp_path)
    assert ([case.volume_id for case in cases], beyond) == (["right"], []) and "half" in lacking


def test_the_answer_on_the_labelled_file_itself_counts_and_not_one_of_its_name_on_another(
    tmp_path: Path,
) -> None:
    """Right's file was answered as renamed-right; somebody else's scan, which nobody labelled, was answered
    as right."""
    answers = predicted(collection(tmp_path, LABELS), tmp_path / "answers")
    stored = read_json(answers / "renamed-right.json")
    write_json(
        answers / "right.json",
        {
            **stored,
            "volume_id": "right",
            "path": str(tmp_path / "theirs.nii.gz"),
            "message": "theirs",
        },
    )
    rows = read_tsv(answers / "spans.tsv")
    theirs = [{**row, "volume_id": "right"} for row in rows if row["volume_id"] == "renamed-right"]
    write_tsv(answers / "spans.tsv", SPANS_TABLE_COLUMNS, [*theirs, *rows])
    cases, _, beyond = compared(answers, tmp_path)
    assert (
        cases[0].volume_id == "right"
        and cases[0].message == stored["message"] != "theirs"
        and beyond == ["right"]
    )


def test_an_answer_on_a_file_that_was_replaced_since_is_not_held_against_the_new_labels(
    tmp_path: Path,
) -> None:
    answers = predicted(collection(tmp_path, LABELS), tmp_path / "answers")
    path = tmp_path / "right.nii.gz"
    path.write_bytes(b"as it was answered")
    stored = read_json(answers / "renamed-right.json")
    write_json(answers / "renamed-right.json", {**stored, "file": file_record(source_of(path))})
    assert compared(answers, tmp_path)[0]
    os.utime(path, (1, 1))
    assert compared(answers, tmp_path)[0], "touched, and the same"
    path.write_bytes(b"cropped by somebody")
    with pytest.raises(
        CollectionError,
        match=r"right: .* is another file than the one that was answered.*answers-stale",
    ):
        compared(answers, tmp_path)


def test_an_answer_that_only_its_name_ties_to_a_labelled_file_is_reported(tmp_path: Path) -> None:
    """Somebody's scan1.nii is not somebody else's; a copy that was moved is.  And where the labelled file is
    gone, nobody can tell."""
    (tmp_path / "elsewhere").mkdir()
    answers = predicted(tmp_path / "elsewhere", tmp_path / "answers")
    (tmp_path / "volumes.tsv").write_text(
        "volume_id\tsubject_id\tpath\nrenamed-right\tp\tright.nii.gz\n"
    )
    (tmp_path / "regions.tsv").write_text(
        "volume_id\tregion\tfirst_slice\tlast_slice\nrenamed-right\tpelvis\t0\t9\n"
    )
    labelled = read_collection(tmp_path)
    for folder, held in ((tmp_path / "elsewhere", b"a head"), (tmp_path, b"an abdomen")):
        (folder / "right.nii.gz").write_bytes(held)
    stored, file = (
        read_json(answers / "renamed-right.json"),
        tmp_path / "elsewhere" / "right.nii.gz",
    )
    write_json(answers / "renamed-right.json", {**stored, "file": file_record(source_of(file))})
    assert [match.matched_by for match in Matching.of(answers, labelled).matches] == [BY_NAME]
    (tmp_path / "right.nii.gz").write_bytes(b"a head")
    assert [match.matched_by for match in Matching.of(answers, labelled).matches] == [BY_CONTENT]
    (tmp_path / "right.nii.gz").unlink()
    assert [match.matched_by for match in Matching.of(answers, labelled).matches] == [BY_NAME]
    line = ["examine", str(answers), "--truth", str(tmp_path), "--out", str(tmp_path / "examined")]
    told = CliRunner().invoke(app, [*line, "--bootstrap", "100"]).output
    assert "1 volume matched by name alone" in told and "elsewhere/right.nii.gz" in told


def test_answers_on_volumes_that_nobody_labelled_are_named(tmp_path: Path) -> None:
    answers = predicted(tmp_path, tmp_path / "answers")
    cases, _, beyond = compared(answers, collection(tmp_path, "half\tpelvis\t0\t9\n"))
    assert [case.volume_id for case in cases] == ["half"] and beyond == ["renamed-right", "broken"]


def test_an_evaluation_of_nothing_is_refused_by_name(tmp_path: Path) -> None:
    answers = predicted(tmp_path, tmp_path / "answers")
    with pytest.raises(
        CollectionError, match=r"answers-lacking|no answer for any of the 1 labelled"
    ):
        compared(answers, collection(tmp_path, "passed-over\thead\t0\t9\n"))
    with pytest.raises(CollectionError, match="no labelled volume"):
        compared(answers, collection(tmp_path, ""))
    with pytest.raises(CollectionError, match="no readable answer"):
        compared(tmp_path, collection(tmp_path, LABELS))


@pytest.mark.parametrize("content", ["{", "[]", None, '{"volume_id": "broken"}'])
def test_an_answer_that_cannot_be_read_is_named_and_not_the_table(
    tmp_path: Path, content: str | None
) -> None:
    answers = predicted(tmp_path, tmp_path / "answers")
    (answers / "broken.json").unlink() if content is None else (answers / "broken.json").write_text(
        content
    )
    with pytest.raises(CollectionError, match=r"broken\.json: no readable answer"):
        compared(answers, collection(tmp_path, LABELS))


@pytest.mark.parametrize(
    "spoil",
    [lambda table: "", lambda table: table.replace("\tpelvis\t", '\t"pelvis\t', 1)],
    ids=["empty", "quote"],
)
def test_a_table_that_was_spoilt_by_hand_loses_no_volume_without_a_word(
    tmp_path: Path, spoil: Callable[[str], str]
) -> None:
    """A quotation mark that is not closed would swallow the lines below it."""
    answers = predicted(tmp_path, tmp_path / "answers")
    (answers / "spans.tsv").write_text(spoil((answers / "spans.tsv").read_text()))
    with pytest.raises(CollectionError, match=r"spans\.tsv: no readable answer"):
        compared(answers, collection(tmp_path, LABELS))


def test_a_link_that_leads_to_itself_stops_no_examination(tmp_path: Path) -> None:
    answers = predicted(tmp_path, tmp_path / "answers")
    (tmp_path / "broken.nii.gz").symlink_to(tmp_path / "broken.nii.gz")
    cases, _, _ = compared(answers, collection(tmp_path, LABELS))
    assert [case.status for case in cases] == ["ok", "ok", "refused"]


def test_slices_of_a_resampled_volume_are_those_that_it_had(tmp_path: Path) -> None:
    """Straightened from 60 slices to 40: labels up to slice 59 are right, beyond it they are another
    volume's."""
    answers = predicted(tmp_path, tmp_path / "answers")
    stored = read_json(answers / "renamed-right.json")
    write_json(
        answers / "renamed-right.json",
        {**stored, "counted": [3 * at + 1 for at in range(S)], "counted_slices": 60},
    )
    cases, _, _ = compared(
        answers, collection(tmp_path, "right\tpelvis\t0\t29\nright\tabdomen\t30\t59\n")
    )
    assert [(row["right"], row["slices"]) for row in volume_outcomes(cases, DEFAULT)] == [(20, 20)]
    with pytest.raises(CollectionError, match="the last slice is 59"):
        compared(answers, collection(tmp_path, "right\tpelvis\t0\t60\n"))


def test_what_is_no_evaluation_is_not_written_over(tmp_path: Path) -> None:
    """Another collection's volumes.tsv, and a table of headers as `export headers` writes it."""
    answers = predicted(tmp_path, tmp_path / "answers")
    collection(tmp_path, LABELS)
    for name, content in (
        ("volumes.tsv", "volume_id\tsubject_id\tpath\n"),
        ("headers.tsv", "volume_id\tstatus\theader\n"),
        ("evaluation.json", "{}"),
    ):
        other = tmp_path / name.replace(".", "-")
        other.mkdir()
        (other / name).write_text(content)
        done = CliRunner().invoke(
            app,
            [
                "examine",
                str(answers),
                "--truth",
                str(tmp_path),
                "--out",
                str(other),
                "--bootstrap",
                "100",
            ],
        )
        assert isinstance(done.exception, ConfigError) and done.exception.code == "out-foreign", (
            name
        )
        assert [path.name for path in other.iterdir()] == [name] and (
            other / name
        ).read_text() == content
    line = [
        "examine",
        str(answers),
        "--truth",
        str(tmp_path),
        "--out",
        str(tmp_path / "own"),
        "--bootstrap",
        "100",
    ]
    assert [CliRunner().invoke(app, line).exit_code for _ in range(2)] == [3, 3]


@pytest.mark.parametrize("name", ["../elsewhere", "/tmp/elsewhere", "renamed-half"])
def test_an_answer_that_is_called_otherwise_than_its_file_is_none(
    tmp_path: Path, name: str
) -> None:
    """Exports are called as answers are: a stranger's led out of --out, where files were replaced and
    removed."""
    answers = predicted(tmp_path, tmp_path / "answers")
    stored = read_json(answers / "renamed-right.json")
    (answers / "renamed-right.json").write_text(json.dumps({**stored, "volume_id": name}))
    with pytest.raises(CollectionError, match="answers-missing"):
        read_answers(answers)
    table = (answers / "spans.tsv").read_text()
    (answers / "spans.tsv").write_text(table.replace("renamed-right", name))
    with pytest.raises(CollectionError, match="answers-missing"):
        read_answers(answers)


def test_answers_of_other_regions_are_refused_before_every_label_is_at_fault(
    tmp_path: Path,
) -> None:
    """Whoever forgets --regions learned of 71 faulty lines, and nothing of --regions."""
    answers = predicted(tmp_path, tmp_path / "answers")
    collection(tmp_path, "right\tcalf\t0\t19\nhalf\tcalf\t0\t9\n")
    (tmp_path / "own.yaml").write_text("regions:\n- {name: calf, rung: 0}\n")
    line = [
        "examine",
        str(answers),
        "--truth",
        str(tmp_path),
        "--out",
        str(tmp_path / "examined"),
        "--regions",
        str(tmp_path / "own.yaml"),
    ]
    done = CliRunner().invoke(app, line)
    assert (
        isinstance(done.exception, CollectionError)
        and done.exception.code == "answers-other-regions"
    )
    assert (
        "--regions" in done.exception.sentence
        and "faults in the tables" not in done.exception.sentence
    )


def test_labelled_volumes_without_an_answer_end_with_a_status_of_their_own(tmp_path: Path) -> None:
    """What was held against the truth is written all the same."""
    answers = predicted(tmp_path, tmp_path / "answers")
    line = [
        "examine",
        str(answers),
        "--truth",
        str(tmp_path),
        "--out",
        str(tmp_path / "examined"),
        "--bootstrap",
        "100",
    ]
    for labels, status in ((LABELS, 3), (LABELS.replace("passed-over\thead\t0\t9\n", ""), 0)):
        collection(tmp_path, labels)
        done = CliRunner().invoke(app, line)
        assert done.exit_code == status and ("passed-over" in done.output) == (status == 3)
        assert (tmp_path / "examined" / "evaluation.json").exists()


@pytest.mark.parametrize("by_region", [True, False])
def test_examine_counts_statements_where_answers_are_given_region_by_region(
    tmp_path: Path, by_region: bool
) -> None:
    """Both volumes are said to show pelvis and abdomen, and no other region: twelve statements, all right."""
    rule = Rule(sigma_mm=0.0, yes_bar=0.6, no_bar=0.6) if by_region else RULE
    answers = predicted(tmp_path, tmp_path / "answers", rule)
    collection(tmp_path, LABELS)
    done = CliRunner().invoke(
        app,
        [
            "examine",
            str(answers),
            "--truth",
            str(tmp_path),
            "--out",
            str(tmp_path / "examined"),
            "--bootstrap",
            "100",
        ],
    )
    lines = {line[:20].strip(): line for line in done.output.splitlines()}
    assert ("statements decided" in lines) == by_region
    if by_region:
        assert (
            "100.0% of 12" in lines["statements decided"]
            and "0.0% of 12" in lines["statements wrong"]
        )
        assert "100.0% of 4" in lines["surely found"]
