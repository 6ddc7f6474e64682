"""What was acknowledged is there, in the newest version of its series, whatever came in what order, and
however often the process ended."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from fovnet.node.inbox import Inbox, find_unanswered_series
from fovnet.node.places import Places, lock_places, split_name
from fovnet.records import checksum, write_json
from fovnet.volume.sources.discovery import name_volumes

REST_S, LONGEST_S = 10.0, 35.0


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def keep(inbox: Inbox, key: str, name: str, content: bytes) -> None:
    inbox.keep(lambda file: file.write(content), lambda _: (key, name))


def test_answers_on_all_echoes_are_of_the_series_by_their_names() -> None:
    volume_ids = name_volumes([Path(f"series/ab-12#{echo}") for echo in ("1001", "1002", "1003")])
    assert len(set(volume_ids)) == 3
    assert set(map(split_name, ["ab-12", *volume_ids])) == {("ab", 12)}


def answer(places: Places, home: Path) -> None:
    """What answering leaves behind."""
    key, version = split_name(home.name)
    instances = {path.name: checksum(path) for path in home.iterdir()}
    write_json(places.answer_record_path(key), {"version": version, "instances": instances})


def work(inbox: Inbox) -> int:
    """Takes and answers all that is at rest; how many series were answered."""
    for home in find_unanswered_series(inbox.places):
        answer(inbox.places, home)
    taken = [home for home in map(inbox.take, inbox.keys_at_rest()) if home is not None]
    for home in taken:
        answer(inbox.places, home)
    return len(taken)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("keep"), st.sampled_from("AB"), st.integers(0, 4), st.integers(0, 1)),
        st.tuples(st.just("wait"), st.sampled_from([1.0, 6.0, 11.0])),
        st.tuples(st.sampled_from(["take", "restart"])),
    ),
    max_size=25,
)


@given(STEPS)
@settings(max_examples=15)
def test_all_that_was_acknowledged_is_in_the_newest_version(steps) -> None:
    kept: dict[str, dict[str, bytes]] = {}
    with tempfile.TemporaryDirectory() as folder, lock_places(Path(folder) / "node") as places:
        clock = Clock()
        inbox = Inbox(places, REST_S, LONGEST_S, clock)
        for kind, *what in steps:
            if kind == "keep":
                key, number, content = what
                keep(inbox, key, f"{number}.dcm", bytes([content]))
                kept.setdefault(key, {})[f"{number}.dcm"] = bytes([content])
            elif kind == "wait":
                clock.now += what[0]
            elif kind == "restart":
                inbox = Inbox(places, REST_S, LONGEST_S, clock)
            else:  # killed before the answer, every other time
                homes = [home for home in map(inbox.take, inbox.keys_at_rest()) if home is not None]
                for home in homes[::2]:
                    answer(places, home)
                for home in find_unanswered_series(places):
                    answer(places, home)
        clock.now += REST_S
        work(inbox)
        for key, wanted in kept.items():
            version = places.read_record(key)["version"]
            newest = places.series / f"{key}-{version}"
            assert {path.name: path.read_bytes() for path in newest.iterdir()} == wanted
        clock.now += LONGEST_S
        for key, wanted in kept.items():  # sent again as it was: nothing to answer
            for name, content in wanted.items():
                keep(inbox, key, name, content)
        clock.now += REST_S
        assert work(inbox) == 0
        assert not any(places.incoming.iterdir()) and not any(places.unfinished.iterdir())


def test_a_series_is_at_rest_when_nothing_comes_or_at_the_latest_in_time(tmp_path) -> None:
    with lock_places(tmp_path / "node") as places:
        clock = Clock()
        inbox = Inbox(places, REST_S, LONGEST_S, clock)
        for second in range(0, 36, 5):
            clock.now = float(second)
            keep(inbox, "A", f"{second}.dcm", b"x")
            if second == 20:
                keep(inbox, "B", "0.dcm", b"x")
            assert inbox.keys_at_rest() == {30: ["B"], 35: ["A", "B"]}.get(second, [])


def test_an_instance_that_could_not_be_written_leaves_nothing(tmp_path) -> None:
    with lock_places(tmp_path / "node") as places:
        inbox = Inbox(places, REST_S, LONGEST_S)
        for fault in (OSError, ValueError):

            def failing(_: object, fault: type[Exception] = fault) -> None:
                raise fault

            for steps in (
                (failing, lambda _: ("A", "0.dcm")),
                (lambda file: file.write(b"x"), failing),
            ):
                try:
                    inbox.keep(*steps)
                except fault:
                    pass
                else:
                    raise AssertionError("kept")
        assert not any(places.incoming.iterdir()) and not any(places.unfinished.iterdir())


def test_series_wait_while_the_disk_is_full_and_a_rest_longer(tmp_path) -> None:
    """However long that is; the sender of the missing half has the time to send again."""
    room = False
    with lock_places(tmp_path / "node") as places:
        clock = Clock()
        inbox = Inbox(places, REST_S, LONGEST_S, clock)
        keep(inbox, "A", "0.dcm", b"x")
        inbox.wait_for_room(lambda: room)
        for _ in range(10):
            clock.now += LONGEST_S
            assert inbox.keys_at_rest() == [] and inbox.waits_for_room
        room = True
        assert inbox.keys_at_rest() == [] and not inbox.waits_for_room
        clock.now += REST_S - 1
        assert inbox.keys_at_rest() == []
        clock.now += 1
        assert inbox.keys_at_rest() == ["A"]
