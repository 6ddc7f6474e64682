"""What can be read, and the sentence for everything that cannot."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import struct
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import nibabel
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import integers

from fovnet.decision.earlier_answers import TEMPORARY_REFUSAL_CODES
from fovnet.errors import VolumeError
from fovnet.records import checksum, read_tsv
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.readers import volume_name
from fovnet.volume.sources.source import read, source_of

AFFINE = np.array([[-1.5, 0, 0, 30], [0, 1.5, 0, -20], [0, 0, 4.0, -50], [0, 0, 0, 1]])


def noise(shape=(20, 24, 9), dtype=np.int16, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 1000, shape).astype(dtype)


def saved(
    path: Path, voxels: np.ndarray, affine=AFFINE, *, kind=nibabel.Nifti1Image, **header: object
) -> Path:
    image = kind(voxels, affine)
    image.header.set_sform(affine, code=1)
    for name, value in header.items():
        image.header[name] = value
    nibabel.save(image, path)
    return path


def patched(path: Path, offset: int, fmt: str, *values: object) -> Path:
    """The file with bytes of its header overwritten, as no library would write them."""
    data = bytearray(path.read_bytes())
    struct.pack_into(fmt, data, offset, *values)
    path.write_bytes(data)
    return path


def with_affine(path: Path, affine: object) -> Path:
    """A plain NIfTI-1 whose srow holds just these numbers (offset 280)."""
    saved(path, noise())
    return patched(path, 280, "<12f", *np.asarray(affine, dtype=float)[:3].ravel())


def code_of(path: Path) -> str:
    with pytest.raises(VolumeError) as refusal:
        slice_volume(path)
    sentence = refusal.value.sentence
    assert str(path) in sentence or repr(str(path)) in sentence
    assert sentence.endswith((".", "FOLDER", "OUT.nii.gz", "FILE", "pull", "(chmod u+r)."))
    return refusal.value.code


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
@pytest.mark.parametrize("kind", [nibabel.Nifti1Image, nibabel.Nifti2Image])
@pytest.mark.parametrize(
    "dtype", [np.uint8, np.int16, np.uint16, np.int32, np.float32, np.float64, ">i2"]
)
def test_nifti_of_every_real_type_is_read_as_nibabel_reads_it(tmp_path, suffix, kind, dtype):
    path = saved(tmp_path / f"volume{suffix}", noise(dtype=np.uint8).astype(dtype), kind=kind)
    volume = read(path)
    image = nibabel.load(path)
    assert volume.voxels.dtype == np.float32
    assert np.array_equal(volume.voxels, image.get_fdata())
    assert np.array_equal(volume.vox_to_ras, image.affine)


def test_scale_and_intercept_of_the_header_are_applied(tmp_path):
    path = tmp_path / "scaled.nii"
    image = nibabel.Nifti1Image(noise(), AFFINE)
    image.header.set_slope_inter(0.25, 7.0)
    nibabel.save(image, path)
    assert np.array_equal(read(path).voxels, nibabel.load(path).get_fdata(dtype=np.float32))


@pytest.mark.parametrize("suffix", [".hdr", ".img"])
def test_a_pair_is_read_from_either_of_its_files(tmp_path, suffix):
    saved(tmp_path / "pair.img", noise(), kind=nibabel.Nifti1Pair)
    assert np.array_equal(read(tmp_path / f"pair{suffix}").voxels, noise())
    assert source_of(tmp_path / "pair.img").checksum == source_of(tmp_path / "pair.hdr").checksum
    whole = source_of(tmp_path / "pair.hdr").checksum
    patched(tmp_path / "pair.img", 40, "<h", 3)
    assert source_of(tmp_path / "pair.hdr").checksum != whole


def test_a_file_is_known_by_its_content_not_by_its_name(tmp_path):
    plain = saved(tmp_path / "volume.nii", noise())
    packed = tmp_path / "packed.nii"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    nameless = Path(shutil.copy(plain, tmp_path / "volume"))
    assert np.array_equal(read(packed).voxels, read(plain).voxels)
    assert np.array_equal(read(nameless).voxels, read(plain).voxels)


@pytest.mark.parametrize("first", [0, 100])
def test_gzip_of_several_members_is_read_however_short_the_first(tmp_path, first):
    """RFC 1952, 2.2: a file is a series of members, which unpack one after the other; an empty one is a
    member too."""
    plain = saved(tmp_path / "volume.nii", noise())
    data, packed = plain.read_bytes(), tmp_path / "packed.nii.gz"
    packed.write_bytes(gzip.compress(data[:first]) + gzip.compress(data[first:]))
    assert np.array_equal(read(packed).voxels, read(plain).voxels)


def test_gzip_whose_header_is_longer_than_a_block_is_read(tmp_path):
    plain = saved(tmp_path / "volume.nii", noise())
    data, deflate = plain.read_bytes(), zlib.compressobj(9, zlib.DEFLATED, -15)
    named = b"\x1f\x8b\x08\x08" + bytes(4) + b"\0\x03" + b"n" * 3000 + b"\0"
    ends = (zlib.crc32(data)).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    (tmp_path / "packed.nii.gz").write_bytes(
        named + deflate.compress(data) + deflate.flush() + ends
    )
    assert np.array_equal(read(tmp_path / "packed.nii.gz").voxels, read(plain).voxels)


def test_millions_of_frames_without_anything_are_given_up_soon(tmp_path):
    """260 KB of zeros unpack to a billion tiny frames, at 20 microseconds each."""
    voxels = np.zeros((4, 4, 4, 300), np.int16)
    voxels[..., 290] = np.arange(64).reshape(4, 4, 4)
    nibabel.nifti1.Nifti1Image(voxels, np.eye(4)).to_filename(tmp_path / "many.nii")
    with pytest.raises(VolumeError) as fault:
        read(tmp_path / "many.nii")
    assert fault.value.code == "volume-constant"
    voxels[..., 40] = voxels[..., 290]
    nibabel.nifti1.Nifti1Image(voxels, np.eye(4)).to_filename(tmp_path / "many.nii")
    assert read(tmp_path / "many.nii").notes[0] == "frame 41 of 300, the first usable one"


def test_the_first_usable_frame_is_taken_with_a_note(tmp_path):
    frames = np.stack(
        [np.zeros((8, 8, 5)), noise((8, 8, 5)), noise((8, 8, 5), seed=1)], axis=-1
    ).astype(np.float32)
    volume = read(saved(tmp_path / "four.nii.gz", frames))
    assert np.array_equal(volume.voxels, frames[..., 1])
    assert volume.notes == ("frame 2 of 3, the first usable one",)
    assert read(saved(tmp_path / "single.nii", frames[..., 1:2])).notes == ()


def test_noise_or_next_to_nothing_before_a_far_brighter_frame_is_passed_over(tmp_path):
    """A scan of noise, and a frame of one voxel in a thousand; not the b 1000 of a diffusion series before
    its tenfold brighter b 0."""
    rng, body = np.random.default_rng(0), noise((16, 16, 12), np.float32)
    nearly_empty = np.where(rng.random(body.shape) < 0.001, 1, 0)
    for first, note in (
        (rng.normal(0, 5, body.shape), r"is [1-4]\.\d% as bright, perhaps noise"),
        (nearly_empty, r"is 0\.0% as bright"),
    ):
        volume = read(
            saved(
                tmp_path / "a.nii", np.stack([first, body, 10 * body], axis=-1).astype(np.float32)
            )
        )
        assert np.array_equal(volume.voxels, body)
        assert re.match(f"frame 2 of 3; the one before {note}", volume.notes[0])
    for following in (
        10 * body,
        body / 10,
        nearly_empty,
        np.full_like(body, np.nan),
        np.full_like(body, 1e6),
    ):
        volume = read(
            saved(
                tmp_path / "a.nii",
                np.stack([body, following, 1e3 * body], axis=-1).astype(np.float32),
            )
        )
        assert np.array_equal(volume.voxels, body) and volume.notes == (
            "frame 1 of 3, the first usable one",
        )


def test_damage_behind_the_frame_that_is_used_changes_nothing(tmp_path):
    path = saved(tmp_path / "a.nii", np.stack([noise(), noise(seed=1)], axis=-1))
    data = path.read_bytes()
    for packed in (
        gzip.compress(data[:-100]),
        gzip.compress(data, 0)[:-100],
        gzip.compress(data[:-100]) + b"nothing",
    ):
        path.with_suffix(".nii.gz").write_bytes(packed)
        assert np.array_equal(read(path.with_suffix(".nii.gz")).voxels, noise())


def test_a_few_nan_become_the_darkest_finite_value(tmp_path):
    voxels = noise(dtype=np.float32) + 10
    voxels[:3], voxels[4, 0, 0] = np.nan, np.inf
    volume = read(saved(tmp_path / "nan.nii", voxels))
    assert np.isfinite(volume.voxels).all() and (volume.voxels[:3] == 10).all()
    assert volume.notes == (
        f"{3 * 24 * 9 + 1} NaN or infinite voxels set to the darkest finite value",
    )


def test_a_broken_voxel_makes_no_hole_darker_and_no_mr_a_ct(tmp_path):
    """A masked image of 0 to 4095 with one voxel of -32768: the mask was taken for the air of a CT."""
    rng = np.random.default_rng(0)
    voxels = rng.integers(200, 4096, (40, 40, 30)).astype(np.float32)
    voxels[:6] = np.nan
    whole = slice_volume(saved(tmp_path / "masked.nii", voxels)).pixels
    voxels[20, 20, 10] = -32768
    spoilt = slice_volume(saved(tmp_path / "spoilt.nii", voxels)).pixels
    assert np.abs(whole.astype(int) - spoilt).mean() < 1


def test_a_volume_no_body_is_as_long_as_is_refused_before_its_slices_take_memory(tmp_path):
    """4 kB of voxels of 0.05 × 100 mm took 4 GB."""
    for shape, mm in (
        ((2, 1000, 2), (0.05, 100.0, 3.0)),
        ((2, 2, 4000), (1.0, 1.0, 3.0)),
        ((2, 20_000, 2), (0.05, 0.2, 3.0)),
    ):
        image = nibabel.Nifti1Image(
            np.arange(np.prod(shape), dtype=np.float32).reshape(shape), np.diag([*mm, 1.0])
        )
        nibabel.save(image, tmp_path / "long.nii")
        with pytest.raises(VolumeError, match=r"are accepted.*volume-geometry"):
            slice_volume(tmp_path / "long.nii")


@pytest.mark.parametrize(
    ("bits", "scale"),
    [(2 | 64, 1.0), (2 | 56, 1.0), (4, 1.0), (1 | 8, 1000.0), (3 | 128, 0.001), (0, 1.0)],
)
def test_units_of_time_and_spare_bits_are_no_fault_of_the_units_of_space(tmp_path, bits, scale):
    """nifti1.h: XYZT_TO_SPACE is the lowest three bits."""
    path = saved(tmp_path / "a.nii", noise())
    before, raw = read(path).vox_to_ras, bytearray(path.read_bytes())
    raw[123] = bits
    for place in (*range(80, 92, 4), *range(268, 328, 4)):
        raw[place : place + 4] = struct.pack(
            "<f", struct.unpack("<f", raw[place : place + 4])[0] / scale
        )
    path.write_bytes(raw)
    np.testing.assert_allclose(read(path).vox_to_ras, before, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("place", "damage"), [(88, np.nan), (80, np.nan), (256, 3.0)])
def test_a_damaged_qform_is_noted_and_does_not_hide_that_left_is_right(tmp_path, place, damage):
    """pixdim 3 and 1, and a quaternion longer than 1, beside a good sform; and beside one that is
    mirrored."""
    image = nibabel.Nifti1Image(noise(), np.diag([1.5, 1.5, 4.0, 1.0]))
    image.set_sform(image.affine, code=1)
    image.set_qform(image.affine, code=1)
    path = tmp_path / "a.nii"
    nibabel.save(image, path)
    raw = bytearray(path.read_bytes())
    raw[place : place + 4] = struct.pack("<f", damage)
    path.write_bytes(raw)
    assert any("the qform is damaged" in note for note in read(path).notes)
    if place == 88:
        (x,) = struct.unpack("<f", raw[280:284])
        raw[280:284] = struct.pack("<f", -x)
        path.write_bytes(raw)
        with pytest.raises(VolumeError, match=r"180° apart.*volume-geometry"):
            read(path)


@pytest.mark.parametrize(
    ("intent", "code"), [(1003, "volume-labels"), (2003, "volume-rgb"), (2004, "volume-rgb")]
)
def test_what_the_header_calls_no_intensities_is_refused(tmp_path, intent, code):
    path = saved(tmp_path / "a.nii", noise())
    raw = bytearray(path.read_bytes())
    raw[68:70] = struct.pack("<h", intent)
    path.write_bytes(raw)
    with pytest.raises(VolumeError, match=code):
        read(path)


def test_microns_become_millimetres(tmp_path):
    path = saved(tmp_path / "microns.nii", noise(), np.diag([1500, 1500, 4000, 1.0]), xyzt_units=3)
    assert read(path).spacing_mm.tolist() == pytest.approx([1.5, 1.5, 4.0])


def test_a_qform_elsewhere_is_noted_and_the_sform_counts(tmp_path):
    image = nibabel.Nifti1Image(noise(), AFFINE)
    moved = AFFINE.copy()
    moved[2, 3] += 30
    image.header.set_qform(moved, code=1)
    image.header.set_sform(AFFINE, code=1)
    nibabel.save(image, tmp_path / "two.nii")
    volume = read(tmp_path / "two.nii")
    assert np.array_equal(volume.vox_to_ras, AFFINE)
    assert volume.notes == ("sform and qform disagree by up to 30.0 mm; the sform is used",)


@pytest.mark.parametrize(("factor", "axis"), [(2.5, 2), (0.5, 0), (1.3, 1), (0.75, 2)])
def test_two_forms_of_voxels_of_other_sizes_are_refused_but_for_what_a_template_needs(
    tmp_path, factor, axis
):
    """An sform kept while every second slice was left out makes a body of half its height; one to a template
    scales by up to 1.3."""
    sized = AFFINE @ np.diag(np.where(np.arange(4) == axis, factor, 1.0))
    image = nibabel.Nifti1Image(noise(), sized)
    image.header.set_qform(AFFINE, code=1)
    image.header.set_sform(sized, code=2)
    nibabel.save(image, tmp_path / "two.nii")
    if 1 / 1.5 < factor < 1.5:
        assert (
            np.allclose(read(tmp_path / "two.nii").vox_to_ras, sized)
            and "disagree by up to" in read(tmp_path / "two.nii").notes[0]
        )
        return
    with pytest.raises(
        VolumeError,
        match=r"1.5 × 1.5 × 4 mm by the qform, (2|2.5) times apart \(limit 1.5\).*volume-geometry",
    ):
        read(tmp_path / "two.nii")
    assert read(patched(tmp_path / "two.nii", 80 + 4 * axis, "<f", 0.0)).notes, (
        "a pixdim of 0 is ignored"
    )


def write_bytes(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("IM_0001", b"DICM")
    return path


def truncated(path: Path, share: float) -> Path:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    return path


def flipped_bit(path: Path) -> Path:
    """A gzip whose payload is intact but for its stored checksum."""
    data = bytearray(path.read_bytes())
    data[-6] ^= 1
    path.write_bytes(data)
    return path


def without_forms(path: Path) -> Path:
    saved(path, noise())
    return patched(path, 252, "<2h", 0, 0)


def labels() -> np.ndarray:
    x, y, z = np.indices((40, 40, 40)) // 10
    return (x + 4 * y + 2 * z).astype(np.int16)


def ct() -> np.ndarray:
    voxels = np.random.default_rng(0).normal(40, 30, (30, 30, 20)).astype(np.int16)
    voxels[:8] = -1000 + voxels[:8] // 10
    return voxels


def colours() -> np.ndarray:
    return np.zeros((8, 8, 4), dtype=[("R", "u1"), ("G", "u1"), ("B", "u1")])


def pair_without_image(folder: Path) -> Path:
    saved(folder / "alone.img", noise(), kind=nibabel.Nifti1Pair)
    (folder / "alone.img").unlink()
    return folder / "alone.hdr"


def analyze(folder: Path) -> Path:
    nibabel.save(nibabel.AnalyzeImage(noise(), AFFINE), folder / "old.img")
    return folder / "old.hdr"


SHEARED = [[1, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 3, 0]]
BROKEN = {
    "missing": (lambda at: at / "nowhere.nii", "volume-missing"),
    "a file taken for a folder": (
        lambda at: write_bytes(at / "f", b"x") / "volume.nii",
        "volume-missing",
    ),
    "a null in the name": (lambda at: at / "a\0b.nii", "volume-missing"),
    "a folder": (lambda at: at, "volume-no-dicom"),
    "empty": (lambda at: write_bytes(at / "empty.nii", b""), "volume-empty"),
    "an empty gzip": (
        lambda at: write_bytes(at / "empty.nii.gz", gzip.compress(b"")),
        "volume-empty",
    ),
    "text": (lambda at: write_bytes(at / "text.nii", b"volume_id\tpath\n" * 40), "volume-format"),
    "packed text": (
        lambda at: write_bytes(at / "text.nii.gz", gzip.compress(b"hello " * 90)),
        "volume-format",
    ),
    "noise": (
        lambda at: write_bytes(at / "noise.nii", np.random.default_rng(0).bytes(4000)),
        "volume-format",
    ),
    "dicom": (
        lambda at: write_bytes(at / "image.dcm", bytes(128) + b"DICM" + bytes(500)),
        "volume-format",
    ),
    "zip": (lambda at: zipped(at / "series.zip"), "volume-no-dicom"),
    "analyze": (analyze, "volume-orientation"),
    "half a gzip": (
        lambda at: truncated(saved(at / "half.nii.gz", noise()), 0.5),
        "volume-truncated",
    ),
    "half a plain file": (
        lambda at: truncated(saved(at / "half.nii", noise()), 0.5),
        "volume-truncated",
    ),
    "only a header": (
        lambda at: truncated(saved(at / "head.nii", noise()), 0.045),
        "volume-truncated",
    ),
    "a wrong gzip checksum": (
        lambda at: flipped_bit(saved(at / "bit.nii.gz", noise())),
        "volume-corrupt",
    ),
    "an unknown data type": (
        lambda at: patched(saved(at / "type.nii", noise()), 70, "<h", 4711),
        "volume-corrupt",
    ),
    "nine dimensions": (
        lambda at: patched(saved(at / "dims.nii", noise()), 40, "<h", 9),
        "volume-corrupt",
    ),
    "a negative dimension": (
        lambda at: patched(saved(at / "dims.nii", noise()), 44, "<h", -5),
        "volume-corrupt",
    ),
    "absurd dimensions": (
        lambda at: patched(saved(at / "huge.nii", noise()), 42, "<3h", 32000, 32000, 32000),
        "volume-too-large",
    ),
    "no voxels": (lambda at: patched(saved(at / "none.nii", noise()), 44, "<h", 0), "volume-shape"),
    "one sagittal image": (lambda at: saved(at / "one.nii", noise((1, 20, 20))), "volume-shape"),
    "one line of voxels": (
        lambda at: patched(saved(at / "line.nii", noise()), 40, "<h", 1),
        "volume-shape",
    ),
    "vectors": (
        lambda at: saved(at / "warp.nii", noise((8, 8, 8, 1, 3), np.float32), intent_code=1007),
        "volume-shape",
    ),
    "colours": (lambda at: saved(at / "rgb.nii", colours()), "volume-rgb"),
    "complex": (lambda at: saved(at / "complex.nii", noise(dtype=np.complex64)), "volume-complex"),
    "no form": (lambda at: without_forms(at / "nowhere.nii"), "volume-geometry"),
    "singular": (
        lambda at: with_affine(at / "flat.nii", [[1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 3, 0]]),
        "volume-geometry",
    ),
    "all zero": (lambda at: with_affine(at / "zero.nii", np.zeros((3, 4))), "volume-geometry"),
    "nan affine": (
        lambda at: with_affine(at / "nan.nii", np.full((3, 4), np.nan)),
        "volume-geometry",
    ),
    "sheared": (lambda at: with_affine(at / "shear.nii", SHEARED), "volume-geometry"),
    "coplanar axes": (
        lambda at: with_affine(at / "plane.nii", [[1, 0, 0.7, 0], [0, 1, 0.7, 0], [0, 0, 0, 0]]),
        "volume-geometry",
    ),
    "kilometres": (lambda at: with_affine(at / "far.nii", np.eye(4)[:3] * 1e3), "volume-geometry"),
    "nanometres": (
        lambda at: with_affine(at / "near.nii", np.eye(4)[:3] * 1e-3),
        "volume-geometry",
    ),
    "constant": (
        lambda at: saved(at / "flat.nii", np.full((9, 9, 9), 7, np.int16)),
        "volume-constant",
    ),
    "all frames constant": (
        lambda at: saved(at / "flat4.nii", np.zeros((9, 9, 9, 3), np.int16)),
        "volume-constant",
    ),
    "all nan": (
        lambda at: saved(at / "nan.nii", np.full((9, 9, 9), np.nan, np.float32)),
        "volume-nonfinite",
    ),
    "ct": (lambda at: saved(at / "ct.nii.gz", ct()), "volume-ct"),
    "labels": (lambda at: saved(at / "labels.nii.gz", labels()), "volume-labels"),
    "labels by intent": (
        lambda at: saved(at / "intent.nii.gz", noise(), intent_code=1002),
        "volume-labels",
    ),
    "a pair without its image": (pair_without_image, "volume-missing"),
}


def test_what_gunzip_would_mend_is_named(tmp_path):
    """Packed twice, a file unpacks to gzip; what hangs behind one gunzip leaves out, and warns.  Zeros are
    padding to both."""
    packed = saved(tmp_path / "a.nii.gz", noise()).read_bytes()
    followed = packed + b"nothing " * 9
    for data, message in (
        (gzip.compress(packed), "packed twice with gzip"),
        (followed, r"extra bytes follow .*gunzip -c"),
    ):
        with pytest.raises(VolumeError, match=message):
            read(write_bytes(tmp_path / "b.nii.gz", data))
    assert np.array_equal(
        read(write_bytes(tmp_path / "b.nii.gz", packed + bytes(512))).voxels, noise()
    )


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
@pytest.mark.parametrize("shape", [(64, 80, 40), (256, 120, 20), (512, 512, 5), (40, 300, 9)])
def test_a_grid_too_small_for_its_voxels_is_refused_and_padding_is_not(tmp_path, suffix, shape):
    """With a column less than there is every plane shears; a page of padding, and frames that no header
    counts, move nothing."""
    voxels = noise(shape)
    plain = saved(tmp_path / "made.nii", voxels).read_bytes()
    path = tmp_path / f"one{suffix}"

    def written(columns: int, behind: int) -> Path:
        data = bytearray(plain + bytes(behind))
        struct.pack_into("<h", data, 42, columns)  # dim[1]
        path.write_bytes(gzip.compress(bytes(data), 1) if suffix.endswith("gz") else bytes(data))
        return path

    assert code_of(written(shape[0] - 1, 0)) == "volume-corrupt"
    for behind, expected in ((4095, ""), (2 * voxels.nbytes, "2 more frames")):
        volume = read(written(shape[0], behind))
        np.testing.assert_array_equal(
            volume.voxels, nibabel.load(tmp_path / "made.nii").get_fdata()
        )
        assert expected in " ".join(volume.notes) and (
            expected or not any("frames" in note for note in volume.notes)
        )


def test_frames_that_no_header_counts_are_let_be_however_many(tmp_path):
    """More than 64 MiB of them are not read to their end, and their number is not noted."""
    path = saved(tmp_path / "one.nii", noise((64, 64, 33)))
    path.write_bytes(path.read_bytes() + bytes(300 * 64 * 64 * 33 * 2))
    assert read(path).voxels.shape == (64, 64, 33)


@pytest.mark.parametrize(
    "header",
    [
        "ObjectType = Image\nNDims = 3\nDimSize = {} 80 40\nElementType = MET_SHORT\nElementSpacing = 1 1 3\n"
        "Offset = 0 0 0\nTransformMatrix = 1 0 0 0 1 0 0 0 1\nElementDataFile = LOCAL\n",
        "NRRD0004\ntype: short\ndimension: 3\nsizes: {} 80 40\nencoding: raw\nendian: little\nspace: RAS\n"
        "space directions: (1,0,0) (0,1,0) (0,0,3)\nspace origin: (0,0,0)\n\n",
    ],
)
def test_so_it_is_in_other_formats(tmp_path, header):
    path = tmp_path / "one"
    for columns, code in ((64, None), (60, "volume-corrupt")):
        path.write_bytes(header.format(columns).encode() + noise((64, 80, 40)).tobytes())
        if code:
            assert code_of(path) == code
        else:
            assert read(path).voxels.shape == (64, 80, 40)


@pytest.mark.parametrize(("make", "code"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file_is_refused_with_its_code_and_a_sentence(tmp_path, make, code):
    assert code_of(make(tmp_path)) == code


@pytest.mark.parametrize("ground", [0, -500, 50_000])
@pytest.mark.parametrize("air", [0, 50_000])
def test_mr_is_no_label_map_however_flat_the_ground_it_stands_on(tmp_path, ground, air):
    """Masked to any number, and padded with another: only the body counts, of 200 greys, of dozens of flat
    labels or of one."""
    inside = np.linalg.norm(np.indices((40, 40, 40)).T - 19.5, axis=-1) < 16
    greys = np.random.default_rng(0).integers(100, 300, inside.shape)
    bodies = {"mr": greys, "map": 100 + labels(), "mask": np.full(inside.shape, 100)}
    paths = {name: tmp_path / f"{name}.nii.gz" for name in bodies}
    for name, body in bodies.items():
        saved(
            paths[name],
            np.pad(np.where(inside, body.astype(np.int32), air), 12, constant_values=ground),
        )
    assert read(paths["mr"]).voxels.size == 64**3
    assert [code_of(paths[name]) for name in ("map", "mask")] == ["volume-labels"] * 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_one_may_not_read_is_refused(tmp_path):
    path = saved(tmp_path / "secret.nii", noise())
    path.chmod(0)
    assert code_of(path) == "volume-permission"


SHORT = """
import resource, sys
from pathlib import Path
from fovnet.decision.earlier_answers import TEMPORARY_REFUSAL_CODES
from fovnet.errors import VolumeError
from fovnet.volume.slices.stack import slice_volume
slice_volume(Path(sys.argv[1]))
used = 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmSize")).split()[1])
resource.setrlimit(resource.RLIMIT_AS, (used + 2**25, used + 2**25))
try:
    print(slice_volume(Path(sys.argv[2])).pixels.shape)
