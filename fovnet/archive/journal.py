"""A journal of what is done: a line of JSON each, so that a killed command goes on behind the last."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from fovnet.records import as_json_type, write_text


@dataclass
class Journal:
    """The entries of one command on the disk.

    key      of what the command was told: entries of another are dropped
    entries  those of before, and those added
    """

    path: Path
    key: str
    entries: list[dict[str, Any]] = field(default_factory=list)
    _file: TextIO | None = None

    def open(self) -> None:
        """Reads what is there; a last line that was cut off by a kill is dropped."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.entries = self._read()
        write_text(self.path, "".join(map(self._line_of, self.entries)))
        self._file = self.path.open("a", encoding="utf-8")

    def add(self, entry: dict[str, Any]) -> None:
        """Adds an entry, which is with the kernel afterwards."""
        assert self._file is not None
        self._file.write(self._line_of(entry))
        self._file.flush()
        self.entries.append(entry)

    def close(self) -> None:
        """Writes no more."""
        if self._file is not None:
            self._file.close()

    def _line_of(self, entry: dict[str, Any]) -> str:
        return json.dumps({**entry, "key": self.key}, default=as_json_type) + "\n"

    def _read(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        entries = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                break
            if entry.pop("key") == self.key:
                entries.append(entry)
        return entries
