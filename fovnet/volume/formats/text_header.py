"""Text headers, as in NRRD and MetaImage: lines of fields, then the voxels, in the same file or in
another one beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import VolumeError

MAX_SHOWN_CHARACTERS = 60
MAX_HEADER_BYTES = 1 << 20  # a DICOM header copied into key/value lines takes 100 KiB


def read_header_line(path: Path, file: BinaryIO) -> str:
    """The next line, stripped; "" for an empty one.  Raises VolumeError if the file ends within the
    header, or the header exceeds 1 MiB."""
    line = file.readline(MAX_HEADER_BYTES)
    if file.tell() >= MAX_HEADER_BYTES:
        raise VolumeError(
            "volume-corrupt",
            f"{path}: the header is longer than {MAX_HEADER_BYTES:,} bytes. Export it again.",
        )
    if not line:
        raise VolumeError(
            "volume-truncated",
            f"{path}: the file ends within its header. Copy it again from its origin.",
        )
    return line.decode("utf-8", "replace").strip()


def parse_whole_numbers(path: Path, field: str, text: str) -> tuple[int, ...]:
    """The integers in a field.  Raises VolumeError "volume-corrupt" naming field and value."""
    try:
        return tuple(int(word) for word in text.split())
    except ValueError as fault:
        raise refusal_of_field(path, field, text, "whole numbers") from fault


def parse_whole_number(path: Path, field: str, text: str) -> int:
    """The one integer in a field.  Raises VolumeError "volume-corrupt" naming field and value."""
    numbers = parse_whole_numbers(path, field, text)
    if len(numbers) != 1:
        raise refusal_of_field(path, field, text, "one whole number")
    return numbers[0]


def parse_real_numbers(
    path: Path, field: str, text: str, count: int, between: str | None = None
) -> NDArray[np.float64]:
    """(count,) the numbers in a field, with blanks or `between` between them.  Raises VolumeError
    "volume-corrupt" naming field and value."""
    try:
        numbers = np.array([float(word) for word in text.split(between)])
    except ValueError as fault:
        raise refusal_of_field(path, field, text, f"{count} numbers") from fault
    if len(numbers) != count:
        raise refusal_of_field(path, field, text, f"{count} numbers")
    return numbers


def parse_choice(path: Path, field: str, text: str, words: Sequence[str]) -> str:
    """The text, lower case, if it is among the words.  Raises VolumeError "volume-corrupt"."""
    if text.strip().lower() not in words:
        raise refusal_of_field(path, field, text, f"one of {', '.join(words)}")
    return text.strip().lower()


def refusal_of_field(path: Path, field: str, value: str, expectation: str) -> VolumeError:
    """The refusal of a field with an invalid value."""
    return VolumeError(
        "volume-corrupt",
        f"{path}: the header's {field} is {_shorten(value)}; {expectation} wanted. Export it again.",
    )


def refusal_without_directions(path: Path, missing: str) -> VolumeError:
    """The refusal of a volume whose header has no orientation."""
    return VolumeError(
        "volume-orientation",
        f"{path}: the header has no {missing}, so nothing says which way is up or left. Convert the "
        "original series again, to NIfTI (dcm2niix).",
    )


def find_data_file(path: Path, field: str, name: str) -> Path:
    """The data file that a header names, with the separators of Windows too.

    Raises VolumeError "volume-outside" for one that is not in the header's folder or below: a
    header is untrusted, and must not make fovnet read other files on the disk.
    """
    for name_path in (PurePosixPath(name), PureWindowsPath(name)):
        if name_path.anchor or ".." in name_path.parts:
            raise VolumeError(
                "volume-outside",
                f"{path}: its {field} {_shorten(name)} is outside its folder. Put the data beside the header, "
                "and write only the file name into it.",
            )
    if not name or "\0" in name or len(name) > 255:
        raise refusal_of_field(path, field, name, "the name of a file")
    data_path = path.parent / name
    if "\\" in name and not data_path.exists():
        return path.parent.joinpath(*PureWindowsPath(name).parts)
    return data_path


def refusal_of_scattered_voxels(path: Path, field: str, value: str) -> VolumeError:
    """The refusal of voxels stored in several files, or as text."""
    return VolumeError(
        "volume-encoding",
        f"{path}: the header's {field} is {_shorten(value)}; fovnet reads voxels in one binary "
        "file. Save it as one, raw or gzip (3D Slicer, ITK-SNAP).",
    )


def _shorten(text: str) -> str:
    """A text of a header for a message, quoted, and cut if it is long."""
    if len(text) > MAX_SHOWN_CHARACTERS:
        text = text[: MAX_SHOWN_CHARACTERS - 3] + "..."
    return repr(text)
