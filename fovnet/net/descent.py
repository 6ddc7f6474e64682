"""Steps of training: from row numbers and draws to weights, all on the device that holds the slices.

On a CPU a step runs as it is written, and the same seed gives the same bits.  On CUDA the network runs in bfloat16 unless told otherwise,
and after a few steps the whole of one, from picking the slices to moving the weights, is recorded as a CUDA graph and replayed: hundreds
of small kernels are launched as one, and nothing of a step waits for the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from fovnet.net.augment import DRAWS, Ranges, affines, beside, crops, distortions, ends, recoloured, without_others
from fovnet.net.distort import distorted
from fovnet.net.inputs import Placed, Warp, images
from fovnet.net.model import Network

WARM_UP = 3         # steps before the recording: libraries choose their kernels and momentum comes into being outside of it


class Resident(Protocol):
    """Slices (n, h, w) uint8 and targets (n, k) float32 on one device; how the slices are placed, where that is known."""

    @property
    def slices(self) -> Tensor: ...

    @property
    def targets(self) -> Tensor: ...

    @property
    def placed(self) -> Placed | None: ...


class Descent:
    """Stochastic gradient descent of one network over resident slices; `weights` (k,) are the classes'.

    take     one step, on rows (m,) and draws (m, 94) of the device, at a learning rate
    mean_loss  of the slices seen since it was last asked for; the only time the host waits
    """

    def __init__(
        self, model: Network, optimiser: torch.optim.SGD, data: Resident, weights: Tensor, ranges: Ranges, batch: int,
        precision: str = "auto",
    ) -> None:
        self.model, self.optimiser, self.ranges, self.precision = model, optimiser, ranges, precision
        self.slices, self.targets, self.placed, self.weights = data.slices, data.targets, data.placed, weights
        self._total, self._seen = torch.zeros((), dtype=torch.float64, device=weights.device), 0
        self._replay = _Replay(optimiser, batch, weights.device) if weights.device.type == "cuda" else None

    def take(self, rows: Tensor, draws: Tensor, rate: float) -> None:
        if self._replay and len(rows) == self._replay.batch:
            self._replay(self, rows, draws, rate)
        else:
            self.set_rate(rate)
            self.step(rows, draws)
        self._seen += len(rows)

    def mean_loss(self) -> float:
        mean = float(self._total / self._seen)
        self._total.zero_()
        self._seen = 0
        return mean

    def images(self, rows: Tensor, draws: Tensor) -> Tensor:
        """The batch (m, c, h, w) as the network sees it."""
        return augmented(self.slices, rows, draws, self.ranges, self.model.inputs, self.placed)

    def step(self, rows: Tensor, draws: Tensor) -> None:
        """One step at the optimiser's rate, with no word of it to the host."""
        seen = self.images(rows, draws)
        self.optimiser.zero_grad(set_to_none=True)
        with computing_in(self.precision, seen.device):
            scores = self.model(seen)
        loss = loss_of(scores.float(), self.targets.index_select(0, rows), self.weights)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimiser.step()
        self._total += loss.detach().double() * len(rows)      # stays on the device: .item() here would stall every step

    def set_rate(self, rate: float) -> None:
        """The learning rate of the steps to come."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)                        # the recording reads this very number
            else:
                group["lr"] = rate


def augmented(
    slices: Tensor, rows: Tensor, draws: Tensor, ranges: Ranges, kinds: Sequence[str] = ("slice",), placed: Placed | None = None
) -> Tensor:
    """The batch (m, c, h, w) in [0, 1] that a network of these kinds of inputs is shown of some rows (m,) of slices (n, h, w) uint8, each
    changed by its own draw (m, 94): distorted, cropped, read by its affine map, and its grey values changed last.  Outside is black.

    Raises ModelError "inputs-unplaced" as `fovnet.net.inputs.images`.
    """
    fields, stretches = (crops(draws), ends(draws)) if ranges.crop else (None, None)
    warp = Warp(affines(draws), fields, stretches, _distorting(draws, ranges), ranges.as_cut)
    seen = recoloured(images(slices, rows, kinds, placed, warp), draws, ranges)
    return without_others(seen, beside(draws)) if ranges.alone else seen


def _distorting(draws: Tensor, ranges: Ranges) -> Callable[[Tensor, bool], Tensor] | None:
    wanted = {name: getattr(ranges, name) > 0 for name in ("bend", "texture", "tones", "shading")}
    if not any(wanted.values()):
        return None
    return lambda images, moved: distorted(images, distortions(draws), **{**wanted, "bend": wanted["bend"] and moved})


class _Replay:
    """A descent's step over whole batches as a CUDA graph; what changes from step to step is copied to where the recording reads it.

    It keeps no reference to the descent: a circle would hold a finished trial's memory until Python looks for circles.
    """

    def __init__(self, optimiser: torch.optim.SGD, batch: int, device: torch.device) -> None:
        self.batch, self.warm = batch, 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self.rows = torch.zeros(batch, dtype=torch.int64, device=device)
        self.draws = torch.zeros(batch, DRAWS, device=device)
        for group in optimiser.param_groups:
            group["lr"] = torch.tensor(float(group["lr"]), device=device)

    def __call__(self, descent: Descent, rows: Tensor, draws: Tensor, rate: float) -> None:
        self.rows.copy_(rows)
        self.draws.copy_(draws)
        descent.set_rate(rate)
        if self.warm < WARM_UP:
            self.warm += 1
            self._aside(descent)
            return
        if self.graph is None:
            self.graph = self._recorded(descent)
        self.graph.replay()

    def _aside(self, descent: Descent) -> None:
        """A real step on the stream of the recording, which torch wants to have seen the work before."""
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            descent.step(self.rows, self.draws)
        torch.cuda.current_stream().wait_stream(self.stream)

    def _recorded(self, descent: Descent) -> torch.cuda.CUDAGraph:
        """The step as a graph; recording does not execute it."""
        descent.optimiser.zero_grad(set_to_none=True)          # the gradients then belong to the graph's own memory
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            descent.step(self.rows, self.draws)
        return graph


def computing_in(precision: str, device: torch.device) -> torch.autocast:
    """The numbers that layers compute in: "float32", "bfloat16", or "auto", which is bfloat16 on CUDA and float32 elsewhere.

    Weights and their sums stay float32.  A CPU with matrix units for bfloat16 takes a half to a third of the time in it; one without takes
    longer.  The cache of cast weights is off: a recording would read what was cast when it was made.
    """
    reduced = device.type == "cuda" if precision == "auto" else precision == "bfloat16"
    return torch.autocast(device.type, torch.bfloat16, enabled=reduced, cache_enabled=False)


def loss_of(scores: Tensor, targets: Tensor, weights: Tensor) -> Tensor:
    """Mean weighted cross-entropy against soft targets: -Σ_c w_c t_c log p_c.

    A slice that is half spine and half chest has half its target on each.
    """
    return -(weights * targets * F.log_softmax(scores, dim=1)).sum(dim=1).mean()
