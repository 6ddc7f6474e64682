"""An archive listed once and cut into shards: lists of volumes that are answered list by list, anywhere.

    shards/shard-0007.jsonl   a line a volume, in the order of their paths: volume_id, path, bytes, state
    shards/survey.json        how many there are, in which order the shards' volumes follow each other, and
                              the settings of the whole

A shard is never cut anew: a volume stays in the shard, and under the volume_id, that it had in an earlier
survey, whatever is found beside it, and new volumes make new shards.  So a list changes, and with it what a
workflow repeats, only where one of its own volumes does.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from fovnet._version import __version__
from fovnet.errors import ConfigError
from fovnet.records import digest, read_json, write_json, write_text
from fovnet.volume.sources.discovery import Found, name_volumes
from fovnet.volume.sources.shard_settings import ShardSettings
from fovnet.words import first_few, several

FOLDER = "shards"
SURVEY = "survey.json"
WHOLE = 2**23
"""Bytes that a volume counts beside its own: on one core 0.2 s for its networks, picture and page, and
0.025 s for each MB to be read.  By number alone, shards of large volumes would take thrice as long."""


@dataclass(frozen=True)
class Listed:
    """A volume of an archive, as the survey saw it.

    bytes  of its files on disk; of a series in an archive the whole archive's
    state  a digest that changes when its files do
    """

    volume_id: str
    path: str
    bytes: int
    state: str

    @property
    def price(self) -> int:
        """What answering it costs, in bytes."""
        return WHOLE + self.bytes


@dataclass(frozen=True)
class Survey:
    """What a survey left: the numbers of its shards, their order as (shard, how many of its volumes follow),
    which is that of all volumes by path, and the settings that it was told."""

    shards: tuple[int, ...]
    order: tuple[tuple[int, int], ...]
    volumes: int
    bytes: int
    settings: ShardSettings


def shard_list(folder: Path, number: int) -> Path:
    """The list of a shard's volumes in a folder of answers."""
    return folder / FOLDER / f"shard-{number:04d}.jsonl"


def shard_rows(folder: Path, number: int) -> Path:
    """What its answers put into the tables."""
    return folder / FOLDER / f"rows-{number:04d}.jsonl"


def read_list(folder: Path, number: int) -> list[Listed]:
    """The volumes of a shard, by path.  Raises ConfigError "shard-unknown" if there is no such list, or if it
    is damaged, and as `read_survey`."""
    path = shard_list(folder, number)
    try:
        head, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if head["shard"] != number:
            raise ValueError("the list of another shard")
        return [Listed(**line) for line in lines]
    except FileNotFoundError as fault:
        numbers = [str(shard) for shard in read_survey(folder).shards]
        raise ConfigError(
            "shard-unknown",
            f"{path}: no such list; the survey has {several(len(numbers), 'shard')} "
            f"({first_few(numbers, 9)}); give one of these numbers, or list the archive again.",
        ) from fault
    except (OSError, ValueError, TypeError, KeyError) as fault:
        raise ConfigError(
            "shard-unknown",
            f"{path}: no list of a shard can be read there ({type(fault).__name__}); wanted is one that "
            "`fovnet shard survey` wrote; give that command again.",
        ) from fault


def read_survey(folder: Path) -> Survey:
    """What the survey left in a folder of answers.  Raises ConfigError "shard-unsurveyed" if nothing."""
    path = folder / FOLDER / SURVEY
    try:
        facts = read_json(path)
        order = tuple((int(number), int(count)) for number, count in facts["order"])
        settings = ShardSettings.of(facts["settings"])
        return Survey(tuple(facts["shards"]), order, facts["volumes"], facts["bytes"], settings)
    except FileNotFoundError as fault:
        raise ConfigError(
            "shard-unsurveyed",
            f"{path}: no survey is there; list the archive first: `fovnet shard survey PATHS --out "
            f"{shlex.quote(str(folder))}`.",
        ) from fault
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise ConfigError(
            "shard-unsurveyed",
            f"{path}: a survey that cannot be read ({type(fault).__name__}), as another version of fovnet or "
            "a damaged disk leaves it; remove it, and give `fovnet shard survey` again with all its options.",
        ) from fault


def listed(found: Found, known: Mapping[str, str]) -> list[Listed]:
    """The volumes found, in the order of their paths.

    known  volume_ids by path, which these keep
    """
    sources = sorted(found.sources, key=lambda source: source.path)
    names = name_volumes([source.path for source in sources], known)
    made = []
    for volume_id, source in zip(names, sources, strict=True):
        size, files = found.held.get(source.path, (source.stamp[0][0] if source.stamp else 0, ""))
        made.append(Listed(volume_id, str(source.path), size, digest([source.stamp, files])[:16]))
    return made


