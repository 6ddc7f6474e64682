"""Time points of one acquisition that have a series UID each, as functional and dynamic series are
exported by some scanners.

They agree in all that an acquisition is made with: study, person, series number, description,
protocol, echo, b-value, grid and position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import NamedTuple

from fovnet.volume.dicom.header import Frame, as_real_number
from fovnet.volume.dicom.keys import clean_series_number
from fovnet.volume.dicom.people import normalise_patient_id
from fovnet.volume.dicom.repeats import shows_same_slices_as, shows_some_slices_of
from fovnet.volume.dicom.series import Series

CHANGING_ATTRIBUTES = (
    "temporal position",
    "acquisition number",
    "trigger time",
    "acquisition time",
    "content time",
    "gradient direction",
)
REPEAT_REASON = "the same slices once more, of another time point under a series UID of its own"


def set_time_points_aside(all_series: Sequence[Series]) -> list[Series]:
    """The series; of time points with a series UID each, all but the first get the kind "repeat",
    and count as of its family."""
    first_points_by_acquisition: dict[tuple[Hashable, ...], list[Series]] = {}
    repeated_by_id: dict[str, Series] = {}  # by the id of a series, the one that it repeats
    readable_series = [series for series in all_series if not series.is_set_aside]
    for series in sorted(readable_series, key=_moment_of_series):
        first_points = first_points_by_acquisition.setdefault(
            _acquisition_key(series.frames[0]), []
        )
        repeated_points = [
            first_point
            for first_point in first_points
            if _is_repeat(series, first_point, shows_same_slices_as)
        ]
        if repeated_points:
            repeated_by_id[series.series_id] = repeated_points[0]
        else:
            first_points.append(series)
    # a time point that was broken off may be the first
    for first_points in first_points_by_acquisition.values():
        for series in first_points:
            longer_points = [
                first_point
                for first_point in first_points
                if _is_repeat(series, first_point, shows_some_slices_of)
            ]
            if longer_points:
                repeated_by_id[series.series_id] = max(
                    longer_points, key=lambda first_point: len(first_point.frames)
                )
    repeat_counts = Counter(
        repeated_series.series_id for repeated_series in repeated_by_id.values()
    )
    return [
        _set_repeat_aside(
            series, repeated_by_id.get(series.series_id), repeat_counts[series.series_id]
        )
        for series in all_series
    ]


def _is_repeat(
    series: Series,
    other_series: Series,
    shows_slices: Callable[[Sequence[Frame], Sequence[Frame]], bool],
) -> bool:
    """Whether a series shows slices of another one, by this test of their images, at another
    moment."""
    return _is_another_moment(series, other_series) and shows_slices(
        series.frames, other_series.frames
    )


def _set_repeat_aside(series: Series, repeated_series: Series | None, repeat_count: int) -> Series:
    """The series, set aside as a repeat of `repeated_series` if there is one; else with a note if
    others repeat it."""
    if repeated_series is not None:
        return replace(
            series,
            aside_kind="repeat",
            aside_reason=REPEAT_REASON,
            family_key=repeated_series.family_key,
            person_digest=repeated_series.person_digest,
        )
    note = f"the first of {repeat_count + 1} time points, each with a series UID of its own"
    if not repeat_count:
        return series
    return replace(series, notes=(*series.notes, note))


def _acquisition_key(frame: Frame) -> tuple[Hashable, ...]:
    """The values that all time points of an acquisition have in common, besides their grid."""
    object_facts = frame.facts
    attributes = tuple(
        name_and_value
        for name_and_value in (*frame.volume_attributes, *frame.doubtful_attributes)
        if name_and_value[0] not in CHANGING_ATTRIBUTES
    )
    return (
        object_facts.study_uid,
        normalise_patient_id(object_facts.patient_id),
        object_facts.birthday_digest,
        object_facts.name_digests,
        clean_series_number(frame),
        object_facts.sop_class,
        object_facts.description,
        object_facts.protocol_values,
        attributes,
    )


class Moment(NamedTuple):
    """When an image was taken; compared in the order of these fields."""

    temporal_position: float
    acquisition_times: tuple[str, ...]
    changing_values: tuple[str, ...]
    image_number: int


def _moment_of_series(series: Series) -> Moment:
    """That of the first image."""
    first_frame = series.frames[0]
    attributes = (*first_frame.volume_attributes, *first_frame.doubtful_attributes)
    return Moment(
        as_real_number(dict(first_frame.volume_attributes)["temporal position"]) or 0.0,
        first_frame.facts.acquisition_times,
        tuple(value for attribute, value in attributes if attribute in CHANGING_ATTRIBUTES),
        first_frame.image_number,
    )


def _is_another_moment(series: Series, earlier: Series) -> bool:
    """Whether another moment is stated; without a series number, the temporal position alone is
    evidence."""
    if series.family_key == earlier.family_key:
        return False
    moment = _moment_of_series(series)
    earlier_moment = _moment_of_series(earlier)
    if clean_series_number(series.frames[0]):
        return moment != earlier_moment
    return moment.temporal_position != earlier_moment.temporal_position
