"""`fovnet label`: a page to label volumes; `fovnet agreement`: how far its readers agree."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.cli.options import FolderOut, PathArgument
from fovnet.cli.screen import empty_table, err, measure_text, out, progress_bar, show_table
from fovnet.config.regions import vocabulary
from fovnet.errors import ConfigError
from fovnet.evaluate.measures import Measure
from fovnet.label.agreement import compare_readers, refuse_single_readings
from fovnet.label.desk import Desk
from fovnet.label.order import ORDER_BY_NAME
from fovnet.label.readings import BLIND_MODE, OPEN_MODE, THIRD_MODE
from fovnet.label.serve import open_port, refuse_without_packages, serve
from fovnet.label.starts import count_refused, gather_items, refuse_out_in_starts
from fovnet.words import first_few, several

verbs = typer.Typer()
READER_NAME = re.compile(r"[\w .@+-]{1,60}")

HOW_TO_LABEL = (
    "Volumes come one after another with what the networks predict; a right one takes one key. Each action "
    "is on the disk before the next (OUT/label-log.jsonl), and volumes.tsv and regions.tsv, a collection as "
    "`fovnet check` and the workflow read it, are made from it at once. The same command goes on where it "
    "was; any number of readers may work on one folder.\n\n"
    "Reading twice: `--reader NAME --blind` by a second reader, then `fovnet agreement OUT`, then --third "
    "for the volumes on which the two differ."
)

Starts = Annotated[
    list[Path],
    PathArgument(
        help="Answers of `fovnet predict`, tables of a collection, or both.",
        metavar="ANSWERS|TABLES",
    ),
]
Reader = Annotated[str, typer.Option(help="Who labels; the readings of each are kept apart.")]
Blind = Annotated[
    bool,
    typer.Option("--blind", help="Hide predictions and what others read: a reading by itself."),
]
Third = Annotated[
    bool, typer.Option("--third", help="Only volumes on which readings differ, with both shown.")
]
Order = Annotated[
    str,
    typer.Option(
        help="teaching: first what networks would learn most from; unsure: the same, volumes alike "
        "included; listed: as in the tables; random."
    ),
]


@verbs.command(epilog=HOW_TO_LABEL)
def label(
    starts: Starts,
    out_folder: Annotated[Path, FolderOut("--out", help="Where the tables are written.")],
    reader: Reader = "reader",
    blind: Blind = False,
    third: Third = False,
    order: Order = "teaching",
    seed: Annotated[int, typer.Option(min=0, help="Of the random order.")] = 0,
    regions: Annotated[
        str, typer.Option(help="The regions to label: default, nine, or a YAML file.")
    ] = "default",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of this machine; 0: any that is free.")
    ] = 0,
) -> None:
    """Label volumes in the browser, on this machine alone, beginning with what the networks predict."""
    refuse_without_packages()
    reading_mode = _reading_mode(reader, order, blind=blind, third=third)
    refuse_out_in_starts(out_folder, starts)
    region_vocabulary = vocabulary(regions)
    if third:
        refuse_single_readings(out_folder, region_vocabulary)
    with open_port(port) as page_socket:  # before a folder is made
        with progress_bar("reading", "answers") as advance:
            items = gather_items(starts, region_vocabulary, advance)
        desk = Desk(
            out_folder,
            items,
            region_vocabulary,
            reader=reader,
            mode=reading_mode,
            order=order,
            seed=seed,
        )
        _show_notes(desk, count_refused(starts))
        _show_progress(desk.progress_facts(), "to label")
        try:
            serve(
                desk,
                page_socket,
                announce=lambda address: out.print(f"open {address}\nCtrl-C ends it"),
            )
        except KeyboardInterrupt:
            pass
        finally:
            progress = desk.progress_facts()
            _show_progress(progress, f"left; tables: {out_folder / 'regions.tsv'}")
            desk.close()
        if progress["unwritten"]:
            err.print(f"{progress['unwritten']}; the same command writes them")
            raise typer.Exit(3)


def _reading_mode(reader: str, order: str, *, blind: bool, third: bool) -> str:
    """Which reading this is.  Raises ConfigError "label-options" for options that do not go
    together or mean nothing."""
    if order not in ORDER_BY_NAME:
        raise ConfigError(
            "label-options",
            f"--order {order}: no such order; give one of {', '.join(ORDER_BY_NAME)}",
        )
    if blind and third:
        raise ConfigError(
            "label-options",
            "--blind --third: a third reading sees the two that differ; give one of these",
        )
    if not READER_NAME.fullmatch(reader):
        raise ConfigError(
            "label-options",
            f"--reader {reader!r}: wanted are 1 to 60 letters, digits, blanks or . @ + - _",
        )
    if blind:
        return BLIND_MODE
    if third:
        return THIRD_MODE
    return OPEN_MODE


def _show_notes(desk: Desk, refused_volumes: int) -> None:
    """Prints what a reader should know before beginning."""
    if desk.log.dropped_line_count:
        err.print(
            f"{desk.log.path}: one unfinished line at its end, of a run that was killed, was dropped"
        )
    if refused_volumes:
        volumes_in_words = several(refused_volumes, "volume")
        err.print(
            f"{volumes_in_words} that `fovnet predict` refused: not here, nothing can be seen"
        )
    _show_replaced(desk.volumes_of_replaced_files)
    guessed_count = sum(item.is_subject_guessed for item in desk.items)
    if guessed_count:
        guess_in_words = "the subjects are guessed from their names"
        if guessed_count == 1:
            guess_in_words = "the subject is guessed from its name"
        err.print(
            f"{several(guessed_count, 'volume')}: {guess_in_words}; correct subject_id "
            f"in {desk.out / 'volumes.tsv'} before a person is split between training and test"
        )


def _show_replaced(volume_ids: Sequence[str]) -> None:
    if volume_ids:
        volumes_in_words = f"{several(len(volume_ids), 'volume')} ({first_few(volume_ids)})"
        err.print(f"{volumes_in_words}: the file is another than was labelled; label it again")


def _show_progress(progress: dict[str, Any], rest_in_words: str) -> None:
    out.print(
        f"{several(progress['volumes'], 'volume')}, {progress['done']:,} done, {progress['left']:,} {rest_in_words}"
    )


@verbs.command()
def agreement(
    folder: Annotated[Path, PathArgument(help="The folder that `fovnet label --out` wrote.")],
    regions: Annotated[
        str, typer.Option(help="The regions that were labelled: default, nine, or a YAML file.")
    ] = "default",
) -> None:
    """Say how far the readers of a labelling agree, region by region and border by border, and on which
    volumes they differ."""
    comparison = compare_readers(folder, vocabulary(regions))
    _show_replaced(comparison.replaced_volume_ids)
    for (first, second), measures in comparison.measures_by_readers.items():
        volumes_in_words = several(comparison.volume_count_by_readers[first, second], "volume")
        table = empty_table(
            f"{volumes_in_words} read by {first} and by {second}", "measure", "where", "value"
        )
        for measure in measures:
            table.add_row(measure.name.replace("_", " "), measure.region, _agreement_text(measure))
        show_table(table)
    for row in comparison.difference_rows:
        out.print(f"{row['volume_id']}: {row['first']}, {row['second']}: {row['what']}")
    differing_in_words = several(len(comparison.difference_rows), "volume")
    unsettled_count = sum(row["settled"] == "no" for row in comparison.difference_rows)
    out.print(
        f"{differing_in_words} with differences, {unsettled_count} not settled (`fovnet label --third`): "
        f"{folder / 'agreement.tsv'}, {folder / 'differences.tsv'}"
    )


def _agreement_text(measure: Measure) -> str:
    """A kappa as it is, other measures in millimetres or per cent."""
    if measure.name != "kappa" or measure.value is None:
        return measure_text(measure)
    kappa_text = f"{measure.value:.2f} of {measure.denominator:,}"
    if measure.low is None:
        return kappa_text
    return f"{kappa_text} ({measure.low:.2f} to {measure.high:.2f})"
