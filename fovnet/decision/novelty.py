"""Novelty: how unlike the training slices a slice is, in the networks' features.

    q          principal directions that are used
    features   (s, f) standard deviations of the filters of all members
               (fovnet.net.inference.member_outputs)
    distance   (s,) Mahalanobis, to the nearest class of the training slices, in the covariance
               within classes
    p value    (s,) share of the validation slices of the same predicted class that are at least as
               far: 1 if usual

The distance after Lee et al. (2018), *A simple unified framework for detecting out-of-distribution
samples and adversarial attacks*, eq. 2; the share after Vovk, Gammerman & Shafer (2005),
*Algorithmic learning in a random world*, label-conditional conformal p-values. More than WIDTH
features are first projected with fixed random signs, which preserves ratios of distances
(Achlioptas 2003). On disk `novelty.npz`, plain arrays, at most some MB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.parts import MOST_BYTES, part
from fovnet.errors import ModelError
from fovnet.records import read_npz, write_npz

Floats = NDArray[np.float64]
FILE = "novelty.npz"
FLOATS = {
    "centre": "centre",
    "scale": "scale",
    "whiten": "whiten",
    "classes": "classes",
    "known": "validation_distances",
}
"""Arrays of floats in the file, and the fields that hold them."""
# training slices of the reference; 6,000 gave the same result, and each has to be scored
REFERENCE = 4000
WIDTH = 512
PER_DIRECTION = 5  # fewest slices per kept direction: with fewer, the covariance fits noise
FLAT = 1e-10  # share of the largest variance below which a direction is rounding error
RIDGE = 0.02  # of the mean variance within classes
MOST_PER_CLASS = 4000  # validation distances per class, evenly by rank
# relative tolerance: a slice that is its own reference ties with itself; engines and processors
# differ by
# 1e-5
TIE = 1e-4
LEAST = 30  # validation slices that a class needs for a distribution of its own


@dataclass(frozen=True)
class NoveltyReference:
    """The novelty reference: the training distribution, and the distances of validation slices from
    it.

    features              their number
    centre, scale         (w,) of the features, projected if there are many
    whiten                (w, q)
    classes               (c, q) their whitened means
    validation_distances  (n,) of validation slices; empty until calibrated
    validation_classes    (n,) the predicted class of each, as a column; empty until calibrated
    """

    features: int
    centre: Floats
    scale: Floats
    whiten: Floats
    classes: Floats
    validation_distances: Floats
    validation_classes: NDArray[np.int64]

    def distances(self, features: NDArray[np.floating]) -> Floats:
        """Distances (s,) of slices with these features (s, f).  Raises ModelError "novelty-damaged"
        for another number of features."""
        if features.shape[1] != self.features:
            raise ModelError(
                "novelty-damaged",
                f"{FILE}: made for {self.features} features, but the networks have "
                f"{features.shape[1]}; copy the whole folder again, or run `fovnet ensemble`",
            )
        projected = _project(np.asarray(features, dtype=np.float64))
        white = (projected - self.centre) / self.scale @ self.whiten
        squares = (
            (white**2).sum(axis=1)[:, None]
            - 2 * white @ self.classes.T
            + (self.classes**2).sum(axis=1)
        )
        return np.asarray(np.sqrt(np.maximum(squares.min(axis=1), 0.0)))

    def refuse_unsound(self) -> None:
        """Raises ValueError for arrays that do not fit each other, are not finite, or are negative
        where they may not be."""
        w = min(self.features, WIDTH)
        q = self.whiten.shape[-1]
        shapes = {
            "whiten": (w, q),
            "centre": (w,),
            "scale": (w,),
            "classes": (max(1, len(self.classes)), q),
            "given": (self.validation_classes.size,),
            "known": self.validation_classes.shape,
        }
        arrays = {name: getattr(self, field) for name, field in FLOATS.items()}
        arrays["given"] = self.validation_classes
        for name, shape in shapes.items():
            if arrays[name].shape != shape:
                raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
        for name in FLOATS:
            if not np.isfinite(arrays[name]).all():
                raise ValueError(f"{name} is not all finite numbers")
        if not q or (self.scale <= 0).any() or (self.validation_distances < 0).any():
            raise ValueError("scales or distances are not above 0")

    def p_values(self, distances: Floats, probabilities: Floats) -> Floats:
        """(s,) in (0, 1] of slices with these distances (s,) and ensemble probabilities (s, k)."""
        p_values = np.ones(len(distances))
        predicted = probabilities.argmax(axis=1)
        for column in np.unique(predicted):
            is_class = predicted == column
            reference = self.validation_distances[self.validation_classes == column]
            if len(reference) < LEAST:
                reference = self.validation_distances
            reference = np.sort(reference)
            nearer = np.searchsorted(reference, distances[is_class] * (1 - TIE), side="left")
            p_values[is_class] = (len(reference) - nearer + 1) / (len(reference) + 1)
        return p_values


def fit_reference(features: NDArray[np.floating], truth: NDArray[np.bool_]) -> NoveltyReference:
    """The reference from the features (n, f) and labels (n, k) of training slices; not yet
    calibrated."""
    projected = _project(np.asarray(features, dtype=np.float64))
    centre = projected.mean(axis=0)
    scale = projected.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    x = (projected - centre) / scale
    variances, directions = np.linalg.eigh(x.T @ x / len(x))
    least_variance = FLAT * variances[-1]
    columns = [
        column for column in range(len(variances) - 1, -1, -1) if variances[column] > least_variance
    ]
    columns = columns[: max(1, min(len(variances), len(x) // PER_DIRECTION))]
    to_white = directions[:, columns] / np.sqrt(variances[columns])
    white = x @ to_white
    label = truth.argmax(axis=1)
    labels = np.unique(label)
    means = np.stack([white[label == column].mean(axis=0) for column in labels])
    deviations = white - means[np.searchsorted(labels, label)]
    within = deviations.T @ deviations / len(deviations)
    within += RIDGE * max(float(np.trace(within)) / len(within), 1e-9) * np.eye(len(within))
    within_to_white = np.linalg.inv(np.linalg.cholesky(within)).T
    return NoveltyReference(
        features=features.shape[1],
        centre=centre,
        scale=scale,
        whiten=to_white @ within_to_white,
        classes=means @ within_to_white,
        validation_distances=np.zeros(0),
        validation_classes=np.zeros(0, dtype=np.int64),
    )


def calibrate(
    reference: NoveltyReference, distances: Floats, probabilities: Floats
) -> NoveltyReference:
    """The reference with the distances (n,) of validation slices, and the ensemble's probabilities
    (n, k) of these."""
    predicted = probabilities.argmax(axis=1)
    rows = np.concatenate(
        [
            _even_rows(np.flatnonzero(predicted == column), distances)
            for column in np.unique(predicted)
        ]
    )
    return replace(
        reference, validation_distances=distances[rows], validation_classes=predicted[rows]
    )


def volume_novelty(p_values: Floats, probabilities: Floats) -> float:
    """A volume's novelty: the mean over the slices predicted to show a region, or over all if there
    are none.

    Of a water phantom every other slice is air, which is not unusual.
    """
    shows_region = probabilities.argmax(axis=1) != probabilities.shape[1] - 1
    return float(p_values[shows_region].mean() if shows_region.any() else p_values.mean())


def save(folder: Path, reference: NoveltyReference) -> Path:
    """`folder/novelty.npz`, in single precision."""
    floats = {name: getattr(reference, field) for name, field in FLOATS.items()}
    return write_npz(
        folder / FILE,
        features=np.array(reference.features),
        given=reference.validation_classes.astype(np.int16),
        **{name: array.astype(np.float32) for name, array in floats.items()},
    )


def load(folder: Path) -> NoveltyReference | None:
    """The novelty reference of the ensemble in a folder; None if it has none, as those of early
    versions.

    Raises ModelError ("novelty-damaged") if the file is damaged, or its arrays do not fit each
    other or are not finite.
    """
    path = part(folder, FILE)
    if not path.exists():
        return None
    try:
        arrays = read_npz(path, MOST_BYTES)
        counts = {
            name: arrays[name].astype(np.int64, casting="safe") for name in ("features", "given")
        }
        floats = {
            field: arrays[name].astype(np.float64, casting="same_kind")
            for name, field in FLOATS.items()
        }
        reference = NoveltyReference(
            int(counts["features"]), validation_classes=counts["given"], **floats
        )
        reference.refuse_unsound()
    except (OSError, ValueError, KeyError, IndexError, TypeError) as fault:
        raise ModelError(
            "novelty-damaged",
            f"{path}: not as it was written ({fault}); copy the whole folder again, or run `fovnet "
            "ensemble`",
        ) from None
    return reference


def _project(features: Floats) -> Floats:
    """(s, w) features, projected with fixed random signs if there are more than WIDTH."""
    f = features.shape[1]
    if f <= WIDTH:
        return features
    return np.asarray(features @ _signs(f).astype(np.float64) / np.sqrt(f))


@lru_cache(maxsize=1)
def _signs(f: int) -> NDArray[np.int8]:
    """(f, w) of -1 and 1, drawn once: drawing them takes longer than using them."""
    zeros_and_ones = np.random.default_rng(f).integers(0, 2, (f, WIDTH), dtype=np.int8)
    return zeros_and_ones * np.int8(2) - np.int8(1)


def _even_rows(rows: NDArray[np.int64], distances: Floats) -> NDArray[np.int64]:
    """At most MOST_PER_CLASS of the rows, evenly spaced by the rank of their distance."""
    ranked = rows[np.argsort(distances[rows], kind="stable")]
    places = np.linspace(0, len(ranked) - 1, min(MOST_PER_CLASS, len(ranked)))
    return ranked[np.unique(places.round().astype(np.int64))]
