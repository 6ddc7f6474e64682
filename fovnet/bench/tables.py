"""A table of recorded trainings: a finite space of which every configuration has been trained
already.

    X       (M, d)  ordinals scaled to [0, 1], or category codes         kinds  (d,)  "ord" or "cat"
    y       (M,)    loss, lower is better; huge or not finite where the training diverged
    cost    (M,)    seconds, or another positive measure of effort       names  (d,)
One npz file holds these arrays; nothing in it is unpickled.  Learning curves may come with them:
    curves  (M, E+1)  validation loss after e epochs in column e, column 0 before the training; from
                      the first later column on that is not finite the training has diverged,
                      whatever y says
    rule    "lowest" (y is the least of epochs 1 .. E) or "last" (y is the last); without one, as y
            is
    epoch_seconds  (M,)  else cost / E
    guess   the loss of guessing
or, without a rule, the curves in a file NAME.curves.npy beside NAME.npz.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import SearchError
from fovnet.records import read_npz
from fovnet.search.space import Axis, Space

Floats = NDArray[np.float64]
NEEDED_NAMES = ("X", "kinds", "y", "cost", "names")
OWN_TABLE = Path(__file__).with_name("recorded") / "fov-600.npz"


@dataclass(frozen=True, eq=False)
class RecordedTable:
    """A space whose losses (M,) and costs (M,) of full trainings are known; a loss that is not
    finite stands for a training that diverged.

    curves         losses (M, E+1) epoch by epoch; None: only the last is known
    rule           which of them is a training's score
    guessing_loss  of a network that has learned nothing; None: unknown
    """

    name: str
    space: Space
    loss: Floats
    cost: Floats
    curves: Floats | None = None
    rule: str = "last"
    guessing_loss: float | None = None

    @property
    def best_loss(self) -> float:
        """The lowest loss of the table."""
        return float(self.loss[np.isfinite(self.loss)].min())

    @property
    def full_epochs(self) -> int:
        """R, the epochs of a full training: 1 where only its end is known."""
        if self.curves is None:
            return 1
        return int(self.curves.shape[1]) - 1

    @cached_property
    def scores(self) -> Floats:
        """(M, R+1) the score of every training after 0 .. R epochs; nan before the first, and where
        it has diverged.

        The last column is the loss itself: recorded curves have fewer digits.
        """
        if self.curves is None:
            return np.column_stack([np.full(len(self.loss), np.nan), self.loss])
        scores = scores_of(self.curves, self.rule)
        scores[:, -1] = self.loss
        return scores

    @cached_property
    def last_epochs(self) -> NDArray[np.int64]:
        """(M,) epochs after which a training ends: R, or fewer where it has diverged by then."""
        is_finite = np.isfinite(self.scores[:, 1:])
        return np.where(is_finite.all(axis=1), self.full_epochs, is_finite.argmin(axis=1) + 1)


def scores_of(curves: Floats, rule: str) -> Floats:
    """(M, E+1) the scores of trainings after each epoch, nan before the first, and from the first
    loss on that is not finite.

    curves  (M, E+1) losses
    rule    "lowest": the score is the lowest loss so far; "last": the last
    """
    losses_until_divergence = np.where(
        np.logical_and.accumulate(np.isfinite(curves[:, 1:]), axis=1), curves[:, 1:], np.nan
    )
    scores = losses_until_divergence
    if rule == "lowest":
        scores = np.minimum.accumulate(losses_until_divergence, axis=1)
    return np.column_stack([np.full(len(curves), np.nan), scores])


def load_table(path: Path) -> RecordedTable:
    """The table in an npz file.

    Raises SearchError: "table-missing", "table-damaged", "table-shape", "table-value",
    "table-repeats", "table-curves".
    """
    arrays = _read_arrays(path)
    loss = _float_array(path, "y", arrays["y"])
    cost = _float_array(path, "cost", arrays["cost"])
    X = arrays["X"]
    kinds = arrays["kinds"].astype(str)
    names = arrays["names"].astype(str)
    _refuse_shapes(path, X, kinds, names, loss, cost)
    _refuse_columns(path, X, kinds, names)
    _refuse_losses_and_costs(path, loss, cost)
    curves = _curves_or_none(path, arrays)
    rule = "last"
    if curves is not None:
        possible_rules = ["last", "lowest"]
        if "rule" in arrays:
            possible_rules = [str(arrays["rule"])]
        rule = _rule_of_losses(path, loss, curves, possible_rules)
        loss = np.where(np.isfinite(scores_of(curves, rule)[:, -1]), loss, np.nan)
        cost = _full_cost(path, arrays, cost, curves.shape[1] - 1)
    if not np.isfinite(loss).any():
        raise SearchError(
            "table-value",
            f"{path}: no loss in y is a finite number; there is nothing to search for.",
        )
    guessing_loss = None
    if "guess" in arrays:
        guessing_loss = float(_float_array(path, "guess", arrays["guess"]))
    space = _space_of_columns(path, X, kinds, names)
    return RecordedTable(path.stem, space, loss, cost, curves, rule, guessing_loss)


def _refuse_shapes(
    path: Path,
    X: NDArray[np.generic],
    kinds: NDArray[np.str_],
    names: NDArray[np.str_],
    loss: Floats,
    cost: Floats,
) -> None:
    """Raise SearchError "table-shape" unless X is (M, d), loss and cost (M,), kinds and names
    (d,)."""
    are_shapes_consistent = (
        X.ndim == 2
        and loss.ndim == 1
        and len(X) == len(loss) == len(cost)
        and len(kinds) == len(names) == X.shape[1]
    )
    if not are_shapes_consistent:
        shape_by_name = {
            "X": X.shape,
            "kinds": kinds.shape,
            "names": names.shape,
            "cost": cost.shape,
        }
        raise SearchError(
            "table-shape",
            f"{path}: X (M, d), y and cost (M,), kinds and names (d,) are needed; found {shape_by_name}, "
            f"y {loss.shape}.",
        )


def _refuse_columns(
    path: Path, X: NDArray[np.generic], kinds: NDArray[np.str_], names: NDArray[np.str_]
) -> None:
    """Raise SearchError "table-value" unless every column of X (M, d) is of a known kind and holds
    numbers."""
    for name, kind, column in zip(names.tolist(), kinds.tolist(), X.T, strict=True):
        if kind not in ("ord", "cat"):
            raise SearchError(
                "table-value", f"{path}: kind {kind!r} of column {name!r}; use 'ord' or 'cat'."
            )
        if not np.isfinite(_float_array(path, str(name), column)).all():
            raise SearchError(
                "table-value",
                f"{path}: column {name!r} holds a value that is not a number; drop that row or "
                "fill it.",
            )


def _refuse_losses_and_costs(path: Path, loss: Floats, cost: Floats) -> None:
    """Raise SearchError "table-value" unless the costs (M,) are positive and no loss (M,) is minus
    infinity."""
    is_positive = np.isfinite(cost) & (cost > 0)
    if not is_positive.all():
        raise SearchError(
            "table-value",
            f"{path}: a cost is {cost[~is_positive][0]}; all must be positive numbers.",
        )
    if np.isneginf(loss).any():
        raise SearchError(
            "table-value",
            f"{path}: y is -inf in row {int(np.argmin(loss))}; a training that diverged is inf or "
            "nan.",
        )


def own_table_path(path: Path = OWN_TABLE) -> Path:
    """The table of trainings that comes with this installation.  Raises SearchError "table-absent"
    if it has none."""
    if not path.is_file():
        command = "fovnet bench table --config configs/table-600.yaml --out FILE"
        raise SearchError(
            "table-absent",
            f"{path}: this installation has no recorded trainings; give a table, as `{command}` "
            "records one.",
        )
    return path


def _read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """The arrays of an npz file by name.  Raises SearchError "table-missing", "table-damaged", or
    "table-shape" where one of NEEDED_NAMES is lacking."""
    try:
        arrays = read_npz(path)
    except FileNotFoundError:
        raise SearchError(
            "table-missing",
            f"{path}: no such table; give an npz file with {', '.join(NEEDED_NAMES)}.",
        ) from None
    except (OSError, ValueError, zipfile.BadZipFile) as fault:
        raise SearchError(
            "table-damaged",
            f"{path}: not an npz file without pickles ({fault}); save it again with numpy.savez.",
        ) from fault
    missing_names = [name for name in NEEDED_NAMES if name not in arrays]
    if missing_names:
        raise SearchError(
            "table-shape",
            f"{path}: has {sorted(arrays)}, lacks {', '.join(missing_names)}; give all of "
            f"{', '.join(NEEDED_NAMES)}.",
        )
    return arrays


def _curves_or_none(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> Floats | None:
    """The curves in the table or beside it; None without any."""
    if "curves" in arrays:
        return _float_array(path, "curves", arrays["curves"])
    curves_path = path.with_suffix(".curves.npy")
    if not curves_path.exists():
        return None
    try:
        return _float_array(curves_path, "curves", np.load(curves_path, allow_pickle=False))
    except (OSError, ValueError, EOFError) as fault:
        raise SearchError(
            "table-damaged",
            f"{curves_path}: not an npy file without pickles ({fault}); save it again with "
            "numpy.save, or remove it to search without curves.",
        ) from fault


def _rule_of_losses(path: Path, loss: Floats, curves: Floats, rules: Sequence[str]) -> str:
    """ "lowest" or "last": the first of the rules by which the losses follow from the curves.

    Float32 curves agree with y in seven digits, float16 ones in three; rows in another order agree
    in none.
    """
    if not {"lowest", "last"}.issuperset(rules):
        raise SearchError(
            "table-curves",
            f"{path}: rule {rules[0]!r}; use 'lowest' or 'last', whichever y is of the curves.",
        )
    if curves.ndim != 2 or len(curves) != len(loss) or curves.shape[1] < 2:
        raise SearchError(
            "table-shape",
            f"{path}: curves are {curves.shape}, not ({len(loss)}, E + 1), a row for each of y, "
            "from before the first epoch to the last of E.",
        )
    for rule in rules:
        final_scores = scores_of(curves, rule)[:, -1]
        is_finite = np.isfinite(loss) & np.isfinite(final_scores)
        is_different = is_finite & ~np.isclose(final_scores, loss, rtol=1e-3, atol=1e-6)
        if not is_different.any():
            return rule
    differing_row = int(is_different.argmax())
    raise SearchError(
        "table-curves",
        f"{path}: y of row {differing_row} is {loss[differing_row]:g}, by the rule {rule!r} its curve says "
        f"{final_scores[differing_row]:g}; put the rows in one order, or give the rule that y follows.",
    )


def _full_cost(
    path: Path, arrays: Mapping[str, NDArray[np.generic]], cost: Floats, epochs: int
) -> Floats:
    """Seconds (M,) of full trainings: of so many epochs, where the seconds of one are recorded."""
    if "epoch_seconds" not in arrays:
        return cost
    epoch_seconds = _float_array(path, "epoch_seconds", arrays["epoch_seconds"])
    if (
        epoch_seconds.shape != cost.shape
        or not (np.isfinite(epoch_seconds) & (epoch_seconds > 0)).all()
    ):
        raise SearchError(
            "table-value",
            f"{path}: epoch_seconds are {epoch_seconds.shape}, the least "
            f"{epoch_seconds.min(initial=np.inf):g}; {len(cost)} positive numbers are needed, or none.",
        )
    return epoch_seconds * epochs


def _float_array(path: Path, name: str, values: NDArray[np.generic]) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SearchError(
            "table-value", f"{path}: {name} is of type {values.dtype}; they must be numbers."
        ) from None


def _space_of_columns(
    path: Path, X: NDArray[np.generic], kinds: NDArray[np.str_], names: NDArray[np.str_]
) -> Space:
    """The space whose axes have the distinct values of each column as levels.  Raises SearchError
    "table-repeats" if two rows are the same."""
    axes = []
    level_codes = []
    for axis_name, axis_kind, column in zip(names.tolist(), kinds.tolist(), X.T, strict=True):
        distinct_values, row_codes = np.unique(column.astype(np.float64), return_inverse=True)
        if axis_kind == "cat":
            axes.append(Axis(axis_name, tuple(distinct_values.tolist()), "categorical"))
        else:
            lowest = float(distinct_values[0])
            highest = float(distinct_values[-1])
            unit_places = np.zeros(len(distinct_values))
            if highest > lowest:
                unit_places = (distinct_values - lowest) / (highest - lowest)
            axes.append(
                Axis(axis_name, tuple(distinct_values.tolist()), places=tuple(unit_places.tolist()))
            )
        level_codes.append(row_codes)
    level_rows = np.column_stack(level_codes).astype(np.int64)
    distinct_rows, repeat_counts = np.unique(level_rows, axis=0, return_counts=True)
    if (repeat_counts > 1).any():
        is_repeated_row = (level_rows == distinct_rows[repeat_counts > 1][0]).all(axis=1)
        first_row, second_row, *_ = np.flatnonzero(is_repeated_row).tolist()
        raise SearchError(
            "table-repeats",
            f"{path}: rows {first_row} and {second_row} are the same configuration; keep one of them.",
        )
    return Space(tuple(axes), level_rows)
