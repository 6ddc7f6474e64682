"""Copies of the source images whose headers name the predicted part of the body; the sources are
never changed.

A copy has UIDs of its own, those of all that it says, so that the same copy has the same ones in
every export.  The copies of a volume are a separate series: all images of a series name the same
part of the body, and volumes of one series or object may show different ones.  The source's value
of every changed attribute is kept in the copy's Original Attributes Sequence. Source: DICOM PS3.3,
C.12.1.1.9 (original attributes), C.7.3.1 (Body Part Examined), 10.5 (general anatomy).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
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
from fovnet.report.exports.answers import StoredAnswer, finest_level, read_answers
from fovnet.report.exports.dicom_ownership import (
    is_our_dicom,
    refuse_foreign,
    refuse_other_series,
    withdraw_files,
)
from fovnet.report.exports.headers import compare_with_text
from fovnet.report.exports.identity import content_of, uid_for
from fovnet.report.exports.originals import (
    UTF_8,
    Original,
    ignore_note,
    image_keys,
    originals_of,
    require_images,
    translate_header_faults,
)
from fovnet.volume.dicom.address import split_address
from fovnet.volume.dicom.header import read_dataset, without_warnings
from fovnet.volume.dicom.pixels import set_transfer_syntax
from fovnet.words import join_names

COPY_NAMES = "[0-9][0-9][0-9][0-9]*.dcm"
CHARACTER_SETS_WITH_ALL_LETTERS = (UTF_8, "GB18030")
CHANGED_ATTRIBUTES = (
    "SOPInstanceUID",
    "SeriesInstanceUID",
    "BodyPartExamined",
    "AnatomicRegionSequence",
)
SIDE_ATTRIBUTES = ("Laterality", "ImageLaterality")
STRUCTURE_SEQUENCE = "PrimaryAnatomicStructureSequence"
BOTH_SIDES = "B"  # the laterality of paired parts
UNPAIRED = "U"
WRITER_ELEMENTS = (
    "ImplementationClassUID",
    "ImplementationVersionName",
    "SourceApplicationEntityTitle",
)
"""Elements of the file meta information that name the writing program; replaced by those of
pydicom."""


def refuse_beside_sources(answers_folder: Path, folder: Path) -> None:
    """Raises ConfigError "copies-beside-sources" if `folder` holds a source of these answers or is
    inside one, sources of refused volumes included: copies written there would be read as sources,
    or replace one."""
    # Path.resolve and is_dir raise on circular links or without permission
    real_folder = Path(os.path.realpath(folder))
    for answer in read_answers(answers_folder):
        source_path = Path(os.path.realpath(split_address(answer.path)[0]))
        volume_folder = Path(os.path.realpath(folder / answer.volume_id))
        holds_source = {real_folder, volume_folder} & {source_path, *source_path.parents}
        is_inside_source = os.path.isdir(source_path) and source_path in real_folder.parents  # noqa: PTH112
        is_dicom_or_refused = answer.images is not None or answer.status == "refused"
        if is_dicom_or_refused and (holds_source or is_inside_source):
            raise ConfigError(
                "copies-beside-sources",
                f"--out {folder}: overlaps with the sources in {answer.path}, and the copies would "
                "be taken for sources; give a separate folder",
            )


@without_warnings()
def write_copies(
    answer: StoredAnswer,
    vocabulary: Vocabulary,
    folder: Path,
    tell_user: Callable[[str], None] = ignore_note,
) -> list[Path]:
    """Writes `folder/<volume_id>/0001.dcm` and on, one per source object; copies of an earlier
    answer are removed.

    `tell_user` is told of regions that no Body Part Examined names together.  Raises ModelError
    "export-unsure" for an answer that is not "ok", as a guess must not change a header, and for one
    whose term depends on doubtful heights; "export-none" for one without a region;
    "export-no-code", "export-refused", "export-other-places", "export-other-study", "export-stays",
    "export-header", "export-foreign"; those of `originals_of`.
    """
    volume_folder = folder / answer.volume_id
    if answer.status == "refused":
        _withdraw_copies(volume_folder, answer)
    require_images(answer)
    try:
        anatomy = anatomy_of(answer, vocabulary)
    except ModelError:
        with suppress(ModelError):  # copies of another volume with this name are kept
            _withdraw_copies(volume_folder, answer)
        raise
    sources = originals_of(answer)
    for path in sorted(volume_folder.glob(COPY_NAMES)):
        refuse_other_series(path, sources[0].header)
    with _removing_copies_on_refusal(volume_folder):
        for source in sources:
            _refuse_other_positions(answer, source)
        copies = [
            Copy(answer, source, _is_header_overruled(answer, source, vocabulary), anatomy)
            for source in sources
        ]
        copy_uids = [copy.uid for copy in copies]
        series_uid = uid_for("copy-series", *copy_uids)  # that of all of them
        paths = [
            volume_folder / f"{copy_number:04d}.dcm" for copy_number in range(1, len(copies) + 1)
        ]
        for copy, path, uid in zip(copies, paths, copy_uids, strict=True):
            copy.write(path, uid, series_uid)
    _remove_other_copies(volume_folder, paths)
    if not anatomy.body_part:
        finest_answer, finest_vocabulary = finest_level(answer, vocabulary)
        shown_regions = finest_answer.shown_regions
        shown_names = [name for name in finest_vocabulary.classes if name in shown_regions]
        tell_user(
            f"with {join_names(shown_names)}, which no Body Part Examined names together: it is "
            "empty in the copies, and their Anatomic Region Sequence has an item for each"
        )
    return paths


@dataclass(frozen=True)
class Copy:
    """One object whose copy says another anatomy.

    is_header_overruled  whether its header named another part of the body
    """

    answer: StoredAnswer
    source: Original
    is_header_overruled: bool
    anatomy: Anatomy

    @property
    def uid(self) -> str:
        """The SOP Instance UID: of everything that the copy says, its pixels and the frames used
        included, but for the time of writing."""
        return uid_for("copy", content_of(self._dataset_of_copy()), *image_keys([self.source]))

    def write(self, path: Path, uid: str, series_uid: str) -> Path:
        """Writes the copy; it has file meta information even if the source, as in older archives,
        has none."""
        refuse_foreign(path)
        with translate_header_faults(self.answer, "that cannot be copied"):
            dataset = self._dataset_of_copy()
            last_change = dataset.OriginalAttributesSequence[-1]
            last_change.AttributeModificationDateTime = _change_time(path, uid)
            dataset.SeriesInstanceUID = series_uid
            dataset.SOPInstanceUID = uid
            dataset.file_meta.MediaStorageSOPInstanceUID = uid
            dataset.file_meta.MediaStorageSOPClassUID = dataset.SOPClassUID
            for element_name in WRITER_ELEMENTS:
                dataset.file_meta.pop(element_name, None)
            return replace_with(path, partial(dataset.save_as, enforce_file_format=True))

    def _dataset_of_copy(self) -> Any:
        """The source with the copy's anatomy, and still its own UIDs."""
        with translate_header_faults(self.answer, "that cannot be copied"):
            dataset = read_dataset(self.source.dicom_object, with_pixels=True)
            set_transfer_syntax(dataset)
            _relabel_dataset(dataset, self.anatomy, is_header_overruled=self.is_header_overruled)
            return dataset


