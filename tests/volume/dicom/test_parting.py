"""Several stacks in one series are volumes of their own: none is taken for a repeat, woven into another, or
lost."""

from __future__ import annotations

import numpy as np
import pytest
from pydicom.dataset import Dataset, FileDataset

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import address
from fovnet.volume.dicom.survey import survey
from fovnet.volume.sources.source import read

# rows run down, slices from front to back
CORONAL = np.array([[-1.5, 0, 0, 20], [0, 0, -5.0, 20], [0, -1.25, 0, 200], [0, 0, 0, 1]])
SAGITTAL = np.array([[0, 0, 4.0, -100], [-1.25, 0, 0, 20], [0, -1.5, 0, 30], [0, 0, 0, 1]])


def moved(affine, *mm):
    there = affine.copy()
    there[:3, 3] += mm
    return there


def two_stacks(write, folder, first, second, **more):
    """Two stacks of nine images in one series, numbered one after the other; functions in `more` are told
    which stack."""
    voxels = [write.noise(seed=seed) for seed in (1, 2)]
    for which, affine in enumerate((first, second)):
        own = {key: values[which] for key, values in more.items()}
        images = write.images(
            voxels[which], affine, InstanceNumber=lambda k, which=which: 9 * which + k + 1, **own
        )
        write.save(folder, images, f"v{which}-")
    return voxels


def both_are_read(folder, voxels, by):
    found = survey(folder).series
    assert [(len(series.frames), series.aside_kind) for series in found] == [(9, ""), (9, "")]
    for series, wanted in zip(found, voxels, strict=True):
        volume = read(address(folder, series.series_id))
        assert np.array_equal(volume.voxels, wanted) and f"told apart by {by}" in volume.notes[0]


@pytest.mark.parametrize(
    "more", [{}, {"AcquisitionNumber": (1, 2)}], ids=["no attribute", "acquisitions"]
)
@pytest.mark.parametrize("woven_mm", [0.0, 2.5], ids=["same planes", "planes between the others"])
def test_two_coronal_stations_of_a_body_are_two_volumes(tmp_path, write, more, woven_mm):
    """24 rows of 1.25 mm, one station 27 mm below the other: nine tenths of the field of view."""
    voxels = two_stacks(write, tmp_path, CORONAL, moved(CORONAL, 0, -woven_mm, -27), **more)
    both_are_read(tmp_path, voxels, "place in the plane")


def test_stacks_that_the_header_tells_apart_are_no_repeats_where_they_lie_elsewhere(
    tmp_path, write
):
    axial = np.array([[-1.5, 0, 0, 30], [0, -1.25, 0, 20], [0, 0, 4.0, -50], [0, 0, 0, 1]])
    voxels = two_stacks(write, tmp_path, axial, moved(axial, 200, 0, 0), StackID=("1", "2"))
    both_are_read(tmp_path, voxels, "stack")


def test_two_passes_shifted_by_a_tenth_of_the_field_are_a_volume_and_its_repeat(tmp_path, write):
    two_stacks(write, tmp_path, CORONAL, moved(CORONAL, 3, 0, 0), TemporalPositionIdentifier=(1, 2))
    assert [series.aside_kind for series in survey(tmp_path).series] == ["", "repeat"]


def test_both_knees_of_one_sagittal_series_are_two_volumes(tmp_path, write):
    voxels = two_stacks(write, tmp_path, SAGITTAL, moved(SAGITTAL, 160, 0, 0))
    both_are_read(tmp_path, voxels, "place along the normal")


@pytest.mark.parametrize(
    "more",
    [{"AcquisitionNumber": (1, 2, 3)}, {"AcquisitionTime": ("101500", "101630", "101800")}],
    ids=["acquisition number", "acquisition time"],
)
def test_three_axial_stations_that_overlap_are_three_volumes(tmp_path, write, more):
    """Nine slices each, two of them at the heights of the next station's: three parts, and no height with
    more than two images."""
    voxels = [write.noise(seed=seed) for seed in (1, 2, 3)]
    for n in range(3):
        own = {key: values[n] for key, values in more.items()}
        numbered = {"InstanceNumber": lambda k, n=n: 9 * n + k + 1}
        write.save(
            tmp_path,
            write.images(voxels[n], moved(write.AFFINE, 0, 0, 28.0 * n), **numbered, **own),
            f"s{n}-",
        )
    found = survey(tmp_path).series
    assert [(len(series.frames), series.aside_kind) for series in found] == [(9, "")] * 3
    for series, wanted in zip(found, voxels, strict=True):
        assert np.array_equal(read(address(tmp_path, series.series_id)).voxels, wanted)


