"""Where a NIfTI lies, if its forms and its spacings contradict each other, or give a template's
coordinates; and headers that say that it holds a map."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import nibabel
import numpy as np
import pytest
import SimpleITK

from fovnet.errors import VolumeError
from fovnet.volume.formats.nifti import MAX_QUATERNION_LENGTH, ONES_NOTES, TEMPLATE_NOTE
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.source import read

SHAPE = (20, 24, 30)
SCANNER = np.array([[-4.0, 0, 0, 40], [0, 4.0, 0, -50], [0, 0, 6.0, -480], [0, 0, 0, 1]])
FITTED = SCANNER @ np.diag([0.9, 1.1, 0.95, 1.0]) + np.array(
    [[0, 0, 0, 3], [0, 0, 0, -18], [0, 0, 0, 500], [0, 0, 0, 0]]
)
TEMPLATES = (3, 4, 5)


def made(
    path: Path,
    sform: np.ndarray | None = None,
    qform: np.ndarray | None = None,
    codes: tuple[int, int] = (1, 1),
    pixdim: tuple[float, float, float] | None = None,
    unit: int = 2,
    shape: tuple[int, int, int] = SHAPE,
    kind: type = nibabel.Nifti1Image,
) -> Path:
    """A NIfTI with these forms, their (sform, qform) codes, and spacings in the header."""
    image = kind(np.random.default_rng(0).integers(0, 1000, shape).astype(np.int16), None)
    image.header.set_qform(qform, code=0 if qform is None else codes[1])
    image.header.set_sform(sform, code=0 if sform is None else codes[0])
    image.header["xyzt_units"] = unit
    if pixdim is not None:
        image.header["pixdim"][1:4] = pixdim
    nibabel.save(image, path)
    return path


def with_quaternion(
    path: Path, bcd: tuple[float, ...] | np.ndarray, qfac: float | None = None
) -> Path:
    """The NIfTI-1 with these numbers as its quaternion and, if given, pixdim[0]."""
    data = bytearray(path.read_bytes())
    struct.pack_into("<3f", data, 256, *bcd)
    if qfac is not None:
        struct.pack_into("<f", data, 76, qfac)
    path.write_bytes(data)
    return path


def refusal(path: Path) -> str:
    with pytest.raises(VolumeError) as refused:
        read(path)
    assert refused.value.code == "volume-geometry"
    return refused.value.sentence


FLIPS = [(1, 1, 1), (-1, 1, 1), (-1, -1, 1), (1, 1, -1)]
ORDERS = [(0, 1, 2), (2, 0, 1), (0, 2, 1)]
PIXDIMS = [
    (4.0, 4.0, 6.0),
    (0.9375, 0.9375, 1.2),
    (1.0, 1.0, 3.0),
    (1.07, 1.0, 1.0),
    (1.5625, 1.5625, 10.0),
]


def of_ones(
    flips: tuple[int, ...], order: tuple[int, ...], offset_mm: tuple[float, ...] = (3, -5, 7)
):
    """An sform of unit voxels."""
    sform = np.eye(4)
    sform[:3, :3] = np.eye(3)[:, order] * flips
    sform[:3, 3] = offset_mm
    return sform


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("pixdim", PIXDIMS)
def test_an_sform_of_ones_gives_directions_and_pixdim_the_sizes(tmp_path, pixdim, order, flips):
    """A body of 954 mm would be 159 mm tall: the sform is what a program writes that knows no better."""
    sform = of_ones(flips, order)
    path = made(tmp_path / "a.nii", sform, pixdim=pixdim)
    volume = read(path)
    assert np.allclose(volume.vox_to_ras, sform @ np.diag([*pixdim, 1.0]), atol=1e-5)
    assert volume.notes == ONES_NOTES[1:] and slice_volume(path).has_sform_of_ones


@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("error", [1e-7, -1e-5, 1e-4, -9e-4])
@pytest.mark.parametrize("with_qform", [False, True])
def test_an_sform_of_ones_that_was_rounded_is_one_of_ones(tmp_path, with_qform, error, flips):
    """The answer is that of exact ones; left alone, it would be refused for its sizes."""
    exact, pixdim = of_ones(flips, (0, 1, 2)), (4.0, 4.0, 6.0)
    rounded = exact.copy()
    rounded[:3, :3] = exact[:3, :3] * (1 + error) + error * 0.5 * (1 - np.eye(3))
    qform = exact @ np.diag([*pixdim, 1.0]) if with_qform else None
    volume, wanted = (
        read(made(tmp_path / f"{name}.nii", sform, qform, pixdim=pixdim))
        for name, sform in (("a", rounded), ("b", exact))
    )
    assert (
        np.allclose(volume.vox_to_ras, wanted.vox_to_ras, atol=1e-5)
        and volume.notes == wanted.notes
    )


@pytest.mark.parametrize("error", [0.002, -0.01, 0.03])
def test_sizes_that_are_only_near_1_are_not_ones(tmp_path, error):
    sform = np.diag([1 + error, 1 + error, 1 + error, 1.0])
    assert "mm by pixdim" in refusal(made(tmp_path / "a.nii", sform, pixdim=(4.0, 4.0, 6.0)))


@pytest.mark.parametrize("code", [1, 2, 4])
@pytest.mark.parametrize("flips", FLIPS)
@pytest.mark.parametrize("pixdim", PIXDIMS)
def test_a_qform_that_agrees_with_an_sform_of_ones_is_used(tmp_path, pixdim, flips, code):
    """As in the ACDC collection: diag(-1, -1, 1) beside a qform of the true sizes; heights stay unsure."""
    qform = of_ones(flips, (0, 1, 2)) @ np.diag([*pixdim, 1.0])
    qform[:3, 3] = (90, 80, -500)
    path = made(tmp_path / "a.nii", of_ones(flips, (0, 1, 2), (0, 0, 0)), qform, (code, 1))
    volume = read(path)
    assert np.allclose(volume.vox_to_ras, qform, atol=1e-4)
    assert volume.notes == ONES_NOTES[:1] and slice_volume(path).has_sform_of_ones


@pytest.mark.parametrize("flips", FLIPS[1:])
def test_directions_that_someone_wrote_into_an_sform_of_ones_are_compared(tmp_path, flips):
    """But those of the identity are nobody's: the qform counts alone."""
    turned = of_ones((1, 1, 1), (0, 2, 1)) @ np.diag([4.0, 4.0, 6.0, 1.0])
    assert "point an axis" in refusal(made(tmp_path / "a.nii", of_ones(flips, (0, 1, 2)), turned))
    volume = read(made(tmp_path / "b.nii", np.eye(4), turned))
    assert np.allclose(volume.vox_to_ras, turned, atol=1e-5) and volume.notes == ONES_NOTES[:1]


