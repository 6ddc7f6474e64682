"""NRRD volumes: .nrrd, and .nhdr with the data in a file beside it; raw, gzip or bzip2.

The header is text; space, directions and origin give the affine.  A file without them is refused:
"spacings" alone give no orientation. Source: the NRRD format definition,
teem.sourceforge.net/nrrd/format.html, sections 4 to 6.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

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
from fovnet.volume.grid import MAX_AXES, StoredGrid, read_first_usable_frame, refuse_grid
from fovnet.volume.unpacking import (
    count_plain_bytes,
    decode_stream,
    open_file,
    open_unpacked,
    skip_bytes,
)
from fovnet.volume.volume import Volume

TYPE_NAMES_BY_DTYPE = {
    "i1": ("signed char", "int8", "int8_t"),
    "u1": ("uchar", "unsigned char", "uint8", "uint8_t"),
    "i2": ("short", "short int", "signed short", "signed short int", "int16", "int16_t"),
    "u2": ("ushort", "unsigned short", "unsigned short int", "uint16", "uint16_t"),
    "i4": ("int", "signed int", "int32", "int32_t"),
    "u4": ("uint", "unsigned int", "uint32", "uint32_t"),
    "i8": (
        "longlong",
        "long long",
        "long long int",
        "signed long long",
        "signed long long int",
        "int64",
        "int64_t",
    ),
    "u8": ("ulonglong", "unsigned long long", "unsigned long long int", "uint64", "uint64_t"),
    "f4": ("float",),
    "f8": ("double",),
}
RAS_SIGNS_BY_SPACE = {  # name of the space, and the sign of each of its axes in RAS
    "left-posterior-superior": (-1, -1, 1),
    "lps": (-1, -1, 1),
    "right-anterior-superior": (1, 1, 1),
    "ras": (1, 1, 1),
    "left-anterior-superior": (-1, 1, 1),
    "las": (-1, 1, 1),
}
MM_BY_UNIT = {"mm": 1.0, "millimeter": 1.0, "millimeters": 1.0, "um": 1e-3, "cm": 10.0, "m": 1e3}
ENCODING_BY_NAME = {"raw": "raw", "gzip": "gzip", "gz": "gzip", "bzip2": "bzip2", "bz2": "bzip2"}
BYTE_ORDER_BY_NAME: dict[str, Literal["<", ">"]] = {"little": "<", "big": ">"}
TEXT_ENCODINGS = ("txt", "text", "ascii", "hex")
# fmt: off
VECTOR_KINDS = (
    "vector", "covariant-vector", "normal", "2-vector", "3-vector", "3-gradient", "3-normal",
    "4-vector",
)
# fmt: on
# kinds of an axis (section 6) that does not count frames, and the code of its refusal
CODE_BY_AXIS_KIND = {
    "complex": "volume-complex",
    "rgb-color": "volume-rgb",
    "hsv-color": "volume-rgb",
    "xyz-color": "volume-rgb",
    **dict.fromkeys(("rgba-color", "2-color", "3-color", "4-color"), "volume-rgb"),
    **dict.fromkeys(VECTOR_KINDS, "volume-shape"),
}
VECTOR_OR_NONE = re.compile(r"\(([^()]*)\)|none", re.IGNORECASE)


@dataclass(frozen=True)
class Header:
    """A header: its fields and its key/value pairs, names in lower case."""

    fields: dict[str, str]
    key_values: dict[str, str]


def claims(path: Path, opening: bytes) -> bool:
    """Whether the first bytes are an NRRD's."""
    return opening.startswith(b"NRRD000")


def files_of(path: Path) -> tuple[Path, ...]:
    """(path,), or (header, data file)."""
    with open_unpacked(path) as file:
        header = _read_header(path, file)
    if "data file" not in header.fields:
        return (path,)
    return path, _data_file(path, header)


