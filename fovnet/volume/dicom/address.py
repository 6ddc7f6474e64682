"""How one series of a place is named: `PLACE#0123456789ab`, twelve hex digits behind the folder, file or archive that holds it.

A folder, a zip archive or one multi-frame object may hold several volumes.  The digits are the start of a SHA-256 over the series'
UID and what sets the volume apart in it, so they stay the same wherever the files are copied, and name nobody.  Such an address
stands wherever a path may: on the command line, in volumes.tsv, in spans.tsv.  A file that really has such a name wins.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ADDRESS = re.compile(r"(.+)#([0-9a-f]{12})", re.DOTALL)


def split_address(path: Path) -> tuple[Path, str]:
    """(place, series id) of a path; the id is empty where the path names a whole place."""
    found = ADDRESS.fullmatch(str(path))
    if found is None or "\0" in found[1] or os.path.lexists(path):
        return Path(path), ""
    return Path(found[1]), found[2]


def address(place: Path, series_id: str) -> Path:
    """The path that names one series of a place."""
    return Path(f"{place}#{series_id}")
