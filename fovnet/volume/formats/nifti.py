"""NIfTI-1 and NIfTI-2 volumes, single files and .hdr/.img pairs, plain or gzip.

nibabel parses the header; this module decides what fovnet can use: a real-valued frame whose header
gives its position. Source: Cox et al., NIfTI-1 data format (nifti.nimh.nih.gov, nifti1.h), sections
on qform, sform, intent and xyzt_units.
"""

from __future__ import annotations

import logging
import math
import re
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError
from fovnet.volume.checks import join_sizes, refuse_affine
from fovnet.volume.grid import StoredGrid, read_first_usable_frame, refuse_grid
from fovnet.volume.unpacking import count_plain_bytes, open_unpacked, skip_bytes
from fovnet.volume.volume import Volume

SAME_POSITION_MM = 1.0  # sform and qform agree if they differ by at most this at every corner
# if an axis differs by more between sform and qform, it is flipped or exchanged in one of them
MAX_AXIS_ANGLE_DEG = 45.0
# factor: registration to a template scales an adult's brain by up to 1.3; outdated forms are off by 2
MAX_SIZE_RATIO = 1.5
SAME_SPACING_SHARE = 0.05  # pixdim and sform spacings agree within 5 %
# code of a form: coordinates of the scanner; 2 is those of another image of the person
SCANNER_CODE = 1
TEMPLATE_BY_CODE = {
    3: "Talairach and Tournoux",
    4: "MNI 152",
    5: "a template",
}  # codes: coordinates of no person
TEMPLATE_NOTE = "the header gives positions in the coordinates of a template alone"
QUATERNION_FIELDS = ("quatern_b", "quatern_c", "quatern_d")
# length of (b, c, d) of a half turn written with four decimals: up to 1.000087; with two, up to 1.0087
MAX_QUATERNION_LENGTH = 1.0001
MAX_COMPARED_QUATERNION_LENGTH = 1.01
# numbers of three decimals are as near to 0 and 1: within 0.1 % of the size, and 0.06° of the direction
ONES_TOLERANCE = 1e-3
SFORM_OF_ONES = "the sform is a matrix of ones, against the voxel sizes in pixdim;"
ONES_NOTES = (
    f"{SFORM_OF_ONES} the qform is used",
    f"{SFORM_OF_ONES} the sizes are pixdim's, directions and offset the sform's",
)
# nibabel corrects small header faults, and would log that on stderr
_SILENT_LOGGER = logging.Logger("fovnet.nifti", logging.CRITICAL + 1)
SPACE_UNIT_BITS = 0x07  # of xyzt_units; the others are of time, or unused
UNIT_BY_CODE = {1: ("meter", 1000.0), 3: ("micron", 0.001)}  # and what they are in millimetres
REFUSAL_BY_INTENT = {  # intent codes of NIfTI-1 whose values are not MR intensities
    1002: ("volume-labels", "a label map"),
    1003: ("volume-labels", "a map of NeuroNames"),
    1004: ("volume-shape", "a matrix at each voxel"),
    1005: ("volume-shape", "a symmetric matrix at each voxel"),
    1006: ("volume-shape", "a displacement field"),
    1008: ("volume-shape", "a list of points"),
    1009: ("volume-shape", "a list of triangles"),
    1010: ("volume-shape", "a list of quaternions"),
    2003: ("volume-rgb", "colours at each voxel"),
    2004: ("volume-rgb", "colours at each voxel"),
    2006: ("volume-shape", "a displacement field of FSL"),
    **dict.fromkeys((2007, 2008, 2009, 2016, 2017), ("volume-map", "coefficients of FSL")),
    2018: ("volume-map", "a field in Hz"),
}
STATISTIC_INTENTS = range(
    2, 25
)  # intent codes: a correlation, t, F, z, ... a p value or its logarithm
# how SPM and SnPM begin the description of statistics, contrasts and estimates: "SPM contrast - 1: ..." to
# SPM 8, "Contrast 1: ..." in SPM 12 (spm_contrasts.m, revision 7738)
SPM_MAP_DESCRIPTION = re.compile(
    rb"S[Pn]*PM\{|SPM (contrast|ESS)|spm_spm:|(ESS c|C)ontrast \d+: |"
    rb"(Cond\. |Posterior mean of )?[Bb]eta \(\d+\)"
)
VECTOR_INTENT = 1007
HEADER_BYTES = 540  # of NIfTI-2, the longer one
NIFTI1_HEADER_BYTES = 348
REFUSAL_BY_TYPE = {  # data types other than one number of up to 64 bits
    1: ("volume-labels", "one bit a voxel, a mask", "Give the MR volume it was drawn on."),
    32: ("volume-complex", "complex (complex64)", "Take their magnitude first (numpy.abs)."),
    128: ("volume-rgb", "colours (3 channels)", "Give the series the colours were made from."),
    1536: ("volume-type", "128-bit floats", "Save them as float32."),
    1792: ("volume-complex", "complex (complex128)", "Take their magnitude first (numpy.abs)."),
    2048: ("volume-complex", "complex (complex256)", "Take their magnitude first (numpy.abs)."),
    2304: ("volume-rgb", "colours (4 channels)", "Give the series the colours were made from."),
}


