"""The ensemble that comes with the package, so that volumes can be predicted without training
first.

A folder in the package: the ensemble as `folder.py` has it, with its model card, the configuration
that made it, and SHA256SUMS of all its files (`sha256sum --check SHA256SUMS`).  It is made from the
results folder of a finished run, and contains no names of subjects or volumes.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fovnet.config.files import load_settings, write_settings
from fovnet.decision import novelty, orientation
from fovnet.decision.ensemble import load_ensemble
from fovnet.decision.folder import (
    FACTS_FILE_NAME,
    GRAPH_FILE_NAME,
    PEOPLE_FILE_NAME,
    RULE_FILE_NAME,
    ModelFolder,
)
from fovnet.decision.networks import write_graph_part
from fovnet.decision.parts import SUMS_FILE_NAME, write_sums
from fovnet.errors import ModelError
from fovnet.net.inference.engines import AUTO
from fovnet.records import read_json, read_tsv, replace_with, write_json
from fovnet.results import Results

MODEL_CARD_FILE = "model-card.md"
CONFIG_FILE = "config.yaml"
OPTIONAL_PARTS = (GRAPH_FILE_NAME, orientation.ORIENTATION_FILE_NAME, PEOPLE_FILE_NAME)
GREATEST_SHIPPED_BYTES = 15_000_000
PEOPLE_MEGABYTES = 12.0  # of people.npz beside them
SMALL_NUMBER = re.compile(r"\d{1,4}")
"""Ids that are small numbers are not searched for: they occur in any table."""


@dataclass(frozen=True)
class ShippedFolder:
    """A folder made for shipping: its number of members, and its size in bytes."""

    folder: Path
    member_count: int
    byte_count: int


def export_run(results: Results, folder: Path) -> ShippedFolder:
    """`folder`, filled with all that the use of a finished run's ensemble needs; weights of an
    earlier one are removed.

    Nothing is written before all checks have passed.  Raises ModelError if the folder holds
    something else ("shipped-other-folder"), a part is missing ("shipped-incomplete"), the parts
    together exceed GREATEST_SHIPPED_BYTES ("shipped-large"), or a text names a volume or a subject
    of the run ("shipped-names").
    """
    _refuse_foreign(folder)
    with tempfile.TemporaryDirectory() as draft_folder:
        draft_path = Path(draft_folder)
        _write_draft(results, draft_path)
        byte_count = sum(path.stat().st_size for path in draft_path.iterdir())
        if byte_count > GREATEST_SHIPPED_BYTES:
            raise ModelError(
                "shipped-large",
                f"{results.ensemble}: {byte_count / 1e6:.1f} MB, at most "
                f"{GREATEST_SHIPPED_BYTES / 1e6:g} MB are shipped; set ensemble.precision: "
                "float16 and a compact space (configs/compact.yaml), and run it again",
            )
        _refuse_private_names(draft_path, _private_names(results))
        member_count = load_ensemble(draft_path, "cpu", engine=AUTO).engine.member_count
        _replace_files(draft_path, folder)
    return ShippedFolder(folder, member_count, byte_count)


def _refuse_foreign(folder: Path) -> None:
    """Raise unless the folder does not exist, is empty, or was filled by `export_run` before: other
    files might be overwritten."""
    is_shipped = (folder / SUMS_FILE_NAME).is_file() and (folder / FACTS_FILE_NAME).is_file()
    if folder.is_dir() and any(folder.iterdir()) and not is_shipped:
        raise ModelError(
            "shipped-other-folder",
            f"{folder}: has files other than those of an exported ensemble; give another folder, "
            "for instance a new one",
        )


def _write_draft(results: Results, draft: Path) -> None:
    """Write all files to an empty folder, the checksums last."""
    if not (results.ensemble / FACTS_FILE_NAME).is_file():
        raise ModelError(
            "shipped-incomplete",
            f"{results.folder}: there is no {results.ensemble.name}/{FACTS_FILE_NAME} in it; give "
            "the results folder of a finished run (snakemake)",
        )
    facts = ModelFolder(results.ensemble).facts
    tuning_facts = _tuning_facts(results.ensemble / RULE_FILE_NAME)
    paths = [results.ensemble / novelty.NOVELTY_FILE_NAME, results.folder / MODEL_CARD_FILE]
    if (results.ensemble / orientation.ORIENTATION_FILE_NAME).exists():
        paths.append(results.ensemble / orientation.ORIENTATION_FILE_NAME)
    paths += [results.ensemble / member["weights"] for member in facts["members"]]
    for path in paths:
        if not path.is_file():
            raise ModelError(
                "shipped-incomplete",
                f"{path}: missing; finish the run first (snakemake), down to the report",
            )
        shutil.copyfile(path, draft / path.name)
    write_json(draft / FACTS_FILE_NAME, _without_marks(facts))
    write_json(draft / RULE_FILE_NAME, _without_marks(tuning_facts))
    settings = load_settings(results.folder / CONFIG_FILE)
    anonymous_settings = {
        "collections": {name: name for name in settings.collections},
        "results": Path(settings.results).name,
    }
    write_settings(draft / CONFIG_FILE, settings.model_copy(update=anonymous_settings))
    with suppress(ModelError):  # networks without a graph are computed by torch
        write_graph_part(draft)
    write_sums(draft, [path.name for path in draft.iterdir()])


def _tuning_facts(path: Path) -> dict[str, Any]:
    """The facts of a tuned rule's JSON.  Raises ModelError ("shipped-incomplete") if there is none
    that can be read."""
    try:
        return read_json(path)
    except (OSError, ValueError):
        raise ModelError(
            "shipped-incomplete",
            f"{path}: missing or unreadable; finish the run first (`fovnet tune`)",
        ) from None


def _without_marks(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts with the marks of the training subjects replaced by their numbers; the stamp is
    unchanged."""
    marks_by_split = facts.get("subjects") or {}
    return {
        **{name: value for name, value in facts.items() if name != "subjects"},
        "people": {split: len(split_marks) for split, split_marks in marks_by_split.items()},
    }


