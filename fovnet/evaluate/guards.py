"""Checks that stop an evaluation of subjects used in training or tuning, or of labels that have
changed.

A subject is identified by a mark, twelve hexadecimal digits of a hash of collection and id: a model
carries the marks of the subjects it was made from, and the test split can be checked against them
without names.
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
from fovnet.volume.collection.pack import Pack
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.collection.truth import divide_labels, find_classes_of_cuts

TEST_SPLIT = "test"
SIMULATED_COLLECTION = "phantom"  # the collection that a run simulates


def mark_of_subject(subject: str) -> str:
    """The mark of a subject, given as collection/subject_id."""
    return hashlib.sha256(subject.encode()).hexdigest()[:12]


def training_marks(
    pack: Pack, origin: Mapping[str, Any] | None = None, seed: int = 0
) -> dict[str, list[str]]:
    """The marks of the subjects in the training and in the validation split, as `ensemble.json` and
    `decision.json` keep them.

    origin  facts of the ensemble whose networks were trained further on the pack, if any: its marks
            are included. Simulated subjects have the same ids for every seed: if its `seed` was
            another, marks of the pack's simulated subjects are left out of them
    """
    marks_by_split: dict[str, set[str]] = {"train": set(), "validation": set()}
    for record in pack.records:
        if record.split in marks_by_split and record.status == "ok":
            marks_by_split[record.split].add(mark_of_subject(record.subject))
    origin = origin or {}
    marks_of_other_subjects: set[str] = set()
    if origin.get("fovnet", {}).get("seed") != seed:
        marks_of_other_subjects = {
            mark_of_subject(record.subject)
            for record in pack.records
            if record.collection == SIMULATED_COLLECTION
        }
    for split, marks in (origin.get("subjects") or {}).items():
        marks_by_split[split] |= set(marks) - marks_of_other_subjects
    return {split: sorted(marks) for split, marks in marks_by_split.items()}


def refuse_learned_subjects(
    cases: Sequence[Case], made_from: Mapping[str, Mapping[str, Any]]
) -> None:
    """Raise unless no evaluated subject was used to make what is evaluated.  Raises CollectionError
    "evaluate-tuned-on-test" naming the first who was.

    made_from  facts by file, whose "subjects" holds the marks by split; files of an older fovnet,
               without marks, are not checked
    """
    subject_by_mark = {
        mark_of_subject(case.subject_id): case.subject_id for case in cases if len(case.z_mm)
    }
    for file, file_facts in made_from.items():
        for split, marks in (file_facts.get("subjects") or {}).items():
            leaked_subjects = sorted(
                subject_by_mark[subject_mark]
                for subject_mark in subject_by_mark.keys() & set(marks)
            )
            if leaked_subjects:
                raise CollectionError(
                    "evaluate-tuned-on-test",
                    f"{leaked_subjects[0]}: in the test split, and {file} was made from this "
                    f"subject's volumes ({split}; {len(leaked_subjects)} such subjects), which "
                    "would make the figures too good. Run `fovnet ensemble` and `fovnet tune` "
                    "again on this split.",
                )


def refuse_changed_labels(
    pack: Pack, collections: Mapping[str, Path], vocabulary: Vocabulary
) -> None:
    """Raise unless the tables give the test volumes the labels that they had when cut; tables that
    no longer exist are not checked.

    Raises CollectionError "evaluate-truth-changed" naming the first volume whose labels differ, and
    as `read_collection`.
    """
    for collection_name, folder in collections.items():
        if not (folder / "volumes.tsv" if folder.is_dir() else folder).exists():
            continue
        tables_now = read_collection(folder, vocabulary)
        for record_index, record in enumerate(pack.records):
            if (
                record.collection != collection_name
                or record.split != TEST_SPLIT
                or record.status != "ok"
            ):
                continue
            rows_of_volume = slice(record.first_row, record.first_row + record.slice_count)
            cut_labels = pack.truth[rows_of_volume]
            labels_now = find_classes_of_cuts(
                pack.stack_of_volume(record_index),
                tables_now.region_rows_by_volume.get(record.volume_id, ()),
                vocabulary,
            )
            if pack.part_truth is not None:
                cut_labels = np.column_stack([cut_labels, pack.part_truth[rows_of_volume]])
                labels_now = np.column_stack(divide_labels(labels_now, vocabulary))
            if not np.array_equal(cut_labels, labels_now):
                raise CollectionError(
                    "evaluate-truth-changed",
                    f"{record.name_in_reports}: {folder} labels "
                    f"{int((cut_labels != labels_now).any(axis=1).sum())} of its "
                    f"{len(cut_labels)} slices differently from when they were cut. Run `fovnet "
                    "slice` again, and the steps after it.",
                )
