"""An archive listed once and cut into shards: lists of volumes that are answered list by list,
anywhere.

    shards/shard-0007.jsonl   a line a volume, in the order of their paths: volume_id, path, bytes, state
    shards/survey.json        how many there are, in which order the shards' volumes follow each other, and
                              the settings of the whole

A shard is never cut anew: a volume stays in the shard, and under the volume_id, that it had in an
earlier survey, whatever is found beside it, and new volumes make new shards.  So a list changes,
and with it what a workflow repeats, only where one of its own volumes does.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path

from fovnet._version import __version__
from fovnet.errors import ConfigError
from fovnet.records import (
    digest,
    facts_of_record,
    json_key,
    read_json,
    write_json,
    write_text,
)
from fovnet.volume.sources.discovery import Discovery, SeriesExtent, name_volumes
from fovnet.volume.sources.shard_settings import ShardSettings
from fovnet.words import first_few, several

SHARD_FOLDER = "shards"
SURVEY_FILE = "survey.json"
COST_BYTES_PER_VOLUME = 2**23
"""Bytes that a volume counts beside its own: on one core 0.2 s for its networks, picture and page,
and 0.025 s for each MB to be read.  By number alone, shards of large volumes would take thrice as
long."""


@dataclass(frozen=True)
class ShardVolume:
    """A volume of an archive, as the survey saw it.

    bytes  of its files on disk; of a series in an archive the whole archive's
    state  a digest that changes when its files do
    """

    volume_id: str
    path: str
    bytes: int
    state: str

    @property
    def cost_bytes(self) -> int:
        """What answering it costs, in bytes."""
        return COST_BYTES_PER_VOLUME + self.bytes


@dataclass(frozen=True)
class ShardSurvey:
    """What a survey left.

    shard_numbers  their numbers
    shard_runs     of all volumes by path: (shard, how many of its volumes follow)
    volume_count   how many there are
    byte_count     of all volumes
    settings       that it was told
    """

    shard_numbers: tuple[int, ...] = field(metadata=json_key("shards"))
    shard_runs: tuple[tuple[int, int], ...] = field(metadata=json_key("order"))
    volume_count: int = field(metadata=json_key("volumes"))
    byte_count: int = field(metadata=json_key("bytes"))
    settings: ShardSettings


def shard_list_path(folder: Path, number: int) -> Path:
    """The list of a shard's volumes in a folder of answers."""
    return folder / SHARD_FOLDER / f"shard-{number:04d}.jsonl"


def shard_rows_path(folder: Path, number: int) -> Path:
    """What its answers put into the tables."""
    return folder / SHARD_FOLDER / f"rows-{number:04d}.jsonl"


def read_list(folder: Path, number: int) -> list[ShardVolume]:
    """The volumes of a shard, by path.  Raises ConfigError "shard-unknown" if there is no such
    list, or if it is damaged, and as `read_survey`."""
    path = shard_list_path(folder, number)
    try:
        header, *lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if header["shard"] != number:
            raise ValueError("the list of another shard")
        return [ShardVolume(**volume_line) for volume_line in lines]
    except FileNotFoundError as fault:
        numbers = [str(shard) for shard in read_survey(folder).shard_numbers]
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


def read_survey(folder: Path) -> ShardSurvey:
    """What the survey left in a folder of answers.  Raises ConfigError "shard-unsurveyed" if
    nothing."""
    path = folder / SHARD_FOLDER / SURVEY_FILE
    try:
        stored_survey = read_json(path)
        shard_order = tuple((int(number), int(count)) for number, count in stored_survey["order"])
        settings = ShardSettings.of(stored_survey["settings"])
        return ShardSurvey(
            shard_numbers=tuple(stored_survey["shards"]),
            shard_runs=shard_order,
            volume_count=stored_survey["volumes"],
            byte_count=stored_survey["bytes"],
            settings=settings,
        )
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


def list_volumes(discovery: Discovery, id_by_path: Mapping[str, str]) -> list[ShardVolume]:
    """The volumes found, in the order of their paths.

    id_by_path  volume_ids that paths keep
    """
    sources = sorted(discovery.sources, key=lambda source: source.path)
    volume_ids = name_volumes([source.path for source in sources], id_by_path)
    volumes = []
    for volume_id, source in zip(volume_ids, sources, strict=True):
        extent = discovery.extent_by_path.get(source.path)
        if extent is None:
            extent = SeriesExtent(source.size_bytes, "")
        state_digest = digest([source.stamps, extent.digest])[:16]
        volumes.append(
            ShardVolume(
                volume_id=volume_id,
                path=str(source.path),
                bytes=extent.byte_count,
                state=state_digest,
            )
        )
    return volumes


