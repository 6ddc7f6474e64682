"""A search explained: every statement follows from its trials, and every search, however it went, has an
explanation."""

import json
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest

from fovnet.maths import gp
from fovnet.maths.kernels import matern52
from fovnet.records import facts_of_record, write_json
from fovnet.search.explain.explanation import explain
from fovnet.search.jobs.proposals import Request, read_request
from fovnet.search.journal import Journal
from fovnet.search.look.gaussian import believe
from fovnet.search.look.view import Modelling, View
from fovnet.search.methods import METHODS
from fovnet.search.run import run_search
from fovnet.search.search import Search, propose_slot
from fovnet.search.slot_files import read_trials
from fovnet.search.space import Axis, Space
from fovnet.search.trial import Forecast, Outcome, Trial

SPACE = Space.of(
    {
        "depth": range(5),
        "width": range(6),
        "kind": ["a", "b", "c"],
        "flag": [False, True],
        "lone": [7],
    }
)


def loss(configuration, rng):
    """Width matters most, then depth; the kind a little, the flag not at all."""
    return (
        1.0
        + 0.1 * (configuration["depth"] - 2) ** 2
        + 0.15 * (configuration["width"] - 4) ** 2
        + 0.1 * (configuration["kind"] == "b")
        + rng.normal(0.0, 0.01)
    )


def outcome(proposal):
    at, rng = proposal.configuration, np.random.default_rng(proposal.seed)
    if at["depth"] + at["width"] >= 8:
        return Outcome("diverged", message="the loss was not a number", seconds=1.0)
    if proposal.slot % 11 == 7:
        return Outcome("error", message="the node is gone")
    return Outcome(
        "completed", score=float(loss(at, rng)), seconds=2.0 * proposal.predicted_seconds
    )


def search_of(space=SPACE, method="gp-ei", **changes):
    size = len(space)
    plan = {
        "seed": 3,
        "workers": 3,
        "start": 2,
        "initial": 6,
        "predicted_seconds": np.random.default_rng(1).lognormal(0.0, 1.5, size),
        "feasible": np.arange(size) % 10 != 3,
    }
    return Search(space, method, **{**plan, **changes})


def run(search, slots, outcome=outcome):
    trials = {}
    for slot in range(slots):
        proposal = propose_slot(search, [trial.proposal for trial in trials.values()], trials)
        trials[slot] = Trial(proposal, outcome(proposal))
    return list(trials.values())


@pytest.fixture(scope="module")
def search():
    return search_of()


@pytest.fixture(scope="module")
def trials(search):
    return run(search, 34)


@pytest.fixture(scope="module")
def explanation(search, trials):
    return explain(search, trials, requested_trials=34)


def end_of(search, trials):
    free = search.feasible.copy()
    free[[trial.proposal.row for trial in trials]] = False
    return View(
        search.space,
        tuple(trials),
        (),
        free,
        len(trials),
        search.seed,
        search.initial,
        search.predicted_seconds,
    )


def test_the_axes_that_make_the_loss_are_found(explanation):
    shares = {axis.name: axis.share for axis in explanation.importance.axes}
    lengths = {axis.name: axis.lengthscale for axis in explanation.importance.axes}
    assert shares["width"] > shares["depth"] > shares["kind"] > shares["flag"]
    assert (
        lengths["width"] < lengths["depth"] < lengths["flag"]
        and shares["lone"] == 0.0
        and lengths["lone"] is None
    )
    assert explanation.importance.explained_share > 0.7
    width = next(axis for axis in explanation.importance.axes if axis.name == "width")
    assert min(width.levels, key=lambda level: level.score).level == 4


def test_shares_of_variance_and_relevance_add_up(explanation):
    matter = explanation.importance
    assert np.isclose(
        sum(axis.share for axis in matter.axes)
        + sum(pair.share for pair in matter.pairs)
        + matter.higher_order_share,
        1.0,
        atol=1e-4,
    )
    assert np.isclose(sum(axis.relevance or 0.0 for axis in matter.axes), 1.0, atol=1e-4)
    assert len(matter.pairs) == 10 and [pair.share for pair in matter.pairs] == sorted(
        (pair.share for pair in matter.pairs), reverse=True
    )


