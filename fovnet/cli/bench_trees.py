"""`fovnet bench tree`: search methods on spaces whose number of variables changes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from fovnet.bench.races import contestant_label
from fovnet.bench.tree_peers import TREE_PEERS
from fovnet.bench.tree_problems import PROBLEMS, make_problem, refuse_unknown_problem
from fovnet.bench.tree_races import (
    COLUMNS,
    TreeEntry,
    compare_tree_contests,
    counts_within,
    make_tree_entries,
    race_on_tree,
    refuse_contestants,
)
from fovnet.cli.options import Workers, folder_out, table_of
from fovnet.cli.screen import empty_table, number_cells, out, progress_bar, show_table
from fovnet.records import write_tsv

verbs = typer.Typer()
RECOGNISER_BY_FILE = {f"{problem}.tsv": table_of("fovnet.bench.tree_races") for problem in PROBLEMS}
DEFAULT_METHODS = ("gp-ei", "random")
MOST_COUNTS = 3  # the last ones, on the screen; a fourth would not fit


@verbs.command("tree")
def bench_tree(
    out_folder: Annotated[
        Path,
        folder_out(
            RECOGNISER_BY_FILE, "Where PROBLEM.tsv, the runs and pictures to train on are written."
        ),
    ] = Path("trees"),
    problem: Annotated[
        str, typer.Option(help=f"What is searched: {', '.join(PROBLEMS)}.")
    ] = "function",
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="One or several methods; the others are compared with the first; default: gp-ei and "
            "random."
        ),
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(help=f"Searchers of other libraries: {', '.join(TREE_PEERS)}."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            min=1, help="Runs of each method; default: 20, with networks to be trained 10."
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(min=1, help="Trainings of a run; default: 150, of digits 80, of slices 60."),
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Parallel trainings of a run, in virtual time.")
    ] = 1,
    processes: Workers = 1,
) -> None:
    """Compare search methods on a space whose number of variables changes: the best loss after so
    many trainings.

    Functions with a known optimum (function, coupled, fixed), and networks of layers that are
    trained: digits (seconds a training), slices (simulated, at first in minutes). If killed, the
    same command resumes: finished runs are kept in OUT/runs. Other libraries: hyperopt (`pip install
    hyperopt`), nomad (`pip install PyNomadBBO`).
    """
    methods = list(dict.fromkeys(method or DEFAULT_METHODS))
    peers = list(dict.fromkeys(peer or ()))
    refuse_unknown_problem(problem)
    refuse_contestants(methods, peers, workers)
    data_folder = out_folder / "data"
    with progress_bar("preparing") as advance:
        tree_problem = make_problem(problem, data_folder, advance)
    template = TreeEntry(problem, "", 0, trials or tree_problem.counts[-1], workers, data_folder)
    entries = make_tree_entries(template, [*methods, *peers], runs or tree_problem.runs)
    with progress_bar("racing") as advance:
        tree_runs = race_on_tree(entries, out_folder / "runs", processes, advance)
    lines = compare_tree_contests(tree_problem, entries, tree_runs)
    table_path = write_tsv(out_folder / f"{problem}.tsv", COLUMNS, lines)
    show_table(_standings_table(lines, counts_within(tree_problem, template.trials)))
    out.print(f"{table_path}; {len(entries)} runs in {out_folder / 'runs'}")


def _standings_table(lines: Sequence[dict[str, Any]], counts: Sequence[int]) -> Table:
    """A row for each contestant."""
    last_lines = lines[len(counts) - 1 :: len(counts)]
    first = last_lines[0]
    peers = [line["method"] for line in last_lines if line["method"] in TREE_PEERS]
    table = empty_table(
        f"{first['problem']}, {first['runs']} seeds: the best loss after so many trainings, ± its "
        "standard error"
    )
    table.add_column("method", no_wrap=True)
    has_test = first["test_accuracy"] is not None
    headings = [*map(str, counts[-MOST_COUNTS:]), "worst", "CPU s", f"minus\n{first['method']}"]
    headings += [f"to\n{peer}" for peer in peers]
    if has_test:
        headings.append("test")
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for index, last_line in enumerate(last_lines):
        contestant_lines = lines[index * len(counts) : (index + 1) * len(counts)]
        difference = ""
        if index:
            difference = f"{last_line['difference']:+.3f}±{last_line['difference_se']:.3f}"
        test_cells = []
        if has_test:
            test_cells = number_cells(".1%", last_line["test_accuracy"])
        table.add_row(
            contestant_label(last_line["method"], last_line["setting"]),
            *(f"{line['mean']:.3f}±{line['se']:.3f}" for line in contestant_lines[-MOST_COUNTS:]),
            f"{last_line['worst']:.3f}",
            f"{last_line['cpu_seconds']:.1f}",
            difference,
            *number_cells("d", *(last_line.get(f"to_{peer}") for peer in peers)),
            *test_cells,
        )
    return table
