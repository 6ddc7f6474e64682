"""Paths of a training's files; without torch, so that a search need not import it."""

from __future__ import annotations

from pathlib import Path


def weights_of(folder: Path, slot: int) -> Path:
    """The path of the network of a slot."""
    return folder / f"slot-{slot:04d}.safetensors"


def checkpoint_of(keep: Path) -> Path:
    """The path of the checkpoint of the training whose weights are at `keep`."""
    return keep.with_suffix(".checkpoint")


def forget(keep: Path) -> None:
    """Remove the checkpoint of a training whose record is written."""
    checkpoint_of(keep).unlink(missing_ok=True)
