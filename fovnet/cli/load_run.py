"""What the verbs of the workflow load first: settings, and the ensemble's probabilities of the slices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fovnet.commands import with_config
from fovnet.errors import ConfigError
from fovnet.net.run import finished_search, open_run, run_vocabulary
from fovnet.net.search_plan import jobs_journal, search_fingerprint
from fovnet.results import Results

if TYPE_CHECKING:
    from fovnet.bench.flip_and_shuffle import LabelledVolume
    from fovnet.config import Settings
    from fovnet.decision.rule import Rule
    from fovnet.regions import Vocabulary
    from fovnet.volume.pack import Pack


def settings_of(config: Path) -> Settings:
    """The settings of a YAML file.  Raises ConfigError for invalid ones, including unknown features of the simulator, and "results-file"
    if the results folder, or one above it, is a file."""
    from fovnet.config import load, refuse_file
    from fovnet.phantom.features import left_out

    settings = load(config)
    left_out(settings.phantom.without)
    refuse_file(settings, str(config))
    return settings


def scored_arrays(results: Results) -> dict[str, Any]:
    """The ensemble's probabilities of the validation and test slices, by name.  Raises ModelError "probabilities-missing"."""
    from fovnet.errors import ModelError
    from fovnet.records import read_npz

    try:
        return read_npz(results.probabilities)
    except (OSError, ValueError):
        raise ModelError("probabilities-missing", f"{results.probabilities}: missing or unreadable; `fovnet ensemble` makes it") from None


def scored_of(results: Results) -> Any:
    """As `scored_arrays`, as a `fovnet.decision.packed.Scored`."""
    from fovnet.decision.packed import Scored

    return Scored.read(scored_arrays(results))


def scored_split(config: Path, split: str) -> tuple[list[LabelledVolume], Vocabulary, Rule]:
    """The labelled volumes of a split with the ensemble's probabilities, the vocabulary, and the decision rule; volumes can be
    scored again (`rerun`) if the networks' probabilities of a slice depend on its volume.

    Raises ConfigError "split-not-scored".
    """
    from fovnet.bench.flip_and_shuffle import LabelledVolume, rerun_of
    from fovnet.decision.ensemble import load
    from fovnet.decision.packed import SCORED, examples, stacks, subjects_of

    if split not in SCORED:
        known = " and the ".join(SCORED)
        raise ConfigError("split-not-scored", f"--split {split}: the ensemble scores the {known} split alone; name one of these")
    settings = settings_of(config)
    results, pack = open_run(settings)
    ensemble = load(results.ensemble, settings.training.device)
    parts = zip(examples(pack, scored_of(results), split), stacks(pack, split), subjects_of(pack, split), strict=True)
    volumes = [
        LabelledVolume(one.probabilities, one.z_mm, one.truth, stack.pixels, rerun_of(ensemble, stack), subject)
        for one, stack, subject in parts
    ]
    return volumes, run_vocabulary(settings), ensemble.rule


def refuse_other_ensemble(config: Path, results: Results, settings: Settings) -> None:
    """Raises ModelError "ensemble-other-settings" if the ensemble was made with other settings than these.

    A report would state the wrong settings.
    """
    from fovnet.decision.ensemble import facts_of
    from fovnet.errors import ModelError
    from fovnet.records import digest

    made = facts_of(results.ensemble).get("fovnet", {}).get("settings_sha256")
    if made not in (None, digest(settings.ensemble.model_dump())):
        raise ModelError("ensemble-other-settings", f"{results.ensemble}: was made with other settings of `ensemble` than {config} has; "
                                                    f"make it again: {with_config('ensemble', config)}")


def refuse_other_search(config: Path, results: Results, settings: Settings, pack: Pack) -> None:
    """Raises SearchError "search-other-settings" if the last finished search had other settings or slices than these, and ModelError
    "ensemble-other-search" if the ensemble is from another search: a report would describe a search its networks did not come from."""
    from fovnet.decision.ensemble import facts_of
    from fovnet.errors import ModelError, SearchError

    journal, _ = finished_search(results)
    try:
        mine = {results.journal(search_fingerprint(settings, pack)), jobs_journal(settings, results)}
    except ModelError:                                              # the networks it started from are gone and cannot be compared
        mine = {journal}
    if journal not in mine:
        raise SearchError("search-other-settings", f"{journal}: the last search to end there had other settings of `search` or `training` "
                                                   f"than {config} has, or other slices; give the run's command, or "
                                                   f"{with_config('search', config)}")
    made = facts_of(results.ensemble).get("journal")
    if made not in (None, journal.name):
        raise ModelError("ensemble-other-search", f"{results.ensemble}: its members are of the search {made}, and the last to end was "
                                                  f"{journal.name}; make it again: {with_config('ensemble', config)}")


def refuse_other_rule(config: Path, results: Results, settings: Settings) -> None:
    """As `refuse_other_ensemble`, and for its rule: raises ModelError "rule-other-settings" too."""
    from fovnet.decision.ensemble import RULE
    from fovnet.errors import ModelError
    from fovnet.records import digest, read_json

    refuse_other_ensemble(config, results, settings)
    try:
        made = read_json(results.ensemble / RULE).get("fovnet", {}).get("settings_sha256")
    except (OSError, ValueError):
        return                                                      # any fault in it raises when the rule is read
    if made not in (None, digest(settings.decision.model_dump())):
        raise ModelError("rule-other-settings", f"{results.ensemble / RULE}: was tuned with other settings of `decision` than {config} "
                                                f"has; tune it again: {with_config('tune', config)}")
