"""What mattered in a search: shares of axes, and of pairs of axes, in the variance of its final
model."""

from __future__ import annotations

from fovnet.report.content.cells import MeasuredText, ReportTable, Row
from fovnet.report.content.wording import (
    DASH,
    level_text,
    minus,
    percent,
    score_text,
    setting_text,
    with_spaces,
)
from fovnet.search.explain.importance import AxisEffect, Importance, LevelEffect, PairEffect
from fovnet.search.explain.tree_importance import FamilyEffect, TreeImportance
from fovnet.words import several

MOST_PAIRS = 5
"""Pairs of axes shown; the JSON has all."""
LEAST_EXPLAINED = 0.1
"""Share of the variance of the scores below which the model is said to have no predictive value."""
LEAST_CONVINCING = 0.5
"""Share below which what the model says is called a hint."""


def importance_text(importance: Importance | TreeImportance | None) -> str:
    """Shares of single axes and of pairs of axes in the variance of the final model over all
    configurations; of a tree the variables of the shortest lengthscales."""
    if importance is None:
        return "Fewer than two trials have a score: no model can say what mattered."
    if isinstance(importance, TreeImportance):
        return _relevance_text(importance)
    visible_axes = [axis for axis in _axes_by_share(importance) if _is_visible(axis.share)]
    largest_pair = find_largest_pair(importance)
    if not visible_axes and largest_pair is None:
        return f"{_trust_in_model_sentence(importance)} It is flat: no axis matters to it."
    sentences = [_trust_in_model_sentence(importance), _axis_shares_sentence(visible_axes)]
    if largest_pair is not None:
        sentences.append(_pair_shares_sentence(importance, largest_pair))
    if _is_visible(importance.higher_order_share):
        sentences.append(
            f"The remaining {percent(importance.higher_order_share)} needs three axes or more."
        )
    if not importance.is_full_grid:
        sentences.append(
            "The space lacks some combinations: shares of single axes overlap, and those of pairs "
            "are not defined."
        )
    return " ".join(sentences)


def _relevance_text(importance: TreeImportance) -> str:
    """The variables of the shortest lengthscales, and what a tree has not."""
    sentences = [_trust_in_model_sentence(importance)]
    relevant_families = [
        f"{family.name} {percent(family.relevance)}"
        for family in _families_by_relevance(importance)
        if family.relevance is not None
    ]
    if relevant_families:
        sentences.append(
            f"Most relevant, by the inverse of their lengthscales: {', '.join(relevant_families[:3])}."
        )
    sentences.append(
        "Main effects, pairs of variables, and how many configurations are as good as the best would "
        "need all configurations of the space: there is no list of those of a tree."
    )
    return " ".join(sentences)


def find_largest_pair(importance: Importance) -> PairEffect | None:
    """The pair of axes with the largest joint share; None if that rounds to 0.0 %."""
    return next((pair for pair in importance.pairs if _is_visible(pair.share)), None)


def _trust_in_model_sentence(importance: Importance | TreeImportance) -> str:
    """How far the final model predicts the scores."""
    if importance.explained_share is None:
        return f"The {importance.score_count} scores are all equal."
    explained_share = minus(percent(importance.explained_share))
    if importance.explained_share < LEAST_EXPLAINED:
        return (
            f"The final model has no predictive value (leave-one-out: {explained_share} of the "
            f"variance of {importance.score_count} scores): the following is guesswork."
        )
    caution = ""
    if importance.explained_share < LEAST_CONVINCING:
        caution = "; the following is only a hint"
    return (
        f"The final model predicts {explained_share} of the variance of {importance.score_count} "
        f"scores, each left out in turn{caution}."
    )


def _axis_shares_sentence(axes_by_share: list[AxisEffect]) -> str:
    """The share of the variance that single axes explain, naming the first three."""
    total_share = percent(sum(axis.share or 0.0 for axis in axes_by_share))
    sentence = f"Single axes explain {total_share} of its variance over all configurations"
    if axes_by_share:
        first_shares = ", ".join(
            f"{with_spaces(axis.name)} {percent(axis.share)}" for axis in axes_by_share[:3]
        )
        sentence += f": {first_shares}"
    return f"{sentence}."


def _pair_shares_sentence(importance: Importance, pair: PairEffect) -> str:
    """The share of the variance that pairs of axes explain, naming this one."""
    total_share = percent(sum(pair.share or 0.0 for pair in importance.pairs))
    return (
        f"Pairs of axes explain {total_share}, above all {pair_name(pair)} {percent(pair.share)}."
    )


def axes_table(importance: Importance | None) -> ReportTable:
    """One row per axis, largest share of the variance first; no rows without a model."""
    header = (
        "axis",
        "variance alone",
        "relevance",
        "lengthscale",
        "best level",
        "worst level",
        "levels with a score",
    )
    return ReportTable(header, list(map(_axis_row, _axes_by_share(importance))), name="axes")


def _axis_row(axis: AxisEffect) -> Row:
    """The cells of one axis; dashes where the model has no lengthscale for it."""
    leading_cells = (with_spaces(axis.name), percent(axis.share), percent(axis.relevance))
    scored_levels = f"{sum(level.scored_count > 0 for level in axis.levels)}/{len(axis.levels)}"
    if axis.lengthscale is None:
        return *leading_cells, DASH, DASH, DASH, scored_levels
    levels_by_score = _levels_by_score(axis)
    lengthscale = f"{axis.lengthscale:.3g}"
    return (
        *leading_cells,
        lengthscale,
        _level_cell(levels_by_score[0]),
        _level_cell(levels_by_score[-1]),
        scored_levels,
    )


