"""Networks whose classes are parts of regions, adapted to labels that name the regions."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

import fovnet
from fovnet.acts.adapt import adapt_ensemble, write_people_of_model
from fovnet.acts.adaptation import Adaptation
from fovnet.acts.people import read_people
from fovnet.acts.prepare import cut_slices
from fovnet.acts.run import silent_progress
from fovnet.config.files import parse
from fovnet.decision.folder import ModelFolder
from fovnet.decision.rule import Rule
from fovnet.maths.softmax_regression import scores
from fovnet.records import read_json
from fovnet.regions import NINE
from tests.acts.test_adapt import FEWEST_SUBJECTS, collection, draw_ensemble, run_of

LEGS = slice(0, 4)
PEOPLE = 8
PART_RULES = {"legs": asdict(Rule(yes_bar=0.9)), "head": asdict(Rule(yes_bar=0.9))}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two networks of the eleven classes, with rules for parts, and people labelled with these."""
    folder = tmp_path_factory.mktemp("nine")
    facts = {"parts": {"stated_error": 0.02}, "part_rules": PART_RULES}
    ensemble = draw_ensemble(folder, NINE, facts)
    simulated = collection(folder / "simulated", PEOPLE, 50, ("thigh", "pelvis"))
    write_people_of_model(simulated, folder / "work", ensemble, megabytes=1.0, seed=1)
    return ensemble


def adaptation_of(
    model: Path, folder: Path, names: tuple[str, str], regions: str = "default"
) -> Adaptation:
    """The adaptation to volumes labelled with two names, its slices cut."""
    labels = collection(folder / "labels", FEWEST_SUBJECTS, 0, names)
    run = run_of(model, labels, folder / "out")
    settings = {**run.settings.model_dump(mode="json"), "regions": regions}
    settings["phantom"]["subjects"] = 0
    run = type(run)(labels, parse(settings, "few"))
    cut_slices(run)
    return Adaptation(run, read_people(ModelFolder(model)), silent_progress)


def test_people_have_the_truth_of_parts_and_users_that_of_regions(
    model: Path, tmp_path: Path
) -> None:
    adaptation = adaptation_of(model, tmp_path, ("legs", "pelvis"))
    names_by_slice = [
        [name for name, is_shown in zip(NINE.classes, row, strict=True) if is_shown]
        for row in adaptation.training_pack.truth
    ]
    of_user, of_person = names_by_slice[:12], names_by_slice[-12:]
    assert of_user == 6 * [[*NINE.parts["legs"]]] + 6 * [["pelvis"]]
    assert of_person == 6 * [["thigh"]] + 6 * [["pelvis"]]
    shown = adaptation.pack.truth[-12:]
    assert adaptation.pack.classes == NINE.whole.classes
    assert shown[:6, 0].all() and shown[6:, 1].all() and shown.sum() == 12


@pytest.mark.parametrize("regions", ["nine", "default"])
@pytest.mark.parametrize("name", ["legs", "knee"])
def test_labels_move_the_legs_and_leave_the_shares_of_their_parts(
    model: Path, tmp_path: Path, name: str, regions: str
) -> None:
    adaptation = adaptation_of(model, tmp_path, (name, "pelvis"), regions)
    layers = adaptation.fit_last_layers(adaptation.regions_by_user.keys())
    for features, layer, layer_before in zip(
        adaptation.hidden_features, layers, adaptation.last_layers, strict=True
    ):
        old, new = (softmax(scores(features, of), axis=1) for of in (layer_before, layer))
        old_sum, new_sum = (of[:, LEGS].sum(axis=1, keepdims=True) for of in (old, new))
        np.testing.assert_allclose(new[:, LEGS] / new_sum, old[:, LEGS] / old_sum, atol=1e-6)
        assert np.abs(new_sum - old_sum).max() > 0.05


@pytest.mark.slow
def test_an_adapted_ensemble_still_says_parts(model: Path, tmp_path: Path) -> None:
    labels = collection(tmp_path / "labels", FEWEST_SUBJECTS, 0, ("knee", "thigh"))
    outcome = adapt_ensemble(run_of(model, labels, tmp_path / "out"))
    folder = ModelFolder(outcome.ensemble_folder)
    assert folder.network_vocabulary == NINE and not outcome.notes
    tuning = read_json(outcome.ensemble_folder / "decision.json")
    assert tuning["parts"] == {"stated_error": 0.02}
    assert tuning["part_rules"] == read_json(model / "decision.json")["part_rules"]
    assert [*folder.part_rules] == ["legs", "head"]
    answer = fovnet.load(outcome.ensemble_folder).predict(labels / "volumes" / "v00.nii.gz")
    assert answer.status in ("ok", "partly", "uncertain")
