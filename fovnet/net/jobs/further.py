"""The networks of an ensemble trained further on a user's slices, beside slices of others against forgetting.

    n  slices of the pack    k  classes    r  rows drawn in one pass    u, o  a user's rows, and the others'

A user's volumes are few and show what they show.  Three things keep the rest from falling apart: most rows
are others' (Robins (1995), *Catastrophic forgetting, rehearsal and pseudorehearsal*); their targets are what
the networks said of them before; and on a user's slices a class of which there is no example keeps the
probability it had (Li & Hoiem (2016), *Learning without forgetting*, eq. 2): twenty abdomens say nothing
about knees.

With their labels as targets, 6,000 slices of 160 simulated people alone, without any user, took the log loss
of a real neck from 0.66 to 1.31 and of a real pelvis from 0.13 to 0.36: networks of many runs drift to the
few people of this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fovnet.errors import ModelError
from fovnet.net.jobs.workers import Job, TrainingPool
from fovnet.net.paths import forget, weights_of
from fovnet.records import digest, read_json, write_json
from fovnet.search.trial import Outcome, Proposal, Trial, from_facts, to_facts

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]
MOST_KEPT = 0.1
"""Most that the classes without examples keep together on a slice: where they had more, the networks were
wrong, as the slice shows another region, and that is what is to be learned."""


def mixed_rows(volume: Rows, users: Rows, others: Rows, draws: int, share: float, seed: int) -> Rows:
    """(r,) rows, many of them several times, so that a permutation of them draws a user's volumes with
    this share, and every volume of either kind equally often.

    volume  (n,) of every slice
    """
    rng = np.random.default_rng([seed, draws])
    own = round(share * draws)
    return np.concatenate([_alike(volume, users, own, rng), _alike(volume, others, draws - own, rng)])


def _alike(volume: Rows, rows: Rows, draws: int, rng: np.random.Generator) -> Rows:
    """(draws,) of the rows: of each volume as many as of any other, or one more, spread over its slices."""
    of = [rows[volume[rows] == one] for one in np.unique(volume[rows])]
    count = np.full(len(of), draws // len(of))
    count[rng.permutation(len(of))[: draws - count.sum()]] += 1
    # resized: one permutation of its slices after another
    return np.concatenate(
        [np.resize(rng.permutation(its), many) for its, many in zip(of, count, strict=True)]
    ).astype(np.int64)


def kept_targets(targets: Floats, before: Floats, shown: NDArray[np.bool_]) -> Floats:
    """Targets (u, k) of a user's slices: classes not among those `shown` (k,) in any example keep their
    probability before (u, k), MOST_KEPT together at most; the label has the rest."""
    kept = np.where(shown, 0.0, before)
    total = kept.sum(axis=1, keepdims=True)
    kept *= np.minimum(1.0, MOST_KEPT / np.maximum(total, 1e-12))
    return np.asarray(kept + targets * (1.0 - kept.sum(axis=1, keepdims=True)), dtype=np.float32)


def trained_further(
    pool: TrainingPool, job: Job, configurations: Sequence[Mapping[str, Any]], *, seed: int,
    progress: Callable[[int, int], Any] = lambda done, total: None,
) -> list[dict[str, Any]]:
    """The facts of the networks trained, one for each configuration, as `fovnet.decision.ensemble.assemble`
    wants them; their weights are in `job.weights`.

    Networks that an earlier call recorded for the same job are not trained again, and one that was killed
    goes on from its checkpoint.  Raises ModelError "adapt-training" for a training without an end.
    """
    decides = digest([_decides(job), list(configurations), seed])
    proposals = [
        Proposal(slot, slot, one, _seed(seed, slot), (), (), 0.0) for slot, one in enumerate(configurations)
    ]
    done = {one.slot: known for one in proposals if (known := _recorded(job, one.slot, decides))}
    progress(len(done), len(proposals))
    waiting = [(one, pool.submit(one, job=job)) for one in proposals if one.slot not in done]
    for one, future in waiting:
        outcome = future.result()
        _refuse_unended(job, one.slot, outcome)
        done[one.slot] = Trial(one, outcome)
        facts = {**to_facts(done[one.slot]), "decides": decides}
        write_json(_record(job, one.slot), facts, settings=one.configuration, seed=seed)
        forget(weights_of(job.weights, one.slot))
        progress(len(done), len(proposals))
    return [
        {
            "slot": slot, "score": done[slot].score, "configuration": dict(one.configuration),
            "seed": one.seed, "weights": str(weights_of(job.weights, slot)),
        }
        for slot, one in enumerate(proposals)
    ]


def _seed(seed: int, slot: int) -> int:
    return int(np.random.default_rng([seed, slot]).integers(2**31))


def _record(job: Job, slot: int) -> Path:
    return weights_of(job.weights, slot).with_suffix(".json")


def _decides(job: Job) -> dict[str, Any]:
    """What of a job decides its trainings: not where its files are."""
    left_out = {"pixels", "rows", "weights", "stamp", "begin", "process_seconds"}
    named = {name: value for name, value in vars(job).items() if name not in left_out}
    return {**named, "recipe": asdict(job.recipe), "begin": [one.sha256 for one in job.begin]}


def _recorded(job: Job, slot: int, decides: str) -> Trial | None:
    """The trial of an earlier call for this very training, if its weights are there."""
    try:
        facts = read_json(_record(job, slot))
        known = from_facts(facts) if facts.get("decides") == decides else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return known if weights_of(job.weights, slot).exists() else None


def _refuse_unended(job: Job, slot: int, outcome: Outcome) -> None:
    if outcome.status != "completed":
        why = outcome.message or outcome.status
        raise ModelError(
            "adapt-training",
            f"{weights_of(job.weights, slot)}: its training ended without a network ({why}); give the same "
            "command again, with fewer workers if memory was short",
        )
