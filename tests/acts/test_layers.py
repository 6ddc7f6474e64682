"""Networks of layers from a configuration to answers: what is trained, priced, written and shown."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from fovnet.acts.finished_search import read_finished_search
from fovnet.acts.pricing import price_tree
from fovnet.acts.search import write_trials
from fovnet.acts.search_space import change_start, search_tree
from fovnet.cli import app
from fovnet.config.files import load_settings
from fovnet.config.models import Settings
from fovnet.results import Results
from fovnet.search.slot_files import read_trials
from fovnet.search.trial import Outcome, Proposal, Trial

LAYERS = Path(__file__).parents[2] / "configs" / "layers.yaml"


@pytest.fixture(scope="module")
def settings() -> Settings:
    return load_settings(LAYERS)


def test_a_new_branch_begins_with_its_start_values(settings: Settings) -> None:
    """Also where a number of the same name belongs to the branch that is left."""
    changed = change_start(settings, ["conv.1.kernel=3", "optimiser=rmsprop"])
    assert changed["conv.1.kernel"] == 3
    assert {key: value for key, value in changed.items() if key.startswith("optimiser")} == {
        "optimiser": "rmsprop",
        "optimiser.rate": 0.001,
        "optimiser.momentum": 0.0,
        "optimiser.smoothing": 0.99,
        "optimiser.decay": 1e-06,
    }
    deeper = change_start(settings, ["conv=3", "dense=1"])
    assert [deeper[f"conv.3.{name}"] for name in ("channels", "kernel", "pooling")] == [16, 5, 2]
    assert (deeper["dense.1.size"], "dense.2.size" in deeper) == (84, False)


def test_the_table_of_trials_has_a_column_for_each_variable_of_some_trial(
    settings: Settings, tmp_path: Path
) -> None:
    """In the order of the tree, blank where a network has it not, whichever trial has it first."""
    small = change_start(settings, ["conv=1", "dense=0"])
    large = change_start(settings, ["conv=2", "dense=2", "optimiser=adam"])
    trials = [
        Trial(
            Proposal(slot, slot, configuration, slot, (), (), 1.0), Outcome("completed", score=1.0)
        )
        for slot, configuration in enumerate((small, large))
    ]
    path = write_trials(tmp_path / "trials.tsv", trials, search_tree(settings).keys)
    with path.open(encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("#")]
    first, second = csv.DictReader(lines, delimiter="\t")
    columns = list(first)
    assert columns.index("conv.2.kernel") < columns.index("dense") < columns.index("dense.2.size")
    assert columns.index("optimiser.momentum") < columns.index("optimiser.beta1")
    assert "conv.3.kernel" not in columns
    assert (first["conv.2.kernel"], second["conv.2.kernel"]) == ("", "5")
    assert (first["optimiser.momentum"], second["optimiser.momentum"]) == ("0.9", "")


def test_a_fifth_of_the_draws_fits_and_the_rest_says_why(settings: Settings) -> None:
    """Of 10,000 draws 0.25 have a shape (0.81 of one convolution, 0.68 of two, 0.38, 0.10, 0.02, none), 0.21
    are within the limits, as counted by two programs: their standard error is 0.004."""
    prices = price_tree(settings)
    assert prices.fitting_share == pytest.approx(0.21, abs=0.02)
    shape_share = 1 - prices.count_by_reason["their shape"] / prices.sample_count
    assert shape_share == pytest.approx(0.25, abs=0.02)
    assert sum(prices.count_by_reason.values()) + len(prices.seconds) == prices.sample_count
    assert prices.start_fault is None
    assert prices.quantiles["weights, millions"][-1] <= 2.0
    assert prices.quantiles["multiply-adds a slice, millions"][-1] <= 50.0


def run_verb(*arguments: object) -> str:
    """What a verb of fovnet prints; it must end well."""
    done = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture(scope="module")
def run_config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A configuration with four trainings of an epoch over ten simulated people, sliced."""
    folder = tmp_path_factory.mktemp("layers")
    run_verb("phantom", folder / "sim", "--subjects", 10, "--volumes", 1, "--without", "everything")
    raw: dict[str, Any] = yaml.safe_load(LAYERS.read_text(encoding="utf-8"))
    del raw["phantom"]
    raw |= {"results": str(folder / "results"), "collections": {"sim": str(folder / "sim")}}
    raw["training"] = {"epochs": 1, "slices_per_epoch": 64, "validation_slices": 64}
    raw["search"] |= {"trials": 4, "workers": 1}
    raw |= {"ensemble": {"members": 2}, "evaluate": {"bootstrap": 200}}
    config = folder / "mine.yaml"
    config.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    run_verb("slice", "--config", config)
    return config


