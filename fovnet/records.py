"""File formats: JSON for facts, TSV for what people open in a spreadsheet, npy/npz for arrays.

Every file is written to a temporary name in the same folder, flushed, and moved, so that a reader
or a killed run finds the old file or the new one and never half of one. Every JSON holds the fovnet
version, the digest of the settings and the seed that made it.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import math
import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from fovnet._version import __version__

Array = np.ndarray[Any, Any]
LEAST_ROUNDED_NUMBER = 0.1  # numbers below keep three digits in a table, not three decimals
MAX_LINE_BYTES = 100_000  # bytes: a file that is no table may have no line end at all
ROUNDING_ERROR = 1e-12  # smaller values are taken for the rounding error of a sum
UNFINISHED_NAME = re.compile(r"\..+\.\d+\.part")  # the name of a file until it is complete


def replace_with(path: Path, write: Callable[[BinaryIO], Any], *, lasting: bool = True) -> Path:
    """`path`, filled by `write(file)` and put in place in one step; missing folders are created.

    lasting  wait until the data are on the disk; otherwise a loss of power, but not a kill, may
             leave a damaged file
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary_path = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(temporary_path, "wb") as file:
            write(file)
            file.flush()
            if lasting:
                os.fsync(file.fileno())  # a rename may reach the disk before the bytes do
        os.replace(temporary_path, path)
    except OSError as fault:
        # no file is named if the disk is full, otherwise the temporary one
        if fault.filename in (None, str(temporary_path)):
            fault.filename = str(path)
            fault.filename2 = None
        raise
    finally:
        with suppress(OSError):  # removing may fail as well, and must not hide the first error
            temporary_path.unlink(missing_ok=True)
    return path


def clear_unfinished(*folders: Path, name: str = "*") -> None:
    """Removes what a killed run was writing in these folders under this name (a pattern), which may
    show what must not be kept; to be called only while no other run writes there."""
    for folder in folders:
        for path in folder.glob(f".{name}.*.part"):
            if UNFINISHED_NAME.fullmatch(path.name) and not path.is_dir():
                path.unlink(missing_ok=True)


def copy_file(source: Path, path: Path) -> Path:
    """`path`, holding the bytes of the file `source`."""

    def write(file: BinaryIO) -> None:
        with source.open("rb") as source_file:
            shutil.copyfileobj(source_file, file)

    return replace_with(path, write)


def why_unwritable(path: Path, *, folder: bool) -> str:
    """Why nothing could be written to `path`, a folder or a file; empty if it could.  Tested with a
    temporary file, which is removed."""
    try:
        if path.exists() and path.is_dir() != folder:
            if path.is_dir():
                return "is a folder"
            return "is a file"
        nearest_folder = path
        if not folder:
            nearest_folder = path.parent
        nearest_folder = next(
            ancestor for ancestor in (nearest_folder, *nearest_folder.parents) if ancestor.exists()
        )
        if not nearest_folder.is_dir():
            return f"{nearest_folder} is a file, not a folder"
        with tempfile.TemporaryFile(dir=nearest_folder):
            return ""
    except (OSError, ValueError) as fault:  # a null character in the name
        return f"cannot be written ({getattr(fault, 'strerror', None) or fault})"


def why_no_folder(path: Path) -> str:
    """Why `path` cannot be read as a folder, in words; empty for a folder."""
    if path.is_dir():
        return ""
    if path.exists():
        return "is a file, not a folder"
    return "no such folder"


def json_key(key: str) -> dict[str, str]:
    """The metadata of a dataclass field that JSON files have under another name: `field(
    metadata=json_key("other"))`."""
    return {"json_key": key}


def field_by_json_key(record_class: Any) -> dict[str, str]:
    """The fields of a dataclass, by `json_key`, or else by their own names."""
    return {
        record_field.metadata.get("json_key", record_field.name): record_field.name
        for record_field in fields(record_class)
    }


def facts_of_record(record: Any, omitted_fields: Collection[str] = ()) -> Any:
    """A dataclass as a mapping, the dataclasses in it too: its values by `field_by_json_key`,
    without `omitted_fields`.  Other values are given back as they are, tuples as lists."""
    if is_dataclass(record) and not isinstance(record, type):
        return {
            key: facts_of_record(getattr(record, field_name), omitted_fields)
            for key, field_name in field_by_json_key(record).items()
            if field_name not in omitted_fields
        }
    if isinstance(record, list | tuple):
        return [facts_of_record(item, omitted_fields) for item in record]
    if isinstance(record, Mapping):
        return {key: facts_of_record(value, omitted_fields) for key, value in record.items()}
    return record


