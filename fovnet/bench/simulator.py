"""The effect of each feature of the simulator: one small network trained without it, judged on simulated people and on real volumes.

All arms have the same people, network, budget and seeds, and differ only in the features left out; the change of accuracy from the first
arm has an interval of its own.  Each arm may be trained several times, on other people and from other weights, as accuracies of single
trainings vary by some points.  `screening` estimates the effects of all features in one design.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.simulated_training import Judged, Study, judged_on, probabilities_of, simulated_slices, train_on
from fovnet.errors import ConfigError
from fovnet.phantom.features import left_out
from fovnet.regions import DEFAULT, Vocabulary

ALL, WITHOUT, EVERYTHING = "all", "without ", "everything"
COLUMNS = ("arm", "subjects", "repeats", "volumes", "train_slices", "epochs", "validation_loss",
           *(f"{on}_{what}" for on in ("simulated", "labelled") for what in
             ("accuracy", "low", "high", "spread", "change", "change_low", "change_high", "slices", "refused")))
"""Columns of a row; a spread is the standard deviation of the accuracy between repeats."""


class Accuracy(Protocol):
    """An accuracy with its interval."""

    @property
    def value(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def denominator(self) -> int: ...


class Score(Protocol):
    """The accuracy of probabilities (s, k), given truth (s, k), and subject and weight (s,) of each slice."""

    def __call__(
        self, probabilities: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str], vocabulary: Vocabulary = DEFAULT,
        *, counts: NDArray[np.float64],
    ) -> Accuracy: ...


class Change(Protocol):
    """The increase of an accuracy from the first probabilities to the second, and the two ends of its interval."""

    def __call__(
        self, before: NDArray[Any], after: NDArray[Any], truth: NDArray[np.bool_], subject_ids: Sequence[str],
        vocabulary: Vocabulary = DEFAULT, *, counts: NDArray[np.float64],
    ) -> tuple[float, float, float]: ...


def arms_of(wanted: Sequence[str], known: Iterable[str]) -> dict[str, frozenset[str]]:
    """The features that each arm leaves out, by its name; without names ALL, each feature alone, and everything.

    "without A + B" leaves out two.  Raises ConfigError ("bench-arm", "phantom-feature") for what is no arm or no feature.
    """
    features = tuple(known)
    names = list(wanted) or [ALL, *(WITHOUT + name for name in features), WITHOUT + EVERYTHING]
    arms = {}
    for name in names:
        if name != ALL and not name.startswith(WITHOUT):
            raise ConfigError("bench-arm", f"--arms {name!r}: wanted is \"all\", \"without NAME\" or \"without everything\"")
        lacking = name.removeprefix(WITHOUT).split(" + ")
        arms[name] = frozenset() if name == ALL else frozenset(features) if lacking == [EVERYTHING] else left_out(lacking)
    return arms


def studied(
    study: Study, arms: Mapping[str, frozenset[str]], score: Score, change: Change, labelled: Path | None = None,
    progress: Callable[[int, int], None] | None = None, *, repeats: int = 1,
) -> Iterator[dict[str, Any]]:
    """A row of COLUMNS for each arm, in their order, from `repeats` trainings of each; changes are from the first.

    `progress` is called with (steps done, in all): two for each training and one for the slices that all are judged on.
    """
    steps = _Steps(progress, 2 * len(arms) * repeats + 1)
    judged = judged_on(study, max(4, study.subjects // 3), labelled)
    steps.done()
    first: dict[str, NDArray[Any]] = {}
    for name, lacking in arms.items():
        networks, losses, slices = [], [], 0
        for repeat in range(repeats):
            pack = simulated_slices(study, _folder(name, repeat), lacking, study.subjects, study.seed + repeat)
            steps.done()
            loss, network = train_on(study, _folder(name, repeat), study.seed + repeat, pack)
            networks.append(network)
            losses.append(loss)
            slices += len(pack.rows("train"))
            steps.done()
        row: dict[str, Any] = {"arm": name, "subjects": study.subjects, "repeats": repeats, "epochs": study.epochs,
                               "volumes": study.subjects * study.volumes * repeats, "train_slices": slices,
                               "validation_loss": float(np.mean(losses))}
        for on, known in judged.items():
            row |= _accuracies(probabilities_of(study, networks, known), on, known, score, change, first)
        yield row


@dataclass
class _Steps:
    progress: Callable[[int, int], None] | None
    total: int
    so_far: int = 0

    def done(self) -> None:
        self.so_far += 1
        if self.progress:
            self.progress(self.so_far, self.total)


def _folder(name: str, repeat: int) -> str:
    return name.replace(" ", "-") + (f"-{repeat + 1}" if repeat else "")


def _accuracies(
    probabilities: NDArray[Any], on: str, judged: Judged, score: Score, change: Change, first: dict[str, NDArray[Any]]
) -> dict[str, Any]:
    """The columns of the judged slices `on`: balanced accuracy over all networks (m, s, k) and its change, with intervals, and the number
    of volumes refused.

    `first` keeps the probabilities of the first arm.
    """
    trainings = len(probabilities)
    alone = [score(one, judged.truth, judged.subjects, counts=judged.counts).value or 0.0 for one in probabilities]
    together, truth, people = np.concatenate(probabilities), np.tile(judged.truth, (trainings, 1)), judged.subjects * trainings
    counts = np.tile(judged.counts, trainings)
    all_of_them = score(together, truth, people, counts=counts)
    row = {"accuracy": all_of_them.value, "low": all_of_them.low, "high": all_of_them.high,
           "slices": all_of_them.denominator // trainings, "spread": float(np.std(alone, ddof=1)) if trainings > 1 else None,
           "refused": judged.refused}
    if on in first:
        row |= dict(zip(("change", "change_low", "change_high"), change(first[on], together, truth, people, counts=counts), strict=True))
    first.setdefault(on, together)
    return {f"{on}_{what}": value for what, value in row.items()}
