"""`fovnet mercure`: a module of mercure, the DICOM orchestrator, which names the folders by the
environment, and takes the settings of a rule to the module in task.json."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from fovnet._version import __version__
from fovnet.cli.exporting import export_reports
from fovnet.cli.options import model_folder
from fovnet.cli.predicting import predict
from fovnet.config.files import parse_as
from fovnet.config.mercure import MercureSettings
from fovnet.decision.folder import ModelFolder
from fovnet.errors import CollectionError, ConfigError
from fovnet.records import read_json, read_tsv, write_text
from fovnet.regions import Vocabulary
from fovnet.report.exports.answers import StoredAnswer, read_answers
from fovnet.report.exports.bids import sidecar_facts

verbs = typer.Typer()
MERCURE_HELP = (
    "task.json may have settings in process.settings: model, device, include (as of `fovnet predict`), reports.\n\n"
    "result.json has the answer on each volume, as `fovnet export bids` writes it, and the series that are "
    "set aside. Structured reports are written beside it, which mercure sends on. A series that is "
    "refused or set aside is answered so, with status 0."
)
"""What the help of `mercure` ends with."""


@verbs.command(epilog=MERCURE_HELP)
def mercure() -> None:
    """Answer as a module of the DICOM orchestrator mercure: images of MERCURE_IN_DIR; result.json and structured
    reports in MERCURE_OUT_DIR."""
    in_folder = _folder_of_variable("MERCURE_IN_DIR")
    out_folder = _folder_of_variable("MERCURE_OUT_DIR")
    settings = _read_settings(in_folder / "task.json")
    networks_folder = model_folder(Path(settings.model) if settings.model else None)
    vocabulary = ModelFolder(networks_folder).vocabulary
    with TemporaryDirectory() as temporary_folder:
        folder = Path(temporary_folder)
        with suppress(typer.Exit):  # of refused volumes, which are answers too
            predict(
                [in_folder],
                folder,
                networks_folder,
                settings.device,
                pictures=False,
                pages=False,
                include=",".join(settings.include),
            )
        answers = _answers_in(folder, vocabulary)
        if answers and settings.reports:
            with suppress(typer.Exit):  # of volumes without one, which are told
                export_reports(folder, out_folder, vocabulary)
        found_rows = read_tsv(folder / "found.tsv")
    result = {
        "fovnet": __version__,
        "volumes": [sidecar_facts(answer, vocabulary, {}) for answer in answers],
        "set_aside": [
            {"kind": row["kind"], "reason": row["reason"]}
            for row in found_rows
            if row["kind"] not in ("volume", *settings.include)
        ],
    }
    write_text(out_folder / "result.json", json.dumps(result, indent=1) + "\n")


def _folder_of_variable(name: str) -> Path:
    """The folder that a variable of the environment names.  Raises ConfigError "mercure-folder"."""
    folder = Path(os.environ.get(name) or "unset")
    if not folder.is_dir():
        raise ConfigError(
            "mercure-folder", f"{name}: {folder}, where a folder is wanted; mercure sets it"
        )
    return folder


def _read_settings(path: Path) -> MercureSettings:
    """The settings of a task.  Raises ConfigError "mercure-task" for what is no task, and as
    `parse_as`."""
    try:
        raw_settings: dict[str, Any] = dict(read_json(path)["process"]["settings"])
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise ConfigError(
            "mercure-task",
            f"{path}: no task of a module ({fault!r}); mercure writes process.settings there",
        ) from fault
    return parse_as(MercureSettings, raw_settings, f"{path}, process.settings")


def _answers_in(folder: Path, vocabulary: Vocabulary) -> list[StoredAnswer]:
    """The answers of `predict`; none where all series are set aside."""
    try:
        return read_answers(folder, vocabulary)
    except CollectionError:
        return []
