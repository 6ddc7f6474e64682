"""An open run: all its acts, in order or any of them alone.

>>> run = fovnet.open("mine.yaml")                                  # doctest: +SKIP
>>> run.prepare(); run.search(); run.ensemble()                     # doctest: +SKIP
>>> run.tune(); run.decide(); run.evaluate(); run.report()          # doctest: +SKIP
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.acts.decide import Decisions, decide
from fovnet.acts.ensemble import Assembly, assemble_ensemble
from fovnet.acts.evaluate import evaluate_run
from fovnet.acts.prepare import cut_slices, simulate_people
from fovnet.acts.run import ProgressBar, Run, silent_progress
from fovnet.acts.search import run_search
from fovnet.acts.settings import read_settings
from fovnet.acts.tune import Tuning, tune_rule
from fovnet.evaluate.evaluation import Evaluation
from fovnet.late import import_late
from fovnet.search.trial import Trial
from fovnet.volume.collection.pack import Pack

if TYPE_CHECKING:
    from fovnet.acts import report
else:  # matplotlib, jinja2
    report = import_late("fovnet.acts.report")


class OpenRun(Run):
    """A run with its acts.  Each writes its files to the results folder, resumes after a kill, and
    raises a FovnetError that names what is missing and the command that makes it."""

    def prepare(self, workers: int = 1, progress: ProgressBar = silent_progress) -> Pack:
        """The slices of all collections; people to be simulated are simulated first."""
        if self.results.is_to_simulate(self.settings.phantom.subjects):
            simulate_people(self, workers, progress)
        return cut_slices(self, workers=workers, progress=progress)

    def search(self, progress: ProgressBar = silent_progress) -> list[Trial]:
        """The trials of the search, by slot."""
        return run_search(self, progress)

    def ensemble(self, progress: ProgressBar = silent_progress) -> Assembly:
        """The ensemble of the best trials, which has scored the validation and test slices."""
        return assemble_ensemble(self, progress)

    def tune(self) -> Tuning:
        """The decision rule, chosen on the validation split."""
        return tune_rule(self)

    def decide(self) -> Decisions:
        """The answers on the volumes of the test split."""
        return decide(self)

    def evaluate(self) -> Evaluation:
        """The answers compared with the truth, also written to the results folder."""
        evaluation, _ = evaluate_run(self)
        return evaluation

    def report(self) -> Path:
        """The report page."""
        return report.report_run(self)


def open_run(config: Path) -> OpenRun:
    """The run of a configuration file.  Raises ConfigError as `read_settings`."""
    return OpenRun(config, read_settings(config))
