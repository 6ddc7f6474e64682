"""An archive answered shard by shard leaves what one `fovnet predict` leaves, byte for byte."""

from __future__ import annotations

import gzip
import multiprocessing
import runpy
import shutil
import signal
import sys
import time
from pathlib import Path

import nibabel
import numpy as np
import pytest
from typer.testing import CliRunner

from fovnet.acts import shards
from fovnet.cli import app
from fovnet.decision.ensemble import load, save_rule
from fovnet.decision.rule import Rule
from fovnet.errors import ConfigError
from fovnet.machine.locks import alone
from fovnet.volume.sources.shards import read_survey, shard_list


def fovnet(*words: object, status: int = 0) -> str:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == status, (done.output[-3000:], done.exception)
    return done.output


def put(path: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    voxels, affine = rng.integers(0, 900, (7, 6, 5)).astype(np.int16), np.diag([6, 6, 6 + seed, 1.0])
    image = nibabel.Nifti1Image(voxels, affine)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(image.to_bytes(), 1))
    return path


@pytest.fixture
def archive(tmp_path: Path, write) -> Path:
    """Names that repeat, files of no volume, a series cut over folders, two in one folder, zip archives with
    a broken member and without any."""
    folder = tmp_path / "archive"
    for at in range(8):
        put(folder / f"p{at // 3}" / f"t{at % 3}.nii.gz", at)
    (folder / "p1" / "empty.nii").touch()
    (folder / "p1" / "notes.txt").write_text("no volume")
    cut = write.images(write.noise(seed=1), series=1)
    write.save(folder / "study" / "a", cut[::2], "a")
    write.save(folder / "study" / "b", cut[1::2], "b")
    for series in (2, 3):
        write.save(folder / "both", write.images(write.noise(seed=series), series=series), f"s{series}")
        write.save(tmp_path / "zip", write.images(write.noise(seed=series), series=5 + series), f"s{series}")
    (tmp_path / "zip" / "broken.dcm").write_bytes((tmp_path / "zip" / "s2000.dcm").read_bytes()[:300])
    write.zipped(folder / "export.zip", tmp_path / "zip")
    (folder / "broken.zip").write_bytes(b"PK\x03\x04 no archive")
    return folder


@pytest.fixture
def model(finished: Path, tmp_path: Path) -> Path:
    """The networks of `finished` with a rule that answers region by region."""
    folder = shutil.copytree(finished / "ensemble", tmp_path / "model")
    save_rule(folder, Rule(sigma_mm=4.5, yes_bar=0.8, no_bar=0.2), {}, settings={}, seed=1)
    return folder


def answer(out: Path, model: Path, *words: object) -> None:
    for number in reversed(read_survey(out).shards):        # the order is of no account
        listed = shard_list(out, number).read_text()
        broken = "empty.nii" in listed or "broken.zip" in listed
        fovnet("shard", "answer", out, "--shard", number, "--model", model, *words, status=3 * broken)


def sharded(archive: Path, out: Path, model: Path, *words: object, each: int = 3) -> None:
    faces = [word for word in words if word == "--no-faces"]
    fovnet("shard", "survey", archive, "--out", out, "--volumes", each, *faces)
    answer(out, model, *words)
    pages = [word for word in words if word == "--no-pages"]
    fovnet("shard", "merge", out, "--model", model, *pages, status=3)


def contents(out: Path) -> dict[str, bytes]:
    """All files but the lists."""
    files = (path for path in out.rglob("*") if path.is_file() and shards.FOLDER not in path.parts)
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def test_shards_leave_what_one_process_leaves(archive: Path, model: Path, tmp_path: Path) -> None:
    one, many = tmp_path / "one", tmp_path / "many"
    told = fovnet("predict", archive, "--out", one, "--model", model, "--no-pictures", status=3)
    sharded(archive, many, model, "--no-pictures")
    wanted, found = contents(one), contents(many)
    assert "15 volumes, 2 refused, 1 object in archives could not be read" in told
    assert len(read_survey(many).shards) == 5 and {"t0-3.json", "found.tsv", "pages/t1.html"} <= found.keys()
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if wanted[name] != found[name]] == []


def test_new_files_answer_only_themselves(archive: Path, model: Path, tmp_path: Path) -> None:
    """And so does a file that changed, in the shard where it was; names stay, whatever sorts before them."""
    out = tmp_path / "out"
    words = ("--no-pictures", "--no-pages")
    sharded(archive, out, model, *words)
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.json")}
    put(archive / "a" / "t0.nii.gz", 70)
    put(archive / "p1" / "t1.nii.gz", 71)
    told = fovnet("shard", "survey", archive, "--out", out)
    assert "16 volumes" in told and "1 of them new: 6 shards" in told
    with pytest.raises(ConfigError, match=r"2 shards of 6 not answered .*\(\d, 5\).*shard-unanswered"):
        shards.merged(out, load(model, "cpu"), pages=False)
    answer(out, model, *words)
    fovnet("shard", "merge", out, "--model", model, "--no-pages", status=3)
    after = {path.name: path.stat().st_mtime_ns for path in out.glob("*.json")}
    fresh = {name for name in after if before.get(name) != after[name]}
    assert fresh == {"t0-4.json", "t1-2.json"}
    whole = tmp_path / "whole"
    fovnet("predict", archive, "--out", whole, "--model", model, *words, status=3)
    paths = [[line.split("\t")[1:] for line in (place / "answers.tsv").read_text().splitlines()]
             for place in (out, whole)]
    assert paths[0] == paths[1], "the same rows in the same order, but for numbers after names that repeat"


