"""The images of a series, fetched by C-GET (DICOM PS3.4, C.4.3).

Each class and transfer syntax is a context of its own, so that images come as they are stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydicom.dataset import Dataset
from pynetdicom import build_role, evt
from pynetdicom.sop_class import (  # type: ignore[attr-defined]
    StudyRootQueryRetrieveInformationModelGet,
)

from fovnet.archive.retrieving import SeriesRetrieve
from fovnet.node.calling import calling_entity
from fovnet.node.door import (
    MR_IMAGE_CLASSES,
    STATUS_NOT_UNDERSTOOD,
    STATUS_OUT_OF_RESOURCES,
    STATUS_SUCCESS,
    file_header,
)
from fovnet.volume.dicom.decoding import list_decodable_syntaxes


@dataclass
class SeriesGet(SeriesRetrieve):
    """One series that comes on the association that asks for it.

    fault  of an image that could not be kept
    """

    fault: Exception | None = field(default=None, init=False)

    def ask(self, identifier: Dataset) -> None:
        """As `SeriesRetrieve`."""
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
        status: int | None = None
        for response, _ in association.send_c_get(
            identifier, StudyRootQueryRetrieveInformationModelGet
        ):
            status = response.get("Status")
        if self.fault is not None:
            raise self.fault
        if status is None:
            raise self.broke_off(self.archive.timeout_s)

    def _store(self, event: evt.Event) -> int:
        """Keeps an image; the status of our answer."""
        store_request: Any = event.request
        try:
            self.arrival.keep([file_header(event), store_request.DataSet.getbuffer()])
        except OSError as fault:
            self.fault = fault
            return STATUS_OUT_OF_RESOURCES
        except Exception as fault:
            self.fault = fault
            return STATUS_NOT_UNDERSTOOD
        return STATUS_SUCCESS
