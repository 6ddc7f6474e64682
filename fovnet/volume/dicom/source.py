"""Sources of DICOM objects: a file, the files under a folder, the members of a zip archive.

Archives are never unpacked to disk: members are read into memory one at a time, up to the limits
below.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, cast

from fovnet.errors import VolumeError
from fovnet.volume.dicom.documents import document_kind_of_members, has_document_suffix, is_document
from fovnet.volume.unpacking import PREAMBLE_BYTES, has_preamble, unpack_opening

MAX_MEMBERS = 50_000  # a whole-body study has about 5 000 images
MAX_UNPACKED_BYTES = 16 * 2**30  # bytes of all members, as declared by the archive's directory
MAX_OBJECT_BYTES = 2 * 2**30  # bytes of one member: the largest enhanced objects seen take 1 GB
# bytes that a deflated object may unpack to: a thousand slices of 512 × 512
MAX_INFLATED_BYTES = 2**29
# of unpacked to packed bytes, if they are more than 64 MiB: images seldom reach 20, zeros 1,000
MAX_UNPACKING_RATIO = 100
BYTES_AT_ANY_RATIO = 2**26
MAX_BYTES_AT_ONCE = 2**26  # bytes up to which a member is unpacked for its header, too
PIECE_BYTES = 2**20
DICOM_SUFFIXES = (".dcm", ".ima")
PAIR_SUFFIXES = (".img", ".img.gz")  # of an .hdr
# fmt: off
OTHER_VOLUME_SUFFIXES = (
    ".nii", ".nii.gz", ".hdr", ".hdr.gz", *PAIR_SUFFIXES, ".mgh", ".mgh.gz", ".mgz", ".nrrd",
    ".nhdr", ".mha", ".mhd", ".gipl", ".gipl.gz",
)
# fmt: on
ZIP_MAGIC = b"PK"
ENCRYPTED_FLAG = 1
LINK_MODE = 0o120000
DEFLATED_UID = b"1.2.840.10008.1.2.1.99"
DICOMDIR_CLASS = b"1.2.840.10008.1.3.10"  # the SOP class of a DICOMDIR
GUNZIP_REMEDY = "Unpack it with gunzip, a folder of such files with gunzip -r."
OPENING_BYTES = 1024  # bytes that hold the file meta information: about 350 are usual
# VRs with two reserved bytes and a length of four
LONG_LENGTH_VRS = (b"OB", b"OW", b"OF", b"OD", b"OL", b"SQ", b"UC", b"UR", b"UT", b"UN")


@dataclass(frozen=True, slots=True, order=True)
class DicomObject:
    """One object: a file, or a member of the archive `path`."""

    path: Path
    member_name: str = ""

    def __str__(self) -> str:
        if self.member_name:
            return f"{self.path}, member {self.member_name}"
        return str(self.path)


@dataclass(frozen=True, slots=True)
class UnreadObject:
    """An object of a container that could not be used, and why."""

    dicom_object: DicomObject
    fault: VolumeError

    @property
    def is_dicomdir(self) -> bool:
        """Whether it is a DICOMDIR: beside images nothing is lost with it."""
        return self.fault.code == "volume-dicomdir"


def begins_like_dicom(opening: bytes) -> bool:
    """Whether the first bytes are those of a DICOM file: "DICM" at byte 128, or, without preamble,
    group 0008 or (0002,0000) at byte 0."""
    begins_with_group = opening[:2] == b"\x08\x00" and opening[2:4] in (
        b"\x00\x00",
        b"\x05\x00",
        b"\x08\x00",
    )
    return has_preamble(opening) or begins_with_group or opening[:6] == b"\x02\x00\x00\x00UL"


def begins_like_gzip_of_dicom(opening: bytes) -> bool:
    """Whether the first bytes are those of a DICOM file packed with gzip."""
    return not has_preamble(opening) and begins_like_dicom(unpack_opening(opening))


def is_gzip_of_dicom(path: Path) -> bool:
    """Whether a file called .gz holds a DICOM file."""
    return path.suffix.lower() == ".gz" and begins_like_gzip_of_dicom(_read_opening(path))


def list_objects(container: Path) -> Iterator[DicomObject | UnreadObject]:
    """The objects of a container that look like DICOM, sorted by name; a single file always, whatever
    it looks like."""
    if is_closed(container):
        raise PermissionError(13, "Permission denied", str(container))
    if container.is_dir():
        yield from (DicomObject(path) for path in files_under(container) if looks_like_dicom(path))
    elif is_archive(container):
        file_status = container.stat()
        yield from _list_members_once(container, file_status.st_size, file_status.st_mtime_ns)
    else:
        yield DicomObject(container)


def files_under(
    folder: Path, links: list[Path] | None = None, hidden: list[Path] | None = None
) -> Iterator[Path]:
    """The files under a folder, sorted, without hidden ones; with broken links, pipes, devices and
    folders that this user may not read, so that they can be reported.

    Links to folders are not followed, as they may form a loop, but added to `links`; hidden files
    and folders are added to `hidden`.
    """
    for parent, subfolders, file_names in os.walk(folder):
        if hidden is not None:
            hidden += [
                Path(parent, entry_name)
                for entry_name in sorted([*subfolders, *file_names])
                if entry_name.startswith(".")
            ]
        subfolders[:] = sorted(
            entry_name for entry_name in subfolders if not entry_name.startswith(".")
        )
        if links is not None:
            links += [
                Path(parent, entry_name)
                for entry_name in subfolders
                if Path(parent, entry_name).is_symlink()
            ]
        yield from (
            Path(parent, entry_name)
            for entry_name in subfolders
            if is_closed(Path(parent, entry_name))
        )
        yield from (
            Path(parent, entry_name)
            for entry_name in sorted(file_names)
            if not entry_name.startswith(".")
        )


def is_closed(folder: Path) -> bool:
    """Whether the path is a folder that this user may not read; Path.is_dir raises where it may not
    ask."""
    is_folder = os.path.isdir(folder)  # noqa: PTH112
    return is_folder and not os.access(folder, os.R_OK | os.X_OK)


def looks_like_dicom(path: Path) -> bool:
    """Whether a file's suffix or first bytes are those of DICOM."""
    return path.name.lower().endswith(DICOM_SUFFIXES) or begins_like_dicom(_read_opening(path))


