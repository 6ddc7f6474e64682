"""The plan of an archive: its studies are listed, then the series of each.

Each study is written to a journal as soon as its series are known, so that a plan that was stopped
goes on behind it.  A study whose series the archive does not tell is asked for again after the others,
and told in a row of its own where that does not help.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

from fovnet.archive.claims import IMAGE_KEYWORDS, Archive, Claims, number_of
from fovnet.archive.faults import ArchiveError
from fovnet.archive.journal import Journal
from fovnet.archive.listing import StudyListing
from fovnet.archive.query import Query
from fovnet.archive.spans import Span
from fovnet.archive.worklist import (
    NOT_THERE,
    Totals,
    WorklistRow,
    read_worklist,
    row_of,
    row_of_fault,
    total_of,
    write_worklist,
)
from fovnet.errors import ConfigError
from fovnet.records import digest, read_json, write_json
from fovnet.volume.dicom.table import short_hash
from fovnet.words import first_few, is_or_are, several

PLAN_NAME = "plan.json"
JOURNAL_NAME = "plan-journal.jsonl"
PAUSES_S = 2.0, 10.0
"""Before studies that failed are asked for again."""
NAMELESS = "without a UID, of wrong types, or damaged, left out"
FIRST_DAY = date(1970, 1, 1)  # before the first MR image of a person

StudyKey = tuple[str, str]
"""A hash of the patient's id, and the study."""


