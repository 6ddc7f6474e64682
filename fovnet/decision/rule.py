"""The settings of the decision from probabilities to spans, chosen on the validation split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import IDENTITY_BETA, IDENTITY_LINE, Beta, Line
from fovnet.errors import ModelError
from fovnet.maths.ladder import Height

OBSERVATION_MM = 10.0
"""Slices closer than this share the evidence of one observation, so that thin and thick stacks are
decided alike."""

DECODING_METHODS = ("exact", "intersections")
HEIGHTS_USES = ("all", "presence")

EVEN_PROBABILITY = 0.5
"""Probability below which something is more likely absent than present."""


MEANING_BY_SETTING = {
    "temperature": "softens (above 1) or sharpens the mean of the networks",
    "sigma_mm": "width of the Gaussian that smooths along the body",
    "side_threshold": "share above which a side region such as spine is reported, also where a "
    "chain region is more probable",
    "chain_share_in_side": "share that a chain region inside a side region's stretch needs to be "
    "reported",
    "border_toll": "log-evidence that a border between two regions has to be worth",
    "evidence_mm": "height that counts as one independent observation: neighbouring slices show "
    "the same thing",
    "heights": "usual height of each chain region in the body, feet to head; empty: none is used",
    "min_confidence": "a volume below it is answered with status uncertain",
    "method": "exact, or intersections: the thesis's borders, only where two adjacent curves cross",
    "interval_stretch": "how many times as wide the borders' intervals are as the posterior's, so "
    "that they hold as often as stated",
    "flipped_gain": "log-evidence for the reversed body order above which a volume is called "
    "possibly flipped",
    "usual_misfit": "log-evidence an observation that the order of the body may cost; a volume "
    "that it costs more is trusted less",
    "usual_roughness": "how much neighbouring slices may differ beside any two; a volume above is "
    "trusted less, and at 1 not at all",
    "weights": "each member's weight in the mean; empty: equal weights",
    "beta": "calibration of the decided labels' confidences",
    "line": "calibration of the probability of the very set of regions",
    "least_novelty": "a volume with a smaller share of validation slices as unusual as its own is "
    "uncertain",
    "heights_for": "all, or presence: heights decide which regions are shown, and the slices alone "
    "where the borders lie",
    "least_agreement": "a volume whose members agree less is uncertain",
    "least_upright": "a volume whose slices less probably run from feet to head is uncertain",
    "least_extent_mm": "a volume that reaches less far along each axis is uncertain",
    "min_extent_mm": "height of a region that has to be in the picture for it to be shown",
    "yes_bar": "probability from which on a region is said to be shown; 0: nothing is said region "
    "by region",
    "no_bar": "probability from which on a region is said not to be shown; 0 as for yes_bar",
    "chain_line": "calibration of the probability that a region of the chain is shown",
    "side_line": "calibration of the probability that a side region is shown",
}
"""The meaning of each setting of a rule, also for its table in the report."""


GREATEST_RULE_NUMBER = 1e6
"""No setting is beyond it: larger ones would overflow, and are damage."""
SHARE_RANGE = (lambda value: 0 <= value <= 1), "a share from 0 to 1"
POSITIVE_RANGE = (lambda value: value > 0), "a number above 0"
NONNEGATIVE_RANGE = (lambda value: value >= 0), "0 or more"
RANGE_BY_SETTING: Mapping[str, tuple[Callable[[float], bool], str]] = {
    "temperature": POSITIVE_RANGE,
    "evidence_mm": POSITIVE_RANGE,
    "interval_stretch": NONNEGATIVE_RANGE,
    "sigma_mm": NONNEGATIVE_RANGE,
    "least_extent_mm": NONNEGATIVE_RANGE,
    "side_threshold": SHARE_RANGE,
    "chain_share_in_side": SHARE_RANGE,
    "min_confidence": SHARE_RANGE,
    "least_novelty": SHARE_RANGE,
    "least_agreement": SHARE_RANGE,
    "least_upright": SHARE_RANGE,
    "yes_bar": SHARE_RANGE,
    "no_bar": SHARE_RANGE,
    "min_extent_mm": POSITIVE_RANGE,
    "usual_roughness": ((lambda value: 0 <= value < 1), "a share from 0, below 1"),
}
"""The valid range of each number of a rule that has one, and its wording in errors."""


PLAIN_CALIBRATION_BY_SETTING = {
    "beta": IDENTITY_BETA,
    "line": IDENTITY_LINE,
    "chain_line": IDENTITY_LINE,
    "side_line": IDENTITY_LINE,
}
"""The calibrations of a rule, and what each is where it changes nothing."""


NAME_BY_OLDER_NAME = {
    "protocol_threshold": "side_threshold",
    "beside_protocol": "chain_share_in_side",
}
"""Settings that files of models, those that come with the package among them, have by other
names."""


@dataclass(frozen=True)
class Rule:
    """The settings of a decision, chosen on the validation split and stored with the ensemble.
    MEANING_BY_SETTING explains each.

    heights     None for a region of unknown height
    weights     (p,)
    beta, line  as in `fovnet.decision.calibrations`
    """

    temperature: float = 1.0
    sigma_mm: float = 6.0
    side_threshold: float = 0.3
    chain_share_in_side: float = 0.05
    border_toll: float = 0.0
    evidence_mm: float = OBSERVATION_MM
    heights: tuple[Height | None, ...] = ()
    min_confidence: float = 0.0
    method: str = "exact"
    interval_stretch: float = 1.0
    flipped_gain: float = 1.0
    usual_misfit: float = 0.5
    usual_roughness: float = 0.7
    weights: tuple[float, ...] = ()
    beta: Beta = IDENTITY_BETA
    line: Line = IDENTITY_LINE
    least_novelty: float = 0.0
    heights_for: str = "all"
    least_agreement: float = 0.0
    least_upright: float = 0.0
    least_extent_mm: float = 0.0
    min_extent_mm: float = 10.0
    yes_bar: float = 0.0
    no_bar: float = 0.0
    chain_line: Line = IDENTITY_LINE
    side_line: Line = IDENTITY_LINE

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Rule:
        """From the JSON values of its settings.  Raises KeyError, TypeError or ValueError for
        others than those of a rule."""
        if not isinstance(values["heights"], list):
            raise TypeError("heights are no list")
        values = {NAME_BY_OLDER_NAME.get(name, name): value for name, value in values.items()}
        heights = tuple(
            None if height is None else Height(**height) for height in values["heights"]
        )
        tuple_by_name = {
            name: tuple(value) for name, value in values.items() if isinstance(value, list)
        }
        return cls(**{**values, **tuple_by_name, "heights": heights})

    @property
    def states_regions(self) -> bool:
        """Whether it says of each region whether it is shown; one tuned by an earlier fovnet does
        not."""
        return self.yes_bar > 0

    def refuse_unsound(self, source: Path, member_count: int, rung_count: int) -> None:
        """Raise unless these settings are valid for so many members and chain regions.

        Raises ModelError ("rule-invalid") with the first that is not, and as `member_weights`.
        """
        for setting, value_type in get_type_hints(Rule).items():
            value = getattr(self, setting)
            if value_type is float and not _are_numbers((value,)):
                raise _rule_error(
                    source, setting, value, f"a number up to {GREATEST_RULE_NUMBER:,.0f}"
                )
        for setting, (is_in_range, range_in_words) in RANGE_BY_SETTING.items():
            if not is_in_range(getattr(self, setting)):
                raise _rule_error(source, setting, getattr(self, setting), range_in_words)
        for setting, plain_values in PLAIN_CALIBRATION_BY_SETTING.items():
            if not _are_numbers(getattr(self, setting), len(plain_values)):
                raise _rule_error(
                    source, setting, getattr(self, setting), f"{len(plain_values)} numbers"
                )
        for height in self.heights:
            if height is not None and not (
                _are_numbers((height.mean_mm, height.sd_mm)) and height.sd_mm >= 0
            ):
                raise _rule_error(
                    source, "heights", height, "a mean and a deviation in millimetres each, or null"
                )
        for setting, allowed_words in (("method", DECODING_METHODS), ("heights_for", HEIGHTS_USES)):
            if getattr(self, setting) not in allowed_words:
                raise _rule_error(
                    source, setting, getattr(self, setting), " or ".join(allowed_words)
                )
        if len(self.heights) not in (0, rung_count):
            raise _rule_error(source, "heights", len(self.heights), f"none or {rung_count} of them")
        if not _are_numbers(self.weights):
            raise _rule_error(source, "weights", self.weights, "numbers")
        weights = self.member_weights(member_count, source)
        if (weights < 0).any() or not abs(float(weights.sum()) - 1) < 1e-6:
            raise _rule_error(source, "weights", self.weights, "shares that add up to 1")

    def member_weights(
        self, member_count: int, source: Path | str = "the rule"
    ) -> NDArray[np.float64]:
        """The weights (p,) of so many members, equal if the rule has none.  Raises ModelError
        ("rule-other-members") if it has another number of weights; `source` is the file named in
        the error."""
        if self.weights and len(self.weights) != member_count:
            raise ModelError(
                "rule-other-members",
                f"{source}: weights {len(self.weights)} members, but there are {member_count}; "
                "run `fovnet ensemble` and `fovnet tune` again",
            )
        return np.array(self.weights) if self.weights else np.full(member_count, 1.0 / member_count)


def _are_numbers(values: Any, count: int | None = None) -> bool:
    """Whether this is a tuple, of so many numbers, none beyond
    GREATEST_RULE_NUMBER; NaN is none."""
    if not isinstance(values, tuple) or count not in (None, len(values)):
        return False
    return all(
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) <= GREATEST_RULE_NUMBER
        for value in values
    )


def _rule_error(source: Path, name: str, value: Any, expected: str) -> ModelError:
    return ModelError(
        "rule-invalid",
        f"{source}: {name} is {value!r}, not {expected}; copy the folder again, or run `fovnet "
        "tune`",
    )
