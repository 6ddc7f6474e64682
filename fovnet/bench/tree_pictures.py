"""The pictures that networks of a race over trees are trained on, kept in a folder.

pixels.npy  (n, side, side) uint8
rows.npz    which of them are to train on, and which to choose by, with their classes
test.npz    others, with their classes; of digits alone
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.together import Progress
from fovnet.net.jobs.training_data import ROWS_FILE, LabelledSlices, labelled_slices_of
from fovnet.phantom.collection import simulate_collection
from fovnet.records import read_npz, replace_with
from fovnet.volume.collection.pack import Pack, load_pack, slice_collections
from fovnet.volume.slices.stack import Slicing

PIXELS_FILE = "pixels.npy"
TEST_FILE = "test.npz"
DIGITS_SEED = 2021
DIGIT_COUNTS = (800, 400)  # to train on, to choose by; the others are for testing
SLICE_COUNTS = (700, 400)
PEOPLE = 30
PEOPLE_SEED = 1
SLICE_SPACING_MM = 8.0
RARE_CLASS = "spine"
"""Left out: in 2 % of the training slices, it would have by its weight a seventh of the loss."""


def picture_facts(folder: Path) -> dict[str, str]:
    """What tells the pictures in a folder from others: a hash of all their numbers, not of the files,
    which hold the hour of writing."""
    running_hash = hashlib.sha256(np.load(folder / PIXELS_FILE).tobytes())
    for _, array in sorted(read_npz(folder / ROWS_FILE).items()):
        running_hash.update(array.tobytes())
    return {"pictures_sha256": running_hash.hexdigest()}


def write_digits(folder: Path) -> None:
    """Writes scikit-learn's digits, unless they are there: to train on, to choose by, and to test."""
    if (folder / ROWS_FILE).exists():
        return
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(DIGITS_SEED).permutation(len(labels))
    pixels = np.rint(images.reshape(-1, 8, 8) * (255 / 16)).astype(np.uint8)
    training_rows, validation_rows, test_rows = np.split(order, np.cumsum(DIGIT_COUNTS))
    data = LabelledSlices(np.eye(10, dtype=np.float32)[labels], training_rows, validation_rows)
    replace_with(
        folder / TEST_FILE,
        lambda file: np.savez(file, pixels=pixels[test_rows], labels=labels[test_rows]),
    )
    _write_pictures(folder, pixels, data)


def _write_pictures(folder: Path, pixels: NDArray[np.uint8], data: LabelledSlices) -> None:
    """Writes what trainings read; the file that tells that all is there comes last."""
    replace_with(folder / PIXELS_FILE, lambda file: np.save(file, pixels))
    data.write(folder)


def write_slices(folder: Path, progress: Progress | None = None) -> None:
    """Simulates people and cuts them into slices, unless they are there; writes those that are drawn
    to train on, and of other people to choose by.  `progress` gets (volumes done, in all)."""
    if (folder / ROWS_FILE).exists():
        return
    pack = _load_or_cut_slices(folder, progress)
    rng = np.random.default_rng(PEOPLE_SEED)
    data = labelled_slices_of(pack)
    rare_class = pack.classes.index(RARE_CLASS)
    drawn_rows = []
    for rows, count in zip((data.training_rows, data.validation_rows), SLICE_COUNTS, strict=True):
        usual_rows = rows[data.targets[rows, rare_class] == 0]
        drawn_rows.append(np.sort(rng.permutation(usual_rows)[:count]))
    training_count, validation_count = map(len, drawn_rows)
    rows = np.concatenate(drawn_rows)
    _write_pictures(
        folder,
        np.asarray(pack.pixels)[rows],
        LabelledSlices(
            np.delete(data.targets[rows], rare_class, axis=1),
            training_rows=np.arange(training_count),
            validation_rows=training_count + np.arange(validation_count),
        ),
    )


def _load_or_cut_slices(folder: Path, progress: Progress | None) -> Pack:
    """The pack of all slices.  Killed, the same call goes on with the volumes that are there."""
    if not (folder / "slices" / "slices.npz").exists():
        simulate_collection(
            folder / "phantom",
            subjects=PEOPLE,
            volumes_per_subject=2,
            seed=PEOPLE_SEED,
            without=["everything"],
            progress=progress,
        )
        slice_collections(
            {"phantom": folder / "phantom"},
            folder / "slices",
            slicing=Slicing(SLICE_SPACING_MM),
            seed=PEOPLE_SEED,
        )
    return load_pack(folder / "slices")
