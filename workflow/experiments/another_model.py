"""The search on another model, as an example: an autoencoder that tells interrupted pictures from
complete ones.

Half of scikit-learn's digits are for training, all complete; of the other halves, one to choose by
and one to test, a quarter have three rows of pixels blanked, as where a transmission was
interrupted.  A picture counts as interrupted where its error exceeds a quantile α of the training
pictures' errors.

What any search of one's own needs is here: a Space, a function that trains a Proposal, and
`run_search`, which keeps the journal and goes on after a kill.
Source: Lakhmiri (2021), thesis, chapter 5, where the pictures are transmissions of a rover on Mars.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.table import Table

from autoencoder import Autoencoder, train_autoencoder
from fovnet.bench.races import refuse_unknown_methods
from fovnet.bench.together import run_each
from fovnet.cli import main
from fovnet.cli.options import Workers, folder_out, table_of
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.errors import ConfigError
from fovnet.records import write_tsv
from fovnet.search.look.view import POLLING, Neighbour, Polling
from fovnet.search.methods import METHODS
from fovnet.search.run import run_search
from fovnet.search.search import Search
from fovnet.search.space import Axis, Level, Space
from fovnet.search.trial import Outcome, Proposal, Trial, best_trials
from interrupted_pictures import Pictures, load_pictures, mean_f1, measure_f1
from picture_baselines import BASELINES, best_detector

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
THESIS_NEIGHBOURS = (Neighbour("optimiser", "next", (("rate", 0.001),)),)
"""The thesis's only neighbour by optimiser: the next one, with its usual rate.  All of them, the
default, is better."""
RECOGNISER_BY_FILE = {"another-model.tsv": table_of(__name__)}

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Task:
    """One search, or a baseline: where the journal is, and what is given to it."""

    folder: Path
    method: str
    start: str
    seed: int
    trials: int
    polling: Polling = POLLING


@dataclass(frozen=True)
class Result:
    """What a search came to: the score of its first and best trial, 1 - mean F1 on what it chooses
    by, and on the test pictures F1 of the complete and the interrupted ones, the mean of both and
    its 95 % interval (bootstrap).

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


COLUMNS = tuple(field.name for field in fields(Result))


def run_task(task: Task) -> Result:
    """What a search in this process came to, and the test of its best; killed, the same call goes
    on from the journal."""
    if task.method in BASELINES:
        return run_baseline(task)
    search = Search(
        SPACE,
        task.method,
        task.seed,
        workers=1,
        start=SPACE.row_of(STARTS[task.start]),
        initial=None,
        predicted_seconds=predicted_seconds(),
        feasible=np.ones(len(SPACE), dtype=bool),
        polling=task.polling,
    )
    with ThreadPoolExecutor(1) as pool:

        def submit(proposal: Proposal) -> Future[Outcome]:
            return pool.submit(outcome_of, proposal)

        trials = run_search(search, trials=task.trials, folder=task.folder, submit=submit)
    return judge_best(task, trials)


def run_baseline(task: Task) -> Result:
    """What a baseline comes to without a search."""
    quantiles = [float(level) for level in SPACE.axes[-1].levels]
    detector = best_detector(task.method, task.seed, quantiles, EPOCHS)
    _, _, test = load_pictures()
    f1 = measure_f1(test, detector.errors(test.pixels) > detector.threshold)
    return Result(
        task.method,
        "",
        task.seed,
        trials=1,
        failed=0,
        first=detector.score,
        score=detector.score,
        **f1._asdict(),
        prevalence=float(test.is_interrupted.mean()),
        configuration=detector.configuration,
    )


def predicted_seconds() -> Floats:
    """(M,) seconds that each row is thought to take: so much a batch and layer."""
    training, _, _ = load_pictures()
    layers = SPACE.rows[:, 0] + 1
    batch = 2.0 ** (SPACE.rows[:, 2] + 4)
    return np.asarray(EPOCHS * np.ceil(len(training.pixels) / batch) * (2 * layers + 3) * 1e-4)


def outcome_of(proposal: Proposal) -> Outcome:
    """The training of a proposal, whose score is 1 - mean F1 on the pictures to choose by."""
    training, choosing, _ = load_pictures()
    start_s = time.perf_counter()
    model, losses = _train(proposal)
    seconds = time.perf_counter() - start_s
    verdicts = judge(model, training, choosing, float(proposal.configuration["quantile"]))
    if verdicts is None:
        return Outcome(
            "diverged",
            tuple(losses),
            seconds=seconds,
            device="cpu",
            message=f"loss {losses[-1]} after epoch {len(losses)}",
        )
    score = 1.0 - mean_f1(choosing, verdicts)
    return Outcome("completed", tuple(losses), (score,), score, seconds, device="cpu")


def _train(proposal: Proposal) -> tuple[Autoencoder, list[float]]:
    """The autoencoder of a proposal, trained, and its loss in every epoch."""
    training, _, _ = load_pictures()
    return train_autoencoder(
        training.pixels, proposal.configuration, epochs=EPOCHS, seed=proposal.seed
    )


