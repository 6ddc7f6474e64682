"""Cases from the answers of `fovnet predict` and the labels of a collection: an ensemble evaluated on volumes
that it was not made from.
"""

from __future__ import annotations

import os
from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import TABLE
from fovnet.decision.fitting.tuning import right
from fovnet.decision.kept import unchanged
from fovnet.errors import CollectionError
from fovnet.evaluate.cases import Case, refused_case
from fovnet.evaluate.reading import fields_of
from fovnet.evaluate.slices import predicted_classes
from fovnet.records import read_json, read_tsv
from fovnet.regions import Vocabulary
from fovnet.volume.collection.tables import Collection, RegionRow, VolumeRow, truth_at
from fovnet.volume.dicom.address import split_address
from fovnet.volume.slices.stack import edges_of
from fovnet.volume.sources.source import source_of


def answered_cases(
    answers: Path, collection: Collection, vocabulary: Vocabulary
) -> tuple[list[Case], list[str], list[str]]:
    """One case per labelled volume that has an answer, in the collection's order; the names of the labelled
    volumes without an answer; and the names of the answers on volumes that are not labelled.

    An answer belongs to the labelled volume whose file it was computed on, or if there is none, to the one of
    the same name.  Raises CollectionError if no volume is labelled, if `answers` holds none of the labelled
    volumes, if an answer is in other classes, or if its file has changed since.
    """
    by_path, by_name = _read(answers)
    labelled = [row for row in collection.volumes if collection.regions.get(row.volume_id)]
    files = {_real(row.path) for row in labelled}
    named = {name: answer for name, answer in by_name.items() if _real(Path(answer["path"])) not in files}
    found = [by_path.get(_real(row.path)) or named.get(row.volume_id) for row in labelled]
    if not labelled:
        raise CollectionError(
            "collection-unlabelled",
            f"{collection.path}: no labelled volume; wanted is a regions.tsv beside it, with the true "
            "regions.",
        )
    if not any(found):
        raise CollectionError(
            "answers-lacking",
            f"{answers}: no answer for any of the {len(labelled)} labelled volumes of "
            f"{collection.path}. Predict them into this folder first.",
        )
    pairs = list(zip(labelled, found, strict=True))
    for row, answer in pairs:
        if answer and _real(Path(answer["path"])) == _real(row.path):
            _refuse_stale(row, answer)
    cases = [
        _case(row, answer, collection.regions[row.volume_id], vocabulary) for row, answer in pairs if answer
    ]
    used = {answer["volume_id"] for answer in found if answer}
    return (
        cases, [row.volume_id for row, answer in pairs if not answer],
        [name for name in by_name if name not in used],
    )


def by_name_alone(answers: Path, collection: Collection) -> list[str]:
    """The labelled volumes whose answer has their name, but was computed on another file of another content:
    a converted copy, or another subject's scan, which cannot be distinguished.  Labelled files that no longer
    exist are not checked."""
    by_path, by_name = _read(answers)
    labelled = [
        row
        for row in collection.volumes
        if collection.regions.get(row.volume_id) and _real(row.path) not in by_path
    ]
    pairs = [(row, by_name[row.volume_id].get("file")) for row in labelled if row.volume_id in by_name]
    there = [(row, file) for row, file in pairs if file and _is_there(row)]
    return [row.volume_id for row, file in there if not unchanged(source_of(row.path), file)]


def read_facts(
    answers: Path, keys: Container[str] = ("volume_id", "path", "status", "message")
) -> list[Mapping[str, Any]]:
    """The JSON of every volume in the spans.tsv of a folder, in its order.

    keys    that each JSON must hold
    Raises CollectionError "answers-missing" where the table or a JSON is missing or damaged.
    """
    return list(_each(answers, keys))


