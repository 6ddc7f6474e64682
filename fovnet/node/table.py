"""The table that an administrator opens and joins at any time: answers.tsv, of the newest answer of
each series.

Its columns are those of `fovnet predict`, and after them the UIDs of study and series; the series
answered last are at its end.  A first answer is appended; for a later version of a series, and after a
start, the table is compared with the folder, in which each answer lies before its row is written, and
is replaced in one step.  So whatever ended the process, no row is missing, twice or cut off once it is
at work again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fovnet.decision.answers_table import (
    ANSWERS_TABLE_NAME,
    PART_COLUMNS,
    answer_columns,
    answer_row,
)
from fovnet.node.places import Places
from fovnet.records import read_json, tsv_text, write_text
from fovnet.watch.tally import CountedAnswer, Tally, answers_in_lines

UID_COLUMNS = ("study_uid", "series_uid")
# KEY-N; of several volumes in it KEY-N-DIGITS
VOLUME_ID_PATTERN = re.compile(r"([0-9a-f]+)-(\d+)(-.+)?")


@dataclass
class AnswersTable:
    """answers.tsv of a node's folder, for these regions and parts of them; written by one thread.

    tally  of its rows, once it was mended
    """

    places: Places
    regions: Sequence[str]
    parts: Sequence[str] = ()
    tally: Tally = field(default_factory=Tally)
    _is_up_to_date: bool = field(default=False, init=False)

    @property
    def path(self) -> Path:
        """Where it lies."""
        return self.places.folder / ANSWERS_TABLE_NAME

    def add(self, key: str, version: int) -> None:
        """Rows of a series whose answer of this version is on the disk.  Raises OSError; the next
        call then mends what is missing."""
        if version > 1 or not self._is_up_to_date:
            self._is_up_to_date = False
            self.mend()
            return
        self._is_up_to_date = False
        new_lines = self._newest_lines(key)
        with self.path.open("a", encoding="utf-8") as table_file:
            table_file.write("".join(f"{line}\n" for line in new_lines))
        self.tally.add(self._count_lines(new_lines))
        self._is_up_to_date = True

    def mend(self) -> None:
        """Makes the table what the folder says, unless it is known to be that."""
        if self._is_up_to_date:
            return
        written_lines_by_key = self._lines_by_key()
        newest_ids_by_key = find_newest_ids(
            path.stem for path in self.places.answers.glob("*.json")
        )
        table_lines: list[str] = []
        changed_keys = [key for key in newest_ids_by_key if key not in written_lines_by_key]
        for series_key, written_line_by_id in written_lines_by_key.items():
            if written_line_by_id.keys() == newest_ids_by_key.get(series_key, set()):
                table_lines += written_line_by_id.values()
            else:
                changed_keys.append(series_key)
        for series_key in sorted(changed_keys, key=self.places.answer_time):
            table_lines += self._newest_lines(series_key)
        header_line = tsv_text(self._columns, [])
        write_text(
            self.path, header_line + "".join(f"{line}\n" for line in table_lines), keep_same=True
        )
        self.tally.replace(self._count_lines(table_lines))
        self._is_up_to_date = True

    def _count_lines(self, lines: Iterable[str]) -> list[CountedAnswer]:
        return answers_in_lines(lines, self._columns, self.regions, self.parts)

    @property
    def _columns(self) -> tuple[str, ...]:
        return (*answer_columns(self.regions, self.parts), *UID_COLUMNS)

    def _lines_by_key(self) -> dict[str, dict[str, str]]:
        """{key of a series: {volume_id: line}} of the whole lines in the file; none where it has
        other columns."""
        try:
            table_text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return {}
        lines_by_key: dict[str, dict[str, str]] = {}
        header_line, line_end, rows_text = table_text.partition("\n")
        if header_line + line_end != tsv_text(self._columns, []):
            return lines_by_key
        whole_lines = rows_text.split("\n")[:-1]  # what no line end follows was cut off
        for line in whole_lines:
            volume_id, _, _ = line.partition("\t")
            volume_id_match = VOLUME_ID_PATTERN.fullmatch(volume_id)
            if volume_id_match and line.count("\t") == header_line.count("\t"):
                lines_by_key.setdefault(volume_id_match[1], {})[volume_id] = line
        return lines_by_key

    def _newest_lines(self, series_key: str) -> list[str]:
        """The rows of the newest answer of a series, as lines."""
        answer_record = self.places.read_record(series_key)
        uid_by_column = {column: answer_record.get(column) for column in UID_COLUMNS}
        volume_facts: Any = answer_record.get("volumes", [])
        answer_paths = [
            self.places.answers / f"{facts['volume_id']}.json" for facts in volume_facts
        ]
        answer_table_rows = [
            answer_row(read_json(path)) | uid_by_column for path in answer_paths if path.exists()
        ]
        return tsv_text(self._columns, answer_table_rows).splitlines()[1:]


def find_newest_ids(volume_ids: Iterable[str]) -> dict[str, set[str]]:
    """{key of a series: volume_ids of its highest version}, of these volume_ids."""
    newest_version_by_key: dict[str, int] = {}
    newest_ids_by_key: dict[str, set[str]] = {}
    for volume_id in volume_ids:
        volume_id_match = VOLUME_ID_PATTERN.fullmatch(volume_id)
        if volume_id_match is None:
            continue
        series_key = volume_id_match[1]
        version = int(volume_id_match[2])
        newest_version = newest_version_by_key.get(series_key, -1)
        if version > newest_version:
            newest_version_by_key[series_key] = version
            newest_ids_by_key[series_key] = {volume_id}
        elif version == newest_version:
            newest_ids_by_key[series_key].add(volume_id)
    return newest_ids_by_key


def read_counted_answers(path: Path) -> list[CountedAnswer]:
    """The answers of a node's table, in its order; none where there is no table.  Its regions are
    those columns that have one for a probability; those of parts follow them."""
    if not path.exists():
        return []
    header_line, *lines = path.read_text(encoding="utf-8").splitlines()
    columns = header_line.split("\t")
    part_start = len(columns)
    if PART_COLUMNS[0] in columns:
        part_start = columns.index(PART_COLUMNS[0])
    regions = [name for name in columns[:part_start] if f"{name}_probability" in columns]
    parts = [name for name in columns[part_start:] if f"{name}_probability" in columns]
    return answers_in_lines(lines, columns, regions, parts)
