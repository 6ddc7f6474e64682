"""The files that `predict` writes: a JSON, a picture, a page and a thumbnail per volume, and the index of
all."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.errors import ConfigError
from fovnet.machine.locks import lock_folder
from fovnet.own_files import (
    LABEL_LOG,
    PAGES,
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
from fovnet.unforeseen import is_disk_full

if TYPE_CHECKING:
    from fovnet.decision.answer import AnsweredVolume
    from fovnet.decision.answers_table import TableRows
    from fovnet.regions import Vocabulary

INDEX = "index.html"
"""File name of the index; pages of volumes are in a folder beside it, as a volume may be called index."""


def refuse_others(folder: Path) -> None:
    """Raises ConfigError "out-foreign" if `folder` has tables or an index not written by `predict`, or
    decisions of a workflow run; "out-labels" if it is a folder of labels."""
    from fovnet.decision.answer import TABLE
    from fovnet.decision.answers_table import TABLE as ANSWERS

    if (folder / LABEL_LOG).exists():
        raise ConfigError(
            "out-labels",
            f"--out {folder}: is a folder of labels, where a folder for answers is wanted; give another one",
        )
    run = Results(folder.resolve().parent)
    if folder.resolve() == run.decisions and (run.ensemble / "ensemble.json").exists():
        raise ConfigError(
            "out-foreign",
            f"--out {folder}: holds the decisions of a workflow run; give another folder",
        )
    for name in (TABLE, ANSWERS, "found.tsv"):
        refuse_foreign(folder / name, is_our_table)
    refuse_foreign(folder / "found.json", is_our_json)
    refuse_foreign(folder / INDEX, is_our_page)
    for path in rows_of_index(folder):
        refuse_foreign(path, are_our_rows)


def beside(volume_id: str, pictures: bool, pages: bool) -> tuple[str, ...]:
    """Names of the files that an answer needs besides its JSON to be complete."""
    paged = (page_name(volume_id), thumbnail_name(volume_id)) if pages else ()
    return (*((f"{volume_id}.png",) if pictures else ()), *paged)


def _not_asked(volume_id: str, pictures: bool, pages: bool) -> set[str]:
    """Names of the files that another run may have left `beside` an answer."""
    return set(beside(volume_id, True, True)) - set(beside(volume_id, pictures, pages))


def write(
    folder: Path,
    one: AnsweredVolume,
    vocabulary: Vocabulary,
    identity: str,
    engine: dict[str, str] | None,
    *,
    pictures: bool,
    pages: bool,
    faces: bool,
    model_name: str = "",
) -> TableRows:
    """The rows of one answer, after writing its picture, its page and, last, its JSON: a volume with a JSON
    is complete.

    identity, engine, model_name  `identity`, `computed_by` and `name` of the ensemble
    A volume that raises an exception meanwhile is refused, as "internal".  Raises OSError if the disk is
    full, or the folder cannot be written: no volume is to blame for that.
    """
    from fovnet.decision.answer import volume_cells
    from fovnet.decision.answers_table import TableRows
    from fovnet.decision.predict import refuse_unforeseen

    wanted: dict[str, Any] = {
        "pictures": pictures,
        "pages": pages,
        "faces": faces,
        "model_name": model_name,
    }
    try:
        return _written(folder, one, vocabulary, identity, engine, **wanted)
    except Exception as fault:
        if is_disk_full(fault):
            raise
        refused = refuse_unforeseen(one.answer.volume_id, Path(one.answer.path), fault)
    try:
        return _written(folder, refused, vocabulary, identity, engine, **wanted)
    except OSError:
        raise
    except Exception:  # its JSON cannot be written: the table alone has the refusal
        (folder / f"{one.answer.volume_id}.json").unlink(missing_ok=True)
        bare = volume_cells(refused.answer)
        return TableRows.of(bare | {"rows": [bare]})


def _written(
    folder: Path,
    one: AnsweredVolume,
    vocabulary: Vocabulary,
    identity: str,
    engine: dict[str, str] | None,
    *,
    pictures: bool,
    pages: bool,
    faces: bool,
    model_name: str = "",
) -> TableRows:
    """As `write`, without its guard.

    A picture or a page of an earlier answer that is not redrawn is removed: it may show another volume, or
    a face.
    """
    from fovnet.decision.answer import answer_facts, table_rows
    from fovnet.decision.answers_table import TableRows
    from fovnet.decision.earlier_answers import file_record

    rows = table_rows(one.answer, one.stack)
    body = answer_facts(one.answer, one.stack, one.raw, vocabulary) | {
        "rows": rows,
        "model": identity,
        "model_name": model_name,
        "engine": engine,
        "faces": faces,
    }
    drawn = one.stack is not None and one.answer.decision is not None
    if drawn:
        _draw(folder, one, body, vocabulary, pictures=pictures, pages=pages, faces=faces)
    for stale in _not_asked(one.answer.volume_id, drawn and pictures, drawn and pages):
        (folder / stale).unlink(missing_ok=True)
    everything = {**body, "file": file_record(one.source)}
    write_json(folder / f"{one.answer.volume_id}.json", everything, keep_same=True)
    return TableRows.of(body)


def _draw(
    folder: Path,
    one: AnsweredVolume,
    body: dict[str, Any],
    vocabulary: Vocabulary,
    *,
    pictures: bool,
    pages: bool,
    faces: bool,
) -> None:
    """Writes the picture of a volume, and its page with the thumbnail for the index, each if requested."""
    from fovnet.drawing.canvas import save_png
    from fovnet.evaluate.reading import spans_in
    from fovnet.report.content.faces import covered
    from fovnet.report.content.said import unsure_regions
    from fovnet.report.figures.thumbnail import save_thumbnail, thumbnail
    from fovnet.report.figures.whole_body import volume_figure
    from fovnet.report.pages.volume_page import volume_page, write_volume_page

    stack, decision = one.stack, one.answer.decision
    if stack is None or decision is None or one.raw is None:
        return
    believed = (decision.decided, one.raw, decision.smoothed)
    pixels = stack.pixels if faces else covered(stack.pixels, stack.z_mm, vocabulary, believed)
    spans = spans_in(body["spans"])
    name, made = one.answer.volume_id, one.answer.statements
    unsure = unsure_regions(made, [span.region for span in spans], one.answer.status)
    if pictures:
        why = "; ".join(doubt.sentence for doubt in one.answer.doubts)
        notes = [
            *body.get("notes", ()),
            *([] if faces else ["slices that may show a face are covered"]),
        ]
        figure = volume_figure(
            name,
            pixels,
            stack.z_mm,
            stack.side_mm,
            one.raw,
            decision.smoothed,
            spans,
            vocabulary,
            message=why,
            guessed=one.answer.status == "uncertain",
            unsure=unsure,
            notes="; ".join(notes),
        )
        save_png(figure, folder / f"{name}.png")
    if pages:
        small = thumbnail(pixels, stack.z_mm, stack.side_mm, spans, unsure, vocabulary)
        save_thumbnail(folder / thumbnail_name(name), small)
        write_volume_page(
            folder / page_name(name), volume_page(body, pixels, vocabulary, faces=faces)
        )


def _refuse_gone(folder: Path, number: int) -> None:
    if not folder.is_dir() or folder.stat().st_ino != number:
        raise ConfigError(
            "out-gone",
            f"--out {folder}: was removed or replaced, with the answers in it, while volumes were being "
            "answered; run the same command again",
        )


@contextmanager
def claimed(folder: Path, *, wait: bool = False) -> Iterator[Callable[[], None]]:
    """Locks `folder` for one run while the block runs: of two runs at once, each table would lack the other's
    answers.  Yields a function that raises ConfigError "out-gone" if the folder, and answers with it, was
    removed or replaced since.

    wait  for another run that holds the lock
    The kernel releases the lock when the process ends in any way.  On a file system without locks, no run is
    kept out.  Raises ConfigError "out-busy" if another run holds the lock, "out-foreign" as `refuse_others`.
    """
    try:
        place = lock_folder(folder, wait=wait)
    except BlockingIOError as taken:
        raise ConfigError(
            "out-busy",
            f"--out {folder}: another `fovnet predict` is writing there; wait for it, or give each run its "
            "own folder",
        ) from taken
    try:
        refuse_others(folder)
        clear_unfinished(folder, folder / PAGES)
        yield partial(_refuse_gone, folder, os.fstat(place).st_ino)
    finally:
        os.close(place)


def withdraw(
    folder: Path,
    kept: Collection[str],
    named: Collection[str] | None,
    *,
    tables: bool,
    pictures: bool,
    pages: bool,
    faces: bool,
) -> int:
    """Removes files of an earlier run that could be mistaken for this run's; returns how many pictures and
    pages that may show faces.

    tables  remove the table and the index, which list the earlier run's answers: if this run is killed, they
            would pass for its own; the JSONs, from which both are made, stay
    kept    volumes whose answers stay; without `faces`, those of their pictures and pages that are not
            requested now are removed
    named   volumes of this run; without `faces`, pictures and pages that show faces of other volumes are
            removed too; None: the folder is shared with other runs, whose files are left alone
    Without `pages` the index is always removed, as it lists other volumes than the new table.
    """
    from fovnet.decision.answer import TABLE
    from fovnet.decision.answers_table import TABLE as ANSWERS

    for name in ((TABLE, ANSWERS) if tables else ()) + ((INDEX,) if tables or not pages else ()):
        (folder / name).unlink(missing_ok=True)
    if not (folder / INDEX).exists():
        remove_rows(folder, 0)
    if faces:
        return 0
    unwanted = [name for one in kept for name in _not_asked(one, pictures, pages)]
    others = () if named is None else _with_faces(folder, set(named))
    unwanted += [name for one in others for name in beside(one, True, True)]
    there = [folder / name for name in unwanted if (folder / name).exists()]
    for path in there:
        path.unlink(missing_ok=True)
    return len(there)


def _with_faces(folder: Path, but: Container[str]) -> Iterator[str]:
    """Volumes in the folder, except `but`, that an earlier run drew with faces and that still have a picture
    or a page."""
    for path in folder.glob("*.json"):
        name = path.stem
        if (
            name in but
            or not is_our_json(path)
            or not any((folder / one).exists() for one in beside(name, True, True))
        ):
            continue
        try:
            earlier_facts = read_json(path)
        except (OSError, ValueError):
            continue
        if (
            isinstance(earlier_facts, dict)
            and earlier_facts.get("faces")
            and earlier_facts.get("volume_id") == name
        ):
            yield name


def write_found(folder: Path, series: list[dict[str, Any]], *, show_ids: bool) -> None:
    """Writes found.tsv and found.json: every DICOM series found, and why some are not read; removes both if
    there is none."""
    from fovnet.volume.dicom.table import COLUMNS, ID_COLUMNS

    if not series:  # those of an earlier run list other volumes
        for name in ("found.tsv", "found.json"):
            (folder / name).unlink(missing_ok=True)
        return
    columns = (*COLUMNS, *(ID_COLUMNS if show_ids else ()))
    write_tsv(folder / "found.tsv", columns, series, keep_same=True)
    write_json(folder / "found.json", {"series": series}, keep_same=True)


def failures(
    rows: Iterable[Mapping[str, Any]], series: Sequence[Mapping[str, Any]]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    """(rows of spans.tsv of refused volumes, rows of found.tsv of unreadable members of archives).  An
    archive without any readable member counts as a refused volume."""
    unread = [row for row in series if row["kind"] == "unreadable"]
    paths = {row["path"] for row in unread}
    refused, answered = [], set()
    for row in rows:
        if row["status"] == "refused":
            refused.append(row)
        if row["path"] in paths:  # a file may have a DICOM name and be none
            answered.add(row["path"])
    refused_paths = {row["path"] for row in refused}
    inside = [
        row
        for row in unread
        if row["path"] not in answered
        and row["path"].partition(", member ")[0] not in refused_paths
    ]
    return refused, inside


def write_index_of(
    folder: Path,
    volumes: Iterable[TableRows],
    vocabulary: Vocabulary,
    series: Iterable[Mapping[str, Any]],
    included: Collection[str],
) -> None:
    """Writes index.html: the answer for every volume, those that need review first, and the numbers of DICOM
    series set aside; series of the `included` kinds count as read."""
    from fovnet.report.pages.index_page import index_page, write_index

    counted = [{**row, "kind": "volume"} if row["kind"] in included else row for row in series]
    write_index(folder / INDEX, index_page(volumes, folder, vocabulary, counted))
