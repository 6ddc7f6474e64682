"""A run: the settings of a configuration and all that follows from them, each computed on first
use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from fovnet.acts.finished_search import read_finished_search
from fovnet.acts.search_plan import SearchPlan
from fovnet.acts.settings import read_settings
from fovnet.acts.slices import load_configured_slices
from fovnet.commands import with_config
from fovnet.config.models import Settings
from fovnet.config.regions import vocabulary
from fovnet.decision.folder import RULE_FILE_NAME, ModelFolder
from fovnet.decision.scored_slices import ScoredSlices
from fovnet.errors import ModelError, SearchError
from fovnet.net.device import choose_device
from fovnet.records import digest, read_npz
from fovnet.regions import Vocabulary
from fovnet.results import Results
from fovnet.volume.collection.pack import Pack
from fovnet.workflow import jobs_journal

ProgressBar = Callable[[str], AbstractContextManager[Callable[[int, int], None]]]
"""Gives, for the name of a step, a context with a callback (done, total)."""


@contextmanager
def silent_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """A ProgressBar that shows nothing."""
    yield lambda done, total: None


@dataclass(frozen=True, eq=False)
class Run:
    """The run of a configuration file; `fovnet.acts.opening` adds the acts."""

    config: Path
    settings: Settings

    @cached_property
    def network_vocabulary(self) -> Vocabulary:
        """The classes of the networks.  Raises ConfigError as `fovnet.config.regions.vocabulary`."""
        return vocabulary(self.settings.regions)

    @property
    def vocabulary(self) -> Vocabulary:
        """The regions that are answered: each whole in the place of its parts."""
        return self.network_vocabulary.whole

    @cached_property
    def results(self) -> Results:
        """The results folder."""
        return Results(Path(self.settings.results))

    @cached_property
    def training_pack(self) -> Pack:
        """The slices, labelled with the classes of the networks.  Raises as
        `load_configured_slices`."""
        return load_configured_slices(self.settings, self.config)

    @cached_property
    def pack(self) -> Pack:
        """The slices, labelled with the regions that are answered."""
        return self.training_pack.in_wholes(self.network_vocabulary)

    @property
    def plan(self) -> SearchPlan:
        """The search to be run, computed anew from the existing files."""
        return SearchPlan(self.settings, self.training_pack)

    def refuse_without_device(self) -> None:
        """Raise ConfigError "device-missing" where a GPU is configured and there is none; auto and
        cpu need no check, which costs seconds of importing torch."""
        if self.settings.training.device == "cuda":
            choose_device("cuda")

    @property
    def jobs_journal(self) -> Path:
        """The journal of a search that runs its slots as separate jobs."""
        return jobs_journal(self.settings)

    @property
    def scored_arrays(self) -> dict[str, Any]:
        """The ensemble's probabilities of the validation and test slices, by name.  Raises
        ModelError "probabilities-missing"."""
        probabilities_file = self.results.probabilities
        try:
            return read_npz(probabilities_file)
        except (OSError, ValueError):
            raise ModelError(
                "probabilities-missing",
                f"{probabilities_file}: missing or unreadable; `fovnet ensemble` makes it",
            ) from None

    @property
    def scored_slices(self) -> ScoredSlices:
        """`scored_arrays` as one record."""
        return ScoredSlices.from_arrays(self.scored_arrays)

    def refuse_other_ensemble(self) -> None:
        """Raise ModelError "ensemble-other-settings" if the ensemble was made with other settings
        than these: a report would state the wrong ones."""
        ensemble_folder = self.results.ensemble
        if _has_other_settings(ModelFolder(ensemble_folder).facts, self.settings.ensemble):
            raise ModelError(
                "ensemble-other-settings",
                f"{ensemble_folder}: was made with other settings of `ensemble` than {self.config} has; "
                f"make it again: {with_config('ensemble', self.config)}",
            )

    def refuse_other_rule(self) -> None:
        """As `refuse_other_ensemble`, and for its rule: raise ModelError "rule-other-settings"
        too."""
        self.refuse_other_ensemble()
        ensemble_folder = self.results.ensemble
        try:
            tuning_facts = ModelFolder(ensemble_folder).tuning
        except (OSError, ValueError):
            # any fault in it raises when the rule is read
            return
        if _has_other_settings(tuning_facts, self.settings.decision):
            raise ModelError(
                "rule-other-settings",
                f"{ensemble_folder / RULE_FILE_NAME}: was tuned with other settings of `decision` than {self.config} "
                f"has; tune it again: {with_config('tune', self.config)}",
            )

    def refuse_other_search(self) -> None:
        """Raise SearchError "search-other-settings" if the last finished search had other settings
        or slices than these, and ModelError "ensemble-other-search" if the ensemble is from another
        search: a report would describe a search its networks did not come from."""
        finished_journal, _ = read_finished_search(self.results)
        try:
            journals_of_these_settings = {
                self.results.journal_folder(self.plan.fingerprint),
                self.jobs_journal,
            }
        except ModelError:
            # the networks it started from are gone and cannot be compared
            journals_of_these_settings = {finished_journal}
        if finished_journal not in journals_of_these_settings:
            raise SearchError(
                "search-other-settings",
                f"{finished_journal}: the last search that finished there had other settings of `search` or "
                f"`training` than {self.config} has, or other slices; give the run's command, or "
                f"{with_config('search', self.config)}",
            )
        ensemble_journal_name = ModelFolder(self.results.ensemble).facts.get("journal")
        if ensemble_journal_name not in (None, finished_journal.name):
            raise ModelError(
                "ensemble-other-search",
                f"{self.results.ensemble}: its members are of the search {ensemble_journal_name}, "
                f"but the last to finish was {finished_journal.name}; make it again: "
                f"{with_config('ensemble', self.config)}",
            )


def read_run(config: Path) -> Run:
    """The run of a configuration file.  Raises ConfigError as `read_settings`."""
    return Run(config, read_settings(config))


def _has_other_settings(file_facts: Mapping[str, Any], settings_section: BaseModel) -> bool:
    """Whether the stamp of a JSON names other settings than those of this section; a file without
    one has no other."""
    stamped_digest = file_facts.get("fovnet", {}).get("settings_sha256")
    return stamped_digest not in (None, digest(settings_section.model_dump()))
