"""What `predict` leaves of a volume: its JSON, its picture, its page, and the index over all of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Container, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.decision.foreign import is_our_json, is_our_page, is_our_table, page_name, refuse_foreign
from fovnet.errors import ConfigError
from fovnet.locks import alone
from fovnet.records import read_json
from fovnet.results import Results

if TYPE_CHECKING:
    from fovnet.decision.predicting import Predicted
    from fovnet.regions import Vocabulary

INDEX = "index.html"
"""The index, and the folder of the volumes' pages beside it: a volume may be called index."""


def refuse_others(folder: Path) -> None:
    """Nothing, where what a run writes about all its volumes is in `folder` from earlier runs alone.  Raises ConfigError "out-foreign"."""
    from fovnet.decision.answer import TABLE

    run = Results(folder.resolve().parent)
    if folder.resolve() == run.decisions and (run.ensemble / "ensemble.json").exists():
        raise ConfigError("out-foreign", f"--out {folder}: holds what a workflow run decided; give another folder")
    for name in (TABLE, "found.tsv"):
        refuse_foreign(folder / name, is_our_table)
    refuse_foreign(folder / "found.json", is_our_json)
    refuse_foreign(folder / INDEX, is_our_page)


def beside(volume_id: str, pictures: bool, pages: bool) -> tuple[str, ...]:
    """What has to lie beside an answer for it to be complete."""
    return (*((f"{volume_id}.png",) if pictures else ()), *((page_name(volume_id),) if pages else ()))


def write(
    folder: Path, one: Predicted, vocabulary: Vocabulary, identity: str, engine: dict[str, str] | None, *, pictures: bool, pages: bool,
    faces: bool,
) -> list[dict[str, Any]]:
    """The rows of one answer, its picture, its page and then its JSON written: a volume with a JSON is a volume that is done.

    A picture or a page of an earlier answer that is not drawn anew is removed: it may show another volume, or a face.  A file that changed
    since it was read is not marked with what it holds now, so that the next run reads it again.
    """
    from fovnet.decision.answer import facts, table_rows
    from fovnet.decision.kept import content, places
    from fovnet.records import write_json
    from fovnet.volume.readers import beside_of

    rows = table_rows(one.answer, one.stack)
    body = facts(one.answer, one.stack, one.raw, vocabulary) | {"rows": rows, "model": identity, "engine": engine, "faces": faces}
    drawn = one.stack is not None and one.answer.decision is not None
    if drawn:
        _draw(folder, one, body, vocabulary, pictures=pictures, pages=pages, faces=faces)
    for stale in set(beside(one.answer.volume_id, True, True)) - set(beside(one.answer.volume_id, drawn and pictures, drawn and pages)):
        (folder / stale).unlink(missing_ok=True)
    path = Path(one.answer.path)
    held = one.stack.checksum if one.stack else content(path)
    file = {"places": one.places, "sha256": held if places(path) == one.places else None, "beside": beside_of(path)}
    write_json(folder / f"{one.answer.volume_id}.json", {**body, "file": file}, keep_same=True)
    return rows


def _draw(
    folder: Path, one: Predicted, body: dict[str, Any], vocabulary: Vocabulary, *, pictures: bool, pages: bool, faces: bool
) -> None:
    """The picture and the page of a volume, each if it is wanted."""
    from fovnet.evaluate.reading import stretches
    from fovnet.report.canvas import save_png
    from fovnet.report.faces import covered
    from fovnet.report.views import coronal_view
    from fovnet.report.volume_page import volume_page, write_volume_page
    from fovnet.report.whole_body import volume_figure

    stack, decision = one.stack, one.answer.decision
    if stack is None or decision is None or one.raw is None:
        return
    believed = (decision.decided, one.raw, decision.smoothed)
    pixels = stack.pixels if faces else covered(stack.pixels, stack.z_mm, vocabulary, believed)
    if pictures:
        spans = stretches([row for row in body["rows"] if row.get("region")])
        why = "; ".join(doubt.sentence for doubt in one.answer.doubts)
        notes = [*body.get("notes", ()), *([] if faces else ["slices that may show a face are covered"])]
        figure = volume_figure(
            one.answer.volume_id, coronal_view(pixels), stack.z_mm, stack.side_mm, one.raw, decision.smoothed, spans, vocabulary,
            message=why, guessed=one.answer.status == "uncertain", notes="; ".join(notes),
        )
        save_png(figure, folder / f"{one.answer.volume_id}.png")
    if pages:
        write_volume_page(folder / page_name(one.answer.volume_id), volume_page(body, pixels, vocabulary, faces=faces))


