"""A run from a notebook: the acts of the workflow, and a prediction on an image that is in memory."""

from __future__ import annotations

from pathlib import Path

import nibabel
import pytest
import yaml

import fovnet
from fovnet.records import read_tsv

ROOT = Path(__file__).parents[2]
SAME = (
    "search/trials.tsv",
    "decisions/spans.tsv",
    "evaluation/rates.tsv",
    "evaluation/borders.tsv",
)


def steady(path: Path) -> list[dict[str, str]]:
    """A table without what depends on the clock or the place."""
    return [
        {key: value for key, value in row.items() if key not in ("seconds", "path")}
        for row in read_tsv(path)
    ]


@pytest.mark.slow
def test_a_run_from_python_is_the_workflows(smoke: Path, tmp_path: Path) -> None:
    settings = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
    (tmp_path / "mine.yaml").write_text(
        yaml.safe_dump({**settings, "results": str(tmp_path / "results")})
    )

    run = fovnet.open(tmp_path / "mine.yaml")
    pack = run.prepare()
    trials = run.search()
    made = run.ensemble()
    run.tune()
    answers = run.decide()
    evaluation = run.evaluate()
    page = run.report()

    assert (
        len(trials) == 4
        # a network no better than guessing is no member
        and made.member_count == min(made.requested_member_count, made.better_trial_count)
        and page.stat().st_size > 100_000
    )
    assert answers.volume_ids == {
        volume.volume_id for volume in pack.records if volume.split == "test"
    }
    assert len(evaluation.volumes) == len(answers.volume_ids)
    for name in SAME:
        assert steady(run.results.folder / name) == steady(smoke / name), name

    scan = next((run.results.phantom / "volumes").glob("*.nii.gz"))
    answer = fovnet.load(run.results.ensemble).predict(nibabel.load(scan))
    assert answer.spans == fovnet.load(run.results.ensemble).predict(scan).spans
