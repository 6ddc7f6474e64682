"""Whether the files behind a collection's tables are those they were, by size and time of change: what a workflow watches beside them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from fovnet.records import digest, read_tsv
from fovnet.volume.dicom_address import split_address


def stamp_of_volumes(tables: Iterable[Path]) -> str:
    """SHA-256 hex over name, size and time of change of every file or folder that volumes.tsv tables name; one that is gone counts too.

    Of a DICOM folder its own time of change, which a file that is added, removed or replaced by renaming moves; nothing is opened, so that
    100,000 volumes take seconds.  A table that cannot be read names none: to say so is for whoever cuts them.
    """
    return digest([[str(place), *_stamp(place)] for table in tables for place in _named_in(table)])


def _named_in(table: Path) -> list[Path]:
    try:
        return [split_address(table.parent / row["path"])[0] for row in read_tsv(table) if row.get("path")]
    except (OSError, ValueError):
        return []


def _stamp(place: Path) -> tuple[int, int]:
    try:
        facts = place.stat()
    except (OSError, ValueError):
        return -1, -1
    return (0 if place.is_dir() else facts.st_size), facts.st_mtime_ns
