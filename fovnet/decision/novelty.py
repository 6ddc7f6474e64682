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
*Algorithmic learning in a random world*, label-conditional conformal p-values. More than
PROJECTED_WIDTH features are first projected with fixed random signs, which preserves ratios of
distances (Achlioptas 2003). On disk `novelty.npz`, plain arrays, at most some MB.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.parts import GREATEST_PART_BYTES, checked_part_path
from fovnet.errors import ModelError
from fovnet.records import read_npz, write_npz

Floats = NDArray[np.float64]
NOVELTY_FILE_NAME = "novelty.npz"
FIELD_BY_ARRAY = {
    "centre": "centre",
    "scale": "scale",
    "whiten": "whitening",
    "classes": "class_means",
    "known": "validation_distances",
}
"""Arrays of floats in the file, and the fields that hold them."""
# training slices of the reference; 6,000 gave the same result, and each has to be scored
REFERENCE_SLICES = 4000
PROJECTED_WIDTH = 512
# fewest slices per kept direction: with fewer, the covariance fits noise
LEAST_SLICES_PER_DIRECTION = 5
# share of the largest variance below which a direction is rounding error
LEAST_VARIANCE_SHARE = 1e-10
RIDGE_SHARE = 0.02  # of the mean variance within classes
MOST_DISTANCES_PER_CLASS = 4000  # validation distances per class, evenly by rank
# relative tolerance: a slice that is its own reference ties with itself, while engines and
# processors differ by 1e-5
RELATIVE_TIE = 1e-4
LEAST_CLASS_DISTANCES = 30  # validation slices that a class needs for a distribution of its own


@dataclass(frozen=True)
class NoveltyReference:
    """The novelty reference: the training distribution, and the distances of validation slices from
    it.

    feature_count         their number
    centre, scale         (w,) of the features, projected if there are many
    whitening             (w, q)
    class_means           (c, q) their whitened means
    validation_distances  (n,) of validation slices; empty until calibrated
    validation_classes    (n,) the predicted class of each, as a column; empty until calibrated
    """

    feature_count: int
    centre: Floats
    scale: Floats
    whitening: Floats
    class_means: Floats
    validation_distances: Floats
    validation_classes: NDArray[np.int64]

    def measure_distances(self, features: NDArray[np.floating]) -> Floats:
        """Distances (s,) of slices with these features (s, f).  Raises ModelError "novelty-damaged"
        for another number of features."""
        if features.shape[1] != self.feature_count:
            raise ModelError(
                "novelty-damaged",
                f"{NOVELTY_FILE_NAME}: made for {self.feature_count} features, but the networks "
                f"have {features.shape[1]}; copy the whole folder again, or run `fovnet ensemble`",
            )
        projected_features = _project_features(np.asarray(features, dtype=np.float64))
        whitened_features = (projected_features - self.centre) / self.scale @ self.whitening
        squared_distances = (
            (whitened_features**2).sum(axis=1)[:, None]
            - 2 * whitened_features @ self.class_means.T
            + (self.class_means**2).sum(axis=1)
        )
        return np.asarray(np.sqrt(np.maximum(squared_distances.min(axis=1), 0.0)))

    def refuse_unsound(self) -> None:
        """Raises ValueError for arrays that do not fit each other, are not finite, or are negative
        where they may not be."""
        feature_count = min(self.feature_count, PROJECTED_WIDTH)
        direction_count = self.whitening.shape[-1]
        shape_by_array = {
            "whiten": (feature_count, direction_count),
            "centre": (feature_count,),
            "scale": (feature_count,),
            "classes": (max(1, len(self.class_means)), direction_count),
            "given": (self.validation_classes.size,),
            "known": self.validation_classes.shape,
        }
        array_by_name = {name: getattr(self, field) for name, field in FIELD_BY_ARRAY.items()}
        array_by_name["given"] = self.validation_classes
        for name, shape in shape_by_array.items():
            if array_by_name[name].shape != shape:
                raise ValueError(f"{name} has the shape {array_by_name[name].shape}, not {shape}")
        for name in FIELD_BY_ARRAY:
            if not np.isfinite(array_by_name[name]).all():
                raise ValueError(f"{name} is not all finite numbers")
        if not direction_count or (self.scale <= 0).any() or (self.validation_distances < 0).any():
            raise ValueError("scales or distances are not above 0")

    def compute_p_values(self, distances: Floats, probabilities: Floats) -> Floats:
        """(s,) in (0, 1] of slices with these distances (s,) and ensemble probabilities (s, k)."""
        p_values = np.ones(len(distances))
        predicted_class = probabilities.argmax(axis=1)
        for class_index in np.unique(predicted_class):
            is_class = predicted_class == class_index
            reference_distances = self.validation_distances[self.validation_classes == class_index]
            if len(reference_distances) < LEAST_CLASS_DISTANCES:
                reference_distances = self.validation_distances
            reference_distances = np.sort(reference_distances)
            nearer_count = np.searchsorted(
                reference_distances, distances[is_class] * (1 - RELATIVE_TIE), side="left"
            )
            p_values[is_class] = (len(reference_distances) - nearer_count + 1) / (
                len(reference_distances) + 1
            )
        return p_values


