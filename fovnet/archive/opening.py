"""The archive that an address names: `https://...` by DICOMweb, `AE@HOST:PORT` by the DICOM network."""

from __future__ import annotations

import math
import os
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from fovnet.archive.arrival import Arrival
from fovnet.archive.claims import Archive
from fovnet.archive.reporting import Reporting
from fovnet.archive.timing import Throttle
from fovnet.archive.worklist import WorklistRow
from fovnet.errors import ConfigError
from fovnet.late import import_late
from fovnet.node.outbox import Outbox, Pauses
from fovnet.node.peers import Caller, all_callers, peer_of, title_of
from fovnet.node.places import Places
from fovnet.node.tls import client_context, server_context
from fovnet.watch.log import write_nothing

if TYPE_CHECKING:
    from fovnet.archive import credentials, fetching, getting, moving, network, storing, web
    from fovnet.node import courier
else:  # requests, dicomweb_client or pynetdicom, of an extra
    credentials = import_late("fovnet.archive.credentials")
    fetching = import_late("fovnet.archive.fetching")
    getting = import_late("fovnet.archive.getting")
    moving = import_late("fovnet.archive.moving")
    network = import_late("fovnet.archive.network")
    storing = import_late("fovnet.archive.storing")
    web = import_late("fovnet.archive.web")
    courier = import_late("fovnet.node.courier")

LIBRARIES = ("dicomweb_client", "prometheus_client", "pynetdicom")
Fetch = Callable[[WorklistRow, Path], None]
"""Fills a folder with the images of a series.  Raises ArchiveError."""


@dataclass(frozen=True)
class DoorAddress:
    """Where images come in by C-MOVE, and who may send them but the archive itself.

    folder  on the disk of the series' folders
    port    0 for any that is free
    """

    folder: Path
    port: int
    callers: tuple[Caller, ...] = ()


@dataclass(frozen=True)
class Address:
    """Where an archive is, and how it is called.

    place        https://... or AE@HOST:PORT
    netrc_path, token_path   what lets us in by DICOMweb; None: the environment, if that may be used
    authorities  whose certificates are trusted (PEM); None: those of the system
    own_title    our AE title
    tls          whether the DICOM network is called by TLS
    certificate, key   ours (PEM), for calls and for the door, which then speaks TLS alone
    door         where images come by C-MOVE; None: by C-GET
    """

    place: str
    netrc_path: Path | None = None
    token_path: Path | None = None
    authorities: Path | None = None
    own_title: str = "FOVNET"
    tls: bool = False
    certificate: Path | None = None
    key: Path | None = None
    uses_environment: bool = True
    door: DoorAddress | None = None

    @property
    def is_web(self) -> bool:
        """Whether it is asked by DICOMweb."""
        return self.place.startswith(("http://", "https://"))


def host_of(place: str) -> str:
    """The host of a DICOMweb service; "" of another place."""
    return urlsplit(place).hostname or ""


@contextmanager
def open_archive(address: Address) -> Iterator[Archive]:
    """The archive, closed with the block; nothing is asked yet.

    Raises ConfigError for what is no address or no credentials, "archive-library" where the
    libraries are not installed, which are an extra.
    """
    _refuse_without_libraries()
    opener: Callable[[Address], Archive] = _open_network_archive
    if address.is_web:
        opener = _open_web_archive
    archive = opener(address)
    try:
        yield archive
    finally:
        archive.close()


@contextmanager
def open_fetch(address: Address, throttle: Throttle) -> Iterator[Fetch]:
    """What fills a folder with the images of a series, from an archive that is closed with the block.

    Raises as `open_archive`, and ConfigError "archive-door" for a door that cannot be opened.
    """
    _refuse_without_libraries()
    _refuse_unfit_door(address)
    if not address.is_web:
        with _open_network_fetch(address, throttle) as network_fetch:
            yield network_fetch
        return
    archive = _open_web_archive(address)

    def fetch(row: WorklistRow, folder: Path) -> None:
        arrival = Arrival(row, folder, fetching.series_url(archive, row), throttle)
        fetching.SeriesFetch(archive, arrival).fetch()

    try:
        yield fetch
    finally:
        archive.close()


