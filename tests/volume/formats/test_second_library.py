"""Every format beside a second library: SimpleITK for NRRD, MetaImage and GIPL, nibabel for MGH and
Analyze."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import nibabel
import numpy as np
import pytest
import SimpleITK
from nibabel.freesurfer.mghformat import header_dtype

from fovnet.errors import VolumeError
from fovnet.volume.formats.mgh import header_of
from fovnet.volume.slices.stack import slice_volume
from fovnet.volume.sources.readers import volume_name
from fovnet.volume.sources.source import read, source_of

DCM2NIIX = Path(sys.executable).with_name("dcm2niix")
LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])


def itk_image(seed: int = 0, shape=(7, 9, 5), kind: type = np.int16) -> SimpleITK.Image:
    """Noise on a turned grid; SimpleITK's arrays are indexed k, j, i."""
    rng = np.random.default_rng(seed)
    image = SimpleITK.GetImageFromArray(rng.integers(0, 120, shape[::-1]).astype(kind))
    turned, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    image.SetDirection(turned.ravel())
    image.SetSpacing(rng.uniform(0.5, 5.0, 3))
    image.SetOrigin(rng.uniform(-200, 200, 3))
    return image


def ras_affine(image: SimpleITK.Image) -> np.ndarray:
    """Voxel index to RAS millimetres, from where ITK puts four voxels."""
    corner = np.array(image.TransformIndexToPhysicalPoint((0, 0, 0)))
    affine = np.eye(4)
    affine[:3, 3] = corner
    for axis in range(3):
        affine[:3, axis] = (
            np.array(image.TransformIndexToPhysicalPoint([int(axis == n) for n in range(3)]))
            - corner
        )
    return LPS_TO_RAS @ affine


@pytest.mark.parametrize("name", ["a.nrrd", "a.nhdr", "a.mha", "a.mhd"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_simpleitk_writes_lies_where_simpleitk_says(tmp_path, name, packed, seed):
    image = itk_image(seed, kind=(np.int16, np.uint8, np.float32, np.float64)[seed])
    SimpleITK.WriteImage(image, str(tmp_path / name), useCompression=packed)
    volume = read(tmp_path / name)
    assert np.array_equal(volume.voxels, SimpleITK.GetArrayFromImage(image).transpose())
    np.testing.assert_allclose(volume.vox_to_ras, ras_affine(image), atol=1e-9)


@pytest.mark.parametrize("name", ["a.gipl", "a.gipl.gz"])
def test_gipl_is_taken_as_itk_takes_it_and_that_is_said(tmp_path, name):
    image = itk_image()
    image.SetDirection(np.eye(3).ravel())
    SimpleITK.WriteImage(image, str(tmp_path / name))
    volume, again = read(tmp_path / name), SimpleITK.ReadImage(str(tmp_path / name))
    assert np.array_equal(volume.voxels, SimpleITK.GetArrayFromImage(image).transpose())
    # spacings are float32 there
    np.testing.assert_allclose(volume.vox_to_ras, ras_affine(again), atol=1e-4)
    assert "as ITK-SNAP does" in volume.notes[0]


@pytest.mark.parametrize("end", ["<", ">"])
@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
def test_simpleitk_reads_the_files_that_we_wrote_as_we_do(tmp_path, made, end, kind):
    """So that the matrix and the faults, which are made of such files, test the formats and not a private
    dialect."""
    body = made.body("oblique")
    files = [
        made.nrrd(tmp_path / "a.nrrd", body, end + kind),
        made.metaimage(tmp_path / "b.mha", body, end + kind, packed=True),
        made.nrrd(
            tmp_path / "c.nhdr",
            body,
            end + kind,
            encoding="raw",
            data="c.raw",
            space="right-anterior-superior",
        ),
    ]
    for path in files:
        image = SimpleITK.ReadImage(str(path))
        assert np.array_equal(SimpleITK.GetArrayFromImage(image).transpose(), body.voxels), (
            path.name
        )
        np.testing.assert_allclose(ras_affine(image), body.vox_to_ras, atol=1e-6)
        assert np.array_equal(read(path).voxels, body.voxels)
        np.testing.assert_allclose(read(path).vox_to_ras, body.vox_to_ras, atol=1e-12)


@pytest.mark.parametrize("name", ["a.mgh", "a.mgz"])
@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "f4", "u2"])
def test_mgh_is_read_as_nibabel_reads_it(tmp_path, made, name, kind):
    path = made.mgh(tmp_path / name, made.body("oblique"), ">" + kind)
    data = path.read_bytes()
    plain = gzip.decompress(data) if name.endswith("z") else data
    image, volume = nibabel.MGHImage.from_bytes(plain), read(path)
    assert np.array_equal(volume.voxels, image.get_fdata())
    np.testing.assert_allclose(volume.vox_to_ras, image.affine, atol=1e-4)
    turned = little_endian(plain, kind)
    path.write_bytes(gzip.compress(turned) if name.endswith("z") else turned)
    assert np.array_equal(read(path).voxels, volume.voxels)
    assert np.array_equal(read(path).vox_to_ras, volume.vox_to_ras)
    assert header_of(path)[0] == (*volume.voxels.shape, 1)


