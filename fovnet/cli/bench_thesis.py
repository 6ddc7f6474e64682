"""`fovnet bench thesis`: every search method on one table of recorded trainings, with a page and
pictures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fovnet.bench import teaching, thesis
from fovnet.bench.figures.thesis import draws_figure, losses_figure, shares_figure
from fovnet.bench.races import Contest, refuse_methods
from fovnet.bench.tables import RecordedTable, load_table, own_table_path
from fovnet.bench.thesis_page import page_text
from fovnet.cli.options import PathArgument, Workers, folder_out, table_of
from fovnet.cli.screen import out, progress_bar
from fovnet.drawing.canvas import save_png
from fovnet.own_files import begins_with_columns, is_our_picture
from fovnet.records import write_text, write_tsv


def is_our_page(path: Path) -> bool:
    """Whether a page in Markdown is one of this verb's."""
    with path.open("rb") as file:
        return file.readline().startswith(b"# Search methods on ")


verbs = typer.Typer()
RECOGNISER_BY_FILE = {
    "thesis.md": is_our_page,
    "comparison.tsv": table_of("fovnet.bench.thesis"),
    "effects.tsv": table_of("fovnet.bench.teaching"),
    "seconds.tsv": partial(begins_with_columns, columns=("method", "runs", "median")),
    **dict.fromkeys(
        ("losses.png", "draws.png", "share-draws.png", "share-epochs.png"), is_our_picture
    ),
}


@verbs.command("thesis")
def bench_thesis(
    out_folder: Annotated[
        Path,
        folder_out(RECOGNISER_BY_FILE, "Where thesis.md, tables, pictures and runs are written."),
    ],
    table: Annotated[
        Path | None,
        PathArgument(
            help="A table of recorded trainings; default: the package's own.", show_default=False
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="One or several methods, as in `bench search`; `thesis` is gp-ei with the "
            "thesis's settings; default: all."
        ),
    ] = None,
    runs: Annotated[int | None, typer.Option(min=1, help="Runs per method; default: 100.")] = None,
    draws: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of trainings of a run; default: all.")
    ] = None,
    jobs: Workers = 1,
) -> None:
    """Repeat a thesis's experiment on recorded trainings: how much every search method needs until
    the best network and good ones, compared with the thesis's numbers and with chance, and what the
    table shows about its space.

    If killed, the same command resumes: finished runs are kept in OUT/runs.
    """
    table_path = table or own_table_path()
    recorded_table = load_table(table_path)
    method_names = list(dict.fromkeys(method or thesis.comparable_contestants(recorded_table)))
    refuse_methods([name for name in method_names if name != thesis.THESIS_CONTESTANT], 1)
    entries = thesis.make_entries(table_path, recorded_table, method_names, runs, draws)
    with progress_bar("racing") as advance:
        contests = thesis.run_contests(entries, out_folder / "runs", jobs, advance)
    comparison_lines = thesis.compare_contests(recorded_table, contests)
    lesson = teaching.learn_lesson(table_path, recorded_table)
    write_tsv(out_folder / "comparison.tsv", thesis.COLUMNS, comparison_lines)
    write_tsv(out_folder / "effects.tsv", teaching.COLUMNS, lesson.lines)
    write_tsv(
        out_folder / "seconds.tsv", thesis.SECONDS_COLUMNS, thesis.summarise_seconds(contests)
    )
    _draw_figures(out_folder, recorded_table, contests)
    write_text(out_folder / "thesis.md", page_text(recorded_table, comparison_lines, lesson))
    out.print(
        f"{out_folder}: {', '.join(RECOGNISER_BY_FILE)}; {len(entries)} runs in {out_folder / 'runs'}"
    )


def _draw_figures(folder: Path, table: RecordedTable, contests: list[Contest]) -> None:
    """Writes the four pictures: losses of the table, draws of the usual methods, and the shares of
    runs by draws and by epochs."""
    full_length_contests = [contest for contest in contests if not contest.stops_early]
    usual_contests = [
        contest for name in ("random", "gp-ei") for contest in contests if contest.name == name
    ]
    save_png(losses_figure(table), folder / "losses.png")
    save_png(draws_figure(table, usual_contests or contests[:2]), folder / "draws.png")
    save_png(
        shares_figure(table, full_length_contests or contests, "draws"), folder / "share-draws.png"
    )
    stopping_contests = [
        contest for contest in contests if contest.stops_early or contest in usual_contests
    ]
    save_png(
        shares_figure(table, stopping_contests or contests, "epochs"), folder / "share-epochs.png"
    )