def is_archive(path: Path) -> bool:
    """Whether a regular file begins with the magic of a zip archive, not as the preamble of a DICOM
    file."""
    opening = _read_opening(path)
    return opening.startswith(ZIP_MAGIC) and not has_preamble(opening)


def _read_opening(path: Path) -> bytes:
    """The first bytes of a regular file; none if it is no such file, or cannot be read.  A pipe is
    never opened: that could block for ever."""
    if not os.path.isfile(path):  # noqa: PTH113  (is_file raises in a closed folder)
        return b""
    try:
        with path.open("rb") as file:
            return file.read(OPENING_BYTES)
    except OSError:
        return b""


def open_object(dicom_object: DicomObject, *, whole: bool = True) -> BinaryIO:
    """The bytes of an object as a stream: the file itself, or the member unpacked into memory;
    unless `whole` a large member is unpacked while it is read.  Raises VolumeError, OSError."""
    if dicom_object.member_name:
        return _open_member(dicom_object, whole)
    if not stat.S_ISREG(dicom_object.path.stat().st_mode):
        raise VolumeError(
            "volume-format", f"{dicom_object.path}: neither a file nor a folder. Name a file."
        )
    file = dicom_object.path.open("rb")
    opening = file.read(OPENING_BYTES)
    file.seek(0)
    if not opening:
        file.close()
        sentence = f"{dicom_object.path}: the file is empty. Copy it again from its origin."
        raise VolumeError("volume-empty", sentence)
    if begins_like_gzip_of_dicom(opening):
        file.close()
        sentence = f"{dicom_object}: a DICOM file packed with gzip. {GUNZIP_REMEDY}"
        raise VolumeError("volume-format", sentence)
    return file


def _find_end_of_meta(opening: bytes) -> int:
    """The end of the file meta information, found element by element, as pydicom does: its stated
    length may be wrong or missing. Source: DICOM PS3.10, 7.1, and PS3.5, 7.1.2 (explicit little
    endian)."""
    position = 0
    if has_preamble(opening):
        position = PREAMBLE_BYTES
    while opening[position : position + 2] == b"\x02\x00":
        # group, element and VR take six bytes
        length_start = position + 6
        length_size = 2
        if opening[position + 4 : position + 6] in LONG_LENGTH_VRS:
            length_start = position + 8
            length_size = 4
        position = (
            length_start
            + length_size
            + int.from_bytes(opening[length_start : length_start + length_size], "little")
        )
    return position


def refuse_dicomdir(dicom_object: DicomObject, file: BinaryIO) -> None:
    """Raises VolumeError "volume-dicomdir" for a DICOMDIR, by the class in its file meta
    information: its dataset states none."""
    opening = file.read(OPENING_BYTES)
    file.seek(0)
    if (
        DICOMDIR_CLASS in opening[: _find_end_of_meta(opening)]
        or PurePosixPath(dicom_object.member_name or dicom_object.path).name.upper() == "DICOMDIR"
    ):
        raise VolumeError(
            "volume-dicomdir",
            f"{dicom_object}: a DICOMDIR, the table of contents of a medium, without images. Name its "
            "folder.",
        )


