"""`fovnet bench`: the group of all benchmarks."""

from __future__ import annotations

import typer

from fovnet.cli import bench_answers, bench_searches, bench_speed, bench_thesis
from fovnet.cli.bench_moved import BenchGroup

verbs = typer.Typer()
bench = typer.Typer(
    no_args_is_help=True,
    cls=BenchGroup,
    help="Benchmarks: searches, trainings, predictions, and how reliable answers are.",
)
for module in (bench_searches, bench_thesis, bench_speed, bench_answers):
    bench.add_typer(module.verbs)
verbs.add_typer(bench, name="bench")
