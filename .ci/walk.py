"""Two walks: the calls that a reader follows from file to file.

    python .ci/walk.py [FOLDER of a checkout]          a minute

`training` is `fovnet search` of one network of configs/smoke.yaml, from the reading of the settings to the
training itself; `prediction` is `fovnet predict` of one simulated volume, without pictures and pages, from the
command to the row of its table.  Counted is each function of one file of the package that a function of another
file calls, in the order in which they first come, and once, as a reader follows it, however often it is called.
Methods and properties are counted apart: they are read where the record is that they belong to.  What a file
does while it is imported is not counted.

    call     such a pair of functions
    climb    the caller is on a higher floor than what was called before; calls of the ground floor, such as
             reading a file, are no walk of their own and are passed over
    return   the function called is in a file where the reader has been
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection
from itertools import pairwise
from pathlib import Path
from types import FrameType

import yaml

HERE = Path(__file__).parents[1]
TRAINING = ("open_run", "opened", "settings_of"), ("train_network",)
PREDICTION = ("predict",), ("write_tsv",)
"""The functions that begin a walk, and those that end it, under the names of today and of earlier versions."""
Step = tuple[str, ...]
"""File and function of the caller, file and function of the called."""


def watch(package: str, seen: Path) -> None:
    """Append every call between files of the package to a file, in this process and its threads, once
    each."""
    known: set[Step] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(package):
            return
        caller = frame.f_back
        while caller and not caller.f_code.co_filename.startswith(package):
            caller = caller.f_back
        # a thread or a process begins where what it was handed does
        begun = caller.f_code if caller else frame.f_code
        step = (
            begun.co_filename,
            begun.co_qualname,
            frame.f_code.co_filename,
            frame.f_code.co_qualname,
        )
        if (caller is None or step[0] != step[2]) and step not in known:
            known.add(step)
            with seen.open("a") as lines:
                lines.write("\t".join(step).replace(package, "") + "\n")

    threading.setprofile(note)
    sys.setprofile(note)


def run(root: Path, words: list[str], seen: Path | None = None) -> None:
    """A verb of the code of a checkout; with `seen`, all steps between its files are written there."""
    environment = {**os.environ, "PYTHONPATH": str(root)}
    program = ["-m", "fovnet"]
    if seen is not None:
        environment |= {"WALK_PACKAGE": f"{root / 'fovnet'}/", "WALK_SEEN": str(seen)}
        program = [__file__]
    subprocess.run(
        [sys.executable, *program, *words], env=environment, check=True, capture_output=True
    )


def simulate(root: Path, people: Path, subjects: int) -> None:
    run(
        root, ["phantom", str(people), "--subjects", str(subjects), "--volumes", "1", "--seed", "1"]
    )


def trace_training(root: Path, folder: Path) -> list[Step]:
    """All steps of a search of one training, under the code of a checkout."""
    settings = yaml.safe_load((root / "configs/smoke.yaml").read_text())
    settings |= {"results": str(folder / "results")}
    settings["search"] |= {"trials": 1, "workers": 1}
    config = folder / "config.yaml"
    config.write_text(yaml.safe_dump(settings))
    seen = folder / "training.tsv"
    simulate(root, folder / "results/phantom", 8)
    run(root, ["slice", "--config", str(config)])
    run(root, ["search", "--config", str(config)], seen)
    return read_steps(seen)


def trace_prediction(root: Path, folder: Path) -> list[Step]:
    """All steps of the prediction of one volume, under the code of a checkout."""
    seen = folder / "prediction.tsv"
    simulate(root, folder / "people", 1)
    plain = ["--no-pictures", "--no-pages"]
    run(root, ["predict", str(folder / "people"), "--out", str(folder / "answers"), *plain], seen)
    return read_steps(seen)


def read_steps(path: Path) -> list[Step]:
    return [tuple(line.split("\t")) for line in path.read_text().splitlines()]


def walk(steps: list[Step], begins: Collection[str], ends: Collection[str]) -> list[Step]:
    """The steps from the first that calls, or is called by, a function that begins, to the last call of one that
    ends, each once; what is nested in a function counts as it."""
    names = [step[3].split(".")[-1] for step in steps]
    first = next(
        place for place, step in enumerate(steps) if names[place] in begins or step[1] in begins
    )
    last = max(place for place, name in enumerate(names) if name in ends)
    kept = [
        (caller, by.split(".<locals>")[0], called, what)
        for caller, by, called, what in steps[first : last + 1]
        if by != "<module>" and not what.split(".")[-1].startswith("<")
    ]
    return list(dict.fromkeys(kept))


def floor(file: str) -> int:
    """The floor of a file of the package, as the tests have it."""
    tree = ast.parse((HERE / "tests/test_floors.py").read_text())
    floors = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "FLOORS"
    )
    return int(floors.get(file.split("/")[0].removesuffix(".py"), 0))


def print_walk(title: str, every: list[Step]) -> None:
    """A walk, call by call, and its figures."""
    calls = [step for step in every if "." not in step[3]]
    above = [step for step in calls if floor(step[2])]
    climbs = [later for before, later in pairwise(above) if floor(later[0]) > floor(before[2])]
    returns = [
        step
        for place, step in enumerate(calls)
        if any(step[2] in (before[0], before[2]) for before in calls[:place])
    ]
    print(title)
    for number, step in enumerate(calls, 1):
        marks = f"{'climb' * (step in climbs):6} {'return' * (step in returns):7}"
        print(f"{number:3}  {marks}  {step[0]} {step[1]} -> {step[2]} {step[3]}")
    rooms = sum(step[0].split("/")[0] != step[2].split("/")[0] for step in calls)
    print(
        f"{len(calls)} calls, {rooms} of them between rooms; {len(climbs)} climbs, {len(returns)} returns; "
        f"with methods and properties {len(every)} calls\n"
    )


def main() -> None:
    """Prints both walks."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else HERE).resolve()
    with tempfile.TemporaryDirectory() as folder:
        print_walk("training", walk(trace_training(root, Path(folder)), *TRAINING))
        print_walk("prediction", walk(trace_prediction(root, Path(folder)), *PREDICTION))


if __name__ == "__main__" and "WALK_SEEN" not in os.environ:
    main()
elif "WALK_SEEN" in os.environ:  # the search, and the processes of its trainings
    watch(os.environ["WALK_PACKAGE"], Path(os.environ["WALK_SEEN"]))
    if __name__ == "__main__":
        from fovnet.cli import main as command_line

        command_line()
