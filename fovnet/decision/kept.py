"""Answers of an earlier run: which of them are still valid, by the file's content, the model and the program's version.

A file whose name, size, times and inode are unchanged is not read again: changing or replacing a file changes its ctime or its inode.
If one of them differs, the content is compared: a file that was touched, copied or downloaded again keeps its answer, and one that has
taken another's name does not get the other's answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fovnet._version import __version__
from fovnet.errors import FovnetError
from fovnet.records import checksum, read_json
from fovnet.volume.readers import beside_of, file_checksum, files_of
from fovnet.volume.unpacking import regular

PASSING = frozenset({
    "volume-missing", "volume-permission", "volume-unreadable", "volume-crash", "volume-memory", "engine-failed", "internal",
})
"""Refusals with a possibly temporary cause, such as the machine: the next run tries the volume again."""


def places(path: Path) -> list[list[int]] | None:
    """Size, mtime, ctime and inode of each file of a volume; None if they cannot be read."""
    try:
        return [_place(file) for file in _files(path)]
    except (OSError, ValueError):           # ValueError: a null byte in the name
        return None


def content(path: Path) -> str | None:
    """SHA-256 hex of the content of a volume's files, as in SliceStack; for a file that is no volume, of itself; None if unreadable."""
    try:
        return file_checksum(path)
    except FovnetError:
        try:
            return checksum(regular(path))
        except (OSError, FovnetError):          # FovnetError: a pipe, whose opening may block for ever
            return None


def kept_rows(
    folder: Path, volume_id: str, path: Path, identity: str, *, beside: Sequence[str] = (), faces: bool = True
) -> list[dict[str, Any]] | None:
    """The rows of the earlier answer in `folder` on the same content, under the same name and path, by the same model; else None.

    beside  files that the folder must also hold: the answer's picture, its page
    faces   whether those show faces; None is returned if they were drawn otherwise
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
    except Exception:                   # whatever an earlier answer, or its volume, raises: it is answered again
        return None


def unchanged(path: Path, known: Mapping[str, Any]) -> bool:
    """Whether the files of a volume have the recorded `places` or, if not, the recorded `sha256`."""
    found = places(path)
    if found is not None and found == known["places"]:
        return True
    return known["sha256"] is not None and known["sha256"] == content(path)


def _files(path: Path) -> Sequence[Path]:
    """The files of a volume; the file itself if no reader accepts it."""
    try:
        return files_of(path)
    except FovnetError:
        return (path,)


def _place(file: Path) -> list[int]:
    facts = file.stat()
    return [facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino]
