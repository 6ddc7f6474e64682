"""What networks are shown: millimetres whatever the field of view, neighbours of the same body, one warp for
all channels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import gaussian_filter

from fovnet.errors import ModelError
from fovnet.net.family.architecture import INPUTS, Architecture, order_inputs
from fovnet.net.family.model import build_network
from fovnet.net.family.weights import load_network, load_tensors
from fovnet.net.images.augment import affines_in, draw_affines, draw_augmentation
from fovnet.net.images.inputs import (
    PlacingOnDevice,
    Warp,
    load_images,
    make_images,
    resample_in_millimetres,
    zoom_along_second_axis,
)
from fovnet.net.images.resampling import resample
from fovnet.net.inference.member_outputs import compute_member_outputs
from fovnet.net.recipe import Ranges, Recipe
from fovnet.net.training.train import place_on_device, train_network
from fovnet.volume.slices.placing import Placing
from fovnet.volume.slices.resizing import resize_weights
from fovnet.volume.slices.sections import make_sections

ALL = tuple(INPUTS)
CPU = torch.device("cpu")


def disc(diameter_mm: float, side_mm: float) -> torch.Tensor:
    """A white disc on black (1, 1, 128, 128), as a scanner with this field of view sees it; edges by 8 x 8
    samples a pixel."""
    at = (np.arange(1024) + 0.5) / 1024 * side_mm - side_mm / 2
    fine = np.hypot(at[:, None], at[None]) < diameter_mm / 2
    return torch.from_numpy(fine.reshape(128, 8, 128, 8).mean(axis=(1, 3))).float()[None, None]


@pytest.mark.parametrize("side_mm", [130.0, 200.0, 255.0, 257.0, 384.0, 512.0, 600.0])
def test_a_body_has_its_size_in_millimetres_whatever_the_field_of_view(side_mm: float) -> None:
    """A disc of 120 mm has π 60² mm² of 4 x 4 mm pixels."""
    shown = resample_in_millimetres(disc(120.0, side_mm), torch.tensor([side_mm]))
    assert float(shown.sum()) * 16 == pytest.approx(np.pi * 60**2, rel=0.01)
    assert float(shown[0, 0, 64, 34:94].min()) == 0.0 and float(
        shown[0, 0, 60:68, 60:68].min()
    ) == pytest.approx(1.0, abs=1e-5)


def test_a_slice_as_wide_as_the_square_is_itself_there_and_a_narrower_one_ends_in_black() -> None:
    white = torch.ones(2, 1, 128, 128)
    shown = resample_in_millimetres(white, torch.tensor([512.0, 256.0]))
    torch.testing.assert_close(shown[0], white[0])
    assert float(shown[1].sum()) == pytest.approx(64 * 64, rel=0.02)
    assert float(shown[1, 0, :31].max()) == float(shown[1, 0, :, 97:].max()) == 0.0


def test_fine_texture_is_averaged_and_not_picked_from() -> None:
    """A chessboard of pixels of 1 mm is grey at 4 mm a pixel; one read in four would be white or black."""
    board = torch.from_numpy(np.indices((128, 128)).sum(axis=0) % 2).float()[None, None]
    inside = resample_in_millimetres(board, torch.tensor([128.0]))[0, 0, 50:78, 50:78]
    torch.testing.assert_close(inside, torch.full_like(inside, 0.5))


@settings(max_examples=25)
@given(zoom=st.floats(-0.15, 0.15), side_mm=st.floats(260, 500))
def test_a_body_zoomed_is_a_body_of_another_size_in_millimetres_too(
    zoom: float, side_mm: float
) -> None:
    # from output to input: above 1 the body becomes smaller
    theta = torch.eye(2, 3)[None] * (1 + zoom)
    shown = resample_in_millimetres(disc(120.0, side_mm), torch.tensor([side_mm]), theta)
    assert float(shown.sum()) * 16 == pytest.approx(np.pi * 60**2 / (1 + zoom) ** 2, rel=0.02)


def test_one_resampling_is_a_warp_of_the_slice_and_then_its_change_of_scale() -> None:
    """Reading twice blurs twice: a smooth picture, dark at its borders, and a hundredth of grey."""
    y, x = np.mgrid[:128, :128]
    smooth = np.exp(-((x - 57) ** 2 / 200 + (y - 70) ** 2 / 400)) + 0.5 * np.exp(
        -((x - 75) ** 2 + (y - 55) ** 2) / 150
    )
    own = torch.from_numpy(smooth / smooth.max()).float().expand(8, 1, 128, 128)
    sides_mm = torch.linspace(265.0, 520.0, 8)
    theta = affines_in(
        draw_augmentation(8, Ranges(20, 0.1, 0.2, 0.15, 0), torch.Generator().manual_seed(2))
    )
    twice = resample_in_millimetres(resample(own, theta), sides_mm)
    torch.testing.assert_close(
        resample_in_millimetres(own, sides_mm, theta), twice, atol=0.01, rtol=0
    )


lengths = st.lists(st.integers(1, 5), min_size=1, max_size=6)


@given(lengths)
def test_neighbours_are_of_the_same_volume_and_its_ends_their_own(lengths: list[int]) -> None:
    volume = np.repeat(np.arange(len(lengths)), lengths)
    below, above = Placing(np.ones(len(volume)), volume, np.arange(len(volume))).find_neighbours(
        np.arange(len(volume))
    )
    expected, end = [], 0
    for n in lengths:
        start, end = end, end + n
        expected += [(max(row - 1, start), min(row + 1, end - 1)) for row in range(start, end)]
    assert list(zip(below.tolist(), above.tolist(), strict=True)) == expected


@pytest.fixture(scope="module")
def stack() -> tuple[np.ndarray, Placing]:
    """Eleven slices of three volumes."""
    pixels = np.random.default_rng(0).integers(0, 256, (11, 128, 128)).astype(np.uint8)
    volume = np.array([0] * 4 + [1] + [2] * 6)
    return pixels, Placing(np.array([180.0, 300.0, 520.0])[volume], volume, 7.0 * np.arange(11))


def test_channels_come_in_one_order_and_the_slice_alone_is_as_it_always_was(
    stack: tuple[np.ndarray, Placing],
) -> None:
    pixels, placing = stack
    rows = torch.tensor([3, 0, 5])
    shown = make_images(
        torch.from_numpy(pixels),
        rows,
        ALL,
        PlacingOnDevice.copy_to(CPU, placing, make_sections(pixels, placing)),
    )
    plain = torch.from_numpy(pixels).float() / 255
    torch.testing.assert_close(
        shown[:, :3], torch.stack([plain[[3, 0, 5]], plain[[2, 0, 5]], plain[[3, 1, 6]]], dim=1)
    )
    assert shown.shape == (3, 6, 128, 128)
    assert torch.equal(make_images(torch.from_numpy(pixels), rows), plain[rows][:, None])


@settings(max_examples=20)
@given(
    kinds=st.sets(st.sampled_from(ALL), min_size=1),
    rows=hnp.arrays(np.int64, st.integers(1, 6), elements=st.integers(0, 10)),
)
def test_what_is_brought_to_a_device_piece_by_piece_is_what_lies_there(
    stack: tuple[np.ndarray, Placing], kinds: set[str], rows: np.ndarray
) -> None:
    pixels, placing = stack
    placed = PlacingOnDevice.copy_to(CPU, placing, make_sections(pixels, placing))
    resident = make_images(
        torch.from_numpy(pixels), torch.from_numpy(rows), order_inputs(tuple(kinds)), placed
    )
    assert torch.equal(
        load_images(pixels, rows, order_inputs(tuple(kinds)), placing, CPU), resident
    )


def test_what_is_cropped_keeps_its_size_in_millimetres(stack: tuple[np.ndarray, Placing]) -> None:
    """Slices of 512 mm have 4 mm a pixel already: their crop is only moved to the middle, by as many pixels
    as its own lay off it."""
    pixels, rows = torch.from_numpy(stack[0]), torch.tensor([1, 4])
    placing = Placing(np.full(len(pixels), 512.0), stack[1].volume_of_slice, stack[1].z_mm)
    crop = torch.tensor([[0.5, 0.625, 0.25, -0.125]] * 2)
    theta = torch.eye(2, 3).expand(2, 2, 3)
    shown = make_images(
        pixels,
        rows,
        ("slice", "millimetres"),
        PlacingOnDevice.copy_to(CPU, placing),
        Warp(theta, crop),
    )[:, 1]
    source = pixels[rows].float() / 255
    own = torch.zeros_like(source)
    own[:, 16:96, 48:112] = source[:, 16:96, 48:112]
    torch.testing.assert_close(shown, torch.roll(own, (8, -16), dims=(1, 2)), atol=1e-4, rtol=0)


@pytest.mark.parametrize("side_mm", [300.0, 400.0, 450.0])
def test_a_crop_looks_at_4_mm_as_a_slice_cut_to_it_does(side_mm: float) -> None:
    """A body with detail of a few millimetres, 1024 pixels across: cut whole and cropped in training, or only
    its half cut.

    A crop has the pixels of its slice, too large to be averaged in pairs; before that was heeded it was seen
    blurred, 12 grey levels off.
    """
    fine = np.clip(
        128
        + 30 * gaussian_filter(np.random.default_rng(0).standard_normal((1024, 1024)), 4) / 0.07,
        0,
        255,
    )

    def cut_to(share: float) -> tuple[torch.Tensor, PlacingOnDevice]:
        part = fine[(low := round(512 * (1 - share))) : 1024 - low, low : 1024 - low]
        weights = resize_weights(len(part), side_mm / 1024, share * side_mm)
        pixels = np.clip(weights @ part @ weights.T, 0, 255).round().astype(np.uint8)
        return torch.from_numpy(pixels[None]), PlacingOnDevice.copy_to(
            CPU, Placing(np.array([share * side_mm]), np.array([0]), np.array([0.0]))
        )

    kinds, row, crop = (
        ("slice", "millimetres"),
        torch.tensor([0]),
        torch.tensor([[0.5, 0.5, 0.0, 0.0]]),
    )
    (whole, at), (half, within) = cut_to(1.0), cut_to(0.5)
    trained, blurred = (
        make_images(
            whole, row, kinds, at, Warp(torch.eye(2, 3)[None], crop, crops_like_cut_slices=yes)
        )[0, 1]
        for yes in (True, False)
    )
    shown = make_images(half, row, kinds, within)[0, 1]
    reach = int(side_mm / 16) - 2
    box = slice(64 - reach, 64 + reach)
    off, before = (
        255 * (one - shown)[box, box].square().mean().sqrt() for one in (trained, blurred)
    )
    assert off < 3 and before > 2 * off


def test_sections_are_zoomed_along_their_own_axes() -> None:
    """Of a box 160 mm wide and 80 deep, each axis with its own zoom; slice and sections show one body, turned
    and sheared alike."""
    pixels = np.zeros((30, 128, 128), np.uint8)
    pixels[:, 54:74, 44:84] = 200
    placing = Placing(np.full(30, 512.0), np.zeros(30, np.int64), 4.0 * np.arange(30))
    placed = PlacingOnDevice.copy_to(CPU, placing, make_sections(pixels, placing))
    theta = torch.tensor([[[1.25, 0.0, 0.0], [0.0, 0.8, 0.0]]])
    own, sagittal, coronal = make_images(
        torch.from_numpy(pixels), torch.tensor([15]), ("slice", "sections"), placed, Warp(theta)
    )[0]
    deep, wide, tall = (
        float(line.sum()) * 255 / 200 for line in (own[:, 64], own[64], coronal[:, 64])
    )
    assert (deep, wide) == pytest.approx((20 / 0.8, 40 / 1.25), abs=0.5)
    seen = [float(line.sum()) * 255 / 200 for line in (sagittal[64], coronal[64], sagittal[:, 64])]
    assert seen == pytest.approx([deep, wide, tall], abs=1)


@settings(max_examples=30)
@given(st.integers(0, 999))
def test_a_map_zoomed_along_the_other_axis_turns_and_shears_as_it_did(seed: int) -> None:
    ranges = Ranges(30.0, 0.1, 0.3, 0.25, 0.0)
    theta = draw_affines(4, ranges, torch.Generator().manual_seed(seed))
    even = draw_affines(4, replace(ranges, zoom=0.0), torch.Generator().manual_seed(seed))
    zooms = torch.linalg.solve(even[:, :, :2], theta[:, :, :2]).diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(
        zoom_along_second_axis(theta), even[:, :, :2] * zooms[:, 1][:, None, None]
    )


@pytest.fixture(scope="module")
def tower() -> tuple[torch.Tensor, PlacingOnDevice]:
    """A volume of thirty grey slices of 512 mm, 4 mm apart."""
    pixels, placing = (
        np.full((30, 128, 128), 200, np.uint8),
        Placing(np.full(30, 512.0), np.zeros(30, np.int64), 4.0 * np.arange(30)),
    )
    return torch.from_numpy(pixels), PlacingOnDevice.copy_to(
        CPU, placing, make_sections(pixels, placing)
    )


def test_sections_have_the_slice_in_their_middle_row_and_the_head_on_top(
    tower: tuple[torch.Tensor, PlacingOnDevice],
) -> None:
    pixels, placed = tower
    filled = (
        make_images(pixels, torch.tensor([0, 10, 29]), ("slice", "sections"), placed)[:, 1:].amax(
            dim=3
        )
        > 0
    )
    for at, row in enumerate((0, 10, 29)):
        expected = torch.zeros(128, dtype=torch.bool)
        expected[64 - (29 - row) : 64 + row + 1] = True
        assert torch.equal(filled[at], expected.expand(2, 128))


@settings(max_examples=25)
@given(below=st.floats(0, 1), above=st.floats(0, 1), row=st.integers(0, 29))
def test_a_stretch_of_a_volume_holds_its_slice(
    tower: tuple[torch.Tensor, PlacingOnDevice], below: float, above: float, row: int
) -> None:
    assert tower[1].sections is not None
    filled = (
        tower[1]
        .sections.make_images_about(torch.tensor([row]), torch.tensor([[below, above]]))[0]
        .amax(dim=2)
        > 0
    )
    shown = torch.nonzero(filled[0]).flatten()
    assert (
        torch.equal(filled[0], filled[1])
        and len(shown) == int(shown[-1] - shown[0]) + 1
        and bool(filled[0, 64])
    )
    assert (
        abs(64 - int(shown[0]) - above * (29 - row)) <= 1
        and abs(int(shown[-1]) - 64 - below * row) <= 1
    )


def test_sections_are_cropped_from_side_to_side_as_their_slice_is_and_stay_at_its_height(
    tower: tuple[torch.Tensor, PlacingOnDevice],
) -> None:
    """Slices and sections of 512 mm: the crop is moved to the middle in all, the sagittal section having the
    slice's rows as columns."""
    pixels, placed = tower
    theta = torch.eye(2, 3)[None] + torch.tensor([[[0.0, 0.0, 0.3], [0.0, 0.0, -0.2]]])
    warp = Warp(theta, torch.tensor([[0.5, 0.625, 0.25, -0.125]]))
    own, sagittal, coronal = make_images(
        pixels, torch.tensor([10]), ("slice", "sections"), placed, warp
    )[0]
    assert torch.equal(
        torch.nonzero(sagittal.amax(dim=1) > 0.4).flatten(), torch.arange(64 - 19, 64 + 11)
    )
    # the same frame: 512 mm
    plain = make_images(pixels, torch.tensor([10]), ("millimetres",), placed, warp)[0, 0]
    torch.testing.assert_close(coronal[64], plain.amax(dim=0), atol=0.01, rtol=0)
    torch.testing.assert_close(sagittal[64], plain.amax(dim=1), atol=0.01, rtol=0)
    assert own.shape == (128, 128)


