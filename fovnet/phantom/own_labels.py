"""Scans of a user's segmentation: a label volume, a table of the tissues of its labels, and the
extents of its regions.

    fovnet phantom made --from labels.nii.gz --tissues tissues.tsv --regions regions.tsv --count 20

A segmentation is one subject; another one, given with the same folder, is added to the collection.

    tissues.tsv   label, tissue: a name of `tissues.TISSUES` ("air", "muscle", "liver", ...); or
                  label, name, pd, t1_ms, t2_ms, and optionally fat, flow, uptake, mottle: proton
                  density and relaxation times of a tissue of your own
    regions.tsv   region, and from_mm, to_mm (scanner z of the label volume) or first_slice,
                  last_slice (in its closest RAS order)
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import nibabel as nib
import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError, VolumeError
from fovnet.phantom.acquisition.coils import draw_surface_coil
from fovnet.phantom.acquisition.fitting import z_range_mm
from fovnet.phantom.acquisition.protocols import SEQUENCES, SITES, draw_stored_axes
from fovnet.phantom.collection import (
    FORMER_TABLE,
    OWN_LABELS,
    REGION_COLUMNS,
    SLIVER_MM2,
    VOLUME_COLUMNS,
    Row,
    encode_nifti,
    lock_collection,
    make_span_row,
    read_rows,
    refuse_other_tables,
    volume_table,
)
from fovnet.phantom.features import parse_features_left_out
from fovnet.phantom.finish.masks import BACKGROUND, Processing, apply_processing, draw_processing
from fovnet.phantom.geometry.raster import Grid
from fovnet.phantom.scanner.artefacts import (
    PLANES,
    SLICE_AXIS_BY_PLANE,
    Flaws,
    draw_flaws,
    motion_start_share,
)
from fovnet.phantom.scanner.contrasts import draw_contrast
from fovnet.phantom.scanner.scan import Acquisition, Coil, LabelVolume, average_blocks, scan
from fovnet.phantom.scanner.tissues import TISSUES, Tissue, find_visible_tissues
from fovnet.records import read_tsv, replace_with, write_tsv
from fovnet.regions import DEFAULT, NONE, as_word
from fovnet.volume.collection.truth import MAX_OUTSIDE_MM
from fovnet.volume.formats.nifti import header_of
from fovnet.volume.orient import reorder_to_closest_ras
from fovnet.volume.sources.kind import file_kind
from fovnet.volume.sources.readers import find_reader, run_guarded, volume_name
from fovnet.volume.volume import Volume

MOST_VOXELS = 2**27  # voxels of a segmentation: 512 × 512 × 512
HEIGHT_TOLERANCE_MM = 1e-3  # heights computed in two ways differ in the last bit
MAX_PD = 2.0  # water is 1, and no tissue has much more
T2STAR_DEPHASING = 0.012  # R2' of the tissues of the simulated body, 1 / ms
OPTIONAL_COLUMNS = {
    "fat": ("fat_fraction", 1.0),
    "flow": ("flow_share", 1.0),
    "uptake": ("uptake_mmol", 20.0),
    "mottle": ("texture_variation", 1.0),
}
"""Optional columns of a user's tissue table, the field of `Tissue` that each fills, and its largest
value: fractions of fat and of flow, contrast agent in mmol / L (arteries at the peak of a bolus
have ten), and the texture's coefficient of variation."""


class RegionSpan(NamedTuple):
    """A region between two heights in scanner z, mm."""

    region: str
    low_mm: float
    high_mm: float


@dataclass(frozen=True)
class Segmentation:
    """A label volume in its closest RAS order; labels are indices into `tissues`.

    region_spans  where its regions are, in its own scanner z
    subject       the name of the person, for tables
    """

    label_volume: LabelVolume
    tissues: tuple[Tissue, ...]
    region_spans: tuple[RegionSpan, ...]
    subject: str


