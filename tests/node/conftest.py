"""What the tests of the node ask for: networks, series to send, archives."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from types import SimpleNamespace
from typing import Any

import pytest
from pydicom.dataset import FileDataset
from pynetdicom.transport import AssociationSocket

from fovnet.decision.ensemble import Ensemble, load_ensemble
from fovnet.results import shipped_folder
from tests.node.parties import PATIENT, Archive

SHUT_DOWN_BY_THE_LIBRARY = AssociationSocket._shutdown_socket


def shut_down_and_close(connection: AssociationSocket) -> None:
    SHUT_DOWN_BY_THE_LIBRARY(connection)
    if connection.socket is not None:
        connection.socket.close()


@pytest.fixture(scope="session", autouse=True)
def closing_peers() -> Iterator[None]:
    """Peers that close what they opened.  pynetdicom 3.0.4 leaves a socket whose `shutdown` raises,
    as where the node has gone, to the garbage collector, which tells a later test of it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AssociationSocket, "_shutdown_socket", shut_down_and_close)
        yield


@pytest.fixture(scope="session")
def networks() -> Ensemble:
    """Those of the package."""
    return load_ensemble(shipped_folder(), "cpu", engine="torch")


@pytest.fixture
def series(write) -> Callable[..., list[FileDataset]]:
    """Axial MR images of a series by its number, 4 mm apart, each with a UID of its own."""

    def made(number: int, slices: int = 12, **more: Any) -> list[FileDataset]:
        root = f"1.2.826.0.1.3680043.8.498.{number}"
        images = write.images(
            write.noise((24, 30, slices), seed=number),
            **{
                "StudyInstanceUID": root,
                "SeriesInstanceUID": f"{root}.1",
                **PATIENT,
                **more,
            },
        )
        for k, image in enumerate(images):
            image.SOPInstanceUID = image.file_meta.MediaStorageSOPInstanceUID = f"{root}.1.{k + 1}"
        return images

    return made


@pytest.fixture
def archive() -> Iterator[Callable[..., tuple[Archive, int]]]:
    """Archives, closed after the test, each with its port."""
    opened: list[Archive] = []

    def made(**how: Any) -> tuple[Archive, int]:
        opened.append(Archive(**how))
        return opened[-1], opened[-1].open()

    yield made
    for archive in opened:
        archive.close()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory) -> SimpleNamespace:
    """An authority, and a certificate of it for this machine."""
    if which("openssl") is None:
        pytest.skip("openssl, which makes certificates, is not installed")
    home: Path = tmp_path_factory.mktemp("tls")
    key_of = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]

    def make(*words: object) -> None:
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)

    def certify(name: str, *words: object) -> None:
        files = "-keyout", home / f"{name}.key", "-out", home / f"{name}.pem"
        make("req", "-x509", *key_of, "-subj", f"/CN={name}", *files, *words)

    certify("ca")
    named = "-addext", "subjectAltName=IP:127.0.0.1"
    certify("node", *named, "-CA", home / "ca.pem", "-CAkey", home / "ca.key")
    return SimpleNamespace(ca=home / "ca.pem", cert=home / "node.pem", key=home / "node.key")
