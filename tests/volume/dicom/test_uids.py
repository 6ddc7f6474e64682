"""Series UIDs, stacks, packages and repeats where the header does not say in so many words which images make
one volume."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, permutations

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import address
from fovnet.volume.dicom.frames import frames_of_dataset
from fovnet.volume.dicom.over_time import set_time_points_aside
from fovnet.volume.dicom.series import group_into_volumes
from fovnet.volume.dicom.source import DicomObject
from fovnet.volume.dicom.survey import survey
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.source import read

AXIAL = np.array([[-1.5, 0, 0, 30], [0, -1.25, 0, 20], [0, 0, 4.0, -50], [0, 0, 0, 1]])
SAGITTAL = np.array([[0, 0, 4.0, -100], [-1.25, 0, 0, 20], [0, -1.5, 0, 30], [0, 0, 0, 1]])
TILTED = AXIAL.copy()
TILTED[:3, 1], TILTED[:3, 2] = (
    [0, -1.25 * np.cos(0.3), -1.25 * np.sin(0.3)],
    [0, -4 * np.sin(0.3), 4 * np.cos(0.3)],
)
SMALL = np.zeros((20, 24, 1), dtype=np.int16)
Given = dict[str, Any]
Grouped = list[tuple[str, list[str]]]


def up(affine: np.ndarray, mm: float) -> np.ndarray:
    """The grid of slices 4 mm apart, moved along its normal."""
    there = affine.copy()
    there[:3, 3] += affine[:3, 2] * mm / 4
    return there


def aside(affine: np.ndarray, *mm: float) -> np.ndarray:
    there = affine.copy()
    there[:3, 3] += mm
    return there


def numbered(which: int, first: int = 1) -> Given:
    """UIDs of one of several stacks, and image numbers from `first`."""
    return {
        "SOPInstanceUID": lambda k: f"1.2.{which}.{k}",
        "SeriesInstanceUID": "1.2.3",
        "InstanceNumber": lambda k: first + k,
    }


def grouped(*stacks: list[Any]) -> Grouped:
    """(kind, sorted SOP instance UIDs and frames) of each volume among all these images, which are not
    written."""
    frames = [
        frame
        for number, one in enumerate(chain(*stacks))
        for frame in frames_of_dataset(DicomObject(Path("in") / str(number)), one)
    ]
    return sorted(
        (
            series.aside_kind,
            sorted(f"{frame.sop_uid}/{frame.frame_number}" for frame in series.frames),
        )
        for series in set_time_points_aside(group_into_volumes(frames))
    )


def as_written(*stacks: list[Any], kinds: tuple[str, ...] = ("",)) -> Grouped:
    """What `grouped` returns if each of these stacks is a volume; the last kind is that of all further
    ones."""
    each = [*kinds, *[kinds[-1]] * (len(stacks) - len(kinds))]
    return sorted(
        (kind, sorted(f"{one.SOPInstanceUID}/0" for one in stack))
        for kind, stack in zip(each, stacks, strict=True)
    )


def counts(found: Grouped) -> list[tuple[str, int]]:
    return [(kind, len(images)) for kind, images in found]


def refusal(folder: Path) -> VolumeError:
    with pytest.raises(VolumeError) as caught:
        read(folder)
    return caught.value


def is_one_volume(folder: Path, voxels: np.ndarray) -> bool:
    """Whether a folder is found as one volume, with these voxels."""
    return find_volumes([folder]).volume_paths == [folder] and np.array_equal(
        read(folder).voxels, voxels
    )


# Several series under one series UID

SERIES: dict[str, list[tuple[np.ndarray, int, Given]]] = {  # grid, slices, elements of each series
    "same place": [(AXIAL, 9, {}), (AXIAL, 9, {})],
    "three of them": [(AXIAL, 9, {}), (AXIAL, 9, {}), (AXIAL, 9, {})],
    "numbers of images go on": [(AXIAL, 9, {}), (AXIAL, 9, {"InstanceNumber": lambda k: 10 + k})],
    "numbers of images alternate": [
        (AXIAL, 9, {"InstanceNumber": lambda k: 2 * k}),
        (AXIAL, 9, {"InstanceNumber": lambda k: 2 * k + 1}),
    ],
    "another description": [
        (AXIAL, 9, {"SeriesDescription": "t1"}),
        (AXIAL, 9, {"SeriesDescription": "t2"}),
    ],
    "far above": [(AXIAL, 9, {}), (up(AXIAL, 400), 7, {})],
    "just above": [(AXIAL, 9, {}), (up(AXIAL, 36), 7, {})],
    "overlapping": [(AXIAL, 9, {}), (up(AXIAL, 28), 7, {})],
    "within the other": [(AXIAL, 12, {}), (up(AXIAL, 8), 4, {})],
    "planes between the other's": [(AXIAL, 9, {}), (up(AXIAL, 2), 9, {})],
    "planes near the other's": [(AXIAL, 9, {}), (up(AXIAL, 0.3), 9, {})],
    "beside": [(AXIAL, 9, {}), (aside(AXIAL, 200, 0, 0), 9, {})],
    "another direction": [(AXIAL, 9, {}), (SAGITTAL, 9, {})],
    "another slice distance": [(AXIAL, 9, {}), (AXIAL @ np.diag([1, 1, 2, 1]), 5, {})],
    "other echoes": [(AXIAL, 9, {"EchoNumbers": 1}), (AXIAL, 9, {"EchoNumbers": 2})],
    "other b-values": [
        (AXIAL, 9, {"DiffusionBValue": 0.0}),
        (AXIAL, 9, {"DiffusionBValue": 800.0}),
    ],
    "other temporal positions": [
        (AXIAL, 9, {"TemporalPositionIdentifier": 1}),
        (AXIAL, 9, {"TemporalPositionIdentifier": 2}),
    ],
    "other acquisitions": [
        (AXIAL, 9, {"AcquisitionNumber": 1}),
        (AXIAL, 9, {"AcquisitionNumber": 2}),
    ],
    "packages in both": [
        (AXIAL, 9, {"StackID": lambda k: str(k % 2)}),
        (AXIAL, 9, {"StackID": lambda k: str(k % 3)}),
    ],
    "one without a number": [(AXIAL, 9, {}), (AXIAL, 9, {"SeriesNumber": None})],
    "no series UID": [(AXIAL, 9, {"SeriesInstanceUID": ""}), (AXIAL, 9, {"SeriesInstanceUID": ""})],
}


@pytest.mark.parametrize("series", SERIES.values(), ids=SERIES)
def test_each_series_number_under_one_uid_is_a_volume_of_its_own(write, series):
    """None is a repeat of another."""
    stacks = [
        write.images(
            SMALL.repeat(slices, axis=2),
            affine,
            **{"SeriesNumber": number, **numbered(number), **own},
        )
        for number, (affine, slices, own) in enumerate(series, start=2)
    ]
    assert grouped(*stacks) == as_written(*stacks)


@pytest.mark.parametrize("mm", [0, 400], ids=["same place", "far above"])
def test_two_series_under_one_uid_are_found_in_their_folders(tmp_path, write, mm):
    """What is named in the tree is found where it lies alone, too."""
    voxels = {
        folder: write.noise(seed=seed)
        for seed, folder in enumerate((tmp_path / "a", tmp_path / "b"))
    }
    for n, folder in enumerate(voxels):
        write.save(
            folder,
            write.images(voxels[folder], up(AXIAL, mm * n), SeriesNumber=n + 2, **numbered(n)),
        )
    assert find_volumes([tmp_path]).volume_paths == list(voxels)
    for series, (folder, wanted) in zip(survey(tmp_path).series, voxels.items(), strict=True):
        for path in (
            folder,
            address(folder, series.series_id),
            address(tmp_path, series.series_id),
        ):
            assert np.array_equal(read(path).voxels, wanted)


def test_time_points_within_each_of_two_series_under_one_uid_are_repeats(write):
    stacks = [
        write.images(
            SMALL.repeat(9, axis=2),
            SeriesNumber=n,
            TemporalPositionIdentifier=t,
            **numbered(10 * n + t, 9 * t),
        )
        for n in (2, 3)
        for t in (1, 2)
    ]
    assert grouped(*stacks) == as_written(*stacks, kinds=("", "repeat", "", "repeat"))


def test_a_single_image_of_another_number_spoils_no_series(write):
    stack, one = (
        write.images(SMALL.repeat(9, axis=2), **numbered(1)),
        write.images(SMALL, up(AXIAL, 12), SeriesNumber=8, **numbered(2)),
    )
    assert grouped(stack + one) == as_written(stack, one, kinds=("", "single"))


def test_enhanced_objects_of_several_numbers_are_several_volumes(write):
    places = [write.geometry(AXIAL, k) for k in range(9)]
    files = [
        write.enhanced(
            np.zeros((9, 24, 20), np.int16), places, SeriesNumber=n, SOPInstanceUID=f"1.2.{n}"
        )
        for n in (1, 2)
    ]
    assert counts(grouped(files)) == [("", 9), ("", 9)]


NUMBERS: dict[str, Callable[[int], Any]] = {  # of the series, in nine slices of one volume
    "another in every slice": lambda k: k + 1,
    "absent in some": lambda k: 7 if k % 3 else None,
    "absent in the upper half": lambda k: 7 if k < 5 else None,
    "absent in one": lambda k: 7 if k != 4 else None,
    "another in one slice": lambda k: 7 + (k == 4),
    "another in the two topmost slices": lambda k: 7 + (k > 6),
    "at random": lambda k: [3, 1, 3, 2, 2, 1, 3, 3, 1][k],
    "in pairs": lambda k: k // 2 + 1,
    "random, and absent in some": lambda k: [3, None, 3, 2, 2, None, 9, 3, 1][k],
    "absent everywhere": lambda k: None,
    "leading zeros": lambda k: "07" if k % 2 else "7",
}


@pytest.mark.parametrize("number", NUMBERS.values(), ids=NUMBERS)
def test_numbers_that_make_no_series_take_no_volume_apart(write, number):
    files = write.images(SMALL.repeat(9, axis=2), SeriesNumber=number)
    assert grouped(files) == as_written(files)


@pytest.mark.parametrize(
    "number",
    [
        "another in every slice",
        "absent in some",
        "absent in the upper half",
        "in pairs",
        "leading zeros",
    ],
)
def test_numbers_that_make_no_series_take_no_film_apart(write, number):
    films = [
        write.images(
            SMALL.repeat(9, axis=2),
            SeriesNumber=NUMBERS[number],
            TemporalPositionIdentifier=n + 1,
            **numbered(n, 9 * n + 1),
        )
        for n in range(3)
    ]
    assert grouped(*films) == as_written(*films, kinds=("", "repeat"))


# Packages of slices


def of_package(names: tuple[str, ...], package: Callable[[int], int]) -> Given:
    values = {
        "StackID": lambda k: str(package(k) + 1),
        "TemporalPositionIdentifier": lambda k: package(k) + 1,
    }
    return {name: values[name] for name in names}


PACKAGES: dict[str, Callable[[int], int]] = {  # of twelve slices
    "two interleaved": lambda k: k % 2,
    "three interleaved": lambda k: k % 3,
    "five interleaved": lambda k: k % 5,
    "two blocks": lambda k: k // 6,
    "three blocks": lambda k: k // 4,
    "uneven blocks": lambda k: int(k > 2) + int(k > 8),
    "every slice": lambda k: k,
    "blocks, interleaved": lambda k: k // 6 * 2 + k % 2,
}
BY = {
    "stack": ("StackID",),
    "time": ("TemporalPositionIdentifier",),
    "both": ("StackID", "TemporalPositionIdentifier"),
}


@pytest.mark.parametrize("names", BY.values(), ids=BY)
@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
@pytest.mark.parametrize("affine", [AXIAL, TILTED], ids=["axial", "tilted"])
def test_packages_of_slices_are_one_volume(write, affine, package, names):
    # package after package
    order = np.argsort(np.argsort([package(k) for k in range(12)], kind="stable")) + 1
    files = write.images(
        SMALL.repeat(12, axis=2),
        affine,
        InstanceNumber=lambda k: int(order[k]),
        **of_package(names, package),
    )
    assert grouped(files) == as_written(files)


@pytest.mark.parametrize("over_time", [1, 2], ids=["once", "twice"])
@pytest.mark.parametrize("package", PACKAGES.values(), ids=PACKAGES)
def test_packages_in_an_enhanced_object_are_one_volume(tmp_path, write, package, over_time):
    voxels, order = write.noise((20, 24, 12)), sorted(range(12), key=package)
    content = [
        {
            "FrameContentSequence": {
                "StackID": str(package(k) + 1),
                "InStackPositionNumber": order.index(k) + 1,
                "TemporalPositionIndex": t + 1,
            }
        }
        for t in range(over_time)
        for k in order
    ]
    frames = np.stack([voxels[:, :, k].T + t for t in range(over_time) for k in order])
    places = [write.geometry(AXIAL, k) for _ in range(over_time) for k in order]
    path = write.save(tmp_path, [write.enhanced(frames, places, content)]) / "im000.dcm"
    assert [series.aside_kind for series in survey(path).series] == ["", "repeat"][
        :over_time
    ] and is_one_volume(path, voxels)


def test_a_slice_missing_from_a_package_is_bridged(tmp_path, write):
    files = write.images(write.noise((20, 24, 12)), **of_package(BY["stack"], lambda k: k % 3))
    write.save(tmp_path, files[:5] + files[6:])
    [series] = survey(tmp_path).series
    assert len(series.frames) == 11 and read(tmp_path).voxels.shape == (20, 24, 12)


# of six slices each, beside one of six from -50 to -30 mm
STACKS = {
    "turned": SAGITTAL,
    "far above": up(AXIAL, 100),
    "a little far above": up(AXIAL, 32),
    "overlapping": up(AXIAL, 20),
    "same place": AXIAL,
    "not quite between": up(AXIAL, 1),
    "beside": aside(AXIAL, 60, 0, 0),
    "above, and aside": aside(AXIAL, 6, 0, 24),
    "another distance": up(AXIAL, 24) @ np.diag([1, 1, 1.5, 1]),
}


@pytest.mark.parametrize("names", BY.values(), ids=BY)
@pytest.mark.parametrize("other", STACKS.values(), ids=STACKS)
def test_stacks_that_are_no_packages_of_one_volume_stay_apart(write, other, names):
    stacks = [
        write.images(
            SMALL.repeat(6, axis=2),
            affine,
            **numbered(n, 6 * n + 1),
            **of_package(names, lambda k, n=n: n),
        )
        for n, affine in enumerate((AXIAL, other))
    ]
    assert [count for _, count in counts(grouped(*stacks))] == [6, 6]


# Repeats that no public attribute tells apart

# tag, kind of value, its values for the first and the second pass
REPEATS: dict[str, tuple[int, str, tuple[Any, Any]]] = {
    "label": (0x20051429, "CS", ("CONTROL", "LABEL")),
    "number of the b-value": (0x20051412, "IS", ("1", "2")),
    "phase": (0x20011008, "IS", ("1", "2")),
    "a real number": (0x200510A0, "FL", (0.0, 4.5)),
    "another vendor's": (0x00191001, "LO", ("A", "B")),
    "time of creation": (0x00080013, "TM", ("101010", "101110")),
}


@pytest.mark.parametrize("again", [False, True], ids=["numbered alike", "numbered at random"])
@pytest.mark.parametrize("attribute", REPEATS.values(), ids=REPEATS)
def test_repeats_that_any_attribute_tells_apart_are_a_volume_and_its_repeat(
    tmp_path, write, attribute, again
):
    """Whatever else differs from image to image."""
    tag, vr, values = attribute
    numbers = np.random.default_rng(2).permutation(18).reshape(2, 9) + 1
    for n, value in enumerate(values):
        order = {"InstanceNumber": lambda k, n=n: int(numbers[n, k])} if again else {}
        files = write.images(
            write.noise(seed=n),
            **{**numbered(n), **order},
            InstanceCreationDate=lambda k: f"202001{k + 10}",
        )
        for one in files:
            one.add_new(tag, vr, value)
        write.save(tmp_path, files, f"{n}-")
    first = int(again and numbers[1].min() == 1)
    assert is_one_volume(tmp_path, write.noise(seed=first))
    assert (
        read(tmp_path)
        .notes[0]
        .endswith(f"told apart by attribute ({tag >> 16:04x},{tag & 0xFFFF:04x})")
    )


def test_frames_of_one_object_that_nothing_tells_apart_are_read_in_the_order_of_their_numbers(
    tmp_path, write
):
    """Twelve positions, three frames of each, in any order: as enhanced images of perfusion store label and
    control."""
    order = (
        np.random.default_rng(5).permutation([(k, n) for k in range(12) for n in range(3)]).tolist()
    )
    voxels = np.stack([write.noise((20, 24, 12), seed=n) for n in range(3)])
    frames = np.stack([voxels[n][:, :, k].T for k, n in order])
    write.save(tmp_path, [write.enhanced(frames, [write.geometry(AXIAL, k) for k, _ in order])])
    first = [next(n for place, n in order if place == k) for k in range(12)]
    assert np.array_equal(
        read(tmp_path).voxels, np.stack([voxels[n][:, :, k] for k, n in enumerate(first)], axis=2)
    )


def test_labels_of_three_time_points_are_told_apart_too(tmp_path, write):
    """Six images a place in any order: the labels part them in two, the numbers each of these in three."""
    order = np.random.default_rng(3).permutation(54).reshape(6, 9)
    for n in range(6):
        files = write.images(
            write.noise(seed=n),
            **{**numbered(n), "InstanceNumber": lambda k, n=n: int(order[n, k])},
        )
        for one in files:
            one.add_new(0x20051429, "CS", ("CONTROL", "LABEL")[n % 2])
        write.save(tmp_path, files, f"{n}-")
    found = survey(tmp_path).series
    assert [(series.aside_kind, len(series.frames)) for series in found] == [("", 9)] + [
        ("repeat", 9)
    ] * 5
    for series in found:
        assert len({int(frame.sop_uid.split(".")[2]) % 2 for frame in series.frames}) == 1, (
            "of one label"
        )


def passes(write: Any, order: np.ndarray, by: str) -> list[list[Any]]:
    """Volumes of one place: `order` (slices, passes) holds the image numbers, or the seconds of images that
    all have number 1."""
    values = {
        "InstanceNumber": lambda k, n: int(order[k, n]),
        "AcquisitionTime": lambda k, n: f"10{order[k, n]:04}",
    }
    return [
        write.images(
            SMALL.repeat(len(order), axis=2),
            **{**numbered(n), "InstanceNumber": 1, by: lambda k, n=n: values[by](k, n)},
        )
        for n in range(order.shape[1])
    ]


@settings(max_examples=15)
@given(permutations(range(27)), integers(3, 9))
@pytest.mark.parametrize("by", ["InstanceNumber", "AcquisitionTime"])
def test_repeats_in_any_order_are_a_volume_and_repeats_of_one_image_a_place(
    write, by, numbers, slices
):
    found = grouped(*passes(write, np.asarray(numbers[: 3 * slices]).reshape(slices, 3) + 1, by))
    assert counts(found) == [("", slices), ("repeat", slices), ("repeat", slices)]
    assert all(
        len({image.split("/")[0].rsplit(".", 1)[1] for image in images}) == slices
        for _, images in found
    )


def test_the_answer_says_that_the_first_image_of_each_place_is_read(tmp_path, write):
    order = np.random.default_rng(4).permutation(18).reshape(9, 2) + 1
    voxels = np.stack([write.noise(seed=n) for n in (0, 1)])
    for n in (0, 1):
        write.save(
            tmp_path,
            write.images(
                voxels[n], **{**numbered(n), "InstanceNumber": lambda k, n=n: int(order[k, n])}
            ),
            f"{n}-",
        )
    wanted = np.stack([voxels[order[k].argmin()][:, :, k] for k in range(9)], axis=2)
    assert is_one_volume(tmp_path, wanted)
    assert any(
        note.startswith("the first of 2 images at each position") for note in read(tmp_path).notes
    )


DOUBLED: dict[str, Callable[[int, int], bool]] = {  # whether pass n has slice k
    "one slice twice": lambda k, n: n == 0 or k == 4,
    "the second broken off": lambda k, n: n == 0 or k < 7,
    "one missing in the second": lambda k, n: n == 0 or k != 4,
    "every other slice twice": lambda k, n: n == 0 or k % 2 == 0,
    "one missing in each": lambda k, n: k != 3 + n,
    "one place alone": lambda k, n: k == 4,
}


@pytest.mark.parametrize("has", DOUBLED.values(), ids=DOUBLED)
def test_places_with_unequal_numbers_of_images_are_refused(tmp_path, write, has):
    order = np.random.default_rng(1).permutation(18).reshape(9, 2) + 1
    for n in (0, 1):
        files = write.images(
            write.noise(seed=n),
            **{**numbered(n), "InstanceNumber": lambda k, n=n: int(order[k, n])},
        )
        write.save(tmp_path, [file for k, file in enumerate(files) if has(k, n)], f"{n}-")
    assert refusal(tmp_path).code == "volume-doubled"


def test_two_volumes_of_one_place_that_nothing_puts_in_order_are_refused(tmp_path, write):
    """Numbered alike, at no time: a stack picked from both would be of neither."""
    for n in (0, 1):
        write.save(tmp_path, write.images(write.noise(seed=n), **numbered(n)), f"{n}-")
    assert refusal(tmp_path).code == "volume-doubled"


# Time points under a series UID each


def time_points(write: Any, times: int, series: int = 5, **more: Any) -> list[list[Any]]:
    """A stack for each time, with a series UID of its own; `more` holds functions of the time.  The UIDs do
    not run with the time."""
    return [
        write.images(
            write.noise(seed=10 * series + t),
            **{
                "SeriesNumber": series,
                "SeriesInstanceUID": f"1.2.{series}.{9 - t}",
                "SOPInstanceUID": lambda k, t=t: f"1.2.{series}.{t}.{k}",
                **{key: value(t) if callable(value) else value for key, value in more.items()},
            },
        )
        for t in range(times)
    ]


MOMENTS: dict[str, Given] = {
    "temporal position": {"TemporalPositionIdentifier": lambda t: t + 1},
    "acquisition time": {"AcquisitionTime": lambda t: f"10100{t}.25"},
    "acquisition date and time": {"AcquisitionDateTime": lambda t: f"2020010110100{t}.25"},
    "content time": {"ContentTime": lambda t: f"10100{t}"},
    "series time": {"SeriesTime": lambda t: f"10100{t}"},
    "acquisition number": {"AcquisitionNumber": lambda t: t + 1},
    "trigger time": {"TriggerTime": lambda t: str(40 * t)},
    "image numbers": {"InstanceNumber": lambda t: lambda k: 9 * t + k + 1},
    "all": {
        "TemporalPositionIdentifier": lambda t: t + 1,
        "AcquisitionTime": lambda t: f"10100{t}",
        "AcquisitionNumber": lambda t: t + 1,
        "InstanceNumber": lambda t: lambda k: 9 * t + k + 1,
    },
    "every slice's own time": {"AcquisitionTime": lambda t: lambda k: f"1010{10 * t + k:02}"},
    "gradient direction": {
        "DiffusionBValue": 800.0,
        "AcquisitionTime": lambda t: f"10100{t}",
        "DiffusionGradientOrientation": lambda t: [float(t == axis) for axis in range(3)],
    },
    "temporal position, no number": {
        "TemporalPositionIdentifier": lambda t: t + 1,
        "SeriesNumber": None,
    },
}


@pytest.mark.parametrize("moment", MOMENTS.values(), ids=MOMENTS)
def test_of_time_points_under_a_uid_each_the_first_is_read(write, moment):
    """Two functional series of three time points are two volumes, not six."""
    rest = time_points(write, 3, 5, SeriesDescription="rest", **moment)
    task = time_points(write, 3, 6, SeriesDescription="task", **moment)
    assert grouped(*rest, *task) == as_written(
        *rest, *task, kinds=("", "repeat", "repeat", "", "repeat", "repeat")
    )


def test_the_folder_of_the_time_points_is_the_volume_and_each_alone_is_one(tmp_path, write):
    for name, series in (("rest", 5), ("task", 6)):
        for t, files in enumerate(
            time_points(write, 3, series, AcquisitionTime=lambda t: f"10100{t}")
        ):
            write.save(tmp_path / name / f"t{t}", files)
    assert find_volumes([tmp_path]).volume_paths == [tmp_path / "rest", tmp_path / "task"]
    volume = read(tmp_path / "task")
    assert np.array_equal(volume.voxels, write.noise(seed=60)) and volume.notes == (
        "the first of 3 time points, each with a series UID of its own",
    )
    assert is_one_volume(tmp_path / "task" / "t2", write.noise(seed=62))
    assert len(find_volumes([tmp_path], ["repeat"]).volume_paths) == 6


def test_enhanced_objects_of_one_time_point_each_are_one_volume(write):
    places = [write.geometry(AXIAL, k) for k in range(9)]
    content = [{"FrameContentSequence": {"StackID": "1"}}] * 9
    files = [
        write.enhanced(
            np.zeros((9, 24, 20), np.int16),
            places,
            content,
            SeriesInstanceUID=f"1.2.{t}",
            SOPInstanceUID=f"1.2.{t}.1",
            AcquisitionDateTime=f"2020010110100{t}.5",
        )
        for t in range(3)
    ]
    assert counts(grouped(files)) == [("", 9), ("repeat", 9), ("repeat", 9)]


def test_mosaics_of_one_time_point_each_are_one_volume(write):
    files = [
        write.mosaic(
            write.noise(),
            SeriesInstanceUID=f"1.2.{t}",
            SOPInstanceUID=f"1.2.{t}.1",
            AcquisitionTime=f"10100{t}",
        )
        for t in range(3)
    ]
    assert counts(grouped(files)) == [("", 9), ("repeat", 9), ("repeat", 9)]


ACQUISITIONS: dict[str, Given] = {
    "description": {"SeriesDescription": lambda t: f"run {t}"},
    "protocol": {"ProtocolName": lambda t: f"run {t}"},
    "series number": {"SeriesNumber": lambda t: t + 1},
    "no series number": {"SeriesNumber": None},
    "repetition time": {"RepetitionTime": lambda t: str(500 + t)},
    "echo time": {"EchoTime": lambda t: str(5 + t)},
    "echo": {"EchoNumbers": lambda t: t + 1},
    "flip angle": {"FlipAngle": lambda t: str(9 + t)},
    "inversion time": {"InversionTime": lambda t: str(900 + t)},
    "contrast agent": {"ContrastBolusAgent": lambda t: "gadolinium" if t else ""},
    "sequence": {"ScanningSequence": lambda t: ("SE", "GR")[t]},
    "variant": {"SequenceVariant": lambda t: ("SP", "SK")[t]},
    "frame of reference": {"FrameOfReferenceUID": lambda t: f"1.2.{t}"},
    "b-value": {"DiffusionBValue": lambda t: 800.0 * t},
    "image type": {"ImageType": lambda t: ["ORIGINAL", "PRIMARY", "M", ("IN_PHASE", "WATER")[t]]},
    "study": {"StudyInstanceUID": lambda t: f"1.2.3.{t}"},
    "patient": {"PatientID": lambda t: f"P{t}"},
    "position": {"ImagePositionPatient": lambda t: lambda k: [-30, -20, 4 * k + 18 * t]},
    "pixel spacing": {"PixelSpacing": lambda t: [1 + t, 1 + t]},
    "direction": {
        "ImageOrientationPatient": lambda t: [
            1,
            0,
            0,
            0,
            np.cos(0.1 * t).round(5),
            np.sin(0.1 * t).round(5),
        ]
    },
    "coil": {"ReceiveCoilName": lambda t: ("head", "body")[t]},
    "nothing, not even the time": {"AcquisitionTime": "101000"},
}


@pytest.mark.parametrize("differ", ACQUISITIONS.values(), ids=ACQUISITIONS)
def test_other_acquisitions_at_the_same_place_are_no_time_points(write, differ):
    stacks = time_points(write, 2, **{"AcquisitionTime": lambda t: f"10100{t}", **differ})
    assert grouped(*stacks) == as_written(*stacks)


# A series UID for every slice


def apart(which: int = 0) -> Given:
    return {
        "SeriesInstanceUID": lambda k: f"1.2.3.{which}.{k}",
        "SOPInstanceUID": lambda k: f"1.2.4.{which}.{k}",
    }


SLICES: dict[str, Given] = {
    "plain": {},
    "image numbers at random": {"InstanceNumber": lambda k: [5, 2, 9, 1, 3, 8, 4, 7, 6][k]},
    "one image number": {"InstanceNumber": 1},
    "no series number": {"SeriesNumber": None},
    "a number of ten thousand": {"SeriesNumber": 10000},
    "each slice at its own time": {"AcquisitionTime": lambda k: f"10100{k}"},
    "nobody named": {"PatientID": ""},
    "packages": {"StackID": lambda k: str(k % 3)},
    "temporal positions": {"TemporalPositionIdentifier": lambda k: k + 1},
    "echo times of its own": {"EchoTime": lambda k: f"{80 + k % 3}"},
    "one frame each": {"NumberOfFrames": 1},
}


@pytest.mark.parametrize("affine", [AXIAL, TILTED, SAGITTAL], ids=["axial", "tilted", "sagittal"])
@pytest.mark.parametrize("own", SLICES.values(), ids=SLICES)
def test_slices_with_a_series_uid_each_are_one_volume(write, own, affine):
    files = write.images(SMALL.repeat(9, axis=2), affine, **apart(), **own)
    assert grouped(files) == as_written(files)


def test_a_volume_of_slices_with_a_series_uid_each_is_read_and_says_so(tmp_path, write):
    files = write.images(write.noise(), **apart())
    for k, one in enumerate(files):
        write.save(tmp_path / f"s{k}", [one])
    assert is_one_volume(tmp_path, write.noise())
    for path in (tmp_path, address(tmp_path, survey(tmp_path).series[0].series_id)):
        assert read(path).notes == (
            "joined from 9 series of one position each: every slice has a series UID of its own",
        )


OVER = {
    "time": {"TemporalPositionIdentifier": (1, 2)},
    "echo": {"EchoNumbers": (1, 2)},
    "clock": {"AcquisitionTime": ("1010", "1011")},
    "numbers alone": {},
}


@pytest.mark.parametrize("over", OVER.values(), ids=OVER)
@pytest.mark.parametrize("shared", [True, False], ids=["a UID a place", "a UID an image"])
def test_films_with_a_series_uid_for_every_slice_are_a_volume_and_its_repeat(write, over, shared):
    films = [
        write.images(
            SMALL.repeat(9, axis=2),
            **{
                **apart(n),
                "InstanceNumber": lambda k, n=n: 9 * n + k + 1,
                **({"SeriesInstanceUID": lambda k: f"1.2.3.{k}"} if shared else {}),
                **{key: values[n] for key, values in over.items()},
            },
        )
        for n in (0, 1)
    ]
    assert grouped(*films) == as_written(*films, kinds=("", "repeat"))


SCATTERED = {
    "study": ("StudyInstanceUID",),
    "frame of reference": ("FrameOfReferenceUID",),
    "study and frame of reference": ("StudyInstanceUID", "FrameOfReferenceUID"),
    "series and study": ("SeriesInstanceUID", "StudyInstanceUID"),
    "series and frame of reference": ("SeriesInstanceUID", "FrameOfReferenceUID"),
    "series, study and frame of reference": (
        "SeriesInstanceUID",
        "StudyInstanceUID",
        "FrameOfReferenceUID",
    ),
}


@pytest.mark.parametrize("affine", [AXIAL, TILTED, SAGITTAL], ids=["axial", "tilted", "sagittal"])
@pytest.mark.parametrize("order", ["up", "down", "at random"])
@pytest.mark.parametrize("names", SCATTERED.values(), ids=SCATTERED)
def test_slices_with_uids_of_their_own_are_one_volume(write, names, order, affine):
    """As MATLAB's dicomanon writes them."""
    numbers = {
        "up": range(1, 10),
        "down": range(9, 0, -1),
        "at random": [5, 2, 9, 1, 3, 8, 4, 7, 6],
    }[order]
    own = {name: lambda k, name=name: f"1.2.{len(name)}.{k}" for name in names}
    files = write.images(
        SMALL.repeat(9, axis=2),
        affine,
        InstanceNumber=lambda k: numbers[k],
        SOPInstanceUID=lambda k: f"1.2.4.{k}",
        **own,
    )
    assert grouped(files) == as_written(files)


