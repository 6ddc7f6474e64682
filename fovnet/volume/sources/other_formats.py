"""Files that fovnet does not read: what they seem to be, and one thing to try."""

from __future__ import annotations

import re
from pathlib import Path

from fovnet.errors import VolumeError
from fovnet.volume.dicom.source import (
    GUNZIP_REMEDY,
    ZIP_MAGIC,
    begins_like_dicom,
    begins_like_gzip_of_dicom,
)
from fovnet.volume.unpacking import GZIP_MAGIC, regular_path, unpack_opening

PACKED_DICOM = "a DICOM file packed with gzip", GUNZIP_REMEDY
PHILIPS = "one of a Philips PAR/REC pair", "Convert the pair to NIfTI with dcm2niix."
AFNI = "one of an AFNI HEAD/BRIK pair", "Convert the pair to NIfTI with 3dAFNItoNIFTI."
AFNI_HEADER = re.compile(rb"\s*type\s*=\s*(string|integer|float)-attribute")
TAR = "a tar archive", "Unpack it with tar -xf, and name the folder."
# by name: bzip2 unpacks blocks of 900 kB, not the first bytes alone
PACKED_TAR = re.compile(r".*\.(tar\.(bz2|xz|zst|lzma|lz)|tbz2?|tb2|txz|tzst)")
PACKED_MAGICS = b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"\x5d\x00\x00", b"LZIP"
BRUKER = (
    "images and parameters of Bruker ParaVision",
    "Export the study as DICOM in ParaVision, or convert its folder to NIfTI (brkraw, bruker2nifti).",
)
BRUKER_EXPORT = ".pvdatasets"  # of ParaVision: a zip archive of a study
BRUKER_NAMES = ("2dseq", "fid", "ser", "acqp", "method", "reco", "visu_pars", "rawdata.job0")
BRUKER_HEADER = b"##TITLE=Parameter List, ParaVision"
ANNEX = "a git-annex pointer, not the data", "Fetch it with: datalad get FILE"
# a pointer begins with the path of its key; where links became text files, with the way to .git
ANNEX_POINTER = re.compile(rb"(\.{1,2}/|/)*(\.git/)?annex/objects/")
# fmt: off
OTHER_FORMAT_SUFFIXES = (
    ".gz", ".par", ".rec", ".xml", ".head", ".brik", ".mnc", ".tar", ".tgz", ".bz2", ".tbz",
    ".tbz2", ".tb2", ".xz", ".txz", ".lzma", ".lz", ".zst", ".tzst", ".7z", ".rar", ".npy",
    BRUKER_EXPORT,
)
# fmt: on
KINDS_WITHOUT_IMAGE = ("a text file", "of no known format", "a file packed twice with gzip")


def recognise_unread_image(path: Path) -> tuple[str, str] | None:
    """(kind, one thing to try) of a file in a folder that holds an image in a format that fovnet
    does not read; None for any other."""
    if path.is_symlink() and leads_to_annex(str(path.readlink())) and not path.exists():
        return ANNEX
    has_number_suffix = path.suffix[1:].isdigit()  # 1.2.840.113 has a "suffix" too
    if (
        path.suffix
        and not has_number_suffix
        and not path.name.lower().endswith(OTHER_FORMAT_SUFFIXES)
    ):
        return None
    try:
        with regular_path(path).open("rb") as file:
            opening = file.read(1024)
    except (OSError, VolumeError):
        return None
    if begins_like_gzip_of_dicom(opening):
        return PACKED_DICOM
    kind_and_remedy = recognise_other_format(path, unpack_opening(opening) or opening)
    if kind_and_remedy[0] in KINDS_WITHOUT_IMAGE:
        return None
    return kind_and_remedy


def leads_to_annex(link: str) -> bool:
    """Whether a link leads to the data of a git-annex that were not fetched."""
    return "/annex/objects/" in link.replace("\\", "/")


