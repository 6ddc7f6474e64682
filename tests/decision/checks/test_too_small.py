"""When a volume is reported to be too small for what the networks were validated on."""

from __future__ import annotations

import pytest

from fovnet.decision.checks.too_small import find_reasons, fit_bar
from fovnet.decision.rule import Rule


def test_the_bar_needs_so_many_volumes_that_one_in_a_hundred_like_them_is_smaller_than_the_smallest() -> (
    None
):
    """Of 98 more than one in a hundred would be, and nothing is doubted."""
    extents_mm = [100.0 + at for at in range(99)]
    assert fit_bar(extents_mm) == pytest.approx(75.0)
    assert fit_bar(extents_mm[1:]) == fit_bar([]) == 0.0


@pytest.mark.parametrize(
    ("extent_mm", "said"),
    [
        (74.96, ["74.9 mm along its longest side, at least 75 mm wanted"]),
        (75.0, []),
        (300.0, []),
    ],
)
def test_what_is_below_the_bar_is_never_written_as_the_bar(
    extent_mm: float, said: list[str]
) -> None:
    found = find_reasons(extent_mm, Rule(least_extent_mm=75.0))
    assert [sentence.split(": ")[1] for sentence in found] == said
