"""Choosing the rule on the validation split: people whom no network was trained on, and whom no figure will be given for.

    temperature                   the one that makes the validation slices likeliest
    sigma_mm, protocol_threshold  the pair with the fewest wrong slices after the decision; among equals the least smoothing
    heights                       those of the training split, where the decision errs less often with them
    border_toll                   then the one with the fewest wrong slices; among equals the lowest
    evidence_mm                   the distance at which the decided slices' stated confidence is likeliest

What the networks say is weighed before (weighing.py), and when to abstain is settled after it (settling.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrating import best_temperature
from fovnet.decision.spans import Decision, Rule, decide, edges, said
from fovnet.maths.rungs import Height
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]
BORDER_TOLLS = (0.0, 1.0, 2.0, 4.0, 8.0)
LEAST_SEEN = 5
"""So many volumes have to show a region whole before its usual height is believed."""
EVIDENCE_MM = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


@dataclass(frozen=True)
class Example:
    """One labelled volume: ensemble probabilities (s, k), heights (s,), what is true (s, k)."""

    probabilities: Floats
    z_mm: Floats
    truth: NDArray[np.bool_]


def tune(
    examples: Sequence[Example], vocabulary: Vocabulary, *, sigmas_mm: Sequence[float], thresholds: Sequence[float],
    heights: Sequence[Height | None] = (),
) -> tuple[Rule, list[dict[str, float]]]:
    """The rule for these examples, and the slice error of every candidate pair tried on the way to it.

    heights  of the regions as the training split shows them; the rule has them only if these examples are decided better with them
    """
    rule = Rule(temperature=best_temperature([one.probabilities for one in examples], [one.truth for one in examples]))
    candidates = []
    for sigma_mm, threshold in product(sorted(sigmas_mm), sorted(thresholds)):
        candidate = replace(rule, sigma_mm=sigma_mm, protocol_threshold=threshold)
        error = slice_error(examples, vocabulary, candidate)
        candidates.append({"sigma_mm": sigma_mm, "protocol_threshold": threshold, "slice_error": error})
    best = min(candidates, key=lambda candidate: candidate["slice_error"])       # the first of equals: least smoothing
    rule = replace(rule, sigma_mm=best["sigma_mm"], protocol_threshold=best["protocol_threshold"])
    known = replace(rule, heights=tuple(heights)) if any(heights) else rule
    rule = min((rule, known), key=lambda candidate: slice_error(examples, vocabulary, candidate))
    tolls = [replace(rule, border_toll=toll) for toll in BORDER_TOLLS]
    rule = min(tolls, key=lambda candidate: slice_error(examples, vocabulary, candidate))
    return min((replace(rule, evidence_mm=mm) for mm in EVIDENCE_MM), key=lambda r: _surprise(examples, vocabulary, r)), candidates


def usual_heights(shown: Sequence[tuple[Floats, NDArray[np.bool_]]], vocabulary: Vocabulary) -> tuple[Height | None, ...]:
    """The height of each chain region in the body, from volumes (heights z_mm (s,), truth (s, k)) that show it between two others.

    None for a region that fewer than LEAST_SEEN volumes show whole: the outermost two have nothing beyond them.  The standard
    deviation is that of a new body, √(1 + 1/n) times the sample's.
    """
    found: list[list[float]] = [[] for _ in vocabulary.chain]
    for z_mm, truth in shown:
        lower, upper = edges(z_mm)
        for rung in range(1, len(found) - 1):
            rows = np.flatnonzero(truth[:, rung])
            if len(rows) and truth[: rows[0], rung - 1].any() and truth[rows[-1] :, rung + 1].any():
                found[rung].append(float(upper[rows[-1]] - lower[rows[0]]))
    return tuple(
        Height(float(np.mean(mm)), float(np.std(mm, ddof=1) * np.sqrt(1 + 1 / len(mm)))) if len(mm) >= LEAST_SEEN else None for mm in found
    )


def right(decided_class: NDArray[np.int64], truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(s,) whether the class said is among the true ones; a spine slice at chest height may be called either."""
    return np.asarray(np.take_along_axis(truth, decided_class[:, None], axis=1)[:, 0])


def _answer(example: Example, vocabulary: Vocabulary, rule: Rule) -> Decision:
    return decide(example.probabilities, example.z_mm, vocabulary, rule)


def _hits(example: Example, answer: Decision, vocabulary: Vocabulary) -> NDArray[np.bool_]:
    return right(said(answer.decided, len(vocabulary.chain)), example.truth)


def slice_error(examples: Sequence[Example], vocabulary: Vocabulary, rule: Rule) -> float:
    """Share of all slices of the examples that the rule decides wrongly."""
    wrong, total = np.sum([_errors(example, _answer(example, vocabulary, rule), vocabulary) for example in examples], axis=0)
    return float(wrong / total)


def _errors(example: Example, answer: Decision, vocabulary: Vocabulary) -> tuple[int, int]:
    hits = _hits(example, answer, vocabulary)
    return int((~hits).sum()), len(hits)


def _surprise(examples: Sequence[Example], vocabulary: Vocabulary, rule: Rule) -> float:
    """Mean negative log-likelihood of "this slice is right" under the stated confidences."""
    losses = []
    for example in examples:
        answer = _answer(example, vocabulary, rule)
        hit, stated = _hits(example, answer, vocabulary), np.clip(answer.confidence, 1e-3, 1 - 1e-3)
        losses.append(-np.log(np.where(hit, stated, 1 - stated)))
    return float(np.concatenate(losses).mean())