@pytest.mark.parametrize("quaternion", [(3.0, 0, 0), (np.nan, 0, 0), (0.9, 0.9, 0)])
def test_a_damaged_qform_beside_an_sform_of_ones_leaves_the_sizes(tmp_path, quaternion):
    path = made(tmp_path / "a.nii", np.eye(4), SCANNER, pixdim=(4.0, 4.0, 6.0))
    assert np.allclose(read(with_quaternion(path, quaternion)).spacing_mm, (4, 4, 6))


@pytest.mark.parametrize("pixdim", [(0.0, 4.0, 6.0), (np.nan, 4.0, 6.0), (4.0, 4.0, np.inf)])
def test_an_sform_of_ones_with_half_of_the_sizes_is_refused(tmp_path, pixdim):
    assert "mm by pixdim" in refusal(made(tmp_path / "a.nii", np.eye(4), pixdim=pixdim))


@pytest.mark.parametrize(
    "factors", [(2.0, 1, 1), (1, 0.5, 1), (1, 1, 2.5), (0.1, 0.1, 0.1), (10, 10, 10), (1, 1, 1.6)]
)
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
def test_an_sform_alone_of_other_spacings_than_the_header_is_refused(tmp_path, factors, kind):
    pixdim = tuple(np.array([4.0, 4.0, 6.0]) * factors)
    assert "mm by pixdim" in refusal(made(tmp_path / "a.nii", SCANNER, pixdim=pixdim, kind=kind))