def claims(path: Path, opening: bytes) -> bool:
    """Whether the first bytes are a NIfTI header's; for an .img, those of the .hdr beside it."""
    opening = header_opening(path, opening)
    return opening[344:348] in (b"n+1\0", b"ni1\0") or opening[4:8] in (b"n+2\0", b"ni2\0")


def files_of(path: Path) -> tuple[Path, ...]:
    """The files of a volume: (path,), or (header, image) of a pair."""
    if path.name.lower().endswith((".img", ".img.gz", ".hdr", ".hdr.gz")):
        return _partner_path(path, ".hdr"), _partner_path(path, ".img")
    return (path,)


def read(path: Path) -> Volume:
    """The first usable frame of a NIfTI file, with the affine of its sform, else of its qform: see
    `_affine_and_notes`.

    Raises VolumeError for a missing or invalid affine (neither form set, or not a scanner's), and
    for voxels that are not intensities (RGB, complex, vectors, label maps by intent).
    """
    header_path, *image_paths = files_of(path)
    is_pair = bool(image_paths)
    with open_unpacked(header_path) as header_file:
        stored_header = _read_header(path, header_file.read(HEADER_BYTES), is_pair)
        _refuse_non_intensities(path, stored_header)
        header = _correct_header(stored_header)
        grid = _grid_of_header(path, header)
        vox_to_ras, notes = _affine_and_notes(path, stored_header, header)
        with open_unpacked(image_paths[0]) if is_pair else nullcontext(header_file) as file:
            file.seek(0)
            skip_bytes(path, file, _first_voxel_byte(path, header, is_pair))
            refuse_grid(path, grid, count_plain_bytes(file))
            return read_first_usable_frame(path, file, grid, vox_to_ras, notes)


def header_of(path: Path, opening: bytes = b"") -> tuple[tuple[int, ...], NDArray[np.float64]]:
    """(number of voxels along each axis, at least three axes; (4, 4) affine in mm) from the header,
    of a label map too.  Raises VolumeError as `read`, and "volume-format" if it is not NIfTI.

    opening  the first HEADER_BYTES of the file, if they are read already
    """
    files = files_of(path)
    header_bytes = opening
    if not opening or files[0] != path:
        with open_unpacked(files[0]) as file:
            header_bytes = file.read(HEADER_BYTES)
    if not claims(files[0], header_bytes):
        raise VolumeError("volume-format", f"{path}: not a NIfTI file. Save it as NIfTI.")
    stored_header = _read_header(path, header_bytes, is_pair=len(files) == 2)
    _refuse_type(path, stored_header)
    header = _correct_header(stored_header)
    return _grid_of_header(path, header).axis_lengths, _affine_and_notes(
        path, stored_header, header
    )[0]


def _first_voxel_byte(path: Path, header: Any, is_pair: bool) -> int:
    """The offset of the voxels in bytes.  Raises VolumeError "volume-corrupt" if it lies within the
    header of a single file."""
    first_byte = int(header.get_data_offset())
    header_bytes = int(header.sizeof_hdr)
    if not is_pair and 0 <= first_byte < header_bytes:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the voxels begin at byte {first_byte}, in the header of {header_bytes}. Convert "
            "the original series again (dcm2niix).",
        )
    return first_byte


