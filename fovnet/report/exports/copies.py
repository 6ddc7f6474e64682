"""Copies of the source images whose headers name the predicted part of the body; the sources are never
changed.

A copy has UIDs of its own, those of all that it says, so that the same copy has the same ones in every
export.  The copies of a volume are a separate series: all images of a series name the same part of the body,
and volumes of one series or object may show different ones.  The source's value of every changed attribute is
kept in the copy's Original Attributes Sequence. Source: DICOM PS3.3, C.12.1.1.9 (original attributes),
C.7.3.1 (Body Part Examined), 10.5 (general anatomy).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from pydicom import dcmread
from pydicom.dataset import Dataset
from pydicom.sequence import Sequence

from fovnet.errors import ConfigError, ModelError
from fovnet.records import clear_unfinished, replace_with
from fovnet.regions import Term, Vocabulary
from fovnet.report.exports.anatomy import Anatomy, anatomy_of
from fovnet.report.exports.answers import StoredAnswer, read_answers
from fovnet.report.exports.dicom_ownership import (
    is_our_dicom,
    refuse_foreign,
    refuse_other_series,
    withdraw,
)
from fovnet.report.exports.identity import content_of, uid_for
from fovnet.report.exports.originals import (
    UTF_8,
    Original,
    despite_header,
    image_keys,
    images_answered,
    originals_of,
    say_nothing,
)
from fovnet.volume.collection.body_part import regions_named
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.header import read_dataset, without_warnings
from fovnet.volume.dicom.pixels import set_transfer_syntax
from fovnet.words import join_names

NUMBERED = "[0-9][0-9][0-9][0-9]*.dcm"
ALL_LETTERS = (UTF_8, "GB18030")
CHANGED = ("SOPInstanceUID", "SeriesInstanceUID", "BodyPartExamined", "AnatomicRegionSequence")
SIDES = ("Laterality", "ImageLaterality")
STRUCTURE = "PrimaryAnatomicStructureSequence"
PAIRED = ("LOWERLIMB", "PELVISLOWEXTREMT")
"""Terms for paired parts: their series must have a Laterality, empty if unknown (Type 2C)."""
WRITER = ("ImplementationClassUID", "ImplementationVersionName", "SourceApplicationEntityTitle")
"""Elements of the file meta information that name the writing program; replaced by those of pydicom."""


def refuse_beside_sources(answers: Path, folder: Path) -> None:
    """Raises ConfigError "copies-beside-sources" if `folder` holds a source or is inside one, sources of
    refused volumes included: copies written there would be read as sources, or replace one."""
    # Path.resolve and is_dir raise on circular links or without permission
    place = Path(os.path.realpath(folder))
    for answer in read_answers(answers):
        source = Path(os.path.realpath(split_address(answer.path)[0]))
        inside = {place, Path(os.path.realpath(folder / answer.volume_id))} & {
            source,
            *source.parents,
        }
        within = inside or (os.path.isdir(source) and source in place.parents)  # noqa: PTH112
        if within and (answer.images is not None or answer.status == "refused"):
            raise ConfigError(
                "copies-beside-sources",
                f"--out {folder}: overlaps with the sources in {answer.path}, and the copies would be taken "
                "for sources; give a separate folder",
            )


@without_warnings()
def write_copies(
    answer: StoredAnswer,
    vocabulary: Vocabulary,
    folder: Path,
    tell: Callable[[str], None] = say_nothing,
) -> list[Path]:
    """Writes `folder/<volume_id>/0001.dcm` and on, one per source object; copies of an earlier answer are
    removed.

    `tell` is told of regions that no Body Part Examined names together.  Raises ModelError "export-unsure"
    for an answer that is not "ok", as a guess must not change a header, and for one whose term depends on
    doubtful heights; "export-none" for one without a region; "export-no-code", "export-refused",
    "export-other-places", "export-other-study", "export-stays", "export-header", "export-foreign"; those of
    `originals_of`.
    """
    place = folder / answer.volume_id
    if answer.status == "refused":
        _withdraw(place, answer)
    images_answered(answer)
    try:
        anatomy = anatomy_of(answer, vocabulary)
    except ModelError:
        with suppress(ModelError):  # copies of another volume with this name are kept
            _withdraw(place, answer)
        raise
    sources = originals_of(answer)
    for path in sorted(place.glob(NUMBERED)):
        refuse_other_series(path, sources[0].header)
    with _or_none(place):
        for source in sources:
            _refuse_other_places(answer, source)
        overruled = [_overrules(answer, source, vocabulary) for source in sources]
        copies = [Copy(answer, *each, anatomy) for each in zip(sources, overruled, strict=True)]
        uids = [copy.uid for copy in copies]  # the series is that of all of them
        series_uid = uid_for("copy-series", *uids)
        paths = [place / f"{number:04d}.dcm" for number in range(1, len(copies) + 1)]
        for copy, path, uid in zip(copies, paths, uids, strict=True):
            copy.write(path, uid, series_uid)
    _remove_others(place, paths)
    if not anatomy.body_part:
        shown = [name for name in vocabulary.classes if name in answer.shows]
        tell(
            f"with {join_names(shown)}, which no Body Part Examined names together: it is empty in the copies, "
            "and their Anatomic Region Sequence has an item for each"
        )
    return paths


@dataclass(frozen=True)
class Copy:
    """One object whose copy says another anatomy; `overruled` if its header named another part of the
    body."""

    answer: StoredAnswer
    source: Original
    overruled: bool
    anatomy: Anatomy

    @property
    def uid(self) -> str:
        """The SOP Instance UID: of everything that the copy says, its pixels and the frames used included,
        but for the time of writing."""
        return uid_for("copy", content_of(self._relabelled()), *image_keys([self.source]))

    def write(self, path: Path, uid: str, series_uid: str) -> Path:
        """Writes the copy; it has file meta information even if the source, as in older archives, has
        none."""
        refuse_foreign(path)
        with despite_header(self.answer, "that cannot be copied"):
            dataset = self._relabelled()
            dataset.OriginalAttributesSequence[-1].AttributeModificationDateTime = _changed_at(
                path, uid
            )
            dataset.SeriesInstanceUID, dataset.SOPInstanceUID = series_uid, uid
            dataset.file_meta.MediaStorageSOPInstanceUID = uid
            dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID
            for name in WRITER:
                dataset.file_meta.pop(name, None)
            return replace_with(path, partial(dataset.save_as, enforce_file_format=True))

    def _relabelled(self) -> Any:
        """The source with the copy's anatomy, and still its own UIDs."""
        with despite_header(self.answer, "that cannot be copied"):
            dataset = read_dataset(self.source.item, with_pixels=True)
            set_transfer_syntax(dataset)
            _relabel(dataset, self.anatomy, overruled=self.overruled)
            return dataset


