"""Batched augmentation: the same pixels as MONAI's transforms at the same draw, and the same distribution
over many draws."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from scipy.ndimage import gaussian_filter

from fovnet.net.images.augment import (
    LEAST_CROP_SHARE,
    blacken_other_channels,
    crop_images,
    crops_in,
    draw_affines,
    draw_augmentation,
    draw_crops,
    other_channels_in,
    read_noise,
    shown_shares_in,
    theta_in_crops,
)
from fovnet.net.images.resampling import resample, sampling_grid
from fovnet.net.recipe import Ranges
from fovnet.net.training.train_step import make_augmented_images as in_training

STILL = Ranges(0, 0, 0, 0, 0)
WIDE = Ranges(rotation_deg=25, translation=0.1, shear=0.5, zoom=0.15, noise=0.05, gamma=0.6)


def slices(n: int, seed: int = 0) -> torch.Tensor:
    return quantised(torch.rand((n, 1, 32, 32), generator=torch.Generator().manual_seed(seed)))


def quantised(images: torch.Tensor) -> torch.Tensor:
    """The nearest images that uint8 can hold."""
    return (images * 255).round() / 255


def augment(images: torch.Tensor, draws: torch.Tensor, ranges: Ranges) -> torch.Tensor:
    """What a network is shown in training of images (n, 1, h, w) that uint8 can hold."""
    return in_training(
        (images[:, 0] * 255).round().to(torch.uint8), torch.arange(len(images)), draws, ranges
    )


def augmented(images: torch.Tensor, ranges: Ranges, seed: int) -> torch.Tensor:
    return augment(
        images, draw_augmentation(len(images), ranges, torch.Generator().manual_seed(seed)), ranges
    )


def test_no_range_no_change() -> None:
    images = slices(3)
    torch.testing.assert_close(augmented(images, STILL, 1), images, atol=1e-5, rtol=0)


def test_the_grid_is_the_one_torch_makes() -> None:
    theta = draw_affines(5, WIDE, torch.Generator().manual_seed(6))
    theirs = torch.nn.functional.affine_grid(theta, [5, 1, 24, 40], align_corners=False)
    torch.testing.assert_close(sampling_grid(theta, 24, 40), theirs, atol=1e-6, rtol=0)


@pytest.mark.filterwarnings("ignore")  # importing MONAI 1.6 warns of its own deprecated imports
class TestTheSameDrawGivesMonaisPixels:
    """x and y here are columns and rows; MONAI counts rows first, so that its angle has the other sign and
    its second shear is ours."""

    def test_affine(self) -> None:
        from monai.transforms import Affine

        image, side = slices(1)[0], 32
        # angle, shear, zooms of x and y, shifts of x and y
        chance = torch.tensor([0.7, -0.9, 0.4, -0.6, 0.5, 0.8])
        angle, shear, wide, tall, right, down = chance.tolist()
        theta = draw_affines(1, WIDE, Fixed(chance))
        zooms = [1 + WIDE.zoom * tall, 1 + WIDE.zoom * wide]
        pixels = [WIDE.translation * side * down, WIDE.translation * side * right]
        theirs, _ = Affine(
            rotate_params=-np.deg2rad(WIDE.rotation_deg * angle),
            shear_params=(0.0, WIDE.shear * shear),
            translate_params=pixels,
            scale_params=zooms,
            mode="bilinear",
            padding_mode="zeros",
            align_corners=False,
        )(image)
        ours = resample(image[None], theta)[0]
        assert float((ours - image).abs().mean()) > 0.1
        torch.testing.assert_close(torch.as_tensor(theirs), ours, atol=2e-5, rtol=0)

    def test_contrast(self) -> None:
        from monai.transforms import AdjustContrast

        image = quantised(0.2 + 0.5 * slices(1))
        ours = augment(image, pinned(gamma=0.7), Ranges(0, 0, 0, 0, 0, gamma=0.5))[0]
        torch.testing.assert_close(
            torch.as_tensor(AdjustContrast(0.7)(image[0])), ours, atol=1e-5, rtol=0
        )

    def test_window(self) -> None:
        from monai.transforms import ScaleIntensityRange

        image = slices(1)
        ours = augment(image, pinned(low=0.1, high=0.85), Ranges(0, 0, 0, 0, 0, window=0.2))[0]
        theirs = ScaleIntensityRange(0.1, 0.85, 0.0, 1.0, clip=True)(image[0])
        torch.testing.assert_close(torch.as_tensor(theirs), ours, atol=1e-5, rtol=0)


class Fixed(torch.Generator):
    """Chance that is known: torch's uniform draws are replaced by `chance` in [-1, 1]."""

    def __new__(cls, chance: torch.Tensor) -> Fixed:
        made = super().__new__(cls)
        made.chance = chance
        return made


