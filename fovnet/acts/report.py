"""The report: one page that needs nothing else."""

from __future__ import annotations

from pathlib import Path

from fovnet.acts.run import Run
from fovnet.report import run_report


def reported(run: Run) -> Path:
    """The page of a run.  Raises as `Run.refuse_other_rule`, `Run.refuse_other_search` and
    `finished_run.evaluation_of`."""
    pack = run.pack
    run.refuse_other_rule()
    run.refuse_other_search()
    run_report.write(run.settings, run.results, pack)
    return run.results.report