@contextmanager
def _removing_copies_on_refusal(volume_folder: Path) -> Iterator[None]:
    """A ModelError raised within removes the copies of an earlier answer from a volume's folder."""
    try:
        yield
    except ModelError:
        _remove_other_copies(volume_folder, ())
        raise


def _refuse_other_positions(answer: StoredAnswer, source: Original) -> None:
    """Raises ModelError "export-other-places" if an object has frames at other positions than those
    answered.

    Other echoes, phases and b-values at the same positions show the same anatomy; another table
    position does not, and the header applies to all frames.
    """
    if not source.frames:  # a single image
        return
    frame_groups = source.header.get("PerFrameFunctionalGroupsSequence", [])
    positions = [_position_mm(frame_group) for frame_group in frame_groups]
    answered_positions = {
        positions[frame_number - 1]
        for frame_number in source.frames
        if frame_number <= len(positions)
    }
    outside_count = sum(position not in answered_positions for position in positions)
    if outside_count:
        raise ModelError(
            "export-other-places",
            f"{source.dicom_object}: {outside_count} of its {len(positions)} frames are outside "
            f"{answer.volume_id}, but the header applies to all. Split it into one object per "
            "volume, and predict those.",
        )


def _position_mm(frame_group: Any) -> tuple[float, ...]:
    """(x, y, z) of the plane of a frame, to a tenth of a millimetre, from its functional groups; ()
    where it is not told."""
    plane_position = frame_group.get("PlanePositionSequence")
    if not plane_position:
        return ()
    coordinates_mm = plane_position[0].get("ImagePositionPatient") or ()
    return tuple(round(float(coordinate_mm), 1) for coordinate_mm in coordinates_mm)


