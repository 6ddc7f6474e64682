"""The intensities of DICOM images: decoded, rescaled, padding set to the lowest intensity,
MONOCHROME1 inverted.

Native, RLE and deflated data are decoded by pydicom; JPEG, JPEG-LS and JPEG 2000 by GDCM, in a
child process. Source: DICOM PS3.3, C.7.6.3 (pixel description, padding), C.11.1 (modality
transform).
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import join_sizes
from fovnet.volume.dicom.decoding import DECOMPRESS_HINT, Decoder, add_plugins
from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import (
    Frame,
    as_real_number,
    as_text,
    as_whole_number,
    make_lookup,
    read_dataset,
    without_warnings,
)
from fovnet.volume.dicom.plain import Element, PlainHeader, find_elements, tag_of
from fovnet.volume.dicom.source import DicomObject, most_believable_bytes, open_object
from fovnet.volume.unpacking import note_checksum

# fmt: off
PIXEL_KEYWORDS = (  # of a plain object of one image
    "Rows", "Columns", "SamplesPerPixel", "PhotometricInterpretation", "BitsAllocated",
    "BitsStored", "HighBit", "PixelRepresentation", "PixelPaddingValue", "PixelPaddingRangeLimit",
    "NumberOfFrames",
)
# fmt: on
READABLE_ALLOCATED_BITS = (8, 16, 32)


def read_planes(source: str, frames: Sequence[Frame]) -> NDArray[np.float32]:
    """(n, rows, columns) float32 intensities of images of one size, in the order given.

    Raises VolumeError: "volume-truncated", "volume-transfer-syntax", "volume-bits", "volume-rgb",
    "volume-corrupt", "volume-photometric", "volume-rescale".
    """
    planes = np.empty((len(frames), frames[0].rows, frames[0].columns), dtype=np.float32)
    indices_by_object = group_by_key(range(len(frames)), (frame.dicom_object for frame in frames))
    is_inverted = np.zeros(len(frames), dtype=bool)
    is_padding = np.zeros(planes.shape, dtype=bool)
    with closing(Decoder()) as decoder, without_warnings():
        for image_indices in indices_by_object.values():
            stored = _read_stored_planes(
                [frames[image_index] for image_index in image_indices], decoder
            )
            is_inverted[image_indices] = stored.is_inverted
            for image_index, plane in zip(image_indices, stored.planes, strict=True):
                planes[image_index] = _rescale(plane, frames[image_index])
                if stored.padding_limits:
                    lowest, highest = stored.padding_limits
                    is_padding[image_index] = (plane >= lowest) & (plane <= highest)
    _refuse_mixed_photometric(source, int(is_inverted.sum()), len(frames))
    if is_inverted.any():
        planes = planes.max() + planes.min() - planes
    if is_padding.any() and not is_padding.all():
        planes[is_padding] = planes[~is_padding].min()
    return planes


@dataclass(frozen=True)
class StoredPlanes:
    """The stored values (rows, columns) of images of an object, without unused bits; whether it is
    MONOCHROME1; and (low, high) of the values that are padding, if the header states any."""

    planes: list[NDArray[Any]]
    is_inverted: bool
    padding_limits: tuple[float, float] | None


def _read_plain_plane(content: bytes, frames: Sequence[Frame]) -> StoredPlanes | None:
    """The plane of a plain object of one image that is not compressed; None of any other."""
    frame = frames[0]
    if frame.frame_number or frame.tile_origin is not None:
        return None
    header = find_elements(io.BytesIO(content), content, _list_pixel_tags())
    if header is None or not header.ends_with_pixels(content):
        return None
    pixel_format = _plain_format(tuple(header.elements.items()), header.is_implicit)
    if pixel_format is None or header.pixel_length - pixel_format.byte_count not in (0, 1):
        return None
    if pixel_format.shape != (frame.rows, frame.columns):
        return None
    plane = np.frombuffer(
        content, pixel_format.dtype, math.prod(pixel_format.shape), header.pixel_start
    ).reshape(pixel_format.shape)
    if pixel_format.unused_bits:
        plane = (plane << pixel_format.unused_bits) >> pixel_format.unused_bits
    return StoredPlanes([plane], pixel_format.is_inverted, pixel_format.padding_limits)


@cache
def _list_pixel_tags() -> tuple[int, ...]:
    return tuple(map(tag_of, PIXEL_KEYWORDS))


class _PlainFormat(NamedTuple):
    """How the pixels of a plain object are stored: its bytes, (rows, columns), and as in `StoredPlanes`."""

    dtype: np.dtype[Any]
    shape: tuple[int, int]
    unused_bits: int
    is_inverted: bool
    padding_limits: tuple[float, float] | None

    @property
    def byte_count(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


@lru_cache(maxsize=64)
def _plain_format(
    elements: tuple[tuple[int, Element], ...], is_implicit: bool
) -> _PlainFormat | None:
    """The format that PIXEL_KEYWORDS describe; None for one that is not plain, or is to be refused."""
    header = PlainHeader(dict(elements), is_implicit, pixel_tag=tag_of("PixelData"))
    get = make_lookup(header)
    try:
        _refuse_pixels(DicomObject(Path()), header)
    except VolumeError:
        return None
    if as_whole_number(get("NumberOfFrames")) > 1 or get("PixelRepresentation") not in (0, 1):
        return None
    allocated_bits = as_whole_number(get("BitsAllocated"))
    return _PlainFormat(
        dtype=np.dtype(f"<{'ui'[get('PixelRepresentation')]}{allocated_bits // 8}"),
        shape=(as_whole_number(get("Rows")), as_whole_number(get("Columns"))),
        unused_bits=allocated_bits - as_whole_number(get("BitsStored")),
        is_inverted=_is_inverted(get),
        padding_limits=_read_padding_limits(header),
    )


def _is_inverted(get: Callable[[str], Any]) -> bool:
    return as_text(get("PhotometricInterpretation")).upper() == "MONOCHROME1"


def _refuse_mixed_photometric(source: str, inverted_count: int, image_count: int) -> None:
    """Raises VolumeError "volume-photometric" if only some images are MONOCHROME1: their
    intensities have no common scale."""
    if 0 < inverted_count < image_count:
        raise VolumeError(
            "volume-photometric",
            f"{source}: {inverted_count} of {image_count} images are MONOCHROME1, the others "
            "MONOCHROME2; those of a volume must be alike. Export the series again, or name the "
            "images of one kind.",
        )


def _rescale(stored_values: NDArray[Any], frame: Frame) -> NDArray[Any]:
    """The frame's intensities.  Raises VolumeError "volume-rescale" for a slope of 0, and if slope
    or intercept is not a finite number."""
    if not (frame.slope and math.isfinite(frame.slope) and math.isfinite(frame.intercept)):
        raise VolumeError(
            "volume-rescale",
            f"{frame.dicom_object}: a rescale slope of {frame.slope:g} and an intercept of "
            f"{frame.intercept:g}; finite numbers are wanted, and a slope other than 0. Export it "
            "again.",
        )
    if frame.slope == 1.0 and frame.intercept == 0.0:
        return stored_values
    with np.errstate(over="ignore", invalid="ignore"):
        return stored_values.astype(np.float64) * frame.slope + frame.intercept


def _refuse_pixels(dicom_object: DicomObject, dataset: Any) -> None:
    """Raises VolumeError if the pixel description is not that of readable grey-scale images."""
    get = make_lookup(dataset)
    allocated_bits = as_whole_number(get("BitsAllocated"))
    stored_bits = as_whole_number(get("BitsStored"))
    highest_bit = as_whole_number(get("HighBit"))
    photometric_interpretation = as_text(get("PhotometricInterpretation")).upper()
    samples_per_pixel = as_whole_number(get("SamplesPerPixel"))
    if not any(
        keyword in dataset for keyword in ("PixelData", "FloatPixelData", "DoubleFloatPixelData")
    ):
        raise VolumeError(
            "volume-truncated",
            f"{dicom_object}: a header without pixel data. Copy it again from its origin.",
        )
    if photometric_interpretation not in ("MONOCHROME1", "MONOCHROME2") or samples_per_pixel != 1:
        raise VolumeError(
            "volume-rgb",
            f"{dicom_object}: {samples_per_pixel} samples a pixel, not one of grey (MONOCHROME1 or "
            "MONOCHROME2). Give the series the colours were made from.",
        )
    if "PixelData" in dataset and (
        allocated_bits not in READABLE_ALLOCATED_BITS
        or not 1 < stored_bits <= allocated_bits
        or highest_bit != stored_bits - 1
    ):
        raise VolumeError(
            "volume-bits",
            f"{dicom_object}: {stored_bits} bits stored of {allocated_bits} allocated, highest "
            f"{highest_bit}; 8, 16 or 32 allocated with the highest stored bit at the end are read. "
            "Export it again.",
        )


def _read_stored_planes(frames: Sequence[Frame], decoder: Decoder) -> StoredPlanes:
    """The planes of the frames of an object.  Raises VolumeError as `read_planes`."""
    dicom_object = frames[0].dicom_object
    with open_object(dicom_object) as file:
        content = file.read()
    if not dicom_object.member_name:
        note_checksum(dicom_object.path, content)
    stored = _read_plain_plane(content, frames)
    if stored is not None:
        return stored
    dataset = read_dataset(dicom_object, with_pixels=True, content=content)
    del content  # up to a gigabyte, like the planes
    _refuse_pixels(dicom_object, dataset)
    planes = _decode_planes(dicom_object, dataset, frames, decoder)
    return StoredPlanes(planes, _is_inverted(make_lookup(dataset)), _read_padding_limits(dataset))


def _decode_planes(
    dicom_object: DicomObject, dataset: Any, frames: Sequence[Frame], decoder: Decoder
) -> list[NDArray[Any]]:
    """The stored values (rows, columns) of each frame, without unused bits."""
    syntax = _refuse_syntax(dicom_object, dataset)
    is_mosaic = frames[0].tile_origin is not None
    frame_indices: list[int | None] = [None]  # all tiles of a mosaic are cut from one large image
    if not is_mosaic:
        frame_indices = [frame.frame_number - 1 if frame.frame_number else None for frame in frames]
    if "PixelData" in dataset:
        if syntax.is_compressed:
            _refuse_unbelievable(dicom_object, dataset)
        else:
            _refuse_length(dicom_object, dataset)
    if syntax.is_compressed and syntax.name != "RLE Lossless" and not syntax.is_deflated:
        planes = decoder.decode_planes(dicom_object, frame_indices)
    else:
        planes = [_decode_here(dicom_object, dataset, frame_index) for frame_index in frame_indices]
    if is_mosaic:
        planes = [_cut_tile(planes[0], frame) for frame in frames]
    for plane, frame in zip(planes, frames, strict=True):
        if plane.shape != (frame.rows, frame.columns):
            raise VolumeError(
                "volume-corrupt",
                f"{dicom_object}: the pixel data decode to {join_sizes(plane.shape)}, the header says "
                f"{frame.rows} × {frame.columns}. Export it again.",
            )
    return planes


def _cut_tile(mosaic: NDArray[Any], frame: Frame) -> NDArray[Any]:
    assert frame.tile_origin is not None
    row, column = frame.tile_origin
    return mosaic[row : row + frame.rows, column : column + frame.columns]


def _refuse_unbelievable(dicom_object: DicomObject, dataset: Any) -> None:
    """Raises VolumeError "volume-too-large" for compressed pixel data of a size that so few bytes
    cannot hold, before it is allocated."""
    size_bytes = _count_pixel_bytes(dataset)
    most_bytes = most_believable_bytes(len(dataset.PixelData))
    if size_bytes > most_bytes:
        raise VolumeError(
            "volume-too-large",
            f"{dicom_object}: {len(dataset.PixelData):,} bytes of compressed pixel data for "
            f"{size_bytes:,} bytes of pixels; at most {most_bytes:,} are believed. Check Rows and "
            "Columns, or export it uncompressed.",
        )


def _count_pixel_bytes(dataset: Any) -> int:
    """How many bytes the pixels take, uncompressed, by the header."""
    get = make_lookup(dataset)
    rows, columns, bits = (
        as_whole_number(get(keyword)) for keyword in ("Rows", "Columns", "BitsAllocated")
    )
    return rows * columns * max(1, as_whole_number(get("NumberOfFrames"))) * bits // 8


def _decode_here(dicom_object: DicomObject, dataset: Any, frame_index: int | None) -> NDArray[Any]:
    """The stored values of one frame, decoded by pydicom in this process."""
    from pydicom.pixels.utils import pixel_array

    try:
        with without_warnings():
            return pixel_array(dataset, index=frame_index, raw=True)
    except MemoryError:
        raise
    except Exception as fault:  # damaged data: pydicom may raise any exception
        reason = f"the pixel data cannot be decoded ({type(fault).__name__})"
        raise VolumeError(
            "volume-corrupt",
            f"{dicom_object}: {reason}. Copy it again, or decompress it elsewhere (gdcmconv --raw).",
        ) from fault


def _refuse_syntax(dicom_object: DicomObject, dataset: Any) -> Any:
    """The transfer syntax; if the file does not state it, the one that pydicom detected.

    Raises VolumeError "volume-transfer-syntax" for one without a decoder.
    """
    from pydicom.pixels.decoders.base import get_decoder

    add_plugins()
    set_transfer_syntax(dataset)
    syntax = dataset.file_meta.TransferSyntaxUID
    try:
        decoder = get_decoder(syntax)
        if not decoder.is_available:
            raise NotImplementedError("no decoder")
    except Exception as fault:
        syntax_name = "that is no UID"
        if re.fullmatch(r"[0-9.]{1,64}", str(syntax)):
            syntax_name = as_text(getattr(syntax, "name", syntax))
        raise VolumeError(
            "volume-transfer-syntax",
            f"{dicom_object}: the transfer syntax {syntax_name} has no decoder here. {DECOMPRESS_HINT}",
        ) from fault
    return syntax


def set_transfer_syntax(dataset: Any) -> None:
    """Sets the transfer syntax of a dataset whose file does not state it to the encoding that
    pydicom detected."""
    from pydicom.dataset import FileMetaDataset
    from pydicom.uid import ExplicitVRBigEndian, ExplicitVRLittleEndian, ImplicitVRLittleEndian

    if as_text(getattr(dataset, "file_meta", {}).get("TransferSyntaxUID")):
        return
    is_implicit, is_little_endian = dataset.original_encoding
    syntax = ExplicitVRBigEndian
    if is_implicit:
        syntax = ImplicitVRLittleEndian
    elif is_little_endian:
        syntax = ExplicitVRLittleEndian
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = syntax


def _refuse_length(dicom_object: DicomObject, dataset: Any) -> None:
    """Raises VolumeError if there are fewer bytes of uncompressed pixels than the header needs, or many
    more."""
    needed_bytes = _count_pixel_bytes(dataset)
    stored_bytes = len(dataset.PixelData or b"")
    fault = f"{dicom_object}: {stored_bytes:,} bytes of pixel data where its header needs {needed_bytes:,}"
    if stored_bytes < needed_bytes:
        raise VolumeError("volume-truncated", f"{fault}. Copy it again.")
    if stored_bytes > needed_bytes + 1 and stored_bytes > needed_bytes * 1.01 + 4096:
        raise VolumeError("volume-corrupt", f"{fault}. Export it again.")


def _read_padding_limits(dataset: Any) -> tuple[float, float] | None:
    """(low, high) of the stored values that are padding; None if the header states none."""
    get = make_lookup(dataset)
    padding_value = as_real_number(get("PixelPaddingValue"))
    if padding_value is None:
        return None
    range_limit = as_real_number(get("PixelPaddingRangeLimit"))
    range_end = range_limit
    if range_end is None:
        range_end = padding_value
    return min(padding_value, range_end), max(padding_value, range_end)
