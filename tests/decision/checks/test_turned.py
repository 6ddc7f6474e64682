"""When a volume is reported to lie otherwise than its header has it."""

from __future__ import annotations

import numpy as np
import pytest

from fovnet.decision.checks.turned import MOST_UPRIGHT, JudgedAxes, find_reasons, fit_bar
from fovnet.decision.orientation import Bearing
from fovnet.decision.rule import Rule

RULE = Rule(least_upright=0.06)


def axes(upright: float, stated: bool = True) -> JudgedAxes:
    return JudgedAxes(Bearing(upright, "front to back"), stated)


@pytest.mark.parametrize(
    ("upright", "share"), [(0.004, "0.4%"), (0.0004, "under 0.1%"), (0.05999, "5.99%")]
)
def test_the_sentence_says_what_was_seen_wanted_and_what_it_rather_is(
    upright: float, share: str
) -> None:
    (reason,) = find_reasons(axes(upright), RULE)
    assert reason.sentence == (
        "its axes look wrong: judging by the picture, slices do not run from feet to head, as the header has "
        "it, but from front to back"
    )
    assert reason.figures == f"{share} that slices run from feet to head, at least 6.0% wanted"


def test_a_volume_at_its_bar_is_not_doubted_and_without_a_bar_none_is() -> None:
    """Ensembles of earlier versions, and those of few volumes, have no bar."""
    assert [
        *find_reasons(axes(0.06), RULE),
        *find_reasons(axes(0.9), RULE),
        *find_reasons(axes(0.0), Rule()),
    ] == []


def test_the_bar_is_what_one_in_a_hundred_of_those_whose_headers_give_their_axes_falls_below() -> (
    None
):
    """Of 199 the second smallest; those whose headers give no axes lie anyhow, and do not count."""
    uprights = np.random.default_rng(2).permutation(np.arange(1, 200) / 1000)
    known = [axes(float(upright)) for upright in uprights]
    others = [axes(0.0001, stated=False)] * 40
    assert fit_bar([*known, *others]) == pytest.approx(0.002)
    assert fit_bar(known[:50]) == fit_bar(others) == fit_bar([]) == 0.0
    assert fit_bar([axes(0.9)] * 120) == MOST_UPRIGHT
