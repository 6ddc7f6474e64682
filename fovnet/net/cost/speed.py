"""Fitting a device's prices to timed trainings.

    n  timed trainings, of whole trials or of single steps
    A  (n, 5) amounts of each, the `priced_amounts` that the device's prices multiply; seconds = A · prices
The prices are positive and minimise the soft-L1 loss of log seconds: a training of a minute counts
as much as one of an hour, and an outlier timed on a busy machine has little influence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.net.cost.columns import Columns, join_columns
from fovnet.net.cost.predicted import DeviceSpeed, Floats, Work, predict_costs, priced_amounts

FILTERS_AT_ONCE = (1, 2, 4, 8, 16, 32, 64)
"""Numbers of filters that a device may compute at once; the one that fits best is chosen."""

OUTLIER_LOG_RATIO = 0.1
"""Scale of the soft-L1 loss of log seconds: beyond about 10 % it grows linearly, not quadratically."""
LEAST_PRICE_SHARE = 1e-3
"""Smallest share of time of each term in some training, so that a rate that cannot be measured
stays finite."""
FEWEST_TRAININGS = 5  # as many as there are prices


@dataclass(frozen=True)
class Timings:
    """n timed trainings.

    networks          with their batches, a row each
    work              the amounts of training, (n,) each
    measured_seconds  (n,)
    """

    networks: Columns
    work: Work
    measured_seconds: Floats

    def __len__(self) -> int:
        return len(self.measured_seconds)

    def join(self, other: Timings) -> Timings:
        """These trainings and those of another."""
        joined_work = {
            name: np.concatenate([amounts, getattr(other.work, name)])
            for name, amounts in vars(self.work).items()
        }
        return Timings(
            join_columns(self.networks, other.networks),
            Work(**joined_work),
            np.concatenate([self.measured_seconds, other.measured_seconds]),
        )


def fit_device(trainings: Timings, validations: Timings | None = None) -> DeviceSpeed:
    """The device that fits the measured seconds of these trainings, and of these validations
    (`work` without training slices).

    Raises ValueError for fewer than five trainings.
    """
    if len(trainings) < FEWEST_TRAININGS:
        raise ValueError(
            f"{len(trainings)} timed trainings; {FEWEST_TRAININGS} or more are needed, as many as a device "
            "has prices"
        )
    validation_share = DeviceSpeed(1.0, 1.0, 1.0).validation_share
    device = _fit_filters_at_once(trainings, validation_share)
    if validations is not None and len(validations):
        full_share = replace(device, validation_share=1.0)
        trained_slice_seconds = _predict_seconds(full_share, validations, with_steps=False)
        validation_share = float(np.median(validations.measured_seconds / trained_slice_seconds))
        device = replace(device, validation_share=validation_share)
        # with whole trials, fitted again with the known validation share
        if (trainings.work.validation_slices > 0).any():
            device = _fit_filters_at_once(trainings, validation_share)
    return device


def log_misfit(device: DeviceSpeed, trainings: Timings) -> Floats:
    """(n,) natural logarithm of predicted over measured seconds."""
    return np.asarray(np.log(_predict_seconds(device, trainings) / trainings.measured_seconds))


def _fit_filters_at_once(trainings: Timings, validation_share: float) -> DeviceSpeed:
    """The device with the number of filters at once of least misfit; ties: the smallest."""
    least_misfit = np.inf
    best_device: DeviceSpeed | None = None
    for filters_at_once in FILTERS_AT_ONCE:
        device = DeviceSpeed(
            1.0, 1.0, 1.0, filters_at_once=filters_at_once, validation_share=validation_share
        )
        prices, price_misfit = _fit_prices(
            _term_matrix(device, trainings), trainings.measured_seconds
        )
        if best_device is None or price_misfit < least_misfit * (1 - 1e-6):
            least_misfit = price_misfit
            best_device = DeviceSpeed.of(prices, filters_at_once, validation_share)
    assert best_device is not None
    return best_device


def _term_matrix(device: DeviceSpeed, timings: Timings) -> Floats:
    return np.stack(
        priced_amounts(
            predict_costs(timings.networks), timings.networks.batch, timings.work, device
        ),
        axis=1,
    )


def _predict_seconds(device: DeviceSpeed, timings: Timings, *, with_steps: bool = True) -> Floats:
    """(n,) predicted seconds; without the terms per step (weights, launches) if `with_steps` is
    False."""
    term_seconds = _term_matrix(device, timings) * np.array(device.prices)
    if not with_steps:
        term_seconds = term_seconds * np.array([1, 1, 0, 0, 1])
    return np.asarray(term_seconds.sum(axis=1))


def _fit_prices(term_amounts: Floats, measured_seconds: Floats) -> tuple[Floats, float]:
    """Prices (5,) and their remaining misfit."""
    from scipy.optimize import least_squares, nnls

    term_shares = term_amounts / measured_seconds[:, None]
    # at price `price_scale` a term is the whole time of some training
    price_scale = 1.0 / np.maximum(term_shares.max(axis=0), 1e-300)
    scaled_start, _ = nnls(term_shares * price_scale, np.ones(len(measured_seconds)))
    price_fit = least_squares(
        lambda log_share: np.log((term_shares * price_scale) @ np.exp(log_share)),
        np.log(np.maximum(scaled_start, 2 * LEAST_PRICE_SHARE)),
        bounds=(np.log(LEAST_PRICE_SHARE), np.inf),
        loss="soft_l1",
        f_scale=OUTLIER_LOG_RATIO,
    )
    return price_scale * np.exp(price_fit.x), float(price_fit.cost)


def repeat_number(number: Any, count: int) -> NDArray[np.int64]:
    """(n,) the same whole number."""
    return np.full(count, number, dtype=np.int64)