UNFINISHED = re.compile(r"\..+\.\d+\.part")
"""What `fovnet.records.replace_with` calls a file until it is whole."""


def _refuse_gone(folder: Path, number: int) -> None:
    if not folder.is_dir() or folder.stat().st_ino != number:
        raise ConfigError("out-gone", f"--out {folder}: was removed or replaced while volumes were answered, and answers with it; give the "
                                      "same command again")


@contextmanager
def claimed(folder: Path) -> Iterator[Callable[[], None]]:
    """The folder as one run's alone while the block runs: the tables of two at once would each lack what the other answered.  What is
    given to the block raises ConfigError "out-gone" where the folder was removed or replaced meanwhile, and answers with it.

    The kernel lets go of it when the process dies, however it dies.  Where a file system knows no locks, nobody is kept out.  Raises
    ConfigError "out-busy" where another run has it, "out-foreign" as `refuse_others`.
    """
    try:
        place = alone(folder)
    except BlockingIOError as taken:
        raise ConfigError("out-busy", f"--out {folder}: another `fovnet predict` is writing there; wait for it, or give each run a folder "
                                      "of its own") from taken
    try:
        refuse_others(folder)
        for begun in folder.glob(".*.part"):                # by a run that was killed; nobody else writes here now
            if UNFINISHED.fullmatch(begun.name):
                begun.unlink()
        yield partial(_refuse_gone, folder, os.fstat(place).st_ino)
    finally:
        os.close(place)


def withdraw(
    folder: Path, kept: Collection[str], named: Collection[str], *, tables: bool, pictures: bool, pages: bool, faces: bool
) -> int:
    """Removes what an earlier run left and this one must not be taken for; how many pictures and pages that may show faces went.

    tables  the table and the index, which list what that run answered: they would pass for this one's, were it killed; the JSONs, of
            which both are made, stay
    kept    volumes whose answers stay: where faces are to be hidden, the pictures and pages of them that are not wanted now may show some,
            and so may those of volumes that are not of this run
    Without pages the index goes anyway, for it lists other volumes than the table will.
    """
    from fovnet.decision.answer import TABLE

    for name in ((TABLE,) if tables else ()) + ((INDEX,) if tables or not pages else ()):
        (folder / name).unlink(missing_ok=True)
    if faces:
        return 0
    unwanted = [name for one in kept for name in set(beside(one, True, True)) - set(beside(one, pictures, pages))]
    unwanted += [name for one in _with_faces(folder, set(named)) for name in beside(one, True, True)]
    there = [folder / name for name in unwanted if (folder / name).exists()]
    for path in there:
        path.unlink(missing_ok=True)
    return len(there)


def _with_faces(folder: Path, but: Container[str]) -> Iterator[str]:
    """The other volumes in the folder that an earlier run drew with their faces, as far as a picture or a page of them is left."""
    for path in folder.glob("*.json"):
        name = path.stem
        if name in but or not is_our_json(path) or not any((folder / one).exists() for one in beside(name, True, True)):
            continue
        try:
            facts = read_json(path)
        except (OSError, ValueError):
            continue
        if isinstance(facts, dict) and facts.get("faces") and facts.get("volume_id") == name:
            yield name


def write_index_of(folder: Path, volumes: list[list[dict[str, Any]]], series: list[dict[str, Any]]) -> None:
    """index.html: the answer on every volume, those that need a look first; and which DICOM series were set aside."""
    from fovnet.report.index_page import index_page, write_index

    write_index(folder / INDEX, index_page(volumes, folder, series))