def little_endian(mgh: bytes, kind: str) -> bytes:
    """An MGH in the other byte order, header, voxels and what follows them."""
    fields = np.frombuffer(mgh[: header_dtype.itemsize], header_dtype)
    end = 284 + int(np.prod(fields["dims"][0])) * np.dtype(kind).itemsize
    voxels = np.frombuffer(mgh[284:end], ">" + kind).astype("<" + kind)
    tail = np.frombuffer(mgh[end:], ">i4").astype("<i4")
    header = fields.astype(header_dtype.newbyteorder("<"))
    return header.tobytes() + mgh[header_dtype.itemsize : 284] + voxels.tobytes() + tail.tobytes()


@pytest.mark.parametrize("name", ["a.mgh", "a.mgz"])
def test_an_mgh_that_dcm2niix_writes_lies_as_its_nifti(tmp_path, write, name):
    """dcm2niix 1.0.20260724 writes it in the byte order of the machine; FreeSurfer's is big endian."""
    series = write.save(tmp_path / "in", write.images(write.noise()))
    packed = "y" if name.endswith("z") else "n"
    for form in ("o", "n"):
        wanted = ["-e", form, "-z", packed, "-f", "a", "-o", str(tmp_path)]
        subprocess.run([DCM2NIIX, *wanted, str(series)], check=True, capture_output=True)
    volume = read(tmp_path / name)
    other = read(next(tmp_path.glob("a.nii*")))
    assert np.array_equal(volume.voxels, other.voxels)
    np.testing.assert_allclose(volume.vox_to_ras, other.vox_to_ras, atol=1e-3)


@pytest.mark.parametrize("version", [b"\x02\0\0\0", b"\0\0\0\x02", b"\x01\x01\0\0", bytes(4)])
def test_an_mgh_of_another_version_is_called_damaged(tmp_path, made, version):
    path = made.mgh(tmp_path / "a.mgh", made.body())
    path.write_bytes(version + path.read_bytes()[4:])
    with pytest.raises(VolumeError, match="damaged FreeSurfer MGH"):
        read(path)


@pytest.mark.parametrize("components", [2, 3, 5, 30])
@pytest.mark.parametrize("name", ["a.nii", "a.nii.gz"])
def test_a_series_that_itk_saved_as_vectors_is_refused_with_an_advice_that_helps(
    tmp_path, name, components
):
    """SimpleITK 2.5.7 writes (i, j, k, 1, components) with the intent of a vector (1007), and nibabel 5.4.2
    keeps that intent of the one component that is left."""
    series = np.random.default_rng(0).integers(1, 900, (9, 8, 7, components)).astype(np.float32)
    image = SimpleITK.GetImageFromArray(series, isVector=True)
    SimpleITK.WriteImage(image, str(tmp_path / name))
    with pytest.raises(
        VolumeError, match=f"a vector of {components} numbers.*volume-shape"
    ) as refused:
        read(tmp_path / name)
    advice = refused.value.sentence.split("in Python: ")[1].removesuffix(".")
    names = {"nibabel": nibabel, "IN": tmp_path / name, "OUT": tmp_path / "one.nii"}
    exec(advice, names)
    assert nibabel.load(tmp_path / "one.nii").header["intent_code"] == 1007
    assert np.array_equal(read(tmp_path / "one.nii").voxels, series[..., 0].transpose())


