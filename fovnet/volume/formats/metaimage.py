"""MetaImage volumes: .mha, and .mhd with the data in a file beside it; raw or zlib.

The header is text.  TransformMatrix, Offset and ElementSpacing give the affine, in LPS as in ITK; a
header without a matrix is refused, since an identity would be a guess. Source: MetaIO documentation
(itk.org/Wiki/MetaIO/Documentation); the size of MET_LONG, 4 bytes, is from MetaIO's own table.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import join_sizes, refuse_affine, refuse_modality
from fovnet.volume.formats.text_header import (
    find_data_file,
    parse_choice,
    parse_real_numbers,
    parse_whole_number,
    parse_whole_numbers,
    read_header_line,
    refusal_of_field,
    refusal_of_scattered_voxels,
    refusal_without_directions,
)
from fovnet.volume.grid import LPS_TO_RAS, StoredGrid, read_first_usable_frame, refuse_grid
from fovnet.volume.unpacking import (
    count_plain_bytes,
    decode_stream,
    open_file,
    open_unpacked,
    skip_bytes,
)
from fovnet.volume.volume import Volume

FIRST_FIELDS = (b"ObjectType", b"NDims", b"Comment")
# fmt: off
DTYPE_BY_ELEMENT_TYPE = {
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4",
    "MET_UINT": "u4", "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8",
    "MET_ULONG_LONG": "u8", "MET_FLOAT": "f4", "MET_DOUBLE": "f8",
}
# fmt: on
MATRIX_FIELDS = ("transformmatrix", "rotation", "orientation")
ORIGIN_FIELDS = ("offset", "position", "origin")
BYTE_ORDER_FIELDS = ("binarydatabyteordermsb", "elementbyteordermsb")
DEFAULT_BY_SCALING_FIELD = {
    "ElementToIntensityFunctionSlope": "1",
    "ElementToIntensityFunctionOffset": "0",
}
TRUE_WORDS = ("true", "t", "1")
FALSE_WORDS = ("false", "f", "0")


def claims(path: Path, opening: bytes) -> bool:
    """Whether the first bytes are a first field of MetaImage headers, and contain NDims."""
    return opening.lstrip().startswith(FIRST_FIELDS) and b"NDims" in opening and b"=" in opening


def files_of(path: Path) -> tuple[Path, ...]:
    """(path,), or (header, data file)."""
    with open_unpacked(path) as file:
        data_file_name = _read_fields(path, file)["elementdatafile"]
    if data_file_name.upper() == "LOCAL":
        return (path,)
    return path, _data_file(path, data_file_name)


def read(path: Path) -> Volume:
    """The first usable frame of a MetaImage, its affine converted from LPS to RAS.

    Raises VolumeError: "volume-orientation" without TransformMatrix, "volume-encoding" for text or
    many data files, "volume-outside" for a data file outside the header's folder, and for an
    invalid header or data.
    """
    with open_unpacked(path) as file:
        fields = _read_fields(path, file)
        refuse_modality(str(path), fields.get("modality", ""))
        grid = _grid_of_fields(path, fields)
        vox_to_ras = _affine_of_fields(path, fields, len(grid.axis_lengths))
        is_packed = _is_flag_set(path, fields, "compresseddata")
        with _open_data(path, fields["elementdatafile"], file) as data_stream:
            stored_bytes = None
            if not is_packed:
                stored_bytes = count_plain_bytes(data_stream)
            refuse_grid(path, grid, stored_bytes)
            stream = _voxel_stream(
                path, data_stream, fields, grid, stored_bytes, is_packed=is_packed
            )
            return read_first_usable_frame(path, stream, grid, vox_to_ras)


def _open_data(
    path: Path, data_file_name: str, header_file: BinaryIO
) -> AbstractContextManager[BinaryIO]:
    """The stream with the voxels: the header's own file, or its data file."""
    if data_file_name.upper() == "LOCAL":
        return nullcontext(header_file)
    return open_file(_data_file(path, data_file_name))


def header_of(path: Path) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """(number of voxels along each axis, (4, 4) affine to RAS) from the header.  Raises VolumeError
    as `read`."""
    with open_unpacked(path) as file:
        fields = _read_fields(path, file)
    grid = _grid_of_fields(path, fields)
    return grid.axis_lengths, _affine_of_fields(path, fields, len(grid.axis_lengths))


def _read_fields(path: Path, file: BinaryIO) -> dict[str, str]:
    """The fields of the header, names in lower case; the file is then at the byte after
    ElementDataFile, the last field."""
    fields: dict[str, str] = {}
    while "elementdatafile" not in fields:
        line = read_header_line(path, file)
        field_name, equals_sign, field_value = line.partition("=")
        if line and not equals_sign:
            raise refusal_of_field(path, "line", line, "Field = value")
        fields[field_name.strip().lower()] = field_value.strip()
    return fields


def _get_required_field(path: Path, fields: dict[str, str], name: str) -> str:
    """The value of a field.  Raises VolumeError "volume-corrupt" without it."""
    if name.lower() not in fields:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the header has no field {name}, which every MetaImage must have. Export it again.",
        )
    return fields[name.lower()]


