"""NIfTI-1 and NIfTI-2 volumes, single files and .hdr/.img pairs, plain or gzip.

nibabel knows the format; this file knows what fovnet can use: a real-valued frame whose header says where it lies.
Source: Cox et al., NIfTI-1 data format (nifti.nimh.nih.gov, nifti1.h), sections on qform, sform, intent and xyzt_units.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import math
from pathlib import Path
from typing import Any, cast

import nibabel
import numpy as np
from nibabel.imageglobals import LoggingOutputSuppressor
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.fitness import refuse_affine, times, usable
from fovnet.volume.volume import Volume

SAME_PLACE_MM = 1.0             # sform and qform nearer than this at every corner agree
UNITS_TO_MM = {"meter": 1000.0, "micron": 0.001}
NOT_AN_IMAGE = {                # intent codes of NIfTI-1 whose values are no MR intensities
    1002: ("volume-labels", "a label map"),
    1004: ("volume-shape", "a matrix at each voxel"),
    1005: ("volume-shape", "a symmetric matrix at each voxel"),
    1006: ("volume-shape", "a displacement field"),
    1007: ("volume-shape", "a vector at each voxel"),
    1008: ("volume-shape", "a list of points"),
    1009: ("volume-shape", "a list of triangles"),
    1010: ("volume-shape", "a list of quaternions"),
}


def claims(path: Path, opening: bytes) -> bool:
    """Whether the first bytes are a NIfTI header's; an .img, which has no magic, is claimed for the header beside it."""
    if path.name.lower().endswith((".img", ".img.gz")):
        return _partner(path, ".hdr").exists()
    return opening[344:348] in (b"n+1\0", b"ni1\0") or opening[4:8] in (b"n+2\0", b"ni2\0")


def files_of(path: Path) -> tuple[Path, ...]:
    """The files a volume is made of: (path,), or (header, image) of a pair."""
    if path.name.lower().endswith((".img", ".img.gz", ".hdr", ".hdr.gz")):
        return _partner(path, ".hdr"), _partner(path, ".img")
    return (path,)


def read(path: Path, max_voxels: int) -> Volume:
    """The first usable frame of a NIfTI file, with the affine of its sform, else of its qform.

    Raises VolumeError for what has no place in the scanner (neither form set, or an affine no scanner makes) and for what
    is no intensity (RGB, complex, vectors, label maps by intent).
    """
    files = files_of(path)
    with LoggingOutputSuppressor(), contextlib.ExitStack() as stack:      # nibabel mends small header faults, and says so on stderr
        streams = [stack.enter_context(_opened(file)) for file in files]
        image = _image(streams)
        _refuse_kind(path, image, max_voxels)
        vox_to_ras, notes = _geometry(path, image)
        voxels, frame_notes = _first_usable_frame(path, image)
        if image.ndim <= 3:
            _drain(streams[-1])
    return Volume(voxels, vox_to_ras, str(path), (*notes, *frame_notes))


def _partner(path: Path, suffix: str) -> Path:
    """The .hdr or .img of a pair, gzip or not as the file given."""
    name, packed = (path.name[:-3], path.name[-3:]) if path.name.lower().endswith(".gz") else (path.name, "")
    if name.lower().endswith(suffix):
        return path
    return path.with_name(name[:-4] + (suffix.upper() if name[-4:].isupper() else suffix) + packed)


def _opened(path: Path) -> io.BufferedIOBase:
    """A binary stream, unpacked if the content (not the name) is gzip."""
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    return gzip.open(path) if packed else path.open("rb")


def _image(streams: list[io.BufferedIOBase]) -> Any:
    """nibabel's image over the open streams; its data are still unread."""
    header_size = streams[0].read(4)
    streams[0].seek(0)
    if header_size in (b"\x1c\x02\x00\x00", b"\x00\x00\x02\x1c"):         # 540, in either byte order
        kinds: tuple[Any, Any] = (nibabel.Nifti2Image, nibabel.Nifti2Pair)
    else:
        kinds = (nibabel.Nifti1Image, nibabel.Nifti1Pair)
    names = ("header", "image")[-len(streams):]
    holders = {name: nibabel.FileHolder(fileobj=cast(io.IOBase, stream)) for name, stream in zip(names, streams, strict=True)}
    return kinds[len(streams) - 1].from_file_map(holders, mmap=False)      # a mapped file that shrinks kills the process


