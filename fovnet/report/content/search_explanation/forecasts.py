"""Whether the forecasts of a search held."""

from __future__ import annotations

from fovnet.report.content.wording import percent, percent_range
from fovnet.search.explain.explanation import Explanation, Share
from fovnet.words import several

BAND_COVERAGE = 0.95
"""Nominal coverage of the forecast band."""
REPORTED_TAIL_PROBABILITY = 0.025
"""The tail probability below which a deviation from it is reported."""

NETWORK_METHODS = ("ranking", "ensemble-ei")
"""Methods whose model is not a Gaussian process."""


def forecasts_text(explanation: Explanation) -> str:
    """Whether scores fell inside their forecast bands, and as many trials trained as expected."""
    forecasts = explanation.forecasts
    if not forecasts.predictions:
        return _why_no_forecast(explanation)
    sentences = []
    scores_inside = forecasts.inside_share
    if scores_inside.total:
        share_inside = percent(scores_inside.count / scores_inside.total)
        interval_text = percent_range(scores_inside.low, scores_inside.high)
        sentences.append(
            f"{scores_inside.count}/{scores_inside.total} scores, {share_inside} "
            f"({interval_text}), fell inside the 95 % band forecast before their training"
            f"{_coverage_verdict(scores_inside)}."
        )
    if forecasts.below_count or forecasts.above_count:
        sentences.append(
            f"{forecasts.below_count} lay below their band, {forecasts.above_count} above."
        )
    if forecasts.trained_share.total:
        trials_phrase = several(forecasts.trained_share.total, "trial")
        sentences.append(
            f"Of {trials_phrase} with a forecast {forecasts.expected_trainings:.1f} were expected "
            f"to train, {forecasts.trained_share.count} did."
        )
    return " ".join(sentences)


def _why_no_forecast(explanation: Explanation) -> str:
    """Why no score was forecast."""
    is_gaussian_process = explanation.method.startswith("gp-")
    if not is_gaussian_process and explanation.method not in NETWORK_METHODS:
        return f"No score was forecast: {explanation.method} asks no model of the scores."
    if explanation.spending:
        sentence = "No score was forecast: the model saw trainings of different lengths"
        if is_gaussian_process:
            sentence += (
                ", and predicts their final scores only with search.fidelity: axis, after the "
                "first slots"
            )
        return f"{sentence}."
    initial_slots = several(explanation.initial_slots, "slot")
    return (
        f"No score was forecast: the model is used after the first {initial_slots}, once a trial "
        "has a score."
    )


def _coverage_verdict(scores_inside: Share) -> str:
    """A clause on whether the count inside the band is improbably small or large for a coverage of
    BAND_COVERAGE: a one-sided binomial tail below REPORTED_TAIL_PROBABILITY."""
    from scipy.stats import binom

    count = scores_inside.count
    total = scores_inside.total
    if binom.cdf(count, total, BAND_COVERAGE) < REPORTED_TAIL_PROBABILITY:
        return ": too few, the model was overconfident"
    if binom.sf(count - 1, total, BAND_COVERAGE) < REPORTED_TAIL_PROBABILITY:
        return ": more than stated, the bands could be narrower"
    return ", which agrees with it"