def _grid_of_fields(path: Path, fields: dict[str, str]) -> StoredGrid:
    """The layout and scaling in a header.  Raises VolumeError unless it is one number at each voxel of
    three axes or more."""
    axis_count = parse_whole_number(path, "NDims", _get_required_field(path, fields, "NDims"))
    sizes = parse_whole_numbers(path, "DimSize", _get_required_field(path, fields, "DimSize"))
    if axis_count != len(sizes):
        raise refusal_of_field(
            path, "DimSize", join_sizes(sizes), f"{fields['ndims']} of them (NDims)"
        )
    if len(sizes) < 3:
        raise VolumeError(
            "volume-shape",
            f"{path}: {len(sizes)} axes (NDims); a volume has 3. Give the whole volume.",
        )
    element_type = _get_required_field(path, fields, "ElementType")
    channel_counts = parse_whole_numbers(
        path, "ElementNumberOfChannels", fields.get("elementnumberofchannels", "1")
    )
    if channel_counts != (1,) or element_type.endswith("_ARRAY"):
        is_unsigned = element_type.startswith(("MET_UCHAR", "MET_USHORT"))
        are_colours = channel_counts in ((3,), (4,)) and is_unsigned
        error_code = "volume-shape"
        if are_colours:
            error_code = "volume-rgb"
        raise VolumeError(
            error_code,
            f"{path}: {join_sizes(channel_counts)} numbers at each voxel ({element_type}), not MR intensities. "
            "Give the MR volume itself.",
        )
    if element_type not in DTYPE_BY_ELEMENT_TYPE:
        raise refusal_of_field(
            path, "ElementType", element_type, f"one of {', '.join(DTYPE_BY_ELEMENT_TYPE)}"
        )
    byte_order = "<"
    if any(_is_flag_set(path, fields, field_name) for field_name in BYTE_ORDER_FIELDS):
        byte_order = ">"
    slope, intercept = (
        float(parse_real_numbers(path, field_name, fields.get(field_name.lower(), default), 1)[0])
        for field_name, default in DEFAULT_BY_SCALING_FIELD.items()
    )
    return StoredGrid(
        sizes,
        np.dtype(byte_order + DTYPE_BY_ELEMENT_TYPE[element_type]),
        slope=slope,
        intercept=intercept,
    )


def _affine_of_fields(path: Path, fields: dict[str, str], axis_count: int) -> NDArray[np.float64]:
    """(4, 4) voxel index to RAS millimetres.  Row n of TransformMatrix is the direction of axis n."""
    matrix_text = next(
        (fields[field_name] for field_name in MATRIX_FIELDS if field_name in fields), None
    )
    origin_text = next(
        (fields[field_name] for field_name in ORIGIN_FIELDS if field_name in fields), None
    )
    spacing_text = fields.get("elementspacing", fields.get("elementsize"))
    if matrix_text is None:
        raise refusal_without_directions(path, "TransformMatrix")
    if origin_text is None or spacing_text is None:
        missing_field = "ElementSpacing"
        if origin_text is None:
            missing_field = "Offset"
        raise VolumeError(
            "volume-geometry",
            f"{path}: the header has no {missing_field}, so nothing says where the voxels lie. Convert "
            "the original series again.",
        )
    direction_rows = parse_real_numbers(
        path, "TransformMatrix", matrix_text, axis_count * axis_count
    ).reshape(axis_count, axis_count)
    affine = np.eye(4)
    affine[:3, :3] = (
        direction_rows[:3, :3].T
        * parse_real_numbers(path, "ElementSpacing", spacing_text, axis_count)[:3]
    )
    affine[:3, 3] = parse_real_numbers(path, "Offset", origin_text, axis_count)[:3]
    affine = LPS_TO_RAS @ affine
    refuse_affine(str(path), affine)
    return affine


def _is_flag_set(path: Path, fields: dict[str, str], name: str) -> bool:
    return (
        parse_choice(path, name, fields.get(name, "False"), TRUE_WORDS + FALSE_WORDS) in TRUE_WORDS
    )


def _data_file(path: Path, name: str) -> Path:
    if name.upper().startswith("LIST") or "%" in name:
        raise refusal_of_scattered_voxels(path, "ElementDataFile", name)
    return find_data_file(path, "ElementDataFile", name)


def _voxel_stream(
    path: Path,
    file: BinaryIO,
    fields: dict[str, str],
    grid: StoredGrid,
    stored_bytes: int | None,
    *,
    is_packed: bool,
) -> BinaryIO:
    """A stream at the first voxel, from a file that is at the end of the header, or at the start of
    the data file."""
    if not _is_flag_set(path, {"binarydata": "True"} | fields, "binarydata"):
        raise refusal_of_scattered_voxels(path, "BinaryData", fields["binarydata"])
    bytes_before = parse_whole_number(path, "HeaderSize", fields.get("headersize", "0"))
    if bytes_before == -1 and stored_bytes is not None:
        file.seek(-grid.byte_count, 2)
        bytes_before = 0
    if bytes_before > 0:
        # ITK counts HeaderSize from the beginning of the file, the header itself included
        header_end = file.tell()
        if bytes_before < header_end:
            raise refusal_of_field(
                path,
                "HeaderSize",
                str(bytes_before),
                f"{header_end} or more, where the header ends",
            )
        bytes_before -= header_end
    skip_bytes(path, file, bytes_before)
    return decode_stream(file, "zlib" if is_packed else "raw")
