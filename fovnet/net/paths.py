"""Where the files of a training lie; no torch here, so that a search may look at them for nothing."""

from __future__ import annotations

from pathlib import Path


def weights_of(folder: Path, slot: int) -> Path:
    """Where the network of a slot lies."""
    return folder / f"slot-{slot:04d}.safetensors"


def checkpoint_of(keep: Path) -> Path:
    """Where the checkpoint of the training whose weights lie at `keep` is."""
    return keep.with_suffix(".checkpoint")


def forget(keep: Path) -> None:
    """Remove the checkpoint of a training whose record is written."""
    checkpoint_of(keep).unlink(missing_ok=True)