@pytest.mark.parametrize("period", [1, 3])
def test_what_changes_from_slice_to_slice_makes_no_stations_of_doubled_slices(
    tmp_path, write, period
):
    """Two passes, the second broken off, with acquisition numbers that count slices or interleaved thirds of
    them."""
    for n in (0, 1):
        images = write.images(
            write.noise(seed=n),
            InstanceNumber=lambda k, n=n: 9 * n + k + 1,
            AcquisitionNumber=lambda k, n=n: k // 3 + 1 if period == 1 else k % 3 + 1,
        )
        write.save(tmp_path, images[: 9 - 2 * n], f"p{n}-")
    with pytest.raises(VolumeError) as caught:
        read(tmp_path)
    assert caught.value.code == "volume-doubled"


@pytest.mark.parametrize(
    "counts",
    [
        ("TemporalPositionIdentifier",),
        ("EchoNumbers",),
        ("TemporalPositionIdentifier", "EchoNumbers"),
    ],
)
def test_a_temporal_position_or_echo_that_counts_the_slices_parts_nothing(tmp_path, write, counts):
    write.save(tmp_path, write.images(write.noise(), **{key: lambda k: k + 1 for key in counts}))
    assert len(survey(tmp_path).series) == 1 and np.array_equal(
        read(tmp_path).voxels, write.noise()
    )


def test_a_temporal_index_that_counts_frames_parts_no_stack_and_parts_a_film(tmp_path, write):
    """Frames of one position over time are none; that sentence is for them alone."""
    frames = np.ascontiguousarray(write.noise().transpose(2, 1, 0))
    counted = [{"FrameContentSequence": {"TemporalPositionIndex": k + 1}} for k in range(9)]
    places = [write.geometry(write.AFFINE, k) for k in range(9)]
    write.save(tmp_path / "stack", [write.enhanced(frames, places, counted)])
    assert np.array_equal(read(tmp_path / "stack" / "im000.dcm").voxels, write.noise())
    for name, where, over_time in (
        ("film", [0] * 9, True),
        ("far apart", [0, 1, 2, 3, 40, 41, 42, 43, 44], False),
    ):
        places = [write.geometry(write.AFFINE, k) for k in where]
        path = write.save(tmp_path / name, [write.enhanced(frames, places, counted)]) / "im000.dcm"
        with pytest.raises(VolumeError) as caught:
            read(path)
        assert (
            caught.value.code == "volume-single"
            and ("of one position over time" in caught.value.sentence) == over_time
        )


def test_a_gap_over_which_numbers_are_missing_is_a_gap(tmp_path, write):
    """Five images of fourteen did not arrive: two stacks would be half a truth each."""
    images = write.images(write.noise((20, 24, 14)))
    write.save(tmp_path, images[:5] + images[10:])
    with pytest.raises(VolumeError) as caught:
        read(tmp_path)
    assert caught.value.code == "volume-gaps"


def test_a_cine_stored_slice_by_slice_gives_its_first_phase(tmp_path, write):
    """All phases of a slice before the next slice; trigger times differ from slice to slice by a
    millisecond."""
    phases = [write.noise(seed=seed) for seed in range(4)]
    stacks = [
        write.images(
            voxels,
            InstanceNumber=lambda k, n=n: 4 * k + n + 1,
            TriggerTime=lambda k, n=n: str(20 + 50 * n + k),
        )
        for n, voxels in enumerate(phases)
    ]
    write.save(tmp_path, [stacks[n][k] for k in range(9) for n in range(4)])
    assert [series.aside_kind for series in survey(tmp_path).series] == [
        "",
        "repeat",
        "repeat",
        "repeat",
    ]
    assert np.array_equal(read(tmp_path).voxels, phases[0])


@pytest.mark.parametrize("higher_mm", [0.02, 0.1, 0.3, 0.45])
@pytest.mark.parametrize("by", ["slice", "pass", "nothing"])
def test_three_passes_each_a_little_higher_are_a_volume_and_its_repeats(
    tmp_path, write, higher_mm, by
):
    """A table that sinks back, positions from a navigator: three images at a height are no stack of three."""
    voxels = [write.noise(seed=seed) for seed in range(3)]
    for n in range(3):
        numbered = {
            "slice": lambda k, n=n: 3 * k + n + 1,
            "pass": lambda k, n=n: 9 * n + k + 1,
            "nothing": lambda k: 1,
        }[by]
        uids = {"SOPInstanceUID": lambda k, n=n: f"1.2.3.{n}.{k}"}
        write.save(
            tmp_path,
            write.images(
                voxels[n], moved(write.AFFINE, 0, 0, higher_mm * n), InstanceNumber=numbered, **uids
            ),
            f"p{n}-",
        )
    if by == "nothing":
        with pytest.raises(VolumeError, match="27 images at 9 positions") as caught:
            read(tmp_path)
        assert caught.value.code == "volume-doubled"
        return
    found = survey(tmp_path).series
    assert [len(series.frames) for series in found] == [9, 9, 9] and [
        series.aside_kind for series in found
    ][:2] == ["", "repeat"]
    for series, wanted in zip(found, voxels, strict=True):
        assert np.array_equal(read(address(tmp_path, series.series_id)).voxels, wanted)


