"""The time of a decision: all of `decide` on a volume, compared with the plain recursions of
textbooks.

    body       clear: five regions and noisy scores; or nothing: pure noise, independent from slice
               to slice
    known      whether the usual heights of the regions are used
    textbook   the best path and the forward-backward posterior alone, without the other parts of a
               decision: slice by slice (Rabiner 1989) where no heights are used, over all pairs of
               edges (Yu 2010) where they are

Both are timed alternately in one process with one thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from fovnet.bench.timing import seconds_of, time_in_turn
from fovnet.cli import main
from fovnet.cli.options import file_out, table_of
from fovnet.cli.screen import empty_table, out, show_table
from fovnet.decision.chain.chain_model import ChainModel
from fovnet.decision.chain.spans import decide_volume, slice_edges
from fovnet.decision.rule import Rule
from fovnet.machine.threads import one_thread
from fovnet.maths.ladder import Height
from fovnet.maths.smoothing import smooth_along_body
from fovnet.records import write_tsv
from fovnet.regions import DEFAULT

Floats = NDArray[np.float64]
BODY_MM = 1800.0
BORDERS_MM = (850.0, 1070.0, 1270.0, 1450.0)
HEIGHTS = (None, Height(220.0, 17.0), Height(195.0, 14.0), Height(182.0, 17.0), None)
BODIES = ("clear", "nothing")
CLEARNESS_BY_BODY = {"clear": 4.0, "nothing": 0.0}  # score of the true class above the others
MARGIN_MM = 20.0  # above and below the body

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class DecidingTime:
    """Medians of the repeats in milliseconds."""

    slices: int
    body: str
    known: bool
    ours_ms: float
    textbook_ms: float

    @property
    def ratio(self) -> float:
        """Time of the textbook over fovnet's."""
        return self.textbook_ms / self.ours_ms


COLUMNS = (*(field.name for field in fields(DecidingTime)), "ratio")


def deciding_times(sizes: Sequence[int], repeats: int, seed: int) -> Iterator[DecidingTime]:
    """The times for whole bodies of each number of slices in `sizes`, for both kinds of BODIES,
    without and with known heights."""
    for s in sizes:
        for body in BODIES:
            probabilities, z_mm = simulate(s, body, seed)
            for heights, textbook_recursion in (((), decode_by_slices), (HEIGHTS, decode_by_pairs)):
                rule = Rule(sigma_mm=6.0, border_toll=1.0, evidence_mm=20.0, heights=heights)
                smoothed = smooth_along_body(probabilities, z_mm, rule.sigma_mm)
                chain = ChainModel.of(smoothed, len(DEFAULT.chain), slice_edges(z_mm), rule)
                clock_by_name = {
                    "ours": partial(seconds_of, decide_volume, probabilities, z_mm, DEFAULT, rule),
                    "textbook": partial(seconds_of, textbook_recursion, chain),
                }
                with one_thread():
                    seconds_by_name = time_in_turn(clock_by_name, repeats)
                ms_by_name = {
                    name: 1e3 * float(np.median(seconds))
                    for name, seconds in seconds_by_name.items()
                }
                yield DecidingTime(
                    s, body, bool(heights), ms_by_name["ours"], ms_by_name["textbook"]
                )


def simulate(s: int, body: str, seed: int) -> tuple[Floats, Floats]:
    """Probabilities (s, k) of a standing body, and heights (s,) in mm."""
    rng = np.random.default_rng(seed)
    k = len(DEFAULT.classes)
    z_mm = (np.arange(s) + 0.5) * BODY_MM / s
    is_in_body = (z_mm > MARGIN_MM) & (z_mm < BODY_MM - MARGIN_MM)
    class_numbers = np.where(is_in_body, np.digitize(z_mm, BORDERS_MM), k - 1)
    scores = CLEARNESS_BY_BODY[body] * np.eye(k)[class_numbers] + rng.normal(size=(s, k))
    p = np.exp(scores)
    return p / p.sum(axis=1, keepdims=True), z_mm


