"""What an evaluation is computed from: labelled volumes with their truth, probabilities and
decisions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.statements import Statement
from fovnet.errors import CollectionError
from fovnet.regions import Vocabulary

STATUSES = ("ok", "partly", "uncertain", "refused")
STAGES = ("raw", "smoothed", "decided")  # of a slice's class, on its way to the answer


@dataclass(frozen=True)
class StoredSpan:
    """A contiguous run of slices given one region: slice numbers inclusive, heights in scanner
    millimetres."""

    region: str
    from_mm: float
    to_mm: float
    first_slice: int
    last_slice: int
    confidence: float


@dataclass(frozen=True)
class DecidedBorder:
    """One border of a decision: its height in mm, and the ends of its 90 % interval."""

    below: str
    above: str
    mm: float
    low_mm: float
    high_mm: float


@dataclass(frozen=True)
class PartAnswers:
    """What was answered on the parts of a volume's regions.

    statements  on every part, feet to head
    spans       in the regions that are surely shown
    borders     between their parts, and at their ends
    """

    statements: tuple[Statement, ...]
    spans: tuple[StoredSpan, ...]
    borders: tuple[DecidedBorder, ...]


@dataclass(frozen=True)
class Case:
    """One labelled volume of the evaluated split, with its probabilities and its decision.

    z_mm                      (s,) ascending
    truth                     (s, k) labels in the order of the vocabulary's classes, from feet to
                              head; a row may hold two (a side region such as spine beside one chain
                              region)
    raw_probabilities         (s, k) probabilities, each row sums to one
    smoothed_probabilities    (s, k) likewise
    decided_labels            (s, k) labels, as the truth
    slice_confidence          (s,) probability of the decided label
    pixels                    (s, 128, 128) where pictures are wanted
    calibrated_probabilities  (s, k) raw probabilities under the rule's temperature
    decided_borders           with their intervals
    set_probability           that the volume shows the predicted regions and no others
    doubt_codes               codes
    is_dark                   (s,) whether a slice is all dark
    edges_mm                  (s + 1,) where its slices begin and end, feet to head: the grid of
                              borders and spans
    volume_confidence         the volume's confidence
    statements                on its regions, each that at least min_extent_mm are shown; empty
                              where nothing was said region by region
    are_extents_sure          whether nothing is doubted of the whole volume
    part_truth                (s, q) the parts of regions that are labelled; all parts of a region
                              where only the region is; None where the networks know no parts
    part_answers              on them; None where nothing was said of parts
    An uncertain volume carries the answer it would have given.  A refused volume has no slices (s =
    0), and the reason in `message`.  What decisions of an older version lack is None.
    """

    volume_id: str
    subject_id: str
    collection: str
    status: str
    message: str
    attributes: Mapping[str, str]
    z_mm: NDArray[np.float64]
    truth: NDArray[np.bool_]
    raw_probabilities: NDArray[np.float64]
    smoothed_probabilities: NDArray[np.float64]
    decided_labels: NDArray[np.bool_]
    slice_confidence: NDArray[np.float64]
    spans: tuple[StoredSpan, ...]
    pixels: NDArray[np.uint8] | None
    side_mm: float
    calibrated_probabilities: NDArray[np.float64] | None = None
    decided_borders: tuple[DecidedBorder, ...] | None = None
    set_probability: float | None = None
    doubt_codes: tuple[str, ...] = ()
    is_dark: NDArray[np.bool_] | None = None
    edges_mm: NDArray[np.float64] | None = None
    volume_confidence: float | None = None
    statements: tuple[Statement, ...] = ()
    min_extent_mm: float = 10.0
    are_extents_sure: bool | None = None
    part_truth: NDArray[np.bool_] | None = None
    part_answers: PartAnswers | None = None

    @property
    def is_answered(self) -> bool:
        """Whether there is no doubt about the volume as a whole: its slices are then wrong as
        rarely as the rule states."""
        if self.are_extents_sure is None:
            return self.status == "ok"
        return self.are_extents_sure


def case_of_refusal(
    *,
    volume_id: str,
    subject_id: str,
    collection: str,
    message: str,
    attributes: Mapping[str, str],
    class_count: int,
) -> Case:
    """The case of a volume that was refused."""
    return Case(
        volume_id=volume_id,
        subject_id=subject_id,
        collection=collection,
        status="refused",
        message=message,
        attributes=attributes,
        z_mm=np.zeros(0),
        truth=np.zeros((0, class_count), dtype=bool),
        raw_probabilities=np.zeros((0, class_count)),
        smoothed_probabilities=np.zeros((0, class_count)),
        decided_labels=np.zeros((0, class_count), dtype=bool),
        slice_confidence=np.zeros(0),
        spans=(),
        pixels=None,
        side_mm=0.0,
    )


@dataclass(frozen=True, kw_only=True)
class ListedVolume:
    """One volume of the collections, by the names that reports give it; labelled or not, refused or
    not.

    subject_id     the person: collection and id, as in the split
    split          "" for a volume for prediction only, and for a refused one whose subject has none
    code, message  why it was refused
    is_hashed      whether volume_id is a hash and not the name of a file
    """

    volume_id: str
    subject_id: str
    collection: str = ""
    split: str = ""
    is_labelled: bool = False
    status: str = "ok"
    slices: int = 0
    code: str = ""
    message: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    is_hashed: bool = False


def refuse_unfit_cases(cases: Sequence[Case], vocabulary: Vocabulary) -> None:
    """Raise CollectionError, naming the first volume that does not fit, unless the cases can be
    evaluated together."""
    volume_ids: set[str] = set()
    for case in cases:
        if case.volume_id in volume_ids:
            raise CollectionError(
                "evaluate-volume-twice",
                f"{case.volume_id}: listed twice among the evaluated volumes. Give each volume "
                "its own volume_id.",
            )
        volume_ids.add(case.volume_id)
        _check_shapes(case, vocabulary)
    if not any(len(case.z_mm) for case in cases):
        refused_in_words = f" ({len(cases)} refused)" if cases else ""
        raise CollectionError(
            "evaluate-nothing",
            f"The evaluated split holds no labelled volume with slices{refused_in_words}. Label "
            "more volumes in regions.tsv, or give the test split a larger share of the subjects.",
        )


def refuse_shared_subjects(manifest: Iterable[ListedVolume]) -> None:
    """Raise unless every subject is in one split only.  Raises CollectionError naming the first
    subject who is not.

    Volumes without a split, which are for prediction only, do not count.
    """
    split_of_subject: dict[str, str] = {}
    for volume in manifest:
        if not volume.split:
            continue
        subject_split = split_of_subject.setdefault(volume.subject_id, volume.split)
        if subject_split != volume.split:
            raise CollectionError(
                "evaluate-split-leak",
                f"{volume.subject_id}: this subject has volumes in the splits {subject_split!r} "
                f"and {volume.split!r}, which would make the figures too good. Correct subject_id "
                "in volumes.tsv and prepare the collection again.",
            )


def _check_shapes(case: Case, vocabulary: Vocabulary) -> None:
    """Raises CollectionError unless status, slices and shapes of a case fit together, and its
    values are valid."""
    slice_count = len(case.z_mm)
    class_count = len(vocabulary.classes)
    if case.status not in STATUSES:
        raise CollectionError(
            "evaluate-status",
            f"{case.volume_id}: status {case.status!r}, not one of {', '.join(STATUSES)}. Predict "
            "it again.",
        )
    if case.status == "refused":
        if slice_count:
            raise CollectionError(
                "evaluate-status",
                f"{case.volume_id}: refused, yet it has {slice_count} slices. Predict it again.",
            )
        return
    for array_name, array, expected_shape in (
        ("truth", case.truth, (slice_count, class_count)),
        ("raw probabilities", case.raw_probabilities, (slice_count, class_count)),
        ("smoothed probabilities", case.smoothed_probabilities, (slice_count, class_count)),
        ("decided labels", case.decided_labels, (slice_count, class_count)),
        ("confidence", case.slice_confidence, (slice_count,)),
    ):
        if np.shape(array) != expected_shape:
            raise CollectionError(
                "evaluate-lengths",
                f"{case.volume_id}: {array_name} has shape {np.shape(array)}, not "
                f"{expected_shape} (its slices, the vocabulary's classes). Prepare and predict "
                "this volume again, with one vocabulary.",
            )
    if case.calibrated_probabilities is not None and np.shape(case.calibrated_probabilities) != (
        slice_count,
        class_count,
    ):
        raise CollectionError(
            "evaluate-lengths",
            f"{case.volume_id}: calibrated probabilities have shape "
            f"{np.shape(case.calibrated_probabilities)}, not {(slice_count, class_count)}. Decide "
            "again.",
        )
    _check_values(case)


def _check_values(case: Case) -> None:
    """Raises CollectionError unless each slice is labelled none or a region, values are finite, and
    heights increase."""
    has_region = case.truth[:, :-1].any(axis=1)
    is_none = case.truth[:, -1]
    if not np.array_equal(has_region, ~is_none):
        slice_index = int(np.flatnonzero(has_region == is_none)[0])
        labels_in_words = "both none and a region" if is_none[slice_index] else "nothing at all"
        raise CollectionError(
            "evaluate-truth",
            f"{case.volume_id}: slice {slice_index} is labelled {labels_in_words}, either is "
            "wanted. Correct its rows in regions.tsv.",
        )
    for array_name, array in (
        ("raw", case.raw_probabilities),
        ("smoothed", case.smoothed_probabilities),
        ("confidence", case.slice_confidence),
    ):
        if not np.isfinite(array).all():
            raise CollectionError(
                "evaluate-not-finite",
                f"{case.volume_id}: {array_name} holds a value that is not a number from 0 to 1. "
                "Predict it again.",
            )
    if not (np.diff(case.z_mm) > 0).all():
        raise CollectionError(
            "evaluate-heights",
            f"{case.volume_id}: z_mm does not increase from slice to slice (feet to head). Prepare "
            "it again.",
        )
