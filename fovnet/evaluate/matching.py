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
BY_PATH = "path"
BY_CONTENT = "content"
BY_PATH_END = "end of path"
BY_NAME = "name"
NUMBER_SUFFIX = re.compile(r"-\d+")
BIDS_PARTICIPANT = re.compile(r"(?<![A-Za-z0-9])sub-[A-Za-z0-9]+")
FEWEST_PARTS_OF_PATH_END = 2  # of a common end of two paths: a folder and a name


@dataclass(frozen=True)
class Match:
    """A labelled volume, and the answer on it: None if there is none.

    matched_by  BY_PATH, BY_CONTENT, BY_PATH_END or BY_NAME; "" without an answer
    """

    labelled_row: VolumeRow
    answer: Answer | None = None
    matched_by: str = ""

    @property
    def volume_id(self) -> str:
        """The labelled volume's."""
        return self.labelled_row.volume_id

    @property
    def paths_text(self) -> str:
        """Both paths, in words."""
        answered_path = self.answer["path"] if self.answer else "nothing"
        return f"{self.volume_id}: labelled {self.labelled_row.path}, answered {answered_path}"


def match_answers(collection: Collection, answers: Sequence[Answer]) -> list[Match]:
    """One match per labelled volume, in the collection's order; no answer is given to two."""
    labelled_rows = [
        row for row in collection.volume_rows if collection.region_rows_by_volume.get(row.volume_id)
    ]
    match_by_id: dict[str, Match] = {}
    answer_by_path = {real_path(Path(answer["path"])): answer for answer in answers}
    for row in labelled_rows:
        answer = answer_by_path.get(real_path(row.path))
        if answer is not None:
            match_by_id[row.volume_id] = Match(row, answer, BY_PATH)
    table_paths = {real_path(row.path) for row in collection.volume_rows}
    answers_on_other_files = [
        answer for answer in answers if real_path(Path(answer["path"])) not in table_paths
    ]
    for find_matches in (_match_by_content, _match_by_path_end, _match_by_name):
        unmatched_rows = [row for row in labelled_rows if row.volume_id not in match_by_id]
        matched_ids = {match.answer["volume_id"] for match in match_by_id.values() if match.answer}
        unused_answers = [
            answer for answer in answers_on_other_files if answer["volume_id"] not in matched_ids
        ]
        for match in find_matches(unmatched_rows, unused_answers, collection, answers):
            match_by_id[match.volume_id] = match
    return [match_by_id.get(row.volume_id, Match(row)) for row in labelled_rows]


def real_path(path: Path) -> str:
    """The path with links resolved; Path.resolve would fail on links that form a cycle."""
    return os.path.realpath(path)


def file_exists(row: VolumeRow) -> bool:
    """Whether the file of a labelled volume can be seen."""
    return split_address(row.path)[0].exists()


def _match_by_content(
    unmatched_rows: Sequence[VolumeRow],
    unused_answers: Sequence[Answer],
    collection: Collection,
    answers: Sequence[Answer],
) -> Iterator[Match]:
    """Copies of a labelled file.  Only answers on files of the same sizes are compared, as that
    reads all."""
    answers_by_sizes: dict[tuple[int, ...], list[Answer]] = {}
    for answer in unused_answers:
        file_facts = answer.get("file") or {}
        if file_facts.get("sha256") and file_facts.get("places"):
            answers_by_sizes.setdefault(_file_sizes(file_facts["places"]), []).append(answer)
    for row in filter(file_exists, unmatched_rows):
        source = source_of(row.path)
        answers_of_same_size = answers_by_sizes.get(_file_sizes(source.file_stamps or ()), [])
        matching_answer = next(
            (answer for answer in answers_of_same_size if is_unchanged(source, answer["file"])),
            None,
        )
        if matching_answer is not None:
            answers_of_same_size.remove(matching_answer)
            yield Match(row, matching_answer, BY_CONTENT)