def _each(answers: Path, keys: Container[str]) -> Iterator[Mapping[str, Any]]:
    """As `read_facts`, one JSON at a time: a caller that needs only the first does not read a hundred
    thousand."""
    file = answers / TABLE
    try:
        names = dict.fromkeys(row["volume_id"] for row in read_tsv(file, strict=True))
        if not names:
            raise ValueError("no volume in it")
        for name in names:
            file = answers / f"{name}.json"
            if Path(name).name != name:
                raise ValueError("a name that leads elsewhere")
            facts = read_json(file)
            if facts.get("volume_id") != name:
                raise ValueError(f"it is about {facts.get('volume_id')!r}")
            lacking = [key for key in keys if key not in facts]
            if lacking:
                raise ValueError(f"{lacking[0]} is not in it")
            yield facts
    except (OSError, ValueError, KeyError, TypeError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise CollectionError(
            "answers-missing",
            f"{file}: no readable answer ({why}). Give the folder that `fovnet predict --out` wrote; "
            "if it is that one, give that command again: it makes what is missing or damaged, and "
            "writes the table last.",
        ) from None


def refuse_other_regions(answers: Path, vocabulary: Vocabulary) -> None:
    """Raise unless the first answer is in these classes.  Checked before labels are read, which would report
    every line as a fault.

    Raises CollectionError "answers-other-regions", and as `read_facts`.
    """
    first = next((facts for facts in _each(answers, ("volume_id",)) if facts.get("classes")), None)
    if first is not None:
        _refuse_classes(first, vocabulary)


def _refuse_classes(facts: Mapping[str, Any], vocabulary: Vocabulary) -> None:
    if tuple(facts["classes"]) != vocabulary.classes:
        raise CollectionError(
            "answers-other-regions",
            f"{facts['volume_id']}: answered with the classes {', '.join(facts['classes'])}, "
            f"wanted {', '.join(vocabulary.classes)}. Give its networks' --regions FILE.",
        )


def _read(answers: Path) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """The answers by the file they were computed on, and by name."""
    facts = read_facts(answers)
    return {_real(Path(one["path"])): one for one in facts}, {one["volume_id"]: one for one in facts}


def _real(path: Path) -> str:
    """The path with links resolved; Path.resolve would fail on links that form a cycle."""
    return os.path.realpath(path)


def _refuse_stale(row: VolumeRow, answer: Mapping[str, Any]) -> None:
    """Raises CollectionError "answers-stale" if the file has been replaced since the answer: labels and
    answer are of different volumes.

    Its content is read only if its size or modification time differ; a file that no longer exists is not
    checked.
    """
    if answer.get("file") and _is_there(row) and not unchanged(source_of(row.path), answer["file"]):
        raise CollectionError(
            "answers-stale",
            f"{row.volume_id}: {row.path} is another file than the one that was answered. Predict it "
            "again into that folder: what is as it was is kept.",
        )


def _is_there(row: VolumeRow) -> bool:
    return split_address(row.path)[0].exists()


def _case(
    row: VolumeRow, answer: Mapping[str, Any], labels: Sequence[RegionRow], vocabulary: Vocabulary
) -> Case:
    if "raw" not in answer:
        return refused_case(
            row.volume_id, row.subject_id, "", answer["message"], row.attributes, len(vocabulary.classes)
        )
    _refuse_classes(answer, vocabulary)
    z_mm, covers, vox_to_ras, counted = (
        np.array(answer[name]) for name in ("z_mm", "covers", "vox_to_ras", "counted")
    )
    slices = answer.get("counted_slices") or int(covers[-1, 1]) + 1
    return Case(
        volume_id=row.volume_id, subject_id=row.subject_id, collection="", attributes=row.attributes,
        z_mm=z_mm.astype(float), edges_mm=edges_of(z_mm, covers, vox_to_ras),
        truth=truth_at(z_mm, counted, slices, labels, vocabulary), pixels=None, **fields_of(answer),
    )


def shown(cases: Sequence[Case], vocabulary: Vocabulary) -> Iterator[dict[str, Any]]:
    """One row per volume: the regions that are true and those predicted, the number of right slices, and of
    wrong slices that are empty.

    Empty slices are counted apart because labels often include a volume's black margin, where no region can
    be seen.
    """
    for case in cases:
        wrong = ~right(predicted_classes(case, "decided", vocabulary), case.truth)
        true, predicted = (_named(labels, vocabulary) for labels in (case.truth, case.decided))
        yield {
            "volume_id": case.volume_id, "status": case.status, "truth": true, "predicted": predicted,
            "right": int((~wrong).sum()), "slices": len(wrong),
            "wrong_empty": 0 if case.empty is None else int((wrong & case.empty).sum()),
        }


def _named(labels: NDArray[np.bool_], vocabulary: Vocabulary) -> str:
    return "+".join(vocabulary.classes[column] for column in np.flatnonzero(labels[:, :-1].any(axis=0)))
