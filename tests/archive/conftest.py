"""Archives that are not ours: Orthanc with its DICOMweb plugin, DCMTK's dcmqrscp; and one that answers
whatever a test wants."""

from __future__ import annotations

import socket
import ssl
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pydicom.dataset import FileDataset

from tests.node.conftest import certificates, closing_peers
from tests.node.parties import statuses
from tests.programs import (
    free_port,
    modality,
    orthanc_at_work,
    process,
    require,
    told,
    until,
)

__all__ = ["certificates", "closing_peers"]
SLICES = 5  # of a series: a store costs 40 ms, by Nagle's algorithm
ROOT = "1.2.826.0.1.3680043.8.498"


@dataclass(frozen=True)
class Server:
    """An archive at work: its two places, "" for what it does not speak; and the port where it
    believes FOVNET to listen."""

    web: str
    network: str
    port: int
    title: str
    door_port: int

    def store(self, images: list[FileDataset]) -> None:
        """Stores images; Orthanc keeps them as the files would be, byte for byte."""
        if not self.web:
            assert set(statuses(self.port, images, called=self.title)) == {0}
            return
        for image in images:
            content = BytesIO()
            image.save_as(content, enforce_file_format=True)
            instances = self.web.replace("/dicom-web", "/instances")
            with urllib.request.urlopen(instances, data=content.getvalue()) as answer:
                assert answer.status == 200


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False


@contextmanager
def orthanc_of(folder: Path, **settings: Any) -> Iterator[Server]:
    """An Orthanc with DICOMweb; skips the test where it is not installed."""
    port = free_port()
    door_port = free_port()
    own_settings = {
        "DicomAlwaysAllowFind": True,
        "DicomAlwaysAllowGet": True,
        "DicomAlwaysAllowMove": True,
        "DicomModalities": modality(door_port),
    }
    with orthanc_at_work(folder, port, **(own_settings | settings)) as root:
        if not told(f"{root}/dicom-web/studies"):
            pytest.skip("DICOMweb is not installed: apt-get install orthanc-dicomweb")
        network = f"ORTHANC@127.0.0.1:{port}"
        yield Server(f"{root}/dicom-web", network, port, "ORTHANC", door_port)


@contextmanager
def dcmqrscp_of(folder: Path) -> Iterator[Server]:
    """DCMTK's archive; skips the test where it is not installed."""
    program = require("dcmqrscp")
    port = free_port()
    door_port = free_port()
    (folder / "database").mkdir()
    (folder / "dcmqrscp.cfg").write_text(
        f"NetworkTCPPort = {port}\nMaxPDUSize = 16384\nMaxAssociations = 16\n"
        f"HostTable BEGIN\nfovnet = (FOVNET, 127.0.0.1, {door_port})\nHostTable END\n"
        "VendorTable BEGIN\nVendorTable END\nAETable BEGIN\n"
        f"QRSCP {folder / 'database'} RW (200, 1024mb) ANY\nAETable END\n"
    )
    with process(program, "-c", folder / "dcmqrscp.cfg"):
        until(lambda: listens(port))
        yield Server("", f"QRSCP@127.0.0.1:{port}", port, "QRSCP", door_port)


@pytest.fixture(scope="session")
def study_images(write) -> Callable[..., list[FileDataset]]:
    """MR images of a series, of a study by its number; the second series of a study is series=2."""

    def make(
        number: int, series: int = 1, slices: int = SLICES, **elements: Any
    ) -> list[FileDataset]:
        study_uid = f"{ROOT}.{number}"
        defaults = {
            "StudyInstanceUID": study_uid,
            "SeriesInstanceUID": f"{study_uid}.{series}",
            "PatientID": f"P{number}",
            "StudyDate": f"202601{number // 3 + 1:02}",
            "StudyTime": f"{8 + number % 3:02}0000",
            "StudyDescription": "Thorax Röntgen",
            "SpecificCharacterSet": "ISO_IR 100",
            "SeriesDescription": "t1 vibe",
            "ProtocolName": "vibe breath-hold",
            "BodyPartExamined": "CHEST",
        }
        voxels = write.noise((24, 30, slices), seed=number)
        images = write.images(voxels, **(defaults | elements))
        for index, image in enumerate(images):
            # images of two patients differ, whatever study they claim
            instance_uid = f"{image.SeriesInstanceUID}.{ord(image.PatientID[-1])}.{index + 1}"
            image.SOPInstanceUID = image.file_meta.MediaStorageSOPInstanceUID = instance_uid
        return images

    return make


@pytest.fixture(scope="session")
def all_series(study_images) -> list[list[FileDataset]]:
    """Seven studies: plain ones; one with a localiser and a single image; one of two patients."""
    return [
        *(study_images(number) for number in range(6)),
        study_images(0, 2, 3, SeriesDescription="3-plane localizer", ProtocolName="loc"),
        study_images(0, 3, 1, SeriesDescription="t2 haste"),
        study_images(6, PatientID="P6a"),
        study_images(6, PatientID="P6b", StudyDescription="Knie"),
    ]


def filled(server: Server, all_series: list[list[FileDataset]]) -> Server:
    for images in all_series:
        server.store(images)
    return server


@pytest.fixture(scope="session")
def orthanc(tmp_path_factory, all_series) -> Iterator[Server]:
    with orthanc_of(tmp_path_factory.mktemp("orthanc")) as server:
        yield filled(server, all_series)


@pytest.fixture(scope="session")
def dcmqrscp(tmp_path_factory, all_series) -> Iterator[Server]:
    with dcmqrscp_of(tmp_path_factory.mktemp("dcmqrscp")) as server:
        yield filled(server, all_series)


@dataclass
class Faulty:
    """A server of HTTP that answers as `respond(path)` says: (status, type of content, body)."""

    url: str
    respond: Callable[[str], tuple[int, str, str | bytes]]
    requests: list[str] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)  # the Authorization of each request


@pytest.fixture
def faulty() -> Iterator[Callable[..., Faulty]]:
    """Servers that answer whatever a test wants, over TLS with a context."""
    with ExitStack() as servers:

        def serve(
            respond: Callable[[str], tuple[int, str, str | bytes]],
            tls: ssl.SSLContext | None = None,
        ) -> Faulty:
            class Handler(BaseHTTPRequestHandler):
                def do_POST(self) -> None:
                    self.rfile.read(int(self.headers["Content-Length"]))
                    self.do_GET()

                def do_GET(self) -> None:
                    told.requests.append(self.path)
                    told.letters.append(self.headers.get("Authorization", ""))
                    status, kind, body = told.respond(self.path)
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    if isinstance(body, str):
                        body = body.encode()
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_: Any) -> None:
                    pass

            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            server.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that mistrusts it
            scheme = "http"
            if tls is not None:
                server.socket = tls.wrap_socket(server.socket, server_side=True)
                scheme = "https"
            told = Faulty(f"{scheme}://127.0.0.1:{server.server_port}/dicom-web", respond)
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            servers.callback(thread.join)
            servers.callback(server.server_close)
            servers.callback(server.shutdown)
            return told

        yield serve
