"""Novelty: how unlike the training slices a slice is, in the networks' features.

    features   (s, f) standard deviations of the filters of all members (fovnet.net.inference.member_outputs)
        q principal directions kept
    distance   (s,) Mahalanobis, to the nearest class of the training slices, in the covariance within classes
    unusual    (s,) share of the validation slices of the same predicted class that are at least as far: a
               p-value, 1 if usual

The distance after Lee et al. (2018), *A simple unified framework for detecting out-of-distribution samples
and adversarial attacks*, eq. 2; the share after Vovk, Gammerman & Shafer (2005), *Algorithmic learning in a
random world*, label-conditional conformal p-values. More than WIDTH features are first projected with fixed
random signs, which preserves ratios of distances (Achlioptas 2003). On disk `novelty.npz`, plain arrays, at
most some MB.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.parts import MOST_BYTES, part
from fovnet.errors import ModelError
from fovnet.records import read_npz, write_npz

Floats = NDArray[np.float64]
FILE = "novelty.npz"
FLOATS = ("centre", "scale", "whiten", "classes", "known")
# training slices of the reference; 6,000 gave the same result, and each has to be scored
REFERENCE = 4000
WIDTH = 512
PER_DIRECTION = 5  # fewest slices per kept direction: with fewer, the covariance fits noise
FLAT = 1e-10  # share of the largest variance below which a direction is rounding error
RIDGE = 0.02  # of the mean variance within classes
KEPT = 4000  # validation distances kept per class, evenly by rank
# relative tolerance: a slice that is its own reference ties with itself; engines and processors differ by
# 1e-5
TIE = 1e-4
LEAST = 30  # validation slices that a class needs for a distribution of its own


@dataclass(frozen=True)
class NoveltyReference:
    """The novelty reference: the training distribution, and the distances of validation slices from it.

    centre, scale (w,) of the features, projected if there are many       whiten (w, q)      classes (c, q)
    their whitened means
    known (n,) validation distances     given (n,) predicted class of each, as a column; both empty until
                                        calibrated
    """

    features: int
    centre: Floats
    scale: Floats
    whiten: Floats
    classes: Floats
    known: Floats
    given: NDArray[np.int64]

    def distances(self, features: NDArray[np.floating]) -> Floats:
        """Distances (s,) of slices with these features (s, f).  Raises ModelError "novelty-damaged" for
        another number of features."""
        if features.shape[1] != self.features:
            raise ModelError(
                "novelty-damaged",
                f"{FILE}: made for {self.features} features, but the networks have {features.shape[1]}; copy "
                "the whole folder again, or run `fovnet ensemble`",
            )
        mixed = (_mixed(np.asarray(features, dtype=np.float64)) - self.centre) / self.scale
        white = mixed @ self.whiten
        squares = (
            (white**2).sum(axis=1)[:, None]
            - 2 * white @ self.classes.T
            + (self.classes**2).sum(axis=1)
        )
        return np.asarray(np.sqrt(np.maximum(squares.min(axis=1), 0.0)))

    def refuse_unsound(self) -> None:
        """Raises ValueError for arrays that do not fit each other, are not finite, or are negative where they
        may not be."""
        w, q = min(self.features, WIDTH), self.whiten.shape[-1]
        shapes = {
            "whiten": (w, q),
            "centre": (w,),
            "scale": (w,),
            "classes": (max(1, len(self.classes)), q),
            "given": (self.given.size,),
            "known": self.given.shape,
        }
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} has the shape {getattr(self, name).shape}, not {shape}")
        for name in FLOATS:
            if not np.isfinite(getattr(self, name)).all():
                raise ValueError(f"{name} is not all finite numbers")
        if not q or (self.scale <= 0).any() or (self.known < 0).any():
            raise ValueError("scales or distances are not above 0")

    def unusual(self, distances: Floats, raw: Floats) -> Floats:
        """The p-values (s,) in (0, 1] of slices with these distances (s,) and ensemble probabilities (s,
        k)."""
        shares, given = np.ones(len(distances)), raw.argmax(axis=1)
        for column in np.unique(given):
            mine = given == column
            same = self.known[self.given == column]
            reference = np.sort(same if len(same) >= LEAST else self.known)
            farther = len(reference) - np.searchsorted(
                reference, distances[mine] * (1 - TIE), side="left"
            )
            shares[mine] = (farther + 1) / (len(reference) + 1)
        return shares


def fit_reference(features: NDArray[np.floating], truth: NDArray[np.bool_]) -> NoveltyReference:
    """The reference from the features (n, f) and labels (n, k) of training slices; not yet calibrated."""
    mixed = _mixed(np.asarray(features, dtype=np.float64))
    centre, scale = mixed.mean(axis=0), mixed.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    x = (mixed - centre) / scale
    spread, directions = np.linalg.eigh(x.T @ x / len(x))
    most = max(1, min(len(spread), len(x) // PER_DIRECTION))
    kept = [at for at in range(len(spread) - 1, -1, -1) if spread[at] > FLAT * spread[-1]][:most]
    first = directions[:, kept] / np.sqrt(spread[kept])
    white, label = x @ first, truth.argmax(axis=1)
    means = np.stack([white[label == column].mean(axis=0) for column in np.unique(label)])
    rest = white - means[np.searchsorted(np.unique(label), label)]
    within = rest.T @ rest / len(rest)
    within += RIDGE * max(float(np.trace(within)) / len(within), 1e-9) * np.eye(len(within))
    second = np.linalg.inv(np.linalg.cholesky(within)).T
    return NoveltyReference(
        features.shape[1],
        centre,
        scale,
        first @ second,
        means @ second,
        np.zeros(0),
        np.zeros(0, dtype=np.int64),
    )


def calibrate(what: NoveltyReference, distances: Floats, raw: Floats) -> NoveltyReference:
    """The reference with the distances (n,) of validation slices, and the ensemble's probabilities (n, k) of
    these."""
    given = raw.argmax(axis=1)
    kept = np.concatenate(
        [_evenly(np.flatnonzero(given == column), distances) for column in np.unique(given)]
    )
    return NoveltyReference(
        what.features,
        what.centre,
        what.scale,
        what.whiten,
        what.classes,
        distances[kept],
        given[kept],
    )


def volume_novelty(unusual: Floats, raw: Floats) -> float:
    """A volume's novelty: the mean over the slices predicted to show a region, or over all if there are none.

    Of a water phantom every other slice is air, which is not unusual.
    """
    regions = raw.argmax(axis=1) != raw.shape[1] - 1
    return float(unusual[regions].mean() if regions.any() else unusual.mean())


def save(folder: Path, what: NoveltyReference) -> Path:
    """`folder/novelty.npz`, in single precision."""
    return write_npz(
        folder / FILE,
        features=np.array(what.features),
        given=what.given.astype(np.int16),
        **{name: getattr(what, name).astype(np.float32) for name in FLOATS},
    )


def load(folder: Path) -> NoveltyReference | None:
    """The novelty reference of the ensemble in a folder; None if it has none, as those of early versions.

    Raises ModelError ("novelty-damaged") if the file is damaged, or its arrays do not fit each other or are
    not finite.
    """
    path = part(folder, FILE)
    if not path.exists():
        return None
    try:
        arrays = read_npz(path, MOST_BYTES)
        counts = {
            name: arrays[name].astype(np.int64, casting="safe") for name in ("features", "given")
        }
        floats = {name: arrays[name].astype(np.float64, casting="same_kind") for name in FLOATS}
        found = NoveltyReference(int(counts["features"]), given=counts["given"], **floats)
        found.refuse_unsound()
    except (OSError, ValueError, KeyError, IndexError, TypeError) as fault:
        raise ModelError(
            "novelty-damaged",
            f"{path}: not as it was written ({fault}); copy the whole folder again, or run `fovnet ensemble`",
        ) from None
    return found


def _mixed(features: Floats) -> Floats:
    """(s, w) features, projected with fixed random signs if there are more than WIDTH."""
    f = features.shape[1]
    if f <= WIDTH:
        return features
    return np.asarray(features @ _signs(f).astype(np.float64) / np.sqrt(f))


@lru_cache(maxsize=1)
def _signs(f: int) -> NDArray[np.int8]:
    """(f, w) of -1 and 1, drawn once: drawing them takes longer than using them."""
    return np.random.default_rng(f).integers(0, 2, (f, WIDTH), dtype=np.int8) * np.int8(
        2
    ) - np.int8(1)


def _evenly(rows: NDArray[np.int64], distances: Floats) -> NDArray[np.int64]:
    """At most KEPT of the rows, evenly spaced by the rank of their distance."""
    ranked = rows[np.argsort(distances[rows], kind="stable")]
    return ranked[
        np.unique(np.linspace(0, len(ranked) - 1, min(KEPT, len(ranked))).round().astype(np.int64))
    ]