def read_labels(
    labels: Path, tissues: Path, regions: Path | None = None, subject: str = ""
) -> Segmentation:
    """The segmentation in three files; the subject is called `subject`, or if that is empty as the
    first file.

    Raises VolumeError ("labels-not-whole", "labels-unnamed" with the labels that the table lacks,
    "labels-empty", and those of the volume readers: a damaged file, or one without orientation) and
    CollectionError ("tissues-invalid", "regions-invalid") with the file and the fault.
    """
    voxel_labels, affine = _read_label_volume(labels)
    _refuse_fractions(labels, voxel_labels)
    tissue_by_label = _read_tissue_table(tissues)
    label_values = np.unique(voxel_labels.astype(np.int64))
    _refuse_unnamed_labels(labels, tissues, label_values.tolist(), tissue_by_label)
    known_tissues = tuple(tissue_by_label[label] for label in label_values.tolist())
    if not find_visible_tissues(known_tissues).any():
        raise VolumeError(
            "labels-empty",
            f"{labels}: all its labels are air according to {tissues}. Is it the right table?",
        )
    label_indices = np.searchsorted(label_values, voxel_labels.astype(np.int64)).astype(np.uint16)
    region_spans: tuple[RegionSpan, ...] = ()
    if regions is not None:
        region_spans = _read_spans(regions, voxel_labels.shape, affine)
    return Segmentation(
        label_volume=LabelVolume(label_indices, affine),
        tissues=known_tissues,
        region_spans=region_spans,
        subject=(subject or volume_name(labels)).strip(),
    )


def _refuse_fractions(path: Path, voxel_labels: NDArray[Any]) -> None:
    """Raises VolumeError "labels-not-whole" unless there are three axes of whole numbers."""
    if voxel_labels.ndim != 3:
        fault = f"{voxel_labels.ndim} axes"
    elif not np.all(voxel_labels == np.rint(voxel_labels)):
        fault = "fractions"
    else:
        return
    raise VolumeError(
        "labels-not-whole",
        f"{path}: has {fault}; it must have three axes of whole numbers, one label per "
        "voxel. Save the segmentation without interpolation.",
    )


def _refuse_unnamed_labels(
    path: Path, tissue_table: Path, labels: list[int], tissue_by_label: Mapping[int, Tissue]
) -> None:
    """Raises VolumeError "labels-unnamed" for labels that the table of tissues lacks."""
    unnamed_labels = [label for label in labels if label not in tissue_by_label]
    if not unnamed_labels:
        return
    listed_labels = ", ".join(map(str, unnamed_labels[:20]))
    if len(unnamed_labels) > 20:
        listed_labels += " and more"
    raise VolumeError(
        "labels-unnamed",
        f"{path}: {tissue_table} has no row for label {listed_labels}. Add a row for each: label, "
        "tissue.",
    )


def _read_label_volume(path: Path) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """(values, (4, 4) affine in mm) of a label volume in its closest RAS order, positioned as by
    the volume reader of its format."""
    reader = find_reader(file_kind(path))
    if reader.name == "NIfTI":
        sizes, affine = run_guarded(reader, path, lambda: header_of(path))
        if math.prod(sizes) > MOST_VOXELS:
            raise VolumeError(
                "volume-too-large",
                f"{path}: {math.prod(sizes):,} voxels; a segmentation has at most "
                f"{MOST_VOXELS:,}. Crop it, or resample it to larger voxels (nearest neighbour).",
            )
        values = run_guarded(reader, path, lambda: np.asanyarray(nib.load(path).dataobj))  # type: ignore[attr-defined]
        voxels = np.squeeze(values)
    else:
        volume = run_guarded(reader, path, lambda: reader.read(path))
        voxels = volume.voxels
        affine = volume.vox_to_ras
    if voxels.ndim != 3:
        return voxels, affine
    canonical_volume = reorder_to_closest_ras(Volume(voxels, affine, str(path)))
    return canonical_volume.voxels, canonical_volume.vox_to_ras


def _read_tissue_table(path: Path) -> dict[int, Tissue]:
    """The tissue of each label of a table; raises CollectionError "tissues-invalid"."""
    tissue_by_name = {tissue.name: tissue for tissue in TISSUES}
    remedy = (
        f"give label and tissue (one of {', '.join(tissue_by_name)}), or label, pd, t1_ms and t2_ms"
    )
    tissue_by_label: dict[int, Tissue] = {}
    for line_number, row in enumerate(_read_rows(path, "tissues-invalid"), start=2):
        line = f"{path}, line {line_number}"
        try:
            label = int(row["label"])
            tissue = _row_tissue(row, tissue_by_name)
        except KeyError as fault:
            raise CollectionError(
                "tissues-invalid", f"{line}: {fault} is not a column or tissue; {remedy}"
            ) from None
        except ValueError as fault:
            raise CollectionError("tissues-invalid", f"{line}: {fault}; {remedy}") from None
        if label in tissue_by_label:
            raise CollectionError(
                "tissues-invalid",
                f"{line}: label {label} has an earlier line; give each label one row",
            )
        tissue_by_label[label] = tissue
    return tissue_by_label


