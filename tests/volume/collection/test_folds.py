"""Each subject is left out once, and what one fold leaves out the others have examples of."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis.strategies import dictionaries, integers, sampled_from, text

from fovnet.volume.collection.folds import FOLD_COUNT, make_folds

SUBJECTS = dictionaries(
    text("abcdef", min_size=1, max_size=4),
    sampled_from(["legs", "abdomen", "chest, head"]),
    min_size=5,
)


@given(shows=SUBJECTS, seed=integers(0, 99))
def test_everybody_is_in_one_fold_and_folds_are_alike_in_size(
    shows: dict[str, str], seed: int
) -> None:
    folds = make_folds(shows, seed)
    assert sorted(subject for fold in folds for subject in fold) == sorted(shows)
    sizes = [len(fold) for fold in folds]
    assert len(folds) == FOLD_COUNT and max(sizes) - min(sizes) <= 1


@given(shows=SUBJECTS, seed=integers(0, 99))
def test_subjects_who_show_the_same_are_spread_over_the_folds(
    shows: dict[str, str], seed: int
) -> None:
    for fold in make_folds(shows, seed):
        here, everywhere = Counter(shows[one] for one in fold), Counter(shows.values())
        assert all(here[what] <= -(-everywhere[what] // FOLD_COUNT) for what in here)


@given(shows=SUBJECTS, seed=integers(0, 99))
def test_the_order_in_which_subjects_are_named_does_not_matter(
    shows: dict[str, str], seed: int
) -> None:
    assert make_folds(shows, seed) == make_folds(dict(reversed(shows.items())), seed)
