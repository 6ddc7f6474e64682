"""The clock over training: what is measured, what is left out and why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from fovnet.bench import throughput
from fovnet.bench.figures.throughput import throughput_figure
from fovnet.bench.textbook import textbook_network
from fovnet.bench.throughput import (
    TIMED_CONFIGURATIONS,
    Bounds,
    Throughput,
    draw_slices,
    refusal_row,
)
from fovnet.cli import app
from fovnet.drawing.canvas import png
from fovnet.net.family.architecture import Architecture
from fovnet.net.family.model import build_network
from fovnet.records import read_tsv

TINY = Architecture(5, 1, 2, 3, False, classes=7)


def test_the_spread_reaches_from_end_to_end_of_the_space_and_has_the_papers_baseline() -> None:
    batches = [batch for _, batch in TIMED_CONFIGURATIONS]
    filters = [net.first_filters for net, _ in TIMED_CONFIGURATIONS]
    assert len(TIMED_CONFIGURATIONS) >= 12
    assert (min(batches), max(batches)) == (4, 256)
    assert (min(filters), max(filters)) == (4, 256)
    assert {(net.kernel, net.separable) for net, _ in TIMED_CONFIGURATIONS} == {
        (3, False),
        (5, False),
        (3, True),
        (5, True),
    }
    assert (Architecture(5, 1, 6, 3, False, classes=7), 8) in TIMED_CONFIGURATIONS


def test_what_cannot_be_measured_is_left_out_with_the_reason() -> None:
    """At 10 GFLOP/s a step of the baseline's eight slices takes about a second."""
    (small, batch), (large, many) = TIMED_CONFIGURATIONS[0], TIMED_CONFIGURATIONS[-1]
    bounds = Bounds(most_seconds=12, most_bytes=4e9, repeats=5, loader_workers=1)
    assert refusal_row(small, batch, 1e10, bounds) is None
    row = refusal_row(large, many, 1e10, bounds)
    assert row is not None and "GB" in row.note
    slow = refusal_row(*TIMED_CONFIGURATIONS[9], 1e10, Bounds(2.0, 4e9, 5, 1))
    assert slow is not None and "more than 2 s" in slow.note


@pytest.mark.slow
def test_both_pipelines_are_timed_and_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throughput, "TIMED_CONFIGURATIONS", ((TINY, 4), TIMED_CONFIGURATIONS[-1]))
    monkeypatch.setenv("PYTHONWARNINGS", "ignore")
    words = f"bench train --out {tmp_path} --device cpu --repeats 1 --budget-seconds 1 --loader-workers 0"
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 0, done.output
    measured, left_out = read_tsv(tmp_path / "throughput.tsv")
    assert (
        float(measured["images_per_second"]) > 0 and float(measured["monai_images_per_second"]) > 0
    )
    assert float(measured["ms_per_step"]) == pytest.approx(
        4e3 / float(measured["images_per_second"]), rel=1e-2
    )
    assert float(measured["handling_share"]) > 0
    assert left_out["images_per_second"] == "" and "left out" in left_out["note"]
    assert (tmp_path / "throughput.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(("convolutions", "kernel", "separable"), [(1, 3, False), (2, 5, True)])
def test_the_textbooks_network_is_the_same_function(
    convolutions: int, kernel: int, separable: bool
) -> None:
    """Scores and the gradient of every weight, from the same weights, in training."""
    net = Architecture(5, convolutions, 2, kernel, separable, classes=7)
    ours = build_network(net, torch.Generator().manual_seed(1))
    theirs = textbook_network(net, ours)
    slices = torch.rand((6, 1, 128, 128), generator=torch.Generator().manual_seed(2))
    for model in (ours, theirs):
        model(slices).square().sum().backward()
    torch.testing.assert_close(theirs(slices), ours(slices), rtol=1e-4, atol=1e-5)
    for own_parameter, their_parameter in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(
            own_parameter.grad,
            their_parameter.grad,
            rtol=1e-3,
            atol=1e-4 * float(own_parameter.grad.abs().max()),
        )


def test_the_figure_does_without_monai() -> None:
    row = Throughput(
        5,
        1,
        4,
        3,
        False,
        4,
        100,
        50.0,
        64,
        900.0,
        4.4,
        0.1,
        0.08,
        60.0,
        note="MONAI is not installed",
    )
    assert (
        png(
            throughput_figure([row, Throughput(5, 1, 256, 5, False, 4, 100, 5e4, note="left out")]),
            dpi=50,
        )[:4]
        == b"\x89PNG"
    )


def test_draw_slices_are_black_to_white_bytes() -> None:
    slices, targets = draw_slices(3)
    assert (slices.shape, slices.dtype, targets.shape) == (
        (3, 128, 128),
        np.uint8,
        (3, throughput.CLASSES),
    )