def test_what_moves_parts_of_a_slice_is_not_done_to_sections(
    tower: tuple[torch.Tensor, PlacingOnDevice],
) -> None:
    asked = []

    def before(seen: torch.Tensor, *, may_move: bool) -> torch.Tensor:
        asked.append((seen.shape[1], may_move))
        return seen

    make_images(
        tower[0],
        torch.tensor([3, 4]),
        ("slice", "sections"),
        tower[1],
        Warp(torch.eye(2, 3).expand(2, 2, 3), distort_images=before),
    )
    assert asked == [(1, True), (2, False)]


def test_slices_of_unknown_size_are_refused_where_it_matters(
    stack: tuple[np.ndarray, Placing],
) -> None:
    with pytest.raises(ModelError, match="inputs-unplaced"):
        load_images(stack[0], np.array([0]), ("slice", "millimetres"), None, CPU)
    with pytest.raises(ModelError, match="inputs-unplaced"):
        make_images(
            torch.from_numpy(stack[0]),
            torch.tensor([0]),
            ("slice", "sections"),
            PlacingOnDevice.copy_to(CPU, stack[1]),
        )


def test_an_architecture_knows_its_inputs_in_their_order_only() -> None:
    for inputs in ((), ("millimetres", "slice"), ("slice", "slice"), ("slice", "colour")):
        with pytest.raises(ValueError, match="each once, in this order"):
            Architecture(5, 1, 3, 3, False, 7, inputs=inputs)


