"""Training as in the MONAI tutorials: a cached data set, dictionary transforms, a loader with
workers, a plain loop.

The pattern is that of Project-MONAI/tutorials (2d_classification, spleen_segmentation):
CacheDataset keeps the output of the deterministic transforms, the random ones run for every slice
in the loader's workers, and the loop reads its loss after every step.  The network is
textbook.py's, in float32 and torch's default memory layout.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.textbook import textbook_network
from fovnet.bench.timing import seconds_of
from fovnet.machine.parallel import process_pool
from fovnet.net.device import choose_device
from fovnet.net.family.model import build_network
from fovnet.net.training.class_weights import inverse_class_weights

if TYPE_CHECKING:
    from torch import device

    from fovnet.net.family.architecture import Architecture
    from fovnet.net.recipe import Ranges


def is_monai_installed() -> bool:
    """Whether MONAI is installed; it is not imported, which takes seconds."""
    return find_spec("monai") is not None


@dataclass(frozen=True)
class Pipeline:
    """What MONAI's pipeline trains, and how.

    slices          (n, h, w)
    targets         (n, k), one-hot
    ranges          of the augmentation
    loader_workers  processes that make the batches
    """

    net: Architecture
    slices: NDArray[np.uint8]
    targets: NDArray[np.float32]
    batch: int
    learning_rate: float
    ranges: Ranges
    loader_workers: int
    device: str


@contextmanager
def start_pipeline(pipeline: Pipeline) -> Iterator[Callable[[], float]]:
    """While the block runs, a function that trains an epoch, in which every slice is seen once, and
    returns its seconds.

    It runs in a process of its own, with one thread, and unaffected by fovnet's other settings of
    torch and the C library.
    """
    with process_pool(1) as pool:
        pool.submit(_prepare_training, pipeline).result()
        yield lambda: pool.submit(_train_prepared_epoch).result()


_TRAIN_EPOCH: list[Callable[[], float]] = []
"""In the process of a pipeline: the function that trains an epoch and returns its seconds."""


def _train_prepared_epoch() -> float:
    return _TRAIN_EPOCH[-1]()


def _prepare_training(pipeline: Pipeline) -> None:
    """Makes the network and the loader that feeds it, and leaves in _TRAIN_EPOCH what trains
    them."""
    import torch

    torch.set_num_threads(1)
    device = choose_device(pipeline.device)
    weights = inverse_class_weights(torch.from_numpy(pipeline.targets)).to(device)
    model = textbook_network(
        pipeline.net, build_network(pipeline.net, torch.Generator().manual_seed(0))
    ).to(device)
    loader = _monai_loader(pipeline, device)
    optimiser = torch.optim.SGD(
        model.parameters(), pipeline.learning_rate, momentum=0.9, nesterov=True
    )

    def train_epoch() -> None:
        """One pass over all slices, a step for each batch."""
        model.train()
        total_loss = 0.0
        for batch_sample in loader:
            images = batch_sample["image"].to(device)
            targets = batch_sample["label"].to(device)
            optimiser.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(images), targets, weight=weights)
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            total_loss += loss.item()

    _TRAIN_EPOCH.append(partial(seconds_of, train_epoch))


def _monai_loader(pipeline: Pipeline, device: device) -> Any:
    """The loader of MONAI's pipeline: batches with an "image" and a "label", augmented."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MONAI 1.6 warns of its own deprecated imports
        from monai.data.dataloader import DataLoader
        from monai.data.dataset import CacheDataset
        from monai.transforms.compose import Compose
        from monai.transforms.intensity.dictionary import RandGaussianNoised, ScaleIntensityRanged
        from monai.transforms.spatial.dictionary import RandAffined
        from monai.transforms.utility.dictionary import EnsureTyped

        slice_side = pipeline.slices.shape[-1]
        ranges = pipeline.ranges
        transforms = Compose(
            [
                EnsureTyped(keys=["image", "label"]),
                ScaleIntensityRanged(keys=["image"], a_min=0, a_max=255, b_min=0.0, b_max=1.0),
                RandAffined(
                    keys=["image"],
                    prob=1.0,
                    rotate_range=float(np.deg2rad(ranges.rotation_deg)),
                    shear_range=(0.0, ranges.shear),
                    translate_range=(ranges.translation * slice_side,) * 2,
                    scale_range=(ranges.zoom,) * 2,
                    mode="bilinear",
                    padding_mode="zeros",
                ),
                RandGaussianNoised(keys=["image"], prob=1.0, std=ranges.noise),
            ]
        )
        labelled_samples = [
            {"image": pixels[None], "label": one_hot_target}
            for pixels, one_hot_target in zip(pipeline.slices, pipeline.targets, strict=True)
        ]
        return DataLoader(
            CacheDataset(labelled_samples, transforms, progress=False),
            batch_size=pipeline.batch,
            shuffle=True,
            num_workers=pipeline.loader_workers,
            persistent_workers=pipeline.loader_workers > 0,
            pin_memory=device.type == "cuda",
        )
