"""A table of trained networks: which rows, what of each training is kept, and what is trained again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fovnet.bench.recording import Recording, average_squares, begin_recording, write_table
from fovnet.bench.replay import replay
from fovnet.bench.tables import load_table, scores_of
from fovnet.config.files import parse
from fovnet.config.models import Settings
from fovnet.errors import FovnetError
from fovnet.regions import DEFAULT
from fovnet.search.trial import Outcome, Trial
from fovnet.volume.collection.pack import Pack, VolumeRecord

CLASSES = len(DEFAULT.classes)
SPACE = {
    "blocks": [1, 2, 3],
    "convolutions": [1],
    "log2_filters": [2, 3],
    "kernel": [3],
    "separable": [False, True],
    "log10_learning_rate": [-2, -1],
    "log2_batch": [3, 4],
}
START = {
    "blocks": 1,
    "convolutions": 1,
    "log2_filters": 2,
    "kernel": 3,
    "separable": False,
    "log10_learning_rate": -2,
    "log2_batch": 3,
}


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Pack:
    """Four volumes of 16 slices, two to train on, each class a grey of its own."""
    folder, splits = tmp_path_factory.mktemp("slices"), ("train", "validation", "train", "test")
    kind = np.arange(64) % CLASSES
    pixels = np.random.default_rng(0).integers(0, 60, (64, 128, 128)).astype(np.uint8) + (
        25 * kind[:, None, None]
    ).astype(np.uint8)
    np.save(folder / "pixels.npy", pixels)
    records = tuple(
        VolumeRecord(
            f"v{at}", f"p{at}", "made", f"v{at}.nii", True, "ok", split, {}, 16 * at, 16, 300.0
        )
        for at, split in enumerate(splits)
    )
    return Pack(
        folder,
        DEFAULT.classes,
        pixels,
        np.repeat(np.arange(4), 16),
        np.tile(6.0 * np.arange(16), 4),
        np.zeros((64, 2), np.int64),
        np.eye(CLASSES, dtype=bool)[kind],
        records,
        {},
    )


def settings(
    folder: Path, *, trials: int = 5, seed: int = 1, epochs: int = 2, **search: object
) -> Settings:
    speed = {"gflop_per_second": 60.0, "gigabyte_per_second": 9.0, "microseconds_per_layer": 130.0}
    return parse(
        {
            "results": str(folder),
            "seed": seed,
            "collections": {"made": "made"},
            "training": {"epochs": epochs, "slices_per_epoch": 32, "head": "gap", "device": "cpu"},
            "search": {
                "method": "random",
                "trials": trials,
                "workers": 1,
                "space": SPACE,
                "start": START,
                "speed": speed,
                **search,
            },
        },
        "here",
    )


@pytest.fixture(scope="module")
def made(pack: Pack, tmp_path_factory: pytest.TempPathFactory) -> tuple[Recording, list[Trial]]:
    """Five networks of a space of 48, trained for two epochs on slices of 16 x 16."""
    recording = begin_recording(settings(tmp_path_factory.mktemp("results")), pack, 16)
    return recording, recording.train()


def curves_of(trials: list[Trial]) -> list[object]:
    return [(trial.outcome.training_loss, trial.outcome.validation_loss) for trial in trials]


def test_a_slice_is_averaged_over_squares() -> None:
    pixels = np.random.default_rng(3).integers(0, 256, (2, 12, 12)).astype(np.uint8)
    oracle = [
        [
            [pixels[n, 4 * y : 4 * y + 4, 4 * x : 4 * x + 4].astype(float).mean() for x in range(3)]
            for y in range(3)
        ]
        for n in range(2)
    ]
    assert np.abs(average_squares(pixels, 3) - np.array(oracle)).max() <= 0.5
    assert average_squares(pixels, 12).tolist() == pixels.tolist()


def test_every_training_stands_in_the_table_as_it_went(
    made: tuple[Recording, list[Trial]], tmp_path: Path
) -> None:
    recorded, trials = made
    table = load_table(write_table(tmp_path / "five.npz", trials, recorded))
    arrays = np.load(tmp_path / "five.npz")
    assert table.full_epochs == 2 and table.rule == "lowest" and len(table.space) == 5
    for row, trial in enumerate(trials):
        assert arrays["curves"][row, 1:].tolist() == list(trial.outcome.validation_loss)
        assert arrays["training_curves"][row, 1:].tolist() == list(trial.outcome.training_loss)
        places = dict(zip(arrays["names"].tolist(), arrays["X"][row], strict=True))
        configuration = trial.proposal.configuration
        assert (
            places["blocks"] == (configuration["blocks"] - 1) / 2
            and places["separable"] == configuration["separable"]
        )
        assert arrays["seeds"][row] == trial.proposal.seed
    assert np.array_equal(arrays["y"], scores_of(arrays["curves"], "lowest")[:, -1])
    assert np.allclose(table.cost, 2 * arrays["epoch_seconds"]) and (table.cost > 0).all()
    kinds = [
        np.arange(64)[recorded.plan.pack.rows_in_split(split)] % CLASSES
        for split in ("train", "validation")
    ]
    # every class is there: its weight is
    often = np.bincount(kinds[0], minlength=CLASSES) / len(kinds[0])
    # 1/(k·often)
    assert table.guessing_loss == pytest.approx(
        np.mean(np.log(CLASSES) / (CLASSES * often[kinds[1]]))
    )
    random_replay = replay(table, "random", first_row=0, seed=0, draws=5)
    assert table.best_loss == min(arrays["y"]) and random_replay.epochs_until(
        table.best_loss
    ) == 2 * random_replay.draws_until(table.best_loss)


def test_the_rows_are_drawn_among_those_within_the_limits_whatever_the_seed_and_the_workers(
    pack: Pack, tmp_path: Path
) -> None:
    free = begin_recording(settings(tmp_path, trials=40), pack, 16)
    short = float(np.median(free.search.predicted_seconds))
    some, beside, other = (
        begin_recording(settings(tmp_path, trials=6, seconds_limit=short, **kind), pack, 16)
        for kind in ({}, {"workers": 3}, {"seed": 2})
    )
    assert some.journal == beside.journal != other.journal
    assert np.array_equal(some.search.space.rows, other.search.space.rows)
    assert (some.search.predicted_seconds <= short).all() and len(
        {*map(tuple, some.search.space.rows.tolist())}
    ) == 6


def test_a_table_of_a_part_has_what_has_ended_and_not_what_the_machine_ended(
    made: tuple[Recording, list[Trial]], tmp_path: Path
) -> None:
    recorded, trials = made
    diverged = Outcome(
        "diverged", (1.0, float("inf")), (2.0, float("nan")), epoch_seconds=(0.5, 0.5)
    )
    lacking = Outcome("out_of_memory")
    part = [
        replace(trials[0], outcome=Outcome("error")),
        trials[1],
        *(
            replace(trial, outcome=outcome)
            for trial, outcome in zip(trials[2:4], (diverged, lacking), strict=True)
        ),
    ]
    table = load_table(write_table(tmp_path / "part.npz", part, recorded))
    assert np.isfinite(table.loss).tolist() == [
        True,
        False,
        False,
    ] and table.last_epochs.tolist() == [
        2,
        2,
        1,
    ]
    with pytest.raises(FovnetError, match="no training has finished"):
        write_table(tmp_path / "none.npz", part[:1], recorded)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits_and_another_other_ones_of_the_same_rows(
    made: tuple[Recording, list[Trial]],
) -> None:
    recorded, trials = made
    same, other = recorded.repeat(2, 1), recorded.repeat(3, 7)
    assert curves_of(same.train()) == curves_of(trials[:2])
    again = other.train()
    assert {trial.proposal.row for trial in again} == {trial.proposal.row for trial in trials[:3]}
    before = {trial.proposal.row: trial.outcome.validation_loss for trial in trials}
    assert all(before[trial.proposal.row] != trial.outcome.validation_loss for trial in again)
    assert len(recorded.read_finished_trials()) == 5, "what was trained first is as it was"


def test_what_was_recorded_is_not_trained_again(made: tuple[Recording, list[Trial]]) -> None:
    recorded, trials = made
    assert recorded.train() == trials
    assert not list(recorded.journal.glob("networks/*.checkpoint"))


@pytest.mark.parametrize(
    ("side", "inputs", "code"),
    [
        (30, ["slice"], "table-side"),
        (256, ["slice"], "table-side"),
        (32, ["slice", "sections"], "table-inputs"),
    ],
)
def test_what_cannot_be_made_of_small_slices_is_refused(
    pack: Pack, tmp_path: Path, side: int, inputs: list[str], code: str
) -> None:
    plan = settings(tmp_path)
    plan = plan.model_copy(update={"training": plan.training.model_copy(update={"inputs": inputs})})
    with pytest.raises(FovnetError) as refused:
        begin_recording(plan, pack, side)
    assert refused.value.code == code
    with pytest.raises(FovnetError) as refused:
        begin_recording(settings(tmp_path), pack, 16).repeat(3, 9)
    assert refused.value.code == "table-again"
