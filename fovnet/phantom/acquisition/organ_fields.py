"""Close fields of view of organs of the trunk and of parts of the legs: mostly inside the body,
with little or no skin.

Kidneys, bile ducts, the rectum or the sacroiliac joints are planned so that the organ fills the
image.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.acquisition.families import Family, FieldEnd, Span, draw_family, families_of
from fovnet.phantom.anatomy.body import Landmarks
from fovnet.phantom.anatomy.head import VERTEX_MM

ORGAN_FAMILIES = families_of("organ")
"""The fields of view for a stature of 175 cm, with their weights."""


def draw_organ_field(marks: Landmarks, rng: np.random.Generator) -> Family:
    """One of ORGAN_FAMILIES, its lengths scaled with the person's stature."""
    family = draw_family(ORGAN_FAMILIES, rng)
    stature_factor = marks.vertex / VERTEX_MM

    def scale_span(span: Span) -> Span:
        return span[0] * stature_factor, span[1] * stature_factor

    lower_end = family.lower_end
    upper_end = family.upper_end
    return replace(
        family,
        lower_end=FieldEnd(
            lower_end.landmark, *scale_span((lower_end.least_mm, lower_end.most_mm))
        ),
        upper_end=FieldEnd(
            upper_end.landmark, *scale_span((upper_end.least_mm, upper_end.most_mm))
        ),
        width_mm=scale_span(family.width_mm),
        depth_mm=scale_span(family.depth_mm),
    )