def write_text(path: Path, text: str, *, keep_same: bool = False, lasting: bool = True) -> Path:
    """`path`, holding `text` as UTF-8; with `keep_same`, a file that already holds it is not
    rewritten; `lasting` as in `replace_with`.

    Bytes of a file name that are not UTF-8, which Python keeps as lone surrogates, are written as
    \\udcff.
    """
    encoded_text = text.encode(errors="backslashreplace")
    if keep_same and path.is_file() and path.read_bytes() == encoded_text:
        return path
    return replace_with(path, lambda file: file.write(encoded_text), lasting=lasting)


def write_together(texts: Mapping[Path, str]) -> None:
    """Writes several files of one act: where one cannot be written, as on a full disk, none is, and
    those of before stay.  Raises OSError that names the file."""
    part_by_path = {path: path.with_name(f".{path.name}.{os.getpid()}.part") for path in texts}
    try:
        for path, file_text in texts.items():
            try:
                write_text(part_by_path[path], file_text)
            except OSError as fault:
                fault.filename = str(path)
                raise
        for path, part_path in part_by_path.items():
            os.replace(part_path, path)
    finally:
        for part_path in part_by_path.values():
            with suppress(OSError):
                part_path.unlink(missing_ok=True)


def write_json(
    path: Path,
    facts: Mapping[str, Any],
    *,
    settings: Any = None,
    seed: int | None = None,
    keep_same: bool = False,
) -> Path:
    """`path`, holding `facts` and a first entry "fovnet" with version, hash of the settings that
    made them, and seed."""
    stamp = {"version": __version__, "settings_sha256": digest(settings), "seed": seed}
    return write_text(
        path,
        json.dumps({"fovnet": stamp, **facts}, indent=1, default=as_json_type, allow_nan=False)
        + "\n",
        keep_same=keep_same,
    )


def read_json(path: Path) -> dict[str, Any]:
    """The facts in a JSON file written by `write_json`, the "fovnet" entry included.  Raises
    OSError, and ValueError for anything else."""
    try:
        json_facts = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError(f"{path}: nested too deeply to be read") from None
    if not isinstance(json_facts, dict):
        raise ValueError(f"{path}: a {type(json_facts).__name__} where an object was expected")
    return json_facts


def is_stamped(path: Path) -> bool:
    """Whether a file is a JSON that `write_json` wrote; False for what cannot be read."""
    try:
        stamp = read_json(path).get("fovnet")
    except (OSError, ValueError):
        return False
    return isinstance(stamp, dict) and {"version", "settings_sha256"} <= stamp.keys()


def write_tsv(
    path: Path,
    columns: Sequence[str],
    rows: Iterable[Mapping[str, Any]],
    *,
    keep_same: bool = False,
    lasting: bool = True,
) -> Path:
    """`path`, holding `tsv_text`."""
    return write_text(path, tsv_text(columns, rows), keep_same=keep_same, lasting=lasting)


def tsv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and one tab-separated line per row; None becomes an empty cell.

    Floats have three decimals, or three significant digits below 0.1, so that a learning rate of
    1e-5 is not shown as 0.000.  Text that a spreadsheet would take for a formula, as a file may be
    called =1+1, has an apostrophe before it, which `read_tsv` removes.
    """
    return tsv_lines(columns, [{column: column for column in columns}, *rows])


def tsv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """The lines of such a table without its header."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, delimiter="\t", lineterminator="\n")
    writer.writerows([_cell_text(row.get(column)) for column in columns] for row in rows)
    return buffer.getvalue()


def read_columns(path: Path) -> list[str]:
    """The columns in the first line of a tab-separated table; empty if it cannot be read or has no
    line end within MAX_LINE_BYTES."""
    try:
        with path.open("rb") as file:
            first_line = file.readline(MAX_LINE_BYTES)
    except OSError:
        return []
    if not first_line.endswith(b"\n"):
        return []
    return first_line.decode(errors="replace").rstrip("\r\n").split("\t")


def read_tsv(path: Path, *, strict: bool = False) -> list[dict[str, str]]:
    """The rows of a tab-separated table with a header; cells are strings without surrounding
    blanks, as `remove_formula_mark`.

    strict  an opening quotation mark that is not closed at the end of its cell is a fault, not the
            start of a cell of many lines
    Raises ValueError with the line of a fault.
    """
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", strict=strict)
        try:
            return [
                {
                    remove_formula_mark(column.strip()): remove_formula_mark((cell or "").strip())
                    for column, cell in row.items()
                    if column is not None
                }
                for row in reader
            ]
        except csv.Error as fault:
            raise ValueError(f"line {reader.line_num}: {fault}") from fault


