"""A search over a tree explained: what mattered is found, however many layers had it; what needs all rows is
left out and said so."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fovnet.records import facts_of_record, write_json
from fovnet.report.content.search_explanation.importance import families_table
from fovnet.report.content.search_explanation.view import paragraphs
from fovnet.report.figures.search_explanation import figures_of_search
from fovnet.report.figures.side_by_side import course_of
from fovnet.search.explain.explanation import Explanation, explain
from fovnet.search.search import propose_slot
from fovnet.search.spend.schedule import FULL, Schedule
from fovnet.search.tree.costs import EqualCosts
from fovnet.search.tree.tree import Tree
from fovnet.search.tree_search import TreeSearch
from fovnet.search.trial import Outcome, Proposal, Trial

REAL = {"real": {"low": 0, "high": 1}}
TREE = Tree.of(
    {
        "layers": {
            "repeat": {"low": 1, "high": 3},
            "grows": "first",
            "each": {"width": REAL, "depth": REAL},
        },
        "way": {"choose": {"left": {"rate": REAL}, "right": {"rate": REAL}}, "start": "left"},
        "fixed": {"whole": {"low": 2, "high": 2}},
    }
)


def loss(proposal: Proposal) -> Outcome:
    """The mean width of the layers is to be 0.7; the right way never trains, as it needs the rate."""
    values = proposal.configuration
    if values["way"] == "right":
        return Outcome("diverged", message="the loss was not a number", seconds=1.0)
    widths = [level for name, level in values.items() if name.endswith(".width")]
    score = 1.0 + 4 * float((np.mean(np.array(widths, dtype=float)) - 0.7) ** 2)
    return Outcome("completed", (score,), (score,), score, seconds=2.0)


def search_of(method: str, schedule: Schedule = FULL) -> TreeSearch:
    return TreeSearch(TREE, method, 5, 1, 6, EqualCosts(), schedule=schedule)


def trials_of(search: TreeSearch, count: int) -> list[Trial]:
    trials: dict[int, Trial] = {}
    for slot in range(count):
        proposal = propose_slot(search, [trial.proposal for trial in trials.values()], trials)
        trials[slot] = Trial(proposal, loss(proposal))
    return list(trials.values())


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    return trials_of(search_of("random"), 40)


@pytest.fixture(scope="module")
def explanation(trials: list[Trial]) -> Explanation:
    return explain(search_of("random"), trials, requested_trials=40)


def test_the_variable_that_matters_is_the_most_relevant(explanation: Explanation) -> None:
    """One line for the widths of all layers; none for what has a single value; of a way without a score, and
    of the choice between it and the other, nothing is known."""
    importance = explanation.tree_importance
    assert importance is not None and explanation.importance is None
    by_name = {family.name: family for family in importance.families}
    assert list(by_name) == [
        "layers",
        "layers.width",
        "layers.depth",
        "way",
        "way.left.rate",
        "way.right.rate",
    ]
    relevances = [family.relevance for family in importance.families if family.relevance]
    assert sum(relevances) == pytest.approx(1.0, abs=1e-4)
    assert by_name["layers.width"].relevance == max(relevances) > 2 * min(relevances)
    assert by_name["way"].lengthscale is by_name["way.right.rate"].lengthscale is None
    assert by_name["way.right.rate"].scored_count == 0
    assert by_name["way.left.rate"].scored_count == explanation.scored_count


def test_the_values_of_the_best_are_told_in_the_order_of_the_data(explanation: Explanation) -> None:
    """Copies of a group that grows at the front count from the other end."""
    best = explanation.best_configuration
    assert best is not None and explanation.tree_importance is not None
    by_name = {family.name: family for family in explanation.tree_importance.families}
    copies = range(int(best["layers"]), 0, -1)
    assert by_name["layers.width"].best_levels == tuple(best[f"layers.{n}.width"] for n in copies)
    assert by_name["way.left.rate"].best_levels == (best["way.rate"],)
    assert by_name["way.right.rate"].best_levels == ()


def test_what_needs_all_rows_is_left_out_and_said_so(
    explanation: Explanation, trials: list[Trial]
) -> None:
    text = "\n".join(paragraphs(explanation))
    assert "1 worker; tree of 11 variables, 10 at most active." in text
    assert "Most relevant, by the inverse of their lengthscales: layers.width" in text
    assert (
        "Main effects, pairs of variables, and how many configurations are as good as the best would need all "
        "configurations of the space: there is no list of those of a tree."
    ) in text
    assert len(families_table(explanation.tree_importance).rows) == 6
    assert "effects" not in figures_of_search(explanation)
    course = course_of(search_of("random"), trials)
    assert course.configuration_count == 40 and course.lowest_scores[-1] < 1.01


@pytest.mark.parametrize("schedule", [FULL, Schedule("asha", 9)], ids=["full", "asha"])
def test_a_search_under_way_is_explained_without_the_slots_that_are_missing(
    tmp_path: Path, schedule: Schedule
) -> None:
    """Rows count begun points: those of slots that are still running belong to no trial yet."""
    search = search_of("gp-ei", schedule)
    finished = trials_of(search, 14)
    running = {finished[2].proposal.row, finished[5].proposal.row}
    rest = [trial for trial in finished if trial.proposal.row not in running]
    told = explain(search, rest, requested_trials=30)
    assert told.missing_count == len(finished) - len(rest) > 0
    rows = {trial.proposal.row for trial in rest}
    assert max(rows) >= len(rows)
    assert told.seconds_accuracy is not None and told.tree_importance is not None
    write_json(tmp_path / "explain.json", facts_of_record(told), settings=search.identity, seed=1)


def test_a_direct_search_has_a_line_for_each_structure() -> None:
    """The number of layers and the way tell structures apart; the poll of one without a score has no reach."""
    search = search_of("mads")
    trials = trials_of(search, 30)
    told = explain(search, trials, requested_trials=30)
    descent = told.tree_descent
    assert descent is not None and told.descent is None
    assert dict(descent.step_counts)["start"] == 1
    assert sum(count for _, count in descent.step_counts) == 30
    numbers = [number for course in descent.structures for number in course.numbers]
    assert sorted(numbers) == list(range(30))
    for course in descent.structures:
        for number, score in zip(course.numbers, course.scores, strict=True):
            values = trials[number].proposal.configuration
            assert course.levels == {"layers": values["layers"], "way": values["way"]}
            assert score == trials[number].score
        assert (course.frame_reach is None) == (course.levels["way"] == "right")
    best = descent.structures[0]
    assert best.lowest_score == min(trial.score for trial in trials if trial.score is not None)
    text = "\n".join(paragraphs(told))
    assert (
        f"The best is layers {best.levels['layers']} · way left, with {len(best.numbers)} conf"
        in text
    )
    figure = figures_of_search(told)["structures"]
    axis = figure.axes[0]
    assert len(axis.get_lines()) == sum(course.lowest_score < 9 for course in descent.structures)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_search_without_scores_is_explained(count: int, trials: list[Trial]) -> None:
    failed = [replace(trial, outcome=Outcome("timeout")) for trial in trials[:count]]
    told = explain(search_of("gp-ei"), failed, requested_trials=5)
    assert told.tree_importance is None and told.scored_count == 0
    assert "Fewer than two trials have a score" in "\n".join(paragraphs(told))
