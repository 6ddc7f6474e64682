"""Which images make one volume, what is set aside, and what is measured of the geometry and corrected."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.strategies import floats, integers, permutations
from pydicom.config import disable_value_validation
from scipy import ndimage

from fovnet.errors import VolumeError
from fovnet.volume.dicom.address import address, split_address
from fovnet.volume.dicom.grid import StackPositions, build_regular_grid
from fovnet.volume.dicom.survey import survey
from fovnet.volume.dicom.table import COLUMNS, make_series_row
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.source import read, source_of


def refusal(path: Path) -> VolumeError:
    with pytest.raises(VolumeError) as caught:
        read(path)
    return caught.value


SPLITS = {
    "echo": {"EchoNumbers": (1, 2), "EchoTime": ("4", "8")},
    "echo time alone": {"EchoTime": ("4", "8")},
    "temporal position": {"TemporalPositionIdentifier": (1, 2)},
    "acquisition": {"AcquisitionNumber": (1, 2)},
    "b-value": {"DiffusionBValue": (0.0, 800.0)},
    "trigger": {"TriggerTime": ("0", "35.5")},
    "number alone": {},
}


@pytest.mark.parametrize("differ", SPLITS.values(), ids=SPLITS)
def test_two_volumes_of_one_series_are_told_apart_and_the_first_is_read(tmp_path, write, differ):
    voxels = [write.noise(seed=seed) for seed in (1, 2)]
    for which in (0, 1):
        more = {key: values[which] for key, values in differ.items()}
        numbered = {"InstanceNumber": lambda k, which=which: 9 * which + k + 1}
        write.save(tmp_path, write.images(voxels[which], **more, **numbered), f"v{which}-")
    found = survey(tmp_path).series
    assert [(len(series.frames), series.aside_kind) for series in found] == [(9, ""), (9, "repeat")]
    for series, wanted in zip(found, voxels, strict=True):
        assert np.array_equal(read(address(tmp_path, series.series_id)).voxels, wanted)
    first = read(tmp_path)
    assert np.array_equal(first.voxels, voxels[0]) and first.notes[0].startswith(
        "volume 1 of 2 of its series, told apart by "
    )
    one, other = (source_of(address(tmp_path, series.series_id)) for series in found[:2])
    assert one.checksum != other.checksum


@pytest.mark.parametrize("above_mm", [0.0, 36.0])
def test_two_patients_who_share_a_series_uid_are_two_volumes(tmp_path, write, above_mm):
    """One above the other, or at the same heights: never one body.  An image that names nobody is its own."""
    voxels = [write.noise(seed=seed) for seed in (1, 2)]
    for which, patient in enumerate(("A", "B")):
        affine = write.AFFINE.copy()
        affine[2, 3] += which * above_mm
        numbered = {"InstanceNumber": lambda k, which=which: 9 * which + k + 1}
        write.save(
            tmp_path / patient, write.images(voxels[which], affine, PatientID=patient, **numbered)
        )
    found = survey(tmp_path).series
    assert [(len(series.frames), series.aside_kind) for series in found] == [(9, "")] * 2
    for series, wanted in zip(found, voxels, strict=True):
        volume = read(address(tmp_path, series.series_id))
        assert (
            np.array_equal(volume.voxels, wanted)
            and volume.notes[0]
            == "its series UID is that of another patient's images too, by PatientID"
        )
    assert len(survey(tmp_path / "A").series) == 1 and read(tmp_path / "A").notes == ()
    # what was named in the tree is found where it lies alone
    for series, patient in zip(found, ("A", "B"), strict=True):
        assert np.array_equal(
            read(address(tmp_path / patient, series.series_id)).voxels,
            read(address(tmp_path, series.series_id)).voxels,
        )
    write.save(
        tmp_path / "A",
        write.images(voxels[0], PatientID=None, InstanceNumber=lambda k: k + 40),
        "nobody",
    )
    assert [len(one.frames) for one in survey(tmp_path).series] == [9, 9, 9]


ANNA = {"PatientID": "ANON", "PatientName": "Müller^Anna", "PatientBirthDate": "19500101"}
PEOPLE = {
    "names under one PatientID": (ANNA, {**ANNA, "PatientName": "Maier^Bert"}),
    "birthdays under one name": (ANNA, {**ANNA, "PatientBirthDate": "19900202"}),
    "names without PatientID": (
        {**ANNA, "PatientID": ""},
        {**ANNA, "PatientID": "", "PatientName": "Maier^Bert"},
    ),
    "nobody named": ({"PatientID": "", "PatientName": ""}, {"PatientID": None}),
    "nobody named, no UIDs": ({"PatientID": "", "SeriesInstanceUID": "", "StudyInstanceUID": ""},)
    * 2,
}


@pytest.mark.parametrize("both", PEOPLE.values(), ids=PEOPLE)
def test_two_people_who_share_their_ids_too_are_two_volumes(tmp_path, write, both):
    """Careless pseudonyms leave all people one PatientID, or none; the slices of the one lie between the
    other's."""
    voxels = {"p1": write.noise(seed=1), "p2": write.noise(seed=2)}
    for (name, own), who, up in zip(voxels.items(), both, (0.0, 2.0), strict=True):
        affine = write.AFFINE.copy()
        affine[2, 3] += up
        with disable_value_validation():
            write.save(
                tmp_path / name,
                write.images(
                    own, affine, **who, SOPInstanceUID=lambda k, name=name: f"1.2.{name[1]}.{k}"
                ),
            )
    found = find_volumes([tmp_path])
    assert {path.name: read(path).voxels.tobytes() for path in found.volume_paths} == {
        name: own.astype(np.float32).tobytes() for name, own in voxels.items()
    }
    every = survey(tmp_path).series
    assert len({series.series_id for series in every}) == 2
    for series in every:  # what was named in the tree is found where it lies alone
        alone = tmp_path / series.objects[0].path.parent.name
        assert np.array_equal(
            read(address(alone, series.series_id)).voxels,
            read(address(tmp_path, series.series_id)).voxels,
        )
    assert not [
        word
        for word in ("ller", "Maier", "Bert", "1990")
        if word in str(found.series_rows) + str(every[0].frames[0])
    ]


