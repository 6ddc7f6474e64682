"""What earlier searches taught a search, and whether it was right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fovnet.report.content.cells import ReportTable
from fovnet.report.content.wording import configuration_text, percent, score_text
from fovnet.search.explain.prior_review import PriorReview
from fovnet.words import several


def lessons_text(lessons: PriorReview | None) -> str:
    """What earlier searches taught, whether it was right, and in which slots the Gaussian process
    chose instead; "" for a search that was taught nothing."""
    if lessons is None:
        return ""
    source_names = ", ".join(
        f"{search_name} ({several(scored_count, 'configuration')} with a score)"
        for search_name, scored_count in lessons.sources
    )
    searches_phrase = several(len(lessons.sources), "earlier search", "earlier searches")
    sentences = [
        "It began with an order of all configurations, the most promising first, learned from "
        f"{searches_phrase}: {source_names}."
    ]
    if lessons.place_of_best is not None:
        sentences.append(
            f"The best configuration found is at place {lessons.place_of_best:,} of "
            f"{lessons.feasible_count:,} in it."
        )
    if lessons.kendall_tau is not None:
        # Kendall's tau: the share of pairs in the right order less that in the wrong one
        right_share = percent(0.5 + 0.5 * lessons.kendall_tau)
        sentences.append(
            f"Of two configurations with a score it ranked the better one first {right_share} of "
            "the time; chance would give half."
        )
    if lessons.verdicts:
        sentences += _verdict_sentences(lessons)
    else:
        sentences.append(
            "No slot had four different scores before it, the minimum for a comparison with a "
            "Gaussian process."
        )
    return " ".join(sentences)


def _verdict_sentences(lessons: PriorReview) -> Iterator[str]:
    """Sentences on who was the better judge of the scores known before each slot, and who chose."""
    yield (
        f"Before each of {several(len(lessons.verdicts), 'slot')}, with four or more known scores, "
        "it was compared with a Gaussian process that predicts each score from the others: which "
        "of them orders fewer pairs of scores wrongly?"
    )
    yield _slots_of_process_sentence(lessons)
    last_verdict = lessons.verdicts[-1]
    yield (
        f"Before slot {last_verdict.slot}, the last, the learned order had "
        f"{last_verdict.prior_wrong_pairs:g} of {last_verdict.pair_count:,} pairs wrong, the "
        f"process {last_verdict.process_wrong_pairs:g}."
    )


def _slots_of_process_sentence(lessons: PriorReview) -> str:
    """In which slots the Gaussian process ordered the scores better, and whether it was used
    there."""
    if lessons.is_guarded:
        process_slots = [verdict.slot for verdict in lessons.verdicts if verdict.process_chose]
    else:
        process_slots = [
            verdict.slot
            for verdict in lessons.verdicts
            if verdict.prior_wrong_pairs > verdict.process_wrong_pairs
        ]
    if not process_slots:
        return "The learned order was never worse, and was always used."
    slots_clause = (
        f"In {several(len(process_slots), 'slot')} ({_ranges_text(process_slots)}) the process did"
    )
    if lessons.is_guarded:
        return f"{slots_clause}, and was used instead."
    return f"{slots_clause}, but was not used: search.ranking.guard is off."


def _ranges_text(slots: Sequence[int]) -> str:
    """ "4–9, 12": ascending slots, runs of them by their ends."""
    runs: list[list[int]] = []
    for slot in slots:
        if runs and slot == runs[-1][-1] + 1:
            runs[-1].append(slot)
        else:
            runs.append([slot])
    return ", ".join("–".join(map(str, dict.fromkeys((run[0], run[-1])))) for run in runs)


def lessons_table(lessons: PriorReview | None) -> ReportTable:
    """The configurations that the learned order puts first, and the scores found there; no rows for
    a search that was taught nothing."""
    rows = []
    if lessons:
        rows = [
            (str(belief.place), configuration_text(belief.configuration), score_text(belief.score))
            for belief in lessons.first_configurations
        ]
    return ReportTable(("place", "configuration", "score found"), rows, name="taught")
