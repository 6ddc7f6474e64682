"""Shards of an archive: about equal work in each, none ever cut anew, and no volume in two of them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fovnet.errors import ConfigError
from fovnet.volume.sources.discovery import Discovery, find_volumes
from fovnet.volume.sources.shards import (
    ShardSurvey,
    ShardVolume,
    divide_into_shards,
    read_list,
    read_survey,
    shard_list_path,
    shard_rows_path,
    write_survey,
)

SIZES = st.lists(st.integers(0, 2**34), min_size=1, max_size=60)


def volumes(sizes: list[int]) -> list[ShardVolume]:
    return [ShardVolume(f"v{at}", f"a/v{at}.nii", size, "0") for at, size in enumerate(sizes)]


@given(sizes=SIZES, each=st.integers(1, 70))
def test_shards_are_neighbours_of_about_equal_price(sizes: list[int], each: int) -> None:
    """None is off the mean by more than a volume at each of its ends, half of which lies beyond its cut."""
    listed = volumes(sizes)
    numbers = divide_into_shards(listed, each)
    assert numbers == sorted(numbers) and set(numbers) == set(range(max(numbers) + 1))
    wanted = -(-len(sizes) // each)
    assert len(set(numbers)) <= wanted
    prices = Counter[int]()
    for number, one in zip(numbers, listed, strict=True):
        prices[number] += one.cost_bytes
    mean = sum(prices.values()) / wanted
    assert all(price <= mean + max(one.cost_bytes for one in listed) for price in prices.values())


def test_equal_volumes_make_shards_of_as_many() -> None:
    assert Counter(divide_into_shards(volumes([5000] * 1000), 200)) == dict.fromkeys(range(5), 200)


def archive(folder: Path, names: list[str], byte: bytes = b"x") -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(byte)
    return folder


def surveyed(folder: Path, out: Path, each: int = 2) -> tuple[ShardSurvey, int, int]:
    return write_survey(out, find_volumes([folder]), each, {})


def lists(out: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.name: (path.read_bytes(), path.stat().st_mtime_ns)
        for path in (out / "shards").glob("*l")
    }


PATHS = [f"{place}/{name}.nii" for place in "abcd" for name in ("t1", "t1-2", "t2")]
NAMES = st.lists(st.sampled_from(PATHS), min_size=1, unique=True)


@given(first=NAMES, later=NAMES, each=st.integers(1, 5))
def test_what_was_in_a_shard_stays_in_it_whatever_comes(
    first: list[str], later: list[str], each: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Its list keeps its bytes and its time, by which a workflow judges; in the order of the survey every
    volume stands once, by path, under a name of its own."""
    home = tmp_path_factory.mktemp("growing")
    folder, out = archive(home / "in", first), home / "out"
    surveyed(folder, out, each)
    before = lists(out)
    survey, fresh, gone = surveyed(
        archive(folder, [name for name in later if name not in first]), out, each
    )
    assert (fresh, gone) == (len(set(later) - set(first)), 0)
    assert before.items() <= lists(out).items()
    rows = {number: iter(read_list(out, number)) for number in survey.shard_numbers}
    ordered = [next(rows[number]) for number, count in survey.shard_runs for _ in range(count)]
    assert [Path(one.path) for one in ordered] == sorted(folder / name for name in {*first, *later})
    assert (
        len({one.volume_id.casefold() for one in ordered})
        == survey.volume_count
        == len({*first, *later})
    )


def test_a_change_of_workers_or_of_the_size_of_shards_cuts_nothing_anew(tmp_path: Path) -> None:
    folder = archive(tmp_path / "in", [f"v{at}.nii" for at in range(9)])
    surveyed(folder, tmp_path / "out", 2)
    before = lists(tmp_path / "out")
    surveyed(folder, tmp_path / "out", 7)
    assert lists(tmp_path / "out") == before and len(before) == 5


