"""GIPL volumes (Guy's Image Processing Lab): .gipl, .gipl.gz.

The header of 256 bytes, big-endian, has sizes, spacing and origin but no directions: the axes are
taken to be LPS, as in ITK-SNAP, with a note.  Source: ITK, Modules/IO/GIPL/src/itkGiplImageIO.cxx
(the layout); checked against SimpleITK.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fovnet.volume.checks import refuse_affine
from fovnet.volume.grid import (
    LPS_TO_RAS,
    StoredGrid,
    dtype_of_type_code,
    read_first_usable_frame,
    refuse_grid,
)
from fovnet.volume.unpacking import count_plain_bytes, open_unpacked
from fovnet.volume.volume import Volume

HEADER_DTYPE = np.dtype(
    [
        ("sizes", ">u2", 4),
        ("type", ">u2"),
        ("spacing", ">f4", 4),
        ("line", "S80"),
        ("matrix", ">f4", 20),
        ("flags", "u1", 2),
        ("range", ">f8", 2),
        ("origin", ">f8", 4),
        ("offset_scale", ">f4", 2),
        ("user", ">f4", 2),
        ("magic", ">u4"),
    ]
)
MAGIC_NUMBERS = (719555000, 4026526128)
DTYPE_BY_CODE = {7: "i1", 8: "u1", 15: ">i2", 16: ">u2", 31: ">u4", 32: ">i4", 64: ">f4", 65: ">f8"}
REFUSAL_BY_CODE = {
    1: ("volume-labels", "one bit a voxel, a mask"),
    144: ("volume-complex", "complex"),
    160: ("volume-complex", "complex"),
    192: ("volume-complex", "complex"),
    193: ("volume-complex", "complex"),
}
LPS_NOTE = (
    "GIPL has no directions: axes taken to run right to left, front to back, feet to head (LPS), as ITK-SNAP "
    "does"
)


def claims(path: Path, opening: bytes) -> bool:
    """Whether bytes 252 to 255 are one of the two magic numbers."""
    return (
        len(opening) >= HEADER_DTYPE.itemsize
        and int.from_bytes(opening[252:256], "big") in MAGIC_NUMBERS
    )


def read(path: Path) -> Volume:
    """The first usable frame of a GIPL file, its axes taken to be LPS.  Raises VolumeError for an
    invalid header or data."""
    with open_unpacked(path) as file:
        header = np.frombuffer(file.read(HEADER_DTYPE.itemsize), HEADER_DTYPE)[0]
        dtype = dtype_of_type_code(path, int(header["type"]), DTYPE_BY_CODE, REFUSAL_BY_CODE)
        *sizes, frame_count = map(int, header["sizes"])
        grid = StoredGrid((*sizes, max(1, frame_count)), dtype)
        affine = np.diag([*header["spacing"][:3].astype(float), 1.0])
        affine[:3, 3] = header["origin"][:3]
        refuse_affine(str(path), affine)
        refuse_grid(path, grid, count_plain_bytes(file))
        return read_first_usable_frame(path, file, grid, LPS_TO_RAS @ affine, (LPS_NOTE,))