def cut(volumes: Sequence[Listed], each: int) -> list[int]:
    """Of every volume, in order, its shard: as many neighbours in each as come to the same price, `each` of
    them on average.

    The price of a shard is off the mean by at most that of one volume.  No shard is empty: beside a volume
    dearer than a whole shard there are fewer.
    """
    if not volumes:
        return []
    budget = sum(one.price for one in volumes) / -(-len(volumes) // each)
    before, places = 0, []
    for one in volumes:
        places.append(int((before + one.price / 2) // budget))
        before += one.price
    numbers = {place: number for number, place in enumerate(dict.fromkeys(places))}
    return [numbers[place] for place in places]


def known_shards(folder: Path) -> dict[int, list[Listed]]:
    """The shards of earlier surveys in a folder of answers, by number.  Raises ConfigError as `read_list`."""
    lists = sorted((folder / FOLDER).glob("shard-*.jsonl"))
    numbers = [int(path.stem.removeprefix("shard-")) for path in lists]
    return {number: read_list(folder, number) for number in numbers}


def assigned(
    volumes: Sequence[Listed], earlier: Mapping[str, int], each: int, first: int
) -> Iterator[tuple[int, Listed]]:
    """(shard, volume) of all volumes, in order: the earlier shard of a path, else a new one, from number
    `first` on, as `cut`."""
    fresh = [one for one in volumes if one.path not in earlier]
    places = dict(zip((one.path for one in fresh), cut(fresh, each), strict=True))
    for one in volumes:
        yield earlier.get(one.path, first + places.get(one.path, 0)), one


def write_survey(
    folder: Path, found: Found, each: int, settings: ShardSettings
) -> tuple[Survey, int, int]:
    """(survey, how many volumes are new to it, how many are gone since the one before), with the lists of all
    shards; lists that stay the same are not rewritten, and those whose volumes are gone are removed with
    their rows.

    each      volumes in a new shard, on average
    settings  of the whole, for the steps after
    Raises ConfigError as `read_list`, "shard-archive-gone" where a path holds nothing any more, and
    "shard-path-missing" where one was never there.
    """
    before = known_shards(folder)
    home = {one.path: number for number, lines in before.items() for one in lines}
    _refuse_gone(found, home)
    known = {one.path: one.volume_id for lines in before.values() for one in lines}
    placed = list(assigned(listed(found, known), home, each, max(before, default=-1) + 1))
    shards: dict[int, list[Listed]] = {}
    for number, one in placed:
        shards.setdefault(number, []).append(one)
    for number, lines in shards.items():
        _write_list(folder, number, lines)
    for number in before.keys() - shards.keys():
        shard_list(folder, number).unlink(missing_ok=True)
        shard_rows(folder, number).unlink(missing_ok=True)
    followed = groupby(number for number, _ in placed)
    runs = tuple((number, len(list(together))) for number, together in followed)
    total_bytes = sum(one.bytes for _, one in placed)
    survey = Survey(tuple(sorted(shards)), runs, len(placed), total_bytes, settings)
    write_json(folder / FOLDER / SURVEY, {"each": each, **asdict(survey)})
    fresh = sum(one.path not in home for _, one in placed)
    return survey, fresh, len(home) + fresh - len(placed)


def _refuse_gone(found: Found, known: Collection[str]) -> None:
    """Raise ConfigError "shard-archive-gone" if a path that was given is missing or empty, to be refused as a
    volume, and held some in an earlier survey: its disk may not be mounted, and all shards would go.  Raise
    "shard-path-missing" if it is no earlier volume either: a whole archive would be one refused volume."""
    for source in found.sources:
        series_or_file = source.path in found.held or os.path.isfile(source.path)  # noqa: PTH113  (see discovery)
        if series_or_file or str(source.path) in known:
            continue
        below = sum(path.startswith(f"{source.path}{os.sep}") for path in known)
        if below:
            raise ConfigError(
                "shard-archive-gone",
                f"{source.path}: holds no volume any more, of {below:,} in the survey before; wanted is the "
                "archive as it was, or grown; mount its disk, or, if they are meant to be gone, leave the "
                f"path out, or remove the folder {FOLDER} of the answers.",
            )
        if not os.path.lexists(source.path):
            raise ConfigError(
                "shard-path-missing",
                f"{source.path}: there is no such file or folder; wanted is a part of the archive; correct "
                "the path, or mount its disk.",
            )


def _write_list(folder: Path, number: int, volumes: Iterable[Listed]) -> Path:
    lines = [{"fovnet": {"version": __version__}, "shard": number}, *map(asdict, volumes)]
    text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    return write_text(shard_list(folder, number), text, keep_same=True)
