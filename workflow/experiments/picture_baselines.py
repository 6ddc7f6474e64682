"""What tells interrupted pictures from complete ones without a search: the baselines of
`another_model.py`.

k-means      by the distance to the nearest of c centres
mixture      by the negative log likelihood of a Gaussian mixture of c components
autoencoder  by the error of an untuned autoencoder without the variational part
vae          by that of an untuned variational one
Of the first two c is chosen, and of all the quantile above which a picture counts as interrupted, on
the pictures to choose by.
Source: Lakhmiri (2021), thesis, chapter 5, table 5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from autoencoder import train_autoencoder
from interrupted_pictures import load_pictures, mean_f1

Floats = NDArray[np.float64]

COMPONENT_COUNTS = (2, 5, 10, 20, 40, 80)
UNTUNED: Mapping[str, Any] = {
    "layers": 2,
    "latent": 8,
    "log2_batch": 6,
    "activation": "relu",
    "dropout": 0.0,
    "optimiser": "adam",
    "rate": 0.001,
}
"""The middle of the space, with Adam at its usual rate."""
BASELINES = ("k-means", "mixture", "autoencoder", "vae")


class Detector(NamedTuple):
    """What calls pictures (n, 64) interrupted whose errors (n,) exceed the threshold."""

    errors: Callable[[Floats], Floats]
    threshold: float
    configuration: str
    score: float


def best_detector(name: str, seed: int, quantiles: Sequence[float], epochs: int) -> Detector:
    """The detector of a baseline with the lowest score, 1 - mean F1 on the pictures to choose
    by."""
    training, choosing, _ = load_pictures()
    detectors = []
    for configuration, errors in _fit_baseline(name, seed, epochs):
        training_errors = errors(training.pixels)
        choosing_errors = errors(choosing.pixels)
        for quantile in quantiles:
            threshold = float(np.quantile(training_errors, quantile))
            score = 1.0 - mean_f1(choosing, choosing_errors > threshold)
            words = f"{configuration} quantile={quantile}".strip()
            detectors.append(Detector(errors, threshold, words, score))
    return min(detectors, key=lambda detector: detector.score)


def _fit_baseline(
    name: str, seed: int, epochs: int
) -> Iterator[tuple[str, Callable[[Floats], Floats]]]:
    """(configuration, errors) of every fit of a baseline to the training pictures."""
    from sklearn.cluster import KMeans
    from sklearn.mixture import GaussianMixture

    training, _, _ = load_pictures()
    if name in ("autoencoder", "vae"):
        model, _ = train_autoencoder(
            training.pixels, UNTUNED, epochs=epochs, seed=seed, is_variational=name == "vae"
        )
        yield "", model.errors_of_pixels
        return
    for count in COMPONENT_COUNTS:
        if name == "k-means":
            clusters = KMeans(count, n_init=4, random_state=seed).fit(training.pixels)
            yield f"centres={count}", partial(_distances_to_nearest, clusters)
        else:
            mixture = GaussianMixture(
                count, covariance_type="diag", reg_covar=1e-3, random_state=seed
            ).fit(training.pixels)
            yield f"components={count}", partial(_surprises, mixture)


def _distances_to_nearest(clusters: Any, pixels: Floats) -> Floats:
    """(n,) the distance of each picture (n, 64) to the nearest centre."""
    return np.asarray(clusters.transform(pixels).min(axis=1))


def _surprises(mixture: Any, pixels: Floats) -> Floats:
    """(n,) the negative log likelihood of each picture (n, 64)."""
    return np.asarray(-mixture.score_samples(pixels))
