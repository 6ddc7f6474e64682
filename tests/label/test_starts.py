"""What `fovnet predict` writes is what a labelling begins with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fovnet.label.law import LabelGrid
from fovnet.label.starts import count_refused, gather_items
from fovnet.records import read_json, read_tsv
from fovnet.regions import DEFAULT
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
