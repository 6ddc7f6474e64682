"""Probabilities of the scored slices by every network of an ablation: those kept with the ensemble,
the others computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.folder import ModelFolder
from fovnet.errors import ModelError
from fovnet.evaluate.arms import Networks
from fovnet.late import import_late
from fovnet.net.device import choose_device
from fovnet.search.trial import Trial
from fovnet.volume.collection.pack import Pack

if TYPE_CHECKING:
    from fovnet.net.family import weights
    from fovnet.net.inference import member_outputs
else:  # torch
    weights = import_late("fovnet.net.family.weights")
    member_outputs = import_late("fovnet.net.inference.member_outputs")

Progress = Callable[[int, int], Any]


def score_networks(
    pack: Pack,
    scored: Mapping[str, NDArray[Any]],
    ensemble_folder: Path,
    trials: Sequence[Trial],
    networks_folder: Path,
    start_configuration: Mapping[str, Any],
    *,
    device: str = "auto",
    progress: Progress | None = None,
) -> Networks:
    """The networks' probabilities of the rows in `scored` (rows, raw, and members where they were
    kept).

    trials           of the search, one of which may have trained the `start_configuration`
    networks_folder  with the networks that they trained
    Raises ModelError "probabilities-stale" if the probabilities are of other members or slices than
    the ensemble's.
    """
    rows = scored["rows"]
    members = ModelFolder(ensemble_folder).facts["members"]
    member_probabilities = scored["members"]
    _refuse_stale_probabilities(ensemble_folder, member_probabilities, len(members), len(rows))
    start_trial = _trial_of_start(trials, start_configuration)
    member_slots = [member["slot"] for member in members]
    start_probabilities = None
    if start_trial is not None and start_trial.proposal.slot in member_slots:
        start_probabilities = member_probabilities[member_slots.index(start_trial.proposal.slot)]
    elif start_trial is not None:
        weights_file = networks_folder / f"slot-{start_trial.proposal.slot:04d}.safetensors"
        if weights_file.exists():
            class_probabilities = _compute_probabilities(pack, rows, weights_file, device, progress)
            starts = ModelFolder(ensemble_folder).network_vocabulary.whole_starts
            start_probabilities = np.add.reduceat(class_probabilities, starts, axis=1)
    if start_probabilities is not None:
        start_probabilities = np.asarray(start_probabilities, dtype=np.float64)
    subject_by_record = [record.subject for record in pack.records]
    subject_of_volume = np.unique(subject_by_record, return_inverse=True)[1]
    return Networks(
        ensemble_probabilities=np.asarray(scored["raw"], dtype=np.float64),
        member_probabilities=np.asarray(member_probabilities, dtype=np.float32),
        scores=np.array([member["score"] for member in members], dtype=np.float64),
        start_probabilities=start_probabilities,
        is_validation=np.isin(rows, pack.rows_in_split("validation")),
        truth=pack.truth[rows],
        subject_index=subject_of_volume[pack.volume_of_slice[rows]],
    )


def _refuse_stale_probabilities(
    ensemble_folder: Path,
    member_probabilities: NDArray[Any],
    member_count: int,
    slice_count: int,
) -> None:
    """Raises ModelError "probabilities-stale" unless so many members scored so many slices."""
    if member_probabilities.shape[:2] != (member_count, slice_count):
        scored_member_count, scored_slice_count = member_probabilities.shape[:2]
        raise ModelError(
            "probabilities-stale",
            f"{ensemble_folder}: {member_count} members, of which {scored_member_count} scored "
            f"{scored_slice_count} slices, not {slice_count}; run `fovnet ensemble` again",
        )


def _trial_of_start(
    trials: Sequence[Trial], start_configuration: Mapping[str, Any]
) -> Trial | None:
    """The completed trial of the starting configuration; None if there is none."""
    for trial in trials:
        is_start = dict(trial.proposal.configuration) == dict(start_configuration)
        if is_start and trial.outcome.status == "completed":
            return trial
    return None


def _compute_probabilities(
    pack: Pack, rows: NDArray[np.int64], weights_file: Path, device: str, progress: Progress | None
) -> NDArray[np.float32]:
    """Probabilities (m, k) of the network in a file."""
    torch_device = choose_device(device)
    network, _ = weights.load_network(weights_file, torch_device)
    (probabilities,) = member_outputs.compute_member_probabilities(
        [network], pack.pixels, torch_device, progress, rows, pack.placing
    )
    return np.asarray(probabilities)
