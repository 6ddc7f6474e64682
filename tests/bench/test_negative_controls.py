"""Negative controls are judged as any volume is, and counted once."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fovnet.bench.negative_controls import BODY, HALF_DARK, NOISY_AIR, REVERSED, SHUFFLED, ControlAnswer, answers_to_controls, tally
from fovnet.decision.ensemble import assemble, load
from fovnet.decision.rule import Rule
from fovnet.net.architecture import Architecture
from fovnet.net.model import build
from fovnet.net.weights import save_network
from fovnet.phantom.oddities import ODDITIES
from fovnet.regions import DEFAULT
from fovnet.volume.slices import Slicing, slice_format

PREPARE = {"target_spacing_mm": 8.0, "max_tilt_deg": 20.0}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[ControlAnswer]:
    folder = tmp_path_factory.mktemp("odd")
    net = Architecture(4, 1, 2, 3, False, classes=len(DEFAULT.classes), head="gap")
    facts = {"classes": DEFAULT.classes, "slices": slice_format(Slicing(8.0, 20.0))}
    path = save_network(folder / "slot-0001.safetensors", build(net, torch.Generator().manual_seed(1)), net, facts)
    member = {"slot": 1, "score": 1.0, "configuration": {}, "weights": str(path)}
    assemble(folder / "ensemble", [member], DEFAULT, PREPARE, settings={}, seed=1)
    return list(answers_to_controls(load(folder / "ensemble", "cpu", rule=Rule()), 2, seed=4))


def test_every_kind_is_judged_as_often_and_counted_once(rows: list[ControlAnswer]) -> None:
    counted = tally(rows)
    assert [kind for kind, *_ in counted] == [*ODDITIES, BODY, SHUFFLED, REVERSED, HALF_DARK, NOISY_AIR]
    assert all(volumes == named + unsure + nothing == 2 for _, volumes, named, unsure, nothing in counted)


def test_noise_around_a_body_is_doubted_and_noise_alone_and_dark_air_are_not(rows: list[ControlAnswer]) -> None:
    assert {row.kind for row in rows if "noisy-air" in row.doubts} == {NOISY_AIR}


def test_shuffling_is_seen_in_the_order_alone_and_reversing_is_not(rows: list[ControlAnswer]) -> None:
    """Reversed, neighbours are still neighbours."""
    by_kind = {(row.kind, row.number): row for row in rows}
    for number in range(2):
        body, shuffled, reverse = (by_kind[kind, number] for kind in (BODY, SHUFFLED, REVERSED))
        assert body.disorder == pytest.approx(reverse.disorder)
        assert shuffled.disorder > 3 * body.disorder
        assert "out-of-order" not in body.doubts
        assert np.isclose(body.agreement, shuffled.agreement)
    assert all(row.disorder == pytest.approx(2.0, abs=0.2) for row in rows if row.kind in ("air", "noise"))
