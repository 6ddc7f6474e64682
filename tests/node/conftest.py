"""What the tests of the node ask for: networks, series to send, archives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydicom.dataset import FileDataset

from fovnet.decision.ensemble import Ensemble, load
from fovnet.decision.shipped import shipped_folder
from tests.node.parties import PATIENT, Archive


@pytest.fixture(scope="session")
def networks() -> Ensemble:
    """Those of the package."""
    return load(shipped_folder(), "cpu", engine="torch")


@pytest.fixture
def series(write) -> Callable[..., list[FileDataset]]:
    """Axial MR images of a series by its number, 4 mm apart, each with a UID of its own."""
    def made(number: int, slices: int = 12, **more: Any) -> list[FileDataset]:
        root = f"1.2.826.0.1.3680043.8.498.{number}"
        images = write.images(write.noise((24, 30, slices), seed=number), **{
            "StudyInstanceUID": root, "SeriesInstanceUID": f"{root}.1", **PATIENT, **more,
        })
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
    for one in opened:
        one.close()


