"""A stamp of a collection that shows whether it has changed: its tables by content, the files they
name by size and modification time.

A workflow compares the tables' modification times alone, and misses a table replaced by one with an
older date, as unpacking, moving and copying with dates do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from fovnet.records import checksum, digest, read_tsv
from fovnet.volume.dicom.address import split_address

HEADER_SUFFIXES = (".hdr", ".hdr.gz", ".img", ".img.gz", ".nhdr", ".mhd")
PAIR_SUFFIXES = (".hdr", ".hdr.gz", ".img", ".img.gz", ".mat", ".raw", ".raw.gz", ".zraw")
PAIR_SPELLINGS = (
    *PAIR_SUFFIXES,
    *(suffix.upper() for suffix in PAIR_SUFFIXES),
    ".HDR.gz",
    ".IMG.gz",
    ".hdr.GZ",
    ".img.GZ",
)
"""Suffixes tried for the other file of a pair: SCAN.IMG beside SCAN.HDR, SCAN.IMG.gz beside
SCAN.HDR.gz."""


def stamp_collections(tables: Iterable[Path]) -> str:
    """SHA-256 hex over the content of volumes.tsv tables and of the regions.tsv beside each, and
    over name, size and modification time of every file or folder that they name, missing ones
    included.

    For a folder (DICOM): the modification times of it and its subfolders, which change when a file
    is added, removed or replaced by renaming, and in each the number, total bytes and latest
    modification time of its files, which change when one is overwritten.  For a header file also
    the files beside it with the same stem.  Volumes are not opened, so 100,000 files take a second.
    A table that cannot be read names no files; slicing reports it.
    """
    tables = list(tables)
    table_checksums = [
        _checksum_or_empty(path)
        for table in tables
        for path in (table, table.parent / "regions.tsv")
    ]
    paths = dict.fromkeys(path for table in tables for path in _paths_in_table(table))
    return digest(
        [
            table_checksums,
            [[str(file), *_stamp(file)] for path in paths for file in _places_to_stamp(path)],
        ]
    )


def _checksum_or_empty(path: Path) -> str:
    try:
        return checksum(path)
    except OSError:
        return ""


def _paths_in_table(table: Path) -> list[Path]:
    """The files and folders that a volumes.tsv names; none if it cannot be read."""
    try:
        return [
            split_address(table.parent / volume_row["path"])[0]
            for volume_row in read_tsv(table)
            if volume_row.get("path")
        ]
    except (OSError, ValueError):
        return []


def _places_to_stamp(path: Path) -> Iterator[Path]:
    """The file or folder itself, all subfolders, and for a header the files of the same stem; a
    data file of another name is not found."""
    yield path
    if os.path.isdir(path):  # noqa: PTH112  (is_dir raises in a closed folder)
        for parent, folders, _ in os.walk(path):
            folders.sort()
            yield from (Path(parent, stem) for stem in folders)
    elif stem := next(
        (
            str(path)[: -len(header_suffix)]
            for header_suffix in HEADER_SUFFIXES
            if path.name.lower().endswith(header_suffix)
        ),
        "",
    ):
        yield from (
            Path(pair_file)
            for suffix in PAIR_SPELLINGS
            if (pair_file := stem + suffix) != str(path) and os.path.lexists(pair_file)
        )


def _stamp(path: Path) -> tuple[int, ...]:
    """(size, modification time in ns) of a file, `_stamp_of_files` of a folder; (-1, -1) if it cannot
    be asked."""
    try:
        file_status = path.stat()
        if path.is_dir():
            return _stamp_of_files(path, file_status.st_mtime_ns)
        return file_status.st_size, file_status.st_mtime_ns
    except (OSError, ValueError):
        return -1, -1


def _stamp_of_files(folder: Path, changed_ns: int) -> tuple[int, ...]:
    """(a folder's own modification time in ns, number, total bytes and latest modification time in ns
    of the files in it)."""
    with os.scandir(folder) as entries:
        file_statuses = [entry.stat() for entry in entries if entry.is_file()]
    return (
        changed_ns,
        len(file_statuses),
        sum(file_status.st_size for file_status in file_statuses),
        max((file_status.st_mtime_ns for file_status in file_statuses), default=0),
    )