def _withdraw_copies(volume_folder: Path, answer: StoredAnswer) -> None:
    """Removes the copies in a volume's folder, unfinished ones too, as its answer is no longer
    valid.  Raises ModelError "export-stays" as `withdraw_files`."""
    clear_unfinished(volume_folder, name=COPY_NAMES)
    withdraw_files(sorted(volume_folder.glob(COPY_NAMES)), answer.path)


def _remove_other_copies(volume_folder: Path, kept_paths: Collection[Path]) -> None:
    """Removes the copies in a volume's folder that are not among these: their headers state an
    earlier answer.  Other files stay."""
    clear_unfinished(volume_folder, name=COPY_NAMES)  # they may contain the patient's name
    for path in list(volume_folder.glob(COPY_NAMES)):
        if path not in kept_paths and is_our_dicom(path):
            path.unlink()


def _is_header_overruled(answer: StoredAnswer, source: Original, vocabulary: Vocabulary) -> bool:
    """Whether a header names a region or part that was not predicted, or none: its laterality and
    anatomic structures are then wrong."""
    header_text = str(source.header.get("BodyPartExamined") or "")
    comparison = compare_with_text(answer, header_text, vocabulary)
    header_regions = comparison.header_regions
    return not header_regions or not header_regions <= comparison.answer.shown_regions


def _change_time(path: Path, uid: str) -> str:
    """The modification time of an existing copy with this UID, so that a repeated export gives the
    same file; otherwise now."""
    if is_our_dicom(path):
        earlier_copy = dcmread(path, specific_tags=["SOPInstanceUID", "OriginalAttributesSequence"])
        attribute_changes = earlier_copy.get("OriginalAttributesSequence") or [{}]
        if earlier_copy.get("SOPInstanceUID") == uid and attribute_changes[-1].get(
            "AttributeModificationDateTime"
        ):
            return str(attribute_changes[-1].AttributeModificationDateTime)
    return datetime.now(UTC).strftime("%Y%m%d%H%M%S.%f+0000")


