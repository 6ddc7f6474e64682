"""`workflow/predict.smk`: shards as Snakemake jobs leave what one `fovnet predict` leaves, and are repeated
alone."""

from __future__ import annotations

import gzip
from pathlib import Path

import nibabel
import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from fovnet.cli import app
from fovnet.config.files import parse_as
from fovnet.config.prediction import Prediction
from fovnet.errors import ConfigError
from fovnet.volume.sources.shards import read_survey

ROOT = Path(__file__).parents[2]


def put(path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = nibabel.Nifti1Image(
        rng.integers(0, 900, (7, 6, 5)).astype(np.int16), np.diag([6, 6, 7.0, 1])
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(image.to_bytes(), 1))


@pytest.mark.slow
def test_shards_as_jobs_leave_the_tables_of_one_process_and_new_files_answer_only_themselves(
    finished: Path, shell, tmp_path: Path
) -> None:
    for at in range(4):
        put(tmp_path / "in" / f"p{at // 2}" / f"t{at % 2}.nii.gz", at)
    (tmp_path / "in" / "broken.nii").write_bytes(b"no volume")
    model, out, one = str(finished / "ensemble"), tmp_path / "out", tmp_path / "one"
    asked = {"paths": [str(tmp_path / "in")], "answers": str(out), "model": model, "device": "cpu"}
    config = tmp_path / "mine.yaml"
    config.write_text(yaml.safe_dump({**asked, "volumes_per_shard": 5, "pictures": False}))
    line = ["snakemake", "--snakefile", ROOT / "workflow" / "predict.smk", "--configfile", config]
    line += ["--directory", tmp_path, "--cores", "2"]
    shell(*line)
    assert None not in read_survey(out).settings.facts.values(), (
        "every setting of the whole is told"
    )
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*.json*")}
    put(tmp_path / "in" / "a" / "new.nii.gz", 9)
    done = shell(*line)
    said = done.stdout + done.stderr
    assert "Answering shard 0001" in said and said.count("Answering shard") == 1
    kept = {path for path, time in before.items() if path.stat().st_mtime_ns == time}
    assert before.keys() - kept == {out / "shards" / "survey.json"}
    words = ["predict", str(tmp_path / "in"), "--model", model, "--no-pictures", "--device", "cpu"]
    assert CliRunner().invoke(app, [*words, "--out", str(one)]).exit_code == 3
    wanted = {
        str(path.relative_to(one)): path.read_bytes() for path in one.rglob("*") if path.is_file()
    }
    assert {
        "spans.tsv",
        "index.html",
        "broken.json",
        "new.json",
        "pages/t1-2.html",
    } <= wanted.keys()
    assert [name for name, content in wanted.items() if (out / name).read_bytes() != content] == []
    config.write_text(yaml.safe_dump({**asked, "model": str(tmp_path / "nowhere")}))
    refused = shell(*line, "--dry-run", check=False)
    assert "no such folder; give the folder `ensemble`" in refused.stdout + refused.stderr
    assert refused.returncode


def test_the_settings_that_come_along_are_those_that_there_are() -> None:
    given = yaml.safe_load((ROOT / "configs" / "predict.yaml").read_text(encoding="utf-8"))
    assert given == parse_as(Prediction, given, "predict.yaml").model_dump(mode="json")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"path": ["scans"]}, "path: unknown key; did you mean 'paths'?"),
        ({"paths": []}, "paths"),
        ({"volumes_per_shard": 0}, "volumes_per_shard: 0"),
        ({"include": ["localiser"]}, "include"),
        ({"answers": ""}, "answers"),
    ],
)
def test_a_wrong_setting_is_told_by_name(change: dict[str, object], told: str) -> None:
    with pytest.raises(ConfigError, match="config-invalid") as fault:
        parse_as(Prediction, {"paths": ["in"], "answers": "out", **change}, "mine.yaml")
    assert told in fault.value.sentence
