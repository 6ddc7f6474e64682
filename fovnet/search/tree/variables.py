"""The values that a variable of a tree may have, and their places on [0, 1].

number  in an array: a real or whole value itself, of a list or a category the number of its
        level; nan where the variable is inactive
place   on [0, 1]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.search.space import Axis, Level

Floats = NDArray[np.float64]


POWERS_OF_TEN = np.array([float(f"1e{exponent}") for exponent in range(23)])
"""Those that are exact."""


def round_to_four_digits(numbers: Floats) -> Floats:
    """The numbers, of their shape, as they are written with four significant digits; nan stays.

    The product of a number and a power of ten is true to 1e-12 of its last digit; numbers within
    0.001 of a half, and those beyond the exact powers, are written and read.
    """
    magnitudes = np.where(numbers == 0.0, 1.0, np.abs(numbers))
    decimals = 3.0 - np.floor(np.log10(magnitudes))
    is_exact = (decimals >= 0.0) & (decimals < len(POWERS_OF_TEN))
    powers = POWERS_OF_TEN[np.where(is_exact, decimals, 0.0).astype(np.int64)]
    scaled = numbers * powers
    digits = np.rint(scaled)
    rounded = np.asarray(digits / powers)
    is_sure = is_exact & (np.abs(scaled - digits) < 0.499)
    rounded[~is_sure] = [float(f"{number:.4g}") for number in numbers[~is_sure].tolist()]
    return rounded


@dataclass(frozen=True)
class Range:
    """The real or whole numbers from low to high, on a linear or a logarithmic scale.

    A real has four significant digits: finer than a hundredth of a range, and coarser than the last
    bits in which exp and log of two machines differ.
    """

    low: float
    high: float
    is_whole: bool = False
    is_log: bool = False

    @property
    def is_fixed(self) -> bool:
        """Whether there is a single value."""
        return self.low == self.high

    @property
    def count(self) -> float:
        """The number of values; inf of real ones."""
        if self.is_whole or self.is_fixed:
            return self.high - self.low + 1
        return float("inf")

    @property
    def wanted(self) -> str:
        """ "a whole number from 1 to 3"."""
        kind = "number"
        if self.is_whole:
            kind = "whole number"
        return f"a {kind} from {self.low:g} to {self.high:g}"

    @property
    def middle(self) -> float:
        """The value midway on its scale."""
        return float(self.round(self.at_places(np.array([0.5])))[0])

    def places(self, numbers: Floats) -> Floats:
        """Where numbers lie on [0, 1], of their shape; nan stays nan."""
        if self.is_fixed:
            return np.asarray(np.where(np.isnan(numbers), np.nan, 0.5))
        if self.is_log:
            share = np.log(numbers / self.low) / np.log(self.high / self.low)
        else:
            share = (numbers - self.low) / (self.high - self.low)
        return np.asarray(share)

    def at_places(self, places: Floats) -> Floats:
        """The numbers at places, of their shape, not rounded yet."""
        if self.is_log:
            return np.asarray(self.low * np.exp(places * np.log(self.high / self.low)))
        return np.asarray(self.low + places * (self.high - self.low))

    def draw(self, uniform: Floats) -> Floats:
        """Numbers drawn evenly on the scale, from uniform ones in [0, 1); not rounded yet."""
        return self.at_places(uniform)

    def round(self, numbers: Floats) -> Floats:
        """The numbers as they are written: whole ones half up, real ones to four digits, then cut off
        at the ends; -0.0 is 0.0, nan stays."""
        rounded = np.floor(numbers + 0.5) if self.is_whole else round_to_four_digits(numbers)
        return np.asarray(np.minimum(np.maximum(rounded, self.low), self.high) + 0.0)

    def read(self, level: Any) -> float:
        """The number of a value in JSON.  Raises ValueError, with what is wanted, for another."""
        is_number = isinstance(level, int | float) and not isinstance(level, bool)
        if not is_number or not self.low <= level <= self.high:
            raise ValueError(self.wanted)
        if self.is_whole and level != int(level):
            raise ValueError(self.wanted)
        if self.is_whole:
            return float(level)
        # as `round`, without arrays: a search reads all its points again at each slot
        return min(max(float(f"{float(level):.4g}"), float(self.low)), float(self.high)) + 0.0

    def write(self, number: float) -> Level:
        """The value of a number in JSON: whole ones without a point, real ones with one."""
        if self.is_whole:
            return int(number)
        return float(number)

    def column(self, numbers: Floats) -> NDArray[Any]:
        """The values (m,) of numbers (m,), nan where these are."""
        return numbers


@dataclass(frozen=True)
class Counts(Range):
    """How many copies a repeat may have."""

    def draw(self, uniform: Floats) -> Floats:
        """Every count is as likely."""
        return self.low + np.floor(uniform * self.count)


@dataclass(frozen=True)
class Levels:
    """The levels of a list, in order, or of a category; their numbers are whole, from 0."""

    axis: Axis
    low = 0.0
    is_whole = True

    @property
    def high(self) -> float:
        """The number of the last level."""
        return len(self.axis.levels) - 1.0

    @property
    def is_category(self) -> bool:
        """Whether the levels have no order."""
        return self.axis.kind == "categorical"

    @property
    def is_fixed(self) -> bool:
        """Whether there is a single level."""
        return len(self.axis.levels) == 1

    @property
    def count(self) -> float:
        """The number of levels."""
        return len(self.axis.levels)

    @property
    def wanted(self) -> str:
        """ "one of relu, sigmoid, tanh"."""
        return f"one of {', '.join(map(str, self.axis.levels))}"

    @property
    def middle(self) -> float:
        """The first level."""
        return 0.0

    @cached_property
    def _level_places(self) -> Floats:
        return np.append(self.axis.columns[:, 0], np.nan)

    def places(self, numbers: Floats) -> Floats:
        """Where the levels of an ordinal list lie on [0, 1]; nan stays nan.  Of a category: their
        numbers."""
        if self.is_category:
            return numbers
        return np.asarray(self._level_places[self._indices(numbers)])

    def at_places(self, places: Floats) -> Floats:
        """The levels (m,) nearest to places (m,) of an ordinal list, the first of equally near ones."""
        gaps = np.abs(places[:, None] - self._level_places[:-1])
        return np.asarray(np.argmin(gaps, axis=1), dtype=np.float64)

    def draw(self, uniform: Floats) -> Floats:
        """Levels drawn alike, from uniform numbers in [0, 1)."""
        return np.floor(uniform * len(self.axis.levels))

    def round(self, numbers: Floats) -> Floats:
        """Numbers of levels; nan stays."""
        return np.asarray(np.clip(np.floor(numbers + 0.5), self.low, self.high) + 0.0)

    def read(self, level: Any) -> float:
        """The number of a level in JSON.  Raises ValueError, with what is wanted, for another."""
        for number, own_level in enumerate(self.axis.levels):
            # True is 1 in Python, but not in a file
            is_same_kind = isinstance(level, bool) == isinstance(own_level, bool)
            if is_same_kind and level == own_level:
                return float(number)
        raise ValueError(self.wanted)

    def write(self, number: float) -> Level:
        """The level of a number in JSON."""
        return self.axis.levels[int(number)]

    @cached_property
    def _levels_and_nan(self) -> NDArray[Any]:
        return np.array([*self.axis.levels, np.nan])

    def column(self, numbers: Floats) -> NDArray[Any]:
        """The levels (m,) of numbers (m,), nan or "nan" where these are nan."""
        return np.asarray(self._levels_and_nan[self._indices(numbers)])

    def _indices(self, numbers: Floats) -> NDArray[np.int64]:
        """Of levels; one more where a number is nan."""
        return np.where(np.isnan(numbers), len(self.axis.levels), numbers).astype(np.int64)


Values = Range | Levels
HEADER_KINDS = ("repeat", "choose")
NUMBER_KINDS = ("real", "whole")
AXIS_KINDS = ("ordinal", "categorical", "log")


def header_kind(form: Any) -> str:
    """One of HEADER_KINDS; empty for the form of what makes no others active."""
    if not isinstance(form, Mapping):
        return ""
    return next((kind for kind in HEADER_KINDS if kind in form), "")


def values_of(name: str, form: Any) -> Values:
    """The values of a variable from its checked form: a list, or a mapping of its kind."""
    if isinstance(form, Mapping):
        for kind in NUMBER_KINDS:
            if kind in form:
                limits = form[kind]
                return Range(
                    limits["low"], limits["high"], kind == "whole", bool(limits.get("log", False))
                )
        form = {kind: form[kind] for kind in AXIS_KINDS if kind in form}
    return Levels(Axis.of(name, form))
