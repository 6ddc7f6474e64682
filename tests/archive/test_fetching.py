"""Images on their way: parts of an answer however it is cut, the bound of the disk, hours and pace."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from threading import Lock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.archive.arrival import Arrival
from fovnet.archive.claims import Answer
from fovnet.archive.faults import ArchiveError
from fovnet.archive.multipart import Parts
from fovnet.archive.queue import FetchQueue
from fovnet.archive.timing import Throttle, hours_of
from fovnet.archive.worklist import WorklistRow
from fovnet.errors import ConfigError

BOUNDARY = b"cut"
# what nearly is a boundary, or the end of headers
PIECES = st.sampled_from([b"\r\n--cu", b"\r\n--", b"\r\n\r\n", b"--cut", b"\r", b"x" * 40])
BODIES = st.lists(st.lists(PIECES | st.binary(max_size=9), max_size=5).map(b"".join), max_size=4)


def message_of(bodies: list[bytes]) -> bytes:
    parts = [b"--cut\r\nContent-Type: application/dicom\r\n\r\n" + body for body in bodies]
    return b"\r\n".join([*parts, b"--cut--\r\n"])


def chunks_of(message: bytes, lengths: list[int]) -> list[bytes]:
    chunks = []
    for length in lengths:
        chunks.append(message[:length])
        message = message[length:]
    return [*chunks, message]


@given(BODIES, st.lists(st.integers(0, 30), max_size=30))
def test_parts_are_what_was_sent_however_it_is_cut(bodies, lengths) -> None:
    bodies = [body for body in bodies if b"\r\n--cut" not in b"\r\n" + body]
    parts = Parts(chunks_of(message_of(bodies), lengths), BOUNDARY)
    assert [b"".join(pieces) for pieces in parts] == bodies


@given(st.data())
def test_an_answer_that_breaks_off_is_no_answer(data) -> None:
    message = message_of([b"first", b"second"]).removesuffix(b"--\r\n")
    length = data.draw(st.integers(0, len(message)))
    with pytest.raises(ValueError, match="ends within"):
        for pieces in Parts([message[:length]], BOUNDARY):
            b"".join(pieces)


def row_of(number: int, byte_count: int) -> WorklistRow:
    return WorklistRow("", "1", str(number), rows=1, columns=byte_count // 2, images=1)


def queue_of(folder: Path, fetch, **how) -> FetchQueue:
    return FetchQueue(fetch, lambda row: folder / row.series_uid, **how)


def test_no_more_lies_on_the_disk_than_is_allowed(tmp_path) -> None:
    """But for a larger series, which comes alone."""
    sizes = [400, 100, 300, 300, 2000, 100, 100, 900, 50, 1000, 20]
    fullest_bytes = 0
    lock = Lock()

    def fetch(row: WorklistRow, folder: Path) -> None:
        nonlocal fullest_bytes
        folder.mkdir()
        (folder / "image").write_bytes(bytes(row.byte_count))
        with lock:
            stored = [path.stat().st_size for path in tmp_path.glob("*/image")]
            if max(stored) <= 1000:
                fullest_bytes = max(fullest_bytes, sum(stored))
            else:
                assert len(stored) == 1

    rows = [row_of(number, size) for number, size in enumerate(sizes)]
    queue = queue_of(tmp_path, fetch, keep_bytes=1000, jobs=3)
    arrived_rows = [series.row for series in queue.run(rows) if series.folder is not None]
    assert sorted(arrived_rows, key=rows.index) == rows and fullest_bytes <= 1000
    assert queue.figures.counts["bytes"] == sum(sizes) and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arrived", "is_whole"), [("12", False), ("123", True), ("1234", True), ("134", False)]
)
def test_a_listed_image_whose_uid_cannot_be_read_is_missing_where_too_few_came(
    arrived: str, is_whole: bool, tmp_path
) -> None:
    """Listed are 1, 2 and one without a UID."""
    row = WorklistRow("patient", "1", "1.1", images=9)
    arrival = Arrival(row, tmp_path / "series", "the series", Throttle(), set(arrived))
    listed = Answer([{"SOPInstanceUID": uid, "PatientID": ""} for uid in ("1", "2", "")])
    if is_whole:
        arrival.complete(lambda: listed, lambda image_uid: None)
    else:
        with pytest.raises(ArchiveError, match="1 of 3 images do not come"):
            arrival.complete(lambda: listed, lambda image_uid: None)


def test_what_fails_is_tried_again_while_others_come_and_then_told(tmp_path) -> None:
    attempts: list[str] = []

    def fetch(row: WorklistRow, folder: Path) -> None:
        attempts.append(row.series_uid)
        is_mended = row.series_uid == "2" and attempts.count("2") == 3
        if row.series_uid in "12" and not is_mended:
            raise ArchiveError("archive-failed", "HTTP 500")
        folder.mkdir()

    rows = [row_of(number, 2) for number in range(1, 6)]
    queue = queue_of(tmp_path, fetch, keep_bytes=1000, jobs=1, pauses_s=(0.2, 0.3))
    outcomes = {series.row.series_uid: series for series in queue.run(rows)}
    assert {*[*outcomes][:3]} == {"3", "4", "5"}
    assert outcomes["1"].fault.code == "archive-failed" and outcomes["2"].fault is None
    assert (attempts.count("1"), attempts.count("2"), len(attempts)) == (3, 3, 9)


@pytest.mark.parametrize(
    ("code", "outages", "is_answered"),
    [
        ("archive-unreachable", 2, True),
        ("archive-unreachable", 9, False),
        ("archive-denied", 1, False),
    ],
)
def test_an_archive_that_goes_away_is_waited_for(code, outages, is_answered, tmp_path) -> None:
    """No series is told for it; one that lets nobody in any more is not asked again."""
    fault_count = 0

    def fetch(row: WorklistRow, folder: Path) -> None:
        nonlocal fault_count
        if fault_count < outages:
            fault_count += 1
            raise ArchiveError(code, "gone")
        folder.mkdir()

    queue = queue_of(tmp_path, fetch, keep_bytes=1000, jobs=1, pauses_s=(0.0, 0.0, 0.0, 0.0))
    rows = [row_of(number, 2) for number in range(3)]
    if not is_answered:
        with pytest.raises(ArchiveError):
            list(queue.run(rows))
        return
    assert all(series.fault is None for series in queue.run(rows))


@given(st.integers(0, 1439), st.integers(0, 1439), st.datetimes())
def test_hours_open_when_the_clock_says(first: int, last: int, now: datetime) -> None:
    hours = hours_of(f"{first // 60}:{first % 60:02}-{last // 60}:{last % 60:02}")
    assert hours is not None
    if first == last or now > datetime(9999, 1, 1):
        return
    minute = now.hour * 60 + now.minute
    is_open = (minute - first) % 1440 < (last - first) % 1440
    wait_s = hours.seconds_until_open(now)
    assert (wait_s == 0) == is_open and 0 <= wait_s <= 86400
    opening = now + timedelta(seconds=wait_s)
    if wait_s:
        assert (opening.hour * 60 + opening.minute, opening.second) == (first, 0)


@pytest.mark.parametrize("text", ["22-06", "25:00-06:00", "22:00-06:61", "night"])
def test_what_are_no_hours_is_told(text: str) -> None:
    with pytest.raises(ConfigError) as fault:
        hours_of(text)
    assert fault.value.code == "archive-hours"


def test_images_come_at_most_at_the_pace() -> None:
    now_s = 0.0

    def sleep(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    throttle = Throttle(5, sleep=sleep, clock=lambda: now_s)
    for _ in range(20):
        throttle.wait_for_image()
    assert now_s == pytest.approx(20 / 5)