def header_opening(path: Path, opening: bytes) -> bytes:
    """The first bytes of the header: `opening`, or for an .img those of the .hdr beside it, if
    there is one."""
    header = _partner_path(path, ".hdr")
    if not path.name.lower().endswith((".img", ".img.gz")) or not header.exists():
        return opening
    with open_unpacked(header) as file:
        return file.read(NIFTI1_HEADER_BYTES)


def _partner_path(path: Path, suffix: str) -> Path:
    """The .hdr or .img of a pair, with .gz if `path` has it."""
    stem = path.name
    gzip_suffix = ""
    if stem.lower().endswith(".gz"):
        gzip_suffix = stem[-3:]
        stem = stem[:-3]
    if stem.lower().endswith(suffix):
        return path
    if stem[-4:].isupper():
        suffix = suffix.upper()
    return path.with_name(stem[:-4] + suffix + gzip_suffix)


def _read_header(path: Path, header_bytes: bytes, is_pair: bool) -> Any:
    """nibabel's header, uncorrected; the byte order is inferred from the header length."""
    import nibabel

    # 540, in either byte order
    is_nifti2 = header_bytes[:4] in (b"\x1c\x02\x00\x00", b"\x00\x00\x02\x1c")
    header_length = NIFTI1_HEADER_BYTES
    if is_nifti2:
        header_length = HEADER_BYTES
    if len(header_bytes) < header_length:
        raise VolumeError(
            "volume-truncated",
            f"{path}: {len(header_bytes)} bytes where a header of {header_length} was wanted. Copy it again from its "
            "origin.",
        )
    header_type = {
        (False, False): nibabel.nifti1.Nifti1Header,
        (False, True): nibabel.nifti1.Nifti1PairHeader,
        (True, False): nibabel.nifti2.Nifti2Header,
        (True, True): nibabel.nifti2.Nifti2PairHeader,
    }[is_nifti2, is_pair]
    return header_type(header_bytes[:header_length], check=False)  # type: ignore[no-untyped-call]


def _correct_header(stored_header: Any) -> Any:
    """A copy without the faults that nibabel corrects, and with a quaternion that nibabel accepts.

    nibabel raises for (b, c, d) longer than 1 by three epsilons of the stored type, and takes any
    pixdim[0] other than -1 for 1; NIfTI's own code scales the quaternion to length 1, and asks for
    the sign alone. Source: nifti1_io.c, nifti_quatern_to_mat44 and nifti_convert_nhdr2nim.
    """
    header = stored_header.copy()
    header.check_fix(logger=_SILENT_LOGGER)
    if stored_header["pixdim"][0] < 0:
        header["pixdim"][0] = -1
    bcd = _read_quaternion(header)
    squared_length = float(bcd @ bcd)
    excess_length = squared_length - 1.0
    if (
        abs(header.quaternion_threshold) < excess_length
        and squared_length <= MAX_QUATERNION_LENGTH**2
    ):
        for field_name, quaternion_part in zip(
            QUATERNION_FIELDS, bcd / np.sqrt(squared_length), strict=True
        ):
            header[field_name] = quaternion_part
    return header


def _read_quaternion(header: Any) -> NDArray[np.float64]:
    """(3,) b, c and d of the qform's quaternion."""
    return np.array([float(header[name]) for name in QUATERNION_FIELDS])


def _qform_directions(header: Any) -> NDArray[np.float64]:
    """(3, 3) unit vectors of the qform's axes in its columns, whatever pixdim is; NaN if its
    quaternion is none, even coarsely rounded.  Source: nifti1_io.c, nifti_quatern_to_mat44."""
    b, c, d = bcd = _read_quaternion(header)
    squared_length = float(bcd @ bcd)
    if not squared_length <= MAX_COMPARED_QUATERNION_LENGTH**2:
        return np.full((3, 3), np.nan)
    a = np.sqrt(max(0.0, 1.0 - squared_length))
    if squared_length > 1.0:
        b, c, d = bcd / np.sqrt(squared_length)
    directions = np.array(
        [
            [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), a * a + c * c - b * b - d * d, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), a * a + d * d - c * c - b * b],
        ]
    )
    directions[:, 2] *= header["pixdim"][0]
    return directions