def _row_tissue(row: Mapping[str, str], tissue_by_name: Mapping[str, Tissue]) -> Tissue:
    """The tissue that a row names, or else describes; KeyError for an unknown name or a missing
    column, ValueError for an impossible description."""
    if row.get("tissue"):
        return tissue_by_name[row["tissue"]]
    return _custom_tissue(row)


def _custom_tissue(row: Mapping[str, str]) -> Tissue:
    """The tissue of a row with times of its own; ValueError for impossible ones."""
    pd = float(row["pd"])
    t1_ms = float(row["t1_ms"])
    t2_ms = float(row["t2_ms"])
    if not (0 <= pd <= MAX_PD and 0 < t1_ms < np.inf and 0 < t2_ms < np.inf):
        raise ValueError(
            f"no matter has pd {pd:g}, t1_ms {t1_ms:g}, t2_ms {t2_ms:g} (pd from 0 to {MAX_PD:g}, "
            "water's is 1; times above 0)"
        )
    optional_values: dict[str, float] = {}
    for column, (field_name, largest_value) in OPTIONAL_COLUMNS.items():
        if not row.get(column):
            continue
        value = float(row[column])
        if not 0 <= value <= largest_value:
            raise ValueError(f"no tissue has {column} {value:g} (from 0 to {largest_value:g})")
        optional_values[field_name] = value
    t2star_ms = 1 / (1 / t2_ms + T2STAR_DEPHASING)
    return Tissue(
        name=row.get("name") or f"label {row['label']}",
        pd=pd,
        t1_ms=(t1_ms, t1_ms),
        t2_ms=(t2_ms, t2_ms),
        t2star_ms=(t2star_ms, t2star_ms),
        **optional_values,
    )


def _read_spans(
    path: Path, shape: tuple[int, int, int], affine: NDArray[np.float64]
) -> tuple[RegionSpan, ...]:
    """The span of each row of a user's table of regions, for a segmentation of that shape and
    affine; raises CollectionError "regions-invalid"."""
    slice_heights_mm = _slice_heights_mm(shape, affine, shape, affine)
    step_mm = float(affine[2, 2])
    lowest_mm, highest_mm = z_range_mm(Grid(shape, affine))
    spans = []
    faults = []
    for line_number, row in enumerate(_read_rows(path, "regions-invalid"), start=2):
        try:
            low_mm, high_mm = _row_heights_mm(row, slice_heights_mm, step_mm)
            _refuse_span(low_mm, high_mm, lowest_mm, highest_mm)
            spans.append(RegionSpan(_region_name(row["region"]), low_mm, high_mm))
        except KeyError as fault:
            faults.append(f"line {line_number}: there is no column {fault}")
        except ValueError as fault:
            faults.append(f"line {line_number}: {fault}")
    if not spans and not faults:
        faults = ["no row names a region"]
    if faults:
        raise CollectionError(
            "regions-invalid",
            f"{path}, {'; '.join(faults)}; give region and from_mm, to_mm, or first_slice, "
            f"last_slice from 0 to {shape[2] - 1}, the lower one first",
        )
    _refuse_disorder(path, spans)
    return tuple(spans)


def _row_heights_mm(
    row: Mapping[str, str], slice_heights_mm: NDArray[np.float64], step_mm: float
) -> tuple[float, float]:
    """The heights between which a row of a table of regions says that its region lies; of slices,
    from the lower edge of the first to the upper edge of the last.

    Raises KeyError for a missing column, ValueError for what is no number or no slice.
    """
    if row.get("from_mm"):
        return float(row["from_mm"]), float(row["to_mm"])
    slice_count = len(slice_heights_mm)
    first_mm = float(slice_heights_mm[_slice_index(row["first_slice"], slice_count)])
    last_mm = float(slice_heights_mm[_slice_index(row["last_slice"], slice_count)])
    return first_mm - step_mm / 2, last_mm + step_mm / 2


def _refuse_disorder(path: Path, spans: Sequence[RegionSpan]) -> None:
    """Raises CollectionError "regions-invalid" unless the regions of the chain follow each other
    upwards; unknown regions may lie anywhere."""
    chain = DEFAULT.chain
    chain_spans = sorted(
        (span for span in spans if span.region in chain), key=lambda span: span.low_mm
    )
    for below, above in combinations(chain_spans, 2):
        overlaps = below.high_mm > above.low_mm + HEIGHT_TOLERANCE_MM
        if overlaps or chain.index(below.region) > chain.index(above.region):
            raise CollectionError(
                "regions-invalid",
                f"{path}: {below.region} from {below.low_mm:g} to {below.high_mm:g} mm, "
                f"{above.region} from {above.low_mm:g} to {above.high_mm:g} mm; regions must "
                "follow one another from the feet up, without overlap",
            )


