"""A run: the settings of a configuration and all that follows from them, each computed on first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.commands import with_config
from fovnet.errors import ModelError, SearchError
from fovnet.net.jobs.run import finished_search, slices_of
from fovnet.net.jobs.search_plan import SearchPlan, jobs_journal
from fovnet.records import digest, read_npz
from fovnet.results import Results

if TYPE_CHECKING:
    from fovnet.config.models import Settings
    from fovnet.decision.scored_slices import ScoredSlices
    from fovnet.regions import Vocabulary
    from fovnet.volume.collection.pack import Pack

Bar = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Gives, for the name of a step, a context with a callback (done, total)."""


@contextmanager
def silent(what: str) -> Iterator[Callable[[int, int], None]]:
    """A Bar that shows nothing."""
    yield lambda done, total: None


@dataclass(frozen=True, eq=False)
class Run:
    """The run of a configuration file; `fovnet.acts.opening` adds the acts."""

    config: Path
    settings: Settings

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The regions.  Raises ConfigError as `fovnet.config.regions.vocabulary`."""
        from fovnet.config.regions import vocabulary

        return vocabulary(self.settings.regions)

    @cached_property
    def results(self) -> Results:
        """The results folder."""
        return Results(Path(self.settings.results))

    @cached_property
    def pack(self) -> Pack:
        """The slices.  Raises as `slices_of`."""
        return slices_of(self.settings)

    @property
    def plan(self) -> SearchPlan:
        """The search to be run, computed anew from the existing files."""
        return SearchPlan(self.settings, self.pack)

    def refuse_without_device(self) -> None:
        """Raise ConfigError "device-missing" where a GPU is configured and there is none; auto and cpu need
        no check, which costs seconds of importing torch."""
        if self.settings.training.device == "cuda":
            from fovnet.net.training.train import choose_device

            choose_device("cuda")

    @property
    def jobs_journal(self) -> Path:
        """The journal of a search that runs its slots as separate jobs."""
        return jobs_journal(self.settings, self.results)

    @property
    def scored_arrays(self) -> dict[str, Any]:
        """The ensemble's probabilities of the validation and test slices, by name.  Raises ModelError
        "probabilities-missing"."""
        path = self.results.probabilities
        try:
            return read_npz(path)
        except (OSError, ValueError):
            raise ModelError(
                "probabilities-missing",
                f"{path}: missing or unreadable; `fovnet ensemble` makes it",
            ) from None

    @property
    def scored(self) -> ScoredSlices:
        """The same as one record."""
        from fovnet.decision.scored_slices import ScoredSlices

        return ScoredSlices.read(self.scored_arrays)

    def refuse_other_ensemble(self) -> None:
        """Raise ModelError "ensemble-other-settings" if the ensemble was made with other settings than these:
        a report would state the wrong ones."""
        from fovnet.decision.folder import ModelFolder

        folder = self.results.ensemble
        made = ModelFolder(folder).facts.get("fovnet", {}).get("settings_sha256")
        if made not in (None, digest(self.settings.ensemble.model_dump())):
            other = f"{folder}: was made with other settings of `ensemble` than {self.config} has"
            raise ModelError(
                "ensemble-other-settings",
                f"{other}; make it again: {with_config('ensemble', self.config)}",
            )

    def refuse_other_rule(self) -> None:
        """As `refuse_other_ensemble`, and for its rule: raise ModelError "rule-other-settings" too."""
        from fovnet.decision.folder import RULE, ModelFolder

        self.refuse_other_ensemble()
        rule = self.results.ensemble / RULE
        try:
            made = (
                ModelFolder(self.results.ensemble).tuning.get("fovnet", {}).get("settings_sha256")
            )
        except (OSError, ValueError):
            # any fault in it raises when the rule is read
            return
        if made not in (None, digest(self.settings.decision.model_dump())):
            other = f"{rule}: was tuned with other settings of `decision` than {self.config} has"
            raise ModelError(
                "rule-other-settings", f"{other}; tune it again: {with_config('tune', self.config)}"
            )

    def refuse_other_search(self) -> None:
        """Raise SearchError "search-other-settings" if the last finished search had other settings or slices
        than these, and ModelError "ensemble-other-search" if the ensemble is from another search: a report
        would describe a search its networks did not come from."""
        from fovnet.decision.folder import ModelFolder

        journal, _ = finished_search(self.results)
        try:
            mine = {self.results.journal(self.plan.fingerprint), self.jobs_journal}
        except ModelError:
            # the networks it started from are gone and cannot be compared
            mine = {journal}
        if journal not in mine:
            other = (
                f"{journal}: the last search that finished there had other settings of `search` or "
                f"`training` than {self.config} has"
            )
            wanted = f"give the run's command, or {with_config('search', self.config)}"
            raise SearchError("search-other-settings", f"{other}, or other slices; {wanted}")
        made = ModelFolder(self.results.ensemble).facts.get("journal")
        if made not in (None, journal.name):
            other = (
                f"its members are of the search {made}, but the last to finish was {journal.name}"
            )
            again = with_config("ensemble", self.config)
            raise ModelError(
                "ensemble-other-search", f"{self.results.ensemble}: {other}; make it again: {again}"
            )
