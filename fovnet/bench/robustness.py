"""Whether answers stay right when a volume is changed, and whether what cannot be answered is
doubted.

A volume is changed before it is cut into slices, and then answered as any other: its coils and
contrast differ, a part of it is missing or dark, noise surrounds it, its header turns it, its
slices are in the wrong order. Volumes without a body are shown beside them, among them things of
kinds that no collection holds: NEVER_TRAINED counts these together.  Simulated people have another
seed than any collection, so that no network was trained on them.
"""

from __future__ import annotations

from collections import defaultdict
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
from fovnet.decision.answer import Answer
from fovnet.decision.ensemble import Ensemble
from fovnet.decision.statements import YES, Statement
from fovnet.errors import CollectionError, FovnetError, VolumeError
from fovnet.phantom.acquisition.field_kinds import ScanRequest, choose_field_kinds
from fovnet.phantom.acquisition.measured_fields import BLADDER_FIELD, draw_measured_plan
from fovnet.phantom.acquisition.protocols import SITES, Plan, draw_plan
from fovnet.phantom.anatomy.body import landmarks
from fovnet.phantom.bodiless.kinds import HELD_OUT
from fovnet.phantom.bodiless.noise import PURE_NOISE, make_noise_volume
from fovnet.phantom.bodiless.scans import PLANES, make_thing_volume
from fovnet.phantom.collection import acquire_volume
from fovnet.phantom.oddities import ODDITIES, make_oddity
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.regions import NONE, Vocabulary
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.collection.tables import read_collection
from fovnet.volume.collection.truth import find_classes_at_heights, refuse_row_beyond_volume
from fovnet.volume.intensity import estimate_window
from fovnet.volume.orient import to_ras
from fovnet.volume.slices.stack import SliceStack, Slicing, cut_slices
from fovnet.volume.sources import source
from fovnet.volume.volume import Volume

Voxels = NDArray[np.float32]
COLUMNS = ("change", *shares.COLUMNS)
NEVER_TRAINED = "things of kinds never trained on"
"""The row of all of `bodiless.kinds.HELD_OUT`: of how many nothing is doubted, and how many surely
show a region."""
NOTHING_DOUBTED = "nothing doubted"
NOTHING_DOUBTED_AND_WRONG = "nothing doubted and wrong"
SLICES_NAMED_RIGHTLY = "slices named rightly"
BORDERS_FOUND = "borders within 10 mm"
REGIONS_DECIDED = "regions decided"
REGIONS_DECIDED_WRONGLY = "regions decided and wrong"
REGION_SURELY_SHOWN = "a region surely shown"
COUNTED_THINGS = (
    REGIONS_DECIDED,
    REGIONS_DECIDED_WRONGLY,
    REGION_SURELY_SHOWN,
    NOTHING_DOUBTED,
    NOTHING_DOUBTED_AND_WRONG,
    SLICES_NAMED_RIGHTLY,
    BORDERS_FOUND,
)
SEED_OF_STRANGERS = 1_000_003  # of people whom no collection holds; collections have small ones
FIRST_OF_BOXES = 500_000  # number of the first person of whom a box about the bladder is made
LARGEST_BORDER_ERROR_MM = 10.0  # a border this near is found
MARGIN_MM = 30.0  # of picture on either side of a border that is sought
LEAST_SHOWN_MM = 10.0  # of a region that must be in the picture for it to be missed
COIL_GAIN_EXPONENT = 2.0
"""Logarithm of a coil's gain: from e^-4 of the brightness at one side to all of it at the other."""
DARKENING_FACTOR = 20.0
# orders of axes: head to feet becomes front-back, or left-right
TURNED_AXES = ((0, 2, 1), (2, 1, 0))
AIR_LEVEL = 0.07  # of the window: what is darker is noise in a map of the body
LEAST_KEPT_SHARE = 0.4  # share of the slices that stay when a part is cut away


@dataclass(frozen=True, eq=False)
class LabelledScan:
    """A volume, its axes RAS+, and what it shows.

    regions  in millimetres; None: no answer about it is right, as it is turned or in disorder
    """

    subject: str
    volume: Volume
    regions: tuple[RegionRow, ...] | None


Change = Callable[[LabelledScan, np.random.Generator], LabelledScan]


def simulate_people(count: int, seed: int) -> list[Callable[[], LabelledScan]]:
    """A function for each of so many simulated people of no collection, which makes one volume."""
    return [partial(simulate_stranger, seed, person_number) for person_number in range(count)]


