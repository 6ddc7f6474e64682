"""The table that an administrator opens and joins at any time: answers.tsv, of the newest answer of each
series.

Its columns are those of `fovnet predict`, and after them the UIDs of study and series.  A first answer is
appended; for a later version of a series, and after a start, the table is compared with the folder, in which
each answer lies before its row is written, and is replaced in one step.  So whatever ended the process, no
row is missing, twice or cut off once it is at work again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fovnet.decision.answers_table import TABLE, answer_columns, answer_row
from fovnet.node.places import Places
from fovnet.records import read_json, tsv_text, write_text

UIDS = ("study_uid", "series_uid")
VOLUME = re.compile(r"([0-9a-f]+)-(\d+)(-.+)?")  # KEY-N; of several volumes in it KEY-N-DIGITS


@dataclass
class Table:
    """answers.tsv of a node's folder, for these regions; written by one thread."""

    places: Places
    regions: Sequence[str]
    _is_right: bool = field(default=False, init=False)

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.places.folder / TABLE

    def add(self, key: str, version: int) -> None:
        """Rows of a series whose answer of this version is on the disk.  Raises OSError; the next call then
        mends what is missing."""
        if version > 1 or not self._is_right:
            self._is_right = False
            self.mend()
            return
        self._is_right = False
        with self.path.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in self._lines(key)))
        self._is_right = True

    def mend(self) -> None:
        """Makes the table what the folder says, unless it is known to be that."""
        if self._is_right:
            return
        there, wanted = (
            self._there(),
            newest(path.stem for path in self.places.answers.glob("*.json")),
        )
        lines: list[str] = []
        for key in dict.fromkeys([*there, *wanted]):
            same = there.get(key, {}).keys() == wanted.get(key, set())
            lines += there[key].values() if same else self._lines(key)
        head = tsv_text(self._columns, [])
        write_text(self.path, head + "".join(f"{line}\n" for line in lines), keep_same=True)
        self._is_right = True

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*answer_columns(self.regions), *UIDS)

    def _there(self) -> dict[str, dict[str, str]]:
        """The whole lines in the file, by key and volume_id; none where it has other columns."""
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return {}
        head, *lines = text.split("\n")[:-1] or [""]  # what no line end follows was cut off
        found: dict[str, dict[str, str]] = {}
        if f"{head}\n" != tsv_text(self._columns, []):
            return found
        for line in lines:
            volume_id = line.partition("\t")[0]
            if (named := VOLUME.fullmatch(volume_id)) and line.count("\t") == head.count("\t"):
                found.setdefault(named[1], {})[volume_id] = line
        return found

    def _lines(self, key: str) -> list[str]:
        """The rows of the newest answer of a series, as lines."""
        record = self.places.record(key)
        uids = {name: record.get(name) for name in UIDS}
        volumes: Any = record.get("volumes", [])
        answers = [self.places.answers / f"{one['volume_id']}.json" for one in volumes]
        rows = [answer_row(read_json(path)) | uids for path in answers if path.exists()]
        return tsv_text(self._columns, rows).splitlines()[1:]


def newest(volume_ids: Iterable[str]) -> dict[str, Collection[str]]:
    """Of each key the volume_ids of its highest version."""
    found: dict[str, tuple[int, set[str]]] = {}
    for volume_id in volume_ids:
        named = VOLUME.fullmatch(volume_id)
        if named is None:
            continue
        version, there = found.get(named[1], (0, set()))
        if int(named[2]) > version:
            version, there = int(named[2]), set()
        if int(named[2]) == version:
            there.add(volume_id)
        found[named[1]] = version, there
    return {key: there for key, (_, there) in found.items()}
