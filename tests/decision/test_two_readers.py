"""The answers of the package's networks on real volumes, held against two readers who saw the same pictures
and nothing else.

The readers (language models that look at pictures, of one family, each by itself, no physicians) had the
definitions of README and the 438 cuts of 19 volumes under numbers, in two orders; neither labels nor answers.
They agree with each other in 433 cuts, and with the labels that came with the volumes in 380 and 375: where
those begin a chest that still shows liver, or an abdomen that still shows iliac wings.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fovnet.evaluate.answers import Matching, cases_of_answers
from fovnet.evaluate.evaluation import Evaluation, evaluate
from fovnet.records import read_tsv, write_tsv
from fovnet.regions import DEFAULT
from fovnet.volume.collection.tables import read_collection

READINGS = Path(__file__).parent / "readings"
LEAST_RIGHT, LEAST_F1 = 0.90, 0.914


@pytest.fixture(scope="module")
def answers(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers on the volumes that were read."""
    out = tmp_path_factory.mktemp("answers")
    read = {row["volume_id"] for row in read_tsv(READINGS / "first.tsv")}
    paths = [
        str(shared / "data" / row["path"])
        for row in read_tsv(shared / "data" / "volumes.tsv")
        if row["volume_id"] in read
    ]
    line = [
        sys.executable,
        "-m",
        "fovnet",
        "predict",
        *paths,
        "--out",
        str(out),
        "--no-pages",
        "--no-pictures",
    ]
    subprocess.run(line, check=True, capture_output=True)
    return out


@pytest.fixture(scope="module", params=["first", "second"])
def found(
    request: pytest.FixtureRequest,
    answers: Path,
    shared: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Evaluation:
    """What `fovnet examine` finds with a reading as the truth."""
    folder, regions = tmp_path_factory.mktemp("read"), read_tsv(READINGS / f"{request.param}.tsv")
    read = {row["volume_id"] for row in regions}
    volumes = [row for row in read_tsv(shared / "data" / "volumes.tsv") if row["volume_id"] in read]
    kept = [
        {name: row[name] for name in ("volume_id", "subject_id")}
        | {"path": str(shared / "data" / row["path"])}
        for row in volumes
    ]
    write_tsv(folder / "volumes.tsv", tuple(kept[0]), kept)
    write_tsv(folder / "regions.tsv", tuple(regions[0]), regions)
    cases, lacking, _ = cases_of_answers(
        Matching.of(answers, read_collection(folder, DEFAULT)), DEFAULT
    )
    assert len(cases) == 19 and not lacking
    return evaluate(cases, DEFAULT, bootstrap=100, seed=1)


def measured(
    found: Evaluation, measure: str, *, sure: bool = False, stage: str = "decided"
) -> tuple[int, float]:
    """The denominator of a measure of the decided slices, and its value; of the sure answers alone where
    `sure`."""
    group = found.answered if sure else found.everything
    one = group.find(measure, stage) if group else None
    assert one is not None and one.value is not None
    return one.denominator, one.value


def test_nine_slices_of_ten_are_right_and_the_sets_of_regions_too(found: Evaluation) -> None:
    slices, wrong = measured(found, "slice_error")
    assert slices == 438 and 1 - wrong >= LEAST_RIGHT
    assert measured(found, "presence_f1_weighted")[1] >= LEAST_F1


def test_sure_answers_are_wrong_in_no_more_slices_than_was_asked_for(found: Evaluation) -> None:
    """3 %, the stated error of the package's rule."""
    slices, wrong = measured(found, "slice_error", sure=True)
    assert slices > 100 and wrong <= 0.03


def test_most_is_said_of_regions_and_little_of_it_wrongly(found: Evaluation) -> None:
    """By either reader; 2 % is the stated error on people like the simulated ones."""
    statements, wrong = measured(found, "statements_wrong", stage="")
    assert measured(found, "statements_decided", stage="")[1] >= 0.8
    assert statements > 80 and wrong <= 0.03
