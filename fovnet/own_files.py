"""Which files in a folder of answers are fovnet's: only these may be replaced or removed, whatever
other files have their names."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Sequence
from pathlib import Path

from fovnet.errors import ConfigError
from fovnet.records import read_json

PICTURE_STAMP = b"Software\x00fovnet"  # in the first chunks of every picture that is drawn here
THUMBNAIL_STAMP = (
    b"\xff\xfe\x00\x08fovnet"  # the comment of every thumbnail, as its JPEG marker holds it
)
TABLE_OPENINGS = (
    b"volume_id\tpath\tstatus\tregion",
    b"volume_id\tpath\tstatus\tshows",
    b"patient\tstudy\tseries_number\tseries\tkind",
)
OPENING_BYTES = 4096
PAGE_FOLDER = "pages"
LABEL_LOG_NAME = "label-log.jsonl"  # in every folder of labels
ROWS_OPENING = "fovnetRows("


def page_name(volume_id: str) -> str:
    """The path of a volume's page, relative to the index."""
    return f"{PAGE_FOLDER}/{volume_id}.html"


def thumbnail_name(volume_id: str) -> str:
    """The path of a volume's picture in the index, relative to it."""
    return f"{PAGE_FOLDER}/{volume_id}.jpg"


def rows_name(number: int) -> str:
    """The path of a file with further rows of the index, relative to it."""
    return f"{PAGE_FOLDER}/rows-{number:04d}.js"


def rows_of_index(folder: Path) -> list[Path]:
    """The files of that name in a folder of answers, in order."""
    return sorted((folder / PAGE_FOLDER).glob("rows-[0-9][0-9][0-9][0-9].js"))


def remove_rows(folder: Path, kept_files: int) -> None:
    """Removes those beyond the first `kept_files`, as an earlier and larger index leaves them."""
    for path in rows_of_index(folder)[kept_files:]:
        path.unlink(missing_ok=True)


def find_path_answered_before(folder: Path, volume_id: str) -> str:
    """The path of the volume whose answer already has that name; "" if there is none, or it is
    damaged.

    Raises ConfigError "out-foreign" if a page, its thumbnail or a JSON of that name, or a picture
    without a JSON, is not fovnet's, such as the JSON sidecar that a converter writes beside a
    volume.
    """
    path = folder / f"{volume_id}.json"
    picture = folder / f"{volume_id}.png"
    refuse_foreign(folder / page_name(volume_id), is_our_page)
    refuse_foreign(folder / thumbnail_name(volume_id), is_our_thumbnail)
    if not path.exists():
        refuse_foreign(picture, is_our_picture)
        return ""
    try:
        answer = read_json(path)
        if "fovnet" in answer:
            return str(answer.get("path", ""))
    except (OSError, ValueError):
        damaged_bytes = path.read_bytes()
        if not damaged_bytes or b'"fovnet"' in damaged_bytes:  # an answer damaged by a disk failure
            return ""
    raise _refusal_of_foreign(path)


def count_other_answers(folder: Path, volume_ids: Container[str]) -> int:
    """How many JSONs in a folder of answers are answers on other volumes than these."""
    return sum(
        f'"volume_id": {json.dumps(path.stem)}'.encode() in _opening(path) and is_our_json(path)
        for path in folder.glob("*.json")
        if path.stem not in volume_ids
    )


def refuse_foreign(path: Path, is_ours: Callable[[Path], bool]) -> None:
    """Raise ConfigError "out-foreign" unless `path` does not exist or is fovnet's."""
    if path.exists() and not is_ours(path):
        raise _refusal_of_foreign(path)


def is_our_picture(path: Path) -> bool:
    """Whether a PNG was drawn by fovnet."""
    return PICTURE_STAMP in _opening(path)


def is_our_thumbnail(path: Path) -> bool:
    """Whether a JPEG was drawn by fovnet for an index."""
    return THUMBNAIL_STAMP in _opening(path)


def is_our_prior(path: Path) -> bool:
    """Whether a file is a prior that fovnet wrote."""
    return b'"__metadata__":{"fovnet":' in _opening(path)


def is_our_table(path: Path) -> bool:
    """Whether a table is one of spans, of answers, or of DICOM series found."""
    return _opening(path).startswith(TABLE_OPENINGS)


def begins_with_columns(path: Path, columns: Sequence[str]) -> bool:
    """Whether a table has these first columns."""
    return _opening(path).startswith("\t".join(columns).encode())


def is_our_page(path: Path) -> bool:
    """Whether a page is one of fovnet's."""
    opening = _opening(path)
    return b"<title>fovnet" in opening or b": fovnet</title>" in opening


def are_our_rows(path: Path) -> bool:
    """Whether a script holds rows of an index."""
    return _opening(path).startswith(ROWS_OPENING.encode())


def is_our_json(path: Path) -> bool:
    """Whether a JSON has fovnet's stamp."""
    return b'"fovnet"' in _opening(path)


def _opening(path: Path) -> bytes:
    """The first bytes of a file; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(OPENING_BYTES)
    except OSError:
        return b""


def _refusal_of_foreign(path: Path) -> ConfigError:
    """The refusal of a file in the way that fovnet did not write."""
    return ConfigError(
        "out-foreign",
        f"--out {path.parent}: {path.name} exists, was not written by fovnet, and would be "
        "overwritten; give another folder",
    )
