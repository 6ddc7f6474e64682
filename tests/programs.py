"""Programs that are not ours, at work within a test: Orthanc, DCMTK's, Prometheus's.  Tests that want one are skipped
where it is not installed, and say so."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Any

import pytest

# pynetdicom has programs of DCMTK's names beside the interpreter
PLACES = os.pathsep.join(
    folder
    for folder in (*os.environ["PATH"].split(os.pathsep), "/usr/local/bin", "/usr/sbin")
    if Path(folder) != Path(sys.executable).parent
)
DICOMWEB = "share/orthanc/plugins/libOrthancDicomWeb.so"


def program(name: str) -> str | None:
    """Where a program is."""
    return which(name, path=PLACES)


def require(name: str) -> str:
    """Where a program is; skips the test where it is nowhere."""
    path = program(name)
    if path is None:
        pytest.skip(
            f"{name} is not installed: apt-get install orthanc orthanc-dicomweb dcmtk prometheus"
        )
    return path


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def process(*words: object) -> Iterator[subprocess.Popen[bytes]]:
    """A program at work, ended with the block."""
    with subprocess.Popen(
        [*map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as program:
        try:
            yield program
        finally:
            program.terminate()


def told(address: str) -> bytes:
    """What a page says; empty where nobody answers yet."""
    try:
        with urllib.request.urlopen(address) as page:
            return bytes(page.read())
    except OSError:
        return b""


def until(done: Callable[[], Any]) -> Any:
    """What comes out as soon as something is done."""
    waited = time.monotonic() + 300
    while not (outcome := done()):
        assert time.monotonic() < waited
        time.sleep(0.05)
    return outcome


@contextmanager
def orthanc_at_work(folder: Path, dicom_port: int, **settings: Any) -> Iterator[str]:
    """An Orthanc in a folder, with DICOMweb where that is installed; the root of its pages."""
    path = require("Orthanc")
    folder.mkdir(exist_ok=True)
    http_port = free_port()
    plugin = Path(path).resolve().parents[1] / DICOMWEB
    all_settings = {
        "StorageDirectory": str(folder / "db"),
        "IndexDirectory": str(folder / "db"),
        "DicomAet": "ORTHANC",
        "DicomPort": dicom_port,
        "HttpPort": http_port,
        "RemoteAccessAllowed": False,
        "AuthenticationEnabled": False,
        "Plugins": [str(plugin)] if plugin.exists() else [],
        "DicomWeb": {"Enable": True, "Root": "/dicom-web/"},
    }
    (folder / "orthanc.json").write_text(json.dumps(all_settings | settings))
    root = f"http://127.0.0.1:{http_port}"
    with process(path, folder / "orthanc.json"):
        until(lambda: told(f"{root}/system"))
        yield root


def modality(port: int) -> dict[str, list[Any]]:
    """The setting by which Orthanc knows the node at a port."""
    return {"fovnet": ["FOVNET", "127.0.0.1", port]}
