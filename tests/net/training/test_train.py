"""A trial: it learns, it ends in a truthful record, and a killed one goes on to the same bits."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from sklearn.utils.class_weight import compute_class_weight

from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import load_network, load_tensors
from fovnet.net.images.inputs import scale_to_unit_range
from fovnet.net.paths import checkpoint_path_of, forget_checkpoint
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.stopping import Ends, Plateau
from fovnet.net.training.class_weights import guessing_loss, inverse_class_weights
from fovnet.net.training.loss_curves import read_loss_curves
from fovnet.net.training.progress import Progress
from fovnet.net.training.train import (
    Ending,
    TrainingData,
    draw_shuffled_batches,
    draw_volume_batches,
    measure_validation_loss,
    place_on_device,
    train_network,
    training_row_frequencies,
    weighted_cross_entropy,
)
from fovnet.net.training.train_step import TrainStep

SMALL = Architecture(4, 1, 3, 3, False, classes=3, head="gap")


def train(
    data: TrainingData,
    recipe: Recipe,
    keep: Path,
    learning_rate: float = 0.03,
    seed: int = 5,
    **more: object,
) -> Ending:
    return train_network(
        SMALL,
        learning_rate=learning_rate,
        batch_size=8,
        seed=seed,
        data=data,
        recipe=recipe,
        weights_path=keep,
        network_facts={},
        **more,
    )


def test_class_weights_are_scikit_learns_balanced_ones() -> None:
    labels = np.random.default_rng(0).choice(4, size=300, p=[0.5, 0.3, 0.15, 0.05])
    ours = inverse_class_weights(torch.from_numpy(np.eye(4)[labels]))
    np.testing.assert_allclose(
        ours.numpy(), compute_class_weight("balanced", classes=np.arange(4), y=labels), rtol=1e-9
    )


def test_a_class_never_seen_weighs_nothing() -> None:
    weights = inverse_class_weights(torch.tensor([[1.0, 0, 0], [0, 1.0, 0]]))
    assert weights.tolist() == [1.0, 1.0, 0.0]


def test_the_loss_is_torchs_weighted_cross_entropy_over_soft_targets() -> None:
    generator = torch.Generator().manual_seed(0)
    scores, targets, weights = (
        torch.randn(9, 4, generator=generator),
        torch.rand(9, 4, generator=generator),
        torch.rand(4),
    )
    theirs = torch.nn.functional.cross_entropy(scores, targets, weight=weights, reduction="mean")
    torch.testing.assert_close(weighted_cross_entropy(scores, targets, weights), theirs)


def test_every_slice_is_drawn_once_before_any_is_drawn_twice() -> None:
    rows = torch.arange(10, 20)
    drawn = torch.cat(list(draw_shuffled_batches(rows, 25, 4, torch.Generator().manual_seed(0))))
    assert sorted(drawn[:10].tolist()) == sorted(drawn[10:20].tolist()) == rows.tolist()
    assert len(drawn) == 25


def test_a_small_network_learns_discs_from_bars(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """Guessing costs log 3 = 1.10."""
    ending = train(
        shapes, replace(recipe, epochs=6), tmp_path / "net.safetensors", learning_rate=0.03
    )
    assert ending.status == "completed"
    assert min(ending.validation_losses) < 0.6
    assert len(ending.training_losses) == len(ending.validation_losses) == 6


def test_the_weights_kept_are_those_of_the_best_epoch(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    ending = train(shapes, recipe, tmp_path / "net.safetensors")
    model, facts = load_network(tmp_path / "net.safetensors", torch.device("cpu"))
    assert facts["score"] == min(ending.validation_losses)
    from fovnet.net.training.train import measure_validation_loss

    weights = inverse_class_weights(shapes.targets[shapes.training_rows])
    assert measure_validation_loss(model, shapes, weights) == pytest.approx(
        facts["score"], rel=1e-5
    )


@pytest.mark.parametrize("epochs_before", [1, 2])
@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_a_trial_killed_between_epochs_ends_with_the_same_bits(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path, epochs_before: int, averaging: float
) -> None:
    recipe = replace(recipe, averaging=averaging)
    whole = train(shapes, recipe, tmp_path / "whole.safetensors")

    class Killed(BaseException):
        """Not an Exception: those are ends of a trial."""

    def kill(progress: Progress, _: int) -> None:
        if len(progress.validation_losses) == epochs_before:
            raise Killed

    with pytest.raises(Killed):
        train(shapes, recipe, tmp_path / "cut.safetensors", report_epoch=kill)
    resumed = train(shapes, recipe, tmp_path / "cut.safetensors")
    assert (resumed.training_losses, resumed.validation_losses) == (
        whole.training_losses,
        whole.validation_losses,
    )
    first, second = (load_tensors(tmp_path / f"{name}.safetensors")[0] for name in ("whole", "cut"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    forget_checkpoint(tmp_path / "cut.safetensors")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cut.safetensors",
        "whole.checkpoint",
        "whole.safetensors",
    ]


@pytest.mark.parametrize(("apart", "epochs_kept"), [(1e9, [1, 1, 3]), (0.0, [1, 2, 3])])
def test_checkpoints_are_written_after_the_first_epoch_the_last_one_and_some_seconds_apart(
    shapes: TrainingData,
    recipe: Recipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    apart: float,
    epochs_kept: list[int],
) -> None:
    monkeypatch.setattr("fovnet.net.training.train.CHECKPOINT_INTERVAL_SECONDS", apart)
    keep, kept = tmp_path / "net.safetensors", []
    train(shapes, recipe, keep, report_epoch=lambda *_: kept.append(len(read_loss_curves(keep)[0])))
    assert kept == epochs_kept


def test_averaging_leaves_the_steps_alone_and_changes_only_what_is_kept(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """The training losses are the same to the bit; at a learning rate of zero the mean of equal weights is
    those weights."""
    plain = train(shapes, recipe, tmp_path / "plain.safetensors", learning_rate=0.0)
    averaged = train(
        shapes, replace(recipe, averaging=0.9), tmp_path / "averaged.safetensors", learning_rate=0.0
    )
    np.testing.assert_allclose(averaged.validation_losses, plain.validation_losses, rtol=1e-5)
    moving = train(shapes, replace(recipe, averaging=0.9), tmp_path / "moving.safetensors")
    assert (
        moving.training_losses
        == train(shapes, recipe, tmp_path / "own.safetensors").training_losses
    )
    assert moving.validation_losses != averaged.validation_losses


def test_a_cooldown_lowers_the_rate_over_the_last_epochs_and_leaves_the_first_alone(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """Rates as written out by hand; the epochs before are those without it, to the bit; one that ended is not
    gone on with."""
    assert [
        replace(recipe, epochs=5, cooldown=0.6).cooldown_factor(epoch) for epoch in range(5)
    ] == pytest.approx([1, 1, 1, 2 / 3, 1 / 3])
    assert [
        replace(recipe, epochs=2, cooldown=0.0).cooldown_factor(epoch) for epoch in range(2)
    ] == [1, 1]
    plain = train(shapes, replace(recipe, epochs=4), tmp_path / "plain.safetensors")
    cooled = train(shapes, replace(recipe, epochs=4, cooldown=0.5), tmp_path / "cooled.safetensors")
    assert cooled.training_losses[:3] == plain.training_losses[:3]
    assert cooled.training_losses[3] != plain.training_losses[3]
    longer = train(shapes, replace(recipe, epochs=6, cooldown=0.5), tmp_path / "cooled.safetensors")
    assert (
        longer.training_losses
        == train(
            shapes, replace(recipe, epochs=6, cooldown=0.5), tmp_path / "anew.safetensors"
        ).training_losses
    )


def test_volumes_are_drawn_alike_whatever_their_slices_and_weights_know_it() -> None:
    """One volume of 30 slices, nine of 2: 48 slices.  Each is drawn 100 times of 1,000, and every slice of a
    volume as often."""
    volume = torch.tensor([7] * 30 + [n for n in range(10, 19) for _ in range(2)])
    rows = torch.randperm(48, generator=torch.Generator().manual_seed(1))
    drawn = torch.cat(
        list(draw_volume_batches(rows, 1000, 64, torch.Generator().manual_seed(2), volume))
    )
    assert Counter(volume[drawn].tolist()) == dict.fromkeys([7, *range(10, 19)], 100)
    counts = np.bincount(drawn.numpy(), minlength=48)
    assert chisquare(counts[:30]).pvalue > 1e-3 and all(
        chisquare(counts[at : at + 2]).pvalue > 1e-4 for at in range(30, 48, 2)
    )
    targets = torch.eye(2)[(volume == 7).long()]
    data, recipe = (
        TrainingData(
            torch.zeros(48), targets, torch.arange(48), torch.arange(0), volume_of_slice=volume
        ),
        Recipe(1, 1, Ranges(0, 0, 0, 0, 0)),
    )
    often = training_row_frequencies(data, replace(recipe, sampling="volumes"))
    # nine volumes of ten are of the first
    torch.testing.assert_close(inverse_class_weights(targets, often), torch.tensor([5 / 9, 5.0]))
    assert training_row_frequencies(data, recipe) is None


def test_bfloat16_is_near_float32_and_ends_with_the_same_bits_again(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """Eight bits of mantissa: scores are off by a hundredth or two, weights stay float32."""
    whole, reduced, again = (
        train(shapes, replace(recipe, precision=precision), tmp_path / f"{name}.safetensors")
        for name, precision in (
            ("whole", "float32"),
            ("reduced", "bfloat16"),
            ("again", "bfloat16"),
        )
    )
    measured = ("seconds", "epoch_seconds", "peak_memory_bytes")
    assert reduced == replace(again, **{name: getattr(reduced, name) for name in measured})
    assert reduced.training_losses != whole.training_losses
    assert reduced.training_losses[0] == pytest.approx(whole.training_losses[0], rel=0.05)
    tensors = load_tensors(tmp_path / "reduced.safetensors")[0]
    assert all(
        tensor.dtype == torch.float32
        for name, tensor in tensors.items()
        if "num_batches" not in name
    )


def test_a_learning_rate_that_explodes_is_called_diverged(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    ending = train(shapes, recipe, tmp_path / "net.safetensors", learning_rate=1e18)
    assert ending.status == "diverged"
    assert len(ending.training_losses) >= 1


def test_a_training_whose_record_was_lost_is_finished_again_at_once(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    whole = train(shapes, recipe, tmp_path / "net.safetensors")
    bits = (tmp_path / "net.safetensors").read_bytes()
    epochs: list[int] = []
    again = train(
        shapes,
        recipe,
        tmp_path / "net.safetensors",
        report_epoch=lambda progress, _: epochs.append(progress.step_count),
    )
    assert (again.training_losses, again.validation_losses, again.status) == (
        whole.training_losses,
        whole.validation_losses,
        "completed",
    )
    assert (tmp_path / "net.safetensors").read_bytes() == bits and not epochs
    # the seconds of the training itself, not of reading its end
    assert again.seconds >= 0.9 * whole.seconds


def test_a_training_stopped_after_fewer_epochs_goes_on_to_more(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """A rung of successive halving: one epoch, then three, are the three at once."""
    whole = train(shapes, recipe, tmp_path / "whole.safetensors")
    train(shapes, replace(recipe, epochs=1), tmp_path / "rungs.safetensors")
    rungs = train(shapes, recipe, tmp_path / "rungs.safetensors")
    assert rungs.validation_losses == whole.validation_losses
    assert (tmp_path / "rungs.safetensors").read_bytes() == (
        tmp_path / "whole.safetensors"
    ).read_bytes()


@pytest.mark.parametrize(
    "change", ["learning rate", "seed", "damaged", "flipped", "zeroed", "weights gone"]
)
def test_the_checkpoint_of_another_training_or_a_damaged_one_is_not_gone_on_with(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path, change: str
) -> None:
    keep = tmp_path / "net.safetensors"
    other = {"seed": {"seed": 6}, "learning rate": {"learning_rate": 0.1}}.get(change, {})
    train(shapes, replace(recipe, epochs=1), keep, **other)  # type: ignore[arg-type]
    if change == "damaged":
        checkpoint_path_of(keep).write_bytes(checkpoint_path_of(keep).read_bytes()[:-9])
    # behind a header that is whole, as a disk that lost its power may leave it
    if change in ("flipped", "zeroed"):
        held = bytearray(checkpoint_path_of(keep).read_bytes())
        half = slice(len(held) // 2, None)
        held[half] = (
            bytes(len(held[half])) if change == "zeroed" else bytes(byte ^ 4 for byte in held[half])
        )
        checkpoint_path_of(keep).write_bytes(held)
    if change == "weights gone":
        keep.unlink()
    whole = train(shapes, recipe, tmp_path / "whole.safetensors")
    assert train(shapes, recipe, keep).validation_losses == whole.validation_losses
    assert keep.read_bytes() == (tmp_path / "whole.safetensors").read_bytes()


def test_guessing_costs_the_logarithm_of_the_classes(shapes: TrainingData) -> None:
    rows = shapes.targets[shapes.training_rows]
    assert guessing_loss(rows, inverse_class_weights(rows)) == pytest.approx(np.log(3), rel=1e-5)
    uniform = weighted_cross_entropy(torch.zeros_like(rows), rows, inverse_class_weights(rows))
    assert guessing_loss(rows, inverse_class_weights(rows)) == pytest.approx(
        float(uniform), rel=1e-5
    )


def test_guessing_costs_the_logarithm_of_the_classes_however_rows_are_drawn() -> None:
    """Forty knees of 15 slices and four bodies of 160, every volume as often."""
    rows = torch.eye(3)[
        torch.cat([torch.zeros(600), torch.ones(300), torch.full((340,), 2.0)]).long()
    ]
    often = torch.cat([torch.full((600,), 1 / 15), torch.full((640,), 1 / 160)])
    assert guessing_loss(rows, inverse_class_weights(rows, often), often) == pytest.approx(
        np.log(3), rel=1e-5
    )


def test_fewer_steps_than_one_of_the_mean_are_learned_from_all_the_same(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """Two steps an epoch: the mean of weights that was validated was that of the network as it was drawn."""
    few = replace(recipe, slices_per_epoch=16, epochs=1, averaging=0.97)
    drawn = train(
        shapes, replace(few, epochs=1), tmp_path / "still.safetensors", learning_rate=1e-12
    )
    assert (
        abs(
            train(shapes, few, tmp_path / "net.safetensors").validation_losses[0]
            - drawn.validation_losses[0]
        )
        > 1e-4
    )


def test_a_rate_too_small_to_learn_anything_completes_at_the_loss_of_guessing(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    ending = train(
        shapes,
        with_ends(recipe, guessing_epochs=1),
        tmp_path / "net.safetensors",
        learning_rate=1e-7,
    )
    assert ending.status == "completed"
    guess = guessing_loss(
        shapes.targets[shapes.validation_rows],
        inverse_class_weights(shapes.targets[shapes.training_rows]),
    )
    np.testing.assert_allclose(ending.validation_losses, guess, rtol=0.05)


def test_losses_far_above_guessing_are_a_divergence_though_they_are_numbers(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    ending = train(
        shapes,
        with_ends(replace(recipe, epochs=9), guessing_epochs=2),
        tmp_path / "net.safetensors",
        learning_rate=5.0,
    )
    assert ending.status == "diverged"
    assert (
        np.isfinite(ending.validation_losses).all()
        and "above guessing for 2 epochs" in ending.message
    )
    assert len(ending.validation_losses) < 9


def test_a_plateau_lowers_the_rate_and_ends_the_training(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """At a rate of zero nothing ever gets better: two epochs to the first reduction, two more to the end."""
    plateau = Plateau(patience=2, factor=0.5, reductions=1)
    ending = train(
        shapes,
        with_ends(replace(recipe, epochs=40), plateau=plateau),
        tmp_path / "net.safetensors",
        learning_rate=0.0,
    )
    assert ending.status == "completed" and "plateau" in ending.message
    assert len(ending.validation_losses) == len(ending.training_losses) < 40


def test_a_training_above_the_envelope_is_pruned_with_the_losses_that_it_had(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    whole = train(shapes, recipe, tmp_path / "whole.safetensors")
    bound = {2: min(whole.validation_losses[:2]) - 1e-6}
    ending = train(shapes, with_ends(recipe, envelope=bound), tmp_path / "net.safetensors")
    assert (ending.status, ending.validation_losses) == ("pruned", whole.validation_losses[:2])
    assert (
        train(
            shapes, with_ends(recipe, envelope={2: bound[2] + 1e-5}), tmp_path / "other.safetensors"
        ).status
        == "completed"
    )


def test_a_training_out_of_time_keeps_its_curve_and_its_weights(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    ending = train(shapes, with_ends(recipe, timeout_seconds=1e-3), tmp_path / "net.safetensors")
    assert (
        ending.status == "timeout"
        and len(ending.validation_losses) == 1
        and "1 of 3 epochs" in ending.message
    )
    _, facts = load_network(tmp_path / "net.safetensors", torch.device("cpu"))
    assert facts["score"] == min(ending.validation_losses)
    again = train(shapes, with_ends(recipe, timeout_seconds=1e-3), tmp_path / "net.safetensors")
    assert again.validation_losses == ending.validation_losses  # the seconds before a kill count


def test_an_exception_in_the_second_epoch_keeps_the_first(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path
) -> None:
    """After one epoch the first convolution loses its weights: the forward pass after it raises inside that
    layer."""
    whole = train(shapes, recipe, tmp_path / "whole.safetensors")

    def spoil(progress: Progress, _: int) -> None:
        first = next(
            layer for layer in progress.model.modules() if isinstance(layer, torch.nn.Conv2d)
        )
        first.weight.data = first.weight.data[:, :0]

    ending = train(shapes, recipe, tmp_path / "net.safetensors", report_epoch=spoil)
    assert ending.status == "error" and ending.traceback_text.startswith("Traceback")
    assert ending.validation_losses == whole.validation_losses[:1]
    # tried again
    assert (
        train(shapes, recipe, tmp_path / "net.safetensors").validation_losses
        == whole.validation_losses
    )


def with_ends(recipe: Recipe, **ends: object) -> Recipe:
    return replace(recipe, ends=Ends(**ends))  # type: ignore[arg-type]


OUT_OF_MEMORY = """
import resource, sys
import numpy as np, torch
from pathlib import Path
from fovnet.net.family.architecture import Architecture
from fovnet.net.recipe import Ranges
from fovnet.net.training.train import place_on_device, train_network
from fovnet.net.recipe import Recipe
data = place_on_device(np.zeros((8, 128, 128), np.uint8), np.eye(3)[np.zeros(8, int)], np.arange(4), np.arange(4, 8), torch.device("cpu"))
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
end = train_network(Architecture(1, 1, 8, 3, False, classes=3), learning_rate=0.1, batch_size=4, seed=0, data=data,
                    recipe=Recipe(1, 4, Ranges(0, 0, 0, 0, 0)), weights_path=Path(sys.argv[1]), network_facts={})