@pytest.fixture(autouse=True)
def _fixed_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    real = torch.rand

    def rand(*size: object, generator: torch.Generator | None = None) -> torch.Tensor:
        if isinstance(generator, Fixed):
            return (generator.chance[:, None] + 1) / 2
        return real(*size, generator=generator)

    monkeypatch.setattr(torch, "rand", rand)


def pinned(gamma: float = 1.0, low: float = 0.0, high: float = 1.0) -> torch.Tensor:
    return torch.tensor([[1.0, 0, 0, 0, 1, 0, 0, 0, gamma, low, high]])


def lopsided() -> torch.Tensor:
    """A smooth slice (1, 48, 48) with a long and a short side, from black to white: how it lies and leans can
    be seen."""
    picture = np.zeros((48, 48))
    picture[19:27, 14:33] = 1.0
    picture[26:33, 14:21] = 0.6
    picture = gaussian_filter(picture, 1.5)
    return quantised(torch.from_numpy(picture / picture.max()).float()[None])


def shape_of(pictures: np.ndarray) -> dict[str, np.ndarray]:
    """Of pictures (n, h, w), each (n,): centre of mass, second central moments, the share of the bright that
    is white, the dark's noise."""
    y, x = np.mgrid[: pictures.shape[1], : pictures.shape[2]]
    bright = np.where(pictures > 0.25, pictures, 0.0)
    mass = bright.sum(axis=(1, 2))
    cx, cy = (bright * x).sum(axis=(1, 2)) / mass, (bright * y).sum(axis=(1, 2)) / mass
    dx, dy = x - cx[:, None, None], y - cy[:, None, None]
    xx, yy, xy = (
        (bright * product).sum(axis=(1, 2)) / mass for product in (dx * dx, dy * dy, dx * dy)
    )
    long, turned = np.hypot(xx - yy, 2 * xy) / (xx + yy), np.arctan2(2 * xy, xx - yy)
    steep = (pictures > 0.6).sum(axis=(1, 2)) / (pictures > 0.3).sum(axis=(1, 2))
    found = {
        "x": cx,
        "y": cy,
        "xx": xx,
        "yy": yy,
        "xy": xy,
        "elongation": long,
        "direction": turned,
        "mass": mass,
        "contrast": steep,
        "noise": pictures[:, :4, :].std(axis=(1, 2)),
    }
    # what no range touches differs by rounding alone
    return {name: np.round(values, 4) for name, values in found.items()}