def test_tables_go_as_soon_as_a_shard_is_answered_anew(archive: Path, model: Path, tmp_path: Path) -> None:
    """They are of the earlier archive; a run that is killed then must not leave them."""
    out = tmp_path / "out"
    sharded(archive, out, model, "--no-pictures")
    assert (out / "index.html").exists()
    put(archive / "z.nii.gz", 9)
    fovnet("shard", "survey", archive, "--out", out)
    fovnet("shard", "answer", out, "--shard", 5, "--model", model, "--no-pictures")
    assert not {"spans.tsv", "answers.tsv", "index.html"} & {path.name for path in out.iterdir()}


def test_pages_with_faces_go_with_the_survey(archive: Path, model: Path, tmp_path: Path) -> None:
    out, one = tmp_path / "out", tmp_path / "one"
    sharded(archive, out, model, "--no-pictures")
    assert list((out / "pages").iterdir())
    fovnet("shard", "survey", archive, "--out", out, "--no-faces")
    assert not list((out / "pages").iterdir())
    sharded(archive, out, model, "--no-faces", "--no-pictures")
    fovnet("predict", archive, "--out", one, "--model", model, "--no-faces", "--no-pictures", status=3)
    wanted, found = contents(one), contents(out)
    assert found.keys() == wanted.keys()
    # of a refused volume no picture was drawn, and its answer stays as it was
    assert {name for name in wanted if wanted[name] != found[name]} == {"empty.json", "broken.json"}


def test_answers_of_other_networks_are_not_merged(archive: Path, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    sharded(archive, out, model, "--no-pictures", "--no-pages")
    other = shutil.copytree(model, tmp_path / "other")
    (other / "decision.json").write_text((other / "decision.json").read_text().replace("4.5", "5.5"))
    with pytest.raises(ConfigError, match=r"5 shards of 5 not answered by these networks.*shard-unanswered"):
        shards.merged(out, load(other, "cpu"), pages=False)


@pytest.mark.parametrize("words", [("answer", "--shard", "0"), ("merge",)])
def test_without_a_survey_there_is_nothing_to_answer(words: tuple[str, ...], tmp_path: Path) -> None:
    fault = CliRunner().invoke(app, ["shard", words[0], str(tmp_path / "out"), *words[1:]]).exception
    assert isinstance(fault, ConfigError) and "fovnet shard survey" in fault.sentence
    assert not any(tmp_path.iterdir())


def test_a_folder_of_shards_that_is_somebody_elses_is_left_alone(archive: Path, tmp_path: Path) -> None:
    own = tmp_path / "out" / "shards" / "survey.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"mine": 1}')
    line = ["shard", "survey", str(archive), "--out", str(tmp_path / "out")]
    fault = CliRunner().invoke(app, line).exception
    assert isinstance(fault, ConfigError) and fault.code == "out-foreign" and own.read_text() == '{"mine": 1}'


FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["fovnet.decision.predict", "fovnet.net.inference.member_outputs"])


def test_a_killed_shard_goes_on_and_no_other_process_has_it_meanwhile(
    archive: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another that is given the same shard waits; a `predict` into the folder is refused."""
    out = tmp_path / "out"
    fovnet("shard", "survey", archive, "--out", out, "--volumes", 99)
    words = ["fovnet", "shard", "answer", out, "--shard", 0, "--model", model, "--no-pictures"]
    monkeypatch.setattr(sys, "argv", list(map(str, words)))
    running, waiting = (
        FORKED.Process(target=runpy.run_module, args=("fovnet",), kwargs={"run_name": "__main__"})
        for _ in range(2)
    )
    running.start()
    until = time.monotonic() + 300
    while len(list(out.glob("*.json"))) < 4:                # found.json among them
        assert running.is_alive() and time.monotonic() < until
        time.sleep(0.01)
    with pytest.raises(BlockingIOError):
        alone(out)
    waiting.start()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("*.json")}
    running.kill()
    running.join()
    waiting.join(300)
    assert (running.exitcode, waiting.exitcode) == (-signal.SIGKILL, 3)
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items()), "answered again"
    fovnet("shard", "merge", out, "--model", model, status=3)
    fovnet("predict", archive, "--out", tmp_path / "one", "--model", model, "--no-pictures", status=3)
    assert contents(out) == contents(tmp_path / "one")
