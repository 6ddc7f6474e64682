"""What earlier searches teach: the file, what it refuses, and what is learned from journals."""

import json
from concurrent.futures import Future
from dataclasses import replace

import numpy as np
import pytest
from safetensors.numpy import load, save
from scipy.stats import kendalltau

from fovnet.errors import SearchError
from fovnet.search.journal import Journal, open_journal, read_search, refuse_another_search, replay
from fovnet.search.learn.earlier_searches import make_source, read_journal
from fovnet.search.learn.training import Lessons, learn, why_unusable
from fovnet.search.look.guard import count_misranked_pairs
from fovnet.search.look.view import Ranking
from fovnet.search.prior import (
    FACTS_KEY,
    EarlierSearch,
    _read_description,
    make_prior,
    read_prior,
    write_prior,
)
from fovnet.search.run import run_search
from fovnet.search.space import Space
from fovnet.search.trial import Outcome
from tests.search.test_methods import path, search_of

SPACE = Space.of({"a": range(9), "b": range(7), "c": ["x", "y", "z"]})
SIZE = len(SPACE)
SHORT = Lessons(steps=300, members=4, hidden=(16, 16), rate=0.01)
DRAW = np.random.default_rng(5)
CENTRES = [DRAW.normal((0.7, 0.2), 0.05) for _ in range(5)]


def loss_of(centre, seed=0):
    """(SIZE,) of a task: a bowl whose least is near the others', and noise of its own."""
    x = SPACE.unit_cube
    bowl = ((x[:, :2] - centre) ** 2).sum(axis=1) + 0.1 * (x[:, 2] > 0)
    return bowl + 0.01 * np.random.default_rng(seed).normal(size=SIZE)


def source(losses, rows=None, name="a search"):
    rows = np.arange(SIZE) if rows is None else rows
    order = rows[np.argsort(losses[rows], kind="stable")]
    return EarlierSearch(name, "0" * 64, len(order), SPACE.rows[order], losses[order])


SOURCES = [source(loss_of(centre, i), name=f"search {i}") for i, centre in enumerate(CENTRES[:4])]


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "knows"])
def prior(request):
    return learn(SOURCES, SPACE.axes, replace(SHORT, context=request.param), 1)


def test_the_same_sources_and_seed_give_the_same_bytes_and_another_seed_others(prior):
    lessons = replace(SHORT, context=prior.ranker.deep_set is not None)
    assert learn(SOURCES, SPACE.axes, lessons, 1).data == prior.data
    assert learn(SOURCES, SPACE.axes, lessons, 2).sha256 != prior.sha256


def test_a_file_gives_back_what_was_learned_to_the_last_bit(prior, tmp_path):
    again = read_prior(write_prior(prior, tmp_path / "prior.safetensors"), SPACE.axes)
    assert all(
        (one.flat == other.flat).all()
        for one, other in zip(again.ranker.parts, prior.ranker.parts, strict=True)
    )
    assert again.sha256 == prior.sha256 and again.axes == SPACE.axes and again.facts == prior.facts
    assert all(
        (one.losses == other.losses).all() and (one.levels == other.levels).all()
        for one, other in zip(again.sources, SOURCES, strict=True)
    )
    assert make_prior(again.axes, again.ranker, again.sources, again.facts).data == prior.data


def test_what_is_learned_orders_a_task_that_was_not_seen(prior):
    losses = loss_of(CENTRES[4], 9)
    s = prior.ranker.scores(SPACE.unit_cube, np.zeros((0, 6))).mean(axis=0)
    assert kendalltau(-s, losses).statistic > 0.7
    assert all(one["tau"] > 0.5 and one["of"] == SIZE for one in prior.facts["held_out"])


def test_a_file_cut_off_anywhere_is_refused_by_name(prior, tmp_path):
    damaged = tmp_path / "prior.safetensors"
    for length in np.linspace(0, len(prior.data) - 1, 40).astype(int):
        damaged.write_bytes(prior.data[:length])
        with pytest.raises(
            SearchError, match=r"prior\.safetensors: not a readable prior .*prior-damaged"
        ):
            read_prior(damaged, SPACE.axes)


def without(tensors, *names):
    return {name: tensor for name, tensor in tensors.items() if name not in names}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda t: {**t, "scorer.0.weight": t["scorer.0.weight"] * np.nan}, "not finite"),
        (lambda t: {**t, "scorer.0.weight": t["scorer.0.weight"][:, 1:]}, "inputs"),
        (lambda t: {**t, "scorer.1.bias": t["scorer.1.bias"][..., 1:]}, "shapes"),
        (
            lambda t: {
                **t,
                "scorer.0.weight": t["scorer.0.weight"].astype(np.float32),
                "scorer.0.bias": t["scorer.0.bias"].astype(np.float32),
            },
            "64 bits",
        ),
        (lambda t: without(t, "scorer.1.weight"), "scorer.1.weight"),
        (
            lambda t: {name: tensor for name, tensor in t.items() if not name.startswith("scorer")},
            "scorer",
        ),
        (lambda t: {**t, "source.0.levels": t["source.0.levels"] + 9}, "beyond the axes"),
        (lambda t: {**t, "source.0.losses": t["source.0.losses"][1:]}, "source 0"),
        (lambda t: without(t, "source.1.losses"), "source.1.losses"),
    ],
)
def test_weights_and_sources_that_cannot_be_are_refused(prior, change, says, tmp_path):
    tensors = change({name: tensor.copy() for name, tensor in load(prior.data).items()})
    file = tmp_path / "prior.safetensors"
    file.write_bytes(
        save(
            {name: np.ascontiguousarray(one) for name, one in tensors.items()},
            {FACTS_KEY: json.dumps(_read_description(prior.data))},
        )
    )
    with pytest.raises(SearchError, match=rf"not a readable prior .*{says}.*prior-damaged"):
        read_prior(file, SPACE.axes)


