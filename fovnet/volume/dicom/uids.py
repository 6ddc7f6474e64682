"""The images of each series UID; where a scanner gives every slice a UID of its own, those of one
stack are joined.

Canon's software V6 does so in classic images, as do some anonymisers: each UID then has one
position, with all its echoes and time points.  MATLAB's dicomanon also writes a study and a frame
of reference for every file: such images are joined where their image numbers differ, too.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from fovnet.volume.dicom.groups import group_by_key
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.keys import clean_series_number, have_same_direction
from fovnet.volume.dicom.people import normalise_patient_id
from fovnet.volume.dicom.positions import (
    MAX_REPETITION_SHIFT_MM,
    is_evenly_spaced,
    label_positions,
    positions_in_image_axes,
    spans_several_positions,
)
from fovnet.volume.dicom.triage import CAPTURE_CLASSES


def group_by_series(frames: Sequence[Frame]) -> Iterator[list[Frame]]:
    """The images of one series UID after the other, or of several that have one position each of an
    evenly spaced stack.

    Images of other modalities, colour images and secondary captures are kept apart, whatever their
    series UID.
    """
    images_by_uid = group_by_key(
        frames, ((*_study_and_kind(frame), frame.facts.series_uid) for frame in frames)
    )
    groups_by_stack: dict[tuple[Hashable, ...], list[list[Frame]]] = {}
    for images in images_by_uid.values():
        if images[0].facts.series_uid and _lie_at_one_position(images):
            groups_by_stack.setdefault(_stack_identity(images[0]), []).append(images)
        else:
            yield images
    groups_by_scattered_stack: dict[tuple[Hashable, ...], list[list[Frame]]] = {}
    for groups_of_stack in groups_by_stack.values():
        if _form_stack([images[0] for images in groups_of_stack]):
            yield [frame for images in groups_of_stack for frame in images]
            continue
        for images in groups_of_stack:
            groups_by_scattered_stack.setdefault(_identity_without_uids(images[0]), []).append(
                images
            )
    for groups_of_stack in groups_by_scattered_stack.values():
        if _form_scattered_stack([images[0] for images in groups_of_stack]):
            yield [frame for images in groups_of_stack for frame in images]
        else:
            yield from groups_of_stack


def note_on_joining(frames: Sequence[Frame]) -> str:
    """A note on images that were joined despite their UIDs; empty for images of one series UID and
    study."""
    uid_count_by_level = {level: len(uids) for level, uids in _uids_by_level(frames).items()}
    if uid_count_by_level["study"] == 1 and uid_count_by_level["frame of reference"] == 1:
        if uid_count_by_level["series"] == 1:
            return ""
        return (
            f"joined from {uid_count_by_level['series']} series of one position each: every slice has a series "
            "UID of its own"
        )
    differing_levels = " and ".join(
        level for level, uid_count in uid_count_by_level.items() if uid_count > 1
    )
    return (
        f"joined from {max(uid_count_by_level.values())} images of one position each: every slice has UIDs of "
        f"its own ({differing_levels})"
    )


def describe_difference(frames: Sequence[Frame]) -> str:
    """Why images, of a UID each, are not one stack, in words for a message."""
    values_by_attribute: dict[str, set[Hashable]] = {
        "PatientID": {normalise_patient_id(frame.facts.patient_id) for frame in frames},
        "patient's name": {frame.facts.name_digests for frame in frames},
        "patient's birth date": {frame.facts.birthday_digest for frame in frames},
        "modality": {frame.facts.modality for frame in frames},
        "series number": {clean_series_number(frame) for frame in frames},
        "description": {frame.facts.description for frame in frames},
        "protocol": {frame.facts.protocol_values[1:] for frame in frames},
        "size": {(frame.rows, frame.columns) for frame in frames},
        "pixel spacing": {frame.spacing_mm for frame in frames},
        "orientation": {_round_direction(frame) for frame in frames},
    }
    if positions_in_image_axes(frames) is None:
        return "some have no position or orientation"
    differing_attributes = [
        attribute for attribute, values in values_by_attribute.items() if len(values) > 1
    ]
    if differing_attributes:
        return f"they differ in {', '.join(differing_attributes)}"
    if not _form_stack(frames):
        return "they are not evenly spaced"
    if len({frame.image_number for frame in frames}) < len(frames):
        return "their image numbers recur"
    return "some share a study or frame of reference UID, and others do not"


def _uids_by_level(frames: Sequence[Frame]) -> dict[str, set[str]]:
    """The UIDs of each kind."""
    return {
        "study": {frame.facts.study_uid for frame in frames},
        "series": {frame.facts.series_uid for frame in frames},
        "frame of reference": {"".join(frame.facts.protocol_values[:1]) for frame in frames},
    }


def _study_and_kind(frame: Frame) -> tuple[Hashable, ...]:
    return (frame.facts.study_uid, *_image_kind(frame))


def _image_kind(frame: Frame) -> tuple[Hashable, ...]:
    """(modality, whether it is a secondary capture, colour) of an image; other kinds are kept apart."""
    object_facts = frame.facts
    return (
        object_facts.modality,
        object_facts.is_captured or object_facts.sop_class.startswith(CAPTURE_CLASSES),
        object_facts.colour_interpretation,
    )


def _stack_identity(frame: Frame) -> tuple[Hashable, ...]:
    """What all slices of a stack have in common."""
    return (frame.facts.study_uid, frame.facts.protocol_values, *_identity_without_uids(frame))


def _identity_without_uids(frame: Frame) -> tuple[Hashable, ...]:
    """As `_stack_identity`, whatever the study and the frame of reference, the first of
    `header.PROTOCOL_KEYWORDS`."""
    object_facts = frame.facts
    return (
        *_image_kind(frame),
        normalise_patient_id(object_facts.patient_id),
        object_facts.birthday_digest,
        object_facts.name_digests,
        clean_series_number(frame),
        object_facts.description,
        object_facts.protocol_values[1:],
        frame.rows,
        frame.columns,
        frame.spacing_mm,
        _round_direction(frame),
    )


def _round_direction(frame: Frame) -> tuple[float, ...]:
    """The orientation, rounded, since it differs in the sixth digit."""
    return tuple(round(cosine, 2) for cosine in frame.orientation or ())


def _lie_at_one_position(frames: list[Frame]) -> bool:
    """Whether all images lie in one plane and field of view."""
    positions = positions_in_image_axes(frames)
    if positions is None or np.ptp(positions, axis=0).max() >= MAX_REPETITION_SHIFT_MM:
        return False
    return all(have_same_direction(frames[0], frame) for frame in frames)


def _form_stack(slices: Sequence[Frame]) -> bool:
    """Whether these images of one UID each are evenly spaced, with as many at each position."""
    positions = positions_in_image_axes(slices)
    if positions is None or not spans_several_positions(slices, evenly=True):
        return False
    first_indices = np.unique(label_positions(positions[:, 2]), return_index=True)[1]
    return is_evenly_spaced([slices[index] for index in first_indices], allows_missing=True)


def _form_scattered_stack(slices: list[Frame]) -> bool:
    """As `_form_stack`, if each UID is the same in all images or another in each, and so are image
    numbers: two studies, or two positions of a patient on the table, are not joined."""
    uid_counts = [len(uids) for uids in _uids_by_level(slices).values()]
    if not all(count in (1, len(slices)) for count in uid_counts):
        return False
    return len({frame.image_number for frame in slices}) == len(slices) and _form_stack(slices)
