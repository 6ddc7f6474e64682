"""A simulated collection on disk: volumes/<volume_id>.nii.gz, volumes.tsv, and regions.tsv with the
true regions of every slice."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
from nibabel.orientations import apply_orientation, inv_ornt_aff
from numpy.typing import NDArray

from fovnet.errors import CollectionError
from fovnet.machine.locks import lock_folder
from fovnet.machine.parallel import run_in_order
from fovnet.machine.threads import one_thread
from fovnet.phantom.acquisition.field_kinds import choose_field_kinds
from fovnet.phantom.acquisition.limb_alone import draw_arm_plan, label_arms
from fovnet.phantom.acquisition.protocols import (
    RAS_AXES,
    SITES,
    Plan,
    Site,
    draw_plan,
    draw_stored_axes,
)
from fovnet.phantom.anatomy.body import Landmarks, label_volume, landmarks
from fovnet.phantom.bodiless.kinds import draw_kind
from fovnet.phantom.bodiless.noise import PURE_NOISE, make_noise_volume
from fovnet.phantom.bodiless.scans import PLANES, make_thing_volume
from fovnet.phantom.features import parse_features_left_out
from fovnet.phantom.finish.headers import (
    apply_claimed_header,
    find_only_region,
    to_claimed_axes,
)
from fovnet.phantom.finish.masks import (
    Processing,
    apply_processing,
    find_visible_voxels,
    process_slices,
)
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.oddities import BOTTLES, ODDITIES, make_oddity
from fovnet.phantom.one_scanner import LEFT_OUT_OF_BODIES, draw_scanner
from fovnet.phantom.person.traits import Person, sample_person
from fovnet.phantom.scanner.artefacts import fold_over
from fovnet.phantom.scanner.scan import LabelVolume, average_blocks, scan
from fovnet.phantom.scanner.tissues import AIR
from fovnet.phantom.variety import vary_plan
from fovnet.records import (
    clear_unfinished,
    read_json,
    read_tsv,
    replace_with,
    write_json,
    write_tsv,
)
from fovnet.regions import DEFAULT, NONE, WHOLE_BY_PART
from fovnet.volume.orient import MAX_TILT_DEG, measure_tilt_deg
from fovnet.volume.volume import Volume

VOLUME_COLUMNS = (
    "volume_id",
    "subject_id",
    "path",
    "site",
    "manufacturer",
    "field_strength",
    "sequence",
    "plane",
    "sex",
    "field_of_view",
)
REGION_COLUMNS = ("volume_id", "region", "first_slice", "last_slice", "from_mm", "to_mm")

OWN_LABELS = "own labels"  # field_of_view of scans of a user's segmentation
FORMER_TABLE = ".volumes.tsv.before"  # the former volumes.tsv while regions.tsv is replaced

GREY_LEVELS = 1000.0  # 99th percentile of a volume without a body
SLIVER_MM2 = 400.0
"""A slice with less body than this (a disc of 22 mm) is `none`: the very top of the head, the edge
of a heel."""

NO_BODY_EVERY = 3
"""On average one in this many subjects has a last volume without a body: mostly a bottle of water,
else noise or air.  All of its slices are `none`; networks trained with few bottles or none call one
in eight of them a head."""

ARM_EVERY = 4
"""On average one in this many volumes without a body shows an arm alone."""

BIN_MM = 2.0  # bin width of the heights at which the regions of a tilted volume are determined

Row = dict[str, Any]


def simulate_collection(
    out: Path,
    *,
    subjects: int,
    volumes_per_subject: int = 3,
    seed: int = 0,
    workers: int = 1,
    without: Iterable[str] = (),
    scanner: int | None = None,
    chain: tuple[str, ...] = DEFAULT.chain,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """`out`/volumes.tsv of a simulated collection: `subjects` people, each seen in
    `volumes_per_subject` different fields of view.

    Person k depends on (seed, k) alone, so a larger collection contains a smaller one, and the
    bytes do not depend on `workers`. Volumes left by an earlier run with the same seed are not
    simulated again; earlier tables are deleted first, new ones written last. `without` names
    features not to vary (`fovnet.phantom.features`): a volume that the feature does not affect
    keeps its bytes. With `scanner`, the seed of one, all bodies are imaged on it (`one_scanner`).
    `chain` names the regions to label, feet to head, of NINE those that are parts of a region of
    DEFAULT (`simulated_chain`); volumes do not depend on it. `progress` gets (volumes done, volumes in all).

    Raises CollectionError "nothing-to-simulate" for fewer than one subject or volume,
    "phantom-other-tables" if `out` holds tables of another origin, "phantom-held" if another
    simulation writes there, "phantom-crash" if the process of a person dies twice, and ConfigError
    "phantom-feature" for an unknown feature.
    """
    left_out = parse_features_left_out(without)
    if subjects < 1 or volumes_per_subject < 1:
        raise CollectionError(
            "nothing-to-simulate",
            f"{out}: {subjects} subjects with {volumes_per_subject} volumes each leave nothing to "
            "simulate. Give at least 1 of each.",
        )
    refuse_other_tables(out)
    simulate_one = partial(
        simulate_subject,
        out,
        volumes=volumes_per_subject,
        seed=seed,
        without=left_out,
        scanner=scanner,
        chain=chain,
    )
    volume_rows: list[Row] = []
    region_rows_of_all: list[Row] = []
    with lock_collection(out):
        # a killed run leaves no rows of overwritten volumes
        for table_name in ("volumes.tsv", "regions.tsv"):
            (out / table_name).unlink(missing_ok=True)
        for subject_volume_rows, subject_region_rows in run_in_order(
            simulate_one, range(1, subjects + 1), workers, _report_crash
        ):
            volume_rows += subject_volume_rows
            region_rows_of_all += subject_region_rows
            if progress is not None:
                progress(len(volume_rows), subjects * volumes_per_subject)
        write_tsv(out / "regions.tsv", REGION_COLUMNS, region_rows_of_all)
        return write_tsv(out / "volumes.tsv", VOLUME_COLUMNS, volume_rows)


def _report_crash(subject_number: int) -> tuple[list[Row], list[Row]]:
    raise CollectionError(
        "phantom-crash",
        f"the process that simulated subject {subject_number} died twice, probably for lack of "
        "memory. Give fewer --workers; finished volumes are not made again.",
    )


def count_unlisted(table: Path) -> int:
    """The number of volumes beside a volumes.tsv that does not list them, as left by an earlier
    simulation of more people."""
    listed_names = {Path(row["path"]).name for row in read_tsv(table)}
    return sum(
        path.name not in listed_names for path in (table.parent / "volumes").glob("*.nii.gz")
    )


@contextmanager
def lock_collection(out: Path) -> Iterator[None]:
    """Holds the folder's lock, creating the folder, while the block runs: two simulations at once
    would mix up regions and volumes.

    Raises CollectionError "phantom-held" if another simulation holds it.
    """
    try:
        lock = lock_folder(out)
    except BlockingIOError:
        raise CollectionError(
            "phantom-held",
            f"{out}: another simulation is writing here; wait for it, or give another folder",
        ) from None
    try:
        clear_unfinished(out, out / "volumes")
        yield
    finally:
        os.close(lock)


def refuse_other_tables(out: Path, own_labels: bool = False) -> None:
    """Raises CollectionError "phantom-other-tables" unless the tables in `out`, if any, are
    simulated: from segmentations alone with `own_labels`, without it from none.

    Hand-made labels must not be overwritten, nor tables made by another command.  Only simulated
    tables have a column `field_of_view`.
    """
    table = volume_table(out)
    try:
        table_rows = read_rows(table)
    except UnicodeDecodeError:
        table_rows = [{}]
    are_rows_simulated = all(
        "field_of_view" in row and (row["field_of_view"] == OWN_LABELS) == own_labels
        for row in table_rows
    )
    if not are_rows_simulated:
        raise CollectionError(
            "phantom-other-tables",
            f"{table}: exists, and was not made by this command; give another folder.",
        )


def read_rows(table: Path) -> list[dict[str, str]]:
    """The rows of a TSV; none if there is no such file."""
    if not table.exists():
        return []
    return read_tsv(table)


def volume_table(out: Path) -> Path:
    """volumes.tsv of a simulated collection, or FORMER_TABLE if a run was killed between its two
    tables; it need not be there."""
    table = out / "volumes.tsv"
    former_table = out / FORMER_TABLE
    if former_table.exists() and not table.exists():
        return former_table
    return table


@one_thread()
def simulate_subject(
    out: Path,
    number: int,
    volumes: int,
    seed: int,
    without: frozenset[str] = frozenset(),
    scanner: int | None = None,
    chain: tuple[str, ...] = DEFAULT.chain,
) -> tuple[list[Row], list[Row]]:
    """The rows for volumes.tsv and regions.tsv of one person, whose volumes are then on disk.

    Each volume has a record in volumes/.facts, written after the volume, from which an interrupted
    run resumes.  The plan of the fourth volume, seeded (seed, number, 2, volume_number = 3), and
    the making of the third, (seed, number, volume_number = 2, 3), draw the same numbers; other ones
    would make other volumes.
    """
    person = sample_person((seed, number), without)
    marks = landmarks(person)
    rng = np.random.default_rng([seed, number, 1])
    subject_site = SITES[rng.integers(len(SITES))]
    subject_id = _subject_id(number, scanner)
    volume_rows: list[Row] = []
    region_rows_of_subject: list[Row] = []
    for volume_number, field_kind in enumerate(choose_field_kinds(volumes, rng)):
        volume_id = f"{subject_id}_acq-{volume_number + 1}"
        key = (seed, number, volume_number)
        # the last of a person's volumes may be without a body: with more a person, one with a body
        # is there
        is_last = 0 < volume_number == volumes - 1
        is_bodiless = is_last and bool(rng.integers(NO_BODY_EVERY) == 0)
        if is_bodiless:
            oddity_kind = str(rng.choice([*ODDITIES, *BOTTLES, *BOTTLES]))
            plane, make_volume = _plan_bodiless_volume(
                oddity_kind, person, marks, subject_site, key, without
            )
            plan_columns: Row = {"plane": plane, "field_of_view": "no body"}
        else:
            plan_rng = np.random.default_rng([seed, number, 2, volume_number])
            plan = draw_plan(person, marks, field_kind, subject_site, plan_rng)
            plan = _vary_or_scan_alike(plan, person, marks, key, without, scanner)
            paint_labels = partial(label_volume, without=without, edge_bend=plan.edge_bend)
            make_volume = partial(_make_body_volume, person, plan, paint_labels, chain=chain)
            plan_columns = _plan_columns(person, plan)
        volume_rows.append(
            {
                "volume_id": volume_id,
                "subject_id": subject_id,
                "path": f"volumes/{volume_id}.nii.gz",
                "site": subject_site.name,
                "manufacturer": subject_site.manufacturer,
                **plan_columns,
            }
        )
        recipe_choices: list[Any] = [is_bodiless, *sorted(without)]
        if scanner is not None:
            recipe_choices.append(f"scanner {scanner}")
        if chain != DEFAULT.chain:
            recipe_choices.append(f"labelled {' '.join(chain)}")
        volume_regions = _store_or_reuse_volume(out, volume_id, key, recipe_choices, make_volume)
        region_rows_of_subject += [
            {"volume_id": volume_id, **region_span} for region_span in volume_regions
        ]
    return volume_rows, region_rows_of_subject


def _subject_id(number: int, scanner: int | None) -> str:
    """The name of a person in the tables; people on one scanner have other names, since such an
    archive stands beside simulated people of all sites."""
    if scanner is None:
        return f"sub-{number:04d}"
    return f"site{scanner}-{number:04d}"


def _vary_or_scan_alike(
    plan: Plan,
    person: Person,
    marks: Landmarks,
    key: tuple[int, int, int],
    without: frozenset[str],
    scanner: int | None,
) -> Plan:
    """The plan with the features that are not left out, on the scanner of that seed if one is
    given."""
    if scanner is None:
        return vary_plan(plan, person, marks, key, without)
    plan = vary_plan(plan, person, marks, key, without | LEFT_OUT_OF_BODIES)
    return draw_scanner(scanner).image_plan(plan, np.random.default_rng([*key, 91]))


# raised when the same seeds give other volumes: those of an older release are then made again
RECIPE_NUMBER = 19
MadeVolume = tuple[Volume, NDArray[np.int64], list[Row]]
MakeVolume = Callable[[np.random.Generator], MadeVolume]
PaintLabels = Callable[[Person, Grid], LabelVolume]


def _store_or_reuse_volume(
    out: Path,
    volume_id: str,
    key: tuple[int, int, int],
    recipe_choices: list[Any],
    make_volume: MakeVolume,
) -> list[Row]:
    """The region rows of a volume on disk, which is made now unless an earlier run made exactly
    this one.

    `key` is (collection seed, subject, number of the volume), `recipe_choices` what else the volume
    depends on.
    """
    volume_key = [RECIPE_NUMBER, *key, *recipe_choices]
    path = out / "volumes" / f"{volume_id}.nii.gz"
    facts_path = out / "volumes" / ".facts" / f"{volume_id}.json"
    facts = _read_facts(facts_path)
    is_same_recipe = path.exists() and facts.get("key") == volume_key
    if is_same_recipe and facts.get("bytes") == path.stat().st_size:
        return list(facts["regions"])
    volume, stored_axes, regions = make_volume(np.random.default_rng([*key, 3]))
    nifti_content = encode_nifti(volume, stored_axes)
    replace_with(path, lambda file: file.write(nifti_content))
    write_json(
        facts_path,
        {"key": volume_key, "bytes": len(nifti_content), "regions": regions},
        seed=key[0],
    )
    return regions


def _read_facts(path: Path) -> dict[str, Any]:
    """The record of a volume; empty if it is missing or damaged, and the volume is then made
    again."""
    try:
        return read_json(path)
    except (OSError, ValueError):
        return {}


def _make_body_volume(
    person: Person,
    plan: Plan,
    paint_labels: PaintLabels,
    rng: np.random.Generator,
    chain: tuple[str, ...],
) -> MadeVolume:
    """A volume of a body as planned, its stored axes, and its region rows."""
    volume, regions = acquire_volume(person, plan, rng, paint_labels, chain)
    return volume, plan.stored_axes, regions


THING_SHARE = 2 / 3
"""Share of the volumes without a body that show a thing of `bodiless.kinds`."""

NOISE_SHARE = 1 / 3
"""Share of the volumes without a body that are pure noise, whatever they would show else."""


def _plan_bodiless_volume(
    oddity_kind: str,
    person: Person,
    marks: Landmarks,
    site: Site,
    key: tuple[int, int, int],
    without: frozenset[str],
) -> tuple[str, MakeVolume]:
    """The plane of a volume without a body, and the function (rng) that makes it: of a thing for
    training, of one of the person's arms, of noise, or of that kind of ODDITIES."""
    if PURE_NOISE not in without and np.random.default_rng([*key, 8]).random() < NOISE_SHARE:
        return "axial", _make_noise_volume
    rng = np.random.default_rng([*key, 7])
    thing_kind = draw_kind(rng)
    plane = str(rng.choice(PLANES))
    if "things of many kinds" not in without and rng.random() < THING_SHARE:
        return plane, partial(_make_thing_volume, thing_kind, plane)
    rng = np.random.default_rng([*key, 6])
    if "small fields" in without or rng.integers(ARM_EVERY) != 0:
        return "axial", partial(_make_oddity_volume, oddity_kind)
    with_small_parts = "joints and organs" not in without
    plan = draw_arm_plan(person, marks, site, rng, with_small_parts)
    paint_labels = partial(label_arms, with_small_parts=with_small_parts)
    return "axial", partial(_make_arm_volume, person, plan, paint_labels)