def read(path: Path) -> Volume:
    """The first usable frame of an NRRD, its affine converted from its space to RAS.

    Raises VolumeError: "volume-orientation" without a space or directions, "volume-encoding" for
    text or many data files, "volume-outside" for a data file outside the header's folder, and for
    an invalid header or data.
    """
    with open_unpacked(path) as file:
        header = _read_header(path, file)
        _refuse_key_values(path, header)
        encoding = _read_encoding(path, header)
        directions = _read_axis_steps(path, header)
        grid = _grid_of_header(path, header, directions)
        vox_to_ras = _affine_of_header(path, header, directions)
        with _open_data(path, header, file) as data_stream:
            stored_bytes = None
            if encoding == "raw":
                stored_bytes = count_plain_bytes(data_stream)
            refuse_grid(path, grid, stored_bytes)
            stream = _voxel_stream(path, data_stream, header, encoding, grid, stored_bytes)
            return read_first_usable_frame(path, stream, grid, vox_to_ras)


def _open_data(
    path: Path, header: Header, header_file: BinaryIO
) -> AbstractContextManager[BinaryIO]:
    """The stream with the voxels: the header's own file, or its data file."""
    data_path = path
    if "data file" in header.fields:
        data_path = _data_file(path, header)
    if data_path == path:
        return nullcontext(header_file)
    return open_file(data_path)


def header_of(path: Path) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """(number of voxels along i, j, k, (4, 4) affine to RAS) from the header.  Raises VolumeError
    as `read`."""
    with open_unpacked(path) as file:
        header = _read_header(path, file)
    directions = _read_axis_steps(path, header)
    return _grid_of_header(path, header, directions).shape, _affine_of_header(
        path, header, directions
    )


def _read_header(path: Path, file: BinaryIO) -> Header:
    """The header of an open file, which then stands at the first byte after it."""
    fields: dict[str, str] = {}
    key_values: dict[str, str] = {}
    read_header_line(path, file)  # the magic
    while line := _next_line(path, file, fields):
        if line.startswith("#"):
            continue
        if ":=" in line:
            field_name, _, field_value = line.partition(":=")
            key_values[field_name.strip().lower()] = field_value
        elif ":" in line:
            field_name, _, field_value = line.partition(":")
            fields[field_name.strip().lower()] = field_value.strip()
        else:
            raise refusal_of_field(path, "line", line, "field: value")
        if "data file" not in fields and "datafile" in fields:
            fields["data file"] = fields.pop("datafile")
        if fields.get("data file", "").upper().startswith("LIST"):
            # the file names follow, without an empty line
            break
    return Header(fields, key_values)


def _next_line(path: Path, file: BinaryIO, fields: dict[str, str]) -> str:
    """The next line; "" also at the end of a detached header, which need not end with an empty
    line."""
    try:
        return read_header_line(path, file)
    except VolumeError as fault:
        if fault.code == "volume-truncated" and "data file" in fields:
            return ""
        raise


def _refuse_key_values(path: Path, header: Header) -> None:
    """Raises VolumeError if the key/value pairs name another modality, or segments of 3D Slicer."""
    for modality_key in ("modality", "dicom_0008_0060", "dicom.modality"):
        refuse_modality(str(path), header.key_values.get(modality_key, "").strip())
    if "segment0_id" in header.key_values:
        raise VolumeError(
            "volume-labels",
            f"{path}: the header names segments (Segment0_ID), not MR intensities. "
            "Give the MR volume itself.",
        )


def _get_required_field(path: Path, header: Header, *names: str) -> str:
    """The value of the first of these fields that there is.  Raises VolumeError "volume-corrupt" without
    any."""
    value = next((header.fields[name] for name in names if name in header.fields), None)
    if value is None:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the header has no field {names[0]!r}, which every NRRD must have. Export it again.",
        )
    return value


def _read_encoding(path: Path, header: Header) -> str:
    """The encoding of the voxels, as `decode_stream` calls it.  Raises VolumeError "volume-encoding"
    for text."""
    encoding = _get_required_field(path, header, "encoding")
    if encoding.lower() in TEXT_ENCODINGS:
        raise refusal_of_scattered_voxels(path, "encoding", encoding)
    return ENCODING_BY_NAME[parse_choice(path, "encoding", encoding, tuple(ENCODING_BY_NAME))]


