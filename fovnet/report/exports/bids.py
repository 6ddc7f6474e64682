"""Answers as a BIDS derivative: one JSON sidecar per volume, with its BodyPart, whether or not the
image is in a BIDS data set.

Source: Brain Imaging Data Structure 1.10, "BIDS derivatives", "BIDS URI" and "MRI: metadata"
(BodyPart, BodyPartDetails).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fovnet._version import __version__
from fovnet.errors import ConfigError, ModelError
from fovnet.evaluate.cases import StoredSpan
from fovnet.records import read_json, write_text
from fovnet.regions import Vocabulary
from fovnet.report.exports.anatomy import anatomy_of
from fovnet.report.exports.answers import StoredAnswer

BIDS_VERSION = "1.10.0"
DESCRIPTION_FILE = "dataset_description.json"
BIDS_NAME = re.compile(
    r"(?P<entities>sub-[A-Za-z0-9]+(?:_[a-z]+-[A-Za-z0-9+]+)*)_(?P<suffix>[A-Za-z0-9]+)"
)
IGNORE_LINE = "*_desc-fovnet_*"
"""The line of .bidsignore: the validator reports an error for a sidecar whose image is in another
data set.

bids-validator 3 matches with ignore 7.0.8 of npm, whose first of two stars that are followed by
text takes no character with which that text begins: `*_desc-fovnet_*.json` hides no name with a
session or a run.  The validator of npm (bids-validator 1.15) knows no derivatives, and fails on
any.
"""
README = """Body regions that fovnet {version} saw in MRI volumes: one JSON per volume, `BodyPart` if every
region is sure, `FovnetStatus`, `FovnetAnswers` region by region, `FovnetSpans` in scanner millimetres
(`FovnetExtents`: sure or unsure), and the image in `Sources`. The images are not moved.  Not for diagnosis.
To validate: pip install bids-validator-deno; the bids-validator of npm (1.15) knows no derivatives.
"""
SESSION = re.compile(r"_ses-([A-Za-z0-9]+)")


def write_bids(answers: Sequence[StoredAnswer], vocabulary: Vocabulary, folder: Path) -> list[Path]:
    """Writes dataset_description.json and a sidecar for every answer, refused ones included; README
    if missing, and the line of .bidsignore that hides the sidecars from the validator.

    A file with a BIDS name keeps its entities and gets `desc-fovnet`; any other becomes a subject
    named by its volume_id.  Volumes that would share a sidecar become such subjects too, with eight
    hexadecimal digits added, as does one whose subject is already a BIDS name. `Sources` are BIDS
    URIs, resolved by `DatasetLinks`, for images in a BIDS data set, otherwise file names.  Raises
    ConfigError "bids-other-dataset" if `folder` is a data set that fovnet has not made: its
    description would be lost.
    """
    _refuse_other_dataset(folder / DESCRIPTION_FILE)
    uri_by_dataset_name = _earlier_dataset_links(folder)
    name_by_dataset_root = _dataset_names(answers, folder, uri_by_dataset_name)
    uri_by_dataset_name |= {
        dataset_name: _relative_uri(dataset_root, folder)
        for dataset_root, dataset_name in name_by_dataset_root.items()
    }
    for shared_path in _find_shared_paths(answers):
        _remove_earlier_sidecar(folder / shared_path, {answer.volume_id for answer in answers})
    _ignore_sidecars(folder / ".bidsignore")
    if not (folder / "README").exists():  # an existing one is kept
        write_text(folder / "README", README.format(version=__version__))
    written_sidecars = [
        _write_json(folder / path, sidecar_facts(answer, vocabulary, name_by_dataset_root))
        for path, answer in zip(_sidecar_paths(answers), answers, strict=True)
    ]
    description: dict[str, Any] = {
        "Name": "fovnet: body regions",
        "BIDSVersion": BIDS_VERSION,
        "DatasetType": "derivative",
        "GeneratedBy": [{"Name": "fovnet", "Version": __version__}],
    }
    if uri_by_dataset_name:
        description["DatasetLinks"] = uri_by_dataset_name
    return [_write_json(folder / DESCRIPTION_FILE, description), *written_sidecars]


def _find_shared_paths(answers: Sequence[StoredAnswer]) -> list[Path]:
    """The paths of sidecars that several answers would have."""
    answer_count_by_path = Counter(map(sidecar_path, answers))
    return [path for path, answer_count in answer_count_by_path.items() if answer_count > 1]


def _sidecar_paths(answers: Sequence[StoredAnswer]) -> list[Path]:
    """The path of each answer's sidecar, all different."""
    shared_paths = _find_shared_paths(answers)
    bids_subjects = {sidecar_path(answer).parts[0] for answer in answers if _bids_name(answer)}
    paths = []
    for answer in answers:
        path = sidecar_path(answer)
        has_own_subject = bool(_bids_name(answer)) or path.parts[0] not in bids_subjects
        has_own_path = has_own_subject and path not in shared_paths
        paths.append(sidecar_path(answer, has_own_path=has_own_path))
    return paths


