"""Volumes with organ masks: one NIfTI per organ in a folder `segmentations`, or one file of
numbered labels and a table of their names.

    case/mri.nii.gz                       case/mri.nii.gz
    case/segmentations/liver.nii.gz       case/segmentations.nii.gz
    case/segmentations/hip_left.nii.gz    (and a table: label, name)
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from numpy.typing import NDArray

from fovnet.errors import CollectionError, VolumeError
from fovnet.regions import DEFAULT
from fovnet.volume.adapters.body import find_body_slices, find_runs
from fovnet.volume.adapters.gathering import NOT_LABELLED_KIND, Gathering
from fovnet.volume.adapters.organs import (
    REGION_LIMITS,
    RUNG_RANGE_BY_ORGAN,
    OrganExtent,
    find_organ_extent,
    find_rungs,
)
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.orient import reorder_to_closest_ras
from fovnet.volume.sources.grids import VolumeGrid, read_nifti_grid
from fovnet.volume.sources.readers import volume_name
from fovnet.volume.sources.source import read
from fovnet.volume.unpacking import regular_path
from fovnet.volume.volume import Volume

MASK_FOLDER = "segmentations"
NUMBERED_MASK_NAMES = ("segmentations.nii.gz", "segmentations.nii")
# other masks are not opened
REGION_ORGANS = frozenset(RUNG_RANGE_BY_ORGAN) | {
    organ for limit in REGION_LIMITS for organ in limit.organs
}
ORGAN_BY_SPELLING = {name.casefold(): name for name in REGION_ORGANS}
# vertebrae_L3 is not a misspelling of vertebrae_L2
UNNUMBERED_SPELLINGS = sorted(name for name in ORGAN_BY_SPELLING if not re.search(r"\d", name))
# includes liverr and hip_lef, excludes kidney_cyst_left (kidney_left) and brainstem (brain)
LEAST_SIMILARITY = 0.87
IMAGE_SUFFIXES = (".nii.gz", ".nii")
SESSION_FOLDER = re.compile(
    r"(ses|sess|session|visit|scan|timepoint|time|tp)[-_ ]?\w{1,8}", re.IGNORECASE
)


def gather_masked(tree: Path, labels: Path | None = None) -> Gathering:
    """Every case below `tree`, labelled by its organs; a case is a folder with masks, and the
    volume is named after it.

    labels  the table of numbered labels: two columns, number and name, separated by tabs or commas
    Raises CollectionError "collect-labels" for numbered labels without a table, or a table that is not
    usable.
    """
    name_by_label: dict[int, str] = {}
    gathering = Gathering()
    if labels:
        name_by_label = _read_label_names(labels)
        for name in name_by_label.values():
            _set_misspelt_aside(gathering, labels, name)
    for case in list_cases(tree):
        images = [
            path
            for path in sorted(case.iterdir())
            if _is_image(path) and path.name not in NUMBERED_MASK_NAMES
        ]
        volume_id = "_".join(case.relative_to(tree).parts) or case.resolve().name
        if len(images) != 1:
            image_names = ", ".join(path.name for path in images) or "none"
            gathering.set_aside(
                case,
                f"{len(images)} images beside the masks ({image_names}); keep only the one they were "
                "drawn on",
            )
            continue
        subject = _subject_of_case(case.relative_to(tree).parts) or volume_id
        add_case(gathering, VolumeRow(volume_id, subject, images[0]), case, name_by_label)
    set_unmasked_aside(gathering, tree)
    return gathering


def _is_image(path: Path) -> bool:
    """Whether a path is named like a NIfTI image; hidden files (macOS "._" companions) are not."""
    return path.name.endswith(IMAGE_SUFFIXES) and not path.name.startswith(".")


def _subject_of_case(parts: Sequence[str]) -> str:
    """The subject_id of a case in these folders: p01/ses-1 and p01/ses-2, sessions of one person,
    are both p01."""
    if len(parts) > 1 and SESSION_FOLDER.fullmatch(parts[-1]):
        parts = parts[:-1]
    return "_".join(parts)


def set_unmasked_aside(gathering: Gathering, tree: Path) -> None:
    """Sets aside every image below `tree` that has no masks beside it and is not a mask itself."""
    case_folders = set(list_cases(tree))
    for path in sorted(path for path in tree.rglob("*.nii*") if _is_image(path)):
        if MASK_FOLDER not in path.relative_to(tree).parts[:-1] and path.parent not in case_folders:
            gathering.set_aside(
                path,
                f"no masks beside it: expected a folder {MASK_FOLDER} with one file per organ, or "
                f"{' or '.join(NUMBERED_MASK_NAMES)}",
            )


def list_cases(tree: Path) -> Iterator[Path]:
    """Every folder at or below `tree` with masks, sorted."""
    yield from sorted(
        {path.parent for name in (MASK_FOLDER, *NUMBERED_MASK_NAMES) for path in tree.rglob(name)}
    )


def add_case(
    gathering: Gathering, volume: VolumeRow, case: Path, name_by_label: Mapping[int, str]
) -> None:
    """Adds the volume with the regions derived from its masks; sets it aside, with the reason, if
    it cannot be read or labelled."""
    try:
        mr_volume = read(volume.path)
        grid = VolumeGrid(mr_volume.voxels.shape, mr_volume.vox_to_ras)
        organs = _find_organ_extents(case, grid, name_by_label, gathering)
    except VolumeError as fault:
        gathering.set_broken_aside(volume.path, fault)
        return
    rungs, reason = find_rungs(organs, grid.slice_count, grid.width_mm)
    if not organs:
        reason = (
            "none of its masks is named after an organ that marks a region; use TotalSegmentator's names, "
            "such as liver, hip_left"
        )
    if reason:
        gathering.set_aside(volume.path, reason, NOT_LABELLED_KIND)
    first_slice, last_slice = find_body_slices(mr_volume)
    # far from the coil the body is as dark as air, but may have a mask
    extents = [organ for organ in organs.values() if organ]
    first_slice = min([first_slice, *(organ.first_slice for organ in extents)])
    last_slice = max([last_slice, *(organ.last_slice for organ in extents)])
    region_rows = [
        RegionRow(
            volume_id=volume.volume_id,
            region=DEFAULT.chain[rung],
            range_start=max(first_slice, run_begin),
            range_end=min(last_slice, run_end),
        )
        for rung in sorted(set(rungs.tolist()))
        for run_begin, run_end in find_runs(rungs == rung)
        if max(first_slice, run_begin) <= min(last_slice, run_end)
    ]
    gathering.add_volume(volume, region_rows)


def find_organ(name: str) -> str | None:
    """The organ of REGION_ORGANS with this name, ignoring case, hyphens and blanks: "Hip-left" is
    hip_left; None if there is none."""
    return ORGAN_BY_SPELLING.get(re.sub(r"[\s-]+", "_", name.strip()).casefold())


def _set_misspelt_aside(gathering: Gathering, path: Path, name: str) -> None:
    """Sets aside a mask or a table if `name` is similar to one of REGION_ORGANS, asking whether
    that is meant."""
    if find_organ(name):
        return
    for similar_spelling in get_close_matches(
        name.casefold(), UNNUMBERED_SPELLINGS, 1, LEAST_SIMILARITY
    ):
        gathering.set_aside(
            path,
            f"{name!r} is not an organ that marks a region; is {ORGAN_BY_SPELLING[similar_spelling]!r} meant?",
        )


def _find_organ_extents(
    case: Path, grid: VolumeGrid, name_by_label: Mapping[int, str], gathering: Gathering
) -> dict[str, OrganExtent | None]:
    """The extent of each organ with a mask, by the organ's name, over all masks of that name; None
    for an organ whose masks are empty.  A mask whose name is only similar to an organ's is set
    aside.

    name_by_label  names of the labels of a numbered mask
    Raises CollectionError "collect-labels" for numbered labels without names.
    """
    if (case / MASK_FOLDER).is_dir():
        paths_by_organ: dict[str, list[Path]] = {}
        for path in sorted((case / MASK_FOLDER).iterdir()):
            if not _is_image(path):
                continue
            mask_name = volume_name(path)
            _set_misspelt_aside(gathering, path, mask_name)
            if organ := find_organ(mask_name):
                paths_by_organ.setdefault(organ, []).append(path)
        return {
            organ: _find_extent_in_masks(paths, grid) for organ, paths in paths_by_organ.items()
        }
    path = next(
        case / mask_name for mask_name in NUMBERED_MASK_NAMES if (case / mask_name).exists()
    )
    if not name_by_label:
        raise CollectionError(
            "collect-labels",
            f"{path}: numbered labels without a table of their names. Give --labels TABLE: number, tab, "
            "name.",
        )
    voxels, spacing_mm = read_mask_in_ras(path, grid)
    labels_by_organ: dict[str, list[int]] = {}
    for label, mask_name in name_by_label.items():
        if organ := find_organ(mask_name):
            labels_by_organ.setdefault(organ, []).append(label)
    return {
        organ: find_organ_extent(np.isin(voxels, labels), spacing_mm)
        for organ, labels in labels_by_organ.items()
    }


def _find_extent_in_masks(paths: Sequence[Path], grid: VolumeGrid) -> OrganExtent | None:
    """The extent of an organ in the union of one or more masks; None if all are empty."""
    voxels, spacing_mm = read_mask_in_ras(paths[0], grid)
    is_organ = voxels != 0
    for path in paths[1:]:
        voxels, _ = read_mask_in_ras(path, grid)
        is_organ |= voxels != 0
    return find_organ_extent(is_organ, spacing_mm)


def read_mask_in_ras(path: Path, grid: VolumeGrid) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """(voxels, spacing in mm) of a mask in the closest RAS order of its image, whose affine decides
    at 45° too.

    Raises VolumeError if it cannot be read, has several frames ("mask-frames"), or is not on its
    image's grid ("mask-grid").
    """
    mask_grid = read_nifti_grid(path)
    if not mask_grid.is_same_as(grid):
        raise VolumeError(
            "mask-grid",
            f"{path}: {mask_grid.shape} voxels, or at other positions than the {grid.shape} of its image. "
            "Resample it to the image's grid (nearest neighbour).",
        )
    try:
        image: Any = nibabel.load(path)
        frame_count = int(np.prod(image.shape[3:]))
        if frame_count == 1:
            voxels = np.nan_to_num(image.get_fdata(dtype=np.float32)).reshape(image.shape[:3])
            mask = reorder_to_closest_ras(Volume(np.round(voxels), grid.vox_to_ras, str(path)))
            return mask.voxels, mask.spacing_mm
    except Exception as fault:
        # a damaged file: nibabel passes on any exception of the libraries it uses
        raise VolumeError("volume-corrupt", f"{path}: damaged ({fault}). Copy it again.") from fault
    raise VolumeError(
        "mask-frames",
        f"{path}: {frame_count} frames, but a mask has one. Save one frame, or one mask per organ.",
    )


def _read_label_names(table: Path) -> dict[int, str]:
    """{number: name} of a table; lines that do not begin with a number, such as a heading, are
    skipped."""
    try:
        table_text = regular_path(table).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise CollectionError(
            "collect-labels",
            f"{table}: cannot be read ({fault}). Give a UTF-8 table: number, tab, name.",
        ) from fault
    name_by_label = {}
    delimiter = ","
    if "\t" in table_text:
        delimiter = "\t"
    for cells in csv.reader(table_text.splitlines(), delimiter=delimiter):
        if len(cells) > 1 and cells[0].strip().isdecimal():
            name_by_label[int(cells[0])] = cells[1].strip()
    if not any(map(find_organ, name_by_label.values())):
        raise CollectionError(
            "collect-labels",
            f"{table}: none of its {len(name_by_label)} names marks a region, for instance liver or hip_left. "
            "Use TotalSegmentator's names.",
        )
    return name_by_label
