"""A body on a grid, and files that hold it: every format, storage order, number type and byte order.

NIfTI, MGH and Analyze are written by nibabel.  NRRD, MetaImage and GIPL are written here, field by field, so
that a test may say anything a program somewhere may have written; SimpleITK reads them back as the judge
(formats/test_second_library.py).
"""

from __future__ import annotations

import gzip
import struct
import zlib
from itertools import permutations, product
from pathlib import Path

import nibabel
import numpy as np

from fovnet.volume.volume import Volume

FORTY_EIGHT = [
    (order, flips) for order in permutations(range(3)) for flips in product((1, -1), repeat=3)
]
# spacings of the thick and thin axes, in RAS order, and degrees turned about the left-right axis
PLANES = {
    "axial": ((1.5, 1.25, 4.0), 0.0),
    "coronal": ((1.5, 4.0, 1.25), 0.0),
    "sagittal": ((4.0, 1.5, 1.25), 0.0),
    "oblique": ((1.5, 1.25, 2.5), 31.0),
}
INTEGERS = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8")
TYPES = (*INTEGERS, "f4", "f8")
BOTH_ENDS = [end + kind for end in "<>" for kind in TYPES]
FORMATS = {  # suffix, number types with their byte order
    "nifti-1": (".nii", BOTH_ENDS),
    "nifti-2": (".nii.gz", BOTH_ENDS),
    "nrrd": (".nrrd", BOTH_ENDS),
    "metaimage": (".mha", BOTH_ENDS),
    "mgh": (".mgz", [">u1", ">i2", ">u2", ">i4", ">f4"]),
}
NRRD_TYPES = {
    "i1": "signed char",
    "u1": "unsigned char",
    "i2": "short",
    "u2": "unsigned short",
    "i4": "int",
    "u4": "unsigned int",
    "i8": "long long int",
    "u8": "unsigned long long int",
    "f4": "float",
    "f8": "double",
}
MET_TYPES = {
    "i1": "MET_CHAR",
    "u1": "MET_UCHAR",
    "i2": "MET_SHORT",
    "u2": "MET_USHORT",
    "i4": "MET_INT",
    "u4": "MET_UINT",
    "i8": "MET_LONG_LONG",
    "u8": "MET_ULONG_LONG",
    "f4": "MET_FLOAT",
    "f8": "MET_DOUBLE",
}
SPACES = {
    "left-posterior-superior": (-1, -1, 1),
    "right-anterior-superior": (1, 1, 1),
    "left-anterior-superior": (-1, 1, 1),
}


def body(plane: str = "axial", shape: tuple[int, int, int] = (22, 26, 16), seed: int = 0) -> Volume:
    """A trunk with an arm on the right, a liver on the right and noise: no two sides alike.  Whole numbers
    0..120, RAS order."""
    spacing, degrees = PLANES[plane]
    x, y, z = (np.linspace(-1, 1, n) for n in shape)
    x, y, z = np.meshgrid(x, y, z, indexing="ij")
    trunk = np.hypot((x + 0.1) / 0.7, y / (0.8 - 0.2 * z)) < 1
    liver, arm = np.hypot(x - 0.4, y - 0.2) + np.abs(z) < 0.6, np.hypot(x - 0.9, y + 0.5) < 0.15
    voxels = (
        50 * trunk
        + 30 * liver
        + 25 * arm
        + 10 * trunk * (z > 0.3)
        + np.random.default_rng(seed).integers(0, 6, shape)
    )
    turn = np.radians(degrees)
    affine = np.eye(4)
    affine[:3, :3] = np.array(
        [[1, 0, 0], [0, np.cos(turn), -np.sin(turn)], [0, np.sin(turn), np.cos(turn)]]
    ) @ np.diag(spacing)
    affine[:3, 3] = (-31.5, 12.25, -45.75)
    return Volume(voxels.astype(np.float32), affine, "made")


def stored(volume: Volume, order: tuple[int, ...], flips: tuple[int, ...]) -> Volume:
    """The same grid in another axis order and direction."""
    orientation = np.column_stack([order, flips]).astype(float)
    voxels = nibabel.orientations.apply_orientation(volume.voxels, orientation)
    affine = volume.vox_to_ras @ nibabel.orientations.inv_ornt_aff(orientation, volume.voxels.shape)
    return Volume(np.ascontiguousarray(voxels), affine, volume.source)


def write(name: str, path: Path, volume: Volume, dtype: str = "<i2") -> Path:
    """The volume as a file of a format of FORMATS; `path` has no suffix."""
    path = path.with_name(path.name + FORMATS[name][0])
    if name == "nifti-1":
        return nifti(path, volume, dtype)
    if name == "nifti-2":
        return nifti(path, volume, dtype, nibabel.Nifti2Image)
    return {"nrrd": nrrd, "metaimage": metaimage, "mgh": mgh}[name](path, volume, dtype)


def nifti(
    path: Path,
    volume: Volume,
    dtype: str = "<i2",
    kind: type = nibabel.Nifti1Image,
    **fields: object,
) -> Path:
    """A NIfTI file whose header and voxels have the byte order of `dtype`, placed by its sform."""
    header = kind.header_class(endianness=dtype[0])
    header.set_data_dtype(np.dtype(dtype[1:]))
    image = kind(volume.voxels.astype(dtype[1:]), volume.vox_to_ras, header=header)
    image.header.set_sform(volume.vox_to_ras, code=1)
    for name, value in fields.items():
        image.header[name] = value
    nibabel.save(image, path)
    return path


