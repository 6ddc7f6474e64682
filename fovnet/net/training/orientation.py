"""Training the orientation network: it classifies the view in a picture, and three pictures
together give the body's orientation (turn).

    n         volumes
    pictures  (n, 3, 3, 128, 128) uint8, as in fovnet.volume.slices.planes, of volumes with (mostly)
              correct headers

A sample is one picture of each plane, at one of three places, all rearranged as under one of 24
turns (fovnet.maths.turns); the network scores 16 views for each picture.  A turn's score is the sum
of the scores of the views it would show; the loss is the cross-entropy over turns.  Views that look
alike, such as a thigh upside down, need not be separated: the probabilities stay as uncertain as
the pictures.
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
from fovnet.net.images.augment import affines_in, change_greys, draw_augmentation
from fovnet.net.images.resampling import resample
from fovnet.net.recipe import Ranges
from fovnet.volume.slices.outlines import OUTLINE_SHAPE, compute_outlines

HIDDEN_WIDTHS = (256, 128)
AUGMENTATION_RANGES = Ranges(
    rotation_deg=8.0, translation=0.06, shear=0.03, zoom=0.15, noise=0.06, gamma=0.5
)
COPY_COUNT = 8  # augmented pictures of each plane, drawn once
SHOWINGS_PER_VOLUME = 360  # mean number of times that each volume is shown, 15 in every turn
BATCH_SIZE = 128
LEARNING_RATE = 2e-3
WEIGHT_DECAY = 0.05
OUTLINE_DROPOUT = 0.1
HIDDEN_DROPOUT = 0.3
CROP_SHARE = 0.4  # of pictures, cropped to a rectangle
LEAST_CROP = 0.45  # its least size, as a share of each side
PICTURES_AT_ONCE = 512  # pictures augmented together: 80 MB

ProgressCallback = Callable[[int, int], Any]


def learn_orientation(
    pictures: NDArray[np.uint8], *, seed: int, progress: ProgressCallback | None = None
) -> dict[str, Tensor]:
    """The layers' weights and biases, "layer0.weight" (256, 1024) to "layer2.bias" (16,), for
    outlines that are not normalised.

    The same seed gives the same bits on one kind of processor: everything is drawn from it, and
    computed by one thread.
    """
    with _one_thread_and_seed(seed):
        generator = torch.Generator().manual_seed(seed)
        augmented_outlines = _augment_outlines(pictures, generator)
        outline_mean = float(augmented_outlines.mean(dtype=np.float64))
        outline_deviation = float(augmented_outlines.std(dtype=np.float64))
        network = _fit_network(
            augmented_outlines, outline_mean, outline_deviation, generator, progress
        )
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    tensors = {
        f"layer{layer_index}.{name}": value.detach()
        for layer_index, layer in enumerate(layers)
        for name, value in layer.named_parameters()
    }
    first_weight = tensors["layer0.weight"] / outline_deviation
    first_bias = tensors["layer0.bias"] - outline_mean * first_weight.sum(dim=1)
    return tensors | {"layer0.weight": first_weight, "layer0.bias": first_bias}


@contextmanager
def _one_thread_and_seed(seed: int) -> Iterator[None]:
    """Sets torch to one thread and its global generator to a seed; both are restored afterwards."""
    threads_before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(threads_before)


def _augment_outlines(
    pictures: NDArray[np.uint8], generator: torch.Generator
) -> NDArray[np.float16]:
    """(copies, n, 3, ...) outlines of the pictures, augmented differently in each copy: moved,
    zoomed, cropped, grey values changed."""
    volume_count = len(pictures)
    picture_count = volume_count * 3
    outline_copies = np.zeros((COPY_COUNT, picture_count, *OUTLINE_SHAPE), np.float16)
    for copy_index in range(COPY_COUNT):
        picture_positions = torch.randint(
            0, pictures.shape[2], (picture_count,), generator=generator
        )
        position_by_row = picture_positions.numpy()
        for start in range(0, picture_count, PICTURES_AT_ONCE):
            rows = np.arange(start, min(start + PICTURES_AT_ONCE, picture_count))
            pixels = torch.from_numpy(pictures[rows // 3, rows % 3, position_by_row[rows]])
            images = _augment_pictures(pixels.unsqueeze(1).float().div_(255), generator)
            outline_copies[copy_index, rows] = compute_outlines(255 * images.squeeze(1).numpy())
    return outline_copies.reshape(COPY_COUNT, volume_count, 3, *OUTLINE_SHAPE)


def _augment_pictures(pictures: Tensor, generator: torch.Generator) -> Tensor:
    """Pictures (m, 1, h, w) in [0, 1], each augmented by its own draw."""
    draws = draw_augmentation(len(pictures), AUGMENTATION_RANGES, generator)
    images = resample(_crop_pictures(pictures, generator), affines_in(draws))
    return change_greys(images, draws, AUGMENTATION_RANGES)


def _crop_pictures(pictures: Tensor, generator: torch.Generator) -> Tensor:
    """The pictures, a share of them cropped to a rectangle of what they show, with that rectangle
    centred."""
    picture_count, _, side, _ = pictures.shape
    crop_chance, *crop_draws = torch.rand((5, picture_count), generator=generator).unbind()
    pixel_positions = torch.arange(side) - (side - 1) / 2
    axis_masks = []
    axis_shifts = []
    for axis, (size_draw, shift_draw) in enumerate((crop_draws[:2], crop_draws[2:])):
        half_body = (pictures.amax(dim=(1, 3 - axis)) > 0).sum(dim=1) / 2
        half_size = half_body * (LEAST_CROP + (1 - LEAST_CROP) * size_draw)
        centre = (half_body - half_size) * (2 * shift_draw - 1)
        axis_masks.append((pixel_positions - centre[:, None]).abs() <= half_size[:, None])
        axis_shifts.append(2 * centre / side)
    row_mask, column_mask = axis_masks
    row_shift, column_shift = axis_shifts
    cropped_pictures = pictures * (row_mask[:, None, :, None] & column_mask[:, None, None, :])
    identity = torch.eye(2).expand(picture_count, 2, 2)
    shift = torch.stack([column_shift, row_shift], dim=1)[:, :, None]
    centred_crops = resample(cropped_pictures, torch.cat([identity, shift], dim=2))
    return torch.where((crop_chance < CROP_SHARE)[:, None, None, None], centred_crops, pictures)


def _fit_network(
    outline_copies: NDArray[np.float16],
    outline_mean: float,
    outline_deviation: float,
    generator: torch.Generator,
    progress: ProgressCallback | None,
) -> nn.Sequential:
    """The network, trained on outlines (copies, n, 3, ...), normalised by their mean and standard
    deviation."""
    copy_count, volume_count = outline_copies.shape[:2]
    input_count = int(np.prod(OUTLINE_SHAPE))
    first_width, second_width = HIDDEN_WIDTHS
    network = nn.Sequential(
        nn.Dropout(OUTLINE_DROPOUT),
        nn.Linear(input_count, first_width),
        nn.ReLU(),
        nn.Dropout(HIDDEN_DROPOUT),
        nn.Linear(first_width, second_width),
        nn.ReLU(),
        nn.Dropout(HIDDEN_DROPOUT),
        nn.Linear(second_width, len(VIEWS)),
    )
    step_count = max(1, SHOWINGS_PER_VOLUME * volume_count // BATCH_SIZE)
    optimiser = torch.optim.AdamW(network.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, LEARNING_RATE, total_steps=step_count)
    views_of_turn = torch.from_numpy(TURNS)
    outlines_by_copy = torch.from_numpy(outline_copies).reshape(
        copy_count, volume_count, 3, input_count
    )
    for step in range(step_count):
        copy_index, volume_index, turn_index = (
            torch.randint(0, index_count, (BATCH_SIZE,), generator=generator)
            for index_count in (copy_count, volume_count, len(TURNS))
        )
        views = views_of_turn[turn_index]
        plane_outlines = outlines_by_copy[
            copy_index[:, None], volume_index[:, None], PLANE_OF_VIEW[views]
        ]
        view_outlines = plane_outlines.float().gather(2, PERMUTATION_OF_VIEW[views])
        scores = turn_scores(network((view_outlines - outline_mean) / outline_deviation))
        cross_entropy = F.cross_entropy(scores, turn_index)
        optimiser.zero_grad(set_to_none=True)
        cross_entropy.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        if progress and (step % 100 == 99 or step == step_count - 1):
            progress(step + 1, step_count)
    return network.eval()


def turn_scores(scores: Tensor) -> Tensor:
    """(m, 24) scores of the turns, from the scores (m, 3, 16) of the views of each plane's
    picture."""
    views_of_turn = torch.from_numpy(TURNS)
    plane_scores = [scores[:, plane].index_select(1, views_of_turn[:, plane]) for plane in range(3)]
    return torch.stack(plane_scores).sum(dim=0)


def _outline_permutations() -> Tensor:
    """(16, 1024) for each view, the permutation of its plane's outlines when the picture is
    rearranged to show it."""
    outline_indices = np.arange(np.prod(OUTLINE_SHAPE)).reshape(OUTLINE_SHAPE)
    permutations = [
        move_histograms(outline_indices, MOVES[move_index]).reshape(-1) for _, move_index in SOURCES
    ]
    return torch.from_numpy(np.stack(permutations))


PLANE_OF_VIEW = torch.tensor([plane for plane, _ in SOURCES])
"""(16,) for each view, the plane that shows it."""
PERMUTATION_OF_VIEW = _outline_permutations()