@pytest.mark.parametrize("kind", [nibabel.Spm99AnalyzeImage, nibabel.Spm2AnalyzeImage])
@pytest.mark.parametrize("dtype", ["<i2", ">i2", "<f4", ">u1"])
def test_analyze_is_placed_by_the_mat_beside_it(tmp_path, made, kind, dtype):
    path = made.analyze(tmp_path / "a.hdr", made.body("oblique"), dtype, kind)
    image, volume = nibabel.load(path.with_suffix(".img")), read(path)
    assert np.array_equal(volume.voxels, image.get_fdata())
    np.testing.assert_allclose(volume.vox_to_ras, image.affine, atol=1e-9)
    assert np.array_equal(read(path.with_suffix(".img")).voxels, volume.voxels)


def test_an_old_mat_with_m_alone_flips_left_and_right(tmp_path, made):
    """SPM99's M is in a frame whose x runs the other way; nibabel's reading is the oracle."""
    from scipy.io import savemat

    path = made.analyze(tmp_path / "a.hdr", made.body())
    matrix = np.diag([2.0, 2.0, 3.0, 1.0])
    savemat(path.with_suffix(".mat"), {"M": matrix}, format="4")
    np.testing.assert_allclose(read(path).vox_to_ras, nibabel.load(path.with_suffix(".img")).affine)
    assert read(path).vox_to_ras[0, 0] == -2.0


@pytest.mark.parametrize("write", ["nrrd", "metaimage"])
def test_another_data_file_is_another_checksum(tmp_path, made, write):
    raw = {"encoding": "raw"} if write == "nrrd" else {}
    path = getattr(made, write)(tmp_path / "head.hdr.txt", made.body(), data="voxels.raw", **raw)
    before = source_of(path).checksum
    data = bytearray((tmp_path / "voxels.raw").read_bytes())
    data[100] ^= 1
    (tmp_path / "voxels.raw").write_bytes(data)
    assert source_of(path).checksum != before


def test_frames_may_lie_on_the_first_or_the_last_axis_of_an_nrrd(tmp_path, made):
    body = made.body()
    shape = body.voxels.shape
    vectors = made.nrrd(tmp_path / "plain.nrrd", body, encoding="raw").read_bytes().decode("latin1")
    steps = next(
        line for line in vectors.splitlines() if line.startswith("space directions")
    ).partition(": ")[2]
    frames = np.stack([np.zeros(shape), body.voxels, body.voxels[::-1]])
    for name, sizes, directions, array in (
        ("first", (3, *shape), f"none {steps}", frames),
        ("last", (*shape, 3), f"{steps} none", np.moveaxis(frames, 0, 3)),
    ):
        path = made.nrrd(
            tmp_path / f"{name}.nhdr",
            body,
            encoding="raw",
            data="frames.raw",
            dimension="4",
            sizes=" ".join(map(str, sizes)),
            space_directions=directions,
            kinds="list domain domain domain" if name == "first" else "domain domain domain list",
        )
        (tmp_path / "frames.raw").write_bytes(array.astype("<i2").tobytes(order="F"))
        volume = read(path)
        assert np.array_equal(volume.voxels, body.voxels)
        assert volume.notes == ("frame 2 of 3, the first usable one",)


def test_frames_of_mgh_and_metaimage_are_read_in_their_order(tmp_path, made):
    body = made.body()
    frames = np.stack([np.zeros_like(body.voxels), body.voxels], axis=3)
    nibabel.save(nibabel.MGHImage(frames, body.vox_to_ras), tmp_path / "four.mgz")
    four = made.metaimage(
        tmp_path / "four.mha",
        body,
        NDims="4",
        DimSize=" ".join(map(str, frames.shape)),
        ElementSpacing="1.5 1.25 4 1",
        TransformMatrix="-1 0 0 0 0 -1 0 0 0 0 1 0 0 0 0 1",
        Offset="31.5 -12.25 -45.75 0",
    )
    four.write_bytes(
        four.read_bytes()[: -body.voxels.size * 2] + frames.astype("<i2").tobytes(order="F")
    )
    for path in (tmp_path / "four.mgz", four):
        volume = read(path)
        assert np.array_equal(volume.voxels, body.voxels)
        assert volume.notes == ("frame 2 of 2, the first usable one",)
        np.testing.assert_allclose(volume.vox_to_ras, body.vox_to_ras, atol=1e-5)


