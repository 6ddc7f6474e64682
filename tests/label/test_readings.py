"""What a log amounts to: undo takes back exactly what was done, and readers who differ settle nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fovnet.label.law import LabelGrid, RegionExtent
from fovnet.label.readings import (
    ASIDE_MARK,
    DONE_MARK,
    GIVEN_READER,
    LabelState,
    ReadingBook,
    describe_differences,
    is_disputed,
    settled_label,
)
from fovnet.regions import DEFAULT, NINE

GRID = {"slices": 40, "bottom_mm": 0.0, "step_mm": 5.0}


def line(second: int, reader: str, act: str, *extents, mode: str = "open", **more) -> dict:
    label = {"extents": [list(one) for one in extents]} if act in ("edit", DONE_MARK) else {}
    time = f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}+00:00"
    return {
        "time": time,
        "reader": reader,
        "session": reader,
        "mode": mode,
        "volume_id": "v",
        "act": act,
        **label,
        **more,
    }


def book(*lines: dict) -> ReadingBook:
    made = ReadingBook(DEFAULT)
    made.take_in_actions([line(0, "somebody", "shown", grid=GRID), *lines])
    return made


ACTS = st.sampled_from(["edit", DONE_MARK, "skipped", ASIDE_MARK, "comment"])


@given(st.lists(st.tuples(ACTS, st.integers(0, 30)), min_size=1, max_size=12), st.data())
def test_undo_goes_back_state_by_state_and_redo_forth_again(acts, data) -> None:
    made, states = book(), [None]
    for second, (act, last) in enumerate(acts):
        made.take_in_actions([line(second, "anna", act, ("legs", 0, last), words=str(last))])
        states.append(made.record("v").reading_by_reader["anna"].state)
    back = data.draw(st.integers(0, len(acts)))
    for expected in states[::-1][1 : back + 1]:
        made.take_in_actions([line(90, "anna", "undo")])
        assert made.record("v").reading_by_reader["anna"].state == expected
    for expected in states[len(states) - back :]:
        made.take_in_actions([line(91, "anna", "redo")])
        assert made.record("v").reading_by_reader["anna"].state == expected
    made.take_in_actions([line(92, "anna", "redo")])  # nothing is left to redo
    assert made.record("v").reading_by_reader["anna"].state == states[-1]


def test_a_later_reader_who_saw_a_reading_replaces_it() -> None:
    made = book(
        line(1, "anna", DONE_MARK, ("legs", 0, 9)), line(2, "bo", DONE_MARK, ("legs", 0, 30))
    )
    label = settled_label(made.record("v"))
    assert label is not None and label.extents == (("legs", 0, 30),)
    assert made.record("v").reading_by_reader["anna"].state.extents == (
        ("legs", 0, 9),
    )  # and it is kept


def test_blind_readers_who_differ_leave_no_label_until_a_third_reading() -> None:
    made = book(
        line(1, "anna", DONE_MARK, ("legs", 0, 9)),
        line(2, "bo", DONE_MARK, ("legs", 0, 30), mode="blind"),
    )
    assert settled_label(made.record("v")) is None and is_disputed(made.record("v"))
    made.take_in_actions([line(3, "cleo", DONE_MARK, ("legs", 0, 20), mode="third")])
    label = settled_label(made.record("v"))
    assert (
        label is not None
        and label.extents == (("legs", 0, 20),)
        and not is_disputed(made.record("v"))
    )


def test_blind_readers_within_ten_millimetres_agree() -> None:
    """Two slices of 5 mm are 10 mm, three are not."""
    for last, agreed in ((11, True), (12, False)):
        blind = line(2, "bo", DONE_MARK, ("legs", 0, last), mode="blind")
        made = book(line(1, "anna", DONE_MARK, ("legs", 0, 9)), blind)
        assert (settled_label(made.record("v")) is not None) == agreed


def test_a_label_that_was_there_counts_as_a_reading() -> None:
    given_label = line(1, GIVEN_READER, "given", rows=[["legs", 0, 60, True]])
    made = book(given_label)
    assert settled_label(made.record("v")).extents == (("legs", 0, 11),)
    made.take_in_actions([line(2, "bo", DONE_MARK, ("legs", 0, 30), mode="blind")])
    assert is_disputed(made.record("v"))


def test_a_label_of_a_whole_region_is_open_where_its_parts_are_to_be_labelled() -> None:
    rows = [["legs", 0, 60, True], ["pelvis", 61, 90, True]]
    given_label = line(1, GIVEN_READER, "given", rows=rows)
    for vocabulary, mark in ((DEFAULT, "done"), (NINE, "")):
        made = ReadingBook(vocabulary)
        made.take_in_actions([line(0, "somebody", "shown", grid=GRID), given_label])
        given_reading = made.record("v").reading_by_reader[GIVEN_READER]
        assert given_reading.state.mark == mark


def test_differences_are_told_in_words() -> None:
    first = LabelState((RegionExtent("legs", 0, 9), RegionExtent("pelvis", 10, 20)), DONE_MARK)
    second = LabelState((RegionExtent("legs", 0, 14),), DONE_MARK)
    grid = LabelGrid(**GRID)
    told = ["pelvis in one reading only", "upper end of legs: 25 mm apart"]
    assert describe_differences(first, second, grid) == told
    (unlike,) = describe_differences(first, LabelState((), ASIDE_MARK), grid)
    assert unlike == "only one of the two holds that it can be labelled"


def test_seconds_and_actions_are_from_being_shown_to_being_done() -> None:
    made = book(
        line(10, "anna", "shown"),
        line(12, "anna", "edit", ("legs", 0, 9)),
        line(17, "anna", DONE_MARK, ("legs", 0, 9)),
    )
    now = made.record("v").reading_by_reader["anna"].state
    assert (now.reading_seconds, now.action_count) == (7.0, 2)
