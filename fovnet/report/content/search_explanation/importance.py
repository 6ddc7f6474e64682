"""What mattered in a search: shares of axes, and of pairs of axes, in the variance of its final
model."""

from __future__ import annotations

from fovnet.report.content.cells import MeasuredText, ReportTable, Row
from fovnet.report.content.wording import level_text, minus, percent, score_text
from fovnet.search.explain.importance import AxisEffect, LevelEffect, Matter, PairEffect
from fovnet.words import several

MOST_PAIRS = 5
"""Pairs of axes shown; the JSON has all."""


def importance_text(matter: Matter | None) -> str:
    """Shares of single axes and of pairs of axes in the variance of the final model over all
    configurations."""
    if matter is None:
        return "Fewer than two trials have a score: no model can say what mattered."
    axes = [axis for axis in _axes_by_share(matter) if _is_visible(axis.share)]
    pair = foremost_pair(matter)
    if not axes and pair is None:
        return f"{_trust(matter)} It is flat: no axis matters to it."
    sentences = [_trust(matter), _shares_of_axes(axes)]
    if pair is not None:
        sentences.append(_shares_of_pairs(matter, pair))
    if _is_visible(matter.higher):
        sentences.append(f"The remaining {percent(matter.higher)} needs three axes or more.")
    if not matter.full_grid:
        sentences.append(
            "The space lacks some combinations: shares of single axes overlap, and those of pairs "
            "are not defined."
        )
    return " ".join(sentences)


def foremost_pair(matter: Matter) -> PairEffect | None:
    """The pair of axes with the largest joint share; None if that rounds to 0.0 %."""
    return next((pair for pair in matter.pairs if _is_visible(pair.share)), None)


def _trust(matter: Matter) -> str:
    """How far the final model predicts the scores."""
    if matter.explained is None:
        return f"The {matter.scores} scores are all equal."
    share = minus(percent(matter.explained))
    if matter.explained < 0.1:
        return (
            f"The final model has no predictive value (leave-one-out: {share} of the variance of "
            f"{matter.scores} scores): the following is guesswork."
        )
    caution = "" if matter.explained >= 0.5 else "; the following is only a hint"
    return (
        f"The final model predicts {share} of the variance of {matter.scores} scores, each left "
        f"out in turn{caution}."
    )


def _shares_of_axes(axes: list[AxisEffect]) -> str:
    names = ", ".join(f"{_axis_name(axis.name)} {percent(axis.share)}" for axis in axes[:3])
    share = percent(sum(axis.share or 0.0 for axis in axes))
    return (
        f"Single axes explain {share} of its variance over all configurations"
        f"{names and f': {names}'}."
    )


def _shares_of_pairs(matter: Matter, pair: PairEffect) -> str:
    share = percent(sum(pair.share or 0.0 for pair in matter.pairs))
    return f"Pairs of axes explain {share}, above all {pair_name(pair)} {percent(pair.share)}."


def axes_table(matter: Matter | None) -> ReportTable:
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
    rows = [_axis_row(axis) for axis in _axes_by_share(matter)] if matter else []
    return ReportTable(header, rows, name="axes")


def _axis_row(axis: AxisEffect) -> Row:
    cells = (_axis_name(axis.name), percent(axis.share), percent(axis.relevance))
    scored_levels = f"{sum(level.scored > 0 for level in axis.levels)}/{len(axis.levels)}"
    if axis.lengthscale is None:
        return *cells, "–", "–", "–", scored_levels
    levels = _levels_by_score(axis)
    lengthscale = f"{axis.lengthscale:.3g}"
    return *cells, lengthscale, _level_cell(levels[0]), _level_cell(levels[-1]), scored_levels


def _level_cell(level: LevelEffect) -> MeasuredText:
    """ "−3: 0.3114", its band, and the number of scores at this level."""
    band = "" if level.low is None else f"{score_text(level.low)}–{score_text(level.high)}"
    value = f"{level_text(level.level)}: {score_text(level.score)}"
    return MeasuredText(value, band, several(level.scored, "score"))


def brief_table(matter: Matter | None) -> ReportTable:
    """A shorter `axes_table` without bands, for a terminal."""
    rows = [_brief_row(axis) for axis in _axes_by_share(matter)] if matter else []
    return ReportTable(("axis", "variance", "relevance", "best", "worst"), rows, name="axes-brief")


def _brief_row(axis: AxisEffect) -> Row:
    cells = (_axis_name(axis.name), percent(axis.share), percent(axis.relevance))
    if axis.lengthscale is None:
        return *cells, "–", "–"
    levels = _levels_by_score(axis)
    return *cells, level_text(levels[0].level), level_text(levels[-1].level)


def pairs_table(matter: Matter | None) -> ReportTable:
    """The pairs with the largest joint shares of the variance, where these are defined."""
    header = ("axes", "variance together", "best levels", "worst levels")
    rows: list[Row] = []
    if matter is not None:
        pairs = [pair for pair in matter.pairs if _is_visible(pair.share)]
        rows = [
            (pair_name(pair), percent(pair.share), *_best_and_worst_cell(matter, pair))
            for pair in pairs[:MOST_PAIRS]
        ]
    return ReportTable(header, rows, name="pairs")


def _best_and_worst_cell(matter: Matter, pair: PairEffect) -> tuple[str, str]:
    """The best and the worst cell of a pair's table."""
    first_axis, second_axis = (_axis(matter, name) for name in pair.axes)
    cells = [
        (score, f"{level_text(first.level)}, {level_text(second.level)}: {score_text(score)}")
        for first, scores in zip(first_axis.levels, pair.scores, strict=True)
        for second, score in zip(second_axis.levels, scores, strict=True)
        if score is not None
    ]
    return min(cells)[1], max(cells)[1]


def scores_of_pair(matter: Matter, pair: PairEffect) -> ReportTable:
    """The scores of every two levels; the axis with more levels is in the rows."""
    down, across = (_axis(matter, name) for name in pair.axes)
    scores = pair.scores
    if len(across.levels) > len(down.levels):
        down, across = across, down
        scores = tuple(zip(*scores, strict=True))
    rows = [
        (level_text(level.level), *map(score_text, row))
        for level, row in zip(down.levels, scores, strict=True)
    ]
    corner = f"{_axis_name(down.name)} ↓  {_axis_name(across.name)} →"
    header = (corner, *(level_text(level.level) for level in across.levels))
    return ReportTable(header, rows, name="axes-together")


def pair_name(pair: PairEffect) -> str:
    """ "blocks × rate"."""
    return " × ".join(map(_axis_name, pair.axes))


def _axis(matter: Matter, name: str) -> AxisEffect:
    return next(axis for axis in matter.axes if axis.name == name)


def _axis_name(name: str) -> str:
    return name.replace("_", " ")


def _axes_by_share(matter: Matter) -> list[AxisEffect]:
    """The axes, the largest share of the variance first."""
    return sorted(matter.axes, key=lambda axis: (-(axis.share or 0.0), -(axis.relevance or 0.0)))


def _levels_by_score(axis: AxisEffect) -> list[LevelEffect]:
    """The levels of an axis by ascending score."""
    return sorted(
        (level for level in axis.levels if level.score is not None),
        key=lambda level: level.score or 0.0,
    )


def _is_visible(share: float | None) -> bool:
    """Whether the share is more than 0.0 % when rounded."""
    return share is not None and share >= 0.0005