def _refuse_non_intensities(path: Path, stored_header: Any) -> None:
    """Raises VolumeError if data type or intent are not possible for an MR volume."""
    from nibabel.nifti1 import intent_codes

    _refuse_type(path, stored_header)
    intent_code = int(stored_header["intent_code"])
    if intent_code in REFUSAL_BY_INTENT:
        error_code, description = REFUSAL_BY_INTENT[intent_code]
        raise _refusal_of_non_intensities(path, error_code, f"{description} (intent {intent_code})")
    if intent_code in STATISTIC_INTENTS:
        statistic_name = intent_codes.label[intent_code]
        raise _refusal_of_non_intensities(
            path, "volume-map", f"a statistic, {statistic_name} (intent {intent_code})"
        )
    refuse_map_of_spm(path, bytes(stored_header["descrip"]))
    component_count = math.prod(map(int, stored_header.get_data_shape()[3:]))
    if intent_code == VECTOR_INTENT and component_count > 1:
        raise VolumeError(
            "volume-shape",
            f"{path}: the header says a vector of {component_count} numbers at each voxel (intent {intent_code}), not "
            "one MR intensity. If they are time points, echoes or contrasts, as ITK and TorchIO save them, "
            "save one of them alone, in Python: "
            "nibabel.save(nibabel.squeeze_image(nibabel.load(IN).slicer[..., :1]), OUT).",
        )


def refuse_map_of_spm(path: Path, description: bytes) -> None:
    """Raises VolumeError "volume-map" for the description in a header (NIfTI, Analyze) of a map of
    SPM."""
    if SPM_MAP_DESCRIPTION.match(description):
        words = description.split(b"\0")[0].decode(errors="replace").rstrip()
        raise _refusal_of_non_intensities(path, "volume-map", f'a map of SPM ("{words}")')


def _refusal_of_non_intensities(path: Path, error_code: str, description: str) -> VolumeError:
    """The refusal of a file whose header says what else it holds."""
    return VolumeError(
        error_code,
        f"{path}: the header says {description}, not MR intensities. Give the MR volume itself.",
    )


def _refuse_type(path: Path, stored_header: Any) -> None:
    """Raises VolumeError if a voxel is not one number of up to 64 bits."""
    data_type = int(stored_header["datatype"])
    if data_type in REFUSAL_BY_TYPE:
        error_code, description, remedy = REFUSAL_BY_TYPE[data_type]
        raise VolumeError(
            error_code, f"{path}: the voxels are {description}, not MR intensities. {remedy}"
        )


def _grid_of_header(path: Path, header: Any) -> StoredGrid:
    """The grid in the header.  A slope of 0 means that there is none (nifti1.h); so do NaN, which
    nibabel writes for it, and infinity.  Raises VolumeError if its shape is not possible for a
    volume."""
    shape = tuple(map(int, header.get_data_shape()))
    if len(shape) < 2 or 0 in shape:
        raise VolumeError(
            "volume-shape",
            f"{path}: the grid is {join_sizes(shape)}, without a single plane of voxels. Export it again.",
        )
    slope, intercept = header.get_slope_inter()
    grid = StoredGrid(
        (*shape, 1, 1)[: max(3, len(shape))],
        header.get_data_dtype(),
        slope=1.0 if slope is None else float(slope),
        intercept=0.0 if intercept is None else float(intercept),
    )
    refuse_grid(path, grid, None)
    return grid


