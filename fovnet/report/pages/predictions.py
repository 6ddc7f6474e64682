"""The files that `predict` writes of each volume: a JSON, a picture, a page and a thumbnail; and
the index of all."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import Answer, AnsweredVolume, answer_facts, table_rows, volume_cells
from fovnet.decision.answers_table import TableRows
from fovnet.decision.chain.spans import Decision
from fovnet.decision.earlier_answers import file_record
from fovnet.decision.predict import refuse_unforeseen
from fovnet.drawing.canvas import save_png
from fovnet.evaluate.stored_answers import spans_in
from fovnet.own_files import page_name, thumbnail_name
from fovnet.records import write_json
from fovnet.regions import Vocabulary
from fovnet.report.content.faces import cover_faces
from fovnet.report.content.parts import parts_in_facts
from fovnet.report.content.region_answers import find_unsure_regions
from fovnet.report.figures.body import Body
from fovnet.report.figures.body_figure import volume_figure
from fovnet.report.figures.thumbnail import draw_thumbnail, save_thumbnail
from fovnet.report.pages.answers_folder import INDEX_NAME, files_not_requested
from fovnet.report.pages.index_page import make_index_page, write_index
from fovnet.report.pages.volume_page import make_volume_page, write_volume_page
from fovnet.unforeseen import is_disk_full
from fovnet.volume.slices.stack import SliceStack


def write_prediction(
    folder: Path,
    answered_volume: AnsweredVolume,
    vocabulary: Vocabulary,
    model_identity: str,
    engine: dict[str, str] | None,
    *,
    pictures: bool,
    pages: bool,
    faces: bool,
    model_name: str = "",
) -> TableRows:
    """Writes the picture of one answer, its page and, last, its JSON: a volume with a JSON is
    complete; returns its rows of the tables.

    vocabulary                          of the ensemble's networks
    model_identity, engine, model_name  its `identity`, `engine_facts` and `name`
    A volume that raises an exception meanwhile is refused, as "internal".  Raises OSError if the
    disk is full, or the folder cannot be written: no volume is to blame for that.
    """
    options: dict[str, Any] = {
        "pictures": pictures,
        "pages": pages,
        "faces": faces,
        "model_name": model_name,
    }
    try:
        return _write_answer(folder, answered_volume, vocabulary, model_identity, engine, **options)
    except Exception as fault:
        if is_disk_full(fault):
            raise
        refusal = refuse_unforeseen(
            answered_volume.answer.volume_id, Path(answered_volume.answer.path), fault
        )
    try:
        return _write_answer(folder, refusal, vocabulary, model_identity, engine, **options)
    except OSError:
        raise
    except Exception:  # its JSON cannot be written: the table alone has the refusal
        (folder / f"{answered_volume.answer.volume_id}.json").unlink(missing_ok=True)
        refusal_cells = volume_cells(refusal.answer)
        return TableRows.from_facts(refusal_cells | {"rows": [refusal_cells]})


def _write_answer(
    folder: Path,
    answered_volume: AnsweredVolume,
    vocabulary: Vocabulary,
    model_identity: str,
    engine: dict[str, str] | None,
    *,
    pictures: bool,
    pages: bool,
    faces: bool,
    model_name: str = "",
) -> TableRows:
    """Writes the files of one answer, as `write_prediction`, whatever is raised.

    A picture or a page of an earlier answer that is not redrawn is removed: it may show another
    volume, or a face.
    """
    answer = answered_volume.answer
    volume_json = answer_facts(
        answer, answered_volume.stack, answered_volume.raw_probabilities, vocabulary.whole
    ) | {
        "rows": table_rows(answer, answered_volume.stack),
        "model": model_identity,
        "model_name": model_name,
        "engine": engine,
        "faces": faces,
    }
    is_drawable = answered_volume.stack is not None and answer.decision is not None
    if is_drawable:
        _write_drawings(
            folder,
            answered_volume,
            volume_json,
            vocabulary,
            pictures=pictures,
            pages=pages,
            faces=faces,
        )
    for file_name in files_not_requested(
        answer.volume_id, pictures=is_drawable and pictures, pages=is_drawable and pages
    ):
        (folder / file_name).unlink(missing_ok=True)
    write_json(
        folder / f"{answer.volume_id}.json",
        {**volume_json, "file": file_record(answered_volume.source)},
        keep_same=True,
    )
    return TableRows.from_facts(volume_json)


def _write_drawings(
    folder: Path,
    answered_volume: AnsweredVolume,
    volume_json: dict[str, Any],
    vocabulary: Vocabulary,
    *,
    pictures: bool,
    pages: bool,
    faces: bool,
) -> None:
    """Writes the picture of a volume, and its page with the thumbnail for the index, each if
    requested."""
    answer = answered_volume.answer
    stack = answered_volume.stack
    raw = answered_volume.raw_probabilities
    if stack is None or answer.decision is None or raw is None:
        return
    body = _body_of(stack, answer.decision, raw, volume_json, vocabulary, faces=faces)
    unsure_regions = _unsure_regions_of(answer, body)
    if pictures:
        picture_notes = list(volume_json.get("notes", ()))
        if not faces:
            picture_notes.append("slices that may show a face are covered")
        figure = volume_figure(
            answer.volume_id,
            body,
            raw,
            message="; ".join(doubt.sentence for doubt in answer.doubts),
            is_guess=answer.status == "uncertain",
            unsure_regions=unsure_regions,
            notes="; ".join(picture_notes),
        )
        save_png(figure, folder / f"{answer.volume_id}.png")
    if pages:
        save_thumbnail(
            folder / thumbnail_name(answer.volume_id), draw_thumbnail(body, unsure_regions)
        )
        page = make_volume_page(volume_json, body.pixels, vocabulary, faces=faces)
        write_volume_page(folder / page_name(answer.volume_id), page)


def write_thumbnail(
    path: Path,
    answered_volume: AnsweredVolume,
    volume_json: Mapping[str, Any],
    vocabulary: Vocabulary,
    *,
    faces: bool,
) -> None:
    """Writes the thumbnail alone; nothing for a volume that was refused."""
    answer = answered_volume.answer
    stack = answered_volume.stack
    raw = answered_volume.raw_probabilities
    if stack is None or answer.decision is None or raw is None:
        return
    body = _body_of(stack, answer.decision, raw, volume_json, vocabulary, faces=faces)
    save_thumbnail(path, draw_thumbnail(body, _unsure_regions_of(answer, body)))


def _body_of(
    stack: SliceStack,
    decision: Decision,
    raw: NDArray[np.float64],
    volume_json: Mapping[str, Any],
    vocabulary: Vocabulary,
    *,
    faces: bool,
) -> Body:
    """A volume to draw; without `faces` the slices that may show one are covered."""
    smoothed = decision.smoothed_probabilities
    pixels = stack.pixels
    if not faces:
        class_shares = (decision.decided_labels, raw, smoothed)
        pixels = cover_faces(pixels, stack.z_mm, vocabulary.whole, class_shares)
    parts = parts_in_facts(volume_json)
    spans = parts.divide(spans_in(volume_json["spans"]))
    return Body(
        pixels, stack.z_mm, stack.side_mm, smoothed, spans, vocabulary, parts.shares_by_region
    )


def _unsure_regions_of(answer: Answer, body: Body) -> frozenset[str]:
    """The regions and parts whose spans are guesses."""
    statements = [
        *answer.statements,
        *(part for division in answer.divisions for part in division.statements),
    ]
    return frozenset(
        find_unsure_regions(statements, [span.region for span in body.spans], answer.status)
    )


def write_index_of(
    folder: Path,
    volumes: Iterable[TableRows],
    vocabulary: Vocabulary,
    series: Iterable[Mapping[str, Any]],
    included_kinds: Collection[str],
) -> None:
    """Writes index.html: the answer for every volume, those that need review first, and the numbers
    of DICOM series set aside.

    series  rows of found.tsv; those of the `included_kinds` count as read
    """
    series_with_kinds = []
    for found_row in series:
        if found_row["kind"] in included_kinds:
            found_row = {**found_row, "kind": "volume"}
        series_with_kinds.append(found_row)
    write_index(
        folder / INDEX_NAME, make_index_page(volumes, folder, vocabulary, series_with_kinds)
    )
