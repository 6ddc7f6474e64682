"""SPIDER as published (Zenodo 8009680): lumbar spines, sagittal.

    images/<subject>_<t1|t2|t2_SPACE>.mha
    masks/<the same>.mha            vertebrae 1 to 25 counted from the lowest, canal 100, discs from 201
    overview.csv                    one line per image, with attributes of its DICOM header

Every slice is labelled spine; the masks do not determine where pelvis, abdomen and chest meet, so
no chain region is labelled. Source: van der Graaf et al., *Lumbar spine segmentation in MR images*
(2024), Scientific Data 11:264.
"""

from __future__ import annotations

import re
from pathlib import Path

from fovnet.errors import VolumeError
from fovnet.regions import DEFAULT
from fovnet.volume.adapters.gathering import Gathering
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.sources.grids import read_metaimage_grid

FILE_NAME = re.compile(r"(?P<subject>\d+)_(?P<sequence>t1|t2|t2_SPACE)", re.IGNORECASE)


def gather_spider(tree: Path) -> Gathering:
    """Every image, labelled spine from its first to its last slice; one without a mask on its grid
    is set aside."""
    gathering = Gathering()
    for path in sorted((tree / "images").glob("*")):
        match = FILE_NAME.fullmatch(path.stem)
        if not match or path.suffix.lower() != ".mha":
            gathering.set_aside(
                path, "not named <subject>_<t1|t2|t2_SPACE>.mha as the images of this data set are"
            )
            continue
        try:
            grid = read_metaimage_grid(path)
            mask_grid = read_metaimage_grid(tree / "masks" / path.name)
        except VolumeError as fault:
            gathering.set_broken_aside(path, fault)
            continue
        if not mask_grid.is_same_as(grid):
            gathering.set_broken_aside(
                path,
                VolumeError(
                    "mask-grid",
                    f"{path}: {grid.shape} voxels, its mask has {mask_grid.shape}, or they have other positions. "
                    "Download both again.",
                ),
            )
            continue
        attributes = {"sequence": match["sequence"], "plane": grid.plane}
        region_rows = [
            RegionRow(
                volume_id=path.stem,
                region=side_region,
                range_start=0,
                range_end=grid.slice_count - 1,
            )
            for side_region in DEFAULT.side_regions
        ]
        gathering.add_volume(
            VolumeRow(path.stem, match["subject"], path, attributes=attributes), region_rows
        )
    return gathering
