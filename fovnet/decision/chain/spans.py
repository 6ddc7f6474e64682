"""From the slice probabilities of one volume to spans: its regions, their extents, and their
confidences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fovnet.decision.calibrations import calibrate_by_beta, calibrate_by_line
from fovnet.decision.chain.boundaries import Boundary, find_boundaries
from fovnet.decision.chain.chain_model import LEAST_PROBABILITY, ChainModel, count_observations
from fovnet.decision.chain.presence import Presence, compute_presence
from fovnet.decision.rule import EVEN_PROBABILITY, Rule
from fovnet.maths.roughness import measure_roughness
from fovnet.maths.smoothing import best_stretch, smooth_along_body, temper
from fovnet.regions import Vocabulary

Floats = NDArray[np.float64]
SHARPENING_FACTOR = 3.0
"""Divisor of the temperature before roughness is measured: a head that is more or less clear is
still a head."""
UPSIDE_DOWN_PRIOR = 0.01
"""Prior probability that a volume is upside down: evidence for it has to outweigh the prior odds of
99 to 1."""
LEVEL_SHARE = 0.25
LEVEL_MM = 80.0
"""A level of a side region is reported if it makes up this share of the side region's span, or this
many millimetres."""


@dataclass(frozen=True)
class Span:
    """A contiguous run of slices given one region; first and last are rows of the stack, inclusive.

    levels  of a side region, by the chain regions it crosses, feet to head (a spine's "lumbar",
            "thoracic", "cervical")
    """

    region: str
    first: int
    last: int
    from_mm: float
    to_mm: float
    confidence: float
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabelledChain:
    """The labels of a volume without their confidences: cheap, and sufficient for most of tuning.

    smoothed_probabilities  (s, k) calibrated and smoothed probabilities
    decided_labels          (s, k) bool, the labels of each slice
    path_states             (s,) of the best path
    chain_model             the chain that was decoded
    """

    smoothed_probabilities: Floats
    decided_labels: NDArray[np.bool_]
    path_states: NDArray[np.int64]
    chain_model: ChainModel


@dataclass(frozen=True)
class Decision:
    """The decision on one volume.

    spans                   feet to head, chain regions before side regions
    smoothed_probabilities  (s, k) calibrated and smoothed probabilities
    decided_labels          (s, k) bool, the labels of each slice
    slice_confidence        (s,) probability of the slice's predicted class
    volume_confidence       their mean, the volume's confidence, black margins left out
    flipped_gain            log-evidence for the reversed order over the given one
    presence                of each region, before calibration
    boundaries              of the chain, feet to head, with 90 % intervals
    set_probability         that the volume shows the predicted regions, and no others
    is_flipped              whether `flipped_gain` exceeds the rule's
    misfit                  log-evidence per observation that the order of the body costs
    roughness               difference of neighbouring slices over that of any two; regions are less
                            probable if it or the misfit is above usual
    observation_count       independent ones, at most one every OBSERVATION_MM
    """

    spans: tuple[Span, ...]
    smoothed_probabilities: Floats
    decided_labels: NDArray[np.bool_]
    slice_confidence: Floats
    volume_confidence: float
    flipped_gain: float
    presence: Presence
    boundaries: tuple[Boundary, ...] = ()
    set_probability: float = 0.0
    is_flipped: bool = False
    misfit: float = 0.0
    roughness: float = 0.0
    observation_count: float = 0.0


def decide_volume(
    probabilities: Floats,
    z_mm: Floats,
    vocabulary: Vocabulary,
    rule: Rule,
    turned_probabilities: Floats | None = None,
    edges_mm: Floats | None = None,
) -> Decision:
    """The decision on a volume from its ensemble probabilities (s, k), classes in the vocabulary's
    order, s >= 1.

    turned_probabilities  (s, k) of the ensemble for the slices from head to feet, if they depend on
                          the order: they are then used to judge whether the body is upside down
    edges_mm              (s + 1,) where its slices begin and end, feet to head; half-way between
                          the cuts if None
    """
    chain_region_count = len(vocabulary.chain)
    labelled_chain = decide_labels(probabilities, z_mm, vocabulary, rule, edges_mm)
    states = labelled_chain.path_states
    chain_model = labelled_chain.chain_model
    crossings = chain_model.confidence_model.ladder.crossings(states)
    volume_roughness = _measure_roughness(probabilities, labelled_chain, rule)
    path_misfit = chain_model.misfit_of_path(states)
    flipped_gain = _measure_flipped_gain(
        labelled_chain, z_mm, vocabulary, rule, turned_probabilities
    )
    order_trust = _order_trust(path_misfit, volume_roughness, rule)
    path_trust = order_trust * _upright_probability(flipped_gain)
    chain_posterior = _visible_posterior(crossings.posterior(), chain_model.is_blank)
    class_certainty = _calibrate_certainty(
        labelled_chain, chain_posterior, path_trust, chain_region_count, rule
    )
    kept_labels = _drop_guesses(labelled_chain.decided_labels, class_certainty, chain_region_count)
    slice_confidence = _confidence_of_labels(class_certainty, kept_labels, chain_region_count)
    spans = _spans_of_labels(kept_labels, class_certainty, chain_model.edges_mm, vocabulary)
    set_probability = path_trust * _set_probability(
        labelled_chain, kept_labels, crossings.total, chain_region_count
    )
    presence = _presence_of_chain(labelled_chain, chain_region_count, rule)
    has_chain_label = kept_labels[:, :chain_region_count].any(axis=1)
    is_in_chain = (states >= 1) & (states <= chain_region_count)
    return Decision(
        spans=tuple(spans),
        smoothed_probabilities=labelled_chain.smoothed_probabilities,
        decided_labels=kept_labels,
        slice_confidence=slice_confidence,
        volume_confidence=float(slice_confidence.mean()),
        flipped_gain=flipped_gain,
        presence=presence.discount(order_trust),
        boundaries=find_boundaries(
            states,
            has_chain_label == is_in_chain,
            crossings,
            z_mm,
            chain_model.edges_mm,
            chain=vocabulary.chain,
            stretch=rule.interval_stretch,
        ),
        set_probability=_calibrate_set_probability(set_probability, spans, rule),
        is_flipped=flipped_gain > rule.flipped_gain,
        misfit=path_misfit,
        roughness=volume_roughness,
        observation_count=_total_observation_count(chain_model.edges_mm),
    )


def _presence_of_chain(
    labelled_chain: LabelledChain, chain_region_count: int, rule: Rule
) -> Presence:
    """How probable each region is at all and in each slice, before doubts of the order."""
    return compute_presence(
        labelled_chain.smoothed_probabilities,
        labelled_chain.path_states,
        chain_region_count,
        labelled_chain.chain_model.edges_mm,
        rule,
    )


def _upright_probability(flipped_gain: float) -> float:
    """That the body is not upside down, which is improbable beforehand."""
    return float(expit(np.log(1.0 / UPSIDE_DOWN_PRIOR - 1.0) - flipped_gain))


def _confidence_of_labels(
    class_certainty: Floats, kept_labels: NDArray[np.bool_], chain_region_count: int
) -> Floats:
    """(s,) the certainty of the class of each slice's labels."""
    classes = class_of_labels(kept_labels, chain_region_count)
    return np.take_along_axis(class_certainty, classes[:, None], axis=1)[:, 0]


