"""A search explained, in words and tables: the same sentences on the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from scipy.stats import binom

from fovnet.report.content import wording
from fovnet.report.content.cells import Shown, Table
from fovnet.report.content.wording import duration, minus, percent, score, settings
from fovnet.search.explain.descent import Descent
from fovnet.search.explain.explanation import Explanation, FailureGroup, Share
from fovnet.search.explain.importance import AxisEffect, LevelEffect, Matter, PairEffect
from fovnet.search.explain.spent import Spending
from fovnet.search.explain.taught import Taught
from fovnet.words import join_names, several

STATED, RARE = 0.95, 0.025
"""Nominal coverage of the forecast band; the tail probability below which a deviation from it is reported."""

PAIRS = 5
"""Pairs of axes shown; the JSON has all."""

STOPPED = 20
"""Stopped trainings shown; the JSON has all."""


@dataclass(frozen=True)
class ExplainedView:
    """A search explained: sentences, tables, and the numbers that are drawn."""

    ending: str
    convergence: str
    honesty: str
    mattering: str
    failing: str
    axes: Table
    pairs: Table
    together: Table | None
    together_of: str
    failures: Table
    every_failure: Table
    explanation: Explanation
    spending: str
    rungs: Table
    stopped: Table
    descending: str
    teaching: str
    believed: Table


def explained_view(explanation: Explanation) -> ExplainedView:
    """The section of the page."""
    matter = explanation.matter
    first = next((pair for pair in matter.pairs if _counts(pair.share)), None) if matter else None
    return ExplainedView(
        ending=ending(explanation),
        convergence=convergence(explanation),
        honesty=honesty(explanation),
        mattering=mattering(explanation),
        failing=failing(explanation),
        axes=axes_table(matter),
        pairs=pairs_table(matter),
        together=_together(matter, first) if matter and first else None,
        together_of=_both(first) if first else "",
        failures=failures_table(explanation),
        every_failure=_every_failure(explanation),
        explanation=explanation,
        spending=spending(explanation.spending) if explanation.spending else "",
        rungs=rungs_table(explanation.spending),
        stopped=_stopped_table(explanation.spending),
        descending=descending(explanation.descent) if explanation.descent else "",
        teaching=teaching(explanation.taught) if explanation.taught else "",
        believed=_believed(explanation.taught),
    )


def sentences(explanation: Explanation) -> tuple[str, ...]:
    """A paragraph each: how the search ended, what it was taught, how it converged, the steps of a direct
    search, what was spent on what if not the same on all, whether its forecasts held, what mattered, what
    failed."""
    view = explained_view(explanation)
    told = (
        view.ending,
        view.teaching,
        view.convergence,
        view.descending,
        view.spending,
        view.honesty,
        view.mattering,
        view.failing,
    )
    return tuple(filter(None, told))


def ending(explanation: Explanation) -> str:
    """How many trials are finished, and why the search stopped."""
    one = explanation
    words = [
        f"Method {one.method}, seed {one.seed}, {several(one.workers, 'worker')}; {one.feasible:,} of "
        f"{one.rows:,} configurations fit. {_asked(one)}",
        *one.notes,
    ]
    if one.done >= one.asked and not one.ended:
        words.append("It stopped because all requested trials are done.")
    elif not one.ended:
        words.append("It is running, or was interrupted: the same search command resumes it.")
    if one.more_than_asked:
        words.append(
            "It had continued before, with more trials requested; what follows covers all of them."
        )
    if one.begun >= one.feasible:
        chose = (
            "begun: the method chose their order, and how long each was trained"
            if one.spending
            else ("trained: the method chose their order, and nothing else")
        )
        words.append(f"Every configuration that fits was {chose}.")
    if one.missing:
        words.append(
            f"{several(one.missing, 'slot')} before the last one {'is' if one.missing == 1 else 'are'} "
            "missing."
        )
    return " ".join(words)


def _asked(one: Explanation) -> str:
    """How much of what was asked for is finished, in trainings or in epochs."""
    if one.spending is None:
        are = "is" if one.finished == 1 else "are"
        return (
            f"Of {several(one.asked, 'trial')} asked for, {one.finished:,} {are} finished, {one.scored:,} "
            "with a score."
        )
    return (
        f"Of the epochs of {several(one.asked, 'full training')} asked for, those of {one.done:,} are spent: "
        f"in {several(one.finished, 'slot')}, {one.scored:,} with a score, on "
        f"{several(one.begun, 'configuration')}."
    )


def convergence(explanation: Explanation) -> str:
    """When the best score was reached, what training took, and what further trials may gain."""
    best = next((step for step in explanation.steps if step.slot == explanation.best_slot), None)
    if best is None:
        return "No trial has a score: there is no convergence."
    last = explanation.steps[-1]
    spread = [
        step.score
        for step in explanation.steps
        if step.slot < explanation.initial and step.score is not None
    ]
    began = ""
    if (
        spread
        and best.slot >= explanation.initial
        and explanation.spending is None
        and explanation.taught is None
    ):
        began = (
            f"; the {several(len(spread), 'score')} of the slots spread over the space before came to "
            f"{score(min(spread))} at best"
        )
    words = [
        f"The best score, {score(best.score)}, came in slot {best.slot}, after "
        f"{duration(best.seconds_spent)} of training in all{began}.",
        _since(len(explanation.steps) - explanation.steps.index(best) - 1, _slot(explanation)),
        f"All trainings together took {duration(last.seconds_spent)}, predicted "
        f"{duration(last.predicted_seconds_spent)}.",
        *_regrets(explanation),
    ]
    if explanation.pace:
        lower, middle, upper = explanation.pace
        half = (
            f"; half of them {lower:.2g} to {upper:.2g} times"
            if f"{lower:.2g}" != f"{upper:.2g}"
            else ""
        )
        words.append(f"A training took {middle:.2g} times the predicted seconds (median{half}).")
    if explanation.seconds is not None:
        near, left = explanation.seconds.predicted, explanation.seconds.left
        words.append(
            f"Of {several(near.total, 'slot' if explanation.spending else 'training')} that "
            f"{'completed' if explanation.spending else 'went to the end'} {near.count} took within 25 % of "
            f"the prediction; corrected by the trials before each, {explanation.seconds.refined.count}."
        )
        if left:
            words.append(
                f"The remaining trials take about {duration(left)}, if they are like the finished ones."
            )
    return " ".join(words)


def _regrets(explanation: Explanation) -> Iterator[str]:
    """Sentences on the expected regret, first, last and at the end, and on the draws that random search would
    need."""
    with_regret = [step for step in explanation.steps if step.expected_regret is not None]
    if with_regret:
        first, last = with_regret[0], with_regret[-1]
        later = (
            f", and {_gain(last.expected_regret)} before slot {last.slot}"
            if len(with_regret) > 1
            else ""
        )
        yield f"The expected regret was {_gain(first.expected_regret)} before slot {first.slot}{later}."
    matter = explanation.matter
    # of scores after different epochs, what is left is unknown
    if matter is None or explanation.spending is not None:
        return
    if matter.remaining_regret is None:
        yield "The model knows only ranks: the remaining gain is unknown."
    else:
        meaning = (
            "an upper bound of how much lower the best untried configuration is expected to be than the "
            "best one tried"
        )
        yield (
            f"At the end it is {_gain(matter.remaining_regret)}: {meaning}."
            if with_regret
            else (f"The expected regret at the end is {_gain(matter.remaining_regret)}: {meaning}.")
        )
    yield (
        f"The model takes {matter.as_good:,} of the {explanation.feasible:,} configurations that fit to be "
        "as good as the best, up to the difference between two trainings of one configuration: if so, "
        f"random trials would reach the first of them after {matter.random_draws:,.1f} on average."
    )


def _slot(explanation: Explanation) -> str:
    """What a slot is called: a trial, where each is one."""
    return "slot" if explanation.spending else "trial"


def _since(count: int, slot: str) -> str:
    return (
        f"{several(count, slot)} after it found nothing better."
        if count
        else f"No {slot} came after it."
    )


def descending(course: Descent) -> str:
    """How a direct search came to its answer, step by step, and whether a neighbour of it may be better."""
    counts = ", ".join(f"{count} by {STEPS[step]}" for step, count in course.steps)
    words = [f"How it chose its configurations: {counts}."] if counts else []
    one = course.certificate
    if one is None:
        return " ".join([*words, "Without a score there is no centre to poll around."])
    words.append(f"The centre moved {several(course.moves, 'time')}, and is now slot {one.slot}.")
    near = (
        "the listed rows nearest to it"
        if one.listed
        else "its neighbours, one level or one category away"
    )
    beyond = f" ({one.beyond} more fit no limit)" if one.beyond else ""
    if one.tried == one.neighbours:
        words.append(f"All {one.neighbours} of {near}, were tried{beyond}: none is better.")
    else:
        words.append(
            f"Of {near}, {one.tried} of {one.neighbours} were tried{beyond}: one of the others may be better."
        )
    return " ".join(words)


STEPS = {
    "start": "the start",
    "spread": "being spread over the space",
    "poll": "polls around the best",
    "search": "global search",
    "extended poll": "polls around a good one of another category",
    "speculative": "going as far again",
    "restart": "polls around others, after the smallest poll was exhausted",
}


UNJUDGED = "No slot had four different scores before it, the minimum for a comparison with a Gaussian process."


def teaching(one: Taught) -> str:
    """What earlier searches taught, whether it was right, and in which slots the Gaussian process chose
    instead."""
    names = ", ".join(
        f"{name} ({several(rows, 'configuration')} with a score)" for name, rows in one.sources
    )
    words = [
        "It began with an order of all configurations, the most promising first, learned from "
        f"{several(len(one.sources), 'earlier search', 'earlier searches')}: {names}."
    ]
    if one.place_of_best is not None:
        words.append(
            f"The best configuration found is at place {one.place_of_best:,} of {one.of:,} in it."
        )
    if one.tau is not None:
        share = percent(0.5 + 0.5 * one.tau)
        words.append(
            f"Of two configurations with a score it ranked the better one first {share} of the time; chance "
            "would give half."
        )
    return " ".join([*words, *(_guarding(one) if one.verdicts else [UNJUDGED])])


def _guarding(one: Taught) -> Iterator[str]:
    """Sentences on who was the better judge of the scores known before each slot, and who chose."""
    last, judged = one.verdicts[-1], several(len(one.verdicts), "slot")
    worse = [
        each.slot
        for each in one.verdicts
        if (each.guarded if one.guard else each.prior > each.process)
    ]
    yield (
        f"Before each of {judged}, with four or more known scores, it was compared with a Gaussian process "
        "that predicts each score from the others: which of them orders fewer pairs of scores wrongly?"
    )
    if not worse:
        yield "The learned order was never worse, and was always used."
    elif one.guard:
        yield f"In {several(len(worse), 'slot')} ({_ranges(worse)}) the process did, and was used instead."
    else:
        yield (
            f"In {several(len(worse), 'slot')} ({_ranges(worse)}) the process did, but was not used: "
            "search.ranking.guard is off."
        )
    yield (
        f"Before slot {last.slot}, the last, the learned order had {last.prior:g} of {last.pairs:,} pairs "
        f"wrong, the process {last.process:g}."
    )


def _ranges(slots: Sequence[int]) -> str:
    """ "4–9, 12"."""
    groups: list[list[int]] = []
    for slot in slots:
        if groups and slot == groups[-1][-1] + 1:
            groups[-1].append(slot)
        else:
            groups.append([slot])
    return ", ".join(str(one[0]) if len(one) == 1 else f"{one[0]}–{one[-1]}" for one in groups)


def _believed(one: Taught | None) -> Table:
    """What the prior puts first, and the scores found there."""
    rows = [
        (str(belief.place), settings(belief.configuration), score(belief.score))
        for belief in (one.first if one else ())
    ]
    return Table(("place", "configuration", "score found"), rows, name="taught")


def spending(spent: Spending) -> str:
    """What the epochs went to, and whether the right trainings were stopped, as far as it can be known."""
    epochs = join_names(str(rung.epochs) for rung in spent.rungs)
    words = [
        f"Trainings were compared after {epochs} epochs ({spent.kind}): of "
        f"{several(spent.begun, 'configuration')} begun {f'{spent.ended:,}' if spent.ended else 'none'} went "
        "to the end.",
        f"They took {several(spent.epochs, 'epoch')}, as many as {spent.full_trainings:,.1f} full trainings; "
        f"{percent(spent.on_stopped / max(1, spent.epochs))} of them on trainings that were stopped, "
        f"{percent(spent.on_failed / max(1, spent.epochs))} on failures.",
        *_order_kept(spent),
        *_passed_over(spent),
        "Whether a stopped training would have ended better is unknown.",
    ]
    return " ".join(words)


def _order_kept(spent: Spending) -> Iterator[str]:
    """How often two trainings that both ended stood in the same order before."""
    shares = [
        f"after {several(rung.epochs, 'epoch')} {percent(rung.alike / rung.pairs)} "
        f"({rung.alike}/{rung.pairs})"
        for rung in spent.rungs
        if rung.pairs
    ]
    if shares:
        yield (
            "Share of pairs of trainings run to the end that were already in the same order: "
            f"{', '.join(shares)}."
        )
    else:
        yield "No two trainings that ran to the end can be compared on an earlier rung."


def _passed_over(spent: Spending) -> Iterator[str]:
    if spent.passed_over:
        yield (
            f"{several(spent.passed_over, 'training')} went to the end after others of "
            f"{'its' if spent.passed_over == 1 else 'their'} rung had been preferred; {spent.better} of them "
            "ended better than all of those that did."
        )


NETWORKS = ("ranking", "ensemble-ei")
"""Methods whose model is not a Gaussian process."""


def honesty(explanation: Explanation) -> str:
    """Whether scores fell inside their forecast bands, and as many trials trained as expected."""
    forecasts = explanation.forecasts
    if not forecasts.slots:
        process = explanation.method.startswith("gp-")
        if not process and explanation.method not in NETWORKS:
            return f"No score was forecast: {explanation.method} asks no model of the scores."
        if explanation.spending:
            final = ", and predicts their final scores only with search.fidelity: axis, after the first slots"
            seen = "No score was forecast: the model saw trainings of different lengths"
            return f"{seen}{final if process else ''}."
        spread = several(explanation.initial, "slot")
        return f"No score was forecast: the model is used after the first {spread}, once a trial has a score."
    words = []
    if forecasts.inside.total:
        measured = _shown(forecasts.inside)
        words.append(
            f"{measured.count} scores, {measured.value} ({measured.interval}), fell inside the 95 % band "
            f"forecast before their training{_verdict(forecasts.inside)}."
        )
    if forecasts.below or forecasts.above:
        words.append(f"{forecasts.below} lay below their band, {forecasts.above} above.")
    if forecasts.trained.total:
        trials = several(forecasts.trained.total, "trial")
        words.append(
            f"Of {trials} with a forecast {forecasts.expected:.1f} were expected to train, "
            f"{forecasts.trained.count} did."
        )
    return " ".join(words)


def _verdict(share: Share) -> str:
    """Whether the count inside the band is improbably small or large for a coverage of STATED: a one-sided
    binomial tail below RARE."""
    if binom.cdf(share.count, share.total, STATED) < RARE:
        return ": too few, the model was overconfident"
    if binom.sf(share.count - 1, share.total, STATED) < RARE:
        return ": more than stated, the bands could be narrower"
    return ", which agrees with it"


def mattering(explanation: Explanation) -> str:
    """Shares of single axes and of pairs of axes in the variance of the final model over all
    configurations."""
    matter = explanation.matter
    if matter is None:
        return "Fewer than two trials have a score: no model can say what mattered."
    words = [_trust(matter)]
    ranked = [axis for axis in _ranked(matter) if _counts(axis.share)]
    pair = next(iter(matter.pairs), None)
    if not ranked and (pair is None or not _counts(pair.share)):
        return f"{words[0]} It is flat: no axis matters to it."
    alone = ", ".join(f"{_name(axis.name)} {percent(axis.share)}" for axis in ranked[:3])
    words.append(
        f"Single axes explain {percent(sum(axis.share or 0.0 for axis in ranked))} of its variance over all "
        f"configurations{alone and f': {alone}'}."
    )
    if pair is not None and _counts(pair.share):
        whole = percent(sum(one.share or 0.0 for one in matter.pairs))
        words.append(
            f"Pairs of axes explain {whole}, above all {_both(pair)} {percent(pair.share)}."
        )
    if _counts(matter.higher):
        words.append(f"The remaining {percent(matter.higher)} needs three axes or more.")
    if not matter.full_grid:
        words.append(
            "The space lacks some combinations: shares of single axes overlap, and those of pairs are not "
            "defined."
        )
    return " ".join(words)


def _trust(matter: Matter) -> str:
    if matter.explained is None:
        return f"The {matter.scores} scores are all equal."
    if matter.explained < 0.1:
        return (
            "The final model has no predictive value (leave-one-out: "
            f"{minus(percent(matter.explained))} of the variance of {matter.scores} scores): the following "
            "is guesswork."
        )
    kept = "" if matter.explained >= 0.5 else "; the following is only a hint"
    return (
        f"The final model predicts {minus(percent(matter.explained))} of the variance of {matter.scores} "
        f"scores, each left out in turn{kept}."
    )


def failing(explanation: Explanation) -> str:
    """How many trials have no score, why, and their forecast chance to train."""
    if not explanation.failures:
        return (
            f"No {_slot(explanation)} failed." if explanation.finished else "No trial is finished."
        )
    kinds = ", ".join(_kind(group) for group in explanation.failure_groups)
    return (
        f"{len(explanation.failures)} of {several(explanation.finished, _slot(explanation))} have no score: "
        f"{kinds}."
    )


def _kind(group: FailureGroup) -> str:
    """ "2 diverged (given a chance of 87.5 % to train, on average; “the loss was not a number”)"."""
    chance = group.mean_chance_to_train
    forecast = "" if chance is None else f"given a chance of {percent(chance)} to train, on average"
    details = [forecast, group.example and f"“{group.example}”"]
    words = "; ".join(filter(None, details))
    return f"{group.count} {group.status.replace('_', ' ')}{f' ({words})' if words else ''}"


def axes_table(matter: Matter | None) -> Table:
    """One row per axis, largest share of the variance first."""
    header = (
        "axis",
        "variance alone",
        "relevance",
        "lengthscale",
        "best level",
        "worst level",
        "levels with a score",
    )
    return Table(header, list(map(_axis_cells, _ranked(matter))) if matter else (), name="axes")


def brief_table(matter: Matter | None) -> Table:
    """A shorter `axes_table` without bands, for a terminal."""
    rows = []
    for axis in _ranked(matter) if matter else []:
        known = _by_score(axis)
        ends = ("–", "–") if axis.lengthscale is None else (_plain(known[0]), _plain(known[-1]))
        rows.append((_name(axis.name), percent(axis.share), percent(axis.relevance), *ends))
    return Table(("axis", "variance", "relevance", "best", "worst"), rows, name="axes-brief")


def pairs_table(matter: Matter | None) -> Table:
    """The pairs with the largest joint shares of the variance, where these are defined."""
    header = ("axes", "variance together", "best levels", "worst levels")
    pairs = [pair for pair in matter.pairs if _counts(pair.share)] if matter else []
    rows = (
        [(_both(one), percent(one.share), *_ends(matter, one)) for one in pairs[:PAIRS]]
        if matter
        else ()
    )
    return Table(header, rows, name="pairs")


def rungs_table(spent: Spending | None) -> Table:
    """One row per rung: how many trainings ended there, and what became of them."""
    header = (
        "epochs",
        "trained",
        "failed",
        "went on",
        "stopped",
        "epochs spent",
        "same order at the end",
    )
    rows = [
        (
            str(one.epochs),
            *(
                f"{count:,}"
                for count in (one.trained, one.failed, one.went_on, one.stopped, one.spent)
            ),
            f"{percent(one.alike / one.pairs)} ({one.alike}/{one.pairs})" if one.pairs else "–",
        )
        for one in (spent.rungs if spent else ())
    ]
    return Table(header, rows, name="rungs")


def _stopped_table(spent: Spending | None) -> Table:
    """The trainings that were stopped, the most trained and best first."""
    rows = [
        (str(one.slot), str(one.epochs), score(one.score), settings(one.configuration))
        for one in (spent.stopped if spent else ())
    ]
    return Table(("slot", "epochs", "score", "configuration"), rows[:STOPPED], name="stopped")


def failures_table(explanation: Explanation) -> Table:
    """One row per kind of failure."""
    rows = [
        (
            group.status.replace("_", " "),
            f"{group.count}/{explanation.finished}",
            "the configuration" if group.because_of_configuration else "the machine",
            percent(group.mean_chance_to_train),
        )
        for group in explanation.failure_groups
    ]
    return Table(
        ("ended as", "trials", "because of", "mean chance to train, forecast"),
        rows,
        name="search-failures",
    )


def _every_failure(explanation: Explanation) -> Table:
    rows = [
        (
            str(one.slot),
            one.status.replace("_", " "),
            settings(one.configuration),
            percent(one.chance_to_train),
            str(one.retries),
            one.message,
        )
        for one in explanation.failures
    ]
    return Table(
        ("trial", "ended as", "configuration", "chance to train", "retries", "message"),
        rows,
        name="failed-trials",
    )


def _axis_cells(axis: AxisEffect) -> tuple[str | Shown, ...]:
    known = _by_score(axis)
    cells = (_name(axis.name), percent(axis.share), percent(axis.relevance))
    scored_levels = f"{sum(level.scored > 0 for level in axis.levels)}/{len(axis.levels)}"
    if axis.lengthscale is None:
        return *cells, "–", "–", "–", scored_levels
    return *cells, f"{axis.lengthscale:.3g}", _level(known[0]), _level(known[-1]), scored_levels


def _level(level: LevelEffect) -> Shown:
    """ "−3: 0.3114", its band, and the number of scores at this level."""
    band = "" if level.low is None else f"{score(level.low)}–{score(level.high)}"
    return Shown(f"{_plain(level)}: {score(level.score)}", band, several(level.scored, "score"))


def _ends(matter: Matter, pair: PairEffect) -> tuple[str, str]:
    """The best and the worst cell of a pair's table."""
    first, second = (_axis(matter, name) for name in pair.axes)
    cells = [
        (value, f"{_plain(a)}, {_plain(b)}: {score(value)}")
        for a, row in zip(first.levels, pair.scores, strict=True)
        for b, value in zip(second.levels, row, strict=True)
        if value is not None
    ]
    return min(cells)[1], max(cells)[1]


