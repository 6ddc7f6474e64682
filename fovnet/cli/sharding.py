"""`fovnet shard`: prediction in three steps, as a cluster takes them: the archive listed, each
shard answered by itself, the answers merged."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from fovnet.acts import shards
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
    PathArgument,
    Readers,
    device_and_engine_as_options,
    folder_to_fill,
    kinds_included,
    model_folder,
)
from fovnet.cli.predicting import (
    answer_volumes,
    conclude,
    decide_faces,
    show_discovery,
    show_failures,
)
from fovnet.cli.screen import err, out
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import ModelFolder
from fovnet.machine.allocation import keep_freed_memory
from fovnet.volume.sources.discovery import find_volumes
from fovnet.volume.sources.shard_settings import SHIPPED_MODEL, ShardSettings, as_option
from fovnet.words import first_few, several

verbs = typer.Typer()
shard = typer.Typer(
    no_args_is_help=True,
    help="Predict an archive shard by shard, anywhere and in any order; workflow/predict.smk gives these "
    "commands.  Tables and index are those of `fovnet predict`.\n\nWhat holds for the whole (networks, "
    "pictures, pages, faces, what is included) is told the survey, and the other steps inherit it.",
)
verbs.add_typer(shard, name="shard")
SurveyFolder = Annotated[
    Path,
    PathArgument(
        help="The folder that `fovnet shard survey --out` named.", callback=folder_to_fill
    ),
]
# None: not told, and so inherited
Model = Annotated[Path | None, MODEL]
Included = Annotated[str | None, INCLUDE]
Ids = Annotated[bool | None, SHOW_IDS]
Pictures = Annotated[bool | None, PICTURES]
Pages = Annotated[bool | None, PAGES]


@shard.command("survey")
def survey(
    paths: Annotated[list[Path], PathArgument(help="Volumes, or folders that hold some.")],
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
    told_kinds = None
    if include is not None:
        told_kinds = tuple(sorted(kinds_included(include)))
    told_settings = ShardSettings(
        _model_as_kept(model), told_kinds, show_ids, pictures, pages, faces
    )
    settings = shards.settings_for_survey(out_folder, told_settings)
    included_kinds = list(settings.include or ())
    discovery = find_volumes(paths, included_kinds, show_ids=bool(settings.show_ids))
    shard_survey, added_count, removed_count = shards.survey_archive(
        discovery, out_folder, volumes, settings
    )
    show_discovery(out_folder, discovery, included_kinds)
    _show_inherited_options(out_folder, settings, told_settings)
    changes_in_words = f"{added_count:,} of them new"
    if removed_count:
        changes_in_words += f", {removed_count:,} gone since the last survey"
    out.print(
        f"{several(shard_survey.volume_count, 'volume')} of {shard_survey.byte_count / 1e6:,.0f} MB, "
        f"{changes_in_words}: "
        f"{several(len(shard_survey.shard_numbers), 'shard')} in {out_folder}"
    )


@shard.command("answer")
def answer(
    out_folder: SurveyFolder,
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
    keep_freed_memory()
    told_settings = ShardSettings(
        _model_as_kept(model), pictures=pictures, pages=pages, faces=faces
    )
    with shards.hold_shard(out_folder, number) as id_source_pairs:
        sources = dict(id_source_pairs)
        settings = shards.settings_for_shard(out_folder, told_settings)
        settings = replace(settings, faces=decide_faces(out_folder, sources, settings.faces))
        with device_and_engine_as_options():
            networks = load_ensemble(_model_folder_of(settings), device, engine=engine)
        rows_of_volumes = answer_volumes(
            out_folder,
            sources,
            networks,
            workers,
            all_ids=None,
            pictures=bool(settings.pictures),
            pages=bool(settings.pages),
            faces=bool(settings.faces),
        )
        shards.write_shard_rows(out_folder, number, rows_of_volumes, networks.identity, settings)
    refused_count, _ = show_failures(
        (row for volume in rows_of_volumes for row in volume.spans), ()
    )
    out.print(f"shard {number}: {several(len(sources), 'volume')}, {refused_count} refused")
    if refused_count:
        raise typer.Exit(3)


@shard.command("merge")
def merge(out_folder: SurveyFolder, model: Model = None, pages: Pages = None) -> None:
    """Write spans.tsv, answers.tsv and index.html over all shards, byte for byte as one `fovnet predict`."""
    told_settings = ShardSettings(_model_as_kept(model), pages=pages)
    networks = load_ensemble(
        _model_folder_of(shards.settings_for_shard(out_folder, told_settings)), "cpu"
    )
    outcome = shards.merge_shards(out_folder, networks, told_settings)
    if not outcome.has_region_answers:
        err.print("these networks were tuned by an earlier fovnet: no answers region by region")
    if outcome.changed_volumes:
        changed_in_words = f"{several(len(outcome.changed_volumes), 'volume')} ({first_few(outcome.changed_volumes)})"
        err.print(
            f"{changed_in_words} changed or gone since they were answered: the tables tell what their files showed "
            "before; survey, answer and merge again"
        )
    conclude(
        out_folder,
        outcome.volume_count,
        outcome.refused_count,
        outcome.unread_object_count,
        outcome.has_region_answers,
        outcome.has_index,
    )


def _model_as_kept(model: Path | None) -> str | None:
    """What a survey keeps of --model: None where it was not given, SHIPPED, or the absolute path,
    which holds whatever folder a later step is started in.

    Raises ModelError for a folder without networks, before an archive is listed.
    """
    if model is None:
        return None
    if str(model) == SHIPPED_MODEL and not model.exists():
        return SHIPPED_MODEL
    ModelFolder(model).refuse_missing()
    return os.path.abspath(model)  # noqa: PTH100  (resolve would follow links)


def _model_folder_of(settings: ShardSettings) -> Path:
    return model_folder(Path(settings.model or SHIPPED_MODEL))


def _show_inherited_options(
    folder: Path, settings: ShardSettings, told_settings: ShardSettings
) -> None:
    """Prints what an earlier survey was told and this one was not."""
    inherited_options = [
        as_option(setting_name, value)
        for setting_name, value in settings.facts.items()
        if value is not None and getattr(told_settings, setting_name) is None
    ]
    if inherited_options:
        err.print(f"{folder}: kept from the survey before: {' '.join(inherited_options)}")