def _measure_flipped_gain(
    labelled_chain: LabelledChain,
    z_mm: Floats,
    vocabulary: Vocabulary,
    rule: Rule,
    turned_probabilities: Floats | None,
) -> float:
    """How much more log-evidence the volume has from head to feet than as it is;
    `turned_probabilities` as in `decide_volume`."""
    chain_model = labelled_chain.chain_model
    reversed_model = chain_model.reversed_model
    if turned_probabilities is not None:
        edges_from_head_mm = -chain_model.edges_mm[::-1]
        reversed_model = decide_labels(
            turned_probabilities, -z_mm[::-1], vocabulary, rule, edges_from_head_mm
        ).chain_model
    given_log_weight = chain_model.ladder.log_weight(good_path=labelled_chain.path_states)
    return reversed_model.ladder.log_weight() - given_log_weight


def _measure_roughness(probabilities: Floats, labelled_chain: LabelledChain, rule: Rule) -> float:
    """How much neighbouring slices differ beside any two, by their sharpened probabilities (s, k);
    without the slices that are blank on their rung of the best path."""
    sharpened_probabilities = temper(probabilities, rule.temperature / SHARPENING_FACTOR)
    is_blank = _is_blank_on_rung(labelled_chain.path_states, labelled_chain.chain_model.is_blank)
    return measure_roughness(sharpened_probabilities[~is_blank])


