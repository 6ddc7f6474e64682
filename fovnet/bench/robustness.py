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
from fovnet.bench.shares import PersonTally
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.statements import YES, Statement
from fovnet.errors import CollectionError, FovnetError, VolumeError
from fovnet.phantom.acquisition.families import choose_families
from fovnet.phantom.acquisition.protocols import SITES, draw_plan
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.bodiless.kinds import HELD_OUT
from fovnet.phantom.bodiless.scans import PLANES, thing_volume
from fovnet.phantom.collection import acquire_volume
from fovnet.phantom.oddities import ODDITIES, oddity
from fovnet.phantom.person.traits import sample_person
from fovnet.regions import NONE, Vocabulary
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.collection.truth import refuse_beyond, truth_at
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
SURE = "nothing doubted"
WRONG = "nothing doubted and wrong"
SLICES = "slices named rightly"
BORDERS = "borders within 10 mm"
DECIDED = "regions decided"
DECIDED_WRONGLY = "regions decided and wrong"
SHOWN = "a region surely shown"
COUNTED = (DECIDED, DECIDED_WRONGLY, SHOWN, SURE, WRONG, SLICES, BORDERS)
STRANGERS = 1_000_003  # seed of people whom no collection holds; collections have small ones
BORDER_MM = 10.0  # a border this near is found
MARGIN_MM = 30.0  # of picture on either side of a border that is sought
SHOWN_MM = 10.0  # of a region must be in the picture for it to be missed
FALL = 2.0
"""Logarithm of a coil's gain: from e^-4 of the brightness at one side to all of it at the other."""
DARKER = 20.0
AIR = 0.07  # of the window: what is darker is noise in a map of the body
LEAST = 0.4  # share of the slices that stay when a part is cut away


@dataclass(frozen=True, eq=False)
class LabelledScan:
    """A volume, its axes RAS+, and what it shows.

    regions  in millimetres; None: no answer about it is right, as it is turned or in disorder
    """

    subject: str
    volume: Volume
    regions: tuple[RegionRow, ...] | None


Change = Callable[[LabelledScan, np.random.Generator], LabelledScan]


def people(count: int, seed: int) -> list[Callable[[], LabelledScan]]:
    """Makers of so many simulated people of no collection, a volume each."""
    return [partial(stranger, seed, number) for number in range(count)]


def stranger(seed: int, number: int) -> LabelledScan:
    """One volume of a simulated person of no collection."""
    rng = np.random.default_rng([STRANGERS + seed, number, 1])
    person = sample_person((STRANGERS + seed, number))
    site = SITES[int(rng.integers(len(SITES)))]
    (family,) = choose_families(1, rng)
    plan = draw_plan(person, landmarks(person), family, site, rng)
    volume, rows = acquire_volume(person, plan, rng)
    regions = []
    for row in rows:
        in_mm = "from_mm" in row
        first, last = ("from_mm", "to_mm") if in_mm else ("first_slice", "last_slice")
        regions.append(RegionRow("", row["region"], float(row[first]), float(row[last]), in_mm))
    return _label(f"person {number}", volume, regions)


def of_collection(tables: Path, vocabulary: Vocabulary) -> list[Callable[[], LabelledScan]]:
    """Readers of the labelled volumes of a collection; one raises VolumeError for a file that
    cannot be read, and CollectionError "collection-slices" for labels beyond its slices.

    Raises CollectionError as `read_collection`, and "bench-unlabelled" where no volume has labels.
    """
    collection = read_collection(tables, vocabulary)
    readers: list[Callable[[], LabelledScan]] = [
        partial(_read, row, regions)
        for row in collection.volumes
        if (regions := collection.regions.get(row.volume_id))
    ]
    if not readers:
        raise CollectionError(
            "bench-unlabelled",
            f"{collection.path}: none of {len(collection.volumes)} volumes has rows in "
            "regions.tsv; label some, or leave --collection out.",
        )
    return readers


def _read(row: VolumeRow, regions: Sequence[RegionRow]) -> LabelledScan:
    return _label(row.subject_id, source.read(row.path), regions)


def _label(subject: str, stored: Volume, regions: Sequence[RegionRow]) -> LabelledScan:
    """The volume with axes RAS+, its regions in millimetres."""
    volume = to_ras(stored)
    z_mm = volume.slice_heights_mm() if volume.counted_z_mm is None else volume.counted_z_mm
    half_mm = abs(float(np.median(np.diff(z_mm)))) / 2 if len(z_mm) > 1 else 0.0
    rows = []
    for row in regions:
        refuse_beyond(row, len(z_mm))
        if row.region == NONE:
            continue
        if not row.in_mm:
            first_mm = z_mm[int(row.first)] - half_mm
            last_mm = z_mm[int(row.last)] + half_mm
            row = replace(row, first=first_mm, last=last_mm, in_mm=True)
        rows.append(row)
    return LabelledScan(subject, volume, tuple(rows))