def test_a_volume_of_slices_with_uids_of_their_own_says_so(tmp_path, write):
    uids = ("StudyInstanceUID", "SeriesInstanceUID", "FrameOfReferenceUID")
    own = {name: lambda k, name=name: f"1.2.{len(name)}.{k}" for name in uids}
    write.save(tmp_path, write.images(write.noise(), **own))
    assert is_one_volume(tmp_path, write.noise())
    joined = "joined from 9 images of one position each: every slice has UIDs of its own"
    assert read(tmp_path).notes == (f"{joined} (study and series and frame of reference)",)


WHY: dict[str, tuple[Given, str]] = {
    "series numbers": ({"SeriesNumber": lambda k: k + 1}, "they differ in series number"),
    "people": ({"PatientID": lambda k: f"P{k}"}, "they differ in PatientID"),
    "places": ({"ImagePositionPatient": lambda k: [0, 0, k**2]}, "they are not evenly spaced"),
    "numbers": ({"InstanceNumber": 1}, "their image numbers recur"),
    "descriptions": ({"SeriesDescription": lambda k: f"s{k}"}, "they differ in description"),
}


@pytest.mark.parametrize("own, why", WHY.values(), ids=WHY)
def test_images_with_a_study_each_that_make_no_stack_are_refused_with_the_cause(
    tmp_path, write, own, why
):
    images = write.images(write.noise(), **{"StudyInstanceUID": lambda k: f"1.2.{k}", **own})
    write.save(tmp_path, images)
    assert f"Each image has a study UID of its own, and {why}." in refusal(tmp_path).sentence


