"""The page, as data: everything the report shows, already in words and in the order in which it is read.

`gather` makes it, `draw` turns its views into figures, `pour` fills the template with it. Numbers that are read are strings here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.cases import Stretch
from fovnet.regions import Vocabulary
from fovnet.search.explaining import Explanation


@dataclass(frozen=True)
class Shown:
    """One measured number as it is read: "4.1 %", "2.9–5.6 %", "41/998"; never the first without the others."""

    value: str
    interval: str
    count: str


@dataclass(frozen=True)
class Headline:
    """A number of the answer, with what it counts; `before` is what it was before the decision, if that says something."""

    label: str
    shown: Shown
    before: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under a header; the first cell of a row is its head. A cell is a string or a measured number."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | Shown, ...], ...]
    colours: tuple[str, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """A volume that got no answer, and why."""

    volume_id: str
    sentence: str


@dataclass(frozen=True)
class StageMatrix:
    """One confusion matrix (k, k), rows true and columns said, with its name and its error in words."""

    name: str
    error: str
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class ConfusionView:
    """The matrices before and after smoothing and after the decision."""

    classes: tuple[str, ...]
    stages: tuple[StageMatrix, ...]


@dataclass(frozen=True)
class BorderDots:
    """Signed errors of one kind of border."""

    name: str
    errors_mm: tuple[float, ...]
    median_mm: float | None


@dataclass(frozen=True)
class ReliabilityPoint:
    """One bin of confidence that holds slices."""

    stage: str
    middle: float
    confidence: float
    share: float
    slices: int


@dataclass(frozen=True)
class ReliabilityView:
    """Points of the reliability diagram, and the two numbers that sum it up."""

    points: tuple[ReliabilityPoint, ...]
    table: Table


@dataclass(frozen=True)
class CurvePoint:
    """One trial of the search; score None when it failed."""

    slot: int
    score: float | None
    is_start: bool


@dataclass(frozen=True)
class SearchView:
    """What was tried, the best first, and how trials ended."""

    sentence: str
    points: tuple[CurvePoint, ...]
    best: Table
    every: Table
    endings: Table


@dataclass(frozen=True)
class ExplainedView:
    """What can be said of a search afterwards: sentences, tables, and the numbers that are drawn."""

    ending: str
    convergence: str
    honesty: str
    mattering: str
    failing: str
    axes: Table
    pairs: Table
    together: Table | None
    together_of: str
    failures: Table
    every_failure: Table
    explanation: Explanation


@dataclass(frozen=True)
class VolumeView:
    """One volume for the whole-body figure, and why it was chosen."""

    why: str
    title: str
    alt: str
    pixels: NDArray[np.uint8]
    z_mm: NDArray[np.float64]
    side_mm: float
    raw: NDArray[np.float64]
    smoothed: NDArray[np.float64]
    spans: Sequence[Stretch]
    truth: Sequence[Stretch]
    message: str


@dataclass(frozen=True)
class Page:
    """The whole report."""

    title: str
    vocabulary: Vocabulary
    sentence: str
    by_collection: str
    headlines: tuple[Headline, ...]
    inputs_sentence: str
    inputs: Table
    refusals: tuple[Refusal, ...]
    confusion: ConfusionView
    regions: Table
    stages: Table
    borders: Table
    border_dots: tuple[BorderDots, ...]
    handling: Table
    volumes: Table
    subgroups: Table
    too_few: tuple[str, ...]
    reliability: ReliabilityView
    pictures: tuple[VolumeView, ...]
    search: SearchView
    explained: ExplainedView | None
    members: Table
    decision: Table
    published: Table
    versions: Table
    configuration: str
    intervals: str
