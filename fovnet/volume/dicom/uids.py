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
from fovnet.volume.dicom.keys import same_direction, series_number
from fovnet.volume.dicom.people import spelling_of
from fovnet.volume.dicom.positions import (
    REPEATED_MM,
    is_even,
    position_labels,
    positions_in_frame,
    spans_places,
)
from fovnet.volume.dicom.triage import CAPTURES


def by_series(frames: Sequence[Frame]) -> Iterator[list[Frame]]:
    """The images of one series UID after the other, or of several that have one position each of an
    evenly spaced stack.

    Images of other modalities, colour images and secondary captures are kept apart, whatever their
    series UID.
    """
    images_by_uid = group_by_key(
        frames, ((*_study_and_kind(frame), frame.facts.series_uid) for frame in frames)
    )
    stacks: dict[tuple[Hashable, ...], list[list[Frame]]] = {}
    for images in images_by_uid.values():
        if images[0].facts.series_uid and _is_one_place(images):
            stacks.setdefault(_stack_identity(images[0]), []).append(images)
        else:
            yield images
    scattered_stacks: dict[tuple[Hashable, ...], list[list[Frame]]] = {}
    for groups in stacks.values():
        if _is_stack([images[0] for images in groups]):
            yield [frame for images in groups for frame in images]
            continue
        for images in groups:
            scattered_stacks.setdefault(_identity_without_uids(images[0]), []).append(images)
    for groups in scattered_stacks.values():
        if _is_scattered_stack([images[0] for images in groups]):
            yield [frame for images in groups for frame in images]
        else:
            yield from groups


def note_on_joining(frames: Sequence[Frame]) -> str:
    """A note on images that were joined despite their UIDs; empty for images of one series UID and
    study."""
    counts = {name: len(uids) for name, uids in _uids(frames).items()}
    if counts["study"] == 1 and counts["frame of reference"] == 1:
        if counts["series"] == 1:
            return ""
        return (
            f"joined from {counts['series']} series of one position each: every slice has a series "
            "UID of its own"
        )
    levels = " and ".join(name for name, count in counts.items() if count > 1)
    return (
        f"joined from {max(counts.values())} images of one position each: every slice has UIDs of "
        f"its own ({levels})"
    )


def difference(frames: Sequence[Frame]) -> str:
    """Why images, of a UID each, are not one stack, in words for a message."""
    values_of: dict[str, set[Hashable]] = {
        "PatientID": {spelling_of(frame.facts.patient_id) for frame in frames},
        "patient's name": {frame.facts.name for frame in frames},
        "patient's birth date": {frame.facts.birthday for frame in frames},
        "modality": {frame.facts.modality for frame in frames},
        "series number": {series_number(frame) for frame in frames},
        "description": {frame.facts.description for frame in frames},
        "protocol": {frame.facts.protocol[1:] for frame in frames},
        "size": {(frame.rows, frame.columns) for frame in frames},
        "pixel spacing": {frame.spacing_mm for frame in frames},
        "orientation": {_direction(frame) for frame in frames},
    }
    if positions_in_frame(frames) is None:
        return "some have no position or orientation"
    differing = [name for name, values in values_of.items() if len(values) > 1]
    if differing:
        return f"they differ in {', '.join(differing)}"
    if not _is_stack(frames):
        return "they are not evenly spaced"
    if len({frame.instance for frame in frames}) < len(frames):
        return "their image numbers recur"
    return "some share a study or frame of reference UID, and others do not"


def _uids(frames: Sequence[Frame]) -> dict[str, set[str]]:
    """The UIDs of each kind."""
    return {
        "study": {frame.facts.study_uid for frame in frames},
        "series": {frame.facts.series_uid for frame in frames},
        "frame of reference": {"".join(frame.facts.protocol[:1]) for frame in frames},
    }


def _study_and_kind(frame: Frame) -> tuple[Hashable, ...]:
    return (frame.facts.study_uid, *_kind(frame))


def _kind(frame: Frame) -> tuple[Hashable, ...]:
    facts = frame.facts
    return facts.modality, facts.is_captured or facts.sop_class.startswith(CAPTURES), facts.colour


def _stack_identity(frame: Frame) -> tuple[Hashable, ...]:
    """What all slices of a stack have in common."""
    return (frame.facts.study_uid, frame.facts.protocol, *_identity_without_uids(frame))


def _identity_without_uids(frame: Frame) -> tuple[Hashable, ...]:
    """As `_stack_identity`, whatever the study and the frame of reference, the first of
    `header.PROTOCOL`."""
    facts = frame.facts
    return (
        *_kind(frame),
        spelling_of(facts.patient_id),
        facts.birthday,
        facts.name,
        series_number(frame),
        facts.description,
        facts.protocol[1:],
        frame.rows,
        frame.columns,
        frame.spacing_mm,
        _direction(frame),
    )


def _direction(frame: Frame) -> tuple[float, ...]:
    """The orientation, rounded, since it differs in the sixth digit."""
    return tuple(round(cosine, 2) for cosine in frame.orientation or ())


def _is_one_place(frames: list[Frame]) -> bool:
    """Whether all images lie in one plane and field of view."""
    placed = positions_in_frame(frames)
    if placed is None or np.ptp(placed, axis=0).max() >= REPEATED_MM:
        return False
    return all(same_direction(frames[0], frame) for frame in frames)


def _is_stack(slices: Sequence[Frame]) -> bool:
    """Whether these images of one UID each are evenly spaced, with as many at each position."""
    placed = positions_in_frame(slices)
    if placed is None or not spans_places(slices, evenly=True):
        return False
    firsts = np.unique(position_labels(placed[:, 2]), return_index=True)[1]
    return is_even([slices[index] for index in firsts], missing=True)


def _is_scattered_stack(slices: list[Frame]) -> bool:
    """As `_is_stack`, if each UID is the same in all images or another in each, and so are image
    numbers: two studies, or two positions of a patient on the table, are not joined."""
    counts = [len(uids) for uids in _uids(slices).values()]
    if not all(count in (1, len(slices)) for count in counts):
        return False
    return len({frame.instance for frame in slices}) == len(slices) and _is_stack(slices)