def simulate_stranger(seed: int, person_number: int) -> LabelledScan:
    """One volume of a simulated person of no collection."""
    generator = np.random.default_rng([SEED_OF_STRANGERS + seed, person_number, 1])
    person = sample_person((SEED_OF_STRANGERS + seed, person_number))
    site = SITES[int(generator.integers(len(SITES)))]
    (field_kind,) = choose_field_kinds(1, generator)
    plan = draw_plan(person, landmarks(person), field_kind, site, generator)
    return _scan_person(f"person {person_number}", person, plan, generator)


def simulate_bladder_box(seed: int, person_number: int) -> LabelledScan:
    """A small box about the bladder of a simulated person of no collection, in which little else
    shines."""
    generator = np.random.default_rng([SEED_OF_STRANGERS + seed, person_number, 2])
    person = sample_person((SEED_OF_STRANGERS + seed, FIRST_OF_BOXES + person_number))
    marks = landmarks(person)
    site = SITES[int(generator.integers(len(SITES)))]
    request = ScanRequest(person, marks, 1, frozenset())
    plan = draw_measured_plan(BLADDER_FIELD, site, request, generator)
    return _scan_person(f"box {person_number}", person, plan, generator)


def _scan_person(
    subject: str, person: Person, plan: Plan, generator: np.random.Generator
) -> LabelledScan:
    """The volume of a person as planned, and what it shows."""
    volume, label_rows = acquire_volume(person, plan, generator)
    regions = []
    for label_row in label_rows:
        in_mm = "from_mm" in label_row
        if in_mm:
            first = float(label_row["from_mm"])
            last = float(label_row["to_mm"])
        else:
            first = float(label_row["first_slice"])
            last = float(label_row["last_slice"])
        regions.append(
            RegionRow(
                volume_id="",
                region=label_row["region"],
                range_start=first,
                range_end=last,
                in_mm=in_mm,
            )
        )
    return _scan_with_regions_in_mm(subject, volume, regions)


def read_scans(tables: Path, vocabulary: Vocabulary) -> list[Callable[[], LabelledScan]]:
    """A function for each labelled volume of a collection, which reads it; that raises VolumeError
    for a file that cannot be read, and CollectionError "collection-slices" for labels beyond its
    slices.

    Raises CollectionError as `read_collection`, and "bench-unlabelled" where no volume has labels.
    """
    collection = read_collection(tables, vocabulary)
    readers: list[Callable[[], LabelledScan]] = []
    for volume_row in collection.volume_rows:
        regions = collection.region_rows_by_volume.get(volume_row.volume_id)
        if regions:
            readers.append(partial(_read_scan, volume_row, regions))
    if not readers:
        raise CollectionError(
            "bench-unlabelled",
            f"{collection.table_path}: none of {len(collection.volume_rows)} volumes has rows in "
            "regions.tsv; label some, or leave --collection out.",
        )
    return readers


def _read_scan(row: VolumeRow, regions: Sequence[RegionRow]) -> LabelledScan:
    return _scan_with_regions_in_mm(row.subject_id, source.read(row.path), regions)


def _scan_with_regions_in_mm(
    subject: str, stored_volume: Volume, regions: Sequence[RegionRow]
) -> LabelledScan:
    """The volume with axes RAS+, its regions in millimetres."""
    volume = to_ras(stored_volume)
    z_mm = volume.label_slice_z_mm
    if z_mm is None:
        z_mm = volume.slice_heights_mm()
    half_step_mm = 0.0
    if len(z_mm) > 1:
        half_step_mm = abs(float(np.median(np.diff(z_mm)))) / 2
    rows_in_mm = []
    for region_row in regions:
        refuse_row_beyond_volume(region_row, len(z_mm))
        if region_row.region == NONE:
            continue
        if not region_row.in_mm:
            first_mm = z_mm[int(region_row.range_start)] - half_step_mm
            last_mm = z_mm[int(region_row.range_end)] + half_step_mm
            region_row = replace(region_row, range_start=first_mm, range_end=last_mm, in_mm=True)
        rows_in_mm.append(region_row)
    return LabelledScan(subject, volume, tuple(rows_in_mm))