def _calibrate_certainty(
    labelled_chain: LabelledChain,
    chain_posterior: Floats,
    path_trust: float,
    chain_region_count: int,
    rule: Rule,
) -> Floats:
    """(s, k) probability that a slice shows each class, calibrated by the rule's beta.

    chain_posterior  (s, n + 1) probability of each rung, and of none
    path_trust       factor from 0 to 1 on the regions' probabilities
    """
    smoothed_probabilities = labelled_chain.smoothed_probabilities
    class_certainty = _class_certainty(
        labelled_chain.decided_labels,
        smoothed_probabilities[:, chain_region_count:-1],
        chain_posterior,
        chain_region_count,
    )
    # before the calibration, which was fitted to values after trust
    class_certainty[:, :-1] *= path_trust
    probabilities_from_slices = slice_probabilities(
        smoothed_probabilities, labelled_chain.decided_labels, chain_region_count
    )
    return calibrate_by_beta(class_certainty, probabilities_from_slices, rule.beta)


def decide_labels(
    probabilities: Floats,
    z_mm: Floats,
    vocabulary: Vocabulary,
    rule: Rule,
    edges_mm: Floats | None = None,
) -> LabelledChain:
    """The labels of a volume.  Each side region (spine) gets the contiguous stretch where its
    smoothed share most exceeds its bar; the shares of side regions are removed, the rest
    renormalised, and the chain decoded by the rule's method.  Blank slices within a region are
    none."""
    chain_region_count = len(vocabulary.chain)
    edges_mm = slice_edges(z_mm, edges_mm)
    smoothed_probabilities = smooth_along_body(
        temper(probabilities, rule.temperature), z_mm, rule.sigma_mm
    )
    excess_share = smoothed_probabilities[:, chain_region_count:-1] - _side_region_bars(
        smoothed_probabilities, chain_region_count, rule.side_threshold
    )
    stretch_by_side_region = [
        best_stretch(region_excess * np.diff(edges_mm)) for region_excess in excess_share.T
    ]
    chain_model = ChainModel.of(smoothed_probabilities, chain_region_count, edges_mm, rule)
    states = chain_model.find_best_path()
    decided_labels = np.zeros(smoothed_probabilities.shape, dtype=bool)
    decided_labels[:, :chain_region_count] = states[:, None] == np.arange(1, chain_region_count + 1)
    _place_side_regions(
        decided_labels, smoothed_probabilities, stretch_by_side_region, chain_region_count, rule
    )
    # a region whose slices are all blank is a guess, and kept
    is_visible = (decided_labels[:, :chain_region_count] & ~chain_model.is_blank).any(axis=0)
    decided_labels[:, :chain_region_count] &= ~(chain_model.is_blank & is_visible)
    decided_labels[:, -1] = ~decided_labels[:, :-1].any(axis=1)
    return LabelledChain(smoothed_probabilities, decided_labels, states, chain_model)