@pytest.mark.parametrize(
    "pixdim",
    [
        (4.0, 4.0, 6.0),
        (4.1, 4.0, 6.0),
        (4.4, 3.8, 5.2),
        (1.0, 1.0, 1.0),
        (0.0, 4.0, 6.0),
        (float("nan"), 4.0, 6.0),
        (-4.0, 4.0, 6.0),
    ],
)
def test_spacings_that_differ_little_or_were_never_set_leave_the_sform(tmp_path, pixdim):
    """Registration stretches an adult by up to 1.3; a pixdim of 1 × 1 × 1 is what is there before anything is
    written."""
    assert np.allclose(read(made(tmp_path / "a.nii", SCANNER, pixdim=pixdim)).vox_to_ras, SCANNER)


@pytest.mark.parametrize("pixdim", [(1.0, 1.0, 1.0), (1.0, 1.04, 1.0), (1.0, 1.0, 6.0)])
def test_unit_voxels_that_the_spacings_confirm_are_read(tmp_path, pixdim):
    """Along an axis of one voxel there is no spacing to contradict."""
    flat = (20, 24, 1) if pixdim[2] == 6 else SHAPE
    assert read(
        made(tmp_path / "a.nii", np.eye(4), pixdim=pixdim, shape=flat)
    ).spacing_mm.tolist() == [
        1,
        1,
        1,
    ]


def test_spacings_are_compared_in_millimetres(tmp_path):
    """Metres in both; and a header of metres beside one of millimetres is a contradiction only if the numbers
    are."""
    metres = np.diag([0.001, 0.001, 0.001, 1]) @ SCANNER
    assert np.allclose(
        read(made(tmp_path / "a.nii", metres, pixdim=(0.004, 0.004, 0.006), unit=1)).spacing_mm,
        (4, 4, 6),
    )
    assert "by pixdim" in refusal(made(tmp_path / "b.nii", metres, pixdim=(4, 4, 6), unit=1))


@pytest.mark.parametrize("code", TEMPLATES)
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("same", [False, True])
def test_the_scanners_qform_counts_before_a_templates_sform(tmp_path, code, kind, same):
    volume = read(
        made(tmp_path / "a.nii", SCANNER if same else FITTED, SCANNER, (code, 1), kind=kind)
    )
    assert np.allclose(volume.vox_to_ras, SCANNER, atol=1e-4)
    (note,) = volume.notes
    assert "the qform, in the scanner's, is used" in note and note != TEMPLATE_NOTE


@pytest.mark.parametrize("code", TEMPLATES)
@pytest.mark.parametrize("other", [None, 2, 3, 4, 5])
def test_millimetres_of_a_template_alone_are_called_so(tmp_path, code, other):
    """A qform of another image (2) or of a template itself knows no scanner either."""
    path = made(
        tmp_path / "a.nii",
        FITTED,
        None if other is None else SCANNER,
        (code, other or 0),
        pixdim=(4, 4, 6),
    )
    volume = read(path)
    assert np.allclose(volume.vox_to_ras, FITTED, atol=1e-4) and TEMPLATE_NOTE in volume.notes
    assert slice_volume(path).is_in_template


@pytest.mark.parametrize("code", TEMPLATES)
def test_a_qform_alone_may_be_a_templates_too(tmp_path, code):
    assert TEMPLATE_NOTE in read(made(tmp_path / "a.nii", None, SCANNER, (0, code))).notes


@pytest.mark.parametrize(
    "codes", [(1, 1), (2, 1), (1, 2), (2, 2), (1, 4), (2, 4), (2, 0), (0, 1), (0, 2)]
)
def test_coordinates_of_the_scanner_or_of_another_image_are_no_templates(tmp_path, codes):
    """An sform that is none counts whatever the qform is of."""
    path = made(
        tmp_path / "a.nii",
        SCANNER if codes[0] else None,
        SCANNER if codes[1] else None,
        codes,
        pixdim=(4, 4, 6),
    )
    assert not slice_volume(path).is_in_template and np.allclose(
        read(path).vox_to_ras, SCANNER, atol=1e-4
    )


