"""Probabilities of the scored slices by every network of an ablation: those kept with the ensemble, the
others computed."""

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
    """The networks' probabilities of the rows in `scored` (rows, raw, and members where they were kept).

    trials  of the search, one of which may have trained the configuration `start`;  weights  the folder of
        their networks
    Raises ModelError "probabilities-stale" if the probabilities are of other members or slices than the
    ensemble's.
    """
    rows, members = scored["rows"], ModelFolder(ensemble).facts["members"]
    kept = scored.get("members")
    if kept is not None and kept.shape[:2] != (len(members), len(rows)):
        raise ModelError(
            "probabilities-stale",
            f"{ensemble}: {len(members)} members, of which {kept.shape[0]} scored {kept.shape[1]} slices, "
            f"not {len(rows)}; run `fovnet ensemble` again",
        )
    trial = _trained(trials, start)
    place = next(
        (
            number
            for number, member in enumerate(members)
            if trial and member["slot"] == trial.proposal.slot
        ),
        None,
    )
    alone = (
        weights / f"slot-{trial.proposal.slot:04d}.safetensors" if trial and place is None else None
    )
    more = [alone] if alone is not None and alone.exists() else []
    found = (
        _computed(pack, rows, ensemble, more, kept is None, device, progress)
        if kept is None or more
        else np.zeros(0)
    )
    kept = found[: len(members)] if kept is None else kept
    first = kept[place] if place is not None else found[-1] if more else None
    return Networks(
        shipped=np.asarray(scored["raw"], dtype=np.float64),
        members=np.asarray(kept, dtype=np.float32),
        scores=np.array([member["score"] for member in members], dtype=np.float64),
        start=None if first is None else np.asarray(first, dtype=np.float64),
        validation=np.isin(rows, pack.rows("validation")),
        truth=pack.truth[rows],
        subject=np.unique([one.subject for one in pack.records], return_inverse=True)[1][
            pack.volume[rows]
        ],
    )


def _trained(trials: Sequence[Trial], start: Mapping[str, Any]) -> Trial | None:
    """The completed trial of the starting configuration; None if there is none."""
    same = (trial for trial in trials if dict(trial.proposal.configuration) == dict(start))
    return next((trial for trial in same if trial.outcome.status == "completed"), None)


def _computed(
    pack: Pack,
    rows: NDArray[np.int64],
    ensemble: Path,
    more: Sequence[Path],
    with_members: bool,
    device: str,
    progress: Progress | None,
) -> NDArray[np.float32]:
    """Probabilities (p, m, k) of the members, if wanted, then of the networks in the files `more`."""
    from fovnet.net.family.weights import load_network
    from fovnet.net.inference.member_outputs import member_probabilities

    where = choose_device(device)
    wanted: list[nn.Module] = (
        list(load(ensemble, device, rule=Rule()).members) if with_members else []
    )
    wanted += [load_network(path, where)[0] for path in more]
    return member_probabilities(wanted, pack.pixels, where, progress, rows, pack.placing)
