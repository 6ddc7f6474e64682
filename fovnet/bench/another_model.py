"""The search on another model, as an example: an autoencoder that tells interrupted pictures from complete
ones.

Half of scikit-learn's digits are for training, all complete; of the other halves, one to choose by and one to
test, a quarter have three rows of pixels blanked, as where a transmission was interrupted.  A picture counts
as interrupted where its error exceeds a quantile α of the training pictures' errors.  What any search of
one's own needs is here: a Space, a function that trains a Proposal, and `go_on`, which keeps the journal and
goes on after a kill. Source: Lakhmiri (2021), thesis, chapter 5, where the pictures are transmissions of a
rover on Mars.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.maths.intervals import cluster_bootstrap
from fovnet.search.look.view import POLLING, Neighbour
from fovnet.search.run import go_on
from fovnet.search.search import Search
from fovnet.search.space import Axis, Level, Space
from fovnet.search.trial import Outcome, Proposal, Trial, best

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

EPOCHS = 30
SPACE = Space(
    (
        Axis("layers", (1, 2, 3, 4)),
        Axis("latent", (2, 4, 8, 16, 32)),
        Axis("log2_batch", (4, 5, 6, 7, 8)),
        Axis("activation", ("relu", "sigmoid", "tanh"), "categorical"),
        Axis("dropout", (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)),
        Axis("optimiser", ("sgd", "adam", "adagrad", "rmsprop"), "categorical"),
        Axis.of("rate", {"log": {"low": 1e-4, "high": 0.1, "levels": 7}}),
        Axis("quantile", (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)),
    )
)
STARTS: Mapping[str, Mapping[str, Level]] = {
    "good": {
        "layers": 2,
        "latent": 8,
        "log2_batch": 6,
        "activation": "relu",
        "dropout": 0.2,
        "optimiser": "sgd",
        "rate": 0.001,
        "quantile": 0.9,
    },
    "bad": {
        "layers": 4,
        "latent": 2,
        "log2_batch": 8,
        "activation": "tanh",
        "dropout": 0.5,
        "optimiser": "sgd",
        "rate": 0.0001,
        "quantile": 0.5,
    },
}
OF_THE_SOURCE = (Neighbour("optimiser", "next", (("rate", 0.001),)),)
"""The thesis's only neighbour by optimiser: the next one, with its usual rate.  All of them, the default, is
better."""


class Pictures(NamedTuple):
    """(n, 64) in [0, 1], and which are interrupted."""

    pixels: Floats
    interrupted: Mask


@dataclass(frozen=True)
class Task:
    """One search: where its journal is, and what is given to it."""

    folder: Path
    method: str
    start: str
    seed: int
    trials: int
    of_the_source: bool = False


@dataclass(frozen=True)
class Found:
    """What a search came to: the score of its first and best trial, 1 - mean F1 on what it chooses by, and on
    the test pictures F1 of the complete and the interrupted ones, the mean of both and its 95 % interval
    (bootstrap).

    prevalence  share of interrupted pictures in the test;  without a trial with a score all are nan
    """

    method: str
    start: str
    seed: int
    trials: int
    failed: int
    first: float = math.nan
    score: float = math.nan
    complete: float = math.nan
    interrupted: float = math.nan
    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    prevalence: float = math.nan
    slot: int = -1
    configuration: str = ""


COLUMNS = tuple(field.name for field in fields(Found))


@lru_cache(maxsize=1)
def pictures() -> tuple[Pictures, Pictures, Pictures]:
    """Pictures to train on, to choose by, and to test; always the same."""
    from sklearn.datasets import load_digits

    pixels, rng = load_digits().data / 16.0, np.random.default_rng(5)
    rows = np.split(rng.permutation(len(pixels)), [len(pixels) // 2, 3 * len(pixels) // 4])
    training, choosing, test = (pixels[part] for part in rows)
    complete = Pictures(training, np.zeros(len(training), dtype=bool))
    return complete, _some_interrupted(choosing, rng), _some_interrupted(test, rng)


def _some_interrupted(pixels: Floats, rng: np.random.Generator) -> Pictures:
    """A quarter of the pictures with three of their eight rows blanked."""
    interrupted = rng.random(len(pixels)) < 0.25
    changed = pixels.copy().reshape(-1, 8, 8)
    for picture in np.flatnonzero(interrupted):
        first = int(rng.integers(6))
        changed[picture, first : first + 3] = 0.0
    return Pictures(changed.reshape(-1, 64), interrupted)


def searched(task: Task) -> Found:
    """What a search in this process came to, and the test of its best; killed, the same call goes on from the
    journal."""
    every = np.ones(len(SPACE), dtype=bool)
    polling = replace(POLLING, neighbours=OF_THE_SOURCE if task.of_the_source else ())
    search = Search(
        SPACE,
        task.method,
        task.seed,
        1,
        SPACE.row_of(STARTS[task.start]),
        None,
        predicted_seconds(),
        every,
        polling=polling,
    )
    with ThreadPoolExecutor(1) as pool:

        def submit(proposal: Proposal) -> Future[Outcome]:
            return pool.submit(outcome_of, proposal)

        trials = go_on(search, trials=task.trials, journal=task.folder, submit=submit)
    return tested(task, trials)


def predicted_seconds() -> Floats:
    """(M,) seconds that each row is thought to take: so much a batch and layer."""
    layers, batch = SPACE.rows[:, 0] + 1, 2.0 ** (SPACE.rows[:, 2] + 4)
    return np.asarray(EPOCHS * np.ceil(len(pictures()[0].pixels) / batch) * (2 * layers + 3) * 1e-4)


def outcome_of(proposal: Proposal) -> Outcome:
    """The training of a proposal, whose score is 1 - mean F1 on the pictures to choose by."""
    from fovnet.net.family.autoencoder import trained

    training, choosing, _ = pictures()
    began = time.perf_counter()
    model, losses = trained(
        training.pixels, proposal.configuration, epochs=EPOCHS, seed=proposal.seed
    )
    seconds = time.perf_counter() - began
    told = told_interrupted(model, training, choosing, float(proposal.configuration["quantile"]))
    if told is None:
        return Outcome(
            "diverged",
            tuple(losses),
            seconds=seconds,
            device="cpu",
            message=f"loss {losses[-1]} after epoch {len(losses)}",
        )
    score = 1.0 - float(f1_of(confusion(choosing.interrupted, told).sum(axis=0))[-1])
    return Outcome("completed", tuple(losses), (score,), score, seconds, device="cpu")


def told_interrupted(
    model: Any, training: Pictures, asked: Pictures, quantile: float
) -> Mask | None:
    """(n,) whether a picture's error exceeds the quantile of the training pictures' errors; None if the model
    has diverged."""
    import torch

    errors, others = (
        model.errors(torch.tensor(one.pixels, dtype=torch.float32)) for one in (training, asked)
    )
    return others > np.quantile(errors, quantile) if np.isfinite(errors).all() else None


def confusion(interrupted: Mask, told: Mask) -> Floats:
    """(n, 4) of each picture: rightly told interrupted, wrongly told so, wrongly told complete, rightly told
    so."""
    return np.column_stack(
        [interrupted & told, ~interrupted & told, interrupted & ~told, ~interrupted & ~told]
    ).astype(np.float64)


def f1_of(counts: Floats) -> Floats:
    """(..., 3) F1 of the complete and of the interrupted pictures, and their mean, from sums (..., 4) of
    `confusion`; 0 where none is told rightly."""
    right, alarms, missed, calm = np.moveaxis(counts, -1, 0)

    def f1(true: Floats) -> Floats:
        return np.asarray(2 * true / np.maximum(2 * true + alarms + missed, 1.0))

    complete, interrupted = f1(calm), f1(right)
    return np.stack([complete, interrupted, (complete + interrupted) / 2], axis=-1)


def tested(task: Task, trials: Sequence[Trial]) -> Found:
    """The best trial, trained again as it was, on the test pictures."""
    from fovnet.net.family.autoencoder import trained

    training, _, test = pictures()
    failed = sum(trial.score is None for trial in trials)
    first = next((trial.score for trial in trials if trial.score is not None), math.nan)
    one = next(iter(best(trials, 1)), None)
    if one is None or one.score is None:
        return Found(task.method, task.start, task.seed, len(trials), failed)
    model, _ = trained(
        training.pixels, one.proposal.configuration, epochs=EPOCHS, seed=one.proposal.seed
    )
    told = told_interrupted(model, training, test, float(one.proposal.configuration["quantile"]))
    assert told is not None  # as it was when it was chosen
    cells = confusion(test.interrupted, told)
    complete, interrupted, mean = f1_of(cells.sum(axis=0)).tolist()
    low, high = cluster_bootstrap(cells, lambda sums: f1_of(sums)[..., -1])
    described = " ".join(f"{name}={level}" for name, level in one.proposal.configuration.items())
    return Found(
        task.method,
        task.start,
        task.seed,
        len(trials),
        failed,
        first,
        one.score,
        complete,
        interrupted,
        mean,
        float(low),
        float(high),
        float(test.interrupted.mean()),
        one.proposal.slot,
        described,
    )