@pytest.mark.parametrize("pixdim", [(0.0, 4.0, 6.0), (float("nan"), 4.0, 6.0)])
def test_a_qform_without_spacings_does_not_replace_a_templates_sform(tmp_path, pixdim):
    volume = read(made(tmp_path / "a.nii", FITTED, SCANNER, (4, 1), pixdim=pixdim))
    assert np.allclose(volume.vox_to_ras, FITTED, atol=1e-4) and TEMPLATE_NOTE in volume.notes


def test_a_mirrored_sform_of_a_template_is_refused_as_any_other(tmp_path):
    assert "point an axis 180° apart" in refusal(
        made(tmp_path / "a.nii", FITTED @ np.diag([-1, 1, 1, 1]), SCANNER, (4, 1))
    )


def reference_directions(bcd: np.ndarray, qfac: float) -> np.ndarray:
    """(3, 3) by the arithmetic of nifti_quatern_to_mat44 (nifti1_io.c), in float64."""
    squared = float(bcd @ bcd)
    if 1 - squared < 1e-7:
        a, (b, c, d) = 0.0, bcd / np.sqrt(squared)
    else:
        a, (b, c, d) = np.sqrt(1 - squared), bcd
    columns = np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * b * c + 2 * a * d, 2 * b * d - 2 * a * c],
            [2 * b * c - 2 * a * d, a * a + c * c - b * b - d * d, 2 * c * d + 2 * a * b],
            [2 * b * d + 2 * a * c, 2 * c * d - 2 * a * b, a * a + d * d - c * c - b * b],
        ]
    )
    return (columns * [[1], [1], [qfac]]).T


def rounded_quaternions(decimals: int, count: int = 12) -> list[np.ndarray]:
    """(b, c, d) of half turns, and of rotations, written with so many decimals; the longest of 40 each."""
    rng = np.random.default_rng(decimals)
    half_turns = rng.normal(size=(40, 3))
    rotations = rng.normal(size=(40, 4))
    half_turns /= np.linalg.norm(half_turns, axis=1, keepdims=True)
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    both = [np.round(half_turns, decimals), np.round(rotations[:, 1:], decimals)]
    return [
        bcd for rows in both for bcd in sorted(rows, key=lambda bcd: -np.linalg.norm(bcd))[:count]
    ]


SMALL_TURN = (
    1.3e-3  # nibabel takes a rotation within three epsilons of a half turn for one: 0.07 degrees
)


@pytest.mark.parametrize("decimals", [4, 5, 6, 7, 9])
@pytest.mark.parametrize("qfac", [1.0, -1.0])
def test_a_rounded_quaternion_is_read_as_the_reference_and_itk_read_it(tmp_path, decimals, qfac):
    quaternions = rounded_quaternions(decimals)
    assert decimals == 9 or max(map(np.linalg.norm, quaternions)) > 1 + 10.0 ** -(decimals + 2)
    path = made(tmp_path / "a.nii", None, SCANNER)
    for bcd in quaternions:
        volume = read(with_quaternion(path, bcd, qfac))
        reference = reference_directions(bcd.astype(np.float32).astype(float), qfac)
        directions = volume.vox_to_ras[:3, :3] / [4, 4, 6]
        assert np.allclose(directions, reference, atol=SMALL_TURN)
        seen = np.reshape(SimpleITK.ReadImage(str(path)).GetDirection(), (3, 3)) * [[-1], [-1], [1]]
        assert np.allclose(directions, seen, atol=SMALL_TURN)


@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("excess", [0.0, 2e-16, 1e-12, 1e-7, 2e-7, 1e-6, 1e-5, 5e-5, 9e-5])
def test_a_quaternion_too_long_by_rounding_is_one_of_length_1(tmp_path, kind, excess):
    path = made(tmp_path / "a.nii", None, np.diag([-4.0, -4.0, 6.0, 1.0]), kind=kind)
    image = nibabel.load(path)
    image.header["quatern_d"] = 1 + excess
    kind(np.asarray(image.dataobj), None, image.header).to_filename(tmp_path / "b.nii")
    assert np.allclose(
        read(tmp_path / "b.nii").vox_to_ras, np.diag([-4.0, -4.0, 6.0, 1.0]), atol=1e-6
    )


