"""Training as in the MONAI tutorials: a cached data set, dictionary transforms, a loader with workers, a
plain loop.

The pattern is that of Project-MONAI/tutorials (2d_classification, spleen_segmentation): CacheDataset keeps
the output of the deterministic transforms, the random ones run for every slice in the loader's workers, and
the loop reads its loss after every step.  The network is textbook.py's, in float32 and torch's default memory
layout.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.bench.textbook import textbook_network

if TYPE_CHECKING:
    from torch import device

    from fovnet.net.family.architecture import Architecture
    from fovnet.net.recipe import Ranges


def monai_is_here() -> bool:
    """Whether MONAI is installed; it is not imported, which takes seconds."""
    return find_spec("monai") is not None


class Tutorial:
    """The pipeline in a process of its own, with one thread, and unaffected by fovnet's other settings of
    torch and the C library.

    slices (n, h, w) uint8, targets (n, k)
    """

    def __init__(
        self, net: Architecture, slices: NDArray[np.uint8], targets: NDArray[np.float32], *,
        batch: int, rate: float, ranges: Ranges, workers: int, device: str,
    ) -> None:
        self._pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"))
        self._pool.submit(_begin, net, slices, targets, batch, rate, ranges, workers, device).result()

    def epoch_seconds(self) -> float:
        """Seconds of one epoch, in which every slice is seen once."""
        return float(self._pool.submit(_epoch).result())

    def close(self) -> None:
        """End the process and the loader's workers."""
        self._pool.shutdown()


_LOOPS: list[_Loop] = []


def _begin(
    net: Architecture, slices: NDArray[np.uint8], targets: NDArray[np.float32], batch: int, rate: float,
    ranges: Ranges, workers: int, device: str,
) -> None:
    _LOOPS.append(_Loop(net, slices, targets, batch, rate, ranges, workers, device))


def _epoch() -> float:
    return _LOOPS[-1].epoch_seconds()


class _Loop:
    """A network and the loader that feeds it."""

    def __init__(
        self, net: Architecture, slices: NDArray[np.uint8], targets: NDArray[np.float32], batch: int,
        rate: float, ranges: Ranges, workers: int, device: str,
    ) -> None:
        import torch

        from fovnet.net.family.model import build
        from fovnet.net.training.train import choose_device, class_weights

        torch.set_num_threads(1)
        self.device = choose_device(device)
        self.weights = class_weights(torch.from_numpy(targets)).to(self.device)
        self.model = textbook_network(net, build(net, torch.Generator().manual_seed(0))).to(self.device)
        self.loader = _loader(slices, targets, batch, ranges, workers, self.device)
        self.optimiser = torch.optim.SGD(self.model.parameters(), rate, momentum=0.9, nesterov=True)

    def epoch_seconds(self) -> float:
        """Seconds of one epoch, in which every slice is seen once."""
        from torch.nn.functional import cross_entropy

        began = time.perf_counter()
        self.model.train()
        total = 0.0
        for sample in self.loader:
            images, targets = sample["image"].to(self.device), sample["label"].to(self.device)
            self.optimiser.zero_grad()
            loss = cross_entropy(self.model(images), targets, weight=self.weights)
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimiser.step()
            total += loss.item()
        return time.perf_counter() - began


def _loader(
    slices: NDArray[np.uint8], targets: NDArray[np.float32], batch: int, ranges: Ranges, workers: int,
    device: device,
) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")             # MONAI 1.6 warns of its own deprecated imports
        from monai.data.dataloader import DataLoader
        from monai.data.dataset import CacheDataset
        from monai.transforms.compose import Compose
        from monai.transforms.intensity.dictionary import RandGaussianNoised, ScaleIntensityRanged
        from monai.transforms.spatial.dictionary import RandAffined
        from monai.transforms.utility.dictionary import EnsureTyped

        side = slices.shape[-1]
        chain = Compose(
            [
                EnsureTyped(keys=["image", "label"]),
                ScaleIntensityRanged(keys=["image"], a_min=0, a_max=255, b_min=0.0, b_max=1.0),
                RandAffined(
                    keys=["image"], prob=1.0, rotate_range=float(np.deg2rad(ranges.rotation_deg)),
                    shear_range=(0.0, ranges.shear), translate_range=(ranges.translation * side,) * 2,
                    scale_range=(ranges.zoom,) * 2, mode="bilinear", padding_mode="zeros",
                ),
                RandGaussianNoised(keys=["image"], prob=1.0, std=ranges.noise),
            ]
        )
        samples = [
            {"image": pixels[None], "label": target} for pixels, target in zip(slices, targets, strict=True)
        ]
        return DataLoader(
            CacheDataset(samples, chain, progress=False), batch_size=batch, shuffle=True, num_workers=workers,
            persistent_workers=workers > 0, pin_memory=device.type == "cuda",
        )
