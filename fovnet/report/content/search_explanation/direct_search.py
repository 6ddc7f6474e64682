"""A direct search explained: how it came to its answer, and whether a neighbour of it may be
better."""

from __future__ import annotations

from math import isfinite

from fovnet.report.content.wording import levels_text
from fovnet.search.explain.descent import Certificate, Descent
from fovnet.search.explain.tree_descent import TreeDescent
from fovnet.words import several

PHRASE_BY_STEP = {
    "start": "the start",
    "spread": "being spread over the space",
    "poll": "polls around the best",
    "search": "global search",
    "extended poll": "polls around a good one of another category",
    "speculative": "going as far again",
    "restart": "polls around others, after the smallest poll was exhausted",
}


def direct_search_text(descent: Descent | TreeDescent | None) -> str:
    """How a direct search came to its answer, step by step, and whether a neighbour of it may be
    better; "" for another search."""
    if descent is None:
        return ""
    sentences = []
    if descent.step_counts:
        step_counts = ", ".join(
            f"{step_count} by {PHRASE_BY_STEP[step_name]}"
            for step_name, step_count in descent.step_counts
        )
        sentences.append(f"How it chose its configurations: {step_counts}.")
    if isinstance(descent, TreeDescent):
        return " ".join([*sentences, _structures_text(descent)])
    if descent.certificate is None:
        sentences.append("Without a score there is no centre to poll around.")
    else:
        moves_phrase = several(descent.move_count, "time")
        sentences += [
            f"The centre moved {moves_phrase}, and is now slot {descent.certificate.slot}.",
            _neighbours_sentence(descent.certificate),
        ]
    return " ".join(sentences)


def _structures_text(descent: TreeDescent) -> str:
    """How many structures were tried, and how far the best one has come."""
    scored_count = sum(isfinite(course.lowest_score) for course in descent.structures)
    if not scored_count:
        return "Without a score there is no structure to poll in."
    best = descent.structures[0]
    poll_clause = "its smallest poll is exhausted"
    if best.frame_reach is not None:
        poll_clause = f"its poll reaches {best.frame_reach:g} of a range"
    return (
        f"They have {several(len(descent.structures), 'structure')}, {scored_count} of them with a score. "
        f"The best is {levels_text(best.levels)}, with {several(len(best.numbers), 'configuration')}: "
        f"{poll_clause}."
    )


def _neighbours_sentence(certificate: Certificate) -> str:
    """How many neighbours of the centre were tried, and whether one of the others may be better."""
    neighbours_phrase = "its neighbours, one level or one category away"
    if certificate.is_of_list:
        neighbours_phrase = "the listed rows nearest to it"
    tried_phrase = "were tried"
    if certificate.infeasible_count:
        tried_phrase += f" ({certificate.infeasible_count} more fit no limit)"
    if certificate.tried_count == certificate.neighbour_count:
        return f"All {certificate.neighbour_count} of {neighbours_phrase}, {tried_phrase}: none is better."
    return (
        f"Of {neighbours_phrase}, {certificate.tried_count} of {certificate.neighbour_count} "
        f"{tried_phrase}: one of the others may be better."
    )
