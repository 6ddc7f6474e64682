"""Prediction shard by shard, an act each, as a cluster does; tables and index are those of `fovnet
predict`.

survey_archive    lists the archive once (`volume.sources.shards`), and keeps the settings of the
                  whole
hold_shard        one shard, for the process that answers it; others may answer others meanwhile
write_shard_rows  its rows, for the merge; the answers themselves lie in the folder already, a
                  volume a JSON
merge_shards      the tables and the index of all
"""

from __future__ import annotations

import json
import shlex
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet._version import __version__
from fovnet.acts.changed_sources import find_changed_volumes
from fovnet.decision.answer import SPANS_TABLE_NAME, span_columns
from fovnet.decision.answers_table import TableRows, write_answers
from fovnet.errors import ConfigError
from fovnet.machine.locks import share_folder, take_lock
from fovnet.own_files import is_our_json, refuse_foreign
from fovnet.records import checksum, read_json, write_text, write_tsv
from fovnet.report.pages import answers_folder, covering, predictions
from fovnet.volume.sources.shard_settings import (
    DEFAULT_SETTINGS,
    SETTING_NAMES,
    SETTINGS_IN_ROWS,
    ShardSettings,
    as_option,
)
from fovnet.volume.sources.shards import (
    SHARD_FOLDER,
    SURVEY_FILE,
    ShardSurvey,
    read_list,
    read_survey,
    shard_list_path,
    shard_rows_path,
    write_survey,
)
from fovnet.volume.sources.source import Source, source_of
from fovnet.words import first_few, several

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.volume.sources.discovery import Discovery

MOST_SHARDS_NAMED = 6  # shards named in a message


@dataclass(frozen=True)
class MergeOutcome:
    """What a merge came to.

    volume_count         volumes in all
    refused_count        volumes that were refused
    unread_object_count  objects in archives that could not be read
    has_region_answers   whether answers.tsv was written, which needs networks that answer region by
                         region
    has_index            whether the index was written
    changed_volumes      volume_ids of those whose files are others now than those answered, or are
                         gone
    """

    volume_count: int
    refused_count: int
    unread_object_count: int
    has_region_answers: bool
    has_index: bool
    changed_volumes: tuple[str, ...]


