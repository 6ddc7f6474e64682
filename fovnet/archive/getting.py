"""The images of a series, fetched by C-GET (DICOM PS3.4, C.4.3), study root, an association a series.

What arrives is counted and checked: DCMTK's archive answers 0000 with nothing where it has no such
series, Orthanc's C000 tells no number.  Each class and transfer syntax is a context of its own, so that
images come as they are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pydicom.dataset import Dataset
from pynetdicom import build_role, evt
from pynetdicom.sop_class import (  # type: ignore[attr-defined]
    StudyRootQueryRetrieveInformationModelGet,
)

from fovnet.archive.arrival import Arrival
from fovnet.archive.faults import ArchiveError
from fovnet.archive.network import NetworkArchive
from fovnet.node.calling import calling_entity
from fovnet.node.door import (
    MR_IMAGE_CLASSES,
    STATUS_NOT_UNDERSTOOD,
    STATUS_OUT_OF_RESOURCES,
    STATUS_SUCCESS,
)
from fovnet.volume.dicom.decoding import list_decodable_syntaxes


@dataclass
class SeriesGet:
    """One series on its way from an archive, which is this fetch's own.

    fault  of an image that could not be kept
    """

    archive: NetworkArchive
    arrival: Arrival
    fault: Exception | None = field(default=None, init=False)

    def fetch(self) -> None:
        """Fills the folder of the series.  Raises ArchiveError."""
        row = self.arrival.row
        try:
            with self.arrival.arriving():
                self._get("SERIES")
                self.archive.close()
                self.arrival.complete(
                    lambda: self.archive.find_images(row.study_uid, row.series_uid),
                    self._get_image,
                )
        finally:
            self.archive.close()

    def _get_image(self, image_uid: str) -> None:
        self.archive.close()
        self._get("IMAGE", image_uid)

    def _get(self, level: str, image_uid: str = "") -> None:
        """Keeps what an archive sends of a series, or one image of it."""
        application_entity = calling_entity(self.archive.own_title, self.archive.timeout_s)
        application_entity.add_requested_context(StudyRootQueryRetrieveInformationModelGet)
        for sop_class in MR_IMAGE_CLASSES:
            for syntax in list_decodable_syntaxes():
                application_entity.add_requested_context(sop_class, syntax)
        association = self.archive.associate(
            application_entity,
            "give images (C-GET, study root)",
            [(evt.EVT_C_STORE, self._store)],
            [build_role(sop_class, scp_role=True) for sop_class in MR_IMAGE_CLASSES],
        )
        identifier = Dataset()
        identifier.QueryRetrieveLevel = level
        identifier.StudyInstanceUID = self.arrival.row.study_uid
        identifier.SeriesInstanceUID = self.arrival.row.series_uid
        if image_uid:
            identifier.SOPInstanceUID = image_uid
        status: int | None = None
        for response, _ in association.send_c_get(
            identifier, StudyRootQueryRetrieveInformationModelGet
        ):
            status = response.get("Status")
        if self.fault is not None:
            raise self.fault
        if status is None:
            raise ArchiveError(
                "archive-unreachable",
                f"{self.arrival.name}: the archive broke off, or sent nothing for {self.archive.timeout_s:g} s; "
                "try whether it is up",
            )

    def _store(self, event: evt.Event) -> int:
        """Keeps an image; the status of our answer."""
        try:
            self.arrival.keep([event.encoded_dataset()])
        except OSError as fault:
            self.fault = fault
            return STATUS_OUT_OF_RESOURCES
        except Exception as fault:
            self.fault = fault
            return STATUS_NOT_UNDERSTOOD
        return STATUS_SUCCESS
