"""Analyze 7.5 pairs, .hdr and .img, with an SPM .mat that gives the directions of the axes.

The header alone has no agreed convention for left and right, so a pair without a .mat is refused.
The .mat counts voxels from 1; its matrix M flips left and right, mat does not (convention and
header as in nibabel).
"""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import refuse_affine
from fovnet.volume.formats.nifti import files_of as nifti_files_of
from fovnet.volume.formats.nifti import header_opening, refuse_map_of_spm
from fovnet.volume.grid import StoredGrid, read_first_usable_frame, refuse_grid
from fovnet.volume.unpacking import count_plain_bytes, open_unpacked, regular_path, skip_bytes
from fovnet.volume.volume import Volume

# SPM's additions from 130
DTYPE_BY_CODE = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 130: "i1", 132: "u2", 136: "u4"}
REFUSAL_BY_CODE = {
    1: ("volume-labels", "one bit a voxel, a mask"),
    32: ("volume-complex", "complex"),
    128: ("volume-rgb", "colours"),
}
MAX_MAT_BYTES = 1 << 20  # SPM's hold one or a few 4 × 4 matrices


def claims(path: Path, opening: bytes) -> bool:
    """Whether the stated header length is 348, as in Analyze; for an .img, that of the .hdr beside
    it.  NIfTI pairs are claimed before."""
    opening = header_opening(path, opening)
    return opening[:4] in (b"\x5c\x01\x00\x00", b"\x00\x00\x01\x5c") and len(opening) >= 348


def files_of(path: Path) -> tuple[Path, ...]:
    """(header, image), and the .mat if there is one."""
    files = nifti_files_of(path)
    mat_path = _mat_path(path)
    if mat_path.exists():
        return (*files, mat_path)
    return files


def read(path: Path) -> Volume:
    """The first usable frame of an Analyze pair.  Raises VolumeError: "volume-orientation" without
    a .mat."""
    if not path.name.lower().endswith((".hdr", ".hdr.gz", ".img", ".img.gz")):
        raise VolumeError(
            "volume-missing",
            f"{path}: an Analyze header under a name without .hdr; its image cannot be found. Name the "
            "pair NAME.hdr and NAME.img.",
        )
    header_path, image_path = nifti_files_of(path)
    with open_unpacked(header_path) as file:
        header = _read_header(path, file.read(348))
    refuse_map_of_spm(path, bytes(header["descrip"]))
    grid = _grid_of_header(path, header)
    affine = _affine_of_header(path, header)
    voxel_offset = float(header["vox_offset"])
    with open_unpacked(image_path) as file:
        if not np.isfinite(voxel_offset):
            voxel_offset = -1.0  # refused
        skip_bytes(path, file, int(voxel_offset))
        refuse_grid(path, grid, count_plain_bytes(file))
        return read_first_usable_frame(path, file, grid, affine, ("placed by the .mat beside it",))


def header_of(path: Path) -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """(number of voxels along each axis, (4, 4) affine to RAS) from header and .mat.  Raises
    VolumeError as `read`."""
    with open_unpacked(nifti_files_of(path)[0]) as file:
        header = _read_header(path, file.read(348))
    return _grid_of_header(path, header).axis_lengths, _affine_of_header(path, header)


def _read_header(path: Path, header_bytes: bytes) -> Any:
    """The header's fields, in its own byte order, as stored."""
    from nibabel.spm2analyze import Spm2AnalyzeHeader

    if len(header_bytes) < 348:
        raise VolumeError(
            "volume-truncated", f"{path}: the header ends early. Copy it again from its origin."
        )
    return Spm2AnalyzeHeader(header_bytes, check=False)  # type: ignore[no-untyped-call]


def _grid_of_header(path: Path, header: Any) -> StoredGrid:
    """The layout and scaling in a header.  Raises VolumeError for a type or number of axes that cannot be."""
    data_type = int(header["datatype"])
    axis_count = int(header["dim"][0])
    if data_type in REFUSAL_BY_CODE:
        error_code, description = REFUSAL_BY_CODE[data_type]
        raise VolumeError(
            error_code,
            f"{path}: the voxels are {description} (type {data_type}), not MR intensities. Give the MR volume "
            "itself.",
        )
    if data_type not in DTYPE_BY_CODE or not 3 <= axis_count <= 7:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: type {data_type} and {axis_count} axes in the header; one of "
            f"{', '.join(map(str, DTYPE_BY_CODE))} and 3 to 7 wanted. Export it again.",
        )
    i, j, k, *frame_sizes = (int(axis_length) for axis_length in header["dim"][1 : axis_count + 1])
    frame_count = math.prod(frame_sizes)
    slope, intercept = header.get_slope_inter()
    return StoredGrid(
        (i, j, k, frame_count),
        np.dtype(header.endianness + DTYPE_BY_CODE[data_type]),
        slope=1.0 if slope is None else float(slope),
        intercept=0.0 if intercept is None else float(intercept),
    )


def _mat_path(path: Path) -> Path:
    header_path = nifti_files_of(path)[0]
    return header_path.with_name(header_path.name.removesuffix(".gz")[:-4] + ".mat")


def _affine_of_header(path: Path, header: Any) -> NDArray[np.float64]:
    """(4, 4) voxel index, from 0, to RAS millimetres, from the .mat beside the pair."""
    from scipy.io import loadmat

    mat_path = _mat_path(path)
    if not mat_path.exists():
        raise VolumeError(
            "volume-orientation",
            f"{path}: an Analyze 7.5 header does not say which way its axes run, and there is no "
            f"{mat_path.name} of SPM beside it. Convert it to NIfTI with a program that knows them, and "
            "check left and right.",
        )
    mat_bytes = regular_path(mat_path).stat().st_size
    if mat_bytes > MAX_MAT_BYTES:
        raise VolumeError(
            "volume-corrupt",
            f"{mat_path}: {mat_bytes:,} bytes where a 4 × 4 matrix was wanted. Export {path} again.",
        )
    try:
        variables = loadmat(io.BytesIO(mat_path.read_bytes()), variable_names=["mat", "M"])
        variable_name = "M"
        if "mat" in variables:
            variable_name = "mat"
        stored_matrix = np.asarray(variables[variable_name], dtype=np.float64)
        if stored_matrix.ndim != 2:  # a matrix for each frame
            stored_matrix = stored_matrix[:, :, 0]
        affine = stored_matrix.reshape(4, 4)
    except (MemoryError, OSError):
        raise
    except Exception as fault:  # scipy may raise any exception for a file that is not a MATLAB file
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the .mat beside it holds no 4 × 4 matrix mat or M ({fault}). Export it again.",
        ) from fault
    if "mat" not in variables and header.default_x_flip:
        affine = np.diag([-1.0, 1.0, 1.0, 1.0]) @ affine
    index_from_one = np.eye(4)
    index_from_one[:3, 3] = 1.0
    affine = affine @ index_from_one
    refuse_affine(str(path), affine)
    return affine