def _grid_of_header(
    path: Path, header: Header, directions: list[NDArray[np.float64] | None]
) -> StoredGrid:
    """The sizes, the type and the spatial axes of the voxels.  Raises VolumeError unless there are
    three spatial axes and every further axis counts frames.

    directions  the step (3,) along each axis, or None for an axis that is not spatial
    """
    dimension = _read_dimension(path, header)
    sizes = parse_whole_numbers(path, "sizes", _get_required_field(path, header, "sizes"))
    if len(sizes) != dimension:
        raise refusal_of_field(path, "sizes", join_sizes(sizes), f"{dimension} of them (dimension)")
    spatial_axes = tuple(axis for axis, direction in enumerate(directions) if direction is not None)
    axis_kinds = header.fields.get("kinds", "").lower().split()
    for axis, axis_kind in enumerate(axis_kinds[:dimension]):
        if axis in spatial_axes or sizes[axis] == 1:
            continue
        error_code = CODE_BY_AXIS_KIND.get(axis_kind, "")
        if "matrix" in axis_kind:
            error_code = "volume-shape"
        if error_code:
            raise VolumeError(
                error_code,
                f"{path}: an axis of kind {axis_kind!r}, {sizes[axis]} numbers at each voxel, not MR intensities. "
                "Give the MR volume itself.",
            )
    if len(spatial_axes) != 3:
        raise VolumeError(
            "volume-shape",
            f"{path}: {len(spatial_axes)} of {dimension} axes lie in space; a volume has 3. Give the "
            "whole volume.",
        )
    return StoredGrid(
        sizes, _read_dtype(path, header), (spatial_axes[0], spatial_axes[1], spatial_axes[2])
    )


def _read_dimension(path: Path, header: Header) -> int:
    """The number of axes.  Raises VolumeError "volume-corrupt" unless it is 1 to 16."""
    dimension_text = _get_required_field(path, header, "dimension")
    dimension = parse_whole_number(path, "dimension", dimension_text)
    if not 1 <= dimension <= MAX_AXES:
        raise refusal_of_field(path, "dimension", dimension_text, f"1 to {MAX_AXES}")
    return dimension


def _read_dtype(path: Path, header: Header) -> np.dtype[Any]:
    """The type of a stored number, with its byte order.  Raises VolumeError for one that is none."""
    type_name = " ".join(_get_required_field(path, header, "type").lower().split())
    if type_name == "block":
        raise VolumeError(
            "volume-shape", f"{path}: voxels of type 'block' are not numbers. Export it again."
        )
    dtype = next(
        (
            np.dtype(type_code)
            for type_code, type_names in TYPE_NAMES_BY_DTYPE.items()
            if type_name in type_names
        ),
        None,
    )
    if dtype is None:
        raise refusal_of_field(path, "type", type_name, "a type of the NRRD format")
    if dtype.itemsize == 1:
        return dtype
    byte_order = parse_choice(
        path, "endian", _get_required_field(path, header, "endian"), ("little", "big")
    )
    return dtype.newbyteorder(BYTE_ORDER_BY_NAME[byte_order])


