"""Volumes whose files have changed since they were answered, in a folder of answers.

Sizes, times and inodes come first, which cost a look at each file and no reading; what differs in
them is read, and its content compared, so that a file that was only touched or copied counts as the
same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fovnet.decision.earlier_answers import is_unchanged
from fovnet.records import read_json
from fovnet.volume.dicom.address import split_address
from fovnet.volume.sources.source import source_of, stamps_of_files

FileStamp = tuple[int, ...]
"""Size, times and inode of a file."""


def find_changed_volumes(folder: Path, path_of_volume: Mapping[str, str]) -> tuple[str, ...]:
    """The volumes, of these volume_ids with their paths, whose files are others than their answers
    in `folder` were computed on, or are gone.

    In the JSON of an answer `file.places` holds the FileStamp of each file that it was computed on;
    an answer without them is passed over.
    """
    stamps_by_container: dict[Path, set[FileStamp]] = {}
    changed_volumes = []
    for volume_id, path_text in path_of_volume.items():
        try:
            file_facts = read_json(folder / f"{volume_id}.json")["file"]
            answered_stamps = {tuple(stamp) for stamp in file_facts["places"]}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        path = Path(path_text)
        container = _container_of(path, len(answered_stamps))
        if container not in stamps_by_container:
            # only the latest is remembered: volumes come by path, those of a folder together
            stamps_by_container = {container: _stamps_in(container)}
        if answered_stamps <= stamps_by_container[container]:
            continue
        if not is_unchanged(source_of(path), file_facts):
            changed_volumes.append(volume_id)
    return tuple(changed_volumes)


def _container_of(path: Path, file_count: int) -> Path:
    """Where the files of a volume lie: its file or folder, or the folder of a file that has others
    beside it, as a header beside its data."""
    container = split_address(path)[0]
    if file_count > 1 and os.path.isfile(container):  # noqa: PTH113  (is_file raises in a closed folder)
        return container.parent
    return container


def _stamps_in(container: Path) -> set[FileStamp]:
    """The stamps of a file, or of all files in a folder and below."""
    if not os.path.isdir(container):  # noqa: PTH112
        return {tuple(stamp) for stamp in stamps_of_files([container]) or ()}
    files = (
        Path(folder, name) for folder, _, file_names in os.walk(container) for name in file_names
    )
    return {tuple(stamp) for file in files for stamp in stamps_of_files([file]) or ()}