@contextmanager
def _or_none(place: Path) -> Iterator[None]:
    """A ModelError raised within removes the copies of an earlier answer from a volume's folder."""
    try:
        yield
    except ModelError:
        _remove_others(place, ())
        raise


def _refuse_other_places(answer: StoredAnswer, source: Original) -> None:
    """Raises ModelError "export-other-places" if an object has frames at other positions than those answered.

    Other echoes, phases and b-values at the same positions show the same anatomy; another table position does
    not, and the header applies to all frames.
    """
    groups = source.header.get("PerFrameFunctionalGroupsSequence", []) if source.frames else []
    positions = [group.get("PlanePositionSequence") for group in groups]
    places = [
        tuple(round(float(mm), 1) for mm in one[0].get("ImagePositionPatient") or ()) if one else ()
        for one in positions
    ]
    mine = {places[frame - 1] for frame in source.frames if frame <= len(places)}
    others = [place for place in places if place not in mine]
    if others:
        raise ModelError(
            "export-other-places",
            f"{source.item}: {len(others)} of its {len(places)} frames are outside {answer.volume_id}, but "
            "the header applies to all. Split it into one object per volume, and predict those.",
        )


def _withdraw(place: Path, answer: StoredAnswer) -> None:
    """As `withdraw`, for the copies in a volume's folder and unfinished ones."""
    clear_unfinished(place, name=NUMBERED)
    withdraw(sorted(place.glob(NUMBERED)), answer.path)


def _remove_others(place: Path, written: Collection[Path]) -> None:
    """Removes the copies in a volume's folder that are not among `written`: their headers state an earlier
    answer.  Other files stay."""
    clear_unfinished(place, name=NUMBERED)  # they may contain the patient's name
    for path in [
        path for path in place.glob(NUMBERED) if path not in written and is_our_dicom(path)
    ]:
        path.unlink()


