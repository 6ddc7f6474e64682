"""Volumes with organ masks beside them: one NIfTI an organ in a folder `segmentations`, or one file of numbered labels and a table.

    case/mri.nii.gz                       case/mri.nii.gz
    case/segmentations/liver.nii.gz       case/segmentations.nii.gz
    case/segmentations/hip_left.nii.gz    (and a table: label, name)
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError, VolumeError
from fovnet.regions import DEFAULT
from fovnet.volume import readers
from fovnet.volume.adapters.body import body_slices, runs_of
from fovnet.volume.adapters.gathered import NOT_LABELLED, Gathered
from fovnet.volume.adapters.grids import Grid, nifti_grid
from fovnet.volume.adapters.organs import LIMITS, WITNESSES, Extent, extent, regions_of
from fovnet.volume.collection import RegionRow, VolumeRow

FOLDER, NUMBERED = "segmentations", ("segmentations.nii.gz", "segmentations.nii")
TELLING = frozenset(WITNESSES) | {organ for limit in LIMITS for organ in limit.organs}     # masks of others are not opened
SUFFIXES = (".nii.gz", ".nii")


def gather_masked(tree: Path, labels: Path | None = None) -> Gathered:
    """Every case below `tree`, labelled by its organs; a case is a folder with `segmentations`, named after it.

    labels  the table of numbered labels: two columns, number and name, separated by tabs or commas
    Raises CollectionError where numbered labels are there and no table for them.
    """
    names = _label_names(labels) if labels else {}
    gathered = Gathered()
    for case in cases(tree):
        images = [path for path in sorted(case.iterdir()) if path.name.endswith(SUFFIXES) and path.name not in NUMBERED]
        volume_id = "_".join(case.relative_to(tree).parts) or case.resolve().name
        if len(images) != 1:
            said = ", ".join(path.name for path in images) or "none"
            gathered.leave(case, f"{len(images)} images beside the masks ({said}), one is wanted: the one they were drawn on")
            continue
        add_case(gathered, VolumeRow(volume_id, volume_id, images[0]), case, names)
    leave_unmasked(gathered, tree)
    return gathered


def leave_unmasked(gathered: Gathered, tree: Path) -> None:
    """Sets aside every image below `tree` that lies beside no masks, and is none itself."""
    with_masks = set(cases(tree))
    for path in sorted(path for path in tree.rglob("*.nii*") if path.name.endswith(SUFFIXES)):
        if FOLDER not in path.relative_to(tree).parts[:-1] and path.parent not in with_masks:
            gathered.leave(path, f"no masks beside it: a folder {FOLDER} with one file an organ, or {' or '.join(NUMBERED)}")


def cases(tree: Path) -> Iterator[Path]:
    """Every folder at or below `tree` that holds masks, sorted."""
    yield from sorted({path.parent for name in (FOLDER, *NUMBERED) for path in tree.rglob(name)})


def add_case(gathered: Gathered, volume: VolumeRow, case: Path, names: Mapping[int, str]) -> None:
    """Takes the volume in, with the regions its masks tell; sets aside what cannot be read, and says what cannot be told."""
    try:
        image = readers.read(volume.path)
        grid = Grid(image.voxels.shape, image.vox_to_ras)
        organs = _organs(case, grid, names)
    except VolumeError as fault:
        gathered.refuse(volume.path, fault)
        return
    rungs, unsaid = regions_of(organs, grid.slices, grid.wide_mm)
    if unsaid:
        gathered.leave(volume.path, unsaid, NOT_LABELLED)
    first, last = body_slices(image)
    rows = [
        RegionRow(volume.volume_id, DEFAULT.chain[rung], max(first, begin), min(last, end))
        for rung in sorted(set(rungs.tolist())) for begin, end in runs_of(rungs == rung) if max(first, begin) <= min(last, end)
    ]  # fmt: skip
    gathered.add(volume, rows)


def _organs(case: Path, grid: Grid, names: Mapping[int, str]) -> dict[str, Extent | None]:
    """What was looked for, by name, and where it is."""
    found: dict[str, Extent | None] = {}
    if (case / FOLDER).is_dir():
        for path in sorted((case / FOLDER).iterdir()):
            name = readers.volume_name(path)
            if name in TELLING and path.name.endswith(SUFFIXES):
                voxels, spacing_mm = _mask(path, grid)
                found[name] = extent(voxels != 0, spacing_mm)
        return found
    path = next(case / name for name in NUMBERED if (case / name).exists())
    if not names:
        raise CollectionError("collect-labels", f"{path}: numbered labels, and no table that says what the numbers mean. Give --labels "
                                                "TABLE: number, tab, name.")
    voxels, spacing_mm = _mask(path, grid)
    return {name: extent(voxels == number, spacing_mm) for number, name in names.items() if name in TELLING}


def _mask(path: Path, grid: Grid) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """(voxels, spacing in mm) of a mask in RAS order.  Raises VolumeError where it cannot be read, or lies on another grid."""
    own = nifti_grid(path)
    if not own.is_same_as(grid):
        raise VolumeError("mask-grid", f"{path}: {own.shape} voxels, or at other places than the {grid.shape} of the image it is to "
                                       "explain. Resample it to the image's grid (nearest neighbour).")
    try:
        image: Any = nibabel.as_closest_canonical(nibabel.load(path))  # type: ignore[no-untyped-call]
        return np.asarray(np.round(image.get_fdata(dtype=np.float32))).reshape(image.shape[:3]), np.asarray(image.header.get_zooms()[:3])
    except Exception as fault:          # a damaged file: nibabel raises what its parts raise
        raise VolumeError("volume-corrupt", f"{path}: damaged ({fault}). Copy it again.") from fault


def _label_names(table: Path) -> dict[int, str]:
    """{number: name} of a table, whatever its heading; lines that begin with no number are passed over."""
    try:
        text = table.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise CollectionError("collect-labels", f"{table}: cannot be read ({fault}). Give a UTF-8 table: number, tab, name.") from fault
    names = {}
    for line in csv.reader(text.splitlines(), delimiter="\t" if "\t" in text else ","):
        if len(line) > 1 and line[0].strip().isdecimal():
            names[int(line[0])] = line[1].strip()
    if not TELLING & set(names.values()):
        raise CollectionError("collect-labels", f"{table}: none of its {len(names)} names tells a region, for instance liver or hip_left. "
                                                "Name the labels as TotalSegmentator does.")
    return names