def _make_thing_volume(kind: str, plane: str, rng: np.random.Generator) -> MadeVolume:
    """A volume of a thing, stored along axes in any order."""
    volume = make_thing_volume(kind, plane, rng)
    return volume, draw_stored_axes(rng), _none_rows(volume)


def _make_arm_volume(
    person: Person, plan: Plan, paint_labels: PaintLabels, rng: np.random.Generator
) -> MadeVolume:
    """A volume of one arm as planned, its stored axes, and one row of `none`."""
    volume, _ = acquire_volume(person, plan, rng, paint_labels)
    return volume, plan.stored_axes, _none_rows(volume)


def _make_noise_volume(rng: np.random.Generator) -> MadeVolume:
    """A volume of noise, stored along axes in any order."""
    volume = _scale_grey_levels(make_noise_volume(rng))
    return volume, draw_stored_axes(rng), _none_rows(volume)


def _make_oddity_volume(oddity_kind: str, rng: np.random.Generator) -> MadeVolume:
    """A volume of one of ODDITIES, stored along RAS axes."""
    volume = _scale_grey_levels(make_oddity(oddity_kind, rng))
    return volume, RAS_AXES, _none_rows(volume)


def _scale_grey_levels(volume: Volume) -> Volume:
    """The volume with as many grey levels as bodies have."""
    gain = np.float32(GREY_LEVELS / np.percentile(volume.voxels, 99))
    return replace(volume, voxels=volume.voxels * gain)


