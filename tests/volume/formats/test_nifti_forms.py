"""Where a NIfTI lies, if its forms and its spacings contradict each other, or give a template's
coordinates."""

from __future__ import annotations

from pathlib import Path

import nibabel
import numpy as np
import pytest

from fovnet.errors import VolumeError
from fovnet.volume.formats.nifti import TEMPLATE_NOTE
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.source import read

SHAPE = (20, 24, 30)
SCANNER = np.array([[-4.0, 0, 0, 40], [0, 4.0, 0, -50], [0, 0, 6.0, -480], [0, 0, 0, 1]])
FITTED = SCANNER @ np.diag([0.9, 1.1, 0.95, 1.0]) + np.array(
    [[0, 0, 0, 3], [0, 0, 0, -18], [0, 0, 0, 500], [0, 0, 0, 0]]
)
TEMPLATES = (3, 4, 5)


def made(
    path: Path, sform: np.ndarray | None = None, qform: np.ndarray | None = None,
    codes: tuple[int, int] = (1, 1), pixdim: tuple[float, float, float] | None = None, unit: int = 2,
    shape: tuple[int, int, int] = SHAPE, kind: type = nibabel.Nifti1Image,
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


def refusal(path: Path) -> str:
    with pytest.raises(VolumeError) as refused:
        read(path)
    assert refused.value.code == "volume-geometry"
    return refused.value.sentence


@pytest.mark.parametrize("flips", [(1, 1, 1), (-1, 1, 1), (-1, -1, 1), (1, 1, -1)])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (0, 2, 1)])
@pytest.mark.parametrize(
    "pixdim", [(4.0, 4.0, 6.0), (0.9375, 0.9375, 1.2), (1.0, 1.0, 3.0), (1.07, 1.0, 1.0)]
)
def test_an_sform_of_unit_voxels_is_not_believed_against_the_spacings(tmp_path, pixdim, order, flips):
    """A body of 954 mm would be 159 mm tall: the sform is what a program writes that knows no better."""
    sform = np.eye(4)
    sform[:3, :3] = np.eye(3)[:, order] * flips
    said = refusal(made(tmp_path / "a.nii", sform, pixdim=pixdim))
    assert "voxels of 1 × 1 × 1 mm by the sform" in said and " × ".join(f"{mm:.4g}" for mm in pixdim) in said


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
        (4.0, 4.0, 6.0), (4.1, 4.0, 6.0), (4.4, 3.8, 5.2), (1.0, 1.0, 1.0), (0.0, 4.0, 6.0),
        (float("nan"), 4.0, 6.0), (-4.0, 4.0, 6.0),
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
    assert read(made(tmp_path / "a.nii", np.eye(4), pixdim=pixdim, shape=flat)).spacing_mm.tolist() == [
        1, 1, 1,
    ]


def test_spacings_are_compared_in_millimetres(tmp_path):
    """Metres in both; and a header of metres beside one of millimetres is a contradiction only if the numbers
    are."""
    metres = np.diag([0.001, 0.001, 0.001, 1]) @ SCANNER
    assert np.allclose(
        read(made(tmp_path / "a.nii", metres, pixdim=(0.004, 0.004, 0.006), unit=1)).spacing_mm, (4, 4, 6)
    )
    assert "by pixdim" in refusal(made(tmp_path / "b.nii", metres, pixdim=(4, 4, 6), unit=1))


@pytest.mark.parametrize("code", TEMPLATES)
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize("same", [False, True])
def test_the_scanners_qform_counts_before_a_templates_sform(tmp_path, code, kind, same):
    volume = read(made(tmp_path / "a.nii", SCANNER if same else FITTED, SCANNER, (code, 1), kind=kind))
    assert np.allclose(volume.vox_to_ras, SCANNER, atol=1e-4)
    (note,) = volume.notes
    assert "the qform, in the scanner's, is used" in note and note != TEMPLATE_NOTE


@pytest.mark.parametrize("code", TEMPLATES)
@pytest.mark.parametrize("other", [None, 2, 3, 4, 5])
def test_millimetres_of_a_template_alone_are_called_so(tmp_path, code, other):
    """A qform of another image (2) or of a template itself knows no scanner either."""
    path = made(
        tmp_path / "a.nii", FITTED, None if other is None else SCANNER, (code, other or 0), pixdim=(4, 4, 6)
    )
    volume = read(path)
    assert np.allclose(volume.vox_to_ras, FITTED, atol=1e-4) and TEMPLATE_NOTE in volume.notes
    assert slice_volume(path).in_template


@pytest.mark.parametrize("code", TEMPLATES)
def test_a_qform_alone_may_be_a_templates_too(tmp_path, code):
    assert TEMPLATE_NOTE in read(made(tmp_path / "a.nii", None, SCANNER, (0, code))).notes


@pytest.mark.parametrize("codes", [(1, 1), (2, 1), (1, 2), (2, 2), (1, 4), (2, 4), (2, 0), (0, 1), (0, 2)])
def test_coordinates_of_the_scanner_or_of_another_image_are_no_templates(tmp_path, codes):
    """An sform that is none counts whatever the qform is of."""
    path = made(
        tmp_path / "a.nii", SCANNER if codes[0] else None, SCANNER if codes[1] else None, codes,
        pixdim=(4, 4, 6),
    )
    assert not slice_volume(path).in_template and np.allclose(read(path).vox_to_ras, SCANNER, atol=1e-4)


@pytest.mark.parametrize("pixdim", [(0.0, 4.0, 6.0), (float("nan"), 4.0, 6.0)])
def test_a_qform_without_spacings_does_not_replace_a_templates_sform(tmp_path, pixdim):
    volume = read(made(tmp_path / "a.nii", FITTED, SCANNER, (4, 1), pixdim=pixdim))
    assert np.allclose(volume.vox_to_ras, FITTED, atol=1e-4) and TEMPLATE_NOTE in volume.notes


def test_a_mirrored_sform_of_a_template_is_refused_as_any_other(tmp_path):
    assert "point an axis 180° apart" in refusal(
        made(tmp_path / "a.nii", FITTED @ np.diag([-1, 1, 1, 1]), SCANNER, (4, 1))
    )
