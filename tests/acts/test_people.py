"""Simulated people that come with a model: with them nobody is simulated to adapt it."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from fovnet.acts.adapt import adapt_ensemble, write_people_of_model
from fovnet.acts.people import read_people
from fovnet.decision.folder import PEOPLE_FILE_NAME, ModelFolder
from fovnet.errors import ModelError
from fovnet.records import checksum, read_json, read_npz, read_tsv, write_npz
from tests.acts.test_adapt import FEWEST_SUBJECTS, begun, collection, run_of

__all__ = ["begun"]  # a fixture
PEOPLE = 8


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A collection in the place of simulated people."""
    return collection(tmp_path_factory.mktemp("simulated"), PEOPLE, 50)


@pytest.fixture(scope="module")
def model(begun: Path, simulated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with people."""
    folder = tmp_path_factory.mktemp("with-people")
    model = copytree(begun, folder / "ensemble")
    _, people = write_people_of_model(simulated, folder / "work", model, megabytes=1.0, seed=1)
    assert len(people.records) == PEOPLE
    return model


@pytest.mark.slow
def test_with_people_of_the_model_the_outcome_is_that_with_the_same_people_simulated(
    begun: Path, model: Path, tmp_path: Path
) -> None:
    labels = collection(tmp_path / "labels", FEWEST_SUBJECTS, 0)
    with_pixels, without_pixels = tmp_path / "simulated", tmp_path / "of-the-model"
    collection(with_pixels / "phantom", PEOPLE, 50)
    expected = adapt_ensemble(run_of(begun, labels, with_pixels))
    outcome = adapt_ensemble(run_of(model, labels, without_pixels))
    assert not (without_pixels / "phantom").exists() and not outcome.notes
    assert outcome.new_weight_share == expected.new_weight_share
    assert (outcome.learned_people, outcome.checked_people) == (
        expected.learned_people,
        expected.checked_people,
    )
    assert outcome.learned_people + outcome.checked_people == PEOPLE
    assert read_tsv(outcome.gains_table) == read_tsv(expected.gains_table)
    expected_losses = read_json(with_pixels / "adapted.json")["losses"]
    assert read_json(without_pixels / "adapted.json")["losses"] == pytest.approx(expected_losses)


def test_the_file_is_the_same_again_and_nothing_is_measured_twice(
    begun: Path, simulated: Path, model: Path, tmp_path: Path
) -> None:
    again = copytree(begun, tmp_path / "ensemble")
    write_people_of_model(simulated, tmp_path / "work", again, megabytes=1.0, seed=1)
    assert checksum(again / PEOPLE_FILE_NAME) == checksum(model / PEOPLE_FILE_NAME)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.glob("work/answers/*")}
    write_people_of_model(simulated, tmp_path / "work", again, megabytes=1.0, seed=1)
    assert len(times) == PEOPLE
    assert times == {path: path.stat().st_mtime_ns for path in tmp_path.glob("work/answers/*")}


def test_as_many_whole_people_are_taken_as_the_megabytes_hold(
    begun: Path, simulated: Path, model: Path, tmp_path: Path
) -> None:
    path = model / PEOPLE_FILE_NAME
    megabytes = 0.8 * path.stat().st_size / 1e6
    fewer_path, people = write_people_of_model(
        simulated,
        tmp_path / "work",
        copytree(begun, tmp_path / "fewer"),
        megabytes=megabytes,
        seed=1,
    )
    assert fewer_path.stat().st_size <= megabytes * 1e6
    assert PEOPLE / 2 < len(people.records) < PEOPLE
    assert {record.split for record in people.records} >= {"train", "validation"}
    with pytest.raises(ModelError) as fault:
        write_people_of_model(
            simulated, tmp_path / "work", tmp_path / "fewer", megabytes=0.001, seed=1
        )
    assert fault.value.code == "people-few"


def _cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def _write_another_format(path: Path) -> None:
    arrays = read_npz(path)
    facts = json.loads(arrays.pop("facts").tobytes()) | {"format": 99}
    write_npz(path, facts=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)


def _lose_a_slice(path: Path) -> None:
    arrays = read_npz(path)
    write_npz(path, **{**arrays, "truth": arrays["truth"][1:]})


def _label_other_classes(path: Path) -> None:
    arrays = read_npz(path)
    write_npz(path, **{**arrays, "truth": arrays["truth"][:, 1:]})


def _change_a_network(path: Path) -> None:
    facts_path = path.parent / "ensemble.json"
    member = read_json(facts_path)["members"][0]["weights"]
    network_path = path.parent / member
    network_path.write_bytes(network_path.read_bytes() + b" ")


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (_cut_short, "people-damaged"),
        (_lose_a_slice, "people-damaged"),
        (_label_other_classes, "people-damaged"),
        (_write_another_format, "people-format"),
        (_change_a_network, "people-other"),
    ],
)
def test_people_that_cannot_be_used_are_refused_in_a_sentence(
    model: Path, tmp_path: Path, damage: object, code: str
) -> None:
    folder = copytree(model, tmp_path / "ensemble")
    assert read_people(ModelFolder(folder)) is not None
    damage(folder / PEOPLE_FILE_NAME)  # type: ignore[operator]
    with pytest.raises(ModelError, match=r"people are simulated instead") as fault:
        read_people(ModelFolder(folder))
    assert fault.value.code == code and str(folder) in fault.value.sentence


def test_a_model_without_people_has_none(begun: Path) -> None:
    assert read_people(ModelFolder(begun)) is None
