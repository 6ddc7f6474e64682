"""The decisions on the test split compared with the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fovnet.acts.run import Run
from fovnet.evaluate import finished_run
from fovnet.evaluate.evaluation import Evaluation
from fovnet.evaluate.writing import write_evaluation


def evaluate_run(run: Run) -> tuple[Evaluation, Sequence[Path]]:
    """The evaluation of a run, and the files it is written to.  Raises as
    `finished_run.evaluate_results`."""
    evaluation, _ = finished_run.evaluate_results(run.settings, run.results, run.pack)
    return evaluation, write_evaluation(
        run.results.evaluation, evaluation, settings=run.settings.evaluate.model_dump()
    )
