"""The network in torch: from an Architecture to a module that maps slices to class scores."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fovnet.net.family.architecture import FC_HEAD_WIDTHS, SMALL_HEAD_WIDTH, Architecture
from fovnet.net.family.dropout import Dropout

NORM_EPSILON = 1e-5  # torch's own, added to variances
# of running statistics: an average over about 50 batches, as batches of 16 slices vary
NORM_MOMENTUM = 0.02


def convolve(images: Tensor, weight: Tensor, layer: nn.Conv2d) -> Tensor:
    """The output of a convolution with another weight.

    Where a kernel of one pixel leaves pixels out, these are left out before: the same numbers, and
    torch 2.13's own gradients of such a convolution can damage the heap of the process on a CPU.
    """
    stride: Any = layer.stride
    padding: Any = layer.padding
    if layer.kernel_size == (1, 1) and padding == (0, 0):
        images = images[:, :, :: stride[0], :: stride[1]]
        stride = (1, 1)
    images = images.contiguous(memory_format=torch.channels_last)
    return F.conv2d(images, weight, layer.bias, stride=stride, padding=padding)


class Convolution2d(nn.Conv2d):
    """A convolution as `convolve` computes it."""

    def forward(self, images: Tensor) -> Tensor:
        """(n, f, h, w), of images (n, channels, side, side)."""
        return convolve(images, self.weight, self)


class Network(nn.Sequential):
    """The layers in sequence, with the input normalisation folded into the first convolution.

    With channels x of mean μ and deviation σ, scales γ and shifts β: w * (γ (x - μ) / σ + β) = (γw
    / σ) * x + Σ (β - γμ / σ) w * 1, a convolution of the channels of x and one of ones, zero
    padding included.  The gradients of γ and β then follow from the weights' gradient, and the
    gradient of the image, not needed otherwise, is not computed: on a CPU a step takes 5.5 instead
    of 7.0 ms per slice (4 blocks, 16 filters of 5 x 5, batch 16).  The normalised image is never
    made: torch's takes 0.7 ms per slice of two channels.

    inputs          the kinds of its channels, as in `fovnet.net.images.inputs`
    widest_numbers  of its widest layer for a slice; None: the first convolution is the widest
    """

    inputs: tuple[str, ...] = ("slice",)
    widest_numbers: int | None = None

    @property
    def has_dropout(self) -> bool:
        """Whether its training needs a drawn number for each slice."""
        return any(isinstance(layer, Dropout) for layer in self.children())

    def forward(
        self,
        slices: Tensor,
        watch: Callable[[Tensor], None] | None = None,
        slice_draws: Tensor | None = None,
    ) -> Tensor:
        """Class scores (n, k), unnormalised log-probabilities, of slices (n, c, side, side) float.

        watch        is shown the active maps (n, filters, h, w) whose deviation is a feature: each
                     block's pooling after a ReLU, and each `FeatureMap`
        slice_draws  (n,) numbers in [0, 1) of the slices, for dropout in training
        """
        normalise, opening, *layers = self.children()
        assert isinstance(normalise, nn.BatchNorm2d)
        mean, deviation = self._statistics(slices, normalise)
        if type(opening) is nn.Sequential:  # of a separable convolution
            opening, *across = opening.children()
            layers = [*across, *layers]
        scale = normalise.weight / deviation
        shift = normalise.bias - scale * mean
        if isinstance(opening, nn.Conv2d):
            activations = self._open(slices, opening, scale, shift)
        else:
            activations = slices * scale[:, None, None] + shift[:, None, None]
            layers = [opening, *layers]
        for layer in layers:
            if isinstance(layer, Dropout):
                activations = layer(activations, slice_draws)
                continue
            activations = layer(activations)
            if watch and isinstance(layer, nn.MaxPool2d):
                watch(activations.clamp_min(0))  # what follows may change it in place
            elif watch and isinstance(layer, FeatureMap):
                watch(activations)
        return activations

    def _open(self, slices: Tensor, opening: nn.Conv2d, scale: Tensor, shift: Tensor) -> Tensor:
        """The output of the first convolution of channels scaled by (c,) and shifted by (c,)."""
        weight_of_channels = opening.weight * scale[:, None, None]
        weight_of_ones = (opening.weight * shift[:, None, None]).sum(dim=1, keepdim=True)
        weight = torch.cat([weight_of_channels, weight_of_ones], dim=1)
        weight = weight.contiguous(memory_format=torch.channels_last)
        activations = torch.cat([slices, torch.ones_like(slices[:, :1])], dim=1)
        return convolve(activations, weight, opening)

    def _statistics(self, slices: Tensor, normalise: nn.BatchNorm2d) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation (c,): in training those of the batch, which also update the
        running ones; else the running ones."""
        assert normalise.running_mean is not None and normalise.running_var is not None
        mean = normalise.running_mean
        variance = normalise.running_var
        if self.training:
            with torch.no_grad(), torch.autocast(slices.device.type, enabled=False):
                mean, variance, pixel_count = measure_moments(slices)
                unbiased_variance = variance * (pixel_count / max(1, pixel_count - 1))
                normalise.running_mean.lerp_(mean, normalise.momentum or 0.0)
                normalise.running_var.lerp_(unbiased_variance, normalise.momentum or 0.0)
        return mean, (variance + normalise.eps).sqrt()