def disagreement(ours: np.ndarray, theirs: np.ndarray) -> dict[str, float]:
    """p-values of Kolmogorov-Smirnov for each property, and of chi-square for the mean and the mean square of
    every eighth pixel."""
    p = {
        name: stats.ks_2samp(a, b).pvalue
        for (name, a), b in zip(shape_of(ours).items(), shape_of(theirs).values(), strict=True)
    }
    for name, power in (("mean image", 1), ("mean square image", 2)):
        a, b = (pictures[:, 4:44:8, 4:44:8] ** power for pictures in (ours, theirs))
        # 1e-9: a difference of 3e-5 of the grey range is rounding
        z = (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt(
            a.var(axis=0) / len(a) + b.var(axis=0) / len(b) + 1e-9
        )
        p[name] = float(min(1.0, z.size * 2 * stats.norm.sf(np.abs(z).max())))
    return p


DRAWN = 1000
OURS = 4000
# twelve properties: chance alone is below this once in a hundred comparisons, and the seeds are fixed
SIGNIFICANCE = 1e-3


def ours(ranges: Ranges, image: torch.Tensor | None = None) -> np.ndarray:
    return augmented(
        (lopsided() if image is None else image).expand(OURS, 1, 48, 48).contiguous(), ranges, 12
    )[:, 0].numpy()


def monais(ranges: Ranges, n: int = DRAWN) -> np.ndarray:
    """What MONAI's random transforms with these ranges make of the slice, (n, 48, 48)."""
    from monai.transforms import Compose, RandAdjustContrast, RandAffine, RandGaussianNoise

    chain = [
        RandAffine(
            1.0,
            rotate_range=float(np.deg2rad(ranges.rotation_deg)),
            shear_range=(0.0, ranges.shear),
            translate_range=(ranges.translation * 48,) * 2,
            scale_range=(ranges.zoom,) * 2,
            padding_mode="zeros",
        ),
        *(
            [RandAdjustContrast(1.0, gamma=(1 - ranges.gamma, 1 + ranges.gamma))]
            if ranges.gamma
            else []
        ),
        *([RandGaussianNoise(1.0, std=ranges.noise)] if ranges.noise else []),
    ]
    made, image = Compose(chain).set_random_state(seed=11), lopsided()
    return np.stack([np.asarray(made(image))[0].clip(0, 1) for _ in range(n)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["rotation_deg", "translation", "shear", "zoom", "noise", "gamma"])
def test_many_draws_of_one_change_cannot_be_distinguished_from_monais_and_those_of_a_fifth_more_can(
    name: str,
) -> None:
    """Uniform draws from ±a and ±1.2 a differ by 1/12 in their distribution, which a thousand draws show."""
    alone, wider = (
        Ranges(**{**vars(STILL), name: scale * getattr(WIDE, name)}) for scale in (1.0, 1.2)
    )
    theirs = monais(alone)
    same = disagreement(ours(alone), theirs)
    assert min(same.values()) > SIGNIFICANCE, same
    assert min(disagreement(ours(wider), theirs).values()) < SIGNIFICANCE


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_many_draws_of_the_whole_chain_cannot_be_distinguished_from_monais_and_those_sheared_along_the_other_axis_can() -> (
    None
):
    theirs = monais(WIDE, 2000)
    same = disagreement(ours(WIDE), theirs)
    assert min(same.values()) > SIGNIFICANCE, same
    sheared_otherwise = ours(WIDE, lopsided().transpose(1, 2)).transpose(0, 2, 1)
    assert min(disagreement(sheared_otherwise, theirs).values()) < SIGNIFICANCE


def test_pixels_stay_between_black_and_white() -> None:
    made = augmented(slices(200), Ranges(30, 0.2, 0.3, 0.3, 0.3, 0.9, 0.4), 4)
    assert float(made.min()) >= 0.0
    assert float(made.max()) <= 1.0


def test_the_noise_is_normal_white_and_its_own_for_every_slice() -> None:
    place = torch.rand(200, generator=torch.Generator().manual_seed(8))
    noise = read_noise(place, torch.zeros(200, 1, 64, 64))[:, 0].numpy()
    assert stats.kstest(noise.ravel()[::17], "norm").pvalue > 0.01
    for other in (np.roll(noise, 1, axis=2), np.roll(noise, 1, axis=1), np.roll(noise, 1, axis=0)):
        assert abs((noise * other).mean()) < 5 / np.sqrt(noise.size)


def test_a_shift_of_a_quarter_moves_the_picture_a_quarter_of_the_side() -> None:
    spot = torch.zeros(1, 1, 32, 32)
    spot[..., 16, 16] = 1
    moved = [augmented(spot, Ranges(0, 0.25, 0, 0, 0), seed) for seed in range(60)]
    away = np.array(
        [np.abs(np.argwhere(picture[0, 0].numpy() > 0.1) - 16).max() for picture in moved]
    )
    assert away.max() in (7, 8, 9)


def test_the_draws_fill_their_ranges_evenly() -> None:
    """A uniform draw from ±a has variance a²/3."""
    theta = draw_affines(40_000, Ranges(0, 0.1, 0, 0, 0), torch.Generator().manual_seed(3))
    shift = theta[:, :, 2] / 2
    assert float(shift.abs().max()) <= 0.1
    np.testing.assert_allclose(shift.var(dim=0).numpy(), 0.1**2 / 3, rtol=0.03)


def test_a_turn_and_a_shear_keep_area_and_a_zoom_scales_it() -> None:
    """det(theta) is the ratio of input to output area: 1 for rotation and shear, the product of both zooms
    else."""
    turned = draw_affines(100, Ranges(30, 0, 0.3, 0, 0), torch.Generator().manual_seed(4))[:, :, :2]
    np.testing.assert_allclose(torch.linalg.det(turned).numpy(), 1, atol=1e-6)
    zoomed = torch.linalg.det(
        draw_affines(5000, Ranges(0, 0, 0, 0.2, 0), torch.Generator().manual_seed(5))[:, :, :2]
    )
    assert 0.64 <= float(zoomed.min()) < 0.68
    assert 1.4 < float(zoomed.max()) <= 1.44


def test_the_same_seed_gives_the_same_batch() -> None:
    ranges = Ranges(10, 0.1, 0.1, 0.1, 0.05, 0.2, 0.1)
    assert torch.equal(augmented(slices(5), ranges, 9), augmented(slices(5), ranges, 9))


WHOLE = torch.tensor([1.0, 1.0, 0.0, 0.0])


def test_crops_lie_in_the_slice_and_are_as_often_half_as_large() -> None:
    """Sizes are uniform in their logarithm; all else that is drawn does not depend on whether slices are
    cropped."""
    with_crops, without = (
        draw_augmentation(
            4000, Ranges(9, 0.1, 0.1, 0.1, 0.05, crop=share), torch.Generator().manual_seed(3)
        )
        for share in (0.6, 0.0)
    )
    assert torch.equal(with_crops[:, :11], without[:, :11])
    assert torch.equal(crops_in(without), WHOLE.expand(4000, 4))
    made = crops_in(with_crops)
    made = made[(made != WHOLE).any(dim=1)]
    assert stats.binomtest(len(made), 4000, 0.6).pvalue > 1e-3
    half, middle = made[:, :2], made[:, 2:]
    assert bool((half >= LEAST_CROP_SHARE).all()) and bool((middle.abs() + half <= 1).all())
    assert (
        stats.kstest(np.log(half.numpy()).ravel() / np.log(LEAST_CROP_SHARE), "uniform").pvalue
        > 1e-3
    )


def test_a_crop_is_as_wide_whatever_its_height() -> None:
    drawn = draw_crops(20_000, 1.0, torch.Generator().manual_seed(4))
    assert abs(float(np.corrcoef(np.log(drawn[:, :2].numpy().T))[0, 1])) < 0.03


def test_a_crop_is_the_rectangle_padded_to_a_square_and_resized() -> None:
    """16 columns and 8 rows of 32: torch's own interpolation of the square of 16 about them."""
    images, crop = 0.1 * slices(2, seed=4), torch.tensor([[0.5, 0.25, 0.25, -0.5]] * 2)
    images[:, :, 4:12, 12:28] *= 10
    shown, made = crop_images(images, crop)
    assert torch.equal(made, crop) and torch.equal(
        shown[:, :, 4:12, 12:28], images[:, :, 4:12, 12:28]
    )
    assert int((shown != 0).sum()) <= 2 * 8 * 16
    square = torch.nn.functional.pad(shown, (0, 0, 4, 4))[:, :, 4:20, 12:28]
    wanted = torch.nn.functional.interpolate(
        square, size=(32, 32), mode="bilinear", align_corners=False
    )
    found = resample(shown, theta_in_crops(torch.eye(2, 3).expand(2, 2, 3), made))
    # the rim reads beyond it
    torch.testing.assert_close(found[:, :, 1:-1, 1:-1], wanted[:, :, 1:-1, 1:-1], atol=1e-5, rtol=0)


def test_the_tightest_crop_of_a_slice_full_of_body_is_made() -> None:
    """A sixth of its pixels, and of its brightness: as bright as the whole."""
    _, made = crop_images(
        0.2 + 0.1 * slices(8), torch.tensor([[LEAST_CROP_SHARE, LEAST_CROP_SHARE, 0.3, -0.3]] * 8)
    )
    assert torch.equal(made[:, :2], torch.full((8, 2), LEAST_CROP_SHARE))


def test_a_crop_that_would_leave_a_slice_dark_is_not_made() -> None:
    images = torch.zeros(2, 1, 32, 32)
    images[:, :, 2:8, 2:8] = 1.0
    away, there = [0.4, 0.4, 0.5, 0.5], [0.5, 0.5, -0.5, -0.5]
    shown, made = crop_images(images, torch.tensor([away, there]))
    assert torch.equal(shown, images) and torch.equal(
        made, torch.stack([WHOLE, torch.tensor(there)])
    )


def test_ends_of_volumes_are_cut_as_often_as_slices_are_cropped_anywhere_alike() -> None:
    drawn = shown_shares_in(
        draw_augmentation(
            20_000, Ranges(9, 0.1, 0.1, 0.1, 0.05, crop=0.3), torch.Generator().manual_seed(3)
        )
    )
    cut = drawn[drawn < 1]
    assert len(cut) / drawn.numel() == pytest.approx(0.3, abs=0.02)
    assert stats.kstest(cut.numpy(), "uniform").pvalue > 0.001
    assert torch.equal(
        shown_shares_in(
            draw_augmentation(50, Ranges(9, 0.1, 0.1, 0.1, 0.05), torch.Generator().manual_seed(3))
        ),
        torch.ones(50, 2),
    )


def test_slices_are_shown_alone_as_often_as_asked_whatever_else_is_drawn() -> None:
    ranges = [Ranges(9, 0.1, 0.1, 0.1, 0.05, crop=0.3, alone=share) for share in (0.2, 0.0)]
    some, never = (
        draw_augmentation(20_000, each, torch.Generator().manual_seed(3)) for each in ranges
    )
    assert torch.equal(some[:, :-1], never[:, :-1]) and torch.equal(
        other_channels_in(never), torch.ones(20_000, 1)
    )
    assert 1 - float(other_channels_in(some).mean()) == pytest.approx(0.2, abs=0.01)


def test_a_slice_shown_alone_is_itself_with_black_beside_it() -> None:
    images = torch.rand((2, 4, 16, 16), generator=torch.Generator().manual_seed(1))
    shown = blacken_other_channels(images, torch.tensor([[1.0], [0.0]]))
    assert (
        torch.equal(shown[0], images[0])
        and torch.equal(shown[1, 0], images[1, 0])
        and not shown[1, 1:].any()
    )
