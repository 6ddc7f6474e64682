"""Two hours with an archive that is not ours, in a quarter of a minute: Orthanc and DCMTK, which lack Comprehensive
3D SR, refuse or deny commitment, never answer, are slow, or gone.

The clock of the delivery runs faster; all else is as at work.  What is counted is printed (pytest -s).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, generate_uid
from pynetdicom import AE
from pynetdicom.sop_class import (
    Comprehensive3DSRStorage,
    StudyRootQueryRetrieveInformationModelMove,
)

from fovnet.node.peers import ReportPeer
from fovnet.node.places import UNSENT, lock_places
from tests.node.parties import AtWork, at_work, own_report, statuses
from tests.node.test_door import opened
from tests.programs import free_port, modality, orthanc_at_work, process, require, until

__all__ = ["opened"]
pytestmark = pytest.mark.slow
SPEED = 450.0  # seconds of the delivery's clock in one
TWO_HOURS_S = 7200.0
STORESCP = """[[TransferSyntaxes]]
[Plain]
TransferSyntax1 = LittleEndianExplicit
TransferSyntax2 = LittleEndianImplicit
[[PresentationContexts]]
[Old]
PresentationContext1 = EnhancedSRStorage\\Plain
PresentationContext2 = MRImageStorage\\Plain
[[Profiles]]
[Old]
PresentationContexts = Old
"""


@dataclass
class Diary:
    """What the node told over two hours: trouble and counts, by the delivery's clock."""

    attempts: int = 0
    lines: list[str] = field(default_factory=list)
    health: list[tuple[float, str]] = field(default_factory=list)
    last: dict[str, Any] = field(default_factory=dict)


def report(folder: Path) -> None:
    sr, sr.file_meta = Dataset(), FileMetaDataset()
    sr.SOPClassUID, sr.SOPInstanceUID = Comprehensive3DSRStorage, generate_uid()
    sr.StudyInstanceUID, sr.SeriesInstanceUID = generate_uid(), generate_uid()
    sr.PatientID, sr.PatientName, sr.Modality = "MRN", "Doe^Jane", "SR"
    sr.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    sr.save_as(folder / "a-1.dcm", enforce_file_format=True)


@contextmanager
def orthanc(folder: Path, dicom: int, back: int | None, lua: str = "") -> Iterator[None]:
    """Orthanc, which knows the node at a port, or does not know it."""
    script = folder.with_suffix(".lua")
    script.write_text(lua)
    settings: dict[str, Any] = {"DicomAet": "ARCHIVE", "LuaScripts": [str(script)]}
    if back is not None:
        settings["DicomModalities"] = modality(back)
    with orthanc_at_work(folder, dicom, **settings):
        yield


def two_hours(running: AtWork, until_delivered: bool = False) -> Diary:
    """The diary of a node that has one report to deliver."""
    diary, began = Diary(), time.monotonic()
    while (now_s := (time.monotonic() - began) * SPEED) < TWO_HOURS_S:
        diary.last = running.node.status()
        diary.health.append((now_s, str(diary.last["trouble"])))
        if until_delivered and diary.last["reports_delivered"]:
            break
        time.sleep(0.05)
    diary.lines = [line for line in running.lines if "listens" not in line]
    diary.attempts = sum(
        "tried again in" in line or "sent again later" in line for line in diary.lines
    )
    first = diary.lines[0] if diary.lines else ""
    counts = f"{now_s:,.0f} s: {diary.attempts} attempts, {len(diary.lines)} lines"
    sys.stdout.write(f"\n{counts}; {diary.last['trouble']!r}; {first}\n")
    return diary


@contextmanager
def node(tmp_path: Path, networks: Any, archive: int, own: int) -> Iterator[AtWork]:
    with lock_places(tmp_path / "node") as places:
        report(places.reports(UNSENT))
    peer = ReportPeer("ARCHIVE", "127.0.0.1", archive)
    clock = {"clock": lambda: time.monotonic() * SPEED}
    with at_work(tmp_path / "node", networks, peer=peer, port=own, **clock) as running:
        yield running


