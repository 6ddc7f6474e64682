"""What `fovnet predict` writes is what a labelling begins with."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fovnet.label.law import LabelGrid, RegionExtent, mend_label
from fovnet.label.starts import count_refused, gather_items
from fovnet.records import read_json, read_tsv, write_json
from fovnet.regions import DEFAULT, NINE
from tests.label.conftest import NAMES, SLICES


@pytest.mark.slow
def test_answers_are_read_as_predict_writes_them(
    volumes: Path, finished: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.nii.gz"
    broken.write_text("not a volume")
    answers = tmp_path / "answers"
    line = [
        sys.executable,
        "-m",
        "fovnet",
        "predict",
        str(volumes),
        str(broken),
        "--out",
        str(answers),
    ]
    line += ["--model", str(finished / "ensemble"), "--no-pictures", "--no-pages"]
    assert subprocess.run(line, capture_output=True).returncode == 3  # one is refused
    items = gather_items([answers], DEFAULT)
    assert count_refused([answers]) == count_refused([answers, answers]) == 1
    assert [one.row.volume_id for one in items] == [*NAMES]
    spans = [row for row in read_tsv(answers / "spans.tsv") if row["region"]]
    for one in items:
        told = one.prediction
        own = [
            (row["region"], int(row["first_slice"]), int(row["last_slice"]))
            for row in spans
            if row["volume_id"] == one.row.volume_id
        ]
        assert own == [*told.extents]
        facts = read_json(answers / f"{one.row.volume_id}.json")
        doubts = [doubt["sentence"] for doubt in facts["doubts"]]
        assert (
            doubts
            and told.message.endswith("; ".join(doubts))
            and told.agreement == facts["agreement"]
        )
        assert len(told.probabilities) == len(facts["statements"]) and told.grid == LabelGrid(
            SLICES, -10.0, 5.0
        )


def test_a_desk_of_nine_begins_with_parts_and_one_of_five_with_their_regions(
    answers: Path, tmp_path: Path
) -> None:
    """The spans of a region that has parts, and of these, as an answer's JSON has them."""
    folder = shutil.copytree(answers, tmp_path / "answers")
    legs, knee, thigh, pelvis = (
        RegionExtent("legs", 0, 15),
        RegionExtent("knee", 0, 7),
        RegionExtent("thigh", 8, 15),
        RegionExtent("pelvis", 16, 23),
    )
    path = folder / f"{NAMES[0]}.json"
    spans = {"spans": [legs._asdict(), pelvis._asdict()]}
    write_json(path, read_json(path) | spans | {"part_spans": [knee._asdict(), thigh._asdict()]})
    labels = []
    for vocabulary in (DEFAULT, NINE):
        prediction = gather_items([folder], vocabulary)[0].prediction
        assert prediction is not None
        labels.append(mend_label(prediction.extents, SLICES, vocabulary))
    assert labels == [(legs, pelvis), (knee, thigh, pelvis)]
