"""The whole road, as a user walks it: one command, then prediction, then everything that can go wrong at the
door."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import nibabel
import numpy as np
import pytest
import yaml

from fovnet.records import read_json, read_tsv
from fovnet.regions import DEFAULT
from fovnet.results import Results
from fovnet.volume.collection.pack import load_pack
from tests.workflow.conftest import SCRIPTS

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
Shell = Callable[..., subprocess.CompletedProcess[str]]


def test_the_workflow_leaves_a_report_and_its_tables(smoke: Path) -> None:
    reports = ("report.html", "report.json", "model-card.md", "report-tables/regions.tsv")
    for name in (
        *reports,
        "decisions/spans.tsv",
        "evaluation/evaluation.json",
        "evaluation/rates.tsv",
        "ensemble/decision.json",
    ):
        assert (smoke / name).stat().st_size > 0


def test_a_second_run_does_no_work(smoke: Path, shell: Shell) -> None:
    again = shell(
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "2",
        "--configfile",
        ROOT / "configs/smoke.yaml",
    )
    assert "Nothing to be done" in again.stdout + again.stderr


def test_a_new_title_repeats_the_report_and_not_the_search(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    """Each rule names its own section of the settings."""
    raw = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
    raw["report"]["title"] = "another title"
    (tmp_path / "retitled.yaml").write_text(yaml.safe_dump(raw))
    settings = (smoke / "config.yaml").read_bytes()
    dry = shell(
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "2",
        "-n",
        "--configfile",
        tmp_path / "retitled.yaml",
    )
    assert "Writing the report" in dry.stdout + dry.stderr
    assert "Searching with" not in dry.stdout + dry.stderr
    assert (smoke / "config.yaml").read_bytes() == settings, (
        "what a run under way reads is not a dry run's to change"
    )


def test_whatever_a_run_rests_on_is_made_again_where_it_is_lost(smoke: Path, shell: Shell) -> None:
    """Snakemake removes what a failed job was to make, and once said of the old report that there was nothing
    to be done."""
    dry = (
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "2",
        "-n",
        "--configfile",
        ROOT / "configs/smoke.yaml",
    )
    lost = {
        "slices/pixels.npy": "Cutting the volumes",
        "search/trials.tsv": "Searching with",
        "ensemble/decision.json": "Tuning the",
        "evaluation/evaluation.json": "Evaluating on",
    }
    for name, told in lost.items():
        (smoke / name).rename(smoke / "aside")
        try:
            assert told in shell(*dry).stdout
        finally:
            (smoke / "aside").rename(smoke / name)
    assert "Nothing to be done" in shell(*dry).stdout


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ("seed=8", "Simulating 8 subjects with 1 volumes"),
        ("phantom={volumes_per_subject: 8}", "Simulating 8 subjects with 8 volumes"),
        ("evaluate={bootstrap: 100}", "Evaluating on"),
    ],
)
def test_a_setting_that_takes_the_value_of_another_is_noticed(
    smoke: Path, shell: Shell, changed: str, told: str
) -> None:
    """Snakemake compares the values of `params` as a set: {1, 8} of the seed and the subjects were those of
    seed 8, too."""
    done = shell(
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "2",
        "-n",
        "--configfile",
        ROOT / "configs/smoke.yaml",
        "--config",
        changed,
    )
    assert told in done.stdout


def test_the_workflow_needs_no_activated_environment(tmp_path: Path) -> None:
    """The rules' fovnet is that of the interpreter, though PATH has none, and a file of the user's is called
    as a module."""
    (tmp_path / "random.py").write_text("raise SystemExit('imported from the working folder')\n")
    done = subprocess.run(
        [
            SCRIPTS / "snakemake",
            "--snakefile",
            ROOT / "Snakefile",
            "--cores",
            "2",
            "--configfile",
            ROOT / "configs/smoke.yaml",
            "--until",
            "phantom",
        ],
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "smoke" / "phantom" / "volumes.tsv").exists()


def test_a_run_refuses_what_it_could_not_notice_and_results_that_another_has(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    """Settings are compared by paths of the working directory; Snakemake's own lock is on that alone."""
    raw = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
    words = (
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "2",
        "--configfile",
        tmp_path / "moved.yaml",
    )
    settings = (smoke / "config.yaml").read_bytes()
    for seed, told in (
        (raw.get("seed", 1) + 1, "these settings have changed: seed"),
        (raw.get("seed", 1), "Nothing to be done"),
    ):
        (tmp_path / "moved.yaml").write_text(
            yaml.safe_dump({**raw, "results": str(smoke), "seed": seed})
        )
        done = shell(*words, "--directory", tmp_path / "elsewhere", "-n", check=False)
        assert told in done.stdout + done.stderr and (done.returncode == 0) == (
            told == "Nothing to be done"
        )
    (tmp_path / "moved.yaml").write_text(
        yaml.safe_dump({**raw, "report": {**raw.get("report", {}), "title": "x"}})
    )
    with Results(smoke).take_lock():
        done = shell(*words, check=False)
        assert "another run is working here" in done.stdout + done.stderr and done.returncode != 0
    assert (smoke / "config.yaml").read_bytes() == settings
    (tmp_path / "moved.yaml").write_text(
        yaml.safe_dump({**raw, "results": str(tmp_path / "moved.yaml")})
    )
    done = shell(*words, "-n", check=False)
    assert (
        "is a file; name a folder" in done.stdout + done.stderr
        and "NotADirectory" not in done.stdout + done.stderr
    )


