"""A table of recorded trainings that has, beside each full training, those on a share of the data:
small networks of scikit-learn's digits, really trained.

The share is one subset of the training pictures, the same for all networks and nested; a training on
it has as many epochs, and so costs that share of a full one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.peers import one_torch_thread
from fovnet.bench.recording import pad_curve
from fovnet.bench.together import Progress
from fovnet.bench.tree_networks import NO_AUGMENTATION
from fovnet.bench.tree_pictures import DIGIT_COUNTS, PIXELS_FILE, write_digits
from fovnet.net.jobs.training_data import ROWS_FILE, LabelledSlices
from fovnet.net.jobs.workers import TrainingJob, train_proposal
from fovnet.net.recipe import Recipe
from fovnet.records import read_json, read_npz, write_json, write_npz
from fovnet.search.space import Axis, Level, Space
from fovnet.search.trial import Proposal

Floats = NDArray[np.float64]

EPOCHS = 16
SHARES = (1.0, 0.2, 0.1)
MOST_LOSS = math.log(100)
"""Of a digit: worse losses count as this one."""
AXES = (
    Axis("convolutions", (1, 2, 3)),
    Axis("channels", (2, 4, 8)),
    Axis("size", (16, 32, 64, 128)),
    Axis("rate", (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)),
    Axis("batch", (32, 64)),
    Axis("activation", ("relu", "sigmoid", "tanh"), "categorical"),
)
ROWS_SEED = 7


@dataclass(frozen=True)
class DigitTrainings:
    """Trainings in a folder, each kept when it is done: killed, the same call goes on.

    rows  networks drawn from AXES
    """

    folder: Path
    rows: int

    @property
    def space(self) -> Space:
        """The list of the networks; a longer one begins with the same."""
        grid = Space(AXES)
        drawn_rows = np.random.default_rng(ROWS_SEED).permutation(len(grid))[: self.rows]
        return Space(AXES, grid.rows[drawn_rows])

    def write_table(self, path: Path, progress: Progress | None = None) -> Path:
        """`path`, a table as `load_table` reads it; `scores_of_share` (len(SHARES), M) are the lowest
        losses of the trainings on each share, nan where one diverged."""
        self._write_pictures()
        curves = np.empty((len(SHARES), self.rows, EPOCHS + 1))
        for row in range(self.rows):
            for number, share in enumerate(SHARES):
                curves[number, row] = self._curve(row, share)
            if progress:
                progress(row + 1, self.rows)
        is_finite = np.isfinite(curves[..., 1:]).all(axis=-1)
        scores = np.where(is_finite, np.fmin.reduce(curves, axis=-1), np.nan)
        levels = self.space.rows.T
        return write_npz(
            path,
            X=np.column_stack(
                [_places(axis, axis_levels) for axis, axis_levels in zip(AXES, levels, strict=True)]
            ),
            kinds=np.array(["cat" if axis.kind == "categorical" else "ord" for axis in AXES]),
            names=np.array([axis.name for axis in AXES]),
            y=scores[0],
            cost=np.ones(self.rows),
            curves=curves[0],
            rule=np.array("lowest"),
            guess=np.array(math.log(10)),
            scores_of_share=scores,
        )

    def _curve(self, row: int, share: float) -> Floats:
        """(EPOCHS + 1,) the validation losses of a training, nan before the first epoch."""
        path = self.folder / "trainings" / f"{row:04d}-{share:g}.json"
        if not path.exists():
            losses = self._train(row, share)
            write_json(path, {"losses": losses}, settings=self.space.configuration(row), seed=row)
        return pad_curve([float(loss) for loss in read_json(path)["losses"]], EPOCHS)

    def _train(self, row: int, share: float) -> list[str]:
        """The validation losses of a training by epoch, as text: one may be nan."""
        training_count, _ = DIGIT_COUNTS
        job = TrainingJob(
            pixels_path=self.folder / PIXELS_FILE,
            rows_path=self._rows_folder(share) / ROWS_FILE,
            networks_folder=self.folder,
            head="gap",
            device="cpu",
            recipe=Recipe(EPOCHS, round(share * training_count), NO_AUGMENTATION),
        )
        configuration = network_of(self.space.configuration(row))
        proposal = Proposal(0, 0, configuration, row, (), (), predicted_seconds=0.0)
        weights_path = self.folder / "network.safetensors"
        with one_torch_thread():
            outcome = train_proposal(job, proposal, given_weights_path=weights_path)
        weights_path.unlink(missing_ok=True)
        return [repr(min(loss, MOST_LOSS)) for loss in outcome.validation_loss]

    def _write_pictures(self) -> None:
        """Writes the pictures, and for every share the rows to train on."""
        write_digits(self.folder)
        arrays = read_npz(self.folder / ROWS_FILE)
        data = LabelledSlices(arrays["targets"], arrays["train"], arrays["validation"])
        for share in SHARES:
            folder = self._rows_folder(share)
            folder.mkdir(parents=True, exist_ok=True)
            count = round(share * len(data.training_rows))
            replace(data, training_rows=data.training_rows[:count]).write(folder)

    def _rows_folder(self, share: float) -> Path:
        return self.folder / f"share-{share:g}"


def network_of(levels: Mapping[str, Level]) -> dict[str, Level]:
    """The network of layers with these levels of AXES, as `space: layers` has it."""
    configuration: dict[str, Level] = {"conv": levels["convolutions"], "dense": 1}
    for number in range(1, int(levels["convolutions"]) + 1):
        layer = {
            "channels": levels["channels"],
            "kernel": 3,
            "stride": 1,
            "padding": 1,
            "pooling": 2,
        }
        configuration |= {f"conv.{number}.{name}": value for name, value in layer.items()}
    optimiser = {"rate": levels["rate"], "momentum": 0.9, "dampening": 0.0, "decay": 1e-4}
    configuration |= {f"optimiser.{name}": value for name, value in optimiser.items()}
    return configuration | {
        "dense.1.size": levels["size"],
        "optimiser": "sgd",
        "batch": levels["batch"],
        "dropout": 0.2,
        "activation": levels["activation"],
    }


def _places(axis: Axis, levels: NDArray[np.int64]) -> Floats:
    """The places of levels (M,) on [0, 1], or the numbers of categories."""
    if axis.kind == "categorical":
        return levels.astype(np.float64)
    return np.asarray(axis.columns[levels, 0])
