"""An archive asked by C-FIND (DICOM PS3.4, C.4.1), study root, a level at a time with the UIDs of
those above, as archives need not answer otherwise."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from socket import SHUT_RDWR, socket
from typing import Any

from pydicom.dataset import Dataset
from pynetdicom import AE, _config
from pynetdicom.association import Association
from pynetdicom.sop_class import (  # type: ignore[attr-defined]
    StudyRootQueryRetrieveInformationModelFind,
)

from fovnet.archive.claims import (
    IMAGE_KEYWORDS,
    SERIES_KEYWORDS,
    STUDY_KEYWORDS,
    Answer,
    Claims,
    claims_of_data_set,
)
from fovnet.archive.faults import ArchiveError
from fovnet.archive.spans import Span
from fovnet.node.calling import call, calling_entity
from fovnet.node.peers import ReportPeer

# PS3.4, table C.4-1
STATUS_SUCCESS = 0x0000
STATUSES_PENDING = 0xFF00, 0xFF01
# Orthanc's, where it has limited an answer
STATUS_CANCELLED = 0xFE00


@dataclass
class NetworkArchive:
    """An archive that speaks DICOM, called by one association, which is opened again where it has
    ended.

    own_title    our AE title
    tls_context  to speak TLS; None to speak plainly
    timeout_s    of each answer
    """

    peer: ReportPeer
    own_title: str
    tls_context: ssl.SSLContext | None = None
    timeout_s: float = 120.0
    _association: Association | None = None
    _connections: list[socket] = field(default_factory=list)

    def find_studies(self, span: Span | None, modality: str) -> Answer:
        """As `Archive`."""
        values = {"ModalitiesInStudy": modality}
        if span is not None:
            values["StudyDate"] = span.dates
            values["StudyTime"] = span.times
        return self._find("STUDY", STUDY_KEYWORDS, values)

    def find_study(self, study_uid: str) -> Answer:
        """As `Archive`."""
        return self._find("STUDY", STUDY_KEYWORDS, {"StudyInstanceUID": study_uid})

    def find_series(self, study_uid: str) -> Answer:
        """As `Archive`."""
        return self._find("SERIES", SERIES_KEYWORDS, {"StudyInstanceUID": study_uid})

    def find_images(self, study_uid: str, series_uid: str) -> Answer:
        """As `Archive`."""
        uids = {"StudyInstanceUID": study_uid, "SeriesInstanceUID": series_uid}
        return self._find("IMAGE", IMAGE_KEYWORDS, uids)

    def close(self) -> None:
        """Ends its association."""
        if self._association is not None and self._association.is_established:
            self._association.release()
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._association = None

    def break_off(self) -> None:
        """Cuts its connections, as a network that fails: who waits for an answer then waits no longer."""
        for connection in self._connections:
            with suppress(OSError):  # it is closed already
                connection.shutdown(SHUT_RDWR)

    def _find(self, level: str, keywords: tuple[str, ...], values: Mapping[str, str]) -> Answer:
        """All matches of a question; one that cannot be decoded claims nothing."""
        identifier = Dataset()
        identifier.QueryRetrieveLevel = level
        for keyword in (*keywords, *values):
            setattr(identifier, keyword, values.get(keyword) or None)
        matches: list[Claims] = []
        undecoded_response: Dataset | None = None
        responses = self._open().send_c_find(identifier, StudyRootQueryRetrieveInformationModelFind)
        for response, match in responses:
            status = response.get("Status")
            if status in STATUSES_PENDING:
                if match is not None:
                    matches.append(claims_of_data_set(match, keywords))
                elif response is not undecoded_response:  # pynetdicom tells such a match twice
                    undecoded_response = response
                    matches.append(dict.fromkeys(keywords, ""))
            elif status == STATUS_SUCCESS:
                return Answer(matches)
            elif status == STATUS_CANCELLED:
                return Answer(matches, is_complete=False)
            elif status is not None:
                raise ArchiveError(
                    "archive-failed",
                    f"{self.name}: answers a search with status {status:04X}; look into its log, and try again",
                )
        self.close()
        raise ArchiveError(
            "archive-unreachable",
            f"{self.name}: broke off a search, or did not answer for {self.timeout_s:g} s; try whether it "
            f"is up, and whether {self.own_title} is allowed to search there",
        )

    def _open(self) -> Association:
        """The association, which is established.  Raises ArchiveError."""
        if self._association is not None and self._association.is_established:
            return self._association
        self.close()
        application_entity = calling_entity(self.own_title, self.timeout_s)
        application_entity.add_requested_context(StudyRootQueryRetrieveInformationModelFind)
        return self.associate(application_entity, "answer searches (C-FIND, study root)")

    def associate(
        self,
        application_entity: AE,
        service: str,
        handlers: Sequence[Any] = (),
        roles: Sequence[Any] = (),
    ) -> Association:
        """An association for the contexts of an application, which is established, until `close`.
        Raises ArchiveError.

        service  what the archive is asked to do, in words
        """
        _config.LOG_HANDLER_LEVEL = "none"  # its log names patients, and nobody reads it
        association = call(
            application_entity, self.peer, self.tls_context, self._connections, handlers, roles
        )
        if not association.is_established:
            refusal = self._refusal_of(association, service)
            self.close()
            raise refusal
        self._association = association
        return association

    @property
    def name(self) -> str:
        """It in words."""
        return f"{self.peer.title} at {self.peer.host}:{self.peer.port}"

    def _refusal_of(self, association: Association, service: str) -> ArchiveError:
        """Why there is no association."""
        if association.is_rejected:
            rejection: Any = association.acceptor.primitive
            return ArchiveError(
                "archive-denied",
                f"{self.name}: rejects {self.own_title} ({rejection.reason_str}); have this AE title allowed "
                "there, or give another by --aet",
            )
        if association.rejected_contexts:
            return ArchiveError(
                "archive-denied",
                f"{self.name}: does not {service}; have it allowed for {self.own_title} there",
            )
        if self.tls_context is not None:
            return ArchiveError(
                "archive-unreachable",
                f"{self.name}: does not answer by TLS with a certificate that is trusted and names the host; "
                "give the authorities that signed it by --ca, and --tls-cert if it asks for ours, or try whether "
                "it is up and speaks TLS",
            )
        return ArchiveError(
            "archive-unreachable",
            f"{self.name}: does not answer; try whether it is up, and whether host and port are right",
        )
