"""The network that judges how a volume lies: what it needs to be shown, and how it is kept."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from fovnet.decision import orientation
from fovnet.decision.orientation import ORIENTATION_FILE_NAME, Orientation
from fovnet.errors import ModelError
from fovnet.volume.slices.outlines import OUTLINE_SHAPE
from fovnet.volume.slices.planes import LEAST_EXTENT_MM
from fovnet.volume.slices.stack import SliceStack

WIDTH = int(np.prod(OUTLINE_SHAPE))


def tensors(seed: int, widths: tuple[int, ...] = (WIDTH, 8, 16)) -> dict[str, np.ndarray]:
    rng, made = np.random.default_rng(seed), {}
    for at, (into, out) in enumerate(pairwise(widths)):
        made[f"layer{at}.weight"] = rng.normal(0, 0.1, (out, into)).astype(np.float16)
        made[f"layer{at}.bias"] = rng.normal(0, 0.1, out).astype(np.float16)
    return made


def stack(slices: int, step_mm: float = 5.0) -> SliceStack:
    pixels = np.random.default_rng(1).integers(1, 256, (slices, 128, 128)).astype(np.uint8)
    affine = np.diag([2.0, 2.0, step_mm, 1.0])
    return SliceStack(
        pixels,
        np.arange(slices) * step_mm,
        np.stack([np.arange(slices)] * 2, axis=1),
        256.0,
        affine,
        "noise",
        "",
    )


def test_a_slab_tells_nothing_and_a_thicker_volume_something() -> None:
    made = {name: values.astype(np.float32) for name, values in tensors(1).items()}
    known = Orientation(
        tuple((made[f"layer{at}.weight"], made[f"layer{at}.bias"]) for at in (0, 1))
    )
    assert known.judge_bearing(stack(int(LEAST_EXTENT_MM / 5) - 1)) is None
    bearing = known.judge_bearing(stack(int(LEAST_EXTENT_MM / 5)))
    assert bearing is not None and 0 < bearing.upright_probability < 1


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    assert orientation.load_orientation(tmp_path) is None
    kept = tensors(2)
    save_file(kept, tmp_path / ORIENTATION_FILE_NAME)
    known = orientation.load_orientation(tmp_path)
    assert known is not None
    for at, (weight, bias) in enumerate(known.layers):
        np.testing.assert_array_equal(weight, kept[f"layer{at}.weight"])
        np.testing.assert_array_equal(bias, kept[f"layer{at}.bias"])


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"no tensors"),
        lambda path: path.write_bytes(path.read_bytes()[:-50]),
        lambda path: save_file({}, path),
        lambda path: save_file(tensors(1, (WIDTH, 8, 15)), path),  # views that nobody knows
        lambda path: save_file(tensors(1, (WIDTH - 1, 16)), path),
        lambda path: save_file({"layer0.weight": np.zeros((16, WIDTH), np.float16)}, path),
        lambda path: save_file(replaced(tensors(1)), path),
        lambda path: save_file({**tensors(1), "layer1.bias": np.array(1, np.float16)}, path),
        lambda path: save_file(
            {**tensors(1), "layer1.bias": np.full(16, np.nan, np.float16)}, path
        ),
    ],
    ids=["text", "cut", "empty", "views", "outlines", "no bias", "misfit", "scalar", "not numbers"],
)
def test_a_damaged_file_is_refused_by_name(damage, tmp_path: Path) -> None:
    path = tmp_path / ORIENTATION_FILE_NAME
    save_file(tensors(1), path)
    damage(path)
    with pytest.raises(ModelError, match=ORIENTATION_FILE_NAME) as refused:
        orientation.load_orientation(tmp_path)
    assert refused.value.code == "orientation-damaged"


def replaced(made: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {**made, "layer1.weight": np.zeros((16, 9), np.float16)}
