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

    volume_ids  the volumes to be drawn
    option      --faces or --no-faces; None: neither, and they are covered where any answer in the
                folder is
    Told to show them, the folder forgets, unless other answers in it are covered.  Raises
    ConfigError "out-foreign" if the file that remembers is not fovnet's.
    """
    are_faces_shown = option
    if are_faces_shown is None:
        are_faces_shown = not _is_folder_covered(folder, volume_ids)
    memory_file = folder / MEMORY_FILE_NAME
    if not are_faces_shown:
        remember_covering(folder)
    elif memory_file.exists() and not any(_are_answers_covered(_other_answers(folder, volume_ids))):
        memory_file.unlink(missing_ok=True)
    return are_faces_shown


def remember_covering(folder: Path) -> None:
    """Makes `folder` remember that faces are covered in it from now on.  Raises ConfigError
    "out-foreign" if the file that remembers is not fovnet's."""
    refuse_foreign(folder / MEMORY_FILE_NAME, _is_our_memory)
    write_text(folder / MEMORY_FILE_NAME, MEMORY_TEXT, keep_same=True)


def _is_our_memory(path: Path) -> bool:
    return begins_with_columns(path, [MEMORY_OPENING])


def _is_folder_covered(folder: Path, volume_ids: Iterable[str]) -> bool:
    """Whether faces are covered in a folder, as it remembers; else, as an earlier fovnet left no
    such file, as these volumes and the first answer in the folder say."""
    if _is_our_memory(folder / MEMORY_FILE_NAME):
        return True
    if any(_are_answers_covered(folder / f"{volume_id}.json" for volume_id in volume_ids)):
        return True
    is_covered_by_answer = iter(_are_answers_covered(_other_answers(folder, ())))
    return next(is_covered_by_answer, False)


def _other_answers(folder: Path, volume_ids: Collection[str]) -> Iterable[Path]:
    """The JSON files in the folder but those of these volumes."""
    excluded_names = set(volume_ids)
    return (path for path in folder.glob("*.json") if path.stem not in excluded_names)


def _are_answers_covered(paths: Iterable[Path]) -> Iterable[bool]:
    """Of each answer among these files, as they are read, whether its faces were covered."""
    for path in paths:
        volume_json = _volume_json(path)
        if "faces" in volume_json and "fovnet" in volume_json:
            yield volume_json["faces"] is False


def _volume_json(path: Path) -> dict[str, Any]:
    """A JSON object; {} if the file holds none or cannot be read."""
    try:
        volume_json: Any = read_json(path)
    except (OSError, ValueError):
        return {}
    if not isinstance(volume_json, dict):
        return {}
    return volume_json