@dataclass
class ShardRows:
    """The rows of all volumes in the order of their paths, read anew whenever they are gone
    through.

    In memory are the shards begun and not yet ended: one at a time after a first survey, later also
    those that volumes found since are in.
    """

    folder: Path
    shard_and_volume_count: Sequence[tuple[int, int]]
    lines_by_shard: dict[int, deque[str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[TableRows]:
        self.lines_by_shard.clear()
        for shard_number, volume_count in self.shard_and_volume_count:
            if shard_number not in self.lines_by_shard:
                written_lines = (
                    shard_rows_path(self.folder, shard_number)
                    .read_text(encoding="utf-8")
                    .splitlines()
                )
                self.lines_by_shard[shard_number] = deque(written_lines[1:])
            unread_lines = self.lines_by_shard[shard_number]
            yield from (TableRows.from_line(unread_lines.popleft()) for _ in range(volume_count))
            if not unread_lines:
                del self.lines_by_shard[shard_number]


def settings_for_survey(folder: Path, options: ShardSettings) -> ShardSettings:
    """The settings for a survey of `folder`: its options, else those of an earlier survey there.

    Raises ConfigError as `read_survey` for a damaged one, which may have said that faces are to be
    covered, and "out-foreign" for a file that is not fovnet's.
    """
    _refuse_foreign_survey(folder)
    if not (folder / SHARD_FOLDER / SURVEY_FILE).exists():
        return options
    return read_survey(folder).settings.updated(options)


def _refuse_foreign_survey(folder: Path) -> None:
    """Raises ConfigError "out-foreign" if another program's JSON has the survey's name; a damaged
    one beside lists of shards is fovnet's, and `read_survey` says what to do."""
    if not any(shard_list_path(folder, 0).parent.glob("shard-*.jsonl")):
        refuse_foreign(folder / SHARD_FOLDER / SURVEY_FILE, is_our_json)


def settings_for_shard(folder: Path, options: ShardSettings) -> ShardSettings:
    """The settings for a shard: the survey's, else the options of this step, else defaults; `faces`
    is None where nobody was told, as the folder decides then (`covering.shows_faces`).

    Raises ConfigError "shard-settings" where the step is told otherwise than the survey was, and as
    `read_survey`.
    """
    survey_settings = read_survey(folder).settings
    for setting_name, survey_value, told_value in survey_settings.contradictions(options):
        raise ConfigError(
            "shard-settings",
            f"{folder}: {as_option(setting_name, told_value)} given, but the survey was told "
            f"{as_option(setting_name, survey_value)}, which holds for all shards; leave it out, or give "
            f"`fovnet shard survey` again with {as_option(setting_name, told_value)}, and then answer all shards.",
        )
    return replace(DEFAULT_SETTINGS, faces=None).updated(options).updated(survey_settings)


def survey_archive(
    archive: Discovery, folder: Path, volumes_per_shard: int, settings: ShardSettings
) -> tuple[ShardSurvey, int, int]:
    """(survey of the volumes found, how many are new to it, how many are gone), with found.tsv and
    the lists of the shards.

    volumes_per_shard  in a new shard, on average
    settings           of the whole; without `faces`, pictures and pages of earlier runs that show
                       some are removed
    Waits while shards are answered or merged in `folder`.
    Raises ConfigError "out-foreign" where files of its names are not fovnet's, and as
    `write_survey`.
    """
    complete_settings = DEFAULT_SETTINGS.updated(settings)
    with answers_folder.claim_folder(folder, wait=True):
        _refuse_foreign_survey(folder)
        answers_folder.write_found(
            folder, archive.series_rows, show_ids=bool(complete_settings.show_ids)
        )
        if not complete_settings.faces:
            covering.remember_covering(folder)
        answers_folder.remove_earlier_files(
            folder,
            (),
            (),
            tables=False,
            pictures=True,
            pages=True,
            faces=bool(complete_settings.faces),
        )
        return write_survey(folder, archive, volumes_per_shard, settings)


@contextmanager
def hold_shard(folder: Path, number: int) -> Iterator[list[tuple[str, Source]]]:
    """The (volume_id, source) pairs of a shard, which no other process answers while the block
    runs.

    Waits for one that does, such as a job whose workflow was killed and that goes on, and for a
    survey or a merge.  Raises ConfigError as `read_list`, and "out-foreign" as `claim_folder`.
    """
    read_list(folder, number)  # before a folder is made
    with share_folder(folder):
        answers_folder.refuse_foreign_folder(folder)
        with shard_list_path(folder, number).open("r+", encoding="utf-8") as list_file:
            take_lock(list_file, wait=True)
            yield [(row.volume_id, source_of(Path(row.path))) for row in read_list(folder, number)]


def write_shard_rows(
    folder: Path, number: int, volumes: Iterable[TableRows], identity: str, settings: ShardSettings
) -> Path:
    """The file of a shard's rows, in the order of its list: that it is there, says that all is
    answered."""
    first_line = {
        "fovnet": {"version": __version__},
        "shard": number,
        "model": identity,
        "list": checksum(shard_list_path(folder, number)),
        "settings": {
            setting_name: settings.facts[setting_name] for setting_name in SETTINGS_IN_ROWS
        },
    }
    file_lines = [json.dumps(first_line), *(rows.line for rows in volumes)]
    return write_text(shard_rows_path(folder, number), "".join(f"{line}\n" for line in file_lines))


def merge_shards(folder: Path, ensemble: Ensemble, options: ShardSettings) -> MergeOutcome:
    """Tables and, with pages, the index of all shards, byte for byte those of one `fovnet predict`.

    options  of the merge, which may not contradict the settings of the whole
    Waits while a shard is answered.  Raises ConfigError "shard-unanswered" where shards, as they
    are listed now, are not answered by these networks and with the settings of the survey;
    "shard-mixed" where some are answered with other settings than the rest; and as
    `settings_for_shard`.
    """
    settings_for_shard(folder, options)  # before a folder is made
    with answers_folder.claim_folder(folder, wait=True):
        survey = read_survey(folder)
        settings_for_shard(folder, options)
        settings = _settings_of_answers(folder, survey, ensemble.identity, options)
        rows_of_volumes = ShardRows(folder, survey.shard_runs)
        series_found = _read_found_series(folder)
        span_rows = (span for rows in rows_of_volumes for span in rows.spans)
        part_names = ensemble.network_vocabulary.part_names
        write_tsv(folder / SPANS_TABLE_NAME, span_columns(part_names), span_rows, keep_same=True)
        if ensemble.rule.states_regions:
            write_answers(folder, ensemble.vocabulary.classes[:-1], rows_of_volumes, part_names)
        if settings.pages:
            included_kinds = settings.include or ()
            predictions.write_index_of(
                folder, rows_of_volumes, ensemble.network_vocabulary, series_found, included_kinds
            )
        span_rows = (span for rows in rows_of_volumes for span in rows.spans)
        refused_volumes, unread_objects = answers_folder.find_failures(span_rows, series_found)
        first_spans = (rows.spans[0] for rows in rows_of_volumes)
        path_by_volume_id = {span["volume_id"]: span["path"] for span in first_spans}
        return MergeOutcome(
            volume_count=survey.volume_count,
            refused_count=len(refused_volumes),
            unread_object_count=len(unread_objects),
            has_region_answers=ensemble.rule.states_regions,
            has_index=bool(settings.pages),
            changed_volumes=find_changed_volumes(folder, path_by_volume_id),
        )


def _read_found_series(folder: Path) -> list[dict[str, Any]]:
    """The rows of found.tsv with all their entries; none if no DICOM was found."""
    found_file = folder / "found.json"
    return list(read_json(found_file)["series"]) if found_file.exists() else []


def _settings_of_answers(
    folder: Path, survey: ShardSurvey, identity: str, options: ShardSettings
) -> ShardSettings:
    """The settings that all shards were answered with.  Raises ConfigError as `merge_shards`."""
    told_settings = survey.settings.updated(options)
    unanswered_shards: list[int] = []
    shards_by_settings: dict[ShardSettings, list[int]] = {}
    for shard_number in survey.shard_numbers:
        shard_settings = _read_settings_of_rows(folder, shard_number, identity)
        if shard_settings is None or any(told_settings.contradictions(shard_settings)):
            unanswered_shards.append(shard_number)
        else:
            shards_by_settings.setdefault(shard_settings, []).append(shard_number)
    _refuse_unanswered(folder, survey, unanswered_shards, told_settings)
    _refuse_mixed(folder, shards_by_settings)
    return DEFAULT_SETTINGS.updated(told_settings).updated(
        next(iter(shards_by_settings), ShardSettings())
    )


def _refuse_unanswered(
    folder: Path, survey: ShardSurvey, unanswered_shards: Sequence[int], settings: ShardSettings
) -> None:
    """Raises ConfigError "shard-unanswered" if a shard is not answered."""
    if not unanswered_shards:
        return
    told_by_name = {setting_name: settings.facts[setting_name] for setting_name in SETTINGS_IN_ROWS}
    options_in_words = "".join(
        f", {as_option(setting_name, value)}"
        for setting_name, value in told_by_name.items()
        if value is not None
    )
    answer_command = [
        "fovnet",
        "shard",
        "answer",
        str(folder),
        "--shard",
        str(unanswered_shards[0]),
    ]
    raise ConfigError(
        "shard-unanswered",
        f"{folder}: {several(len(unanswered_shards), 'shard')} of {len(survey.shard_numbers)} not "
        f"answered by these networks as listed now{options_in_words} "
        f"({first_few(unanswered_shards, MOST_SHARDS_NAMED)}); run the workflow again, or give "
        f"`{shlex.join(answer_command)}` for each.",
    )


def _refuse_mixed(folder: Path, shards_by_settings: Mapping[ShardSettings, Sequence[int]]) -> None:
    """Raises ConfigError "shard-mixed" if shards were answered with different settings."""
    if len(shards_by_settings) < 2:
        return
    first_settings = next(iter(shards_by_settings))
    differing_names = {
        setting_name
        for settings in shards_by_settings
        for setting_name, _, _ in first_settings.contradictions(settings)
    }
    shards_in_words = [
        f"{_options_in_words(settings, differing_names)} in {first_few(shard_numbers, MOST_SHARDS_NAMED)}"
        for settings, shard_numbers in shards_by_settings.items()
    ]
    raise ConfigError(
        "shard-mixed",
        f"{folder}: shards answered with different settings ({'; '.join(shards_in_words)}), where one "
        "answer for the whole is wanted; give `fovnet shard survey` again with the option that "
        "holds for all, then answer the shards that differ.",
    )


def _options_in_words(settings: ShardSettings, names: Collection[str]) -> str:
    return " ".join(
        as_option(name, settings.facts[name]) for name in SETTINGS_IN_ROWS if name in names
    )


def _read_settings_of_rows(folder: Path, shard_number: int, identity: str) -> ShardSettings | None:
    """The settings that a shard was answered with; None unless it has rows of its list as it is
    now, by these networks and this version."""
    try:
        with shard_rows_path(folder, shard_number).open(encoding="utf-8") as rows_file:
            first_line = json.loads(rows_file.readline())
        stated_origin = (first_line["fovnet"]["version"], first_line["model"], first_line["list"])
        if stated_origin != (
            __version__,
            identity,
            checksum(shard_list_path(folder, shard_number)),
        ):
            return None
        return ShardSettings.of(
            dict.fromkeys(SETTING_NAMES)
            | {
                setting_name: first_line["settings"][setting_name]
                for setting_name in SETTINGS_IN_ROWS
            }
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
