"""The answers on the series of a worklist, as they arrive: those of `predict`, in the same files.

A series is fetched, answered, written to the journal, and its images are removed.  Killed between, the
same command goes on behind the journal.  What failed is not in it, and is tried again.
"""

from __future__ import annotations

import hashlib
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fovnet._version import __version__
from fovnet.archive.faults import ArchiveError
from fovnet.archive.journal import Journal
from fovnet.archive.queue import FetchQueue
from fovnet.archive.reporting import Reporting
from fovnet.archive.worklist import WorklistRow
from fovnet.decision.answers_table import VOLUME_COLUMNS, TableRows
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.predict import predict_volumes
from fovnet.records import digest, read_json
from fovnet.report.exports.answers import answer_from_facts
from fovnet.report.exports.headers import compare_with_text
from fovnet.report.pages import answers_folder
from fovnet.report.pages.predictions import write_prediction
from fovnet.volume.dicom.table import short_hash
from fovnet.volume.sources.discovery import find_volumes, name_volumes
from fovnet.watch.figures import Figures
from fovnet.watch.log import Log, write_nothing
from fovnet.watch.tally import CountedAnswer, Tally

JOURNAL_NAME = "archive-journal.jsonl"
JOURNAL_FORMAT = 2  # since entries have what is counted of answers
IMAGES_FOLDER = "fetched"
KEY_LENGTH = 16  # hex digits: of a million series, two alike have a chance of 1 in 37 million


@dataclass(frozen=True)
class AnswerSettings:
    """How series are answered: `included_kinds`, `show_ids`, `pictures`, `pages`, `faces` as by
    `predict`; `reports`, whether each answer has a structured report."""

    included_kinds: tuple[str, ...] = ()
    show_ids: bool = False
    pictures: bool = True
    pages: bool = True
    faces: bool = True
    reports: bool = False