def judge(
    model: Autoencoder, training: Pictures, pictures: Pictures, quantile: float
) -> Mask | None:
    """(n,) whether a picture's error exceeds the quantile of the training pictures' errors; None if
    the model has diverged."""
    training_errors = model.errors_of_pixels(training.pixels)
    errors = model.errors_of_pixels(pictures.pixels)
    if not np.isfinite(training_errors).all():
        return None
    return np.asarray(errors > np.quantile(training_errors, quantile))


def judge_best(task: Task, trials: Sequence[Trial]) -> Result:
    """The best trial, trained again as it was, on the test pictures."""
    training, _, test = load_pictures()
    failed = sum(trial.score is None for trial in trials)
    best_trial = next(iter(best_trials(trials, 1)), None)
    if best_trial is None or best_trial.score is None:
        return Result(task.method, task.start, task.seed, len(trials), failed)
    proposal = best_trial.proposal
    model, _ = _train(proposal)
    verdicts = judge(model, training, test, float(proposal.configuration["quantile"]))
    assert verdicts is not None  # as it was when it was chosen
    return Result(
        task.method,
        task.start,
        task.seed,
        len(trials),
        failed,
        first=next(trial.score for trial in trials if trial.score is not None),
        score=best_trial.score,
        **measure_f1(test, verdicts)._asdict(),
        prevalence=float(test.is_interrupted.mean()),
        slot=proposal.slot,
        configuration=" ".join(f"{name}={level}" for name, level in proposal.configuration.items()),
    )


OutFolder = Annotated[
    Path,
    folder_out(
        RECOGNISER_BY_FILE, "Where another-model.tsv and the searches' journals are written."
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option(
        help="One or several search methods, or baselines that are not searched for: "
        f"{', '.join(BASELINES)}; default: a-mads and random."
    ),
]
AsInThesis = Annotated[
    bool,
    typer.Option(
        "--thesis",
        help="mads and a-mads: optimisers form a cycle, and a change sets the usual rate of "
        "the next one.",
    ),
]
AlongRealAxes = Annotated[
    bool,
    typer.Option(
        "--reals",
        help="a-mads and a-dogs: global searches go along the real axes alone, dropout, rate "
        "and quantile, as in the thesis.",
    ),
]


@app.command()
def search_another_model(
    out_folder: OutFolder,
    method: Methods = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Number of trainings per search, about two seconds each.")
    ] = 60,
    seeds: Annotated[
        int, typer.Option(min=1, help="Searches per method, with seeds 0, 1, ...")
    ] = 3,
    start: Annotated[
        str, typer.Option(help="The configuration tried first: good, or bad.")
    ] = "good",
    thesis: AsInThesis = False,
    reals: AlongRealAxes = False,
    processes: Workers = 1,
) -> None:
    """Search another model, an autoencoder that tells interrupted digits from complete ones, as an
    example of a custom space: a journal for each search, which `fovnet search explain` explains."""
    methods = list(dict.fromkeys(method or ["a-mads", "random"]))
    refuse_unknown_methods(methods, [*METHODS, *BASELINES])
    if start not in STARTS:
        raise ConfigError(
            "bench-start", f"--start {start}: unknown; choose among {', '.join(STARTS)}"
        )
    start_and_variant = start
    polling = POLLING
    if thesis:
        start_and_variant += "-thesis"
        polling = replace(polling, neighbours=THESIS_NEIGHBOURS)
    if reals:
        start_and_variant += "-reals"
        polling = replace(polling, categories="reals")
    tasks = [
        Task(out_folder / f"{name}-{start_and_variant}-{seed}", name, start, seed, trials, polling)
        for name in methods
        for seed in range(seeds)
    ]
    with progress_bar("searching") as advance:
        results = list(run_each(run_task, tasks, processes, advance))
    write_tsv(out_folder / "another-model.tsv", COLUMNS, [vars(result) for result in results])
    show_table(
        _results_table(
            f"{trials} trainings from a {start} start, each search's best by validation", results
        )
    )
    share = f"{100 * results[0].prevalence:.0f} % of the test pictures are interrupted"
    out.print(f"{share}; in brackets the 95 % interval (bootstrap of the pictures)")
    out.print(f"{out_folder}: another-model.tsv, and a journal for each search")


def _results_table(title: str, results: Sequence[Result]) -> Table:
    """A row for each method, with a line for each of its searches."""
    table = empty_table(
        title,
        *("method", "validation score", "test F1, complete / interrupted"),
        *("their mean, at test", "failed"),
    )
    for name in dict.fromkeys(result.method for result in results):
        rows = [result for result in results if result.method == name]
        table.add_row(
            name,
            "\n".join(f"{row.score:.3f}" for row in rows),
            "\n".join(f"{row.complete:.2f} / {row.interrupted:.2f}" for row in rows),
            "\n".join(f"{row.mean:.2f} ({row.low:.2f}-{row.high:.2f})" for row in rows),
            f"{sum(row.failed for row in rows)}",
        )
    return table


if __name__ == "__main__":
    main(app)
