"""The page as data: everything the report shows, as text and in reading order.

`gather` makes it, `draw` turns its views into figures, `pour` fills the template with it. Numbers shown as text are strings here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.evaluate.cases import Stretch
from fovnet.regions import Vocabulary
from fovnet.search.explaining import Explanation


@dataclass(frozen=True)
class Shown:
    """One measured number as text: "4.1 %", "2.9–5.6 %", "41/998"; the value is never shown without the others."""

    value: str
    interval: str
    count: str


@dataclass(frozen=True)
class Headline:
    """A headline result and its label; `before` is its value before the decision, "" if it has none."""

    label: str
    shown: Shown
    before: str = ""


@dataclass(frozen=True)
class Table:
    """Rows under a header; the first cell of a row is its label. A cell is a string or a measured number. `name` is the stem of its TSV."""

    header: tuple[str, ...]
    rows: tuple[tuple[str | Shown, ...], ...]
    colours: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class Refusal:
    """A refused volume, and why."""

    volume_id: str
    sentence: str


@dataclass(frozen=True)
class StageMatrix:
    """One confusion matrix (k, k), rows true and columns predicted, with its name and its error in words."""

    name: str
    error: str
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class ConfusionView:
    """The confusion matrices before smoothing, after it, and after the decision."""

    classes: tuple[str, ...]
    stages: tuple[StageMatrix, ...]


@dataclass(frozen=True)
class BorderDots:
    """Signed errors of one kind of border; `are_ends` if they lie between a region and none."""

    name: str
    errors_mm: tuple[float, ...]
    median_mm: float | None
    are_ends: bool = False


@dataclass(frozen=True)
class ReliabilityPoint:
    """One bin of confidence with at least one slice."""

    stage: str
    middle: float
    confidence: float
    share: float
    slices: int


@dataclass(frozen=True)
class ReliabilityView:
    """Points of the reliability diagram, and the measures of calibration."""

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
    """The best trials, all trials, and how they ended; `origin` completes "the networks were ...".

    further  whether the networks of an existing ensemble were trained further, without a search
    """

    further: bool
    origin: str
    sentence: str
    points: tuple[CurvePoint, ...]
    best: Table
    every: Table
    endings: Table


@dataclass(frozen=True)
class ExplainedView:
    """A search explained: sentences, tables, and the numbers that are drawn."""

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
    spending: str = ""
    rungs: Table = Table((), ())
    stopped: Table = Table((), ())
    descending: str = ""
    teaching: str = ""
    believed: Table = Table((), ())


@dataclass(frozen=True)
class VolumeView:
    """One volume for the whole-body figure, and why it was chosen; `guessed` if the answer is uncertain."""

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
    guessed: bool


@dataclass(frozen=True)
class LeftOut:
    """A number of volumes excluded at a step, and why."""

    why: str
    volumes: int


@dataclass(frozen=True)
class FlowStep:
    """Volumes, subjects and slices that remain at this step, None where not counted; `left_out` are the exclusions before it."""

    name: str
    volumes: int
    subjects: int | None
    slices: int | None
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True)
class FlowView:
    """The steps of the data, in order."""

    steps: tuple[FlowStep, ...]


@dataclass(frozen=True)
class RiskPoint:
    """A coverage, most confident volumes first, with the shares of wrong slices and of volumes with wrong regions."""

    coverage: float
    slice_error: float
    wrong_sets: float


@dataclass(frozen=True)
class RiskView:
    """Risk against coverage; `answered` is the share of volumes that the decision answers, None without volumes."""

    points: tuple[RiskPoint, ...]
    answered: float | None
    table: Table
    sentence: str


@dataclass(frozen=True)
class Thumbnail:
    """One slice (128, 128) uint8, and its predicted and true classes in words."""

    pixels: NDArray[np.uint8]
    words: str
    wrong: bool


@dataclass(frozen=True)
class Failure:
    """A volume with wrong regions, or with the right ones and too many wrong slices."""

    title: str
    words: str
    spans: Table
    picture: VolumeView
    thumbnails: tuple[Thumbnail, ...]


@dataclass(frozen=True)
class FailuresView:
    """All failures, answered ones first, each group by descending confidence, and pictures of the first."""

    sentence: str
    table: Table
    pictured: tuple[Failure, ...]


@dataclass(frozen=True)
class Checklist:
    """A reporting guideline: its items by number, and the sections that answer them."""

    name: str
    reference: str
    sentence: str
    table: Table


@dataclass(frozen=True)
class AblationView:
    """The measures of each arm of the ablation, and the arms that were left out."""

    table: Table
    left_out: str


@dataclass(frozen=True)
class Page:
    """The whole report."""

    title: str
    vocabulary: Vocabulary
    sentence: str
    by_collection: str
    headlines: tuple[Headline, ...]
    use: tuple[str, ...]
    not_for: tuple[str, ...]
    method: str
    inputs_sentence: str
    inputs: Table
    flow: FlowView
    flow_table: Table
    refused: Table
    people: Table
    reference: tuple[str, ...]
    convention: Table
    labels: Table
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
    risk: RiskView
    promise: str
    doubts: Table
    header_rates: Table
    headers: Table
    ablation: AblationView | None
    failures: FailuresView
    gallery: bool
    faces: bool
    pictures: tuple[VolumeView, ...]
    search: SearchView
    explained: ExplainedView | None
    members: Table
    members_lacking: str
    decision: Table
    running: Table
    published: Table
    versions: Table
    hashes: Table
    configuration: str
    intervals: str
    limits: tuple[str, ...]
    references: tuple[str, ...]
    stated: Mapping[str, float]
    checklists: tuple[Checklist, ...]