def decode_by_slices(chain: ChainModel) -> tuple[float, Floats]:
    """Worth of the best path and posterior (s, n + 2) by the recursions of hidden Markov models, a
    slice a step."""
    emit = np.column_stack([chain.none_evidence, chain.rung_evidence, chain.none_evidence])
    s, states = emit.shape
    move = np.full((states, states), -np.inf)
    move[np.arange(states), np.arange(states)] = 0.0
    move[0, 1:-1] = move[1:-1, -1] = 0.0
    move[np.arange(1, states - 2), np.arange(2, states - 1)] = -chain.rule.border_toll
    value = np.where(np.arange(states) < states - 1, emit[0], -np.inf)
    forward = np.empty((s, states))
    backward = np.zeros((s, states))
    forward[0] = value
    for t in range(1, s):
        value = (value[:, None] + move).max(axis=0) + emit[t]
        forward[t] = np.logaddexp.reduce(forward[t - 1][:, None] + move, axis=0) + emit[t]
    for t in range(s - 2, -1, -1):
        backward[t] = np.logaddexp.reduce(move + backward[t + 1] + emit[t + 1], axis=1)
    joint = forward + backward
    weight = np.exp(joint - joint.max(axis=1, keepdims=True))
    return float(value.max()), weight / weight.sum(axis=1, keepdims=True)


def decode_by_pairs(chain: ChainModel) -> tuple[float, Floats]:
    """Worth of the best path and posterior (s, n) of the rungs, with the runs between all pairs of
    edges, b before e."""
    s, n = chain.rung_evidence.shape
    below = np.concatenate([[0.0], np.cumsum(chain.none_evidence)])
    above = below[-1] - below
    toll = chain.rule.border_toll
    arrivals = [np.full((2, s + 1), -np.inf)]  # by rung: the best, and the sum of all
    best = below[-1]
    total = [below[-1]]
    for r in range(n):
        cut, whole = _runs(chain, r)
        best_arrival, total_arrival = arrivals[r]
        last = np.logaddexp(below, total_arrival)[:, None] + cut + above
        total.append(float(np.logaddexp.reduce(last, axis=None)))
        best = max(best, float((np.maximum(below, best_arrival)[:, None] + cut + above).max()))
        first_runs = below[:, None] + cut
        best_runs, total_runs = arrivals[r][:, :, None] + whole
        arrivals.append(
            np.stack(
                [
                    np.maximum(first_runs, best_runs).max(axis=0),
                    np.logaddexp.reduce(np.logaddexp(first_runs, total_runs), axis=0),
                ]
            )
            - toll
        )
    shares: list[Floats] = []
    departures = np.full(s + 1, -np.inf)
    weight = np.logaddexp.reduce(total)
    for r in range(n - 1, -1, -1):
        cut, whole = _runs(chain, r)
        _, total_arrival = arrivals[r]
        outer = np.logaddexp(above, departures)
        inner = np.logaddexp(cut + above, whole + departures)
        runs = np.exp(
            np.logaddexp(below[:, None] + cut + outer, total_arrival[:, None] + inner) - weight
        )
        shares.insert(0, np.cumsum(runs.sum(axis=1) - runs.sum(axis=0))[:-1])
        departures = np.logaddexp.reduce(inner, axis=1) - toll
    return best, np.column_stack(shares)


def _runs(chain: ChainModel, r: int) -> tuple[Floats, Floats]:
    """Worth (b, e) of the runs of rung r, cut off and whole."""
    sums = np.concatenate([[0.0], np.cumsum(chain.rung_evidence[:, r])])
    edges = np.arange(len(sums))
    evidence = np.where(edges[:, None] < edges, sums - sums[:, None], -np.inf)
    height = chain.rule.heights[r]
    if not height:
        return evidence, evidence
    mm = chain.edges_mm - chain.edges_mm[:, None]
    return evidence + height.cut_run_evidence(mm), evidence + height.whole_run_evidence(mm)


@app.command()
def time_decisions(
    out_file: Annotated[Path, file_out(table_of(__name__), "A TSV file for the times.")],
    slices: Annotated[
        list[int] | None,
        typer.Option("--slices", min=2, help="Slices of a body; may be repeated. [200, 600, 2000]"),
    ] = None,
    repeats: Annotated[
        int, typer.Option(min=1, help="Repeats of each way; medians are reported.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the noise.")] = 0,
) -> None:
    """Measure deciding: milliseconds per volume, compared with textbook versions of the same
    recursions."""
    rows = list(deciding_times(slices or [200, 600, 2000], repeats, seed))
    write_tsv(out_file, COLUMNS, [{**vars(row), "ratio": row.ratio} for row in rows])
    table = empty_table(
        f"deciding, one thread, median of {repeats}",
        *("slices", "body", "heights", "ms", "textbook", "textbook / ms"),
    )
    for row in rows:
        heights_text = ""
        if row.known:
            heights_text = "known"
        table.add_row(
            f"{row.slices:,}",
            row.body,
            heights_text,
            f"{row.ours_ms:,.1f}",
            f"{row.textbook_ms:,.0f}",
            f"{row.ratio:.3g}",
        )
    show_table(table)
    out.print(f"{out_file}")


if __name__ == "__main__":
    main(app)
