"""Numbers as text: the format of rates, lengths in millimetres and durations on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fovnet.net.family.layered_configuration import is_layered
from fovnet.report.content.cells import MeasuredText
from fovnet.report.content.layers import layers_text
from fovnet.words import yes_or_no

if TYPE_CHECKING:  # a duration in words costs no scipy
    from fovnet.evaluate.measures import Measure
    from fovnet.maths.ladder import Height
    from fovnet.regions import Vocabulary

DASH = "–"
"""Stands for what is missing."""
ABSENT = MeasuredText(DASH, "", "none")
"""Stands for a measure that was not taken."""


def percent(share: float | None) -> str:
    """ "4.1 %" with a no-break space; two decimals from 99.95 % on, so that 99.97 % is not shown as
    "100 %"."""
    if share is None:
        return DASH
    if share < 1 and round(share, 3) == 1:
        return f"{int(share * 10000) / 100:.2f}\N{NO-BREAK SPACE}%"
    return f"{share:.1%}".replace("%", "\N{NO-BREAK SPACE}%").replace("100.0", "100")


def measure_text(measure: Measure | None) -> MeasuredText:
    """A measure with its interval and its denominator, in millimetres for a length, else in
    percent."""
    if measure is None or measure.value is None:
        return ABSENT
    if measure.low is None or measure.high is None:
        interval_text = f"interval {measure.interval}"
    elif is_length(measure.name):
        interval_text = minus(f"{measure.low:.1f} to {measure.high:.1f}\N{NO-BREAK SPACE}mm")
    else:
        interval_text = percent_range(measure.low, measure.high)
    value_text = percent(measure.value)
    if is_length(measure.name):
        value_text = minus(f"{measure.value:.1f}\N{NO-BREAK SPACE}mm")
    return MeasuredText(value_text, interval_text, count_text(measure))


def percent_range(low: float, high: float) -> str:
    """ "2.9–5.6 %"."""
    low_without_sign = percent(low).removesuffix("\N{NO-BREAK SPACE}%")
    return f"{low_without_sign}–{percent(high)}"


def is_length(measure_name: str) -> bool:
    """Whether a measure is in millimetres; "border_within_10_mm" is a share."""
    return measure_name.endswith("_mm") and not measure_name.startswith("border_within")


def unitless_text(measure: Measure | None, digits: int = 3) -> MeasuredText:
    """A measure that is neither a share nor a length, such as a Brier score."""
    if measure is None or measure.value is None:
        return ABSENT
    interval_text = f"interval {measure.interval}"
    if measure.low is not None and measure.high is not None:
        interval_text = f"{measure.low:.{digits}f}–{measure.high:.{digits}f}"
    return MeasuredText(f"{measure.value:.{digits}f}", interval_text, count_text(measure))


def minus(text: str) -> str:
    """The text with minus signs for its hyphens."""
    return text.replace("-", "\N{MINUS SIGN}")


def count_text(measure: Measure) -> str:
    """ "41/998" for a ratio of counts, "n = 998" for a statistic of 998 observations."""
    if measure.numerator is None:
        return f"n = {measure.denominator:,}"
    return f"{measure.numerator:,.0f}/{measure.denominator:,}"


def regions_text(region_names: Sequence[str], vocabulary: Vocabulary) -> str:
    """ "pelvis to chest, spine" for three or more adjacent regions, otherwise "legs, head"; "none"
    for none."""
    ranks = sorted(
        vocabulary.chain.index(region) for region in region_names if region in vocabulary.chain
    )
    chain_names = [vocabulary.chain[rank] for rank in ranks]
    if len(ranks) > 2 and ranks[-1] - ranks[0] == len(ranks) - 1:
        chain_names = [f"{chain_names[0]} to {chain_names[-1]}"]
    side_names = [region for region in region_names if region not in vocabulary.chain]
    return ", ".join([*chain_names, *side_names]) or "none"


def score_text(score: Any) -> str:
    """A validation loss with four decimals; a dash where there is none."""
    if score is None:
        return DASH
    return f"{float(score):.4f}"


def decimal_text(number: float | None) -> str:
    """ "0.87": a number with two decimals; a dash where there is none."""
    if number is None:
        return DASH
    return f"{number:.2f}"


def whole_number_text(number: float | None) -> str:
    """ "12,345": a count with its thousands marked; a dash where there is none."""
    if number is None:
        return DASH
    return f"{number:,.0f}"


def duration(seconds: Any) -> str:
    """ "48 s", "12 min", "3.4 h"; a dash where unknown."""
    if seconds is None:
        return DASH
    total_seconds = float(seconds)
    if total_seconds < 120:
        return f"{total_seconds:.3g}\N{NO-BREAK SPACE}s"
    if total_seconds < 7200:
        return f"{total_seconds / 60:.0f}\N{NO-BREAK SPACE}min"
    return f"{total_seconds / 3600:.1f}\N{NO-BREAK SPACE}h"


def with_spaces(name: str) -> str:
    """The name with spaces for its underscores."""
    return name.replace("_", " ")


def configuration_text(level_by_axis: Mapping[str, Any]) -> str:
    """ "blocks 5 · convolutions 1 · separable no": a configuration, a level for each axis, on one
    line; of layers as `layers_text`."""
    if is_layered(level_by_axis):
        return layers_text(level_by_axis)
    return levels_text(level_by_axis)


def levels_text(level_by_axis: Mapping[str, Any]) -> str:
    """ "conv 2 · optimiser sgd": a level for each axis, on one line."""
    return " · ".join(
        f"{with_spaces(axis_name)} {setting_text(level)}"
        for axis_name, level in level_by_axis.items()
    )


def setting_text(value: Any) -> str:
    """One setting as text, without the syntax of Python; a dash for None."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return yes_or_no(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(setting_text(element) for element in value)
    if isinstance(value, Mapping):
        return configuration_text(value)
    return str(value)


def level_text(level: Any) -> str:
    """A level of an axis: "−3" with a minus sign; a word keeps its hyphen."""
    if isinstance(level, str):
        return level
    return minus(setting_text(level))


def usual_heights(heights: Sequence[Height | None], region_names: Sequence[str]) -> str:
    """ "pelvis 216 ± 16 mm, abdomen 195 ± 14 mm": the usual height of each region, where the
    decision uses it; "not used" if of none."""
    known_heights = [
        f"{region} {height.mean_mm:.0f} ± {height.sd_mm:.0f} mm"
        for region, height in zip(region_names, heights, strict=False)
        if height
    ]
    return ", ".join(known_heights) or "not used"


def whole_mm(height_mm: float) -> str:
    """Millimetres without decimals, with a minus sign, but no "−0"."""
    return minus(f"{round(float(height_mm))}")