def _side_region_bars(
    smoothed_probabilities: Floats, chain_region_count: int, threshold: float
) -> Floats:
    """(s, p) bars of the side regions' shares: the threshold, or the share of the most probable
    other class if that is lower.  A spine of unclear level may be the most probable class with a
    share below one half, as the rungs share the rest."""
    bar_by_slice = np.full_like(smoothed_probabilities[:, chain_region_count:-1], threshold)
    for side_region in range(bar_by_slice.shape[1]):
        other_share = np.delete(
            smoothed_probabilities, chain_region_count + side_region, axis=1
        ).max(axis=1)
        bar_by_slice[:, side_region] = np.minimum(bar_by_slice[:, side_region], other_share)
    return bar_by_slice


def _total_observation_count(edges_mm: Floats) -> float:
    """Independent observations of a volume; rounded, as heights are sums of floats."""
    return float(np.round(count_observations(edges_mm).sum(), 6))


def _order_trust(misfit: float, volume_roughness: float, rule: Rule) -> float:
    """Factor from 0 to 1 on the regions' probabilities: 1, or less if misfit or roughness is above
    usual, as in shuffled slices."""
    misfit_trust = min(1.0, (rule.usual_misfit / max(misfit, 1e-12)) ** 2)
    smoothness = max(0.0, 1.0 - volume_roughness)
    return float(misfit_trust * min(1.0, smoothness / (1.0 - rule.usual_roughness)))


def _drop_guesses(
    decided_labels: NDArray[np.bool_], class_certainty: Floats, chain_region_count: int
) -> NDArray[np.bool_]:
    """(s, k) the decided labels without chain regions that lie within side regions and have a mean
    certainty below EVEN_PROBABILITY: a spine of unclear level is a spine, with no less confidence.
    Nothing is removed if the regions left would not be neighbours in the order."""
    kept_labels = decided_labels.copy()
    in_side_region = np.asarray(decided_labels[:, chain_region_count:-1].any(axis=1))
    for rung in range(chain_region_count):
        is_rung = decided_labels[:, rung]
        if (
            is_rung.any()
            and in_side_region[is_rung].all()
            and class_certainty[is_rung, rung].mean() < EVEN_PROBABILITY
        ):
            kept_labels[is_rung, rung] = False
    kept_rungs = np.flatnonzero(kept_labels[:, :chain_region_count].any(axis=0))
    are_neighbours = (np.diff(kept_rungs) == 1).all()
    if not are_neighbours:
        return decided_labels
    return kept_labels


def _set_probability(
    labelled_chain: LabelledChain,
    kept_labels: NDArray[np.bool_],
    total_weight: float,
    chain_region_count: int,
) -> float:
    """Probability of the decoded chain regions, over all paths, times that of each side region's
    presence or absence as decided.

    If all regions beside a side region were left out, the first factor is 1, as nothing is
    predicted for the chain; if only some were, it is still that of all decoded regions.
    """
    path_rungs = (
        labelled_chain.path_states[
            (labelled_chain.path_states >= 1) & (labelled_chain.path_states <= chain_region_count)
        ]
        - 1
    )
    confidence_model = labelled_chain.chain_model.confidence_model
    if len(path_rungs):
        set_weight = confidence_model.ladder.log_weight(
            (int(path_rungs[0]), int(path_rungs[-1])), labelled_chain.path_states
        )
    else:
        set_weight = float(confidence_model.none_evidence.sum())
    is_side_region_alone = (
        not kept_labels[:, :chain_region_count].any()
        and kept_labels[:, chain_region_count:-1].any()
    )
    probability = 1.0
    if not is_side_region_alone:
        probability = np.exp(min(0.0, set_weight - total_weight))
    side_probabilities = _side_region_probability(
        labelled_chain.decided_labels,
        labelled_chain.smoothed_probabilities[:, chain_region_count:-1],
        chain_region_count,
    )
    for side_region, slice_shares in enumerate(side_probabilities.T):
        is_decided = labelled_chain.decided_labels[:, chain_region_count + side_region]
        if is_decided.any():
            probability *= slice_shares[is_decided].mean()
        else:
            probability *= 1.0 - slice_shares.max(initial=0.0)
    return float(probability)