# A time point that was broken off

BROKEN_OFF: dict[str, Given] = {
    "temporal positions": {"TemporalPositionIdentifier": lambda t: t + 1},
    "acquisitions": {"AcquisitionNumber": lambda t: t + 1},
    "trigger times": {"TriggerTime": lambda t: f"{40 * t}"},
    "echoes": {"EchoNumbers": lambda t: t + 1},
    "b-values": {"DiffusionBValue": lambda t: 400.0 * t},
}


@pytest.mark.parametrize("broken", [0, 1, 3], ids=["the first", "the second", "the last"])
@pytest.mark.parametrize("slices", [2, 5, 8])
@pytest.mark.parametrize("own", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_a_time_point_that_was_broken_off_is_no_volume(write, own, slices, broken):
    points = [
        write.images(
            SMALL.repeat(9, axis=2),
            **numbered(t, 9 * t + 1),
            **{key: value(t) for key, value in own.items()},
        )[: slices if t == broken else 9]
        for t in range(4)
    ]
    wanted = [("", 9), ("repeat", 9), ("repeat", 9), ("repeat", slices)]
    assert sorted(counts(grouped(*points))) == sorted(wanted)


@pytest.mark.parametrize("broken", [0, 2], ids=["the first", "the last"])
def test_objects_of_a_time_point_each_may_be_broken_off(write, broken):
    objects = []
    for t in range(3):
        places = [write.geometry(AXIAL, k) for k in range(4 if t == broken else 9)]
        content = [{"FrameContentSequence": {"TemporalPositionIndex": t + 1}} for _ in places]
        pixels = np.zeros((len(places), 24, 20), np.int16)
        own = {"SOPInstanceUID": f"1.2.{t}", "InstanceNumber": t + 1, "AcquisitionNumber": t + 1}
        objects.append(write.enhanced(pixels, places, content, **own))
    assert sorted(counts(grouped(objects))) == [("", 9), ("repeat", 4), ("repeat", 9)]


def test_a_time_point_with_a_series_uid_of_its_own_may_be_broken_off(write):
    points = time_points(write, 3, AcquisitionTime=lambda t: f"10100{t}")
    points[2] = points[2][:4]
    assert sorted(counts(grouped(*points))) == [("", 9), ("repeat", 4), ("repeat", 9)]


def test_two_series_with_a_uid_for_every_slice_are_two_volumes(write):
    stacks = [write.images(SMALL.repeat(9, axis=2), SeriesNumber=n, **apart(n)) for n in (1, 2)]
    assert grouped(*stacks) == as_written(*stacks)


SINGLES: dict[str, Given] = {
    "a number each": {"SeriesNumber": lambda k: k + 1},
    "a description each": {"SeriesDescription": lambda k: f"slice {k}"},
    "uneven places": {"ImagePositionPatient": lambda k: [0, 0, k**2]},
    "one place": {"ImagePositionPatient": [0, 0, 0]},
    "zigzag": {"ImagePositionPatient": lambda k: [8 * (k % 2), 0, 4 * k]},
    "a person each": {"PatientID": lambda k: f"P{k}"},
    "two images a frame of reference": {"FrameOfReferenceUID": lambda k: f"1.2.{k // 2}"},
    "two images a study": {"StudyInstanceUID": lambda k: f"1.2.{k // 2}"},
    "a study each, and one image number": {
        "StudyInstanceUID": lambda k: f"1.2.{k}",
        "InstanceNumber": 1,
    },
}


@pytest.mark.parametrize("own", SINGLES.values(), ids=SINGLES)
def test_single_images_that_make_no_stack_are_refused_with_the_cause(tmp_path, write, own):
    write.save(tmp_path, write.images(write.noise(), **apart(), **own))
    assert (
        refusal(tmp_path).code == "volume-single"
        and "Each image has a series UID of its own" in refusal(tmp_path).sentence
    )