def fit_reference(features: NDArray[np.floating], truth: NDArray[np.bool_]) -> NoveltyReference:
    """The reference from the features (n, f) and labels (n, k) of training slices; not yet
    calibrated."""
    projected_features = _project_features(np.asarray(features, dtype=np.float64))
    centre = projected_features.mean(axis=0)
    scale = projected_features.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    scaled_features = (projected_features - centre) / scale
    variances, directions = np.linalg.eigh(
        scaled_features.T @ scaled_features / len(scaled_features)
    )
    least_variance = LEAST_VARIANCE_SHARE * variances[-1]
    kept_directions = [
        direction_index
        for direction_index in range(len(variances) - 1, -1, -1)
        if variances[direction_index] > least_variance
    ]
    kept_directions = kept_directions[
        : max(1, min(len(variances), len(scaled_features) // LEAST_SLICES_PER_DIRECTION))
    ]
    to_white = directions[:, kept_directions] / np.sqrt(variances[kept_directions])
    whitened_features = scaled_features @ to_white
    class_of_slice = truth.argmax(axis=1)
    present_classes = np.unique(class_of_slice)
    class_means = np.stack(
        [
            whitened_features[class_of_slice == class_index].mean(axis=0)
            for class_index in present_classes
        ]
    )
    deviations = whitened_features - class_means[np.searchsorted(present_classes, class_of_slice)]
    covariance_within = deviations.T @ deviations / len(deviations)
    covariance_within += (
        RIDGE_SHARE
        * max(float(np.trace(covariance_within)) / len(covariance_within), 1e-9)
        * np.eye(len(covariance_within))
    )
    within_to_white = np.linalg.inv(np.linalg.cholesky(covariance_within)).T
    return NoveltyReference(
        feature_count=features.shape[1],
        centre=centre,
        scale=scale,
        whitening=to_white @ within_to_white,
        class_means=class_means @ within_to_white,
        validation_distances=np.zeros(0),
        validation_classes=np.zeros(0, dtype=np.int64),
    )


def calibrate_reference(
    reference: NoveltyReference, distances: Floats, probabilities: Floats
) -> NoveltyReference:
    """The reference with the distances (n,) of validation slices, and the ensemble's probabilities
    (n, k) of these."""
    predicted_class = probabilities.argmax(axis=1)
    kept_rows = np.concatenate(
        [
            _even_rows(np.flatnonzero(predicted_class == class_index), distances)
            for class_index in np.unique(predicted_class)
        ]
    )
    return replace(
        reference,
        validation_distances=distances[kept_rows],
        validation_classes=predicted_class[kept_rows],
    )


def volume_novelty(p_values: Floats, probabilities: Floats) -> float:
    """A volume's novelty: the mean over the slices predicted to show a region, or over all if there
    are none.

    Of a water phantom every other slice is air, which is not unusual.
    """
    shows_region = probabilities.argmax(axis=1) != probabilities.shape[1] - 1
    return float(p_values[shows_region].mean() if shows_region.any() else p_values.mean())


def save_novelty(folder: Path, reference: NoveltyReference) -> Path:
    """`folder/novelty.npz`, in single precision."""
    array_by_name = {name: getattr(reference, field) for name, field in FIELD_BY_ARRAY.items()}
    return write_npz(
        folder / NOVELTY_FILE_NAME,
        features=np.array(reference.feature_count),
        given=reference.validation_classes.astype(np.int16),
        **{name: array.astype(np.float32) for name, array in array_by_name.items()},
    )


def load_novelty(folder: Path) -> NoveltyReference | None:
    """The novelty reference of the ensemble in a folder; None if it has none, as those of early
    versions.

    Raises ModelError ("novelty-damaged") if the file is damaged, or its arrays do not fit each
    other or are not finite.
    """
    path = checked_part_path(folder, NOVELTY_FILE_NAME)
    if not path.exists():
        return None
    try:
        arrays = read_npz(path, GREATEST_PART_BYTES)
        integer_arrays = {
            name: arrays[name].astype(np.int64, casting="safe") for name in ("features", "given")
        }
        float_arrays = {
            field: arrays[name].astype(np.float64, casting="same_kind")
            for name, field in FIELD_BY_ARRAY.items()
        }
        reference = NoveltyReference(
            int(integer_arrays["features"]),
            validation_classes=integer_arrays["given"],
            **float_arrays,
        )
        reference.refuse_unsound()
    except (OSError, ValueError, KeyError, IndexError, TypeError) as fault:
        raise ModelError(
            "novelty-damaged",
            f"{path}: not as it was written ({fault}); copy the whole folder again, or run `fovnet "
            "ensemble`",
        ) from None
    return reference


def _project_features(features: Floats) -> Floats:
    """(s, w) features, projected with fixed random signs if there are more than PROJECTED_WIDTH."""
    feature_count = features.shape[1]
    if feature_count <= PROJECTED_WIDTH:
        return features
    return np.asarray(
        features @ _random_signs(feature_count).astype(np.float64) / np.sqrt(feature_count)
    )


@lru_cache(maxsize=1)
def _random_signs(feature_count: int) -> NDArray[np.int8]:
    """(f, w) of -1 and 1, drawn once: drawing them takes longer than using them."""
    zeros_and_ones = np.random.default_rng(feature_count).integers(
        0, 2, (feature_count, PROJECTED_WIDTH), dtype=np.int8
    )
    return zeros_and_ones * np.int8(2) - np.int8(1)


def _even_rows(rows: NDArray[np.int64], distances: Floats) -> NDArray[np.int64]:
    """At most MOST_DISTANCES_PER_CLASS of the rows, evenly spaced by the rank of their distance."""
    ranked = rows[np.argsort(distances[rows], kind="stable")]
    ranks = np.linspace(0, len(ranked) - 1, min(MOST_DISTANCES_PER_CLASS, len(ranked)))
    return ranked[np.unique(ranks.round().astype(np.int64))]
