"""An archive asked by QIDO-RS (DICOM PS3.18, 10.6), through dicomweb-client 0.61.

Only dates, times, modalities and UIDs are sent as values: Orthanc takes the escapes of HTTP for
letters.  Every attribute is named, as `includefield=all` adds none there.  Pages are asked for until
one brings nothing new, since an archive may give fewer matches than asked for, or the same again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from dicomweb_client.web import DICOMwebClient
from requests.auth import AuthBase

from fovnet.archive.claims import (
    IMAGE_KEYWORDS,
    SERIES_KEYWORDS,
    STUDY_KEYWORDS,
    Answer,
    Claims,
    claims_of_json,
)
from fovnet.archive.faults import ArchiveError
from fovnet.archive.spans import Span
from fovnet.errors import ConfigError

TIMEOUT_S = 10.0, 120.0  # to connect, and between two packets: a search may take a minute
PAGE_LENGTH = 500  # matches asked for at once
SHORT_PAGE = 50  # fewer are all of a study: no archive is known to give so few a page
HTTP_DENIED = 401, 403


@dataclass
class WebArchive:
    """An archive that speaks DICOMweb."""

    url: str
    client: DICOMwebClient
    session: requests.Session
    page_length: int = PAGE_LENGTH
    short_page: int = SHORT_PAGE

    def find_studies(self, span: Span | None, modality: str) -> Answer:
        """As `Archive`."""
        filters = {}
        if modality:
            filters["ModalitiesInStudy"] = modality
        if span is not None:
            filters["StudyDate"] = span.dates
            if span.times:
                filters["StudyTime"] = span.times
        return self._find_studies(filters)

    def find_study(self, study_uid: str) -> Answer:
        """As `Archive`."""
        return self._find_studies({"StudyInstanceUID": study_uid})

    def find_series(self, study_uid: str) -> Answer:
        """As `Archive`."""

        def ask(**page: Any) -> Any:
            return self.client.search_for_series(study_uid, fields=SERIES_KEYWORDS, **page)

        return self._ask_pages(ask, SERIES_KEYWORDS)

    def find_images(self, study_uid: str, series_uid: str) -> Answer:
        """As `Archive`."""

        def ask(**page: Any) -> Any:
            return self.client.search_for_instances(
                study_uid, series_uid, fields=IMAGE_KEYWORDS, **page
            )

        return self._ask_pages(ask, IMAGE_KEYWORDS)

    def close(self) -> None:
        """Ends its connections."""
        self.session.close()

    def _find_studies(self, filters: dict[str, str]) -> Answer:
        def ask(**page: Any) -> Any:
            return self.client.search_for_studies(
                fields=STUDY_KEYWORDS, search_filters=filters, **page
            )

        return self._ask_pages(ask, STUDY_KEYWORDS)

    def _ask_pages(self, ask: Callable[..., Any], keywords: tuple[str, ...]) -> Answer:
        """All matches of a search, page by page."""
        matches: list[Claims] = []
        pages_seen: set[str] = set()
        while True:
            with faults_of(self.url):
                items = ask(limit=self.page_length, offset=len(matches))
            if not isinstance(items, list):
                raise ArchiveError(
                    "archive-answer",
                    f"{self.url}: answers a search with a {type(items).__name__}, where a list is "
                    "expected; give the root of its DICOMweb service",
                )
            page = [claims_of_json(item, keywords) for item in items]
            if not page or repr(page) in pages_seen:  # nothing more, or offset is ignored
                return Answer(matches)
            pages_seen.add(repr(page))
            matches += page
            if len(page) < min(self.short_page, self.page_length):
                return Answer(matches)


def open_web_archive(url: str, credentials: AuthBase, authorities: Path | None) -> WebArchive:
    """The archive at the root of a DICOMweb service; nothing is asked yet.

    authorities  whose certificates are trusted (PEM); None: those of the system
    Raises ConfigError "archive-address" for what is no such address.
    """
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise ConfigError(
            "archive-credentials",
            f"{parts.scheme}://...@{parts.hostname}: an address with a name or a password, which "
            "every user of this machine can read; give --netrc or --token-file",
        )
    session = requests.Session()
    session.auth = credentials
    if authorities is not None:
        if not authorities.is_file():
            raise ConfigError(
                "archive-certificate", f"--ca {authorities}: no such file; give certificates (PEM)"
            )
        session.trust_env = False  # which would put REQUESTS_CA_BUNDLE in its place
        session.verify = str(authorities)
    try:
        client = DICOMwebClient(
            url.rstrip("/"), session=session, permissive_uid=True, timeout=TIMEOUT_S
        )
    except ValueError:
        raise ConfigError(
            "archive-address",
            f"{url}: is no address of a DICOMweb service; give one as in "
            "https://pacs.example/dicom-web",
        ) from None
    client.set_http_retry_params(retry=False)  # the plan asks again itself, and others meanwhile
    return WebArchive(url.rstrip("/"), client, session)


@contextmanager
def faults_of(url: str) -> Iterator[None]:
    """Raises ArchiveError for what goes wrong with an archive while the block runs."""
    try:
        yield
    except requests.exceptions.SSLError as fault:
        raise ArchiveError(
            "archive-certificate",
            f"{url}: its certificate is not accepted ({_reason_of(fault)}); give the authorities that "
            "signed it by --ca, and the host's name as it stands there",
        ) from None
    except requests.exceptions.JSONDecodeError:
        raise ArchiveError(
            "archive-answer",
            f"{url}: answers what is no JSON, such as a page for people; give the root of "
            "its DICOMweb service, as in https://pacs.example/dicom-web",
        ) from None
    except requests.exceptions.HTTPError as fault:
        raise _fault_of_status(url, fault) from None
    except requests.exceptions.RequestException as fault:
        raise ArchiveError(
            "archive-unreachable",
            f"{url}: does not answer, or breaks off ({type(fault).__name__}); try whether it is up",
        ) from None


def _fault_of_status(url: str, fault: requests.exceptions.HTTPError) -> ArchiveError:
    """What a status of HTTP says."""
    status = getattr(fault.response, "status_code", 0)
    if status in HTTP_DENIED:
        return ArchiveError(
            "archive-denied",
            f"{url}: does not let us in (HTTP {status}): a wrong or expired password or token, or none; "
            "give --netrc or --token-file",
        )
    return ArchiveError(
        "archive-failed", f"{url}: answers HTTP {status}; look into its log, and try again", status
    )


def _reason_of(fault: requests.exceptions.SSLError) -> str:
    """The reason of a failed verification, in words of the library of TLS."""
    match = re.search(r"certificate verify failed: ([\w ,.'():-]+)", str(fault))
    if match is None:
        return "TLS could not be agreed on"
    return match[1].partition(" (_ssl")[0].strip()