def _relabel_dataset(dataset: Any, anatomy: Anatomy, *, is_header_overruled: bool) -> None:
    """Changes the anatomy in place, and keeps the former values of what the copy changes, its UIDs
    included.

    If `is_header_overruled`, as the header named another part of the body, laterality and
    structures are removed too: a head has no left one.
    """
    _ensure_letters(dataset, anatomy)
    removed_names: tuple[str, ...] = ()
    if is_header_overruled:
        removed_names = (*SIDE_ATTRIBUTES, STRUCTURE_SEQUENCE)
    _record_former_values(dataset, [*CHANGED_ATTRIBUTES, *removed_names, *_anatomy_groups(dataset)])
    dataset.BodyPartExamined = anatomy.body_part
    for attribute_name in removed_names:
        dataset.pop(attribute_name, None)
    if "SharedFunctionalGroupsSequence" not in dataset or "AnatomicRegionSequence" in dataset:
        dataset.AnatomicRegionSequence = Sequence(map(_region_item, anatomy.concepts))
        # Type 2C: dciodvfy asks for it without a Body Part Examined too
        needs_side = anatomy.is_paired or not anatomy.body_part
        if needs_side and not any(name in dataset for name in SIDE_ATTRIBUTES):
            dataset.Laterality = ""
    for frame_anatomy in _frame_anatomies(dataset):
        frame_anatomy.AnatomicRegionSequence = Sequence(map(_region_item, anatomy.concepts))
        if is_header_overruled or "FrameLaterality" not in frame_anatomy:
            frame_anatomy.FrameLaterality = BOTH_SIDES if anatomy.is_paired else UNPAIRED
            frame_anatomy.pop(STRUCTURE_SEQUENCE, None)


def _ensure_letters(dataset: Any, anatomy: Anatomy) -> None:
    """Sets UTF-8 where the character set of the source may lack letters of the concepts, for which
    pydicom would write "?"."""
    concept_meanings = "".join(concept.meaning for concept in anatomy.concepts)
    has_all_letters = dataset.get("SpecificCharacterSet") in CHARACTER_SETS_WITH_ALL_LETTERS
    if not concept_meanings.isascii() and not has_all_letters:
        dataset.decode()
        dataset.SpecificCharacterSet = UTF_8


def _record_former_values(dataset: Any, attribute_names: Iterable[str]) -> None:
    """Adds the present values of these attributes to the Original Attributes Sequence."""
    former_values = Dataset()
    for attribute_name in attribute_names:
        if attribute_name in dataset:
            former_values.add(deepcopy(dataset[attribute_name]))
    attribute_change = Dataset()
    attribute_change.ModifyingSystem = "fovnet"
    attribute_change.SourceOfPreviousValues = ""
    attribute_change.ReasonForTheAttributeModification = "CORRECT"
    attribute_change.ModifiedAttributesSequence = Sequence([former_values])
    dataset.OriginalAttributesSequence = Sequence(
        [*dataset.get("OriginalAttributesSequence", []), attribute_change]
    )


def _anatomy_groups(dataset: Any) -> list[str]:
    """The name of the functional groups whose Frame Anatomy is changed, those of frames before the
    shared ones; [] if there is none."""
    for group_name in ("PerFrameFunctionalGroupsSequence", "SharedFunctionalGroupsSequence"):
        functional_groups = dataset.get(group_name) or []
        if any("FrameAnatomySequence" in group for group in functional_groups):
            return [group_name]
    return []


def _frame_anatomies(dataset: Any) -> Iterator[Any]:
    """The Frame Anatomy items of a multi-frame object: those of its frames if it has any, else the
    shared one, added if missing."""
    shared_groups = dataset.get("SharedFunctionalGroupsSequence", [])
    groups_with_anatomy = [
        functional_group
        for functional_group in dataset.get("PerFrameFunctionalGroupsSequence", [])
        if "FrameAnatomySequence" in functional_group
    ]
    for functional_group in groups_with_anatomy or shared_groups:
        if "FrameAnatomySequence" not in functional_group:
            functional_group.FrameAnatomySequence = Sequence([Dataset()])
        yield from functional_group.FrameAnatomySequence


def _region_item(term: Term) -> Any:
    """The item of an Anatomic Region Sequence for a term."""
    code_item = Dataset()
    code_item.CodeValue = term.sct
    code_item.CodingSchemeDesignator = "SCT"
    code_item.CodeMeaning = term.meaning
    return code_item
