"""The search with every slot a Snakemake job of its own: the proposals and scores of the search in one job,
whatever happens on the way."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fovnet.records import read_json, read_npz, read_tsv, write_npz

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
Shell = Callable[..., subprocess.CompletedProcess[str]]


def sliced(smoke: Path, folder: Path, **search: object) -> tuple[Path, list[str]]:
    """A results folder with the slices of `smoke` and nothing else, and the command that searches in it."""
    raw = yaml.safe_load((smoke / "config.yaml").read_text())
    raw |= {"results": str(folder / "results"), "search": {**raw["search"], "jobs": True, **search}}
    (folder / "jobs.yaml").write_text(yaml.safe_dump(raw))
    for name in ("phantom", "slices"):
        shutil.copytree(smoke / name, folder / "results" / name)
    words = [
        "snakemake",
        folder / "results/search/trials.tsv",
        "--snakefile",
        ROOT / "Snakefile",
        "--directory",
        folder,
    ]
    return folder / "results", list(map(str, [*words, "--configfile", folder / "jobs.yaml"]))


def journal(results: Path) -> Path:
    return results / "search" / read_json(results / "search" / "current.json")["journal"]


def slots(results: Path) -> list[tuple[str, object]]:
    """Of each slot the proposal, byte by byte, and what its training came to."""
    told = []
    for path in sorted(journal(results).glob("slot-*.json")):
        facts = read_json(path)
        told.append((json.dumps(facts["proposal"]), facts["outcome"]["score"]))
    return told


@pytest.fixture(scope="module")
def jobs(
    smoke: Path, shell: Shell, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[str]]:
    """A search of three trials as jobs on three cores, killed in the midst of two trainings, gone on with on
    two; and its command."""
    results, command = sliced(smoke, tmp_path_factory.mktemp("jobs"), trials=3)
    first = [*command, "--cores", "3"]
    run = subprocess.Popen(
        first, env=shell.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )  # type: ignore[attr-defined]
    deadline = time.monotonic() + 900
    while len(list(results.glob("search/*/locks/slot-*"))) < 2:
        assert run.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    assert not (results / "search/trials.tsv").exists()
    shell(*first, "--unlock")
    shell(*command, "--cores", "2", "--rerun-incomplete")
    return results, command


def test_slots_as_jobs_have_the_proposals_and_scores_of_the_search_in_one_job(
    smoke: Path, jobs: tuple[Path, list[str]]
) -> None:
    """Other numbers of cores, and a kill whose orphans train on while the same slots are started again,
    change nothing."""
    results, _ = jobs
    assert slots(results) == slots(smoke)[:3]
    told, wanted = (read_tsv(folder / "search/trials.tsv") for folder in (results, smoke))
    assert [row["score"] for row in told] == [row["score"] for row in wanted[:3]]
    for slot, (proposal, _) in enumerate(slots(smoke)[:3]):
        assert (
            json.dumps(read_json(journal(results) / f"proposal-{slot:04d}.json")["proposal"])
            == proposal
        )
    assert not list(results.glob("search/*/.*.part"))


def test_more_trials_train_those_that_are_missing(
    smoke: Path, jobs: tuple[Path, list[str]], shell: Shell
) -> None:
    results, command = jobs
    config = results.parent / "jobs.yaml"
    raw = yaml.safe_load(config.read_text())
    config.write_text(yaml.safe_dump({**raw, "search": {**raw["search"], "trials": 4}}))
    done = shell(*command, "--cores", "1")
    assert (done.stdout + done.stderr).count("Training slot") == 1
    assert slots(results) == slots(smoke)
    again = shell(*command, "--cores", "1")
    assert "Nothing to be done" in again.stdout + again.stderr


def test_a_search_whose_slots_were_jobs_is_explained_as_any_other(
    smoke: Path, jobs: tuple[Path, list[str]], shell: Shell
) -> None:
    results, _ = jobs
    shell("fovnet", "search", "explain", results)
    told = shell("fovnet", "search", "--config", results.parent / "jobs.yaml", check=False)
    assert told.returncode == 2 and "search-jobs" in told.stderr, (
        "it began anew, in a journal of its own"
    )
    told = read_json(journal(results) / "explain.json")
    assert told["finished"] == len(slots(results)) and told["failures"] == []


def test_a_slot_trains_on_the_rows_where_its_slices_lie_now(
    smoke: Path, jobs: tuple[Path, list[str]], shell: Shell
) -> None:
    """Row numbers of an earlier pack, in which other volumes lay before these: the slot would learn from
    those under these labels."""
    results, _ = jobs
    folder, slot = journal(results), 2
    rows = read_npz(folder / "rows.npz")
    write_npz(
        folder / "rows.npz",
        **{**rows, "train": rows["train"][::-1] + 5, "validation": rows["validation"] + 1},
    )
    (folder / f"slot-{slot:04d}.json").unlink()
    shell("fovnet", "slot", "train", "--config", results / "config.yaml", "--slot", str(slot))
    assert slots(results)[slot] == slots(smoke)[slot]