def _read_axis_steps(path: Path, header: Header) -> list[NDArray[np.float64] | None]:
    """The step (3,) along each axis in the header's space and units; None for an axis that is not
    spatial."""
    directions_text = header.fields.get("space directions")
    if directions_text is None or "space" not in header.fields:
        missing_field = "named space"
        if directions_text is None:
            missing_field = "space directions"
        raise refusal_without_directions(path, missing_field)
    space = header.fields["space"]
    if space.lower() in (
        *(f"{space_name}-time" for space_name in RAS_SIGNS_BY_SPACE),
        "rast",
        "last",
        "lpst",
    ):
        raise VolumeError(
            "volume-orientation",
            f"{path}: the header's space is {space!r}, which has four dimensions; it must have three, and "
            "time an axis with direction none. Export it that way, or only one frame.",
        )
    if space.lower() not in RAS_SIGNS_BY_SPACE:
        raise VolumeError(
            "volume-orientation",
            f"{path}: the header's space is {space!r}, which says nothing about the patient; "
            "left-posterior-superior or a sibling of it is wanted. Convert the original series again.",
        )
    axis_steps = [
        None if match[1] is None else parse_real_numbers(path, "space directions", match[1], 3, ",")
        for match in VECTOR_OR_NONE.finditer(directions_text)
    ]
    dimension = _read_dimension(path, header)
    if len(axis_steps) != dimension or VECTOR_OR_NONE.sub("", directions_text).strip():
        raise refusal_of_field(path, "space directions", directions_text, f"{dimension} vectors")
    return [
        None if axis_step is None or np.isnan(axis_step).all() else axis_step
        for axis_step in axis_steps
    ]


def _affine_of_header(
    path: Path, header: Header, directions: list[NDArray[np.float64] | None]
) -> NDArray[np.float64]:
    """(4, 4) voxel index to RAS millimetres.  Raises VolumeError "volume-geometry" without an
    origin, or as `refuse_affine`."""
    origin = header.fields.get("space origin")
    if origin is None:
        raise VolumeError(
            "volume-geometry",
            f"{path}: the header has no space origin, so nothing says where the volume lies. "
            "Convert the original series again.",
        )
    units = set(re.findall(r'"([^"]*)"', header.fields.get("space units", '"mm"').lower())) - {""}
    if len(units) != 1 or not units <= MM_BY_UNIT.keys():
        raise refusal_of_field(
            path,
            "space units",
            header.fields["space units"],
            f"one of {', '.join(MM_BY_UNIT)} for all axes",
        )
    mm_per_unit = MM_BY_UNIT[units.pop()]
    affine = np.eye(4)
    affine[:3, :3] = np.stack(
        [axis_step for axis_step in directions if axis_step is not None], axis=1
    )
    coordinates = origin.strip().removeprefix("(").removesuffix(")")
    affine[:3, 3] = parse_real_numbers(path, "space origin", coordinates, 3, ",")
    affine = (
        np.diag(
            [*(np.asarray(RAS_SIGNS_BY_SPACE[header.fields["space"].lower()]) * mm_per_unit), 1.0]
        )
        @ affine
    )
    refuse_affine(str(path), affine)
    return affine


def _data_file(path: Path, header: Header) -> Path:
    """The file with the voxels that a header names.  Raises VolumeError "volume-encoding" for several
    files."""
    name = header.fields["data file"]
    if name.upper().startswith("LIST") or ("%" in name and not path.with_name(name).exists()):
        raise refusal_of_scattered_voxels(path, "data file", name)
    return find_data_file(path, "data file", name)


def _voxel_stream(
    path: Path,
    file: BinaryIO,
    header: Header,
    encoding: str,
    grid: StoredGrid,
    stored_bytes: int | None,
) -> BinaryIO:
    """A stream at the first voxel, from a file that is at the end of the header, or at the start of
    the data file."""
    lines_before = _read_skip(path, header, "line skip")
    bytes_before = _read_skip(path, header, "byte skip")
    for _ in range(lines_before):
        read_header_line(path, file)  # raises at the end of the file, or at 1 MiB
    if bytes_before == -1 and stored_bytes is not None:
        file.seek(-grid.byte_count, 2)
        bytes_before = 0
    stream = decode_stream(file, encoding)
    skip_bytes(path, stream, bytes_before)
    return stream


def _read_skip(path: Path, header: Header, name: str) -> int:
    """The number in "line skip" or "byte skip", which may be written as one word; 0 without it."""
    number_text = header.fields.get(name, header.fields.get(name.replace(" ", ""), "0"))
    return parse_whole_number(path, name, number_text)
