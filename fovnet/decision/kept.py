"""Answers of an earlier run: which of them still hold, by the file's content, the model and the program's version.

A file whose names, sizes, times and places on the disk are all as they were is not read again: no program changes or replaces a file
without its time of change (ctime) or its place (inode) becoming another.  Where one of them differs the content is compared, so a
file that was touched, copied or fetched again keeps its answer, and one that took another's name never gets the other's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fovnet import __version__
from fovnet.errors import FovnetError
from fovnet.records import checksum, read_json
from fovnet.volume.readers import beside_of, file_checksum, files_of
from fovnet.volume.unpacking import regular

PASSING = frozenset({"volume-missing", "volume-permission", "volume-unreadable", "volume-crash", "volume-memory", "engine-failed"})
"""Refusals caused by the machine or the moment: the volume is tried again in the next run."""


def places(path: Path) -> list[list[int]] | None:
    """Size, time of modification, time of change and inode of each file of a volume; None where they cannot be read."""
    try:
        return [_place(file) for file in _files(path)]
    except (OSError, ValueError):           # ValueError: a null byte in the name
        return None


def content(path: Path) -> str | None:
    """SHA-256 hex of what a volume's files hold, as in SliceStack; of a file that is no volume, its own; None if unreadable."""
    try:
        return file_checksum(path)
    except FovnetError:
        try:
            return checksum(regular(path))
        except (OSError, FovnetError):          # FovnetError: a pipe, which to open may wait for ever
            return None


def kept_rows(
    folder: Path, volume_id: str, path: Path, identity: str, *, beside: Sequence[str] = (), faces: bool = True
) -> list[dict[str, Any]] | None:
    """The rows of the earlier answer in `folder` on the same content, under the same name and path, by the same model; else None.

    beside  files that have to lie beside the answer, in the folder: its picture, its page
    faces   whether those show faces; what was drawn otherwise is drawn anew
    """
    try:
        kept = read_json(folder / f"{volume_id}.json")
        same = (kept["volume_id"], kept["path"], kept["model"]) == (volume_id, str(path), identity)
        if not same or kept["fovnet"]["version"] != __version__ or kept["code"] in PASSING:
            return None
        drawn = kept.get("faces", True) == faces and all((folder / name).exists() for name in beside)
        if beside and kept["status"] != "refused" and not drawn:
            return None
        unaltered = unchanged(path, kept["file"]) and kept["file"].get("beside") == beside_of(path)
        return list(kept["rows"]) if unaltered else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def unchanged(path: Path, known: Mapping[str, Any]) -> bool:
    """Whether the files of a volume are those with the marks `places` and `sha256`: where they lie as they lay, else by their content."""
    found = places(path)
    if found is not None and found == known["places"]:
        return True
    return known["sha256"] is not None and known["sha256"] == content(path)


def _files(path: Path) -> Sequence[Path]:
    """The files a volume is made of; of what no reader claims, the file itself."""
    try:
        return files_of(path)
    except FovnetError:
        return (path,)


def _place(file: Path) -> list[int]:
    facts = file.stat()
    return [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino]
