"""A table of recorded trainings: a finite space of which every configuration has been trained already.

    X       (M, d)  ordinals scaled to [0, 1], or category codes         kinds  (d,)  "ord" or "cat"
    y       (M,)    loss, lower is better; huge or not finite where the training diverged
    cost    (M,)    seconds, or another positive measure of effort       names  (d,)
One npz file holds these arrays; nothing in it is unpickled.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.records import read_npz
from fovnet.search.space import Axis, Space

Floats = NDArray[np.float64]
NEEDED = ("X", "kinds", "y", "cost", "names")


@dataclass(frozen=True, eq=False)
class Table:
    """A space whose losses (M,) and costs (M,) are known; a loss that is not finite stands for a training that diverged."""

    name: str
    space: Space
    loss: Floats
    cost: Floats

    @property
    def best(self) -> float:
        """The lowest loss of the table."""
        return float(self.loss[np.isfinite(self.loss)].min())


def load_table(path: Path) -> Table:
    """The table in an npz file.  Raises SearchError: "table-missing", "table-damaged", "table-shape", "table-value", "table-repeats"."""
    arrays = _arrays(path)
    X, kinds, names, cost = arrays["X"], arrays["kinds"].astype(str), arrays["names"].astype(str), arrays["cost"]
    loss = _numbers(path, "y", arrays["y"])
    shapes = {"X": X.shape, "kinds": kinds.shape, "names": names.shape, "cost": cost.shape}
    fits = X.ndim == 2 and loss.ndim == 1 and len(X) == len(loss) == len(cost) and len(kinds) == len(names) == X.shape[1]
    if not fits:
        wanted = "X (M, d), y and cost (M,), kinds and names (d,)"
        raise SearchError("table-shape", f"{path}: {wanted} are wanted; found {shapes}, y {loss.shape}.")
    for name, kind, column in zip(names.tolist(), kinds.tolist(), X.T, strict=True):
        if kind not in ("ord", "cat"):
            raise SearchError("table-value", f"{path}: kind {kind!r} of column {name!r}; use 'ord' or 'cat'.")
        if not np.isfinite(_numbers(path, str(name), column)).all():
            raise SearchError("table-value", f"{path}: column {name!r} holds a value that is no number; drop that row or fill it.")
    cost = _numbers(path, "cost", cost)
    if not (np.isfinite(cost) & (cost > 0)).all():
        raise SearchError("table-value", f"{path}: a cost is {cost[~(np.isfinite(cost) & (cost > 0))][0]}; all must be positive numbers.")
    if np.isneginf(loss).any():
        raise SearchError("table-value", f"{path}: y is -inf in row {int(np.argmin(loss))}; a training that diverged is inf or nan.")
    if not np.isfinite(loss).any():
        raise SearchError("table-value", f"{path}: no loss in y is a finite number; there is nothing to search for.")
    return Table(path.stem, _space(path, X, kinds, names), loss, cost)


def _arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        arrays = read_npz(path)
    except FileNotFoundError:
        raise SearchError("table-missing", f"{path}: there is no such table; give an npz file with {', '.join(NEEDED)}.") from None
    except (OSError, ValueError, zipfile.BadZipFile) as fault:
        raise SearchError("table-damaged", f"{path}: no npz file without pickles ({fault}); save it anew with numpy.savez.") from fault
    missing = [name for name in NEEDED if name not in arrays]
    if missing:
        raise SearchError("table-shape", f"{path}: has {sorted(arrays)}, lacks {', '.join(missing)}; give all of {', '.join(NEEDED)}.")
    return arrays


def _numbers(path: Path, name: str, values: NDArray[np.generic]) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SearchError("table-value", f"{path}: {name} is of type {values.dtype}; numbers are wanted.") from None


def _space(path: Path, X: NDArray[np.generic], kinds: NDArray[np.str_], names: NDArray[np.str_]) -> Space:
    axes, codes = [], []
    for name, kind, column in zip(names.tolist(), kinds.tolist(), X.T, strict=True):
        values, code = np.unique(column.astype(np.float64), return_inverse=True)
        if kind == "cat":
            axes.append(Axis(name, tuple(values.tolist()), "categorical"))
        else:
            low, high = float(values[0]), float(values[-1])
            places = (values - low) / (high - low) if high > low else values * 0.0
            axes.append(Axis(name, tuple(values.tolist()), places=tuple(places.tolist())))
        codes.append(code)
    rows = np.column_stack(codes).astype(np.int64)
    found, counts = np.unique(rows, axis=0, return_counts=True)
    if (counts > 1).any():
        twice = np.flatnonzero((rows == found[counts > 1][0]).all(axis=1))[:2].tolist()
        raise SearchError("table-repeats", f"{path}: rows {twice[0]} and {twice[1]} are the same configuration; keep one of them.")
    return Space(tuple(axes), rows)
