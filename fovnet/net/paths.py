"""Paths of a training's files; without torch, so that a search need not import it."""

from __future__ import annotations

import shutil
from pathlib import Path


def weights_path_of(folder: Path, slot: int) -> Path:
    """The path of the network of a slot."""
    return folder / f"slot-{slot:04d}.safetensors"


def checkpoint_path_of(weights_path: Path) -> Path:
    """The path of the checkpoint of the training whose weights are at this path."""
    return weights_path.with_suffix(".checkpoint")


def inherit_training(earlier_weights_path: Path, weights_path: Path) -> None:
    """Give the training at `weights_path`, if it has no checkpoint, the weights and the checkpoint
    of an earlier one to go on from.

    The files are links, which the first epoch's new ones replace; copies where the file system
    knows no links.  If either is gone, or the process is killed between the two, the training
    begins with its first epoch, to the same result.
    """
    if checkpoint_path_of(weights_path).exists():
        return
    weights_path.unlink(missing_ok=True)
    try:
        _link_or_copy(earlier_weights_path, weights_path)
        _link_or_copy(checkpoint_path_of(earlier_weights_path), checkpoint_path_of(weights_path))
    except FileNotFoundError:
        return


def _link_or_copy(source: Path, target: Path) -> None:
    """Makes `target` a hard link to `source`, or a copy where links are not possible."""
    try:
        target.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


def forget_checkpoint(weights_path: Path) -> None:
    """Remove the checkpoint of a training whose record is written."""
    checkpoint_path_of(weights_path).unlink(missing_ok=True)
