"""The images of each series UID; where a scanner gives every slice a UID of its own, those of one stack are
joined.

Canon's software V6 does so in classic images, as do some anonymisers: each UID then has one position, with
all its echoes and time points.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from fovnet.volume.dicom.groups import grouped
from fovnet.volume.dicom.header import Frame
from fovnet.volume.dicom.keys import same_direction, series_number
from fovnet.volume.dicom.positions import REPEATED_MM, is_even, placed_by, position_labels, spans
from fovnet.volume.dicom.triage import CAPTURES


def by_series(frames: Sequence[Frame]) -> Iterator[list[Frame]]:
    """The images of one series UID after the other, or of several that have one position each of an evenly
    spaced stack.

    Images of other modalities, colour images and secondary captures are kept apart, whatever their series
    UID.
    """
    together = grouped(frames, ((*_what(frame), frame.facts.series_uid) for frame in frames))
    slices: dict[tuple[Hashable, ...], list[list[Frame]]] = {}
    for own in together.values():
        if own[0].facts.series_uid and _is_one_place(own):
            slices.setdefault(_stack(own[0]), []).append(own)
        else:
            yield own
    for uids in slices.values():
        yield from [[frame for own in uids for frame in own]] if _is_stack([own[0] for own in uids]) else uids


def _what(frame: Frame) -> tuple[Hashable, ...]:
    facts = frame.facts
    return (
        facts.study_uid, facts.modality, facts.captured or facts.sop_class.startswith(CAPTURES), facts.colour,
    )


def _stack(frame: Frame) -> tuple[Hashable, ...]:
    """What all slices of a stack have in common; the direction is rounded, since it differs in the sixth
    digit."""
    facts = frame.facts
    direction = tuple(round(cosine, 2) for cosine in frame.orientation or ())
    return (
        *_what(frame), facts.patient_id, facts.birthday, facts.name, series_number(frame), facts.words,
        facts.protocol, frame.rows, frame.columns, frame.spacing_mm, direction,
    )


def _is_one_place(frames: list[Frame]) -> bool:
    """Whether all images lie in one plane and field of view."""
    placed = placed_by(frames)
    if placed is None or np.ptp(placed, axis=0).max() >= REPEATED_MM:
        return False
    return all(same_direction(frames[0], one) for one in frames)


def _is_stack(slices: list[Frame]) -> bool:
    """Whether these images of one UID each are evenly spaced, with as many at each position."""
    placed = placed_by(slices)
    if placed is None or not spans(slices, evenly=True):
        return False
    firsts = np.unique(position_labels(placed[:, 2]), return_index=True)[1]
    return is_even([slices[index] for index in firsts], missing=True)
