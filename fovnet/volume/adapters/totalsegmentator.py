"""The TotalSegmentator MRI data set as published (Zenodo 11367004).

    meta.csv            image_id, institute, manufacturer, scanner_model, field_strength, ..., separated by ;
                        or ,
    s0001/mri.nii.gz
    s0001/segmentations/<organ>.nii.gz      one mask per organ, empty if the organ is outside the field of
                                            view

Source: D'Antonoli et al., *TotalSegmentator MRI* (2024), arXiv:2405.19492.  Age and gender are not
read.
"""

from __future__ import annotations

import csv
from pathlib import Path

from fovnet.volume.adapters.gathering import Gathering
from fovnet.volume.adapters.masked import MASK_FOLDER, add_case
from fovnet.volume.collection.table_rows import VolumeRow

IMAGE_NAME = "mri.nii.gz"
META_TABLE = "meta.csv"
ATTRIBUTE_OF_COLUMN = {
    "institute": "site",
    "manufacturer": "manufacturer",
    "field_strength": "field_strength",
    "scanner_model": "scanner_model",
    "source": "source",
    "split": "published_split",
}


def gather_totalsegmentator(tree: Path) -> Gathering:
    """Every case, labelled from its organ masks; the published split becomes an attribute only."""
    gathering = Gathering()
    row_by_case = _read_rows(tree / META_TABLE)
    for case in sorted(path for path in tree.iterdir() if path.is_dir()):
        if not (case / MASK_FOLDER).is_dir():
            gathering.set_aside(case, f"no folder {MASK_FOLDER} in it")
        elif not (case / IMAGE_NAME).exists():
            ct_phrase = ""
            if (case / "ct.nii.gz").exists():
                ct_phrase = ": a CT"
            gathering.set_aside(case, f"no {IMAGE_NAME} beside its masks{ct_phrase}")
        else:
            case_row = row_by_case.get(case.name, {})
            attributes = {
                attribute: (case_row.get(column) or "").strip()
                for column, attribute in ATTRIBUTE_OF_COLUMN.items()
            }
            add_case(
                gathering,
                VolumeRow(case.name, case.name, case / IMAGE_NAME, attributes=attributes),
                case,
                {},
            )
    if not row_by_case:
        gathering.set_aside(
            tree / META_TABLE, "missing or empty, so sites and scanners are unknown"
        )
    return gathering


def _read_rows(table: Path) -> dict[str, dict[str, str]]:
    """The row of each image_id; empty without the table."""
    if not table.is_file():
        return {}
    table_lines = table.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    delimiter = ","
    if table_lines and ";" in table_lines[0]:
        delimiter = ";"
    return {
        (row.get("image_id") or "").strip(): row
        for row in csv.DictReader(table_lines, delimiter=delimiter)
    }