except VolumeError as fault:
    print(fault.code)
"""


@pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="the size of a process is read from /proc"
)
def test_a_volume_within_the_limits_is_no_larger_for_a_moments_lack_of_memory(tmp_path):
    """100 MB of voxels where 32 MB are left: nothing is wrong with the volume, and it is refused as one to be
    tried again."""
    small, large = (
        saved(tmp_path / "small.nii", noise()),
        saved(tmp_path / "large.nii", noise((512, 512, 200))),
    )
    assert slice_volume(large).pixels.shape == (200, 128, 128)
    codes = subprocess.run(
        [sys.executable, "-c", SHORT, small, large], capture_output=True, text=True, check=True
    ).stdout.split()
    assert codes == ["volume-memory"] and "volume-memory" in TEMPORARY_REFUSAL_CODES


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(integers(0, 351), integers(0, 255), integers(0, 351), integers(0, 255))
def test_no_header_byte_leads_to_anything_but_slices_or_a_refusal(
    tmp_path, at, value, also_at, also
):
    path = saved(tmp_path / "fuzz.nii", noise((6, 7, 5)))
    patched(patched(path, at, "B", value), also_at, "B", also)
    try:
        stack = slice_volume(path)
    except VolumeError as refusal:
        assert refusal.code.startswith("volume-")
    else:
        assert stack.pixels.shape == (len(stack.z_mm), 128, 128) and np.isfinite(stack.z_mm).all()


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(integers(0, 4000), integers(1, 255))
def test_no_damaged_gzip_leads_to_anything_but_slices_or_a_refusal(tmp_path, at, change):
    path = saved(tmp_path / "fuzz.nii.gz", noise((12, 11, 9)))
    data = bytearray(path.read_bytes())
    data[at % len(data)] ^= change
    path.write_bytes(data)
    try:
        slice_volume(path)
    except VolumeError as refusal:
        assert refusal.code.startswith("volume-")


def test_the_stack_names_its_source_and_checksum(tmp_path):
    path = saved(tmp_path / "volume.nii.gz", noise())
    stack = slice_volume(path)
    assert (stack.source, stack.checksum) == (str(path), checksum(path))


def test_a_volume_is_named_by_its_file_without_suffix():
    names = {
        "a.nii.gz": "a",
        "a.b.nii": "a.b",
        "A.NII.GZ": "A",
        "x.img": "x",
        "plain": "plain",
        "x.dcm": "x",
        ".nii": ".nii",
    }
    assert {name: volume_name(Path("folder", name)) for name in names} == names


REFUSED = {
    "ct_slicerio_chest4": "volume-ct",
    "ct_ts_example": "volume-ct",
    "lab_spl_abdomen": "volume-labels",
    "lab_spl_brain": "volume-labels",
    "lab_spl_headneck": "volume-labels",
    "lab_spl_knee": "volume-labels",
    "abd_dbdicom_loc": "volume-localizer",
    "pelvis_px0218_loc": "volume-localizer",
    "leg_knee_fodicom_enh": "volume-single",
}
"""Of the real volumes: CT, label maps, localisers, and nineteen images of one slice over time."""


@pytest.mark.slow
def test_real_volumes_become_slices_or_a_sentence(shared):
    """And what was seen in them by eye, in slice numbers of another program's RAS volume, lies within the
    slices that are counted here."""
    last_seen: dict[str, int] = {}
    for row in read_tsv(shared / "data" / "regions.tsv"):
        last_seen[row["volume_id"]] = max(
            int(row["last_slice"]), last_seen.get(row["volume_id"], 0)
        )
    for row in read_tsv(shared / "data" / "volumes.tsv"):
        name, path = row["volume_id"], shared / "data" / row["path"]
        if name in REFUSED:
            assert code_of(path) == REFUSED[name]
            continue
        stack = slice_volume(path)
        counted = stack.label_slice_count or int(stack.slice_ranges[-1, 1]) + 1
        assert (np.diff(stack.z_mm) > 0).all() and stack.pixels.std() > 10, name
        assert last_seen.get(name, 0) < counted, name


@pytest.mark.parametrize("digits", ["12", "0123456789ab"])
def test_a_file_that_holds_no_series_wants_no_digits(tmp_path, digits):
    """Digits name a DICOM series of a folder, an archive or an object; behind a NIfTI there is none to look
    for."""
    volume = tmp_path / "calf.nii.gz"
    nibabel.save(
        nibabel.Nifti1Image(np.random.default_rng(0).normal(size=(20, 20, 20)), np.eye(4)), volume
    )
    with pytest.raises(VolumeError) as refusal:
        read(Path(f"{volume}#{digits}"))
    assert (
        refusal.value.code == "volume-series" and f"Leave #{digits} out" in refusal.value.sentence
    )
    with pytest.raises(VolumeError, match="twelve hexadecimal digits"):
        read(Path(f"{tmp_path}#12"))