def test_spellings_of_a_name_and_what_is_left_blank_part_nobody(tmp_path, write):
    spelt = [
        "Müller^Anna",
        "MUELLER^ANNA ",
        "Muller^Anna^^^",
        "müller, anna",
        "Müller^Anna^Maria",
        "",
        "Müller^A",
        "ANNA M MÜLLER",
        None,
    ]
    with disable_value_validation():
        write.save(
            tmp_path,
            write.images(
                write.noise(),
                SpecificCharacterSet="ISO_IR 192",
                PatientName=lambda k: spelt[k] or "",
                PatientBirthDate=lambda k: "19500101" if k % 2 else "",
            ),
        )
    [series] = survey(tmp_path).series
    assert len(series.frames) == 9 and series.notes == ()


def test_who_may_be_either_of_two_people_is_neither(tmp_path, write):
    """Born in 1950, born in 1990, and a name without a birthday: the name's images may be either's."""
    people = (
        {"PatientBirthDate": "19500101"},
        {"PatientName": "Doe^Jane"},
        {"PatientBirthDate": "19900101"},
    )
    for number, who in enumerate(people):
        numbered = {"InstanceNumber": lambda k, number=number: 9 * number + k + 1}
        write.save(
            tmp_path,
            write.images(
                write.noise(seed=number), PatientID="1", **{"PatientName": "", **who}, **numbered
            ),
            f"{number}-",
        )
    assert [len(series.frames) for series in survey(tmp_path).series] == [9, 9, 9]


