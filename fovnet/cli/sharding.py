"""`fovnet shard`: prediction in three steps, as a cluster takes them: the archive listed, each shard answered
by itself, the answers merged."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fovnet.cli.options import (
    INCLUDE,
    MODEL,
    PAGES,
    PICTURES,
    SHOW_IDS,
    Device,
    Engine,
    FacesOrAsBefore,
    FolderOut,
    Given,
    Readers,
    folder_to_fill,
    kinds_included,
    model_folder,
)
from fovnet.cli.predicting import answered, conclude, faces_drawn, show_failures, show_found
from fovnet.cli.screen import err, out
from fovnet.volume.sources.shard_settings import SHIPPED, ShardSettings, option
from fovnet.words import first_few, several

shard = typer.Typer(
    no_args_is_help=True,
    help="Predict an archive shard by shard, anywhere and in any order; workflow/predict.smk gives these "
    "commands.  Tables and index are those of `fovnet predict`.\n\nWhat holds for the whole (networks, "
    "pictures, pages, faces, what is included) is told the survey, and the other steps inherit it.",
)
Surveyed = Annotated[
    Path, Given(help="The folder that `fovnet shard survey --out` named.", callback=folder_to_fill)
]
# None: not told, and so inherited
Model = Annotated[Path | None, MODEL]
Included = Annotated[str | None, INCLUDE]
Ids = Annotated[bool | None, SHOW_IDS]
Pictures = Annotated[bool | None, PICTURES]
Pages = Annotated[bool | None, PAGES]


@shard.command("survey")
def survey(
    paths: Annotated[list[Path], Given(help="Volumes, or folders that hold some.")],
    out_folder: Annotated[
        Path, FolderOut("--out", help="Where the shards are listed, and answers written.")
    ],
    volumes: Annotated[int, typer.Option(min=1, help="Volumes in a shard, on average.")] = 200,
    model: Model = None,
    include: Included = None,
    show_ids: Ids = None,
    pictures: Pictures = None,
    pages: Pages = None,
    faces: FacesOrAsBefore = None,
) -> None:
    """List the volumes of an archive, and cut the list into shards of about equal work.  Given again, new
    volumes make new shards, no other list changes but of what was changed or removed, and options that are
    not given stay as they were."""
    from fovnet.acts import shards
    from fovnet.volume.sources.discovery import find

    kinds = None if include is None else tuple(sorted(kinds_included(include)))
    told = ShardSettings(_model_named(model), kinds, show_ids, pictures, pages, faces)
    settings = shards.kept_settings(out_folder, told)
    wanted = [*(settings.include or ())]
    found = find(paths, wanted, show_ids=bool(settings.show_ids))
    made, fresh, gone = shards.surveyed(found, out_folder, volumes, settings)
    show_found(out_folder, found, wanted)
    _show_kept(out_folder, settings, told)
    counted = f"{several(made.volumes, 'volume')} of {made.bytes / 1e6:,.0f} MB"
    changes = f"{fresh:,} of them new" + (f", {gone:,} gone since the last survey" if gone else "")
    out.print(f"{counted}, {changes}: {several(len(made.shards), 'shard')} in {out_folder}")


@shard.command("answer")
def answer(
    out_folder: Surveyed,
    number: Annotated[int, typer.Option("--shard", min=0, help="Which shard to answer.")],
    model: Model = None,
    device: Device = "auto",
    pictures: Pictures = None,
    pages: Pages = None,
    faces: FacesOrAsBefore = None,
    workers: Readers = 1,
    engine: Engine = "auto",
) -> None:
    """Answer the volumes of one shard; killed, the same command goes on.  Several may be answered at once,
    each by a process of its own, also on several machines that share the folder."""
    from fovnet.acts import shards
    from fovnet.decision.ensemble import load
    from fovnet.machine.allocation import keep_freed_memory

    keep_freed_memory()
    told = ShardSettings(_model_named(model), pictures=pictures, pages=pages, faces=faces)
    with shards.taken(out_folder, number) as named:
        inherited = shards.inherited_settings(out_folder, told)
        settings = replace(inherited, faces=faces_drawn(out_folder, named, inherited.faces))
        networks = load(_folder_of(settings), device, engine=engine)
        rows = answered(
            out_folder,
            named,
            networks,
            workers,
            None,
            pictures=bool(settings.pictures),
            pages=bool(settings.pages),
            faces=bool(settings.faces),
        )
        volumes = [rows[volume_id] for volume_id, _ in named]
        shards.finished(out_folder, number, volumes, networks.identity, settings)
    refused, _ = show_failures((row for one in volumes for row in one.spans), ())
    out.print(f"shard {number}: {several(len(named), 'volume')}, {refused} refused")
    if refused:
        raise typer.Exit(3)


@shard.command("merge")
def merge(out_folder: Surveyed, model: Model = None, pages: Pages = None) -> None:
    """Write spans.tsv, answers.tsv and index.html over all shards, byte for byte as one `fovnet predict`."""
    from fovnet.acts import shards
    from fovnet.decision.ensemble import load

    told = ShardSettings(_model_named(model), pages=pages)
    networks = load(_folder_of(shards.inherited_settings(out_folder, told)), "cpu")
    made = shards.merged(out_folder, networks, told)
    if not made.by_region:
        err.print("these networks were tuned by an earlier fovnet: no answers region by region")
    if made.changed:
        counted = f"{several(len(made.changed), 'volume')} ({first_few(made.changed)})"
        err.print(
            f"{counted} changed or gone since they were answered: the tables tell what their files showed "
            "before; survey, answer and merge again"
        )
    conclude(out_folder, made.volumes, made.refused, made.unread, made.by_region, made.pages)


def _model_named(model: Path | None) -> str | None:
    """The networks as a survey keeps them, whatever folder a later step is started in.  Raises ModelError for
    a folder without networks, before an archive is listed."""
    from fovnet.decision.folder import ModelFolder

    if model is None:
        return None
    if str(model) == SHIPPED and not model.exists():
        return SHIPPED
    ModelFolder(model).refuse_missing()
    return os.path.abspath(model)  # noqa: PTH100  (resolve would follow links)


def _folder_of(settings: ShardSettings) -> Path:
    return model_folder(Path(settings.model or SHIPPED))


def _show_kept(folder: Path, settings: ShardSettings, told: ShardSettings) -> None:
    """Prints what an earlier survey was told and this one was not."""
    kept = [
        option(name, value)
        for name, value in settings.facts.items()
        if value is not None and getattr(told, name) is None
    ]
    if kept:
        err.print(f"{folder}: kept from the survey before: {' '.join(kept)}")