def divide_into_shards(volumes: Sequence[ShardVolume], volumes_a_shard: int) -> list[int]:
    """Of every volume, in order, its shard: as many neighbours in each as come to the same cost,
    `volumes_a_shard` of them on average.

    The cost of a shard is off the mean by at most that of one volume.  No shard is empty: beside a
    volume that costs more than a whole shard there are fewer.
    """
    if not volumes:
        return []
    cost_per_shard = sum(volume.cost_bytes for volume in volumes) / -(
        -len(volumes) // volumes_a_shard
    )
    cost_so_far = 0
    bin_numbers = []  # of equal cost; some may be empty
    for volume in volumes:
        bin_numbers.append(int((cost_so_far + volume.cost_bytes / 2) // cost_per_shard))
        cost_so_far += volume.cost_bytes
    shard_by_bin = {number: shard for shard, number in enumerate(dict.fromkeys(bin_numbers))}
    return [shard_by_bin[number] for number in bin_numbers]


def read_lists(folder: Path) -> dict[int, list[ShardVolume]]:
    """The shards of earlier surveys in a folder of answers, by number.  Raises ConfigError as
    `read_list`."""
    paths = sorted((folder / SHARD_FOLDER).glob("shard-*.jsonl"))
    numbers = [int(path.stem.removeprefix("shard-")) for path in paths]
    return {number: read_list(folder, number) for number in numbers}


def assign_shards(
    volumes: Sequence[ShardVolume],
    shard_by_path: Mapping[str, int],
    volumes_a_shard: int,
    first_number: int,
) -> Iterator[tuple[int, ShardVolume]]:
    """(shard, volume) of all volumes, in order: the earlier shard of a path, else a new one, from
    `first_number` on, as `divide_into_shards`."""
    new_volumes = [volume for volume in volumes if volume.path not in shard_by_path]
    new_numbers = divide_into_shards(new_volumes, volumes_a_shard)
    new_number_by_path = {
        volume.path: first_number + number
        for volume, number in zip(new_volumes, new_numbers, strict=True)
    }
    number_by_path = {**new_number_by_path, **shard_by_path}
    for volume in volumes:
        yield number_by_path[volume.path], volume


def write_survey(
    folder: Path, discovery: Discovery, volumes_a_shard: int, settings: ShardSettings
) -> tuple[ShardSurvey, int, int]:
    """(survey, how many volumes are new to it, how many are gone since the one before), with the
    lists of all shards; lists that stay the same are not rewritten, and those whose volumes are
    gone are removed with their rows.

    volumes_a_shard  in a new one, on average
    settings         of the whole, for the steps after
    Raises ConfigError as `read_list`, "shard-archive-gone" where a path holds nothing any more, and
    "shard-path-missing" where one was never there.
    """
    earlier_by_shard = read_lists(folder)
    shard_by_path = {
        volume.path: number for number, volumes in earlier_by_shard.items() for volume in volumes
    }
    _refuse_lost_archive(discovery, shard_by_path)
    id_by_path = {
        volume.path: volume.volume_id for volumes in earlier_by_shard.values() for volume in volumes
    }
    volumes = list_volumes(discovery, id_by_path)
    next_number = max(earlier_by_shard, default=-1) + 1
    volumes_by_shard: dict[int, list[ShardVolume]] = {}
    shard_numbers = []
    for number, volume in assign_shards(volumes, shard_by_path, volumes_a_shard, next_number):
        shard_numbers.append(number)
        volumes_by_shard.setdefault(number, []).append(volume)
    for number, volumes_of_shard in volumes_by_shard.items():
        _write_list(folder, number, volumes_of_shard)
    for number in earlier_by_shard.keys() - volumes_by_shard.keys():
        shard_list_path(folder, number).unlink(missing_ok=True)
        shard_rows_path(folder, number).unlink(missing_ok=True)
    survey = ShardSurvey(
        shard_numbers=tuple(sorted(volumes_by_shard)),
        shard_runs=tuple((number, len(list(run))) for number, run in groupby(shard_numbers)),
        volume_count=len(volumes),
        byte_count=sum(volume.bytes for volume in volumes),
        settings=settings,
    )
    write_json(
        folder / SHARD_FOLDER / SURVEY_FILE, {"each": volumes_a_shard, **facts_of_record(survey)}
    )
    new_count = sum(volume.path not in shard_by_path for volume in volumes)
    return survey, new_count, len(shard_by_path) + new_count - len(volumes)


def _refuse_lost_archive(discovery: Discovery, earlier_paths: Collection[str]) -> None:
    """Raise ConfigError "shard-archive-gone" if a path that was given is missing or empty, to be
    refused as a volume, and held some in an earlier survey: its disk may not be mounted, and all
    shards would go.  Raise "shard-path-missing" if it is no earlier volume either: a whole archive
    would be one refused volume."""
    for source in discovery.sources:
        is_series = source.path in discovery.extent_by_path
        # is_file raises in a closed folder
        if is_series or os.path.isfile(source.path) or str(source.path) in earlier_paths:  # noqa: PTH113
            continue
        lost_count = sum(path.startswith(f"{source.path}{os.sep}") for path in earlier_paths)
        if lost_count:
            raise ConfigError(
                "shard-archive-gone",
                f"{source.path}: holds no volume any more, of {lost_count:,} in the survey before; wanted is the "
                "archive as it was, or grown; mount its disk, or, if they are meant to be gone, leave the "
                f"path out, or remove the folder {SHARD_FOLDER} of the answers.",
            )
        if not os.path.lexists(source.path):
            raise ConfigError(
                "shard-path-missing",
                f"{source.path}: there is no such file or folder; wanted is a part of the archive; correct "
                "the path, or mount its disk.",
            )


def _write_list(folder: Path, number: int, volumes: Iterable[ShardVolume]) -> Path:
    lines = [{"fovnet": {"version": __version__}, "shard": number}, *map(asdict, volumes)]
    text = "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)
    return write_text(shard_list_path(folder, number), text, keep_same=True)