def _none_rows(volume: Volume) -> list[Row]:
    """The one row of a volume whose slices are all `none`."""
    return [make_span_row(NONE, np.arange(volume.voxels.shape[2]))]


def acquire_volume(
    person: Person,
    plan: Plan,
    rng: np.random.Generator,
    paint_labels: PaintLabels = label_volume,
    chain: tuple[str, ...] = DEFAULT.chain,
) -> tuple[Volume, list[Row]]:
    """The planned volume, axes near RAS+ and mm of the scanner, and its regions of the chain as
    rows.

    Rows are (region, first_slice, last_slice); for a tilted volume whose header states the tilt
    (region, from_mm, to_mm), since a cut along the scanner's planes then crosses many of its
    slices.  If the header turns the axes, slices are those of the header.
    """
    marks = landmarks(person)
    labels_per_voxel = plan.acquisition.labels_per_voxel
    processing = plan.processing
    side_region = plan.field_kind.side_region
    isocentre_z = plan.isocentre_mm[2]
    grid = plan.grid.split_voxels(labels_per_voxel)
    labels = paint_labels(person, grid).labels
    is_visible = find_visible_voxels(
        labels, grid, marks, processing.mask_kind, processing.stripping
    )
    if is_visible is not None:
        labels = np.where(is_visible, labels, AIR)
    to_isocentre = np.eye(4)
    to_isocentre[:3, 3] = -plan.isocentre_mm
    placed_labels = LabelVolume(labels, to_isocentre @ grid.vox_to_ras)
    scanned_volume = scan(placed_labels, plan.sequence, plan.acquisition, rng)
    volume = apply_processing(scanned_volume, is_visible, labels_per_voxel, processing)
    if plan.header_turn:
        rows = _rows_of_turned_volume(labels, grid, marks, plan, is_visible)
        return apply_claimed_header(volume, plan.header_turn), rows
    if plan.is_tilted and plan.header_is_true:
        rows = list_rows_in_mm(labels, grid, marks, side_region, isocentre_z, chain)
        return volume, _rows_reached(rows, volume)
    if not plan.header_is_true:
        volume = replace(volume, vox_to_ras=np.diag([*volume.spacing_mm, 1.0]))
    heights_mm, areas_mm2 = process_slices(
        scanned_volume.slice_heights_mm() + isocentre_z,
        measure_body_areas_mm2(labels, plan),
        is_visible,
        labels_per_voxel,
        processing,
        float(scanned_volume.spacing_mm[2]),
    )
    return volume, list_region_rows(heights_mm, areas_mm2, marks, side_region, chain)


