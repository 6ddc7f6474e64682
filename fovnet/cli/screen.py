"""Output on the terminal or in a log: tables, measures as text, progress bars."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console as Terminal
from rich.console import ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fovnet.machine.pace import Pace
from fovnet.watch.log import json_line

if TYPE_CHECKING:
    from fovnet.evaluate.measures import Measure
    from fovnet.evaluate.paired import Difference
    from fovnet.net.training.progress import Progress as TrainingProgress

MANY_HEADERS = 1000  # DICOM headers, which are read in three seconds
LOG_COLUMNS = 120  # width of a table that is not printed on a terminal
# fmt: off
CONTROL_CODES = (
    *range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F),
    *range(0x2066, 0x206A),
)
# fmt: on
REPLACEMENT_BY_CODE = {
    code: "\N{REPLACEMENT CHARACTER}" for code in CONTROL_CODES if chr(code) not in "\n\t"
}
"""Replacements of control characters: escapes, changes of writing direction, line ends; file names
may contain them."""


class Console(Terminal):
    """A terminal or a file to which text is written literally, in cells of tables too: file names
    may contain [brackets], :colons: and control characters."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options, markup=False, highlight=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """As rich, with control characters replaced already here, so that cell widths are computed
        from the text shown."""
        return super().render_str(text.translate(REPLACEMENT_BY_CODE), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """As rich, with control characters replaced; rich's own control segments, which move bars,
        pass unchanged."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(segment.text.translate(REPLACEMENT_BY_CODE), segment.style)

    def print(self, *objects: Any, **options: Any) -> None:
        """As rich; a failed write to stderr, such as to a log on a full disk, is ignored, except a
        broken pipe."""
        try:
            super().print(*objects, **options)
        except OSError as fault:
            if not self.stderr or isinstance(fault, BrokenPipeError):
                raise


out = Console(soft_wrap=True)
err = Console(stderr=True, soft_wrap=True)


def write_json_line(event: str, sentence: str, **facts: object) -> None:
    """A line of a service's log, as JSON."""
    print(json_line(event, sentence, **facts), file=sys.stderr, flush=True)


def write_text_line(event: str, sentence: str, **facts: object) -> None:
    """A line of a service's log, in words."""
    err.print(f"{time.strftime('%Y-%m-%dT%H:%M:%S')} {sentence}", markup=False, highlight=False)


def empty_table(title: str, *headings: str) -> Table:
    """An empty table with a title and headings, without lines between columns."""
    return Table(
        *headings,
        title=title,
        title_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )


def show_table(table: Table) -> None:
    """Prints a table in the width of the terminal, or in LOG_COLUMNS elsewhere."""
    console = out
    if not out.is_terminal:
        console = Console(width=LOG_COLUMNS)
    console.print(table)


def number_cells(number_format: str, *numbers: float | None) -> list[str]:
    """The numbers in a format such as ",.0f"; "" for None, which was not measured."""
    cells = []
    for number in numbers:
        cell = ""
        if number is not None:
            cell = format(number, number_format)
        cells.append(cell)
    return cells


def first_notes(rows: Iterable[Any]) -> str:
    """The first three distinct reasons, the `note` of rows, why these could not be measured."""
    distinct_notes = list(dict.fromkeys(row.note for row in rows if row.note))
    return "; ".join(distinct_notes[:3])


def score_text(score: float | None) -> str:
    """A loss with four decimals; "" if a trial has none."""
    if score is None:
        return ""
    return f"{score:.4f}"


def value_text(measure: str, value: float | None) -> str:
    """A measure as text, in millimetres or per cent."""
    if value is None:
        return ""
    if _is_length(measure):
        return f"{value:.1f} mm"
    return f"{value:.1%}"


def measure_text(measure: Measure | None) -> str:
    """A measure, its denominator and, if it has one, its interval, as text."""
    if measure is None or measure.value is None:
        return ""
    name = measure.name
    value_and_denominator = f"{value_text(name, measure.value)} of {measure.denominator:,}"
    if measure.low is None:
        return value_and_denominator
    return f"{value_and_denominator} ({value_text(name, measure.low)} to {value_text(name, measure.high)})"


