"""Whether answers stay right when a volume is changed, and whether what cannot be answered is
doubted.

A volume is changed before it is cut into slices, and then answered as any other: its coils and
contrast differ, a part of it is missing or dark, noise surrounds it, its header turns it, its
slices are in the wrong order. Volumes without a body are shown beside them, among them things of
kinds that no collection holds: NEVER_TRAINED counts these together.  Simulated people have another
seed than any collection, so that no network was trained on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from fovnet.bench import shares
from fovnet.bench.shares import Tally
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.statements import YES, Statement
from fovnet.errors import CollectionError, FovnetError, VolumeError
from fovnet.phantom.acquisition.families import choose_families
from fovnet.phantom.acquisition.protocols import SITES, plan
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.bodiless.kinds import HELD_OUT
from fovnet.phantom.bodiless.scans import PLANES, thing_volume
from fovnet.phantom.collection import acquire
from fovnet.phantom.oddities import ODDITIES, oddity
from fovnet.phantom.person.traits import sample_person
from fovnet.regions import NONE, Vocabulary
from fovnet.volume.collection.tables import (
    RegionRow,
    VolumeRow,
    read_collection,
    refuse_beyond,
    truth_at,
)
from fovnet.volume.intensity import window
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import SliceStack, cut
from fovnet.volume.sources import source
from fovnet.volume.volume import Volume

Voxels = NDArray[np.float32]
COLUMNS = ("change", *shares.COLUMNS)
NEVER_TRAINED = "things of kinds never trained on"
"""The row of all of `bodiless.kinds.HELD_OUT`: of how many nothing is doubted, and how many surely
show a region."""
SURE, WRONG, SLICES, BORDERS = (
    "nothing doubted",
    "nothing doubted and wrong",
    "slices named rightly",
    "borders within 10 mm",
)
DECIDED, DECIDED_WRONGLY, SHOWN = (
    "regions decided",
    "regions decided and wrong",
    "a region surely shown",
)
COUNTED = (DECIDED, DECIDED_WRONGLY, SHOWN, SURE, WRONG, SLICES, BORDERS)
STRANGERS = 1_000_003  # seed of people whom no collection holds; collections have small ones
BORDER_MM, MARGIN_MM = 10.0, 30.0
"""A border this near is found; it is sought with so much of the picture on either side of it."""
SHOWN_MM = 10.0  # of a region must be in the picture for it to be missed
# logarithm of a coil's gain: from e^-4 of the brightness at one side to all of it at the other
FALL = 2.0
DARKER = 20.0
AIR = 0.07  # of the window: what is darker is noise in a map of the body
LEAST = 0.4  # share of the slices that stay when a part is cut away


@dataclass(frozen=True, eq=False)
class Labelled:
    """A volume, its axes RAS+, and the regions that it shows, in millimetres; None: no answer about
    it is right, as it is turned or in disorder."""

    subject: str
    volume: Volume
    shows: tuple[RegionRow, ...] | None


Change = Callable[[Labelled, np.random.Generator], Labelled]


def people(count: int, seed: int) -> list[Callable[[], Labelled]]:
    """Makers of so many simulated people of no collection, a volume each."""
    return [partial(stranger, seed, number) for number in range(count)]


def stranger(seed: int, number: int) -> Labelled:
    """One volume of a simulated person of no collection."""
    rng = np.random.default_rng([STRANGERS + seed, number, 1])
    person, site = sample_person((STRANGERS + seed, number)), SITES[int(rng.integers(len(SITES)))]
    (family,) = choose_families(1, rng)
    volume, rows = acquire(person, plan(person, landmarks(person), family, site, rng), rng)
    ends = [
        ("from_mm", "to_mm") if "from_mm" in row else ("first_slice", "last_slice") for row in rows
    ]
    shows = [
        RegionRow("", row["region"], float(row[first]), float(row[last]), first == "from_mm")
        for row, (first, last) in zip(rows, ends, strict=True)
    ]
    return _labelled(f"person {number}", volume, shows)


def of_collection(tables: Path, vocabulary: Vocabulary) -> list[Callable[[], Labelled]]:
    """Readers of the labelled volumes of a collection; one raises VolumeError for a file that
    cannot be read, and CollectionError "collection-slices" for labels beyond its slices.

    Raises CollectionError as `read_collection`, and "bench-unlabelled" where no volume has labels.
    """
    collection = read_collection(tables, vocabulary)
    found: list[Callable[[], Labelled]] = [
        partial(_read, row, shows)
        for row in collection.volumes
        if (shows := collection.regions.get(row.volume_id))
    ]
    if not found:
        lacks = (
            f"{collection.path}: none of {len(collection.volumes)} volumes has rows in regions.tsv"
        )
        raise CollectionError(
            "bench-unlabelled", f"{lacks}; label some, or leave --collection out."
        )
    return found


def _read(row: VolumeRow, shows: Sequence[RegionRow]) -> Labelled:
    return _labelled(row.subject_id, source.read(row.path), shows)


def _labelled(subject: str, stored: Volume, shows: Sequence[RegionRow]) -> Labelled:
    """The volume with axes RAS+, its rows in millimetres."""
    volume = to_ras(stored)
    counted = volume.slice_heights_mm() if volume.counted_z_mm is None else volume.counted_z_mm
    for row in shows:
        refuse_beyond(row, len(counted))
    half = abs(float(np.median(np.diff(counted)))) / 2 if len(counted) > 1 else 0.0
    rows = [
        row
        if row.in_mm
        else replace(
            row,
            first=counted[int(row.first)] - half,
            last=counted[int(row.last)] + half,
            in_mm=True,
        )
        for row in shows
        if row.region != NONE
    ]
    return Labelled(subject, volume, tuple(rows))


def unchanged(one: Labelled, rng: np.random.Generator) -> Labelled:
    """The volume as it is."""
    return one


def cropped(one: Labelled, rng: np.random.Generator) -> Labelled:
    """The volume without some of its slices at either end."""
    slices = one.volume.voxels.shape[2]
    kept = int(rng.integers(int(np.ceil(LEAST * slices)), slices + 1))
    first = int(rng.integers(slices - kept + 1))
    moved = one.volume.vox_to_ras.copy()
    moved[:, 3] += first * moved[:, 2]
    voxels = one.volume.voxels[:, :, first : first + kept]
    return replace(
        one, volume=replace(one.volume, voxels=voxels, vox_to_ras=moved, counted_z_mm=None)
    )


def darker_to_one_side(one: Labelled, rng: np.random.Generator) -> Labelled:
    """The volume in a coil that lies on one side: times exp(FALL · u), u from -1 to 1 along a
    direction across the body."""
    angle = rng.uniform(0, 2 * np.pi)
    right, front = (np.linspace(-1.0, 1.0, size) for size in one.volume.voxels.shape[:2])
    along = np.cos(angle) * right[:, None] + np.sin(angle) * front
    return _with(one, one.volume.voxels * np.exp(FALL * along).astype(np.float32)[..., None])


def to_the_power(gamma: float) -> Change:
    """The change that raises grey levels, black 0 and white 1, to this power."""

    def change(one: Labelled, rng: np.random.Generator) -> Labelled:
        black, white = window(one.volume.voxels)
        grey = np.maximum((one.volume.voxels - black) / (white - black), 0.0)
        return _with(one, (grey ** np.float32(gamma)).astype(np.float32))

    return change


def half_dark(one: Labelled, rng: np.random.Generator) -> Labelled:
    """The volume, its lower half DARKER times darker: stations put together without matching their
    brightness."""
    voxels = one.volume.voxels.copy()
    voxels[:, :, : voxels.shape[2] // 2] /= DARKER
    return _with(one, voxels)


def in_noise(one: Labelled, rng: np.random.Generator) -> Labelled:
    """The volume as a map computed without a mask: where there is no signal, noise, uniform over
    the window."""
    black, white = window(one.volume.voxels)
    air = ndimage.uniform_filter(one.volume.voxels, 3) < black + AIR * (white - black)
    noise = rng.uniform(black, white, one.volume.voxels.shape).astype(np.float32)
    return _with(one, np.where(air, noise, one.volume.voxels))


def upside_down(one: Labelled, rng: np.random.Generator) -> Labelled:
    """The body turned head to feet, as by a header that is wrong by half a turn about the
    front-back axis."""
    return replace(_with(one, one.volume.voxels[::-1, :, ::-1]), shows=None)


def along_another_axis(one: Labelled, rng: np.random.Generator) -> Labelled:
    """The body lying along the left-right or the front-back axis, as by a header that is wrong by a
    quarter turn."""
    axes = [(0, 2, 1), (2, 1, 0)][int(rng.integers(2))]
    voxels = one.volume.voxels.transpose(axes)[:, ::-1]  # a swap of two axes is a mirror image
    affine = np.diag([*one.volume.spacing_mm[list(axes)], 1.0])
    affine[:3, 3] = -affine.diagonal()[:3] * (np.array(voxels.shape) - 1) / 2
    turned = replace(one.volume, voxels=voxels, vox_to_ras=affine, counted_z_mm=None)
    return replace(one, volume=turned, shows=None)


def shuffled(one: Labelled, rng: np.random.Generator) -> Labelled:
    """The volume with its slices in random order."""
    order = rng.permutation(one.volume.voxels.shape[2])
    return replace(_with(one, one.volume.voxels[:, :, order]), shows=None)


def _with(one: Labelled, voxels: Voxels) -> Labelled:
    return replace(one, volume=replace(one.volume, voxels=voxels))


CHANGES: Mapping[str, Change] = {
    "as it is": unchanged,
    "a part of it": cropped,
    "darker to one side": darker_to_one_side,
    "less contrast": to_the_power(0.6),
    "more contrast": to_the_power(1.6),
    "lower half 20 times darker": half_dark,
    "in air of bright noise": in_noise,
    "upside down": upside_down,
    "along another axis": along_another_axis,
    "slices shuffled": shuffled,
}


def robustness(
    ensemble: Ensemble,
    volumes: Sequence[Callable[[], Labelled]],
    *,
    seed: int,
    bodiless: int = 0,
    progress: Callable[[int, int], Any] | None = None,
    log: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """A row of COLUMNS for each change, or kind of volume without a body, and each of COUNTED; of
    these `bodiless` each are simulated, and NEVER_TRAINED counts those of kinds held out again.
    The same seed gives the same changes.

    An answer of which nothing is doubted is wrong if it misses a region of which SHOWN_MM are in
    the picture, or names one that is not in it; a region decided, if it is not as that has it.
    Volumes whose regions are not known count in SURE, WRONG and SHOWN alone.  `log` gets a sentence
    on each volume that cannot be read, which is left out.
    """
    tally = Tally()
    for number, made in enumerate(volumes):
        try:
            one = made()
        except FovnetError as fault:
            log(f"left out: {fault.sentence} [{fault.code}]")
            continue
        for at, (name, change) in enumerate(CHANGES.items()):
            _count(tally, (name,), change(one, np.random.default_rng([seed, at, number])), ensemble)
        if progress:
            progress(number + 1, len(volumes))
    for kind, number, volume in without_a_body(bodiless, seed):
        names = (kind, NEVER_TRAINED) if kind in HELD_OUT else (kind,)
        _count(tally, names, Labelled(f"{kind} {number}", volume, ()), ensemble)
    kinds = (*ODDITIES, *HELD_OUT, NEVER_TRAINED) if bodiless else ()
    return [
        {"change": name, **tally.share(f"{name}: {what}"), "what": what}
        for name in (*CHANGES, *kinds)
        for what in COUNTED
    ]


def without_a_body(each: int, seed: int) -> Iterator[tuple[str, int, Volume]]:
    """(kind, number, volume): `each` of every one of ODDITIES and of the kinds of things held
    out."""
    for at, kind in enumerate(ODDITIES):
        for number in range(each):
            yield kind, number, oddity(kind, np.random.default_rng([seed, at, number]))
    for at, kind in enumerate(HELD_OUT):
        for number in range(each):
            rng = np.random.default_rng([STRANGERS + seed, at, number])
            yield kind, number, thing_volume(kind, PLANES[number % len(PLANES)], rng)


def _count(tally: Tally, names: tuple[str, ...], seen: Labelled, ensemble: Ensemble) -> None:
    """Counts what the ensemble answers on a volume under these names; one that cannot be cut is not
    answered surely."""

    def add(what: str, so: int, of: int = 1) -> None:
        for name in names:
            tally.add(f"{name}: {what}", seen.subject, so, of)

    try:
        stack = cut(seen.volume, target_spacing_mm=float(ensemble.prepare["target_spacing_mm"]))
    except VolumeError:
        for what in (SHOWN, SURE, WRONG):
            add(what, so=False)
        return
    answer = ensemble.judge.answer(names[0], "", ensemble.outputs_on(stack), stack)
    decision, sure = answer.decision, answer.are_extents_sure
    assert decision is not None  # only a refused volume has none
    add(SHOWN, any(one.answer == YES for one in answer.statements))
    add(SURE, sure)
    add(WRONG, sure and not is_right({span.region for span in decision.spans}, seen.shows, stack))
    if seen.shows is None:
        return
    shown = truth_at(
        stack.z_mm, stack.middle, len(stack.z_mm), inside(seen.shows, stack), ensemble.vocabulary
    )
    add(DECIDED, sum(one.is_sure for one in answer.statements), len(answer.statements))
    add(DECIDED_WRONGLY, *_wrong(answer.statements, seen.shows, stack))
    rightly = np.any(decision.decided & shown, axis=1)
    add(SLICES, int(rightly.sum()), len(shown))
    for below, above, mm in borders(seen.shows, stack, ensemble.vocabulary):
        found = [one.mm for one in decision.boundaries if (one.below, one.above) == (below, above)]
        add(BORDERS, any(abs(at - mm) <= BORDER_MM for at in found))


def _wrong(
    made: Sequence[Statement], shows: Sequence[RegionRow], stack: SliceStack
) -> tuple[int, int]:
    """How many of the statements that are sure are wrong, and how many are sure, of regions of
    which SHOWN_MM are in the picture, or nothing."""
    extents_mm = {row.region: row.last - row.first for row in inside(shows, stack)}
    clear = [
        one for one in made if one.is_sure and not 0 < extents_mm.get(one.region, 0) < SHOWN_MM
    ]
    return sum((one.answer == YES) != (one.region in extents_mm) for one in clear), len(clear)


def inside(shows: Sequence[RegionRow], stack: SliceStack) -> list[RegionRow]:
    """The regions of which a part is in the picture, cut off where it ends."""
    low, high = stack.edges_mm[0], stack.edges_mm[-1]
    within = [replace(row, first=max(row.first, low), last=min(row.last, high)) for row in shows]
    return [row for row in within if row.first < row.last]


def is_right(named: set[str], shows: Sequence[RegionRow] | None, stack: SliceStack) -> bool:
    """Whether these regions, and no others, are said to be in the picture; either is right of one
    that hardly is."""
    if shows is None:
        return False
    extents_mm = {row.region: row.last - row.first for row in inside(shows, stack)}
    return (
        {region for region, mm in extents_mm.items() if mm >= SHOWN_MM}
        <= named
        <= extents_mm.keys()
    )


def borders(
    shows: Sequence[RegionRow], stack: SliceStack, vocabulary: Vocabulary
) -> Iterator[tuple[str, str, float]]:
    """The regions below and above each border that has MARGIN_MM of picture on either side, and its
    height in mm."""
    low, high = stack.edges_mm[0] + MARGIN_MM, stack.edges_mm[-1] - MARGIN_MM
    chain = sorted(
        (row for row in shows if row.region in vocabulary.chain), key=lambda row: row.first
    )
    for below, above in pairwise(chain):
        mm = (below.last + above.first) / 2
        if low <= mm <= high and abs(above.first - below.last) <= BORDER_MM:
            yield below.region, above.region, mm
