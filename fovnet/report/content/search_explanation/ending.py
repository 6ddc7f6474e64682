"""How a search ended: how many trials are finished, and why it stopped."""

from __future__ import annotations

from fovnet.search.explain.explanation import Explanation
from fovnet.words import is_or_are, several


def ending_text(explanation: Explanation) -> str:
    """How many trials are finished, and why the search stopped."""
    sentences = [
        f"Method {explanation.method}, seed {explanation.seed}, "
        f"{several(explanation.workers, 'worker')}; {explanation.space_in_words}. "
        f"{_share_done_sentence(explanation)}",
        *explanation.notes,
    ]
    if (
        explanation.full_trainings_done >= explanation.requested_trials
        and not explanation.has_ended_early
    ):
        sentences.append("It stopped because all requested trials are done.")
    elif not explanation.has_ended_early:
        sentences.append("It is running, or was interrupted: the same search command resumes it.")
    if explanation.is_beyond_request:
        sentences.append(
            "It had continued before, with more trials requested; what follows covers all of them."
        )
    feasible_count = explanation.feasible_count
    if feasible_count is not None and explanation.begun_count >= feasible_count:
        sentences.append(_space_exhausted_sentence(explanation))
    if explanation.missing_count:
        slots_phrase = several(explanation.missing_count, "slot")
        sentences.append(
            f"{slots_phrase} before the last one {is_or_are(explanation.missing_count)} missing."
        )
    return " ".join(sentences)


def _share_done_sentence(explanation: Explanation) -> str:
    """How much of what was asked for is finished, in trainings or in epochs."""
    if explanation.spending is None:
        return (
            f"Of {several(explanation.requested_trials, 'trial')} asked for, "
            f"{explanation.finished_count:,} {is_or_are(explanation.finished_count)} finished, "
            f"{explanation.scored_count:,} with a score."
        )
    return (
        f"Of the epochs of {several(explanation.requested_trials, 'full training')} asked for, "
        f"those of {explanation.full_trainings_done:,} are spent: in "
        f"{several(explanation.finished_count, 'slot')}, {explanation.scored_count:,} with a "
        f"score, on {several(explanation.begun_count, 'configuration')}."
    )


def _space_exhausted_sentence(explanation: Explanation) -> str:
    """What it means that every configuration was tried."""
    if explanation.spending:
        return (
            "Every configuration that fits was begun: the method chose their order, and how long "
            "each was trained."
        )
    return (
        "Every configuration that fits was trained: the method chose their order, and nothing else."
    )
