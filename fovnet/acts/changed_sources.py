"""Volumes whose files have changed since they were answered, in a folder of answers.

Sizes, times and inodes come first, which cost a look at each file and no reading; what differs in them is
read, and its content compared, so that a file that was only touched or copied counts as the same.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fovnet.decision.earlier_answers import is_unchanged
from fovnet.records import read_json
from fovnet.volume.dicom.address import split_address
from fovnet.volume.sources.source import places_of, source_of

Place = tuple[int, ...]


def changed_since_answered(folder: Path, path_of_volume: Mapping[str, str]) -> tuple[str, ...]:
    """The volumes, of these volume_ids with their paths, whose files are others than their answers in
    `folder` were computed on, or are gone.

    An answer that does not say on which files it was computed is passed over.
    """
    places_by_folder: dict[Path, set[Place]] = {}
    changed = []
    for volume_id, path_text in path_of_volume.items():
        try:
            file_facts = read_json(folder / f"{volume_id}.json")["file"]
            places = {tuple(place) for place in file_facts["places"]}
        except (OSError, ValueError, KeyError, TypeError):
            continue
        path = Path(path_text)
        container = _container_of(path, len(places))
        if container not in places_by_folder:
            places_by_folder = {
                container: _places_in(container)
            }  # one at a time: volumes come by path
        if places <= places_by_folder[container]:
            continue
        if not is_unchanged(source_of(path), file_facts):
            changed.append(volume_id)
    return tuple(changed)


def _container_of(path: Path, files: int) -> Path:
    """Where the files of a volume lie: its file or folder, or the folder of a file that has others beside
    it, as a header beside its data."""
    container = split_address(path)[0]
    if files > 1 and os.path.isfile(container):  # noqa: PTH113  (is_file raises in a closed folder)
        return container.parent
    return container


def _places_in(container: Path) -> set[Place]:
    """Size, times and inode of a file, or of all files in a folder and below."""
    if not os.path.isdir(container):  # noqa: PTH112
        return {tuple(place) for place in places_of([container]) or ()}
    files = (Path(home, name) for home, _, names in os.walk(container) for name in names)
    return {tuple(place) for file in files for place in places_of([file]) or ()}
