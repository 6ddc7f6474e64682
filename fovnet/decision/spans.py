"""From the slice probabilities of one volume to spans: what it shows, from where to where, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fovnet.decision.calibrating import AS_SAID, Beta, recalibrated
from fovnet.errors import ModelError
from fovnet.maths import ladder, rungs
from fovnet.maths.rungs import Height
from fovnet.maths.smoothing import best_stretch, smooth_along_body, temper
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]
LOOK_MM = 10.0
"""Slices nearer than this share one look's evidence, so that thin and thick stacks are decided alike."""
FLOOR = 1e-6
"""No probability counts as less: a network's 1e-30 is no evidence of that strength, and one slice must not veto a region."""


@dataclass(frozen=True)
class Rule:
    """How probabilities become spans; chosen on the validation split, kept beside the ensemble.

    temperature         of the ensemble's mean            sigma_mm   of the smoothing
    protocol_threshold  share above which a protocol such as spine is reported
    beside_protocol     a chain region inside a protocol's stretch is reported when its own share reaches this
    border_toll         log-evidence that a border between two regions has to be worth
    evidence_mm         height that counts as one independent look: neighbouring slices show the same thing
    heights             usual height of each chain region in the body, feet to head, None where unknown; empty: none is used
    min_confidence      a volume below it is answered with status "uncertain"
    weights             (p,) each member's say in the mean; empty: all the same
    beta                calibration of the decided labels' confidences
    least_novelty       a volume with a smaller share of validation slices as unusual as its own is "uncertain"
    least_agreement     so is one whose members agree less
    """

    temperature: float = 1.0
    sigma_mm: float = 6.0
    protocol_threshold: float = 0.3
    beside_protocol: float = 0.2
    border_toll: float = 0.0
    evidence_mm: float = LOOK_MM
    heights: tuple[Height | None, ...] = ()
    min_confidence: float = 0.0
    weights: tuple[float, ...] = ()
    beta: Beta = AS_SAID
    least_novelty: float = 0.0
    least_agreement: float = 0.0

    def say(self, members: int) -> Floats:
        """The weights (p,) of so many members.  Raises ModelError where the rule was made for another number of them."""
        if self.weights and len(self.weights) != members:
            raise ModelError("rule-other-members", f"the rule weighs {len(self.weights)} members and there are {members}; "
                                                   "run `fovnet ensemble` and `fovnet tune` again")
        return np.array(self.weights) if self.weights else np.full(members, 1.0 / members)


@dataclass(frozen=True)
class Span:
    """A contiguous run of slices given one region; first and last are rows of the stack, inclusive."""

    region: str
    first: int
    last: int
    from_mm: float
    to_mm: float
    confidence: float


@dataclass(frozen=True)
class Decision:
    """What is said about one volume.

    spans       feet to head, chain regions before protocols
    smoothed    (s, k) calibrated and smoothed probabilities        decided  (s, k) bool, what each slice is said to show
    confidence  (s,) probability of what the slice is said to show  sure     their mean, the volume's confidence
    flipped_gain  log-evidence per slice that the reversed body order fits better, 0 where it does not
    """

    spans: tuple[Span, ...]
    smoothed: Floats
    decided: NDArray[np.bool_]
    confidence: Floats
    sure: float
    flipped_gain: float


def decide(probabilities: Floats, z_mm: Floats, vocabulary: Vocabulary, rule: Rule) -> Decision:
    """The decision on a volume from its ensemble probabilities (s, k), classes in the vocabulary's order, s >= 1.

    Protocols (spine) are found first, each as the contiguous stretch where its smoothed share most exceeds the threshold; their
    share is then taken out, the rest renormalised, and the chain decoded exactly.  A slice whose share of protocol is p counts
    1 - p: one that is all spine says nothing about the rung it is on.
    """
    n, spacing_mm = len(vocabulary.chain), _spacing(z_mm)
    smoothed = smooth_along_body(temper(probabilities, rule.temperature), z_mm, rule.sigma_mm)
    protocols, chain, beside = smoothed[:, n:-1], smoothed[:, :n], smoothed[:, -1]
    stretches = [best_stretch(share - rule.protocol_threshold) for share in protocols.T]
    rest = np.maximum(chain.sum(axis=1) + beside, FLOOR)
    weight = (1.0 - protocols.sum(axis=1)) * min(1.0, spacing_mm / LOOK_MM)
    fits = weight[:, None] * np.log(np.maximum(chain / rest[:, None], FLOOR))
    free = weight * np.log(np.maximum(beside / rest, FLOOR))
    climb = Climb(fits, free, z_mm, rule)
    states, fit = climb.best()
    sure = climb.certainty()

    decided = np.zeros(smoothed.shape, dtype=bool)
    decided[:, :n] = states[:, None] == np.arange(1, n + 1)
    _place_protocols(decided, smoothed, stretches, n, rule)
    decided[:, -1] = ~decided[:, :-1].any(axis=1)
    certainty = recalibrated(_certainty(decided, protocols, sure, n), rule.beta)
    confidence = np.take_along_axis(certainty, said(decided, n)[:, None], axis=1)[:, 0]
    flipped = Climb(fits[::-1], free[::-1], -z_mm[::-1], rule).best()[1] - fit
    return Decision(
        tuple(_spans(decided, certainty, z_mm, vocabulary)), smoothed, decided, confidence,
        float(confidence.mean()), max(0.0, float(flipped) / len(z_mm)),
    )  # fmt: skip


