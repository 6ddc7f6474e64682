"""Prediction shard by shard, an act each, as a cluster does; tables and index are those of `fovnet predict`.

survey   lists the archive once (`volume.sources.shards`), and keeps the settings of the whole
taken    one shard, for the process that answers it; others may answer others meanwhile
finished   its rows, for the merge; the answers themselves lie in the folder already, a volume a JSON
merged   the tables and the index of all
"""

from __future__ import annotations

import json
import shlex
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet._version import __version__
from fovnet.acts.changed_sources import changed_since_answered
from fovnet.decision.answers_table import TableRows
from fovnet.errors import ConfigError
from fovnet.machine.locks import share_folder, take_lock
from fovnet.own_files import is_our_json, refuse_foreign
from fovnet.records import checksum, read_json, write_text
from fovnet.report.pages import covering, predictions
from fovnet.volume.sources.shard_settings import DEFAULTS, IN_ANSWERS, NAMES, ShardSettings, option
from fovnet.volume.sources.shards import (
    FOLDER,
    SURVEY,
    ShardSurvey,
    read_list,
    read_survey,
    shard_list,
    shard_rows,
    write_survey,
)
from fovnet.volume.sources.source import Source, source_of
from fovnet.words import first_few, several

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.volume.sources.discovery import Discovery

NAMED = 6  # shards named in a message


@dataclass(frozen=True)
class Merged:
    """What a merge came to: its volumes, those refused, objects in archives that could not be read; whether
    answers.tsv was written, which needs networks that answer region by region; whether the index was; and
    volumes whose files are others now than those answered, or are gone."""

    volumes: int
    refused: int
    unread: int
    by_region: bool
    pages: bool
    changed: tuple[str, ...]


