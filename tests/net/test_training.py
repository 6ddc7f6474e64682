"""A trial: it learns, it ends in a truthful record, and a killed one goes on to the same bits."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight

from fovnet.net.architecture import Architecture
from fovnet.net.training import Data, Ending, Recipe, class_weights, loss_of, shuffled, train_network
from fovnet.net.weights import load_network, load_tensors

SMALL = Architecture(4, 1, 3, 3, False, classes=3, head="gap")


def train(data: Data, recipe: Recipe, keep: Path, learning_rate: float = 0.03, seed: int = 5, **more: object) -> Ending:
    return train_network(
        SMALL, learning_rate=learning_rate, batch=8, seed=seed, data=data, recipe=recipe, keep=keep, facts={}, **more
    )  # fmt: skip


def test_class_weights_are_scikit_learns_balanced_ones() -> None:
    labels = np.random.default_rng(0).choice(4, size=300, p=[0.5, 0.3, 0.15, 0.05])
    ours = class_weights(torch.from_numpy(np.eye(4)[labels]))
    np.testing.assert_allclose(ours.numpy(), compute_class_weight("balanced", classes=np.arange(4), y=labels), rtol=1e-9)


def test_a_class_never_seen_weighs_nothing() -> None:
    weights = class_weights(torch.tensor([[1.0, 0, 0], [0, 1.0, 0]]))
    assert weights.tolist() == [1.0, 1.0, 0.0]


def test_the_loss_is_torchs_weighted_cross_entropy_over_soft_targets() -> None:
    generator = torch.Generator().manual_seed(0)
    scores, targets, weights = torch.randn(9, 4, generator=generator), torch.rand(9, 4, generator=generator), torch.rand(4)
    theirs = torch.nn.functional.cross_entropy(scores, targets, weight=weights, reduction="mean")
    torch.testing.assert_close(loss_of(scores, targets, weights), theirs)


def test_every_slice_is_drawn_once_before_any_is_drawn_twice() -> None:
    rows = torch.arange(10, 20)
    drawn = torch.cat(list(shuffled(rows, 25, 4, torch.Generator().manual_seed(0))))
    assert sorted(drawn[:10].tolist()) == sorted(drawn[10:20].tolist()) == rows.tolist()
    assert len(drawn) == 25


def test_a_small_network_learns_discs_from_bars(shapes: Data, recipe: Recipe, tmp_path: Path) -> None:
    """Guessing costs log 3 = 1.10."""
    ending = train(shapes, replace(recipe, epochs=6), tmp_path / "net.safetensors", learning_rate=0.03)
    assert ending.status == "completed"
    assert min(ending.validation_loss) < 0.6
    assert len(ending.training_loss) == len(ending.validation_loss) == 6


def test_the_weights_kept_are_those_of_the_best_epoch(shapes: Data, recipe: Recipe, tmp_path: Path) -> None:
    ending = train(shapes, recipe, tmp_path / "net.safetensors")
    model, facts = load_network(tmp_path / "net.safetensors", torch.device("cpu"))
    assert facts["score"] == min(ending.validation_loss)
    from fovnet.net.training import validation_loss

    weights = class_weights(shapes.targets[shapes.train])
    assert validation_loss(model, shapes, weights) == pytest.approx(facts["score"], rel=1e-5)


@pytest.mark.parametrize("epochs_before", [1, 2])
@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_a_trial_killed_between_epochs_ends_with_the_same_bits(
    shapes: Data, recipe: Recipe, tmp_path: Path, epochs_before: int, averaging: float
) -> None:
    recipe = replace(recipe, averaging=averaging)
    whole = train(shapes, recipe, tmp_path / "whole.safetensors")

    class Killed(Exception):
        pass

    def kill(done: int, _: int) -> None:
        if done == epochs_before:
            raise Killed

    with pytest.raises(Killed):
        train(shapes, recipe, tmp_path / "cut.safetensors", report=kill)
    resumed = train(shapes, recipe, tmp_path / "cut.safetensors")
    assert (resumed.training_loss, resumed.validation_loss) == (whole.training_loss, whole.validation_loss)
    first, second = (load_tensors(tmp_path / f"{name}.safetensors")[0] for name in ("whole", "cut"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not list(tmp_path.glob("*.checkpoint"))


def test_averaging_leaves_the_steps_alone_and_changes_only_what_is_kept(shapes: Data, recipe: Recipe, tmp_path: Path) -> None:
    """The training losses are the same to the bit; at a learning rate of zero the mean of equal weights is those weights."""
    plain = train(shapes, recipe, tmp_path / "plain.safetensors", learning_rate=0.0)
    averaged = train(shapes, replace(recipe, averaging=0.9), tmp_path / "averaged.safetensors", learning_rate=0.0)
    np.testing.assert_allclose(averaged.validation_loss, plain.validation_loss, rtol=1e-5)
    moving = train(shapes, replace(recipe, averaging=0.9), tmp_path / "moving.safetensors")
    assert moving.training_loss == train(shapes, recipe, tmp_path / "own.safetensors").training_loss
    assert moving.validation_loss != averaged.validation_loss


def test_a_learning_rate_that_explodes_is_called_diverged(shapes: Data, recipe: Recipe, tmp_path: Path) -> None:
    ending = train(shapes, recipe, tmp_path / "net.safetensors", learning_rate=1e18)
    assert ending.status == "diverged"
    assert len(ending.training_loss) >= 1


OUT_OF_MEMORY = """
import resource, sys
import numpy as np, torch
from pathlib import Path
from fovnet.net.architecture import Architecture
from fovnet.net.augment import Ranges
from fovnet.net.training import Recipe, place, train_network
data = place(np.zeros((8, 128, 128), np.uint8), np.eye(3)[np.zeros(8, int)], np.arange(4), np.arange(4, 8), torch.device("cpu"))
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
end = train_network(Architecture(1, 1, 8, 3, False, classes=3), learning_rate=0.1, batch=4, seed=0, data=data,
                    recipe=Recipe(1, 4, Ranges(0, 0, 0, 0, 0)), keep=Path(sys.argv[1]), facts={})
print(end.status)
"""


@pytest.mark.slow
def test_a_network_that_does_not_fit_ends_as_out_of_memory(tmp_path: Path) -> None:
    """4.3 billion weights under a limit of 6 GiB."""
    run = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY, str(tmp_path / "net.safetensors")], capture_output=True, text=True, timeout=120, check=False
    )
    assert run.stdout.strip() == "out_of_memory", run.stderr[-2000:]
