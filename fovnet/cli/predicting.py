"""`fovnet predict`: tables, pictures and pages for new volumes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from fovnet.cli.options import (
    Device,
    Engine,
    FacesOrAsBefore,
    FolderOut,
    Given,
    Include,
    ModelFolder,
    Pages,
    Pictures,
    Readers,
    ShowIds,
    kinds_included,
    model_folder,
)
from fovnet.cli.screen import MANY_HEADERS, err, out, progress_bar, progress_of_many
from fovnet.records import BLANKED
from fovnet.report.pages import covering, predictions
from fovnet.words import several

if TYPE_CHECKING:
    from fovnet.decision.answers_table import TableRows
    from fovnet.decision.ensemble import Ensemble
    from fovnet.volume.sources.discovery import Found
    from fovnet.volume.sources.source import Source

verbs = typer.Typer()


PATHS_AND_ANSWERS = (
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


@verbs.command(epilog=PATHS_AND_ANSWERS)
def predict(
    paths: Annotated[list[Path], Given(help="Volumes, or folders of volumes.")],
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
    from fovnet.decision.ensemble import load
    from fovnet.machine.allocation import keep_freed_memory
    from fovnet.volume.sources.discovery import find

    keep_freed_memory()
    networks, wanted = load(model_folder(model), device, engine=engine), kinds_included(include)
    with progress_of_many("reading DICOM headers", MANY_HEADERS) as advance:
        found = find(paths, wanted, show_ids=show_ids, progress=advance)
    named = _named(found.sources)
    with predictions.claimed(out_folder) as refuse_gone:
        shows_faces = faces_drawn(out_folder, named, faces)
        drawn = {"pictures": pictures, "pages": pages, "faces": shows_faces}
        predictions.write_found(out_folder, found.series, show_ids=show_ids)
        show_found(out_folder, found, wanted)
        rows = answered(
            out_folder, named, networks, workers, [volume_id for volume_id, _ in named], **drawn
        )
        volumes = [rows[volume_id] for volume_id, _ in named]
        table = [row for one in volumes for row in one.spans]
        refuse_gone()
        said = _write_answers(out_folder, volumes, networks)
        _write_spans(out_folder, table)
        if pages:
            predictions.write_index_of(
                out_folder, volumes, networks.vocabulary, found.series, wanted
            )
    refused, unread = show_failures(table, found.series)
    conclude(out_folder, len(named), refused, unread, said, pages)


def answered(
    folder: Path,
    named: list[tuple[str, Source]],
    networks: Ensemble,
    workers: int,
    others_than: Collection[str] | None,
    **drawn: bool,
) -> dict[str, TableRows]:
    """The rows of these volumes by volume_id: of earlier answers that are still valid, and of those computed
    now, which are written; prints how many there are of each.

    others_than  as `named` of `predictions.withdraw`
    """
    from fovnet.decision.predict import predict as predicted

    rows = _kept(folder, named, networks.identity, **drawn)
    fresh = [(volume_id, source) for volume_id, source in named if volume_id not in rows]
    _show_replaced(folder, fresh)
    _withdraw(folder, rows, others_than, tables=bool(fresh), **drawn)
    with progress_bar("predicting", "volumes") as advance:
        advance(len(rows), len(named))
        for one in predicted(fresh, networks, workers):
            rows[one.answer.volume_id] = predictions.write(
                folder,
                one,
                networks.vocabulary,
                networks.identity,
                networks.computed_by,
                model_name=networks.name,
                **drawn,
            )
            advance(len(rows), len(named))
    return rows


@verbs.command()
def codes() -> None:
    """List all values of `code` in spans.tsv, as a tab-separated table: code, status, meaning, what to try,
    and which answers on regions become unsure."""
    from fovnet.decision.checks.check import Check
    from fovnet.report.content.doubt_words import CODES

    typer.echo("code\tstatus\tmeaning\tto_try\tconcerns")
    for one in CODES.values():
        concerns = one.concerns.words if isinstance(one, Check) else ""
        status = (
            one.concerns.status if isinstance(one, Check) and one.status != "ok" else one.status
        )
        typer.echo(f"{one.code}\t{status}\t{one.words}: {one.meaning}\t{one.to_try}\t{concerns}")


def _withdraw(
    folder: Path, kept: Collection[str], named: Collection[str] | None, **wanted: bool
) -> None:
    """As `predictions.withdraw`; prints how many pictures and pages were removed."""
    gone = predictions.withdraw(folder, kept, named, **wanted)
    if gone:
        err.print(
            f"{folder}: {several(gone, 'picture or page', 'pictures and pages')} of earlier runs removed, "
            "which may show faces"
        )


def _named(sources: list[Source]) -> list[tuple[str, Source]]:
    """(volume_id, source) of each volume, sorted by path: equal names are numbered in this order, whatever
    that of the arguments is."""
    from fovnet.volume.sources.discovery import name_volumes

    ordered = sorted(sources, key=lambda source: source.path)
    return list(zip(name_volumes([source.path for source in ordered]), ordered, strict=True))


def _kept(
    folder: Path,
    named: list[tuple[str, Source]],
    identity: str,
    *,
    pictures: bool,
    pages: bool,
    faces: bool,
) -> dict[str, TableRows]:
    """The rows of volumes whose earlier answers are still valid, by volume_id; prints how many there are."""
    from fovnet.decision.earlier_answers import earlier_rows

    found = {}
    for volume_id, source in named:
        beside = predictions.beside(volume_id, pictures, pages)
        found[volume_id] = earlier_rows(
            folder, volume_id, source, identity, further_files=beside, faces=faces
        )
    kept = {volume_id: rows for volume_id, rows in found.items() if rows is not None}
    if kept:
        err.print(
            f"kept from an earlier run: the answers on {len(kept):,} of {several(len(named), 'volume')}"
        )
    return kept


def faces_drawn(folder: Path, named: list[tuple[str, Source]], told: bool | None) -> bool:
    """As `covering.shows_faces`; prints where faces stay covered, as a run that goes on without its option
    would uncover them."""
    shows = covering.shows_faces(folder, [volume_id for volume_id, _ in named], told)
    if told is None and not shows:
        message = (
            "faces are covered, as an earlier run was told with --no-faces; --faces shows them"
        )
        err.print(f"{folder}: {message}")
    return shows


def _show_replaced(folder: Path, fresh: list[tuple[str, Source]]) -> None:
    """Prints how many earlier answers in the folder are of other files and will be replaced."""
    from fovnet.own_files import answered_before

    before = {volume_id: answered_before(folder, volume_id) for volume_id, _ in fresh}
    other = [
        volume_id for volume_id, source in fresh if before[volume_id] not in ("", str(source.path))
    ]
    if other:
        message = (
            f"earlier answers on other files of the same names are replaced ({len(other):,}: "
            f"{', '.join(other[:3])}"
        )
        err.print(
            f"{message}{', ...' if other[3:] else ''}); to keep them, give each batch its own folder"
        )


def show_found(folder: Path, found: Found, included: list[str]) -> None:
    """Prints what else was found: DICOM series, and files that were skipped, except those in the output
    folder."""
    _show_series(folder, found.series, included)
    whole = Path(os.path.abspath(folder))  # noqa: PTH100  (links are not resolved)
    absolute = {path: Path(os.path.abspath(path)) for path in found.passed}  # noqa: PTH100
    _show_passed([path for path in found.passed if not absolute[path].is_relative_to(whole)])


def _show_passed(passed: list[Path]) -> None:
    """Prints how many files are not volumes, by file extension, as an image may have an unknown one; how many
    linked folders were not entered, as they may lead anywhere; and what is hidden and may be a volume."""
    from fovnet.volume.sources.discovery import PassedOver, count_endings

    parts = PassedOver.of(passed)
    hidden, linked, files = parts.hidden, parts.linked, parts.files
    if hidden:
        number = several(len(hidden), "hidden file or folder", "hidden files or folders")
        err.print(
            f"{number} skipped ({hidden[0]}{', ...' if hidden[1:] else ''}) that may be or hold volumes: "
            "name them themselves"
        )
    if linked:
        err.print(
            f"{several(len(linked), 'linked folder')} skipped ({linked[0]}{', ...' if linked[1:] else ''}): "
            "name the folders themselves"
        )
    if files:
        first = f"the first {files[0]}" if files[1:] else str(files[0])
        number, counted = count_endings(files).split(": ", 1)
        err.print(f"{number} skipped, not volumes by name or content: {counted}; {first}")
    for (kind, remedy), paths in parts.unread_images.items():
        err.print(f"of these {len(paths):,}: {kind}. {remedy}")


def conclude(
    folder: Path, volumes: int, refused: int, unread: int, said: bool, pages: bool
) -> None:
    """Prints the numbers of volumes, of refused ones and of unreadable objects in archives, and the paths of
    the answers; status 3 unless all were read."""
    from fovnet.decision.answer import TABLE
    from fovnet.decision.answers_table import TABLE as ANSWERS

    inside = f", {several(unread, 'object')} in archives could not be read" if unread else ""
    answers = f"{folder / ANSWERS}, " if said else ""
    index = f", {folder / predictions.INDEX}" if pages else ""
    out.print(
        f"{several(volumes, 'volume')}, {refused} refused{inside}: {answers}{folder / TABLE}{index}"
    )
    if refused or unread:
        raise typer.Exit(3)


def show_failures(
    table: Iterable[Mapping[str, Any]], series: Sequence[Mapping[str, Any]]
) -> tuple[int, int]:
    """The numbers of `predictions.failures`; prints the reason of each."""
    refused, unread = predictions.failures(table, series)
    for row in refused:
        message = f"refused {row['volume_id']}: {row['message']} [{row.get('code', '')}]"
        err.print(message.translate(BLANKED))
    for row in unread:
        err.print(f"not read: {row['reason']}".translate(BLANKED))
    return len(refused), len(unread)


def _show_series(folder: Path, series: list[dict[str, Any]], included: list[str]) -> None:
    """Prints how many DICOM series were found, and how many of them are not read."""
    if not series:
        return
    unread = sum(row["kind"] == "unreadable" for row in series)
    aside = Counter(
        row["kind"] for row in series if row["kind"] not in ("volume", "unreadable", *included)
    )
    counted = ", ".join(f"{count} {kind}" for kind, count in sorted(aside.items()))
    details = (f", of which set aside: {counted}" if aside else "") + (
        f"; {several(unread, 'object')} could not be read" if unread else ""
    )
    copies = sum(row.get("copies", 0) for row in series)
    details += f"; {several(copies, 'image')} left out as duplicates" if copies else ""
    out.print(f"{len(series) - unread} DICOM series found{details}: {folder / 'found.tsv'}")


def _write_answers(folder: Path, volumes: list[TableRows], networks: Ensemble) -> bool:
    """Whether answers.tsv was written; for an ensemble whose rule says nothing region by region, prints so
    instead."""
    from fovnet.decision.answers_table import write_answers

    if networks.rule.by_region:
        write_answers(folder, networks.vocabulary.classes[:-1], volumes)
    else:
        err.print(
            "these networks were tuned by an earlier fovnet and give no answers by region; run `fovnet "
            "tune` in their run to get them"
        )
    return networks.rule.by_region


def _write_spans(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Writes spans.tsv; prints the rows too, up to 200, if stdout is a terminal."""
    from fovnet.decision.answer import COLUMNS, TABLE
    from fovnet.records import write_tsv

    write_tsv(folder / TABLE, COLUMNS, rows, keep_same=True)
    table = Table("volume", "status", "region", "from mm", "to mm", "confidence", "message")
    for row in rows[:200]:
        numbers = [
            "" if row.get(key) is None else f"{row[key]:.0f}" for key in ("from_mm", "to_mm")
        ]
        sure = "" if row.get("confidence") is None else f"{row['confidence']:.2f}"
        table.add_row(
            row["volume_id"],
            row["status"],
            row.get("region") or "",
            *numbers,
            sure,
            row["message"][:90],
        )
    if os.isatty(1):
        out.print(table)
