"""Whether a collection is as it was: its tables by their content, the files behind them by size and time of change.

A workflow would go by the time of change of the tables alone, and not notice one that was put in place with an older date, as unpacking,
moving and copying with dates do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from fovnet.records import checksum, digest, read_tsv
from fovnet.volume.dicom.address import split_address

HEADERS = (".hdr", ".hdr.gz", ".img", ".img.gz", ".nhdr", ".mhd")
BESIDE = (".hdr", ".hdr.gz", ".img", ".img.gz", ".mat", ".raw", ".raw.gz", ".zraw")
SPELLINGS = (*BESIDE, *(suffix.upper() for suffix in BESIDE), ".HDR.gz", ".IMG.gz", ".hdr.GZ", ".img.GZ")
"""As the files of pairs are looked for: SCAN.IMG beside SCAN.HDR, SCAN.IMG.gz beside SCAN.HDR.gz."""


def stamp_of_volumes(tables: Iterable[Path]) -> str:
    """SHA-256 hex over the content of volumes.tsv tables, and of the regions.tsv beside each, and over name, size and time of change of
    every file or folder that they name; one that is gone counts too.

    Of a DICOM folder its own time of change and those of the folders in it, which a file that is added, removed or replaced by renaming
    moves, and of the files in each their number, bytes and latest time of change, which one that is written over moves; of a header also
    the files beside it that are called alike.  Nothing is opened, so that 100,000 files take a second.  A table that cannot be read names
    none: the slicing reports it.
    """
    tables = list(tables)
    contents = [_content(path) for table in tables for path in (table, table.parent / "regions.tsv")]
    named = dict.fromkeys(place for table in tables for place in _named_in(table))
    return digest([contents, [[str(part), *_stamp(part)] for place in named for part in _parts_of(place)]])


def _content(path: Path) -> str:
    try:
        return checksum(path)
    except OSError:
        return ""


def _named_in(table: Path) -> list[Path]:
    try:
        return [split_address(table.parent / row["path"])[0] for row in read_tsv(table) if row.get("path")]
    except (OSError, ValueError):
        return []


def _parts_of(place: Path) -> Iterator[Path]:
    """The file or folder itself, folders in it, and what a header's voxels may lie in; another name than its own takes opening it."""
    yield place
    if os.path.isdir(place):            # noqa: PTH112  (is_dir raises in a closed folder)
        for parent, folders, _ in os.walk(place):
            folders.sort()
            yield from (Path(parent, name) for name in folders)
    elif name := next((str(place)[: -len(header)] for header in HEADERS if place.name.lower().endswith(header)), ""):
        yield from (Path(half) for suffix in SPELLINGS if (half := name + suffix) != str(place) and os.path.lexists(half))


def _stamp(place: Path) -> tuple[int, ...]:
    try:
        facts = place.stat()
        return _of_files(place, facts.st_mtime_ns) if place.is_dir() else (facts.st_size, facts.st_mtime_ns)
    except (OSError, ValueError):
        return -1, -1


def _of_files(folder: Path, changed_ns: int) -> tuple[int, ...]:
    """A folder's own time of change; number, bytes and latest time of change of the files in it."""
    with os.scandir(folder) as entries:
        files = [entry.stat() for entry in entries if entry.is_file()]
    return changed_ns, len(files), sum(facts.st_size for facts in files), max((facts.st_mtime_ns for facts in files), default=0)