def mgh(path: Path, volume: Volume, dtype: str = ">i2") -> Path:
    """An MGH or, by its name, MGZ file."""
    nibabel.save(nibabel.MGHImage(volume.voxels.astype(dtype[1:]), volume.vox_to_ras), path)
    return path


def analyze(
    path: Path, volume: Volume, dtype: str = "<i2", kind: type = nibabel.Spm99AnalyzeImage
) -> Path:
    """An Analyze pair with the .mat that SPM puts beside it; the path of its header."""
    header = kind.header_class(endianness=dtype[0])
    header.set_data_dtype(np.dtype(dtype[1:]))
    nibabel.save(
        kind(volume.voxels.astype(dtype[1:]), volume.vox_to_ras, header=header),
        path.with_suffix(".img"),
    )
    return path.with_suffix(".hdr")


def nrrd(
    path: Path,
    volume: Volume,
    dtype: str = "<i2",
    *,
    encoding: str = "gzip",
    space: str = "left-posterior-superior",
    data: str = "",
    drop: tuple[str, ...] = (),
    **fields: str,
) -> Path:
    """An NRRD; with `data`, the voxels lie in a file of that name beside it.  `drop` leaves fields out,
    `fields` adds or replaces."""
    affine = np.diag([*SPACES.get(space, (1, 1, 1)), 1]) @ volume.vox_to_ras
    vectors = [f"({','.join(repr(float(x)) for x in column)})" for column in affine[:3].T]
    lines = (
        {
            "type": NRRD_TYPES[dtype[1:]],
            "dimension": "3",
            "space": space,
            "sizes": " ".join(map(str, volume.voxels.shape)),
            "space directions": " ".join(vectors[:3]),
            "kinds": "domain domain domain",
            "endian": {"<": "little", ">": "big"}[dtype[0]],
            "encoding": encoding,
            "space origin": vectors[3],
        }
        | ({"data file": data} if data else {})
        | {name.replace("_", " "): value for name, value in fields.items()}
    )
    head = "NRRD0005\n# made for a test\n" + "".join(
        f"{name}: {value}\n" for name, value in lines.items() if name not in drop
    )
    raw = numbers(volume, dtype)
    packed = gzip.compress(raw, 1) if encoding == "gzip" else raw
    path.write_bytes(head.encode() + (b"\n" if not data else b"") + (b"" if data else packed))
    if data:
        (path.parent / data).write_bytes(packed)
    return path


def metaimage(
    path: Path,
    volume: Volume,
    dtype: str = "<i2",
    *,
    packed: bool = False,
    data: str = "LOCAL",
    drop: tuple[str, ...] = (),
    **fields: str,
) -> Path:
    """A MetaImage; `data` names a file beside it.  `drop` leaves fields out, `fields` adds or replaces."""
    affine = np.diag([-1, -1, 1, 1]) @ volume.vox_to_ras
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    lines = {
        "ObjectType": "Image",
        "NDims": "3",
        "BinaryData": "True",
        "BinaryDataByteOrderMSB": str(dtype[0] == ">"),
        "CompressedData": str(packed),
        "TransformMatrix": _spaced((affine[:3, :3] / spacing).T.ravel()),
        "Offset": _spaced(affine[:3, 3]),
        "CenterOfRotation": "0 0 0",
        "AnatomicalOrientation": "RAI",
        "ElementSpacing": _spaced(spacing),
        "DimSize": " ".join(map(str, volume.voxels.shape)),
        "ElementType": MET_TYPES[dtype[1:]],
    } | fields
    raw = numbers(volume, dtype)
    voxels = zlib.compress(raw, 1) if packed else raw
    # ITK needs it
    lines |= ({"CompressedDataSize": str(len(voxels))} if packed else {}) | {
        "ElementDataFile": data
    }
    head = "".join(f"{name} = {value}\n" for name, value in lines.items() if name not in drop)
    path.write_bytes(head.encode() + (voxels if data == "LOCAL" else b""))
    if data != "LOCAL":
        (path.parent / data).write_bytes(voxels)
    return path


def gipl(
    path: Path, volume: Volume, *, kind: int = 15, dtype: str = ">i2", magic: int = 0xEFFFE9B0
) -> Path:
    """A GIPL file, gzip by its name, of spacings and origin alone: directions have no place in it."""
    spacing = np.linalg.norm(volume.vox_to_ras[:3, :3], axis=0)
    origin = (np.diag([-1, -1, 1]) @ volume.vox_to_ras[:3, 3]).tolist()
    head = struct.pack(">4HH4f", *volume.voxels.shape, 1, kind, *spacing, 0.0) + bytes(
        80 + 80 + 2 + 16
    )
    head += struct.pack(">4d4fI", *origin, 0.0, 0, 0, 0, 0, magic)
    data = head + numbers(volume, dtype)
    path.write_bytes(gzip.compress(data) if path.name.endswith(".gz") else data)
    return path


def numbers(volume: Volume, dtype: str) -> bytes:
    """The voxels, first axis fastest."""
    return volume.voxels.astype(dtype).tobytes(order="F")


def _spaced(values: np.ndarray) -> str:
    return " ".join(repr(float(value)) for value in values)
