"""Parts of regions beside their labels: counted by hand, as regions of a vocabulary of their own, and by
`fovnet examine`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.decision.answer import answer_facts, span_columns, table_rows
from fovnet.evaluate.cases import Case
from fovnet.evaluate.comparison import compare_evaluations
from fovnet.evaluate.evaluation import Evaluation, evaluate
from fovnet.evaluate.parts import PartEvaluation
from fovnet.evaluate.reading import read_case_fields
from fovnet.evaluate.writing import write_evaluation
from fovnet.records import read_json, read_tsv, write_json, write_tsv
from fovnet.regions import DEFAULT, NINE, Vocabulary
from fovnet.volume.collection.truth import divide_labels
from tests.decision.test_division import (
    BODY,
    JUDGE,
    JUDGE_OF_PARTS,
    LEG,
    STEP_MM,
    answer_on,
    outputs_on,
    stack_with,
)

HEAD = ["neck"] * 4 + ["skull"] * 6


def facts_on(names: Sequence[str], volume_id: str = "a", judge=JUDGE_OF_PARTS):
    """The JSON, as read, and the rows of spans.tsv of an answer on slices that look so."""
    stack = stack_with(len(names))
    raw_probabilities = judge.mean_probabilities(outputs_on(list(names)))
    answer = replace(answer_on(list(names), judge), volume_id=volume_id, path=f"{volume_id}.nii")
    return answer_facts(answer, stack, raw_probabilities, DEFAULT), table_rows(answer, stack)


def labels_of(names: Sequence[str]) -> np.ndarray:
    """(s, k) in NINE of classes, of "legs" and "head" with all their parts, and of "spine+chest"."""
    labels = np.zeros((len(names), len(NINE.classes)), dtype=bool)
    for row, name in zip(labels, names, strict=True):
        for word in name.split("+"):
            for part in NINE.parts.get(word, (word,)):
                row[NINE.classes.index(part)] = True
    return labels


def case_of(tmp_path: Path, answered: Sequence[str], labelled: Sequence[str], name: str) -> Case:
    facts, _ = facts_on(answered, name)
    stored = read_json(write_json(tmp_path / f"{name}.json", facts))
    truth, part_truth = divide_labels(labels_of(labelled), NINE)
    z_mm = STEP_MM * np.arange(len(answered))
    return Case(
        volume_id=name,
        subject_id=name,
        collection="",
        attributes={},
        z_mm=z_mm,
        edges_mm=np.append(z_mm, z_mm[-1] + STEP_MM) - STEP_MM / 2,
        truth=truth,
        part_truth=part_truth,
        pixels=None,
        **read_case_fields(stored),
    )


def parts_of(cases: Sequence[Case]) -> PartEvaluation:
    parts = evaluate(cases, DEFAULT, bootstrap=50, seed=1, network_vocabulary=NINE).parts
    assert parts is not None
    return parts


def ratio(parts: PartEvaluation, name: str, region: str = "") -> tuple[float | None, int]:
    measure = parts.find(name, region)
    assert measure is not None
    return measure.numerator, measure.denominator


def test_statements_are_counted_against_ten_millimetres_of_labels(tmp_path: Path) -> None:
    parts = parts_of(
        [
            case_of(tmp_path, LEG, LEG, "right"),
            # 8 mm of neck are fewer than 10: its yes is wrong
            case_of(tmp_path, HEAD, ["neck", *["skull"] * 9], "high"),
        ]
    )
    assert parts.parts_by_region == NINE.parts
    assert ratio(parts, "statements_decided") == (12, 12)
    assert ratio(parts, "yes_wrong") == (1, 6)
    assert ratio(parts, "yes_wrong", "neck") == (1, 1)
    assert ratio(parts, "no_wrong") == (0, 6)
    assert ratio(parts, "surely_found") == (5, 5)
    assert ratio(parts, "surely_found", "knee") == (1, 1)
    high, right = parts.volumes
    assert high.wrong_yes == ("neck",) and high.truth == ("skull",)
    assert right.shows == right.truth == NINE.parts["legs"] and right.unknown == ()


def test_labels_of_a_whole_or_of_a_spine_alone_tell_of_no_part_but_those_beside_them(
    tmp_path: Path,
) -> None:
    parts = parts_of(
        [
            case_of(tmp_path, LEG, ["legs"] * len(LEG), "whole"),
            case_of(tmp_path, LEG, [*["legs"] * 11, *LEG[11:]], "upper"),
            case_of(tmp_path, HEAD, ["spine"] * len(HEAD), "spine"),
        ]
    )
    spine, upper, whole = parts.volumes
    assert spine.unknown == NINE.part_names
    assert whole.unknown == NINE.parts["legs"]
    assert upper.unknown == ("foot", "lower leg") and upper.truth == ("knee", "thigh")
    # of the heads that the legs do not show it is told; of the spine nothing
    assert ratio(parts, "statements_decided") == (6, 6)
    # a border is judged where the slices on both of its sides are told
    assert [border.kind for border in parts.borders] == ["knee|thigh"]


def test_borders_are_measured_with_their_sign_and_missed_where_the_region_is_not_sure(
    tmp_path: Path,
) -> None:
    higher = ["foot"] * 3 + ["lower leg"] * 8 + ["knee"] * 6 + ["thigh"] * 7
    fewer = ["knee"] * 8 + ["thigh"] * 16
    parts = parts_of(
        [
            case_of(tmp_path, LEG, higher, "higher"),
            case_of(tmp_path, LEG, fewer, "fewer"),
            case_of(tmp_path, ["chest"] * 24, LEG, "chest"),
        ]
    )
    errors = {(border.volume_id, border.kind): border.error_mm for border in parts.borders}
    assert errors["higher", "knee|thigh"] == pytest.approx(-2 * STEP_MM)
    assert errors["higher", "lower leg|knee"] == pytest.approx(0.0)
    assert errors["fewer", "knee|thigh"] == pytest.approx(7 * STEP_MM)
    assert ratio(parts, "border_missed", "knee|thigh") == (1, 3)
    assert ratio(parts, "border_invented", "foot|lower leg") == (1, 2)
    assert ratio(parts, "border_within_10_mm", "parts") == (2, 7)
    assert ratio(parts, "border_within_15_mm", "parts") == (2, 7)
    assert ratio(parts, "border_within_15_mm", "neck|skull") == (0, 0)
    signed = parts.find("border_signed_median_mm", "knee|thigh")
    assert signed is not None and signed.denominator == 2
    assert signed.value == pytest.approx(2.5 * STEP_MM)
    intervals = parts.find("border_interval_holds", "lower leg|knee")
    assert intervals is not None and intervals.denominator == 1


def alone(case: Case, parts: Vocabulary) -> Case:
    """The same volume, had its networks known the parts of the legs and nothing else."""
    answers = case.part_answers
    assert answers is not None and case.part_truth is not None
    columns = [NINE.part_names.index(part) for part in parts.chain]
    truth = np.column_stack([case.part_truth[:, columns], ~case.part_truth[:, columns].any(axis=1)])
    decided = np.zeros_like(truth)
    for span in answers.spans:
        within = (span.from_mm < case.z_mm) & (case.z_mm < span.to_mm)
        decided[within, parts.classes.index(span.region)] = True
    decided[:, -1] = ~decided.any(axis=1)
    return replace(
        case,
        truth=truth,
        decided_labels=decided,
        decided_borders=answers.borders,
        raw_probabilities=decided.astype(float),
        smoothed_probabilities=decided.astype(float),
        statements=tuple(one for one in answers.statements if one.region in parts.chain),
        part_truth=None,
        part_answers=None,
    )


def test_figures_are_those_of_a_vocabulary_of_the_parts_alone(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    cases = []
    for number in range(8):
        counts = rng.integers(2, 9, (2, 4))
        answered, labelled = (np.repeat(NINE.parts["legs"], row)[:14].tolist() for row in counts)
        short = min(len(answered), len(labelled))
        cases.append(case_of(tmp_path, answered[:short], labelled[:short], str(number)))
    parts_of_legs = NINE.part_vocabulary("legs")
    apart = evaluate(
        [alone(case, parts_of_legs) for case in cases], parts_of_legs, bootstrap=50, seed=1
    ).everything
    beside = parts_of(cases)
    for name in ("statements_decided", "statements_wrong", "yes_wrong", "no_wrong", "surely_found"):
        for part in parts_of_legs.chain:
            assert beside.find(name, part) == apart.find(name, "", part)
    for kind in ("foot|lower leg", "lower leg|knee", "knee|thigh"):
        for measure in beside.measures:
            if measure.region == kind and measure.name != "border_within_15_mm":
                assert measure == apart.find(measure.name, "decided", kind)


VOLUMES = {"leg": LEG, "body": BODY, "neck": HEAD}


def answers_in(folder: Path, judge=JUDGE_OF_PARTS) -> Path:
    rows = []
    for name, names in VOLUMES.items():
        facts, volume_rows = facts_on(names, name, judge)
        write_json(folder / f"{name}.json", facts)
        rows += volume_rows
    write_tsv(folder / "spans.tsv", span_columns(NINE.part_names), rows)
    return folder


def collection_in(folder: Path, rows: Sequence[tuple[str, str, int, int]]) -> Path:
    folder.mkdir()
    volume_rows = [
        {"volume_id": name, "subject_id": name, "path": f"../answers/{name}.nii"}
        for name in VOLUMES
    ]
    write_tsv(folder / "volumes.tsv", ("volume_id", "subject_id", "path"), volume_rows)
    columns = ("volume_id", "region", "first_slice", "last_slice")
    write_tsv(
        folder / "regions.tsv", columns, [dict(zip(columns, row, strict=True)) for row in rows]
    )
    return folder


NINE_WORDS = [
    ("leg", "foot", 0, 2),
    ("leg", "lower leg", 3, 10),
    ("leg", "knee", 11, 14),
    ("leg", "thigh", 15, 23),
    ("body", "legs", 0, 23),
    ("body", "pelvis", 24, 31),
    ("body", "abdomen", 32, 40),
    ("body", "chest", 41, 49),
    ("body", "neck", 50, 53),
    ("body", "skull", 54, 59),
    ("neck", "skull", 0, 9),
]
FIVE_WORDS = [
    ("leg", "legs", 0, 23),
    *(row for row in NINE_WORDS if row[0] == "body" and row[2] < 50),
    ("body", "head", 50, 59),
    ("neck", "head", 0, 9),
]


def examine(answers: Path, labels: Path, out: Path, *regions: str) -> str:
    options = ["--truth", str(labels), "--out", str(out), *regions]
    result = CliRunner().invoke(app, ["examine", str(answers), *options, "--bootstrap", "100"])
    assert result.exit_code == 0, result.output
    return result.output


def test_examine_judges_regions_as_ever_and_parts_beside_them(tmp_path: Path) -> None:
    answers = answers_in(tmp_path / "answers")
    labels = collection_in(tmp_path / "labels", NINE_WORDS)
    assert "knee|thigh" in examine(answers, labels, tmp_path / "parts")
    rows = {
        (row["measure"], row["region"]): row for row in read_tsv(tmp_path / "parts" / "parts.tsv")
    }
    assert rows["yes_wrong", ""]["numerator"] == "1"
    assert rows["border_missed", "neck|skull"]["denominator"] == "1"
    assert rows["border_invented", "neck|skull"]["numerator"] == "1"
    facts = read_json(tmp_path / "parts" / "evaluation.json")
    assert facts["classes"] == list(DEFAULT.classes)
    assert [row["wrong_yes"] for row in facts["parts"]["volumes"]] == [[], [], ["neck"]]
    neck = read_tsv(tmp_path / "parts" / "volumes.tsv")[2]
    assert (neck["truth_parts"], neck["shows_parts"]) == ("skull", "neck+skull")
    assert neck["wrong_parts"] == "neck"

    five = collection_in(tmp_path / "five", FIVE_WORDS)
    assert "knee" not in examine(answers, five, tmp_path / "plain", "--regions", "nine")
    examine(answers_in(tmp_path / "answers5", JUDGE), five, tmp_path / "default")
    for name in ("rates.tsv", "volumes.tsv", "borders.tsv"):
        by_default = (tmp_path / "default" / name).read_bytes()
        assert (tmp_path / "plain" / name).read_bytes() == by_default
    assert not (tmp_path / "plain" / "parts.tsv").exists()
    assert "parts" not in read_json(tmp_path / "plain" / "evaluation.json")
    without = {key: value for key, value in facts.items() if key not in ("parts", "fovnet")}
    in_five_words = read_json(tmp_path / "default" / "evaluation.json")
    assert without == {key: in_five_words[key] for key in without}


def test_two_examined_folders_are_compared_by_region(tmp_path: Path) -> None:
    """One by networks that know parts, one by others: the truth of regions is the same."""
    labels = collection_in(tmp_path / "labels", NINE_WORDS)
    examine(answers_in(tmp_path / "answers"), labels, tmp_path / "first")
    examine(answers_in(tmp_path / "answers"), labels, tmp_path / "second", "--regions", "default")
    result = CliRunner().invoke(app, ["compare", str(tmp_path / "first"), str(tmp_path / "second")])
    assert result.exit_code == 0, result.output
    assert "3 volumes" in result.output


def test_statements_on_parts_are_compared_where_both_runs_have_them(tmp_path: Path) -> None:
    """Six legs, of which the second run takes the knees for thighs."""
    knees = ["thigh" if name == "knee" else name for name in LEG]
    for run, names in (("first", LEG), ("second", knees)):
        cases = [case_of(tmp_path, names, LEG, str(number)) for number in range(6)]
        evaluation = evaluate(cases, DEFAULT, bootstrap=50, seed=1, network_vocabulary=NINE)
        write_evaluation(tmp_path / run, evaluation)
    comparison = compare_evaluations(tmp_path / "first", tmp_path / "second", bootstrap=100)
    rates = {row.measure: (row.first, row.second) for row in comparison.differences}
    assert rates["part_statements_decided"] == (1.0, 1.0)
    assert rates["part_statements_wrong"] == (0.0, pytest.approx(1 / 6))
    assert rates["parts_surely_found"] == (1.0, pytest.approx(3 / 4))


def test_no_parts_are_evaluated_of_networks_that_know_none(tmp_path: Path) -> None:
    case = case_of(tmp_path, LEG, LEG, "leg")
    plain: Evaluation = evaluate(
        [replace(case, part_truth=None, part_answers=None)], DEFAULT, bootstrap=50, seed=1
    )
    assert plain.parts is None
    silent = replace(case, volume_id="silent", part_answers=None)
    both = evaluate([case, silent], DEFAULT, bootstrap=50, seed=1, network_vocabulary=NINE)
    assert both.parts is None
