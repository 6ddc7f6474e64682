"""Why networks that sort numbers after 100 epochs do not after 1,000: the course of their training,
with the range control of the sorting study and without it.

    n  numbers of a list
    k  scores s are kept within ±k by k·tanh(s/100)
Within ±k the order of n places is not likeliest where the scores fall from place to place: the first
places, and the last, are then tied at the ends (`likeliest_scores`; Plackett and Luce's likelihood,
log-concave, so that there is no other optimum).  The loss falls to the end, the gradient does not
grow, and no score is saturated: what is lost is the order that the optimum does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.optimize import minimize

from fovnet.cli import main
from fovnet.cli.options import file_out, table_of
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.ranking_losses import list_mle
from fovnet.maths.scorers import Layers, score_points
from fovnet.records import write_tsv
from sorting import RANGES, RUNS, Study

Floats = NDArray[np.float64]

WITHIN = 2.0
COURSES = ((WITHIN, 0.001), (WITHIN, 0.0001), (None, 0.001))
"""k, None for scores as they are, and the rate."""
MOMENTS = (0, 20, 50, 100, 200, 300, 500, 700, 1000)
"""Epochs after which the networks are tested."""
TEST_LISTS = 200
COLUMNS = ("size", "within", "rate", "epoch", "share", "loss", "gradient")

app = typer.Typer(add_completion=False)


class Optimum(NamedTuple):
    """The scores (n,) within ±k under which an order is likeliest, and their loss, a mean over the
    places."""

    scores: Floats
    loss: float

    @property
    def tied_first(self) -> int:
        """The number of first places that have the highest score."""
        return int(np.isclose(self.scores, self.scores[0], atol=1e-4).sum())

    @property
    def tied_last(self) -> int:
        """The number of last places that have the lowest score."""
        return int(np.isclose(self.scores, self.scores[-1], atol=1e-4).sum())


def likeliest_scores(size: int, within: float = WITHIN) -> Optimum:
    """The optimum for lists of so many numbers."""
    places = np.arange(size)

    def loss_and_gradient(scores: Floats) -> tuple[float, Floats]:
        losses, gradients = list_mle(scores[None], np.ones(size), places)
        return float(losses[0]) / size, gradients[0] / size

    optimum = minimize(
        loss_and_gradient,
        np.linspace(within, -within, size) / 2,
        jac=True,
        bounds=[(-within, within)] * size,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return Optimum(optimum.x, float(optimum.fun))


def course(study: Study) -> Iterator[dict[str, Any]]:
    """A line of COLUMNS at each of MOMENTS that a training at a constant rate reaches: means over
    RUNS, of new lists; the gradient by its norm."""
    rng = np.random.default_rng(0)
    networks = Layers.draw((1, 32, 32, 1), RUNS, rng)
    lines: list[dict[str, Any]] = []
    moments = [moment for moment in MOMENTS if moment <= study.epochs]
    epoch = 0

    def draw_batch() -> Batch:
        """The lists of the next epoch, after a test where it is due."""
        nonlocal epoch
        if epoch in moments:
            lines.append({"epoch": epoch, **test(study, networks)})
        epoch += 1
        return study.draw_batch(rng)

    train(Ranker(networks), draw_batch, study.epochs, study.rate, study.rate_end)
    draw_batch()
    for line in lines:
        yield {"size": study.size, "within": study.within, "rate": study.rate, **line}


def test(study: Study, networks: Layers) -> dict[str, float]:
    """The share of new lists that the networks sort, the loss of a place, and the gradient's norm."""
    rng = np.random.default_rng(1)
    numbers = study.numbers(TEST_LISTS, rng)
    lists = score_points(networks, numbers).reshape(-1, study.size)
    losses, _ = list_mle(study.bounded(lists), np.ones(study.size), np.arange(study.size))
    (gradients,) = Ranker(networks).gradients(study.draw_batch(rng))
    return {
        "share": round(float((np.diff(lists) < 0.0).all(axis=1).mean()), 3),
        "loss": round(float(losses.mean()) / study.size, 4),
        "gradient": round(float(np.linalg.norm(gradients, axis=1).mean()), 4),
    }


@app.command()
def follow_training(
    out_file: Annotated[Path, file_out(table_of(__name__), "A TSV file for the numbers.")],
    size: Annotated[int, typer.Option(min=2, help="Numbers of a list.")] = 100,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of a training.")] = 1000,
    batch: Annotated[int, typer.Option(min=1, help="Lists of an epoch; the study has 100.")] = 10,
) -> None:
    """Follow networks that learn to sort, with range control and without: how many lists they sort,
    their loss and its gradient, beside the likeliest scores within the range."""
    study = Study(size, epochs, RANGES[0], 0.0, 0.0, batch)
    lines: list[dict[str, Any]] = []
    with progress_bar("sorting") as advance:
        for number, (within, rate) in enumerate(COURSES, start=1):
            lines += course(replace(study, within=within, rate=rate, rate_end=rate))
            advance(number, len(COURSES))
    write_tsv(out_file, COLUMNS, lines)
    table = empty_table("share of lists sorted, loss and gradient", *COLUMNS)
    for line in lines:
        table.add_row(*(f"{line[column]}" for column in COLUMNS))
    show_table(table)
    optimum = likeliest_scores(size)
    out.print(
        f"within ±{WITHIN:g} the order of {size} is likeliest with the first {optimum.tied_first} places "
        f"tied, and the last {optimum.tied_last}: loss {optimum.loss:.4f}"
    )
    out.print(f"{out_file}")


if __name__ == "__main__":
    main(app)
