"""A cache of slices between runs: one sealed file per volume, identified by the volume's content
and the settings.

An entry is an npz followed by 32 bytes: the SHA-256 of the entry's own name and of the npz.  This
detects a flipped byte even if the archive still unpacks, and an entry copied to another name.
Entries no longer in use (changed settings or volumes) remain until `prune`.  The folder may be
deleted at any time.
"""

from __future__ import annotations

import hashlib
import io
import re
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fovnet.records import Array, digest, replace_with

SEAL_BYTES = 32
ENTRY_NAME = re.compile(r"[0-9a-f]{64}\.npz")
PARTIAL_ENTRY = re.compile(r"\.[0-9a-f]{64}\.npz\.\d+\.part")
# a half-written entry of a killed run; writing one takes less than a second
ABANDONED_SECONDS = 3600.0


def entry_path(folder: Path, facts: Mapping[str, Any]) -> Path:
    """The path in `folder` for `facts` (checksum of the volume, settings); equal facts give the
    same path."""
    return folder / f"{digest({**facts, 'sealed': 1})}.npz"


def write(path: Path, arrays: Mapping[str, ArrayLike]) -> Path:
    """Writes plain arrays and their seal to `path`, atomically, and returns it."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    content = buffer.getvalue()
    return replace_with(path, lambda file: file.write(content + _seal_of(path, content)))


def read(path: Path) -> dict[str, Array]:
    """The arrays of an entry.  Raises FileNotFoundError if there is none, ValueError if its seal
    does not match."""
    sealed_bytes = path.read_bytes()
    npz_bytes = sealed_bytes[:-SEAL_BYTES]
    if sealed_bytes[-SEAL_BYTES:] != _seal_of(path, npz_bytes):
        raise ValueError(f"{path}: its checksum differs from when it was written")
    with np.load(io.BytesIO(npz_bytes), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def prune(folder: Path, used_paths: Iterable[Path]) -> tuple[int, int]:
    """Removes entries that are not in `used_paths`, and partial files that killed runs left over an
    hour ago; returns (how many files, how many bytes).

    Files whose names do not match ENTRY_NAME or PARTIAL_ENTRY are kept.
    """
    kept_names = {path.name for path in used_paths}
    removed_count = 0
    freed_bytes = 0
    if not folder.is_dir():
        return 0, 0
    for path in sorted(folder.iterdir()):
        is_abandoned = (
            PARTIAL_ENTRY.fullmatch(path.name) is not None
            and time.time() - path.stat().st_mtime > ABANDONED_SECONDS
        )
        is_unused = ENTRY_NAME.fullmatch(path.name) is not None and path.name not in kept_names
        if is_abandoned or is_unused:
            freed_bytes += path.stat().st_size
            path.unlink(missing_ok=True)
            removed_count += 1
    return removed_count, freed_bytes


def _seal_of(path: Path, content: bytes) -> bytes:
    return hashlib.sha256(path.name.encode() + b"\0" + content).digest()
