"""Which files under the paths a user names may hold volumes, and what to call them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from fovnet.errors import VolumeError
from fovnet.volume.readers import volume_name

SUFFIXES = (
    ".nii", ".nii.gz", ".hdr", ".mgh", ".mgz", ".nrrd", ".nhdr", ".mha", ".mhd", ".gipl", ".gipl.gz", ".dcm", ".ima", ".zip",
)  # fmt: skip
"""Names under which archives keep volumes.  What fovnet cannot read among them is refused by name instead of passed over in silence."""

LONGEST = 200       # bytes of a name


def find_volumes(paths: Sequence[Path]) -> list[Path]:
    """The files to read: those named themselves, whatever they are, and those in folders that look like volumes, sorted, each once.

    Links to folders are not followed, so that a loop of links ends.  Raises VolumeError where the paths hold nothing to read.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            for folder, folders, names in os.walk(path):
                folders.sort()
                found.update(dict.fromkeys(Path(folder, name) for name in sorted(names) if _looks_like_a_volume(Path(folder, name))))
        else:
            found[path] = None
    if not found:
        named = ", ".join(map(str, paths))
        raise VolumeError("volumes-none", f"{named}: no file that looks like a volume ({', '.join(SUFFIXES)}); name the files themselves")
    return list(found)


def name_volumes(paths: Sequence[Path]) -> list[str]:
    """One volume_id a path, in order: the name without suffix, with -2, -3, ... where files in different folders share one.

    Names that differ in capitals alone count as shared, for some file systems keep one file of the two; a longer name than
    `LONGEST` is cut, for `<volume_id>.json` and its temporary name have to fit into the 255 bytes of a file name.
    """
    seen: Counter[str] = Counter()
    taken: set[str] = set()
    ids = []
    for path in paths:
        name = volume_name(path).encode(errors="replace")[:LONGEST].decode(errors="ignore")
        same = name.casefold()
        seen[same] += 1
        volume_id = name if seen[same] == 1 else f"{name}-{seen[same]}"
        while volume_id.casefold() in taken:
            seen[same] += 1
            volume_id = f"{name}-{seen[same]}"
        taken.add(volume_id.casefold())
        ids.append(volume_id)
    return ids


def _looks_like_a_volume(path: Path) -> bool:
    if path.name.startswith("."):
        return False
    if path.name.lower().endswith(SUFFIXES):
        return True
    if path.suffix and not path.suffix[1:].isdigit():          # 1.2.840.113 has a "suffix" too
        return False
    try:
        with path.open("rb") as file:
            return file.read(132)[128:] == b"DICM"
    except OSError:
        return False