def test_size_alone_is_learnt_from_millimetres_and_not_from_slices(tmp_path: Path) -> None:
    """The same discs, 60 or 150 mm wide by the field of view alone: a network of slices cannot do better than
    guess (log 2 = 0.69). Killed after an epoch, the other goes on to the same bits; what is kept answers as
    it was validated."""
    small, rng = np.arange(72) % 2 == 0, np.random.default_rng(0)
    discs = np.clip(
        180 * disc(44.0, 128.0).numpy()[0] + rng.normal(30, 8, (72, 128, 128)), 0, 255
    ).astype(np.uint8)
    placing = Placing(np.where(small, 170.0, 430.0), np.arange(72), np.zeros(72))
    data = place_on_device(
        discs,
        np.stack([small, ~small], axis=1).astype(np.float32),
        np.arange(48),
        np.arange(48, 72),
        CPU,
        placing,
        ALL,
    )
    seen = ("slice", "neighbours", "millimetres")
    net = Architecture(5, 1, 2, 3, False, 2, "small", block="residual", widen=2, inputs=seen)
    recipe = Recipe(2, 96, Ranges(10, 0.03, 0.05, 0.08, 0.02), averaging=0.5)

    def trained(net: Architecture, name: str, epochs: int) -> tuple[float, ...]:
        ending = train_network(
            net,
            learning_rate=0.003,
            batch_size=4,
            seed=1,
            data=data,
            recipe=replace(recipe, epochs=epochs),
            weights_path=tmp_path / f"{name}.safetensors",
            network_facts={},
        )
        assert ending.status == "completed", ending.message
        return ending.validation_losses

    whole = trained(net, "whole", 2)
    assert min(whole) < 0.2
    assert min(trained(replace(net, inputs=("slice",)), "blind", 2)) > 0.6
    trained(net, "cut", 1)
    assert trained(net, "cut", 2) == whole
    first, second = (load_tensors(tmp_path / f"{name}.safetensors")[0] for name in ("whole", "cut"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    model, facts = load_network(tmp_path / "whole.safetensors", CPU)
    probabilities = compute_member_outputs(
        [model], discs, CPU, rows=np.arange(48, 72), placing=placing
    )[0][0]
    loss = -np.log(probabilities[np.arange(24), np.where(small[48:], 0, 1)]).mean()
    assert loss == pytest.approx(facts["score"], rel=1e-4)
    assert (facts["architecture"]["inputs"], facts["architecture"]["head"]) == (list(seen), "small")


def test_networks_that_are_shown_different_things_make_no_ensemble(
    stack: tuple[np.ndarray, Placing],
) -> None:
    nets = [
        build_network(Architecture(5, 1, 1, 3, False, 2, "gap", inputs=inputs)).eval()
        for inputs in (("slice",), ("slice", "millimetres"))
    ]
    with pytest.raises(ModelError, match="have different inputs, slice and slice, millimetres"):
        compute_member_outputs(nets, stack[0], CPU, placing=stack[1])
