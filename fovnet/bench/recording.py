"""A table of trained networks, recorded: rows of a space drawn at random, each trained once, with
its learning curves.

It is a search by the method "random" over the rows drawn, so that it goes on after a kill and
trains several at a time. Slices are averaged to a smaller side before: the paper's networks then
take seconds where they
    took minutes.
    table-<twelve characters>/    in the results folder, named after rows, training, slices and side
        pixels.npy                (n, side, side) uint8, of all slices of the pack
        rows/                     the journal;  again-30-seed-2/  that of rows trained again
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import ConfigError, SearchError
from fovnet.net.jobs.search_plan import SearchPlan
from fovnet.net.jobs.training_data import row_frequencies, training_fingerprint
from fovnet.records import digest, read_npz, replace_with, write_npz
from fovnet.search.journal import read_trials
from fovnet.search.run import Progress, go_on
from fovnet.search.search import Search
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Trial

if TYPE_CHECKING:
    from fovnet.config.models import Settings
    from fovnet.net.cost.prices import Prices
    from fovnet.net.jobs.workers import Job
    from fovnet.volume.collection.pack import Pack

Floats = NDArray[np.float64]
DRAWN = 0  # seed of the draw of rows


@dataclass(frozen=True)
class Recording:
    """The trainings of a table: their search, the number of them, where they are recorded, the
    slices in their pack and the side to which these are averaged, and the weights (M,) of each
    row's network."""

    plan: SearchPlan
    side: int
    search: Search
    count: int
    journal: Path
    weights: Floats

    def train(self, progress: Progress | None = None) -> list[Trial]:
        """The trials of all rows, by slot, `search.workers` at a time; killed, the same call goes
        on.  Raises SearchError as `go_on`."""
        from fovnet.net.jobs.trials import forget_recorded
        from fovnet.net.jobs.workers import TrainingPool

        def advance(done: float, wanted: int) -> None:
            forget_recorded(self.journal)
            if progress:
                progress(int(done), wanted)

        self.journal.mkdir(parents=True, exist_ok=True)
        self.plan.data.write(self.journal)
        with TrainingPool(self._job(), self.plan.settings.search.workers) as pool:
            return go_on(
                self.search,
                trials=self.count,
                journal=self.journal,
                submit=pool.submit,
                progress=advance,
            )

    def finished_trials(self) -> list[Trial]:
        """The trials that have ended so far, by slot."""
        return read_trials(self.journal)

    @property
    def guess(self) -> float:
        """The validation loss of guessing, which is that of a network that has learned nothing."""
        return self.plan.data.guess(row_frequencies(self.plan.settings, self.plan.pack))

    def _job(self) -> Job:
        from fovnet.net.jobs.workers import stamp_of

        pixels = averaged_file(self.journal.parent / "pixels.npy", self.plan.pack.pixels, self.side)
        job = self.plan.job(self.journal)
        return replace(job, pixels=pixels, stamp=stamp_of(pixels), process_seconds=True)

    def repeat(self, count: int, seed: int) -> Recording:
        """The recording in which the first rows of this one are trained again: with its own seed to
        the same bits, with another to another end.

        Raises SearchError "table-again" if they are not trained yet.
        """
        place = self.journal.with_name(f"again-{count}-seed-{seed}")
        search = self.search
        if seed != search.seed:
            first = {
                trial.proposal.row
                for trial in self.finished_trials()
                if trial.proposal.slot < count
            }
            if len(first) < count:
                wanted = (
                    "all are needed to train them again; first train them once, without --again"
                )
                raise SearchError(
                    "table-again",
                    f"{self.journal}: {len(first)} of its first {count} rows are trained, but {wanted}",
                )
            search = replace(
                search, seed=seed, feasible=np.isin(np.arange(len(search.space)), list(first))
            )
        return replace(self, search=search, count=count, journal=place)


def begin_recording(settings: Settings, pack: Pack, side: int) -> Recording:
    """The recording of as many rows as `search.trials`, drawn among those within the limits; fewer
    if these are fewer.

    Raises ConfigError "table-side", "table-inputs", and as `SearchPlan.prices` does.
    """
    _refuse_side(settings, side, pack.pixels.shape[-1])
    plan = SearchPlan(settings, pack)
    space, known = plan.space, plan.prices(side)
    rows = rows_drawn(known, settings.search.trials)
    # on the search's clock, so that none waits for another
    every, at_once = np.ones(len(rows), dtype=bool), len(rows)
    search = Search(
        Space(space.axes, space.rows[rows]),
        "random",
        settings.seed,
        at_once,
        0,
        None,
        known.seconds[rows],
        every,
        memory=known.memory[rows],
        lead=1.0,
    )
    made = digest(
        [search.identity, settings.training.model_dump(), side, *training_fingerprint(pack)]
    )
    journal = Path(settings.results) / f"table-{made[:12]}" / "rows"
    return Recording(plan, side, search, len(rows), journal, known.cost.weights[rows])


def _refuse_side(settings: Settings, side: int, there: int) -> None:
    if side > there or there % side:
        raise ConfigError(
            "table-side",
            f"--side {side}: slices of {there} are averaged over squares; give {there}, {there // 2}, "
            f"{there // 4} or another divisor",
        )
    if side < there and settings.training.inputs != ["slice"]:
        shown = ", ".join(settings.training.inputs)
        raise ConfigError(
            "table-inputs",
            f"training.inputs: {shown}; with slices of {side} pixels only `slice` is possible: leave out "
            f"the others, or give --side {there}",
        )


