"""The answer on a series at rest: that of `fovnet predict`, its structured report, and what it was
made from.

The three are written in this order, and the last makes the series answered; its row in the table
follows. Killed between them, a node goes on behind the last one: nothing is predicted twice, and no
report is made twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from pydicom import dcmread

from fovnet.decision.answer import AnsweredVolume, make_refusal
from fovnet.decision.earlier_answers import read_earlier_rows
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.predict import predict_volumes
from fovnet.errors import ModelError, VolumeError
from fovnet.node.inbox import count_attempts
from fovnet.node.places import STATES, UNSENT, Places, split_name
from fovnet.node.table import AnswersTable
from fovnet.records import checksum, read_json, write_json, write_text
from fovnet.report.exports.answers import answer_from_facts
from fovnet.report.exports.structured import write_report
from fovnet.report.pages import predictions
from fovnet.report.pages.predictions import write_thumbnail
from fovnet.unforeseen import is_disk_full, log_of
from fovnet.volume.sources.discovery import find_volumes, name_volumes
from fovnet.volume.sources.source import Source, source_of

UID_TAGS = ["StudyInstanceUID", "SeriesInstanceUID"]
# processes that may end over one series, by kill or crash, before it is refused unread
MOST_ATTEMPTS = 5


@dataclass(frozen=True)
class VolumeAnswer:
    """What was answered of one volume of a series: its status and code, and the code of the reason
    why it has no report, "" if it has one."""

    volume_id: str
    status: str
    code: str
    unreported: str = ""


@dataclass(frozen=True)
class Answering:
    """The networks, loaded once for the whole life of a node.

    included_kinds  kinds of DICOM series that are read although they are set aside otherwise
    faces           whether thumbnails may show a face
    """

    places: Places
    ensemble: Ensemble
    included_kinds: tuple[str, ...] = ()
    faces: bool = True

    @cached_property
    def table(self) -> AnswersTable:
        """The rows of all answers."""
        if not self.ensemble.rule.states_regions:
            return AnswersTable(self.places, ())
        regions = self.ensemble.vocabulary.classes[:-1]
        return AnswersTable(self.places, regions, self.ensemble.network_vocabulary.part_names)

    def answer(self, series_folder: Path) -> list[VolumeAnswer]:
        """The answers on the volumes in `series/KEY-N`, which are then on disk with their reports.

        Raises OSError if the disk is full, and then nothing is answered: to be called again.
        """
        attempt_count = count_attempts(self.places, series_folder)
        attempts_path = self.places.begun / series_folder.name
        write_text(attempts_path, str(attempt_count + 1))
        try:
            ids_and_sources: list[tuple[str, Source]] = []
            if attempt_count < MOST_ATTEMPTS:
                ids_and_sources = self._name_volumes(series_folder)
            if ids_and_sources:
                for prediction in self._predict_unanswered(ids_and_sources):
                    self._write_answer(prediction)
                answers = [self._write_report(volume_id) for volume_id, _ in ids_and_sources]
            else:
                self._write_answer(_refusal_after_crashes(series_folder, attempt_count))
                answers = [self._write_report(series_folder.name)]
            self._record_instances(series_folder, answers)
            self.table.add(*split_name(series_folder.name))
        finally:
            attempts_path.unlink()  # unless the process ends here
        return answers

    def _name_volumes(self, series_folder: Path) -> list[tuple[str, Source]]:
        """(volume_id, source) of the volumes of a series, called as `fovnet predict` calls them:
        one, or of several echoes or phases one each.  What is set aside, or cannot be looked at, is
        refused when it is read."""
        try:
            sources = list(find_volumes([series_folder], self.included_kinds).sources)
        except Exception:
            sources = [source_of(series_folder)]
        sources.sort(key=lambda source: source.path)
        volume_ids = name_volumes([source.path for source in sources])
        return list(zip(volume_ids, sources, strict=True))

    def _predict_unanswered(
        self, ids_and_sources: list[tuple[str, Source]]
    ) -> Iterator[AnsweredVolume]:
        """The answers on those of these volumes that have none yet on disk."""
        answers_folder = self.places.answers
        identity = self.ensemble.identity
        unanswered_sources = [
            (volume_id, source)
            for volume_id, source in ids_and_sources
            if read_earlier_rows(answers_folder, volume_id, source, identity) is None
        ]
        yield from predict_volumes(unanswered_sources, self.ensemble)

    def _write_answer(self, prediction: AnsweredVolume) -> None:
        """Writes the JSON of an answer, and a thumbnail."""
        ensemble = self.ensemble
        predictions.write_prediction(
            self.places.answers,
            prediction,
            ensemble.network_vocabulary,
            ensemble.identity,
            ensemble.engine_facts,
            pictures=False,
            pages=False,
            faces=True,
            model_name=ensemble.name,
        )
        self._write_thumbnail(prediction)

    def _write_thumbnail(self, prediction: AnsweredVolume) -> None:
        """Writes the thumbnail of an answer that is on the disk; one that cannot be drawn is
        missing."""
        volume_id = prediction.answer.volume_id
        try:
            write_thumbnail(
                self.places.thumbnail_path(volume_id, faces=self.faces),
                prediction,
                read_json(self.places.answers / f"{volume_id}.json"),
                self.ensemble.network_vocabulary,
                faces=self.faces,
            )
        except Exception as fault:  # whatever a volume raises: its answer is written
            if is_disk_full(fault):
                raise
            log_of(fault)

    def _write_report(self, volume_id: str) -> VolumeAnswer:
        """The answer on a volume, as it is on disk; writes its report, to be sent, unless the volume
        was refused or the report is there."""
        answer_facts = read_json(self.places.answers / f"{volume_id}.json")
        unreported = ""
        possible_paths = [self.places.reports(state) / f"{volume_id}.dcm" for state in STATES]
        has_report = any(path.exists() for path in possible_paths)
        if answer_facts["status"] != "refused" and not has_report:
            try:
                write_report(
                    answer_from_facts(answer_facts),
                    self.ensemble.vocabulary,
                    self.places.reports(UNSENT),
                )
            except ModelError as fault:
                unreported = fault.code
        return VolumeAnswer(volume_id, answer_facts["status"], answer_facts["code"], unreported)

    def _record_instances(self, series_folder: Path, answers: list[VolumeAnswer]) -> None:
        """Records what the answer of a series was made from: each instance with its checksum, the
        UIDs, and what was answered."""
        series_key, version = split_name(series_folder.name)
        checksum_by_name = {path.name: checksum(path) for path in sorted(series_folder.iterdir())}
        answer_rows = [asdict(answer) for answer in answers]
        series_header = dcmread(
            series_folder / next(iter(checksum_by_name)),
            specific_tags=UID_TAGS,
            stop_before_pixels=True,
        )
        write_json(
            self.places.answer_record_path(series_key),
            {
                "version": version,
                "study_uid": str(series_header.StudyInstanceUID),
                "series_uid": str(series_header.SeriesInstanceUID),
                "volumes": answer_rows,
                "instances": checksum_by_name,
            },
        )


def _refusal_after_crashes(series_folder: Path, attempt_count: int) -> AnsweredVolume:
    """The refusal of a series that ended so many processes."""
    error = VolumeError(
        "volume-crash",
        f"{series_folder}: {attempt_count} processes ended while they read it (by a crash, for want of memory, "
        "or killed). Read it with `fovnet predict`, which tells more.",
    )
    return AnsweredVolume(make_refusal(series_folder.name, str(series_folder), error))
