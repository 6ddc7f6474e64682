"""Fields of view about hanging breasts contain them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fovnet.phantom.acquisition.breast_fields import draw_breast_field
from fovnet.phantom.acquisition.field_kinds import SMALL_FIELDS, draw_field_about_breasts
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.person.breast_shapes import breast_shape, has_shaped_breasts
from fovnet.phantom.person.traits import sample_person

WOMEN = [
    replace(person, is_prone=True)
    for number in range(1, 121)
    if has_shaped_breasts(person := sample_person((8, number)))
]


def test_fields_about_breasts_contain_nipples_and_are_of_many_sizes() -> None:
    rng, widths, depths = np.random.default_rng(0), [], []
    for woman in WOMEN[:30]:
        field = draw_breast_field(woman, True, rng)
        tips = [breast_shape(woman, side).nipple for side in (1, -1)]
        z = woman.morph.height_mm(tips[0][2])
        assert any(
            field.low_mm[0] < x < field.high_mm[0] and field.low_mm[1] < y < field.high_mm[1]
            for x, y, _ in tips
        )
        assert (
            field.low_mm[2] < z < field.high_mm[2]
            and field.low_mm[2] > landmarks(woman).iliac_crest
        )
        widths.append((field.high_mm - field.low_mm)[0] * woman.morph.trunk_factors[0])
        depths.append(tips[0][1] - field.low_mm[1])
        both = draw_breast_field(woman, False, rng)
        assert all(both.low_mm[0] < x < both.high_mm[0] for x, _, _ in tips)
    assert min(widths) < 110 and max(widths) > 190 and max(depths) > 2 * min(depths)
    one_breast = next(field_kind for field_kind in SMALL_FIELDS if field_kind.name == "breast, one")
    assert {
        np.sign(draw_field_about_breasts(one_breast, WOMEN[0], rng).offset_x_range_mm[0])
        for _ in range(12)
    } == {
        -1.0,
        1.0,
    }
