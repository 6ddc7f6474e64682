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
from fovnet.cli.options import OPTIONS_OF_A_STEP
from fovnet.cli.verbs import VERBS, Verb
from fovnet.config.prediction import Prediction
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import save_rule
from fovnet.decision.rule import Rule
from fovnet.errors import ConfigError, ModelError
from fovnet.machine.locks import lock_folder
from fovnet.records import read_json
from fovnet.report.pages.covering import MEMORY_FILE_NAME
from fovnet.volume.sources.shard_settings import SETTING_NAMES, SETTINGS_IN_ROWS, ShardSettings
from fovnet.volume.sources.shards import read_survey, shard_list_path


def fovnet(*words: object, status: int = 0) -> str:
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == status, (done.output[-3000:], done.exception)
    return done.output


def put(path: Path, seed: int) -> Path:
    rng = np.random.default_rng(seed)
    voxels, affine = (
        rng.integers(0, 900, (7, 6, 5)).astype(np.int16),
        np.diag([6, 6, 6 + seed, 1.0]),
    )
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
        write.save(
            folder / "both", write.images(write.noise(seed=series), series=series), f"s{series}"
        )
        write.save(
            tmp_path / "zip",
            write.images(write.noise(seed=series), series=5 + series),
            f"s{series}",
        )
    (tmp_path / "zip" / "broken.dcm").write_bytes(
        (tmp_path / "zip" / "s2000.dcm").read_bytes()[:300]
    )
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
    for number in reversed(read_survey(out).shard_numbers):  # the order is of no account
        listed = shard_list_path(out, number).read_text()
        broken = "empty.nii" in listed or "broken.zip" in listed
        fovnet(
            "shard", "answer", out, "--shard", number, "--model", model, *words, status=3 * broken
        )


def sharded(archive: Path, out: Path, model: Path, *words: object, each: int = 3) -> None:
    faces = [word for word in words if word == "--no-faces"]
    fovnet("shard", "survey", archive, "--out", out, "--volumes", each, *faces)
    answer(out, model, *words)
    pages = [word for word in words if word == "--no-pages"]
    fovnet("shard", "merge", out, "--model", model, *pages, status=3)


def contents(out: Path) -> dict[str, bytes]:
    """All files but the lists."""
    files = (
        path for path in out.rglob("*") if path.is_file() and shards.SHARD_FOLDER not in path.parts
    )
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def test_shards_leave_what_one_process_leaves(archive: Path, model: Path, tmp_path: Path) -> None:
    one, many = tmp_path / "one", tmp_path / "many"
    told = fovnet("predict", archive, "--out", one, "--model", model, "--no-pictures", status=3)
    sharded(archive, many, model, "--no-pictures")
    wanted, found = contents(one), contents(many)
    assert "15 volumes, 2 refused, 1 object in archives could not be read" in told
    assert (
        len(read_survey(many).shard_numbers) == 5
        and {"t0-3.json", "found.tsv", "pages/t1.html"} <= found.keys()
    )
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
    with pytest.raises(
        ConfigError, match=r"2 shards of 6 not answered .*\(\d, 5\).*shard-unanswered"
    ):
        shards.merge_shards(out, load_ensemble(model, "cpu"), ShardSettings(pages=False))
    answer(out, model, *words)
    fovnet("shard", "merge", out, "--model", model, "--no-pages", status=3)
    after = {path.name: path.stat().st_mtime_ns for path in out.glob("*.json")}
    fresh = {name for name in after if before.get(name) != after[name]}
    assert fresh == {"t0-4.json", "t1-2.json"}
    whole = tmp_path / "whole"
    fovnet("predict", archive, "--out", whole, "--model", model, *words, status=3)
    paths = [
        [line.split("\t")[1:] for line in (place / "answers.tsv").read_text().splitlines()]
        for place in (out, whole)
    ]
    assert paths[0] == paths[1], (
        "the same rows in the same order, but for numbers after names that repeat"
    )