def test_effects_are_means_of_the_final_belief_over_all_rows_read_as_scores(
    search, trials, explanation
):
    belief = believe(end_of(search, trials))
    rows, axes = (
        [SPACE.configuration(row) for row in range(len(SPACE))],
        {axis.name: axis for axis in explanation.importance.axes},
    )
    for axis in axes.values():
        for level in axis.levels:
            here = [
                mean
                for mean, row in zip(belief.mean[0], rows, strict=True)
                if row[axis.name] == level.level
            ]
            assert np.isclose(
                level.score, belief.target.score_of(np.array([np.mean(here)]))[0], rtol=1e-5
            )
            assert level.low_score <= level.score <= level.high_score
            assert level.tried_count == sum(
                trial.proposal.configuration[axis.name] == level.level for trial in trials
            )
    for pair in explanation.importance.pairs:
        first, second = (axes[name] for name in pair.axes)
        for a, line in zip(first.levels, pair.scores, strict=True):
            for b, score in zip(second.levels, line, strict=True):
                here = [
                    mean
                    for mean, row in zip(belief.mean[0], rows, strict=True)
                    if (row[first.name], row[second.name]) == (a.level, b.level)
                ]
                assert np.isclose(
                    score, belief.target.score_of(np.array([np.mean(here)]))[0], rtol=1e-5
                )


def test_what_the_model_predicts_is_found_by_leaving_out_each_score_for_real(
    search, trials, explanation
):
    belief = believe(end_of(search, trials))
    X, y, theta = (
        SPACE.unit_cube[belief.known_rows],
        belief.target.values,
        belief.processes[0].theta,
    )
    wrong, constant = 0.0, 0.0
    for i in range(len(y)):
        kept = np.arange(len(y)) != i
        mean, _ = gp.posterior(X[i : i + 1], X[kept], y[kept], theta, SPACE.scales, matern52)
        wrong, constant = wrong + (y[i] - mean[0]) ** 2, constant + (y[i] - y[kept].mean()) ** 2
    assert np.isclose(explanation.importance.explained_share, 1 - wrong / constant, rtol=1e-5)


def test_every_step_has_the_best_of_all_before_it_and_the_clock_of_the_search(trials, explanation):
    best, spent = np.inf, 0.0
    for step, trial in zip(explanation.steps, trials, strict=True):
        best, spent = (
            min(best, np.inf if trial.score is None else trial.score),
            spent + trial.outcome.seconds,
        )
        assert (step.slot, step.score, step.seconds_spent) == (
            trial.proposal.slot,
            trial.score,
            spent,
        )
        assert step.lowest_score == best or (step.lowest_score is None and best == np.inf)
        assert step.expected_regret == (
            trial.proposal.forecast.expected_regret if trial.proposal.forecast else None
        )
    # a slot has seen those that virtually end before it begins
    for one in trials:
        begins = explanation.steps[one.proposal.slot].virtual_end - one.proposal.predicted_seconds
        assert all(
            explanation.steps[slot].virtual_end <= begins + 1e-5 for slot in one.proposal.seen_slots
        )
    assert explanation.pace_quartiles == (2.0, 2.0, 2.0)
    predicted = np.cumsum([trial.proposal.predicted_seconds for trial in trials])
    np.testing.assert_allclose(
        [step.predicted_seconds_spent for step in explanation.steps], predicted
    )


def test_a_trial_that_the_machine_failed_does_not_count_for_the_chance_to_train(
    trials, explanation
):
    forecast_trials = [trial for trial in trials if trial.proposal.forecast is not None]
    assert any(trial.outcome.status == "error" for trial in forecast_trials)
    counted = [
        trial.score is not None for trial in forecast_trials if trial.outcome.status != "error"
    ]
    assert (
        explanation.forecasts.trained_share.count,
        explanation.forecasts.trained_share.total,
    ) == (
        sum(counted),
        len(counted),
    )


def test_the_share_inside_the_band_is_counted_and_has_wilsons_interval(search, trials):
    bands = [(0.0, 9.0), (0.0, 9.0), (5.0, 9.0), (0.0, 0.1), (0.0, 9.0)]
    scores = iter(bands)
    planted = [
        replace(
            trial,
            proposal=replace(
                trial.proposal, forecast=None if band is None else Forecast(1.0, *band, 0.5, None)
            ),
        )
        for trial in trials
        for band in [next(scores, None) if trial.score is not None else None]
    ]
    forecasts = explain(search, planted, requested_trials=34).forecasts
    assert (
        forecasts.inside_share.count,
        forecasts.inside_share.total,
        forecasts.below_count,
        forecasts.above_count,
    ) == (
        3,
        5,
        1,
        1,
    )
    assert np.isclose(forecasts.inside_share.low, 0.2307, atol=1e-4) and np.isclose(
        forecasts.inside_share.high, 0.8824, atol=1e-4
    )
    assert forecasts.expected_trainings == 2.5 and (
        forecasts.trained_share.count,
        forecasts.trained_share.total,
    ) == (
        5,
        5,
    )