def _region_name(text: str) -> str:
    """One of fovnet's own regions by its name in any case; else the text as it is, as it may be a
    region of the user's vocabulary."""
    if not text:
        raise ValueError("no region is named")
    return next((name for name in DEFAULT.classes if as_word(name) == as_word(text)), text)


def _slice_index(text: str, slice_count: int) -> int:
    """The index written in that cell; ValueError if there is no such slice."""
    if not 0 <= int(text) < slice_count:
        raise ValueError(f"there is no slice {text}")
    return int(text)


def _refuse_span(low_mm: float, high_mm: float, lowest_mm: float, highest_mm: float) -> None:
    """Raises ValueError for a span that does not go upwards, or exceeds a volume from `lowest_mm` to
    `highest_mm` by more than MAX_OUTSIDE_MM, as in the tables of a collection: it is of another
    volume."""
    if not low_mm < high_mm:
        raise ValueError(f"{low_mm:g} to {high_mm:g} does not go upwards")
    if low_mm < lowest_mm - MAX_OUTSIDE_MM or high_mm > highest_mm + MAX_OUTSIDE_MM:
        raise ValueError(
            f"{low_mm:g} to {high_mm:g} mm lies outside of the segmentation, which goes from "
            f"{lowest_mm:g} to {highest_mm:g} mm"
        )


def _read_rows(path: Path, error_code: str) -> list[dict[str, str]]:
    """The rows of a user's TSV; raises CollectionError `error_code` if it is missing or no TSV."""
    try:
        rows = read_tsv(path)
    except FileNotFoundError:
        raise CollectionError(error_code, f"{path}: no such file; give a TSV") from None
    except (OSError, UnicodeDecodeError) as fault:
        raise CollectionError(
            error_code, f"{path}: not readable as a tab-separated table ({fault})"
        ) from None
    if path.suffix.lower() in (".yaml", ".yml"):
        raise CollectionError(
            error_code,
            f"{path}: is YAML, as for `regions` of a configuration; here a TSV with one row per "
            "stretch is needed",
        )
    if not rows:
        return rows
    columns = list(rows[0])
    if len(columns) == 1 and "," in columns[0]:
        raise CollectionError(
            error_code,
            f"{path}: it has one column, {columns[0]!r}; columns must be separated by tabs. Save "
            "it as TSV.",
        )
    return rows


