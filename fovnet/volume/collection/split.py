"""The split of subjects into training, validation and test: by default half, a quarter, a quarter;
each subject is in one split only.

A person is (collection, subject_id): "01" of one collection and "01" of another are different
people.  For people who occur in several collections, give the same `split` in all tables; a given
split takes precedence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

SPLITS = ("train", "validation", "test")
SPLIT_FRACTIONS = (0.5, 0.25, 0.25)


def split_subjects(
    subjects: Iterable[str],
    collection: str,
    seed: int,
    fixed_splits: Mapping[str, str] | None = None,
    fractions: Sequence[float] = SPLIT_FRACTIONS,
) -> dict[str, str]:
    """The split of each subject of one collection.

    Subjects in `fixed_splits` (subject_id to split) keep theirs; the others are assigned so that
    all together are closest to `fractions`, at random, depending on `seed` and the collection's
    name only: neither the order of rows nor another collection matters.
    """
    all_subjects = sorted(set(subjects))
    fixed_splits = {
        subject: split
        for subject, split in (fixed_splits or {}).items()
        if split and subject in set(all_subjects)
    }
    free_subjects = [subject for subject in all_subjects if subject not in fixed_splits]
    fixed_counts = [
        sum(split == counted_split for split in fixed_splits.values()) for counted_split in SPLITS
    ]
    name_seed = int.from_bytes(hashlib.sha256(collection.encode()).digest()[:8])
    shuffled_indices = np.random.default_rng([seed, name_seed]).permutation(len(free_subjects))
    split_names = np.repeat(
        SPLITS, compute_split_sizes(len(free_subjects), fixed_counts, fractions)
    )
    return fixed_splits | {
        free_subjects[index]: str(split_name)
        for index, split_name in zip(shuffled_indices, split_names, strict=True)
    }


def compute_split_sizes(
    free_count: int,
    fixed_counts: Iterable[int] = (0, 0, 0),
    fractions: Sequence[float] = SPLIT_FRACTIONS,
) -> list[int]:
    """How many of `free_count` subjects go to train, validation, test, if these already have
    `fixed_counts` subjects.

    Largest remainders (Hamilton's method): each split gets the integer part of its quota, the rest
    go to the largest remainders, of equal ones to the earlier split, so that a single subject goes
    to training.
    """
    fixed_counts = np.asarray(list(fixed_counts))
    quotas = np.maximum(
        np.asarray(fractions) * (free_count + fixed_counts.sum()) - fixed_counts, 0.0
    )
    # if a split was given more than its share, less is left for the others
    quotas *= free_count / max(quotas.sum(), 1e-12)
    sizes = np.floor(quotas + 1e-9).astype(int)
    largest_remainders = np.argsort(-(quotas - sizes), kind="stable")[: free_count - sizes.sum()]
    sizes[largest_remainders] += 1
    return [int(count) for count in sizes]