def test_a_changed_file_changes_its_list_alone_and_one_that_is_gone_leaves_it(
    tmp_path: Path,
) -> None:
    folder, out = archive(tmp_path / "in", [f"v{at}.nii" for at in range(6)]), tmp_path / "out"
    surveyed(folder, out)
    before = lists(out)
    archive(folder, ["v2.nii"], b"another")
    surveyed(folder, out)
    changed = {name for name, facts in lists(out).items() if before[name] != facts}
    assert changed == {"shard-0001.jsonl"}
    for name in ("v4.nii", "v5.nii"):
        (folder / name).unlink()
    shard_rows_path(out, 2).write_text("rows")
    survey, fresh, gone = surveyed(folder, out)
    assert (fresh, gone) == (0, 2)
    assert (
        survey.shard_numbers == (0, 1)
        and not shard_list_path(out, 2).exists()
        and not shard_rows_path(out, 2).exists()
    )


@pytest.mark.parametrize("left", [True, False], ids=["an empty folder", "nothing"])
def test_an_archive_that_is_not_mounted_takes_no_shard_with_it(left: bool, tmp_path: Path) -> None:
    folder, out = archive(tmp_path / "in", [f"v{at}.nii" for at in range(5)]), tmp_path / "out"
    surveyed(folder, out)
    before = lists(out)
    folder.rename(tmp_path / "elsewhere")
    if left:
        folder.mkdir()
    with pytest.raises(
        ConfigError, match=r"no volume any more, of 5 in the survey .*shard-archive-gone"
    ):
        write_survey(out, find_volumes([folder, tmp_path / "elsewhere"]), 2, {})
    assert lists(out) == before


def test_a_path_that_never_was_is_refused_and_a_volume_that_was_named_is_not(
    tmp_path: Path,
) -> None:
    """Of the latter the next answer says that it is missing, as `fovnet predict` does."""
    folder, out = archive(tmp_path / "in", ["v0.nii", "v1.nii"]), tmp_path / "out"
    with pytest.raises(
        ConfigError, match=r"arhcive: there is no such file or folder.*shard-path-missing"
    ):
        write_survey(out, find_volumes([folder, tmp_path / "arhcive"]), 2, {})
    assert not out.exists()
    named = [folder / "v0.nii", folder / "v1.nii"]
    write_survey(out, find_volumes(named), 2, {})
    named[1].unlink()
    survey, *changes = write_survey(out, find_volumes(named), 2, {})
    assert survey.volume_count == 2 and changes == [0, 0]


def test_an_image_that_comes_to_a_series_changes_its_list(tmp_path: Path, write) -> None:
    """Also in a folder with other series, whose volumes stay as they are."""
    images = [write.images(write.noise(seed=series), series=series) for series in (7, 8)]
    for series in images:
        write.save(tmp_path / "in", series[:7], series[0].SeriesInstanceUID)
    out = tmp_path / "out"
    surveyed(tmp_path / "in", out, 1)
    states = {one.path: one for number in (0, 1) for one in read_list(out, number)}
    assert all(one.bytes > 7 * 20 * 24 * 2 for one in states.values())
    images[1][7].save_as(tmp_path / "in" / "more.dcm", enforce_file_format=True)
    surveyed(tmp_path / "in", out, 1)
    after = {one.path: one for number in (0, 1) for one in read_list(out, number)}
    grown = [path for path in states if states[path].bytes != after[path].bytes]
    assert len(states) == 2 and after.keys() == states.keys() and len(grown) == 1


def test_names_that_no_table_can_hold_come_back_from_a_list(tmp_path: Path) -> None:
    names = ["caf\udce9.nii", "tab\there.nii", "line\nend.nii", "separator\u2028.nii"]
    folder = archive(tmp_path / "in", names)
    surveyed(folder, tmp_path / "out", 9)
    assert {one.path for one in read_list(tmp_path / "out", 0)} == {
        str(folder / name) for name in names
    }


@pytest.mark.parametrize("content", [b"", b"{", b'{"fovnet": 1}\n{"my": "own"}\n', b"\xff\n\xff"])
def test_what_is_no_list_is_refused_and_left_alone(content: bytes, tmp_path: Path) -> None:
    folder, out = archive(tmp_path / "in", ["v.nii"]), tmp_path / "out"
    with pytest.raises(ConfigError, match="shard-unsurveyed"):
        read_survey(out)
    path = shard_list_path(out, 0)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    for attempt in (lambda: read_list(out, 0), lambda: surveyed(folder, out)):
        with pytest.raises(ConfigError, match="shard-unknown"):
            attempt()
    assert path.read_bytes() == content


def test_nothing_found_is_no_shard() -> None:
    assert divide_into_shards([], 5) == [] and Discovery([], [], [], {}).volume_paths == []
