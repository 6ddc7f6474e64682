"""The address of one series in a container: `PLACE#0123456789ab`, the folder, file or archive that
contains it and twelve hex digits.

A folder, a zip archive or one multi-frame object may contain several volumes.  The digits are the
start of a SHA-256 over the study and series UIDs and the attributes that distinguish the volume
within the series, so they do not change when the files are copied, and do not identify the patient.
An address is valid wherever a path is: on the command line, in volumes.tsv, in spans.tsv.  If a
file of exactly this name exists, the file is meant.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

ADDRESS = re.compile(r"(.+)#([0-9a-f]{12})", re.DOTALL)


def split_address(path: Path) -> tuple[Path, str]:
    """(container, series id) of a path; the id is empty if the path means a whole container."""
    match = ADDRESS.fullmatch(str(path))
    if match is None or "\0" in match[1] or os.path.lexists(path):
        return Path(path), ""
    return Path(match[1]), match[2]


def address(container: Path, series_id: str) -> Path:
    """The address of one series of a container, as a path."""
    return Path(f"{container}#{series_id}")