def test_tables_go_as_soon_as_a_shard_is_answered_anew(
    archive: Path, model: Path, tmp_path: Path
) -> None:
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
    fovnet(
        "predict", archive, "--out", one, "--model", model, "--no-faces", "--no-pictures", status=3
    )
    wanted, found = contents(one), contents(out)
    assert found.keys() == wanted.keys()
    # of a refused volume no picture was drawn, and its answer stays as it was
    assert {name for name in wanted if wanted[name] != found[name]} == {"empty.json", "broken.json"}


def test_answers_of_other_networks_are_not_merged(
    archive: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    sharded(archive, out, model, "--no-pictures", "--no-pages")
    other = shutil.copytree(model, tmp_path / "other")
    (other / "decision.json").write_text(
        (other / "decision.json").read_text().replace("4.5", "5.5")
    )
    refusal = r"5 shards of 5 not answered by these networks.*--no-pages.*shard-unanswered"
    with pytest.raises(ConfigError, match=refusal):
        shards.merge_shards(out, load_ensemble(other, "cpu"), ShardSettings(pages=False))


@pytest.mark.parametrize("words", [("answer", "--shard", "0"), ("merge",)])
def test_without_a_survey_there_is_nothing_to_answer(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    fault = (
        CliRunner().invoke(app, ["shard", words[0], str(tmp_path / "out"), *words[1:]]).exception
    )
    assert isinstance(fault, ConfigError) and "fovnet shard survey" in fault.sentence
    assert not any(tmp_path.iterdir())


def test_a_folder_of_shards_that_is_somebody_elses_is_left_alone(
    archive: Path, tmp_path: Path
) -> None:
    own = tmp_path / "out" / "shards" / "survey.json"
    own.parent.mkdir(parents=True)
    own.write_text('{"mine": 1}')
    line = ["shard", "survey", str(archive), "--out", str(tmp_path / "out")]
    fault = CliRunner().invoke(app, line).exception
    assert (
        isinstance(fault, ConfigError)
        and fault.code == "out-foreign"
        and own.read_text() == '{"mine": 1}'
    )


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
    while len(list(out.glob("*.json"))) < 4:  # found.json among them
        assert running.is_alive() and time.monotonic() < until
        time.sleep(0.01)
    with pytest.raises(BlockingIOError):
        lock_folder(out)
    waiting.start()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("*.json")}
    running.kill()
    running.join()
    waiting.join(300)
    assert (running.exitcode, waiting.exitcode) == (-signal.SIGKILL, 3)
    assert all(path.stat().st_mtime_ns == before for path, before in kept.items()), "answered again"
    fovnet("shard", "merge", out, "--model", model, status=3)
    fovnet(
        "predict", archive, "--out", tmp_path / "one", "--model", model, "--no-pictures", status=3
    )
    assert contents(out) == contents(tmp_path / "one")


OTHER = {
    "model": None,
    "include": ("--include", "derived", "--include", "phase"),
    "show_ids": ("--show-ids", "--no-show-ids"),
    "pictures": ("--no-pictures", "--pictures"),
    "pages": ("--no-pages", "--pages"),
    "faces": ("--no-faces", "--faces"),
}
"""Of each setting of the whole two values as options; of the model two folders are made."""


def words_of(verb: str, *path: str) -> set[str]:
    command = Verb(verb, *VERBS[verb]).load()
    for name in path:
        command = command.commands[name]
    return {parameter.name for parameter in command.params} - {"help"}


def test_every_option_of_predict_is_of_a_step_or_a_setting_of_the_whole() -> None:
    """A new option that is in neither list would be forgotten by the steps."""
    asked = words_of("predict")
    assert asked == {*SETTING_NAMES, *OPTIONS_OF_A_STEP} and not set(SETTING_NAMES) & set(
        OPTIONS_OF_A_STEP
    )
    assert words_of("shard", "survey") == {*SETTING_NAMES, "paths", "out_folder", "volumes"}
    for step, own in (("answer", {"number"}), ("merge", set())):
        assert words_of("shard", step) - {*OPTIONS_OF_A_STEP} - own <= set(SETTING_NAMES)
    assert {*SETTINGS_IN_ROWS, "model"} <= words_of("shard", "answer")
    places = {"paths", "answers", "volumes_per_shard"}
    assert set(Prediction.model_fields) == {*SETTING_NAMES, *OPTIONS_OF_A_STEP, *places} - {
        "out_folder"
    }
    assert OTHER.keys() == set(SETTING_NAMES), "each setting is tried below"


@pytest.fixture(scope="module")
def two_models(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of networks that differ in the width of a smoothing."""
    folders = []
    for sigma_mm in (4.5, 5.5):
        folder = shutil.copytree(finished / "ensemble", tmp_path_factory.mktemp("models") / "model")
        save_rule(folder, Rule(sigma_mm=sigma_mm, yes_bar=0.8, no_bar=0.2), {}, settings={}, seed=1)
        folders.append(folder)
    return folders


@pytest.fixture
def two_volumes(tmp_path: Path) -> Path:
    for at in range(2):
        put(tmp_path / "two" / f"t{at}.nii.gz", at)
    return tmp_path / "two"


def values_of(name: str, models: list[Path]) -> list[tuple[str, ...]]:
    words = OTHER[name]
    if name == "model":
        return [("--model", str(folder)) for folder in models]
    if name == "include":
        return [words[:2], words[2:]]
    return [(word,) for word in words]


def refusal_of(*words: object) -> ConfigError:
    fault = CliRunner().invoke(app, list(map(str, words))).exception
    assert isinstance(fault, ConfigError), fault
    return fault


@pytest.mark.parametrize("name", SETTING_NAMES)
def test_a_setting_told_to_the_survey_holds_for_every_step_and_the_next_survey(
    name: str, two_volumes: Path, two_models: list[Path], tmp_path: Path
) -> None:
    """A later step that is told nothing has the same; one that is told otherwise is refused."""
    out = tmp_path / "out"
    told, other = values_of(name, two_models)
    fast = [] if name in ("pictures", "pages", "faces") else ["--no-pictures", "--no-pages"]
    model = [] if name == "model" else ["--model", two_models[0]]
    fovnet("shard", "survey", two_volumes, "--out", out, "--volumes", 1, *told, *fast, *model)
    settings = read_survey(out).settings
    again = fovnet("shard", "survey", two_volumes, "--out", out)
    assert read_survey(out).settings == settings and settings.facts[name] is not None
    assert " ".join(told) in again, "what is kept is told"
    for step in ("answer", "merge"):
        if name in words_of("shard", step):
            number = ["--shard", 0] if step == "answer" else []
            assert refusal_of("shard", step, out, *number, *other).code == "shard-settings"
    fovnet("shard", "survey", two_volumes, "--out", out, *other)
    assert read_survey(out).settings.facts[name] != settings.facts[name], (
        "the survey itself may change it"
    )


@pytest.mark.parametrize("name", ["model", *SETTINGS_IN_ROWS])
def test_shards_answered_otherwise_are_not_merged(
    name: str, two_volumes: Path, two_models: list[Path], tmp_path: Path
) -> None:
    """Nor where the survey was told nothing; once they agree, they are."""
    out = tmp_path / "out"
    fovnet("shard", "survey", two_volumes, "--out", out, "--volumes", 1)
    model = [] if name == "model" else ["--model", two_models[0]]
    first, second = values_of(name, two_models)
    fast = [word for word in ("--no-pictures", "--no-pages") if word[5:] != name]
    for number, words in enumerate((first, second)):
        fovnet("shard", "answer", out, "--shard", number, *words, *model, *fast)
    merge = ["shard", "merge", out, *(first if name == "model" else model)]
    assert refusal_of(*merge).code == ("shard-unanswered" if name == "model" else "shard-mixed")
    assert not (out / "spans.tsv").exists()
    fovnet("shard", "answer", out, "--shard", 1, *first, *model, *fast)
    fovnet(*merge)
    assert (out / "spans.tsv").exists() and not (out / "index.html").exists()


def test_faces_covered_in_the_survey_are_covered_in_what_a_later_step_draws(
    two_volumes: Path, two_models: list[Path], tmp_path: Path
) -> None:
    """Byte for byte what one `predict --no-faces` draws, and other bytes than with faces."""
    covered, whole, bare = (tmp_path / name for name in ("covered", "whole", "bare"))
    model = ["--model", two_models[0], "--no-pages"]
    fovnet("shard", "survey", two_volumes, "--out", covered, "--volumes", 1, "--no-faces", *model)
    for number in range(2):
        fovnet("shard", "answer", covered, "--shard", number)
    fovnet("shard", "merge", covered)
    fovnet("predict", two_volumes, "--out", whole, "--no-faces", *model)
    fovnet("predict", two_volumes, "--out", bare, *model)
    assert (
        contents(covered) == contents(whole)
        and contents(whole)["t0.png"] != contents(bare)["t0.png"]
    )


@pytest.mark.parametrize(
    "content", ["", "{", "{}", "[]", "null", '{"each": 200', "\0\0\0", '"fovnet"']
)
def test_a_damaged_survey_has_one_remedy(content: str, two_volumes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fovnet("shard", "survey", two_volumes, "--out", out)
    (out / "shards" / "survey.json").write_text(content)
    commands = (
        ["survey", two_volumes, "--out", out],
        ["answer", out, "--shard", 0],
        ["merge", out],
    )
    refusals = {str(refusal_of("shard", *words)) for words in commands}
    assert (
        len(refusals) == 1 and "remove it, and give `fovnet shard survey` again" in refusals.pop()
    )


def test_a_damaged_survey_does_not_uncover_faces(two_volumes: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    fovnet("shard", "survey", two_volumes, "--out", out, "--no-faces")
    survey = out / "shards" / "survey.json"
    survey.write_text(survey.read_text()[:-40])
    assert refusal_of("shard", "survey", two_volumes, "--out", out).code == "shard-unsurveyed"


def test_a_folder_without_networks_is_refused_before_an_archive_is_listed(
    two_volumes: Path, tmp_path: Path
) -> None:
    words = [
        "shard",
        "survey",
        str(two_volumes),
        "--out",
        str(tmp_path / "out"),
        "--model",
        str(two_volumes),
    ]
    fault = CliRunner().invoke(app, words).exception
    assert isinstance(fault, ModelError) and fault.code == "model-missing"
    assert not (tmp_path / "out").exists()


def test_a_file_that_changes_between_answer_and_merge_is_told(
    two_volumes: Path, two_models: list[Path], tmp_path: Path
) -> None:
    out, words = tmp_path / "out", ("--no-pictures", "--no-pages", "--model", two_models[0])
    fovnet("shard", "survey", two_volumes, "--out", out, *words)
    fovnet("shard", "answer", out, "--shard", 0)
    assert "changed" not in fovnet("shard", "merge", out)
    put(two_volumes / "t1.nii.gz", 9)
    assert "1 volume (t1) changed or gone since they were answered" in fovnet("shard", "merge", out)
    fovnet("shard", "survey", two_volumes, "--out", out)
    fovnet("shard", "answer", out, "--shard", 0)
    assert "changed" not in fovnet("shard", "merge", out)


COVER, SHOW = "--no-faces", "--faces"
PREDICT = ("predict",)
SURVEY_ALL, MERGE, FIRST, SECOND = ("survey",), ("merge",), ("answer", 0), ("answer", 1)
WORDS_AND_COVERED = [
    ([(*PREDICT, COVER), SURVEY_ALL, FIRST, SECOND, MERGE], {"t0", "t1"}),
    ([SURVEY_ALL, (*FIRST, COVER), FIRST, SECOND, MERGE], {"t0", "t1"}),
    ([SURVEY_ALL, FIRST, (*SECOND, COVER), FIRST, MERGE], {"t0", "t1"}),
    ([SURVEY_ALL, (*FIRST, COVER), PREDICT], {"t0", "t1"}),
    ([(*SURVEY_ALL, COVER), PREDICT], {"t0", "t1"}),
    ([(*SURVEY_ALL, COVER), ("new",)], {"new"}),
    ([(*PREDICT, COVER), ("new",)], {"t0", "t1", "new"}),
    ([(*PREDICT, COVER), ("new",), PREDICT], {"t0", "t1", "new"}),
    ([PREDICT, ("new", COVER), PREDICT], {"t0", "t1", "new"}),
    ([("new", COVER), SURVEY_ALL, FIRST], {"t0", "new"}),
    ([(*PREDICT, COVER), (*PREDICT, SHOW), ("new",)], set()),
    ([(*PREDICT, COVER), ("new", SHOW)], {"t0", "t1"}),
    ([(*PREDICT, COVER), ("new", SHOW), ("new",)], {"t0", "t1", "new"}),
    ([(*PREDICT, COVER), SURVEY_ALL, (*FIRST, SHOW), (*SECOND, SHOW), MERGE], set()),
    ([(*PREDICT, COVER), SURVEY_ALL, (*FIRST, SHOW), SECOND], {"t1"}),
    ([(*PREDICT, COVER), (*SURVEY_ALL, SHOW), FIRST, SECOND, MERGE], set()),
    ([(*SURVEY_ALL, COVER), FIRST, SECOND, (*SURVEY_ALL, SHOW), FIRST, SECOND, MERGE], set()),
    ([PREDICT, SURVEY_ALL, FIRST, SECOND, MERGE, ("new",)], set()),
    ([(*PREDICT, COVER), ("earlier fovnet",), ("new",)], {"t0", "t1", "new"}),
    ([(*PREDICT, COVER), ("earlier fovnet",), SURVEY_ALL, SECOND], {"t0", "t1"}),
]


@pytest.mark.parametrize(
    ("steps", "covered"),
    [
        *WORDS_AND_COVERED[:2],
        *(pytest.param(*case, marks=pytest.mark.slow) for case in WORDS_AND_COVERED[2:]),
    ],
)
def test_a_folder_stays_covered_whatever_draws_into_it(
    steps: list[tuple], covered: set[str], two_volumes: Path, two_models: list[Path], tmp_path: Path
) -> None:
    """Until a command is told --faces, which shows what it draws itself; `merge` draws nothing anew."""
    out, model = tmp_path / "out", ["--model", two_models[0]]
    new = put(tmp_path / "more" / "new.nii.gz", 9)
    fast = ["--no-pages"]
    for step, *words in steps:
        if step == "predict":
            fovnet("predict", two_volumes, "--out", out, *model, *fast, *words)
        elif step == "new":
            fovnet("predict", new, "--out", out, *model, *fast, *words)
        elif step == "survey":
            fovnet(
                "shard", "survey", two_volumes, "--out", out, "--volumes", 1, *model, *fast, *words
            )
        elif step == "answer":
            fovnet("shard", "answer", out, "--shard", *words)
        elif step == "merge":
            fovnet("shard", "merge", out)
        else:
            (out / MEMORY_FILE_NAME).unlink()
    told = {path.stem: read_json(path).get("faces") for path in out.glob("*.json")}
    assert {name for name, faces in told.items() if faces is False} == covered
    assert (out / MEMORY_FILE_NAME).exists() == bool(covered)


def test_a_file_of_that_name_that_is_somebody_elses_is_left_alone(
    two_volumes: Path, tmp_path: Path
) -> None:
    tmp_path.joinpath("out").mkdir()
    (tmp_path / "out" / MEMORY_FILE_NAME).write_text("my own list of faces")
    for words in (["shard", "survey"], ["predict"]):
        fault = refusal_of(*words, two_volumes, "--out", tmp_path / "out", "--no-faces")
        assert fault.code == "out-foreign"
    assert (tmp_path / "out" / MEMORY_FILE_NAME).read_text() == "my own list of faces"