def _level_cell(level: LevelEffect) -> MeasuredText:
    """ "−3: 0.3114", its band, and the number of scores at this level."""
    band_text = ""
    if level.low_score is not None:
        band_text = f"{score_text(level.low_score)}–{score_text(level.high_score)}"
    level_and_score = f"{level_text(level.level)}: {score_text(level.score)}"
    return MeasuredText(level_and_score, band_text, several(level.scored_count, "score"))


def brief_axes_table(importance: Importance | None) -> ReportTable:
    """A shorter `axes_table` without bands, for a terminal."""
    header = ("axis", "variance", "relevance", "best", "worst")
    rows = list(map(_brief_axis_row, _axes_by_share(importance)))
    return ReportTable(header, rows, name="axes-brief")


def _brief_axis_row(axis: AxisEffect) -> Row:
    """The cells of one axis for a terminal; dashes where the model has no lengthscale for it."""
    leading_cells = (with_spaces(axis.name), percent(axis.share), percent(axis.relevance))
    if axis.lengthscale is None:
        return *leading_cells, DASH, DASH
    levels_by_score = _levels_by_score(axis)
    return (
        *leading_cells,
        level_text(levels_by_score[0].level),
        level_text(levels_by_score[-1].level),
    )


def families_table(importance: TreeImportance | None) -> ReportTable:
    """One row per variable of a tree with all its copies, the most relevant first; no rows without a
    model of a tree."""
    header = ("variable", "relevance", "lengthscale", "scores with it", "in the best")
    rows = [
        (
            family.name,
            percent(family.relevance),
            setting_text(family.lengthscale),
            str(family.scored_count),
            _best_levels_text(family),
        )
        for family in _families_by_relevance(importance)
    ]
    return ReportTable(header, rows, name="variables")


def brief_families_table(importance: TreeImportance | None) -> ReportTable:
    """A narrower `families_table` for a terminal, without variables of which no score tells."""
    rows = [
        (
            family.name,
            percent(family.relevance),
            str(family.scored_count),
            _best_levels_text(family),
        )
        for family in _families_by_relevance(importance)
        if family.relevance is not None
    ]
    return ReportTable(
        ("variable", "relevance", "scores", "in the best"), rows, name="variables-brief"
    )


def _best_levels_text(family: FamilyEffect) -> str:
    return ", ".join(map(level_text, family.best_levels)) or DASH


def _families_by_relevance(importance: TreeImportance | None) -> list[FamilyEffect]:
    """The variables, the most relevant first; none without a model of a tree."""
    if importance is None:
        return []
    return sorted(importance.families, key=lambda family: -(family.relevance or 0.0))


def pairs_table(importance: Importance | None) -> ReportTable:
    """The pairs with the largest joint shares of the variance, where these are defined."""
    header = ("axes", "variance together", "best levels", "worst levels")
    rows: list[Row] = []
    if importance is not None:
        visible_pairs = [pair for pair in importance.pairs if _is_visible(pair.share)]
        rows = [
            (pair_name(pair), percent(pair.share), *_best_and_worst_cell(importance, pair))
            for pair in visible_pairs[:MOST_PAIRS]
        ]
    return ReportTable(header, rows, name="pairs")


def _best_and_worst_cell(importance: Importance, pair: PairEffect) -> tuple[str, str]:
    """The best and the worst two levels of a pair, each as "level, level: score"."""
    first_axis, second_axis = (_axis_of_name(importance, axis_name) for axis_name in pair.axes)
    cells_with_score = []
    for first_level, scores in zip(first_axis.levels, pair.scores, strict=True):
        for second_level, score in zip(second_axis.levels, scores, strict=True):
            if score is not None:
                levels_text = f"{level_text(first_level.level)}, {level_text(second_level.level)}"
                cells_with_score.append((score, f"{levels_text}: {score_text(score)}"))
    _, best_cell = min(cells_with_score)
    _, worst_cell = max(cells_with_score)
    return best_cell, worst_cell


def pair_scores_table(importance: Importance, pair: PairEffect) -> ReportTable:
    """The scores of every two levels; the axis with more levels is in the rows."""
    row_axis, column_axis = (_axis_of_name(importance, axis_name) for axis_name in pair.axes)
    scores_of_rows = pair.scores
    if len(column_axis.levels) > len(row_axis.levels):
        row_axis, column_axis = column_axis, row_axis
        scores_of_rows = tuple(zip(*scores_of_rows, strict=True))
    rows = [
        (level_text(level.level), *map(score_text, row_scores))
        for level, row_scores in zip(row_axis.levels, scores_of_rows, strict=True)
    ]
    corner_cell = f"{with_spaces(row_axis.name)} ↓  {with_spaces(column_axis.name)} →"
    header = (corner_cell, *(level_text(level.level) for level in column_axis.levels))
    return ReportTable(header, rows, name="axes-together")


def pair_name(pair: PairEffect) -> str:
    """ "blocks × rate"."""
    return " × ".join(map(with_spaces, pair.axes))


def _axis_of_name(importance: Importance, axis_name: str) -> AxisEffect:
    return next(axis for axis in importance.axes if axis.name == axis_name)


def _axes_by_share(importance: Importance | None) -> list[AxisEffect]:
    """The axes, the largest share of the variance first; none without a model."""
    if importance is None:
        return []
    return sorted(
        importance.axes, key=lambda axis: (-(axis.share or 0.0), -(axis.relevance or 0.0))
    )


def _levels_by_score(axis: AxisEffect) -> list[LevelEffect]:
    """The levels of an axis by ascending score."""
    return sorted(
        (level for level in axis.levels if level.score is not None),
        key=lambda level: level.score or 0.0,
    )


def _is_visible(share: float | None) -> bool:
    """Whether the share is more than 0.0 % when rounded."""
    return share is not None and share >= 0.0005
