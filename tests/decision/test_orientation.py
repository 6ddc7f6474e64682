"""When a volume is reported to lie otherwise than its header has it, and what of that is kept."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from fovnet.decision import orientation
from fovnet.decision.doubting import Signs, doubts
from fovnet.decision.orientation import FILE, Bearing, Orientation
from fovnet.decision.rule import Rule
from fovnet.decision.spans import decide
from fovnet.errors import ModelError
from fovnet.regions import DEFAULT
from fovnet.volume.outlines import SHAPE
from fovnet.volume.planes import LEAST_MM
from fovnet.volume.slices import SliceStack

WIDTH = int(np.prod(SHAPE))
RULE = Rule(least_upright=0.06)


def tensors(seed: int, widths: tuple[int, ...] = (WIDTH, 8, 16)) -> dict[str, np.ndarray]:
    rng, made = np.random.default_rng(seed), {}
    for at, (into, out) in enumerate(pairwise(widths)):
        made[f"layer{at}.weight"] = rng.normal(0, 0.1, (out, into)).astype(np.float16)
        made[f"layer{at}.bias"] = rng.normal(0, 0.1, out).astype(np.float16)
    return made


def stack(slices: int, step_mm: float = 5.0) -> SliceStack:
    pixels = np.random.default_rng(1).integers(1, 256, (slices, 128, 128)).astype(np.uint8)
    affine = np.diag([2.0, 2.0, step_mm, 1.0])
    return SliceStack(pixels, np.arange(slices) * step_mm, np.stack([np.arange(slices)] * 2, axis=1), 256.0, affine, "noise", "")


def doubt_codes(bearing: Bearing | None, regions: int = 1) -> list[str]:
    """The codes of the doubts about 40 slices that clearly show so many regions."""
    z_mm = np.arange(40) * 5.0
    rung = np.minimum(np.arange(40) * max(regions, 1) // 40, 4) if regions else np.full(40, 6)
    p = np.full((40, 7), 0.001)
    p[np.arange(40), rung] = 0.994
    decision = decide(p, z_mm, DEFAULT, RULE)
    return [doubt.code for doubt in doubts(decision, Signs(1.0, 0.2, bearing=bearing), RULE, DEFAULT)]


@pytest.mark.parametrize(("upright", "doubted"), [(0.0001, True), (0.0599, True), (0.06, False), (0.9, False)])
def test_a_volume_below_the_bar_is_doubted(upright: float, doubted: bool) -> None:
    assert ("turned" in doubt_codes(Bearing(upright, "front to back"))) == doubted


def test_one_that_nothing_is_known_of_is_not_nor_is_one_that_shows_nothing() -> None:
    assert "turned" not in doubt_codes(None)
    assert doubt_codes(Bearing(0.0001, "side to side"), regions=0) == ["none"]


@pytest.mark.parametrize(("upright", "share"), [(0.004, "0.4%"), (0.0004, "under 0.1%"), (0.05999, "5.99%")])
def test_the_sentence_says_what_was_seen_wanted_and_what_it_rather_is(upright: float, share: str) -> None:
    p = np.full((20, 7), 0.001)
    p[:, 4] = 0.994
    decision, signs = decide(p, np.arange(20) * 5.0, DEFAULT, RULE), Signs(1.0, 0.2, bearing=Bearing(upright, "front to back"))
    (sentence,) = [one.sentence for one in doubts(decision, signs, RULE, DEFAULT) if one.code == "turned"]
    assert sentence == (f"its axes look wrong: {share} that slices run from feet to head, as the header has it, at least 6.0% wanted; "
                        "by the picture rather from front to back")


def test_a_slab_tells_nothing_and_a_thicker_volume_something() -> None:
    made = {name: values.astype(np.float32) for name, values in tensors(1).items()}
    known = Orientation(tuple((made[f"layer{at}.weight"], made[f"layer{at}.bias"]) for at in (0, 1)))
    assert known.bearing(stack(int(LEAST_MM / 5) - 1)) is None
    bearing = known.bearing(stack(int(LEAST_MM / 5)))
    assert bearing is not None and 0 < bearing.upright < 1


def test_what_is_kept_is_read_again(tmp_path: Path) -> None:
    assert orientation.load(tmp_path) is None
    kept = tensors(2)
    save_file(kept, tmp_path / FILE)
    known = orientation.load(tmp_path)
    assert known is not None
    for at, (weight, bias) in enumerate(known.layers):
        np.testing.assert_array_equal(weight, kept[f"layer{at}.weight"])
        np.testing.assert_array_equal(bias, kept[f"layer{at}.bias"])


@pytest.mark.parametrize("damage", [
    lambda path: path.write_bytes(b"no tensors"),
    lambda path: path.write_bytes(path.read_bytes()[:-50]),
    lambda path: save_file({}, path),
    lambda path: save_file(tensors(1, (WIDTH, 8, 15)), path),             # views that nobody knows
    lambda path: save_file(tensors(1, (WIDTH - 1, 16)), path),
    lambda path: save_file({"layer0.weight": np.zeros((16, WIDTH), np.float16)}, path),
    lambda path: save_file(replaced(tensors(1)), path),
    lambda path: save_file({**tensors(1), "layer1.bias": np.array(1, np.float16)}, path),
    lambda path: save_file({**tensors(1), "layer1.bias": np.full(16, np.nan, np.float16)}, path),
], ids=["text", "cut", "empty", "views", "outlines", "no bias", "misfit", "scalar", "not numbers"])
def test_a_damaged_file_is_refused_by_name(damage, tmp_path: Path) -> None:
    path = tmp_path / FILE
    save_file(tensors(1), path)
    damage(path)
    with pytest.raises(ModelError, match=FILE) as refused:
        orientation.load(tmp_path)
    assert refused.value.code == "orientation-damaged"


def replaced(made: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {**made, "layer1.weight": np.zeros((16, 9), np.float16)}


def test_a_rule_without_the_bar_doubts_nobody() -> None:
    """Ensembles of earlier versions, and those of few volumes, have 0."""
    assert replace(RULE, least_upright=Rule().least_upright).least_upright == 0.0