def _calibrate_set_probability(set_probability: float, spans: Sequence[Span], rule: Rule) -> float:
    """The probability of the set as calibrated on validation volumes; unchanged if nothing is
    shown."""
    if not spans:
        return set_probability
    return calibrate_by_line(set_probability, min(span.confidence for span in spans), rule.line)


def _side_region_probability(
    decided_labels: NDArray[np.bool_], side_shares: Floats, chain_region_count: int
) -> Floats:
    """(s, p) the side regions' shares as probabilities: doubled beside another label, tripled
    beside two, because training splits the target of such a slice evenly; at most 1."""
    has_side_region = decided_labels[:, chain_region_count:-1]
    has_label = np.column_stack(
        [decided_labels[:, :chain_region_count].any(axis=1), has_side_region]
    )
    label_count = has_label.sum(axis=1, keepdims=True) + ~has_side_region
    return np.asarray(np.minimum(side_shares * label_count, 1.0))


def slice_probabilities(
    smoothed_probabilities: Floats, decided_labels: NDArray[np.bool_], chain_region_count: int
) -> Floats:
    """(s, k) probabilities from each slice alone: side regions as in `_side_region_probability`,
    other classes renormalised without the side regions' share."""
    chain_share = np.maximum(
        smoothed_probabilities[:, :chain_region_count].sum(axis=1) + smoothed_probabilities[:, -1],
        LEAST_PROBABILITY,
    )[:, None]
    return np.column_stack(
        [
            smoothed_probabilities[:, :chain_region_count] / chain_share,
            _side_region_probability(
                decided_labels, smoothed_probabilities[:, chain_region_count:-1], chain_region_count
            ),
            smoothed_probabilities[:, -1:] / chain_share,
        ]
    )


def class_of_labels(
    decided_labels: NDArray[np.bool_], chain_region_count: int
) -> NDArray[np.int64]:
    """(s,) a single class per slice from its labels (s, k): its side region, else its rung of the
    chain, else none."""
    class_count = decided_labels.shape[1]
    class_order = np.concatenate(
        [
            np.arange(chain_region_count, class_count - 1),
            np.arange(chain_region_count),
            [class_count - 1],
        ]
    )
    return np.asarray(class_order[decided_labels[:, class_order].argmax(axis=1)], dtype=np.int64)


def _place_side_regions(
    decided_labels: NDArray[np.bool_],
    smoothed_probabilities: Floats,
    stretch_by_side_region: list[tuple[int, int, float]],
    chain_region_count: int,
    rule: Rule,
) -> None:
    """Write each side region's stretch to `decided_labels`, and remove from it chain regions with a
    mean share below `chain_share_in_side` there.

    Nothing is removed where the rest of the chain would not be contiguous.
    """
    for side_region, (first_row, last_row, _) in enumerate(stretch_by_side_region):
        if last_row < first_row:
            continue
        stretch_rows = slice(first_row, last_row + 1)
        decided_labels[stretch_rows, chain_region_count + side_region] = True
        chain_labels = decided_labels[:, :chain_region_count].copy()
        for rung in range(chain_region_count):
            rung_rows = np.flatnonzero(decided_labels[stretch_rows, rung]) + first_row
            if (
                len(rung_rows)
                and smoothed_probabilities[rung_rows, rung].mean() < rule.chain_share_in_side
            ):
                chain_labels[rung_rows, rung] = False
        if (np.diff(np.flatnonzero(chain_labels.any(axis=1))) == 1).all():
            decided_labels[:, :chain_region_count] = chain_labels


