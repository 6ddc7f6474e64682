"""A log loses nothing that was answered, and nobody's line breaks into another's."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from fovnet.errors import CollectionError
from fovnet.label.log import Log

REGIONS = ["legs", "none"]


def news(log: Log) -> list[dict]:
    with log.lock():
        return log.read_new_actions()


def written(path: Path, count: int) -> Log:
    log = Log(path, REGIONS)
    for number in range(count):
        with log.lock():
            log.append({"number": number, "words": "é\n\t"})
    return log


def test_wherever_a_write_is_cut_off_the_whole_lines_before_are_read(tmp_path: Path) -> None:
    written(tmp_path / "whole", 3).close()
    whole = (tmp_path / "whole").read_bytes()
    header = whole.index(b"\n") + 1
    for end in range(header, len(whole) + 1):
        (tmp_path / "cut").write_bytes(whole[:end])
        log = Log(tmp_path / "cut", REGIONS)
        kept = whole[:end].count(b"\n") - 1
        assert [one["number"] for one in news(log)] == [*range(kept)]
        assert log.dropped_line_count == (0 if whole[:end].endswith(b"\n") else 1)
        with log.lock():
            log.append({"number": "after"})
        assert [one["number"] for one in news(log)] == ["after"]
        log.close()


def test_two_processes_read_what_the_other_wrote_in_one_order(tmp_path: Path) -> None:
    with (
        closing(Log(tmp_path / "log", REGIONS)) as one,
        closing(Log(tmp_path / "log", REGIONS)) as other,
    ):
        for number in range(6):
            log = (one, other)[number % 2]
            with log.lock():
                log.append({"number": number})
        first, second = ([fact["number"] for fact in news(log)] for log in (one, other))
        assert first == second == [*range(6)] and news(one) == news(other) == []


@pytest.mark.parametrize("text", ["a\tb\n", '{"volume_id": "a"}\n', "[1]\n"])
def test_a_file_that_is_no_log_is_refused_and_stays(text: str, tmp_path: Path) -> None:
    (tmp_path / "log").write_text(text)
    with pytest.raises(CollectionError) as fault, closing(Log(tmp_path / "log", REGIONS)) as log:
        news(log)
    assert fault.value.code == "label-log" and (tmp_path / "log").read_text() == text


def test_a_damaged_line_in_the_middle_is_named(tmp_path: Path) -> None:
    written(tmp_path / "log", 3).close()
    lines = (tmp_path / "log").read_text().splitlines()
    lines[2] = lines[2][:-4]
    (tmp_path / "log").write_text("\n".join(lines) + "\n")
    with (
        pytest.raises(CollectionError, match="line 3: "),
        closing(Log(tmp_path / "log", REGIONS)) as log,
    ):
        news(log)


def test_labels_of_other_regions_are_refused(tmp_path: Path) -> None:
    written(tmp_path / "log", 1).close()
    told = "labels of the regions legs, none, wanted arm"
    with pytest.raises(CollectionError, match=told), closing(Log(tmp_path / "log", ["arm"])) as log:
        news(log)
    assert json.loads((tmp_path / "log").read_text().splitlines()[0])["regions"] == REGIONS
