"""The effect of every feature of the simulator, from one screening design in which each training
leaves out about half of them.

The trainings come in pairs with the same people, weights and order of slices: features that the
first leaves out the second has.  A feature's effect is the mean accuracy of the trainings without
it minus that of those with it, other features being left out as often in both: an average over
simulators with half the features.  Its interval adds two variances: that between trainings (t, from
the residuals of the main effects) and that of resampling the people who are judged on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import t as student

from balanced import resampled_accuracies
from fovnet.cli import main
from fovnet.cli.options import Device, PathOption, Workers, file_out, table_of
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.errors import CollectionError, ConfigError
from fovnet.machine.parallel import run_in_order
from fovnet.phantom.features import all_features, parse_features_left_out
from fovnet.records import write_tsv
from fovnet.volume.collection.pack import load_pack
from fovnet.volume.collection.tables import read_collection
from screening_design import effect_error, folded_design, main_effects
from simulated_training import (
    JudgedSlices,
    Study,
    judged_sets,
    labelled_slices,
    probabilities_of,
    simulated_slices,
    train_on,
)

LEVEL = 0.95
WITHOUT = "without "
SETS = ("simulated", "labelled")
COLUMNS = (
    "left_out",
    "subjects",
    "epochs",
    "trainings",
    *(
        f"{name}_{what}"
        for name in SETS
        for what in [
            "accuracy",
            "effect",
            "low",
            "high",
            "error",
            "people_error",
            "slices",
            "refused",
        ]
    ),
)
"""Columns of a row.