print(end.status)
"""


@pytest.mark.slow
def test_a_network_that_does_not_fit_ends_as_out_of_memory(tmp_path: Path) -> None:
    """4.3 billion weights under a limit of 6 GiB."""
    run = subprocess.run(
        [sys.executable, "-c", OUT_OF_MEMORY, str(tmp_path / "net.safetensors")],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert run.stdout.strip() == "out_of_memory", run.stderr[-2000:]


def test_the_score_is_the_loss_of_all_validation_slices_together(
    draw: Callable[..., tuple[np.ndarray, np.ndarray]],
) -> None:
    """As torch has it of all 150 at once, though they are scored by 128 and the last batch is smaller; a
    network in the midst of training is asked as it will answer."""
    pixels, targets = draw(150, 2)
    data = place_on_device(pixels, targets, np.arange(1), np.arange(150), torch.device("cpu"))
    model, weights = (
        build_network(SMALL, torch.Generator().manual_seed(3)),
        torch.tensor([0.5, 1.0, 2.0]),
    )
    model.train()
    # moves the running statistics away from those of any batch
    model(scale_to_unit_range(data.slices[:16]))
    found = measure_validation_loss(model, data, weights, "float32")
    with torch.inference_mode():
        scores = model.eval()(scale_to_unit_range(data.slices))
        whole = (
            torch.nn.functional.cross_entropy(scores, data.targets, weight=weights, reduction="sum")
            / 150
        )
    assert found == pytest.approx(float(whole), rel=1e-5)


def test_the_rate_falls_a_millionth_with_every_step(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bertrand et al. (2017): lr / (1 + 1e-6 step), on from epoch to epoch."""
    rates, take = [], TrainStep.train_batch
    monkeypatch.setattr(
        TrainStep,
        "train_batch",
        lambda self, rows, draws, rate: (rates.append(rate), take(self, rows, draws, rate)),
    )
    train(shapes, replace(recipe, epochs=2), tmp_path / "kept.safetensors", learning_rate=0.03)
    np.testing.assert_allclose(rates, 0.03 / (1 + 1e-6 * np.arange(16)), rtol=1e-12)


def test_what_averaging_keeps_is_the_running_mean_of_every_fifth_steps_weights(
    shapes: TrainingData, recipe: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written out: 20 steps are four updates, of which the first forgets 9 of 11 parts of the weights that
    training began with."""
    seen, take = [], TrainStep.train_batch

    def weights(self: TrainStep) -> list[torch.Tensor]:
        return [parameter.detach().clone() for parameter in self.model.parameters()]

    def counted(self: TrainStep, *step: object) -> None:
        seen.extend([] if seen else [weights(self)])
        take(self, *step)
        seen.append(weights(self))

    monkeypatch.setattr(TrainStep, "train_batch", counted)
    once = replace(recipe, epochs=1, slices_per_epoch=160, averaging=0.9)
    train(shapes, once, tmp_path / "kept.safetensors")
    mean = seen[0]
    for update, at in enumerate((5, 10, 15, 20), start=1):
        old = min(0.9, (1 + update) / (10 + update))
        mean = [old * before + (1 - old) * now for before, now in zip(mean, seen[at], strict=True)]
    kept = load_network(tmp_path / "kept.safetensors", torch.device("cpu"))[0]
    for found, wanted in zip(kept.parameters(), mean, strict=True):
        torch.testing.assert_close(found, wanted)
