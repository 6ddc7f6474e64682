"""Which DICOM files were written here before: only these may be replaced or removed, whatever lies beside them or has their name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fovnet.errors import ModelError
from fovnet.volume.dicom_header import quietly


def refuse_foreign(path: Path) -> None:
    """Nothing, where no DICOM file lies there but one written here before.  Raises ModelError "export-foreign"."""
    if path.exists() and not is_our_dicom(path):
        raise ModelError("export-foreign", f"{path}: lies there, and was not written by fovnet; give another --out.")


def refuse_other_study(path: Path, header: Any) -> None:
    """Nothing, unless what lies there was written here on a study other than that of `header`.  Raises ModelError "export-other-study": a
    volume of the same name in another batch, whose file would be lost without a word."""
    from pydicom import dcmread

    if not path.exists() or not is_our_dicom(path):
        return
    with quietly():
        before = dcmread(path, specific_tags=["StudyInstanceUID"]).get("StudyInstanceUID")
    if before != header.get("StudyInstanceUID"):
        raise ModelError("export-other-study", f"{path}: lies there, on a volume of the same name from another study, and would be written "
                                               "over; give each batch an --out of its own, or remove it.")


def is_our_dicom(path: Path) -> bool:
    """Whether a DICOM file is a report on an answer, or a copy whose header was changed here last; False for what cannot be read."""
    from pydicom import dcmread

    try:
        with quietly():
            header = dcmread(path, specific_tags=["Modality", "Manufacturer", "OriginalAttributesSequence"])
            changes = header.get("OriginalAttributesSequence") or [{}]
            report = header.get("Modality") == "SR" and header.get("Manufacturer") == "fovnet"
            return bool(report or changes[-1].get("ModifyingSystem") == "fovnet")
    except MemoryError:
        raise
    except Exception:           # bytes of any kind lie in users' folders
        return False