def _rows_reached(rows: list[Row], volume: Volume) -> list[Row]:
    """The rows (region, from_mm, to_mm) that slices of a volume reach: a slightly tilted one is cut
    along its own slices, whose middles do not reach its corners."""
    if measure_tilt_deg(volume.vox_to_ras) > MAX_TILT_DEG:
        return rows
    z = volume.slice_heights_mm()
    return [row for row in rows if row["to_mm"] >= z.min() and row["from_mm"] <= z.max()]


def _rows_of_turned_volume(
    labels: NDArray[np.integer],
    grid: Grid,
    marks: Landmarks,
    plan: Plan,
    is_visible: NDArray[np.bool_] | None,
) -> list[Row]:
    """Rows (region, first_slice, last_slice) of a volume whose header turns it: its only region, whole
    because each slice may show all of its parts, in the slices of the header that show body.

    Slices are counted in the final image, after folding, cropping and borders.
    """
    z = grid.coordinates()[2]
    # raised hands belong to no region
    is_body = ((labels != AIR) & (z >= marks.sole) & (z < marks.vertex)).astype(np.float32)
    body_shares = _body_shares_of_image(is_body, plan, is_visible)
    claimed_axes = [claimed_axis for claimed_axis, _ in plan.header_turn]
    spacing_mm = body_shares.spacing_mm
    pixel_area_mm2 = np.prod(spacing_mm) / spacing_mm[claimed_axes.index(2)]
    turned_shares = to_claimed_axes(body_shares.voxels, plan.header_turn)
    areas_mm2 = turned_shares.sum(axis=(0, 1), dtype=np.float64) * pixel_area_mm2
    height_inside_mm = 0.0
    region_index = find_only_region(plan.grid, marks.borders_mm, 0.0)
    if region_index is not None:
        height_inside_mm = sum(marks.borders_mm[region_index : region_index + 2]) / 2
    heights_mm = np.full(len(areas_mm2), height_inside_mm)
    return list_region_rows(heights_mm, areas_mm2, marks, plan.field_kind.side_region)


