"""`fovnet label`: a page to label volumes; `fovnet agreement`: how far its readers agree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fovnet.cli.options import FolderOut, Given
from fovnet.cli.screen import err, measure_text, out, progress_bar, show_table, titled
from fovnet.errors import ConfigError
from fovnet.words import first_few, several

if TYPE_CHECKING:
    from fovnet.evaluate.measures import Measure

verbs = typer.Typer()
NAME = re.compile(r"[\w .@+-]{1,60}")

STEPS = (
    "Volumes come one after another with what the networks predict; a right one takes one key. Each action "
    "is on the disk before the next (OUT/label-log.jsonl), and volumes.tsv and regions.tsv, a collection as "
    "`fovnet check` and the workflow read it, are made from it at once. The same command goes on where it "
    "was; any number of readers may work on one folder.\n\n"
    "Reading twice: `--reader NAME --blind` by a second reader, then `fovnet agreement OUT`, then --third "
    "for the volumes on which the two differ."
)


@verbs.command(epilog=STEPS)
def label(
    starts: Annotated[
        list[Path],
        Given(
            help="Answers of `fovnet predict`, tables of a collection, or both.",
            metavar="ANSWERS|TABLES",
        ),
    ],
    out_folder: Annotated[Path, FolderOut("--out", help="Where the tables are written.")],
    reader: Annotated[
        str, typer.Option(help="Who labels; the readings of each are kept apart.")
    ] = "reader",
    blind: Annotated[
        bool,
        typer.Option("--blind", help="Hide predictions and what others read: a reading by itself."),
    ] = False,
    third: Annotated[
        bool,
        typer.Option("--third", help="Only volumes on which readings differ, with both shown."),
    ] = False,
    order: Annotated[
        str,
        typer.Option(
            help="teaching: first what networks would learn most from; unsure: the same, volumes alike "
            "included; listed: as in the tables; random."
        ),
    ] = "teaching",
    seed: Annotated[int, typer.Option(min=0, help="Of the random order.")] = 0,
    regions: Annotated[
        str, typer.Option(help="The regions to label: default, or a YAML file.")
    ] = "default",
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of this machine; 0: any that is free.")
    ] = 0,
) -> None:
    """Label volumes in the browser, on this machine alone, beginning with what the networks predict."""
    from fovnet.config.regions import vocabulary
    from fovnet.label.serve import opened, refuse_without_packages, serve

    refuse_without_packages()
    from fovnet.label.desk import Desk
    from fovnet.label.readings import BLIND, OPEN, THIRD
    from fovnet.label.starts import gathered, refuse_out_in_starts, refused

    _refuse_odd(reader, order, blind=blind, third=third)
    refuse_out_in_starts(out_folder, starts)
    known = vocabulary(regions)
    place = opened(port)  # before a folder is made
    with progress_bar("reading", "answers") as advance:
        items = gathered(starts, known, advance)
    mode = BLIND if blind else THIRD if third else OPEN
    desk = Desk(out_folder, items, known, reader=reader, mode=mode, order=order, seed=seed)
    if desk.log.dropped:
        err.print(
            f"{desk.log.path}: one unfinished line at its end, of a run that was killed, was dropped"
        )
    absent = refused(starts)
    if absent:
        err.print(
            f"{several(absent, 'volume')} that `fovnet predict` refused: not here, nothing can be seen"
        )
    if desk.replaced:
        counted = f"{several(len(desk.replaced), 'volume')} ({first_few(desk.replaced)})"
        err.print(f"{counted}: the file is another than was labelled; label it again")
    guessed = sum(one.is_subject_guessed for one in desk.items)
    if guessed:
        err.print(
            f"{several(guessed, 'volume')}: whose they are is guessed from their names; correct subject_id "
            f"in {out_folder / 'volumes.tsv'} before a person is split between training and test"
        )
    _show_progress(desk.progress(), "to label")
    try:
        serve(desk, place, announce=lambda address: out.print(f"open {address}\nCtrl-C ends it"))
    except KeyboardInterrupt:
        pass
    finally:
        told = desk.progress()
        _show_progress(told, f"left; tables: {out_folder / 'regions.tsv'}")
        desk.close()
    if told["unwritten"]:
        err.print(f"{told['unwritten']}; the same command writes them")
        raise typer.Exit(3)


def _show_progress(told: dict[str, Any], ending: str) -> None:
    out.print(
        f"{several(told['volumes'], 'volume')}, {told['done']:,} done, {told['left']:,} {ending}"
    )


def _refuse_odd(reader: str, order: str, *, blind: bool, third: bool) -> None:
    """Raises ConfigError "label-options" for options that do not go together or mean nothing."""
    from fovnet.label.order import ORDERS

    if order not in ORDERS:
        raise ConfigError(
            "label-options", f"--order {order}: no such order; give one of {', '.join(ORDERS)}"
        )
    if blind and third:
        raise ConfigError(
            "label-options",
            "--blind --third: a third reading sees the two that differ; give one of these",
        )
    if not NAME.fullmatch(reader):
        raise ConfigError(
            "label-options",
            f"--reader {reader!r}: wanted are 1 to 60 letters, digits, blanks or . @ + - _",
        )


@verbs.command()
def agreement(
    folder: Annotated[Path, Given(help="The folder that `fovnet label --out` wrote.")],
    regions: Annotated[
        str, typer.Option(help="The regions that were labelled: default, or a YAML file.")
    ] = ("default"),
) -> None:
    """Say how far the readers of a labelling agree, region by region and border by border, and on which
    volumes they differ."""
    from fovnet.config.regions import vocabulary
    from fovnet.label.agreement import compared

    found = compared(folder, vocabulary(regions))
    for (first, second), measures in found.measures.items():
        shown = titled(
            f"{several(found.volumes[first, second], 'volume')} read by {first} and by {second}",
            "measure",
            "where",
            "value",
        )
        for one in measures:
            shown.add_row(one.name.replace("_", " "), one.region, _measured(one))
        show_table(shown)
    for row in found.differing:
        out.print(f"{row['volume_id']}: {row['first']}, {row['second']}: {row['what']}")
    unsettled = sum(row["settled"] == "no" for row in found.differing)
    out.print(
        f"{several(len(found.differing), 'volume')} with differences, {unsettled} not settled (`fovnet label "
        f"--third`): {folder / 'agreement.tsv'}, {folder / 'differences.tsv'}"
    )


def _measured(one: Measure) -> str:
    """A kappa as it is, other measures in millimetres or per cent."""
    if one.name != "kappa" or one.value is None:
        return measure_text(one)
    interval = "" if one.low is None else f" ({one.low:.2f} to {one.high:.2f})"
    return f"{one.value:.2f} of {one.denominator:,}{interval}"
