"""What several verbs are given: paths that are tried before any work is done, help that is said twice."""

from __future__ import annotations

from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fovnet.errors import ConfigError


def path_of_word(text: str) -> Path:
    """The path of a word.  Raises ConfigError "path-empty" for an empty one, which pathlib takes for the current folder."""
    if not text:
        raise ConfigError("path-empty", "'': an empty path, as a shell's variable that is not set leaves; give a file or a folder ('.' for "
                                        "this one)")
    return Path(text)


def _to_write(path: Path | None, folder: bool, named: str = "--out ") -> Path | None:
    """The path given as `--out`, once it is known that it can be written.  Raises ConfigError "out-unwritable" before any work is done."""
    from fovnet.records import unwritable

    if path is not None and (why := unwritable(path, folder=folder)):
        raise ConfigError("out-unwritable", f"{named}{path}: {why}; give a {'folder' if folder else 'file'} that can be written")
    return path


def _file_to_write(path: Path | None) -> Path | None:
    """As `_to_write`, of a file.  Raises ConfigError "out-other-file" where one lies there that no verb wrote: a volume, a configuration, a
    collection's table.  What a verb wrote before is written anew."""
    if path is not None and path.is_file() and not _is_a_verbs(path):
        raise ConfigError("out-other-file", f"--out {path}: there is a file that is no table of this kind; give another name, or remove it")
    return _named_file_to_write(path)


INPUT_COLUMNS = {"volume_id", "subject_id", "participant_id", "session_id", "label", "tissue", "series", "from_mm", "first_slice"}
"""Columns of what users write or keep: tables of a collection, of its regions, of people, of tissues, answers."""


def _is_a_verbs(path: Path) -> bool:
    """Whether a file may have been written by a verb with `--out`: empty, facts with fovnet's stamp, or a table of numbers."""
    from fovnet.records import read_json

    try:
        if path.stat().st_size == 0:
            return True
        with path.open(encoding="utf-8") as file:
            line = file.readline(10_000)
        if line.startswith("{"):
            return "fovnet" in read_json(path)
    except (OSError, ValueError):
        return False
    columns = line.rstrip("\n").split("\t")
    return len(columns) > 1 and not INPUT_COLUMNS & set(columns)


def _named_file_to_write(path: Path | None) -> Path | None:
    return _to_write(path, folder=False)


def _folder_to_write(path: Path | None) -> Path | None:
    return _to_write(path, folder=True)


def folder_to_fill(path: Path) -> Path:
    """The same of a folder that is an argument."""
    _to_write(path, folder=True, named="")
    return path


FileOut, OwnFileOut, FolderOut = (                     # the second where a verb knows its own table by more than that
    partial(typer.Option, callback=tried, parser=path_of_word, metavar="PATH")
    for tried in (_file_to_write, _named_file_to_write, _folder_to_write)
)
Given, GivenBy = (partial(kind, parser=path_of_word, metavar="PATH") for kind in (typer.Argument, typer.Option))   # what is read
ENGINE_HELP = "auto, torch, onnx or openvino: what computes the networks; auto: the fastest that is installed.  The answers are the same."
ConfigFile = Annotated[Path, GivenBy("--config", help="YAML file; configs/ of the repository has some to start from.")]
WITHOUT_HELP = "A feature that is not varied, such as masks; may be repeated. A wrong name is answered with what was meant, or with all."
ModelFolder = Annotated[Path | None, GivenBy(
    help="An ensemble folder, as a workflow run leaves it; without, the networks that come with the package.", show_default=False)]
Workers = Annotated[int, typer.Option(min=1, help="Processes; the result does not depend on it.")]
Answers = Annotated[Path, Given(help="The folder that `fovnet predict --out` wrote.")]
Regions = Annotated[str, typer.Option(help="The vocabulary of the ensemble: default, or its YAML file.")]
INCLUDE_HELP = "DICOM series that are set aside, to be read all the same: localizer,derived,phase,single,repeat."


def model_folder(model: Path | None) -> Path:
    """The ensemble folder that is meant, "shipped" being the package's as in `training.begin` where no folder is called so.

    Raises ModelError where none is named and none came with the package.
    """
    from fovnet.decision.shipped import shipped_folder

    return shipped_folder() if model is None or (str(model) == "shipped" and not model.exists()) else model


def kinds_included(kinds: str) -> list[str]:
    """The kinds of DICOM series named in `--include`.  Raises ConfigError for one that there is not."""
    from fovnet.volume.dicom.triage import INCLUDABLE

    named = [kind.strip() for kind in kinds.split(",") if kind.strip()]
    unknown = [kind for kind in named if kind not in INCLUDABLE]
    if unknown:
        near = get_close_matches(unknown[0].lower(), INCLUDABLE, n=1)
        hint = f"did you mean {near[0]!r}? The" if near else "the"
        raise ConfigError("include-unknown", f"--include {unknown[0]}: no such kind of series; {hint} kinds are {', '.join(INCLUDABLE)}")
    return named
