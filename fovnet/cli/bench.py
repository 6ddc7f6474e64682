"""`fovnet bench`: the group of all benchmarks."""

from __future__ import annotations

from typing import Any

import typer

from fovnet.cli.verbs import VerbGroup
from fovnet.errors import ConfigError

BENCH_VERBS = {
    "search": (
        "bench_searches",
        "Replay search methods on recorded trainings: draws until the best row and until "
        "good ones;\nwith learning curves, the epochs until these are fully trained.",
    ),
    "table": (
        "bench_recording",
        "Record a table of trained networks: `search.trials` rows drawn from the "
        "configuration's\nspace, each trained to its end, with their learning curves; "
        "resumes after a kill.",
    ),
    "propose": (
        "bench_pace",
        "Measure the cost of a proposal over the paper's 34,300 rows: seconds on one core, "
        "including\nrefits, and memory.",
    ),
    "thesis": (
        "bench_thesis",
        "Repeat a thesis's experiment on recorded trainings: how much every search method "
        "needs until\nthe best network and good ones, compared with the thesis's numbers and "
        "with chance, and what the\ntable shows about its space.",
    ),
    "figures": (
        "bench_figures",
        "Draw how a search with a Gaussian process works, on one axis: prior, posterior, "
        "lengthscales, what\nthree measures choose, a search step by step; all by the code that searches.",
    ),
    "tree": (
        "bench_trees",
        "Compare search methods on a space whose number of variables changes: the best loss "
        "after so\nmany trainings.",
    ),
    "train": (
        "bench_speed",
        "Measure training: images per second compared with a pipeline from the MONAI "
        "tutorials,\nmemory, and the time spent in each part of a step.",
    ),
    "predict": (
        "bench_speed",
        "Measure prediction: volumes per second, milliseconds of each stage and peak memory, "
        "for every\ninstalled engine.",
    ),
    "robustness": (
        "bench_answers",
        "Measure robustness: predict volumes again with changed brightness, cropped, half "
        "dark, noisy,\nturned or shuffled, and volumes without a body.",
    ),
}
"""{verb: (module of fovnet.cli, first paragraph of its help)}, in the order of `fovnet bench --help`.

A line break is one of the verb's docstring: the terminal shows it."""
SCRIPT_OF_VERB = {
    "accuracy": "accuracy.py",
    "another-model": "another_model.py",
    "bound": "bounds.py",
    "decide": "deciding.py",
    "edge": "edge.py",
    "engines": "engines.py",
    "intervals": "interval_coverage.py",
    "learn": "lessons.py",
    "ranks": "ranks.py",
    "screening": "screening.py",
    "slice": "slicing.py",
    "sorting": "sorting.py",
}
"""Former verbs that are scripts of the repository now, in workflow/experiments."""


class BenchGroup(VerbGroup):
    """The verbs of `fovnet bench`, which says of one that has moved where it went."""

    VERBS = BENCH_VERBS

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The verb of a name.  Raises ConfigError "bench-moved" for one of SCRIPT_OF_VERB."""
        if cmd_name in SCRIPT_OF_VERB:
            path = f"workflow/experiments/{SCRIPT_OF_VERB[cmd_name]}"
            raise ConfigError(
                "bench-moved",
                f"fovnet bench {cmd_name}: is a script of the repository now; run `python {path}`, "
                "with the same options",
            )
        return super().get_command(ctx, cmd_name)


verbs = typer.Typer()
bench = typer.Typer(
    no_args_is_help=True,
    cls=BenchGroup,
    help="Benchmarks: searches, trainings, predictions, and how reliable answers are.",
)
verbs.add_typer(bench, name="bench")