def write_npz(path: Path, **arrays: Array) -> Path:
    """`path`, a compressed npz of plain (never object) arrays."""
    return replace_with(path, lambda file: np.savez_compressed(file, **arrays))  # type: ignore[arg-type]


def read_npz(path: Path, most_bytes: int | None = None) -> dict[str, Array]:
    """The arrays of an npz file, read without pickle, of at most `most_bytes` together.

    Raises ValueError for another kind of file, an empty or a damaged one, and one that would take
    more, before memory is allocated.
    """
    # np.load alone leaves a damaged file open
    with open(path, "rb") as file:
        if file.read(2) != b"PK":
            raise ValueError("not an npz file: it does not begin like a zip archive")
        file.seek(0)
        try:
            with np.load(file, allow_pickle=False) as archive:
                _refuse_inflated(archive.zip, most_bytes)
                # numpy stops at the end of the array, before the checksum is compared
                if damaged_member := archive.zip.testzip():
                    raise ValueError(f"a damaged npz file ({damaged_member})")
                return {name: archive[name] for name in archive.files}
        except ValueError:
            raise
        except Exception as fault:  # zipfile, zlib and numpy raise various errors on damaged bytes
            # EINVAL: a damaged directory points before the file's start
            if isinstance(fault, OSError) and fault.errno != errno.EINVAL:
                raise
            raise ValueError(f"a damaged npz file ({type(fault).__name__}: {fault})") from fault


def _refuse_inflated(archive: zipfile.ZipFile, most_bytes: int | None) -> None:
    """Raises ValueError for members that together have more bytes than allowed or than their
    arrays, whose headers may claim any size."""
    for member in archive.infolist():
        # others unpack to gigabytes at one stroke
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ValueError(f"{member.filename} is packed by another method than numpy's")
    total_bytes = sum(member.file_size for member in archive.infolist())
    if most_bytes is not None and total_bytes > most_bytes:
        raise ValueError(
            f"its arrays take {total_bytes:,} bytes, at most {most_bytes:,} are expected"
        )
    for member in archive.infolist():
        with archive.open(member) as file:
            npy_version = np.lib.format.read_magic(file)
            if npy_version == (1, 0):
                shape, _, dtype = np.lib.format.read_array_header_1_0(file)
            else:
                shape, _, dtype = np.lib.format.read_array_header_2_0(file)
            # numpy refuses objects itself
            if (
                not dtype.hasobject
                and math.prod(shape) * dtype.itemsize != member.file_size - file.tell()
            ):
                raise ValueError(
                    f"the array {member.filename} of {shape} has "
                    f"{member.file_size - file.tell():,} bytes"
                )


def digest(facts: Any) -> str:
    """SHA-256 hex of any JSON-able facts, independent of key order: equal if two runs agree."""
    canonical = json.dumps(facts, sort_keys=True, separators=(",", ":"), default=as_json_type)
    return hashlib.sha256(canonical.encode()).hexdigest()


def checksum(path: Path) -> str:
    """SHA-256 hex of a file's bytes, read in pieces of 1 MiB."""
    running_hash = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(1 << 20):
            running_hash.update(piece)
    return running_hash.hexdigest()


def as_json_type(value: Any) -> Any:
    """numpy scalars, arrays and paths as JSON types.  Raises TypeError for anything else."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


BLANK_BY_CHARACTER = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029), " ")
"""Characters that some readers take for the end of a cell or line: tabs, all line ends of Unicode,
and control characters."""


FORMULA_START = re.compile(r"'*\s*[=+\-@＝＋－＠].")
"""The beginning of what a spreadsheet computes, or may run as a command, if it is no number; and of
the same behind apostrophes."""
NUMBER_TEXT = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?|[+-]?(inf|nan)", re.IGNORECASE)


def _cell_text(value: Any) -> str:
    """A value as a cell of a table: None empty, floats rounded, no tabs or line ends, no formula."""
    if value is None:
        return ""
    if isinstance(value, float | np.floating):
        if ROUNDING_ERROR < abs(float(value)) < LEAST_ROUNDED_NUMBER:
            return f"{value:.3g}"
        return f"{value:.3f}"
    cell_text = str(value).translate(BLANK_BY_CHARACTER)
    stripped_text = cell_text.strip()
    if FORMULA_START.match(stripped_text) and not NUMBER_TEXT.fullmatch(stripped_text):
        return f"'{cell_text}"
    return cell_text


def remove_formula_mark(cell: str) -> str:
    """The text that `write_tsv` wrote as this cell: without the apostrophe before what a
    spreadsheet would take for a formula."""
    if cell.startswith("'") and FORMULA_START.match(cell[1:].strip()):
        return cell[1:]
    return cell