def test_ids_tell_nothing_of_names(tmp_path, write):
    """Whoever guesses a name and a birthday cannot see in what was written whether they are these: other ones
    give the same."""
    ids = []
    for place, (first, second) in {
        "a": ("Doe^Jane", "Roe^Richard"),
        "b": ("Moe^Mary", "Poe^Paul"),
    }.items():
        for number, name in enumerate((first, second)):
            numbered = {"InstanceNumber": lambda k, number=number: 9 * number + k + 1}
            files = write.images(
                write.noise(seed=number),
                PatientID="ANON",
                PatientName=name,
                PatientBirthDate="19500101",
                **numbered,
            )
            write.save(tmp_path / place / str(number), files)
        ids.append([series.series_id for series in survey(tmp_path / place).series])
    assert ids[0] == ids[1] and len(set(ids[0])) == 2


def test_echoes_in_folders_of_their_own_that_name_nobody_are_one_bodys(tmp_path, write):
    """As de-identified archives are exported: both echoes are numbered from 1."""
    for echo in (1, 2):
        uid = {"SOPInstanceUID": lambda k, echo=echo: f"1.2.{echo}.{k}"}
        files = write.images(
            write.noise(seed=echo), PatientID="", EchoNumbers=echo, EchoTime=f"{4 * echo}", **uid
        )
        write.save(tmp_path / f"echo{echo}", files)
    assert [(series.aside_kind, len(series.frames)) for series in survey(tmp_path).series] == [
        ("", 9),
        ("repeat", 9),
    ]


def test_discs_of_one_series_that_names_nobody_are_one_volume(tmp_path, write):
    """Numbers that go on from folder to folder are one series'; a copy in a third folder changes nothing."""
    files = write.images(write.noise(), PatientID="")
    write.save(tmp_path / "disc1", files[:5])
    write.save(tmp_path / "disc2", files[5:])
    write.save(tmp_path / "picked", files[3:4])
    assert find_volumes([tmp_path]).volume_paths == [tmp_path] and np.array_equal(
        read(tmp_path).voxels, write.noise()
    )


def test_what_changes_from_slice_to_slice_splits_nothing(tmp_path, write):
    """A 2-D acquisition has its own time, and some scanners their own echo time, in every slice."""
    write.save(
        tmp_path,
        write.images(
            write.noise(),
            AcquisitionTime=lambda k: f"1200{k:02}",
            EchoTime=lambda k: f"{80 + k % 3}",
        ),
    )
    assert np.array_equal(read(tmp_path).voxels, write.noise())


def test_orientations_matrix_sizes_and_series_never_mix(tmp_path, write):
    sagittal = np.array([[0, 0, 4.0, -16], [-1.5, 0, 0, 20], [0, -1.25, 0, 10], [0, 0, 0, 1]])
    write.save(tmp_path, write.images(write.noise()), "a")
    write.save(
        tmp_path, write.images(write.noise(), sagittal, InstanceNumber=lambda k: 20 + k), "b"
    )
    write.save(
        tmp_path, write.images(write.noise((20, 22, 9)), InstanceNumber=lambda k: 40 + k), "c"
    )
    write.save(tmp_path, write.images(write.noise(), series=8), "d")
    assert [len(series.frames) for series in survey(tmp_path).series] == [9, 9, 9, 9]
    assert (
        refusal(tmp_path).code == "volume-several"
        and f"{tmp_path.name}#" in refusal(tmp_path).sentence
    )


def test_magnitude_phase_echoes_and_stacks_of_one_object_come_apart(tmp_path, write):
    voxels = write.noise((20, 24, 5))
    planes, places, groups = [], [], []
    for k in range(5):
        for echo in (1.5, 3.0):
            for component in ("MAGNITUDE", "PHASE"):
                planes.append(voxels[:, :, k].T + int(10 * echo) + (component == "PHASE"))
                places.append(write.geometry(write.AFFINE, k))
                groups.append(
                    {
                        "MREchoSequence": {"EffectiveEchoTime": echo},
                        "MRImageFrameTypeSequence": {
                            "ComplexImageComponent": component,
                            "FrameType": ["ORIGINAL", "PRIMARY"],
                        },
                        "PixelValueTransformationSequence": {
                            "RescaleSlope": "2",
                            "RescaleIntercept": "-1",
                        },
                    }
                )
    folder = write.save(tmp_path, [write.enhanced(np.stack(planes), places, groups)])
    found = survey(folder).series
    assert sorted((len(series.frames), series.aside_kind) for series in found) == [
        (5, ""),
        (5, "phase"),
        (5, "phase"),
        (5, "repeat"),
    ]
    volume = read(folder)
    assert np.array_equal(volume.voxels, 2 * (voxels + 15) - 1)
    assert volume.images.frames == (1, 5, 9, 13, 17)