def recognise_other_format(path: Path, opening: bytes) -> tuple[str, str]:
    """(kind of a file that no reader claims, one thing to try), from its name and first bytes,
    unpacked if they are gzip."""
    lower_name = path.name.lower()
    if lower_name.endswith(".rec"):
        return PHILIPS
    if lower_name.endswith((".brik", ".brik.gz")) or AFNI_HEADER.match(opening):
        return AFNI
    if ANNEX_POINTER.match(opening):
        return ANNEX
    is_export = lower_name.endswith(BRUKER_EXPORT) and opening.startswith(ZIP_MAGIC)
    if (
        is_export
        or opening.startswith(BRUKER_HEADER)
        or (lower_name in BRUKER_NAMES and _is_beside_bruker(path))
    ):
        return BRUKER
    if PACKED_TAR.fullmatch(lower_name) and opening.startswith(PACKED_MAGICS):
        return TAR
    for magic, kind, remedy in FORMAT_BY_MAGIC:
        if opening.lstrip().startswith(magic):
            return kind, remedy
    if begins_like_dicom(opening):  # the DICOM reader does not claim it, so it is compressed
        return PACKED_DICOM
    if opening[257:262] == b"ustar":
        return TAR
    if lower_name.endswith((".mgz", ".mgh")):
        return "a damaged FreeSurfer MGH file", "Convert it again with: mri_convert IN OUT.nii.gz"
    if lower_name.endswith((".gipl", ".gipl.gz")):
        return "a damaged GIPL file", "Save it as NIfTI with ITK-SNAP."
    if all(byte in b"\t\n\r\f" or 32 <= byte < 127 or byte >= 128 for byte in opening):
        return "a text file", "Name the image itself."
    return (
        "of no known format",
        "Convert it to NIfTI (dcm2niix for DICOM, ITK-SNAP or 3D Slicer for most others).",
    )


def _is_beside_bruker(path: Path) -> bool:
    """Whether the parameters that ParaVision writes are in the folder of a file."""
    return any((path.parent / name).is_file() for name in ("acqp", "method", "visu_pars", "reco"))


SAVE_REMEDY = "Save it as NIfTI with 3D Slicer or ITK-SNAP."
PICTURE_REMEDY = "Name the volume it was made from: a picture has no millimetres."
ARRAY_REMEDY = "Save it as NIfTI together with its affine (nibabel.Nifti1Image)."
MINC_2 = "an HDF5 file (MINC 2, or MATLAB 7.3)"
# fmt: off
FORMAT_BY_MAGIC = (
    (b"# === DATA DESCRIPTION FILE", *PHILIPS),
    (b"<PRIDE_V5", "one of a Philips XML/REC pair", "Export the series as DICOM, NIfTI or PAR/REC."),
    (b"NRRD", "a damaged NRRD file", SAVE_REMEDY),
    (b"ObjectType", "a damaged MetaImage file", SAVE_REMEDY),
    (b"NDims", "a damaged MetaImage file", SAVE_REMEDY),
    (b"\x89HDF", MINC_2, "Convert it to NIfTI (mnc2nii for MINC)."),
    (b"CDF", "a NetCDF file (MINC 1)", "Convert it to NIfTI with mnc2nii."),
    (b"\x89PNG", "a PNG picture", PICTURE_REMEDY),
    (b"\xff\xd8\xff", "a JPEG picture", PICTURE_REMEDY),
    (b"%PDF", "a PDF document", "Name the image itself."),
    (b"\x93NUMPY", "a NumPy array", ARRAY_REMEDY),
    (GZIP_MAGIC, "a file packed twice with gzip", "Unpack it once with gunzip."),
    (b"BZh", "a bzip2 archive", "Unpack it with bunzip2."),
    (b"\xfd7zXZ", "an xz archive", "Unpack it with unxz."),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive", "Unpack it with unzstd."),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "Unpack it."),
    (b"Rar!", "a RAR archive", "Unpack it."),
    (b"MATLAB 5.0", "a MATLAB file", "Save it as NIfTI (niftiwrite)."),
    (b"version https://git-lfs", "a Git LFS pointer, not the data", "Fetch it with: git lfs pull"),
)
# fmt: on
