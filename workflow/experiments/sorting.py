"""Networks that learn to sort numbers: a study of an MSc thesis on ranking losses (Freiburg 2022),
repeated.

    R  runs, of a network each, at once
    B  lists of a step
    n  numbers of a list, uniform over a range
A network scores each number by itself and learns by ListMLE from lists of which the lowest number
is the best. A list is sorted without a fault if its scores fall strictly as its numbers rise.

The thesis gives lists, layers, and the range control: scores s are kept within ±2 by 2 tanh(s/100).
It does not give what is assumed here: Adam, its rate, new lists at every epoch, and real numbers
(of 100 out of 1 ...  100 there is one list alone). `sorting_course.py` shows why long training
unlearns the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fovnet.bench.together import Progress, run_each
from fovnet.cli import main
from fovnet.cli.options import Workers, file_out, table_of
from fovnet.cli.screen import empty_table, out, progress_bar, show_table
from fovnet.maths.rankers import Batch, Ranker, train
from fovnet.maths.ranking_losses import list_mle
from fovnet.maths.scorers import Layers, score_points
from fovnet.records import write_tsv

Floats = NDArray[np.float64]

RUNS = 5
TEST_LISTS = 1000
NEAR_SHARE = 0.05
RANGES = ((1.0, 100.0), (-100.0, -1.0), (-50.0, 50.0))
THESIS_SHARES: Mapping[tuple[int, int], tuple[float, ...]] = {
    (3, 100): (0.77, 0.29, 0.11),
    (3, 1000): (0.99, 0.27, 0.40),
    (30, 100): (0.80, 0.79, 0.46),
    (100, 100): (0.99, 0.0, 0.39),
    (100, 1000): (1.0, 0.71, 0.48),
}
"""Shares of faultless lists in the thesis, ±0.03 as read off a figure, by n and epochs, in
RANGES."""
COLUMNS = ("size", "epochs", "low", "high", "rate", "share", "thesis", "near")

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Study:
    """What is learned, and how.

    size            n
    batch           B
    rate, rate_end  of the cosine
    within          k of the scores k·tanh(s/100); None: s themselves
    """

    size: int
    epochs: int
    bounds: tuple[float, float]
    rate: float
    rate_end: float
    batch: int = 100
    within: float | None = 2.0

    def numbers(self, count: int, rng: np.random.Generator) -> Floats:
        """(R, count · n, 1), those of each list rising: inputs of the networks."""
        return np.sort(rng.uniform(*self.bounds, (RUNS, count, self.size)), axis=2).reshape(
            RUNS, -1, 1
        )

    def draw_batch(self, rng: np.random.Generator) -> Batch:
        """The lists of a step."""
        numbers = self.numbers(self.batch, rng)
        return Batch(numbers, numbers[:0], lambda s: self.slope(s[..., 0])[..., None])

    def bounded(self, s: Floats) -> Floats:
        """The scores as the loss has them."""
        if self.within is None:
            return s
        return np.asarray(self.within * np.tanh(0.01 * s))

    def slope(self, s: Floats) -> Floats:
        """The gradient of the loss in the scores (R, B · n) of the networks."""
        bounded = self.bounded(s)
        lists = bounded.reshape(-1, self.size)
        _, slopes = list_mle(lists, np.ones(self.size), np.arange(self.size))
        gradient = slopes.reshape(s.shape) / s.shape[1]
        if self.within is None:
            return np.asarray(gradient)
        return np.asarray(gradient * 0.01 * (self.within - bounded**2 / self.within))


def share_sorted(study: Study) -> float:
    """The share of TEST_LISTS new lists that the trained networks sort without a fault, mean of
    RUNS."""
    rng = np.random.default_rng(0)
    networks = Layers.draw((1, 32, 32, 1), RUNS, rng)
    train(Ranker(networks), lambda: study.draw_batch(rng), study.epochs, study.rate, study.rate_end)
    list_scores = score_points(networks, study.numbers(TEST_LISTS, rng)).reshape(-1, study.size)
    return float((np.diff(list_scores) < 0.0).all(axis=1).mean())


def compare(
    rates: Sequence[float], processes: int = 1, progress: Progress | None = None
) -> Iterator[dict[str, Any]]:
    """A line of COLUMNS for each share in the thesis, at each of these constant rates."""
    studies = [
        Study(size, epochs, bounds, rate, rate)
        for (size, epochs), rate, bounds in product(THESIS_SHARES, rates, RANGES)
    ]
    shares = run_each(share_sorted, studies, processes, progress)
    for study, share in zip(studies, shares, strict=True):
        thesis_share = THESIS_SHARES[study.size, study.epochs][RANGES.index(study.bounds)]
        yield {
            "size": study.size,
            "epochs": study.epochs,
            "low": study.bounds[0],
            "high": study.bounds[1],
            "rate": study.rate,
            "share": round(share, 4),
            "thesis": thesis_share,
            "near": abs(share - thesis_share) <= NEAR_SHARE,
        }


@app.command()
def sort_numbers(
    out_file: Annotated[Path, file_out(table_of(__name__), "A TSV file for the numbers.")],
    rate: Annotated[
        list[float] | None,
        typer.Option(min=0, max=1, help="One or several learning rates; default: 0.001."),
    ] = None,
    processes: Workers = 1,
) -> None:
    """Train the networks of `ranking` to sort numbers, and compare with the sorting study in the
    thesis that introduced the method."""
    with progress_bar("sorting") as advance:
        lines = list(compare(rate or [0.001], processes, advance))
    write_tsv(out_file, COLUMNS, lines)
    table = empty_table(
        "share of lists sorted without an error",
        *("numbers per list", "epochs", "between", "rate", "here", "thesis"),
    )
    for line in lines:
        mark = " *"
        if line["near"]:
            mark = ""
        table.add_row(
            f"{line['size']:g}",
            f"{line['epochs']:g}",
            f"{line['low']:g} and {line['high']:g}",
            f"{line['rate']:g}",
            f"{line['share']:.3f}",
            f"{line['thesis']:.2f}{mark}",
        )
    show_table(table)
    out.print("* more than 0.05 from the thesis, which names no optimiser")
    out.print(f"{out_file}")


if __name__ == "__main__":
    main(app)
