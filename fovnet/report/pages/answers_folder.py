"""The folder that `predict` writes into: locked for one run, free of files of earlier ones, and its
tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from fovnet.decision.answer import SPANS_TABLE_NAME as SPANS_TABLE
from fovnet.decision.answers_table import ANSWERS_TABLE_NAME as ANSWERS_TABLE
from fovnet.errors import ConfigError
from fovnet.machine.locks import lock_folder
from fovnet.own_files import (
    LABEL_LOG_NAME,
    PAGE_FOLDER,
    are_our_rows,
    is_our_json,
    is_our_page,
    is_our_table,
    page_name,
    refuse_foreign,
    remove_rows,
    rows_of_index,
    thumbnail_name,
)
from fovnet.records import clear_unfinished, read_json, write_json, write_tsv
from fovnet.results import Results
from fovnet.volume.dicom.table import COLUMNS, ID_COLUMNS

INDEX_NAME = "index.html"
"""File name of the index; pages of volumes are in a folder beside it, as a volume may be called
index."""


def refuse_foreign_folder(folder: Path) -> None:
    """Raises ConfigError "out-foreign" if `folder` has tables or an index not written by `predict`,
    or decisions of a workflow run; "out-labels" if it is a folder of labels."""
    if (folder / LABEL_LOG_NAME).exists():
        raise ConfigError(
            "out-labels",
            f"--out {folder}: is a folder of labels, where a folder for answers is wanted; give "
            "another one",
        )
    run = Results(folder.resolve().parent)
    if folder.resolve() == run.decisions and (run.ensemble / "ensemble.json").exists():
        raise ConfigError(
            "out-foreign",
            f"--out {folder}: holds the decisions of a workflow run; give another folder",
        )
    for table_name in (SPANS_TABLE, ANSWERS_TABLE, "found.tsv"):
        refuse_foreign(folder / table_name, is_our_table)
    refuse_foreign(folder / "found.json", is_our_json)
    refuse_foreign(folder / INDEX_NAME, is_our_page)
    for path in rows_of_index(folder):
        refuse_foreign(path, are_our_rows)


def files_beside(volume_id: str, *, pictures: bool, pages: bool) -> tuple[str, ...]:
    """Names of the files that an answer needs besides its JSON to be complete."""
    file_names = []
    if pictures:
        file_names.append(f"{volume_id}.png")
    if pages:
        file_names += [page_name(volume_id), thumbnail_name(volume_id)]
    return tuple(file_names)


def files_not_requested(volume_id: str, *, pictures: bool, pages: bool) -> set[str]:
    """Names of the files beside an answer that another run may have left."""
    all_names = files_beside(volume_id, pictures=True, pages=True)
    return set(all_names) - set(files_beside(volume_id, pictures=pictures, pages=pages))


def _refuse_replaced_folder(folder: Path, inode: int) -> None:
    """Raises ConfigError "out-gone" unless the folder is there and has this inode."""
    if not folder.is_dir() or folder.stat().st_ino != inode:
        raise ConfigError(
            "out-gone",
            f"--out {folder}: was removed or replaced, with the answers in it, while volumes were "
            "being answered; run the same command again",
        )


@contextmanager
def claim_folder(folder: Path, *, wait: bool = False) -> Iterator[Callable[[], None]]:
    """Locks `folder` for one run while the block runs: of two runs at once, each table would lack
    the other's answers.  Yields a function that raises ConfigError "out-gone" if the folder, and
    answers with it, was removed or replaced since.

    wait  for another run that holds the lock
    The kernel releases the lock when the process ends in any way.  On a file system without locks,
    no run is kept out.  Raises ConfigError "out-busy" if another run holds the lock, "out-foreign"
    as `refuse_foreign_folder`.
    """
    try:
        lock = lock_folder(folder, wait=wait)
    except BlockingIOError as locked:
        raise ConfigError(
            "out-busy",
            f"--out {folder}: another `fovnet predict` is writing there; wait for it, or give each "
            "run its own folder",
        ) from locked
    try:
        refuse_foreign_folder(folder)
        clear_unfinished(folder, folder / PAGE_FOLDER)
        yield partial(_refuse_replaced_folder, folder, os.fstat(lock).st_ino)
    finally:
        os.close(lock)


def remove_earlier_files(
    folder: Path,
    kept_ids: Collection[str],
    run_ids: Collection[str] | None,
    *,
    tables: bool,
    pictures: bool,
    pages: bool,
    faces: bool,
) -> int:
    """Removes files of an earlier run that could be mistaken for this run's; returns how many
    pictures and pages that may show faces.

    kept_ids  volumes whose answers stay; without `faces`, those of their pictures and pages that
              are not requested now are removed
    run_ids   volumes of this run; without `faces`, pictures and pages that show faces of other
              volumes are removed too; None: the folder is shared with other runs, whose files are
              left alone
    tables    remove the table and the index, which list the earlier run's answers: if this run is
              killed, they would pass for its own; the JSONs, from which both are made, stay
    Without `pages` the index is always removed, as it lists other volumes than the new table.
    """
    listing_names = []
    if tables:
        listing_names += [SPANS_TABLE, ANSWERS_TABLE]
    if tables or not pages:
        listing_names.append(INDEX_NAME)
    for file_name in listing_names:
        (folder / file_name).unlink(missing_ok=True)
    if not (folder / INDEX_NAME).exists():
        remove_rows(folder, 0)
    if faces:
        return 0
    unwanted_names = [
        file_name
        for volume_id in kept_ids
        for file_name in files_not_requested(volume_id, pictures=pictures, pages=pages)
    ]
    if run_ids is not None:
        for volume_id in _volumes_with_faces(folder, set(run_ids)):
            unwanted_names += files_beside(volume_id, pictures=True, pages=True)
    unwanted_paths = [
        folder / file_name for file_name in unwanted_names if (folder / file_name).exists()
    ]
    for path in unwanted_paths:
        path.unlink(missing_ok=True)
    return len(unwanted_paths)


def _volumes_with_faces(folder: Path, excluded_ids: Container[str]) -> Iterator[str]:
    """Volumes in the folder, except these, that an earlier run drew with faces and that still have
    a picture or a page."""
    for path in folder.glob("*.json"):
        volume_id = path.stem
        if volume_id in excluded_ids or not is_our_json(path):
            continue
        drawn_names = files_beside(volume_id, pictures=True, pages=True)
        if not any((folder / file_name).exists() for file_name in drawn_names):
            continue
        try:
            volume_json = read_json(path)
        except (OSError, ValueError):
            continue
        is_answer = isinstance(volume_json, dict) and volume_json.get("volume_id") == volume_id
        if is_answer and volume_json.get("faces"):
            yield volume_id


def write_found(folder: Path, series: list[dict[str, Any]], *, show_ids: bool) -> None:
    """Writes found.tsv and found.json: every DICOM series found, and why some are not read; removes
    both if there is none.

    series    rows of found.tsv
    show_ids  with the columns that name patients and studies
    """
    if not series:  # those of an earlier run list other volumes
        for file_name in ("found.tsv", "found.json"):
            (folder / file_name).unlink(missing_ok=True)
        return
    columns: tuple[str, ...] = COLUMNS
    if show_ids:
        columns = (*COLUMNS, *ID_COLUMNS)
    write_tsv(folder / "found.tsv", columns, series, keep_same=True)
    write_json(folder / "found.json", {"series": series}, keep_same=True)


class FailedRows(NamedTuple):
    """Rows of spans.tsv of refused volumes, and rows of found.tsv of unreadable members of
    archives."""

    refused_volumes: list[Mapping[str, Any]]
    unreadable_members: list[Mapping[str, Any]]


def find_failures(
    span_rows: Iterable[Mapping[str, Any]], series: Sequence[Mapping[str, Any]]
) -> FailedRows:
    """What failed, from all rows of spans.tsv and of found.tsv.  An archive without any readable
    member counts as a refused volume."""
    unreadable_series = [found_row for found_row in series if found_row["kind"] == "unreadable"]
    unreadable_paths = {found_row["path"] for found_row in unreadable_series}
    refused_rows = []
    paths_of_volumes = set()
    for span_row in span_rows:
        if span_row["status"] == "refused":
            refused_rows.append(span_row)
        if span_row["path"] in unreadable_paths:  # a file may have a DICOM name and be none
            paths_of_volumes.add(span_row["path"])
    refused_paths = {span_row["path"] for span_row in refused_rows}
    unreadable_members = [
        found_row
        for found_row in unreadable_series
        if found_row["path"] not in paths_of_volumes
        and found_row["path"].partition(", member ")[0] not in refused_paths
    ]
    return FailedRows(refused_rows, unreadable_members)
