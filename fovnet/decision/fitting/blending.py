"""How much of what networks learned is taken over: the share of their new weights in a mean with
the weights before, chosen on subjects from whom nothing was learned; and the rule fitted anew for
the mean.

    j  subjects    m  candidate shares

Wortsman et al. (2022), *Robust fine-tuning of zero-shot models*: along the line from the weights
before (0) to those after (1) accuracy on new data rises before that on the old falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import fit_temperature, label_shares
from fovnet.decision.fitting.thresholds import LabelledVolume, fit_thresholds
from fovnet.decision.judge import Judge

Floats = NDArray[np.float64]
CANDIDATE_SHARES = (0.0, 0.2, 0.4, 0.7, 1.0)
LEAST_PROBABILITY = 1e-3  # of a probability in a logarithm: one slice must not decide


def subject_loss(probabilities: Sequence[Floats], truths: Sequence[NDArray[np.bool_]]) -> float:
    """The mean log loss, in nats, of a subject's slices, each volume counted alike; (s, k) each."""
    volume_losses = []
    for volume_probabilities, truth in zip(probabilities, truths, strict=True):
        log_probabilities = np.log(np.maximum(volume_probabilities, LEAST_PROBABILITY))
        slice_losses = -(label_shares(truth) * log_probabilities).sum(axis=1)
        volume_losses.append(slice_losses.mean())
    return float(np.mean(volume_losses))


def index_of_best_share(losses: Floats, without: NDArray[np.bool_] | None = None) -> int:
    """The index in CANDIDATE_SHARES of the least mean loss, the smaller of equals; losses (m, j).

    without  (j,) subjects who do not count: the share for a fold is chosen on the others, so that
             what is gained on its subjects is gained without having looked at them
    """
    counted_losses = losses if without is None else losses[:, ~without]
    return int(np.argmin(counted_losses.mean(axis=1)))


def refit_rule(
    judge: Judge,
    volumes: Sequence[LabelledVolume],
    *,
    stated_error: float,
    statement_error: float,
    at_risk: float,
    seed: int,
) -> tuple[Judge, dict[str, Any], dict[str, Any]]:
    """As `fit_thresholds`, with the temperature fitted anew; how borders are decoded stays as it
    was tuned on more people than these."""
    temperature = fit_temperature(
        [judge.mean_probabilities(volume.outputs) for volume in volumes],
        [volume.truth for volume in volumes],
    )
    judge = replace(judge, rule=replace(judge.rule, temperature=temperature))
    return fit_thresholds(
        judge,
        volumes,
        stated_error=stated_error,
        statement_error=statement_error,
        at_risk=at_risk,
        seed=seed,
    )