@dataclass
class Plan:
    """A plan of one archive in the making.

    included_kinds  kinds of series that are fetched although they are set aside otherwise
    progress        told (studies done, studies)
    doubts          sentences on what may be missing or wrong
    """

    archive: Archive
    query: Query
    folder: Path
    included_kinds: Collection[str] = ()
    pauses_s: Sequence[float] = PAUSES_S
    progress: Callable[[int, int], None] = lambda done, total: None
    doubts: list[str] = field(default_factory=list)
    _rows_by_study: dict[StudyKey, list[WorklistRow]] = field(default_factory=dict)
    _listed_keys: set[StudyKey] = field(default_factory=set)
    _incomplete_studies: list[str] = field(default_factory=list)
    _repeat_count: int = 0
    _nameless_count: int = 0

    def make(self, place: str) -> tuple[list[WorklistRow], Totals]:
        """Asks the archive at a place, and writes worklist.tsv and plan.json; what they hold.

        Raises ArchiveError where the archive cannot be asked; the same call then goes on.
        """
        journal_key = digest([place, self.query.facts, sorted(self.included_kinds)])
        journal = Journal(self.folder / JOURNAL_NAME, journal_key)
        journal.open()
        try:
            for entry in journal.entries:
                rows = [WorklistRow(**cells) for cells in entry["rows"]]
                self._rows_by_study[entry["patient"], entry["study"]] = rows
            studies = self._list_studies()
            self._list_series(studies, journal)
        finally:
            journal.close()
        rows = [row for study in studies for row in self._rows_by_study[_key_of(study)]]
        rows = self._of_wanted_series(rows)
        self._note_incomplete_studies()
        totals = total_of(rows)
        write_worklist(self.folder, rows)
        facts = {"from": place, "query": self.query.facts, "doubts": self.doubts}
        write_json(self.folder / PLAN_NAME, facts | {"totals": asdict(totals)})
        journal.path.unlink()
        return rows, totals

    def _list_studies(self) -> list[Claims]:
        """The studies that are asked for, by date and UID."""
        if self.query.uids:
            studies = self._find_studies_of_uids()
        else:
            # a study that one patient's description leaves out may be another patient's, too
            listing = StudyListing(
                self.archive, self.query.modality, sends_modality=not self.query.description
            )
            if self.query.span is None:
                today = date.today()
                listing.list_all(Span.of_days(FIRST_DAY, today))
            else:
                listing.list_span(self.query.span)
            self.doubts += _doubts_of_listing(listing)
            studies = list(listing.study_by_key.values())
        self._listed_keys = {_key_of(study) for study in studies}
        wanted_studies = [
            study for study in studies if self.query.has_description(study["StudyDescription"])
        ]
        return sorted(wanted_studies, key=lambda study: (study["StudyDate"], _key_of(study)))

    def _find_studies_of_uids(self) -> list[Claims]:
        """The studies of the UIDs that are asked for."""
        study_by_key: dict[StudyKey, Claims] = {}
        for study_uid in dict.fromkeys(study_uid for study_uid, _ in self.query.uids):
            for study in self.archive.find_study(study_uid).matches:
                is_wanted = self.query.span is None or self.query.span.holds_date(
                    study["StudyDate"]
                )
                if study["StudyInstanceUID"] == study_uid and is_wanted:
                    study_by_key.setdefault(_key_of(study), study)
        return list(study_by_key.values())

    def _list_series(self, studies: Sequence[Claims], journal: Journal) -> None:
        """Fills the rows of all studies that have none yet, and the journal.  Raises ArchiveError
        where the archive cannot be asked any more."""
        fault_by_study: dict[StudyKey, ArchiveError] = {}
        for pause_s in (0.0, *self.pauses_s):
            waiting_studies = self._without_rows(studies)
            if not waiting_studies:
                break
            time.sleep(pause_s)
            fault_by_study = self._list_round(waiting_studies, len(studies), journal)
        for fault in fault_by_study.values():
            if fault.stops_all:
                raise fault
        for study in self._without_rows(studies):
            fault = fault_by_study[_key_of(study)]
            row = row_of_fault(study["StudyInstanceUID"], "", fault.code, fault.sentence)
            self._rows_by_study[_key_of(study)] = [row]

    def _without_rows(self, studies: Sequence[Claims]) -> list[Claims]:
        return [study for study in studies if _key_of(study) not in self._rows_by_study]

    def _list_round(
        self, studies: Sequence[Claims], study_count: int, journal: Journal
    ) -> dict[StudyKey, ArchiveError]:
        """Asks for the series of each of these studies, until the archive cannot be asked; what
        went wrong with which."""
        fault_by_study: dict[StudyKey, ArchiveError] = {}
        for study in studies:
            study_key = _key_of(study)
            try:
                rows = sorted(self._rows_of_study(study), key=lambda row: row.series_uid)
            except ArchiveError as fault:
                fault_by_study[study_key] = fault
                if fault.stops_all:
                    break
                continue
            self._rows_by_study[study_key] = rows
            patient, study_uid = study_key
            entry_rows = [asdict(row) for row in rows]
            journal.add({"patient": patient, "study": study_uid, "rows": entry_rows})
            self.progress(len(self._rows_by_study), study_count)
        return fault_by_study

    def _rows_of_study(self, study: Claims) -> Iterator[WorklistRow]:
        """The rows of the series of a study, each once."""
        study_uid = study["StudyInstanceUID"]
        answer = self.archive.find_series(study_uid)
        series_by_key: dict[StudyKey, Claims] = {}
        for series in answer.matches:
            if not series["SeriesInstanceUID"]:
                self._nameless_count += 1
                continue
            # archives that do not know a key leave it out of the search, or of the answer
            if series["StudyInstanceUID"] not in ("", study_uid):
                continue
            series_key = series["PatientID"], series["SeriesInstanceUID"]
            self._repeat_count += series_key in series_by_key
            series_by_key.setdefault(series_key, series)
        series_count = number_of(study, "NumberOfStudyRelatedSeries") or 0
        if not answer.is_complete or len(series_by_key) < series_count:
            self._incomplete_studies.append(study_uid)
        for series in series_by_key.values():
            patients_study = self._study_of_patient(study, series["PatientID"])
            if patients_study is not None:
                counted_series = self._with_images_counted(series, study_uid)
                yield row_of(patients_study, counted_series, self.included_kinds)

    def _study_of_patient(self, study: Claims, patient_id: str) -> Claims | None:
        """The study that a patient's series belongs to; None where another study of the list gives
        its rows, or it was not asked for.

        One UID may be in use for two patients; asked for a modality, Orthanc lists one of them.
        """
        if patient_id in ("", study["PatientID"]):
            return study
        study_uid = study["StudyInstanceUID"]
        if (short_hash(patient_id), study_uid) in self._listed_keys:
            return None
        for other_study in self.archive.find_study(study_uid).matches:
            if other_study["PatientID"] == patient_id:
                is_wanted = self.query.has_description(other_study["StudyDescription"])
                if is_wanted:
                    return other_study
                return None
        return {**study, "PatientID": patient_id}

    def _with_images_counted(self, series: Claims, study_uid: str) -> Claims:
        """A series with the number of its images, which some archives do not tell: DCMTK's."""
        if number_of(series, "NumberOfSeriesRelatedInstances") is not None:
            return series
        if series["Modality"] not in ("", "MR"):
            return series
        images = self.archive.find_images(study_uid, series["SeriesInstanceUID"]).matches
        image_uids = {image["SOPInstanceUID"] for image in images} - {""}
        self._nameless_count += sum(not image["SOPInstanceUID"] for image in images)
        counted: Mapping[str, str] = {"NumberOfSeriesRelatedInstances": str(len(image_uids))}
        for keyword in IMAGE_KEYWORDS:
            if images and keyword in series and not series[keyword]:
                counted = {**counted, keyword: images[0][keyword]}
        return {**series, **counted}

    def _of_wanted_series(self, rows: list[WorklistRow]) -> list[WorklistRow]:
        """Of a query by UIDs, the rows of these, and a row for each that the archive has not."""
        if not self.query.uids:
            return rows
        wanted_pairs = set(self.query.uids)
        wanted_rows = [
            row
            for row in rows
            if not row.series_uid
            or not {(row.study_uid, ""), (row.study_uid, row.series_uid)}.isdisjoint(wanted_pairs)
        ]
        listed_uids = {row.study_uid for row in wanted_rows}
        listed_pairs = {(row.study_uid, row.series_uid) for row in wanted_rows}
        for study_uid, series_uid in self.query.uids:
            is_listed = (study_uid, series_uid) in listed_pairs
            if not series_uid:
                is_listed = study_uid in listed_uids
            if not is_listed:
                wanted_rows.append(row_of_fault(study_uid, series_uid, *NOT_THERE))
        return wanted_rows

    def _note_incomplete_studies(self) -> None:
        """Notes what the answers on series and images lacked."""
        study_count = len(self._incomplete_studies)
        if study_count:
            studies = several(study_count, "study", "studies")
            self.doubts.append(
                f"of {studies} the archive lists fewer series than it counts ("
                f"{first_few(self._incomplete_studies)}); raise its limit on answers, and plan again"
            )
        if self._repeat_count:
            series = several(self._repeat_count, "series", "series")
            self.doubts.append(
                f"{series} {is_or_are(self._repeat_count)} listed twice by the archive, and taken once"
            )
        if self._nameless_count:
            answers = several(self._nameless_count, "answer")
            self.doubts.append(f"{answers} on series or images {NAMELESS}")


