"""Probabilities of the scored slices by every network of an ablation: those kept with the ensemble,
the others computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.ensemble import load
from fovnet.decision.folder import ModelFolder
from fovnet.decision.rule import Rule
from fovnet.errors import ModelError
from fovnet.evaluate.arms import Networks
from fovnet.net.device import choose_device
from fovnet.search.trial import Trial
from fovnet.volume.collection.pack import Pack

if TYPE_CHECKING:  # torch takes 1.2 s to import
    from torch import nn

Progress = Callable[[int, int], Any]


def networks_of(
    pack: Pack,
    scored: Mapping[str, NDArray[Any]],
    ensemble: Path,
    trials: Sequence[Trial],
    weights: Path,
    start: Mapping[str, Any],
    *,
    device: str = "auto",
    progress: Progress | None = None,
) -> Networks:
    """The networks' probabilities of the rows in `scored` (rows, raw, and members where they were
    kept).

    trials   of the search, one of which may have trained the configuration `start`
    weights  the folder of their networks
    Raises ModelError "probabilities-stale" if the probabilities are of other members or slices than
    the ensemble's.
    """
    rows = scored["rows"]
    members = ModelFolder(ensemble).facts["members"]
    member_probabilities = scored.get("members")
    if member_probabilities is not None:
        _refuse_stale(ensemble, member_probabilities, len(members), len(rows))
    trial = _completed_trial(trials, start)
    slots = [member["slot"] for member in members]
    start_file = None
    if trial is not None and trial.proposal.slot not in slots:
        start_file = weights / f"slot-{trial.proposal.slot:04d}.safetensors"
    files = [start_file] if start_file is not None and start_file.exists() else []
    are_members_lacking = member_probabilities is None
    computed = np.zeros((0, len(rows), 0), dtype=np.float32)
    if are_members_lacking or files:
        computed = _compute(pack, rows, ensemble, files, are_members_lacking, device, progress)
    if member_probabilities is None:
        member_probabilities = computed[: len(members)]
    start_probabilities = None
    if trial is not None and trial.proposal.slot in slots:
        start_probabilities = member_probabilities[slots.index(trial.proposal.slot)]
    elif files:
        start_probabilities = computed[-1]
    subjects = [record.subject for record in pack.records]
    subject_of_volume = np.unique(subjects, return_inverse=True)[1]
    return Networks(
        shipped=np.asarray(scored["raw"], dtype=np.float64),
        members=np.asarray(member_probabilities, dtype=np.float32),
        scores=np.array([member["score"] for member in members], dtype=np.float64),
        start=(
            None
            if start_probabilities is None
            else np.asarray(start_probabilities, dtype=np.float64)
        ),
        validation=np.isin(rows, pack.rows("validation")),
        truth=pack.truth[rows],
        subject=subject_of_volume[pack.volume[rows]],
    )


def _refuse_stale(
    ensemble: Path, member_probabilities: NDArray[Any], members: int, rows: int
) -> None:
    if member_probabilities.shape[:2] != (members, rows):
        scored_members, scored_rows = member_probabilities.shape[:2]
        raise ModelError(
            "probabilities-stale",
            f"{ensemble}: {members} members, of which {scored_members} scored {scored_rows} slices, "
            f"not {rows}; run `fovnet ensemble` again",
        )


def _completed_trial(trials: Sequence[Trial], start: Mapping[str, Any]) -> Trial | None:
    """The completed trial of the starting configuration; None if there is none."""
    for trial in trials:
        is_start = dict(trial.proposal.configuration) == dict(start)
        if is_start and trial.outcome.status == "completed":
            return trial
    return None


def _compute(
    pack: Pack,
    rows: NDArray[np.int64],
    ensemble: Path,
    files: Sequence[Path],
    with_members: bool,
    device: str,
    progress: Progress | None,
) -> NDArray[np.float32]:
    """Probabilities (p, m, k) of the members, if wanted, then of the networks in these files."""
    from fovnet.net.family.weights import load_network
    from fovnet.net.inference.member_outputs import member_probabilities

    torch_device = choose_device(device)
    networks: list[nn.Module] = []
    if with_members:
        networks += load(ensemble, device, rule=Rule()).members
    networks += [load_network(path, torch_device)[0] for path in files]
    return member_probabilities(networks, pack.pixels, torch_device, progress, rows, pack.placing)
