"""The ablation of the simulator: arms by name, and rows that come again from what is there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fovnet.bench.simulated_training import Study
from fovnet.bench.simulator import COLUMNS, arms_of, studied
from fovnet.errors import ConfigError
from fovnet.evaluate.balanced import balanced, balanced_change
from fovnet.phantom.features import SCANNING


def test_arms_are_everything_each_feature_alone_and_nothing() -> None:
    arms = arms_of([], SCANNING)
    assert list(arms) == ["all", *(f"without {name}" for name in SCANNING), "without everything"]
    assert arms["all"] == frozenset() and arms["without everything"] == frozenset(SCANNING) and arms["without masks"] == {"masks"}
    assert arms_of(["without masks + artefacts"], SCANNING)["without masks + artefacts"] == {"masks", "artefacts"}


@pytest.mark.parametrize(("arm", "code"), [("masks", "bench-arm"), ("without mask", "did you mean 'masks'")])
def test_what_is_no_arm_is_refused(arm: str, code: str) -> None:
    with pytest.raises(ConfigError, match=code):
        arms_of([arm], SCANNING)


@pytest.mark.slow
def test_a_study_has_a_row_an_arm_and_comes_out_the_same_again(tmp_path: Path) -> None:
    study, steps = Study(tmp_path, 3, 1, 32, 1, 1, "cpu", volumes=1), []
    arms = arms_of(["all"], SCANNING)
    judged = tmp_path / "held-out" / "phantom"
    first = list(studied(study, arms, balanced, balanced_change, judged, lambda *done: steps.append(done), repeats=2))
    volumes = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.nii.gz")}
    again = list(studied(study, arms, balanced, balanced_change, judged, repeats=2))
    assert steps == [(done, 5) for done in range(1, 6)] and first == again
    assert set(first[0]) == {name for name in COLUMNS if "change" not in name}        # it is what the others are held against
    assert all(path.stat().st_mtime_ns == time for path, time in volumes.items())
    row = first[0]
    assert row["labelled_accuracy"] == row["simulated_accuracy"] and row["simulated_slices"] > 0      # one and the same collection
    once = next(studied(study, arms, balanced, balanced_change))
    assert once["simulated_spread"] is None and row["train_slices"] > once["train_slices"]
    two = once["simulated_accuracy"], 2 * row["simulated_accuracy"] - once["simulated_accuracy"]      # the mean of both repeats
    assert row["simulated_spread"] == pytest.approx(np.std(two, ddof=1)) and once["simulated_slices"] == row["simulated_slices"]
    assert 0 <= row["simulated_accuracy"] <= 1 and row["validation_loss"] > 0
