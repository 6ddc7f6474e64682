"""Answers of an earlier run: which of them are still valid, by the file's content, the model and
the program's version.

A file whose name, size, times and inode are unchanged is not read again: changing or replacing a
file changes its ctime or its inode. If one of them differs, the content is compared: a file that
was touched, copied or downloaded again keeps its answer, and one that has taken another's name does
not get the other's answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fovnet._version import __version__
from fovnet.decision.answers_table import TableRows
from fovnet.records import read_json
from fovnet.volume.sources.source import Source

TEMPORARY_REFUSAL_CODES = frozenset(
    {
        "volume-missing",
        "volume-permission",
        "volume-unreadable",
        "volume-crash",
        "volume-memory",
        "engine-failed",
        "internal",
    }
)
"""Refusals with a possibly temporary cause, such as the machine: the next run tries the volume
again."""


def read_earlier_rows(
    folder: Path,
    volume_id: str,
    source: Source,
    identity: str,
    *,
    further_files: Sequence[str] = (),
    faces: bool = True,
) -> TableRows | None:
    """The rows of the earlier answer in `folder` on the same content, under the same name and path,
    by the same model; else None.

    further_files  files that the folder must also hold: the answer's picture, its page
    faces          whether those show faces; None is returned if they were drawn otherwise
    """
    try:
        facts = read_json(folder / f"{volume_id}.json")
        identity_of_answer = (facts["volume_id"], facts["path"], facts["model"])
        if identity_of_answer != (volume_id, str(source.path), identity):
            return None
        if facts["fovnet"]["version"] != __version__ or facts["code"] in TEMPORARY_REFUSAL_CODES:
            return None
        if further_files and facts["status"] != "refused":
            are_all_present = all((folder / name).exists() for name in further_files)
            if not are_all_present or facts.get("faces", True) != faces:
                return None
        source = source.look_again()
        is_same_file = is_unchanged(source, facts["file"])
        if not is_same_file or facts["file"].get("beside") != source.neighbour_notes:
            return None
        return TableRows.from_facts(facts)
    except Exception:
        # whatever an earlier answer, or its volume, raises: it is answered again
        return None


def is_unchanged(source: Source, record: Mapping[str, Any]) -> bool:
    """Whether the files of a volume have the recorded `places` or, if not, the recorded
    `sha256`."""
    if source.file_stamps is not None and source.file_stamps == record["places"]:
        return True
    return record["sha256"] is not None and record["sha256"] == source.content_checksum


def file_record(source: Source | None) -> dict[str, Any]:
    """What the JSON of an answer says of the files it was made from, for `is_unchanged` in a later
    run.

    No checksum if they have changed since they were read, so that the next run reads them again;
    nothing without a source.
    """
    if source is None:
        return {"places": None, "sha256": None, "beside": None}
    content = source.content_checksum
    is_unaltered = source.is_unchanged()  # asked after the content was read
    return {
        "places": source.file_stamps,
        "sha256": content if is_unaltered else None,
        "beside": source.neighbour_notes,
    }
