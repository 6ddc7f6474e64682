"""Which answer belongs to which labelled volume: by its file, else by the file's content, else by
the end of its path where an archive was moved, and by name alone only where the name is of one
volume.

A volume_id is often a file's name, and equal names are numbered in the order in which they were
found: T1-2 is one person's in a table, and another's in the answers on a tree that has grown.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.decision.earlier_answers import is_unchanged
from fovnet.volume.collection.table_rows import VolumeRow
from fovnet.volume.collection.tables import Collection
from fovnet.volume.dicom.address import split_address
from fovnet.volume.sources.readers import volume_name
from fovnet.volume.sources.source import source_of

Answer = Mapping[str, Any]
PATH = "path"
CONTENT = "content"
PATH_END = "end of path"
NAME = "name"
NUMBER = re.compile(r"-\d+")
PERSON = re.compile(r"(?<![A-Za-z0-9])sub-[A-Za-z0-9]+")
FEWEST_PARTS = 2  # of a common end of two paths: a folder and a name


@dataclass(frozen=True)
class Match:
    """A labelled volume, and the answer on it: None if there is none.

    by  PATH, CONTENT, PATH_END or NAME; "" without an answer
    """

    row: VolumeRow
    answer: Answer | None = None
    by: str = ""

    @property
    def volume_id(self) -> str:
        """The labelled volume's."""
        return self.row.volume_id

    @property
    def paths(self) -> str:
        """Both paths, in words."""
        answered = self.answer["path"] if self.answer else "nothing"
        return f"{self.volume_id}: labelled {self.row.path}, answered {answered}"


def match_answers(collection: Collection, answers: Sequence[Answer]) -> list[Match]:
    """One match per labelled volume, in the collection's order; no answer is given to two."""
    labelled = [row for row in collection.volumes if collection.regions.get(row.volume_id)]
    match_by_id: dict[str, Match] = {}
    answer_by_path = {real_path(Path(answer["path"])): answer for answer in answers}
    for row in labelled:
        answer = answer_by_path.get(real_path(row.path))
        if answer is not None:
            match_by_id[row.volume_id] = Match(row, answer, PATH)
    paths = {real_path(row.path) for row in collection.volumes}
    on_other_files = [answer for answer in answers if real_path(Path(answer["path"])) not in paths]
    for matches in (_by_content, _by_path_end, _by_name):
        rows = [row for row in labelled if row.volume_id not in match_by_id]
        matched_ids = {match.answer["volume_id"] for match in match_by_id.values() if match.answer}
        free = [answer for answer in on_other_files if answer["volume_id"] not in matched_ids]
        for match in matches(rows, free, collection, answers):
            match_by_id[match.volume_id] = match
    return [match_by_id.get(row.volume_id, Match(row)) for row in labelled]


def real_path(path: Path) -> str:
    """The path with links resolved; Path.resolve would fail on links that form a cycle."""
    return os.path.realpath(path)


def is_there(row: VolumeRow) -> bool:
    """Whether the file of a labelled volume can be seen."""
    return split_address(row.path)[0].exists()


def _by_content(
    rows: Sequence[VolumeRow],
    free: Sequence[Answer],
    collection: Collection,
    answers: Sequence[Answer],
) -> Iterator[Match]:
    """Copies of a labelled file.  Only answers on files of the same sizes are compared, as that
    reads all."""
    answers_by_sizes: dict[tuple[int, ...], list[Answer]] = {}
    for answer in free:
        file = answer.get("file") or {}
        if file.get("sha256") and file.get("places"):
            answers_by_sizes.setdefault(_sizes(file["places"]), []).append(answer)
    for row in filter(is_there, rows):
        source = source_of(row.path)
        same_size = answers_by_sizes.get(_sizes(source.places or ()), [])
        same = next((answer for answer in same_size if is_unchanged(source, answer["file"])), None)
        if same is not None:
            same_size.remove(same)
            yield Match(row, same, CONTENT)


