"""Prediction shard by shard, an act each, as a cluster does; tables and index are those of `fovnet predict`.

    survey   lists the archive once (`volume.sources.shards`)
    taken    one shard, for the process that answers it; others may answer others meanwhile
    finished   its rows, for the merge; the answers themselves lie in the folder already, a volume a JSON
    merged   the tables and the index of all
"""

from __future__ import annotations

import json
import shlex
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet._version import __version__
from fovnet.decision.answers_table import Rows
from fovnet.errors import ConfigError
from fovnet.machine.locks import take, together
from fovnet.own_files import is_our_json, refuse_foreign
from fovnet.records import checksum, read_json, write_text
from fovnet.report.pages import predictions
from fovnet.volume.sources.shards import (
    FOLDER,
    SURVEY,
    Survey,
    read_list,
    read_survey,
    shard_list,
    shard_rows,
    write_survey,
)
from fovnet.volume.sources.source import Source, source_of
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.decision.ensemble import Ensemble
    from fovnet.volume.sources.discovery import Found

NAMED = 6       # shards named in a message


@dataclass(frozen=True)
class Merged:
    """What a merge came to: its volumes, those refused, objects in archives that could not be read, and
    whether answers.tsv was written, which needs networks that answer region by region."""

    volumes: int
    refused: int
    unread: int
    by_region: bool


@dataclass
class ShardRows:
    """The rows of all volumes in the order of their paths, read anew whenever they are gone through.

    In memory are the shards begun and not yet ended: one at a time after a first survey, later also those
    that volumes found since are in.
    """

    folder: Path
    order: Sequence[tuple[int, int]]
    begun: dict[int, deque[str]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Rows]:
        self.begun.clear()
        for number, count in self.order:
            if number not in self.begun:
                lines = shard_rows(self.folder, number).read_text(encoding="utf-8").splitlines()
                self.begun[number] = deque(lines[1:])
            lines_left = self.begun[number]
            yield from (Rows.of_line(lines_left.popleft()) for _ in range(count))
            if not lines_left:
                del self.begun[number]


def surveyed(
    found: Found, folder: Path, each: int, include: Collection[str], *, show_ids: bool, faces: bool
) -> tuple[Survey, int, int]:
    """(survey of the volumes found, how many are new to it, how many are gone), with found.tsv and the lists
    of the shards.

    each   volumes in a new shard, on average
    faces  without, pictures and pages of earlier runs that show some are removed
    Waits while shards are answered or merged in `folder`.  Raises ConfigError "out-foreign" where files of
    its names are not fovnet's, and as `write_survey`.
    """
    with predictions.claimed(folder, wait=True):
        refuse_foreign(folder / FOLDER / SURVEY, is_our_json)
        predictions.write_found(folder, found.series, show_ids=show_ids)
        predictions.withdraw(folder, (), (), tables=False, pictures=True, pages=True, faces=faces)
        return write_survey(folder, found, each, {"include": sorted(include), "each": each})


@contextmanager
def taken(folder: Path, number: int) -> Iterator[list[tuple[str, Source]]]:
    """The (volume_id, source) pairs of a shard, which no other process answers while the block runs.

    Waits for one that does, such as a job whose workflow was killed and that goes on, and for a survey or a
    merge.  Raises ConfigError as `read_list`, and "out-foreign" as `claimed`.
    """
    read_list(folder, number)                   # before a folder is made
    with together(folder):
        predictions.refuse_others(folder)
        with shard_list(folder, number).open("r+", encoding="utf-8") as own:
            take(own, wait=True)
            yield [(one.volume_id, source_of(Path(one.path))) for one in read_list(folder, number)]


def finished(folder: Path, number: int, volumes: Iterable[Rows], identity: str) -> Path:
    """The file of a shard's rows, in the order of its list: that it is there, says that all is answered."""
    head = {
        "fovnet": {"version": __version__}, "shard": number, "model": identity,
        "list": checksum(shard_list(folder, number)),
    }
    lines = [json.dumps(head), *(one.line for one in volumes)]
    return write_text(shard_rows(folder, number), "".join(f"{line}\n" for line in lines))


def merged(folder: Path, networks: Ensemble, *, pages: bool) -> Merged:
    """Tables and, with `pages`, the index of all shards, byte for byte those of one `fovnet predict`.

    Waits while a shard is answered.  Raises ConfigError "shard-unanswered" where shards, as they are listed
    now, are not answered by these networks; "shard-unsurveyed" as `read_survey`.
    """
    from fovnet.decision import answers_table
    from fovnet.decision.answer import COLUMNS, TABLE
    from fovnet.records import write_tsv

    read_survey(folder)                         # before a folder is made
    with predictions.claimed(folder, wait=True):
        survey = read_survey(folder)
        _refuse_unanswered(folder, survey, networks.identity)
        volumes, series = ShardRows(folder, survey.order), _series(folder)
        spans = (row for one in volumes for row in one.spans)
        write_tsv(folder / TABLE, COLUMNS, spans, keep_same=True)
        if networks.rule.by_region:
            answers_table.write(folder, networks.vocabulary.classes[:-1], volumes)
        if pages:
            include = read_json(folder / FOLDER / SURVEY)["include"]
            predictions.write_index_of(folder, volumes, networks.vocabulary, series, include)
        rows = (row for one in volumes for row in one.spans)
        refused, unread = predictions.failures(rows, series)
        return Merged(survey.volumes, len(refused), len(unread), networks.rule.by_region)


def _series(folder: Path) -> list[dict[str, Any]]:
    """The rows of found.tsv with all their entries; none if no DICOM was found."""
    path = folder / "found.json"
    return list(read_json(path)["series"]) if path.exists() else []


def _refuse_unanswered(folder: Path, survey: Survey, identity: str) -> None:
    missing = [number for number in survey.shards if not _is_answered(folder, number, identity)]
    if missing:
        named = ", ".join(map(str, missing[:NAMED]))
        answering = ["fovnet", "shard", "answer", str(folder), "--shard", str(missing[0])]
        raise ConfigError(
            "shard-unanswered",
            f"{folder}: {several(len(missing), 'shard')} of {len(survey.shards)} not answered by these "
            f"networks as listed now ({named}{', ...' if missing[NAMED:] else ''}); run the workflow again, "
            f"or give `{shlex.join(answering)}` for each.",
        )


def _is_answered(folder: Path, number: int, identity: str) -> bool:
    """Whether a shard has rows, of its list as it is now, and by these networks."""
    try:
        with shard_rows(folder, number).open(encoding="utf-8") as file:
            head = json.loads(file.readline())
        return (head["model"], head["list"]) == (identity, checksum(shard_list(folder, number)))
    except (OSError, ValueError, KeyError, TypeError):
        return False
