"""MGH and MGZ volumes, the formats of FreeSurfer.

The header's layout is nibabel's; its default orientation for files without one is not used: they
are refused. The format is big endian; dcm2niix (-e o) writes the same fields little endian, which
the version tells. Source: FreeSurfer, "MgzFormat"
(surfer.nmr.mgh.harvard.edu/fswiki/FsTutorial/MghFormat); nibabel.freesurfer.mghformat.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import refuse_affine
from fovnet.volume.formats.text_header import refusal_without_directions
from fovnet.volume.grid import StoredGrid, dtype_of_type_code, read_first_usable_frame, refuse_grid
from fovnet.volume.unpacking import count_plain_bytes, open_unpacked, skip_bytes
from fovnet.volume.volume import Volume

LITTLE_ENDIAN_VERSION = b"\x01\x00\x00\x00"  # version 1 in the other byte order
FIRST_VOXEL_BYTE = 284  # the header's fields take 90 bytes, the rest is reserved
DTYPE_BY_CODE = {0: "u1", 1: ">i4", 3: ">f4", 4: ">i2", 10: ">u2"}
REFUSAL_BY_CODE = {
    5: ("volume-labels", "one bit a voxel, a mask"),
    6: ("volume-shape", "a tensor at each voxel"),
}


def claims(path: Path, opening: bytes) -> bool:
    """Whether a file named .mgh, .mgz or .mgh.gz begins with version 1, in either byte order; the
    format has no magic number."""
    return (
        path.name.lower().endswith((".mgh", ".mgz", ".mgh.gz"))
        and (opening[3:4] == b"\x01" or opening.startswith(LITTLE_ENDIAN_VERSION))
        and len(opening) >= 28
    )


def read(path: Path) -> Volume:
    """The first usable frame of an MGH file.  Raises VolumeError: "volume-orientation" if
    goodRASFlag is not set."""
    with open_unpacked(path) as file:
        header = _read_header(path, file)
        grid = _grid_of_header(path, header)
        skip_bytes(path, file, FIRST_VOXEL_BYTE - header.nbytes)
        refuse_grid(path, grid, count_plain_bytes(file))
        affine = _affine_of_header(path, header)
        # tags of any length follow the voxels
        return read_first_usable_frame(path, file, grid, affine, tagged=True)


def header_of(path: Path) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """(number of voxels along each axis, (4, 4) affine to RAS) from the header.  Raises VolumeError
    as `read`."""
    with open_unpacked(path) as file:
        header = _read_header(path, file)
    return _grid_of_header(path, header).axis_lengths, _affine_of_header(path, header)


def _read_header(path: Path, file: BinaryIO) -> Any:
    """nibabel's fields of the header, in its own byte order.  Raises VolumeError if it is cut short."""
    from nibabel.freesurfer.mghformat import header_dtype

    header_bytes = file.read(header_dtype.itemsize)
    if len(header_bytes) < header_dtype.itemsize:
        raise VolumeError(
            "volume-truncated",
            f"{path}: the file ends within its header. Copy it again from its origin.",
        )
    byte_order: Literal["<", ">"] = ">"
    if header_bytes.startswith(LITTLE_ENDIAN_VERSION):
        byte_order = "<"
    return np.frombuffer(header_bytes, header_dtype.newbyteorder(byte_order))[0]


def _grid_of_header(path: Path, header: Any) -> StoredGrid:
    """The layout in a header.  Raises VolumeError for a type that cannot be."""
    dtype = dtype_of_type_code(path, int(header["type"]), DTYPE_BY_CODE, REFUSAL_BY_CODE)
    if header.dtype["version"].str.startswith("<"):
        dtype = dtype.newbyteorder("<")
    i, j, k, frame_count = map(int, header["dims"])
    return StoredGrid((i, j, k, frame_count), dtype)


def _affine_of_header(path: Path, header: Any) -> NDArray[np.float64]:
    """(4, 4) voxel index to RAS millimetres, from the directions and the position of the centre,
    which is voxel dims / 2."""
    if int(header["goodRASFlag"]) <= 0:
        raise refusal_without_directions(path, "valid directions (goodRASFlag 0)")
    affine = np.eye(4)
    affine[:3, :3] = header["Mdc"].astype(float).T * header["delta"].astype(float)
    affine[:3, 3] = header["Pxyz_c"] - affine[:3, :3] @ (header["dims"][:3] / 2)
    refuse_affine(str(path), affine)
    return affine
