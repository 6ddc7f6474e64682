"""A small sliced collection in memory: bodies with known borders, and probabilities as noisy networks would
give them."""

from __future__ import annotations

import numpy as np

from fovnet.regions import DEFAULT
from fovnet.volume.collection.pack import Pack, VolumeRecord

CLASSES = DEFAULT.classes
CHAIN = len(DEFAULT.chain)


def truth_of(lengths, air=4):
    """Labels (s, k): so many slices of each chain region from the feet, and air above."""
    rungs = np.repeat([*range(CHAIN), len(CLASSES) - 1], [*lengths, air])
    return np.eye(len(CLASSES), dtype=bool)[rungs]


def pack_of(labels, splits, folder=None, spacing_mm=8.0):
    """A pack of volumes, one a subject, in the collection "made"; a split of "" is not labelled."""
    records, first = [], 0
    for number, (truth, split) in enumerate(zip(labels, splits, strict=True)):
        records.append(
            VolumeRecord(
                f"v{number:02d}",
                f"p{number:02d}",
                "made",
                f"v{number:02d}.nii",
                bool(split),
                "ok",
                split,
                {},
                first,
                len(truth),
                400.0,
                ((spacing_mm, 0, 0, 0), (0, spacing_mm, 0, 0), (0, 0, spacing_mm, 0), (0, 0, 0, 1)),
                "c",
            )
        )
        first += len(truth)
    sizes = [len(truth) for truth in labels]
    at = np.concatenate([np.arange(size) for size in sizes])
    return Pack(
        folder,
        CLASSES,
        np.zeros((first, 128, 128), np.uint8),
        np.repeat(np.arange(len(sizes)), sizes),
        at * spacing_mm,
        np.stack([at, at], axis=1),
        np.concatenate(labels),
        tuple(records),
        {},
    )


def probabilities_of(truth, rng, noise):
    """Probabilities (s, k) of a network that is right on the whole."""
    score = 4.0 * truth + rng.normal(scale=noise, size=truth.shape)
    p = np.exp(score)
    return p / p.sum(axis=1, keepdims=True)