def keep(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume as it is."""
    return scan


def crop(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume without some of its slices at either end."""
    volume = scan.volume
    slice_count = volume.voxels.shape[2]
    kept_count = int(rng.integers(int(np.ceil(LEAST_KEPT_SHARE * slice_count)), slice_count + 1))
    first_kept = int(rng.integers(slice_count - kept_count + 1))
    vox_to_ras = volume.vox_to_ras.copy()
    vox_to_ras[:, 3] += first_kept * vox_to_ras[:, 2]
    voxels = volume.voxels[:, :, first_kept : first_kept + kept_count]
    cropped_volume = replace(volume, voxels=voxels, vox_to_ras=vox_to_ras, label_slice_z_mm=None)
    return replace(scan, volume=cropped_volume)


def darken_one_side(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume in a coil that lies on one side: times
    exp(COIL_GAIN_EXPONENT · position), which runs from -1 to 1 along a direction across the
    body."""
    direction_angle = rng.uniform(0, 2 * np.pi)
    right_count, front_count, _ = scan.volume.voxels.shape
    right_positions = np.linspace(-1.0, 1.0, right_count)
    front_positions = np.linspace(-1.0, 1.0, front_count)
    position_across = (
        np.cos(direction_angle) * right_positions[:, None]
        + np.sin(direction_angle) * front_positions
    )
    gain = np.exp(COIL_GAIN_EXPONENT * position_across).astype(np.float32)[..., None]
    return _with_voxels(scan, scan.volume.voxels * gain)


def raise_to_power(gamma: float) -> Change:
    """The change that raises grey levels, black 0 and white 1, to this power."""

    def change(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
        voxels = scan.volume.voxels
        black_value, white_value = estimate_window(voxels)
        grey_levels = np.maximum((voxels - black_value) / (white_value - black_value), 0.0)
        return _with_voxels(scan, (grey_levels ** np.float32(gamma)).astype(np.float32))

    return change


def darken_lower_half(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume, its lower half DARKENING_FACTOR times darker: stations put together
    without matching their brightness."""
    voxels = scan.volume.voxels.copy()
    voxels[:, :, : voxels.shape[2] // 2] /= DARKENING_FACTOR
    return _with_voxels(scan, voxels)


def surround_with_noise(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume as a map computed without a mask: where there is no signal, noise, uniform over
    the window."""
    voxels = scan.volume.voxels
    black_value, white_value = estimate_window(voxels)
    is_air = ndimage.uniform_filter(voxels, 3) < black_value + AIR_LEVEL * (
        white_value - black_value
    )
    uniform_noise = rng.uniform(black_value, white_value, voxels.shape).astype(np.float32)
    return _with_voxels(scan, np.where(is_air, uniform_noise, voxels))


def turn_upside_down(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The body turned head to feet, as by a header that is wrong by half a turn about the
    front-back axis."""
    turned_scan = _with_voxels(scan, scan.volume.voxels[::-1, :, ::-1])
    return replace(turned_scan, regions=None)


def swap_axes(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The body lying along the left-right or the front-back axis, as by a header that is wrong by a
    quarter turn."""
    axis_order = TURNED_AXES[int(rng.integers(2))]
    volume = scan.volume
    voxels = volume.voxels.transpose(axis_order)[:, ::-1]  # a swap of two axes is a mirror image
    vox_to_ras = np.diag([*volume.spacing_mm[list(axis_order)], 1.0])
    vox_to_ras[:3, 3] = -vox_to_ras.diagonal()[:3] * (np.array(voxels.shape) - 1) / 2
    turned_volume = replace(volume, voxels=voxels, vox_to_ras=vox_to_ras, label_slice_z_mm=None)
    return replace(scan, volume=turned_volume, regions=None)


def shuffle(scan: LabelledScan, rng: np.random.Generator) -> LabelledScan:
    """The volume with its slices in random order."""
    order = rng.permutation(scan.volume.voxels.shape[2])
    shuffled_scan = _with_voxels(scan, scan.volume.voxels[:, :, order])
    return replace(shuffled_scan, regions=None)


def _with_voxels(scan: LabelledScan, voxels: Voxels) -> LabelledScan:
    return replace(scan, volume=replace(scan.volume, voxels=voxels))


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


def measure_robustness(
    ensemble: Ensemble,
    volumes: Sequence[Callable[[], LabelledScan]],
    *,
    seed: int,
    bodiless_count: int = 0,
    progress: Callable[[int, int], Any] | None = None,
    log: Callable[[str], None] = lambda line: None,
) -> list[dict[str, Any]]:
    """A row of COLUMNS for each change, or kind of volume without a body, and each of COUNTED_THINGS.

    volumes         functions that make or read one volume each
    seed            of the changes, and of the volumes without a body
    bodiless_count  of each kind without a body, and of boxes in which the bladder alone shines;
                    NEVER_TRAINED counts those of kinds held out again

    An answer of which nothing is doubted is wrong if it misses a region of which LEAST_SHOWN_MM are
    in the picture, or names one that is not in it; a region decided, if it is not as that has it.
    Volumes whose regions are not known count in NOTHING_DOUBTED, NOTHING_DOUBTED_AND_WRONG and
    REGION_SURELY_SHOWN alone.  `log` gets a sentence on each volume that cannot be read, which is
    left out.
    """
    tally = PersonTally()
    for volume_number, make_volume in enumerate(volumes):
        try:
            scan = make_volume()
        except FovnetError as fault:
            log(f"left out: {fault.sentence} [{fault.code}]")
            continue
        for change_number, (change_name, change) in enumerate(CHANGES.items()):
            generator = np.random.default_rng([seed, change_number, volume_number])
            _tally_answer(tally, (change_name,), change(scan, generator), ensemble)
        if progress:
            progress(volume_number + 1, len(volumes))
    for kind, volume_number, volume in simulate_bodiless(bodiless_count, seed):
        row_names: tuple[str, ...] = (kind,)
        if kind in HELD_OUT:
            row_names = (kind, NEVER_TRAINED)
        scan_without_regions = LabelledScan(f"{kind} {volume_number}", volume, ())
        _tally_answer(tally, row_names, scan_without_regions, ensemble)
    for box_number in range(bodiless_count):
        scan = simulate_bladder_box(seed, box_number)
        _tally_answer(tally, (BLADDER_FIELD,), scan, ensemble)
    doubtful_kinds: tuple[str, ...] = ()
    if bodiless_count:
        doubtful_kinds = (*ODDITIES, PURE_NOISE, *HELD_OUT, NEVER_TRAINED, BLADDER_FIELD)
    return [
        {
            "change": change_name,
            **tally.share(f"{change_name}: {counted_name}"),
            "what": counted_name,
        }
        for change_name in (*CHANGES, *doubtful_kinds)
        for counted_name in COUNTED_THINGS
    ]


def simulate_bodiless(count: int, seed: int) -> Iterator[tuple[str, int, Volume]]:
    """(kind, number, volume): `count` of every one of ODDITIES, of PURE_NOISE and of the kinds of
    things held out."""
    for kind_number, kind in enumerate(ODDITIES):
        for copy_number in range(count):
            generator = np.random.default_rng([seed, kind_number, copy_number])
            yield kind, copy_number, make_oddity(kind, generator)
    for copy_number in range(count):
        generator = np.random.default_rng([seed, len(ODDITIES), copy_number, 1])
        yield PURE_NOISE, copy_number, make_noise_volume(generator)
    for kind_number, kind in enumerate(HELD_OUT):
        for copy_number in range(count):
            generator = np.random.default_rng([SEED_OF_STRANGERS + seed, kind_number, copy_number])
            plane = PLANES[copy_number % len(PLANES)]
            yield kind, copy_number, make_thing_volume(kind, plane, generator)


def _tally_answer(
    tally: PersonTally, row_names: tuple[str, ...], scan: LabelledScan, ensemble: Ensemble
) -> None:
    """Adds the counts of COUNTED_THINGS for the answer on one volume to rows with these names; one that
    cannot be cut counts as not answered surely."""

    def add_to_all_rows(counted_name: str, count: int, total: int = 1) -> None:
        for row_name in row_names:
            tally.add(f"{row_name}: {counted_name}", scan.subject, count, total)

    slicing = Slicing(**ensemble.slicing_settings)
    try:
        stack = cut_slices(
            scan.volume,
            target_spacing_mm=slicing.target_spacing_mm,
            even_light=slicing.even_light,
        )
    except VolumeError:
        for counted_name in (REGION_SURELY_SHOWN, NOTHING_DOUBTED, NOTHING_DOUBTED_AND_WRONG):
            add_to_all_rows(counted_name, count=0)
        return
    answer = ensemble.judge.answer(row_names[0], "", ensemble.compute_volume_outputs(stack), stack)
    decision = answer.decision
    assert decision is not None  # only a refused volume has none
    is_sure = answer.are_extents_sure
    named_regions = {span.region for span in decision.spans}
    add_to_all_rows(
        REGION_SURELY_SHOWN, any(statement.answer == YES for statement in answer.statements)
    )
    add_to_all_rows(NOTHING_DOUBTED, is_sure)
    add_to_all_rows(
        NOTHING_DOUBTED_AND_WRONG,
        is_sure and not names_right_regions(named_regions, scan.regions, stack),
    )
    if scan.regions is None:
        return
    true_classes = find_classes_at_heights(
        stack.z_mm,
        stack.middle_slices,
        len(stack.z_mm),
        regions_in_picture(scan.regions, stack),
        ensemble.vocabulary,
    )
    add_to_all_rows(
        REGIONS_DECIDED,
        sum(statement.is_sure for statement in answer.statements),
        len(answer.statements),
    )
    add_to_all_rows(
        REGIONS_DECIDED_WRONGLY, *_wrong_statements(answer.statements, scan.regions, stack)
    )
    is_slice_right = np.any(decision.decided_labels & true_classes, axis=1)
    add_to_all_rows(SLICES_NAMED_RIGHTLY, int(is_slice_right.sum()), len(true_classes))
    for border in borders_in_picture(scan.regions, stack, ensemble.vocabulary):
        add_to_all_rows(BORDERS_FOUND, _is_border_found(answer, border))


def _is_border_found(answer: Answer, border: tuple[str, str, float]) -> bool:
    """Whether the answer has a border within LARGEST_BORDER_ERROR_MM of a true one, which is told as
    the region below, the one above, and where."""
    assert answer.decision is not None
    below, above, border_mm = border
    return any(
        abs(boundary.mm - border_mm) <= LARGEST_BORDER_ERROR_MM
        for boundary in answer.decision.boundaries
        if (boundary.below, boundary.above) == (below, above)
    )


def _wrong_statements(
    statements: Sequence[Statement], regions: Sequence[RegionRow], stack: SliceStack
) -> tuple[int, int]:
    """(number of wrong ones, number of all) of the sure statements about regions of which
    LEAST_SHOWN_MM or more, or nothing, is in the picture."""
    extents_mm = _extents_in_picture(regions, stack)
    clear_statements = [
        statement
        for statement in statements
        if statement.is_sure and not 0 < extents_mm.get(statement.region, 0) < LEAST_SHOWN_MM
    ]
    wrong_count = sum(
        (statement.answer == YES) != (statement.region in extents_mm)
        for statement in clear_statements
    )
    return wrong_count, len(clear_statements)


def regions_in_picture(regions: Sequence[RegionRow], stack: SliceStack) -> list[RegionRow]:
    """The regions of which a part is in the picture, cut off where it ends."""
    lowest_mm = stack.edges_mm[0]
    highest_mm = stack.edges_mm[-1]
    cut_rows = [
        replace(
            region_row,
            range_start=max(region_row.range_start, lowest_mm),
            range_end=min(region_row.range_end, highest_mm),
        )
        for region_row in regions
    ]
    return [region_row for region_row in cut_rows if region_row.range_start < region_row.range_end]


def _extents_in_picture(regions: Sequence[RegionRow], stack: SliceStack) -> dict[str, float]:
    """{region: extent in mm} of what is in the picture of each region of which a part is; of one
    that several rows name, as where they name its parts, in all."""
    extents_mm: defaultdict[str, float] = defaultdict(float)
    for region_row in regions_in_picture(regions, stack):
        extents_mm[region_row.region] += region_row.range_end - region_row.range_start
    return extents_mm


def names_right_regions(
    named_regions: set[str], regions: Sequence[RegionRow] | None, stack: SliceStack
) -> bool:
    """Whether the named regions are those in the picture; of one that hardly is there, with less
    than LEAST_SHOWN_MM, either is right."""
    if regions is None:
        return False
    extents_mm = _extents_in_picture(regions, stack)
    well_shown_regions = {
        region for region, extent_mm in extents_mm.items() if extent_mm >= LEAST_SHOWN_MM
    }
    return well_shown_regions <= named_regions <= extents_mm.keys()


def borders_in_picture(
    regions: Sequence[RegionRow], stack: SliceStack, vocabulary: Vocabulary
) -> Iterator[tuple[str, str, float]]:
    """(region below, region above, height in mm) of each border that has MARGIN_MM of picture on
    either side."""
    lowest_mm = stack.edges_mm[0] + MARGIN_MM
    highest_mm = stack.edges_mm[-1] - MARGIN_MM
    rows_of_chain = sorted(
        (region_row for region_row in regions if region_row.region in vocabulary.chain),
        key=lambda region_row: region_row.range_start,
    )
    for lower_row, upper_row in pairwise(rows_of_chain):
        border_mm = (lower_row.range_end + upper_row.range_start) / 2
        gap_mm = abs(upper_row.range_start - lower_row.range_end)
        has_margins = lowest_mm <= border_mm <= highest_mm
        is_within_region = lower_row.region == upper_row.region
        if has_margins and gap_mm <= LARGEST_BORDER_ERROR_MM and not is_within_region:
            yield lower_row.region, upper_row.region, border_mm
