"""`fovnet search learn`, and what `search` and `check` say of a configuration that goes by it."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import save
from typer.testing import CliRunner

from fovnet.acts.search_prior import read_search_prior
from fovnet.acts.search_space import search_space
from fovnet.cli import app
from fovnet.config.files import load_settings
from fovnet.errors import ConfigError, FovnetError, SearchError
from fovnet.own_files import is_our_prior
from fovnet.search.prior import read_prior
from fovnet.search.run import run_search
from fovnet.search.search import Search
from fovnet.search.trial import Outcome

SPACE = {
    "blocks": [4, 5],
    "convolutions": [1, 2],
    "log2_filters": [2, 3],
    "kernel": [3],
    "separable": [False],
    "log10_learning_rate": [-4, -3, -2],
    "log2_batch": [4],
}
START = {
    "blocks": 5,
    "convolutions": 1,
    "log2_filters": 2,
    "kernel": 3,
    "separable": False,
    "log10_learning_rate": -3,
    "log2_batch": 4,
}


def config(folder: Path, **search: object) -> Path:
    raw = {
        "results": str(folder / "mine"),
        "phantom": {"subjects": 8},
        "search": {"method": "ranking", "space": SPACE, "start": START, **search},
    }
    (folder / "mine.yaml").write_text(yaml.safe_dump(raw))
    return folder / "mine.yaml"


def journal(folder: Path, trials: int = 9, slope: float = 1.0) -> str:
    """A journal of a random search in which few filters and low rates do best, or all are alike."""
    space = search_space(load_settings(config(folder.parent)))
    every = np.ones(len(space))

    def submit(proposal: object) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        at = proposal.configuration  # type: ignore[attr-defined]
        future.set_result(
            Outcome(
                "completed",
                score=2.0 + slope * (at["log2_filters"] + 0.3 * at["log10_learning_rate"]),
            )
        )
        return future

    run_search(
        Search(space, "random", 1, 1, 0, 3, every, every > 0),
        trials=trials,
        folder=folder,
        submit=submit,
    )
    return str(folder)


def learned(file: Path, *words: str) -> tuple[int, str, str]:
    """Status, what was printed, and the error, of a `search learn` of 20 steps."""
    done = CliRunner().invoke(
        app, ["search", "learn", *words, "--config", str(file), "--steps", "20"]
    )
    return done.exit_code, " ".join(done.output.split()), str(done.exception or "")


def test_two_searches_are_learned_from_and_each_is_held_against_the_other(tmp_path: Path) -> None:
    one, other = journal(tmp_path / "one"), journal(tmp_path / "other", 12)
    status, said, _ = learned(
        config(tmp_path), one, other, one, "--out", str(tmp_path / "p.safetensors")
    )
    prior = read_prior(
        tmp_path / "p.safetensors", search_space(load_settings(config(tmp_path))).axes
    )
    assert status == 0 and f"learned: {tmp_path / 'p.safetensors'}" in said
    assert [(source.name, source.scored_count) for source in prior.sources] == [
        (one, 9),
        (other, 12),
    ]
    assert all(
        f"{each['place_of_best']} of {each['of']}" in said for each in prior.facts["held_out"]
    )


def test_the_configuration_names_searches_and_the_file_is_that_of_its_results(
    tmp_path: Path,
) -> None:
    file = config(tmp_path, learn_from=[journal(tmp_path / "one")])
    with pytest.raises(
        SearchError,
        match=r"nothing learned yet from .*one; `fovnet search learn --config.*prior-missing",
    ):
        read_search_prior(load_settings(file), search_space(load_settings(file)))
    assert "will learn from" in CliRunner().invoke(app, ["check", "--config", str(file)]).output
    assert learned(file)[0] == 0 and is_our_prior(tmp_path / "mine" / "prior.safetensors")
    assert read_search_prior(load_settings(file), search_space(load_settings(file))) is not None
    assert (
        "a prior from earlier searches"
        in CliRunner().invoke(app, ["check", "--config", str(file)]).output
    )


def test_searches_that_teach_nothing_are_passed_over_by_name_and_alone_refused(
    tmp_path: Path,
) -> None:
    few, alike, good = (
        journal(tmp_path / "few", 4),
        journal(tmp_path / "alike", slope=0.0),
        journal(tmp_path / "good"),
    )
    status, said, _ = learned(config(tmp_path), few, alike, good)
    assert status == 0
    assert (
        f"{few}: passed over; 4 configurations of this space with a score, 5 or more are needed"
        in said
    )
    assert f"{alike}: passed over; all its scores are equal" in said
    fault = learned(config(tmp_path), few, alike)[2]
    assert all(
        words in fault
        for words in (
            "no search to learn an order from",
            f"{few}: 4 ",
            f"{alike}: all",
            "prior-no-sources",
        )
    )


def test_configurations_that_the_new_space_lacks_are_counted(tmp_path: Path) -> None:
    one = journal(tmp_path / "one", 24)
    status, said, _ = learned(config(tmp_path, space={**SPACE, "log2_filters": [2]}), one)
    assert status == 0 and f"{one}: 12 configurations left out, not in this space" in said


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        ([], "no search to learn from; give journals, or set search.learn_from"),
        (["nowhere"], "nowhere: no such folder; give a journal"),
        ([__file__], "test_learn.py: is a file, not a folder; give a journal"),
        (["."], ".: neither search.json nor search/current.json in it; give a journal"),
    ],
)
def test_without_a_search_it_says_what_to_name(
    words: list[str], fault: str, tmp_path: Path
) -> None:
    assert fault in learned(config(tmp_path), *words)[2]


def test_no_network_nor_any_other_file_is_written_over(tmp_path: Path) -> None:
    one, network = journal(tmp_path / "one"), tmp_path / "network.safetensors"
    network.write_bytes(save({"weight": np.zeros(3)}, {"facts": "{}"}))
    assert not is_our_prior(network) and not is_our_prior(tmp_path / "none")
    kept = network.read_bytes()
    assert (
        learned(config(tmp_path), one, "--out", str(network))[0] != 0
        and network.read_bytes() == kept
    )


def test_check_refuses_a_prior_that_is_not_there_of_another_space_or_damaged(
    tmp_path: Path,
) -> None:
    file = tmp_path / "p.safetensors"

    def checked(**search: object) -> FovnetError:
        done = CliRunner().invoke(
            app, ["check", "--config", str(config(tmp_path, prior=str(file), **search))]
        )
        assert "fine" not in done.output and isinstance(done.exception, FovnetError)
        return done.exception

    assert isinstance(checked(), ConfigError) and checked().code == "prior-missing"
    learned(config(tmp_path), journal(tmp_path / "one"), "--out", str(file))
    assert (
        "its axis 3 is log2_filters (ordinal: 2, 3), that of the search log2_filters (ordinal: 2, 3, 4)"
        in str(checked(space={**SPACE, "log2_filters": [2, 3, 4]}))
    )
    file.write_bytes(file.read_bytes()[:3000])
    assert checked().code == "prior-damaged"
