"""The verbs around an evaluation, as a user types them: ablate, compare, and what stops
them."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from fovnet.evaluate.guards import mark_of_subject
from fovnet.records import read_json, read_tsv

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def copied(smoke: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A copy of the smoke run that may be spoiled, and the configuration that names it."""
    return copy_of(smoke, tmp_path_factory.mktemp("copied"))


def copy_of(smoke: Path, folder: Path) -> tuple[Path, Path]:
    shutil.copytree(smoke, folder / "smoke", ignore=shutil.ignore_patterns("cache", "*.nii.gz"))
    raw = yaml.safe_load((smoke / "config.yaml").read_text())
    (folder / "copied.yaml").write_text(yaml.safe_dump({**raw, "results": str(folder / "smoke")}))
    return folder / "smoke", folder / "copied.yaml"


def test_ablate_writes_every_step_with_its_gain(copied: tuple[Path, Path], shell: Shell) -> None:
    results, config = copied
    shell("fovnet", "ablate", "--config", config)
    rows = read_tsv(results / "evaluation" / "ablation.tsv")
    assert {row["ladder"] for row in rows} == {"decision", "ensemble", "network"}
    rates = read_tsv(results / "evaluation" / "rates.tsv")
    decided = {
        row["measure"]: row["value"]
        for row in rates
        if (row["group"], row["stage"]) == ("all", "decided") and row["region"] in ("", "regions")
    }
    for measure in (
        "slice_error",
        "exact_set",
        "span_f1",
        "border_within_10_mm",
        "border_abs_mean_mm",
    ):
        last = {
            row["value"]
            for row in rows
            if row["measure"] == measure and row["arm"] in ("exact + none", "ensemble")
        }
        assert last == {decided[measure]}, "the last arm is the decision that was evaluated"
    assert float(decided["slice_error_not_dark"]) >= 0, "decisions tell which slices are dark"
    facts = read_json(results / "evaluation" / "ablation.json")
    assert all(step["gains"] for step in facts["steps"] if step["against"])


def test_an_ablation_of_another_rule_is_no_part_of_the_report(
    copied: tuple[Path, Path], shell: Shell
) -> None:
    results, config = copied
    assert "left out" not in shell("fovnet", "report", "--config", config).stdout
    assert 'id="ablation"' in results.joinpath("report.html").read_text()
    rule = results / "ensemble" / "decision.json"
    rule.write_text(rule.read_text().replace('"sigma_mm"', '"sigma_mm" '))
    told = shell("fovnet", "report", "--config", config, check=False)
    assert (
        told.returncode == 2
        and "decisions-of-others" in told.stderr
        and "ensemble/decision.json" in told.stderr
    )
    (results / "decisions" / "earlier.json").write_text(
        "{}"
    )  # on a volume that left the test split
    shell("fovnet", "decide", "--config", config)
    assert {path.stem for path in (results / "decisions").glob("*.json")} == {
        row["volume_id"] for row in read_tsv(results / "decisions" / "spans.tsv")
    }
    assert "`fovnet ablate` makes it again" in shell("fovnet", "report", "--config", config).stdout
    assert 'id="ablation"' not in results.joinpath("report.html").read_text()


def test_the_workflow_makes_the_ablation_unless_the_report_leaves_it_out(
    tmp_path: Path, shell: Shell
) -> None:
    raw = yaml.safe_load((ROOT / "configs/smoke.yaml").read_text())
    raw["results"] = str(tmp_path / "results")
    config = tmp_path / "run.yaml"
    for is_included in (True, False):
        config.write_text(yaml.safe_dump({**raw, "report": {"ablation": is_included}}))
        files = ("--snakefile", ROOT / "Snakefile", "--configfile", config)
        dry = shell("snakemake", *files, "--cores", "2", "-n")
        sentence = "Taking the decision, the ensemble and the network apart"
        assert (sentence in dry.stdout + dry.stderr) == is_included


