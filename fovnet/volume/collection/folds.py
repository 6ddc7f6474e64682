"""Folds for cross-validation: each subject is left out once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

FOLD_COUNT = 5


def make_folds(
    shows: Mapping[str, str], seed: int, folds: int = FOLD_COUNT
) -> list[frozenset[str]]:
    """The subjects dealt into so many folds, or as many as there are subjects.

    shows  what each subject's volumes show, in any words: subjects alike are dealt one after the
           other, so that what one fold leaves out the others have examples of, where there are any
    """
    random_order = np.random.default_rng([seed, len(shows)]).permutation(len(shows))
    shuffled_subjects = [sorted(shows)[index] for index in random_order]
    subjects_in_turn = sorted(
        shuffled_subjects, key=lambda subject: shows[subject]
    )  # stable: at random among alike ones
    fold_count = min(folds, len(subjects_in_turn))
    return [frozenset(subjects_in_turn[fold_index::fold_count]) for fold_index in range(fold_count)]
