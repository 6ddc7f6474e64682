"""How a search ended: how many trials are finished, and why it stopped."""

from __future__ import annotations

from fovnet.search.explain.explanation import Explanation
from fovnet.words import several


def ending_text(explanation: Explanation) -> str:
    """How many trials are finished, and why the search stopped."""
    sentences = [
        f"Method {explanation.method}, seed {explanation.seed}, "
        f"{several(explanation.workers, 'worker')}; {explanation.feasible:,} of "
        f"{explanation.rows:,} configurations fit. {_share_done_sentence(explanation)}",
        *explanation.notes,
    ]
    if explanation.done >= explanation.asked and not explanation.ended:
        sentences.append("It stopped because all requested trials are done.")
    elif not explanation.ended:
        sentences.append("It is running, or was interrupted: the same search command resumes it.")
    if explanation.more_than_asked:
        sentences.append(
            "It had continued before, with more trials requested; what follows covers all of them."
        )
    if explanation.begun >= explanation.feasible:
        sentences.append(_space_exhausted_sentence(explanation))
    if explanation.missing:
        verb = "is" if explanation.missing == 1 else "are"
        sentences.append(
            f"{several(explanation.missing, 'slot')} before the last one {verb} missing."
        )
    return " ".join(sentences)


def _share_done_sentence(explanation: Explanation) -> str:
    """How much of what was asked for is finished, in trainings or in epochs."""
    if explanation.spending is None:
        verb = "is" if explanation.finished == 1 else "are"
        return (
            f"Of {several(explanation.asked, 'trial')} asked for, {explanation.finished:,} {verb} "
            f"finished, {explanation.scored:,} with a score."
        )
    return (
        f"Of the epochs of {several(explanation.asked, 'full training')} asked for, those of "
        f"{explanation.done:,} are spent: in {several(explanation.finished, 'slot')}, "
        f"{explanation.scored:,} with a score, on {several(explanation.begun, 'configuration')}."
    )


def _space_exhausted_sentence(explanation: Explanation) -> str:
    """What it means that every configuration was tried."""
    if explanation.spending:
        fate_of_configurations = (
            "begun: the method chose their order, and how long each was trained"
        )
    else:
        fate_of_configurations = "trained: the method chose their order, and nothing else"
    return f"Every configuration that fits was {fate_of_configurations}."
