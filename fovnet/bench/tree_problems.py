"""What a race over trees searches: functions with a known lowest value, and networks of layers that
are really trained.

    function, coupled, fixed   of `fovnet.bench.conditional`
    digits                     scikit-learn's pictures of digits, 8 x 8 pixels
    slices                     simulated slices, 128 x 128 pixels
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from fovnet.bench.conditional import FUNCTIONS, StrideCosts
from fovnet.bench.peers import refuse_missing
from fovnet.bench.together import Progress
from fovnet.bench.tree_networks import digits_problem, slices_problem
from fovnet.bench.tree_problem import Answer, TreeProblem
from fovnet.errors import ConfigError

PROBLEMS = (*FUNCTIONS, "digits", "slices")


def refuse_unknown_problem(name: str) -> None:
    """Raise ConfigError "bench-problem" for a name that is none of PROBLEMS, SearchError
    "peer-missing" for one whose pictures come with a library that is not installed."""
    if name not in PROBLEMS:
        raise ConfigError(
            "bench-problem", f"--problem {name}: unknown; choose among {', '.join(PROBLEMS)}"
        )
    if name == "digits" and find_spec("sklearn") is None:
        refuse_missing("--problem", {name: ["scikit-learn"]})


def make_problem(name: str, folder: Path, progress: Progress | None = None) -> TreeProblem:
    """The problem of a name of PROBLEMS; its pictures are in `folder`, or are made there."""
    if name in FUNCTIONS:
        return _problem_of_function(name)
    if name == "digits":
        return digits_problem(folder / name)
    return slices_problem(folder / name, progress)


def _problem_of_function(name: str) -> TreeProblem:
    function = FUNCTIONS[name]
    return TreeProblem(
        name,
        function.tree,
        StrideCosts(),
        train=lambda configuration, seed: Answer(function.loss(configuration)),
        counts=(50, 100, 150),
        runs=20,
    )
