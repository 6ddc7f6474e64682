"""Close fields of view of organs of the trunk and of parts of the legs: mostly inside the body,
with little or no skin.

Kidneys, bile ducts, the rectum or the sacroiliac joints are planned so that the organ fills the
image.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.acquisition.field_kinds import (
    FieldEnd,
    FieldKind,
    RangeMm,
    draw_field_kind,
    field_kinds_of,
)
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.anatomy.head import VERTEX_MM

ORGAN_FIELDS = field_kinds_of("organ")
"""The fields of view for a stature of 175 cm, with their weights."""


def draw_organ_field(marks: Landmarks, rng: np.random.Generator) -> FieldKind:
    """One of ORGAN_FIELDS, its lengths scaled with the person's stature."""
    field_kind = draw_field_kind(ORGAN_FIELDS, rng)
    stature_factor = marks.vertex / VERTEX_MM
    return replace(
        field_kind,
        lower_end=_scale_end(field_kind.lower_end, stature_factor),
        upper_end=_scale_end(field_kind.upper_end, stature_factor),
        width_range_mm=_scale_range(field_kind.width_range_mm, stature_factor),
        depth_range_mm=_scale_range(field_kind.depth_range_mm, stature_factor),
    )


def _scale_end(end: FieldEnd, factor: float) -> FieldEnd:
    """The end of a field with its distances from the landmark multiplied by a factor."""
    median_mm = end.median_mm
    if median_mm is not None:
        median_mm *= factor
    return FieldEnd(end.landmark, end.least_mm * factor, end.most_mm * factor, median_mm)


def _scale_range(range_mm: RangeMm, factor: float) -> RangeMm:
    """The range with both ends multiplied by a factor."""
    least_mm, most_mm = range_mm
    return least_mm * factor, most_mm * factor
