"""`fovnet shard`: prediction in three steps, as a cluster takes them: the archive listed, each shard answered
by itself, the answers merged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fovnet.cli.options import (
    Device,
    Engine,
    Faces,
    FolderOut,
    Given,
    Include,
    ModelFolder,
    Pages,
    Pictures,
    Readers,
    ShowIds,
    folder_to_fill,
    kinds_included,
    model_folder,
)
from fovnet.cli.predicting import answered, conclude, show_failures, show_found
from fovnet.cli.screen import err, out
from fovnet.words import several

shard = typer.Typer(
    no_args_is_help=True,
    help="Predict an archive shard by shard, anywhere and in any order; workflow/predict.smk gives these "
    "commands.  Tables and index are those of `fovnet predict`.",
)
Surveyed = Annotated[
    Path, Given(help="The folder that `fovnet shard survey --out` named.", callback=folder_to_fill)
]


@shard.command("survey")
def survey(
    paths: Annotated[list[Path], Given(help="Volumes, or folders that hold some.")],
    out_folder: Annotated[Path, FolderOut("--out", help="Where the shards are listed, and answers written.")],
    volumes: Annotated[int, typer.Option(min=1, help="Volumes in a shard, on average.")] = 200,
    include: Include = "",
    show_ids: ShowIds = False,
    faces: Faces = True,
) -> None:
    """List the volumes of an archive, and cut the list into shards of about equal work.  Given again, new
    volumes make new shards, and no other list changes but of what was changed or removed."""
    from fovnet.acts import shards
    from fovnet.volume.sources.discovery import find

    wanted = kinds_included(include)
    found = find(paths, wanted, show_ids=show_ids)
    made, fresh, gone = shards.surveyed(found, out_folder, volumes, wanted, show_ids=show_ids, faces=faces)
    show_found(out_folder, found, wanted)
    counted = f"{several(made.volumes, 'volume')} of {made.bytes / 1e6:,.0f} MB"
    changes = f"{fresh:,} of them new" + (f", {gone:,} gone since the last survey" if gone else "")
    out.print(f"{counted}, {changes}: {several(len(made.shards), 'shard')} in {out_folder}")


@shard.command("answer")
def answer(
    out_folder: Surveyed,
    number: Annotated[int, typer.Option("--shard", min=0, help="Which shard to answer.")],
    model: ModelFolder = None,
    device: Device = "auto",
    pictures: Pictures = True,
    pages: Pages = True,
    faces: Faces = True,
    workers: Readers = 1,
    engine: Engine = "auto",
) -> None:
    """Answer the volumes of one shard; killed, the same command goes on.  Several may be answered at once,
    each by a process of its own, also on several machines that share the folder."""
    from fovnet.acts import shards
    from fovnet.decision.ensemble import load
    from fovnet.machine.allocation import keep_freed_memory

    keep_freed_memory()
    with shards.taken(out_folder, number) as named:
        networks = load(model_folder(model), device, engine=engine)
        rows = answered(
            out_folder, named, networks, workers, None, pictures=pictures, pages=pages, faces=faces
        )
        volumes = [rows[volume_id] for volume_id, _ in named]
        shards.finished(out_folder, number, volumes, networks.identity)
    refused, _ = show_failures((row for one in volumes for row in one.spans), ())
    out.print(f"shard {number}: {several(len(named), 'volume')}, {refused} refused")
    if refused:
        raise typer.Exit(3)


@shard.command("merge")
def merge(out_folder: Surveyed, model: ModelFolder = None, pages: Pages = True) -> None:
    """Write spans.tsv, answers.tsv and index.html over all shards, byte for byte as one `fovnet predict`."""
    from fovnet.acts import shards
    from fovnet.decision.ensemble import load

    made = shards.merged(out_folder, load(model_folder(model), "cpu"), pages=pages)
    if not made.by_region:
        err.print("these networks were tuned by an earlier fovnet: no answers region by region")
    conclude(out_folder, made.volumes, made.refused, made.unread, made.by_region, pages)
