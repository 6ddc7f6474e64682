"""The last finished search of a results folder: its journal and its trials."""

from __future__ import annotations

from pathlib import Path

from fovnet.config.models import Settings
from fovnet.errors import SearchError
from fovnet.records import digest, read_json
from fovnet.results import Results
from fovnet.search.slot_files import read_trials, repeat_instruction, slot_path
from fovnet.search.trial import Trial


def read_finished_search(results: Results) -> tuple[Path, list[Trial]]:
    """The journal of the last finished search in a results folder, and its trials: the first ones
    if an earlier run requested more.

    Raises SearchError ("search-missing") if no search has finished, ("slot-missing") if one of its
    slots is gone, and as `fovnet.search.slot_files.read_trials` does.
    """
    try:
        search_facts = read_json(results.search / "current.json")
        journal = results.search / str(search_facts["journal"])
        trial_count = int(search_facts["trials"])
    except (OSError, ValueError, KeyError, TypeError):
        raise SearchError(
            "search-missing",
            f"{results.search}: no finished search in it; run `fovnet search` first",
        ) from None
    trial_by_slot = {trial.proposal.slot: trial for trial in read_trials(journal)}
    for slot in range(trial_count):
        if slot not in trial_by_slot:
            missing_slot = slot_path(journal, slot)
            raise SearchError(
                "slot-missing",
                f"{missing_slot}: of a finished search is missing; {repeat_instruction(missing_slot)}",
            )
    return journal, [trial_by_slot[slot] for slot in range(trial_count)]


def journal_of_same_training(settings: Settings, folder: Path) -> Path:
    """The journal of the finished search in a results folder, whose training settings must be the
    configured ones; the device may differ, as each trial records its own.

    Raises SearchError ("calibration-training") if they are not, and as `read_finished_search`.
    """
    journal, _ = read_finished_search(Results(folder))
    current_file = Results(folder).search / "current.json"
    training_settings = settings.training.model_dump(mode="json")
    accepted_digests = {
        digest({**training_settings, "device": device}) for device in ("auto", "cpu", "cuda")
    }
    if read_json(current_file).get("training_sha256") not in accepted_digests:
        raise SearchError(
            "calibration-training",
            f"{current_file}: its training differs from the configured one, or was made by an earlier "
            "fovnet (`fovnet search` records it now); calibrate without --from",
        )
    return journal
