"""Training the orientation network: it classifies the view in a picture, and three pictures together give the
body's orientation (turn).

    n  volumes    pictures (n, 3, 3, 128, 128) uint8, as in fovnet.volume.slices.planes, of volumes with
        (mostly) correct headers

A sample is one picture of each plane, at one of three places, all rearranged as under one of 24 turns
(fovnet.maths.turns); the network scores 16 views for each picture.  A turn's score is the sum of the scores
of the views it would show; the loss is the cross-entropy over turns.  Views that look alike, such as a thigh
upside down, need not be separated: the probabilities stay as uncertain as the pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from fovnet.maths.gradients import move_histograms
from fovnet.maths.turns import MOVES, SOURCES, TURNS, VIEWS
from fovnet.net.images.augment import affines, change_greys, draw
from fovnet.net.images.resampling import resample
from fovnet.net.recipe import Ranges
from fovnet.volume.slices.outlines import SHAPE, outlines

WIDTHS = (256, 128)
RANGES = Ranges(rotation_deg=8.0, translation=0.06, shear=0.03, zoom=0.15, noise=0.06, gamma=0.5)
COPIES = 8  # augmented pictures of each plane, drawn once
SHOWN = 360  # mean number of times that each volume is shown, 15 in every turn
BATCH, RATE, DECAY = 128, 2e-3, 0.05
DROPPED = (0.1, 0.3)  # dropout of the outlines, and of the hidden layers
# share of pictures cropped to a rectangle, and its least size as a share of each side
CUT, LEAST_CUT = 0.4, 0.45
AT_ONCE = 512  # pictures augmented together: 80 MB

ProgressCallback = Callable[[int, int], Any]


def learn(
    pictures: NDArray[np.uint8], *, seed: int, progress: ProgressCallback | None = None
) -> dict[str, Tensor]:
    """The layers' weights and biases, "layer0.weight" (256, 1024) to "layer2.bias" (16,), for outlines that
    are not normalised.

    The same seed gives the same bits on one kind of processor: everything is drawn from it, and computed by
    one thread.
    """
    with _alone(seed):
        generator = torch.Generator().manual_seed(seed)
        known = _changed(pictures, generator)
        mean, deviation = float(known.mean(dtype=np.float64)), float(known.std(dtype=np.float64))
        network = _fitted(known, (mean, deviation), generator, progress)
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    made = {
        f"layer{at}.{name}": value.detach()
        for at, layer in enumerate(layers)
        for name, value in layer.named_parameters()
    }
    first = made["layer0.weight"] / deviation
    return made | {
        "layer0.weight": first,
        "layer0.bias": made["layer0.bias"] - mean * first.sum(dim=1),
    }


@contextmanager
def _alone(seed: int) -> Iterator[None]:
    """Sets torch to one thread and its global generator to a seed; both are restored afterwards."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads)


def _changed(pictures: NDArray[np.uint8], generator: torch.Generator) -> NDArray[np.float16]:
    """(copies, n, 3, ...) outlines of the pictures, augmented differently in each copy: moved, zoomed,
    cropped, grey values changed."""
    n = len(pictures)
    made = np.zeros((COPIES, n * 3, *SHAPE), np.float16)
    for copy in range(COPIES):
        place = torch.randint(0, pictures.shape[2], (n * 3,), generator=generator).numpy()
        for first in range(0, n * 3, AT_ONCE):
            rows = np.arange(first, min(first + AT_ONCE, n * 3))
            chosen = (
                torch.from_numpy(pictures[rows // 3, rows % 3, place[rows]])
                .unsqueeze(1)
                .float()
                .div_(255)
            )
            made[copy, rows] = outlines(255 * _as_drawn(chosen, generator).squeeze(1).numpy())
    return made.reshape(COPIES, n, 3, *SHAPE)


def _as_drawn(pictures: Tensor, generator: torch.Generator) -> Tensor:
    """Pictures (m, 1, h, w) in [0, 1], each augmented by its own draw."""
    draws = draw(len(pictures), RANGES, generator)
    return change_greys(resample(_cut(pictures, generator), affines(draws)), draws, RANGES)


def _cut(pictures: Tensor, generator: torch.Generator) -> Tensor:
    """The pictures, a share of them cropped to a rectangle of what they show, with that rectangle centred."""
    m, _, size, _ = pictures.shape
    dice, *where = torch.rand((5, m), generator=generator).unbind()
    at, inside, offs = torch.arange(size) - (size - 1) / 2, [], []
    for axis, (share, place) in enumerate((where[:2], where[2:])):
        reach = (pictures.amax(dim=(1, 3 - axis)) > 0).sum(dim=1) / 2
        half = reach * (LEAST_CUT + (1 - LEAST_CUT) * share)
        off = (reach - half) * (2 * place - 1)
        inside.append((at - off[:, None]).abs() <= half[:, None])
        offs.append(2 * off / size)
    left = pictures * (inside[0][:, None, :, None] & inside[1][:, None, None, :])
    straight = torch.eye(2).expand(m, 2, 2)
    about = resample(
        left, torch.cat([straight, torch.stack([offs[1], offs[0]], dim=1)[:, :, None]], dim=2)
    )
    return torch.where((dice < CUT)[:, None, None, None], about, pictures)


def _fitted(
    known: NDArray[np.float16],
    scale: tuple[float, float],
    generator: torch.Generator,
    progress: ProgressCallback | None,
) -> nn.Sequential:
    """The network, trained on outlines (copies, n, 3, ...), normalised by `scale`, their mean and standard
    deviation."""
    n, inputs = known.shape[1], int(np.prod(SHAPE))
    network = nn.Sequential(
        nn.Dropout(DROPPED[0]),
        nn.Linear(inputs, WIDTHS[0]),
        nn.ReLU(),
        nn.Dropout(DROPPED[1]),
        nn.Linear(*WIDTHS),
        nn.ReLU(),
        nn.Dropout(DROPPED[1]),
        nn.Linear(WIDTHS[1], len(VIEWS)),
    )
    steps = max(1, SHOWN * n // BATCH)
    optimiser = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps)
    shown, outline = (
        torch.from_numpy(TURNS),
        torch.from_numpy(known).reshape(len(known), n, 3, inputs),
    )
    for step in range(steps):
        copy, volume, turn = (
            torch.randint(0, most, (BATCH,), generator=generator)
            for most in (len(known), n, len(TURNS))
        )
        views = shown[turn]
        laid = outline[copy[:, None], volume[:, None], PLANE[views]].float().gather(2, LAID[views])
        loss = F.cross_entropy(of_turns(network((laid - scale[0]) / scale[1])), turn)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        if progress and (step % 100 == 99 or step == steps - 1):
            progress(step + 1, steps)
    return network.eval()


def of_turns(scores: Tensor) -> Tensor:
    """(m, 24) scores of the turns, from the scores (m, 3, 16) of the views of each plane's picture."""
    shown = torch.from_numpy(TURNS)
    return torch.stack(
        [scores[:, plane].index_select(1, shown[:, plane]) for plane in range(3)]
    ).sum(dim=0)


def _laid() -> Tensor:
    """(16, 1024) for each view, the permutation of its plane's outlines when the picture is rearranged to
    show it."""
    places = np.arange(np.prod(SHAPE)).reshape(SHAPE)
    return torch.from_numpy(
        np.stack([move_histograms(places, MOVES[move]).reshape(-1) for _, move in SOURCES])
    )


PLANE = torch.tensor([plane for plane, _ in SOURCES])
"""(16,) for each view, the plane that shows it."""
LAID = _laid()
