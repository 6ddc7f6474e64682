"""Which DICOM files were written here before: only these may be replaced or removed, whatever lies beside them or has their name."""

from __future__ import annotations

from pathlib import Path

from fovnet.errors import ModelError
from fovnet.volume.dicom_header import quietly


def refuse_foreign(path: Path) -> None:
    """Nothing, where no DICOM file lies there but one written here before.  Raises ModelError "export-foreign"."""
    if path.exists() and not is_our_dicom(path):
        raise ModelError("export-foreign", f"{path}: lies there, and was not written by fovnet; give another --out.")


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