def _body_shares_of_image(
    is_body: NDArray[np.float32], plan: Plan, is_visible: NDArray[np.bool_] | None
) -> Volume:
    """The share of body in each voxel of the final image, from label voxels that are 1 in the body:
    folded over, cropped, padded and bordered like the image."""
    acquisition = plan.acquisition
    flaws = acquisition.flaws
    processing = plan.processing
    body_shares = average_blocks(is_body, acquisition.labels_per_voxel)
    if flaws.folded_voxels:
        body_shares = fold_over(body_shares, flaws.folded_voxels, flaws.phase_axis)
    cropping = Processing(
        crop_margin=processing.crop_margin,
        crops_slices=processing.crops_slices,
        cube_mm=processing.cube_mm,
    )
    share_volume = Volume(body_shares, plan.grid.vox_to_ras, "")
    cropped_volume = apply_processing(
        share_volume, is_visible, acquisition.labels_per_voxel, cropping
    )
    border_i, border_j = processing.border_voxels
    bordered_shares = np.pad(
        cropped_volume.voxels, ((border_i, border_i), (border_j, border_j), (0, 0))
    )
    return replace(cropped_volume, voxels=bordered_shares)


def list_rows_in_mm(
    labels: NDArray[np.integer],
    grid: Grid,
    marks: Landmarks,
    side_region: str,
    isocentre_mm: float,
    chain: tuple[str, ...] = DEFAULT.chain,
) -> list[Row]:
    """Rows (region, from_mm, to_mm) in scanner z for labels on a grid of any orientation; heights
    in steps of BIN_MM."""
    z = np.broadcast_to(grid.coordinates()[2], labels.shape)
    bin_edges_mm = np.arange(float(z.min()) - BIN_MM, float(z.max()) + 2 * BIN_MM, BIN_MM)
    voxel_mm3 = abs(float(np.linalg.det(grid.vox_to_ras[:3, :3])))
    areas_mm2 = np.histogram(z[labels != AIR], bin_edges_mm)[0] * voxel_mm3 / BIN_MM
    rows = list_region_rows(
        (bin_edges_mm[:-1] + bin_edges_mm[1:]) / 2, areas_mm2, marks, side_region, chain
    )
    return [
        {
            "region": row["region"],
            "from_mm": float(bin_edges_mm[row["first_slice"]] - isocentre_mm),
            "to_mm": float(bin_edges_mm[row["last_slice"] + 1] - isocentre_mm),
        }
        for row in rows
    ]