def test_failures_are_listed_and_counted_by_kind(trials, explanation):
    failed = [trial for trial in trials if trial.score is None]
    assert [one.slot for one in explanation.failures] == [trial.proposal.slot for trial in failed]
    groups = {group.status: group for group in explanation.failure_groups}
    assert sum(group.count for group in groups.values()) == len(failed)
    assert (
        groups["diverged"].because_of_configuration and not groups["error"].because_of_configuration
    )
    assert all(
        one.message and one.configuration == dict(trials[one.slot].proposal.configuration)
        for one in explanation.failures
    )


def holes():
    """A table that lacks rows, and an axis whose levels stand at places of their own."""
    full = Space.of({"a": range(5), "b": ["x", "y", "z"]}).rows
    return Space(
        (
            Axis("a", tuple(range(5)), places=(0.0, 0.1, 0.3, 0.6, 1.0)),
            Axis("b", ("x", "y", "z"), "categorical"),
        ),
        full[::2],
    )


def gigantic(proposal):
    return Outcome("completed", score=1e30 if proposal.row % 3 else 0.5)


def slope(proposal):
    return Outcome("completed", score=proposal.row / 3)


CASES = {
    **{method: (search_of(method=method), 14, outcome) for method in METHODS},
    "nothing yet": (search_of(), 0, outcome),
    "no score": (
        search_of(),
        9,
        lambda proposal: Outcome("out_of_memory", message="needed 9 GB of 8"),
    ),
    "one score": (
        search_of(),
        9,
        lambda proposal: outcome(proposal) if proposal.slot == 0 else Outcome("timeout"),
    ),
    "two scores": (search_of(initial=1), 2, outcome),
    "all equal": (search_of(), 12, lambda proposal: Outcome("completed", score=0.7)),
    "ranks": (search_of(modelling=Modelling(targets="ranked")), 14, outcome),
    "raw": (search_of(modelling=Modelling(targets="raw")), 14, outcome),
    "sampled": (search_of(modelling=Modelling(hyperparameters="sampled")), 14, outcome),
    "giants": (search_of(), 14, gigantic),
    "holes": (search_of(holes(), start=0, feasible=np.ones(8, dtype=bool)), 7, slope),
    "to the last row": (search_of(holes(), start=0, feasible=np.ones(8, dtype=bool)), 8, slope),
    "without initial slots": (search_of(initial=1), 9, outcome),
    "a few initial slots": (search_of(initial=None), 14, outcome),
}


@pytest.mark.parametrize("name", CASES)
def test_any_search_has_an_explanation_that_strict_json_can_hold(name, tmp_path):
    search, slots, train = CASES[name]
    explanation = explain(search, run(search, slots, train), requested_trials=slots)
    written = write_json(tmp_path / "explain.json", facts_of_record(explanation)).read_text()
    facts = json.loads(written, parse_constant=pytest.fail)
    assert facts["finished"] == slots and (facts["matter"] is None) == (facts["scored"] < 2)
    if name == "ranks":
        assert facts["matter"]["remaining_regret"] is None and all(
            step["expected_regret"] is None for step in facts["steps"]
        )
    if name == "holes":
        assert not facts["matter"]["full_grid"] and all(
            pair["share"] is None for pair in facts["matter"]["pairs"]
        )
    if name == "all equal":
        assert (
            all(axis["share"] is None for axis in facts["matter"]["axes"])
            and facts["matter"]["mean_score"] == 0.7
        )
    if name == "to the last row":
        assert facts["matter"]["remaining_regret"] == 0.0


def test_a_search_under_way_is_explained_from_what_is_there(search, trials):
    explanation = explain(search, [*trials[:9], *trials[11:20]], requested_trials=34)
    assert (explanation.finished_count, explanation.missing_count) == (18, 2)
    assert [step.virtual_end is None for step in explanation.steps] == [False] * 9 + [True] * 9


