"""What the answers of a table come to: how many by status, by region, by code."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock

REFUSED = "refused"
RECENT_SERIES = 500


@dataclass(frozen=True)
class CountedAnswer:
    """What is counted of the answer on a volume.

    codes             of its doubts, or of its refusal
    answer_by_region  yes, no or unsure; empty where nothing is said region by region
    answer_by_part    the same of parts of regions
    """

    volume_id: str
    series_key: str
    status: str
    codes: tuple[str, ...]
    answer_by_region: Mapping[str, str]
    answer_by_part: Mapping[str, str] = field(default_factory=dict)

    @property
    def answer_by_name(self) -> dict[str, str]:
        """What is said of regions, and then of parts."""
        return {**self.answer_by_region, **self.answer_by_part}


class Tally:
    """The answers of a table, counted as they are added, from one thread; read from any."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._clear()

    def _clear(self) -> None:
        self._series_keys: set[str] = set()
        self._count_by_status: Counter[str] = Counter()
        self._count_by_answer: Counter[tuple[str, str]] = Counter()
        self._count_by_code: Counter[str] = Counter()
        self._recent_by_series: dict[str, list[CountedAnswer]] = {}

    def replace(self, answers: Iterable[CountedAnswer]) -> None:
        """Counts these answers instead of the earlier ones."""
        with self._lock:
            self._clear()
            self._add(answers)

    def add(self, answers: Iterable[CountedAnswer]) -> None:
        """Counts further answers."""
        with self._lock:
            self._add(answers)

    def _add(self, answers: Iterable[CountedAnswer]) -> None:
        for answer in answers:
            self._series_keys.add(answer.series_key)
            self._count_by_status[answer.status] += 1
            self._count_by_answer.update(answer.answer_by_name.items())
            if answer.status == REFUSED:
                self._count_by_code.update(answer.codes)
            self._recent_by_series.setdefault(answer.series_key, []).append(answer)
            if len(self._recent_by_series) > RECENT_SERIES:
                del self._recent_by_series[next(iter(self._recent_by_series))]

    def recent(self) -> list[CountedAnswer]:
        """The answers on the newest series, RECENT_SERIES at most, the newest last."""
        with self._lock:
            return [answer for answers in self._recent_by_series.values() for answer in answers]

    @property
    def series_count(self) -> int:
        """Series that have an answer."""
        return len(self._series_keys)

    def by_status(self) -> dict[str, int]:
        """{status: volumes}."""
        with self._lock:
            return dict(self._count_by_status)

    def by_region(self) -> dict[tuple[str, str], int]:
        """{(region or part, answer): volumes}."""
        with self._lock:
            return dict(self._count_by_answer)

    def by_code(self) -> dict[str, int]:
        """{code: refused volumes}."""
        with self._lock:
            return dict(self._count_by_code)


def answers_in_lines(
    lines: Iterable[str], columns: Sequence[str], regions: Sequence[str], parts: Sequence[str] = ()
) -> list[CountedAnswer]:
    """The answers of the lines of an answers.tsv on these regions and parts of them; the key of a
    series is what its volume_id begins with, to the first hyphen."""
    answers = []
    for cells in csv.reader(lines, delimiter="\t"):
        cell_by_column = dict(zip(columns, cells, strict=True))
        volume_id = cell_by_column["volume_id"]
        answers.append(
            CountedAnswer(
                volume_id=volume_id,
                series_key=volume_id.partition("-")[0],
                status=cell_by_column["status"],
                codes=tuple(cell_by_column["code"].split()),
                answer_by_region=_filled_cells(cell_by_column, regions),
                answer_by_part=_filled_cells(cell_by_column, parts),
            )
        )
    return answers


def _filled_cells(cell_by_column: Mapping[str, str], columns: Sequence[str]) -> dict[str, str]:
    return {column: cell_by_column[column] for column in columns if cell_by_column[column]}
