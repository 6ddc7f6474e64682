"""Tuning the rule on the validation split: subjects on whom no network was trained, and for whom no results
are reported.

    temperature                   the maximum-likelihood one on the validation slices
    sigma_mm, side_threshold, chain_share_in_side, border_toll, heights
                                  in turn, each minimising the loss of `objective.py` given the others, until
                                  nothing changes or SWEEPS are done; ties go to the least smoothing and the
                                  lowest toll; heights are those of the training split times a width, or none
    evidence_mm                   the one that minimises the negative log-likelihood of the decided slices'
                                  stated confidences
    usual_misfit, usual_roughness, flipped_gain
                                  the quantiles that FALSE_ALARMS of the volumes exceed, within bounds
    interval_stretch              such that SHARE of the borders lie in their intervals

The members are weighted before (member_weights.py); when to abstain is settled afterwards (thresholds.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrations import best_temperature
from fovnet.decision.chain.boundaries import SHARE
from fovnet.decision.chain.spans import (
    Decision,
    decide,
    edges,
    outer_edges,
    outline,
    predicted_class,
)
from fovnet.decision.confidence_bar import FALSE_ALARMS
from fovnet.decision.fitting.objective import Example, border_errors, loss
from fovnet.decision.rule import Rule
from fovnet.maths.ladder import Height
from fovnet.regions import NONE, Vocabulary

Floats = NDArray[np.float64]
BORDER_TOLLS = (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)
CHAIN_SHARES_IN_SIDE = (0.02, 0.05, 0.1, 0.2)
SWEEPS = 2
LEAST_SEEN = 5
"""Fewest volumes showing a whole region for which its usual height is estimated."""
EVIDENCE_MM = (1.0, 3.0, 10.0, 15.0, 20.0, 30.0, 50.0, 100.0, 300.0)
LEAST_GAIN, LEAST_MISFIT = 0.4, 0.1
"""Lower bounds of flipped_gain and usual_misfit: few volumes or very good networks would give bars that a
body with little evidence exceeds."""
ROUGHNESS = (0.7, 0.9)
"""Bounds of usual_roughness: a random order has 1 ± 0.1, a body in thick slices up to 0.5."""


def tune(
    examples: Sequence[Example],
    vocabulary: Vocabulary,
    *,
    sigmas_mm: Sequence[float],
    thresholds: Sequence[float],
    heights: Sequence[Height | None] = (),
    widths: Sequence[float] = (1.0,),
    method: str = "exact",
    heights_for: str = "all",
) -> tuple[Rule, list[dict[str, float]]]:
    """The rule for these examples, and loss and slice error of every candidate pair (sigma_mm,
    side_threshold) tried first.

    heights  of the regions in the training split, their deviations multiplied by one of `widths`; the rule
             has them only if they lower the loss on these examples
    """
    temperature = best_temperature(
        [one.probabilities for one in examples], [one.truth for one in examples]
    )
    rule = Rule(
        temperature=temperature,
        border_toll=1.0,
        heights=tuple(heights) if any(heights) else (),
        method=method,
        heights_for=heights_for,
    )
    volumes = Volumes(examples, vocabulary)
    rule, candidates = volumes.best_pair(rule, sigmas_mm, thresholds)
    known = [
        tuple(height and Height(height.mean_mm, width * height.sd_mm) for height in rule.heights)
        for width in widths
    ]
    for sweep in range(SWEEPS):
        before = rule
        rule = volumes.best(
            [replace(rule, heights=heights) for heights in dict.fromkeys([(), *known])]
        )
        rule = volumes.best(
            [replace(rule, chain_share_in_side=share) for share in CHAIN_SHARES_IN_SIDE]
        )
        rule = volumes.best([replace(rule, border_toll=toll) for toll in BORDER_TOLLS])
        if rule == before or sweep == SWEEPS - 1:
            break
        rule, _ = volumes.best_pair(rule, sigmas_mm, thresholds)
    rule = min(
        (replace(rule, evidence_mm=mm) for mm in EVIDENCE_MM), key=volumes.negative_log_likelihood
    )
    return volumes.with_bars(rule), candidates


@dataclass(frozen=True, eq=False)
class Volumes:
    """Labelled volumes by which rules are judged."""

    examples: Sequence[Example]
    vocabulary: Vocabulary

    def loss(self, rule: Rule) -> float:
        """The loss of the rule's decisions, as `objective.py` defines it."""
        return self._loss(self._decided(rule))

    def slice_error(self, rule: Rule) -> float:
        """Share of all slices for which the rule's predicted class is wrong."""
        return self._slice_error(self._decided(rule))

    def best(self, candidates: Sequence[Rule]) -> Rule:
        """The candidate with the least loss; the first of equals."""
        return min(candidates, key=self.loss)

    def best_pair(
        self, rule: Rule, sigmas_mm: Sequence[float], thresholds: Sequence[float]
    ) -> tuple[Rule, list[dict[str, float]]]:
        """The rule with the pair of smoothing and side region threshold of least loss, and the results of
        every pair; ties: least smoothing."""
        candidates, tried = [], []
        for sigma_mm, threshold in product(sorted(sigmas_mm), sorted(thresholds)):
            candidate = replace(rule, sigma_mm=sigma_mm, side_threshold=threshold)
            decided = self._decided(candidate)
            worth = {"loss": self._loss(decided), "slice_error": self._slice_error(decided)}
            candidates.append(candidate)
            tried.append({"sigma_mm": sigma_mm, "side_threshold": threshold, **worth})
        return candidates[int(np.argmin([row["loss"] for row in tried]))], tried

    def negative_log_likelihood(self, rule: Rule) -> float:
        """Mean negative log-likelihood of "this slice is right" under the stated confidences."""
        losses = []
        for example in self.examples:
            answer = self._answer(example, rule)
            hit = are_right(
                predicted_class(answer.decided, len(self.vocabulary.chain)), example.truth
            )
            stated = np.clip(answer.confidence, 1e-3, 1 - 1e-3)
            losses.append(-np.log(np.where(hit, stated, 1 - stated)))
        return float(np.concatenate(losses).mean())

    def with_bars(self, rule: Rule) -> Rule:
        """The rule with its bars (`usual_*`, flipped_gain) and the stretch of the borders' intervals fitted
        to these volumes."""
        answers, least = (
            [
                self._answer(example, replace(rule, interval_stretch=stretch))
                for example in self.examples
            ]
            for stretch in (1.0, 0.0)
        )
        volumes = zip(self.examples, answers, least, strict=True)
        offs = np.array([off for volume in volumes for off in self._offs(*volume)])
        return replace(
            rule,
            usual_roughness=float(
                np.clip(_exceeded_by([one.roughness for one in answers]), *ROUGHNESS)
            ),
            usual_misfit=max(LEAST_MISFIT, _exceeded_by([one.misfit for one in answers])),
            flipped_gain=max(LEAST_GAIN, _exceeded_by([one.flipped_gain for one in answers])),
            interval_stretch=float(np.quantile(offs, SHARE, method="higher")) if len(offs) else 1.0,
        )

    def _decided(self, rule: Rule) -> list[NDArray[np.bool_]]:
        return [
            outline(
                example.probabilities, example.z_mm, self.vocabulary, rule, example.edges_mm
            ).decided
            for example in self.examples
        ]

    def _loss(self, decided: Sequence[NDArray[np.bool_]]) -> float:
        edges_mm = [outer_edges(example.z_mm, example.edges_mm) for example in self.examples]
        truths = [example.truth for example in self.examples]
        return loss(decided, truths, edges_mm, len(self.vocabulary.chain))

    def _slice_error(self, decided: Sequence[NDArray[np.bool_]]) -> float:
        n = len(self.vocabulary.chain)
        hits = [
            are_right(predicted_class(one, n), example.truth)
            for one, example in zip(decided, self.examples, strict=True)
        ]
        return float(1.0 - np.concatenate(hits).mean())

    def _answer(self, example: Example, rule: Rule) -> Decision:
        return decide(
            example.probabilities,
            example.z_mm,
            self.vocabulary,
            rule,
            example.turned,
            example.edges_mm,
        )

    def _offs(self, example: Example, answer: Decision, least: Decision) -> list[float]:
        """Error of each border that is both predicted and true, over the half-width of its interval on the
        true border's side.

        answer has the intervals with a stretch of 1, `least` those with 0, the smallest possible: a border
        within the latter needs no stretch, and counts as 0.
        """
        chain = self.vocabulary.chain
        names, edges_mm = (*chain, NONE), outer_edges(example.z_mm, example.edges_mm)
        errors = border_errors(answer.decided, example.truth, edges_mm, len(chain))
        offs = []
        for border, bare in zip(answer.boundaries, least.boundaries, strict=True):
            error = errors.get((names.index(border.below), names.index(border.above)))
            if error is not None:
                half_mm, least_mm = (
                    (one.mm - one.low_mm if error > 0 else one.high_mm - one.mm)
                    for one in (border, bare)
                )
                offs.append(abs(error) / max(half_mm, 1e-9) if abs(error) > least_mm else 0.0)
        return offs


