"""The node's answers.tsv: whatever was lost or cut off, it holds the newest answer of each series once."""

from __future__ import annotations

import time

import pytest

from fovnet.decision.answers_table import answer_columns
from fovnet.node.places import Places, hash_uids
from fovnet.node.table import UID_COLUMNS, AnswersTable, read_counted_answers
from fovnet.records import read_json, read_tsv, write_json
from tests.node.parties import at_work, statuses

REGIONS = ("legs", "head")


def answer(places: Places, key: str, version: int, *parts: str, recorded: bool = True) -> None:
    """What an answer of this version leaves: a JSON a volume, and then the record of the series."""
    names = [f"{key}-{version}{part}" for part in parts or [""]]
    for name in names:
        statement = {
            "region": "head",
            "answer": "yes",
            "probability": 0.9,
            "lower": None,
            "upper": None,
        }
        body = {"volume_id": name, "path": "p", "status": "ok", "message": "a\tb\nc", "code": ""}
        write_json(places.answers / f"{name}.json", {**body, "statements": [statement]})
    if recorded:
        volumes = [{"volume_id": name} for name in names]
        uids = {"study_uid": f"1.{key}", "series_uid": f"2.{key}"}
        write_json(
            places.answer_record_path(key),
            {"version": version, **uids, "volumes": volumes, "instances": {}},
        )


@pytest.fixture
def places(tmp_path) -> Places:
    empty = Places(tmp_path)
    empty.answers.mkdir()
    return empty


def rows(places: Places) -> dict[str, str]:
    heads = read_tsv(places.folder / "answers.tsv")
    assert all(row["head"] == "yes" and row["study_uid"].startswith("1.") for row in heads)
    assert len({row["volume_id"] for row in heads}) == len(heads)
    return {row["volume_id"]: row["series_uid"] for row in heads}


def test_a_first_answer_is_appended_and_a_later_version_takes_its_place(places) -> None:
    table = AnswersTable(places, REGIONS)
    for key in "ab":
        answer(places, key, 1)
        table.add(key, 1)
    before = table.path.read_bytes()
    answer(places, "c", 1, "", "-0123")
    table.add("c", 1)
    assert table.path.read_bytes().startswith(before)
    assert rows(places) == {"a-1": "2.a", "b-1": "2.b", "c-1": "2.c", "c-1-0123": "2.c"}
    answer(places, "a", 10)
    answer(places, "a", 9)  # an older one, found beside it
    answer(places, "a", 10)
    table.add("a", 10)
    assert list(rows(places)) == ["b-1", "c-1", "c-1-0123", "a-10"]
    assert table.path.read_text().splitlines()[0].split("\t") == [
        *answer_columns(REGIONS),
        *UID_COLUMNS,
    ]


def test_of_networks_that_answer_on_parts_it_counts_them_after_all_regions(places) -> None:
    answer(places, "a", 1)
    path = places.answers / "a-1.json"
    facts = read_json(path)
    statement = facts["statements"][0]
    write_json(path, facts | {"parts": [statement | {"region": "neck", "answer": "unsure"}]})
    table = AnswersTable(places, REGIONS, ["neck", "skull"])
    table.add("a", 1)
    assert (read_tsv(table.path)[0]["neck"], read_tsv(table.path)[0]["skull"]) == ("unsure", "")
    assert table.tally.by_region() == {("head", "yes"): 1, ("neck", "unsure"): 1}
    assert read_counted_answers(table.path) == table.tally.recent()


@pytest.mark.parametrize("harm", ["gone", "cut", "twice", "columns", "zeros", "none"])
def test_a_table_is_right_after_any_end_of_the_process(places, harm: str) -> None:
    table = AnswersTable(places, REGIONS)
    for key in "abc":
        answer(places, key, 1)
        table.add(key, 1)
    text = table.path.read_text()
    lines = text.splitlines(keepends=True)
    harmed = {
        "gone": "",
        "cut": text[:-9],
        "twice": text + lines[-1],
        "columns": text.replace("legs", "arms"),
        "zeros": text[:-20] + "\0" * 20,
        "none": text,
    }[harm]
    table.path.write_text(harmed)
    if harm == "gone":
        table.path.unlink()
    answer(places, "d", 1)  # recorded, and killed before its row
    answer(places, "a", 2, recorded=False)  # killed before its record: to be answered again
    AnswersTable(places, REGIONS).mend()
    assert rows(places) == {f"{key}-1": f"2.{key}" for key in "abcd"}
    answer(places, "a", 2)
    AnswersTable(places, REGIONS).add("a", 2)
    assert set(rows(places)) == {"a-2", "b-1", "c-1", "d-1"}


def test_a_full_disk_while_a_row_is_written_is_made_good(places, monkeypatch) -> None:
    table = AnswersTable(places, REGIONS)
    answer(places, "a", 1)
    table.add("a", 1)
    answer(places, "b", 1)
    with monkeypatch.context() as full:
        full.setattr(type(table), "path", property(lambda _: places.folder / "answers"))  # a folder
        with pytest.raises(OSError):
            table.add("b", 1)
    table.add("b", 1)
    assert set(rows(places)) == {"a-1", "b-1"}


def test_a_node_keeps_its_table(tmp_path, networks, series) -> None:
    images, broken = series(1), series(2)
    for image in broken:
        image.PixelData = image.PixelData[:100]
    with at_work(tmp_path / "node", networks) as running:
        statuses(running.port, images[:8])
        running.until(answered=1)
        statuses(running.port, [*images[8:], *broken])
        running.until(answered=2, refused=1)
    (tmp_path / "node" / "answers.tsv").unlink()
    with at_work(tmp_path / "node", networks) as running:
        while not (tmp_path / "node" / "answers.tsv").exists():
            time.sleep(0.05)
    row_by_id = {row["volume_id"]: row for row in read_tsv(running.places.folder / "answers.tsv")}
    keys = [
        hash_uids(sent[0].StudyInstanceUID, sent[0].SeriesInstanceUID) for sent in (images, broken)
    ]
    assert row_by_id.keys() == {f"{keys[0]}-2", f"{keys[1]}-1"}
    assert [row_by_id[f"{keys[1]}-1"][name] for name in ("status", *UID_COLUMNS)] == [
        "refused",
        str(broken[0].StudyInstanceUID),
        str(broken[0].SeriesInstanceUID),
    ]
