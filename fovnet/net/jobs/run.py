"""Contents of a run's results folder: its slices, and its last finished search.

Heavy packages are imported only when needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from fovnet.commands import simulating, with_config
from fovnet.errors import CollectionError, ConfigError, SearchError
from fovnet.records import digest, read_json
from fovnet.results import Results

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fovnet.config.models import Settings
    from fovnet.search.explain.explanation import Explanation
    from fovnet.search.search import Search
    from fovnet.search.trial import Trial
    from fovnet.volume.collection.pack import Pack


def slices_of(settings: Settings) -> Pack:
    """The slices in the results folder of a configuration.

    Raises CollectionError as `load_pack`, and ConfigError ("slices-other-settings") if they were cut or
    labelled with other settings: regions could be mixed up, and a report would state settings that were not
    used.
    """
    from fovnet.volume.collection.pack import load_pack

    results = Results(Path(settings.results))
    pack = load_pack(results.slices)
    _refuse_slices_of_other_settings(settings, results, pack)
    return pack


def _refuse_slices_of_other_settings(settings: Settings, results: Results, pack: Pack) -> None:
    from fovnet.config.regions import vocabulary

    wanted = {
        "classes": ", ".join(vocabulary(settings.regions).classes),
        **{name: settings.prepare.slicing[name] for name in ("target_spacing_mm", "max_tilt_deg")},
    }
    made = {"classes": ", ".join(pack.classes), **pack.slice_format}
    for name, value in wanted.items():
        if made.get(name, value) != value:
            raise ConfigError(
                "slices-other-settings",
                f"{results.slices}: made with {name} = {made[name]}, but the configuration says {value}; "
                "use the configuration that made them, set another `results`, or run `fovnet slice` again",
            )


def pack_to_train_on(settings: Settings, config: Path) -> Pack:
    """The slices in the results folder.  Raises as `slices_of`; CollectionError "pack-missing" then says what
    to run first."""
    try:
        return slices_of(settings)
    except CollectionError as fault:
        if fault.code != "pack-missing":
            raise
        results, first = Results(Path(settings.results)), f"`{with_config('slice', config)}`"
        if results.is_to_simulate(settings.phantom.subjects):
            first = f"`{simulating(settings)}` and {first}"
        raise CollectionError(
            "pack-missing", f"{results.slices}: no slices to train on; run {first} first"
        ) from None


def finished_search(results: Results) -> tuple[Path, list[Trial]]:
    """The journal of the last finished search in a results folder, and its trials: the first ones if an
    earlier run requested more.

    Raises SearchError ("search-missing") if no search has finished, ("slot-missing") if one of its slots is
    gone, and as `fovnet.search.journal.read_trials` does.
    """
    from fovnet.search.journal import read_trials, slot_path, to_repeat

    try:
        facts = read_json(results.search / "current.json")
        journal, count = results.search / str(facts["journal"]), int(facts["trials"])
    except (OSError, ValueError, KeyError, TypeError):
        raise SearchError(
            "search-missing",
            f"{results.search}: no finished search in it; run `fovnet search` first",
        ) from None
    trials = {trial.proposal.slot: trial for trial in read_trials(journal)}
    for slot in range(count):
        if slot not in trials:
            gone = slot_path(journal, slot)
            raise SearchError(
                "slot-missing", f"{gone}: of a finished search is missing; {to_repeat(gone)}"
            )
    return journal, [trials[slot] for slot in range(count)]


def journal_of_same_training(settings: Settings, folder: Path) -> Path:
    """The journal of the finished search in a results folder, whose training settings must be the configured
    ones; the device may differ, as each trial records its own.

    Raises SearchError ("calibration-training") if they are not, and as `finished_search`.
    """
    training, (journal, _) = settings.training, finished_search(Results(folder))
    current = Results(folder).search / "current.json"
    alike = {
        digest({**training.model_dump(mode="json"), "device": device})
        for device in ("auto", "cpu", "cuda")
    }
    if read_json(current).get("training_sha256") not in alike:
        raise SearchError(
            "calibration-training",
            f"{current}: its training differs from the configured one, or was made by an earlier fovnet "
            "(`fovnet search` records it now); calibrate without --from",
        )
    return journal


def explain_search(
    journal: Path, trials: Sequence[Trial] | None = None
) -> tuple[Search, Explanation]:
    """The search in a journal, and its explanation from all its trials, or from `trials`, then taken as all
    that were requested unless the search ended early."""
    from fovnet.search.explain.explanation import explain
    from fovnet.search.jobs.proposals import request_of
    from fovnet.search.journal import read_search, read_trials

    owner, known = read_search(journal), read_trials(journal) if trials is None else trials
    request = request_of(journal, len(known))
    done = owner.schedule.full_trainings(trial.proposal for trial in known)
    asked = done if trials is not None and request.ends_after is None else request.trials
    return owner, explain(
        owner, known, asked=asked, ends_after=request.ends_after, notes=request.notes
    )