def test_fewer_trials_asked_for_afterwards_are_all_that_there_are(
    smoke: Path, tmp_path: Path, shell: Shell
) -> None:
    """The journal keeps the others, for when they are asked for again."""
    results, config = copy_of(smoke, tmp_path)
    slots = list(results.glob("search/*/slot-*.json"))
    raw = yaml.safe_load(config.read_text())
    fewer = config.with_name("fewer.yaml")
    fewer.write_text(yaml.safe_dump({**raw, "search": {**raw["search"], "trials": 2}}))
    shell("fovnet", "search", "--config", fewer)
    assert len(slots) == 4 and len(read_tsv(results / "search" / "trials.tsv")) == 2
    shell("fovnet", "ensemble", "--config", fewer)
    assert {
        member["slot"] for member in read_json(results / "ensemble" / "ensemble.json")["members"]
    } <= {
        0,
        1,
    }
    other = config.with_name("other.yaml")
    other.write_text(yaml.safe_dump({**raw, "ensemble": {**raw.get("ensemble", {}), "members": 1}}))
    told = shell("fovnet", "tune", "--config", other, check=False)
    assert told.returncode == 2 and "ensemble-other-settings" in told.stderr, (
        "the report would state settings that nothing was made with"
    )
    told = shell("fovnet", "search", "explain", results).stdout
    assert "2 are finished" in " ".join(told.split())
    shell("fovnet", "search", "--config", config)
    assert len(read_tsv(results / "search" / "trials.tsv")) == 4


@pytest.mark.parametrize(
    ("section", "change", "verbs", "code"),
    [
        ("prepare", {"target_spacing_mm": 9.0}, ("ensemble", "report"), "slices-other-settings"),
        ("regions", "limbs.yaml", ("tune", "decide"), "slices-other-settings"),
        ("decision", {"method": "intersections"}, ("decide", "report"), "rule-other-settings"),
        ("ensemble", {"members": 1}, ("report",), "ensemble-other-settings"),
        ("training", {"epochs": 77}, ("report",), "search-other-settings"),
    ],
)
def test_a_run_is_read_by_the_settings_it_was_made_with(
    smoke: Path,
    tmp_path: Path,
    shell: Shell,
    section: str,
    change: object,
    verbs: tuple[str, ...],
    code: str,
) -> None:
    """Six regions by other names would be told as such, and a report would state what nothing was made with.
    Nothing is touched."""
    results, config = copy_of(smoke, tmp_path)
    regions = [
        {"name": name, "rung": rung}
        for rung, name in enumerate(["foot", "knee", "hip", "elbow", "hand"])
    ]
    (tmp_path / "limbs.yaml").write_text(
        yaml.safe_dump({"regions": [*regions, {"name": "shoulder", "rung": None}]})
    )
    raw, before = yaml.safe_load(config.read_text()), contents(results)
    mine = (
        str(tmp_path / change)
        if isinstance(change, str)
        else {**(raw.get(section) or {}), **change}
    )  # type: ignore[dict-item]
    config.write_text(yaml.safe_dump({**raw, section: mine}))
    for verb in verbs:
        told = shell("fovnet", verb, "--config", config, check=False)
        assert told.returncode == 2 and code in told.stderr, told.stderr
    assert contents(results) == before


def test_networks_of_another_search_are_in_no_report(
    smoke: Path, tmp_path: Path, shell: Shell
) -> None:
    """And what they said of slices does not outlive them, where the next ensemble was killed half-way."""
    results, config = copy_of(smoke, tmp_path)
    facts = results / "ensemble" / "ensemble.json"
    facts.write_text(
        facts.read_text().replace(
            f'"journal": "{read_json(facts)["journal"]}"', '"journal": "of another"'
        )
    )
    told = shell("fovnet", "report", "--config", config, check=False)
    assert told.returncode == 2 and "ensemble-other-search" in told.stderr
    # a device that is not there stops it once the members are in place
    elsewhere = config.with_name("elsewhere.yaml")
    elsewhere.write_text(config.read_text().replace("device: auto", "device: cuda"))
    assert shell("fovnet", "ensemble", "--config", elsewhere, check=False).returncode == 2
    assert (
        read_json(facts)["journal"] != "of another" and not (results / "probabilities.npz").exists()
    )


def test_a_secret_put_beside_a_finished_run_is_not_passed_over(
    smoke: Path, tmp_path: Path, shell: Shell
) -> None:
    """The old names are hashes that a list of ids undoes."""
    results, config = copy_of(smoke, tmp_path)
    (results / "identifiers.key").write_text("a secret")
    for verb in ("evaluate", "report"):
        told = shell("fovnet", verb, "--config", config, check=False)
        assert told.returncode == 2 and "identifiers-changed" in told.stderr


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "logs" not in path.parts
    }


