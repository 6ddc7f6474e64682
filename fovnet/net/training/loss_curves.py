"""The losses of a training that has not ended, from its checkpoint.  Importing this imports no torch."""

from __future__ import annotations

from pathlib import Path

from fovnet.errors import ModelError
from fovnet.net.family.facts import load_facts
from fovnet.net.paths import checkpoint_path_of


def read_loss_curves(weights_path: Path) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """(training, validation) losses of each epoch, in the checkpoint of the training whose weights
    are at `weights_path`; empty if there is none that can be read."""
    try:
        stored_facts = load_facts(checkpoint_path_of(weights_path))
    except ModelError:
        return (), ()
    return tuple(stored_facts["training_loss"]), tuple(stored_facts["validation_loss"])