def measure_moments(images: Tensor) -> tuple[Tensor, Tensor, int]:
    """Mean and variance (c,) of each channel of (n, c, h, w), and the number of pixels per channel.

    Summed over the rows of all images first, which is vectorised along contiguous memory for any
    number of channels.
    """
    n, c, h, w = images.shape
    pixel_rows = images.permute(0, 2, 3, 1).reshape(n * h, w * c)
    column_means = pixel_rows.mean(dim=0)
    column_variances = (pixel_rows - column_means).square_().mean(dim=0)
    mean = column_means.reshape(w, c).mean(dim=0)
    variance_between_columns = (column_means.reshape(w, c) - mean).square().mean(dim=0)
    variance = column_variances.reshape(w, c).mean(dim=0) + variance_between_columns
    return mean, variance, n * h * w


class FeatureMap(nn.Sequential):
    """A pooling, if any, and the activation after it; or nothing, and the picture.  The deviation of
    each of its channels is a feature."""


class Residual(nn.Module):
    """The convolutions of a block, with its input added to their output: He et al. (2016), eqs 1
    and 2, before the last ReLU.

    branch    conv, ReLU, conv, ... as in a plain block, without its pooling
    shortcut  a 1 x 1 convolution if the block's filters and its input channels differ in number,
              else the identity
    """

    def __init__(self, branch: nn.Sequential, shortcut: nn.Module) -> None:
        super().__init__()
        self.branch = branch
        self.shortcut = shortcut

    def forward(self, x: Tensor) -> Tensor:
        """(n, f, h, w), of x (n, channels, h, w)."""
        return self.branch(x).add_(self.shortcut(x))  # type: ignore[no-any-return]


def count_first_layer_numbers(networks: Iterable[nn.Module], pixel_count: int) -> int:
    """The numbers that the widest first convolution of these networks gives for a slice of so many
    pixels; of a network that knows its widest layer, that one's."""
    return max(_count_widest_numbers(network, pixel_count) for network in networks)


def _count_widest_numbers(network: nn.Module, pixel_count: int) -> int:
    """The numbers of a network's widest layer, or of its first convolution, for a slice."""
    widest_numbers: int | None = getattr(network, "widest_numbers", None)
    if widest_numbers is not None:
        return widest_numbers
    convolution = next(layer for layer in network.modules() if isinstance(layer, nn.Conv2d))
    return convolution.out_channels * pixel_count // prod(int(side) for side in convolution.stride)


def build_network(net: Architecture, generator: torch.Generator | None = None) -> Network:
    """The network of an architecture: (n, c, side, side) float images in [0, 1] to (n, k)
    unnormalised log-probabilities.

    Weights are drawn from `generator` after He et al. (2015), eq. 10: normal with variance 2 /
    fan-in; biases are zero.  Those of the last layer are divided by ten, so that training begins
    near uniform class probabilities: at a learning rate of 10^-2.5 and batches of 8, undivided ones
    left the baseline with 16 filters at the loss of guessing.  The last convolution of a residual
    block begins at zero, so that the block begins as its shortcut: Zhang et al. (2019), Fixup
    initialization, rule 1.
    """
    layers: OrderedDict[str, nn.Module] = OrderedDict(
        normalise=nn.BatchNorm2d(net.channel_count, eps=NORM_EPSILON)
    )
    channels = net.channel_count
    for block, filters in enumerate(net.filters_of_blocks):
        convolutions = _convolutions(channels, filters, net, net.stride if block == 0 else 1)
        if net.is_residual(block):
            shortcut = nn.Identity() if channels == filters else nn.Conv2d(channels, filters, 1)
            layers[f"block{block}_residual"] = Residual(nn.Sequential(convolutions), shortcut)
        else:
            layers.update({f"block{block}_{name}": layer for name, layer in convolutions.items()})
        # max(ReLU(x)) = ReLU(max(x)): pooling first leaves the last ReLU a quarter of the numbers;
        # 1.2 to 1.5 times faster on a CPU
        layers[f"block{block}_pool"] = nn.MaxPool2d(2)
        if net.norm == "pooled":
            layers[f"block{block}_norm"] = nn.BatchNorm2d(filters, momentum=NORM_MOMENTUM)
        layers[f"block{block}_relu{net.convolutions - 1}"] = nn.ReLU(inplace=True)
        channels = filters
    layers.update(_head(net))
    model = Network(layers)
    model.inputs = net.inputs
    _initialise(model, generator)
    return model


