"""hyperopt's tree of Parzen estimators under ask and tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np

ValuesByLabel = Mapping[str, Sequence[float]]
"""The value of every variable by its label in a list, which is empty where the variable is inactive."""


class HyperoptTpe:
    """The trials of a search, and what hyperopt suggests after them.

    space   of hyperopt's `hp`, with a label for each variable
    labels  all of these
    """

    def __init__(self, space: Any, labels: Sequence[str], seed: int) -> None:
        self.hyperopt = import_module("hyperopt")
        self.tpe = import_module("hyperopt.tpe")
        self.labels = labels
        self.rng = np.random.default_rng(seed)
        self.domain = self.hyperopt.Domain(None, space, pass_expr_memo_ctrl=False)
        self.trials = self.hyperopt.Trials()

    def suggest(self) -> ValuesByLabel:
        """The values of the next point."""
        seed = int(self.rng.integers(2**31 - 1))
        (trial,) = self.tpe.suggest(self.trials.new_trial_ids(1), self.domain, self.trials, seed)
        values_by_label: ValuesByLabel = trial["misc"]["vals"]
        return values_by_label

    def insert(self, values_by_label: ValuesByLabel, loss: float | None) -> None:
        """Records a finished trial, failed without a finite loss."""
        trial_id = self.trials.new_trial_ids(1)[0]
        trial_facts = {
            "tid": trial_id,
            "cmd": self.domain.cmd,
            "workdir": None,
            "idxs": {label: [trial_id] * len(values_by_label[label]) for label in self.labels},
            "vals": {label: list(values_by_label[label]) for label in self.labels},
        }
        result: dict[str, str | float] = {"status": "fail"}
        if loss is not None and np.isfinite(loss):
            result = {"status": "ok", "loss": loss}
        trial = self.trials.new_trial_docs([trial_id], [None], [result], [trial_facts])[0]
        trial["state"] = self.hyperopt.JOB_STATE_DONE
        self.trials.insert_trial_docs([trial])
        self.trials.refresh()
