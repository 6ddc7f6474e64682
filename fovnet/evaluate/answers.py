"""Cases from the answers of `fovnet predict` and the labels of a collection: an ensemble evaluated
on volumes that it was not made from.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.answer import SPANS_TABLE_NAME
from fovnet.decision.earlier_answers import is_unchanged
from fovnet.decision.fitting.tuning import are_classes_right
from fovnet.errors import CollectionError
from fovnet.evaluate.cases import Case, case_of_refusal
from fovnet.evaluate.matching import BY_PATH, Match, file_exists, match_answers
from fovnet.evaluate.reading import read_case_fields
from fovnet.evaluate.slices import predicted_classes
from fovnet.records import read_json, read_tsv, why_no_folder
from fovnet.regions import BUILT_IN, Vocabulary
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import Collection
from fovnet.volume.collection.truth import divide_labels, find_classes_at_heights
from fovnet.volume.slices.stack import compute_edges_mm
from fovnet.volume.sources.source import source_of


@dataclass(frozen=True)
class Matching:
    """The answers in a folder, and which of them belong to the labelled volumes of a collection."""

    folder: Path
    collection: Collection
    answers: Sequence[Mapping[str, Any]]
    matches: Sequence[Match]

    @classmethod
    def of(cls, folder: Path, collection: Collection) -> Matching:
        """From disk.  Raises CollectionError as `read_answer_facts`."""
        answers = read_answer_facts(folder)
        return cls(folder, collection, answers, match_answers(collection, answers))


def cases_of_answers(
    matching: Matching, vocabulary: Vocabulary, network_vocabulary: Vocabulary | None = None
) -> tuple[list[Case], list[str], list[str]]:
    """One case per labelled volume that has an answer, in the collection's order; the names of the
    labelled volumes without an answer; and the names of the answers on volumes that are not
    labelled.

    network_vocabulary  in which the collection was read, if it has parts of the regions
    Raises CollectionError if no volume is labelled, if there is no answer on any of the labelled
    volumes, if an answer is in other classes, or if its file has changed since.
    """
    collection = matching.collection
    matches = matching.matches
    if not matches:
        raise CollectionError(
            "collection-unlabelled",
            f"{collection.table_path}: no labelled volume; wanted is a regions.tsv beside it, "
            "with the true regions.",
        )
    if not any(match.answer for match in matches):
        raise CollectionError(
            "answers-lacking",
            f"{matching.folder}: no answer for any of the {len(matches)} labelled volumes of "
            f"{collection.table_path}, by path, content, end of path, or a name that is not one of "
            "several. Predict them into this folder first.",
        )
    cases = []
    for match in matches:
        if match.matched_by == BY_PATH:
            _refuse_changed_file(match.labelled_row, match.answer)
        if match.answer:
            cases.append(
                _case_of_answer(
                    match.labelled_row,
                    match.answer,
                    collection.region_rows_by_volume[match.volume_id],
                    vocabulary,
                    network_vocabulary or vocabulary,
                )
            )
    matched_ids = {match.answer["volume_id"] for match in matches if match.answer}
    unanswered_ids = [match.volume_id for match in matches if not match.answer]
    answered_ids = [answer["volume_id"] for answer in matching.answers]
    unlabelled_ids = [volume_id for volume_id in answered_ids if volume_id not in matched_ids]
    return cases, unanswered_ids, unlabelled_ids


def read_answer_facts(
    answers: Path, keys: Container[str] = ("volume_id", "path", "status", "message")
) -> list[Mapping[str, Any]]:
    """The JSON of every volume in the spans.tsv of a folder, in its order.

    keys    that each JSON must hold
    Raises CollectionError "answers-missing" where the table or a JSON is missing or damaged.
    """
    return list(_read_facts_one_by_one(answers, keys))


def _read_facts_one_by_one(answers: Path, keys: Container[str]) -> Iterator[Mapping[str, Any]]:
    """As `read_answer_facts`, one JSON at a time: a caller that needs only the first does not read
    a hundred thousand."""
    file_read = answers / SPANS_TABLE_NAME
    if reason := why_no_folder(answers):
        raise CollectionError(
            "answers-missing",
            f"{answers}: {reason}; give the folder that `fovnet predict --out` wrote.",
        )
    try:
        volume_ids = dict.fromkeys(row["volume_id"] for row in read_tsv(file_read, strict=True))
        if not volume_ids:
            raise ValueError("no volume in it")
        for volume_id in volume_ids:
            file_read = answers / f"{volume_id}.json"
            if Path(volume_id).name != volume_id:
                raise ValueError("a name that leads elsewhere")
            answer_facts = read_json(file_read)
            if answer_facts.get("volume_id") != volume_id:
                raise ValueError(f"it is about {answer_facts.get('volume_id')!r}")
            missing_keys = [key for key in keys if key not in answer_facts]
            if missing_keys:
                raise ValueError(f"{missing_keys[0]} is not in it")
            yield answer_facts
    except (OSError, ValueError, KeyError, TypeError) as fault:
        fault_in_words = getattr(fault, "strerror", None) or fault
        raise CollectionError(
            "answers-missing",
            f"{file_read}: no readable answer ({fault_in_words}). Give the folder that `fovnet "
            "predict --out` wrote; if it is that one, give that command again: it makes what is "
            "missing or damaged, and writes the table last.",
        ) from None


def find_built_in_vocabulary(answers: Path) -> str:
    """The name of the built-in vocabulary whose parts the first answer in a folder tells of;
    "default" where it tells of none.  Raises CollectionError as `read_answer_facts`."""
    part_names = {part["region"] for part in _read_first_facts(answers).get("parts") or ()}
    for name, built_in in BUILT_IN.items():
        if part_names and part_names.issubset(built_in.part_names):
            return name
    return "default"


def vocabulary_of_answers(answers: Path, network_vocabulary: Vocabulary) -> Vocabulary:
    """The regions that the first answer in a folder is in: those that networks of these classes
    answer, or the classes themselves.  Found before labels are read, which would report every line as
    a fault.

    Raises CollectionError "answers-other-regions", and as `read_answer_facts`.
    """
    first_facts = _read_first_facts(answers)
    if not first_facts:
        return network_vocabulary.whole
    if tuple(first_facts["classes"]) == network_vocabulary.classes:
        return network_vocabulary
    _refuse_other_classes(first_facts, network_vocabulary.whole)
    return network_vocabulary.whole


def _read_first_facts(answers: Path) -> Mapping[str, Any]:
    """The JSON of the first volume that names classes; empty where none does."""
    for facts in _read_facts_one_by_one(answers, ("volume_id",)):
        if facts.get("classes"):
            return facts
    return {}


def _refuse_other_classes(answer_facts: Mapping[str, Any], vocabulary: Vocabulary) -> None:
    """Raises CollectionError "answers-other-regions" unless the answer is in the classes of the
    vocabulary."""
    if tuple(answer_facts["classes"]) != vocabulary.classes:
        raise CollectionError(
            "answers-other-regions",
            f"{answer_facts['volume_id']}: answered with the classes "
            f"{', '.join(answer_facts['classes'])}, wanted {', '.join(vocabulary.classes)}. Give "
            "its networks' --regions FILE.",
        )


def _refuse_changed_file(row: VolumeRow, answer: Mapping[str, Any] | None) -> None:
    """Raises CollectionError "answers-stale" if the file has been replaced since the answer: labels
    and answer are of different volumes.

    Its content is read only if its size or modification time differ; a file that no longer exists
    is not checked.
    """
    if not answer or not answer.get("file") or not file_exists(row):
        return
    if not is_unchanged(source_of(row.path), answer["file"]):
        raise CollectionError(
            "answers-stale",
            f"{row.volume_id}: {row.path} is another file than the one that was answered. Predict "
            "it again into that folder: what is as it was is kept.",
        )


def _case_of_answer(
    row: VolumeRow,
    answer: Mapping[str, Any],
    region_rows: Sequence[RegionRow],
    vocabulary: Vocabulary,
    network_vocabulary: Vocabulary,
) -> Case:
    """The case of a labelled volume from its answer; of a refused one the case of its refusal."""
    if "raw" not in answer:
        return case_of_refusal(
            volume_id=row.volume_id,
            subject_id=row.subject_id,
            collection="",
            message=answer["message"],
            attributes=row.attributes,
            class_count=len(vocabulary.classes),
        )
    _refuse_other_classes(answer, vocabulary)
    z_mm, covered_slices, vox_to_ras, counted_heights = (
        np.array(answer[field_name]) for field_name in ("z_mm", "covers", "vox_to_ras", "counted")
    )
    slice_count = answer.get("counted_slices") or int(covered_slices[-1, 1]) + 1
    truth = find_classes_at_heights(
        z_mm, counted_heights, slice_count, region_rows, network_vocabulary
    )
    part_truth = None
    if vocabulary != network_vocabulary:
        truth, part_truth = divide_labels(truth, network_vocabulary)
    return Case(
        volume_id=row.volume_id,
        subject_id=row.subject_id,
        collection="",
        attributes=row.attributes,
        z_mm=z_mm.astype(float),
        edges_mm=compute_edges_mm(z_mm, covered_slices, vox_to_ras),
        truth=truth,
        part_truth=part_truth,
        pixels=None,
        **read_case_fields(answer),
    )


def volume_outcomes(cases: Sequence[Case], vocabulary: Vocabulary) -> Iterator[dict[str, Any]]:
    """One row per volume: the regions that are true and those predicted, the number of right
    slices, and of wrong slices that are empty.

    Empty slices are counted apart because labels often include a volume's black margin, where no
    region can be seen.
    """
    for case in cases:
        is_wrong = ~are_classes_right(predicted_classes(case, "decided", vocabulary), case.truth)
        yield {
            "volume_id": case.volume_id,
            "status": case.status,
            "truth": _region_names(case.truth, vocabulary),
            "predicted": _region_names(case.decided_labels, vocabulary),
            "right": int((~is_wrong).sum()),
            "slices": len(is_wrong),
            "wrong_empty": 0 if case.is_dark is None else int((is_wrong & case.is_dark).sum()),
        }


def _region_names(labels: NDArray[np.bool_], vocabulary: Vocabulary) -> str:
    return "+".join(
        vocabulary.classes[region_index]
        for region_index in np.flatnonzero(labels[:, :-1].any(axis=0))
    )