def _affine_and_notes(
    path: Path, stored_header: Any, header: Any
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """(the (4, 4) affine in millimetres from sform or qform, notes); never a default.

    If both are set, the sform is used unless it is all zero, or of ones against pixdim, or has a
    template's coordinates and the qform the scanner's.  Both are compared: a difference above 1 mm
    is noted; one of over 45° in an axis, or one of `_refuse_other_size`, is refused, since one of the two
    must be wrong.  If only a template's coordinates are known, TEMPLATE_NOTE is among the notes; if
    the sform is of ones, one of ONES_NOTES.
    """
    # nibabel corrects a code outside 0..5 to 0
    sform_code = int(header["sform_code"])
    qform_code = int(header["qform_code"])
    _refuse_without_forms(path, sform_code, qform_code)
    unit, mm_per_unit = UNIT_BY_CODE.get(
        int(stored_header["xyzt_units"]) & SPACE_UNIT_BITS, ("", 1.0)
    )
    unit_to_mm = np.diag([mm_per_unit, mm_per_unit, mm_per_unit, 1.0])
    pixdim_mm = np.abs(_read_pixdim(stored_header)) * mm_per_unit
    notes: tuple[str, ...] = ()
    if unit:
        notes = (f"header unit {unit}, converted to millimetres",)
    if sform_code and qform_code and not np.asarray(header.get_sform())[:3, :3].any():
        sform_code = 0
        notes = (*notes, "the sform is set but all zero; the qform is used")
    if not sform_code:
        _refuse_pixdim(path, stored_header)
        _refuse_quaternion(path, header)
    stored_affine = header.get_sform()
    if not sform_code:
        stored_affine = header.get_qform()
    vox_to_ras = unit_to_mm @ np.asarray(stored_affine, dtype=np.float64)
    refuse_affine(str(path), vox_to_ras)  # here, before gigabytes of voxels are read in vain
    if sform_code and _is_sform_of_ones(stored_header, header):
        vox_to_ras, note = _affine_instead_of_ones(
            path, stored_header, header, unit_to_mm, qform_code
        )
        refuse_affine(str(path), vox_to_ras)
        return vox_to_ras, (*notes, note)
    if sform_code and qform_code:
        qform_to_ras = _qform_affine(header, unit_to_mm)
        form_notes = _compare_forms(
            path, stored_header, header, pixdim_mm, vox_to_ras, qform_to_ras
        )
        is_qform_valid = np.isfinite(qform_to_ras).all() and _are_usable_spacings(
            _read_pixdim(stored_header)
        )
        if sform_code in TEMPLATE_BY_CODE and qform_code == SCANNER_CODE and is_qform_valid:
            refuse_affine(str(path), qform_to_ras)
            note = f"the sform is in coordinates of {TEMPLATE_BY_CODE[sform_code]}"
            form_notes = (f"{note}; the qform, in the scanner's, is used",)
            vox_to_ras = qform_to_ras
            sform_code = 0
        notes += form_notes
    elif sform_code:
        notes += _compare_spacing(path, stored_header, header, pixdim_mm, vox_to_ras)
    if (sform_code or qform_code) in TEMPLATE_BY_CODE:
        notes += (TEMPLATE_NOTE,)
    return vox_to_ras, notes


def _refuse_without_forms(path: Path, sform_code: int, qform_code: int) -> None:
    """Raises VolumeError "volume-geometry" where neither form is set."""
    if not (sform_code or qform_code):
        raise VolumeError(
            "volume-geometry",
            f"{path}: neither sform nor qform is set, so nothing says which way is up. "
            "Convert the original series again (dcm2niix sets both).",
        )


def _is_sform_of_ones(stored_header: Any, header: Any) -> bool:
    """Whether the sform is a unit matrix but for flips and exchanges, and pixdim differs by more
    than 5 % along an axis of two voxels or more: programs write that where they know no better, and
    the ACDC collection has it throughout."""
    pixdim = np.abs(_read_pixdim(stored_header))
    if not (_has_unit_voxels(header) and _are_usable_spacings(pixdim)):
        return False
    has_two_voxels = np.asarray([*header.get_data_shape(), 1, 1][:3]) > 1
    return bool((np.maximum(pixdim, 1 / pixdim)[has_two_voxels] > 1 + SAME_SPACING_SHARE).any())


def _has_unit_voxels(header: Any) -> bool:
    """Whether the sform is a unit matrix but for flips, exchanges and rounding."""
    directions = np.abs(np.asarray(header.get_sform(), dtype=np.float64)[:3, :3])
    rounded = np.rint(directions)
    return bool((rounded <= 1).all() and np.abs(directions - rounded).max() <= ONES_TOLERANCE)


def _affine_instead_of_ones(
    path: Path, stored_header: Any, header: Any, unit_to_mm: NDArray[np.float64], qform_code: int
) -> tuple[NDArray[np.float64], str]:
    """((4, 4) affine in millimetres, a note) where the sform is of ones: the qform, if it is set
    and valid, else the sform with the sizes of pixdim.

    Raises VolumeError "volume-geometry" if the qform contradicts directions that a program has set:
    any but those of the identity.
    """
    sform = np.array(header.get_sform(), dtype=np.float64)
    sform[:3, :3] = np.rint(sform[:3, :3])
    if qform_code and not np.array_equal(sform[:3, :3], np.eye(3)):
        _refuse_contrary_axes(path, sform, _qform_directions(header))
    qform_to_ras = _qform_affine(header, unit_to_mm)
    if qform_code and np.isfinite(qform_to_ras).all():
        return qform_to_ras, ONES_NOTES[0]
    return unit_to_mm @ sform @ np.diag([*np.abs(_read_pixdim(stored_header)), 1.0]), ONES_NOTES[1]


def _read_pixdim(stored_header: Any) -> NDArray[np.float64]:
    """(3,) the spacings in the header, in its unit."""
    return np.asarray(stored_header["pixdim"][1:4], dtype=np.float64)


def _are_usable_spacings(pixdim: NDArray[np.float64]) -> bool:
    """Whether the qform can use these spacings; nibabel would replace a zero by 1 mm."""
    return bool(np.isfinite(pixdim).all() and pixdim.all())


def _refuse_pixdim(path: Path, stored_header: Any) -> None:
    """Raises VolumeError "volume-geometry" for spacings that the qform cannot use."""
    pixdim = _read_pixdim(stored_header)
    if not _are_usable_spacings(pixdim):
        raise VolumeError(
            "volume-geometry",
            f"{path}: the header's voxels are {join_sizes(f'{mm:g}' for mm in pixdim)} mm (pixdim) and only "
            "the qform, which needs them, is set. Convert the original series again.",
        )


def _refuse_quaternion(path: Path, header: Any) -> None:
    """Raises VolumeError "volume-corrupt" for a quaternion longer than rounding makes it."""
    bcd = _read_quaternion(header)
    quaternion_length = float(np.linalg.norm(bcd))
    if quaternion_length > MAX_QUATERNION_LENGTH:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the qform's quaternion ({', '.join(f'{part:.7g}' for part in bcd)}) has the length "
            f"{quaternion_length:.9g}, which is 1 at most, and by rounding up to {MAX_QUATERNION_LENGTH:g}. "
            "Convert the original series again (dcm2niix).",
        )


