"""What a check is: a reason not to trust an answer, and all that fovnet measures and says about it.

A volume is decided first.  Each check then measures one value of it, and gives reasons where the
value is on the wrong side of its bar: a constant, or a setting of the rule that was fitted to
validation volumes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.chain.spans import Decision
from fovnet.decision.orientation import Bearing
from fovnet.decision.rule import Rule
from fovnet.volume.slices.stack import SliceStack

Floats = NDArray[np.float64]
Value = TypeVar("Value")


class Picture(Protocol):
    """What is measured on a volume's pixels alone, whatever the networks say of it."""

    @property
    def is_air(self) -> NDArray[np.bool_]:
        """(s,) the cuts that show nothing but air."""

    @property
    def disorder(self) -> float:
        """How little neighbouring cuts resemble each other."""

    @property
    def pass_count(self) -> int:
        """In how many interleaved passes the cuts seem to lie; 1 in their order."""

    @property
    def resembles_phantom(self) -> bool:
        """Whether they are smooth as water, or round as bottles."""

    @property
    def extent_mm(self) -> float:
        """How far the picture reaches along its longest axis."""

    @property
    def bearing(self) -> Bearing | None:
        """The body's orientation; None where it cannot be judged."""


@dataclass(frozen=True)
class DecidedVolume:
    """A decided volume: all that a check may measure.

    classes                   (k,) their names
    member_probabilities      (p, s, k) each network's
    member_weights            (p,) of the members in their mean
    probabilities             (s, k) this mean
    p_values                  (s,) share of validation slices at least as unusual; None without a
                              novelty reference
    brightened_probabilities  (s, k) the mean on dark slices that were brightened, NaN on others;
                              None if there are none
    picture                   what is measured on its pixels
    """

    stack: SliceStack
    decision: Decision
    classes: tuple[str, ...]
    member_probabilities: NDArray[np.float32]
    member_weights: Floats
    probabilities: Floats
    picture: Picture
    p_values: Floats | None = None
    brightened_probabilities: Floats | None = None


@dataclass(frozen=True)
class StatedRegion:
    """A region of a statement: whether it is in the answer, its rows (s,) there, or the row at
    which it is most probable, and the probability that it is shown."""

    is_shown: bool
    rows: NDArray[np.bool_]
    probability: float


@dataclass(frozen=True)
class Concern(Generic[Value]):
    """Which answers on regions a doubt makes unsure: in words, and whether it affects that on a
    region; and the status of a volume that has it."""

    words: str
    affects: Callable[[Value, Rule, StatedRegion], bool]
    status: str = "partly or uncertain"


EVERY_REGION = Concern[Any]("every region", lambda value, rule, region: True, "uncertain")
REGIONS_NOT_SHOWN = Concern[Any](
    "regions not shown", lambda value, rule, region: not region.is_shown
)
EXTENTS_ALONE = Concern[Any]("extents alone", lambda value, rule, region: False, "any")


@dataclass(frozen=True)
class Reason:
    """Why an answer is doubted: a sentence for physicians, and the figures behind it for those who
    ask."""

    sentence: str
    figures: str


@dataclass(frozen=True)
class Code:
    """A stable code, as in spans.tsv, with its words for people.

    words            a short form for tables
    meaning, to_try  clauses without a full stop
    status           of the volumes that have the code: ok, uncertain, refused
    """

    code: str
    words: str
    meaning: str
    to_try: str
    status: str = "uncertain"


@dataclass(frozen=True, kw_only=True)
class Check(Code, Generic[Value]):
    """One check.

    find_reasons          why a value is a doubt under the rule, with the figures behind it where
                          the sentence lacks them; none if it is no doubt
    concerns              which statements on regions are then unsure
    measure               the value on a volume, None where it cannot be judged; without `measure`
                          it is the decision
    bar_setting, fit_bar  the setting of the rule that the values on validation volumes give, and
                          how; "" for other bars
    """

    find_reasons: Callable[[Value, Rule], Iterable[str | Reason]]
    concerns: Concern[Value]
    measure: Callable[[DecidedVolume], Value | None] | None = None
    bar_setting: str = ""
    fit_bar: Callable[[Sequence[Value]], float] | None = None