def test_stacks_of_thin_slices_far_apart_are_no_passes(tmp_path, write):
    """Three stacks of nine slices 0.4 mm thick, 4 mm from one to the next."""
    thin, voxels = (
        write.AFFINE @ np.diag([1, 1, 0.1, 1]),
        [write.noise(seed=seed) for seed in range(3)],
    )
    for n in range(3):
        write.save(
            tmp_path,
            write.images(
                voxels[n], moved(thin, 0, 0, 7.2 * n), InstanceNumber=lambda k, n=n: 9 * n + k + 1
            ),
            f"s{n}-",
        )
    found = survey(tmp_path).series
    assert [(len(series.frames), series.aside_kind) for series in found] == [(9, "")] * 3


PRIVATE = {
    "GE phase": (0x43, "GEMS_PARM_01", 0x2F, "SS", (0, 1), "component"),
    "GE b-value": (0x43, "GEMS_PARM_01", 0x39, "IS", ([0, 8, 0, 0], [1000, 8, 0, 0]), "b-value"),
    "Philips b-value": (0x2001, "Philips Imaging DD 001", 0x03, "FL", (0.0, 1000.0), "b-value"),
    "Siemens b-value": (0x19, "SIEMENS MR HEADER", 0x0C, "IS", (0, 1000), "b-value"),
}


@pytest.mark.parametrize(
    "syntax", ["1.2.840.10008.1.2.1", "1.2.840.10008.1.2"], ids=["explicit", "implicit"]
)
@pytest.mark.parametrize("others", [(), ("SOMEBODY ELSE",)], ids=["first block", "second block"])
@pytest.mark.parametrize("kind", PRIVATE)
def test_private_elements_tell_volumes_apart_in_either_encoding(
    tmp_path, write, kind, others, syntax
):
    """In implicit encoding nothing but the private creator tells what the bytes of an element are, and in any
    which block is whose."""
    group, creator, element, kept_as, values, by = PRIVATE[kind]
    files = []
    for k in range(9):
        for n, value in enumerate(values):
            one = write.images(write.noise(seed=n), InstanceNumber=lambda k, n=n: 2 * k + n + 1)[k]
            for other in others:
                one.private_block(group, other, create=True).add_new(element, "LO", "7")
            one.private_block(group, creator, create=True).add_new(element, kept_as, value)
            one.file_meta.TransferSyntaxUID = syntax
            plain = Dataset({element.tag: element for element in one})
            files.append(
                FileDataset(
                    "",
                    plain,
                    file_meta=one.file_meta,
                    preamble=bytes(128),
                    is_implicit_VR=syntax.endswith(".2"),
                    is_little_endian=True,
                )
            )
    write.save(tmp_path, files)
    volume = read(tmp_path)
    assert (
        np.array_equal(volume.voxels, write.noise(seed=0))
        and f"told apart by {by}" in volume.notes[0]
    )


def test_copies_of_an_object_of_many_frames_are_compared_once(tmp_path, write, monkeypatch):
    places = [write.geometry(write.AFFINE, k) for k in range(9)]
    whole = write.enhanced(
        np.ascontiguousarray(write.noise().transpose(2, 1, 0)), places, [{} for _ in range(9)]
    )
    write.save(tmp_path, [whole, whole])
    asked = []
    from fovnet.volume.dicom import series as grouping

    monkeypatch.setattr(
        grouping,
        "open_object",
        lambda item, opened=grouping.open_object: asked.append(item) or opened(item),
    )
    [series] = survey(tmp_path).series
    assert (len(series.frames), len(series.copied_objects)) == (9, 9) and len(asked) <= 4, (
        "two to compare bytes, two to compare sizes"
    )


DIRECTIONS = ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0])


@pytest.mark.parametrize(
    ("group", "by"),
    [
        (
            lambda write, n: {
                "MRDiffusionSequence": {
                    "DiffusionBValue": 800.0,
                    "DiffusionGradientDirectionSequence": [
                        write.dataset(DiffusionGradientOrientation=DIRECTIONS[n])
                    ],
                }
            },
            "gradient direction",
        ),
        (
            lambda write, n: {
                "UnassignedPerFrameConvertedAttributesSequence": {"EchoNumbers": n + 1}
            },
            "echo",
        ),
    ],
)
def test_frames_in_any_order_are_parted_by_what_lies_deeper(tmp_path, write, group, by):
    """Where the standard has gradient directions, and where what was converted from classic images keeps what
    it knows no group for."""
    order = (
        np.random.default_rng(3).permutation([(k, n) for k in range(9) for n in range(3)]).tolist()
    )
    pixels = np.stack([write.noise(seed=n)[:, :, k].T for k, n in order])
    write.save(
        tmp_path,
        [
            write.enhanced(
                pixels,
                [write.geometry(write.AFFINE, k) for k, _ in order],
                [group(write, n) for _, n in order],
            )
        ],
    )
    volume = read(tmp_path)
    assert volume.notes[0].endswith(f"told apart by {by}")
    assert any(np.array_equal(volume.voxels, write.noise(seed=n)) for n in range(3))