def difference_text(difference: Difference | None) -> str:
    """A difference and its interval as text, in percentage points or millimetres."""
    if difference is None:
        return ""
    low = difference.low
    high = difference.high
    if low is None or high is None:
        return difference.interval
    scale = 100.0
    unit = ""
    if _is_length(difference.measure):
        scale = 1.0
        unit = " mm"
    interval_text = f"({low * scale:+.1f} to {high * scale:+.1f})"
    return f"{difference.difference * scale:+.1f} {interval_text}{unit}"


def _is_length(measure: str) -> bool:
    """Whether a measure is a length in mm, rather than a share within a tolerance in mm."""
    return measure.endswith("_mm") and "within" not in measure


@contextmanager
def progress_bar(what: str, unit: str = "") -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal; in a log, a line at every tenth.  With a unit also the rate per
    second, and in a log a line every minute: a tenth of an archive may take hours.  Yields the
    callback (done, total)."""
    pace = Pace(unit)
    if not err.is_terminal:
        yield _log_of_tenths(what, pace)
        return
    bar_columns = (
        SpinnerColumn(),
        TextColumn(what, markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.description}", markup=False),  # the rate
    )
    with Progress(*bar_columns, console=err) as progress:
        progress_task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(
            progress_task,
            completed=done,
            total=total,
            description=pace.progress_text(done, total).partition(", ")[0],
        )


@contextmanager
def progress_of_many(what: str, least_total: int) -> Iterator[Callable[[int, int], None]]:
    """A progress bar without a unit that appears only once the total is `least_total` or more: most
    folders are read at once.  Yields the callback (done, total)."""
    with ExitStack() as open_contexts:
        open_bars: list[Callable[[int, int], None]] = []

        def advance(done: int, total: int) -> None:
            if total < least_total:
                return
            if not open_bars:
                open_bars.append(open_contexts.enter_context(progress_bar(what)))
            open_bars[0](done, total)

        yield advance


@contextmanager
def epoch_bar(slices_per_epoch: int) -> Iterator[Callable[[TrainingProgress, int], None]]:
    """A bar of epochs with losses, slices a second and time left on a terminal; in a log, one line
    per epoch.  Yields the callback (training so far, epochs in all)."""

    def epoch_text(training: TrainingProgress, epochs: int) -> str:
        epochs_done = len(training.validation_losses)
        epoch_seconds = training.seconds / epochs_done
        losses = f"loss {training.training_losses[-1]:.3f}, validation {training.validation_losses[-1]:.3f}"
        seconds_left = epoch_seconds * (epochs - epochs_done)
        slices_per_second = slices_per_epoch / epoch_seconds
        return f"{losses}, {slices_per_second:,.0f} slices/s, {seconds_left:,.0f} s left"

    if not err.is_terminal:
        yield lambda training, epochs: err.print(
            f"epoch {len(training.validation_losses)} of {epochs}: {epoch_text(training, epochs)}"
        )
        return
    bar_columns = (
        SpinnerColumn(),
        TextColumn("epochs"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
    )
    with Progress(*bar_columns, console=err) as progress:
        progress_task = progress.add_task("", total=None)
        yield lambda training, epochs: progress.update(
            progress_task,
            completed=len(training.validation_losses),
            total=epochs,
            description=epoch_text(training, epochs),
        )


def _log_of_tenths(what: str, pace: Pace) -> Callable[[int, int], None]:
    """The callback (done, total) that logs a line at every tenth, and every minute as `pace`
    says."""
    last_tenth = -1

    def advance(done: int, total: int) -> None:
        nonlocal last_tenth
        tenth = 10 * done // max(total, 1)
        pace_text = pace.progress_text(done, total)
        if tenth > last_tenth or pace.minute_passed():
            last_tenth = tenth
            line_parts = [f"{what}: {done} of {total}", pace_text]
            err.print(", ".join(filter(None, line_parts)))

    return advance