def test_a_network_that_was_lost_is_trained_again_once_its_slot_is_removed(
    smoke: Path, tmp_path: Path, shell: Shell
) -> None:
    """To the same weights."""
    results, config = copy_of(smoke, tmp_path)
    lost = next(results.glob("search/*/networks/slot-0000.safetensors"))
    before, others = (
        lost.read_bytes(),
        {path.name: path.read_bytes() for path in results.glob("search/*/networks/*.safetensors")},
    )
    lost.unlink()
    told = shell("fovnet", "ensemble", "--config", config, check=False)
    slot = lost.parent.parent / "slot-0000.json"
    assert told.returncode == 2 and slot.name in told.stderr
    slot.unlink()
    told = shell("fovnet", "ensemble", "--config", config, check=False)
    assert told.returncode == 2 and "of a finished search is missing" in told.stderr, (
        "the best trial was left out without a word"
    )
    (lost.parent.parent / "search.npz").write_bytes(b"")
    shell("fovnet", "search", "--config", config)
    assert lost.read_bytes() == before
    assert {
        path.name: path.read_bytes() for path in results.glob("search/*/networks/*.safetensors")
    } == others
    shell("fovnet", "propose", lost.parent.parent, "--slot", "1")
    current = results / "search" / "current.json"
    for wrong in ({"journal": 5, "trials": "x"}, {"journal": "a"}, []):
        current.write_text(json.dumps(wrong))
        told = shell("fovnet", "ensemble", "--config", config, check=False)
        assert told.returncode == 2 and "search-missing" in told.stderr


def test_the_people_learned_from_are_kept_beside_the_model_and_a_leak_stops_the_evaluation(
    copied: tuple[Path, Path], shell: Shell
) -> None:
    results, config = copied
    file = results / "ensemble" / "decision.json"
    kept = file.read_text()
    facts = read_json(file)
    assert facts["subjects"] == read_json(results / "ensemble" / "ensemble.json")["subjects"]
    manifest = read_tsv(results / "slices" / "manifest.tsv")
    for split in ("train", "validation"):
        known = {
            mark_of_subject(f"{row['collection']}/{row['subject_id']}")
            for row in manifest
            if row["split"] == split
        }
        assert set(facts["subjects"][split]) == known
    tested = next(row for row in manifest if row["split"] == "test" and row["status"] == "ok")
    facts["subjects"]["validation"].append(
        mark_of_subject(f"{tested['collection']}/{tested['subject_id']}")
    )
    file.write_text(json.dumps(facts))
    done = shell("fovnet", "evaluate", "--config", config, check=False)
    file.write_text(kept)
    assert done.returncode == 2 and "evaluate-tuned-on-test" in done.stderr


def test_labels_changed_after_the_cut_stop_the_evaluation(
    copied: tuple[Path, Path], shell: Shell
) -> None:
    results, config = copied
    table, manifest = (
        results / "phantom" / "regions.tsv",
        read_tsv(results / "slices" / "manifest.tsv"),
    )
    kept, tested = (
        table.read_text(),
        {row["volume_id"] for row in manifest if row["split"] == "test"},
    )
    lines = [line for line in kept.splitlines(keepends=True) if line.split("\t")[0] not in tested]
    assert len(lines) < kept.count("\n")
    table.write_text("".join(lines))
    done = shell("fovnet", "evaluate", "--config", config, check=False)
    table.write_text(kept)
    assert done.returncode == 2 and "evaluate-truth-changed" in done.stderr


def test_compare_says_that_a_run_does_not_differ_from_itself(
    copied: tuple[Path, Path], smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    shown = shell("fovnet", "compare", smoke, copied[0], "--out", tmp_path).stdout
    assert "no volume differs" in shown and (tmp_path / "comparison.tsv").stat().st_size > 0
    done = shell("fovnet", "compare", smoke, tmp_path, check=False)
    assert done.returncode == 2 and "compare-missing" in done.stderr


def test_whoever_stops_reading_keeps_what_was_found(
    smoke: Path, shell: Shell, tmp_path: Path
) -> None:
    """`fovnet compare ... | head` writes its tables before it tells of them: here nobody reads at all."""
    shell("bash", "-c", f"fovnet compare '{smoke}' '{smoke}' --out '{tmp_path}' | true")
    assert (tmp_path / "comparison.tsv").stat().st_size > 0