def _slice_heights_mm(
    shape: tuple[int, ...],
    affine: NDArray[np.float64],
    whole_shape: tuple[int, ...],
    whole_affine: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(k,) scanner z at which each slice of a grid (its shape and affine) meets the line through the
    middles of the slices of the whole segmentation, of which the grid is a part.

    In a tilted segmentation the middles of a part's slices lie higher or lower, while a row refers
    to whole slices.
    """
    middle_index = (np.asarray(whole_shape[:2]) - 1) / 2
    first_middle = whole_affine[:3, :2] @ middle_index + whole_affine[:3, 3]
    slice_direction = whole_affine[:3, 2]
    plane_normal = np.cross(whole_affine[:3, 0], whole_affine[:3, 1])
    slice_origins = affine[:3, 3] + np.arange(shape[2])[:, None] * affine[:3, 2]
    return np.asarray(
        first_middle[2]
        + slice_direction[2]
        * ((slice_origins - first_middle) @ plane_normal)
        / (slice_direction @ plane_normal)
    )


def simulate_labels(
    segmentation: Segmentation,
    out: Path,
    *,
    count: int,
    seed: int = 0,
    without: Iterable[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """`out`/volumes.tsv of `count` scans of the segmentation, each with its own field of view,
    sequence, coil and flaws.

    Volume n depends on (seed, subject, n) alone.  A slice belongs to the spans that contain its
    middle, if it shows enough of a body; without spans the volumes are not labelled.  Simulated
    volumes of other subjects stay in the tables of `out`, those of this subject are replaced.
    `without` as in `simulate_collection`. Raises CollectionError "phantom-other-tables" if `out`
    holds tables of another origin, "phantom-held" if another simulation writes there.
    """
    left_out = parse_features_left_out(without)
    refuse_other_tables(out, own_labels=True)
    # different scans for different people
    person_number = int.from_bytes(hashlib.sha256(segmentation.subject.encode()).digest()[:8])
    with lock_collection(out):
        volume_rows, region_rows = _rows_of_others(out, segmentation.subject)
        # so that a killed run leaves no rows of overwritten volumes
        _write_tables(out, volume_rows, region_rows)
        for scan_number in range(1, count + 1):
            volume_id = f"{segmentation.subject}_sim-{scan_number:04d}"
            nifti, scan_columns, scan_region_rows = _scan_segmentation(
                segmentation, left_out, np.random.default_rng([seed, person_number, scan_number])
            )
            path = f"volumes/{volume_id}.nii.gz"
            replace_with(out / path, lambda file, nifti=nifti: file.write(nifti))  # type: ignore[misc]
            volume_rows.append(
                {
                    "volume_id": volume_id,
                    "subject_id": segmentation.subject,
                    "path": path,
                    **scan_columns,
                }
            )
            region_rows += [{"volume_id": volume_id, **row} for row in scan_region_rows]
            if progress is not None:
                progress(scan_number, count)
        return _write_tables(out, volume_rows, region_rows)


def _write_tables(out: Path, volume_rows: Sequence[Row], region_rows: Sequence[Row]) -> Path:
    """volumes.tsv, which is not there while regions.tsv is replaced: a region row of a volume that
    is not listed would be a fault.

    The former volumes.tsv is FORMER_TABLE meanwhile: if the run is killed then, the next one takes
    the other subjects from it.
    """
    table = out / "volumes.tsv"
    if table.exists():
        table.replace(out / FORMER_TABLE)
    write_tsv(out / "regions.tsv", REGION_COLUMNS, region_rows)
    write_tsv(table, VOLUME_COLUMNS, volume_rows)
    (out / FORMER_TABLE).unlink(missing_ok=True)
    return table


def _rows_of_others(out: Path, subject: str) -> tuple[list[Row], list[Row]]:
    """The rows of volumes.tsv and of regions.tsv in a folder that are about other subjects."""
    volume_rows: list[Row] = [
        {**row}
        for row in read_rows(volume_table(out))
        if row["subject_id"].casefold() != subject.casefold()
    ]
    kept_ids = {row["volume_id"] for row in volume_rows}
    region_rows: list[Row] = [
        {**row} for row in read_rows(out / "regions.tsv") if row["volume_id"] in kept_ids
    ]
    return volume_rows, region_rows


def count_volumes_of(out: Path, subject: str) -> int:
    """The number of volumes of a subject in the collection `out`, which another segmentation of
    that name would replace."""
    rows = read_rows(volume_table(out))
    return sum(row.get("subject_id", "").casefold() == subject.casefold() for row in rows)


def _scan_segmentation(
    segmentation: Segmentation, left_out: frozenset[str], rng: np.random.Generator
) -> tuple[bytes, dict[str, Any], list[Row]]:
    """One scan as NIfTI bytes, its columns of volumes.tsv, and its rows of regions.tsv."""
    site = SITES[rng.integers(len(SITES))]
    plane = str(rng.choice(PLANES))
    whole_labels = segmentation.label_volume
    field_labels = _draw_box(whole_labels, "small fields" not in left_out, rng)
    acquisition = _draw_acquisition(field_labels, site.snr, plane, left_out, rng)
    labels_per_voxel = acquisition.labels_per_voxel
    sequence = SEQUENCES[rng.integers(len(SEQUENCES))]
    if "free contrasts" not in left_out:
        sequence, contrast = draw_contrast(sequence, rng)
        acquisition = replace(acquisition, free_contrast=contrast)
    processing = Processing()
    if "masks" not in left_out:
        shape = tuple(np.floor_divide(field_labels.labels.shape, labels_per_voxel).tolist())
        processing = draw_processing(shape, rng)
    tissues = segmentation.tissues
    volume = scan(field_labels, sequence, acquisition, rng, tissues, segmentation.subject)
    is_solid = find_visible_tissues(tissues)[field_labels.labels]
    solid_shares = average_blocks(is_solid.astype(np.float32), labels_per_voxel)
    slice_heights_mm = _slice_heights_mm(
        volume.voxels.shape, volume.vox_to_ras, whole_labels.labels.shape, whole_labels.vox_to_ras
    )
    pixel_mm2 = float(volume.spacing_mm[0] * volume.spacing_mm[1])
    areas_mm2 = solid_shares.sum(axis=(0, 1)) * pixel_mm2
    region_rows = _span_rows(segmentation, slice_heights_mm, areas_mm2)
    is_visible = None
    if processing.mask_kind == BACKGROUND and is_solid.any():
        is_visible = is_solid
    volume = apply_processing(volume, is_visible, labels_per_voxel, processing)
    volume_columns = {
        "site": site.name,
        "manufacturer": site.manufacturer,
        "sequence": sequence.name,
        "field_of_view": OWN_LABELS,
        "plane": plane,
        "field_strength": f"{acquisition.field_strength_tesla:g}",
    }
    return encode_nifti(volume, draw_stored_axes(rng)), volume_columns, region_rows


def _draw_acquisition(
    field_labels: LabelVolume,
    snr: float,
    plane: str,
    left_out: frozenset[str],
    rng: np.random.Generator,
) -> Acquisition:
    """The acquisition of the labels: voxels as large as the plane requires, if the labels' voxels
    are smaller."""
    grid = Grid(field_labels.labels.shape, field_labels.vox_to_ras)
    slice_axis = SLICE_AXIS_BY_PLANE.get(plane)
    voxel_mm = np.full(3, rng.uniform(0.8, 2.0))
    if slice_axis is not None:
        voxel_mm[slice_axis] = rng.uniform(2.5, 7.0)
    most_factors = np.maximum(1, np.asarray(grid.shape) // 4)
    factors = np.clip(np.rint(voxel_mm / grid.spacing_mm), 1, most_factors)
    factor_i, factor_j, factor_k = factors.astype(int).tolist()
    coil = Coil()
    if "coil fall-off" not in left_out:
        coil = draw_surface_coil(coil, grid, np.zeros(3), rng)
        middle_index = np.asarray(grid.shape) / 2
        middle_z = (grid.vox_to_ras[:3, :3] @ middle_index + grid.vox_to_ras[:3, 3])[2]
        if abs(middle_z) > 50:  # the isocentre of a segmentation is arbitrary
            coil = replace(coil, half_signal_mm=1e6)
    flaws = Flaws()
    log_snr_sd = 0.35
    if "artefacts" not in left_out:
        start_share = motion_start_share("true places" not in left_out)
        flaws = replace(draw_flaws(plane, rng), motion_start_share=start_share)
        log_snr_sd = 0.8
    field_strength_tesla = float(rng.choice([1.5, 3.0]))
    return Acquisition(
        field_strength_tesla,
        (factor_i, factor_j, factor_k),
        snr * rng.lognormal(0, log_snr_sd),
        coil,
        flaws=flaws,
    )


def _draw_box(
    whole_labels: LabelVolume, may_be_small: bool, rng: np.random.Generator
) -> LabelVolume:
    """The whole label volume, or in four of ten scans a box of a half to all of it along each
    axis."""
    if not may_be_small or rng.random() > 0.4:
        return whole_labels
    shape = np.asarray(whole_labels.labels.shape)
    box_shape = np.maximum(np.minimum(shape, 8), (shape * rng.uniform(0.5, 1.0, 3)).astype(int))
    first_index = np.array([rng.integers(free_count + 1) for free_count in shape - box_shape])
    affine = whole_labels.vox_to_ras.copy()
    affine[:3, 3] += affine[:3, :3] @ first_index
    i, j, k = (
        slice(axis_start, axis_start + axis_size)
        for axis_start, axis_size in zip(first_index, box_shape, strict=True)
    )
    return LabelVolume(whole_labels.labels[i, j, k], affine)


def _span_rows(
    segmentation: Segmentation,
    slice_heights_mm: NDArray[np.float64],
    areas_mm2: NDArray[np.float64],
) -> list[Row]:
    """Rows (region, first_slice, last_slice) of the slices (k,) at these heights that show these
    areas of body; `none` for all if no span is visible, no rows if the segmentation has no spans."""
    if not segmentation.region_spans:
        return []
    rows = []
    for span in segmentation.region_spans:
        is_in_span = (slice_heights_mm >= span.low_mm) & (slice_heights_mm < span.high_mm)
        shown_slices = np.flatnonzero(is_in_span & (areas_mm2 >= SLIVER_MM2))
        if len(shown_slices):
            rows.append(make_span_row(span.region, shown_slices))
    return rows or [make_span_row(NONE, np.arange(len(slice_heights_mm)))]