def _ignore_sidecars(path: Path) -> None:
    """Adds IGNORE_LINE to a .bidsignore; other lines stay."""
    lines = []
    if path.exists():
        lines = path.read_text(encoding="utf-8").splitlines()
    other_lines = [line for line in lines if line.strip() != IGNORE_LINE]
    write_text(path, "\n".join([*other_lines, IGNORE_LINE]) + "\n", keep_same=True)


def _dataset_with(path: Path) -> Path | None:
    """The innermost BIDS data set that a file lies in."""
    return next(
        (folder for folder in path.parents if os.path.isfile(folder / DESCRIPTION_FILE)),  # noqa: PTH113  (permission)
        None,
    )


def _relative_uri(root: Path, folder: Path) -> str:
    """The relative URI from the derivative to a data set; symbolic links are resolved, because `..`
    is relative to their targets."""
    return quote(os.fsencode(os.path.relpath(os.path.realpath(root), os.path.realpath(folder))))


def _earlier_dataset_links(folder: Path) -> dict[str, str]:
    """The DatasetLinks of an earlier export into the folder, whose sidecars are kept: a URI by the
    name of each data set; {} without one."""
    try:
        earlier_links = read_json(folder / DESCRIPTION_FILE).get("DatasetLinks", {})
        return {str(dataset_name): str(uri) for dataset_name, uri in earlier_links.items()}
    except (OSError, ValueError, AttributeError):
        return {}


def _dataset_names(
    answers: Sequence[StoredAnswer], folder: Path, uri_by_dataset_name: Mapping[str, str]
) -> dict[Path, str]:
    """A name for every BIDS data set with images, by its root: its existing name, otherwise the
    next free one of `raw`, `raw2` and so on."""
    name_by_uri = {uri: dataset_name for dataset_name, uri in uri_by_dataset_name.items()}
    dataset_roots = {_dataset_with(answer.path) for answer in answers}
    name_by_dataset_root: dict[Path, str] = {}
    for dataset_root in sorted(filter(None, dataset_roots)):
        earlier_name = name_by_uri.get(_relative_uri(dataset_root, folder))
        used_names = {*uri_by_dataset_name, *name_by_dataset_root.values()}
        name_by_dataset_root[dataset_root] = earlier_name or _free_name(used_names)
    return name_by_dataset_root


def _free_name(used_names: Collection[str]) -> str:
    """The first of `raw`, `raw2`, `raw3` and so on that is not used."""
    candidates = chain(["raw"], (f"raw{number}" for number in count(2)))
    return next(candidate for candidate in candidates if candidate not in used_names)


def _source_uri(path: Path, name_by_dataset_root: Mapping[Path, str]) -> str:
    """The BIDS URI of an image in a BIDS data set, otherwise its file name."""
    dataset_root = _dataset_with(path)
    if dataset_root is None:
        return path.name
    return f"bids:{name_by_dataset_root[dataset_root]}:{path.relative_to(dataset_root).as_posix()}"


def _remove_earlier_sidecar(path: Path, volume_ids: set[str]) -> None:
    """Removes a sidecar of one of these volumes, written when no other volume had its path."""
    try:
        if read_json(path)["FovnetVolume"] in volume_ids:
            path.unlink()
    except (OSError, ValueError, KeyError):
        return


def _refuse_other_dataset(path: Path) -> None:
    """Raises ConfigError "bids-other-dataset" if the description is of a data set that fovnet did
    not make."""
    try:
        generator_names = ["fovnet"]
        if path.exists():
            generator_names = [generator["Name"] for generator in read_json(path)["GeneratedBy"]]
    except (OSError, ValueError, KeyError, TypeError):
        generator_names = []
    if "fovnet" not in generator_names:
        raise ConfigError(
            "bids-other-dataset",
            f"--out {path.parent}: {path.name} exists, is of a data set that fovnet did not make, "
            "and would be overwritten; give another folder, such as derivatives/fovnet",
        )


