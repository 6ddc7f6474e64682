"""Slices in, each member's class probabilities and features out.

    p  members    s  slices    k  classes    f  features of all members together

Features are the standard deviation over the picture of what each filter of every block answered, after its pooling: what has the right
shape and no texture, like a bottle of water, still looks unlike a body.  Networks with either head have them, and they cost a
thousandth of the convolutions.  Source: Lee et al. (2018), *A simple unified framework for detecting out-of-distribution samples*,
section 2.2 (all layers, averaged over the picture); the second moment instead of the first after Sastry & Oore (2020), *Detecting
out-of-distribution examples with Gram matrices*: with the first, bottles of water were told from bodies less often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fovnet.net.inputs import images_of, inputs_of
from fovnet.net.training import EVALUATION_BATCH
from fovnet.volume.placing import Placing

Floats32 = NDArray[np.float32]


def member_answers(
    members: Sequence[nn.Module], pixels: NDArray[np.uint8], device: torch.device, progress: Callable[[int, int], Any] | None = None,
    rows: NDArray[np.int64] | None = None, placing: Placing | None = None,
) -> tuple[Floats32, Floats32]:
    """Class probabilities (p, s, k) and features (s, f) of every member for slices (s, 128, 128), or for some `rows` of them.

    placing  of all the slices, where the members' inputs need it
    Computed batch by batch, so that of pixels mapped from a file no more than a batch is in memory.
    """
    kinds = inputs_of(members)
    wanted = np.arange(len(pixels)) if rows is None else rows
    answers, features = [], []
    with torch.inference_mode():
        for start in range(0, len(wanted), EVALUATION_BATCH):
            shown = images_of(pixels, wanted[start : start + EVALUATION_BATCH], kinds, placing, device)
            seen = [_answer(member, shown) for member in members]
            answers.append(torch.stack([said for said, _ in seen]).cpu().numpy())
            features.append(torch.cat([felt for _, felt in seen], dim=1).cpu().numpy())
            if progress:
                progress(min(start + EVALUATION_BATCH, len(wanted)), len(wanted))
    return np.concatenate(answers, axis=1, dtype=np.float32), np.concatenate(features, dtype=np.float32)


def member_probabilities(
    members: Sequence[nn.Module], pixels: NDArray[np.uint8], device: torch.device, progress: Callable[[int, int], Any] | None = None,
    rows: NDArray[np.int64] | None = None, placing: Placing | None = None,
) -> Floats32:
    """Class probabilities (p, s, k) alone."""
    return member_answers(members, pixels, device, progress, rows, placing)[0]


def _answer(member: nn.Module, images: Tensor) -> tuple[Tensor, Tensor]:
    """Class probabilities (n, k) and features (n, filters * blocks) of one member."""
    with _watched(member) as felt:
        said = member(images).softmax(dim=1)
    return said, torch.cat(felt, dim=1)


@contextmanager
def _watched(member: nn.Module) -> Iterator[list[Tensor]]:
    """A list that fills with each block's features as the member runs."""
    felt: list[Tensor] = []

    def keep(_: nn.Module, __: Any, pooled: Tensor) -> None:
        flat = pooled.clamp_min(0).flatten(2)                    # the block's ReLU comes after its pooling
        felt.append(flat.float().std(dim=2, correction=0))

    handles = [layer.register_forward_hook(keep) for layer in member.children() if isinstance(layer, nn.MaxPool2d)]
    try:
        yield felt
    finally:
        for handle in handles:
            handle.remove()