def _overrules(answer: StoredAnswer, source: Original, vocabulary: Vocabulary) -> bool:
    """Whether a header names a region that was not predicted, or none: its laterality and anatomic structures
    are then wrong."""
    meant = regions_named(str(source.header.get("BodyPartExamined") or ""), vocabulary)
    return not meant or not set(meant) <= answer.shows


def _changed_at(path: Path, uid: str) -> str:
    """The modification time of an existing copy with this UID, so that a repeated export gives the same file;
    otherwise now."""
    if is_our_dicom(path):
        before = dcmread(path, specific_tags=["SOPInstanceUID", "OriginalAttributesSequence"])
        changes = before.get("OriginalAttributesSequence") or [{}]
        if before.get("SOPInstanceUID") == uid and changes[-1].get("AttributeModificationDateTime"):
            return str(changes[-1].AttributeModificationDateTime)
    return datetime.now(UTC).strftime("%Y%m%d%H%M%S.%f+0000")


def _relabel(dataset: Any, anatomy: Anatomy, *, overruled: bool) -> None:
    """Changes the anatomy in place, and keeps the former values of what the copy changes, its UIDs included.

    If `overruled`, as the header named another part of the body, laterality and structures are removed too: a
    head has no left one.
    """
    meanings = "".join(concept.meaning for concept in anatomy.concepts)
    if not meanings.isascii() and dataset.get("SpecificCharacterSet") not in ALL_LETTERS:
        # pydicom would write "?" for characters missing from the source's set
        dataset.decode()
        dataset.SpecificCharacterSet = UTF_8
    former = Dataset()
    removed = (*SIDES, STRUCTURE) if overruled else ()
    for name in (*CHANGED, *removed, *_anatomy_groups(dataset)):
        if name in dataset:
            former.add(deepcopy(dataset[name]))
    change = Dataset()
    change.ModifyingSystem = "fovnet"
    change.SourceOfPreviousValues = ""
    change.ReasonForTheAttributeModification = "CORRECT"
    change.ModifiedAttributesSequence = Sequence([former])
    dataset.OriginalAttributesSequence = Sequence(
        [*dataset.get("OriginalAttributesSequence", []), change]
    )
    dataset.BodyPartExamined = anatomy.body_part
    for name in removed:
        dataset.pop(name, None)
    is_paired = anatomy.body_part in PAIRED
    if "SharedFunctionalGroupsSequence" not in dataset or "AnatomicRegionSequence" in dataset:
        dataset.AnatomicRegionSequence = Sequence(map(_region, anatomy.concepts))
        # Type 2C: dciodvfy asks for it without a Body Part Examined too
        if (is_paired or not anatomy.body_part) and not any(name in dataset for name in SIDES):
            dataset.Laterality = ""
    for frame in _frame_anatomies(dataset):
        frame.AnatomicRegionSequence = Sequence(map(_region, anatomy.concepts))
        if overruled or "FrameLaterality" not in frame:
            frame.FrameLaterality = "B" if is_paired else "U"
            frame.pop(STRUCTURE, None)


def _anatomy_groups(dataset: Any) -> list[str]:
    """The functional groups with the Frame Anatomy that is changed, per-frame before shared; [] if there is
    none."""
    groups = ("PerFrameFunctionalGroupsSequence", "SharedFunctionalGroupsSequence")
    return [
        name
        for name in groups
        if any("FrameAnatomySequence" in group for group in dataset.get(name) or [])
    ][:1]


def _frame_anatomies(dataset: Any) -> Iterator[Any]:
    """The Frame Anatomy items of a multi-frame object: those of its frames if it has any, else the shared
    one, added if missing."""
    shared = dataset.get("SharedFunctionalGroupsSequence", [])
    frames = [
        group
        for group in dataset.get("PerFrameFunctionalGroupsSequence", [])
        if "FrameAnatomySequence" in group
    ]
    for group in frames or shared:
        if "FrameAnatomySequence" not in group:
            group.FrameAnatomySequence = Sequence([Dataset()])
        yield from group.FrameAnatomySequence


def _region(term: Term) -> Any:
    item = Dataset()
    item.CodeValue, item.CodingSchemeDesignator, item.CodeMeaning = term.sct, "SCT", term.meaning
    return item