def _bids_name(answer: StoredAnswer) -> re.Match[str] | None:
    """The entities and suffix of a BIDS file name; None for any other name.

    One series of several in a folder or archive (a path with #) does not have the BIDS name of that
    folder or archive.
    """
    if "#" in answer.path.name:
        return None
    return BIDS_NAME.fullmatch(answer.path.name.split(".")[0])


def sidecar_path(answer: StoredAnswer, *, has_own_path: bool = True) -> Path:
    """Path of an answer's JSON in the derivative; a unique one if another answer has the same
    path."""
    bids_name = None
    if has_own_path:
        bids_name = _bids_name(answer)
    data_type = "anat"
    if bids_name:
        entities = bids_name["entities"]
        suffix = bids_name["suffix"]
        if answer.path.parent.name in ("anat", "dwi", "func", "fmap", "perf"):
            data_type = answer.path.parent.name
    else:
        entities = f"sub-{re.sub('[^A-Za-z0-9]', '', answer.volume_id) or 'unnamed'}"
        suffix = "MR"
        if not has_own_path:
            entities += hashlib.sha256(answer.volume_id.encode()).hexdigest()[:8]
    subject_folder = Path(entities.partition("_")[0])
    session_match = SESSION.search(entities)
    if session_match:
        subject_folder /= f"ses-{session_match[1]}"
    stem_without_desc = re.sub("_desc-[A-Za-z0-9+]+", "", entities)
    return subject_folder / data_type / f"{stem_without_desc}_desc-fovnet_{suffix}.json"


def sidecar_facts(
    answer: StoredAnswer, vocabulary: Vocabulary, name_by_dataset_root: Mapping[Path, str]
) -> dict[str, Any]:
    """The content of the sidecar: BodyPart if the status is ok and a term names all that is shown;
    always the status, every span, and the image as a BIDS URI by the names of data sets.

    `FovnetAnswers` has for each region `answer` (yes, no or unsure) and `probability`, where the
    answer was given region by region; `BodyPartDetails` are then the spans of the yes alone.  Both,
    and `FovnetPartSpans`, are of parts of regions too, where something is said of them.
    """
    facts: dict[str, Any] = {}
    with suppress(ModelError):  # of regions that are not sure, or have no term
        body_part = anatomy_of(answer, vocabulary).body_part
        if body_part:
            facts["BodyPart"] = body_part
    span_texts = [
        f"{span.region} {span.from_mm:.0f} to {span.to_mm:.0f} mm" for span in answer.finest_spans
    ]
    if span_texts:
        facts["BodyPartDetails"] = "; ".join(span_texts)
    facts |= {
        "Sources": [_source_uri(answer.path, name_by_dataset_root)],
        "FovnetVolume": answer.volume_id,
        "FovnetStatus": answer.status,
        "FovnetMessage": answer.message,
        "FovnetConfidence": answer.confidence,
    }
    if answer.statements:
        facts["FovnetAnswers"] = {
            statement.region: {"answer": statement.answer, "probability": statement.probability}
            for statement in (*answer.statements, *answer.parts)
        }
    if answer.status != "refused":
        facts["FovnetExtents"] = "unsure"
        if answer.are_extents_sure:
            facts["FovnetExtents"] = "sure"
    facts["FovnetSpans"] = [_span_facts(span, answer) for span in answer.spans]
    if answer.parts:
        parts_answer = answer.in_parts(answer.divided_regions)
        facts["FovnetPartSpans"] = [_span_facts(span, parts_answer) for span in answer.part_spans]
    return facts


def _span_facts(span: StoredSpan, answer: StoredAnswer) -> dict[str, Any]:
    """A span of an answer, its confidence only where its region is surely shown."""
    return {
        "region": span.region,
        "first_slice": span.first_slice,
        "last_slice": span.last_slice,
        "from_mm": span.from_mm,
        "to_mm": span.to_mm,
        "confidence": answer.sure_confidence(span),
    }


def _write_json(path: Path, content: dict[str, Any]) -> Path:
    """Writes an indented JSON, atomically; returns its path."""
    return write_text(path, json.dumps(content, indent=2) + "\n", keep_same=True)
