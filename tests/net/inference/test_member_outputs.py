"""What the members answer and feel, for both heads, does not depend on the batches it is computed in."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from torch import nn

from fovnet.net import inference_batch
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.net.inference.member_outputs import compute_member_outputs


def nets(head: str) -> list[nn.Module]:
    shapes = [
        Architecture(4, 2, 2, 3, False, classes=5, head=head),
        Architecture(5, 1, 3, 5, True, classes=5, head=head),
    ]
    return [
        build_network(shape, torch.Generator().manual_seed(at)).eval()
        for at, shape in enumerate(shapes)
    ]


@pytest.fixture(scope="module")
def pixels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (11, 128, 128)).astype(np.uint8)


@pytest.mark.parametrize("head", ["fc", "gap"])
def test_answers_are_the_networks_own_and_features_the_deviation_of_each_filter(
    head: str, pixels: np.ndarray
) -> None:
    """Worked out again by running the layers one after another: after each pooling and its ReLU, the
    deviation over the picture."""
    members = nets(head)
    answers, features = compute_member_outputs(members, pixels, torch.device("cpu"))
    images = torch.from_numpy(pixels).float()[:, None] / 255
    expected = []
    with torch.inference_mode():
        for member, probabilities in zip(members, answers, strict=True):
            np.testing.assert_allclose(member(images).softmax(dim=1), probabilities, atol=1e-5)
            x, last = images, member
            for name, layer in member.named_children():
                if name.startswith("fc") or name in ("flatten", "pool"):
                    break
                x = layer(x.clone())
                if "relu" in name and isinstance(last, nn.MaxPool2d):
                    expected.append(x.numpy().reshape(len(x), x.shape[1], -1).std(axis=2))
                last = layer
    np.testing.assert_allclose(features, np.concatenate(expected, axis=1), rtol=1e-3, atol=1e-5)
    assert features.shape == (11, 4 * 4 + 5 * 8)


def test_some_rows_in_small_batches_give_what_all_at_once_give(
    pixels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    members, rows = nets("gap"), np.array([1, 4, 5, 10])
    answers, features = compute_member_outputs(members, pixels, torch.device("cpu"))
    monkeypatch.setattr(inference_batch, "FEWEST_SLICES", 1)
    monkeypatch.setitem(inference_batch.MOST_SLICES_BY_DEVICE, "cpu", 3)
    done_so_far: list[int] = []
    some, some_features = compute_member_outputs(
        members, pixels, torch.device("cpu"), lambda done, _: done_so_far.append(done), rows
    )
    np.testing.assert_allclose(some, answers[:, rows], atol=1e-6)
    np.testing.assert_allclose(some_features, features[rows], rtol=1e-4, atol=1e-6)
    assert done_so_far == [3, 4]


def test_each_part_has_one_thread_of_torch_and_the_callers_own_number_stays(
    pixels: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    thread_counts: set[int] = set()
    (member,) = nets("gap")[:1]
    member.register_forward_hook(lambda *_: thread_counts.add(torch.get_num_threads()))
    monkeypatch.setattr("fovnet.net.inference.side_by_side.cores", lambda: 3)
    thread_count = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        compute_member_outputs([member], pixels[:9].repeat(4, axis=0), torch.device("cpu"))
        assert thread_counts == {1} and torch.get_num_threads() == 2
        later: list[int] = []
        thread = threading.Thread(target=lambda: later.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert later == [2], "a thread of the user's begins with the user's number"
    finally:
        torch.set_num_threads(thread_count)
