"""An open run: all its acts, in order or any of them alone.

>>> run = fovnet.open("mine.yaml")                                  # doctest: +SKIP
>>> run.prepare(); run.search(); run.ensemble()                     # doctest: +SKIP
>>> run.tune(); run.decide(); run.evaluate(); run.report()          # doctest: +SKIP
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.acts.run import Bar, Run, silent

if TYPE_CHECKING:
    from fovnet.acts.decide import Decided
    from fovnet.acts.ensemble import Assembled
    from fovnet.acts.tune import Tuned
    from fovnet.evaluate.evaluation import Evaluation
    from fovnet.search.trial import Trial
    from fovnet.volume.collection.pack import Pack


class OpenRun(Run):
    """A run with its acts.  Each writes its files to the results folder, resumes after a kill, and raises a
    FovnetError that names what is missing and the command that makes it."""

    def prepare(self, workers: int = 1, progress: Bar = silent) -> Pack:
        """The slices of all collections; people to be simulated are simulated first."""
        from fovnet.acts.prepare import simulated, sliced

        if self.results.is_to_simulate(self.settings.phantom.subjects):
            simulated(self, workers, progress)
        return sliced(self, workers=workers, progress=progress)

    def search(self, progress: Bar = silent) -> list[Trial]:
        """The trials of the search, by slot."""
        from fovnet.acts.search import searched

        return searched(self, progress)

    def ensemble(self, progress: Bar = silent) -> Assembled:
        """The ensemble of the best trials, which has scored the validation and test slices."""
        from fovnet.acts.ensemble import assembled

        return assembled(self, progress)

    def tune(self) -> Tuned:
        """The decision rule, chosen on the validation split."""
        from fovnet.acts.tune import tuned

        return tuned(self)

    def decide(self) -> Decided:
        """The answers on the volumes of the test split."""
        from fovnet.acts.decide import decided

        return decided(self)

    def evaluate(self) -> Evaluation:
        """The answers compared with the truth, also written to the results folder."""
        from fovnet.acts.evaluate import evaluated

        return evaluated(self)[0]

    def report(self) -> Path:
        """The report page."""
        from fovnet.acts.report import reported

        return reported(self)


def opened(config: Path) -> OpenRun:
    """The run of a configuration file.

    Raises ConfigError for invalid settings, including unknown features of the simulator, and "results-file"
    if the results folder, or one above it, is a file.
    """
    from fovnet.config.files import load, refuse_file
    from fovnet.phantom.features import left_out

    settings = load(config)
    left_out(settings.phantom.without)
    refuse_file(settings, str(config))
    return OpenRun(config, settings)
