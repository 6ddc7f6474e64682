"""A direct search explained: how it came to its answer, and whether a neighbour of it may be
better."""

from __future__ import annotations

from fovnet.search.explain.descent import Certificate, Descent
from fovnet.words import several

STEP_PHRASES = {
    "start": "the start",
    "spread": "being spread over the space",
    "poll": "polls around the best",
    "search": "global search",
    "extended poll": "polls around a good one of another category",
    "speculative": "going as far again",
    "restart": "polls around others, after the smallest poll was exhausted",
}


def direct_search_text(descent: Descent) -> str:
    """How a direct search came to its answer, step by step, and whether a neighbour of it may be
    better."""
    sentences = []
    if descent.steps:
        counts_by_step = ", ".join(
            f"{step_count} by {STEP_PHRASES[step]}" for step, step_count in descent.steps
        )
        sentences.append(f"How it chose its configurations: {counts_by_step}.")
    if descent.certificate is None:
        sentences.append("Without a score there is no centre to poll around.")
    else:
        moves_phrase = several(descent.moves, "time")
        sentences += [
            f"The centre moved {moves_phrase}, and is now slot {descent.certificate.slot}.",
            _neighbours_tried_sentence(descent.certificate),
        ]
    return " ".join(sentences)


def _neighbours_tried_sentence(certificate: Certificate) -> str:
    """Whether a neighbour of the centre may be better."""
    if certificate.listed:
        neighbours_phrase = "the listed rows nearest to it"
    else:
        neighbours_phrase = "its neighbours, one level or one category away"
    unfit_clause = f" ({certificate.beyond} more fit no limit)" if certificate.beyond else ""
    if certificate.tried == certificate.neighbours:
        return f"All {certificate.neighbours} of {neighbours_phrase}, were tried{unfit_clause}: none is better."
    return (
        f"Of {neighbours_phrase}, {certificate.tried} of {certificate.neighbours} were tried{unfit_clause}: one "
        "of the others may be better."
    )
