"""`fovnet bench figures`: pictures of how a search with a Gaussian process works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fovnet.bench.one_axis import (
    OBSERVED_POINTS,
    condition_process,
    draw_prior_functions,
    measure_acquisitions,
    search_axis,
)
from fovnet.cli.options import folder_out
from fovnet.cli.screen import out
from fovnet.drawing.canvas import svg
from fovnet.late import import_late
from fovnet.records import write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from fovnet.bench.figures import one_axis
else:  # matplotlib
    one_axis = import_late("fovnet.bench.figures.one_axis")

verbs = typer.Typer()
FIGURE_NAMES = ("prior", "lengthscales", "posterior", "acquisitions", "search")
FIRST_LINE = "<!-- fovnet bench figures -->\n"
TITLE_BY_KERNEL = {"matern52": "Matérn 5/2", "squared-exponential": "squared exponential"}
LENGTHSCALES = (0.05, 0.15, 0.5)
LENGTHSCALE = 0.15
DRAWN_COUNT = 5
OBSERVED_COUNTS = (0, 1, 2, 4)


def _is_own_picture(path: Path) -> bool:
    """Whether a file is a picture of this verb."""
    with path.open("rb") as file:
        return file.read(len(FIRST_LINE)) == FIRST_LINE.encode()


@verbs.command("figures")
def bench_figures(
    out_folder: Annotated[
        Path,
        folder_out(
            {f"{name}.svg": _is_own_picture for name in FIGURE_NAMES},
            "The folder of the pictures: "
            + ", ".join(f"{name}.svg" for name in FIGURE_NAMES)
            + ".",
        ),
    ] = Path("figures"),
    steps: Annotated[int, typer.Option(min=1, max=20, help="Steps of the search.")] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the functions drawn and of the search.")] = 1,
) -> None:
    """Draw how a search with a Gaussian process works, on one axis: prior, posterior, lengthscales, what
    three measures choose, a search step by step; all by the code that searches."""
    for name, figure in _make_figures(steps, seed).items():
        out.print(str(write_text(out_folder / f"{name}.svg", FIRST_LINE + svg(figure))))


def _make_figures(steps: int, seed: int) -> dict[str, Figure]:
    """The figures by their names in FIGURE_NAMES."""
    priors = [
        (
            f"{title}, lengthscale {LENGTHSCALE}",
            draw_prior_functions(name, LENGTHSCALE, DRAWN_COUNT, seed),
        )
        for name, title in TITLE_BY_KERNEL.items()
    ]
    processes_by_scale = [
        (f"{title}, lengthscale {scale}", condition_process(OBSERVED_POINTS, name, scale))
        for name, title in TITLE_BY_KERNEL.items()
        for scale in LENGTHSCALES
    ]
    processes_by_count = [
        (
            f"{count} observed",
            condition_process(OBSERVED_POINTS[:count], "matern52", LENGTHSCALE, DRAWN_COUNT, seed),
        )
        for count in OBSERVED_COUNTS
    ]
    process = condition_process(OBSERVED_POINTS, "matern52", LENGTHSCALE)
    return {
        "prior": one_axis.functions_figure(priors),
        "lengthscales": one_axis.processes_figure(processes_by_scale, len(LENGTHSCALES)),
        "posterior": one_axis.processes_figure(processes_by_count, 2),
        "acquisitions": one_axis.acquisitions_figure(process, measure_acquisitions(process)),
        "search": one_axis.steps_figure(search_axis(steps, seed)),
    }
