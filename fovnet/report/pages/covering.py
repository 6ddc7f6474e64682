"""Whether a folder of answers has covered faces: whoever handed it on believes that all in it are,
so it stays covered, for every command that draws into it, until it is told otherwise.

The memory is a small file in the folder, written before the first covered picture is: to ask all
the JSONs of an archive of 100,000 volumes again at each of its shards would take longer than a
shard.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from fovnet.own_files import begins_with_columns, refuse_foreign
from fovnet.records import read_json, write_text

MEMORY_FILE_NAME = "faces-covered.txt"
MEMORY_OPENING = "fovnet: faces are covered in the pictures and pages of this folder"
MEMORY_TEXT = f"{MEMORY_OPENING}, and of what is added to it; `--faces` shows them.\n"


def shows_faces(folder: Path, volume_ids: Collection[str], option: bool | None) -> bool:
    """Whether volumes are to be drawn with faces into `folder`, which remembers where not.

    option  --faces or --no-faces; None: neither, and they are covered where any answer in the
            folder is
    Told to show them, the folder forgets, unless other answers in it are covered.  Raises
    ConfigError "out-foreign" if the file that remembers is not fovnet's.
    """
    are_faces_shown = not _is_folder_covered(folder, volume_ids) if option is None else option
    if not are_faces_shown:
        remember(folder)
    elif (folder / MEMORY_FILE_NAME).exists() and not any(
        _are_answers_covered(_other_answers(folder, volume_ids))
    ):
        (folder / MEMORY_FILE_NAME).unlink(missing_ok=True)
    return are_faces_shown


def remember(folder: Path) -> None:
    """Faces are covered in `folder` from now on.  Raises as `shows_faces`."""
    refuse_foreign(folder / MEMORY_FILE_NAME, _is_our_mark)
    write_text(folder / MEMORY_FILE_NAME, MEMORY_TEXT, keep_same=True)


def _is_our_mark(path: Path) -> bool:
    return begins_with_columns(path, [MEMORY_OPENING])


def _is_folder_covered(folder: Path, volume_ids: Iterable[str]) -> bool:
    """What the folder remembers; else, as an earlier fovnet left no such file, what these volumes
    and the first answer in the folder say."""
    if _is_our_mark(folder / MEMORY_FILE_NAME):
        return True
    covered_of_named_volumes = _are_answers_covered(
        folder / f"{volume_id}.json" for volume_id in volume_ids
    )
    return any(covered_of_named_volumes) or next(
        iter(_are_answers_covered(_other_answers(folder, ()))), False
    )


def _other_answers(folder: Path, volume_ids: Collection[str]) -> Iterable[Path]:
    excluded_names = set(volume_ids)
    return (path for path in folder.glob("*.json") if path.stem not in excluded_names)


def _are_answers_covered(paths: Iterable[Path]) -> Iterable[bool]:
    """Of each answer among these files, as they are read, whether its faces were covered."""
    for path in paths:
        volume_json = _volume_json(path)
        if "faces" in volume_json and "fovnet" in volume_json:
            yield volume_json["faces"] is False


def _volume_json(path: Path) -> dict[str, Any]:
    try:
        volume_json = read_json(path)
    except (OSError, ValueError):
        return {}
    return volume_json if isinstance(volume_json, dict) else {}