def _exceeded_by(values: Sequence[float]) -> float:
    """The quantile that FALSE_ALARMS of the values exceed, linearly interpolated."""
    return float(np.quantile(values, 1.0 - FALSE_ALARMS))


def usual_heights(
    shown: Sequence[tuple[Floats, NDArray[np.bool_]]], vocabulary: Vocabulary
) -> tuple[Height | None, ...]:
    """The height of each chain region in the body, from volumes (heights z_mm (s,), truth (s, k)) that show
    it between its neighbours.

    None for a region that fewer than LEAST_SEEN volumes show whole, and for the outermost two, which have
    only one neighbour.  The standard deviation is the predictive one of a new body, √(1 + 1/n) times the
    sample's.
    """
    found: list[list[float]] = [[] for _ in vocabulary.chain]
    for z_mm, truth in shown:
        lower, upper = edges(z_mm)
        for rung in range(1, len(found) - 1):
            rows = np.flatnonzero(truth[:, rung])
            if len(rows) and truth[: rows[0], rung - 1].any() and truth[rows[-1] :, rung + 1].any():
                found[rung].append(float(upper[rows[-1]] - lower[rows[0]]))
    return tuple(
        Height(float(np.mean(mm)), float(np.std(mm, ddof=1) * np.sqrt(1 + 1 / len(mm))))
        if len(mm) >= LEAST_SEEN
        else None
        for mm in found
    )


def are_right(decided_class: NDArray[np.int64], truth: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(s,) whether the predicted class is among the true ones; a spine slice at chest height may be labelled
    as either."""
    return np.asarray(np.take_along_axis(truth, decided_class[:, None], axis=1)[:, 0])
