"""A table of trained networks, recorded: rows of a space drawn at random, each trained once, with
its learning curves.

It is a search by the method "random" over the rows drawn, so that it goes on after a kill and
trains several at a time.  Slices are averaged to a smaller side before: the paper's networks then
take seconds where they took minutes.

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

from fovnet.acts.search_plan import SearchPlan
from fovnet.errors import ConfigError, SearchError
from fovnet.net.jobs.training_data import training_fingerprint
from fovnet.net.jobs.trials import remove_recorded_checkpoints
from fovnet.net.jobs.workers import TrainingJob, TrainingPool, file_stamp
from fovnet.records import digest, read_npz, replace_with, write_npz
from fovnet.search.run import Progress, run_search
from fovnet.search.search import Search
from fovnet.search.slot_files import read_trials
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Trial

if TYPE_CHECKING:
    from fovnet.config.models import Settings
    from fovnet.net.cost.prices import Prices
    from fovnet.volume.collection.pack import Pack

Floats = NDArray[np.float64]
ROWS_SEED = 0  # seed of the draw of rows
KIND_CODES = {"ordinal": "ord", "categorical": "cat"}  # kinds of axes, as tables name them


@dataclass(frozen=True)
class Recording:
    """The trainings of a table.

    plan             with the pack of slices
    side_pixels      to which the slices are averaged
    search           the trainings are its slots
    training_count   how many trainings the table is to have
    journal          the folder in which they are recorded
    weight_counts    (M,) weights of each row's network
    """

    plan: SearchPlan
    side_pixels: int
    search: Search
    training_count: int
    journal: Path
    weight_counts: Floats

    def train(self, progress: Progress | None = None) -> list[Trial]:
        """The trials of all rows, by slot, `search.workers` at a time; killed, the same call goes
        on.  Raises SearchError as `run_search`."""

        def report_and_forget(done_count: float, total: int) -> None:
            remove_recorded_checkpoints(self.journal)
            if progress:
                progress(int(done_count), total)

        self.journal.mkdir(parents=True, exist_ok=True)
        self.plan.labelled_slices.write(self.journal)
        with TrainingPool(self._training_job(), self.plan.settings.search.workers) as pool:
            return run_search(
                self.search,
                trials=self.training_count,
                folder=self.journal,
                submit=pool.submit,
                progress=report_and_forget,
            )

    def read_finished_trials(self) -> list[Trial]:
        """The trials that have ended so far, by slot."""
        return read_trials(self.journal)

    @property
    def guessing_loss(self) -> float:
        """The validation loss of guessing, which is that of a network that has learned nothing."""
        return self.plan.labelled_slices.guessing_loss(self.plan.row_frequencies)

    def _training_job(self) -> TrainingJob:
        """What the training processes are given: slices averaged to the side, time by the
        processor."""
        averages_path = write_averages(
            self.journal.parent / "pixels.npy", self.plan.pack.pixels, self.side_pixels
        )
        training_job = self.plan.training_job(self.journal)
        return replace(
            training_job,
            pixels_path=averages_path,
            pixels_stamp=file_stamp(averages_path),
            records_epoch_seconds=True,
        )

    def repeat(self, count: int, seed: int) -> Recording:
        """The recording in which the first `count` rows of this one are trained again: with its own
        seed to the same weights, with another seed to others.

        Raises SearchError "table-again" if they are not trained yet.
        """
        journal = self.journal.with_name(f"again-{count}-seed-{seed}")
        search = self.search
        if seed != search.seed:
            trials = [trial for trial in self.read_finished_trials() if trial.proposal.slot < count]
            trained_rows = {trial.proposal.row for trial in trials}
            if len(trained_rows) < count:
                advice = "first train them once, without --again"
                raise SearchError(
                    "table-again",
                    f"{self.journal}: {len(trained_rows)} of its first {count} rows are trained, but all "
                    f"are needed to train them again; {advice}",
                )
            is_trained = np.isin(np.arange(len(search.space)), list(trained_rows))
            search = replace(search, seed=seed, feasible=is_trained)
        return replace(self, search=search, training_count=count, journal=journal)


def begin_recording(settings: Settings, pack: Pack, side: int) -> Recording:
    """The recording, not trained yet, of as many rows as `search.trials`, drawn among those within
    the limits, or of all these where they are fewer.

    side  pixels to which the slices are averaged

    Raises ConfigError "table-side", "table-inputs", and as `SearchPlan.price_space` does.
    """
    _refuse_side(settings, side, pack.pixels.shape[-1])
    plan = SearchPlan(settings, pack)
    space = plan.space
    prices = plan.price_space(side)
    drawn_rows = draw_rows(prices, settings.search.trials)
    search = Search(
        Space(space.axes, space.rows[drawn_rows]),
        "random",
        settings.seed,
        workers=len(drawn_rows),  # on the search's clock, so that none waits for another
        start=0,
        initial=None,
        predicted_seconds=prices.trial_seconds[drawn_rows],
        feasible=np.ones(len(drawn_rows), dtype=bool),
        memory=prices.memory_bytes[drawn_rows],
        lead=1.0,
    )
    sha256 = digest(
        [search.identity, settings.training.model_dump(), side, *training_fingerprint(pack)]
    )
    journal = Path(settings.results) / f"table-{sha256[:12]}" / "rows"
    return Recording(
        plan,
        side_pixels=side,
        search=search,
        training_count=len(drawn_rows),
        journal=journal,
        weight_counts=prices.cost.weight_count[drawn_rows],
    )


def _refuse_side(settings: Settings, side: int, slice_side: int) -> None:
    """Raise ConfigError "table-side" unless slices can be averaged to this side, "table-inputs" if
    a network is given more than a smaller slice."""
    if side > slice_side or slice_side % side:
        divisors = f"{slice_side}, {slice_side // 2}, {slice_side // 4}"
        raise ConfigError(
            "table-side",
            f"--side {side}: slices of {slice_side} are averaged over squares; give {divisors} or "
            "another divisor",
        )
    if side < slice_side and settings.training.inputs != ["slice"]:
        inputs_text = ", ".join(settings.training.inputs)
        raise ConfigError(
            "table-inputs",
            f"training.inputs: {inputs_text}; with slices of {side} pixels only `slice` is possible: "
            f"leave out the others, or give --side {slice_side}",
        )


def draw_rows(prices: Prices, count: int) -> NDArray[np.int64]:
    """(min(count, m),) of the m rows within the limits, drawn without replacement, in the order of
    the draw."""
    affordable_rows = np.flatnonzero(prices.fits_limits)
    drawn_count = min(count, len(affordable_rows))
    return np.random.default_rng(ROWS_SEED).choice(affordable_rows, drawn_count, replace=False)


def write_averages(path: Path, pixels: NDArray[np.uint8], side: int) -> Path:
    """`path`, an npy file of slices averaged to this side; one that is there is kept, as trainings
    compare its date."""
    if not path.exists():
        replace_with(path, lambda file: np.save(file, average_squares(pixels, side)))
    return path


def average_squares(pixels: NDArray[np.uint8], side: int) -> NDArray[np.uint8]:
    """(n, side, side) the means of the squares of (n, h, h), rounded; h is a multiple of the
    side."""
    square_width = pixels.shape[-1] // side
    squares = pixels.reshape(len(pixels), side, square_width, side, square_width)
    return np.asarray(np.rint(squares.mean(axis=(2, 4), dtype=np.float32)), dtype=np.uint8)


def write_table(path: Path, trials: Sequence[Trial], recording: Recording) -> Path:
    """`path`, the npz file of finished trainings that `fovnet.bench.tables.load_table` reads, rows
    in the order of the slots.

    curves           (m, E+1) validation losses after each epoch, nan before the first and after the
                     last; infinite losses stay
    training_curves  the same of training losses
    y                (m,) the lowest of the epochs (rule "lowest"), nan where none is finite or the
                     training failed
    epoch_seconds    (m,) mean processor seconds of an epoch, which other work on the machine
                     lengthens little
    cost             (m,) those of all E epochs
    guess            the validation loss of guessing
    values           (d,) JSON of the levels of each axis
    levels           (d,) the number of these
    memory           (m,) predicted bytes
    versions         one JSON
    status, seeds, weights, message, device  (m,)
    Trainings that the machine ended ("error") are left out.  Raises SearchError "table-empty" if no
    other is there.
    """
    trials = [trial for trial in trials if trial.outcome.status != "error"]
    if not trials:
        raise SearchError(
            "table-empty",
            f"{recording.journal}: no training has finished in it yet; train some before making a "
            "table",
        )
    return write_npz(path, **table_arrays(trials, recording))


def table_arrays(trials: Sequence[Trial], recording: Recording) -> dict[str, NDArray[Any]]:
    """The arrays that `write_table` stores, by name."""
    space = recording.search.space
    full_epochs = recording.plan.settings.training.epochs
    trial_rows = np.array([trial.proposal.row for trial in trials])
    outcomes = [trial.outcome for trial in trials]
    validation_curves = np.stack(
        [pad_curve(outcome.validation_loss, full_epochs) for outcome in outcomes]
    )
    epoch_seconds = np.array([_mean_epoch_seconds(trial, full_epochs) for trial in trials])
    return {
        "X": np.column_stack(
            [
                _places_of_levels(axis, levels)
                for axis, levels in zip(space.axes, space.rows[trial_rows].T, strict=True)
            ]
        ),
        "kinds": np.array([KIND_CODES[axis.kind] for axis in space.axes]),
        "levels": np.array([len(axis.levels) for axis in space.axes]),
        "values": np.array([json.dumps(axis.levels) for axis in space.axes]),
        "names": np.array([axis.name for axis in space.axes]),
        "y": np.array([trial.score for trial in trials], dtype=np.float64),  # None becomes nan
        "cost": epoch_seconds * full_epochs,
        "curves": validation_curves,
        "training_curves": np.stack(
            [pad_curve(outcome.training_loss, full_epochs) for outcome in outcomes]
        ),
        "epoch_seconds": epoch_seconds,
        "rule": np.array("lowest"),
        "guess": np.array(recording.guessing_loss),
        "status": np.array([outcome.status for outcome in outcomes]),
        "weights": recording.weight_counts[trial_rows],
        "memory": np.asarray(recording.search.memory)[trial_rows],
        "seeds": np.array([trial.proposal.seed for trial in trials], dtype=np.int64),
        "message": np.array([outcome.message for outcome in outcomes]),
        "device": np.array([outcome.device for outcome in outcomes]),
        "versions": np.array(json.dumps(dict(outcomes[0].versions))),
    }


def _places_of_levels(axis: Axis, levels: NDArray[np.int64]) -> Floats:
    """(m,) places of these levels on [0, 1], or the codes of categories."""
    if axis.kind == "categorical":
        return levels.astype(np.float64)
    return np.asarray(axis.columns[levels, 0])


def _mean_epoch_seconds(trial: Trial, epochs: int) -> float:
    """Mean seconds of an epoch; of a training without any, as one that lacked memory, those
    predicted."""
    measured_seconds = trial.outcome.epoch_seconds
    if not measured_seconds:
        return trial.proposal.predicted_seconds / epochs
    return float(np.mean(measured_seconds))


def is_recording(path: Path) -> bool:
    """Whether a file is a table that `write_table` wrote."""
    try:
        return {"X", "training_curves", "seeds"} <= read_npz(path).keys()
    except (OSError, EOFError, ValueError, BadZipFile):
        return False


def pad_curve(losses: Sequence[float], epochs: int) -> Floats:
    """(epochs + 1,) the losses after each epoch, nan before the first and after the last one that
    was trained."""
    padded_losses = np.full(epochs + 1, np.nan)
    padded_losses[1 : len(losses) + 1] = losses
    return padded_losses
