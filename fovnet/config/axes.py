"""One axis of a finite space, as a user writes it: a list of levels, or a mapping of its kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, PositiveFloat, TypeAdapter, ValidationError, model_validator

from fovnet.config.faults import describe_wanted, key_path, show_value
from fovnet.config.numbers import Level
from fovnet.config.section import Section
from fovnet.levels import even_ratios


class Range(Section):
    """From `low` to `high`, both included, in `levels` steps of equal ratio: an axis that is
    continuous on a logarithmic scale."""

    low: PositiveFloat
    high: PositiveFloat
    levels: int = Field(ge=2, le=1000)

    @model_validator(mode="after")
    def _levels_apart(self) -> Range:
        """Raises ValueError unless the range has different ends and levels."""
        if self.low >= self.high:
            raise ValueError(
                f"from low {self.low:g} to high {self.high:g}; low must be smaller: swap them, or "
                "give other ends"
            )
        distinct_count = len(set(even_ratios(self.low, self.high, self.levels)))
        if distinct_count < self.levels:
            raise ValueError(
                f"levels {self.levels} from {self.low:g} to {self.high:g} are only {distinct_count} "
                f"different ones when rounded to four digits; give at most {distinct_count}, or ends "
                "farther apart"
            )
        return self


Levels = Annotated[list[Level], Field(min_length=1)]
AXIS_KINDS: Mapping[str, Any] = {
    "ordinal": TypeAdapter(Levels),
    "categorical": TypeAdapter(Levels),
    "log": TypeAdapter(Range),
}


def check_axis(levels_or_mapping: Any) -> Any:
    """An axis in JSON types: a list of levels, or a mapping of one of AXIS_KINDS.  Raises
    ValueError that says what is wrong."""
    if isinstance(levels_or_mapping, list):
        return AXIS_KINDS["ordinal"].validate_python(levels_or_mapping)
    if (
        not isinstance(levels_or_mapping, dict)
        or len(levels_or_mapping) != 1
        or not levels_or_mapping.keys() <= AXIS_KINDS.keys()
    ):
        raise ValueError(
            f"{show_value(levels_or_mapping)}; give a list of levels, or one of "
            f"{', '.join(f'{{{kind}: ...}}' for kind in AXIS_KINDS)}"
        )
    ((kind, levels_of_kind),) = levels_or_mapping.items()
    checked_levels = AXIS_KINDS[kind].validate_python(levels_of_kind)
    if isinstance(checked_levels, Range):
        checked_levels = checked_levels.model_dump()
    return {kind: checked_levels}


def axis_faults(name: str, error: ValueError) -> list[tuple[str, str]]:
    """(path, sentence) of each fault that `check_axis` raised."""
    if not isinstance(error, ValidationError):
        return [(name, str(error))]
    faults = []
    for fault in error.errors():
        if fault["type"] == "value_error":
            faults.append((name, str(fault["ctx"]["error"])))
        else:
            sentence = f"{show_value(fault['input'])}: {describe_wanted(fault)}"
            faults.append((".".join(filter(None, (name, key_path(fault)))), sentence))
    return faults