def test_microns_of_an_nrrd_become_millimetres(tmp_path, made):
    body = made.body()
    shrunk = type(body)(body.voxels, np.diag([1e3, 1e3, 1e3, 1.0]) @ body.vox_to_ras, "microns")
    path = made.nrrd(tmp_path / "a.nrrd", shrunk, space_units='"um" "um" "um"')
    np.testing.assert_allclose(read(path).vox_to_ras, body.vox_to_ras, atol=1e-12)


def test_a_metaimage_gives_intensities_by_its_own_slope_and_offset(tmp_path, made):
    body = made.body()
    scaled = made.metaimage(
        tmp_path / "a.mha",
        body,
        ElementToIntensityFunctionSlope="0.5",
        ElementToIntensityFunctionOffset="10",
    )
    assert np.array_equal(read(scaled).voxels, body.voxels / 2 + 10)


@pytest.mark.parametrize("skip", ["3", "-1"])
def test_bytes_in_front_of_the_voxels_are_skipped(tmp_path, made, skip):
    body = made.body()
    for path in (
        made.nrrd(tmp_path / "a.nhdr", body, encoding="raw", data="a.raw", byte_skip=skip),
        made.metaimage(tmp_path / "b.mhd", body, data="b.raw", HeaderSize=skip),
    ):
        data = tmp_path / f"{path.stem}.raw"
        data.write_bytes(b"abc" + data.read_bytes())
        assert np.array_equal(read(path).voxels, body.voxels)


def test_a_metaimages_header_size_counts_from_the_beginning_of_the_file_as_in_itk(tmp_path, made):
    body = made.body()
    path = made.metaimage(tmp_path / "a.mha", body, HeaderSize="0512")
    whole, length = path.read_bytes(), body.voxels.size * 2
    path.write_bytes(whole[:-length].ljust(512, b"x") + whole[-length:])
    assert np.array_equal(read(path).voxels, body.voxels)
    assert np.array_equal(SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(path)).T, body.voxels)
    path.write_bytes(whole.replace(b"HeaderSize = 0512", b"HeaderSize = 0100"))
    with pytest.raises(
        VolumeError, match=r"HeaderSize.*100.*where the header ends.*volume-corrupt"
    ):
        read(path)


def test_a_volume_keeps_its_name_whatever_its_format():
    assert {
        volume_name(name)
        for name in ("a.gipl.gz", "a.mgz", "a.nrrd", "a.mha", "a.nhdr", "a.mgh.gz")
    } == {"a"}


def test_real_volumes_of_other_formats_become_slices_or_a_sentence(shared):
    expected = {
        "head_fs_mgz.mgz": 85,
        "head_flair_nrrd.nrrd": 46,
        "head_gipl.gipl.gz": 21,
        "ct_slicerio_chest4.nrrd": "volume-ct",
        **dict.fromkeys(
            (f"lab_spl_{name}.nrrd" for name in ("abdomen", "brain", "headneck", "knee")),
            "volume-labels",
        ),
    }
    for name, wanted in expected.items():
        try:
            got: int | str = len(slice_volume(shared / "data" / "volumes" / name).pixels)
        except VolumeError as refusal:
            got = refusal.code
        assert got == wanted, name


@pytest.mark.parametrize("name", ["head_fs_mgz.mgz", "head_flair_nrrd.nrrd", "head_gipl.gipl.gz"])
def test_real_volumes_lie_where_a_second_library_puts_them(shared, name):
    path = shared / "data" / "volumes" / name
    volume = read(path)
    if name.endswith("mgz"):
        image = nibabel.load(path)
        assert np.array_equal(volume.voxels, image.get_fdata())
        np.testing.assert_allclose(volume.vox_to_ras, image.affine, atol=1e-4)
        return
    itk = SimpleITK.ReadImage(str(path))
    assert np.array_equal(volume.voxels, SimpleITK.GetArrayFromImage(itk).transpose())
    np.testing.assert_allclose(volume.vox_to_ras, ras_affine(itk), atol=1e-5)