def test_tables_and_ensembles_that_are_named_are_watched(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    """A collection may be named by its table; trainings may begin with the networks of another run."""
    raw = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
    table = smoke / "phantom" / "volumes.tsv"
    raw |= {
        "results": str(tmp_path / "next"),
        "collections": {"mine": str(table)},
        "phantom": {"subjects": 0},
    }
    raw["training"]["begin"] = str(smoke / "ensemble")
    raw["search"] = {"space": "members", "trials": 2}
    (tmp_path / "next.yaml").write_text(yaml.safe_dump(raw))
    words = (
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "2",
        "--configfile",
        tmp_path / "next.yaml",
    )
    cut = next(
        part for part in shell(*words, "-n").stdout.split("\n\n") if "Cutting the volumes" in part
    )
    assert str(table) in cut and str(table.with_name("regions.tsv")) in cut
    assert (
        shell(*words, "--filegraph").stdout.count(str(smoke / "ensemble" / "ensemble.json")) == 2
    ), "by the search and by the ensemble"
    # another release has others
    raw["training"] |= {"begin": "shipped", "inputs": ["slice", "millimetres", "sections"]}
    (tmp_path / "next.yaml").write_text(yaml.safe_dump(raw))
    assert shell(*words, "--filegraph").stdout.count("decision/shipped/ensemble.json") == 2
    assert not (tmp_path / "next").exists()


def test_a_volume_that_was_replaced_is_cut_again(smoke: Path, shell: Shell, tmp_path: Path) -> None:
    """Whoever mends a refused volume repeats the same command; its row in the table is as before."""
    shutil.copytree(smoke / "phantom", tmp_path / "mine")
    raw = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
    raw |= {
        "results": str(tmp_path / "run"),
        "collections": {"mine": str(tmp_path / "mine")},
        "phantom": {"subjects": 0},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(raw))
    words = (
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "2",
        "--until",
        "slice",
        "--configfile",
        tmp_path / "mine.yaml",
    )
    shell(*words)
    again = shell(*words, "-n")
    assert "Cutting the volumes" not in again.stdout + again.stderr
    volume, *others = sorted((tmp_path / "mine").rglob("*.nii.gz"))
    replaced = tmp_path / "replaced.nii.gz"
    replaced.write_bytes(others[0].read_bytes())
    replaced.replace(volume)
    mended = shell(*words, "-n")
    assert "Cutting the volumes" in mended.stdout + mended.stderr


def test_what_regions_of_ones_own_are_decides_what_is_cut_again_and_not_their_colours(
    shell: Shell, tmp_path: Path
) -> None:
    """The file keeps its name."""
    regions = [
        {"name": region.name, "rung": region.rung, "colour": region.colour}
        for region in DEFAULT.regions
    ]
    raw = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
    raw |= {"results": str(tmp_path / "own"), "regions": str(tmp_path / "regions.yaml")}
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(raw))
    (tmp_path / "regions.yaml").write_text(yaml.safe_dump({"regions": regions}))
    words = (
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "2",
        "--until",
        "slice",
        "--configfile",
        tmp_path / "own.yaml",
    )
    shell(*words)
    regions[0]["colour"] = "#123456"
    (tmp_path / "regions.yaml").write_text(yaml.safe_dump({"regions": regions}))
    recoloured = shell(*words, "-n")
    assert "Cutting the volumes" not in recoloured.stdout + recoloured.stderr
    regions[0]["synonyms"] = ["SHANK"]  # tables may name a region by it
    (tmp_path / "regions.yaml").write_text(yaml.safe_dump({"regions": regions}))
    renamed = shell(*words, "-n")
    assert "Cutting the volumes" in renamed.stdout + renamed.stderr
    del regions[0]["synonyms"]
    (tmp_path / "regions.yaml").write_text(yaml.safe_dump({"regions": regions}))
    (tmp_path / "own" / "identifiers.key").write_text("of later")
    keyed = shell(*words, "-n")
    assert "Cutting the volumes" in keyed.stdout + keyed.stderr, "the ids' hashes are others"
    (tmp_path / "own" / "identifiers.key").unlink()
    regions[-1] |= {"rung": len(regions) - 1}
    (tmp_path / "regions.yaml").write_text(yaml.safe_dump({"regions": regions}))
    reordered = shell(*words, "-n")
    assert "Cutting the volumes" in reordered.stdout + reordered.stderr