def measure_body_areas_mm2(labels: NDArray[np.integer], plan: Plan) -> NDArray[np.float64]:
    """(k,) area of body in each slice of the acquired grid, mm², from its label voxels (i·a, j·b,
    k·c)."""
    factor_i, factor_j, factor_k = plan.acquisition.labels_per_voxel
    body_shares = (labels != AIR).mean(axis=(0, 1), dtype=np.float32).reshape(1, 1, -1)
    slice_shares = average_blocks(body_shares, (1, 1, factor_k)).ravel()
    spacing_mm = plan.grid.spacing_mm
    return np.asarray(
        slice_shares
        * labels.shape[0]
        / factor_i
        * spacing_mm[0]
        * labels.shape[1]
        / factor_j
        * spacing_mm[1]
    )


def list_region_rows(
    heights_mm: NDArray[np.float64],
    areas_mm2: NDArray[np.float64],
    marks: Landmarks,
    side_region: str,
    chain: tuple[str, ...] = DEFAULT.chain,
) -> list[Row]:
    """Rows (region, first_slice, last_slice), inclusive, for slices (k,) at these heights above the
    soles, ascending, that show these areas of body.

    A slice belongs to the region that contains its centre.  It is `none` below the soles and above
    the vertex, even if raised arms are there, and if it shows less than SLIVER_MM2 of body; but a
    region is one run, which includes slices without body between slices with body.  Its parts
    in the chain, if any, divide this run at their borders.  A side region ("spine") extends from
    the first to the last slice that is not none.
    """
    region_indices = np.searchsorted(np.asarray(marks.borders_mm), heights_mm, side="right") - 1
    is_in_region = (region_indices < len(DEFAULT.chain)) & (areas_mm2 >= SLIVER_MM2)
    region_indices = np.where(is_in_region, region_indices, -1)
    region_rows = [
        make_span_row(region, np.flatnonzero(region_indices == region_index))
        for region_index, region in enumerate(DEFAULT.chain)
        if np.any(region_indices == region_index)
    ]
    rows = [
        part_row
        for row in region_rows
        for part_row in _divide_into_parts(row, heights_mm, marks, chain)
    ]
    if side_region and rows:
        rows.append(make_span_row(side_region, np.flatnonzero(region_indices >= 0)))
    return rows or [make_span_row(NONE, np.arange(len(heights_mm)))]