@dataclass(frozen=True)
class Climb:
    """One way up a volume: log-evidence (s, n) of the rungs and (s,) of none, heights (s,) ascending, and the rule to climb by."""

    fits: Floats
    free: Floats
    z_mm: Floats
    rule: Rule

    def best(self) -> tuple[NDArray[np.int64], float]:
        """States (s,) of the best path and its worth."""
        if not self.rule.heights:
            return ladder.best_path(self.fits, self.free, self.rule.border_toll)
        return rungs.best_path(self.fits, self.free, outer_edges(self.z_mm), self.rule.heights, self.rule.border_toll)

    def certainty(self) -> Floats:
        """Probability (s, n + 1) of each rung, and of none."""
        looks = LOOK_MM / self.rule.evidence_mm               # scales the worth of every path alike: how sure, not which
        fits, free, toll = looks * self.fits, looks * self.free, looks * self.rule.border_toll
        if not self.rule.heights:
            return ladder.posterior(fits, free, toll)
        wider = [height and Height(height.mean_mm, height.sd_mm / np.sqrt(looks)) for height in self.rule.heights]
        return rungs.posterior(fits, free, outer_edges(self.z_mm), wider, toll)


def said(decided: NDArray[np.bool_], n: int) -> NDArray[np.int64]:
    """(s,) the one class each slice is said to show first: its protocol, else its rung of the n-rung chain, else none."""
    k = decided.shape[1]
    order = np.concatenate([np.arange(n, k - 1), np.arange(n), [k - 1]])
    return np.asarray(order[decided[:, order].argmax(axis=1)], dtype=np.int64)


def _place_protocols(
    decided: NDArray[np.bool_], smoothed: Floats, stretches: list[tuple[int, int, float]], n: int, rule: Rule
) -> None:
    """Write each protocol's stretch, and take out chain regions that only the missing rest of a protocol slice suggested.

    Nothing is taken out of the middle: what is left of the chain stays one piece.
    """
    for index, (first, last, _) in enumerate(stretches):
        if last < first:
            continue
        inside = slice(first, last + 1)
        decided[inside, n + index] = True
        left = decided[:, :n].copy()
        for rung in range(n):
            rows = np.flatnonzero(decided[inside, rung]) + first
            if len(rows) and smoothed[rows, rung].mean() < rule.beside_protocol:
                left[rows, rung] = False
        if (np.diff(np.flatnonzero(left.any(axis=1))) == 1).all():
            decided[:, :n] = left


def _certainty(decided: NDArray[np.bool_], protocols: Floats, sure: Floats, n: int) -> Floats:
    """(s, k) probability that a slice shows each class: the chain's posterior, and the protocols' shares.

    Beside a chain region a protocol's share counts twice: training splits the target of such a slice in halves.
    """
    doubled = protocols * np.where(decided[:, :n].any(axis=1), 2.0, 1.0)[:, None]
    return np.column_stack([sure[:, :n], np.minimum(doubled, 1.0), sure[:, n]])


def _spans(decided: NDArray[np.bool_], certainty: Floats, z_mm: Floats, vocabulary: Vocabulary) -> list[Span]:
    spans = []
    lower, upper = edges(z_mm)
    for column, region in enumerate(vocabulary.classes[:-1]):
        rows = np.flatnonzero(decided[:, column])
        for run in np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1):
            if len(run):
                first, last = int(run[0]), int(run[-1])
                confidence = float(certainty[run, column].mean())
                spans.append(Span(region, first, last, float(lower[first]), float(upper[last]), confidence))
    return spans


def edges(z_mm: Floats) -> tuple[Floats, Floats]:
    """Lower and upper end (s,) of every cut: half-way to its neighbours, and as far outwards at the two ends as inwards."""
    half = np.diff(z_mm) / 2 if len(z_mm) > 1 else np.array([0.5])
    below, above = np.concatenate([half[:1], half]), np.concatenate([half, half[-1:]])
    if len(z_mm) == 1:
        below = above = half
    return z_mm - below, z_mm + above


def outer_edges(z_mm: Floats) -> Floats:
    """(s + 1,) where the cuts begin and end, feet to head."""
    lower, upper = edges(z_mm)
    return np.append(lower, upper[-1])


def _spacing(z_mm: Floats) -> float:
    return float(np.median(np.diff(z_mm))) if len(z_mm) > 1 else 1.0
