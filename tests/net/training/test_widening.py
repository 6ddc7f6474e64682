"""A last layer widened to the parts of regions says of the regions what it said before."""

from __future__ import annotations

import numpy as np
import torch

from fovnet.net.training.beginning_weights import LAST_LAYER_TENSORS, widen_last_layer
from fovnet.net.training.class_weights import inverse_class_weights
from fovnet.net.training.train_step import weighted_cross_entropy
from fovnet.regions import DEFAULT, NINE, find_part_groups

FEATURES = 16


def layer(class_count: int) -> dict[str, torch.Tensor]:
    """A last layer of random weights."""
    generator = torch.Generator().manual_seed(7)
    weight = torch.randn((class_count, FEATURES), generator=generator)
    return dict(zip(LAST_LAYER_TENSORS, (weight, weight[:, 0] * 2), strict=True))


def probabilities(tensors: dict[str, torch.Tensor], features: torch.Tensor) -> np.ndarray:
    weight, bias = (tensors[name] for name in LAST_LAYER_TENSORS)
    return torch.softmax(features @ weight.T + bias, dim=1).numpy()


def test_parts_share_what_their_whole_had_and_all_else_stays() -> None:
    old_layer = layer(len(DEFAULT.classes))
    widened_layer = widen_last_layer(old_layer, DEFAULT.classes, NINE.classes)
    assert widened_layer is not None
    features = torch.rand((200, FEATURES), generator=torch.Generator().manual_seed(8)) * 3
    old, new = probabilities(old_layer, features), probabilities(widened_layer, features)
    np.testing.assert_allclose(np.add.reduceat(new, NINE.whole_starts, axis=1), old, atol=1e-6)
    for parts in NINE.parts.values():
        columns = [NINE.classes.index(part) for part in parts]
        np.testing.assert_allclose(
            new[:, columns], new[:, columns[:1]].repeat(len(parts), 1), atol=1e-6
        )


def test_a_layer_of_the_same_classes_stays_and_one_of_others_has_no_widened_form() -> None:
    nine_layer = layer(len(NINE.classes))
    assert widen_last_layer(nine_layer, NINE.classes, NINE.classes) == nine_layer
    assert widen_last_layer(nine_layer, NINE.classes, DEFAULT.classes) is None
    assert widen_last_layer(layer(3), ("a", "b", "none"), NINE.classes) is None
    assert widen_last_layer(layer(4), ("legs", "arm", "head", "none"), ("legs", "none")) is None


def test_the_parts_of_a_region_count_together_as_one_region_does() -> None:
    rng = np.random.default_rng(3)
    of_rows = rng.integers(0, len(NINE.classes), 3000)
    nine_targets = torch.from_numpy(np.eye(len(NINE.classes), dtype=np.float32)[of_rows])
    shares = inverse_class_weights(nine_targets, None, NINE.classes) * nine_targets.mean(dim=0)
    of_wholes = np.add.reduceat(shares.numpy(), NINE.whole_starts)
    np.testing.assert_allclose(of_wholes, 1 / len(DEFAULT.classes), rtol=1e-5)
    plain = inverse_class_weights(nine_targets, None) * nine_targets.mean(dim=0)
    np.testing.assert_allclose(plain.numpy(), 1 / len(NINE.classes), rtol=1e-5)


def test_a_slice_labelled_with_the_whole_alone_teaches_nothing_of_its_parts() -> None:
    """Its loss is that of the sum of the parts, and its gradient moves them in step."""
    scores = torch.randn((5, len(NINE.classes)), generator=torch.Generator().manual_seed(1))
    scores.requires_grad_()
    groups = find_part_groups(NINE.classes)
    targets = torch.zeros((5, len(NINE.classes)))
    targets[:, :4] = 0.25
    weights = torch.ones(len(NINE.classes))
    loss = weighted_cross_entropy(scores, targets, weights, groups)
    of_legs = torch.softmax(scores, dim=1)[:, :4].sum(dim=1)
    torch.testing.assert_close(loss, -of_legs.log().mean())
    loss.backward()
    shares = torch.softmax(scores.detach()[:, :4], dim=1)
    gradient = scores.grad[:, :4] / shares
    torch.testing.assert_close(gradient, gradient[:, :1].expand(-1, 4))


def test_where_a_part_is_labelled_the_loss_is_the_plain_one() -> None:
    generator = torch.Generator().manual_seed(2)
    scores = torch.randn((64, len(NINE.classes)), generator=generator)
    targets = torch.eye(len(NINE.classes))[
        torch.randint(0, len(NINE.classes), (64,), generator=generator)
    ]
    weights = torch.rand(len(NINE.classes), generator=generator)
    plain_loss = weighted_cross_entropy(scores, targets, weights)
    torch.testing.assert_close(
        weighted_cross_entropy(scores, targets, weights, find_part_groups(NINE.classes)), plain_loss
    )
