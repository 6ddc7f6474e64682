"""How far decided borders move when a part of the volume is cropped.

Every volume of a labelled split is decided whole, and again as some of its windows; a border is *left* in a window that holds MARGIN_MM
of body on either side of it.  Usual heights of regions find more borders than the slices alone, but constrain a cropped region less: a
border with little evidence in the slices may then move.  Hence three rules are compared: usual heights, heights used for presence alone,
and none.  Counted are the borders that move at most one slice, those that move farther, and those not found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fovnet.bench.flip_and_shuffle import Floats, LabelledVolume
from fovnet.bench.shares import Share, Tally
from fovnet.decision.boundaries import Boundary
from fovnet.decision.rule import Rule
from fovnet.decision.spans import decide
from fovnet.regions import NONE, Vocabulary

MARGIN_MM = 30.0
WINDOWS = 6
"""Windows of each volume."""
STAYED = ("within a slice", "farther", "not found")
LEAST = 8
"""Fewest slices of a window: with fewer hardly any border has its margins."""


def cropped(
    volumes: Sequence[LabelledVolume], vocabulary: Vocabulary, rule: Rule, *, seed: int, progress: Callable[[int, int], Any] | None = None
) -> list[Share]:
    """Shares of the borders left that stay, move, or are not found, for each use of heights; `seed` draws the windows."""
    rules = {"no heights": replace(rule, heights=())}
    if rule.heights:
        rules = {"usual heights": replace(rule, heights_for="all"), "for presence": replace(rule, heights_for="presence"), **rules}
    tally = Tally()
    for number, one in enumerate(volumes, start=1):
        windows = list(_windows(one, np.random.default_rng((seed, number))))
        for name, by in rules.items():
            moves = Counter(_moves(one, windows, vocabulary, by))
            for what in STAYED:
                tally.add(f"{name}: {what}", one.subject or f"volume {number}", moves[what], moves["left"])
        if progress:
            progress(number, len(volumes))
    return [tally.share(f"{name}: {what}") for name in rules for what in STAYED]


def _windows(one: LabelledVolume, rng: np.random.Generator) -> Iterator[tuple[Floats, Floats]]:
    """Heights (m,) in mm of each window of a volume, and the networks' probabilities (m, k) of its slices."""
    if len(one.z_mm) <= LEAST:
        return
    for low, high in np.sort(rng.integers(0, len(one.z_mm) + 1, (WINDOWS, 2)), axis=1):
        if high - low >= LEAST:
            yield one.z_mm[low:high], one.probabilities_at(np.arange(low, high), one.z_mm[low:high])


def _moves(one: LabelledVolume, windows: Sequence[tuple[Floats, Floats]], vocabulary: Vocabulary, rule: Rule) -> Iterator[str]:
    """For each border left in each window "left", and its category of STAYED."""
    whole = _borders(decide(one.probabilities, one.z_mm, vocabulary, rule).boundaries)
    for z_mm, probabilities in windows if whole else ():
        seen = _borders(decide(probabilities, z_mm, vocabulary, rule).boundaries)
        slice_mm = float(np.median(np.diff(one.z_mm)))
        for kind, border in whole.items():
            if not z_mm[0] + MARGIN_MM <= border.mm <= z_mm[-1] - MARGIN_MM:
                continue
            yield "left"
            if kind not in seen:
                yield "not found"
            else:
                yield "within a slice" if abs(seen[kind].mm - border.mm) <= 1.01 * slice_mm else "farther"


def _borders(found: Sequence[Boundary]) -> dict[tuple[str, str], Boundary]:
    """The borders between two regions."""
    return {(one.below, one.above): one for one in found if NONE not in (one.below, one.above)}
