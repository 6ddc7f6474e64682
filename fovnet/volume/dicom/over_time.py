"""Time points of one acquisition that have a series UID each, as functional and dynamic series are exported
by some scanners.

They agree in all that an acquisition is made with: study, person, series number, description, protocol, echo,
b-value, grid and position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace

from fovnet.volume.dicom.header import Frame, real_number
from fovnet.volume.dicom.keys import series_number
from fovnet.volume.dicom.people import spelling_of
from fovnet.volume.dicom.repeats import same_slices, some_slices
from fovnet.volume.dicom.series import Series

CHANGING_ATTRIBUTES = (
    "temporal position",
    "acquisition number",
    "trigger time",
    "acquisition time",
    "content time",
    "gradient direction",
)
REASON = "the same slices once more, of another time point under a series UID of its own"


def repeats_over_time(found: Sequence[Series]) -> list[Series]:
    """The series; of time points with a series UID each, all but the first get the kind "repeat", and count
    as of its family."""
    kept: dict[tuple[Hashable, ...], list[Series]] = {}
    first: dict[str, Series] = {}  # by the id of a later time point
    for series in sorted((one for one in found if not one.kind), key=_moment):
        alike = kept.setdefault(_acquisition(series.frames[0]), [])
        earlier = next((other for other in alike if _is_repeat(series, other, same_slices)), None)
        if earlier is None:
            alike.append(series)
        else:
            first[series.id] = earlier
    for alike in kept.values():  # a time point that was broken off may be the first
        for series in alike:
            wholes = [other for other in alike if _is_repeat(series, other, some_slices)]
            if wholes:
                first[series.id] = max(wholes, key=lambda whole: len(whole.frames))
    others = Counter(one.id for one in first.values())
    return [_describe(series, first.get(series.id), others[series.id]) for series in found]


def _is_repeat(
    series: Series, other: Series, shows: Callable[[Sequence[Frame], Sequence[Frame]], bool]
) -> bool:
    return _is_another_moment(series, other) and shows(series.frames, other.frames)


def _describe(series: Series, earlier: Series | None, others: int) -> Series:
    if earlier is not None:
        return replace(
            series, kind="repeat", reason=REASON, family=earlier.family, whose=earlier.whose
        )
    note = f"the first of {others + 1} time points, each with a series UID of its own"
    return replace(series, notes=(*series.notes, note)) if others else series


def _acquisition(frame: Frame) -> tuple[Hashable, ...]:
    """What all time points of an acquisition have in common, besides their grid."""
    facts = frame.facts
    same = tuple(
        pair for pair in (*frame.apart, *frame.perhaps) if pair[0] not in CHANGING_ATTRIBUTES
    )
    return (
        facts.study_uid,
        spelling_of(facts.patient_id),
        facts.birthday,
        facts.name,
        series_number(frame),
        facts.sop_class,
        facts.words,
        facts.protocol,
        same,
    )


def _moment(series: Series) -> tuple[float, tuple[str, ...], tuple[str, ...], int]:
    """(temporal position, times, other attributes that change over time, image number) of the first image."""
    first = series.frames[0]
    others = tuple(
        value for name, value in (*first.apart, *first.perhaps) if name in CHANGING_ATTRIBUTES
    )
    return (
        real_number(dict(first.apart)["temporal position"]) or 0.0,
        first.facts.times,
        others,
        first.instance,
    )


def _is_another_moment(series: Series, earlier: Series) -> bool:
    """Whether another moment is stated; without a series number, the temporal position alone is evidence."""
    if series.family == earlier.family:
        return False
    mine, others = _moment(series), _moment(earlier)
    return mine != others if series_number(series.frames[0]) else mine[0] != others[0]