def _is_blank_on_rung(states: NDArray[np.int64], is_blank: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(s,) whether each slice is blank on its own rung."""
    rung_of_slice = np.clip(states - 1, 0, is_blank.shape[1] - 1)
    return np.asarray(
        is_blank[np.arange(len(states)), rung_of_slice] & (states == rung_of_slice + 1)
    )


def _visible_posterior(chain_posterior: Floats, is_blank: NDArray[np.bool_]) -> Floats:
    """Probability (s, n + 1) that a slice shows each rung, and none; the probability of a rung on
    which it is blank goes to none."""
    rung_probability = chain_posterior[:, :-1] * ~is_blank
    none_probability = chain_posterior[:, -1] + (chain_posterior[:, :-1] - rung_probability).sum(
        axis=1
    )
    return np.column_stack([rung_probability, none_probability])


def _class_certainty(
    decided_labels: NDArray[np.bool_],
    side_shares: Floats,
    chain_posterior: Floats,
    chain_region_count: int,
) -> Floats:
    """(s, k) probability that a slice shows each class: the chain's posterior, and the side
    regions' shares."""
    return np.column_stack(
        [
            chain_posterior[:, :chain_region_count],
            _side_region_probability(decided_labels, side_shares, chain_region_count),
            chain_posterior[:, chain_region_count],
        ]
    )


def _spans_of_labels(
    decided_labels: NDArray[np.bool_],
    class_certainty: Floats,
    edges_mm: Floats,
    vocabulary: Vocabulary,
) -> list[Span]:
    """The spans of all regions, class after class and from feet to head: each run of neighbouring
    slices that `decided_labels` (s, k) give a region."""
    spans = []
    for class_index, region in enumerate(vocabulary.classes[:-1]):
        decided_rows = np.flatnonzero(decided_labels[:, class_index])
        for span_rows in np.split(decided_rows, np.flatnonzero(np.diff(decided_rows) > 1) + 1):
            if not len(span_rows):
                continue
            first_row = int(span_rows[0])
            last_row = int(span_rows[-1])
            crossed_levels: tuple[str, ...] = ()
            if region in vocabulary.side_regions:
                crossed_levels = _crossed_levels(
                    decided_labels[span_rows], np.diff(edges_mm)[span_rows], vocabulary
                )
            span = Span(
                region=region,
                first=first_row,
                last=last_row,
                from_mm=float(edges_mm[first_row]),
                to_mm=float(edges_mm[last_row + 1]),
                confidence=float(class_certainty[span_rows, class_index].mean()),
                levels=crossed_levels,
            )
            spans.append(span)
    return spans


def _crossed_levels(
    decided_labels: NDArray[np.bool_], height_mm: Floats, vocabulary: Vocabulary
) -> tuple[str, ...]:
    """The levels of a side region's stretch, by the chain regions decided along it, feet to head;
    empty if there are none."""
    mm_by_level = dict.fromkeys(filter(None, vocabulary.levels), 0.0)
    for class_index, level in enumerate(vocabulary.levels):
        if level:
            mm_by_level[level] += float(height_mm[decided_labels[:, class_index]].sum())
    least_mm = min(LEVEL_MM, LEVEL_SHARE * height_mm.sum())
    return tuple(
        level for level, level_mm in mm_by_level.items() if level_mm >= least_mm and level_mm > 0
    )


def cut_ends(z_mm: Floats) -> tuple[Floats, Floats]:
    """Lower and upper end (s,) of every cut: half-way to its neighbours; the two outermost cuts are
    symmetric, and a single one is 1 mm."""
    if len(z_mm) == 1:
        return z_mm - 0.5, z_mm + 0.5
    half_mm = np.diff(z_mm) / 2
    lower_half_mm = np.concatenate([half_mm[:1], half_mm])
    upper_half_mm = np.concatenate([half_mm, half_mm[-1:]])
    return z_mm - lower_half_mm, z_mm + upper_half_mm


def slice_edges(z_mm: Floats, edges_mm: Floats | None = None) -> Floats:
    """(s + 1,) where the cuts begin and end, feet to head: `edges_mm` if given, else by
    `cut_ends`."""
    if edges_mm is not None:
        return edges_mm
    lower_mm, upper_mm = cut_ends(z_mm)
    return np.append(lower_mm, upper_mm[-1])
