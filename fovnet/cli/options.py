"""Options shared by several verbs: paths that are checked before any work is done, and help
texts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from fovnet.errors import ConfigError
from fovnet.own_files import refuse_foreign
from fovnet.records import read_columns, why_unwritable
from fovnet.results import shipped_folder
from fovnet.volume.dicom.triage import INCLUDABLE_KINDS
from fovnet.words import did_you_mean


def path_of_word(text: str) -> Path:
    """The path of an argument.  Raises ConfigError "path-empty" for an empty one, which pathlib
    would read as the current folder."""
    if not text:
        raise ConfigError(
            "path-empty",
            "'': an empty path, perhaps from an unset shell variable; give a file or a folder ('.' for this "
            "one)",
        )
    return Path(text)


def _refuse_unwritable(path: Path | None, kind: str, option: str = "--out ") -> None:
    """Raises ConfigError "out-unwritable", before any work is done, if this "file" or "folder"
    cannot be written.

    option  as the message names it; "" for an argument
    """
    if path is not None and (reason := why_unwritable(path, folder=kind == "folder")):
        raise ConfigError(
            "out-unwritable", f"{option}{path}: {reason}; give a {kind} that can be written"
        )


def _writable_folder(path: Path | None) -> Path | None:
    """The folder of an option.  Raises ConfigError "out-unwritable" if it cannot be written."""
    _refuse_unwritable(path, "folder")
    return path


def folder_to_fill(path: Path) -> Path:
    """The folder of an argument.  Raises ConfigError "out-unwritable" if it cannot be written."""
    _refuse_unwritable(path, "folder", option="")
    return path


def file_out(
    is_own: Callable[[Path], bool],
    help_text: str,
    own_kind: str = "a table of this command's own columns",
    ending: str = "",
) -> Any:
    """The option `--out` for a file.

    is_own    whether an existing file is of the kind that the verb writes: then it is overwritten
    own_kind  that kind in words
    ending    that the name must have, such as .png; "" for any
    The option raises ConfigError "out-other-file" for any other non-empty file: a volume, a
    configuration, another table; and "out-ending" for a name with another ending.
    """

    def check(path: Path | None) -> Path | None:
        _refuse_unwritable(path, "file")
        if path is not None and os.path.isfile(path) and path.stat().st_size and not is_own(path):  # noqa: PTH113  (pathlib raises for a path that cannot be asked about)
            raise ConfigError(
                "out-other-file",
                f"--out {path}: exists, is {_content_in_words(path)}, where {own_kind} is wanted, and would be "
                "overwritten; give another name, or remove it",
            )
        if path is not None and not path.name.lower().endswith(ending):
            raise ConfigError(
                "out-ending",
                f"--out {path}: give a name that ends in {ending}, the kind of file written",
            )
        return path

    return typer.Option(
        "--out", callback=check, parser=path_of_word, metavar="PATH", help=help_text
    )


def folder_out(recogniser_by_file: Mapping[str, Callable[[Path], bool]], help_text: str) -> Any:
    """The option `--out` for a folder of several files.

    recogniser_by_file  {name of a file that the verb writes: whether a file is of its kind}

    The option raises ConfigError "out-foreign" if a file of one of these names is of another kind.
    """

    def check(path: Path | None) -> Path | None:
        _refuse_unwritable(path, "folder")
        if path is not None:
            for name, is_own in recogniser_by_file.items():
                refuse_foreign(path / name, is_own)
        return path

    return typer.Option(
        "--out", callback=check, parser=path_of_word, metavar="PATH", help=help_text
    )


def _content_in_words(path: Path) -> str:
    """What a file is, in words."""
    columns = read_columns(path)
    if len(columns) <= 1 or not columns[0].isprintable():
        return "not a table"
    return f"a table of {len(columns)} columns, the first {columns[0][:40]!r}"


def table_of(module: str, constant: str = "COLUMNS") -> Callable[[Path], bool]:
    """A function that tells whether a file is a table with the columns that a constant of a module
    has; it imports the module only when called."""
    return lambda path: read_columns(path) == list(getattr(import_module(module), constant))


FolderOut = partial(typer.Option, callback=_writable_folder, parser=path_of_word, metavar="PATH")
PathArgument = partial(typer.Argument, parser=path_of_word, metavar="PATH")
PathOption = partial(typer.Option, parser=path_of_word, metavar="PATH")
ENGINE_HELP = (
    "auto, torch or onnx: the library that computes the networks; auto: the fastest installed. The answers "
    "are the same."
)
ConfigFile = Annotated[
    Path, PathOption("--config", help="YAML file; see configs/ of the repository for examples.")
]
WITHOUT_HELP = (
    "A feature to leave out, such as masks; may be repeated. An unknown name lists all features."
)
MODEL = PathOption(
    help="The ensemble folder of a workflow run or of `fovnet adapt`; default: the networks that come with "
    "the package.",
    show_default=False,
)
ModelFolder = Annotated[Path | None, MODEL]
Workers = Annotated[int, typer.Option(min=1, help="Processes; the result does not depend on it.")]
Answers = Annotated[Path, PathArgument(help="The folder that `fovnet predict --out` wrote.")]
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


class LogFormat(StrEnum):
    """How a service writes its log."""

    text = "text"
    json = "json"


LOG_FORMAT: Any = typer.Option(
    "--log-format", help="The log on stderr: words, or a JSON object a line."
)
Pictures = Annotated[bool, PICTURES]
Pages = Annotated[bool, PAGES]
FacesOrAsBefore = Annotated[bool | None, FACES]
OPTIONS_OF_A_STEP = ("paths", "out_folder", "device", "engine", "workers")
"""Options of `predict` that change neither answers nor pictures; each other one is a setting of the
whole, a field of `ShardSettings`."""
Readers = Annotated[
    int,
    typer.Option(
        "--workers", "--jobs", min=1, help="Processes that read ahead; answers do not depend on it."
    ),
]


def model_folder(model: Path | None) -> Path:
    """The ensemble folder; the package's own for None, and, as in `training.begin`, for "shipped"
    unless a folder has that name.

    Raises ModelError if that one is needed and the package has none.
    """
    if model is None or (str(model) == "shipped" and not model.exists()):
        return shipped_folder()
    return model


@contextmanager
def device_and_engine_as_options() -> Iterator[None]:
    """A device or an engine that is refused while the block runs is named by its option."""
    try:
        yield
    except ConfigError as fault:
        if fault.code not in ("device-unknown", "device-missing", "engine-unknown"):
            raise
        raise ConfigError(fault.code, f"--{fault.sentence}") from fault


def kinds_included(kinds: str) -> list[str]:
    """The kinds of DICOM series named in `--include`.  Raises ConfigError for an unknown kind."""
    kind_names = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    for name in kind_names:
        if name not in INCLUDABLE_KINDS:
            hint = did_you_mean(name, INCLUDABLE_KINDS)
            advice = f"the kinds are {', '.join(INCLUDABLE_KINDS)}"
            if hint:
                advice = f"{hint} The kinds are {', '.join(INCLUDABLE_KINDS)}"
            raise ConfigError(
                "include-unknown", f"--include {name}: no such kind of series; {advice}"
            )
    return kind_names
