"""Finished trials as timed trainings, for fitting a device's cost model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fovnet.errors import SearchError
from fovnet.net.cost.columns import columns_of_configurations
from fovnet.net.cost.predicted import Work
from fovnet.net.cost.speed import Timings, repeat_number
from fovnet.net.family.layered_configuration import is_layered
from fovnet.records import read_npz
from fovnet.search.slot_files import read_trials
from fovnet.search.trial import Trial


def timings_of_finished_trials(
    journal: Path,
    device_name: str,
    *,
    head: str,
    slices_per_epoch: int,
    inputs: Sequence[str] = ("slice",),
) -> Timings:
    """The completed trials of a journal that ran on a device of this name, each with the epochs and
    seconds of its own slot, without those that it went on from.  Raises SearchError if there is
    none ("calibration-trials"), or the journal's rows cannot be read ("journal-rows")."""
    completed_trials = [
        trial
        for trial in read_trials(journal)
        if trial.outcome.status == "completed"
        and trial.outcome.device == device_name
        and trial.outcome.seconds > 0
        and _own_epochs(trial) > 0
    ]
    if not completed_trials:
        raise SearchError(
            "calibration-trials",
            f"{journal}: no completed trial of {device_name}; calibrate without --from",
        )
    if any(is_layered(trial.proposal.configuration) for trial in completed_trials):
        raise SearchError(
            "calibration-trials",
            f"{journal}: its networks are of layers, and the fit is to networks of blocks; calibrate "
            "without --from",
        )
    try:
        journal_arrays = read_npz(journal / "rows.npz")
    except (OSError, ValueError) as fault:
        raise SearchError(
            "journal-rows",
            f"{journal / 'rows.npz'}: missing or damaged ({fault}); `fovnet search` writes it "
            "again",
        ) from fault
    configurations = [trial.proposal.configuration for trial in completed_trials]
    columns = columns_of_configurations(
        configurations, classes=journal_arrays["targets"].shape[1], head=head, inputs=inputs
    )
    epochs = np.array([_own_epochs(trial) for trial in completed_trials])
    work = Work(
        training_slices=repeat_number(slices_per_epoch, len(completed_trials)),
        validation_slices=repeat_number(len(journal_arrays["validation"]), len(completed_trials)),
        epochs=epochs,
    )
    return Timings(columns, work, np.array([trial.outcome.seconds for trial in completed_trials]))


def _own_epochs(trial: Trial) -> int:
    """The epochs trained in a trial's slot; none where the training had already ended on a
    plateau."""
    return len(trial.outcome.validation_loss) - trial.proposal.begun_epochs