def _private_names(results: Results) -> set[str]:
    """The ids of the run's volumes and subjects, and the volumes' file names, except small
    numbers."""
    manifest_rows = read_tsv(results.slices / "manifest.tsv")
    private_names = {
        manifest_row[column]
        for manifest_row in manifest_rows
        for column in ("volume_id", "subject_id")
    }
    private_names |= {Path(manifest_row["path"]).name for manifest_row in manifest_rows}
    return {
        private_name
        for private_name in private_names
        if private_name and not SMALL_NUMBER.fullmatch(private_name)
    }


def _refuse_private_names(draft: Path, private_names: Iterable[str]) -> None:
    """Raise ModelError ("shipped-names") for the first text of the draft that contains one of the
    names."""
    sorted_private_names = sorted(set(private_names))
    for path in sorted(draft.iterdir()):
        if path.suffix in (".json", ".md", ".yaml"):
            text = path.read_text(encoding="utf-8")
            occurring_name = next(
                (name for name in sorted_private_names if _occurs_in(name, text)), None
            )
            if occurring_name is not None:
                raise ModelError(
                    "shipped-names",
                    f"{path.name}: names {occurring_name}, and nobody may be named in what is "
                    "shipped; set identifiers: hashed and make the report again",
                )


def _occurs_in(name: str, text: str) -> bool:
    """Whether a text contains a name as whole words, as it is or as JSON escapes it."""
    spellings = {name, json.dumps(name)[1:-1]}
    return any(
        re.search(rf"(?<![\w\-]){re.escape(spelling)}(?![\w\-])", text) for spelling in spellings
    )


def _replace_files(draft: Path, folder: Path) -> None:
    """Copy the draft's files to the folder, the checksums last; weights and orientation of an
    earlier ensemble are removed."""
    for path in sorted(draft.iterdir(), key=lambda file: (file.name == SUMS_FILE_NAME, file.name)):
        content = path.read_bytes()
        replace_with(folder / path.name, lambda file, content=content: file.write(content))  # type: ignore[misc]
    for stale_path in (
        *folder.glob("member-*.safetensors"),
        *(folder / part_name for part_name in OPTIONAL_PARTS),
    ):
        if not (draft / stale_path.name).exists():
            stale_path.unlink(missing_ok=True)
