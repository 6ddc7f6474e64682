"""The images of a series, asked for by the DICOM network (DICOM PS3.4, C.4.2 and C.4.3), study root.

By series, and then by image where some are missing; never by study: Orthanc ends at the first object of
it that has no context.  What arrives is counted: DCMTK's archive answers 0000 with nothing where it has
no such series, Orthanc's C000 tells no number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from pydicom.dataset import Dataset

from fovnet.archive.arrival import Arrival
from fovnet.archive.faults import ArchiveError
from fovnet.archive.network import NetworkArchive


@dataclass
class SeriesRetrieve(ABC):
    """One series on its way from an archive, which is this fetch's own."""

    archive: NetworkArchive
    arrival: Arrival

    def fetch(self) -> None:
        """Fills the folder of the series.  Raises ArchiveError."""
        row = self.arrival.row
        try:
            with self.arrival.arriving():
                self._retrieve("SERIES")
                self.archive.close()
                self.arrival.complete(
                    lambda: self.archive.find_images(row.study_uid, row.series_uid),
                    lambda image_uid: self._retrieve("IMAGE", image_uid),
                )
        finally:
            self.archive.close()

    @abstractmethod
    def ask(self, identifier: Dataset) -> None:
        """Keeps what the archive sends of what an identifier names.  Raises ArchiveError."""

    def broke_off(self, longest_silence_s: float) -> ArchiveError:
        """What is said of an archive that gave no last answer."""
        return ArchiveError(
            "archive-unreachable",
            f"{self.arrival.name}: the archive broke off, or sent nothing for {longest_silence_s:g} s; "
            "try whether it is up",
        )

    def _retrieve(self, level: str, image_uid: str = "") -> None:
        """Asks for a series, or one image of it, by an association of its own."""
        self.archive.close()
        identifier = Dataset()
        identifier.QueryRetrieveLevel = level
        identifier.StudyInstanceUID = self.arrival.row.study_uid
        identifier.SeriesInstanceUID = self.arrival.row.series_uid
        if image_uid:
            identifier.SOPInstanceUID = image_uid
        self.ask(identifier)
