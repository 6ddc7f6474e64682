"""DICOM written from a grid whose voxels and place are known: classic series, enhanced objects, mosaics,
compressed or not."""

from __future__ import annotations

import math
import struct
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydicom.dataset import Dataset, FileDataset, FileMetaDataset
from pydicom.sequence import Sequence
from pydicom.uid import ExplicitVRLittleEndian

LPS = np.diag([-1.0, -1.0, 1.0])
STUDY = "1.2.826.0.1.3680043.8.498.1"
MR, ENHANCED = "1.2.840.10008.5.1.4.1.1.4", "1.2.840.10008.5.1.4.1.1.4.1"
# stored as scanners do: LPS
AFFINE = np.array([[-1.5, 0, 0, 30], [0, -1.25, 0, 20], [0, 0, 4.0, -50], [0, 0, 0, 1]])


def noise(shape=(20, 24, 9), dtype=np.int16, seed: int = 0) -> np.ndarray:
    """A lopsided body in noise, so that no two orientations of it look alike."""
    low, high = (0, 1000) if np.dtype(dtype).itemsize > 1 else (0, 120)
    voxels = np.random.default_rng(seed).integers(low, high // 4, shape)
    voxels[shape[0] // 4 : shape[0] // 2, shape[1] // 3 :, shape[2] // 3 :] += high // 2
    return voxels.astype(dtype)


def number(value: float) -> str:
    """A decimal string of at most 16 characters, the most DICOM holds."""
    return next(text for digits in range(15, 0, -1) if len(text := f"{value:.{digits}g}") <= 16)


def geometry(affine: np.ndarray, k: float) -> dict[str, Any]:
    """Position, orientation and pixel spacing of slice k of a grid."""
    directions = LPS @ affine[:3, :2]
    spacing = np.linalg.norm(directions, axis=0)
    return {
        "ImagePositionPatient": [number(x) for x in LPS @ (affine @ [0, 0, k, 1])[:3]],
        "ImageOrientationPatient": [number(x) for x in (directions / spacing).T.ravel()],
        "PixelSpacing": [number(spacing[1]), number(spacing[0])],
    }


def header(sop_class: str, uid: str, pixels: np.ndarray, **more: Any) -> FileDataset:
    meta = FileMetaDataset()
    meta.MediaStorageSOPClassUID, meta.MediaStorageSOPInstanceUID, meta.TransferSyntaxUID = (
        sop_class,
        uid,
        ExplicitVRLittleEndian,
    )
    one = FileDataset("", {}, file_meta=meta, preamble=bytes(128))
    one.SOPClassUID, one.SOPInstanceUID, one.Modality, one.PatientID, one.StudyInstanceUID = (
        sop_class,
        uid,
        "MR",
        "someone",
        STUDY,
    )
    one.SeriesInstanceUID, one.SeriesNumber, one.ImageType = (
        f"{STUDY}.7",
        7,
        ["ORIGINAL", "PRIMARY", "M", "ND"],
    )
    one.Rows, one.Columns = pixels.shape[-2:]
    one.SamplesPerPixel, one.PhotometricInterpretation = 1, "MONOCHROME2"
    one.BitsAllocated = one.BitsStored = pixels.dtype.itemsize * 8
    one.HighBit, one.PixelRepresentation = one.BitsStored - 1, int(pixels.dtype.kind == "i")
    put(one, more)
    one.PixelData = np.ascontiguousarray(pixels).tobytes() + b"\0" * (pixels.nbytes % 2)
    one["PixelData"].VR = "OB" if pixels.dtype.itemsize == 1 else "OW"
    return one


def put(dataset: Dataset, values: dict[str, Any]) -> None:
    """Set elements by keyword; None takes one away."""
    for key, value in values.items():
        if value is None:
            dataset.__delattr__(key)
        else:
            setattr(dataset, key, value)


def images(
    voxels: np.ndarray, affine: np.ndarray = AFFINE, series: int = 7, **more: Any
) -> list[FileDataset]:
    """A classic image for each slice k of the grid; `more` holds elements, or functions of k that give
    them."""

    def given(value: Any, k: int) -> Any:
        return value(k) if callable(value) else value

    return [
        header(
            MR,
            f"{STUDY}.{series}.{given(more.get('InstanceNumber', k + 1), k)}.{k}",
            np.ascontiguousarray(voxels[:, :, k].T),
            **{
                "SeriesInstanceUID": f"{STUDY}.{series}",
                "SeriesNumber": series,
                "InstanceNumber": k + 1,
                **geometry(affine, k),
                **{key: given(value, k) for key, value in more.items()},
            },
        )
        for k in range(voxels.shape[2])
    ]


def save(folder: Path, datasets: list[FileDataset], names: str = "im") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for index, dataset in enumerate(datasets):
        dataset.save_as(folder / f"{names}{index:03}.dcm", enforce_file_format=True)
    return folder


def swapped(dataset: FileDataset, bits: int) -> FileDataset:
    """The same in explicit big endian, whose pixel words are turned round."""
    dataset.file_meta.TransferSyntaxUID = "1.2.840.10008.1.2.2"
    dataset.PixelData = (
        np.frombuffer(dataset.PixelData, f"<u{bits // 8}").astype(f">u{bits // 8}").tobytes()
    )
    plain = Dataset({element.tag: element for element in dataset})
    return FileDataset(
        "",
        plain,
        file_meta=dataset.file_meta,
        preamble=bytes(128),
        is_implicit_VR=False,
        is_little_endian=False,
    )


def compressed(path: Path, syntax: str, codec: Any = None) -> None:
    """The file in place, its pixels encoded by GDCM in a transfer syntax, lossless unless a codec says
    otherwise."""
    import gdcm

    reader = gdcm.ImageReader()
    reader.SetFileName(str(path))
    assert reader.Read()
    change = gdcm.ImageChangeTransferSyntax()
    change.SetTransferSyntax(gdcm.TransferSyntax(gdcm.TransferSyntax.GetTSType(syntax)))
    if codec is not None:
        codec.SetLossless(False)
        change.SetUserCodec(codec)
    change.SetInput(reader.GetImage())
    assert change.Change()
    writer = gdcm.ImageWriter()
    writer.SetFileName(str(path))
    writer.SetFile(reader.GetFile())
    writer.SetImage(change.GetOutput())
    assert writer.Write()


def enhanced(
    frames: np.ndarray,
    places: list[dict[str, Any]],
    groups: list[dict[str, dict[str, Any]]] | None = None,
    **more: Any,
) -> FileDataset:
    """An enhanced object of frames (n, rows, columns); `groups` adds elements of functional groups to each
    frame."""
    one = header(ENHANCED, f"{STUDY}.8.1", frames, NumberOfFrames=len(frames), **more)
    shared = Dataset()
    shared.PlaneOrientationSequence = Sequence(
        [dataset(ImageOrientationPatient=places[0]["ImageOrientationPatient"])]
    )
    shared.PixelMeasuresSequence = Sequence(
        [dataset(PixelSpacing=places[0]["PixelSpacing"], SliceThickness="99")]
    )
    one.SharedFunctionalGroupsSequence = Sequence([shared])
    each = []
    for index, place in enumerate(places):
        own = Dataset()
        own.PlanePositionSequence = Sequence(
            [dataset(ImagePositionPatient=place["ImagePositionPatient"])]
        )
        for name, values in (groups[index] if groups else {}).items():
            setattr(own, name, Sequence([dataset(**values)]))
        each.append(own)
    one.PerFrameFunctionalGroupsSequence = Sequence(each)
    return one


def dataset(**values: Any) -> Dataset:
    one = Dataset()
    put(one, values)
    return one


def mosaic(
    voxels: np.ndarray, affine: np.ndarray = AFFINE, csa: bytes | None = None, **more: Any
) -> FileDataset:
    """A Siemens mosaic: slice k is tile k, row by row; the position is the corner of the large image around
    the same centre."""
    columns, rows, slices = voxels.shape
    tiles = math.ceil(math.sqrt(slices))
    large = np.zeros((rows * tiles, columns * tiles), dtype=voxels.dtype)
    for k in range(slices):
        row, column = k // tiles * rows, k % tiles * columns
        large[row : row + rows, column : column + columns] = voxels[:, :, k].T
    place = geometry(affine, 0)
    corner = affine @ [-(columns * tiles - columns) / 2, -(rows * tiles - rows) / 2, 0, 1]
    place["ImagePositionPatient"] = [number(x) for x in LPS @ corner[:3]]
    step = LPS @ affine[:3, 2]
    apart = number(float(np.linalg.norm(step)))
    one = header(
        MR,
        f"{STUDY}.9.1",
        large,
        InstanceNumber=1,
        Manufacturer="SIEMENS",
        **{
            **place,
            "SpacingBetweenSlices": apart,
            "ImageType": ["ORIGINAL", "PRIMARY", "M", "ND", "MOSAIC"],
            **more,
        },
    )
    private = one.private_block(0x0029, "SIEMENS CSA HEADER", create=True)
    private.add_new(
        0x10, "OB", csa_header(slices, step / np.linalg.norm(step)) if csa is None else csa
    )
    return one


def csa_header(slices: int, normal: np.ndarray) -> bytes:
    """A CSA header of two entries, in the second form ("SV10")."""

    def entry(name: str, vr: str, values: list[str]) -> bytes:
        items = b"".join(
            struct.pack("<4i", len(value) + 1, len(value) + 1, 77, len(value) + 1)
            + value.encode()
            + b"\0"
            + b"\0" * (-(len(value) + 1) % 4)
            for value in values
        )
        return (
            struct.pack("<64si4s3i", name.encode(), len(values), vr.encode(), 0, len(values), 77)
            + items
        )

    entries = [
        entry("NumberOfImagesInMosaic", "US", [str(slices)]),
        entry("SliceNormalVector", "FD", [f"{x:.8f}" for x in normal]),
    ]
    return b"SV10\x04\x03\x02\x01" + struct.pack("<2I", len(entries), 77) + b"".join(entries)


def zipped(path: Path, folder: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder))
    return path


@pytest.fixture(scope="session")
def write() -> SimpleNamespace:
    """The writers above, by name."""
    return SimpleNamespace(
        noise=noise,
        geometry=geometry,
        images=images,
        save=save,
        swapped=swapped,
        compressed=compressed,
        enhanced=enhanced,
        mosaic=mosaic,
        csa_header=csa_header,
        zipped=zipped,
        put=put,
        dataset=dataset,
        header=header,
        AFFINE=AFFINE,
        STUDY=STUDY,
    )