@pytest.mark.slow
def test_slots_as_jobs_and_in_one_process_train_the_same_networks(run_config: Path) -> None:
    """Begun, proposed and trained one command each, from what the journal says of the costs; and proposed
    again."""
    raw = yaml.safe_load(run_config.read_text(encoding="utf-8"))
    raw["search"]["trials"] = 2
    search_config = run_config.with_name("search.yaml")
    search_config.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    raw["search"]["jobs"] = True
    jobs_config = run_config.with_name("jobs.yaml")
    jobs_config.write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")
    run_verb("search", "--config", search_config)
    results = Path(raw["results"])
    name = json.loads((results / "search" / "current.json").read_text())["journal"]
    in_one = read_trials(results / "search" / name)
    assert "65 variables" in run_verb("slot", "begin", "--config", jobs_config)
    for slot in range(2):
        run_verb("slot", "propose", "--config", jobs_config, "--slot", slot)
        run_verb("slot", "train", "--config", jobs_config, "--slot", slot)
        again = json.loads(run_verb("propose", results, "--slot", slot))
        assert again["configuration"] == in_one[slot].proposal.configuration
    assert "validation loss" in run_verb("slot", "gather", "--config", jobs_config)
    _, as_jobs = read_finished_search(Results(results))
    assert [trial.score for trial in as_jobs] == [trial.score for trial in in_one]


def test_the_cost_of_a_tree_is_that_of_its_start_and_of_a_sample() -> None:
    """And with them the time of a search; there is no table of rows."""
    told = run_verb("cost", "--config", LAYERS)
    assert told.startswith("The start: 337,935 weights, 3.24 million multiply-adds per slice, ")
    assert " of 10,000 draws fit; the others do not: " in told
    assert "40 trials, 2 at a time: about " in told
    refused = CliRunner().invoke(app, ["cost", "--config", str(LAYERS), "--out", "a.tsv"])
    assert str(refused.exception) == (
        "--out a.tsv: a tree has no table of rows to write; leave it out [cost-tree]"
    )


@pytest.mark.slow
def test_a_run_goes_from_slices_to_a_report_and_answers(run_config: Path) -> None:
    """Every act takes networks of layers; the report draws those of the ensemble."""
    folder = run_config.parent
    for act in ("search", "ensemble", "tune", "decide", "evaluate", "report"):
        run_verb(act, "--config", run_config)
    page = (folder / "results" / "report.html").read_text(encoding="utf-8")
    members = json.loads((folder / "results" / "ensemble" / "ensemble.json").read_text())["members"]
    assert page.count("The layers of the network of trial") == len(members)
    assert "there is no list of those of a tree" in page
    told = run_verb("search", "explain", folder / "results")
    assert "tree of 65 variables, 53 at most active. Of 4 trials asked for" in told
    picture = folder / "courses.png"
    assert "gp-ei" in run_verb("search", "compare", folder / "results", "--out", picture)
    answers = folder / "answers"
    run_verb(
        "predict", folder / "sim", "--model", folder / "results" / "ensemble", "--out", answers
    )
    assert len((answers / "answers.tsv").read_text().splitlines()) > 10
    shown = run_verb(
        "train",
        "--config",
        run_config,
        "--out",
        folder / "alone",
        "--set",
        "conv=1",
        "--set",
        "dense=0",
    )
    assert (folder / "alone" / "layers.png").exists()
    assert "weights · " in shown
