"""The values of a start: levels, and in a tree groups of them."""

from __future__ import annotations

import math
from typing import Annotated, Any

from pydantic import BeforeValidator

from fovnet.config.faults import show_value
from fovnet.config.numbers import parse_level


def _read_start_value(value: Any) -> Any:
    """A level, or a list or mapping of such, in JSON types.  Raises ValueError for anything else."""
    if isinstance(value, list):
        return [_read_start_value(group) for group in value]
    if isinstance(value, dict):
        return {str(name): _read_start_value(inner) for name, inner in value.items()}
    level = parse_level(value)
    is_level = isinstance(level, int | float | str)
    if not is_level or (isinstance(level, float) and not math.isfinite(level)):
        raise ValueError(f"{show_value(level)}; give a number, a word, or yes or no")
    return level


StartValue = Annotated[Any, BeforeValidator(_read_start_value)]