def test_another_file_of_tensors_is_no_prior(tmp_path):
    (tmp_path / "p").write_bytes(save({"weight": np.zeros(3)}))
    with pytest.raises(SearchError, match="prior-damaged"):
        read_prior(tmp_path / "p", SPACE.axes)


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        (
            {"a": range(9), "b": range(6), "c": ["x", "y", "z"]},
            r"its axis 2 is b \(ordinal: 0, .*, 6\), that of the search b \(ordinal: 0, .*, 5\);",
        ),
        (
            {"a": range(9), "b": range(7)},
            r"its axis 3 is c \(categorical: x, y, z\), that of the search missing",
        ),
        (
            {"a": range(9), "b": range(7), "c": ["x", "y", "z"], "d": [1, 2]},
            "its axis 4 is missing, that of the search d ",
        ),
    ],
)
def test_a_prior_of_other_axes_is_refused_with_the_first_that_differs(prior, axes, says, tmp_path):
    file = write_prior(prior, tmp_path / "prior.safetensors")
    with pytest.raises(SearchError, match=rf"{says}.*prior-space"):
        read_prior(file, Space.of(axes).axes)


def test_a_prior_that_is_not_there_says_how_it_is_made(tmp_path):
    with pytest.raises(
        SearchError, match=r"`fovnet search learn JOURNAL.*--out .*none` makes it.*prior-missing"
    ):
        read_prior(tmp_path / "none", SPACE.axes)


def test_sources_of_few_rows_or_of_one_loss_teach_nothing():
    few, alike = source(loss_of(CENTRES[0]), np.arange(4)), source(np.ones(SIZE))
    assert why_unusable(few) == "4 configurations of this space with a score, 5 or more are needed"
    assert why_unusable(alike) == "all its scores are equal" and why_unusable(SOURCES[0]) == ""
    with pytest.raises(
        SearchError,
        match=r"a search: 4 config.*a search: all its scores are equal.*prior-no-sources",
    ):
        learn([few, alike], SPACE.axes, SHORT, 1)
    prior = learn([few, SOURCES[0], alike], SPACE.axes, replace(SHORT, steps=5), 1)
    assert [one.name for one in prior.sources] == ["search 0"] and prior.facts["held_out"] == []


def test_large_sources_are_thinned_to_a_third_of_the_best_and_others_evenly(monkeypatch):
    from fovnet.search.learn import training

    monkeypatch.setattr(training, "MOST_KEPT_ROWS", 30)
    kept = learn(SOURCES[:1], SPACE.axes, replace(SHORT, steps=2), 1).sources[0]
    assert (
        kept.scored_count == SIZE
        and len(kept.losses) == 30
        and (kept.losses[:10] == SOURCES[0].losses[:10]).all()
    )
    assert kept.losses[-1] == SOURCES[0].losses[-1] and (np.diff(kept.losses) > 0).all()


def landed(outcome):
    future = Future()
    future.set_result(outcome)
    return future


def finished(folder, losses, trials=12, **changes):
    """A journal of a search of a task, and its trials."""
    search = replace(search_of(SPACE, "random", seed=3), **changes)

    def submit(proposal):
        loss = float(losses[proposal.row])
        return landed(
            Outcome("completed", score=loss) if np.isfinite(loss) else Outcome("diverged")
        )

    return run_search(search, trials=trials, folder=folder, submit=submit)


def test_a_journal_gives_its_scored_rows_from_the_best_and_counts_others(tmp_path):
    losses = loss_of(CENTRES[0])
    losses[::3] = np.inf
    trials = finished(tmp_path, losses, 30)
    read = read_journal(tmp_path, SPACE.axes)
    scores = sorted(one.score for one in trials if one.score is not None)
    assert (
        read.source.losses.tolist() == scores
        and read.left_out_count == 0
        and read.source.scored_count == len(scores) < 30
    )
    assert [
        SPACE.configuration(int(np.flatnonzero((SPACE.rows == row).all(axis=1))[0]))
        for row in read.source.levels
    ] == [
        one.proposal.configuration
        for one in sorted(
            (one for one in trials if one.score is not None), key=lambda one: one.score
        )
    ]
    narrow = read_journal(
        tmp_path, Space.of({"a": range(5), "b": range(7), "c": ["x", "y", "z"]}).axes
    )
    assert narrow.left_out_count == sum(
        row[0] >= 5 for row in read.source.levels
    ) and narrow.source.scored_count + narrow.left_out_count == len(scores)
    assert read_journal(tmp_path, SPACE.axes[:2]).source.scored_count == 0
    with pytest.raises(SearchError, match="journal-header"):
        read_journal(tmp_path / "none", SPACE.axes)