def _by_path_end(
    rows: Sequence[VolumeRow],
    free: Sequence[Answer],
    collection: Collection,
    answers: Sequence[Answer],
) -> Iterator[Match]:
    """Files of a moved archive: the longest common end of two paths, where no other answer and no
    other volume of the table has it, and where it holds what names the person, if the path does."""
    free_ids = {answer["volume_id"] for answer in free}
    answers_by_end: dict[tuple[str, ...], list[Answer]] = {}
    for answer in answers:
        for end in _ends(Path(answer["path"])):
            answers_by_end.setdefault(end, []).append(answer)
    rows_with_end = Counter(end for row in collection.volumes for end in _ends(row.path))
    for row in rows:
        longest = next((end for end in _ends(row.path) if end in answers_by_end), None)
        if longest is None or len(answers_by_end[longest]) > 1 or rows_with_end[longest] > 1:
            continue
        answer = answers_by_end[longest][0]
        if answer["volume_id"] in free_ids and _names_person(longest, row):
            yield Match(row, answer, PATH_END)


def _by_name(
    rows: Sequence[VolumeRow],
    free: Sequence[Answer],
    collection: Collection,
    answers: Sequence[Answer],
) -> Iterator[Match]:
    """Files elsewhere whose answer has the volume_id of the table, unless it is one of several of a
    name, or the path names another person."""
    of_several = _of_several((answer["volume_id"], Path(answer["path"])) for answer in answers)
    of_several |= _of_several((row.volume_id, row.path) for row in collection.volumes)
    answer_by_id = {answer["volume_id"]: answer for answer in free}
    people = {row.subject_id for row in collection.volumes}
    for row in rows:
        answer = answer_by_id.get(row.volume_id)
        if answer is None or row.volume_id in of_several:
            continue
        people_of_answer = _people_in(Path(answer["path"]), people)
        if people_of_answer <= _people_in(row.path, people) | {row.subject_id}:
            yield Match(row, answer, NAME)


def _sizes(places: Iterable[Sequence[int]]) -> tuple[int, ...]:
    return tuple(file_facts[0] for file_facts in places)


def _parts(path: Path) -> list[str]:
    """The folders of a path and its name without the suffix, whichever system wrote it."""
    *folders, name = re.split(r"[/\\]+", unicodedata.normalize("NFC", str(path)))
    return [*folders, volume_name(Path(name))]


def _ends(path: Path) -> Iterator[tuple[str, ...]]:
    """Its last parts, the longest first."""
    parts = _parts(path)
    for first in range(len(parts) - FEWEST_PARTS + 1):
        yield tuple(parts[first:])


def _names_person(end: Sequence[str], row: VolumeRow) -> bool:
    """Whether the end of a row's path has all that names a person in the whole."""
    return _people_in(row.path, {row.subject_id}) <= _people_in(Path(*end), {row.subject_id})


def _people_in(path: Path, subject_ids: Iterable[str]) -> set[str]:
    """The persons that a path names: BIDS participants, and folders called as a subject is."""
    return {*PERSON.findall(str(path)), *set(_parts(path)).intersection(subject_ids)}


def _of_several(volumes: Iterable[tuple[str, Path]]) -> set[str]:
    """The volume_ids that were made by numbering files of one name: of these several, or one that
    has a number although it now is the only one."""
    named = [(volume_id, volume_name(path)) for volume_id, path in volumes]
    files_of_name = Counter(name.casefold() for _, name in named)
    numbered_ids = set()
    for volume_id, name in named:
        suffix = volume_id[len(name) :]
        has_name = volume_id[: len(name)].casefold() == name.casefold()
        is_numbered = bool(NUMBER.fullmatch(suffix))
        has_namesakes = not suffix and files_of_name[name.casefold()] > 1
        if has_name and (is_numbered or has_namesakes):
            numbered_ids.add(volume_id)
    return numbered_ids
