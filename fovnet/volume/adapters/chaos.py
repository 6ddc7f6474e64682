"""CHAOS as published (Zenodo 3431873): abdomens of healthy people, as DICOM series.

    <Train_Sets|Test_Sets>/MR/<subject>/T1DUAL/DICOM_anon/{InPhase,OutPhase}/*.dcm
    <Train_Sets|Test_Sets>/MR/<subject>/T2SPIR/DICOM_anon/*.dcm
    .../Ground/*.png                masks of liver, kidneys and spleen, one PNG per slice

Each series is one volume, with its folder as path.  Nothing is labelled: the position of each mask
is in the DICOM headers only, which are not read here.  CT (the folder CT beside MR) is left out.
Source: Kavur et al., *CHAOS challenge* (2021), Medical Image Analysis 69:101950.
"""

from __future__ import annotations

from pathlib import Path

from fovnet.volume.adapters.gathering import NOT_LABELLED_KIND, Gathering
from fovnet.volume.collection.table_rows import VolumeRow

SEQUENCE_BY_FOLDER = {
    "T1DUAL/DICOM_anon/InPhase": "T1-in",
    "T1DUAL/DICOM_anon/OutPhase": "T1-out",
    "T2SPIR/DICOM_anon": "T2-SPIR",
}


def gather_chaos(tree: Path) -> Gathering:
    """Every MR series, one volume each; a series that a subject lacks is set aside."""
    gathering = Gathering()
    for folder in sorted(
        {path for path in (tree, *tree.rglob("*")) if path.is_dir() and path.name in ("MR", "CT")}
    ):
        if folder.name == "CT":
            gathering.set_aside(folder, "CT; fovnet reads MR")
            continue
        for subject in sorted(path for path in folder.iterdir() if path.is_dir()):
            _add_subject(gathering, subject)
    return gathering


def _add_subject(gathering: Gathering, subject_folder: Path) -> None:
    """Adds the MR series of a subject's folder, unlabelled; a missing one is set aside."""
    for series_folder, sequence in SEQUENCE_BY_FOLDER.items():
        series_path = subject_folder / series_folder
        dicom_files = []
        if series_path.is_dir():
            dicom_files = [path for path in series_path.glob("*") if path.suffix.lower() == ".dcm"]
        if not dicom_files:
            gathering.set_aside(
                series_path, "no DICOM files in it, though every subject has this series"
            )
            continue
        volume_row = VolumeRow(
            f"{subject_folder.name}_{sequence}",
            subject_folder.name,
            series_path,
            attributes={"sequence": sequence, "plane": "axial"},
        )
        gathering.add_volume(volume_row)
        gathering.set_aside(
            series_path,
            f"{len(dicom_files)} DICOM files whose heights are unknown: the pictures in Ground do not say which "
            "slice they show",
            NOT_LABELLED_KIND,
        )
