"""How a search converged: when its best score came, what trainings took, what more trials may
gain."""

from __future__ import annotations

from collections.abc import Iterator

from fovnet.report.content.wording import DASH, duration, score_text
from fovnet.search.explain.explanation import Explanation, Step
from fovnet.search.explain.importance import Importance
from fovnet.search.explain.tree_importance import TreeImportance
from fovnet.words import several


def convergence_text(explanation: Explanation) -> str:
    """When the best score was reached, what training took, and what further trials may gain."""
    best_step = next(
        (step for step in explanation.steps if step.slot == explanation.best_slot), None
    )
    if best_step is None:
        return "No trial has a score: there is no convergence."
    sentences = [
        _best_score_sentence(explanation, best_step),
        _later_slots_sentence(explanation, best_step),
        _total_time_sentence(explanation),
        *_regret_sentences(explanation),
        *_remaining_gain_sentences(explanation),
        *_pace_sentence(explanation),
        *_accuracy_of_seconds_sentences(explanation),
    ]
    return " ".join(sentences)


def slot_word(explanation: Explanation) -> str:
    """ "trial" where each slot is a whole one, else "slot"."""
    if explanation.spending:
        return "slot"
    return "trial"


def _best_score_sentence(explanation: Explanation, best_step: Step) -> str:
    """When the best score came, and the best of those spread over the space before."""
    return (
        f"The best score, {score_text(best_step.score)}, came in slot {best_step.slot}, after "
        f"{duration(best_step.seconds_spent)} of training in all"
        f"{_initial_scores_clause(explanation, best_step)}."
    )


def _initial_scores_clause(explanation: Explanation, best_step: Step) -> str:
    """The best of the first scores; "" where a method chose these too, or none came before the
    best."""
    initial_scores = [
        step.score
        for step in explanation.steps
        if step.slot < explanation.initial_slots and step.score is not None
    ]
    are_chosen_by_method = explanation.spending is not None or explanation.prior_review is not None
    if not initial_scores or best_step.slot < explanation.initial_slots or are_chosen_by_method:
        return ""
    return (
        f"; the {several(len(initial_scores), 'score')} of the slots spread over the space before "
        f"came to {score_text(min(initial_scores))} at best"
    )


def _later_slots_sentence(explanation: Explanation, best_step: Step) -> str:
    """How many slots after the best one found nothing better."""
    word_for_slot = slot_word(explanation)
    later_slot_count = len(explanation.steps) - explanation.steps.index(best_step) - 1
    if not later_slot_count:
        return f"No {word_for_slot} came after it."
    return f"{several(later_slot_count, word_for_slot)} after it found nothing better."


def _total_time_sentence(explanation: Explanation) -> str:
    """What all trainings took, and what was predicted of them."""
    last_step = explanation.steps[-1]
    return (
        f"All trainings together took {duration(last_step.seconds_spent)}, predicted "
        f"{duration(last_step.predicted_seconds_spent)}."
    )


def _regret_sentences(explanation: Explanation) -> Iterator[str]:
    """The expected regret before the first slot that has one, and before the last."""
    steps_with_regret = [step for step in explanation.steps if step.expected_regret is not None]
    if not steps_with_regret:
        return
    first_step = steps_with_regret[0]
    last_step = steps_with_regret[-1]
    sentence = (
        f"The expected regret was {_regret_text(first_step.expected_regret)} before slot "
        f"{first_step.slot}"
    )
    if len(steps_with_regret) > 1:
        sentence += f", and {_regret_text(last_step.expected_regret)} before slot {last_step.slot}"
    yield f"{sentence}."


def _remaining_gain_sentences(explanation: Explanation) -> Iterator[str]:
    """The expected regret at the end, and the draws that random search would need; nothing of
    scores after different epochs, of which it is unknown what is left to gain."""
    importance = explanation.importance
    model = importance or explanation.tree_importance
    if model is None or explanation.spending is not None:
        return
    if model.remaining_regret is None:
        yield "The model knows only ranks: the remaining gain is unknown."
    else:
        opening_phrase = "The expected regret at the end is"
        if any(step.expected_regret is not None for step in explanation.steps):
            opening_phrase = "At the end it is"
        yield (
            f"{opening_phrase} {_regret_text(model.remaining_regret)}: an upper bound of how much "
            f"lower the best {_untried_phrase(model)} is expected to be than the best one tried."
        )
    if importance is None:
        return
    yield (
        f"The model takes {importance.as_good_count:,} of the {explanation.feasible_count:,} "
        "configurations that fit to be as good as the best, up to the difference between two "
        "trainings of one configuration: if so, random trials would reach the first of them after "
        f"{importance.expected_random_draws:,.1f} on average."
    )


def _untried_phrase(model: Importance | TreeImportance) -> str:
    """What the expected regret at the end is over."""
    if isinstance(model, TreeImportance):
        return f"of {several(model.candidate_count, 'untried candidate')}"
    return "untried configuration"


def _pace_sentence(explanation: Explanation) -> Iterator[str]:
    """How many times the predicted seconds a training took: the median, and the quartiles where
    they differ."""
    if not explanation.pace_quartiles:
        return
    lower_quartile, median_ratio, upper_quartile = (
        f"{ratio:.2g}" for ratio in explanation.pace_quartiles
    )
    quartile_clause = ""
    if lower_quartile != upper_quartile:
        quartile_clause = f"; half of them {lower_quartile} to {upper_quartile} times"
    yield f"A training took {median_ratio} times the predicted seconds (median{quartile_clause})."


def _accuracy_of_seconds_sentences(explanation: Explanation) -> Iterator[str]:
    """How many trainings took as long as predicted, and how long the remaining ones will take."""
    if explanation.seconds_accuracy is None:
        return
    within_quarter = explanation.seconds_accuracy.predicted_share
    if explanation.spending:
        trainings_phrase = f"{several(within_quarter.total, 'slot')} that completed"
    else:
        trainings_phrase = f"{several(within_quarter.total, 'training')} that went to the end"
    yield (
        f"Of {trainings_phrase} {within_quarter.count} took within 25 % of the prediction; "
        "corrected by the trials before each, "
        f"{explanation.seconds_accuracy.corrected_share.count}."
    )
    seconds_left = explanation.seconds_accuracy.seconds_left
    if seconds_left:
        yield (
            f"The remaining trials take about {duration(seconds_left)}, if they are like the "
            "finished ones."
        )


def _regret_text(regret: float | None) -> str:
    """The regret with three significant digits; "less than 0.0001" below that."""
    if regret is None:
        return DASH
    if 0 < regret < 1e-4:
        return "less than 0.0001"
    return f"{regret:.3g}"
