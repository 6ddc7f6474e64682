"""Which subjects train, which validate, which test: half, a quarter, a quarter unless set otherwise, and nobody twice.

A person is (collection, subject_id): "01" of one collection is somebody else than "01" of another.  Give people who occur in
several collections a common `split` column, which always wins.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

SPLITS = ("train", "validation", "test")
FRACTIONS = (0.5, 0.25, 0.25)


def split_subjects(
    subjects: Iterable[str], collection: str, seed: int, given: Mapping[str, str] | None = None, fractions: Sequence[float] = FRACTIONS
) -> dict[str, str]:
    """The split of each subject of one collection.

    Subjects in `given` (subject_id to split) keep theirs; the others are shared out so that all together come closest to
    `fractions`, at random by `seed` and the collection's name alone: neither the order of rows nor another collection matters.
    """
    everyone = sorted(set(subjects))
    given = {subject: split for subject, split in (given or {}).items() if split and subject in set(everyone)}
    free = [subject for subject in everyone if subject not in given]
    taken = [sum(split == name for split in given.values()) for name in SPLITS]
    name_number = int.from_bytes(hashlib.sha256(collection.encode()).digest()[:8])
    shuffled = np.random.default_rng([seed, name_number]).permutation(len(free))
    places = np.repeat(SPLITS, shares(len(free), taken, fractions))
    return given | {free[index]: str(place) for index, place in zip(shuffled, places, strict=True)}


def shares(free: int, taken: Iterable[int] = (0, 0, 0), fractions: Sequence[float] = FRACTIONS) -> list[int]:
    """How many of `free` subjects go to train, validation, test, where `taken` are there already.

    Largest remainders (Hamilton's method): each split gets the whole part of its due, the rest go to the largest fractions,
    of equal ones to the earlier split, so a lone subject trains.
    """
    taken = np.asarray(list(taken))
    due = np.maximum(np.asarray(fractions) * (free + taken.sum()) - taken, 0.0)
    due *= free / max(due.sum(), 1e-12)           # a split given more than its share leaves less to the others
    whole = np.floor(due + 1e-9).astype(int)
    rest = np.argsort(-(due - whole), kind="stable")[: free - whole.sum()]
    whole[rest] += 1
    return [int(count) for count in whole]
