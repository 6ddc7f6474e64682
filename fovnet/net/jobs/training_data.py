"""The data of trainings: the labelled slices of a pack, and what identifies them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.net.training.class_weights import (
    guessing_loss,
    inverse_class_weights,
    volume_frequencies,
)
from fovnet.records import write_npz
from fovnet.regions import find_part_groups
from fovnet.volume.slices.placing import Placing

if TYPE_CHECKING:
    from torch import Tensor

    from fovnet.volume.collection.pack import Pack

SLICES_AT_ONCE = 4096  # slices, 67 MB
ROWS_FILE = "rows.npz"
# second word of the seed of the draw of validation rows, so that it shares nothing with the trials'
# own seeds
VALIDATION_SPLIT = 1


@dataclass(frozen=True)
class LabelledSlices:
    """The labelled slices of a search.

    targets          (n, k) of all rows of the pixels
    training_rows    (r,) row numbers
    validation_rows  (v,) row numbers
    placing          if the networks' inputs need it
    """

    targets: NDArray[np.float32]
    training_rows: NDArray[np.int64]
    validation_rows: NDArray[np.int64]
    placing: Placing | None = None

    def with_validation_rows(self, count: int | None, seed: int) -> LabelledSlices:
        """The same with `count` of the validation rows, ascending: those on which all trials of a
        seed are scored; all if `count` is None or more than there are."""
        rng = np.random.default_rng([seed, VALIDATION_SPLIT])
        shuffled_rows = rng.permutation(self.validation_rows)
        return replace(self, validation_rows=np.sort(shuffled_rows[:count]))

    def guessing_loss(self, row_frequencies: Tensor | None) -> float:
        """The validation loss of guessing, in nats, which is that of a network that has learned
        nothing.

        row_frequencies  (n,) of the draws of the training rows; None: uniform
        """
        import torch

        training_targets = torch.from_numpy(self.targets[self.training_rows])
        validation_targets = torch.from_numpy(self.targets[self.validation_rows])
        return guessing_loss(
            validation_targets, inverse_class_weights(training_targets, row_frequencies)
        )

    def write(self, folder: Path) -> Path:
        """`folder/rows.npz`, the `rows_path` of a `TrainingJob`: the data of a journal's trainings,
        or of a single one, as rows of the pack.

        To be called by the holder of the folder's lock, or by a training on these slices, which are
        those of the journal's other trainings.
        """
        arrays: dict[str, NDArray[Any]] = {
            "targets": self.targets,
            "train": self.training_rows,
            "validation": self.validation_rows,
        }
        if self.placing is not None:
            arrays |= {
                "sides_mm": self.placing.sides_mm,
                "volume": self.placing.volume_of_slice,
                "z_mm": self.placing.z_mm,
            }
        return write_npz(folder / ROWS_FILE, **arrays)


def refuse_without_slices(data: LabelledSlices) -> None:
    """Raise SearchError "search-no-slices" unless there are training and validation slices."""
    for split_name, split_rows in (
        ("training", data.training_rows),
        ("validation", data.validation_rows),
    ):
        if not len(split_rows):
            raise SearchError(
                "search-no-slices",
                f"the {split_name} split has no slices: label volumes of more subjects, or change the "
                "split",
            )


def training_fingerprint(pack: Pack) -> list[Any]:
    """The training and validation data, to be hashed: pixels, labels, sizes, heights and volumes of
    the slices of the train and validation splits, in their order, the names of the classes, and the
    slice format, which is also stored with networks.

    It does not depend on their place in the pack, nor on other slices: correcting a label of a test
    volume repeats no training.
    """
    return [
        *(_content_hash(pack, pack.rows_in_split(split)) for split in ("train", "validation")),
        list(pack.classes),
        dict(pack.slice_format),
    ]


def _content_hash(pack: Pack, rows: NDArray[np.int64]) -> str:
    """SHA-256 hex of the labels, placing and pixels of some slices; volumes are renumbered from
    0."""
    placing = pack.placing
    _, unique_inverse = np.unique(placing.volume_of_slice[rows], return_inverse=True)
    volume_numbers = unique_inverse.astype(np.int64)
    running_hash = hashlib.sha256(str(len(rows)).encode())
    for array in (pack.truth[rows], placing.sides_mm[rows], placing.z_mm[rows], volume_numbers):
        running_hash.update(np.ascontiguousarray(array).tobytes())
    for start in range(0, len(rows), SLICES_AT_ONCE):
        running_hash.update(pack.pixels[rows[start : start + SLICES_AT_ONCE]].tobytes())
    return running_hash.hexdigest()


def labelled_slices_of(pack: Pack) -> LabelledSlices:
    """The training data of a pack: the target of a slice of two regions is half of each, and all
    parts of one region share its target.  Raises SearchError "search-no-slices"."""
    targets = pack.truth.astype(np.float64)
    for start, stop in find_part_groups(pack.classes):
        targets[:, start:stop] /= targets[:, start:stop].sum(axis=1, keepdims=True).clip(1)
    targets /= targets.sum(axis=1, keepdims=True).clip(1)
    data = LabelledSlices(
        targets=targets.astype("float32"),
        training_rows=pack.rows_in_split("train"),
        validation_rows=pack.rows_in_split("validation"),
        placing=pack.placing,
    )
    refuse_without_slices(data)
    return data


def frequencies_of_training_rows(pack: Pack, sampling: str) -> Tensor | None:
    """(n,) frequency with which a training draws each of its rows, also used for its class weights;
    None if uniform.

    sampling  as in `fovnet.net.recipe.Recipe`
    """
    if sampling == "slices":
        return None

    import torch

    return volume_frequencies(torch.from_numpy(pack.volume_of_slice[pack.rows_in_split("train")]))
