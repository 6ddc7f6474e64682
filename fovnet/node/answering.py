"""The answer on a series at rest: that of `fovnet predict`, its structured report, and what it was made from.

The three are written in this order, and the last makes the series answered; its row in the table follows.
Killed between them, a node goes on behind the last one: nothing is predicted twice, and no report is made
twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from pydicom import dcmread

from fovnet.decision.answer import AnsweredVolume, refusal
from fovnet.decision.earlier_answers import earlier_rows
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.predict import predict
from fovnet.errors import ModelError, VolumeError
from fovnet.node.inbox import times_begun
from fovnet.node.places import STATES, UNSENT, Places, split_name
from fovnet.node.table import Table
from fovnet.records import checksum, read_json, write_json, write_text
from fovnet.report.exports.answers import stored_answer
from fovnet.report.exports.structured import write_report
from fovnet.report.pages import predictions
from fovnet.volume.sources.discovery import find, name_volumes
from fovnet.volume.sources.source import Source, source_of

UID_TAGS = ["StudyInstanceUID", "SeriesInstanceUID"]
MOST_BEGUN = (
    5  # processes that may end over one series, by kill or crash, before it is refused unread
)


@dataclass(frozen=True)
class Said:
    """What was answered of one volume of a series: its status and codes, and the code of the reason if it has
    no report."""

    volume_id: str
    status: str
    code: str
    unreported: str = ""


@dataclass(frozen=True)
class Answering:
    """The networks, loaded once for the whole life of a node.

    included  kinds of DICOM series that are read although they are set aside otherwise
    """

    places: Places
    ensemble: Ensemble
    included: tuple[str, ...] = ()

    @cached_property
    def table(self) -> Table:
        """The rows of all answers."""
        by_region = self.ensemble.rule.by_region
        return Table(self.places, self.ensemble.vocabulary.classes[:-1] if by_region else ())

    def answer(self, home: Path) -> list[Said]:
        """What is said of the volumes in `series/KEY-N`, all of it on disk.

        Raises OSError if the disk is full, and then nothing is answered: to be called again.
        """
        begun, times = self.places.begun / home.name, times_begun(self.places, home)
        write_text(begun, str(times + 1))
        try:
            named = self._named(home) if times < MOST_BEGUN else []
            for one in self._predicted(named) if named else [_deadly(home, times)]:
                self._write(one)
            said = [self._reported(name) for name, _ in named] or [self._reported(home.name)]
            self._record(home, said)
            self.table.add(*split_name(home.name))
        finally:
            begun.unlink()  # unless the process ends here
        return said

    def _named(self, home: Path) -> list[tuple[str, Source]]:
        """The volumes of a series, called as `fovnet predict` calls them: one, or of several echoes or phases
        one each.  What is set aside, or cannot be looked at, is refused when it is read."""
        try:
            sources = sorted(find([home], self.included).sources, key=lambda source: source.path)
        except Exception:
            sources = [source_of(home)]
        return list(zip(name_volumes([source.path for source in sources]), sources, strict=True))

    def _predicted(self, named: list[tuple[str, Source]]) -> Iterator[AnsweredVolume]:
        """The answers that are not there yet."""
        answers, identity = self.places.answers, self.ensemble.identity
        yield from predict(
            [
                (name, source)
                for name, source in named
                if earlier_rows(answers, name, source, identity) is None
            ],
            self.ensemble,
        )

    def _write(self, one: AnsweredVolume) -> None:
        made = self.ensemble
        predictions.write(
            self.places.answers,
            one,
            made.vocabulary,
            made.identity,
            made.computed_by,
            pictures=False,
            pages=False,
            faces=True,
            model_name=made.name,
        )

    def _reported(self, name: str) -> Said:
        """What is said of a volume, and its report on the way to the peer, unless it was refused."""
        facts, unreported = read_json(self.places.answers / f"{name}.json"), ""
        homes = map(self.places.reports, STATES)
        made = any((home / f"{name}.dcm").exists() for home in homes)
        if facts["status"] != "refused" and not made:
            try:
                write_report(
                    stored_answer(facts), self.ensemble.vocabulary, self.places.reports(UNSENT)
                )
            except ModelError as fault:
                unreported = fault.code
        return Said(name, facts["status"], facts["code"], unreported)

    def _record(self, home: Path, said: list[Said]) -> None:
        key, version = split_name(home.name)
        instances = {path.name: checksum(path) for path in sorted(home.iterdir())}
        volumes = [asdict(one) for one in said]
        header = dcmread(
            home / next(iter(instances)), specific_tags=UID_TAGS, stop_before_pixels=True
        )
        write_json(
            self.places.answered(key),
            {
                "version": version,
                "study_uid": str(header.StudyInstanceUID),
                "series_uid": str(header.SeriesInstanceUID),
                "volumes": volumes,
                "instances": instances,
            },
        )


def _deadly(home: Path, times: int) -> AnsweredVolume:
    """The refusal of a series that ended so many processes."""
    sentence = (
        f"{home}: {times} processes ended while they read it (by a crash, for want of memory, or killed). "
        "Read it with `fovnet predict`, which tells more."
    )
    return AnsweredVolume(refusal(home.name, str(home), VolumeError("volume-crash", sentence)))
