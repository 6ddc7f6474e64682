"""What people see: tables, measures in words, bars on a terminal and lines in a log."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console as Terminal
from rich.console import ConsoleOptions, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fovnet.maths.pace import Pace

if TYPE_CHECKING:
    from fovnet.evaluate.measures import Measure
    from fovnet.evaluate.paired import Difference
    from fovnet.net.progress import Progress as TrainingProgress

OBEYED = (*range(0x20), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
UNSHOWN = {code: "\N{REPLACEMENT CHARACTER}" for code in OBEYED if chr(code) not in "\n\t"}
"""What a terminal obeys instead of showing it: escapes, what turns the direction of writing or ends a line; file names may hold them."""


class Console(Terminal):
    """A terminal or a file to which text is written as text, in cells of tables too: names of files may hold [brackets], :colons: and what
    a terminal obeys."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how, markup=False, highlight=False, emoji=False)

    def render_str(self, text: str, **how: Any) -> Text:
        """As rich takes text for something to be shown; here a cell's width is known with what it will really show."""
        return super().render_str(text.translate(UNSHOWN), **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich renders, whatever the text came in; what moves bars about has no text."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(segment.text.translate(UNSHOWN), segment.style)

    def print(self, *objects: Any, **how: Any) -> None:
        """As rich prints; what a log on a full disk does not take of how the work goes stops no work."""
        try:
            super().print(*objects, **how)
        except OSError as fault:
            if not self.stderr or isinstance(fault, BrokenPipeError):
                raise


out, err = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)


def titled(title: str, *headings: str) -> Table:
    """An empty table under a title, its columns side by side without lines."""
    return Table(*headings, title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, padding=(0, 2, 0, 0))


def show_table(table: Table) -> None:
    """Where nobody's window is too small, as wide as it is."""
    (out if out.is_terminal else Console(width=120)).print(table)


def told_score(score: float | None) -> str:
    """A loss with four decimals; nothing for a trial that has none."""
    return "" if score is None else f"{score:.4f}"


def told_value(measure: str, value: float | None) -> str:
    """A measure as the terminal shows it: millimetres, else per cent."""
    if value is None:
        return ""
    return f"{value:.1f} mm" if _is_length(measure) else f"{value:.1%}"


def told_measure(one: Measure | None) -> str:
    """A measure, what it rests on, and its interval where it has one."""
    if one is None or one.value is None:
        return ""
    told = f"{told_value(one.name, one.value)} of {one.denominator:,}"
    return told if one.low is None else f"{told} ({told_value(one.name, one.low)} to {told_value(one.name, one.high)})"


def told_gain(one: Difference | None) -> str:
    """A difference and its interval, in points or millimetres."""
    if one is None:
        return ""
    if one.low is None or one.high is None:
        return one.interval
    scale, unit = (1.0, " mm") if _is_length(one.measure) else (100.0, "")
    return f"{one.difference * scale:+.1f} ({one.low * scale:+.1f} to {one.high * scale:+.1f}){unit}"


def _is_length(measure: str) -> bool:
    """Whether a measure is one of millimetres, and not a share of what lies within so many."""
    return measure.endswith("_mm") and "within" not in measure


@contextmanager
def progress_bar(what: str, unit: str = "") -> Iterator[Callable[[int, int], None]]:
    """A progress bar on a terminal; in a log, a line at every tenth of the way.  With a unit also how many a second, and in a log a
    line every minute: a tenth of an archive is hours."""
    pace = Pace(unit)
    if not err.is_terminal:
        yield _tenths(what, pace)
        return
    named, rate = TextColumn(what, markup=False), TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), named, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn(), rate)
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total, description=pace.told(done, total).partition(", ")[0])


@contextmanager
def epoch_bar(slices_per_epoch: int) -> Iterator[Callable[[TrainingProgress, int], None]]:
    """A bar of epochs with losses, slices a second and time left on a terminal; in a log, a line an epoch."""
    def said(training: TrainingProgress, epochs: int) -> str:
        done = len(training.validation_loss)
        each = training.seconds / done
        losses = f"loss {training.training_loss[-1]:.3f}, validation {training.validation_loss[-1]:.3f}"
        return f"{losses}, {slices_per_epoch / each:,.0f} slices/s, {each * (epochs - done):,.0f} s left"

    if not err.is_terminal:
        yield lambda done, epochs: err.print(f"epoch {len(done.validation_loss)} of {epochs}: {said(done, epochs)}")
        return
    what = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), TextColumn("epochs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), what)
    with Progress(*columns, console=err) as progress:
        task = progress.add_task("", total=None)
        yield lambda done, epochs: progress.update(
            task, completed=len(done.validation_loss), total=epochs, description=said(done, epochs)
        )


def _tenths(what: str, pace: Pace) -> Callable[[int, int], None]:
    tenth_told = -1

    def tell(done: int, total: int) -> None:
        nonlocal tenth_told
        tenth, said = 10 * done // max(total, 1), pace.told(done, total)
        if tenth > tenth_told or pace.minute_passed():
            tenth_told = tenth
            err.print(f"{what}: {done} of {total}{said and ', '}{said}")

    return tell