def is_told(diary: Diary, trouble: str) -> None:
    """The trouble is told from the first attempt on without a gap, and attempts become rare."""
    told_s = [now_s for now_s, text in diary.health if trouble in text]
    assert told_s and told_s[0] < 5 * SPEED
    assert all(trouble in text for now_s, text in diary.health if now_s >= told_s[0])
    assert 10 <= diary.attempts <= 21 and len(diary.lines) <= 2 * diary.attempts + 1
    assert "Doe" not in " ".join(diary.lines)


def test_an_archive_without_comprehensive_3d_sr(tmp_path, networks) -> None:
    port = free_port()
    (tmp_path / "old.cfg").write_text(STORESCP)
    with process(require("storescp"), "-xf", tmp_path / "old.cfg", "Old", "--ignore", port):
        time.sleep(1.0)
        with node(tmp_path, networks, port, 0) as running:
            is_told(two_hours(running), "does not take Comprehensive 3D SR")


DISCARDS = "function ReceivedInstanceFilter(dicom, origin, info) return false end"
WAITS = """function ReceivedInstanceFilter(dicom, origin, info)
  local t = os.time() + 3
  while os.time() < t do end
  return true
end"""


def test_an_archive_that_forgets_what_it_stored(tmp_path, networks) -> None:
    archive, own = free_port(), free_port()
    with (
        orthanc(tmp_path / "db", archive, own, DISCARDS),
        node(tmp_path, networks, archive, own) as running,
    ):
        is_told(two_hours(running), "does not keep what it stored, reason 0112")


def test_an_archive_that_refuses_to_commit_itself(tmp_path, networks) -> None:
    """Orthanc 1.10 ends the association where it does not know the caller."""
    archive, own = free_port(), free_port()
    with orthanc(tmp_path / "db", archive, None), node(tmp_path, networks, archive, own) as running:
        is_told(two_hours(running), "gave no answer when asked to commit itself to keep it")


def test_an_archive_that_never_says_whether_it_keeps_a_report(tmp_path, networks) -> None:
    """It calls back at a wrong port; that is waited for, and told after an hour."""
    archive, own = free_port(), free_port()
    with (
        orthanc(tmp_path / "db", archive, free_port()),
        node(tmp_path, networks, archive, own) as running,
    ):
        diary = two_hours(running)
    assert not any(text for now_s, text in diary.health if now_s < 3000)
    assert (
        "does not say whether it keeps what it stored" in diary.health[-1][1]
        and len(diary.lines) <= 2
    )


def test_a_slow_archive_is_no_trouble(tmp_path, networks) -> None:
    archive, own = free_port(), free_port()
    with (
        orthanc(tmp_path / "db", archive, own, WAITS),
        node(tmp_path, networks, archive, own) as running,
    ):
        diary = two_hours(running, until_delivered=True)
    assert diary.last["reports_delivered"] == 1 and not any(text for _, text in diary.health)


def test_an_archive_that_is_gone_and_comes_back(tmp_path, networks) -> None:
    archive, own = free_port(), free_port()
    with ExitStack() as later, node(tmp_path, networks, archive, own) as running:
        until(lambda: "does not answer" in running.node.status()["trouble"])
        later.enter_context(orthanc(tmp_path / "db", archive, own))
        diary = two_hours(running, until_delivered=True)
        assert diary.last["reports_delivered"] == 1
        until(lambda: running.node.status()["trouble"] == "")


def test_orthanc_moves_a_study_again_that_has_our_report(opened, series, tmp_path) -> None:
    """Orthanc 1.10 ends a move at the first object that is not taken, and begins with the newest series."""
    images, archive, here = series(1), free_port(), opened()
    with orthanc(tmp_path / "db", archive, here.port):
        assert set(statuses(archive, images, called="ARCHIVE")) == {0}
        ae = AE("FOVNET")  # Orthanc moves nothing for others
        ae.add_requested_context(Comprehensive3DSRStorage)
        ae.add_requested_context(StudyRootQueryRetrieveInformationModelMove)
        association = ae.associate("127.0.0.1", archive, ae_title="ARCHIVE")
        assert association.send_c_store(own_report(images[0])).Status == 0
        wanted = Dataset()
        wanted.QueryRetrieveLevel, wanted.StudyInstanceUID = "STUDY", images[0].StudyInstanceUID
        model = StudyRootQueryRetrieveInformationModelMove
        moved = [status.Status for status, _ in association.send_c_move(wanted, "FOVNET", model)]
        association.release()
    assert moved[-1] == 0 and here.counts["instances"] == len(images)