def keep(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume as it is."""
    return labelled


def crop(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume without some of its slices at either end."""
    volume = labelled.volume
    slices = volume.voxels.shape[2]
    count = int(rng.integers(int(np.ceil(LEAST * slices)), slices + 1))
    first = int(rng.integers(slices - count + 1))
    vox_to_ras = volume.vox_to_ras.copy()
    vox_to_ras[:, 3] += first * vox_to_ras[:, 2]
    voxels = volume.voxels[:, :, first : first + count]
    part = replace(volume, voxels=voxels, vox_to_ras=vox_to_ras, counted_z_mm=None)
    return replace(labelled, volume=part)


def darken_one_side(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume in a coil that lies on one side: times exp(FALL · u), u from -1 to 1 along a
    direction across the body."""
    angle = rng.uniform(0, 2 * np.pi)
    right, front = (np.linspace(-1.0, 1.0, size) for size in labelled.volume.voxels.shape[:2])
    u = np.cos(angle) * right[:, None] + np.sin(angle) * front
    gain = np.exp(FALL * u).astype(np.float32)[..., None]
    return _with_voxels(labelled, labelled.volume.voxels * gain)


def raise_to_power(gamma: float) -> Change:
    """The change that raises grey levels, black 0 and white 1, to this power."""

    def change(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
        voxels = labelled.volume.voxels
        black, white = window(voxels)
        grey = np.maximum((voxels - black) / (white - black), 0.0)
        return _with_voxels(labelled, (grey ** np.float32(gamma)).astype(np.float32))

    return change


def darken_lower_half(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume, its lower half DARKER times darker: stations put together without matching their
    brightness."""
    voxels = labelled.volume.voxels.copy()
    voxels[:, :, : voxels.shape[2] // 2] /= DARKER
    return _with_voxels(labelled, voxels)


def surround_with_noise(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume as a map computed without a mask: where there is no signal, noise, uniform over
    the window."""
    voxels = labelled.volume.voxels
    black, white = window(voxels)
    air = ndimage.uniform_filter(voxels, 3) < black + AIR * (white - black)
    noise = rng.uniform(black, white, voxels.shape).astype(np.float32)
    return _with_voxels(labelled, np.where(air, noise, voxels))


def turn_upside_down(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The body turned head to feet, as by a header that is wrong by half a turn about the
    front-back axis."""
    turned = _with_voxels(labelled, labelled.volume.voxels[::-1, :, ::-1])
    return replace(turned, regions=None)


def swap_axes(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The body lying along the left-right or the front-back axis, as by a header that is wrong by a
    quarter turn."""
    axes = [(0, 2, 1), (2, 1, 0)][int(rng.integers(2))]
    volume = labelled.volume
    voxels = volume.voxels.transpose(axes)[:, ::-1]  # a swap of two axes is a mirror image
    vox_to_ras = np.diag([*volume.spacing_mm[list(axes)], 1.0])
    vox_to_ras[:3, 3] = -vox_to_ras.diagonal()[:3] * (np.array(voxels.shape) - 1) / 2
    turned = replace(volume, voxels=voxels, vox_to_ras=vox_to_ras, counted_z_mm=None)
    return replace(labelled, volume=turned, regions=None)


def shuffle(labelled: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume with its slices in random order."""
    order = rng.permutation(labelled.volume.voxels.shape[2])
    shuffled = _with_voxels(labelled, labelled.volume.voxels[:, :, order])
    return replace(shuffled, regions=None)


def _with_voxels(labelled: LabelledScan, voxels: Voxels) -> LabelledScan:
    return replace(labelled, volume=replace(labelled.volume, voxels=voxels))


CHANGES: Mapping[str, Change] = {
    "as it is": keep,
    "a part of it": crop,
    "darker to one side": darken_one_side,
    "less contrast": raise_to_power(0.6),
    "more contrast": raise_to_power(1.6),
    "lower half 20 times darker": darken_lower_half,
    "in air of bright noise": surround_with_noise,
    "upside down": turn_upside_down,
    "along another axis": swap_axes,
    "slices shuffled": shuffle,
}


def robustness(
    ensemble: Ensemble,
    volumes: Sequence[Callable[[], LabelledScan]],
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
    tally = PersonTally()
    for number, make in enumerate(volumes):
        try:
            labelled = make()
        except FovnetError as fault:
            log(f"left out: {fault.sentence} [{fault.code}]")
            continue
        for change_number, (name, change) in enumerate(CHANGES.items()):
            rng = np.random.default_rng([seed, change_number, number])
            _count_answer(tally, (name,), change(labelled, rng), ensemble)
        if progress:
            progress(number + 1, len(volumes))
    for kind, number, volume in without_a_body(bodiless, seed):
        names = (kind, NEVER_TRAINED) if kind in HELD_OUT else (kind,)
        _count_answer(tally, names, LabelledScan(f"{kind} {number}", volume, ()), ensemble)
    kinds = (*ODDITIES, *HELD_OUT, NEVER_TRAINED) if bodiless else ()
    return [
        {"change": name, **tally.share(f"{name}: {what}"), "what": what}
        for name in (*CHANGES, *kinds)
        for what in COUNTED
    ]


def without_a_body(count: int, seed: int) -> Iterator[tuple[str, int, Volume]]:
    """(kind, number, volume): `count` of every one of ODDITIES and of the kinds of things held
    out."""
    for kind_number, kind in enumerate(ODDITIES):
        for number in range(count):
            yield kind, number, oddity(kind, np.random.default_rng([seed, kind_number, number]))
    for kind_number, kind in enumerate(HELD_OUT):
        for number in range(count):
            rng = np.random.default_rng([STRANGERS + seed, kind_number, number])
            yield kind, number, thing_volume(kind, PLANES[number % len(PLANES)], rng)


def _count_answer(
    tally: PersonTally, names: tuple[str, ...], labelled: LabelledScan, ensemble: Ensemble
) -> None:
    """Counts what the ensemble answers on a volume under these names; one that cannot be cut is not
    answered surely."""

    def add(what: str, count: int, total: int = 1) -> None:
        for name in names:
            tally.add(f"{name}: {what}", labelled.subject, count, total)

    spacing_mm = float(ensemble.prepare["target_spacing_mm"])
    try:
        stack = cut(labelled.volume, target_spacing_mm=spacing_mm)
    except VolumeError:
        for what in (SHOWN, SURE, WRONG):
            add(what, count=False)
        return
    answer = ensemble.judge.answer(names[0], "", ensemble.outputs_on(stack), stack)
    decision = answer.decision
    assert decision is not None  # only a refused volume has none
    is_sure = answer.are_extents_sure
    regions = {span.region for span in decision.spans}
    add(SHOWN, any(statement.answer == YES for statement in answer.statements))
    add(SURE, is_sure)
    add(WRONG, is_sure and not is_right(regions, labelled.regions, stack))
    if labelled.regions is None:
        return
    truth = truth_at(
        stack.z_mm,
        stack.middle,
        len(stack.z_mm),
        inside(labelled.regions, stack),
        ensemble.vocabulary,
    )
    add(DECIDED, sum(statement.is_sure for statement in answer.statements), len(answer.statements))
    add(DECIDED_WRONGLY, *_wrong_statements(answer.statements, labelled.regions, stack))
    slice_is_right = np.any(decision.decided & truth, axis=1)
    add(SLICES, int(slice_is_right.sum()), len(truth))
    for below, above, mm in borders(labelled.regions, stack, ensemble.vocabulary):
        distances_mm = [
            abs(boundary.mm - mm)
            for boundary in decision.boundaries
            if (boundary.below, boundary.above) == (below, above)
        ]
        add(BORDERS, any(distance_mm <= BORDER_MM for distance_mm in distances_mm))


def _wrong_statements(
    statements: Sequence[Statement], regions: Sequence[RegionRow], stack: SliceStack
) -> tuple[int, int]:
    """How many of the statements that are sure are wrong, and how many are sure, of regions of
    which SHOWN_MM are in the picture, or nothing."""
    extents_mm = {row.region: row.last - row.first for row in inside(regions, stack)}
    clear = [
        statement
        for statement in statements
        if statement.is_sure and not 0 < extents_mm.get(statement.region, 0) < SHOWN_MM
    ]
    wrong = sum(
        (statement.answer == YES) != (statement.region in extents_mm) for statement in clear
    )
    return wrong, len(clear)


def inside(regions: Sequence[RegionRow], stack: SliceStack) -> list[RegionRow]:
    """The regions of which a part is in the picture, cut off where it ends."""
    low = stack.edges_mm[0]
    high = stack.edges_mm[-1]
    rows = [replace(row, first=max(row.first, low), last=min(row.last, high)) for row in regions]
    return [row for row in rows if row.first < row.last]


def is_right(named: set[str], regions: Sequence[RegionRow] | None, stack: SliceStack) -> bool:
    """Whether these regions, and no others, are said to be in the picture; either is right of one
    that hardly is."""
    if regions is None:
        return False
    extents_mm = {row.region: row.last - row.first for row in inside(regions, stack)}
    return (
        {region for region, mm in extents_mm.items() if mm >= SHOWN_MM}
        <= named
        <= extents_mm.keys()
    )


def borders(
    regions: Sequence[RegionRow], stack: SliceStack, vocabulary: Vocabulary
) -> Iterator[tuple[str, str, float]]:
    """The regions below and above each border that has MARGIN_MM of picture on either side, and its
    height in mm."""
    low = stack.edges_mm[0] + MARGIN_MM
    high = stack.edges_mm[-1] - MARGIN_MM
    chain = sorted(
        (row for row in regions if row.region in vocabulary.chain), key=lambda row: row.first
    )
    for below, above in pairwise(chain):
        mm = (below.last + above.first) / 2
        if low <= mm <= high and abs(above.first - below.last) <= BORDER_MM:
            yield below.region, above.region, mm
