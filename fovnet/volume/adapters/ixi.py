"""IXI as published (brain-development.org): heads of healthy people from three hospitals.

    IXI002-Guys-0828-T1.nii.gz      subject, hospital, examination number, sequence; all in one folder or one
                                    folder per sequence

Every slice with tissue is labelled head.  Diffusion (DTI, sixteen files per examination) is left
out.
"""

from __future__ import annotations

import re
from pathlib import Path

from fovnet.errors import VolumeError
from fovnet.regions import DEFAULT
from fovnet.volume.adapters.body import find_body_slices
from fovnet.volume.adapters.gathering import Gathering
from fovnet.volume.collection.table_rows import RegionRow, VolumeRow
from fovnet.volume.sources.grids import VolumeGrid
from fovnet.volume.sources.readers import volume_name
from fovnet.volume.sources.source import read

FILE_NAME = re.compile(
    r"(?P<subject>IXI\d{3})-(?P<site>[A-Za-z]+)-(?P<examination>\d{4})-(?P<sequence>[A-Z0-9]+)(?P<rest>-\d+)?"
)
# Philips Intera 1.5 T, Philips Intera 3 T, GE 1.5 T, by the site
FIELD_TESLA_BY_SITE = {"Guys": "1.5", "HH": "3", "IOP": "1.5"}
HEAD_SEQUENCES = ("T1", "T2", "PD", "MRA")


def gather_ixi(tree: Path) -> Gathering:
    """Every structural image and angiogram, labelled head from its first to its last slice with
    tissue."""
    gathering = Gathering()
    for path in sorted(
        path for path in tree.rglob("*") if path.name.lower().endswith((".nii", ".nii.gz"))
    ):
        name = volume_name(path)
        match = FILE_NAME.fullmatch(name)
        if not match:
            gathering.set_aside(
                path,
                "not named IXI<number>-<hospital>-<examination>-<sequence> as the images of this data set "
                "are",
            )
        elif match["sequence"] not in HEAD_SEQUENCES or match["rest"]:
            gathering.set_aside(
                path,
                f"{match['sequence']}{match['rest'] or ''}: only {', '.join(HEAD_SEQUENCES)} are taken",
            )
        else:
            _add_image(gathering, path, match)
    return gathering


def _add_image(gathering: Gathering, path: Path, match: re.Match[str]) -> None:
    """Adds an image of this file name, labelled head from its first to its last slice with tissue;
    sets it aside if it cannot be read."""
    try:
        volume = read(path)
    except VolumeError as fault:
        gathering.set_broken_aside(path, fault)
        return
    first_slice, last_slice = find_body_slices(volume)
    attributes = {
        "site": match["site"],
        "sequence": match["sequence"],
        "plane": VolumeGrid(volume.voxels.shape, volume.vox_to_ras).plane,
        "field_strength": FIELD_TESLA_BY_SITE.get(match["site"], ""),
    }
    volume_id = volume_name(path)
    gathering.add_volume(
        VolumeRow(volume_id, match["subject"], path, attributes=attributes),
        [
            RegionRow(
                volume_id=volume_id,
                region=DEFAULT.chain[-1],
                range_start=first_slice,
                range_end=last_slice,
            )
        ],
    )
