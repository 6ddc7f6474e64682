"""The networks of the search space written plainly, with torch's own layers in the order of the
paper.

net/family/model.py computes the same function another way, for speed; this one stands for what a
user would write.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

    from fovnet.net.family.architecture import Architecture

HIDDEN_FEATURES = (4096, 1024)  # of the fully connected layers


def textbook_network(net: Architecture, source: nn.Module) -> nn.Sequential:
    """A network from (n, 1, side, side) float slices to (n, k) scores.

    source  the network of net/family/model.py whose weights it has

    Every convolution is followed by its ReLU, every block by max-pooling; a separable one is a row
    filter and a column filter.
    """
    from torch import nn

    layers: list[nn.Module] = [nn.BatchNorm2d(1)]
    channels = 1
    kernel_side = net.kernel
    filter_count = net.first_filters
    for _ in range(net.blocks):
        for _ in range(net.convolutions):
            kernel_shapes = [(kernel_side, kernel_side)]
            if net.separable:
                kernel_shapes = [(1, kernel_side), (kernel_side, 1)]
            for shape in kernel_shapes:
                layers.append(nn.Conv2d(channels, filter_count, shape, padding="same"))
                channels = filter_count
            layers.append(nn.ReLU())
        layers.append(nn.MaxPool2d(2))
    layers.append(nn.Flatten())
    for input_count, output_count in pairwise(
        [net.pooled_side**2 * filter_count, *HIDDEN_FEATURES, net.classes]
    ):
        layers += [nn.Linear(input_count, output_count), nn.ReLU()]
    layers.pop()  # the last layer gives scores
    model = nn.Sequential(*layers)
    model.load_state_dict(dict(zip(model.state_dict(), source.state_dict().values(), strict=True)))
    return model
