"""The trees that `search.space` names by a word, with the starts that belong to them.

layers      networks layer by layer at 128 x 128 pixels, on logarithmic scales where it is ratios
            that count; the start is LeNet's layers (LeCun et al., 1998), the first with a stride
hypernomad  the scopes of Lakhmiri, Optimisation des hyperparamètres des réseaux de neurones
            profonds (Polytechnique Montréal, 2021), Table A.1, with their defaults: linear, at
            most 64 copies, and no 1 where it would divide by zero
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def _whole(low: int, high: int, **more: bool) -> dict[str, Any]:
    """Whole numbers; `more` as in a configuration."""
    return {"whole": {"low": low, "high": high, **more}}


def _real(low: float, high: float, start: float, **more: bool) -> dict[str, Any]:
    """Real numbers, and what a branch newly chosen begins with; `more` as in a configuration."""
    return {"real": {"low": low, "high": high, **more}, "start": start}


def _space(conv: Any, dense: Any, optimisers: Any, batch: Any, dropout: Any) -> dict[str, Any]:
    return {
        "conv": conv,
        "dense": dense,
        "optimiser": {"choose": optimisers},
        "batch": batch,
        "dropout": dropout,
        "activation": {"categorical": ["relu", "sigmoid", "tanh"]},
    }


def _layers_of(names: str, *values: Any) -> list[dict[str, Any]]:
    return [dict(zip(names.split(), layer, strict=True)) for layer in values]


NUMBERS_OF_CONVOLUTION = "channels kernel stride padding pooling"
DECAY = _real(1e-6, 0.01, 1e-6, log=True)
TREES: Mapping[str, dict[str, Any]] = {
    "layers": _space(
        conv={
            "repeat": {"low": 1, "high": 8},
            "each": {
                "channels": _whole(2, 64, log=True),
                "kernel": _whole(1, 7),
                "stride": _whole(1, 3),
                "padding": _whole(0, 3),
                "pooling": _whole(1, 4),
            },
        },
        dense={
            "repeat": {"low": 0, "high": 3},
            "grows": "first",
            "each": {"size": _whole(8, 1024, log=True)},
        },
        optimisers={
            "sgd": {
                "rate": _real(1e-4, 1, 0.01, log=True),
                "momentum": _real(0, 0.99, 0.9),
                "dampening": _real(0, 0.99, 0),
                "decay": DECAY,
            },
            "adam": {
                "rate": _real(1e-5, 0.1, 0.001, log=True),
                "beta1": _real(0, 0.99, 0.9),
                "beta2": _real(0.8, 0.9999, 0.999),
                "decay": DECAY,
            },
            "adagrad": {
                "rate": _real(1e-4, 1, 0.01, log=True),
                "rate_decay": _real(1e-6, 0.1, 1e-4, log=True),
                "initial": _real(1e-6, 1, 0.01, log=True),
                "decay": DECAY,
            },
            "rmsprop": {
                "rate": _real(1e-5, 0.1, 0.001, log=True),
                "momentum": _real(0, 0.99, 0),
                "smoothing": _real(0.8, 0.999, 0.99),
                "decay": DECAY,
            },
        },
        batch=_whole(8, 256, log=True),
        dropout=_real(0, 0.7, 0.2),
    ),
    "hypernomad": _space(
        conv={
            "repeat": {"low": 0, "high": 64},
            "each": {
                "channels": _whole(1, 100),
                "kernel": _whole(1, 20),
                "stride": _whole(1, 3),
                "padding": _whole(0, 2),
                "pooling": _whole(1, 5),
            },
        },
        dense={
            "repeat": {"low": 0, "high": 64},
            "grows": "first",
            "each": {"size": _whole(1, 1000)},
        },
        optimisers={
            "sgd": {
                "rate": _real(0, 1, 0.1),
                "momentum": _real(0, 1, 0.9),
                "dampening": _real(0, 1, 0.005),
                "decay": _real(0, 1, 0),
            },
            "adam": {
                "rate": _real(0, 1, 0.001),
                "beta1": _real(0, 0.9999, 0.9),
                "beta2": _real(0, 0.9999, 0.999),
                "decay": _real(0, 1, 0),
            },
            "adagrad": {
                "rate": _real(0, 1, 0.01),
                "rate_decay": _real(0, 1, 0),
                "initial": _real(0, 1, 0),
                "decay": _real(0, 1, 0),
            },
            "rmsprop": {
                "rate": _real(0, 1, 0.001),
                "momentum": _real(0, 1, 0),
                "smoothing": _real(0, 1, 0.99),
                "decay": _real(0, 1, 0),
            },
        },
        batch=_whole(1, 400),
        dropout=_real(0, 0.95, 0.5),
    ),
}
STARTS: Mapping[str, dict[str, Any]] = {
    "layers": {
        "conv": _layers_of(NUMBERS_OF_CONVOLUTION, (6, 5, 2, 0, 2), (16, 5, 1, 0, 2)),
        "dense": [120, 84],
        "optimiser": "sgd",
        "batch": 32,
        "dropout": 0.2,
        "activation": "relu",
    },
    "hypernomad": {
        "conv": _layers_of(NUMBERS_OF_CONVOLUTION, (6, 5, 1, 0, 1), (6, 5, 1, 0, 1)),
        "dense": [128, 128],
        "optimiser": "rmsprop",
        "batch": 128,
        "dropout": 0.5,
        "activation": "relu",
    },
}
"""What a search over a named tree begins with unless `search.start` says otherwise."""
