"""Who trains, who validates, who tests."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis.strategies import dictionaries, integers, lists, sampled_from, text

from fovnet.volume.collection.split import (
    SPLIT_FRACTIONS,
    SPLITS,
    compute_split_sizes,
    split_subjects,
)

SUBJECTS = lists(text("abcdef0123", min_size=1, max_size=6), max_size=60)


@given(SUBJECTS, integers(0, 2**31), integers(0, 99))
def test_everybody_has_one_split_whatever_the_order_of_the_rows(subjects, seed, shuffle):
    split = split_subjects(subjects, "cohort", seed)
    assert set(split) == set(subjects) and set(split.values()) <= set(SPLITS)
    turned = subjects * 2
    random.Random(shuffle).shuffle(turned)
    assert split_subjects(turned, "cohort", seed) == split


@given(integers(0, 500), sampled_from([SPLIT_FRACTIONS, (0.7, 0.15, 0.15), (0.9, 0.02, 0.08)]))
def test_the_fractions_are_met_to_within_one_subject(people, fractions):
    counts = Counter(
        split_subjects([f"s{n}" for n in range(people)], "cohort", 1, fractions=fractions).values()
    )
    for name, fraction in zip(SPLITS, fractions, strict=True):
        assert abs(counts[name] - fraction * people) < 1
    assert sum(counts.values()) == people


@pytest.mark.parametrize(
    ("people", "expected"),
    [
        (0, [0, 0, 0]),
        (1, [1, 0, 0]),
        (2, [1, 1, 0]),
        (3, [1, 1, 1]),
        (4, [2, 1, 1]),
        (6, [3, 2, 1]),
        (10, [5, 3, 2]),
        (100, [50, 25, 25]),
    ],
)
def test_largest_remainders(people, expected):
    assert compute_split_sizes(people) == expected


@given(
    SUBJECTS,
    dictionaries(text("abcdef0123", min_size=1, max_size=6), sampled_from(SPLITS), max_size=30),
)
def test_a_split_the_user_gave_always_wins(subjects, given_split):
    split = split_subjects(subjects, "cohort", 5, given_split)
    assert all(
        split[subject] == place for subject, place in given_split.items() if subject in split
    )
    assert set(split) == set(subjects)


def test_given_splits_count_towards_the_fractions():
    given_split = {f"s{n}": "test" for n in range(25)}
    assert Counter(
        split_subjects([f"s{n}" for n in range(100)], "cohort", 2, given_split).values()
    ) == {
        "train": 50,
        "validation": 25,
        "test": 25,
    }


def test_seed_and_collection_choose_the_people():
    people = [f"s{n}" for n in range(40)]
    assert split_subjects(people, "a", 0) == split_subjects(people, "a", 0)
    assert split_subjects(people, "a", 0) != split_subjects(people, "a", 1)
    assert split_subjects(people, "a", 0) != split_subjects(people, "b", 0)