@dataclass
class ArchiveRun:
    """One run over a worklist, into a folder that the caller has locked.

    progress      told (series done, series)
    reporting     the reports on the answers; None without
    log           takes an event, without patient data
    audit         told (outcome, images) of each series that was fetched, or failed
    failed        (row, fault) of the series that could not be fetched
    tally         of the answers on the series of the worklist
    queue         of the series on their way, once `run` has begun
    """

    folder: Path
    rows: Sequence[WorklistRow]
    networks: Ensemble
    settings: AnswerSettings
    progress: Callable[[int, int], None] = lambda done, total: None
    reporting: Reporting | None = None
    failed: list[tuple[WorklistRow, ArchiveError]] = field(default_factory=list)
    log: Log = write_nothing
    audit: Callable[[str, int], None] = lambda outcome, image_count: None
    figures: Figures = field(default_factory=Figures)
    tally: Tally = field(default_factory=Tally)
    queue: FetchQueue | None = None
    _entry_by_series: dict[str, dict[str, Any]] = field(default_factory=dict)

    def run(
        self,
        fetch: Callable[[WorklistRow, Path], None],
        keep_bytes: float,
        jobs: int,
        pauses_s: Sequence[float],
    ) -> None:
        """Fetches and answers what is not answered yet.  Raises ArchiveError where the archive cannot
        be asked any more."""
        journal = self._open_journal()
        shutil.rmtree(self.folder / IMAGES_FOLDER, ignore_errors=True)
        queue = FetchQueue(
            fetch, self._images_of, keep_bytes, jobs, pauses_s, figures=self.figures, log=self.log
        )
        self.queue = queue
        waiting_rows = [row for row in self.rows if series_key(row) not in self._entry_by_series]
        answers_folder.remove_earlier_files(
            self.folder,
            self.volume_ids,
            None,
            tables=bool(waiting_rows),
            pictures=self.settings.pictures,
            pages=self.settings.pages,
            faces=self.settings.faces,
        )
        done_count = len(self.rows) - len(waiting_rows)
        self.progress(done_count, len(self.rows))
        try:
            for series in queue.run(waiting_rows):
                if series.fault is not None:
                    self.failed.append((series.row, series.fault))
                    self._tell(
                        "series-failed", series.row, str(series.fault), code=series.fault.code
                    )
                    self.audit(f"failed: {series.fault.code}", 0)
                elif series.folder is not None:
                    self.audit("fetched", len(list(series.folder.iterdir())))
                    self._answer(series.row, series.folder, journal)
                done_count += 1
                self.progress(done_count, len(self.rows))
        finally:
            journal.close()
            shutil.rmtree(self.folder / IMAGES_FOLDER, ignore_errors=True)

    @property
    def fetched_bytes(self) -> int:
        """Of images, by this run."""
        return self.figures.counts["bytes"]

    @property
    def answered_count(self) -> int:
        """Series of the worklist that are answered."""
        return len(self._row_by_key.keys() & self._entry_by_series.keys())

    def count_failures(self) -> Counter[str]:
        """How many series could not be fetched, by code."""
        return Counter(fault.code for _, fault in list(self.failed))

    @property
    def found_rows(self) -> list[dict[str, Any]]:
        """The rows of found.tsv, by series number and UID, as those of `predict`; of series that
        failed, as of what cannot be read."""
        fault_by_series = {series_key(row): fault for row, fault in self.failed}
        found_rows: list[tuple[str, dict[str, Any]]] = []
        for key, row in self._row_by_key.items():
            if key in self._entry_by_series:
                rows_of_series = self._entry_by_series[key]["found"]
                found_rows += [(row.series_uid, found_row) for found_row in rows_of_series]
            elif key in fault_by_series:
                found_rows.append((row.series_uid, self._failed_row(row, fault_by_series[key])))
        found_rows.sort(key=lambda pair: (_series_number(pair[1]), pair[0]))
        return [found_row for _, found_row in found_rows]

    @property
    def volume_ids(self) -> list[str]:
        """Of all volumes answered, in the order of their paths, as those of `predict`."""
        return [
            volume_id
            for key in self._row_by_key
            if key in self._entry_by_series
            for volume_id in self._entry_by_series[key]["volumes"]
        ]

    @property
    def _row_by_key(self) -> dict[str, WorklistRow]:
        """{key of a series: its row}, in the order of the keys."""
        return dict(sorted({series_key(row): row for row in self.rows}.items()))

    def table_rows(self) -> list[TableRows]:
        """The rows of the tables, from the answers on the disk."""
        return [
            TableRows.from_facts(read_json(self.folder / f"{volume_id}.json"))
            for volume_id in self.volume_ids
        ]

    def count_verdicts(self) -> dict[str, int]:
        """{verdict of `export headers`: volumes}: what Body Part Examined in the worklist claims,
        compared with the answers."""
        verdicts: Counter[str] = Counter()
        for key, row in self._row_by_key.items():
            entry = self._entry_by_series.get(key, {"volumes": []})
            for volume_id in entry["volumes"]:
                answer = answer_from_facts(read_json(self.folder / f"{volume_id}.json"))
                claimed_text = row.body_part.upper().strip()
                if answer.status == "refused":
                    continue
                comparison = compare_with_text(answer, claimed_text, self.networks.vocabulary)
                verdicts[comparison.verdict] += 1
        return dict(verdicts.most_common())

    def _open_journal(self) -> Journal:
        """The journal of runs that were told the same; its entries whose answers are there count as
        done."""
        told = [JOURNAL_FORMAT, self.networks.identity, __version__, vars(self.settings)]
        journal = Journal(self.folder / JOURNAL_NAME, digest(told))
        journal.open()
        for entry in journal.entries:
            answer_paths = [self.folder / f"{volume_id}.json" for volume_id in entry["volumes"]]
            if all(path.exists() for path in answer_paths):
                self._entry_by_series[entry["series"]] = entry
        row_by_key = self._row_by_key
        for key, entry in self._entry_by_series.items():
            if key in row_by_key:
                self._tally_entry(entry)
        return journal

    def _counted_cells(self, rows: TableRows) -> list[Any]:
        """What the journal keeps of the answer on a volume, to count it after a restart: status,
        codes, and {region or part of one: answer}."""
        cell_by_column = dict(zip(VOLUME_COLUMNS, rows.answer, strict=False))
        statements = rows.statements(
            self.networks.vocabulary.classes[:-1], self.networks.network_vocabulary.part_names
        )
        answer_by_region = {statement.region: statement.answer for statement in statements}
        return [cell_by_column["status"], cell_by_column["code"].split(), answer_by_region]

    def _tally_entry(self, entry: dict[str, Any]) -> None:
        self.tally.add(
            CountedAnswer(volume_id, entry["series"], status, tuple(codes), answer_by_region)
            for volume_id, (status, codes, answer_by_region) in zip(
                entry["volumes"], entry["answers"], strict=True
            )
        )

    def _images_of(self, row: WorklistRow) -> Path:
        return self.folder / IMAGES_FOLDER / series_key(row)

    def _answer(self, row: WorklistRow, images_folder: Path, journal: Journal) -> None:
        """Writes the answers on the volumes of a series, then its entry."""
        settings = self.settings
        discovery = find_volumes(
            [images_folder], settings.included_kinds, show_ids=settings.show_ids
        )
        sources = sorted(discovery.sources, key=lambda source: source.path)
        volume_ids = name_volumes([source.path for source in sources])
        named_sources = list(zip(volume_ids, sources, strict=True))
        start_s = time.monotonic()
        answers = []
        for prediction in predict_volumes(named_sources, self.networks):
            table_rows = write_prediction(
                self.folder,
                prediction,
                self.networks.network_vocabulary,
                self.networks.identity,
                self.networks.engine_facts,
                pictures=settings.pictures,
                pages=settings.pages,
                faces=settings.faces,
                model_name=self.networks.name,
            )
            answers.append(self._counted_cells(table_rows))
        self.figures.time("answer", time.monotonic() - start_s)
        if self.reporting is not None:
            for volume_id in volume_ids:
                answer = answer_from_facts(read_json(self.folder / f"{volume_id}.json"))
                self.reporting.write(answer, self.networks.vocabulary)
        key = series_key(row)
        entry = {
            "series": key,
            "volumes": volume_ids,
            "answers": answers,
            "found": discovery.series_rows,
        }
        journal.add(entry)
        self._entry_by_series[key] = entry
        self._tally_entry(entry)
        statuses = [status for status, _, _ in answers]
        self._tell("series-answered", row, ", ".join(statuses) or "not read", answers=statuses)
        if self.reporting is not None:
            self.reporting.deliver()

    def _tell(self, event: str, row: WorklistRow, words: str, **facts: object) -> None:
        """Logs an event about a series, with a hash of its study, or with UIDs."""
        key = series_key(row)
        if self.settings.show_ids:
            facts |= {"study_uid": row.study_uid, "series_uid": row.series_uid}
        else:
            facts |= {"study": short_hash(row.study_uid)}
        self.log(event, f"series {key}: {words}", series=key, **facts)

    def _failed_row(self, row: WorklistRow, fault: ArchiveError) -> dict[str, Any]:
        return {
            "kind": "unreadable",
            "images": 0,
            "modality": row.modality,
            "reason": str(fault),
            "code": fault.code,
            "path": str(self._images_of(row)),
        }


def series_key(row: WorklistRow) -> str:
    """The name of a series in a run: a hash of patient, study and series, as one UID may be in use
    for two patients."""
    identity = "\0".join((row.patient, row.study_uid, row.series_uid))
    return hashlib.sha256(identity.encode()).hexdigest()[:KEY_LENGTH]


def _series_number(found_row: dict[str, Any]) -> int:
    """The number of a row of found.tsv; 0 for none."""
    return int(found_row.get("series_number") or 0)