@pytest.mark.parametrize("length", [1.00011, 1.001, 1.1, 3.0, np.inf])
def test_a_longer_quaternion_alone_is_refused_by_its_length(tmp_path, length):
    path = with_quaternion(made(tmp_path / "a.nii", None, SCANNER), (0, 0, length))
    with pytest.raises(VolumeError, match=r"quaternion \(0, 0, .*has the length.*volume-corrupt"):
        read(path)


@pytest.mark.parametrize(
    "bcd",
    [
        (0.7072, 0.7072, 0),
        (0, 0.7072, 0.7072),
        (0.5775, 0.5775, 0.5773),
        (0, 0, 1.00011),
        (0.708, 0.708, 0),
        (0, 0, 1.000101),
        (0.8, 0.6002, 0),
    ],
)
def test_the_length_in_the_refusal_is_above_the_limit_in_it(tmp_path, bcd):
    path = with_quaternion(made(tmp_path / "a.nii", None, SCANNER), bcd)
    with pytest.raises(VolumeError) as refused:
        read(path)
    seen, limit = re.search(
        r"has the length ([\d.]+), .* up to ([\d.]+)\.", refused.value.sentence
    ).groups()
    assert float(seen) > float(limit) == MAX_QUATERNION_LENGTH


@pytest.mark.parametrize("code", TEMPLATES)
@pytest.mark.parametrize("length", [1.000001, 1.00005, 1.00009])
def test_a_rounded_qform_of_the_scanner_counts_before_a_templates_sform(tmp_path, code, length):
    """It was taken for damaged, and the template's millimetres for the scanner's."""
    forms = (FITTED @ np.diag([1, -1, 1, 1]), SCANNER)
    path = with_quaternion(made(tmp_path / "a.nii", *forms, (code, 1)), (0, 0, length), 1.0)
    volume = read(path)
    assert np.allclose(volume.vox_to_ras[:3, :3], np.diag([-4.0, -4.0, 6.0]), atol=1e-4)
    assert TEMPLATE_NOTE not in volume.notes


@pytest.mark.parametrize("length", [1.0, 1.000001, 1.0001, 1.0005, 1.003, 1.0087])
@pytest.mark.parametrize("pixdim", [None, (np.nan, 4.0, 6.0), (4.0, np.inf, 6.0), (4.0, 4.0, 0.0)])
def test_an_sform_upside_down_is_noticed_though_the_qform_cannot_be_used(tmp_path, length, pixdim):
    """A half turn about z, written with two decimals, or without all spacings, still says which way is up."""
    sform = np.diag([-4.0, -4.0, -6.0, 1.0])
    path = made(tmp_path / "a.nii", sform, sform @ np.diag([1, 1, -1, 1]), pixdim=pixdim)
    assert "point an axis 180° apart" in refusal(with_quaternion(path, (0, 0, length)))


@pytest.mark.parametrize("bcd", [(3.0, 0, 0), (np.nan, 0, 0), (0, np.inf, 0)])
def test_an_sform_beside_a_damaged_qform_is_still_compared_with_pixdim(tmp_path, bcd):
    good = with_quaternion(made(tmp_path / "a.nii", SCANNER, SCANNER), bcd)
    assert read(good).notes == ("the qform is damaged; the sform is used",)
    other = made(tmp_path / "b.nii", SCANNER, SCANNER, pixdim=(4.0, 4.0, 12.0))
    assert "mm by pixdim" in refusal(with_quaternion(other, bcd))


@pytest.mark.parametrize(
    ("qfac", "mirrored"),
    [
        (-1.0, True),
        (-2.0, True),
        (-0.5, True),
        (-1.0000001, True),
        (1.0, False),
        (0.0, False),
        (2.0, False),
        (np.nan, False),
    ],
)
def test_the_sign_of_pixdim_0_alone_mirrors_the_qform(tmp_path, qfac, mirrored):
    """nifti1_io.c; nibabel takes -2 for 1, and the volume would be upside down."""
    path = with_quaternion(
        made(tmp_path / "a.nii", None, np.diag([4.0, 4.0, 6.0, 1.0])), (0, 0, 0), qfac
    )
    assert read(path).vox_to_ras[2, 2] == (-6 if mirrored else 6)
    seen = SimpleITK.ReadImage(str(path)).GetDirection()[8]
    assert np.isnan(qfac) or seen == (-1 if mirrored else 1)


