"""Volumes whose images lie among each other under one UID, and stacks that look like such a mixture."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import floats, integers

from fovnet.errors import VolumeError
from fovnet.volume.dicom.frames import frames_of_dataset
from fovnet.volume.dicom.series import group_into_volumes
from fovnet.volume.dicom.source import DicomObject
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.source import read

SPACING_MM = 12.0
UID = "1.2.3.4.5"


def grid(
    first_mm: float = 0.0, spacing_mm: float = SPACING_MM, shift_mm: float = 0.0
) -> np.ndarray:
    """An axial grid from a height, 24 × 20 pixels of 8 mm."""
    return np.array(
        [[-8.0, 0, 0, shift_mm], [0, -8, 0, 0], [0, 0, spacing_mm, first_mm], [0, 0, 0, 1]]
    )


def stack(write: Any, affine: np.ndarray, slices: int, which: int, **given: Any) -> list[Any]:
    """Images with SOP Instance UIDs of their own, under UID."""
    own = {"SeriesInstanceUID": UID, "SOPInstanceUID": lambda k: f"1.2.{which}.{k + 1}"} | given
    return write.images(np.zeros((24, 20, slices), dtype=np.int16), affine, **own)


def grouped(images: list[Any]) -> list[list[float]]:
    """The heights of the images of each volume in mm, sorted."""
    frames = [
        frame
        for number, image in enumerate(images)
        for frame in frames_of_dataset(DicomObject(Path("in") / f"{number:04}"), image)
    ]
    return sorted(
        sorted(frame.position_mm[2] for frame in series.frames)
        for series in group_into_volumes(frames)
    )


def heights(affine: np.ndarray, slices: int) -> list[float]:
    return sorted((affine[2, 3] + affine[2, 2] * np.arange(slices)).tolist())


def on(first: int, step: int = 1) -> dict[str, Callable[[int], int]]:
    """Image numbers from `first`."""
    return {"InstanceNumber": lambda k: first + step * k}


# grid, slices and elements of each volume; image numbers count from 1 unless given
MIXTURES: dict[str, list[tuple[np.ndarray, int, dict[str, Any]]]] = {
    "a shorter one, 5 mm off": [(grid(), 40, {}), (grid(125), 15, {})],
    "other times": [(grid(), 20, {"ContentTime": "1020"}), (grid(5), 20, {"ContentTime": "1120"})],
    "other acquisitions": [
        (grid(), 20, {"AcquisitionNumber": 1}),
        (grid(5), 20, {"AcquisitionNumber": 2}),
    ],
    "another spacing": [(grid(), 20, {}), (grid(3, 9.5), 20, {})],
    "a much smaller spacing": [(grid(), 20, {}), (grid(41, 4.1), 30, {})],
    "half a spacing off": [(grid(), 20, {}), (grid(6), 20, {})],
    "half a spacing off in part": [(grid(), 30, {}), (grid(126), 12, {})],
    "half a spacing off, overlapping": [(grid(), 20, {}), (grid(126), 20, {})],
    "a third of a spacing off": [(grid(), 20, {}), (grid(4), 20, {})],
    "0.6 mm off": [(grid(), 40, {}), (grid(120.6), 15, {})],
    "numbers go on": [(grid(), 20, {}), (grid(5), 20, on(21))],
    "numbers go on, half a spacing off in part": [(grid(), 40, {}), (grid(126), 20, on(41))],
    "numbers overlap": [(grid(), 20, {}), (grid(5), 20, on(11))],
    "numbers of every second": [(grid(), 20, on(1, 2)), (grid(5), 20, on(1, 2))],
    "numbers fall": [(grid(), 20, {}), (grid(5), 20, on(20, -1))],
    "numbers alternate": [(grid(), 20, on(1, 2)), (grid(5), 20, on(2, 2))],
    "no numbers": [(grid(), 20, on(0, 0)), (grid(5), 20, on(0, 0))],
    "one number for all": [(grid(), 20, on(1, 0)), (grid(5), 20, on(1, 0))],
    "the second below": [(grid(), 20, {}), (grid(-67), 12, {})],
    "one above the other, 5 mm apart": [(grid(), 20, {}), (grid(12 * 19 + 5), 20, {})],
    "one above the other without a gap": [(grid(), 20, {}), (grid(240), 20, {})],
    "shifted in the plane": [(grid(), 20, {}), (grid(6, shift_mm=30), 20, {})],
    "three": [(grid(), 20, {}), (grid(3), 20, {}), (grid(7.5), 15, {})],
    "four": [(grid(mm), 12, {}) for mm in (0, 2, 4.5, 9)],
    "a spacing of three": [(grid(), 20, {}), (grid(17), 3, {})],
}


@pytest.mark.parametrize("volumes", MIXTURES.values(), ids=MIXTURES)
def test_volumes_among_each_other_are_parted(write, volumes):
    images = [
        stack(write, affine, slices, which, **given)
        for which, (affine, slices, given) in enumerate(volumes)
    ]
    wanted = sorted(heights(affine, slices) for affine, slices, _ in volumes)
    assert [np.round(own, 3).tolist() for own in grouped(list(chain(*images)))] == [
        np.round(own, 3).tolist() for own in wanted
    ]


NUMBERED = {"counted": True, "no numbers": 0, "one number": 1}


@pytest.mark.parametrize("numbered", NUMBERED.values(), ids=NUMBERED)
@pytest.mark.parametrize("first_mm", [3, 4, 8, 9, 4.05, 28, 124, -32])
@pytest.mark.parametrize("lost", [None, 7])
def test_gaps_that_alternate_are_two_grids_and_no_lost_images(write, first_mm, numbered, lost):
    """The images of the two are numbered again along the normal, or have no numbers."""
    images = stack(write, grid(), 20, 1) + stack(write, grid(first_mm), 20, 2)
    images.sort(key=lambda image: float(image.ImagePositionPatient[2]))
    if lost:
        del images[lost]
    for number, image in enumerate(images, start=1):
        image.InstanceNumber = number if numbered is True else numbered
    assert sorted(map(len, grouped(images))) == ([19, 20] if lost else [20, 20])


PERIODS = [(1, 1, 2), (1, 2, 3), (1, 1, 1, 2), (1, 1, 1, 1, 2), (1, 1, 3), (2, 1, 1, 1, 2, 2)]


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize("numbered", NUMBERED.values(), ids=NUMBERED)
def test_gaps_of_any_period_are_not_read_as_one_volume(tmp_path, write, period, numbered):
    along = np.cumsum(np.tile(period, 6)) * 4.0
    number = {} if numbered is True else on(numbered, 0)
    images = placed(write, along.tolist(), **number)
    for index, image in enumerate(images):
        image.PixelData = write.noise((24, 20, 1), seed=index).tobytes()
    write.save(tmp_path, images)
    try:
        volumes = [read(path) for path in find_volumes([tmp_path]).volume_paths]
    except VolumeError as fault:
        assert fault.code == "volume-doubled"
        assert "alternate regularly (4.00 to" in str(fault)
    else:
        assert len(volumes) > 1


@pytest.mark.parametrize("missing", [(3,), (5, 11), (7, 8)])
def test_volumes_among_each_other_may_lack_an_image(write, missing):
    images = stack(write, grid(), 30, 1) + stack(write, grid(5), 20, 2)
    left = [image for index, image in enumerate(images) if index not in missing]
    assert sorted(map(len, grouped(left))) == [20, 30 - len(missing)]


def test_frames_of_two_objects_among_each_other_are_parted(write):
    objects = []
    for which, affine in enumerate((grid(), grid(5))):
        places = [write.geometry(affine, k) for k in range(12)]
        pixels = np.zeros((12, 24, 20), np.int16)
        objects.append(
            write.enhanced(pixels, places, SOPInstanceUID=f"1.2.{which}", SeriesInstanceUID=UID)
        )
    assert grouped(objects) == [heights(grid(), 12), heights(grid(5), 12)]


def test_a_mixture_is_read_as_two_volumes_that_say_so(tmp_path, write):
    """Their SOP Instance UIDs are the same, too."""
    long, short = write.noise((24, 20, 30), seed=1), write.noise((24, 20, 12), seed=2)
    write.save(tmp_path, write.images(long, grid(), SeriesInstanceUID=UID), "a")
    write.save(tmp_path, write.images(short, grid(125), SeriesInstanceUID=UID), "b")
    volumes = [read(path) for path in find_volumes([tmp_path]).volume_paths]
    assert sorted(volume.voxels.shape[2] for volume in volumes) == [12, 30]
    for volume in volumes:
        wanted = long if volume.voxels.shape[2] == 30 else short
        assert np.array_equal(volume.voxels, wanted)
        assert volume.notes[0].endswith(
            "of 2 of its series, told apart by image numbers that recur"
        )


def odd_heights(off_mm: list[float], spacing_mm: float = SPACING_MM) -> list[float]:
    return [index * spacing_mm + mm for index, mm in enumerate(off_mm)]


def placed(write: Any, heights_mm: list[float], **given: Any) -> list[Any]:
    """One image at each height."""
    images = stack(write, grid(), len(heights_mm), 1, **given)
    for image, mm in zip(images, heights_mm, strict=True):
        image.ImagePositionPatient = [*image.ImagePositionPatient[:2], f"{mm:.4f}"]
    return images


def test_a_mixture_that_nothing_parts_is_refused(tmp_path, write):
    off_mm = np.random.default_rng(0).uniform(-4, 4, 24).tolist()
    images = placed(write, odd_heights(off_mm), InstanceNumber=lambda k: k % 12 + 1)
    write.save(tmp_path, images)
    with pytest.raises(VolumeError, match="12 image numbers recur at other places") as caught:
        read(tmp_path)
    assert caught.value.code == "volume-doubled"


def every_third_missing(k: int) -> int:
    return k // 2 * 3 + k % 2


JITTER = np.random.default_rng(1).uniform(-3, 3, 24).tolist()
IRREGULAR: dict[str, tuple[list[float], dict[str, Any]]] = {
    "even": (odd_heights([0] * 24), {}),
    "odd places": (odd_heights(JITTER), {}),
    "odd places, numbers in the order of acquisition": (
        odd_heights(JITTER),
        {"InstanceNumber": lambda k: k // 2 + 1 + 12 * (k % 2)},
    ),
    "one image elsewhere": (odd_heights([0] * 11 + [4] + [0] * 12), {}),
    "two images elsewhere": (odd_heights([0] * 8 + [4] + [0] * 4 + [-3] + [0] * 10), {}),
    "growing gaps": (np.cumsum(np.linspace(8, 20, 24)).tolist(), {}),
    "twice the gap above": (np.cumsum([6] * 12 + [12] * 12).tolist(), {}),
    "half as wide again above": (np.cumsum([6] * 12 + [9] * 12).tolist(), {}),
    "three times the gap above": (np.cumsum([4] * 12 + [12] * 12).tolist(), {}),
    "every third missing": (
        [SPACING_MM * every_third_missing(k) for k in range(24)],
        {"InstanceNumber": lambda k: every_third_missing(k) + 1},
    ),
    "some missing, numbered again": (
        [SPACING_MM * k for k in range(30) if k not in (3, 4, 9, 15, 22, 26)],
        {},
    ),
    "some missing, no numbers": (
        [SPACING_MM * k for k in range(30) if k not in (3, 4, 9, 15, 22, 26)],
        on(0, 0),
    ),
    "one number for all": (odd_heights([0] * 24), on(1, 0)),
    "no numbers, odd places": (odd_heights(JITTER), on(0, 0)),
    "a number twice": (odd_heights([0] * 24), {"InstanceNumber": lambda k: max(k, 1)}),
    "two numbers twice": (odd_heights([0] * 24), {"InstanceNumber": lambda k: min(max(k, 1), 22)}),
    "numbers of packages, over and over": (
        odd_heights([0] * 24),
        {"InstanceNumber": lambda k: k % 4 + 1},
    ),
    "packages with numbers of their own": (
        odd_heights([0] * 24),
        {"StackID": lambda k: str(k % 2), "InstanceNumber": lambda k: k // 2 + 1},
    ),
    "packages numbered one after another": (
        odd_heights([0] * 24),
        {"InstanceNumber": lambda k: k // 2 + 1 + 12 * (k % 2)},
    ),
    "three packages numbered one after another": (
        odd_heights([0] * 24),
        {"InstanceNumber": lambda k: k // 3 + 1 + 8 * (k % 3)},
    ),
    "numbers in an odd order": (odd_heights([0] * 24), {"InstanceNumber": lambda k: 7 * k % 24}),
}


@pytest.mark.parametrize("heights_mm, given", IRREGULAR.values(), ids=IRREGULAR)
def test_one_stack_stays_whole(write, heights_mm, given):
    assert [len(own) for own in grouped(placed(write, heights_mm, **given))] == [24]


@given(integers(0, 2**32), floats(1.3, 4.0), integers(8, 30))
@settings(max_examples=25, deadline=None)
def test_no_stack_of_odd_places_is_parted(write, seed, off_mm, slices):
    """Images up to a third of the spacing from their places."""
    off = np.random.default_rng(seed).uniform(-off_mm, off_mm, slices).tolist()
    assert [len(own) for own in grouped(placed(write, odd_heights(off)))] == [slices]


@given(integers(6, 20), integers(6, 20), floats(0.06, 0.94), floats(0.7, 1.4))
@settings(max_examples=25, deadline=None)
def test_two_stacks_are_never_read_as_one(write, slices, others, off, wider):
    """Whatever their offset and spacings, if image numbers recur: parted, or of images at one place."""
    upper = grid(off * SPACING_MM, wider * SPACING_MM)
    volumes = grouped(stack(write, grid(), slices, 1) + stack(write, upper, others, 2))
    assert len(volumes) > 1 or len(np.unique(np.round(np.diff(volumes[0]), 2))) > 1
    assert sum(map(len, volumes)) == slices + others