def _refuse_kind(path: Path, image: Any, max_voxels: int) -> None:
    """Raises VolumeError if shape, type or intent in the header cannot be those of an MR volume."""
    shape, kind, intent = image.shape, image.get_data_dtype(), int(image.header["intent_code"])
    if len(shape) < 2 or 0 in shape:
        raise VolumeError("volume-shape", f"{path}: the grid is {times(shape)}, without a single plane of voxels. Export it again.")
    if kind.names is not None:
        raise VolumeError("volume-rgb", f"{path}: the voxels are colours ({len(kind.names)} channels), not MR intensities. "
                                        "Give the series the colours were made from.")
    if kind.kind == "c":
        raise VolumeError("volume-complex", f"{path}: the voxels are complex ({kind}). Take their magnitude first (numpy.abs).")
    if intent in NOT_AN_IMAGE:
        code, what = NOT_AN_IMAGE[intent]
        raise VolumeError(code, f"{path}: the header says {what} (intent {intent}), not MR intensities. Give the MR volume itself.")
    if math.prod(shape[:3]) > max_voxels:
        raise VolumeError("volume-too-large", f"{path}: a frame of {times(shape[:3])} voxels; the limit is {max_voxels:,}. "
                                              "Check the header, resample the volume, or raise max_voxels.")


def _geometry(path: Path, image: Any) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """The (4, 4) affine in millimetres that sform or qform gives, and notes; never a default."""
    header = image.header
    if int(header["sform_code"]) <= 0 and int(header["qform_code"]) <= 0:
        raise VolumeError("volume-geometry", f"{path}: neither sform nor qform is set, so nothing says which way is up. "
                                             "Convert the original series again (dcm2niix sets both).")
    unit = header.get_xyzt_units()[0]
    scale = np.diag([*[UNITS_TO_MM.get(unit, 1.0)] * 3, 1.0])
    vox_to_ras = scale @ np.asarray(image.affine, dtype=np.float64)
    refuse_affine(str(path), vox_to_ras)        # here, before gigabytes of voxels are read for nothing
    notes = (f"header unit {unit}, converted to millimetres",) if unit in UNITS_TO_MM else ()
    return vox_to_ras, notes + _disagreement(header, image.shape, scale, vox_to_ras)


def _disagreement(header: Any, shape: tuple[int, ...], scale: NDArray[np.float64], chosen: NDArray[np.float64]) -> tuple[str, ...]:
    """A note if the qform, where both are set, puts a corner of the volume elsewhere than the sform."""
    if int(header["sform_code"]) <= 0 or int(header["qform_code"]) <= 0:
        return ()
    corners = np.indices((2, 2, 2)).reshape(3, 8).T * (np.asarray([*shape[:3], 1][:3]) - 1)
    apart = chosen - scale @ header.get_qform()
    apart_mm = float(np.linalg.norm(corners @ apart[:3, :3].T + apart[:3, 3], axis=1).max())
    return () if apart_mm <= SAME_PLACE_MM else (f"sform and qform disagree by up to {apart_mm:.1f} mm; the sform is used",)


def _first_usable_frame(path: Path, image: Any) -> tuple[NDArray[np.float32], tuple[str, ...]]:
    """(voxels (i, j, k) float32, notes) of the first frame that is finite enough and not constant."""
    trailing = image.shape[3:]
    frames = math.prod(trailing)
    first_fault: VolumeError | None = None
    for number, index in enumerate(np.ndindex(*trailing), start=1):
        with np.errstate(over="ignore", invalid="ignore"):      # a float64 beyond float32 becomes inf, which `usable` judges
            voxels = np.asarray(image.dataobj[(slice(None),) * min(image.ndim, 3) + index], dtype=np.float32)
        try:
            voxels, notes = usable(str(path), np.atleast_3d(voxels))
        except VolumeError as fault:
            first_fault = first_fault or fault
            continue
        return voxels, ((f"frame {number} of {frames}, the first usable one",) if frames > 1 else ()) + notes
    assert first_fault is not None      # no size is 0, so there was a frame
    raise first_fault


def _drain(stream: io.BufferedIOBase) -> None:
    """Read to the end, where gzip keeps its checksum: a flipped bit is found here or never.

    Not further than 64 MiB behind the voxels, for a few kilobytes of gzip can unpack to any length.
    """
    for _ in range(64):
        if not stream.read(1 << 20):
            return