def refuse_deflate_bomb(dicom_object: DicomObject, file: BinaryIO) -> None:
    """Raises VolumeError "volume-too-large" if a deflated object unpacks to more than 512 MiB, or
    out of all proportion, before pydicom unpacks all of it."""
    opening = file.read(1 << 16)
    file.seek(0)
    if DEFLATED_UID not in opening or not has_preamble(opening):
        return
    most_bytes = min(MAX_INFLATED_BYTES, most_believable_bytes(file.seek(0, os.SEEK_END)))
    file.seek(_find_end_of_meta(opening))
    decompressor = zlib.decompressobj(wbits=-15)
    unpacked_bytes = 0
    try:
        while (
            piece := decompressor.unconsumed_tail or file.read(1 << 16)
        ) and not decompressor.eof:
            unpacked_bytes += len(decompressor.decompress(piece, 1 << 20))
            if unpacked_bytes > most_bytes:
                raise VolumeError(
                    "volume-too-large",
                    f"{dicom_object}: the deflated object unpacks to more than {most_bytes:,} bytes. "
                    "Inflate it (dcmconv +te) if it is what it seems.",
                )
    except zlib.error as fault:
        raise VolumeError(
            "volume-corrupt",
            f"{dicom_object}: the deflated data are damaged ({fault}). Copy it again.",
        ) from fault
    file.seek(0)


def most_believable_bytes(packed_bytes: int) -> int:
    """The most bytes to which so many packed ones are believed to unpack."""
    return max(BYTES_AT_ANY_RATIO, MAX_UNPACKING_RATIO * packed_bytes)


def _open_archive(path: Path) -> zipfile.ZipFile:
    """An open zip archive.  Raises VolumeError for a damaged one, OSError for one that cannot be opened."""
    try:
        return zipfile.ZipFile(path)
    except OSError:
        raise
    except MemoryError as fault:  # a directory that claims gigabytes
        raise VolumeError(
            "volume-archive-size",
            f"{path}: its table of contents does not fit into memory. Unpack it, and name the "
            "folder.",
        ) from fault
    except Exception as fault:
        # zipfile may raise any exception: IndexError for an empty name, for example
        raise VolumeError(
            "volume-corrupt",
            f"{path}: a damaged zip archive ({fault}). Copy it again from its origin.",
        ) from fault


@lru_cache(maxsize=2)
def _open_archive_once(path: Path, size: int, changed_ns: int) -> zipfile.ZipFile:
    """An open archive, so that its directory is read once for all members: reading 5,000 entries
    5,000 times would take minutes."""
    return _open_archive(path)


@lru_cache(maxsize=4)
def _list_members_once(
    path: Path, size: int, changed_ns: int
) -> tuple[DicomObject | UnreadObject, ...]:
    """The members that begin like DICOM, sorted by name, and those that may be volumes but cannot
    be read from an archive.

    Empty for a document with its own suffix, as the images of a program are not the study's, and for
    one without DICOM in it.  Cached for a batch that reads one series after another: identifying
    the members means opening each of them.
    """
    archive = _open_archive_once(path, size, changed_ns)
    archive_kind = document_kind_of_members(archive.namelist())
    if archive_kind and path.suffix.lower() not in ("", ".zip"):
        return ()
    members = tuple(_list_members(path, archive))
    may_be_document = archive_kind or has_document_suffix(path.name)
    if may_be_document and not any(isinstance(entry, DicomObject) for entry in members):
        return ()
    return members


def find_document_kind(path: Path) -> str:
    """What an archive is if not one of images, "an Office document" for example; "" also for one
    that cannot be opened."""
    try:
        with _open_archive(path) as archive:
            return document_kind_of_members(archive.namelist())
    except (OSError, VolumeError):
        return ""


def _list_members(path: Path, archive: zipfile.ZipFile) -> Iterator[DicomObject | UnreadObject]:
    """The members of an archive that begin like DICOM, by name, and those that cannot be used, with the
    reason.  Raises VolumeError as `_refuse_archive`."""
    members = [
        member
        for member in archive.infolist()
        if member.filename and not member.filename.endswith("/")
    ]
    _refuse_archive(path, members)
    count_by_name = Counter(member.filename for member in members)
    for member_name in sorted(
        member_name for member_name, member_count in count_by_name.items() if member_count > 1
    ):
        sentence = (
            f"{path}: {count_by_name[member_name]} members are called {member_name}, so the name does not "
            "tell which is meant. Unpack them under different names."
        )
        yield UnreadObject(
            DicomObject(path, member_name), VolumeError("volume-archive-names", sentence)
        )
    for member in sorted(members, key=lambda member: member.filename):
        if count_by_name[member.filename] > 1:
            continue
        entry = _identify_member(archive, member, DicomObject(path, member.filename))
        if entry is not None:
            yield entry


