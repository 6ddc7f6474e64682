"""Whether the files behind a collection's tables are those they were, by size and time of change: what a workflow watches beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from fovnet.records import digest, read_tsv
from fovnet.volume.dicom.address import split_address

HEADERS = (".hdr", ".hdr.gz", ".img", ".img.gz", ".nhdr", ".mhd")
BESIDE = (".hdr", ".hdr.gz", ".img", ".img.gz", ".mat", ".raw", ".raw.gz", ".zraw")


def stamp_of_volumes(tables: Iterable[Path]) -> str:
    """SHA-256 hex over name, size and time of change of every file or folder that volumes.tsv tables name; one that is gone counts too.

    Of a DICOM folder its own time of change and those of the folders in it, which a file that is added, removed or replaced by renaming
    moves; of a header also the files beside it that are called alike.  Nothing is opened, so that 100,000 volumes take seconds.  A table
    that cannot be read names none: to say so is for whoever cuts them.
    """
    named = dict.fromkeys(place for table in tables for place in _named_in(table))
    return digest([[str(part), *_stamp(part)] for place in named for part in _parts_of(place)])


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
    elif name := next((place.name[: -len(header)] for header in HEADERS if place.name.lower().endswith(header)), ""):
        yield from (half for suffix in BESIDE if (half := place.with_name(name + suffix)) != place and os.path.lexists(half))


def _stamp(place: Path) -> tuple[int, int]:
    try:
        facts = place.stat()
    except (OSError, ValueError):
        return -1, -1
    return (0 if place.is_dir() else facts.st_size), facts.st_mtime_ns