@contextmanager
def _open_network_fetch(address: Address, throttle: Throttle) -> Iterator[Fetch]:
    """What fetches a series by C-GET, or by C-MOVE to a door that is open while the block runs; each
    by associations of its own."""
    archive = _open_network_archive(address)

    def arrival_of(row: WorklistRow, folder: Path) -> Arrival:
        return Arrival(row, folder, f"{archive.name}, series {row.series_uid}", throttle)

    door = address.door
    if door is None:
        yield lambda row, folder: getting.SeriesGet(
            _open_network_archive(address), arrival_of(row, folder)
        ).fetch()
        return
    callers = all_callers(door.callers, archive.peer, "")
    tls_in = _door_context(address)
    with moving.open_reception(
        door.folder, archive.own_title, door.port, callers, tls_in
    ) as reception:
        yield lambda row, folder: moving.SeriesMove(
            _open_network_archive(address), arrival_of(row, folder), reception
        ).fetch()


@contextmanager
def open_reporting(address: Address, folder: Path, own_host: str) -> Iterator[Reporting]:
    """The reports of a run in a folder, which are sent to an address by STOW-RS or C-STORE.

    own_host  of the archive that the series come from; another host is sent a name and password of
              --netrc alone: a token is one archive's
    Raises as `open_archive`.
    """
    _refuse_without_libraries()
    outbox = Outbox(Places(folder), pauses=Pauses(give_up_s=math.inf))
    if address.is_web:
        if own_host not in ("", host_of(address.place)):
            address = replace(address, token_path=None, uses_environment=False)
        archive = _open_web_archive(address)
        try:
            yield Reporting(address.place, outbox, storing.WebCourier(outbox, archive))
        finally:
            archive.close()
        return
    network_archive = _open_network_archive(address)
    network_courier = courier.Courier(
        outbox,
        network_archive.peer,
        network_archive.own_title,
        network_archive.tls_context,
        network_archive.timeout_s,
        log=write_nothing,
        asks_commitment=False,  # which an archive may give hours later
    )
    yield Reporting(network_archive.name, outbox, network_courier)


def _refuse_unfit_door(address: Address) -> None:
    """Raises ConfigError "archive-door" for a door that an archive does not send to."""
    if address.door is None:
        return
    if address.is_web:
        raise ConfigError(
            "archive-door",
            f"--move: {address.place} is asked by DICOMweb, which sends to no port; leave --move out",
        )
    if address.tls and address.certificate is None:
        raise ConfigError(
            "archive-door",
            "--move with --tls: images would come in without TLS; give --tls-cert, or leave --move out, and "
            "they come by C-GET",
        )


def _door_context(address: Address) -> ssl.SSLContext | None:
    """What a door speaks TLS with; None for one that speaks plainly.  Raises as `server_context`."""
    if address.certificate is None:
        return server_context(None, address.key, None)
    return server_context(address.certificate, address.key, address.authorities)


def _open_web_archive(address: Address) -> web.WebArchive:
    environment: Mapping[str, str] = {}
    if address.uses_environment:
        environment = os.environ
    web_credentials = credentials.credentials_of(
        host_of(address.place), address.netrc_path, address.token_path, environment
    )
    return web.open_web_archive(address.place, web_credentials, address.authorities)


def _open_network_archive(address: Address) -> network.NetworkArchive:
    if "@" not in address.place:
        raise ConfigError(
            "archive-address",
            f"{address.place}: is no archive's address; give one as in https://pacs.example/dicom-web or "
            "ARCHIVE@pacs.example:4242",
        )
    tls_context: ssl.SSLContext | None = None
    if address.tls:
        tls_context = client_context(address.certificate, address.key, address.authorities)
    return network.NetworkArchive(
        peer_of(address.place, ""), title_of(address.own_title), tls_context
    )


def _refuse_without_libraries() -> None:
    if not all(map(find_spec, LIBRARIES)):
        raise ConfigError(
            "archive-library",
            "dicomweb-client and pynetdicom, which speak to archives, and prometheus-client are not all "
            "installed; pip install 'fovnet[archive]' gets them",
        )