def _identify_member(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, dicom_object: DicomObject
) -> DicomObject | UnreadObject | None:
    """A member of an archive by its name and first bytes; None for what is neither DICOM nor
    another volume."""
    file_name = PurePosixPath(member.filename).name
    if file_name.startswith(".") or member.filename.startswith("__MACOSX/"):
        return None
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        sentence = (
            "not packed with deflate, and with its method 3 KB may unpack to gigabytes at once"
        )
        return _unread_member(
            dicom_object, "volume-archive-method", f"{sentence}. Unpack it, and name the folder."
        )
    try:
        with archive.open(member) as file:
            opening = file.read(OPENING_BYTES)
    except Exception as fault:  # zipfile may raise any exception
        return UnreadObject(dicom_object, _refusal_of_unpacking(dicom_object, fault))
    if begins_like_dicom(opening) or file_name.lower().endswith(DICOM_SUFFIXES):
        return dicom_object
    if opening.startswith(b"PK\x03\x04"):
        sentence = "an archive in an archive. Unpack the outer one."
        if is_document(file_name, opening):
            return None
        return _unread_member(dicom_object, "volume-archive-nested", sentence)
    if begins_like_gzip_of_dicom(opening):
        sentence = (
            "a DICOM file packed with gzip. Unpack the archive, and its files with gunzip -r."
        )
        return _unread_member(dicom_object, "volume-archive-format", sentence)
    if file_name.lower().endswith(OTHER_VOLUME_SUFFIXES):
        sentence = "only DICOM is read from archives. Unpack it, and name the folder."
        return _unread_member(dicom_object, "volume-archive-format", sentence)
    return None


def _unread_member(dicom_object: DicomObject, code: str, sentence: str) -> UnreadObject:
    return UnreadObject(dicom_object, VolumeError(code, f"{dicom_object}: {sentence}"))


def _refuse_archive(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Raises VolumeError for an archive that is too large, encrypted, or has links or member names
    that lead out of it."""
    unpacked_bytes = sum(member.file_size for member in members)
    most_bytes = min(MAX_UNPACKED_BYTES, most_believable_bytes(path.stat().st_size))
    if len(members) > MAX_MEMBERS or unpacked_bytes > most_bytes:
        raise VolumeError(
            "volume-archive-size",
            f"{path}: {len(members):,} members of {unpacked_bytes:,} bytes; the limits are "
            f"{MAX_MEMBERS:,} and {most_bytes:,}. Unpack it, and name the folder.",
        )
    for member in members:
        if member.flag_bits & ENCRYPTED_FLAG:
            raise VolumeError(
                "volume-archive-encrypted",
                f"{path}: the archive is encrypted. Unpack it with its password first.",
            )
        member_path = PurePosixPath(member.filename.replace("\\", "/"))
        if (
            member_path.is_absolute()
            or ".." in member_path.parts
            or member.external_attr >> 16 & 0o170000 == LINK_MODE
        ):
            raise VolumeError(
                "volume-archive-path",
                f"{path}: a member is a link, or its name {member.filename!r} leads outside the "
                "archive. Unpack it in a safe place, and name the folder.",
            )


def _open_member(dicom_object: DicomObject, whole: bool) -> BinaryIO:
    """A member's bytes, never more than the archive's directory states: a longer one is damaged or
    malicious."""
    try:
        file_status = dicom_object.path.stat()
        archive = _open_archive_once(
            dicom_object.path, file_status.st_size, file_status.st_mtime_ns
        )
        member = archive.getinfo(dicom_object.member_name)
        most_bytes = min(MAX_OBJECT_BYTES, most_believable_bytes(member.compress_size))
        if member.file_size > most_bytes:
            raise VolumeError(
                "volume-archive-size",
                f"{dicom_object}: {member.file_size:,} bytes in one member; the limit is {most_bytes:,}, "
                f"and {MAX_UNPACKING_RATIO} times its packed size. Unpack the archive, and name the folder.",
            )
        if not whole and member.file_size > MAX_BYTES_AT_ONCE:
            return cast(BinaryIO, archive.open(member))
        with archive.open(member) as file:
            return _read_into_memory(file)
    except (VolumeError, OSError):
        raise
    except Exception as fault:  # zipfile may raise any exception
        raise _refusal_of_unpacking(dicom_object, fault) from fault


def _read_into_memory(file: IO[bytes]) -> BinaryIO:
    """The rest of a stream in memory, read piece by piece: at once, zipfile holds it twice."""
    buffer = io.BytesIO()
    while piece := file.read(PIECE_BYTES):
        buffer.write(piece)
    buffer.seek(0)
    return buffer


def _refusal_of_unpacking(dicom_object: DicomObject, fault: Exception) -> VolumeError:
    return VolumeError(
        "volume-corrupt",
        f"{dicom_object}: cannot be unpacked ({fault}). Copy the archive again from its origin.",
    )
