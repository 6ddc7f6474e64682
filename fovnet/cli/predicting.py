"""`fovnet predict`: tables, pictures and pages for new volumes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fovnet.cli.options import (
    Device,
    Engine,
    FacesOrAsBefore,
    FolderOut,
    Include,
    ModelFolder,
    Pages,
    PathArgument,
    Pictures,
    Readers,
    ShowIds,
    device_and_engine_as_options,
    kinds_included,
    model_folder,
)
from fovnet.cli.screen import MANY_HEADERS, err, out, progress_bar, progress_of_many
from fovnet.decision import answers_table
from fovnet.decision.answer import SPANS_TABLE_NAME, span_columns
from fovnet.decision.answers_table import TableRows
from fovnet.decision.checks.check import Check
from fovnet.decision.earlier_answers import read_earlier_rows
from fovnet.decision.ensemble import Ensemble, load_ensemble
from fovnet.decision.predict import predict_volumes
from fovnet.machine.allocation import keep_freed_memory
from fovnet.own_files import count_other_answers, find_path_answered_before
from fovnet.records import BLANK_BY_CHARACTER, write_tsv
from fovnet.regions import Vocabulary
from fovnet.report.content.doubt_words import CODES
from fovnet.report.content.parts import divide_rows
from fovnet.report.pages import answers_folder, covering, predictions
from fovnet.volume.sources.discovery import (
    Discovery,
    PassedOver,
    count_file_endings,
    find_volumes,
    name_volumes,
)
from fovnet.volume.sources.source import Source
from fovnet.words import first_few, is_or_are, several

verbs = typer.Typer()
MOST_ROWS_PRINTED = 200
MOST_MESSAGE_CHARACTERS = 90  # of a message in a printed row

PREDICT_HELP = (
    "Give volumes as files, folders, trees or zip archives. If one of these holds several volumes, "
    "PLACE#DIGITS names one (see found.tsv).\n\n"
    "An answer is kept while its file's path and content, the model, fovnet's version and --no-faces are the "
    "same; a run that is told neither --faces nor --no-faces covers faces where an earlier one into the "
    "folder did. spans.tsv and answers.tsv are written when all volumes are answered. Volumes are named "
    "after their files; if several are called t1, the later ones become t1-2, t1-3. A later run's t1 "
    "replaces an earlier one's: give each batch its own folder. --workers reads ahead within 4 "
    "GiB.\n\n"
    "`fovnet export` writes the answers in other formats; `fovnet export headers` compares them with the "
    "DICOM headers."
)
"""What the help of `predict` ends with."""


@verbs.command(epilog=PREDICT_HELP)
def predict(
    paths: Annotated[list[Path], PathArgument(help="Volumes, or folders of volumes.")],
    out_folder: Annotated[
        Path,
        FolderOut(
            "--out",
            help="Output folder: answers.tsv, spans.tsv, and a JSON, a picture and a "
            "page per volume.",
        ),
    ],
    model: ModelFolder = None,
    device: Device = "auto",
    pictures: Pictures = True,
    pages: Pages = True,
    faces: FacesOrAsBefore = None,
    include: Include = "",
    show_ids: ShowIds = False,
    workers: Readers = 1,
    engine: Engine = "auto",
) -> None:
    """Predict which regions new volumes show; one broken file never stops the rest, and a killed run resumes
    with the same command."""
    keep_freed_memory()
    with device_and_engine_as_options():
        networks = load_ensemble(model_folder(model), device, engine=engine)
    included_kinds = kinds_included(include)
    with progress_of_many("reading DICOM headers", MANY_HEADERS) as advance:
        discovery = find_volumes(paths, included_kinds, show_ids=show_ids, progress=advance)
    source_by_id = _source_by_id(discovery.sources)
    with answers_folder.claim_folder(out_folder) as refuse_gone:
        shows_faces = decide_faces(out_folder, source_by_id, faces)
        answers_folder.write_found(out_folder, discovery.series_rows, show_ids=show_ids)
        show_discovery(out_folder, discovery, included_kinds)
        rows_of_volumes = answer_volumes(
            out_folder,
            source_by_id,
            networks,
            workers,
            all_ids=source_by_id,
            pictures=pictures,
            pages=pages,
            faces=shows_faces,
        )
        span_rows = [row for rows in rows_of_volumes for row in rows.spans]
        refuse_gone()
        has_answers_by_region = write_tables(
            out_folder, rows_of_volumes, networks, discovery.series_rows, included_kinds, pages
        )
    refused_count, unread_count = show_failures(span_rows, discovery.series_rows)
    _show_unlisted(out_folder, source_by_id)
    conclude(
        out_folder, len(source_by_id), refused_count, unread_count, has_answers_by_region, pages
    )


def answer_volumes(
    folder: Path,
    sources: Mapping[str, Source],
    networks: Ensemble,
    workers: int,
    *,
    all_ids: Collection[str] | None,
    pictures: bool,
    pages: bool,
    faces: bool,
) -> list[TableRows]:
    """The rows of these volumes, {volume_id: source}, in their order: of earlier answers that are
    still valid, and of those computed now, which are written; prints how many there are of each.

    all_ids  of all volumes of the run, where these are all: pictures and pages of others are then
             withdrawn as well; None where other runs write to the folder too
    """
    rows_by_id = _rows_still_valid(
        folder, sources, networks.identity, pictures=pictures, pages=pages, faces=faces
    )
    unanswered_sources = {
        volume_id: source for volume_id, source in sources.items() if volume_id not in rows_by_id
    }
    _show_replaced(folder, unanswered_sources)
    removed_count = answers_folder.remove_earlier_files(
        folder,
        rows_by_id,
        all_ids,
        tables=bool(unanswered_sources),
        pictures=pictures,
        pages=pages,
        faces=faces,
    )
    if removed_count:
        err.print(
            f"{folder}: {several(removed_count, 'picture or page', 'pictures and pages')} of earlier runs removed, "
            "which may show faces"
        )
    with progress_bar("predicting", "volumes") as advance:
        advance(len(rows_by_id), len(sources))
        for prediction in predict_volumes(list(unanswered_sources.items()), networks, workers):
            rows_by_id[prediction.answer.volume_id] = predictions.write_prediction(
                folder,
                prediction,
                networks.network_vocabulary,
                networks.identity,
                networks.engine_facts,
                model_name=networks.name,
                pictures=pictures,
                pages=pages,
                faces=faces,
            )
            advance(len(rows_by_id), len(sources))
    return [rows_by_id[volume_id] for volume_id in sources]


@verbs.command()
def codes() -> None:
    """List all values of `code` in spans.tsv, as a tab-separated table: code, status, meaning, what to try,
    and which answers on regions become unsure."""
    typer.echo("code\tstatus\tmeaning\tto_try\tconcerns")
    for code in CODES.values():
        status = code.status
        concerns = ""
        if isinstance(code, Check):
            concerns = code.concerns.words
            if status != "ok":
                status = code.concerns.status
        typer.echo(
            f"{code.code}\t{status}\t{code.words}: {code.meaning}\t{code.to_try}\t{concerns}"
        )


def _source_by_id(sources: list[Source]) -> dict[str, Source]:
    """{volume_id: source}, sorted by path: equal names are numbered in this order, whatever that of
    the arguments is."""
    sorted_sources = sorted(sources, key=lambda source: source.path)
    volume_ids = name_volumes([source.path for source in sorted_sources])
    return dict(zip(volume_ids, sorted_sources, strict=True))


def _rows_still_valid(
    folder: Path,
    sources: Mapping[str, Source],
    identity: str,
    *,
    pictures: bool,
    pages: bool,
    faces: bool,
) -> dict[str, TableRows]:
    """{volume_id: rows} of the volumes whose earlier answers are still valid; prints how many there
    are."""
    rows_by_id = {}
    for volume_id, source in sources.items():
        further_files = answers_folder.files_beside(volume_id, pictures=pictures, pages=pages)
        rows = read_earlier_rows(
            folder, volume_id, source, identity, further_files=further_files, faces=faces
        )
        if rows is not None:
            rows_by_id[volume_id] = rows
    if rows_by_id:
        volumes_in_words = several(len(sources), "volume")
        err.print(
            f"kept from an earlier run: the answers on {len(rows_by_id):,} of {volumes_in_words}"
        )
    return rows_by_id


def decide_faces(folder: Path, volume_ids: Collection[str], option: bool | None) -> bool:
    """Whether faces are shown in the pictures and pages of a folder: as the option says, or without
    one (None) as in earlier runs, which is printed where faces stay covered."""
    shows_faces = covering.shows_faces(folder, volume_ids, option)
    if option is None and not shows_faces:
        covered_in_words = (
            "faces are covered, as an earlier run was told with --no-faces; --faces shows them"
        )
        err.print(f"{folder}: {covered_in_words}")
    return shows_faces


def _show_replaced(folder: Path, sources: Mapping[str, Source]) -> None:
    """Prints how many earlier answers in the folder are of other files and will be replaced."""
    replaced_ids = []
    for volume_id, source in sources.items():
        answered_path = find_path_answered_before(folder, volume_id)
        if answered_path not in ("", str(source.path)):
            replaced_ids.append(volume_id)
    if replaced_ids:
        ids_in_words = f"{len(replaced_ids):,}: {first_few(replaced_ids)}"
        err.print(
            f"earlier answers on other files of the same names are replaced ({ids_in_words}); "
            "to keep them, give each batch its own folder"
        )


def _show_unlisted(folder: Path, volume_ids: Collection[str]) -> None:
    """Prints how many earlier answers in the folder are on other volumes than those now listed."""
    unlisted_count = count_other_answers(folder, volume_ids)
    if unlisted_count:
        answers_in_words = several(unlisted_count, "earlier answer")
        err.print(
            f"{answers_in_words} on other volumes {is_or_are(unlisted_count)} no longer listed in the tables and "
            f"the index of {folder}; give each batch its own folder"
        )


def show_discovery(folder: Path, discovery: Discovery, included_kinds: list[str]) -> None:
    """Prints what else was found: DICOM series, and files that were skipped, except those in the
    output folder."""
    _show_series(folder, discovery.series_rows, included_kinds)
    # abspath: links are not resolved
    out_folder = Path(os.path.abspath(folder))  # noqa: PTH100
    show_skipped(
        path
        for path in discovery.passed_paths
        if not Path(os.path.abspath(path)).is_relative_to(out_folder)  # noqa: PTH100
    )


def show_skipped(paths: Iterable[Path]) -> None:
    """Prints how many files are not volumes, by file extension, as an image may have an unknown
    one; how many linked folders were not entered, as they may lead anywhere; and what is hidden and
    may be a volume."""
    skipped = PassedOver.of_paths(paths)
    if skipped.hidden_paths:
        number = several(
            len(skipped.hidden_paths), "hidden file or folder", "hidden files or folders"
        )
        err.print(
            f"{number} skipped ({first_few(skipped.hidden_paths, 1)}) that may be or hold volumes: name them themselves"
        )
    if skipped.folder_links:
        number = several(len(skipped.folder_links), "linked folder")
        err.print(
            f"{number} skipped ({first_few(skipped.folder_links, 1)}): name the folders themselves"
        )
    skipped_files = skipped.files
    if skipped_files:
        example = str(skipped_files[0])
        if len(skipped_files) > 1:
            example = f"the first {skipped_files[0]}"
        number, endings = count_file_endings(skipped_files).split(": ", 1)
        err.print(f"{number} skipped, not volumes by name or content: {endings}; {example}")
    for (kind, kind_remedy), images in skipped.unread_images.items():
        err.print(f"of these {len(images):,}: {kind}. {kind_remedy}")


def conclude(
    folder: Path,
    volume_count: int,
    refused_count: int,
    unread_count: int,
    has_answers_by_region: bool,
    has_pages: bool,
) -> None:
    """Prints the numbers of volumes, of refused ones and of unreadable objects in archives, and the
    paths of the answers; status 3 unless all were read."""
    counts_in_words = f"{several(volume_count, 'volume')}, {refused_count} refused"
    if unread_count:
        counts_in_words += f", {several(unread_count, 'object')} in archives could not be read"
    answer_files = [folder / SPANS_TABLE_NAME]
    if has_answers_by_region:
        answer_files.insert(0, folder / answers_table.ANSWERS_TABLE_NAME)
    if has_pages:
        answer_files.append(folder / answers_folder.INDEX_NAME)
    out.print(f"{counts_in_words}: {', '.join(map(str, answer_files))}")
    if refused_count or unread_count:
        raise typer.Exit(3)


def show_failures(
    span_rows: Iterable[Mapping[str, Any]], series: Sequence[Mapping[str, Any]]
) -> tuple[int, int]:
    """(number of refused volumes, number of unreadable objects in archives); prints the reason of
    each."""
    refused_rows, unread_objects = answers_folder.find_failures(span_rows, series)
    for row in refused_rows:
        refusal_in_words = f"refused {row['volume_id']}: {row['message']} [{row.get('code', '')}]"
        err.print(refusal_in_words.translate(BLANK_BY_CHARACTER))
    for row in unread_objects:
        err.print(f"not read: {row['reason']}".translate(BLANK_BY_CHARACTER))
    return len(refused_rows), len(unread_objects)


def _show_series(folder: Path, series: list[dict[str, Any]], included_kinds: list[str]) -> None:
    """Prints how many DICOM series were found, and how many of them are not read."""
    if not series:
        return
    count_by_kind = Counter(row["kind"] for row in series)
    unread_count = count_by_kind.pop("unreadable", 0)
    sentence = f"{len(series) - unread_count} DICOM series found"
    for kind in ("volume", *included_kinds):
        count_by_kind.pop(kind, None)
    if count_by_kind:
        kinds_in_words = ", ".join(
            f"{count} {kind}" for kind, count in sorted(count_by_kind.items())
        )
        sentence += f", of which set aside: {kinds_in_words}"
    if unread_count:
        sentence += f"; {several(unread_count, 'object')} could not be read"
    duplicate_count = sum(row.get("copies", 0) for row in series)
    if duplicate_count:
        sentence += f"; {several(duplicate_count, 'image')} left out as duplicates"
    out.print(f"{sentence}: {folder / 'found.tsv'}")


def write_tables(
    folder: Path,
    rows_of_volumes: list[TableRows],
    networks: Ensemble,
    series_rows: Sequence[Mapping[str, Any]],
    included_kinds: Collection[str],
    pages: bool,
) -> bool:
    """Writes answers.tsv, spans.tsv and, with pages, index.html; whether the first was written,
    which takes networks that answer region by region."""
    has_answers_by_region = _write_answers(folder, rows_of_volumes, networks)
    _write_spans(folder, rows_of_volumes, networks.network_vocabulary)
    if pages:
        predictions.write_index_of(
            folder, rows_of_volumes, networks.network_vocabulary, series_rows, included_kinds
        )
    return has_answers_by_region


def _write_answers(folder: Path, rows_of_volumes: list[TableRows], networks: Ensemble) -> bool:
    """Writes answers.tsv, of an ensemble that gives answers by region, or prints that this one does
    not; whether it was written."""
    if not networks.rule.states_regions:
        err.print(
            "these networks were tuned by an earlier fovnet and give no answers by region; run `fovnet "
            "tune` in their run to get them"
        )
        return False
    answers_table.write_answers(
        folder,
        networks.vocabulary.classes[:-1],
        rows_of_volumes,
        networks.network_vocabulary.part_names,
    )
    return True


def _write_spans(folder: Path, volumes: Sequence[TableRows], vocabulary: Vocabulary) -> None:
    """Writes spans.tsv of networks of these classes; prints the first rows too, each region by its
    parts, if stdout is a terminal."""
    span_rows = [row for rows in volumes for row in rows.spans]
    columns = span_columns(vocabulary.part_names)
    write_tsv(folder / SPANS_TABLE_NAME, columns, span_rows, keep_same=True)
    if not os.isatty(1):
        return
    table = Table("volume", "status", "region", "from mm", "to mm", "confidence", "message")
    told_rows = (row for volume in volumes for row in divide_rows(volume, vocabulary))
    for row in islice(told_rows, MOST_ROWS_PRINTED):
        table.add_row(
            row["volume_id"],
            row["status"],
            row.get("region") or "",
            _number_text(row.get("from_mm"), ".0f"),
            _number_text(row.get("to_mm"), ".0f"),
            _number_text(row.get("confidence"), ".2f"),
            row["message"][:MOST_MESSAGE_CHARACTERS],
        )
    out.print(table)


def _number_text(number: float | None, number_format: str) -> str:
    """A number in a format such as ".0f"; "" for None."""
    if number is None:
        return ""
    return format(number, number_format)