def _divide_into_parts(
    row: Row, heights_mm: NDArray[np.float64], marks: Landmarks, chain: tuple[str, ...]
) -> list[Row]:
    """The rows, feet to head, of the parts in the chain of a row's region: each slice of the row is
    in one of them.  The row itself where the region has no parts there."""
    parts = _parts_of(row["region"], chain)
    slices = np.arange(row["first_slice"], row["last_slice"] + 1)
    upper_borders_mm = marks.find_lower_ends_mm(parts)[1:]
    part_indices = np.searchsorted(upper_borders_mm, heights_mm[slices], side="right")
    return [
        make_span_row(part, slices[part_indices == part_index])
        for part_index, part in enumerate(parts)
        if np.any(part_indices == part_index)
    ]


def _parts_of(region: str, chain: tuple[str, ...]) -> tuple[str, ...]:
    """What stands in the chain for a region of DEFAULT: itself, or its parts."""
    return tuple(name for name in chain if WHOLE_BY_PART.get(name, name) == region)


def make_span_row(region: str, slices: NDArray[np.intp]) -> Row:
    """The row of regions.tsv of a region in these slices, ascending."""
    return {"region": region, "first_slice": int(slices[0]), "last_slice": int(slices[-1])}


def encode_nifti(volume: Volume, stored_axes: NDArray[np.int64]) -> bytes:
    """A gzipped NIfTI-1 file of the volume as int16, its axes in the stored order and directions,
    with the matching affine.

    The gzip header has no time and no name: the same volume gives the same bytes.
    """
    voxels = apply_orientation(  # type: ignore[no-untyped-call]
        np.rint(volume.voxels).clip(-32768, 32767).astype(np.int16), stored_axes
    )
    affine = volume.vox_to_ras @ inv_ornt_aff(stored_axes, volume.voxels.shape)  # type: ignore[no-untyped-call]
    image = nib.Nifti1Image(voxels, affine)  # type: ignore[no-untyped-call]
    image.header.set_xyzt_units("mm")  # type: ignore[no-untyped-call]
    return gzip.compress(image.to_bytes(), compresslevel=1, mtime=0)


def _plan_columns(person: Person, plan: Plan) -> Row:
    """What volumes.tsv tells of a volume with a body."""
    return {
        "field_strength": f"{plan.acquisition.field_strength_tesla:g}",
        "sequence": plan.sequence.name,
        "plane": plan.plane,
        "sex": person.sex,
        "field_of_view": plan.field_kind.name,
    }