def read_plan(folder: Path) -> tuple[str, list[WorklistRow]]:
    """(place of the archive, rows of the series to fetch) of a plan.  Raises ConfigError
    "archive-plan" for another folder."""
    try:
        place = str(read_json(folder / PLAN_NAME)["from"])
        rows = read_worklist(folder)
    except (OSError, ValueError, KeyError, TypeError):
        raise ConfigError(
            "archive-plan",
            f"{folder}: holds no plan of an archive, finished; make one: fovnet archive plan ARCHIVE --out "
            f"{folder}",
        ) from None
    return place, [row for row in rows if not row.left_out]


def _doubts_of_listing(listing: StudyListing) -> Iterable[str]:
    """What may be missing from a list of studies, or was left out of it, in sentences."""
    if listing.limit is not None:
        yield (
            f"the archive gives at most {listing.limit:,} studies in an answer: it was asked for "
            "shorter spans of time"
        )
    if listing.unsure_spans:
        hours = [f"{span.first:%Y-%m-%d %H}h" for span in listing.unsure_spans]
        yield (
            f"studies may be missing of {several(len(hours), 'hour')} that {is_or_are(len(hours))} as full as "
            f"its limit ({first_few(hours)}); raise the limit there, or ask by --uids"
        )
    if listing.strangers:
        studies = several(len(listing.strangers), "study", "studies")
        yield f"{studies} answered that were not asked for (other days or modalities), and left out"
    if listing.repeats:
        studies = several(len(listing.repeats), "study", "studies")
        yield f"{studies} listed twice by the archive, and taken once"
    if listing.nameless_count:
        answers = several(listing.nameless_count, "answer")
        yield f"{answers} on studies {NAMELESS}"


def _key_of(study: Claims) -> StudyKey:
    return short_hash(study["PatientID"]), study["StudyInstanceUID"]
