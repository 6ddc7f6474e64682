"""The data of trainings: the labelled slices of a pack, and what identifies them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.records import write_npz
from fovnet.volume.slices.placing import Placing

if TYPE_CHECKING:
    from torch import Tensor

    from fovnet.config.models import Settings
    from fovnet.volume.collection.pack import Pack

AT_ONCE = 4096  # slices, 67 MB
ROWS = "rows.npz"
# second word of the seed of the draw of validation rows, so that it shares nothing with the trials' own seeds
VALIDATION = 1


@dataclass(frozen=True)
class Labelled:
    """The labelled slices of a search: targets (n, k) of all rows of the pixels, the row numbers of training
    and validation, and the placing if the networks' inputs need it."""

    targets: NDArray[np.float32]
    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    placing: Placing | None = None

    def scored_on(self, count: int | None, seed: int) -> Labelled:
        """The same with `count` of the validation rows, ascending: those on which all trials of a seed are
        scored; all if `count` is None or more than there are."""
        order = np.random.default_rng([seed, VALIDATION]).permutation(self.validation)
        return replace(self, validation=np.sort(order[:count]))

    def guess(self, often: Tensor | None) -> float:
        """The validation loss of guessing, in nats, which is that of a network that has learned nothing; the
        training rows are drawn as `often` (n,), None: uniformly."""
        import torch

        from fovnet.net.training.train import class_weights, guessing_loss

        train, validation = (
            torch.from_numpy(self.targets[rows]) for rows in (self.train, self.validation)
        )
        return guessing_loss(validation, class_weights(train, often))

    def write(self, folder: Path) -> Path:
        """`folder/rows.npz`, the file `rows` of a `Job`: the data of a journal's trainings, or of a single
        one, as rows of the pack.

        To be called by the holder of the folder's lock, or by a training on these slices, which are those of
        the journal's other trainings.
        """
        placing = {} if self.placing is None else vars(self.placing)
        return write_npz(
            folder / ROWS,
            targets=self.targets,
            train=self.train,
            validation=self.validation,
            **placing,
        )


def refuse_without_slices(data: Labelled) -> None:
    """Raise SearchError "search-no-slices" unless there are training and validation slices."""
    for name, rows in (("training", data.train), ("validation", data.validation)):
        if not len(rows):
            raise SearchError(
                "search-no-slices",
                f"the {name} split has no slices: label volumes of more subjects, or change the split",
            )


def training_fingerprint(pack: Pack) -> list[Any]:
    """The training and validation data, to be hashed: pixels, labels, sizes, heights and volumes of the
    slices of the train and validation splits, in their order, the names of the classes, and the slice format,
    which is also stored with networks.

    It does not depend on their place in the pack, nor on other slices: correcting a label of a test volume
    repeats no training.
    """
    return [
        *(_content(pack, pack.rows(split)) for split in ("train", "validation")),
        list(pack.classes),
        dict(pack.slice_format),
    ]


def _content(pack: Pack, rows: NDArray[np.int64]) -> str:
    """SHA-256 hex of the labels, placing and pixels of some slices; volumes are renumbered from 0."""
    placing = pack.placing
    volume = np.unique(placing.volume[rows], return_inverse=True)[1].astype(np.int64)
    hashed = hashlib.sha256(str(len(rows)).encode())
    for array in (pack.truth[rows], placing.sides_mm[rows], placing.z_mm[rows], volume):
        hashed.update(np.ascontiguousarray(array).tobytes())
    for first in range(0, len(rows), AT_ONCE):
        hashed.update(pack.pixels[rows[first : first + AT_ONCE]].tobytes())
    return hashed.hexdigest()


def labelled_rows(pack: Pack) -> Labelled:
    """The training data of a pack: the target of a slice of two regions is half of each.  Raises SearchError
    "search-no-slices"."""
    targets = pack.truth / pack.truth.sum(axis=1, keepdims=True).clip(1)
    data = Labelled(
        targets.astype("float32"), pack.rows("train"), pack.rows("validation"), pack.placing
    )
    refuse_without_slices(data)
    return data


def row_frequencies(settings: Settings, pack: Pack) -> Tensor | None:
    """(n,) frequency with which a training draws each of its rows, also used for its class weights; None if
    uniform."""
    import torch

    from fovnet.net.training.train import each_volume_alike

    return (
        None
        if settings.training.sampling == "slices"
        else each_volume_alike(torch.from_numpy(pack.volume[pack.rows("train")]))
    )