def _qform_affine(header: Any, unit_to_mm: NDArray[np.float64]) -> NDArray[np.float64]:
    """The (4, 4) affine of a qform in millimetres; NaN if its quaternion is not valid."""
    try:
        return np.asarray(unit_to_mm @ header.get_qform())
    except Exception:  # nibabel may raise any exception
        return np.full((4, 4), np.nan)


def _compare_forms(
    path: Path,
    stored_header: Any,
    header: Any,
    pixdim_mm: NDArray[np.float64],
    sform: NDArray[np.float64],
    qform: NDArray[np.float64],
) -> tuple[str, ...]:
    """A note if the qform is invalid, or differs from the sform by more than 1 mm at a corner of
    the volume. Raises VolumeError if the direction of an axis or a voxel size differs too much
    (MAX_AXIS_ANGLE_DEG, `_refuse_other_size`): each is compared although the other part of the qform may be
    invalid."""
    corner_indices = np.indices((2, 2, 2)).reshape(3, 8).T * (
        np.asarray([*header.get_data_shape()[:3], 1][:3]) - 1
    )
    affine_difference = sform - qform
    corner_shifts = corner_indices @ affine_difference[:3, :3].T + affine_difference[:3, 3]
    distance_mm = float(np.linalg.norm(corner_shifts, axis=1).max())
    _refuse_contrary_axes(path, sform, _qform_directions(header), distance_mm)
    if not np.isfinite(distance_mm):
        spacing_notes = _compare_spacing(path, stored_header, header, pixdim_mm, sform)
        return ("the qform is damaged; the sform is used", *spacing_notes)
    _refuse_other_size(path, header, pixdim_mm, sform, "the qform")
    if distance_mm <= SAME_POSITION_MM:
        return ()
    return (f"sform and qform disagree by up to {distance_mm:.1f} mm; the sform is used",)