def test_no_subject_stands_in_two_splits(smoke: Path) -> None:
    homes: dict[str, set[str]] = {}
    for row in read_tsv(smoke / "slices" / "manifest.tsv"):
        homes.setdefault(row["subject_id"], set()).add(row["split"])
    assert all(len(splits) == 1 for splits in homes.values())
    assert {split for splits in homes.values() for split in splits} == {
        "train",
        "validation",
        "test",
    }


def test_every_number_of_a_members_score_is_in_its_trial(smoke: Path) -> None:
    members = read_json(smoke / "ensemble" / "ensemble.json")["members"]
    scores = {int(row["slot"]): row["score"] for row in read_tsv(smoke / "search" / "trials.tsv")}
    assert members
    assert all(f"{member['score']:.4f}" == scores[member["slot"]] for member in members)


def test_the_report_needs_no_network_and_nests_properly(smoke: Path) -> None:
    page = (smoke / "report.html").read_text()

    class Reader(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.links: list[str] = []

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            if tag in ("script", "link", "img", "iframe"):
                self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    reader = Reader()
    reader.feed(page)
    assert reader.links
    assert all(link.startswith("data:") for link in reader.links)


@pytest.fixture(scope="module")
def answers(
    smoke: Path, shell: Shell, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A folder of two good volumes and three bad files, predicted."""
    folder = tmp_path_factory.mktemp("incoming")
    volumes = sorted((smoke / "phantom" / "volumes").glob("*.nii.gz"))[:2]
    for path in volumes:
        shutil.copy(path, folder)
    (folder / "text.nii").write_text("this is no volume")
    (folder / "cut.nii.gz").write_bytes(volumes[0].read_bytes()[:5000])
    (folder / "other.dcm").write_bytes(b"\0" * 128 + b"DICM" + b"\0" * 50)
    done = shell(
        "fovnet",
        "predict",
        folder,
        "--model",
        smoke / "ensemble",
        "--out",
        folder / "answers",
        check=False,
    )
    return folder, done


def test_broken_files_are_answered_and_stop_nobody(
    answers: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, done = answers
    assert done.returncode == 3, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    rows = read_tsv(folder / "answers" / "spans.tsv")
    status = {row["volume_id"]: row["status"] for row in rows}
    assert len(status) == 5
    assert [status[name] for name in ("cut", "other", "text")] == ["refused"] * 3
    assert all(row["message"] and not row["region"] for row in rows if row["status"] == "refused")
    assert list(rows[0])[:10] == [
        "volume_id",
        "path",
        "status",
        "region",
        "first_slice",
        "last_slice",
        "from_mm",
        "to_mm",
        "confidence",
        "message",
    ]


def test_a_volume_gets_a_json_with_its_slices_and_a_picture(
    answers: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    folder, _ = answers
    (name, *_) = sorted(path.name.removesuffix(".nii.gz") for path in folder.glob("sub-*.nii.gz"))
    facts = read_json(folder / "answers" / f"{name}.json")
    np.testing.assert_allclose(np.sum(facts["raw"], axis=1), 1, atol=1e-3)
    assert len(facts["raw"]) == len(facts["smoothed"]) == len(facts["z_mm"]) == len(facts["covers"])
    assert (folder / "answers" / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


def test_a_file_gets_the_answer_that_its_slices_got_in_the_workflow(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    """The test split, decided from the pack and predicted from the files: the same spans, doubts and
    measures."""
    decided = {path.stem: read_json(path) for path in (smoke / "decisions").glob("*.json")}
    for volume_id in decided:
        shutil.copy(smoke / "phantom" / "volumes" / f"{volume_id}.nii.gz", tmp_path)
    shell(
        "fovnet",
        "predict",
        tmp_path,
        "--model",
        smoke / "ensemble",
        "--out",
        tmp_path / "answers",
        "--no-pictures",
        check=False,
    )
    assert decided
    for volume_id, facts in decided.items():
        predicted = read_json(tmp_path / "answers" / f"{volume_id}.json")
        assert [doubt["code"] for doubt in predicted["doubts"]] == [
            doubt["code"] for doubt in facts["doubts"]
        ]
        for key in ("status", "message", "decided", "covers"):
            assert predicted[key] == facts[key], key
        assert [span["region"] for span in predicted["spans"]] == [
            span["region"] for span in facts["spans"]
        ]
        for key in ("confidence", "novelty", "agreement", "disorder"):
            assert predicted[key] == pytest.approx(facts[key], abs=1e-4), key
        np.testing.assert_allclose(predicted["raw"], facts["raw"], atol=1e-4)
        np.testing.assert_allclose(predicted["slice_novelty"], facts["slice_novelty"], atol=1e-2)


def test_the_members_stay_apart_and_their_weighted_mean_is_what_is_used(smoke: Path) -> None:
    with np.load(smoke / "probabilities.npz") as kept:
        weights, members, raw = kept["weights"], kept["members"], kept["raw"]
    assert (
        len(members)
        == len(weights)
        == len(read_json(smoke / "ensemble" / "ensemble.json")["members"])
    )
    np.testing.assert_allclose(
        np.tensordot(weights, members.astype(float), axes=1), raw, atol=1e-12
    )
    assert read_json(smoke / "ensemble" / "decision.json")["rule"]["weights"] == pytest.approx(
        weights.tolist()
    )
    assert read_json(smoke / "ensemble" / "weighing.json")["weights"] == pytest.approx(
        weights.tolist()
    )


def test_a_second_prediction_of_the_same_files_does_no_work(
    answers: tuple[Path, subprocess.CompletedProcess[str]], smoke: Path, shell: Shell
) -> None:
    folder, _ = answers
    before = {path: path.stat().st_mtime_ns for path in (folder / "answers").glob("sub-*")}
    shell(
        "fovnet",
        "predict",
        folder,
        "--model",
        smoke / "ensemble",
        "--out",
        folder / "answers",
        check=False,
    )
    assert {path: path.stat().st_mtime_ns for path in (folder / "answers").glob("sub-*")} == before


def test_one_volume_in_all_48_storage_orders_gives_identical_spans(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    """6 orders of the axes times 8 directions; the affine says which is which."""
    from itertools import permutations, product

    image = nibabel.as_closest_canonical(
        nibabel.load(sorted((smoke / "phantom" / "volumes").glob("*.nii.gz"))[0])
    )
    for order in permutations(range(3)):
        for flips in product((1, -1), repeat=3):
            orientation = np.column_stack([order, flips])
            name = "".join(map(str, order)) + "".join("+" if flip > 0 else "-" for flip in flips)
            nibabel.save(image.as_reoriented(orientation), tmp_path / f"{name}.nii")
    shell(
        "fovnet",
        "predict",
        tmp_path,
        "--model",
        smoke / "ensemble",
        "--out",
        tmp_path / "answers",
        "--no-pictures",
    )
    spans: dict[str, list[tuple[str, ...]]] = {}
    for row in read_tsv(tmp_path / "answers" / "spans.tsv"):
        told = tuple(
            row[key]
            for key in ("region", "first_slice", "last_slice", "from_mm", "to_mm", "confidence")
        )
        spans.setdefault(row["volume_id"], []).append(told)
    assert len(spans) == 48
    assert len({tuple(told) for told in spans.values()}) == 1


def trials_of(folder: Path) -> dict[str, object]:
    """What every slot of a journal says, but for the clock on the wall."""
    (journal,) = (path.parent for path in folder.glob("*/search.json"))
    slots = {}
    for path in sorted(journal.glob("slot-*.json")):
        facts = read_json(path)
        for volatile in ("seconds", "peak_memory_bytes", "device", "message"):
            facts["outcome"].pop(volatile)
        slots[path.name] = {key: facts[key] for key in ("proposal", "outcome")}
    return slots


def test_a_search_killed_twice_ends_with_the_trials_of_an_undisturbed_one(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    raw = yaml.safe_load((smoke / "config.yaml").read_text()) | {
        "results": str(tmp_path / "killed")
    }
    (tmp_path / "killed.yaml").write_text(yaml.safe_dump(raw))
    shutil.copytree(smoke / "slices", tmp_path / "killed" / "slices")
    command = ["fovnet", "search", "--config", str(tmp_path / "killed.yaml")]
    environment = shell.environment  # type: ignore[attr-defined]
    for slots in (1, 2):
        run = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + 900
        while (
            len(list((tmp_path / "killed" / "search").glob("*/slot-*.json"))) < slots
            and run.poll() is None
        ):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
        time.sleep(5)  # the workers notice within half a second where cores are free
    shell(*command)
    undisturbed = trials_of(smoke / "search")
    assert len(undisturbed) == 4
    assert json.dumps(trials_of(tmp_path / "killed" / "search"), sort_keys=True) == json.dumps(
        undisturbed, sort_keys=True
    )


def test_the_truth_of_the_phantoms_reaches_the_pack(smoke: Path) -> None:
    """Every class but perhaps one of the smallest occurs, and each slice shows something or is none."""
    pack = load_pack(smoke / "slices")
    assert pack.truth.any(axis=1).all()
    assert pack.truth.any(axis=0).sum() >= 6


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["search", "--config", "nowhere.yaml"], "config-missing"),
        (["predict", "nothing-here", "--model", "nowhere", "--out", "o"], "model-missing"),
        (["export", "graph", __file__], "is a file, not a folder; give the folder `ensemble`"),
        (
            ["collect", "ixi", __file__, "--out", "o"],
            "is a file, not a folder; give the top folder",
        ),
        (["propose", ".", "--slot", "0"], ".: no search.json in it; give a search's journal"),
        (["propose", "nowhere", "--slot", "0"], "nowhere: no such folder; give a search's journal"),
        (
            ["compare", "nowhere", "nowhere"],
            "nowhere: no such folder; give the folder `evaluation`",
        ),
        (
            ["compare", __file__, "nowhere"],
            "test_smoke.py: is not a readable evaluation.json; give",
        ),
        (["agreement", "nowhere"], "nowhere: no such folder; give the folder that `fovnet label"),
        (["search"], "search-config"),
        (["search", "explain", "nowhere"], "explain-run"),
        (["search", "compare", "nowhere", "--out", "two.png"], "explain-run"),
        (
            ["search", "compare", "nowhere", "--out", "two.foo"],
            "--out two.foo: give a name that ends in .png",
        ),
        (
            ["slot", "propose", "--config", str(ROOT / "configs/smoke.yaml"), "--slot", "0"],
            "journal-header",
        ),
        (
            ["slice"],
            "fovnet slice: Missing option '--config'; `fovnet slice --help` lists the options [usage]",
        ),
        (
            ["sliec"],
            "fovnet: No such command 'sliec'. Did you mean 'slice'? `fovnet --help` lists the commands "
            "[usage]",
        ),
        (
            ["cost", "--confg", "x"],
            "No such option: --confg (Possible options: --config); `fovnet cost --help` lists the options "
            "[usage]",
        ),
        (["bench", "propose", "--out", "o", "--trials", "1"], "[usage]"),
        (["predict", ".", "--out", "o", "--workers", "0"], "equal to 1 (given: 0)"),
        (["predict", ".", "--out", "o", "--device", "tpu"], "--device 'tpu' is unknown"),
        (["predict", ".", "--out", "o", "--engine", "foo"], "--engine 'foo' is unknown"),
        (
            ["phantom", "o", "--without", "foo"],
            "--without 'foo': the simulator has no such feature",
        ),
        (["bench", "bound", "--rows", "600"], "workflow/experiments/bounds.py"),
        (
            ["phantom", str(ROOT / "README.md"), "--subjects", "1", "--volumes", "1"],
            "README.md: is a file",
        ),
        (["bench", "search", "nowhere.npz", "--out", "o"], "table-missing"),
        (["bench", "search", "nowhere.npz", "--out", "o", "--method", "gp-ie"], "choose among"),
    ],
)
def test_wrong_usage_is_a_sentence_and_status_2(
    shell: Shell, words: list[str], sentence: str
) -> None:
    done = shell("fovnet", *words, check=False)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_verb_that_has_others_under_it_shows_them(shell: Shell) -> None:
    done = shell("fovnet", "bench", check=False)
    assert (
        done.returncode == 2
        and (done.stdout + done.stderr).count("Usage: fovnet bench") == 1
        and "[usage]" not in done.stderr
    )


def test_verbs_out_of_order_and_devices_that_are_not_there_are_sentences(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    raw = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
    config = tmp_path / "order.yaml"
    config.write_text(yaml.safe_dump({**raw, "results": str(tmp_path / "results")}))
    shutil.copytree(smoke / "slices", tmp_path / "results" / "slices")
    early = shell("fovnet", "ensemble", "--config", config, check=False)
    assert (early.returncode, "search-missing" in early.stderr) == (2, True)
    volume = next((smoke / "phantom" / "volumes").glob("*.nii.gz"))
    words = [
        "predict",
        volume,
        "--model",
        smoke / "ensemble",
        "--out",
        tmp_path / "answers",
        "--device",
        "abacus",
    ]
    nowhere = shell("fovnet", *words, check=False)
    assert (nowhere.returncode, "device-unknown" in nowhere.stderr) == (2, True)


def test_brackets_in_names_are_shown_as_they_are(smoke: Path, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "text[b].nii").write_text("this is no volume")
    done = shell(
        "fovnet",
        "predict",
        tmp_path / "text[b].nii",
        "--model",
        smoke / "ensemble",
        "--out",
        tmp_path / "a[t2]",
        check=False,
    )
    assert done.returncode == 3
    assert "a[t2]/spans.tsv" in done.stdout
    assert "refused text[b]" in done.stderr


def test_a_configuration_error_is_found_before_the_first_job(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("phantom: {subjects: 8}\nsearch: {trails: 4}\n")
    done = shell(
        "snakemake",
        "--snakefile",
        ROOT / "Snakefile",
        "--cores",
        "1",
        "--configfile",
        tmp_path / "bad.yaml",
        check=False,
    )
    assert done.returncode != 0
    assert "search.trails: unknown key; did you mean 'trials'?" in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_recorded_proposal_replays_from_its_journal_alone(smoke: Path, shell: Shell) -> None:
    (journal,) = (path.parent for path in (smoke / "search").glob("*/search.json"))
    replayed = json.loads(shell("fovnet", "propose", journal, "--slot", "3").stdout)
    recorded = read_json(journal / "slot-0003.json")["proposal"]
    assert (
        replayed == recorded == json.loads(shell("fovnet", "propose", smoke, "--slot", "3").stdout)
    )


def test_a_search_is_explained_from_its_journal_from_its_results_and_in_the_report(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    (journal,) = (path.parent for path in (smoke / "search").glob("*/search.json"))
    said = shell("fovnet", "search", "explain", smoke, "--out", tmp_path / "mine.json").stdout
    assert (
        shell("fovnet", "search", "explain", journal).stdout.splitlines()[:5]
        == said.splitlines()[:5]
    )
    compared = shell(
        "fovnet", "search", "compare", journal, smoke, "--out", tmp_path / "two.png"
    ).stdout
    assert compared.count(journal.name) == 2 and (tmp_path / "two.png").stat().st_size > 10_000
    facts, mine = read_json(journal / "explain.json"), read_json(tmp_path / "mine.json")
    assert facts == mine and facts["finished"] == 4
    assert [step["slot"] for step in facts["steps"]] == [0, 1, 2, 3]
    assert [axis["name"] for axis in facts["matter"]["axes"]] == list(facts["best_configuration"])
    page = (smoke / "report.html").read_text()
    assert "The search, explained" in page and said.splitlines()[1].split(".")[0] in page
