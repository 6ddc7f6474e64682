import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fovnet.config.files import parse
from fovnet.decision.rule import Rule
from fovnet.evaluate.cases import ListedVolume
from fovnet.evaluate.evaluation import evaluate
from fovnet.regions import DEFAULT
from fovnet.report.content.page import gather_page
from fovnet.report.content.run_record import Member, RunRecord
from fovnet.search.trial import Outcome, Proposal, Trial, best_trials


def module_in(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def planted():
    """The module of seeded cases that the evaluation's tests use as well."""
    return module_in(Path(__file__).parents[1] / "evaluate" / "planted.py")


@pytest.fixture(scope="session")
def planted_search():
    """The module of a search with a planted explanation."""
    return module_in(Path(__file__).with_name("planted_search.py"))


def settings_of(configuration):
    """The default settings but for these, of a collection that nobody reads."""
    return parse({"collections": {"clinic": "/archive/clinic"}, **configuration}, "here")


def configuration(rng):
    """A configuration of the search space, as a trial records it."""
    return {
        "blocks": int(rng.integers(1, 6)),
        "convolutions": int(rng.integers(1, 6)),
        "filters": int(2 ** rng.integers(2, 9)),
        "size": int(rng.choice([3, 5])),
        "separable": bool(rng.integers(2)),
        "rate": float(10.0 ** rng.integers(-5, -1)),
        "batch": int(2 ** rng.integers(2, 9)),
    }


def search_trials(count=40, seed=0):
    """Trials whose scores fall as the search goes on; some failed."""
    rng = np.random.default_rng([seed, 3])
    trials = []
    for slot in range(count):
        failed = slot > 0 and rng.random() < 0.12
        status = (
            str(rng.choice(["diverged", "out_of_memory", "timeout"])) if failed else "completed"
        )
        value = (
            None
            if failed
            else float(0.18 + 0.9 * np.exp(-slot / 18) * rng.random() + 0.3 * rng.random())
        )
        at, seconds, predicted = (
            configuration(rng),
            float(rng.gamma(2, 140)),
            float(rng.gamma(2, 140)),
        )
        message = "the loss was not a number after 3 epochs" if status == "diverged" else ""
        outcome = Outcome(
            status,
            validation_loss=(0.5,) * 30,
            score=value if slot else 0.61,
            seconds=seconds,
            device="cpu",
            message=message,
        )
        trials.append(
            Trial(Proposal(slot, slot, at, slot, tuple(range(slot)), (), predicted), outcome)
        )
    return trials


def members_of(trials):
    """The ten best as an ensemble of equal weights."""
    return [
        Member(
            slot=one.proposal.slot,
            score=one.score,
            configuration=one.proposal.configuration,
            weights=f"member-{one.proposal.slot:04d}.safetensors",
            mixing_weight=0.1,
        )
        for one in best_trials(trials, 10)
    ]


def manifest_of(cases):
    """The prepared collection: the evaluated cases as test split, and others for training and validation."""
    volumes = [
        ListedVolume(
            volume_id=case.volume_id,
            subject_id=case.subject_id,
            collection=case.collection,
            split="test",
            is_labelled=True,
            status=case.status,
            slices=len(case.z_mm),
            message=case.message,
            attributes=dict(case.attributes),
            code="volume-planes" if case.status == "refused" else "",
        )
        for case in cases
    ]
    for split, count in (("train", 60), ("validation", 12)):
        for number in range(count):
            name, maker = f"{split}-{number:02d}", "Alpha" if number % 3 else "Beta"
            volumes.append(
                ListedVolume(
                    volume_id=name,
                    subject_id=name,
                    collection="phantom",
                    split=split,
                    is_labelled=True,
                    slices=150 + number,
                    attributes={"manufacturer": maker},
                )
            )
    return volumes


def lost(planted, volume_id="P10-lost", **more):
    """A whole body in which a run of 30 slices, half of the pelvis and what lies above it, was called legs,
    with confidence."""
    case = planted.whole_body(np.random.default_rng(2), volume_id, pictured=True, **more)
    decided = case.decided_labels.copy()
    start = int(np.flatnonzero(decided[:, 0])[-1]) + 10
    decided[start : start + 30] = decided[start : start + 30, 0:1] | (
        np.arange(decided.shape[1]) == 0
    )
    return replace(
        case, decided_labels=decided, spans=planted.spans(decided, case.z_mm, case.slice_confidence)
    )


@pytest.fixture(scope="session")
def pictured(planted):
    """The planted test split, with pixels, and one volume in it that was answered wrongly."""
    return [*planted.collection(pictured=True), lost(planted)]


@pytest.fixture(scope="session")
def make_page(pictured, planted_search):
    """A page from cases (the planted collection by default) with everything else around it.

    configuration  settings other than the default ones;  parts  of the record to replace
    """

    def make(cases=None, bootstrap=200, configuration=None, **parts):
        cases = pictured if cases is None else cases
        trials = search_trials()
        title = "Body regions in MRI: the demonstration collection"
        standard = {
            "settings": settings_of({"report": {"title": title}, **(configuration or {})}),
            "manifest": manifest_of(cases),
            "trials": trials,
            "members": members_of(trials),
            "rule": Rule(temperature=1.37, sigma_mm=8.0, side_threshold=0.35, min_confidence=0.62),
            "versions": {"fovnet": "0.1.0", "configuration sha256": "4f1c" * 16},
            "hashes": {"ensemble/ensemble.json": "9a0b" * 16},
            "labels": {
                "train": (3000, 1500, 2000, 1900, 2000, 300, 70),
                "validation": (500, 250, 330, 340, 380, 50, 16),
            },
            "explanation": planted_search.explanation(),
        }
        evaluation = evaluate(cases, DEFAULT, bootstrap=bootstrap, seed=1)
        return gather_page(evaluation, cases, RunRecord(**{**standard, **parts}))

    return make