def _match_by_path_end(
    unmatched_rows: Sequence[VolumeRow],
    unused_answers: Sequence[Answer],
    collection: Collection,
    answers: Sequence[Answer],
) -> Iterator[Match]:
    """Files of a moved archive: the longest common end of two paths, where no other answer and no
    other volume of the table has it, and where it holds what names the person, if the path does."""
    unused_ids = {answer["volume_id"] for answer in unused_answers}
    answers_by_path_end: dict[tuple[str, ...], list[Answer]] = {}
    for answer in answers:
        for path_end in _path_ends(Path(answer["path"])):
            answers_by_path_end.setdefault(path_end, []).append(answer)
    row_count_by_path_end = Counter(
        path_end for row in collection.volume_rows for path_end in _path_ends(row.path)
    )
    for row in unmatched_rows:
        longest_shared_end = next(
            (path_end for path_end in _path_ends(row.path) if path_end in answers_by_path_end), None
        )
        if (
            longest_shared_end is None
            or len(answers_by_path_end[longest_shared_end]) > 1
            or row_count_by_path_end[longest_shared_end] > 1
        ):
            continue
        answer = answers_by_path_end[longest_shared_end][0]
        if answer["volume_id"] in unused_ids and _names_person(longest_shared_end, row):
            yield Match(row, answer, BY_PATH_END)


def _match_by_name(
    unmatched_rows: Sequence[VolumeRow],
    unused_answers: Sequence[Answer],
    collection: Collection,
    answers: Sequence[Answer],
) -> Iterator[Match]:
    """Files elsewhere whose answer has the volume_id of the table, unless it is one of several of a
    name, or the path names another person."""
    numbered_ids = _numbered_ids((answer["volume_id"], Path(answer["path"])) for answer in answers)
    numbered_ids |= _numbered_ids((row.volume_id, row.path) for row in collection.volume_rows)
    unused_answer_by_id = {answer["volume_id"]: answer for answer in unused_answers}
    subject_ids = {row.subject_id for row in collection.volume_rows}
    for row in unmatched_rows:
        answer = unused_answer_by_id.get(row.volume_id)
        if answer is None or row.volume_id in numbered_ids:
            continue
        people_in_answer_path = _people_named_in(Path(answer["path"]), subject_ids)
        if people_in_answer_path <= _people_named_in(row.path, subject_ids) | {row.subject_id}:
            yield Match(row, answer, BY_NAME)


def _file_sizes(places: Iterable[Sequence[int]]) -> tuple[int, ...]:
    """The size of each file, the first of what `places` says of it."""
    return tuple(file_facts[0] for file_facts in places)


def _path_parts(path: Path) -> list[str]:
    """The folders of a path and its name without the suffix, whichever system wrote it."""
    *folders, name = re.split(r"[/\\]+", unicodedata.normalize("NFC", str(path)))
    return [*folders, volume_name(Path(name))]


def _path_ends(path: Path) -> Iterator[tuple[str, ...]]:
    """The last parts of a path, the longest end first, each of at least two parts."""
    parts = _path_parts(path)
    for first_part in range(len(parts) - FEWEST_PARTS_OF_PATH_END + 1):
        yield tuple(parts[first_part:])


def _names_person(path_end: Sequence[str], row: VolumeRow) -> bool:
    """Whether the end of a row's path has all that names a person in the whole."""
    return _people_named_in(row.path, {row.subject_id}) <= _people_named_in(
        Path(*path_end), {row.subject_id}
    )


def _people_named_in(path: Path, subject_ids: Iterable[str]) -> set[str]:
    """The persons that a path names: BIDS participants, and folders called as a subject is."""
    return {*BIDS_PARTICIPANT.findall(str(path)), *set(_path_parts(path)).intersection(subject_ids)}


def _numbered_ids(volumes: Iterable[tuple[str, Path]]) -> set[str]:
    """The volume_ids, of these pairs (volume_id, path), that were made by numbering files of one
    name: of several such files, or of one that has a number although it now is the only one."""
    ids_with_file_name = [(volume_id, volume_name(path)) for volume_id, path in volumes]
    file_count_by_name = Counter(file_name.casefold() for _, file_name in ids_with_file_name)
    numbered_ids = set()
    for volume_id, file_name in ids_with_file_name:
        number_suffix = volume_id[len(file_name) :]
        begins_with_file_name = volume_id[: len(file_name)].casefold() == file_name.casefold()
        is_numbered = bool(NUMBER_SUFFIX.fullmatch(number_suffix))
        has_namesakes = not number_suffix and file_count_by_name[file_name.casefold()] > 1
        if begins_with_file_name and (is_numbered or has_namesakes):
            numbered_ids.add(volume_id)
    return numbered_ids