@dataclass
class ShardRows:
    """The rows of all volumes in the order of their paths, read anew whenever they are gone through.

    In memory are the shards begun and not yet ended: one at a time after a first survey, later also those
    that volumes found since are in.
    """

    folder: Path
    order: Sequence[tuple[int, int]]
    begun: dict[int, deque[str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[TableRows]:
        self.begun.clear()
        for number, count in self.order:
            if number not in self.begun:
                lines = shard_rows(self.folder, number).read_text(encoding="utf-8").splitlines()
                self.begun[number] = deque(lines[1:])
            lines_left = self.begun[number]
            yield from (TableRows.of_line(lines_left.popleft()) for _ in range(count))
            if not lines_left:
                del self.begun[number]


def kept_settings(folder: Path, told: ShardSettings) -> ShardSettings:
    """The settings for a survey of `folder`: what it is told, else what an earlier survey there was told.

    Raises ConfigError as `read_survey` for a damaged one, which may have said that faces are to be covered,
    and "out-foreign" for a file that is not fovnet's.
    """
    _refuse_foreign_survey(folder)
    if not (folder / FOLDER / SURVEY).exists():
        return told
    return read_survey(folder).settings.updated(told)


def _refuse_foreign_survey(folder: Path) -> None:
    """Raises ConfigError "out-foreign" if another program's JSON has the survey's name; a damaged one beside
    lists of shards is fovnet's, and `read_survey` says what to do."""
    if not any(shard_list(folder, 0).parent.glob("shard-*.jsonl")):
        refuse_foreign(folder / FOLDER / SURVEY, is_our_json)


def inherited_settings(folder: Path, told: ShardSettings) -> ShardSettings:
    """The settings for a shard: the survey's, else what this step is told, else defaults; `faces` is None
    where nobody was told, as the folder decides then (`covering.shows_faces`).

    Raises ConfigError "shard-settings" where the step is told otherwise than the survey was, and as
    `read_survey`.
    """
    survey_settings = read_survey(folder).settings
    for name, surveyed_value, told_value in survey_settings.contradictions(told):
        raise ConfigError(
            "shard-settings",
            f"{folder}: {option(name, told_value)} given, but the survey was told "
            f"{option(name, surveyed_value)}, which holds for all shards; leave it out, or give "
            f"`fovnet shard survey` again with {option(name, told_value)}, and then answer all shards.",
        )
    return replace(DEFAULTS, faces=None).updated(told).updated(survey_settings)


def surveyed(
    found: Discovery, folder: Path, each: int, settings: ShardSettings
) -> tuple[ShardSurvey, int, int]:
    """(survey of the volumes found, how many are new to it, how many are gone), with found.tsv and the lists
    of the shards.

    each      volumes in a new shard, on average
    settings  of the whole; without `faces`, pictures and pages of earlier runs that show some are removed
    Waits while shards are answered or merged in `folder`.  Raises ConfigError "out-foreign" where files of
    its names are not fovnet's, and as `write_survey`.
    """
    whole = DEFAULTS.updated(settings)
    with predictions.claimed(folder, wait=True):
        _refuse_foreign_survey(folder)
        predictions.write_found(folder, found.series, show_ids=bool(whole.show_ids))
        if not whole.faces:
            covering.remember(folder)
        predictions.withdraw(
            folder, (), (), tables=False, pictures=True, pages=True, faces=bool(whole.faces)
        )
        return write_survey(folder, found, each, settings)


@contextmanager
def taken(folder: Path, number: int) -> Iterator[list[tuple[str, Source]]]:
    """The (volume_id, source) pairs of a shard, which no other process answers while the block runs.

    Waits for one that does, such as a job whose workflow was killed and that goes on, and for a survey or a
    merge.  Raises ConfigError as `read_list`, and "out-foreign" as `claimed`.
    """
    read_list(folder, number)  # before a folder is made
    with share_folder(folder):
        predictions.refuse_others(folder)
        with shard_list(folder, number).open("r+", encoding="utf-8") as own:
            take_lock(own, wait=True)
            yield [(one.volume_id, source_of(Path(one.path))) for one in read_list(folder, number)]


def finished(
    folder: Path, number: int, volumes: Iterable[TableRows], identity: str, settings: ShardSettings
) -> Path:
    """The file of a shard's rows, in the order of its list: that it is there, says that all is answered."""
    head = {
        "fovnet": {"version": __version__},
        "shard": number,
        "model": identity,
        "list": checksum(shard_list(folder, number)),
        "settings": {name: settings.facts[name] for name in IN_ANSWERS},
    }
    lines = [json.dumps(head), *(one.line for one in volumes)]
    return write_text(shard_rows(folder, number), "".join(f"{line}\n" for line in lines))


def merged(folder: Path, networks: Ensemble, told: ShardSettings) -> Merged:
    """Tables and, with pages, the index of all shards, byte for byte those of one `fovnet predict`.

    told  what the merge is told of the settings of the whole
    Waits while a shard is answered.  Raises ConfigError "shard-unanswered" where shards, as they are listed
    now, are not answered by these networks and with the settings of the survey; "shard-mixed" where some
    are answered with other settings than the rest; and as `inherited_settings`.
    """
    from fovnet.decision import answers_table
    from fovnet.decision.answer import COLUMNS, TABLE
    from fovnet.records import write_tsv

    inherited_settings(folder, told)  # before a folder is made
    with predictions.claimed(folder, wait=True):
        survey = read_survey(folder)
        inherited_settings(folder, told)
        settings = _settings_of_shards(folder, survey, networks.identity, told)
        volumes, series = ShardRows(folder, survey.order), _series(folder)
        spans = (row for one in volumes for row in one.spans)
        write_tsv(folder / TABLE, COLUMNS, spans, keep_same=True)
        if networks.rule.by_region:
            answers_table.write_answers(folder, networks.vocabulary.classes[:-1], volumes)
        if settings.pages:
            include = settings.include or ()
            predictions.write_index_of(folder, volumes, networks.vocabulary, series, include)
        rows = (row for one in volumes for row in one.spans)
        refused, unread = predictions.failures(rows, series)
        paths = {one.spans[0]["volume_id"]: one.spans[0]["path"] for one in volumes}
        return Merged(
            survey.volumes,
            len(refused),
            len(unread),
            networks.rule.by_region,
            bool(settings.pages),
            changed_since_answered(folder, paths),
        )


def _series(folder: Path) -> list[dict[str, Any]]:
    """The rows of found.tsv with all their entries; none if no DICOM was found."""
    path = folder / "found.json"
    return list(read_json(path)["series"]) if path.exists() else []


def _settings_of_shards(
    folder: Path, survey: ShardSurvey, identity: str, told: ShardSettings
) -> ShardSettings:
    """The settings that all shards were answered with.  Raises ConfigError as `merged`."""
    wanted = survey.settings.updated(told)
    unanswered: list[int] = []
    shards_by_settings: dict[ShardSettings, list[int]] = {}
    for number in survey.shards:
        answered = _answered_settings(folder, number, identity)
        if answered is None or any(wanted.contradictions(answered)):
            unanswered.append(number)
        else:
            shards_by_settings.setdefault(answered, []).append(number)
    _refuse_unanswered(folder, survey, unanswered, wanted)
    _refuse_mixed(folder, shards_by_settings)
    return DEFAULTS.updated(wanted).updated(next(iter(shards_by_settings), ShardSettings()))


def _refuse_unanswered(
    folder: Path, survey: ShardSurvey, missing: Sequence[int], wanted: ShardSettings
) -> None:
    told = [
        option(name, wanted.facts[name]) for name in IN_ANSWERS if wanted.facts[name] is not None
    ]
    if missing:
        answering = ["fovnet", "shard", "answer", str(folder), "--shard", str(missing[0])]
        named = first_few(missing, NAMED)
        raise ConfigError(
            "shard-unanswered",
            f"{folder}: {several(len(missing), 'shard')} of {len(survey.shards)} not answered by these "
            f"networks as listed now{''.join(f', {words}' for words in told)} ({named}); run the "
            f"workflow again, or give `{shlex.join(answering)}` for each.",
        )


def _refuse_mixed(folder: Path, shards_by_settings: Mapping[ShardSettings, Sequence[int]]) -> None:
    if len(shards_by_settings) < 2:
        return
    first = next(iter(shards_by_settings))
    differing = {name for other in shards_by_settings for name, _, _ in first.contradictions(other)}
    groups = [
        f"{' '.join(option(name, settings.facts[name]) for name in IN_ANSWERS if name in differing)} in "
        f"{first_few(numbers, NAMED)}"
        for settings, numbers in shards_by_settings.items()
    ]
    raise ConfigError(
        "shard-mixed",
        f"{folder}: shards answered with different settings ({'; '.join(groups)}), where one answer for the "
        "whole is wanted; give `fovnet shard survey` again with the option that holds for all, then answer "
        "the shards that differ.",
    )


def _answered_settings(folder: Path, number: int, identity: str) -> ShardSettings | None:
    """What a shard was answered with; None unless it has rows of its list as it is now, by these networks and
    this version."""
    try:
        with shard_rows(folder, number).open(encoding="utf-8") as file:
            head = json.loads(file.readline())
        wanted = __version__, identity, checksum(shard_list(folder, number))
        if (head["fovnet"]["version"], head["model"], head["list"]) != wanted:
            return None
        return ShardSettings.of(
            dict.fromkeys(NAMES) | {name: head["settings"][name] for name in IN_ANSWERS}
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