accuracy             the mean of all trainings
low, high            the effect's interval
error, people_error  the standard errors that it is made of
"""

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class _Run:
    """One training of the design.

    left_out  the features that it leaves out
    folders   of the slices that it is judged on, by set
    """

    study: Study
    name: str
    seed: int
    left_out: frozenset[str]
    folders: dict[str, Path]


def factors_of(arms: Sequence[str], features: Iterable[str]) -> dict[str, frozenset[str]]:
    """The features that each factor leaves out, by its name: those of `arms`, or each feature
    alone.

    "without A + B" leaves out two.  Raises ConfigError "bench-arm" for what is no arm,
    "phantom-feature" for what is no feature, and "bench-factor" for two that leave out the same
    feature.
    """
    arm_of_feature: dict[str, str] = {}
    factors = {}
    for arm in arms or [WITHOUT + name for name in features]:
        if not arm.startswith(WITHOUT):
            raise ConfigError(
                "bench-arm", f'--arms {arm!r}: give "without NAME" or "without NAME + NAME"'
            )
        left_out = parse_features_left_out(arm.removeprefix(WITHOUT).split(" + "))
        for name in sorted(left_out & arm_of_feature.keys()):
            same = f"leaves out what {arm_of_feature[name]!r} does"
            raise ConfigError(
                "bench-factor",
                f"--arms {arm!r}: {same}, so that it has no effect of its own. Leave it out.",
            )
        arm_of_feature |= dict.fromkeys(left_out, arm)
        factors[arm.removeprefix(WITHOUT)] = left_out
    return factors


def screen(
    study: Study,
    factors: Mapping[str, frozenset[str]],
    labelled: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[dict[str, Any]]:
    """A row of COLUMNS for each factor, in their order, once all trainings are done.

    `study.workers` train in parallel, one process each; `progress` is called with (trainings done,
    in all).  Raises CollectionError where a network could not be trained ("bench-untrained",
    "bench-process").
    """
    X = folded_design(len(factors))
    judged = judged_sets(study, labelled)
    runs = _runs(study, list(factors.values()), X, judged)
    collected: dict[str, list[NDArray[Any]]] = {name: [] for name in judged}
    results = run_in_order(_probabilities, runs, study.workers, _report_death)
    for done, probabilities in enumerate(results, start=1):
        for name, p in probabilities.items():
            collected[name].append(p)
        if progress:
            progress(done, len(runs))
    effects = {
        name: _effects(X, np.stack(collected[name]), slices) for name, slices in judged.items()
    }
    for number, factor in enumerate(factors):
        row: dict[str, Any] = {
            "left_out": factor,
            "subjects": study.subjects,
            "epochs": study.epochs,
            "trainings": len(runs),
        }
        for name, effects_of_factors in effects.items():
            values = effects_of_factors[number]
            row |= {f"{name}_{what}": value for what, value in values.items()}
        yield row


def _runs(
    study: Study,
    factors: Sequence[frozenset[str]],
    X: NDArray[np.int64],
    judged: Mapping[str, JudgedSlices],
) -> list[_Run]:
    """The trainings of a design X; both of a pair have one seed."""
    folders = {name: slices.pack.folder for name, slices in judged.items()}
    return [
        _Run(
            replace(study, workers=1),
            f"run-{row + 1:03d}",
            study.seed + row // 2,
            frozenset().union(*(factors[number] for number in np.flatnonzero(X[row] > 0).tolist())),
            folders,
        )
        for row in range(len(X))
    ]


def _probabilities(run: _Run) -> dict[str, NDArray[Any]]:
    """Probabilities (s, k) by one training's network of the slices it is judged on, by set of
    slices."""
    pack = simulated_slices(run.study, run.name, run.left_out, run.seed)
    judged = {name: labelled_slices(load_pack(folder)) for name, folder in run.folders.items()}
    network = train_on(run.study, run.name, run.seed, pack)
    return {name: probabilities_of(run.study, network, slices) for name, slices in judged.items()}


def _report_death(run: _Run) -> dict[str, NDArray[Any]]:
    raise CollectionError(
        "bench-process",
        f"{run.study.scratch / run.name}: the process that trained it died, twice, probably for "
        "lack of memory. Give fewer --workers; finished work is not repeated.",
    )


def _effects(
    X: NDArray[np.int64], probabilities: NDArray[Any], judged: JudgedSlices
) -> list[dict[str, Any]]:
    """The columns of one set of judged slices for each factor, from design X (t, f) and
    probabilities (t, s, k) of t trainings."""
    accuracies = resampled_accuracies(
        probabilities, judged.truth, judged.subjects, counts=judged.counts
    )
    error, freedom = effect_error(X, accuracies[0])
    effects = main_effects(X, accuracies[0])
    people_errors = main_effects(X, accuracies[1:]).std(axis=0, ddof=1)
    quantile = float(student.ppf(0.5 + LEVEL / 2, freedom))
    half_widths = quantile * np.hypot(error, people_errors)
    return [
        {
            "accuracy": float(accuracies[0].mean()),
            "error": error,
            "slices": len(judged.truth),
            "refused": judged.refused,
            "effect": float(effect),
            "low": float(effect - half_width),
            "high": float(effect + half_width),
            "people_error": float(people_error),
        }
        for effect, half_width, people_error in zip(
            effects, half_widths, people_errors, strict=True
        )
    ]


@app.command()
def screen_features(
    out_file: Annotated[Path, file_out(table_of(__name__), "A TSV file with one row per feature.")],
    collection: Annotated[
        Path | None,
        PathOption(help="A labelled collection of real volumes to evaluate on as well."),
    ] = None,
    arms: Annotated[
        list[str] | None,
        typer.Option(
            "--arms",
            help='"without NAME", "without NAME + NAME"; may be repeated. Default: each feature '
            "alone.",
            show_default=False,
        ),
    ] = None,
    subjects: Annotated[
        int,
        typer.Option(
            min=8, help="Number of simulated people per training, and of others to evaluate on."
        ),
    ] = 40,
    epochs: Annotated[int, typer.Option(min=1)] = 6,
    slices_per_epoch: Annotated[int, typer.Option(min=32)] = 4000,
    scratch: Annotated[
        Path | None, PathOption(help="Folder for volumes and networks; default: beside the table.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0)] = 1,
    workers: Workers = 1,
    device: Device = "auto",
) -> None:
    """Measure the contribution of all features of the simulator at once, with small networks that
    each leave out half of them: a screening design of at least 16 trainings (64 for 25 features,
    18 GB of scratch). If killed, the same command resumes."""
    if collection is not None:
        read_collection(collection)  # any fault in it raises here, before minutes of simulation
    scratch = scratch or out_file.with_suffix(".scratch")
    study = Study(scratch, subjects, epochs, slices_per_epoch, seed, workers, device)
    factors = factors_of(arms or [], all_features())
    with progress_bar("trainings") as advance:
        rows = list(screen(study, factors, collection, advance))
    write_tsv(out_file, COLUMNS, rows)
    table = empty_table(
        "change of the balanced accuracy of slices when a feature is left out, volumes weighted "
        f"equally (95 %; {rows[0]['trainings']} trainings)",
        *("left out", "simulated people", "labelled collection"),
    )
    for row in sorted(rows, key=lambda row: float(row["simulated_effect"])):
        table.add_row(row["left_out"], *(_effect_text(row, name) for name in SETS))
    show_table(table)
    out.print(f"{out_file}")


def _effect_text(row: dict[str, Any], name: str) -> str:
    """ "-2.5% (-5.3% to +0.3%)", or "" if nothing was judged on that set."""
    if f"{name}_effect" not in row:
        return ""
    effect, low, high = (f"{row[f'{name}_{what}']:+.1%}" for what in ("effect", "low", "high"))
    return f"{effect} ({low} to {high})"


if __name__ == "__main__":
    main(app)
