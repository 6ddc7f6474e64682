"""Checkpoints: the state of a training between two epochs, from which it resumes as if it had not
been interrupted.

A checkpoint is a safetensors file beside the weights, replaced atomically: if a write is
interrupted, the one before stays.  It is kept after the training until `forget_checkpoint`, which
is called once the record is written: a finished training whose record was lost is restored without
further epochs, and one that was stopped after fewer epochs (a rung) continues.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from fovnet.errors import ModelError
from fovnet.net.family.weights import load_tensors, save_tensors
from fovnet.net.paths import checkpoint_path_of, forget_checkpoint
from fovnet.net.training.optimisers import read_state, restore_state
from fovnet.records import digest

if TYPE_CHECKING:
    from fovnet.net.training.progress import Progress


@dataclass(frozen=True)
class Checkpoint:
    """The checkpoint of the training whose weights are at `weights_path`.

    deciding_facts  JSON-able, which determine the training; a checkpoint with other facts is not
                    resumed
    """

    weights_path: Path
    deciding_facts: Mapping[str, Any]

    @property
    def path(self) -> Path:
        """The safetensors file, beside the weights; it is not created here."""
        return checkpoint_path_of(self.weights_path)

    def save(self, progress: Progress) -> None:
        """Write the state of the training after a whole epoch, replacing the one before.

        tensors   of the model, of the optimiser's state and the running mean of each parameter, and
                  the state of the CPU's generator (bytes,)
        facts     steps, the seconds and losses of each epoch, a hash of `deciding_facts`, and the
                  CRC-32 of the tensors
        At least one step must have been taken, as there is no state before.  Raises OSError if
        it cannot be written.
        """
        tensors = {
            f"model.{tensor_name}": tensor
            for tensor_name, tensor in progress.model.state_dict().items()
        }
        parameter_names = [name for name, _ in progress.model.named_parameters()]
        tensors |= read_state(progress.optimiser, progress.model)
        tensors |= {
            f"average.{tensor_name}": tensor
            for tensor_name, tensor in zip(
                parameter_names, progress.averaged_weights, strict=bool(progress.averaged_weights)
            )
        }
        tensors["generator"] = progress.generator.get_state()
        facts = {
            "step": progress.step_count,
            "decides": digest(self.deciding_facts),
            "crc32": _crc32(tensors),
            "training_loss": progress.training_losses,
            "validation_loss": progress.validation_losses,
            "epoch_seconds": progress.epoch_seconds,
        }
        # no fsync: a damaged checkpoint is treated as none
        save_tensors(self.path, tensors, facts, lasting=False)

    def resume(self, progress: Progress) -> None:
        """Restore this checkpoint into a training that has not begun.

        If there is none of the same training, or it is damaged, or the weights of its best epoch
        are gone, its remaining files are removed: the training starts again, and gives the same
        bits.
        """
        for unfinished_file in self.weights_path.parent.glob(f".{self.weights_path.stem}.*.part"):
            unfinished_file.unlink(missing_ok=True)  # left by a kill during writing
        try:
            tensors, stored_facts = load_tensors(self.path)
        except ModelError:
            stored_facts = {}
        is_same_training = stored_facts.get("decides") == digest(self.deciding_facts)
        # the header may be so, and the tensors behind it damaged
        if (
            self.weights_path.exists()
            and is_same_training
            and "epoch_seconds" in stored_facts
            and stored_facts.get("crc32") == _crc32(tensors)
        ):
            _restore(progress, tensors, stored_facts)
        else:
            self.weights_path.unlink(missing_ok=True)
            forget_checkpoint(self.weights_path)


def _crc32(tensors: Mapping[str, torch.Tensor]) -> int:
    """The CRC-32 of the bytes of all tensors, in the order of their names."""
    running_checksum = 0
    for name in sorted(tensors):
        flat_tensor = tensors[name].detach().cpu().contiguous().reshape(-1)
        running_checksum = zlib.crc32(flat_tensor.view(torch.uint8).numpy().data, running_checksum)
    return running_checksum


def _restore(
    progress: Progress, tensors: Mapping[str, torch.Tensor], stored_facts: Mapping[str, Any]
) -> None:
    """Sets a training that has not begun to the state of a checkpoint."""
    progress.model.load_state_dict(
        {
            name.removeprefix("model."): tensor
            for name, tensor in tensors.items()
            if name.startswith("model.")
        }
    )
    restore_state(progress.optimiser, progress.model, tensors)
    parameter_names = [name for name, _ in progress.model.named_parameters()]
    for name, average in zip(
        parameter_names, progress.averaged_weights, strict=bool(progress.averaged_weights)
    ):
        average.copy_(tensors[f"average.{name}"])
    progress.generator.set_state(tensors["generator"])
    progress.step_count = stored_facts["step"]
    progress.epoch_seconds[:] = stored_facts["epoch_seconds"]
    progress.training_losses[:] = stored_facts["training_loss"]
    progress.validation_losses[:] = stored_facts["validation_loss"]