def _together(matter: Matter, pair: PairEffect) -> Table:
    """The scores of every two levels; the axis with more levels is in the rows."""
    down, across = (_axis(matter, name) for name in pair.axes)
    scores = pair.scores
    if len(across.levels) > len(down.levels):
        down, across, scores = across, down, tuple(zip(*scores, strict=True))
    rows = [
        (_plain(level), *map(score, row)) for level, row in zip(down.levels, scores, strict=True)
    ]
    return Table(
        (f"{_name(down.name)} ↓  {_name(across.name)} →", *map(_plain, across.levels)),
        rows,
        name="axes-together",
    )


def _axis(matter: Matter, name: str) -> AxisEffect:
    return next(axis for axis in matter.axes if axis.name == name)


def _ranked(matter: Matter) -> list[AxisEffect]:
    return sorted(matter.axes, key=lambda axis: (-(axis.share or 0.0), -(axis.relevance or 0.0)))


def _by_score(axis: AxisEffect) -> list[LevelEffect]:
    """The levels of an axis by ascending score."""
    return sorted(
        (level for level in axis.levels if level.score is not None),
        key=lambda level: level.score or 0.0,
    )


def _plain(level: LevelEffect) -> str:
    return wording.level(level.level)


def _shown(share: Share) -> Shown:
    interval = f"{percent(share.low)[:-2]}–{percent(share.high)}"
    return Shown(percent(share.count / share.total), interval, f"{share.count}/{share.total}")


def _counts(share: float | None) -> bool:
    """Whether the share is more than 0.0 % when rounded."""
    return share is not None and share >= 0.0005


def _gain(regret: float | None) -> str:
    """The regret with three significant digits; "less than 0.0001" below that."""
    if regret is None:
        return "–"
    return "less than 0.0001" if 0 < regret < 1e-4 else f"{regret:.3g}"


def _name(axis: str) -> str:
    return axis.replace("_", " ")


def _both(pair: PairEffect) -> str:
    return " × ".join(map(_name, pair.axes))