@pytest.mark.parametrize("intent", [*range(2, 25), 2007, 2008, 2009, 2016, 2017, 2018])
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
def test_a_map_by_its_intent_is_refused(tmp_path, intent, kind):
    path = made(tmp_path / "a.nii", SCANNER, kind=kind)
    image = nibabel.load(path)
    image.header["intent_code"] = intent
    kind(np.asarray(image.dataobj), None, image.header).to_filename(tmp_path / "b.nii")
    with pytest.raises(VolumeError, match=rf"the header says .*intent {intent}.*volume-map"):
        read(tmp_path / "b.nii")


@pytest.mark.parametrize(
    "description",
    [
        "SPM{T_[20.0]} - contrast 1: faces",
        "SPM{F_[1.0,20.0]} - contrast 2: any",
        "SPM{T}-filtered",
        "SnPM{T} values",
        "SPM contrast - 3: faces > houses",
        "SPM ESS -contrast 4: all",
        "spm_spm:beta (0001) - Sn(1) faces*bf(1)",
        "spm_spm:Residual mean squares",
        "Contrast 1: task > rest",
        "Contrast 12: A - B",
        "ESS contrast 4: all",
        "Beta (0001) - Sn(1) task*bf(1)",
        "Cond. beta (0002) - Sn(1) R1",
        "Posterior mean of beta (0003) - Sn(1) constant",
    ],
)
@pytest.mark.parametrize("form", ["nifti", "analyze"])
def test_a_map_by_the_description_of_spm_is_refused(tmp_path, request, description, form):
    """spm_contrasts.m, spm_spm.m, spm_spm_Bayes.m and spm_spm_vb.m of SPM 2 to 12 write them."""
    writers = request.getfixturevalue("made")
    path = getattr(writers, form)(
        tmp_path / ("a.nii" if form == "nifti" else "a.hdr"), writers.body()
    )
    data = path.read_bytes()
    path.write_bytes(data[:148] + description.encode()[:79].ljust(80, b"\0") + data[228:])
    with pytest.raises(VolumeError, match=r"a map of SPM.*volume-map") as refused:
        read(path)
    assert f'("{description}")' in refused.value.sentence


@pytest.mark.parametrize(
    "description", ["Contrast 1: task > rest", "Beta (0001) - Sn(1) task*bf(1)"]
)
def test_a_map_is_refused_by_its_header_before_its_values(tmp_path, description):
    """SPM writes NaN outside the brain; setting it to 0 would make no picture of a map."""
    image = nibabel.Nifti1Image(np.full(SHAPE, np.nan, np.float32), SCANNER)
    image.header["descrip"] = description.encode()
    nibabel.save(image, tmp_path / "a.nii")
    with pytest.raises(VolumeError) as refused:
        read(tmp_path / "a.nii")
    assert refused.value.code == "volume-map" and "NaN" not in refused.value.sentence


@pytest.mark.parametrize(
    "description",
    [
        "SPM compatible",
        "spm - 3D normalized",
        "spm - realigned",
        "T1 SPM{",
        "",
        "Contrast",
        "Contrast: T1",
        "post contrast 2: late",
        "Contrast 2 late",
        "beta 0001",
    ],
)
@pytest.mark.parametrize("intent", [0, 1001, 1007, 1011, 2001])
def test_pictures_that_spm_has_moved_and_other_intents_are_none(tmp_path, description, intent):
    path = made(tmp_path / "a.nii", SCANNER)
    data = bytearray(path.read_bytes())
    data[148:228] = description.encode().ljust(80, b"\0")
    struct.pack_into("<h", data, 68, intent)
    path.write_bytes(data)
    assert read(path).voxels.shape == SHAPE