def _convolutions(
    channels: int, filters: int, net: Architecture, stride: int
) -> OrderedDict[str, nn.Module]:
    """The convolutions of a block, ReLU between them; the first with the stride."""
    layers: OrderedDict[str, nn.Module] = OrderedDict()
    for convolution_index in range(net.convolutions):
        if convolution_index:
            layers[f"relu{convolution_index - 1}"] = nn.ReLU(inplace=True)
        layers[f"conv{convolution_index}"] = _convolution(channels, filters, net, stride)
        channels = filters
        stride = 1
    return layers


def _convolution(channels: int, filters: int, net: Architecture, stride: int) -> nn.Module:
    """One convolution, or its separable pair, that keeps the size of the image but for the
    stride."""
    kernel_side = net.kernel
    padding = kernel_side // 2
    if not net.separable:
        return nn.Conv2d(channels, filters, kernel_side, stride, padding=padding)
    along = nn.Conv2d(channels, filters, (1, kernel_side), (1, stride), padding=(0, padding))
    across = nn.Conv2d(filters, filters, (kernel_side, 1), (stride, 1), padding=(padding, 0))
    return nn.Sequential(OrderedDict(along=along, across=across))


def _head(net: Architecture) -> OrderedDict[str, nn.Module]:
    """The layers of the head by name, from the last block's output to the scores of the classes."""
    input_count, *_ = net.head_widths
    if net.head == "gap":
        return OrderedDict(
            pool=nn.AdaptiveAvgPool2d(1),
            flatten=nn.Flatten(),
            classes=nn.Linear(input_count, net.classes),
        )
    if net.head == "small":
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        if net.averaged_side > 1:
            layers["pool"] = nn.AvgPool2d(net.averaged_side)
        layers["flatten"] = nn.Flatten()
        layers["fc0"] = nn.Linear(input_count, SMALL_HEAD_WIDTH)
        layers["fc0_relu"] = nn.ReLU(inplace=True)
        layers["classes"] = nn.Linear(SMALL_HEAD_WIDTH, net.classes)
        return layers
    first_width, second_width = FC_HEAD_WIDTHS
    return OrderedDict(
        flatten=nn.Flatten(),
        fc0=nn.Linear(input_count, first_width),
        fc0_relu=nn.ReLU(inplace=True),
        fc1=nn.Linear(first_width, second_width),
        fc1_relu=nn.ReLU(inplace=True),
        classes=nn.Linear(second_width, net.classes),
    )


def _initialise(model: nn.Module, generator: torch.Generator | None) -> None:
    """Weights of variance 2 / inputs before a ReLU, 1 / inputs in the first of a separable pair,
    which has none after it.

    He et al. (2015), eq. 10: signals then keep their size from layer to layer.  With 2 in both of a
    pair they doubled at each: ten convolutions made them 1,000 times as strong.  Of 316 recorded
    separable networks 62 then diverged, now 23, and most of them learned best at a tenth of the
    learning rate that plain ones need.
    """
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(
                layer.weight,
                nonlinearity="linear" if name.endswith("along") else "relu",
                generator=generator,
            )
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    with torch.no_grad():
        model.get_submodule("classes").weight.mul_(0.1)  # type: ignore[operator]
        for block in model.children():
            if isinstance(block, Residual):
                branch_convolutions = [
                    layer for layer in block.branch.modules() if isinstance(layer, nn.Conv2d)
                ]
                branch_convolutions[-1].weight.zero_()
