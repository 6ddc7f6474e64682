"""The effect of every feature of the simulator, from one screening design in which each training leaves out
about half of them.

The trainings come in pairs with the same people, weights and order of slices: features that the first leaves
out the second has.  A feature's effect is the mean accuracy of the trainings without it minus that of those
with it, other features being left out as often in both: an average over simulators with half the features.
Its interval adds two variances: that between trainings (t, from the residuals of the main effects) and that
of resampling the people who are judged on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from fovnet.bench.simulated_training import (
    Judged,
    Study,
    judged_on,
    labelled_slices,
    probabilities_of,
    simulated_slices,
    train_on,
)
from fovnet.errors import CollectionError, ConfigError
from fovnet.machine.parallel import in_order
from fovnet.maths.screening import effect_error, folded_design, main_effects
from fovnet.phantom.features import left_out
from fovnet.volume.collection.pack import load_pack

LEVEL, WITHOUT = 0.95, "without "
COLUMNS = (
    "left_out",
    "subjects",
    "epochs",
    "trainings",
    *(
        f"{on}_{what}"
        for on in ("simulated", "labelled")
        for what in (
            "accuracy",
            "effect",
            "low",
            "high",
            "error",
            "people_error",
            "slices",
            "refused",
        )
    ),
)
"""Columns of a row.  accuracy is the mean of all trainings; low and high are the effect's interval; error and
people_error the standard errors that it is made of."""


class Resampled(Protocol):
    """Accuracies (1 + B, m) that m networks' probabilities (m, s, k) reach: of all slices, then of B
    resamples of the people."""

    def __call__(
        self,
        each: NDArray[Any],
        truth: NDArray[np.bool_],
        subject_ids: Sequence[str],
        *,
        counts: NDArray[np.float64],
    ) -> NDArray[np.float64]: ...


@dataclass(frozen=True)
class _Run:
    """One training of the design: the study, its own name and seed, what it leaves out, the slices it is
    judged on."""

    study: Study
    name: str
    seed: int
    lacking: frozenset[str]
    judged: dict[str, Path]


def factors_of(wanted: Sequence[str], known: Iterable[str]) -> dict[str, frozenset[str]]:
    """The features that each factor leaves out, by its name: those of `wanted`, or each feature alone.

    "without A + B" leaves out two.  Raises ConfigError "bench-arm" for what is no arm, "phantom-feature" for
    what is no feature, and "bench-factor" for two that leave out the same feature.
    """
    features = tuple(known)
    arm_without: dict[str, str] = {}
    factors = {}
    for arm in wanted or [WITHOUT + name for name in features]:
        if not arm.startswith(WITHOUT):
            raise ConfigError(
                "bench-arm", f'--arms {arm!r}: give "without NAME" or "without NAME + NAME"'
            )
        lacking = left_out(arm.removeprefix(WITHOUT).split(" + "))
        taken = next((arm_without[name] for name in sorted(lacking) if name in arm_without), None)
        if taken:
            same = f"leaves out what {taken!r} does, so that it has no effect of its own"
            raise ConfigError("bench-factor", f"--arms {arm!r}: {same}. Leave it out.")
        arm_without |= dict.fromkeys(lacking, arm)
        factors[arm.removeprefix(WITHOUT)] = lacking
    return factors


def screened(
    study: Study,
    factors: Mapping[str, frozenset[str]],
    resampled: Resampled,
    labelled: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """A row of COLUMNS for each factor, in their order, once all trainings are done; `study.workers` train in
    parallel, one process each.

    `progress` is called with (trainings done, in all).  Raises CollectionError where a network could not be
    trained ("bench-untrained", "bench-process").
    """
    X = folded_design(len(factors))
    judged = judged_on(study, labelled)
    folders, sets = (
        {on: slices.pack.folder for on, slices in judged.items()},
        list(factors.values()),
    )
    runs = [
        _Run(
            replace(study, workers=1),
            f"run-{row + 1:03d}",
            study.seed + row // 2,
            frozenset().union(*(sets[factor] for factor in np.flatnonzero(X[row] > 0))),
            folders,
        )
        for row in range(len(X))
    ]
    collected: dict[str, list[NDArray[Any]]] = {on: [] for on in judged}
    for done, probabilities in enumerate(
        in_order(_probabilities, runs, study.workers, _died), start=1
    ):
        for on, p in probabilities.items():
            collected[on].append(p)
        if progress:
            progress(done, len(runs))
    effects = {
        on: _effects(X, np.stack(collected[on]), known, resampled) for on, known in judged.items()
    }
    for column, name in enumerate(factors):
        row: dict[str, Any] = {
            "left_out": name,
            "subjects": study.subjects,
            "epochs": study.epochs,
            "trainings": len(runs),
        }
        for on, of_factors in effects.items():
            row |= {f"{on}_{what}": value for what, value in of_factors[column].items()}
        yield row


def _probabilities(run: _Run) -> dict[str, NDArray[Any]]:
    """Probabilities (s, k) by one training's network of the slices it is judged on, by set of slices."""
    pack = simulated_slices(run.study, run.name, run.lacking, run.seed)
    judged = {on: labelled_slices(load_pack(folder)) for on, folder in run.judged.items()}
    network = train_on(run.study, run.name, run.seed, pack)
    return {on: probabilities_of(run.study, network, slices) for on, slices in judged.items()}


def _died(run: _Run) -> dict[str, NDArray[Any]]:
    raise CollectionError(
        "bench-process",
        f"{run.study.scratch / run.name}: the process that trained it died, twice, probably for lack of "
        "memory. Give fewer --workers; finished work is not repeated.",
    )


def _effects(
    X: NDArray[np.int64], probabilities: NDArray[Any], judged: Judged, resampled: Resampled
) -> list[dict[str, Any]]:
    """The columns of one set of judged slices for each factor, from design X (t, f) and probabilities (t, s,
    k) of t trainings."""
    accuracies = resampled(probabilities, judged.truth, judged.subjects, counts=judged.counts)
    error, free = effect_error(X, accuracies[0])
    effects, of_people = (
        main_effects(X, accuracies[0]),
        main_effects(X, accuracies[1:]).std(axis=0, ddof=1),
    )
    width = float(student.ppf(0.5 + LEVEL / 2, free)) * np.hypot(error, of_people)
    shared = {
        "accuracy": float(accuracies[0].mean()),
        "error": error,
        "slices": len(judged.truth),
        "refused": judged.refused,
    }
    return [
        {
            **shared,
            "effect": float(effect),
            "low": float(effect - wide),
            "high": float(effect + wide),
            "people_error": float(people),
        }
        for effect, wide, people in zip(effects, width, of_people, strict=True)
    ]
