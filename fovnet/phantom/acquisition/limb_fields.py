"""Fields of view of single examinations of a limb or of the neck, which archives hold more of than a
person's several volumes would: a knee is the commonest joint there is.

Each reaches from a few centimetres beyond the joint, or from joint to joint; the small ones are 11 to 17 cm
across, as knees and ankles are planned.
"""

from __future__ import annotations

import numpy as np

from fovnet.phantom.acquisition.field_kinds import ScanRequest, draw_field_kind, field_kinds_of
from fovnet.phantom.acquisition.protocols import Plan, draw_plan

LIMB_AND_NECK_FIELDS = field_kinds_of("limb")
LIMB_AND_NECK_SHARE = 0.2  # of a person's volumes except the first, which covers several regions


def to_limb_or_neck_field(usual_plan: Plan, request: ScanRequest, rng: np.random.Generator) -> Plan:
    """One of LIMB_AND_NECK_FIELDS instead of one field in five; those of breasts stay."""
    if request.volume_number == 0 or usual_plan.field_kind.shows_breasts:
        return usual_plan
    if rng.random() > LIMB_AND_NECK_SHARE:
        return usual_plan
    field_kind = draw_field_kind(LIMB_AND_NECK_FIELDS, rng)
    return draw_plan(request.person, request.marks, field_kind, usual_plan.site, rng)
