"""The files of a model folder: each is read only if it is a plain file inside the folder, of a
believable size, with finite numbers.

A folder may be damaged, or come from someone else: a name in it may lead elsewhere, and a pipe in
place of a file blocks for ever.  A changed digit of the rule is noticed by `SHA256SUMS` alone,
which the last step of a run writes.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fovnet.errors import FovnetError, ModelError
from fovnet.records import checksum, read_json, write_text

SUMS_FILE_NAME = "SHA256SUMS"
GREATEST_PART_BYTES = 2**26  # of a part that is no network: the largest, novelty.npz, has 1 MB
GREATEST_NETWORK_BYTES = 2**35  # the largest of the paper's space has 17 GB
SUM_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
SUM_CHARACTERS = 66  # of a checksum and what separates it from the name
COPY_AGAIN = "copy the whole folder again"


def checked_part_path(folder: Path, name: Any, most: int = GREATEST_PART_BYTES) -> Path:
    """The path of a part, whether or not it exists.

    Raises ModelError for a name that leads out of the folder, also by a link ("model-outside"), and
    for what is no plain file or has more than `most` bytes ("model-file").
    """
    try:
        path: Path = folder / name
        is_inside = path.resolve().is_relative_to(folder.resolve())
        file_status = path.stat() if os.path.lexists(path) else None
    except (OSError, ValueError, TypeError, RuntimeError) as fault:
        # a link to nothing, links in a circle, a null character, no text
        reason = f"its part {name!r} cannot be opened ({fault})"
        raise ModelError("model-file", f"{folder}: {reason}; {COPY_AGAIN}") from fault
    if not is_inside:
        remedy = "copy the folder with its links replaced by files (cp -rL)"
        raise ModelError("model-outside", f"{folder}: its part {name!r} leads outside it; {remedy}")
    if file_status and not stat.S_ISREG(file_status.st_mode):
        raise ModelError("model-file", f"{path}: not a plain file; {COPY_AGAIN}")
    if file_status and file_status.st_size > most:
        raise ModelError(
            "model-file",
            f"{path}: {file_status.st_size:,} bytes, at most {most:,} are expected; {COPY_AGAIN}",
        )
    return path


def read_facts(folder: Path, name: str) -> dict[str, Any]:
    """The facts in a JSON part.  Raises ModelError as `checked_part_path`, OSError, and
    ValueError for anything but an object of facts."""
    return read_json(checked_part_path(folder, name))


def refuse_not_finite(path: Path, facts: Mapping[str, Any]) -> None:
    """Raises ModelError "model-damaged" for the first number in the facts of a JSON that is NaN or
    infinite."""
    pending: list[tuple[str, Any]] = list(facts.items())
    while pending:  # not recursive: brackets may be nested as deep as JSON can be read
        name, value = pending.pop()
        if isinstance(value, float) and not math.isfinite(value):
            raise ModelError(
                "model-damaged", f"{path}: {name} is {value}, not a finite number; {COPY_AGAIN}"
            )
        if isinstance(value, dict):
            pending += value.items()
        elif isinstance(value, list):
            pending += [(name, element) for element in value]


def write_sums(folder: Path, names: Iterable[str]) -> Path:
    """`folder/SHA256SUMS` of these files, as `sha256sum --check` reads it."""
    return write_text(
        folder / SUMS_FILE_NAME,
        "".join(f"{checksum(folder / name)}  {name}\n" for name in sorted(names)),
    )


def add_sum(folder: Path, name: str) -> None:
    """Adds the line of a new file to `folder/SHA256SUMS`, in place of an earlier one of its name;
    nothing where the folder has none."""
    path = checked_part_path(folder, SUMS_FILE_NAME)
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if line[SUM_CHARACTERS:] != name]
    lines.append(f"{checksum(folder / name)}  {name}")
    lines.sort(key=lambda line: line[SUM_CHARACTERS:])
    write_text(path, "".join(f"{line}\n" for line in lines))


def is_listed(folder: Path, name: str) -> bool:
    """Whether `folder/SHA256SUMS` has a line for a file; also if there is no SHA256SUMS, which then
    vouches for nothing."""
    path = checked_part_path(folder, SUMS_FILE_NAME)
    if not path.exists():
        return True
    lines = path.read_text(encoding="utf-8").splitlines()
    return any(line[SUM_CHARACTERS:] == name for line in lines)


def refuse_altered(folder: Path, sums_read: Mapping[str, str]) -> None:
    """Raise unless the folder has no SHA256SUMS, as those of early versions, or every file is as it
    says.

    sums_read  SHA-256 of the parts that were read, by name: all of them must be listed
    Raises ModelError "model-altered" for a file that is missing, changed or not listed, and as
    `checked_part_path`.
    """
    path = checked_part_path(folder, SUMS_FILE_NAME)
    if not path.exists():
        return
    line_matches = [
        SUM_LINE.fullmatch(line) for line in path.read_text(encoding="utf-8").splitlines()
    ]
    sums_listed = {line[2]: line[1] for line in line_matches if line}
    if not line_matches or not all(line_matches) or len(sums_listed) < len(line_matches):
        expected = "lines of a checksum and a name, as written by sha256sum"
        raise ModelError("model-altered", f"{path}: not {expected}; {COPY_AGAIN}")
    for name in sorted(sums_read.keys() - sums_listed.keys()):
        remedy = f"remove it if it is not part of the model, or {COPY_AGAIN}"
        raise ModelError(
            "model-altered", f"{folder / name}: not listed in {SUMS_FILE_NAME}; {remedy}"
        )
    for name, expected in sums_listed.items():
        part_path = checked_part_path(folder, name)
        sha256 = sums_read.get(name) or (checksum(part_path) if part_path.exists() else "none")
        if sha256 != expected:
            difference = f"its checksum is {sha256[:16]}, in {SUMS_FILE_NAME} it is {expected[:16]}"
            raise ModelError(
                "model-altered", f"{part_path}: missing or changed: {difference}; {COPY_AGAIN}"
            )


@contextmanager
def refuse_damage(folder: Path) -> Iterator[None]:
    """A context in which a folder is read: what a damaged part raises, whatever it is, becomes
    ModelError "model-damaged"."""
    try:
        yield
    except (FovnetError, MemoryError):
        raise
    except OSError as fault:
        reason = f"cannot be read ({fault.strerror or fault})"
        raise ModelError(
            "model-file", f"{fault.filename or folder}: {reason}; {COPY_AGAIN}"
        ) from fault
    except Exception as fault:
        reason = f"not as fovnet writes it ({type(fault).__name__}: {fault})"
        raise ModelError("model-damaged", f"{folder}: {reason}; {COPY_AGAIN}") from fault
