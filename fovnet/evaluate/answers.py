"""Cases from the answers of `fovnet predict`, held against what a collection says is true: how well an ensemble does on volumes that
took no part in making it.
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
from fovnet.decision.kept import unchanged
from fovnet.decision.tuning import right
from fovnet.errors import CollectionError
from fovnet.evaluate.cases import Case
from fovnet.evaluate.reading import said_borders, said_doubts, said_empty, stretches
from fovnet.evaluate.slices import said_classes
from fovnet.records import read_json, read_tsv
from fovnet.regions import Vocabulary
from fovnet.volume.collection import Collection, RegionRow, VolumeRow, truth_at
from fovnet.volume.dicom.address import split_address
from fovnet.volume.slices import edges_of


def answered_cases(answers: Path, collection: Collection, vocabulary: Vocabulary) -> tuple[list[Case], list[str], list[str]]:
    """One case a labelled volume that has an answer, in the collection's order; the names of those without one, set aside or not given;
    and the names of the answers that are about no labelled volume.

    An answer belongs to the volume whose file it is about; where it is about no labelled file, to the one of its name.  Raises
    CollectionError where `answers` holds none of the labelled volumes, where none is labelled, or where one has other regions, or is about
    a file that is another one now.
    """
    by_path, by_name = _read(answers)
    labelled = [row for row in collection.volumes if collection.regions.get(row.volume_id)]
    files = {_real(row.path) for row in labelled}
    named = {name: said for name, said in by_name.items() if _real(Path(said["path"])) not in files}
    found = [by_path.get(_real(row.path)) or named.get(row.volume_id) for row in labelled]
    if not labelled:
        raise CollectionError("collection-unlabelled", f"{collection.path}: no labelled volume; its regions.tsv tells what is true.")
    if not any(found):
        raise CollectionError("answers-lacking", f"{answers}: no answer for any of the {len(labelled)} labelled volumes of "
                                                 f"{collection.path}. Predict them into this folder first.")
    pairs = list(zip(labelled, found, strict=True))
    for row, said in pairs:
        if said and _real(Path(said["path"])) == _real(row.path):
            _refuse_stale(row, said)
    cases = [_case(row, said, collection.regions[row.volume_id], vocabulary) for row, said in pairs if said]
    used = {said["volume_id"] for said in found if said}
    return cases, [row.volume_id for row, said in pairs if not said], [name for name in by_name if name not in used]


def by_name_alone(answers: Path, collection: Collection) -> list[str]:
    """The labelled volumes whose answer is on another file, of another content, and theirs by its name alone: a converted copy, or the scan
    of somebody else; nobody can tell.  Of files that are gone nothing is known."""
    by_path, by_name = _read(answers)
    labelled = [row for row in collection.volumes if collection.regions.get(row.volume_id) and _real(row.path) not in by_path]
    pairs = [(row, by_name[row.volume_id].get("file")) for row in labelled if row.volume_id in by_name]
    return [row.volume_id for row, file in pairs if file and split_address(row.path)[0].exists() and not unchanged(row.path, file)]


def read_facts(answers: Path, keys: Container[str] = ("volume_id", "path", "status", "message")) -> list[Mapping[str, Any]]:
    """What the JSONs behind the spans.tsv of a folder hold, in its order.

    keys    what each of them has to tell
    Raises CollectionError "answers-missing" where there are none.
    """
    return list(_each(answers, keys))


def _each(answers: Path, keys: Container[str]) -> Iterator[Mapping[str, Any]]:
    """The same one by one: a hundred thousand of them are not read for the sake of the first."""
    file = answers / TABLE
    try:
        names = dict.fromkeys(row["volume_id"] for row in read_tsv(file, strict=True))
        if not names:
            raise ValueError("no volume in it")
        for name in names:
            file = answers / f"{name}.json"
            if Path(name).name != name:
                raise ValueError("a name that leads elsewhere")
            told = read_json(file)
            if told.get("volume_id") != name:
                raise ValueError(f"it is about {told.get('volume_id')!r}")
            lacking = [key for key in keys if key not in told]
            if lacking:
                raise ValueError(f"{lacking[0]} is not in it")
            yield told
    except (OSError, ValueError, KeyError, TypeError) as fault:
        why = getattr(fault, "strerror", None) or fault
        raise CollectionError("answers-missing", f"{file}: no readable answer ({why}). Give the folder that `fovnet predict --out` wrote; "
                                                 "if it is that one, give that command again: it makes what is missing or damaged, and "
                                                 "writes the table last.") from None


def refuse_other_regions(answers: Path, vocabulary: Vocabulary) -> None:
    """Nothing, where the first answer is in these classes: before labels are read, of which every line would else be at fault.

    Raises CollectionError "answers-other-regions", and as `read_facts`.
    """
    first = next((facts for facts in _each(answers, ("volume_id",)) if facts.get("classes")), None)
    if first is not None:
        _refuse_classes(first, vocabulary)


def _refuse_classes(facts: Mapping[str, Any], vocabulary: Vocabulary) -> None:
    if tuple(facts["classes"]) != vocabulary.classes:
        raise CollectionError("answers-other-regions", f"{facts['volume_id']}: answered with the classes {', '.join(facts['classes'])}, "
                                                       f"wanted {', '.join(vocabulary.classes)}. Give its networks' --regions FILE.")


def _read(answers: Path) -> tuple[dict[str, Mapping[str, Any]], dict[str, Mapping[str, Any]]]:
    """The answers by the file they are about, where it is about that file alone, and by name."""
    facts = read_facts(answers)
    return {_real(Path(one["path"])): one for one in facts}, {one["volume_id"]: one for one in facts}


def _real(path: Path) -> str:
    """Where links lead; Path.resolve fails where they lead in a circle."""
    return os.path.realpath(path)


def _refuse_stale(row: VolumeRow, said: Mapping[str, Any]) -> None:
    """Raises CollectionError "answers-stale" where the file that was answered has been replaced: labels and answer are not of one volume.

    It is read where its size or its time of change is another one; one that is gone tells nothing.
    """
    if said.get("file") and split_address(row.path)[0].exists() and not unchanged(row.path, said["file"]):
        raise CollectionError("answers-stale", f"{row.volume_id}: {row.path} is another file than the one that was answered. Predict it "
                                               "again into that folder: what is as it was is kept.")


def _case(row: VolumeRow, said: Mapping[str, Any], labels: Sequence[RegionRow], vocabulary: Vocabulary) -> Case:
    if "raw" not in said:
        return _refused(row, said["message"], len(vocabulary.classes))
    _refuse_classes(said, vocabulary)
    return Case(
        row.volume_id, row.subject_id, "", said["status"], said["message"], row.attributes, np.array(said["z_mm"], dtype=float),
        _truth(said, labels, vocabulary), np.array(said["raw"], dtype=float), np.array(said["smoothed"], dtype=float),
        np.array(said["decided"], dtype=bool), np.array(said["slice_confidence"], dtype=float), stretches(said["spans"]), None,
        float(said["side_mm"]), borders=said_borders(said.get("boundaries")), set_probability=said.get("set_probability"),
        doubts=said_doubts(said), empty=said_empty(said),
        edges_mm=edges_of(*(np.array(said[name]) for name in ("z_mm", "covers", "vox_to_ras"))), sure=said.get("confidence"),
    )


def _refused(row: VolumeRow, message: str, k: int) -> Case:
    nothing = np.zeros((0, k))
    return Case(
        row.volume_id, row.subject_id, "", "refused", message, row.attributes, np.zeros(0), nothing.astype(bool), nothing, nothing,
        nothing.astype(bool), np.zeros(0), (), None, 0.0,
    )


def _truth(said: Mapping[str, Any], labels: Sequence[RegionRow], vocabulary: Vocabulary) -> NDArray[np.bool_]:
    slices = said.get("counted_slices") or int(said["covers"][-1][1]) + 1
    return truth_at(np.array(said["z_mm"]), np.array(said["counted"]), slices, labels, vocabulary)


def shown(cases: Sequence[Case], vocabulary: Vocabulary) -> Iterator[dict[str, Any]]:
    """A row a volume: what is true, what was said, how many of its slices were said rightly, and how many of those said wrongly are empty.

    Whoever labels a head from end to end labels the black margin of its volume too; nobody can see a head there.
    """
    for case in cases:
        wrong = ~right(said_classes(case, "decided", vocabulary), case.truth)
        true, said = (_named(labels, vocabulary) for labels in (case.truth, case.decided))
        yield {"volume_id": case.volume_id, "status": case.status, "truth": true, "said": said, "right": int((~wrong).sum()),
               "slices": len(wrong), "wrong_empty": 0 if case.empty is None else int((wrong & case.empty).sum())}


def _named(labels: NDArray[np.bool_], vocabulary: Vocabulary) -> str:
    return "+".join(vocabulary.classes[column] for column in np.flatnonzero(labels[:, :-1].any(axis=0)))