ASIDE = {
    "localizer": {"ImageType": ["ORIGINAL", "PRIMARY", "LOCALIZER"]},
    "localizer by name": {"SeriesDescription": "t2_LOCALIZER_3pl"},
    "survey": {"ProtocolName": "Survey SHC"},
    "derived projection": {"ImageType": ["DERIVED", "PRIMARY", "ANGIO", "MAX_IP"]},
    "derived perfusion": {"ImageType": ["DERIVED", "PRIMARY", "PERFUSION", "ND"]},
    "derived quantity": {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.30"},
    "no-pixels but spectra": {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.4.2"},
    "derived": {"ImageType": ["DERIVED", "PRIMARY", "DIFFUSION", "ADC"]},
    "derived MIP": {"ImageType": ["DERIVED", "SECONDARY", "PROJECTION IMAGE"]},
    "derived by name": {"ImageType": ["DERIVED", "PRIMARY"], "SeriesDescription": "dyn_SUB_1"},
    "phase": {"ImageType": ["ORIGINAL", "PRIMARY", "P", "ND"]},
    "modality": {"Modality": "PT"},
    "no-pixels": {"Modality": "SEG"},
    "screenshot": {"SOPClassUID": "1.2.840.10008.5.1.4.1.1.7"},
    "colour": {"PhotometricInterpretation": "PALETTE COLOR"},
}


READ = {
    "a time course of the brain at work": {
        "ImageType": ["ORIGINAL", "PRIMARY", "FMRI", "NONE", "ND"]
    },
    "a passage of contrast agent": {
        "ImageType": ["ORIGINAL", "PRIMARY", "PERFUSION", "NONE", "ND"]
    },
    "a survey of the bones": {"SeriesDescription": "WB STIR Bone Survey"},
}


@pytest.mark.parametrize("what", READ)
def test_what_only_sounds_like_a_map_or_a_localiser_is_read(tmp_path, write, what):
    """ImageType's third value says what an ORIGINAL image was acquired for (PS3.3, C.8.13.3.1.1), and of what
    a DERIVED one is a map."""
    write.save(tmp_path, write.images(write.noise(), **READ[what]))
    assert np.array_equal(read(tmp_path).voxels, write.noise())


def test_a_stack_of_thirty_slices_called_three_planes_is_no_localiser(tmp_path, write):
    write.save(
        tmp_path / "many",
        write.images(write.noise((20, 24, 30)), SeriesDescription="AX T2 FS 3 PLANE"),
    )
    write.save(tmp_path / "few", write.images(write.noise(), series=8, SeriesDescription="3 PLANE"))
    assert {len(series.frames): series.aside_kind for series in survey(tmp_path).series} == {
        30: "",
        9: "localizer",
    }


@pytest.mark.parametrize("why", ASIDE)
def test_what_is_no_volume_is_set_aside_with_a_reason(tmp_path, write, why):
    kind = why.split()[0] if why != "survey" else "localizer"
    write.save(tmp_path, write.images(write.noise(), **ASIDE[why]))
    [series] = survey(tmp_path).series
    assert series.aside_kind == kind and series.aside_reason
    codes = {"colour": "volume-rgb"}
    assert refusal(tmp_path).code == codes.get(kind, f"volume-{kind}")
    named = address(tmp_path, series.series_id)
    if kind in ("localizer", "derived", "phase"):
        assert np.array_equal(read(named).voxels, write.noise())
    else:
        assert refusal(named).code == codes.get(kind, f"volume-{kind}")


def test_a_derived_but_plain_image_is_a_volume(tmp_path, write):
    """Filtered and anonymised images are DERIVED too; the word alone says nothing."""
    write.save(
        tmp_path,
        write.images(
            write.noise(), ImageType=["DERIVED", "SECONDARY"], SeriesDescription="AX SUBTLE T1"
        ),
    )
    assert np.array_equal(read(tmp_path).voxels, write.noise())


def test_thickness_and_spacing_of_the_header_are_not_believed(tmp_path, write):
    write.save(tmp_path, write.images(write.noise(), SliceThickness="7", SpacingBetweenSlices="11"))
    assert read(tmp_path).spacing_mm.tolist() == pytest.approx([1.5, 1.25, 4.0])


@pytest.mark.parametrize("row_mm", [2.0, 1.25])
def test_a_tilted_gantry_is_moved_upright(tmp_path, write, row_mm):
    """A ball stays a ball: its centre of mass in each slice is where it is in the scanner, wherever the image
    began."""
    x, y, z = np.meshgrid(*[np.arange(n) for n in (40, round(96 / row_mm), 21)], indexing="ij")
    affine = np.diag([-2.0, -row_mm, 4.0, 1.0])
    affine[:3, 2] = [0, 4 * np.tan(np.radians(20)), 4]  # 20° to the front as it rises
    place = (
        np.einsum("ij,jabc->iabc", affine[:3, :3], np.stack([x, y, z]))
        + affine[:3, 3, None, None, None]
    )
    centre = affine[:3, :3] @ [20, round(48 / row_mm), 10]
    ball = 1000 * np.exp(-((place - centre[:, None, None, None]) ** 2).sum(axis=0) / 2 / 15**2)
    volume = read(write.save(tmp_path, write.images(ball.astype(np.uint16), affine)))
    assert any("tilt 20.0°" in note for note in volume.notes)
    directions = volume.vox_to_ras[:3, :3] / volume.spacing_mm
    assert np.allclose(directions.T @ directions, np.eye(3), atol=1e-6)
    # the rim is cut off: counted in whole grey levels
    heavy = np.where(volume.voxels > 5, volume.voxels, 0)
    seen = volume.vox_to_ras @ [*ndimage.center_of_mass(heavy), 1]
    assert np.allclose(seen[:3], centre, atol=0.2)


def test_a_missing_image_is_bridged_and_said(tmp_path, write):
    ramp = np.broadcast_to(np.arange(12) * 100, (20, 24, 12)) + write.noise((20, 24, 1)) // 50
    files = write.images(ramp.astype(np.int16))
    del files[5]
    volume = read(write.save(tmp_path, files))
    assert np.allclose(volume.voxels, ramp, atol=1e-3)
    assert volume.notes == ("images 4.00 to 8.00 mm apart (usually 4.00): interpolated at 4.00 mm",)
    assert len(volume.images.uids) == 12


@settings(max_examples=60)
@given(integers(4, 30), floats(0.5, 10), floats(0, 0.35), integers(0, 999))
@example(4, 1.0, 0.1875, 868)
def test_uneven_positions_of_a_ramp_give_the_ramp_on_an_even_grid(
    count, spacing_mm, unevenness, seed
):
    along = (
        np.arange(count) + np.random.default_rng(seed).uniform(-unevenness, unevenness, count)
    ) * spacing_mm
    planes = np.broadcast_to(along.astype(np.float32)[:, None, None], (count, 3, 2)).copy()
    stand = StackPositions(
        np.arange(count),
        along,
        np.zeros((count, 2)),
        np.eye(3),
        np.array([0, 0, along[0]]),
        (1.0, 1.0),
    )
    grid = build_regular_grid("made", planes, stand)
    heights = grid.vox_to_ras[2, 3] + grid.vox_to_ras[2, 2] * np.arange(grid.voxels.shape[2])
    # a tenth of the step they stand at
    assert np.allclose(grid.voxels[0, 0], heights, atol=0.1 * grid.vox_to_ras[2, 2] + 1e-3)
    assert heights[-1] == pytest.approx(along[-1])


@settings(max_examples=10)
@given(permutations(range(9)))
def test_neither_names_nor_numbers_decide_the_order(tmp_path_factory, write, order):
    folder = tmp_path_factory.mktemp("series")
    files = write.images(write.noise(), InstanceNumber=lambda k: order[k] + 1)
    assert np.array_equal(read(write.save(folder, [files[k] for k in order])).voxels, write.noise())


def test_copies_and_doubled_images_are_left_out_and_said(tmp_path, write):
    folder = write.save(tmp_path / "one", write.images(write.noise()))
    shutil.copy(folder / "im003.dcm", folder / "again.dcm")
    other = write.images(write.noise())[5]
    other.SOPInstanceUID = other.file_meta.MediaStorageSOPInstanceUID = f"{write.STUDY}.99"
    write.save(folder, [other], "other")
    volume = read(folder)
    assert np.array_equal(volume.voxels, write.noise())
    assert volume.notes == ("2 doubled images left out: identical",)
    shutil.copytree(folder, tmp_path / "tree" / "a")
    shutil.copytree(folder, tmp_path / "tree" / "b")
    (row,) = find_volumes([tmp_path / "tree"]).series_rows
    assert (row["images"], row["copies"]) == (10, 12), (
        "b's eleven files, and again.dcm of a: the same bytes under one SOP instance UID"
    )


@pytest.mark.parametrize(
    ("edited", "copied"),
    [((4,), ()), ((4,), range(9)), (range(9), ())],
    ids=["one", "one of a copy", "all"],
)
def test_another_version_of_images_in_another_folder_is_set_aside(tmp_path, write, edited, copied):
    """A key image with an arrow burnt in, a backup with a damaged image, a web archive's lossy images: the
    series is answered as it is."""
    voxels = write.noise()
    others = voxels + np.random.default_rng(7).integers(-3, 4, voxels.shape, dtype=np.int16)
    write.save(tmp_path / "series", write.images(voxels))
    write.save(
        tmp_path / "teaching",
        [write.images(others if k in edited else voxels)[k] for k in sorted({*edited, *copied})],
    )
    assert np.array_equal(read(tmp_path).voxels, voxels)
    found = find_volumes([tmp_path])
    assert (
        found.volume_paths == [tmp_path]
        and [row["kind"] for row in found.series_rows].count("volume") == 1
    )
    [row] = [row for row in found.series_rows if row["kind"] == "repeat"]
    assert row["images"] == len(edited) and row["reason"].startswith("another version")
    if len(edited) == 9:
        assert np.array_equal(read(Path(row["path"])).voxels, others) and np.array_equal(
            read(tmp_path / "teaching").voxels, others
        )


def test_two_versions_of_an_image_in_one_folder_are_refused(tmp_path, write):
    """Which of them is meant, nobody knows."""
    write.save(tmp_path, write.images(write.noise()))
    write.save(tmp_path, write.images(write.noise(seed=1))[4:5], "edited")
    assert refusal(tmp_path).code == "volume-doubled"


def test_slope_intercept_inversion_and_padding(tmp_path, write):
    voxels = write.noise().astype(np.uint16) + 10
    voxels[:3] = 4000
    folder = write.save(
        tmp_path / "slope",
        write.images(voxels, RescaleSlope=lambda k: str(1 + k), RescaleIntercept="-5"),
    )
    assert np.array_equal(read(folder).voxels, voxels * (1.0 + np.arange(9)) - 5)
    folder = write.save(
        tmp_path / "inverted", write.images(voxels, PhotometricInterpretation="MONOCHROME1")
    )
    assert np.array_equal(
        read(folder).voxels, int(voxels.max()) + int(voxels.min()) - voxels.astype(float)
    )
    folder = write.save(tmp_path / "padded", write.images(voxels, PixelPaddingValue=4000))
    assert np.array_equal(read(folder).voxels, np.where(voxels == 4000, voxels.min(), voxels))


@pytest.mark.parametrize("inverted", [(0,), (8,), (1, 2, 3)])
def test_a_stack_of_images_white_on_black_and_black_on_white_is_refused(tmp_path, write, inverted):
    """Whichever image is read last: the stack was once turned as that one told."""
    how = write.images(
        write.noise(), PhotometricInterpretation=lambda k: f"MONOCHROME{1 if k in inverted else 2}"
    )
    with pytest.raises(
        VolumeError, match=f"{len(inverted)} of 9 images are MONOCHROME1.*volume-photometric"
    ):
        read(write.save(tmp_path, how))


def test_bits_above_the_stored_ones_are_not_read(tmp_path, write):
    """Twelve bits stored of sixteen; the four above hold overlays in old archives."""
    voxels = write.noise(dtype=np.uint16)
    folder = write.save(tmp_path, write.images(voxels | 0xA000, BitsStored=12, HighBit=11))
    assert np.array_equal(read(folder).voxels, voxels)


def test_a_real_world_value_mapping_is_left_alone(tmp_path, write):
    mapping = write.dataset(RealWorldValueSlope=100.0, RealWorldValueIntercept=1.0)
    files = write.images(write.noise(), RealWorldValueMappingSequence=[mapping])
    assert np.array_equal(read(write.save(tmp_path, files)).voxels, write.noise())


def test_an_archive_gives_what_its_folder_gives(tmp_path, write):
    folder = write.save(tmp_path / "series", write.images(write.noise()))
    (folder / "DICOMDIR").write_bytes(bytes(128) + b"DICM")
    (folder / "readme.txt").write_text("hello")
    archive = write.zipped(tmp_path / "series.zip", tmp_path / "series")
    assert np.array_equal(slice_volume(archive).pixels, slice_volume(folder).pixels)
    assert slice_volume(archive).images == slice_volume(folder).images
    with zipfile.ZipFile(archive, "a") as more:
        more.writestr("broken.dcm", bytes(128) + b"DICM" + bytes(50))
    assert (
        np.array_equal(read(archive).voxels, write.noise())
        and len(survey(archive).unread_objects) == 1
    )


def test_the_images_of_a_cut_are_those_it_was_made_of(tmp_path, write):
    """Slices of 1.5 mm are cut in pairs; the UID of each ends in its number."""
    affine = write.AFFINE @ np.diag([1, 1, 1.5 / 4, 1])
    stack = slice_volume(write.save(tmp_path, write.images(write.noise(), affine)))
    assert [uid.rsplit(".", 1)[1] for uid in stack.images.uids] == list("012345678")
    assert (
        stack.slice_ranges.tolist() == [[0, 1], [2, 3], [4, 5], [6, 8]] and stack.images.axis == 2
    )


def test_an_address_is_read_back_and_a_real_name_wins(tmp_path):
    named = address(tmp_path / "a#b", "0123456789ab")
    assert split_address(named) == (tmp_path / "a#b", "0123456789ab")
    assert split_address(tmp_path / "a#0123") == (tmp_path / "a#0123", "")
    named.write_bytes(b"x")
    assert split_address(named) == (named, "")


def test_the_table_has_a_row_a_series_and_no_ids_unless_asked(tmp_path, write):
    write.save(
        tmp_path,
        write.images(write.noise(), PatientID="Q7 Zebra", SeriesDescription="Zebra localizer"),
    )
    [series] = survey(tmp_path).series
    row = make_series_row(series, tmp_path)
    assert tuple(row) == COLUMNS and row["kind"] == "localizer" and row["images"] == 9
    assert "Zebra" not in str(row) and write.STUDY not in str(row)
    assert make_series_row(series, tmp_path, show_ids=True)["patient_id"] == "Q7 Zebra"
