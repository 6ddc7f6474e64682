"""What stops an evaluation whose figures would be too good, or would be of something else.

A subject is known by a mark: twelve digits of a hash of collection and id, so that a model may carry the marks of the people it
learned from, and the test split can be held against them without naming anybody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fovnet.errors import CollectionError
from fovnet.evaluate.cases import Case
from fovnet.regions import Vocabulary
from fovnet.volume.collection import read_collection, truth
from fovnet.volume.pack import Pack

SPLIT = "test"
SIMULATED = "phantom"       # the collection that a run simulates


def mark(subject: str) -> str:
    """The mark of a subject, given as collection/subject_id."""
    return hashlib.sha256(subject.encode()).hexdigest()[:12]


def learned_from(pack: Pack, begun: Mapping[str, Any] | None = None, seed: int = 0) -> dict[str, list[str]]:
    """The marks of the subjects in the training and in the validation split, as `ensemble.json` and `decision.json` keep them.

    begun  facts of the ensemble whose networks were trained further on the pack, if any: the marks that it carries are taken over.
           Simulated people have the same ids with every seed: where its `seed` was another one, those of the pack are other people
    """
    of_split: dict[str, set[str]] = {"train": set(), "validation": set()}
    for record in pack.records:
        if record.split in of_split and record.status == "ok":
            of_split[record.split].add(mark(record.subject))
    before = begun or {}
    others = before.get("fovnet", {}).get("seed") != seed
    simulated = {mark(record.subject) for record in pack.records if others and record.collection == SIMULATED}
    for split, marks in (before.get("subjects") or {}).items():
        of_split[split] |= set(marks) - simulated
    return {split: sorted(marks) for split, marks in of_split.items()}


def check_not_learned(cases: Sequence[Case], made_from: Mapping[str, Mapping[str, Any]]) -> None:
    """Nothing, when no evaluated subject taught what is evaluated.  Raises CollectionError "evaluate-tuned-on-test" with the first who did.

    made_from  by file: its facts, of which "subjects" holds the marks by split; files without, made by an older fovnet, are passed over
    """
    evaluated = {mark(case.subject_id): case.subject_id for case in cases if len(case.z_mm)}
    for file, facts in made_from.items():
        for split, marks in (facts.get("subjects") or {}).items():
            leaked = sorted(evaluated[one] for one in evaluated.keys() & set(marks))
            if leaked:
                raise CollectionError(
                    "evaluate-tuned-on-test",
                    f"{leaked[0]}: in the test split, and {file} was made from this subject's volumes ({split}; {len(leaked)} such "
                    "subjects), none is wanted, because the figures would be too good. Run `fovnet ensemble` and `fovnet tune` again on "
                    "this split.",
                )


def check_tables(pack: Pack, collections: Mapping[str, Path], vocabulary: Vocabulary) -> None:
    """Nothing, when the tables still say of the test volumes what they said when these were cut; tables that are gone are passed over.

    Raises CollectionError "evaluate-truth-changed" with the first volume whose labels are others now, and whatever is wrong in the tables.
    """
    for name, folder in collections.items():
        if not (folder / "volumes.tsv" if folder.is_dir() else folder).exists():
            continue
        table = read_collection(folder, vocabulary)
        for index, record in enumerate(pack.records):
            if record.collection != name or record.split != SPLIT or record.status != "ok":
                continue
            cut = pack.truth[record.first_row : record.first_row + record.slices]
            now = truth(pack.stack(index), table.regions.get(record.volume_id, ()), vocabulary)
            if not np.array_equal(cut, now):
                raise CollectionError(
                    "evaluate-truth-changed",
                    f"{record.name_in_reports}: {folder} labels {int((cut != now).any(axis=1).sum())} of its {len(cut)} slices otherwise "
                    "than when they were cut, the same labels are wanted. Run `fovnet slice` again, and what follows it.",
                )