def test_equal_losses_come_by_their_levels_whatever_the_order_of_the_journal():
    rows = [
        ({"a": 3, "b": 1, "c": "x"}, 0.5),
        ({"a": 1, "b": 2, "c": "y"}, 0.5),
        ({"a": 1, "b": 0, "c": "z"}, 0.1),
    ]
    one, other = (make_source("s", SPACE.axes, given).source for given in (rows, rows[::-1]))
    assert (
        (one.levels == other.levels).all()
        and one.sha256 == other.sha256
        and one.levels[0].tolist() == [1, 0, 2]
    )


def taught(prior, **changes):
    return replace(search_of(SPACE, "ranking", seed=1), prior=prior, **changes)


def scored(losses):
    return lambda one: Outcome("completed", score=float(losses[one.row]))


def test_a_taught_search_begins_at_its_start_and_then_where_the_others_ended(prior):
    losses = loss_of(CENTRES[4], 9)
    trials = path(taught(prior), scored(losses), 6)
    assert trials[0].proposal.row == taught(prior).first_row
    assert min(losses[one.proposal.row] for one in trials[1:]) <= np.sort(losses)[SIZE // 10]


def test_a_taught_search_killed_at_any_slot_goes_on_to_the_same_bytes(prior, tmp_path):
    losses = loss_of(CENTRES[4], 9)

    def run(folder, trials):
        run_search(
            taught(prior),
            trials=trials,
            folder=folder,
            submit=lambda one: landed(scored(losses)(one)),
        )

    run(tmp_path / "whole", 9)
    for trials in (2, 5, 9):
        run(tmp_path / "killed", trials)
    for name in ("slot-0008.json", "search.npz", "prior.safetensors"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "killed" / name).read_bytes()
    assert read_search(tmp_path / "whole").prior.sha256 == prior.sha256
    whole = Journal(tmp_path / "whole", taught(prior))
    assert replay(tmp_path / "whole", 6) == whole.read(6).proposal


def test_a_journal_of_another_prior_is_another_searchs(prior, tmp_path):
    open_journal(tmp_path, taught(prior)).write_header(1, 1, None, [])
    refuse_another_search(tmp_path, taught(prior))
    for other in (None, learn(SOURCES, SPACE.axes, replace(SHORT, steps=2), 1)):
        with pytest.raises(
            SearchError, match=r"its search has prior_sha256 = .*journal-of-another-search"
        ):
            refuse_another_search(tmp_path, taught(other))


def test_misranked_pairs_by_hand():
    assert count_misranked_pairs(np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])) == 0
    assert count_misranked_pairs(np.array([3.0, 2.0, 1.0]), np.array([0.1, 0.2, 0.3])) == 3
    # two halves; equal losses are no pair
    assert count_misranked_pairs(np.array([1.0, 1.0, 1.0]), np.array([0.1, 0.2, 0.2])) == 1


def reversed_prior():
    return learn(
        [source(-loss_of(centre, i)) for i, centre in enumerate(CENTRES[:4])],
        SPACE.axes,
        replace(SHORT, context=False),
        1,
    )


def test_a_prior_that_misleads_is_not_followed_once_four_scores_are_known():
    losses = loss_of(CENTRES[4], 9)
    trials = path(taught(reversed_prior()), scored(losses), 20)
    assert [one.proposal.step for one in trials[5:]] == ["gp-ei"] * 15
    assert min(losses[one.proposal.row] for one in trials) <= np.sort(losses)[5]


def test_with_a_prior_of_like_tasks_five_draws_leave_less_than_half_of_what_gp_ei_leaves():
    prior, left = learn(SOURCES, SPACE.axes, SHORT, 1), []
    for seed in range(6):
        losses = loss_of(CENTRES[4], 20 + seed)
        trials = [
            path(replace(one, seed=seed), scored(losses), 5)
            for one in (taught(prior), search_of(SPACE, "gp-ei"))
        ]
        left.append(
            [min(losses[trial.proposal.row] for trial in one) - losses.min() for one in trials]
        )
    assert np.mean(left, axis=0)[0] < 0.5 * np.mean(left, axis=0)[1]


def test_without_the_guard_a_misleading_prior_is_followed():
    losses = loss_of(CENTRES[4], 9)
    trials = path(taught(reversed_prior(), ranking=Ranking(guard=False)), scored(losses), 20)
    assert not any(one.proposal.step for one in trials)
    assert np.median([losses[one.proposal.row] for one in trials]) > np.median(losses)
