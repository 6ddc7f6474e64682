"""The split of subjects into training, validation and test: by default half, a quarter, a quarter; each
subject is in one split only.

A person is (collection, subject_id): "01" of one collection and "01" of another are different people.  For
people who occur in several collections, give the same `split` in all tables; a given split takes precedence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

SPLITS = ("train", "validation", "test")
FRACTIONS = (0.5, 0.25, 0.25)


def split_subjects(
    subjects: Iterable[str],
    collection: str,
    seed: int,
    given: Mapping[str, str] | None = None,
    fractions: Sequence[float] = FRACTIONS,
) -> dict[str, str]:
    """The split of each subject of one collection.

    Subjects in `given` (subject_id to split) keep theirs; the others are assigned so that all together are
    closest to `fractions`, at random, depending on `seed` and the collection's name only: neither the order
    of rows nor another collection matters.
    """
    everyone = sorted(set(subjects))
    given = {
        subject: split
        for subject, split in (given or {}).items()
        if split and subject in set(everyone)
    }
    free = [subject for subject in everyone if subject not in given]
    taken = [sum(split == name for split in given.values()) for name in SPLITS]
    name_number = int.from_bytes(hashlib.sha256(collection.encode()).digest()[:8])
    shuffled = np.random.default_rng([seed, name_number]).permutation(len(free))
    places = np.repeat(SPLITS, shares(len(free), taken, fractions))
    return given | {free[index]: str(place) for index, place in zip(shuffled, places, strict=True)}


def shares(
    free: int, taken: Iterable[int] = (0, 0, 0), fractions: Sequence[float] = FRACTIONS
) -> list[int]:
    """How many of `free` subjects go to train, validation, test, if these already have `taken` subjects.

    Largest remainders (Hamilton's method): each split gets the integer part of its quota, the rest go to the
    largest remainders, of equal ones to the earlier split, so that a single subject goes to training.
    """
    taken = np.asarray(list(taken))
    due = np.maximum(np.asarray(fractions) * (free + taken.sum()) - taken, 0.0)
    # if a split was given more than its share, less is left for the others
    due *= free / max(due.sum(), 1e-12)
    whole = np.floor(due + 1e-9).astype(int)
    rest = np.argsort(-(due - whole), kind="stable")[: free - whole.sum()]
    whole[rest] += 1
    return [int(count) for count in whole]
