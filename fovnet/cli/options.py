"""Options shared by several verbs: paths that are checked before any work is done, and help texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.errors import ConfigError
from fovnet.own_files import refuse_foreign
from fovnet.records import header_of, unwritable
from fovnet.words import did_you_mean


def path_of_word(text: str) -> Path:
    """The path of an argument.  Raises ConfigError "path-empty" for an empty one, which pathlib would read as
    the current folder."""
    if not text:
        raise ConfigError(
            "path-empty",
            "'': an empty path, perhaps from an unset shell variable; give a file or a folder ('.' for this "
            "one)",
        )
    return Path(text)


def _to_write(path: Path | None, folder: bool, named: str = "--out ") -> Path | None:
    """The path given as `--out`.  Raises ConfigError "out-unwritable", before any work is done, if it cannot
    be written."""
    if path is not None and (why := unwritable(path, folder=folder)):
        raise ConfigError(
            "out-unwritable",
            f"{named}{path}: {why}; give a {'folder' if folder else 'file'} that can be written",
        )
    return path


def _folder_to_write(path: Path | None) -> Path | None:
    return _to_write(path, folder=True)


def folder_to_fill(path: Path) -> Path:
    """As `_to_write`, for a folder that is an argument."""
    _to_write(path, folder=True, named="")
    return path


def file_out(
    is_own: Callable[[Path], bool],
    help_text: str,
    wanted: str = "a table of this command's own columns",
) -> Any:
    """The option `--out` for a file; an existing file is overwritten if `is_own` recognises the kind that the
    verb writes, `wanted` in words.

    The option raises ConfigError "out-other-file" for any other non-empty file: a volume, a configuration,
    another table.
    """

    def tried(path: Path | None) -> Path | None:
        _to_write(path, folder=False)
        if path is not None and os.path.isfile(path) and path.stat().st_size and not is_own(path):  # noqa: PTH113  (as _to_write)
            raise ConfigError(
                "out-other-file",
                f"--out {path}: exists, is {_seen(path)}, where {wanted} is wanted, and would be "
                "overwritten; give another name, or remove it",
            )
        return path

    return typer.Option(
        "--out", callback=tried, parser=path_of_word, metavar="PATH", help=help_text
    )


def folder_out(files: Mapping[str, Callable[[Path], bool]], help_text: str) -> Any:
    """The option `--out` for a folder in which the verb writes `files`, each with a function that recognises
    those of its kind.

    The option raises ConfigError "out-foreign" if a file of one of these names is of another kind.
    """

    def tried(path: Path | None) -> Path | None:
        _to_write(path, folder=True)
        if path is not None:
            for name, is_own in files.items():
                refuse_foreign(path / name, is_own)
        return path

    return typer.Option(
        "--out", callback=tried, parser=path_of_word, metavar="PATH", help=help_text
    )


def _seen(path: Path) -> str:
    columns = header_of(path)
    return (
        f"a table of {len(columns)} columns, the first {columns[0][:40]!r}"
        if len(columns) > 1
        else "not a table"
    )


def table_of(module: str) -> Callable[[Path], bool]:
    """A function that tells whether a file is a table with the module's COLUMNS; it imports the module only
    when called."""
    return lambda path: header_of(path) == list(import_module(module).COLUMNS)


FolderOut = partial(typer.Option, callback=_folder_to_write, parser=path_of_word, metavar="PATH")
# for input paths
Given, GivenBy = (
    partial(kind, parser=path_of_word, metavar="PATH") for kind in (typer.Argument, typer.Option)
)
ENGINE_HELP = (
    "auto, torch or onnx: the library that computes the networks; auto: the fastest installed. The answers "
    "are the same."
)
ConfigFile = Annotated[
    Path, GivenBy("--config", help="YAML file; see configs/ of the repository for examples.")
]
WITHOUT_HELP = (
    "A feature to leave out, such as masks; may be repeated. An unknown name lists all features."
)
MODEL = GivenBy(
    help="The ensemble folder of a workflow run or of `fovnet adapt`; default: the networks that come with "
    "the package.",
    show_default=False,
)
ModelFolder = Annotated[Path | None, MODEL]
Workers = Annotated[int, typer.Option(min=1, help="Processes; the result does not depend on it.")]
Answers = Annotated[Path, Given(help="The folder that `fovnet predict --out` wrote.")]
Regions = Annotated[
    str, typer.Option(help="The vocabulary of the ensemble: default, or its YAML file.")
]
INCLUDE_HELP = (
    "Kinds of DICOM series that are set aside by default, to read anyway: "
    "localizer,derived,phase,single,repeat,animal."
)
Device = Annotated[str, typer.Option(help="auto, cpu or cuda.")]
Engine = Annotated[str, typer.Option(help=ENGINE_HELP)]
INCLUDE = typer.Option(help=INCLUDE_HELP)
PICTURES = typer.Option(help="Draw a picture of every volume.")
PAGES = typer.Option(help="Write a page for every volume, and index.html, which lists them.")
FACES = typer.Option(
    help="--no-faces covers slices that may show a head (probability 2 % or more) in pictures and pages, and "
    "deletes uncovered ones of earlier runs."
)
SHOW_IDS = typer.Option(
    "--show-ids/--no-show-ids", help="Write real ids of patient, study and series to found.tsv."
)
Include = Annotated[str, INCLUDE]
ShowIds = Annotated[bool, SHOW_IDS]
Pictures = Annotated[bool, PICTURES]
Pages = Annotated[bool, PAGES]
FacesOrAsBefore = Annotated[bool | None, FACES]
OF_A_STEP = ("paths", "out_folder", "device", "engine", "workers")
"""Options of `predict` that change neither answers nor pictures; each other one is a setting of the whole, a
field of `ShardSettings`."""
Readers = Annotated[
    int,
    typer.Option(
        "--workers", "--jobs", min=1, help="Processes that read ahead; answers do not depend on it."
    ),
]


def model_folder(model: Path | None) -> Path:
    """The ensemble folder; the package's own for None, and, as in `training.begin`, for "shipped" unless a
    folder has that name.

    Raises ModelError if that one is needed and the package has none.
    """
    from fovnet.decision.shipped import shipped_folder

    return (
        shipped_folder()
        if model is None or (str(model) == "shipped" and not model.exists())
        else model
    )


def kinds_included(kinds: str) -> list[str]:
    """The kinds of DICOM series named in `--include`.  Raises ConfigError for an unknown kind."""
    from fovnet.volume.dicom.triage import INCLUDABLE

    named = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    unknown = [kind for kind in named if kind not in INCLUDABLE]
    if unknown:
        hint = did_you_mean(unknown[0], INCLUDABLE)
        kinds_known = f"{hint} The" if hint else "the"
        raise ConfigError(
            "include-unknown",
            f"--include {unknown[0]}: no such kind of series; {kinds_known} kinds are "
            f"{', '.join(INCLUDABLE)}",
        )
    return named
