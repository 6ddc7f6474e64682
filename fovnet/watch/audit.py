"""Who used which service, when, and how many objects it was about: a table that only grows, apart from
the log, and names no patient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock

from fovnet.records import tsv_lines, tsv_text

AUDIT_NAME = "audit.tsv"
AUDIT_COLUMNS = ("time", "who", "service", "outcome", "objects")


@dataclass
class Audit:
    """A file of rows, written from any thread.  It is opened for each row, so that it may be moved away at
    any time.

    trouble  why the newest row could not be written; "" where it was
    """

    path: Path
    trouble: str = ""
    _lock: Lock = field(default_factory=Lock)

    def write(self, who: str, objects_by_service: Mapping[tuple[str, str], int]) -> None:
        """A row for each (service, outcome)."""
        time_text = datetime.now(UTC).isoformat(timespec="seconds")
        rows = [
            {
                "time": time_text,
                "who": who,
                "service": service,
                "outcome": outcome,
                "objects": object_count,
            }
            for (service, outcome), object_count in objects_by_service.items()
        ]
        with self._lock:
            try:
                self._append(rows)
                self.trouble = ""
            except OSError as fault:
                self.trouble = f"{self.path}: cannot be written ({fault.strerror})"

    def _append(self, rows: list[dict[str, object]]) -> None:
        text = tsv_lines(AUDIT_COLUMNS, rows)
        if not self.path.exists():
            text = tsv_text(AUDIT_COLUMNS, rows)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text)