def test_predictions_hold_where_they_are_off_by_no_more_than_a_quarter_of_what_was_measured(
    search, trials
):
    ratios = iter([0.7, 0.76, 1.0, 1.3, 1.3])
    timed = [
        replace(
            trial, outcome=replace(trial.outcome, seconds=trial.proposal.predicted_seconds / share)
        )
        for trial in trials
        if trial.score is not None
        for share in [next(ratios, None)]
        if share
    ]
    found = explain(search, timed, requested_trials=34).seconds_accuracy.predicted_share
    assert (found.count, found.total) == (2, 5)


def test_the_pace_has_its_quarters_and_what_is_left_takes_as_long_as_what_is_finished_did(
    search, trials
):
    """Five trials that took one to five times their prediction; then all that took what was predicted, long
    and short ones."""
    scored = [trial for trial in trials if trial.score is not None]
    slow, even = (
        [
            replace(
                trial,
                outcome=replace(trial.outcome, seconds=factor * trial.proposal.predicted_seconds),
            )
            for factor, trial in zip(factors, scored, strict=False)
        ]
        for factors in (range(1, 6), np.ones(99))
    )
    assert explain(search, slow, requested_trials=34).pace_quartiles == (2.0, 3.0, 4.0)
    mean = np.mean([trial.proposal.predicted_seconds for trial in even])
    assert explain(
        search, even, requested_trials=len(even) + 12
    ).seconds_accuracy.seconds_left == pytest.approx(12 * mean / search.workers, rel=1e-3)


def test_what_was_cut_short_was_not_quick(search, trials):
    """Half of the trainings pruned after a hundredth of their seconds: the pace is that of those that were
    not, twice the predicted."""
    pruned = [
        replace(
            trial,
            outcome=replace(trial.outcome, status="pruned", seconds=0.01 * trial.outcome.seconds),
        )
        if trial.score is not None and trial.proposal.slot % 2
        else trial
        for trial in trials
    ]
    assert sum(trial.outcome.status == "pruned" for trial in pruned) > 5
    assert explain(search, pruned, requested_trials=34).pace_quartiles == (2.0, 2.0, 2.0)


def test_the_same_trials_give_the_same_explanation(search, trials, explanation):
    assert explain(search, trials, requested_trials=34) == explanation


@pytest.mark.parametrize("asked", [25, 26])
def test_the_time_left_is_that_of_the_rows_that_are_left(tmp_path, asked):
    """Of a space of 25 rows no more than 25 can be asked for; that the search says so at its start does not
    end it."""
    search = search_of(
        Space.of({"a": range(5), "b": range(5)}),
        workers=1,
        predicted_seconds=np.full(25, 60.0),
        feasible=np.ones(25, bool),
    )
    begun = []

    def submit(proposal):
        begun.append(proposal)
        if len(begun) > 6:
            raise KeyboardInterrupt
        future = Future()
        future.set_result(
            Outcome("completed", validation_loss=(1.0,), score=1.0 + proposal.row, seconds=60.0)
        )
        return future

    with pytest.raises(KeyboardInterrupt):
        run_search(search, trials=asked, folder=tmp_path, submit=submit)
    noted = read_request(tmp_path, 6)
    assert (noted.trials, noted.ends_after, len(noted.notes)) == (
        asked,
        25 if asked > 25 else None,
        asked - 25,
    )
    explanation = explain(
        search,
        read_trials(tmp_path),
        requested_trials=asked,
        ends_after=noted.ends_after,
        notes=noted.notes,
    )
    assert explanation.seconds_accuracy.seconds_left == 19 * 60.0
    done = explain(search, read_trials(tmp_path), requested_trials=25, ends_after=6)
    assert done.seconds_accuracy.seconds_left == 0.0


def test_after_how_many_trials_it_ends_is_no_matter_of_words(tmp_path):
    """A journal of an earlier release holds it in a note alone: only the number asked for is known."""
    search = search_of(Space.of({"a": range(4)}), workers=1)
    note = "The search ends after 2 trials, as it was worded once."
    folder = tmp_path / "journal"
    folder.mkdir()
    write_json(
        folder / "search.json", {**search.identity, "trials": 9, "asked": 4, "notes": [note]}
    )
    assert read_request(folder, 2) == Request(4, None, (note,))
    Journal(folder, search).write_header(9, 4, 2, [note])
    assert read_request(folder, 2) == Request(4, 2, (note,))