def _refuse_contrary_axes(
    path: Path,
    sform: NDArray[np.float64],
    directions: NDArray[np.float64],
    distance_mm: float = np.nan,
) -> None:
    """Raises VolumeError "volume-geometry" if an axis of the sform (4, 4) and of the qform's
    directions (3, 3) are more than MAX_AXIS_ANGLE_DEG apart; NaN are not compared.

    distance_mm  between the two forms, at most, at a corner
    """
    cosines = (sform[:3, :3] * directions).sum(axis=0) / np.linalg.norm(sform[:3, :3], axis=0)
    least_cosine = cosines.min(initial=1.0, where=np.isfinite(cosines))
    angle_deg = float(np.degrees(np.arccos(np.clip(least_cosine, -1.0, 1.0))))
    if angle_deg > MAX_AXIS_ANGLE_DEG:
        corners = ""
        if np.isfinite(distance_mm):
            corners = f" ({distance_mm:.0f} mm at the corners)"
        raise VolumeError(
            "volume-geometry",
            f"{path}: sform and qform point an axis {angle_deg:.0f}° apart{corners}, so one of them is "
            "wrong about left or up. Convert the original series again.",
        )


def _refuse_other_size(
    path: Path,
    header: Any,
    pixdim_mm: NDArray[np.float64],
    sform: NDArray[np.float64],
    pixdim_owner: str,
) -> None:
    """Raises VolumeError "volume-geometry" if the spacings of sform and pixdim differ by a factor
    above 1.5 along an axis of two voxels or more, or by 5 % if the sform is of ones, as is left
    where another axis has no pixdim.  A pixdim of 0 or NaN is ignored."""
    spacing_mm = np.linalg.norm(sform[:3, :3], axis=0)
    has_two_voxels = np.asarray([*header.get_data_shape(), 1, 1][:3]) > 1
    is_comparable = np.isfinite(pixdim_mm) & (pixdim_mm > 0) & has_two_voxels
    factors = np.divide(pixdim_mm, spacing_mm, out=np.ones(3), where=is_comparable)
    largest_factor = float(np.maximum(factors, 1 / factors).max())
    factor_limit = MAX_SIZE_RATIO
    if _has_unit_voxels(header):
        factor_limit = 1 + SAME_SPACING_SHARE
    if largest_factor > factor_limit:
        raise VolumeError(
            "volume-geometry",
            f"{path}: voxels of {_sizes_in_words(spacing_mm)} mm by the sform and "
            f"{_sizes_in_words(pixdim_mm)} mm by {pixdim_owner}, {largest_factor:.3g} times apart "
            f"(limit {factor_limit:g}), so one of them is wrong. Convert the original series again.",
        )


def _compare_spacing(
    path: Path,
    stored_header: Any,
    header: Any,
    pixdim_mm: NDArray[np.float64],
    sform: NDArray[np.float64],
) -> tuple[str, ...]:
    """A note if the spacings of pixdim and sform differ by more than 5 %.  Raises VolumeError as
    `_refuse_other_size`, but not for a pixdim of 1 × 1 × 1, which is what programs leave there that set
    the sform alone."""
    if (np.abs(_read_pixdim(stored_header)) != 1).any():
        _refuse_other_size(path, header, pixdim_mm, sform, "pixdim")
    spacing_mm = np.linalg.norm(sform[:3, :3], axis=0)
    if (np.abs(pixdim_mm - spacing_mm) <= SAME_SPACING_SHARE * spacing_mm).all():
        return ()
    return (
        f"pixdim says voxels of {_sizes_in_words(pixdim_mm)} mm, the sform {_sizes_in_words(spacing_mm)} mm; "
        "the sform is used",
    )


def _sizes_in_words(sizes_mm: NDArray[np.float64]) -> str:
    """Sizes for a message, in four digits."""
    return join_sizes(f"{mm:.4g}" for mm in sizes_mm)