def rows_drawn(known: Prices, count: int) -> NDArray[np.int64]:
    """(min(count, m),) of the m rows within the limits, drawn without replacement, in the order of
    the draw."""
    within = np.flatnonzero(known.fits)
    return np.random.default_rng(DRAWN).choice(within, min(count, len(within)), replace=False)


def averaged_file(path: Path, pixels: NDArray[np.uint8], side: int) -> Path:
    """`path`, an npy file of slices averaged to this side; one that is there is kept, as trainings
    compare its date."""
    if not path.exists():
        replace_with(path, lambda file: np.save(file, averaged(pixels, side)))
    return path


def averaged(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """(n, side, side) the means of the squares of (n, h, h), rounded; h is a multiple of the
    side."""
    within = pixels.shape[-1] // side
    squares = pixels.reshape(len(pixels), side, within, side, within)
    return np.asarray(np.rint(squares.mean(axis=(2, 4), dtype=np.float32)), dtype=np.uint8)


def write_table(path: Path, trials: Sequence[Trial], made: Recording) -> Path:
    """`path`, the npz file of finished trainings that `fovnet.bench.tables.load_table` reads, rows
    in the order of the slots.

    curves, training_curves  (m, E+1) losses after each epoch, nan before the first and after the last;
                             infinite losses stay
    y        (m,) the lowest of the epochs (rule "lowest"), nan where none is finite or the training failed
    epoch_seconds, cost  (m,) mean processor seconds of an epoch, which other work on the machine lengthens
                         little; of all E
    guess    the validation loss of guessing
    values   (d,) JSON of the levels of each axis        levels  (d,) their number        status, seeds,
        weights  (m,)
    memory   (m,) predicted bytes                        message, device  (m,)            versions  one JSON
    Trainings that the machine ended ("error") are left out.  Raises SearchError "table-empty" if no
    other is there.
    """
    kept = [trial for trial in trials if trial.outcome.status != "error"]
    if not kept:
        raise SearchError(
            "table-empty",
            f"{made.journal}: no training has finished in it yet; train some before making a table",
        )
    return write_npz(path, **arrays_of(kept, made))


def arrays_of(trials: Sequence[Trial], made: Recording) -> dict[str, NDArray[Any]]:
    """The arrays of `write_table`."""
    space, epochs = made.search.space, made.plan.settings.training.epochs
    rows = np.array([trial.proposal.row for trial in trials])
    outcomes = [trial.outcome for trial in trials]
    curves = np.stack([curve(outcome.validation_loss, epochs) for outcome in outcomes])
    seconds = np.array([_of_an_epoch(trial, epochs) for trial in trials])
    return {
        "X": np.column_stack(
            [
                _places(axis, level)
                for axis, level in zip(space.axes, space.rows[rows].T, strict=True)
            ]
        ),
        "kinds": np.array(["cat" if axis.kind == "categorical" else "ord" for axis in space.axes]),
        "levels": np.array([len(axis.levels) for axis in space.axes]),
        "values": np.array([json.dumps(axis.levels) for axis in space.axes]),
        "names": np.array([axis.name for axis in space.axes]),
        "y": np.array([np.nan if trial.score is None else trial.score for trial in trials]),
        "cost": seconds * epochs,
        "curves": curves,
        "training_curves": np.stack([curve(outcome.training_loss, epochs) for outcome in outcomes]),
        "epoch_seconds": seconds,
        "rule": np.array("lowest"),
        "guess": np.array(made.guess),
        "status": np.array([outcome.status for outcome in outcomes]),
        "weights": made.weights[rows],
        "memory": np.asarray(made.search.memory)[rows],
        "seeds": np.array([trial.proposal.seed for trial in trials], dtype=np.int64),
        "message": np.array([outcome.message for outcome in outcomes]),
        "device": np.array([outcome.device for outcome in outcomes]),
        "versions": np.array(json.dumps(dict(outcomes[0].versions))),
    }


def _places(axis: Axis, level: NDArray[np.int64]) -> Floats:
    """(m,) places of these levels on [0, 1], or the codes of categories."""
    return level.astype(np.float64) if axis.kind == "categorical" else axis.columns[level, 0]


def _of_an_epoch(trial: Trial, epochs: int) -> float:
    """Mean seconds of an epoch; of a training without any, as one that lacked memory, those
    predicted."""
    measured = trial.outcome.epoch_seconds
    return float(np.mean(measured)) if measured else trial.proposal.predicted_seconds / epochs


def is_recording(path: Path) -> bool:
    """Whether a file is such a table."""
    try:
        return {"X", "training_curves", "seeds"} <= read_npz(path).keys()
    except (OSError, EOFError, ValueError, BadZipFile):
        return False


def curve(losses: Sequence[float], epochs: int) -> Floats:
    """(epochs + 1,) the losses after each epoch, nan before the first and after the last."""
    padded = np.full(epochs + 1, np.nan)
    padded[1 : len(losses) + 1] = losses
    return padded
